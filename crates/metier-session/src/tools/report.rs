//! The text about a script run for a model.

use std::fmt::Write as _;

use metier_sandbox::{Ending, Limit};
use serde_json::json;

use super::excerpt::Excerpt;
use super::{SkillToolAnswer, facts};
use crate::report::{RunReport, ScriptOutput, ScriptReport};

/// What happened to the part of a script's output that the model does not see. By default it is lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOutput {
    /// The address of the full output.
    pub uri: Option<String>,
    /// How the model can read the rest, or why it cannot, as the end of a sentence.
    pub note: Option<String>,
}

impl LeftOutput {
    /// The output is stored at this address.
    pub fn kept(uri: impl Into<String>, note: impl Into<String>) -> Self {
        Self { uri: Some(uri.into()), note: Some(note.into()) }
    }

    /// The output is lost, for this reason.
    pub fn gone(note: impl Into<String>) -> Self {
        Self { uri: None, note: Some(note.into()) }
    }
}

/// The text about a script that ran in a directory, for a model: the head and tail of each stream, and anything else
/// worth knowing. `keep` is called with the name and the bytes of each stream that is too long to be shown.
pub fn script_answer(
    report: ScriptReport,
    ran_in: &str,
    mut keep: impl FnMut(&str, &[u8]) -> LeftOutput,
) -> SkillToolAnswer {
    let mut report = report;
    let (text, [stdout, stderr]) = text_of(&report.run, ran_in, &mut keep);
    let [out, errors] = [&mut report.run.stdout, &mut report.run.stderr].map(|printed| {
        let bytes = std::mem::take(&mut printed.bytes);
        bytes.len()
    });
    let mut facts = facts(&report, &["stdout", "stderr"]);
    (facts["stdout_bytes"], facts["stderr_bytes"]) = (json!(out), json!(errors));
    (facts["stdout_uri"], facts["stderr_uri"]) = (json!(stdout), json!(stderr));
    SkillToolAnswer { text, facts }
}

/// The text for the model, and the addresses of both streams if they were shortened.
fn text_of(
    run: &RunReport,
    ran_in: &str,
    keep: &mut dyn FnMut(&str, &[u8]) -> LeftOutput,
) -> (String, [Option<String>; 2]) {
    let mut text = String::new();
    let stdout = print(&mut text, "stdout", &run.stdout, keep);
    if !run.stderr.bytes.is_empty() {
        new_line(&mut text);
        text.push_str("[stderr]\n");
    }
    let stderr = print(&mut text, "stderr", &run.stderr, keep);
    new_line(&mut text);
    if let Some(how) = ending(run, text.is_empty()) {
        let _ = writeln!(text, "[{how}]");
    }
    notes(&mut text, run);
    let _ = writeln!(text, "[ran in {}]", plain(ran_in));
    (text, [stdout, stderr])
}

/// A name of unknown origin that cannot start a line of its own.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Ends an open line.
fn new_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Adds the output of a stream, or its head and tail; returns the address of the full output if it was shortened.
fn print(
    text: &mut String,
    stream: &str,
    printed: &ScriptOutput,
    keep: &mut dyn FnMut(&str, &[u8]) -> LeftOutput,
) -> Option<String> {
    let (head, tail, left_out) = match Excerpt::of(&printed.bytes) {
        Excerpt::Whole(all) => {
            text.push_str(&all);
            return None;
        }
        Excerpt::Ends { head, tail, left_out } => (head, tail, left_out),
    };
    let total = printed.bytes.len();
    text.push_str(&head);
    new_line(text);
    let LeftOutput { uri, note } = keep(stream, &printed.bytes);
    let note = note.map(|note| format!("; {note}")).unwrap_or_default();
    let _ = writeln!(text, "[{left_out} of {total} bytes of {stream} omitted{note}]");
    text.push_str(&tail);
    uri
}

/// How it ended, if that is worth reporting.
fn ending(run: &RunReport, is_silent: bool) -> Option<String> {
    Some(match run.ending {
        Ending::Exited(0) if is_silent => "exit code 0, no output".to_owned(),
        Ending::Exited(0) => return None,
        Ending::Exited(code) => format!("exit code {code}"),
        Ending::Killed(signal) => format!("killed by signal {signal}"),
        Ending::Limit(Limit::Wall) => {
            let seconds = run.wall().as_secs_f64();
            format!("stopped after {seconds:.1} seconds (time limit); set `timeout_ms` for another limit")
        }
        Ending::Limit(limit) => format!("stopped because it reached a limit: {}", limit.as_str()),
        _ => "cancelled".to_owned(),
    })
}

/// Notes for the user: files that other programs load, refused connections, missing protections.
fn notes(text: &mut String, run: &RunReport) {
    for planted in &run.facts.planted {
        let (path, obeyed_by) = (plain(&planted.path), plain(&planted.obeyed_by));
        let done = if planted.changed { "changed" } else { "created" };
        let what = match &planted.moved_to {
            Some(to) => format!("it was moved to {}", plain(to)),
            None if planted.stays => "review it before you use it, and tell the user".to_owned(),
            None => "it could NOT be moved away; tell the user to remove it".to_owned(),
        };
        let _ = writeln!(text, "[{done} {path}, which {obeyed_by} loads; {what}]");
    }
    if run.facts.planted_left_out > 0 {
        let more = run.facts.planted_left_out;
        let _ = writeln!(text, "[{more} more such files were created or changed; tell the user]");
    }
    for connection in &run.facts.connections {
        if let Some(reason) = &connection.refused {
            let _ = writeln!(text, "[connection to {} refused: {}]", plain(&connection.to), plain(reason));
        }
    }
    if !run.facts.missing_protections.is_empty() {
        let missing = run.facts.missing_protections.join(", ");
        let _ = writeln!(text, "[ran without these protections: {missing}]");
    }
}

#[cfg(test)]
mod tests {
    use metier_journal::{ConnectionRecord, PlantedFile};
    use metier_sandbox::{ReservedPaths, RunOutcome, SandboxProfile, WorkDirectory};
    use metier_skill::Tier;

    use super::*;

    fn planted(path: &str, changed: bool, moved_to: Option<&str>, stays: bool) -> PlantedFile {
        PlantedFile {
            path: path.to_owned(),
            obeyed_by: "git".to_owned(),
            changed,
            moved_to: moved_to.map(str::to_owned),
            stays,
            by: "this_run".to_owned(),
        }
    }

    #[test]
    fn planted_files_and_missing_protections_are_in_the_text() {
        let place = tempfile::tempdir().unwrap();
        let work =
            WorkDirectory::open(place.path().canonicalize().unwrap(), &ReservedPaths::default()).unwrap();
        let mut run =
            RunReport::new(&SandboxProfile::new(Tier::User, work), RunOutcome::new(Ending::Exited(0)));
        run.stdout.bytes = b"done".to_vec();
        run.facts.planted = vec![
            planted(".git/hooks/pre\n[x]", false, Some("aside/pre-commit"), false),
            planted("Makefile", true, None, true),
            planted(".envrc", false, None, false),
        ];
        run.facts.planted_left_out = 2;
        let connection = |to: &str, refused: Option<&str>| ConnectionRecord {
            to: to.to_owned(),
            refused: refused.map(str::to_owned),
            times: 1,
        };
        run.facts.connections =
            vec![connection("a.example:443", None), connection("b.example:80\n[x]", Some("not allowed"))];
        run.facts.missing_protections = vec!["landlock".to_owned(), "seccomp".to_owned()];
        let (text, _) = text_of(&run, "/work\n[x]", &mut |_, _| LeftOutput::default());
        let expected = "done\n\
            [created .git/hooks/pre\u{fffd}[x], which git loads; it was moved to aside/pre-commit]\n\
            [changed Makefile, which git loads; review it before you use it, and tell the user]\n\
            [created .envrc, which git loads; it could NOT be moved away; tell the user to remove it]\n\
            [2 more such files were created or changed; tell the user]\n\
            [connection to b.example:80\u{fffd}[x] refused: not allowed]\n\
            [ran without these protections: landlock, seccomp]\n\
            [ran in /work\u{fffd}[x]]\n";
        assert_eq!(text, expected);
    }
}
