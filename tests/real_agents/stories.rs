//! The programs in `examples/prompts`, on a real agent: what a person who reads them would see.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use metier_fake_model::{Server, Step};
use metier_home::Agent;
use serde_json::{Value, json};

use crate::driver::{self, Act};
use crate::rig::{Rig, var};
use crate::skips::skip;

/// One program: what the model does, what it answers, and what is printed.
struct Story<'a> {
    program: &'a str,
    acts: &'a [Act<'a>],
    answer: Value,
    prints: &'a str,
    /// A word that the model is told only if the skill or the tool worked.
    told: &'a str,
}

/// Every program, each with its own home.
pub(crate) fn stories(rig: &Rig) {
    let open = |section: &str| json!({ "section_keys": [section], "reason": "it fits the task" });
    let calls = |tool, arguments| Act::Prompted(tool, arguments);
    let file = "skills/incident-review/SKILL.md";
    let all = [
        Story {
            program: "native_skills",
            acts: &[Act::Activate("code-review")],
            answer: json!({ "summary": "Not safe.", "findings": ["eval runs any text"] }),
            prints: "Not safe.\n- eval runs any text\nused: code-review\n",
            told: "no SQL put together from text",
        },
        Story {
            program: "skill_with_tools",
            acts: &[
                calls("open_sections", open("skills.linting")),
                calls("lint_code", json!({ "paths": ["src"] })),
            ],
            answer: json!({ "unfixed": 2 }),
            prints: "to look at: 2\nsections opened: 1\n",
            told: "Found 5 issues, fixed 3",
        },
        Story {
            program: "mixed_skills",
            acts: &[calls("open_sections", open("skills.testing")), calls("run_tests", json!({}))],
            answer: json!({ "is_sound": true, "tests_passed": 12 }),
            prints: "sound: true, tests passed: 12\n",
            told: "12 passed",
        },
        Story {
            program: "referenced_skills",
            acts: &[Act::Activate("incident-review")],
            answer: json!({ "cause": "a full disk", "actions": ["watch it"] }),
            prints: "cause: a full disk\n- watch it\nused: incident-review\n",
            told: "what made this possible",
        },
        Story {
            program: "inline_and_referenced_skills",
            acts: &[
                calls("open_sections", open("skills.testing")),
                Act::Activate("naming"),
                calls("run_tests", json!({})),
            ],
            answer: json!({ "notes": "1.4 is faster.", "is_ready": true }),
            prints: "1.4 is faster.\nready: true\nused: naming\n",
            told: "A name says what a thing is",
        },
        Story {
            program: "conditional_skills",
            acts: &[Act::Activate("python-review")],
            answer: json!({ "verdict": "fine" }),
            prints: "fine\nfine\n",
            told: "Review the python code",
        },
        Story {
            program: "discovered_skills",
            acts: &[Act::Read(Path::new(file))],
            answer: json!({ "summary": "Sound.", "findings": [] }),
            prints: "Sound.\nused: incident-review\n",
            told: "what made this possible",
        },
        Story {
            program: "several_directories",
            acts: &[Act::Read(Path::new("skills/org/incident-review/SKILL.md"))],
            answer: json!({ "subject": "watch the disk" }),
            prints: "watch the disk\nused: incident-review\n",
            told: "what made this possible",
        },
        Story {
            program: "filtered_skills",
            acts: &[],
            answer: json!({ "text": "done" }),
            prints: "prepare version 2: done\nsay what went wrong last night: done\n",
            told: "1 more skill",
        },
    ];
    for (number, story) in all.iter().enumerate() {
        tell(rig, number, story);
    }
}

fn tell(rig: &Rig, number: usize, story: &Story<'_>) {
    let Some(program) = program(story.program) else {
        skip(&format!("{}: the example {} is not built", rig.agent, story.program));
        return;
    };
    let mut steps: Vec<Step> = story.acts.iter().map(|act| driver::step(rig.agent, act)).collect();
    steps.push(Step::text(story.answer.to_string()));
    let server = Server::start(steps).unwrap();
    let mut env = driver::host(rig, &server.url()).env;
    let path = format!("{}:{}", agent(rig, number, &server.url()).display(), env["PATH"]);
    env.insert("PATH".to_owned(), path);
    fs::create_dir_all(rig.path("host")).unwrap();
    let output = Command::new("timeout")
        .args(["--kill-after=5", driver::PATIENCE])
        .arg(program)
        .arg(rig.agent.name())
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .env_clear()
        .envs(&env)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = driver::said(rig.agent, &output);
    assert!(output.status.success(), "{}: {said}", story.program);
    assert_eq!(String::from_utf8_lossy(&output.stdout), story.prints, "{}: {said}", story.program);
    let requests = server.requests();
    assert!(requests.iter().any(|request| request.contains(story.told)), "{}: {said}", story.program);
}

/// The program, where it was built.
fn program(name: &str) -> Option<PathBuf> {
    let told = var("METIER_EXAMPLES").map(PathBuf::from);
    let beside = || Some(std::env::current_exe().ok()?.parent()?.parent()?.join("examples"));
    told.or_else(beside).map(|examples| examples.join(name)).filter(|path| path.exists())
}

/// A directory for `PATH` in which the agent has its usual name and is led to the fake model.
fn agent(rig: &Rig, number: usize, url: &str) -> PathBuf {
    let settings = if rig.agent == Agent::Codex { driver::codex_provider(url).to_vec() } else { Vec::new() };
    let settings: Vec<String> = settings.iter().map(|text| format!("'--config={text}'")).collect();
    let program = driver::program(rig.agent, &rig.agents);
    let script = format!("#!/bin/sh\nexec '{}' {} \"$@\"\n", program.display(), settings.join(" "));
    let path = rig.write(&format!("bin-{number}/{}", rig.agent.program()), &script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.parent().unwrap().to_owned()
}
