//! What the journal has of a run: where it was, what it did, which checks came before it.

use std::fs;

use metier_journal::{Event, ScriptExecuted, ScriptOutcome};
use metier_sandbox::Network;
use metier_skill::{Coded as _, Tier};
use serde_json::{Value, json};

use crate::common::Ground;

/// The last run that was recorded.
fn last_run(ground: &Ground) -> ScriptExecuted {
    let mut runs = ground.events().into_iter().filter_map(|event| match event {
        Event::SkillScriptExecuted(run) => Some(*run),
        _ => None,
    });
    runs.next_back().unwrap()
}

#[test]
fn a_report_and_its_record_say_the_same() {
    let ground = Ground::with_pdf();
    ground.write("skills/pdf/scripts/plant.sh", "mkdir .claude; echo '{}' > .claude/settings.json; exit 3\n");
    let mut call = ground.call("pdf", "scripts/plant.sh");
    call.network = Network::None;
    let report = ground.session(Tier::Org).run_script(call, &mut ()).unwrap();
    let run = last_run(&ground);
    let mut facts = report.run.facts.clone();
    facts.approved.clone_from(&run.facts.approved);
    assert_eq!(facts, run.facts);
    assert_eq!((report.run.exit_code, run.exit), (Some(3), Some(3)));
    let work = fs::canonicalize(ground.path("work")).unwrap();
    assert_eq!(facts.work_directory.as_deref(), work.to_str());
    assert_eq!(facts.network.unwrap().mode, "none");
    assert_eq!(facts.planted.len(), 1, "{:?}", facts.planted);
    assert!(facts.planted[0].path.ends_with("/.claude") && facts.planted[0].moved_to.is_some());
    assert!(facts.usage.unwrap().wall_ms > 0);
    // As JSON, members of the run stand beside those of the script.
    let shown: Value = serde_json::to_value(&report).unwrap();
    assert_eq!(shown["script"], "scripts/plant.sh");
    assert_eq!(shown["ending"], json!({ "exited": 3 }));
    assert_eq!(shown["stdout"], json!({ "text": "", "truncated": false }));
    assert_eq!(shown["planted"][0]["path"], facts.planted[0].path.as_str());
    assert_eq!(shown["network"], json!({ "mode": "none" }));
}

/// A script that names a package which is not installed, and a work directory whose modules would say that it is.
fn needs_what_is_missing(ground: &Ground, shebang: &str) {
    let header = "# /// script\n# dependencies = [\"surely-not-installed-anywhere\"]\n# ///\n";
    ground.write("skills/pdf/scripts/needs.py", &format!("{shebang}{header}print('ran')\n"));
    let evil = "import os\nopen('was-here', 'w').close()\nos._exit(0)\n";
    for module in ["re.py", "packaging.py", "importlib.py"] {
        ground.write(&format!("work/{module}"), evil);
    }
    ground.write("work/x", "#!/bin/sh\ntouch was-here\n");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(ground.path("work/x"), open).unwrap();
}

#[test]
fn the_check_of_dependencies_runs_nothing_of_the_work_directory_and_is_recorded() {
    for shebang in ["#!/usr/bin/env python3\n", "#!/usr/bin/env ./x\n", ""] {
        let ground = Ground::with_pdf();
        needs_what_is_missing(&ground, shebang);
        let call = ground.call("pdf", "scripts/needs.py");
        let error = ground.session(Tier::Org).run_script(call, &mut ()).unwrap_err();
        assert_eq!(error.code(), "sandbox-dependencies", "{shebang:?}: {error}");
        assert!(!ground.path("work/was-here").exists(), "{shebang:?}");
        let run = last_run(&ground);
        assert_eq!((run.outcome, run.code.as_deref()), (ScriptOutcome::Failed, Some("sandbox-dependencies")));
        let kinds = ground.kinds();
        let place = |kind: &str| kinds.iter().position(|other| other == kind).unwrap();
        assert!(place("skill.tool_call_decided") < place("check.failed"), "announced first: {kinds:?}");
        assert!(place("check.failed") < place("skill.script_executed"), "{kinds:?}");
    }
}

#[test]
fn the_check_of_dependencies_can_be_cancelled() {
    let ground = Ground::with_pdf();
    needs_what_is_missing(&ground, "");
    let mut call = ground.call("pdf", "scripts/needs.py");
    call.cancel = metier_sandbox::Cancel::new().unwrap();
    call.cancel.cancel();
    let error = ground.session(Tier::Org).run_script(call, &mut ()).unwrap_err();
    assert_eq!(error.code(), "sandbox-dependency-check");
    assert!(error.to_string().contains("interrupted"), "{error}");
    assert_eq!(last_run(&ground).code.as_deref(), Some("sandbox-dependency-check"));
}

/// Also where metier is killed while it runs: the decision is all that the journal has then.
#[test]
fn what_is_about_to_run_is_recorded_with_its_skill() {
    let ground = Ground::with_pdf();
    ground.skill("other", "", "Text.\n");
    let mut session = ground.session(Tier::Org);
    session.activate("other").unwrap();
    let prepared = session.prepare_script(ground.call("pdf", "scripts/hello.sh")).unwrap();
    drop(prepared);
    let digest = session.activate("pdf").unwrap().tree_digest;
    let records = ground.records();
    let decided = records.iter().rev().find(|it| it.event["kind"] == "skill.tool_call_decided").unwrap();
    assert_eq!(decided.event["skills"], serde_json::json!({ "pdf": digest }), "{}", decided.event);
}

#[test]
fn a_skill_that_changed_is_a_failed_check_in_the_journal() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::Org);
    session.activate("pdf").unwrap();
    ground.write("skills/pdf/references/guide.md", "# Another\n");
    assert_eq!(session.read("pdf", "references/guide.md").unwrap_err().code(), "skill-changed");
    assert_eq!(
        session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).unwrap_err().code(),
        "skill-changed"
    );
    let failed: Vec<Value> = ground
        .records()
        .into_iter()
        .map(|record| record.event)
        .filter(|it| it["kind"] == "check.failed")
        .collect();
    assert_eq!(failed.len(), 2, "{failed:?}");
    for event in failed {
        assert_eq!((event["name"].as_str(), event["check"].as_str()), (Some("pdf"), Some("session")));
        assert_eq!(event["code"], "skill-changed");
        assert!(event["detail"].as_str().unwrap().contains("guide.md"), "{event}");
    }
}

/// The whole question: who ran what, where, when, with what, touching what, allowed by whom.
#[test]
fn a_record_says_what_a_script_touched_and_what_was_refused() {
    let ground = Ground::with_pdf();
    ground.write("work/changed.txt", "before\n");
    ground.write("work/deleted.txt", "before\n");
    ground.write("work/kept.txt", "before\n");
    ground.write("work/.claude/settings.json", "{}\n");
    let script = "mkdir -p new/deep; echo 1 > new/deep/one; echo 2 > two; echo more >> changed.txt; rm deleted.txt\n\
                  echo 3 > .envrc; rm .envrc; cat kept.txt; echo '{}' > .claude/settings.json; rm .claude/settings.json; echo x > /usr/x\n\
                  mkdir -p /usr/lib; echo fine > /dev/null; echo scratch > /tmp/scratch; true\n";
    ground.write("skills/pdf/scripts/touch.sh", script);
    let mut options = ground.options(Tier::User);
    options.identity =
        Some(metier_journal::Identity { user: "ada".to_owned(), uid: 1815, host: "engine".to_owned() });
    let mut session = metier_session::Session::start(options).unwrap();
    session.set_approver(Box::new(crate::common::Says::yes()));
    let report = session.run_script(ground.call("pdf", "scripts/touch.sh"), &mut ()).unwrap();
    let run = last_run(&ground);
    let touched = run.facts.touched.unwrap();
    assert_eq!(touched.created.first, ["new/deep/one", "two"]);
    assert_eq!(touched.changed.first, ["changed.txt"]);
    assert_eq!(touched.deleted.first, ["deleted.txt"]);
    assert_eq!(touched.temporary.first, [".envrc"]);
    assert!(!touched.incomplete);
    let refused = run.facts.refused_writes.expect("this kernel tells of calls");
    assert_eq!(refused.first, [".claude/settings.json", "/usr/x"], "{}", report.run.stderr.text());
    assert_eq!(refused.count, 3);
    assert_eq!(run.facts.approved.unwrap().how, "host");
    let last = ground.records().pop().unwrap().event;
    assert_eq!(
        (last["user"].as_str(), last["uid"].as_u64(), last["host"].as_str()),
        (Some("ada"), Some(1815), Some("engine"))
    );
}

#[test]
fn a_record_says_how_a_run_was_allowed() {
    let ground = Ground::with_pdf();
    let how = |session: &mut metier_session::Session| {
        session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).unwrap();
        let approved = last_run(&ground).facts.approved.unwrap();
        (approved.how, approved.id)
    };
    assert_eq!(how(&mut ground.session(Tier::Org)), ("policy".to_owned(), None));
    let mut options = ground.options(Tier::User);
    options.approvals = Some(metier_session::ApprovalStore::new(ground.path("approvals")));
    let mut session = metier_session::Session::start(options.clone()).unwrap();
    let says = crate::common::Says(true, metier_policy::Lifetime::Digest, std::sync::Arc::default());
    session.set_approver(Box::new(says));
    let (who, id) = how(&mut session);
    assert_eq!(who, "host");
    let (kept, _) = options.approvals.clone().unwrap().list().unwrap();
    assert_eq!(id.as_deref(), Some(kept[0].id.as_str()));
    let mut later = metier_session::Session::start(options).unwrap();
    assert_eq!(how(&mut later), ("stored".to_owned(), id));
}

/// Attempts at files of no interest come first, and must not fill the list.
#[test]
fn refused_writes_to_what_is_protected_are_listed_however_many_others_there_are() {
    let ground = Ground::with_pdf();
    ground.write("work/.claude/settings.json", "{}\n");
    let script = "import os\n\
                  def write(path):\n    try: open(path, 'a')\n    except OSError: pass\n\
                  for number in range(120): write(f'/usr/a{number}')\n\
                  for number in range(120): write(f'../../../../../../../../usr/a{number}')\n\
                  for path in ('.claude/settings.json', '.claude/new', '/etc/passwd'): write(path)\n";
    ground.write("skills/pdf/scripts/flood.py", script);
    ground.session(Tier::Org).run_script(ground.call("pdf", "scripts/flood.py"), &mut ()).unwrap();
    let refused = last_run(&ground).facts.refused_writes.expect("this kernel tells of calls");
    assert_eq!((refused.count, refused.first.len()), (243, 100));
    for path in [".claude/settings.json", ".claude/new", "/etc/passwd"] {
        assert!(refused.first.iter().any(|one| one == path), "{path}: {:?}", refused.first);
    }
}

/// To remove it can take long, or fail.
#[test]
fn the_end_of_a_run_is_recorded_before_its_temporary_directory_is_removed() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::Org);
    let (tell, told) = std::sync::mpsc::channel();
    session.subscribe("looks", move |emitted| {
        if let Event::SkillScriptExecuted(run) = emitted.event {
            let work = run.facts.work_directory.clone().unwrap();
            tell.send((std::path::Path::new(&work).is_dir(), work))?;
        }
        Ok(())
    });
    let call = metier_session::ScriptCall::new("pdf", "scripts/hello.sh", None);
    session.run_script(call, &mut ()).unwrap();
    let (was_there, work) = told.recv().unwrap();
    assert!(was_there, "{work}");
    assert!(!std::path::Path::new(&work).exists(), "{work}");
}
