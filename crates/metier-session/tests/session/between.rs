//! Changes at one known moment: between the scan and the activation, between activation, question and use, between the look at a script
//! and its run. What `operations.rs` and `vectors.rs` have is not repeated: another body after the scan, other content for a
//! read or a run, a new file.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};

use metier_journal::{Event, RecordQuery};
use metier_policy::{Answer, Approver, Lifetime, Policy, PolicySettings, Question};
use metier_session::{Session, SessionError, replay};
use metier_skill::{Coded as _, Digest, Tier};

use crate::common::{Ground, Says};
use crate::paths::SECRET;

/// A skill that was found, and then changed.
fn after_the_scan(change: impl FnOnce(&Ground)) -> (Ground, Session) {
    let ground = Ground::with_pdf();
    ground.write(
        "outside/SKILL.md",
        &format!("---\nname: pdf\ndescription: Use when outside.\n---\n{SECRET}\n"),
    );
    let session = ground.session(Tier::Org);
    change(&ground);
    (ground, session)
}

#[test]
fn what_is_no_longer_that_skill_after_the_scan_is_refused() {
    type Change = fn(&Ground);
    let cases: [(&str, Change, &str); 6] = [
        ("gone", |g| fs::remove_file(g.path("skills/pdf/SKILL.md")).unwrap(), "skill-not-found"),
        (
            "a link",
            |g| {
                fs::remove_file(g.path("skills/pdf/SKILL.md")).unwrap();
                symlink(g.path("outside/SKILL.md"), g.path("skills/pdf/SKILL.md")).unwrap();
            },
            "skill-not-found",
        ),
        (
            "in a linked directory",
            |g| {
                fs::rename(g.path("skills/pdf"), g.path("aside")).unwrap();
                symlink(g.path("outside"), g.path("skills/pdf")).unwrap();
            },
            "skill-io",
        ),
        // The very same bytes, by a way that somebody else can change.
        (
            "the same in a linked directory",
            |g| {
                fs::rename(g.path("skills/pdf"), g.path("aside")).unwrap();
                symlink(g.path("aside"), g.path("skills/pdf")).unwrap();
            },
            "skill-io",
        ),
        (
            "of another name",
            |g| {
                g.write("skills/pdf/SKILL.md", "---\nname: other\ndescription: Use when other.\n---\n");
            },
            "skill-invalid",
        ),
        (
            "not for models",
            |g| g.skill("pdf", "disable-model-invocation: true\n", ""),
            "skill-not-for-models",
        ),
    ];
    for (name, change, code) in cases {
        let (ground, mut session) = after_the_scan(change);
        let error = session.activate("pdf").unwrap_err();
        assert_eq!(error.code(), code, "{name}: {error:?}");
        assert!(session.read("pdf", "logo.bin").is_err(), "{name}");
        assert!(session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).is_err(), "{name}");
        assert!(ground.records().iter().all(|record| !record.event.to_string().contains(SECRET)));
    }
}

/// Says yes, and does something while it is asked.
struct Meddles<F>(F);

impl<F: FnMut()> Approver for Meddles<F> {
    fn ask(&mut self, _: &Question<'_>) -> Answer {
        (self.0)();
        Answer::Approve(Lifetime::Digest)
    }
}

#[test]
fn what_changes_while_a_person_is_asked_is_not_run() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::User);
    session.activate("pdf").unwrap();
    let script = ground.path("skills/pdf/scripts/hello.sh");
    session.set_approver(Box::new(Meddles(move || fs::write(&script, "echo not approved\n").unwrap())));
    let error = session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).unwrap_err();
    assert!(matches!(error, SessionError::Changed { .. }), "{error:?}");
    // Nor does the answer hold for what it is now.
    session.set_approver(Box::new(metier_policy::NoApprover));
    session.activate("pdf").unwrap();
    let error = session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).unwrap_err();
    assert_eq!(error.code(), "permission-denied");
}

/// A session that asks before everything, and whose skill changes while a person is asked.
fn asked_while(ground: &Ground, access: &str, change: impl FnMut() + Send + 'static) -> Session {
    let rule = format!("[[rules]]\nskill = \"pdf\"\n{access} = \"ask\"\n");
    let settings: PolicySettings = toml::from_str(&rule).unwrap();
    let mut options = ground.options(Tier::Org);
    options.policy = Policy::new(Some(("policy.toml", &settings)), &[]).unwrap();
    let mut session = Session::start(options).unwrap();
    session.set_approver(Box::new(Meddles(change)));
    session
}

#[test]
fn what_changes_while_a_person_is_asked_is_not_handed_out() {
    let ground = Ground::with_pdf();
    let skill = ground.path("skills/pdf/SKILL.md");
    let other = "---\nname: pdf\ndescription: Use when changed.\n---\nNot approved.\n";
    let mut session = asked_while(&ground, "activate", move || fs::write(&skill, other).unwrap());
    let activation = session.activate("pdf").unwrap();
    assert_eq!(fs::read_to_string(ground.path("skills/pdf/SKILL.md")).unwrap(), other, "somebody was asked");
    assert!(activation.content.contains("Fill in forms.") && !activation.content.contains("Not approved."));
    assert_ne!(activation.skill_md_digest, Digest::of(other.as_bytes()));
    let guide = ground.path("skills/pdf/references/guide.md");
    let mut session =
        asked_while(&ground, "resources", move || fs::write(&guide, "Not approved.\n").unwrap());
    let error = session.read("pdf", "references/guide.md").unwrap_err();
    assert_eq!(error.code(), "skill-changed");
    assert_eq!(
        replay(&mut ground.reader(), &ground.store(), &RecordQuery::default()).unwrap().divergence,
        None
    );
}

#[test]
fn what_changes_after_the_look_at_a_script_does_not_run() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::Org);
    let prepared = session.prepare_script(ground.call("pdf", "scripts/hello.sh")).unwrap();
    // All that somebody else can get at.
    ground.write("skills/pdf/scripts/hello.sh", "echo changed\n");
    let finished = prepared.run(&mut ());
    let report = session.finish_script(finished).unwrap();
    assert_eq!(String::from_utf8_lossy(&report.run.stdout.bytes), "hello \n");
    assert_eq!(report.script_digest, Digest::of(b"echo \"hello $*\"\n"));
    let recorded = ground.events().into_iter().find_map(|event| match event {
        Event::SkillScriptExecuted(run) => Some((run.script_digest, run.tree_digest)),
        _ => None,
    });
    assert_eq!(recorded, Some((report.script_digest, report.tree_digest)));
}

#[test]
fn another_run_bit_is_another_skill() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::Org);
    session.activate("pdf").unwrap();
    fs::set_permissions(ground.path("skills/pdf/logo.bin"), Permissions::from_mode(0o755)).unwrap();
    let error = session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).unwrap_err();
    assert!(error.to_string().contains("`logo.bin` has changed"), "{error}");
    // Its bytes are what they were, and that is all that is handed out.
    assert!(session.read("pdf", "logo.bin").is_ok());
}

#[test]
fn a_run_that_was_refused_for_a_change_is_recorded_and_replays() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::Org);
    session.activate("pdf").unwrap();
    ground.write("skills/pdf/scripts/hello.sh", "echo changed\n");
    session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).unwrap_err();
    let found = replay(&mut ground.reader(), &ground.store(), &RecordQuery::default()).unwrap();
    assert_eq!((found.divergence, found.refused), (None, 1));
}

/// Who starts metier may want nobody else to read what it writes; a script that another user runs still needs its copy.
#[test]
fn scripts_run_whatever_the_umask_says() {
    let own = std::env::current_exe().unwrap();
    let _ = crate::launcher::launcher();
    let output = std::process::Command::new("sh")
        .args([
            "-c",
            "umask 077; exec \"$0\" --exact between::what_changes_after_the_look_at_a_script_does_not_run",
        ])
        .arg(own)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn instructions_are_not_read_past_a_question_about_activation() {
    let ground = Ground::with_pdf();
    let settings: PolicySettings = toml::from_str("[[rules]]\nactivate = \"ask\"\n").unwrap();
    let mut options = ground.options(Tier::ThirdParty);
    options.policy = Policy::new(None, &[("config.toml", &settings)]).unwrap();
    let mut session = Session::start(options).unwrap();
    for path in ["SKILL.md", "./SKILL.md", ".//SKILL.md"] {
        let error = session.read("pdf", path).unwrap_err();
        assert!(matches!(error, SessionError::Denied { .. }), "{path}: {error}");
        let Some(Event::SkillToolCallDecided { decision, tool, .. }) = ground.events().pop() else {
            panic!("a no is recorded");
        };
        assert_eq!((decision.as_str(), tool.as_str()), ("deny", "read_skill_resource"));
    }
    session.set_approver(Box::new(Says::yes()));
    session.activate("pdf").unwrap();
    session.set_approver(Box::new(metier_policy::NoApprover));
    session.read("pdf", "SKILL.md").unwrap();
}
