//! Everyday scripts work inside as they do outside: what they print, read and leave, in `tests/everyday/`. What the
//! sandbox does not let them do is in a table of its own, with the error that they get.

#[path = "support/common.rs"]
mod common;

use std::path::Path;

use metier_sandbox::{Ending, RunOutcome};

/// A test for each row: a name, a script, and what it prints.
macro_rules! rows {
    ($language:path: $($name:ident: $script:expr => $expected:expr;)+) => {
        $(
            #[test]
            fn $name() {
                $crate::works(&$language, $script, $expected);
            }
        )+
    };
}

/// A test for each row: a name, a script, and a part of the message with which it fails.
macro_rules! refused {
    ($language:path: $($name:ident: $script:expr => $message:expr;)+) => {
        $(
            #[test]
            fn $name() {
                $crate::fails(&$language, $script, $message);
            }
        )+
    };
}

#[path = "everyday/contract.rs"]
mod contract;
#[path = "everyday/git.rs"]
mod git;
#[path = "everyday/node.rs"]
mod node;
#[path = "everyday/python.rs"]
mod python;
#[path = "everyday/shell.rs"]
mod shell;

/// Something that reads scripts, and the option before one.
struct Language {
    program: &'static str,
    option: &'static str,
}

/// How a script in a fresh work directory ended; nothing if there is nothing to run it.
fn outcome(language: &Language, script: &str) -> Option<RunOutcome> {
    if !Path::new(language.program).exists() {
        common::skip(&format!("{} does not exist; its scripts are not run", language.program));
        return None;
    }
    let work = common::work();
    Some(common::run(common::profile(work.path()), language.program, &[language.option, script]))
}

fn works(language: &Language, script: &str, expected: &str) {
    let Some(outcome) = outcome(language, script) else { return };
    let errors = text(&outcome.errors.bytes);
    assert_eq!(outcome.ending, Ending::Exited(0), "{errors}");
    assert_eq!(text(&outcome.output.bytes).trim_end(), expected, "{errors}");
    assert_eq!(errors, "");
}

fn fails(language: &Language, script: &str, message: &str) {
    let Some(outcome) = outcome(language, script) else { return };
    let errors = text(&outcome.errors.bytes);
    assert!(matches!(outcome.ending, Ending::Exited(1..)), "{:?}: {errors}", outcome.ending);
    assert!(errors.contains(message), "{errors}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn as_an_ordinary_user() {
    common::again_as_ordinary_user();
}
