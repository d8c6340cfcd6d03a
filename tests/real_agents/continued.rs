//! What an agent finds when it starts, what it answers from a skill, and what it remembers when its conversation is resumed.

use std::fs;

use metier_fake_model::Step;
use metier_harness::AgentEventKind;
use metier_home::Agent;
use metier_prompt::{Section, SkillMount};

use crate::asking::{Asking, asked, builder, rendering};
use crate::driver::{self, Act};
use crate::ended::behind;
use crate::rig::{Rig, skill_md};

const CODEWORD: &str = "blue-phoenix-42";

fn skilled() -> Section {
    let text = skill_md("codeword-skill", "Quagga-description", CODEWORD);
    Section::new("more", "More").body("More.").skill(SkillMount::from_text("codeword-skill", text))
}

/// A01: a codeword that is only in a skill of a section is in the answer, and without the skill it is not.
pub(crate) fn asked_codeword(rig: &Rig) {
    let activate = driver::step(rig.agent, &Act::Activate("codeword-skill"));
    let steps = || vec![activate.clone(), Step::quote("The codeword is ")];
    let prompt = || builder("What is the codeword?");
    let Some(mut asking) = Asking::new(rig, steps()) else { return };
    let answer = asked(&*asking.harness, rendering(prompt())).run(&mut asking.session).unwrap();
    assert_eq!(answer.text, "I was not told.");
    drop(asking);
    let mut asking = Asking::new(rig, steps()).unwrap();
    let prompt = rendering(prompt().section(skilled()));
    let answer = asked(&*asking.harness, prompt).run(&mut asking.session).unwrap();
    assert_eq!(answer.text, CODEWORD);
    let (first, rest) = {
        let requests = asking.server.requests();
        let saw: Vec<bool> = requests
            .iter()
            .filter(|request| request.results.is_some())
            .map(|request| request.contains(CODEWORD))
            .collect();
        (saw[0], saw[1..].contains(&true))
    };
    assert!(!first && rest, "the codeword comes from the skill");
    asking.assert_nothing_is_left();
}

/// E50, E52: when the program starts, it is in a home of its own with the skills on the disk, in an empty workspace, and is
/// told to read no settings but the home's.
pub(crate) fn asked_start(rig: &Rig) {
    let seen = rig.path("seen");
    let script = format!(
        "{{ echo \"$HOME\"; pwd; ls -A | wc -l; find \"$HOME\" -name SKILL.md; for word; do echo \"$word\"; done; }} >{}; exec \"$@\"",
        seen.display()
    );
    let change = behind(&script);
    let Some(mut asking) = Asking::set_up(rig, vec![Step::text("ALL-DONE")], |setup| {
        change(setup);
        setup.working = None;
    }) else {
        return;
    };
    let prompt = rendering(builder("Go.").section(skilled()));
    let answer = asked(&*asking.harness, prompt).run(&mut asking.session).unwrap();
    assert_eq!(answer.text, "ALL-DONE");
    let seen = fs::read_to_string(seen).unwrap();
    let lines: Vec<&str> = seen.lines().collect();
    let [home, working, count, skill, words @ ..] = &lines[..] else { panic!("{seen}") };
    let prefix = format!("{}/{}-agent-", rig.path("homes").display(), rig.agent.name());
    assert!(home.starts_with(&prefix), "{home} {prefix}");
    assert!(working.contains("metier-workspace-") && *count == "0", "{working} {count}");
    assert!(skill.starts_with(home) && skill.ends_with("/skills/codeword-skill/SKILL.md"), "{skill}");
    if rig.agent == Agent::ClaudeCode {
        assert!(words.contains(&"--setting-sources=user"), "{words:?}");
    }
    assert!(!fs::exists(home).unwrap() && !fs::exists(working).unwrap());
    asking.assert_nothing_is_left();
}

/// A conversation that is resumed in another home: the model is told what was said, and it is not shown again. A new one in the
/// same place knows nothing. Skills are found in both.
pub(crate) fn asked_resume(rig: &Rig) {
    let kept = rig.path("kept");
    let start = || {
        Asking::set_up(rig, vec![Step::each(["FIRST-ANSWER", "SECOND-ANSWER"])], |setup| {
            if matches!(rig.agent, Agent::ClaudeCode | Agent::Codex | Agent::Copilot) {
                setup.home.conversations = Some(kept.clone());
            } else {
                let kept = kept.display().to_string();
                setup.home.isolation.env.insert("XDG_DATA_HOME".to_owned(), kept);
            }
        })
    };
    let Some(mut asking) = start() else { return };
    let first = rendering(builder("Say Numbat-first."));
    let first = asked(&*asking.harness, first).run(&mut asking.session).unwrap();
    assert_eq!(first.text, "FIRST-ANSWER");
    let id = first.session_id.unwrap();
    drop(asking);
    for (is_resumed, wanted) in [(false, "FIRST-ANSWER"), (true, "SECOND-ANSWER")] {
        let mut asking = start().unwrap();
        let mut said = String::new();
        let second = rendering(builder("Say Okapi-second.").section(skilled()));
        let mut builder = asked(&*asking.harness, second).on_event(|event| {
            if let AgentEventKind::Text { text } = &event.kind {
                said.push_str(text);
            }
        });
        if is_resumed {
            builder = builder.resume(&id);
        }
        let second = builder.run(&mut asking.session).unwrap();
        assert_eq!((second.text.as_str(), said.as_str(), second.turns), (wanted, wanted, 1));
        assert!(
            asking.saw("Okapi-second") && asking.saw("Quagga-description"),
            "its skill is found: {is_resumed}"
        );
        assert_eq!(asking.saw("Numbat-first"), is_resumed);
        assert_eq!(second.session_id.as_ref() == Some(&id), is_resumed, "{second:?}");
        asking.assert_nothing_is_left();
    }
}
