//! The agent of `examples/agent.rs`, against a fake model server: it loads a skill, reads a file and runs a script.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::disallowed_methods, reason = "the program is given the path of this one")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use metier_fake_model::{Server, Step};
use serde_json::json;

fn run(steps: Vec<Step>, policy: &str) -> (Output, Vec<String>) {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let agent = std::env::current_exe().unwrap().parent().unwrap().join("../examples/agent");
    let home = tempfile::tempdir().unwrap();
    let (settings, work) = (home.path().join(".config/metier"), home.path().join("work"));
    fs::create_dir_all(&settings).unwrap();
    fs::create_dir_all(&work).unwrap();
    let roots = top.join("examples/skills").canonicalize().unwrap();
    fs::write(settings.join("config.toml"), format!("roots = [{:?}]\n{policy}", roots.display().to_string()))
        .unwrap();
    let server = Server::start(steps).unwrap();
    let url = format!("{}/v1", server.url());
    let output = Command::new(agent)
        .args([url.as_str(), "fake", "Write the release notes"])
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", std::env::var_os("PATH").unwrap())
        .current_dir(&work)
        .output()
        .unwrap();
    let told =
        server.requests().iter().map(|request| String::from_utf8_lossy(&request.body).into_owned()).collect();
    (output, told)
}

#[test]
fn the_example_agent_loads_a_skill_reads_a_file_and_runs_a_script() {
    let steps = vec![
        Step::call("load_skill", json!({ "skill_name": "commit-message" })),
        Step::call(
            "read_skill_resource",
            json!({ "skill_name": "commit-message", "resource_name": "references/examples.md" }),
        ),
        Step::call(
            "run_skill_script",
            json!({ "skill_name": "release-notes", "script_name": "scripts/collect.sh" }),
        ),
        Step::text("Done."),
    ];
    let (output, told) = run(steps, "[[policy.rules]]\ntier = \"user\"\nscripts = \"allow\"\n");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.ends_with("Done.\n"), "{text}");
    assert!(told[0].contains("commit-message") && told[0].contains("run_skill_script"), "{}", told[0]);
    assert!(told[1].contains("skill_content"), "{}", told[1]);
    assert!(told[2].contains("Messages before and after"), "{}", told[2]);
    // The script ran: the work directory is not a repository, and git says so.
    assert!(told[3].contains("not a git repository"), "{}", told[3]);
}

#[test]
fn a_refusal_is_told_to_the_model() {
    let steps = vec![
        Step::call(
            "read_skill_resource",
            json!({ "skill_name": "commit-message", "resource_name": "../release-notes/SKILL.md" }),
        ),
        Step::call(
            "run_skill_script",
            json!({ "skill_name": "release-notes", "script_name": "scripts/collect.sh" }),
        ),
        Step::text("Done."),
    ];
    let (output, told) = run(steps, "");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(told[1].contains("../release-notes/SKILL.md"), "{}", told[1]);
    assert!(told[2].contains("metier approve release-notes --script scripts/collect.sh"), "{}", told[2]);
}
