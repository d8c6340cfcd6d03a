//! What a model is told of a script that ran.

use std::fmt::Write as _;

use metier_sandbox::{Ending, Limit, WorkDirectory};
use metier_session::{RunReport, ScriptOutput, ScriptReport};
use serde_json::json;

use crate::answer::Answer;
use crate::output::{Excerpt, Outputs, Owner};
use crate::place;

/// What is needed beside the report itself.
pub(crate) struct Around<'a> {
    /// Where it ran, if that is still there.
    pub(crate) work: Option<&'a WorkDirectory>,
    pub(crate) outputs: &'a Outputs,
    pub(crate) owner: Owner,
    /// The tool that reads the rest of what was printed.
    pub(crate) read: &'static str,
}

/// The report as text, with what is worth knowing and nothing else; the facts are for programs.
pub(crate) fn report(report: &ScriptReport, around: &Around<'_>) -> Answer {
    let run = &report.run;
    let (text, [stdout, stderr]) = text_of(run, around);
    let facts = json!({
        "skill_id": report.skill_id,
        "script": report.script,
        "script_digest": report.script_digest,
        "ending": run.ending,
        "stdout_bytes": run.stdout.bytes.len(),
        "stderr_bytes": run.stderr.bytes.len(),
        "stdout_uri": stdout,
        "stderr_uri": stderr,
        "run": run.facts,
    });
    Answer { text, facts }
}

/// What the model reads, and the addresses of both streams where there is more of them.
fn text_of(run: &RunReport, around: &Around<'_>) -> (String, [Option<String>; 2]) {
    let mut text = String::new();
    let stdout = print(&mut text, "stdout", &run.stdout, around);
    if !run.stderr.bytes.is_empty() {
        new_line(&mut text);
        text.push_str("[stderr]\n");
    }
    let stderr = print(&mut text, "stderr", &run.stderr, around);
    new_line(&mut text);
    if let Some(how) = ending(run, text.is_empty()) {
        let _ = writeln!(text, "[{how}]");
    }
    notes(&mut text, run);
    let _ = writeln!(text, "[ran in {}]", plain(&place::ran_in(around.work)));
    (text, [stdout, stderr])
}

/// A name of unknown origin that cannot begin a line of its own.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Ends a line that was begun.
fn new_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// What a stream printed, or its head and tail; the address of the whole where that is more.
fn print(text: &mut String, stream: &str, printed: &ScriptOutput, around: &Around<'_>) -> Option<String> {
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
    let kept = around.outputs.keep(around.owner, stream, &printed.bytes);
    let _ = match &kept {
        Ok(address) => writeln!(
            text,
            "[{left_out} of {total} bytes of {stream} left out here; read them with `{}`, `resource_name` \"{address}\" and a `range`]",
            around.read
        ),
        Err(error) => writeln!(
            text,
            "[{left_out} of {total} bytes of {stream} left out here; they could not be kept: {error}]"
        ),
    };
    text.push_str(&tail);
    kept.ok()
}

/// How it ended, where there is something to say about that.
fn ending(run: &RunReport, is_silent: bool) -> Option<String> {
    Some(match run.ending {
        Ending::Exited(0) if is_silent => "exit code 0, no output".to_owned(),
        Ending::Exited(0) => return None,
        Ending::Exited(code) => format!("exit code {code}"),
        Ending::Killed(signal) => format!("killed by signal {signal}"),
        Ending::Limit(Limit::Wall) => {
            let seconds = run.wall().as_secs_f64();
            format!("stopped after {seconds:.1} seconds, its time limit; `timeout_ms` sets it")
        }
        Ending::Limit(limit) => format!("stopped at its limit: {}", limit.as_str()),
        _ => "cancelled".to_owned(),
    })
}

/// What a person would want to know: files that other programs obey, connections that were refused, protections that were missing.
fn notes(text: &mut String, run: &RunReport) {
    for planted in &run.facts.planted {
        let (path, obeyed_by) = (plain(&planted.path), plain(&planted.obeyed_by));
        let done = if planted.changed { "changed" } else { "created" };
        let what = match &planted.moved_to {
            Some(to) => format!("it was moved to {}", plain(to)),
            None if planted.stays => "review it before you use it, and tell the person".to_owned(),
            None => "it could NOT be moved away; tell the person to remove it".to_owned(),
        };
        let _ = writeln!(text, "[{done} {path}, which {obeyed_by} obeys; {what}]");
    }
    if run.facts.planted_left_out > 0 {
        let more = run.facts.planted_left_out;
        let _ = writeln!(text, "[{more} more such files were created or changed; tell the person]");
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
    use metier_journal::{Connection, PlantedFile};
    use metier_sandbox::{ReservedPaths, RunOutcome, SandboxProfile};
    use metier_skill::Tier;

    use super::*;
    use crate::output::Client;

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
        let connection = |to: &str, refused: Option<&str>| Connection {
            to: to.to_owned(),
            refused: refused.map(str::to_owned),
            times: 1,
        };
        run.facts.connections =
            vec![connection("a.example:443", None), connection("b.example:80\n[x]", Some("not allowed"))];
        run.facts.missing_protections = vec!["landlock".to_owned(), "seccomp".to_owned()];
        let outputs = Outputs::default();
        let owner = Owner { client: Client::Unknown, session: 0 };
        let (text, _) = text_of(&run, &Around { work: None, outputs: &outputs, owner, read: "read" });
        let expected = "done\n\
            [created .git/hooks/pre\u{fffd}[x], which git obeys; it was moved to aside/pre-commit]\n\
            [changed Makefile, which git obeys; review it before you use it, and tell the person]\n\
            [created .envrc, which git obeys; it could NOT be moved away; tell the person to remove it]\n\
            [2 more such files were created or changed; tell the person]\n\
            [connection to b.example:80\u{fffd}[x] refused: not allowed]\n\
            [ran without these protections: landlock, seccomp]\n\
            [ran in ";
        assert!(text.starts_with(expected), "{text}");
    }
}
