//! Prompts that run on a real agent through `metier-harness`: text, typed answers, tools, skills, permissions, sections, limits.

use std::fs;
use std::path::Path;
use std::time::Duration;

use metier_fake_model::Step;
use metier_harness::{AgentEvent, AgentEventKind, HarnessError, Permissions, StopReason, evaluate};
use metier_home::Agent;
use metier_prompt::{
    InlineSkill, Prompt, Section, SkillMount, SkillsSection, Tool, ToolAnswer, ToolContext, ToolResult,
};
use metier_sandbox::Cancel;
use metier_session::Budget;
use metier_skill::Coded as _;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::asking::{Asking, asked, builder, rendering};
use crate::cases::{BODY, codeword};
pub(crate) use crate::continued::{asked_codeword, asked_resume, asked_start};
use crate::driver::{self, Act};
pub(crate) use crate::ended::{ended_by_kill, ended_by_silence, goes_on_after_a_flood, is_no_agent};
pub(crate) use crate::frames::frames_are_known;
pub(crate) use crate::guarded::{guard_that_is_gone, guarded_answer};
use crate::rig::Rig;

/// Text, with what was used, and a record of it.
pub(crate) fn asked_text(rig: &Rig) {
    let Some(mut asking) = Asking::new(rig, vec![Step::text("ALL-DONE")]) else { return };
    let mut events: Vec<AgentEvent> = Vec::new();
    let builder = asked(&*asking.harness, rendering(builder("Say Numbat-question.")));
    let answer = builder.on_event(|event| events.push(event.clone())).run(&mut asking.session).unwrap();
    assert_eq!(answer.text, "ALL-DONE");
    assert!(asking.saw("Numbat-question"));
    let pieces = events.iter().filter_map(|event| match &event.kind {
        AgentEventKind::Text { text } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(pieces.collect::<String>(), "ALL-DONE");
    assert!(
        answer.usage.counted().total() > 0 && answer.version.is_some() && answer.session_id.is_some(),
        "{answer:?}"
    );
    let ended = &asking.recorded("evaluation.ended")[0];
    assert_eq!((ended["version"].as_str(), ended["code"].as_str()), (answer.version.as_deref(), None));
    assert_eq!(ended["input"], answer.usage.counted().input);
    asking.assert_nothing_is_left();
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Review {
    verdict: String,
    issues: u32,
}

/// Typed: good at once, repaired, never good.
pub(crate) fn asked_typed(rig: &Rig) {
    let good = r#"{"verdict":"fine","issues":2}"#;
    let texts = |texts: &[&str]| vec![Step::each(texts.iter().copied())];
    let Some(mut asking) = Asking::new(rig, texts(&[good])) else { return };
    let answer = asked(&*asking.harness, rendering(builder("Review.")));
    assert_eq!(answer.run_typed::<Review>(&mut asking.session).unwrap().output.issues, 2);
    assert!(asking.saw("verdict"), "the model is shown the schema");
    drop(asking);
    let mut asking = Asking::new(rig, texts(&["All is fine.", good])).unwrap();
    let answer = asked(&*asking.harness, rendering(builder("Review.")));
    let answer = answer.run_typed::<Review>(&mut asking.session).unwrap();
    assert_eq!(answer.output.verdict, "fine");
    assert!(asking.saw("Your answer is not valid"));
    drop(asking);
    let mut asking = Asking::new(rig, texts(&["All is fine.", "Really."])).unwrap();
    let answer = asked(&*asking.harness, rendering(builder("Review.")));
    let error = answer.run_typed::<Review>(&mut asking.session).unwrap_err();
    let HarnessError::Output { text, .. } = &error else { panic!("{error}") };
    assert_eq!(text, "Really.");
    assert!(error.spent().unwrap().usage.input > 0);
    asking.assert_nothing_is_left();
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

/// A tool of the prompt, called through the session.
pub(crate) fn asked_tool(rig: &Rig) {
    let add = driver::step(rig.agent, &Act::Prompted("add", json!({ "a": 20, "b": 22 })));
    let steps = vec![add, Step::quote("the sum is ")];
    let Some(mut asking) = Asking::new(rig, steps) else { return };
    let add = Tool::new("add", "Adds two numbers", |add: Add, context: &mut ToolContext<'_>| {
        context.notes.push(context.session.to_owned());
        ToolResult::Ok(ToolAnswer::message(format!("the sum is {}", add.a + add.b)))
    });
    let prompt =
        Prompt::builder("tests", "asked").section(Section::new("task", "Task").body("Add.").tool(add));
    let answer = asked(&*asking.harness, rendering(prompt)).run(&mut asking.session).unwrap();
    assert_eq!(answer.text, "42");
    let call = &asking.recorded("tool.invoked")[0];
    assert_eq!((call["tool"].as_str(), call["outcome"].as_str()), (Some("mcp__metier__add"), Some("done")));
    // Gemini CLI puts the tool before the id that the model gave.
    let id = call["call_id"].as_str().unwrap();
    assert!(asking.saw(id.rsplit("__").next().unwrap()), "{call}");
    asking.assert_nothing_is_left();
}

/// A skill that the agent loads by its own means, recorded with the digest of what was mounted.
pub(crate) fn asked_skill(rig: &Rig) {
    let steps = vec![driver::step(rig.agent, &Act::Activate("codeword-skill")), Step::text("ALL-DONE")];
    let Some(mut asking) = Asking::new(rig, steps) else { return };
    codeword(rig);
    let skill = SkillMount::new(rig.path("skills/codeword-skill"));
    let section = Section::new("more", "More").body("More.").skill(skill);
    let prompt = builder("What is the codeword?").section(section);
    let answer = asked(&*asking.harness, rendering(prompt)).run(&mut asking.session).unwrap();
    assert!(asking.saw(BODY), "the model was told the body");
    let digest = answer.skills[0].digest.unwrap().to_string();
    let activated = &asking.recorded("skill.activated")[0];
    assert_eq!(
        (activated["name"].as_str(), activated["tree_digest"].as_str()),
        (Some("codeword-skill"), Some(&*digest))
    );
    assert_eq!(asking.recorded("skills.installed")[0]["skills"]["codeword-skill"], digest);
    let report = asking.replay();
    assert_eq!((report.activations, report.divergence), (1, None));
    asking.assert_nothing_is_left();
}

/// A command that writes: denied where nobody allows it, run where the caller does.
///
/// Settings of the project that allow everything, or start programs, do not count.
pub(crate) fn asked_permission(rig: &Rig) {
    let steps = || vec![driver::step(rig.agent, &Act::Shell("touch written.txt")), Step::text("ALL-DONE")];
    let Some(mut asking) = Asking::new(rig, steps()) else { return };
    let started = rig.work().join("started.txt");
    for (file, text) in [
        ("opencode.json", r#"{"permission":{"*":"allow","bash":"allow"}}"#.to_owned()),
        (
            ".codex/config.toml",
            format!("[mcp_servers.x]\ncommand = \"touch\"\nargs = ['{}']\n", started.display()),
        ),
    ] {
        let file = rig.work().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let answer = asked(&*asking.harness, rendering(builder("Write."))).run(&mut asking.session).unwrap();
    // Two agents end their turn there.
    let expected = match rig.agent {
        Agent::OpenCode | Agent::Copilot => ("", StopReason::Denied),
        _ => ("ALL-DONE", StopReason::EndTurn),
    };
    assert_eq!((answer.text.as_str(), answer.stop), expected);
    assert!(!rig.work().join("written.txt").exists());
    assert!(!started.exists());
    assert_eq!(asking.recorded("skill.tool_call_decided")[0]["code"], "nobody-to-ask");
    drop(asking);
    let mut asking = Asking::new(rig, steps()).unwrap();
    let builder = asked(&*asking.harness, rendering(builder("Write."))).permissions(Permissions::allow());
    builder.run(&mut asking.session).unwrap();
    assert!(rig.work().join("written.txt").exists());
    asking.assert_nothing_is_left();
}

/// A section that the model opens: the agent starts again, with its text and its tools.
pub(crate) fn asked_section(rig: &Rig) {
    let open = json!({ "section_keys": ["skills.linting"], "reason": "to lint" });
    let open = driver::step(rig.agent, &Act::Prompted("open_sections", open));
    let steps = vec![open, Step::quote("The codeword is ")];
    let Some(mut asking) = Asking::new(rig, steps) else { return };
    let lint =
        Tool::new("lint", "Lints", |_: Add, _: &mut ToolContext<'_>| ToolResult::Ok(ToolAnswer::message("")));
    let skill = InlineSkill::new("linting", "Lints code.").body("The codeword is Quokka.").tool(lint);
    let prompt = builder("Lint.").section(SkillsSection::new().inline(skill));
    let answer = asked(&*asking.harness, rendering(prompt)).run(&mut asking.session).unwrap();
    assert_eq!((answer.text.as_str(), answer.expansions), ("Quokka", 1));
    assert_eq!(asking.recorded("skill.expanded")[0]["name"], "linting");
    asking.assert_nothing_is_left();
}

/// Cancelled while a tool runs, and at a deadline: the agent is interrupted, and nothing is left running.
pub(crate) fn asked_limits(rig: &Rig) {
    let pids = rig.path("pid");
    let command = format!("echo $$ > {}; sleep 1000", pids.display());
    let steps = || vec![driver::step(rig.agent, &Act::Shell(&command))];
    let Some(mut asking) = Asking::new(rig, steps()) else { return };
    let cancel = Cancel::new().unwrap();
    let (cancelling, started) = (cancel.clone(), pids.clone());
    // Only once the command runs: a person waits for something and gives up.
    std::thread::spawn(move || {
        while std::fs::read_to_string(&started).unwrap_or_default().trim().is_empty() {
            std::thread::sleep(Duration::from_millis(20));
        }
        cancelling.cancel();
    });
    let asked = |asking: &mut Asking<'_>, cancel: Cancel, deadline: u64| {
        let builder =
            evaluate(&*asking.harness, rendering(builder("Wait."))).permissions(Permissions::allow());
        builder.cancel(cancel).deadline(Duration::from_secs(deadline)).run(&mut asking.session).unwrap_err()
    };
    let error = asked(&mut asking, cancel, 100);
    assert_eq!(error.code(), "harness-cancelled", "{error}");
    assert!(error.spent().unwrap().usage.input > 0, "{error:?}");
    let pid = std::fs::read_to_string(&pids).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "{pid} is still there");
    asking.assert_nothing_is_left();
    drop(asking);
    let mut asking = Asking::new(rig, steps()).unwrap();
    let error = asked(&mut asking, Cancel::never(), 3);
    assert_eq!(error.code(), "harness-deadline", "{error}");
    asking.assert_nothing_is_left();
}

/// A budget that one more request exceeds: the agent is ended, and the error has what was used.
pub(crate) fn asked_budget(rig: &Rig) {
    let steps = vec![driver::step(rig.agent, &Act::Shell("true")), Step::text("ALL-DONE")];
    let budget = Budget { total: Some(20), ..Budget::default() };
    let Some(mut asking) = Asking::within(rig, steps, budget) else { return };
    let builder = asked(&*asking.harness, rendering(builder("Go."))).permissions(Permissions::allow());
    let error = builder.run(&mut asking.session).unwrap_err();
    assert_eq!(error.code(), "harness-budget", "{error}");
    assert!(error.spent().unwrap().usage.counted().total() > 20, "{error:?}");
    asking.assert_nothing_is_left();
}
