//! Skills of a prompt in an agent's home, and what is recorded when the agent loads them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use metier_harness::{AgentEvent, HarnessError, evaluate};
use metier_prompt::{
    AgentSkillsSection, DiscoveredSkill, InlineSkill, Prompt, PromptBuilder, Rendering, Section, SkillMount,
    SkillRef, SkillsSection,
};
use metier_session::SkillsOnDisk;
use metier_skill::Coded as _;
use serde_json::json;

use crate::ground::{Ground, story};

fn builder() -> PromptBuilder {
    Prompt::builder("tests", "skills").section(Section::new("task", "Task").body("Use the skills."))
}

fn rendering(prompt: PromptBuilder) -> Rendering {
    prompt.build().unwrap().rendering()
}

/// One skill of each kind; `scan` has a script that can be run.
fn every_kind(ground: &Ground) -> Rendering {
    let scan = ground.skill("scan", "", "Scan it.");
    let script = ground.write("skills/scan/scripts/scan.sh", "echo scanned\n");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    let attached = ground.skill("attached", "", "Attached.");
    let found = ground.skill("found", "", "Found.");
    let inline = InlineSkill::new("written", "Written here.").body("Written body.");
    let discovered = DiscoveredSkill {
        name: "found".to_owned(),
        description: Some("Found there.".to_owned()),
        skill_md: found.join("SKILL.md"),
    };
    let section = Section::new("more", "More").body("More.").skill(SkillMount::new(attached));
    rendering(
        builder()
            .skill_reader(SkillsOnDisk::new("/"))
            .section(SkillsSection::new().inline(inline).reference(SkillRef::new(scan)))
            .section(section)
            .section(AgentSkillsSection::new([discovered]).mount_path("skills")),
    )
}

/// E50: the skills of the prompt are on the disk when the agent starts, with their permissions.
#[test]
fn every_kind_of_skill_is_there_when_the_agent_starts() {
    let ground = Ground::new();
    let agent = ground.answering(
        "say \"$(ls \"$HOME/.claude/skills\" | tr '\\n' ' ')\"; say \"$(ls skills)\"\n\
         say \"$(\"$HOME/.claude/skills/scan/scripts/scan.sh\")\"; say \"$(tail -n 1 \"$HOME/.claude/skills/written/SKILL.md\")\"\n\
         case $prompt in *'Written body'*) end inside;; *) end outside;; esac",
    );
    let mut events: Vec<AgentEvent> = Vec::new();
    let rendering = every_kind(&ground);
    let builder = evaluate(&agent, rendering).on_event(|event| events.push(event.clone()));
    // What is installed is not in the text as well.
    assert_eq!(builder.run(&mut ground.session()).unwrap().text, "outside");
    assert_eq!(story(&events), ["started", "attached scan written ", "found", "scanned", "Written body."]);
    let installed = &ground.recorded("skills.installed")[0];
    let expected = json!(["tests", "skills", ["written"], ["scan"], ["attached"], ["found"]]);
    let members = ["prompt_ns", "prompt_key", "inline", "referenced", "attached", "discovered"];
    assert_eq!(json!(members.map(|member| installed[member].clone())), expected);
    assert!(installed["skills_dir"].as_str().unwrap().ends_with("/.claude/skills"));
    let names: Vec<&String> = installed["skills"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["attached", "found", "scan", "written"]);
    assert_eq!(
        ground
            .records()
            .iter()
            .find(|record| record.event["kind"] == "skills.installed")
            .unwrap()
            .session
            .as_deref(),
        Some("s1")
    );
}

/// One switch: without it, skills stay in the prompt as summaries, and that is said.
#[test]
fn without_installing_skills_stay_in_the_prompt() {
    let ground = Ground::new();
    let mut agent = ground.answering(
        "say \"$(ls \"$HOME/.claude/skills\" 2>/dev/null | wc -l)\"; case $prompt in *'[Skill: written]'*) end inside;; *) end outside;; esac",
    );
    agent.setup.home.isolation.install_skills = false;
    let inline = InlineSkill::new("written", "Written here.").body("Written body.");
    let mut events: Vec<AgentEvent> = Vec::new();
    let rendering = rendering(builder().section(SkillsSection::new().inline(inline)));
    let builder = evaluate(&agent, rendering).on_event(|event| events.push(event.clone()));
    assert_eq!(builder.run(&mut ground.session()).unwrap().text, "inside");
    assert!(story(&events)[0].contains("skills are not installed here"), "{events:?}");
    assert!(ground.recorded("skills.installed").is_empty());
    assert_eq!(ground.recorded("prompt.warning")[0]["code"], "skills-not-installed");
}

#[test]
fn skills_are_not_mounted_into_the_persons_own_directory() {
    let ground = Ground::new();
    let mut agent = ground.answering("end done");
    agent.setup.working = Some(ground.write("project/README.md", "x").parent().unwrap().to_owned());
    let error = evaluate(&agent, every_kind(&ground)).run(&mut ground.session()).unwrap_err();
    assert_eq!(error.code(), "home-no-workspace");
    assert!(!ground.path("project/skills").exists());
}

/// E51: what cannot be installed is an error, and the home is gone.
#[test]
fn a_skill_that_is_not_there_is_an_error_and_leaves_no_home() {
    let ground = Ground::new();
    let agent = ground.answering("end done");
    let section =
        Section::new("more", "More").body("More.").skill(SkillMount::new(ground.path("skills/none")));
    let error =
        evaluate(&agent, rendering(builder().section(section))).run(&mut ground.session()).unwrap_err();
    assert!(matches!(error, HarnessError::Home(_)), "{error}");
    assert!(ground.left().is_empty());
}

/// What is written in a prompt, or referred to by it, is said with the place where it should have been.
#[test]
fn a_skill_of_a_prompt_that_cannot_be_installed_is_named_with_the_place() {
    let ground = Ground::new();
    let agent = ground.answering("end done");
    let directory = ground.skill("notes", "", "Text.");
    let section = SkillsSection::new().reference(SkillRef::new(&directory));
    let reader = SkillsOnDisk::new(ground.path("skills"));
    let rendering = rendering(builder().skill_reader(reader).section(section));
    fs::remove_dir_all(&directory).unwrap();
    let error = evaluate(&agent, rendering).run(&mut ground.session()).unwrap_err();
    assert_eq!(error.code(), "skill-installation", "{error}");
    let text = error.to_string();
    assert!(text.contains("referenced skill `notes`") && text.contains("/.claude/skills"), "{text}");
    assert!(ground.left().is_empty());
}

#[test]
fn a_skill_that_is_added_to_a_home_is_recorded() {
    let ground = Ground::new();
    let skill = ground.skill("late", "", "Text.");
    let mut setup = ground.setup();
    setup.program = "/bin/sh".into();
    let place = setup.make(&metier_prompt::WorkspaceFiles::default()).unwrap();
    let mut session = ground.session();
    let mounted = place.inject(&mut session, &SkillMount::new(skill)).unwrap();
    assert!(mounted.path.join("SKILL.md").is_file());
    let event = &ground.recorded("skills.mounted")[0];
    assert_eq!(event["skills"]["late"], mounted.tree_digest.to_string());
    assert!(event["place"].as_str().unwrap().ends_with("/.claude/skills"), "{event}");
}

const LOADS: &str = "skill 1 codeword; result 1 'Launching skill'; end done";

fn codeword(ground: &Ground, frontmatter: &str) -> Rendering {
    let skill = ground.skill("codeword", frontmatter, "The codeword is blue-phoenix-42.");
    let section = Section::new("more", "More").body("More.").skill(SkillMount::new(skill));
    rendering(builder().section(section))
}

#[test]
fn a_skill_that_the_agent_loads_is_recorded_with_the_digest_of_what_was_mounted() {
    let ground = Ground::new();
    let agent = ground.answering(LOADS);
    let mut session = ground.session();
    let answer = evaluate(&agent, codeword(&ground, "")).run(&mut session).unwrap();
    let digest = answer.skills[0].digest.unwrap();
    assert_eq!(answer.skills[0].name, "codeword");
    assert_eq!(session.active().count(), 0, "its rules end with the conversation");
    session.end().unwrap();
    let activated = &ground.recorded("skill.activated")[0];
    assert_eq!(activated["tree_digest"], digest.to_string());
    assert_eq!(ground.recorded("skills.installed")[0]["skills"]["codeword"], digest.to_string());
    assert_eq!((&activated["trigger"], &activated["tier"]), (&json!("model"), &json!("user")));
    assert!(activated["path"].as_str().unwrap().ends_with("/.claude/skills/codeword/SKILL.md"));
    let replay = ground.replay();
    assert_eq!((replay.activations, replay.divergence), (1, None));
}

#[test]
fn reading_a_mounted_skill_md_counts_as_loading_it() {
    let ground = Ground::new();
    let agent = ground.answering(
        "call 1 Bash '{\"command\":\"cat $HOME/.claude/skills/codeword/SKILL.md\"}'; result 1 text; call 2 Read '{\"path\":\"/x/SKILL.md\"}'; result 2 text; \
         call 3 Bash '{\"command\":\"tail $HOME/.claude/skills/codeword/SKILL.md\"}'; result 3 text; end done",
    );
    let answer = evaluate(&agent, codeword(&ground, "")).run(&mut ground.session()).unwrap();
    // Once, in however many pieces it is read.
    assert_eq!((answer.skills.len(), answer.tool_calls), (1, 3));
    assert_eq!(ground.recorded("skill.activated").len(), 1);
}

#[test]
fn a_skill_that_could_not_be_loaded_is_recorded_as_that() {
    let ground = Ground::new();
    let agent =
        ground.answering("skill 1 codeword; result 1 denied true; skill 2 other; result 2 fine; end done");
    let answer = evaluate(&agent, codeword(&ground, "")).run(&mut ground.session()).unwrap();
    assert_eq!(ground.recorded("skill.activation_failed")[0]["name"], "codeword");
    assert!(ground.recorded("skill.activated").is_empty());
    // A skill that is not ours is shown, without a digest, and not vouched for in the journal.
    assert_eq!((answer.skills[0].name.as_str(), answer.skills[0].digest), ("other", None));
}

#[test]
fn the_rules_of_a_loaded_skill_hold_for_the_agents_own_tools() {
    let ground = Ground::new();
    let agent = ground.answering(
        "ask 1 Bash '{\"command\":\"git log\"}'; case $answer in *true*) say before;; *) say denied;; esac\n\
         skill 2 codeword; result 2 fine\n\
         ask 3 Bash '{\"command\":\"git log\"}'; case $answer in *true*) say after;; *) say denied;; esac\n\
         ask 4 Bash '{\"command\":\"rm -rf x\"}'; case $answer in *true*) end allowed;; *) end denied;; esac",
    );
    let mut events: Vec<AgentEvent> = Vec::new();
    let rendering = codeword(&ground, "allowed-tools: Bash(git log *)\n");
    let builder = evaluate(&agent, rendering).on_event(|event| events.push(event.clone()));
    assert_eq!(builder.run(&mut ground.session()).unwrap().text, "denied");
    let told: Vec<String> =
        story(&events).into_iter().filter(|line| matches!(&**line, "before" | "after" | "denied")).collect();
    assert_eq!(told, ["denied", "after"]);
}

#[test]
fn a_copy_that_was_changed_is_not_vouched_for() {
    let ground = Ground::new();
    let agent = ground.answering(&format!(
        "chmod -R u+w \"$HOME/.claude/skills\"; echo evil >>\"$HOME/.claude/skills/codeword/SKILL.md\"; {LOADS}"
    ));
    let error = evaluate(&agent, codeword(&ground, "")).run(&mut ground.session()).unwrap_err();
    assert_eq!(error.code(), "skill-copy-changed");
    assert!(ground.recorded("skill.activated").is_empty());
}
