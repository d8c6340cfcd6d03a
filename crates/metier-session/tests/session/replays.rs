//! A journal that is walked again.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use metier_journal::{PendingRecord, RecordContext, RecordQuery};
use metier_session::{ReplayReport, ResourcePart, replay};
use metier_skill::Tier;
use serde_json::json;

use crate::common::{Ground, Says};

fn replayed(ground: &Ground) -> ReplayReport {
    replay(&mut ground.reader(), &ground.store(), &RecordQuery::default()).unwrap()
}

/// A session of a thousand events of every kind, over versions of several skills.
fn mixed(ground: &Ground) {
    let mut session = ground.session(Tier::Org);
    session.set_approver(Box::new(Says::yes()));
    let mut count = 0;
    for round in 0.. {
        let name = format!("skill-{}", round % 5);
        ground.skill(&name, "", &format!("Body {}.\n", round / 25));
        ground.write(&format!("skills/{name}/notes.md"), &format!("one\ntwo {round}\n"));
        ground.write(&format!("skills/{name}/run.sh"), "echo done\n");
        session.set_catalog(ground.catalog(Tier::Org)).unwrap();
        session.activate(&name).unwrap();
        for line in 1..=2 {
            session
                .read_part(&name, "notes.md", ResourcePart::Lines { first: line, last: Some(line) })
                .unwrap();
        }
        session.read(&name, "SKILL.md").unwrap();
        session.check_tool_call("Bash", &json!({ "command": "ls" })).unwrap();
        if round % 40 == 0 {
            session.run_script(ground.call(&name, "run.sh"), &mut ()).unwrap();
        }
        let _ = session.activate("nobody");
        session.deactivate(&name).unwrap();
        count = ground.reader().size().unwrap();
        if count >= 1_000 {
            break;
        }
    }
    assert!(count >= 1_000);
}

#[test]
fn a_thousand_events_replay_and_a_changed_byte_names_its_event() {
    let ground = Ground::new();
    mixed(&ground);
    let whole = replayed(&ground);
    assert_eq!(whole.divergence, None);
    assert!(whole.activations > 100 && whole.reads > 300 && whole.scripts >= 3, "{whole:?}");
    // Each object in turn: the first event that needs it is named.
    let records = ground.records();
    let mut objects = Vec::new();
    for directory in fs::read_dir(ground.own("store/objects")).unwrap() {
        objects.extend(fs::read_dir(directory.unwrap().path()).unwrap().map(|file| file.unwrap().path()));
    }
    objects.sort();
    assert!(objects.len() > 100);
    for path in objects.iter().step_by(7) {
        let bytes = fs::read(path).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        let mut changed = bytes.clone();
        let middle = changed.len() / 2;
        changed[middle] ^= 1;
        fs::write(path, &changed).unwrap();
        let divergence = replayed(&ground).divergence.expect("a changed byte is found");
        let record = &records[usize::try_from(divergence.sequence).unwrap()];
        assert_eq!((divergence.code, &divergence.id), ("store-changed", &record.id));
        assert_eq!(record.event["name"], divergence.skill.as_str());
        fs::write(path, &bytes).unwrap();
    }
    assert_eq!(replayed(&ground), whole, "and put back, all is as it was");
    let one = objects.first().unwrap();
    fs::remove_file(one).unwrap();
    assert_eq!(replayed(&ground).divergence.unwrap().code, "store-missing");
}

#[test]
fn what_was_never_kept_cannot_be_proven() {
    let ground = Ground::with_pdf();
    let mut options = ground.options(Tier::User);
    options.store = None;
    let mut session = metier_session::Session::start(options).unwrap();
    session.activate("pdf").unwrap();
    let divergence = replayed(&ground).divergence.unwrap();
    assert_eq!(
        (divergence.kind.as_str(), divergence.code, divergence.skill.as_str()),
        ("skill.activated", "store-missing", "pdf")
    );
    let other = RecordQuery { session: Some("other".to_owned()), ..RecordQuery::default() };
    assert_eq!(replay(&mut ground.reader(), &ground.store(), &other).unwrap().divergence, None);
}

#[test]
fn records_that_cannot_be_true_are_found() {
    use metier_journal::{ByteRange, Event, PendingRecord, Privacy, RecordContext};
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::User);
    let tree = session.activate("pdf").unwrap().tree_digest;
    let read = |path: &str, bytes: &[u8], range| Event::SkillResourceRead {
        name: "pdf".to_owned(),
        tree_digest: tree,
        path: path.to_owned(),
        content: Privacy::default().content(bytes),
        range,
        tokens: 0,
        duration_us: 0,
    };
    let beyond = Some(ByteRange { offset: u64::MAX >> 12, length: 1 });
    let whole = b"# Guide\n\nLine three.\n";
    let part = Some(ByteRange { offset: 0, length: 7 });
    assert_eq!(replayed(&ground).divergence, None);
    for (event, code) in [
        (read("references/guide.md", b"other", None), "replay-content"),
        (read("references/guide.md", whole, beyond), "replay-content"),
        (read("references/guide.md", whole, part), "replay-content"),
        (read("none.md", whole, None), "replay-file"),
    ] {
        let ground = Ground::with_pdf();
        let mut session = ground.session(Tier::User);
        session.activate("pdf").unwrap();
        let entry = PendingRecord::new(&*ground.clock, &RecordContext::session("s1"), &event).unwrap();
        ground.journal().append(entry).unwrap();
        assert_eq!(replayed(&ground).divergence.unwrap().code, code);
    }
}

#[test]
fn a_file_that_is_gone_from_the_store_is_kept_again_by_the_next_use() {
    let ground = Ground::with_pdf();
    let activation = ground.session(Tier::Org).activate("pdf").unwrap();
    fs::remove_file(ground.store().path(&activation.skill_md_digest)).unwrap();
    assert_eq!(replayed(&ground).divergence.unwrap().code, "store-missing");
    ground.session(Tier::Org).activate("pdf").unwrap();
    assert_eq!(replayed(&ground).divergence, None);
}

#[test]
fn a_record_that_does_not_say_what_its_kind_says_is_no_proof() {
    let ground = Ground::with_pdf();
    let context = RecordContext::default();
    for (kind, is_proven) in [("host.event", true), ("skill.script_executed", false)] {
        let entry = PendingRecord::of_value(&*ground.clock, &context, json!({ "kind": kind, "name": "pdf" }))
            .unwrap();
        ground.journal().append(entry).unwrap();
        let found = replayed(&ground).divergence.map(|wrong| (wrong.code, wrong.kind));
        assert_eq!(found, (!is_proven).then(|| ("replay-record", kind.to_owned())));
    }
}
