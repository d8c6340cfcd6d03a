//! Activating again, parts of files, answers, handlers, budgets, saving, forking, compaction.

use std::fs;
use std::sync::{Arc, Mutex};

use metier_journal::{Event, Privacy, Trigger};
use metier_policy::Lifetime;
use metier_session::{ApprovalStore, Budget, ModelUsage, Recording, ResourcePart, Session};
use metier_skill::{Coded as _, Digest, Tier};

use crate::common::{Ground, Says};

#[test]
fn what_a_model_has_is_not_handed_out_again() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::User);
    let first = session.activate("pdf").unwrap();
    let second = session.activate("pdf").unwrap();
    assert!(second.already_active && !first.already_active);
    assert!(second.content.len() < 100 && !second.content.contains("Fill in"), "{}", second.content);
    let forced = session.reload("pdf").unwrap();
    assert_eq!((forced.content, forced.already_active), (first.content, false));
    // Another byte anywhere in the skill, and it is handed out again.
    ground.write("skills/pdf/references/guide.md", "# Other\n");
    let third = session.activate("pdf").unwrap();
    assert!(!third.already_active && third.tree_digest != second.tree_digest);
    assert_eq!(session.stats()["pdf"].activations, 3);
}

#[test]
fn unknown_skills_get_the_nearest_names() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::User);
    let error = session.activate("pfd").unwrap_err();
    assert_eq!(error.to_string(), "unknown skill `pfd`; did you mean `pdf`?");
    assert_eq!(session.activate(&"x".repeat(1 << 20)).unwrap_err().code(), "skill-not-found");
    assert_eq!(session.stats()["pfd"].activation_failures, 1);
    let error = session.read("pdf", "References/Guide.md").unwrap_err();
    assert!(error.to_string().ends_with("did you mean `references/guide.md`?"), "{error}");
}

#[test]
fn what_is_for_people_is_not_for_models() {
    let ground = Ground::new();
    ground.skill("deploy", "disable-model-invocation: true\n", "Deploy.\n");
    ground.write("skills/deploy/plan.md", "secret plan");
    let mut session = ground.session(Tier::User);
    assert_eq!(session.activate("deploy").unwrap_err().code(), "skill-not-for-models");
    assert_eq!(session.read("deploy", "plan.md").unwrap_err().code(), "skill-not-for-models");
    session.activate_as("deploy", Trigger::User).unwrap();
    assert!(session.read("deploy", "plan.md").is_ok(), "a person has brought it in");
}

#[test]
fn parts_of_files() {
    let ground = Ground::with_pdf();
    let mut options = ground.options(Tier::User);
    options.resource_bytes = 8;
    let mut session = Session::start(options).unwrap();
    let mut read = |path: &str, part| session.read_part("pdf", path, part).unwrap();
    let first = read("references/guide.md", None);
    assert_eq!(
        (first.encoded().as_str(), first.next_offset(), first.total_bytes),
        ("# Guide\n", Some(8), 21)
    );
    let rest = read("references/guide.md", Some(ResourcePart::Bytes { offset: 8, length: None }));
    assert_eq!((rest.encoded().as_str(), rest.next_offset()), ("\nLine th", Some(16)));
    let line = read("references/guide.md", Some(ResourcePart::Lines { first: 1, last: Some(1) }));
    assert_eq!((line.encoded().as_str(), line.digest), ("# Guide\n", Digest::of(b"# Guide\n")));
    let binary = read("logo.bin", None);
    assert_eq!(
        (binary.encoded().as_str(), binary.is_text, binary.mime_type),
        ("AAEC", false, "application/octet-stream")
    );
    let beyond = session.read_part("pdf", "logo.bin", ResourcePart::Bytes { offset: 4, length: None });
    assert_eq!(beyond.unwrap_err().code(), "resource-range");
}

#[test]
fn changes_are_noticed_by_reads_and_runs() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::Org);
    session.activate("pdf").unwrap();
    ground.write("skills/pdf/references/guide.md", "# Changed\n");
    let error = session.read("pdf", "references/guide.md").unwrap_err();
    assert_eq!(error.code(), "skill-changed");
    ground.write("skills/pdf/new.md", "new");
    assert_eq!(session.read("pdf", "new.md").unwrap_err().code(), "skill-changed");
    // A script runs only in the skill that was approved, whichever of its files has changed.
    let error = session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).unwrap_err();
    assert_eq!(error.code(), "skill-changed");
    session.activate("pdf").unwrap();
    assert_eq!(session.read("pdf", "new.md").unwrap().encoded(), "new");
    assert!(session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).is_ok());
    fs::remove_dir_all(ground.path("skills/pdf")).unwrap();
    assert!(session.read("pdf", "new.md").is_err());
}

#[test]
fn answers_last_as_long_as_they_were_given_for() {
    let ground = Ground::with_pdf();
    let run =
        |session: &mut Session| session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).is_ok();
    for (lifetime, same_session, next_session) in [
        (Lifetime::Once, false, false),
        (Lifetime::Session("s1".to_owned()), true, false),
        (Lifetime::Digest, true, true),
    ] {
        let mut options = ground.options(Tier::User);
        let directory = tempfile::tempdir().unwrap();
        options.approvals = Some(ApprovalStore::new(directory.path()));
        let mut session = Session::with_id(options.clone(), "s1").unwrap();
        session.set_approver(Box::new(Says(true, lifetime.clone(), Arc::default())));
        assert!(run(&mut session));
        session.set_approver(Box::new(metier_policy::NoApprover));
        assert_eq!(run(&mut session), same_session, "{lifetime:?}");
        let mut next = Session::with_id(options.clone(), "s2").unwrap();
        assert_eq!(run(&mut next), next_session, "{lifetime:?}");
        // Other bytes are another skill.
        ground.write("skills/pdf/logo.bin", &format!("{lifetime:?}"));
        options.catalog = ground.catalog(Tier::User);
        assert!(!run(&mut Session::with_id(options, "s1").unwrap()));
    }
}

#[test]
fn an_answer_for_once_is_used_up_once() {
    let ground = Ground::with_pdf();
    let directory = tempfile::tempdir().unwrap();
    let mut options = ground.options(Tier::User);
    options.approvals = Some(ApprovalStore::new(directory.path()));
    let mut session = Session::start(options.clone()).unwrap();
    let tree = session.activate_as("pdf", Trigger::User).unwrap().tree_digest;
    let request = metier_policy::Request::new(
        Tier::User,
        "pdf",
        tree,
        metier_policy::Action::Run { script: "scripts/hello.sh" },
    );
    let question = metier_policy::Question::new(&request, metier_policy::Access::Scripts, "");
    let approval = metier_policy::Approval::answer(&question, true, Lifetime::Once);
    options.approvals.as_ref().unwrap().keep(&approval).unwrap();
    let mut run = || session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ());
    assert!(run().is_ok());
    assert_eq!(run().unwrap_err().code(), "permission-denied");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// Who answers later is not taken for a no: nothing is recorded, and the same can be tried again with the answer.
#[test]
fn an_answer_can_come_later() {
    struct Later;
    impl metier_policy::Approver for Later {
        fn ask(&mut self, _: &metier_policy::Question<'_>) -> metier_policy::Answer {
            metier_policy::Answer::Later
        }
    }
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::User);
    session.set_approver(Box::new(Later));
    let before = ground.events().len();
    let error = session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).unwrap_err();
    assert_eq!(error.code(), "permission-asked");
    assert_eq!(ground.events().len(), before, "nothing is recorded");
    session.set_approver(Box::new(Says::yes()));
    session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).unwrap();
}

#[test]
fn a_no_is_remembered_and_recorded() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::User);
    let says = Says::no();
    session.set_approver(Box::new(says.clone()));
    let error = session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).unwrap_err();
    assert_eq!(error.code(), "permission-denied");
    assert_eq!(says.asked().len(), 1);
    let answers: Vec<_> =
        ground.events().into_iter().filter(|event| matches!(event, Event::SkillApproval { .. })).collect();
    assert_eq!(answers.len(), 1);
}

#[test]
fn a_handler_that_fails_or_panics_changes_nothing_else() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::User);
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let see = |name: &str| {
        let (seen, name) = (Arc::clone(&seen), name.to_owned());
        move |emitted: &metier_session::EmittedEvent<'_>| {
            let kind = serde_json::to_value(emitted.event).unwrap()["kind"].as_str().unwrap().to_owned();
            seen.lock().unwrap().push(format!("{name} {kind}"));
            Ok(())
        }
    };
    session.subscribe("first", see("first"));
    session.subscribe("fails", |_| Err("no".into()));
    session.subscribe("panics", |_| panic!("boom"));
    session.subscribe("last", see("last"));
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let activation = session.activate("pdf");
    let resource = session.read("pdf", "logo.bin");
    std::panic::set_hook(hook);
    assert!(activation.is_ok() && resource.is_ok());
    let kinds = [
        "first skill.activated",
        "last skill.activated",
        "first skill.resource_read",
        "last skill.resource_read",
    ];
    assert_eq!(*seen.lock().unwrap(), kinds, "in order, and all of them");
    let failures: Vec<_> =
        session.handler_failures().iter().map(|one| (one.handler.as_str(), one.reason.as_str())).collect();
    assert_eq!(
        failures,
        [("fails", "no"), ("panics", "it panicked: boom"), ("fails", "no"), ("panics", "it panicked: boom")]
    );
    assert_eq!(
        ground.kinds().iter().filter(|kind| kind.starts_with("skill.")).count(),
        2,
        "and both are recorded"
    );
    let ids: Vec<String> = ground.records().into_iter().map(|record| record.id).collect();
    assert!(
        session.handler_failures().iter().all(|one| ids.contains(&one.event.to_string())),
        "one id for bus and journal"
    );
}

#[test]
fn beyond_the_budget_nothing_is_done() {
    let ground = Ground::with_pdf();
    let mut options = ground.options(Tier::User);
    options.budget = Some(Budget { total: Some(100), ..Budget::default() });
    let mut session = Session::start(options).unwrap();
    session.record_usage("e1", ModelUsage { input: 60, output: 40 }).unwrap();
    assert!(session.activate("pdf").is_ok());
    assert_eq!(
        session.record_usage("e2", ModelUsage { input: 1, output: 0 }).unwrap_err().code(),
        "budget-total"
    );
    assert_eq!(session.read("pdf", "logo.bin").unwrap_err().code(), "budget-total");
    assert_eq!(
        session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).unwrap_err().code(),
        "budget-total"
    );
}

#[test]
fn saved_and_taken_up_again() {
    let ground = Ground::with_pdf();
    ground.skill("reader", "allowed-tools: Read\n", "Read.\n");
    let mut session = ground.session(Tier::User);
    session.set_task(Some("t".to_owned()));
    session.activate("pdf").unwrap();
    session.activate("reader").unwrap();
    session.record_usage("e", ModelUsage { input: 1, output: 2 }).unwrap();
    let contents: Vec<String> = session.contents().map(|(_, content)| content).collect();
    let saved = session.save();
    // What was handed out survives whatever becomes of the skill.
    fs::remove_file(ground.path("skills/pdf/SKILL.md")).unwrap();
    let mut restored = Session::restore(ground.options(Tier::User), &saved).unwrap();
    assert_eq!(restored.contents().map(|(_, content)| content).collect::<Vec<_>>(), contents);
    assert_eq!((restored.id(), restored.usage()), (session.id(), session.usage()));
    assert_eq!(restored.stats(), session.stats());
    assert!(!restored.check_tool_call("Bash", &"ls".into()).unwrap().is_allowed(), "rules still apply");
    assert_eq!(ground.kinds().iter().filter(|kind| *kind == "session.started").count(), 1, "it goes on");
    for (from, to) in
        [("\"format\":1", "\"format\":9"), ("\"task\":\"t\"", "\"odd\":1"), ("sha256:", "sha256:0")]
    {
        let error = Session::restore(ground.options(Tier::User), &saved.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.code(), "session-state", "{from}");
    }
    // Nor is another tier, with or without its id, or a rule about tools that is not in the bytes.
    for (from, to) in [
        ("\"tier\":\"user\"", "\"tier\":\"builtin\""),
        ("\"id\":\"user/pdf\"", "\"id\":\"builtin/pdf\""),
        ("\"id\":\"user/pdf\"", "\"id\":\"user/reader\""),
        ("\"needs\":[]", "\"needs\":[],\"allowed\":[\"Bash\"]"),
    ] {
        assert!(saved.contains(from), "{from}");
        let error = Session::restore(ground.options(Tier::User), &saved.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.code(), "session-state", "{to}");
    }
    // Another body under the same digest is not believed.
    let at = saved.find("\"skill_md\":\"").unwrap() + 20;
    let mut forged = saved.clone().into_bytes();
    forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
    let error =
        Session::restore(ground.options(Tier::User), std::str::from_utf8(&forged).unwrap()).unwrap_err();
    assert!(error.to_string().contains("was modified"), "{error}");
}

#[test]
fn a_fork_goes_its_own_way() {
    let ground = Ground::with_pdf();
    ground.skill("csv", "", "Tables.\n");
    let mut session = ground.session(Tier::User);
    session.activate("pdf").unwrap();
    let mut fork = session.fork_with_id("s2").unwrap();
    fork.activate("csv").unwrap();
    session.deactivate("pdf").unwrap();
    assert_eq!(fork.active().count(), 2);
    assert_eq!(session.active().count(), 0);
    let sessions: Vec<_> = ground.records().into_iter().filter_map(|record| record.session).collect();
    assert_eq!(sessions, ["s1", "s1", "s2", "s2", "s1"]);
}

#[test]
fn without_a_journal_that_can_be_written_nothing_is_done() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::Org);
    session.set_task(Some("x".repeat(1_000)));
    assert_eq!(session.activate("pdf").unwrap_err().code(), "journal-event");
    assert_eq!(session.active().count(), 0);
    assert!(session.read("pdf", "logo.bin").is_err());
    assert!(session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).is_err());
    let mut options = ground.options(Tier::Org);
    options.recording = Recording::Nowhere;
    assert!(Session::start(options).unwrap().activate("pdf").is_ok(), "unless the host says so");
}

#[test]
fn a_new_catalog_is_told() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::User);
    ground.skill("csv", "", "Tables.\n");
    session.set_catalog(ground.catalog(Tier::User)).unwrap();
    let added = ground.events().into_iter().find_map(|event| match event {
        Event::SkillsChanged { added, .. } => Some(added),
        _ => None,
    });
    assert_eq!(added.unwrap(), ["csv"]);
    assert!(session.activate("csv").is_ok());
}

#[test]
fn what_a_skill_needs_is_said() {
    let ground = Ground::with_pdf();
    ground.skill("forms", "metadata:\n  requires: pdf\n", "Forms.\n");
    let activation = ground.session(Tier::User).activate("forms").unwrap();
    assert_eq!(activation.needs, ["pdf"]);
    assert!(activation.content.contains("load them as well: pdf."), "{}", activation.content);
}

#[test]
fn a_session_can_go_to_another_thread() {
    fn can_go<T: Send + 'static>() {}
    can_go::<Session>();
    can_go::<metier_session::PreparedScript>();
    can_go::<metier_session::FinishedScript>();
}

#[test]
fn what_could_not_be_recorded_does_not_run_and_what_is_printed_is_never_too_much_for_a_record() {
    let ground = Ground::with_pdf();
    ground.write(
        "skills/pdf/scripts/ran.sh",
        "touch ran; for i in 1 2; do head -c 20000 /dev/zero >&$i; done\n",
    );
    let mut options = ground.options(Tier::Org);
    options.privacy = Privacy::default().with_text();
    let mut session = Session::start(options).unwrap();
    let mut call = ground.call("pdf", "scripts/ran.sh");
    call.variables = (0..4_000).map(|number| (format!("NAME_{number}"), "x".repeat(100))).collect();
    let error = session.run_script(call.clone(), &mut ()).unwrap_err();
    assert!(error.to_string().contains("was not performed"), "{error}");
    assert!(!ground.path("work/ran").exists());
    call.variables.clear();
    call.input = vec![0; 20_000];
    session.run_script(call, &mut ()).unwrap();
    let Some(Event::SkillScriptExecuted(run)) = ground.events().pop() else { panic!("no record") };
    assert_eq!(run.stdout.unwrap().bytes, 20_000);
}
