//! The agent of `examples/agent.rs`, run as its documentation says.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn the_example_agent_loads_reads_and_is_held_to_the_rules() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let agent = std::env::current_exe().unwrap().parent().unwrap().join("../examples/agent");
    let (state, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut child = Command::new(agent)
        .args([top.join("examples/skills").as_os_str(), state.path().as_os_str()])
        .current_dir(work.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(top.join("examples/calls.jsonl")).unwrap()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<&str> = text.split("model: ").collect();
    assert!(answers[0].contains("<name>commit-message</name>"), "{text}");
    assert!(answers[1].contains("<skill_content name=\"commit-message\""), "{text}");
    assert!(answers[2].contains("# Messages before and after"), "{text}");
    assert!(answers[3].contains("error: `../release-notes/SKILL.md`"), "{text}");
    assert!(answers[4].contains("nobody to ask"), "{text}");
    assert!(answers[5].ends_with("Bash was called\n"), "{text}");
    assert!(answers[6].contains("error: `commit-message`: no rule allows `git push`"), "{text}");
}
