//! What the suites of the journal share: events of many kinds, and journals with them.

use std::path::Path;

use metier_journal::{
    Clock, Event, Journal, JournalAddress, JournalOptions, PendingRecord, Privacy, RecordContext,
    RecordedContent, RunFacts, ScriptExecuted, ScriptOutcome, Trigger,
};
use metier_skill::{Digest, Tier};

use crate::clock::TestClock;

pub(crate) fn place(directory: &Path) -> JournalAddress {
    JournalAddress::file(directory.join("journal.db"))
}

pub(crate) fn open(directory: &Path) -> Journal {
    Journal::open(&place(directory), JournalOptions::new(TestClock::new(0))).unwrap()
}

fn content(text: &str) -> RecordedContent {
    Privacy::default().content(text.as_bytes())
}

/// The event with this number: each kind in turn, with strange names among them.
pub(crate) fn event(number: u64) -> Event {
    let name = ["pdf", "brand-voice", "日本語", "quote\"back\\slash\u{1}"]
        [usize::try_from(number / 5 % 4).unwrap()]
    .to_owned();
    let digest = Digest::of(&number.to_le_bytes());
    match number % 5 {
        0 => Event::SkillActivated {
            skill_id: format!("user/{name}"),
            name,
            tier: Tier::User,
            skill_md_digest: digest,
            tree_digest: digest,
            trigger: Trigger::Model,
            tokens: number,
            duration_us: 250,
            path: None,
        },
        1 => Event::SkillResourceRead {
            name,
            tree_digest: digest,
            path: "references/forms.md".to_owned(),
            content: content("a form"),
            range: None,
            tokens: 3,
            duration_us: 90,
        },
        2 => Event::SkillScriptExecuted(Box::new(ScriptExecuted {
            name,
            tree_digest: digest,
            script: "scripts/fill.py".to_owned(),
            script_digest: digest,
            arguments: Privacy::default().arguments(&["--in", "a.pdf"]),
            input: None,
            variables: Privacy::default().variables([("LANG", "C"), ("API_KEY", "secret")]),
            outcome: ScriptOutcome::Exited,
            exit: Some(i64::from(number.is_multiple_of(7))),
            code: None,
            rule: None,
            duration_us: 1_500,
            protections: vec!["mounts".to_owned(), "landlock".to_owned()],
            stdout: Some(content("done")),
            stderr: None,
            facts: RunFacts::default(),
        })),
        3 => Event::SkillActivationFailed {
            name,
            trigger: Trigger::User,
            code: "skill-not-found".to_owned(),
            rule: None,
        },
        _ => Event::SkillDeactivated { name },
    }
}

pub(crate) fn entry(clock: &dyn Clock, session: &str, number: u64) -> PendingRecord {
    PendingRecord::new(clock, &RecordContext::session(session), &event(number)).unwrap()
}

/// A journal with so many records besides its own.
pub(crate) fn filled(directory: &Path, count: u64) -> JournalAddress {
    let clock = TestClock::new(1);
    let journal = open(directory);
    for number in 0..count {
        journal.append(entry(&*clock, &format!("session-{}", number % 3), number)).unwrap();
    }
    journal.close().unwrap();
    place(directory)
}

/// What a person, or a test that starts itself again, asks for.
#[expect(clippy::disallowed_methods, reason = "variables are how a test is asked for more, and asks itself")]
pub(crate) fn asked(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
