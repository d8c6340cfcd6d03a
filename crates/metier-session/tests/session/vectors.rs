//! The behaviours that were there before: K10 to K17, and R4 to R9 of the requirements, each by its number.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metier_catalog::{State, StateRule, StateRules};
use metier_journal::{Event, RecordQuery, ScriptOutcome, Trigger};
use metier_policy::{Policy, PolicySettings};
use metier_sandbox::{Executor, Job, Network, RunOutcome, SandboxError, Sink};
use metier_session::{PathProblem, Session, SessionError};
use metier_skill::{Coded as _, Digest, Tier};
use serde_json::json;

use crate::common::{Ground, Says};

#[test]
fn k10_a_denied_call_never_reaches_the_executor() {
    let ground = Ground::new();
    ground.skill("reader", "allowed-tools: Read\n", "Read.\n");
    let mut session = ground.session(Tier::User);
    session.activate("reader").unwrap();
    let mut reached = Vec::new();
    let allowed = session.call_tool("file:read", &json!({ "path": "notes.md" }), |context| {
        reached.push(context.clone());
        "read"
    });
    assert_eq!(allowed.unwrap(), "read");
    let denied = session
        .call_tool("bash:execute", &json!({ "command": "ls" }), |context| reached.push(context.clone()));
    assert_eq!(denied.unwrap_err().code(), "permission-denied");
    assert_eq!(reached.len(), 1, "the denied call must not be made");
    assert_eq!(reached[0].skills.keys().collect::<Vec<_>>(), ["user/reader"]);
    let decisions: Vec<_> = ground
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::SkillToolCallDecided { decision, code, .. } => Some((decision, code)),
            _ => None,
        })
        .collect();
    assert_eq!(decisions[0].0, "allow");
    assert_eq!(decisions[1], ("deny".to_owned(), "outside-list".to_owned()));
}

#[test]
fn k11_resources_stay_inside_the_skill() {
    let ground = Ground::with_pdf();
    ground.write("skills/secret.txt", "secret");
    symlink(ground.path("skills/secret.txt"), ground.path("skills/pdf/link.txt")).unwrap();
    let mut session = ground.session(Tier::User);
    let mut problem = |path: &str| match session.read("pdf", path).unwrap_err() {
        SessionError::Path { problem, .. } => problem,
        other => panic!("{other}"),
    };
    assert_eq!(problem("../secret.txt"), PathProblem::LeadsUp);
    assert_eq!(problem("/etc/passwd"), PathProblem::Absolute);
    assert_eq!(problem("link.txt"), PathProblem::Link, "a link that leads out is not followed");
}

#[test]
fn k12_a_name_may_begin_with_two_dots() {
    let ground = Ground::with_pdf();
    ground.write("skills/pdf/..foo", "fine");
    let resource = ground.session(Tier::User).read("pdf", "..foo").unwrap();
    assert_eq!(resource.encoded(), "fine");
}

#[test]
fn k13_a_disabled_skill_is_not_loaded_read_or_run() {
    let ground = Ground::with_pdf();
    let off = StateRule::new(Some("pdf"), None, None, State::Off).unwrap();
    let mut options = ground.options(Tier::User);
    options.catalog = ground.catalog_with(Tier::User, StateRules::default().layer(vec![off]));
    assert_eq!(options.catalog.skills().count(), 0, "it is not listed");
    assert_eq!(options.catalog.all().len(), 1, "unless asked for");
    let mut session = Session::start(options).unwrap();
    let errors = [
        session.activate_as("pdf", Trigger::User).unwrap_err(),
        session.read("pdf", "logo.bin").unwrap_err(),
        session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.code(), "skill-disabled");
    }
}

#[test]
fn k14_reading_a_skill_activates_it() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::User);
    let activation = session.activate("pdf").unwrap();
    let held = session.active().next().unwrap();
    let on_disk = fs::read_to_string(ground.path("skills/pdf/SKILL.md")).unwrap();
    assert_eq!(held.text(), on_disk, "the whole of it is there");
    assert!(activation.content.contains("Fill in forms."));
    let recorded = ground.events().into_iter().find_map(|event| match event {
        Event::SkillActivated { skill_md_digest, tier, .. } => Some((skill_md_digest, tier)),
        _ => None,
    });
    assert_eq!(recorded, Some((Digest::of(on_disk.as_bytes()), Tier::User)));
}

/// Keeps what it is given, and runs nothing.
#[derive(Default)]
struct Keeps(Mutex<Vec<(Job, String)>>);

impl Executor for Keeps {
    fn run(&self, job: &Job, _: &mut dyn Sink) -> Result<RunOutcome, SandboxError> {
        let script = fs::read_to_string(job.arguments.first().unwrap()).unwrap();
        self.0.lock().unwrap().push((job.clone(), script));
        Err(SandboxError::Unsupported)
    }
}

#[test]
fn k15_a_script_by_its_ending() {
    let ground = Ground::with_pdf();
    ground.write("skills/pdf/scripts/hello.bash", "echo hi\n");
    ground.write("skills/pdf/scripts/data.xyz", "nothing\n");
    let kept = Arc::new(Keeps::default());
    let mut options = ground.options(Tier::Org);
    options.executor = Arc::clone(&kept) as _;
    let mut session = Session::start(options).unwrap();
    let mut call = ground.call("pdf", "scripts/hello.bash");
    call.timeout = Some(Duration::from_millis(1234));
    call.starts_in_skill = true;
    session.run_script(call, &mut ()).unwrap_err();
    let (job, script) = kept.0.lock().unwrap().pop().unwrap();
    assert_eq!(job.program, "bash");
    assert_eq!(script, "echo hi\n", "the very text of the file");
    assert_eq!(job.profile.limits.wall, Duration::from_millis(1234));
    assert!(job.profile.directory.ends_with("pdf"), "it starts in the skill's directory");
    assert_eq!(job.profile.environment[std::ffi::OsStr::new("METIER_SKILL_DIR")], job.profile.directory);
    let error = session.run_script(ground.call("pdf", "scripts/data.xyz"), &mut ()).unwrap_err();
    assert_eq!(error.code(), "sandbox-not-a-script");
    assert!(kept.0.lock().unwrap().is_empty());
}

#[test]
fn k16_who_is_asked_by_tier() {
    let asked = |tier| {
        let ground = Ground::with_pdf();
        let mut session = ground.session(tier);
        let says = Says::yes();
        session.set_approver(Box::new(says.clone()));
        let report = session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).unwrap();
        assert_eq!(report.run.stdout.bytes, b"hello \n");
        says.asked()
    };
    assert!(asked(Tier::Builtin).is_empty() && asked(Tier::Org).is_empty());
    assert_eq!(asked(Tier::User), ["Allow `pdf` (your own skill) to run `scripts/hello.sh`?"]);
    assert_eq!(asked(Tier::ThirdParty), ["Allow `pdf` (third-party skill) to run `scripts/hello.sh`?"]);
}

#[test]
fn k17_what_is_recorded_is_what_was_disclosed() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::User);
    ground.skill("pdf", "", "Do something else.\n");
    let activation = session.activate("pdf").unwrap();
    assert!(activation.changed_since_scan && activation.content.contains("Do something else."));
    let now = Digest::of(&fs::read(ground.path("skills/pdf/SKILL.md")).unwrap());
    assert_eq!(activation.skill_md_digest, now);
    assert!(ground.kinds().contains(&"skills.changed".to_owned()), "that it changed is said");
    // What is no skill any more is not handed out, whatever the catalog says.
    ground.write("skills/pdf/SKILL.md", "---\nname: other\ndescription: Not this one.\n---\nHm.\n");
    assert_eq!(session.activate("pdf").unwrap_err().code(), "skill-invalid");
    assert_eq!(ground.kinds().last().unwrap(), "skill.activation_failed");
}

#[test]
fn r4_activation_records_and_loads_nothing_else() {
    let ground = Ground::with_pdf();
    ground.skill("csv", "", "Read tables.\n");
    let mut session = ground.session(Tier::ThirdParty);
    session.set_task(Some("t1".to_owned()));
    let pdf = session.activate("pdf").unwrap();
    session.activate_as("csv", Trigger::Nested).unwrap();
    assert_eq!(session.active().count(), 2, "several in one task");
    assert!(pdf.content.contains("<file>references/guide.md</file>"), "{}", pdf.content);
    assert!(!pdf.content.contains("Line three"), "references are not loaded by themselves");
    let records = ground.records();
    let record = records.iter().find(|record| record.event["kind"] == "skill.activated").unwrap();
    assert_eq!(record.session.as_deref(), Some("s1"));
    assert_eq!(record.event["tier"], "third_party");
    assert_eq!(record.event["task_id"], "t1");
    assert_eq!(record.event["trigger"], "model");
    assert_eq!(record.event["skill_md_digest"], pdf.skill_md_digest.to_string());
    assert_eq!(record.event["tree_digest"], pdf.tree_digest.to_string());
}

#[test]
fn r5_resources_only_through_the_loader() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::User);
    let resource = session.read("pdf", "references/guide.md").unwrap();
    assert_eq!(
        (resource.encoded().as_str(), resource.mime_type),
        ("# Guide\n\nLine three.\n", "text/markdown")
    );
    let read = ground.events().into_iter().find_map(|event| match event {
        Event::SkillResourceRead { path, content, tree_digest, .. } => Some((path, content, tree_digest)),
        _ => None,
    });
    let (path, content, tree) = read.unwrap();
    assert_eq!(
        (path.as_str(), content.digest, tree),
        ("references/guide.md", resource.digest, resource.tree_digest)
    );
    assert_eq!(content.text, None, "texts are not recorded unless that is switched on");
    let mut options = ground.options(Tier::User);
    options.nested_resources = false;
    let mut flat = Session::start(options).unwrap();
    assert_eq!(flat.read("pdf", "references/guide.md").unwrap_err().code(), "resource-path");
    assert!(flat.read("pdf", "./logo.bin").is_ok());
}

#[test]
fn r6_scripts_are_gated() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::ThirdParty);
    // Nobody to ask: no.
    let error = session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).unwrap_err();
    assert_eq!(error.code(), "permission-denied");
    let says = Says::yes();
    session.set_approver(Box::new(says.clone()));
    let mut call = ground.call("pdf", "scripts/hello.sh");
    call.arguments = vec!["world".to_owned()];
    call.network = Network::Host;
    call.is_destructive = true;
    let report = session.run_script(call, &mut ()).unwrap();
    assert_eq!(report.run.stdout.bytes, b"hello world\n");
    assert_eq!(
        says.asked().len(),
        3,
        "running, the network and what cannot be undone are asked for themselves: {:?}",
        says.asked()
    );
    let approvals = ground.kinds().iter().filter(|kind| *kind == "skill.approval").count();
    assert_eq!(approvals, 3, "each answer is recorded");
}

#[test]
fn r7_tool_calls_carry_the_skills_and_are_blocked_by_their_rules() {
    let ground = Ground::new();
    ground.skill("git", "allowed-tools: Bash(git:*) mcp__github__*\n", "Use git.\n");
    let mut session = ground.session(Tier::User);
    let activation = session.activate("git").unwrap();
    session.set_task(Some("t2".to_owned()));
    let context = session.call_tool("mcp__github__list_issues", &json!({}), Clone::clone).unwrap();
    assert_eq!((context.id.as_str(), context.task.as_deref()), ("s1", Some("t2")));
    assert_eq!(context.skills["user/git"], activation.tree_digest);
    assert!(session.call_tool("mcp__jira__list", &json!({}), |_| ()).is_err());
    assert!(
        !session.check_tool_call("Bash", &json!({ "command": "git status; rm -rf /" })).unwrap().is_allowed()
    );
    session.deactivate("git").unwrap();
    assert!(
        session.check_tool_call("mcp__jira__list", &json!({})).unwrap().is_allowed(),
        "its rules are gone with it"
    );
    assert_eq!(session.deactivate("git").unwrap_err().code(), "skill-not-active");
}

#[test]
fn r8_everything_is_recorded_and_third_parties_have_no_network() {
    let ground = Ground::with_pdf();
    ground.write("skills/pdf/scripts/net.sh", "tail -n +3 /proc/net/dev | grep -v lo: || echo none\n");
    let mut session = ground.session(Tier::ThirdParty);
    session.set_approver(Box::new(Says::yes()));
    session.activate("pdf").unwrap();
    session.read("pdf", "logo.bin").unwrap();
    let report = session.run_script(ground.call("pdf", "scripts/net.sh"), &mut ()).unwrap();
    assert_eq!(report.run.stdout.bytes, b"none\n");
    let kinds = ground.kinds();
    for kind in ["skill.activated", "skill.resource_read", "skill.approval", "skill.script_executed"] {
        assert!(kinds.iter().any(|other| other == kind), "{kind}: {kinds:?}");
    }
    let run = ground.events().into_iter().find_map(|event| match event {
        Event::SkillScriptExecuted(run) => Some(run),
        _ => None,
    });
    let run = run.unwrap();
    assert_eq!((run.outcome, run.exit), (ScriptOutcome::Exited, Some(0)));
    assert!(run.protections.iter().any(|one| one == "network_namespace"), "{:?}", run.protections);
    assert_eq!(run.script_digest, Digest::of(&fs::read(ground.path("skills/pdf/scripts/net.sh")).unwrap()));
}

#[test]
fn r9_activations_replay_with_stable_digests_and_documents_change_through_the_gateway_alone() {
    let ground = Ground::with_pdf();
    ground.write("work/doc.md", "protected");
    ground.write("skills/pdf/scripts/write.sh", "echo mine > doc.md; echo new > other.md; cat doc.md\n");
    let mut options = ground.options(Tier::Org);
    options.protected = vec![ground.path("work/doc.md")];
    let mut session = Session::start(options).unwrap();
    let first = session.activate("pdf").unwrap();
    let report = session.run_script(ground.call("pdf", "scripts/write.sh"), &mut ()).unwrap();
    assert_eq!(
        report.run.stdout.bytes,
        b"protected\n".strip_suffix(b"\n").unwrap(),
        "a script can only propose"
    );
    assert_eq!(fs::read_to_string(ground.path("work/doc.md")).unwrap(), "protected");
    assert_eq!(fs::read_to_string(ground.path("work/other.md")).unwrap(), "new\n");
    let again = ground.session(Tier::Org).activate("pdf").unwrap();
    assert_eq!(again.tree_digest, first.tree_digest);
    let replayed =
        metier_session::replay(&mut ground.reader(), &ground.store(), &RecordQuery::default()).unwrap();
    assert_eq!((replayed.divergence, replayed.activations), (None, 2));
}

#[test]
fn a_script_denied_by_the_policy_leaves_a_record_and_no_process() {
    let ground = Ground::with_pdf();
    let settings: PolicySettings =
        toml::from_str("[[rules]]\nskill = \"pdf\"\nscripts = \"deny\"\n").unwrap();
    let kept = Arc::new(Keeps::default());
    let mut options = ground.options(Tier::Builtin);
    options.policy = Policy::new(Some(("policy.toml", &settings)), &[]).unwrap();
    options.executor = Arc::clone(&kept) as _;
    let mut session = Session::start(options).unwrap();
    session.set_approver(Box::new(Says::yes()));
    let error = session.run_script(ground.call("pdf", "scripts/hello.sh"), &mut ()).unwrap_err();
    assert!(error.to_string().contains("policy.toml"), "{error}");
    assert!(kept.0.lock().unwrap().is_empty(), "nothing was started");
    let Some(Event::SkillScriptExecuted(run)) = ground.events().pop() else { panic!("no record") };
    assert_eq!((run.outcome, run.code.as_deref()), (ScriptOutcome::Denied, Some("organisation-forbids")));
    assert_eq!(run.protections, Vec::<String>::new());
}
