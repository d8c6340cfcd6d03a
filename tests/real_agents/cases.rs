//! What must hold for agents. Words are searched for anywhere in a request, not at fixed positions.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use metier_home::Agent;
use metier_prompt::{Prompt, Section, SessionView, SkillMount};

pub(crate) use crate::command::{hermetic_command, system_stays_out};
pub(crate) use crate::drift::schema_is_known;
use crate::driver::{Act, Run};
pub(crate) use crate::guarded::guarded_run;
pub(crate) use crate::hostile::{hostile, not_trusted};
use crate::rig::{Rig, skill_md};
pub(crate) use crate::served::{served, served_over_http};

pub(crate) const DESCRIPTION: &str = "Quagga-description-71";
pub(crate) const BODY: &str = "Okapi-body-72";
pub(crate) const FOREIGN_BODY: &str = "Tapir-body-74";

pub(crate) fn codeword(rig: &Rig) -> SkillMount {
    SkillMount::new(rig.skill("skills/codeword-skill", DESCRIPTION, BODY))
}

/// The description is in the first request; the agent's own way to activate brings the body, and not before.
pub(crate) fn shows_and_activates(rig: &Rig) {
    let run = Run::new(vec![codeword(rig)]).acts(vec![Act::Activate("codeword-skill")]);
    let outcome = run.start(rig);
    assert!(outcome.saw_first(DESCRIPTION), "{}", outcome.story());
    assert!(!outcome.saw_first(BODY), "{}", outcome.story());
    assert!(outcome.saw_after(1, BODY), "{}", outcome.story());
    assert!(outcome.output.contains("ALL-DONE"), "{}", outcome.story());
    for name in bundled(rig.agent) {
        assert!(!outcome.saw(name), "`{name}` was not mounted: {}", outcome.story());
    }
}

/// A01: a skill with a codeword is attached to a section; an agent that is asked for the codeword answers with it, and one without
/// the skill does not.
pub(crate) fn answers_with_the_codeword(rig: &Rig) {
    const CODEWORD: &str = "blue-phoenix-42";
    let text = skill_md("codeword-skill", DESCRIPTION, CODEWORD);
    let section = Section::new("task", "Task").body("Say the codeword.");
    let answer = |section: Section| {
        let prompt = Prompt::builder("tests", "codeword").section(section).build().unwrap();
        let rendered = prompt.rendering().render(&SessionView::default()).unwrap();
        let mounts = rendered.skills.iter().map(|skill| (*skill.mount).clone()).collect();
        let mut run =
            Run::new(mounts).acts(vec![Act::Activate("codeword-skill"), Act::Quote("The codeword is ")]);
        run.prompt = &rendered.text;
        run.start(rig)
    };
    let without = answer(section.clone());
    assert!(without.output.contains("I was not told."), "{}", without.story());
    let outcome = answer(section.skill(SkillMount::from_text("codeword-skill", text)));
    assert!(outcome.output.contains(CODEWORD), "{}", outcome.story());
}

/// Skills that an agent brings along, and that its home turns off. Goose has two more, `goose-doc-guide` and `web-search`, and no
/// switch for them.
fn bundled(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::ClaudeCode => &["plugin-authoring", "fewer-permission-prompts", "keybindings-help"],
        Agent::Codex => &["skill-creator", "skill-installer"],
        Agent::OpenCode => &["customize-opencode"],
        Agent::Gemini => &["skill-creator", "antigravity-support"],
        Agent::Copilot => &["customize-cloud-agent", "github-pr-media"],
        _ => &[],
    }
}

/// A skill that is added while the agent runs can be activated by agents that look again.
pub(crate) fn added_while_running(rig: &Rig) {
    let late = SkillMount::from_text("late-skill", skill_md("late-skill", "Quagga-late", "Okapi-late"));
    let mut run =
        Run::new(vec![codeword(rig)]).acts(vec![Act::Shell("sleep 10"), Act::Activate("late-skill")]);
    run.late = Some(late);
    let outcome = run.start(rig);
    assert!(!outcome.saw_first("Quagga-late"), "{}", outcome.story());
    assert!(outcome.saw_after(2, "Okapi-late"), "{}", outcome.story());
}

/// Without the skill, neither is there, whatever the model asks for.
pub(crate) fn control(rig: &Rig) {
    codeword(rig);
    let outcome = Run::new(Vec::new()).acts(vec![Act::Activate("codeword-skill")]).start(rig);
    assert!(
        outcome.requests.iter().any(|request| request.results > Some(0)),
        "the model was told that there is none: {}",
        outcome.story()
    );
    assert!(!outcome.saw(DESCRIPTION) && !outcome.saw(BODY), "{}", outcome.story());
}

/// Where agents are known to look for skills in a working directory, all of them together.
pub(crate) const PLACES: &[&str] = &[
    ".agents/skills",
    ".claude/skills",
    ".codex/skills",
    ".copilot/skills",
    ".gemini/skills",
    ".github/skills",
    ".goose/skills",
    ".opencode/skill",
    ".opencode/skills",
];

/// A skill that was not given to the agent.
pub(crate) struct Foreign {
    file: PathBuf,
    description: String,
}

/// One in each of these places, in the working directory and above, up to the top of a repository.
pub(crate) fn foreign(rig: &Rig) -> Vec<Foreign> {
    fs::create_dir_all(rig.path("project/.git")).unwrap();
    let directories = ["project/deep/work", "project/deep", "project"];
    let all =
        directories.into_iter().flat_map(|directory| PLACES.iter().map(move |place| (directory, place)));
    // Some agents look deeper than right below a place.
    let all = all.flat_map(|place| [(place, ""), (place, "group/deeper/")]);
    let make = |(number, ((directory, place), group)): (usize, ((&str, &&str), &str))| {
        let description = format!("Numbat{number:02}x");
        let path = format!("{directory}/{place}/{group}foreign-{number:02}");
        let path = rig.skill(&path, &description, FOREIGN_BODY);
        Foreign { file: path.join("SKILL.md"), description }
    };
    all.enumerate().map(make).collect()
}

/// Without `--hermetic` some are loaded, and each of those is reported. With it none is loaded.
pub(crate) fn working_directory_stays_out(rig: &Rig) {
    working_directory_is_reported(rig);
    let mut run =
        Run::new(vec![codeword(rig)]).acts(vec![Act::Activate("foreign-00"), Act::Activate("foreign-01")]);
    run.is_hermetic = true;
    let outcome = run.start(rig);
    assert!(outcome.saw_first(DESCRIPTION), "{}", outcome.story());
    assert!(!outcome.saw("Numbat"), "{}", outcome.story());
    assert!(!outcome.saw(FOREIGN_BODY), "{}", outcome.story());
}

/// Some are loaded, and each of those is reported.
pub(crate) fn working_directory_is_reported(rig: &Rig) {
    let foreign = foreign(rig);
    let outcome = Run::new(vec![codeword(rig)]).start(rig);
    assert!(outcome.saw_first(DESCRIPTION), "{}", outcome.story());
    let leaks = outcome.home.leaks(&rig.work());
    let seen: Vec<&Foreign> = foreign.iter().filter(|skill| outcome.saw(&skill.description)).collect();
    assert!(!seen.is_empty(), "{}", outcome.story());
    let reported = |skill: &Foreign| leaks.iter().any(|leak| leak.skills.contains(&skill.file));
    let hushed: Vec<&PathBuf> =
        seen.iter().filter(|skill| !reported(skill)).map(|skill| &skill.file).collect();
    assert!(hushed.is_empty(), "these came in, and were not reported: {hushed:#?}");
    let count = foreign.iter().filter(|skill| reported(skill)).count();
    eprintln!("{}: {} skills came in from outside, {count} were reported", rig.agent, seen.len());
}

/// All of two hundred are named, most are described, and the last can be activated.
pub(crate) fn two_hundred(rig: &Rig) {
    let filler =
        "has a long description, as people write them, with all that it is good for, and when. ".repeat(2);
    let names: Vec<String> = (0..200).map(|number| format!("skill-number-{number:03}")).collect();
    let mount = |(number, name): (usize, &String)| {
        let text = skill_md(name, &format!("Quagga{number:03}x {filler}"), &format!("Okapi{number:03}x"));
        SkillMount::from_text(name, text)
    };
    let mounts = names.iter().enumerate().map(mount).collect();
    let outcome = Run::new(mounts).acts(vec![Act::Activate("skill-number-199")]).start(rig);
    let named = names.iter().filter(|name| outcome.saw_first(name)).count();
    let described = (0..200).filter(|number| outcome.saw_first(&format!("Quagga{number:03}x"))).count();
    // Copilot has a budget for its list that nothing is known to raise.
    let least = if rig.agent == Agent::Copilot { 40 } else { 200 };
    eprintln!("{}: {named} of 200 skills named, {described} described", rig.agent);
    assert_eq!(named, 200, "{}", outcome.story());
    assert!(described >= least, "{described} described: {}", outcome.story());
    assert!(!outcome.saw_first("Okapi199x") && outcome.saw_after(1, "Okapi199x"), "{}", outcome.story());
}

/// A renamed skill, a single file, and a script that is run: all of them copies that cannot be written to, and are not.
pub(crate) fn all_kinds(rig: &Rig) {
    let old = rig.skill("skills/old-name", "Quagga-old", "Okapi-old");
    let single =
        rig.write("skills/single-skill.md", &skill_md("single-skill", "Quagga-single", "Okapi-single"));
    let scripted = rig.skill("skills/script-skill", "Quagga-script", "Okapi-script");
    let script =
        rig.write("skills/script-skill/scripts/run.sh", "#!/bin/sh\necho \"ran-$((40 + 2))-times\"\n");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    let mounts =
        vec![SkillMount::new(old).named("new-name"), SkillMount::new(single), SkillMount::new(scripted)];
    let command = format!("\"$HOME/{}/script-skill/scripts/run.sh\"", rig.agent.skills_directory());
    let acts = vec![
        Act::Activate("new-name"),
        Act::Activate("single-skill"),
        Act::Activate("script-skill"),
        Act::Shell(&command),
    ];
    let outcome = Run::new(mounts).acts(acts).start(rig);
    for word in ["Quagga-old", "new-name", "Quagga-single", "single-skill", "Quagga-script"] {
        assert!(outcome.saw_first(word), "{word}: {}", outcome.story());
    }
    assert!(!outcome.saw("name: old-name"), "{}", outcome.story());
    for (results, word) in [(1, "Okapi-old"), (2, "Okapi-single"), (3, "Okapi-script"), (4, "ran-42-times")] {
        assert!(outcome.saw_after(results, word), "{word}: {}", outcome.story());
    }
    let mut files = BTreeMap::new();
    list(&outcome.home.skills_directory(), &mut files);
    assert_eq!(files.len(), 4, "nothing was added: {files:?}");
    assert!(files.values().all(|mode| mode & 0o222 == 0), "{files:?}");
    let executable: Vec<_> = files.iter().filter(|(_, mode)| *mode & 0o100 != 0).collect();
    assert!(executable.len() == 1 && executable[0].0.ends_with("scripts/run.sh"), "{executable:?}");
    assert_eq!(outcome.mounted.iter().map(|skill| skill.files).sum::<usize>(), 4);
}

/// Codex puts the body of a skill that a person names into its first request.
pub(crate) fn named_in_the_prompt(rig: &Rig) {
    let mut run = Run::new(vec![codeword(rig)]);
    run.prompt = "Use $codeword-skill now.";
    let outcome = run.start(rig);
    assert!(outcome.saw_first(BODY), "{}", outcome.story());
}

/// The modes of all files below a directory.
fn list(directory: &Path, files: &mut BTreeMap<PathBuf, u32>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            list(&entry.path(), files);
        } else {
            files.insert(entry.path(), entry.metadata().unwrap().permissions().mode());
        }
    }
}
