//! What must hold for agents. Words are looked for anywhere in a request, never in a certain place.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use metier_fake_model::Request;
use metier_home::Agent;
use metier_prompt::SkillMount;
use serde_json::Value;

use crate::driver::{Act, Outcome, Run};
use crate::rig::{Rig, skill_md};

const DESCRIPTION: &str = "Quagga-description-71";
const BODY: &str = "Okapi-body-72";
const FOREIGN_DESCRIPTION: &str = "Numbat-description-73";
const FOREIGN_BODY: &str = "Tapir-body-74";

impl Outcome {
    /// Whether a word was in a request to the model.
    fn saw(&self, word: &str) -> bool {
        self.requests.iter().any(|request| request.contains(word))
    }

    /// Whether it was in one that had so many results of tools, or more.
    fn saw_after(&self, results: usize, word: &str) -> bool {
        let late =
            self.requests.iter().filter(|request| request.results.is_some_and(|count| count >= results));
        late.into_iter().any(|request| request.contains(word))
    }

    /// Whether it was in the very first request that could have called tools.
    fn saw_first(&self, word: &str) -> bool {
        self.requests
            .iter()
            .find(|request| request.results.is_some())
            .is_some_and(|request| request.contains(word))
    }

    /// What is shown when something does not hold.
    fn story(&self) -> String {
        let line = |request: &Request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            let said =
                ["messages", "input", "contents"].into_iter().find_map(|name| body[name].as_array()?.last());
            let said: String = said.map(Value::to_string).unwrap_or_default().chars().take(800).collect();
            let Request { method, path, status, results, .. } = request;
            format!("{method} {path} → {status}, results {results:?}, at last: {said}")
        };
        let lines: Vec<String> = self.requests.iter().map(line).collect();
        format!("{}\n{}", self.output, lines.join("\n"))
    }
}

fn codeword(rig: &Rig) -> SkillMount {
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

/// A skill in the working directory, where the agent looks.
fn foreign(rig: &Rig) -> PathBuf {
    let directory = if rig.agent == Agent::ClaudeCode { ".claude/skills" } else { ".agents/skills" };
    rig.skill(&format!("work/{directory}/foreign-skill"), FOREIGN_DESCRIPTION, FOREIGN_BODY)
}

/// It comes in when nobody keeps it out, is reported, and stays out when somebody does.
pub(crate) fn working_directory_stays_out(rig: &Rig) {
    working_directory_is_reported(rig);
    let mut run = Run::new(vec![codeword(rig)]).acts(vec![Act::Activate("foreign-skill")]);
    run.is_hermetic = true;
    let outcome = run.start(rig);
    assert!(outcome.saw_first(DESCRIPTION), "{}", outcome.story());
    assert!(!outcome.saw(FOREIGN_DESCRIPTION), "{}", outcome.story());
    assert!(!outcome.saw(FOREIGN_BODY), "{}", outcome.story());
}

/// It comes in, and is reported.
pub(crate) fn working_directory_is_reported(rig: &Rig) {
    let file = foreign(rig).join("SKILL.md");
    let outcome = Run::new(vec![codeword(rig)]).start(rig);
    assert!(outcome.saw_first(DESCRIPTION) && outcome.saw_first(FOREIGN_DESCRIPTION), "{}", outcome.story());
    let leaks = outcome.home.leaks(&rig.path("work"));
    assert!(leaks.iter().any(|leak| leak.skills.contains(&file)), "{leaks:?}");
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
