//! Skills' tool rules inside real agents: with a skill active, only what it allows runs, which is seen by what the calls would have
//! written; without one, everything runs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use metier_harness::{GuardedHome, HarnessError, HomeGuard, HomeHooks, Permissions};
use metier_home::Agent;
use metier_host::{Environment, Metier};
use metier_prompt::{Section, SkillMount};
use metier_skill::Coded as _;
use serde_json::{Value, json};

use crate::asking::{Asking, asked, builder, recorded, rendering};
use crate::command::metier;
use crate::driver::{self, Act};
use crate::outcome::Asked;
use crate::rig::Rig;

/// A word in the history that an allowed command shows.
const COMMIT: &str = "Numbat-commit";

/// What calls that are not allowed would write.
const WRITTEN: [&str; 5] = ["forbidden.txt", "after.txt", "inside.txt", "edited.txt", "fetched.txt"];

/// A skill with tool rules, and a repository with a history.
fn history(rig: &Rig) -> SkillMount {
    let text = "---\nname: history\ndescription: Reads the history of a repository. Use when asked about it.\n\
                allowed-tools: Bash(git log *) Read\n---\n\nRun `git log`.\n";
    rig.write("skills/history/SKILL.md", text);
    let script = format!(
        "git init -q && git -c user.name=t -c user.email=t@example.com commit -q --allow-empty -m {COMMIT}"
    );
    let made = Command::new("sh").args(["-c", &script]).current_dir(rig.work()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    SkillMount::new(rig.path("skills/history"))
}

/// Calls of which only one is allowed by the skill.
fn acts(rig: &Rig, activates: bool) -> Vec<Act<'static>> {
    let edited = rig.work().join("edited.txt");
    let edit = match rig.agent {
        Agent::ClaudeCode => Act::Own("Write", json!({ "file_path": edited, "content": "x" })),
        _ => Act::Shell(
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: edited.txt\n+x\n*** End Patch\nEOF\n",
        ),
    };
    let mut acts = vec![Act::Shell("touch free.txt")];
    acts.extend(activates.then_some(Act::Activate("history")));
    acts.extend([
        Act::Shell("git log --oneline"),
        Act::Shell("touch forbidden.txt"),
        Act::Shell("git log --oneline; touch after.txt"),
        Act::Shell("git log $(touch inside.txt)"),
        edit,
        Act::Shell("curl -s -o fetched.txt file:///etc/hostname"),
    ]);
    acts
}

fn written(rig: &Rig) -> Vec<&'static str> {
    WRITTEN.into_iter().filter(|name| rig.work().join(name).exists()).collect()
}

/// Every decision since the skill is active has the digest of what was mounted.
fn assert_recorded(rig: &Rig) {
    let place = rig.path("");
    let activated = recorded(&place, "skill.activated");
    assert_eq!(activated.len(), 1, "{activated:?}");
    assert_eq!(activated[0]["name"], "history");
    let decided = recorded(&place, "skill.tool_call_decided");
    let denied: Vec<&Value> = decided.iter().filter(|event| event["decision"] == "deny").collect();
    assert!(denied.len() >= WRITTEN.len(), "{decided:?}");
    for event in denied {
        assert_eq!(event["skills"]["history"], activated[0]["tree_digest"], "{event}");
    }
}

/// `metier run`, which asks nobody: only the hooks stand between the model and its tools.
pub(crate) fn guarded_run(rig: &Rig) {
    let Some(metier) = metier(rig) else { return };
    history(rig);
    // A repository that would switch the hooks off.
    rig.write("project/deep/work/.claude/settings.json", r#"{"disableAllHooks": true}"#);
    rig.write("project/deep/work/.codex/config.toml", "[features]\nhooks = false\n");
    let free = run(rig, &metier, &acts(rig, false));
    assert_eq!(written(rig), WRITTEN, "no skill is active: {}", free.story());
    for name in WRITTEN {
        fs::remove_file(rig.work().join(name)).unwrap();
    }
    let guarded = run(rig, &metier, &acts(rig, true));
    assert!(rig.work().join("free.txt").exists(), "{}", guarded.story());
    assert!(guarded.saw(COMMIT), "{}", guarded.story());
    assert_eq!(written(rig), [""; 0], "{}", guarded.story());
    assert!(guarded.saw("refused by metier"), "{}", guarded.story());
    assert_recorded(rig);
}

fn run(rig: &Rig, metier: &Path, acts: &[Act<'_>]) -> Asked {
    let server = driver::server(rig.agent, acts);
    fs::create_dir_all(rig.path("host")).unwrap();
    let program = driver::program(rig.agent, &rig.agents);
    let mut arguments = driver::arguments(rig.agent, &server.url(), "Look.", &[], true);
    arguments.extend((rig.agent == Agent::ClaudeCode).then(|| "Write".to_owned()));
    let output = Command::new("timeout")
        .args(["--kill-after=5", driver::PATIENCE])
        .arg(metier)
        .args(["run", rig.agent.name(), "--skill"])
        .arg(rig.path("skills/history"))
        .arg("--program")
        .arg(program)
        .arg("--")
        .args(arguments)
        .current_dir(rig.work())
        .env_clear()
        .envs(driver::host(rig, &server.url()).env)
        .env("METIER_JOURNAL", rig.path("journal.db"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Asked::new(server.requests(), driver::said(rig.agent, &output))
}

/// The guard that `metier-host` puts into homes, for the session of a test.
fn guard(rig: &Rig) -> Option<Arc<dyn HomeGuard>> {
    let mut environment = Environment::new(rig.path("host"), rig.work());
    environment.path = metier(rig)?.parent().unwrap().into();
    fs::create_dir_all(rig.path("host")).unwrap();
    let journal = rig.path("journal.db").to_string_lossy().into_owned();
    let host = Metier::builder().environment(environment).journal(journal).build().unwrap();
    Some(host.agent_guard(rig.agent).unwrap())
}

/// The same in an evaluation whose caller allows what the policy leaves open.
pub(crate) fn guarded_answer(rig: &Rig) {
    let Some(guard) = guard(rig) else { return };
    let skill = history(rig);
    let steps = || {
        let steps = acts(rig, true).into_iter().map(|act| driver::step(rig.agent, &act));
        steps.chain([metier_fake_model::Step::text("ALL-DONE")]).collect()
    };
    let mut asking = Asking::set_up(rig, steps(), |setup| setup.guard = Some(guard)).unwrap();
    let prompt = builder("Look.").section(Section::new("more", "More").body("More.").skill(skill));
    let answer = asked(&*asking.harness, rendering(prompt)).permissions(Permissions::allow());
    let answer = answer.run(&mut asking.session).unwrap();
    assert_eq!(answer.text, "ALL-DONE");
    assert!(rig.work().join("free.txt").exists() && asking.saw(COMMIT));
    assert_eq!(written(rig), [""; 0]);
    assert!(answer.walls.hooks && answer.walls.permissions, "{:?}", answer.walls);
    assert_eq!(asking.recorded("evaluation.ended")[0]["walls"], json!(["hooks", "permissions"]));
    assert_recorded(rig);
    asking.assert_nothing_is_left();
}

/// A guard whose hooks are taken out again before the agent starts.
#[derive(Debug)]
struct Gone(Arc<dyn HomeGuard>);

impl HomeGuard for Gone {
    fn install(&self, home: &GuardedHome<'_>) -> Result<Box<dyn HomeHooks>, HarnessError> {
        let installed = self.0.install(home)?;
        for file in [".claude/settings.json", ".codex/hooks.json"] {
            let path = home.path.join(file);
            if path.exists() {
                fs::write(path, "{}").unwrap();
            }
        }
        Ok(installed)
    }
}

/// A tool that ran without its hook ends the evaluation.
pub(crate) fn guard_that_is_gone(rig: &Rig) {
    let Some(guard) = guard(rig) else { return };
    let steps = vec![
        driver::step(rig.agent, &Act::Shell("touch free.txt")),
        driver::step(rig.agent, &Act::Shell("touch later.txt")),
    ];
    let mut asking = Asking::set_up(rig, steps, |setup| setup.guard = Some(Arc::new(Gone(guard)))).unwrap();
    let builder = asked(&*asking.harness, rendering(builder("Write."))).permissions(Permissions::allow());
    let error = builder.run(&mut asking.session).unwrap_err();
    assert_eq!(error.code(), "harness-unguarded", "{error}");
    assert!(error.to_string().contains("Bash"), "{error}");
    let ended = &asking.recorded("evaluation.ended")[0];
    assert_eq!((&ended["code"], &ended["walls"]), (&json!("harness-unguarded"), &json!(["permissions"])));
    asking.assert_nothing_is_left();
}
