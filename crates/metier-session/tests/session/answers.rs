//! Answers that people gave: whose they are, when they are used up, and files among them that are none.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use metier_journal::{Event, Trigger};
use metier_policy::{Access, Action, Approval, Lifetime, Question, Request};
use metier_sandbox::{Executor, Job, RunOutcome, SandboxError, Sink};
use metier_session::{ApprovalStore, Session, SessionOptions};
use metier_skill::{Coded as _, Digest, Tier};

use crate::common::{Ground, Says};

const SCRIPT: &str = "scripts/hello.sh";
/// One whose dependencies are not installed.
const NEEDS: &str = "scripts/needs.py";

struct Answers {
    ground: Ground,
    options: SessionOptions,
    tree: Digest,
}

impl Answers {
    fn new() -> Self {
        let ground = Ground::with_pdf();
        ground.write("skills/pdf/data.txt", "no script\n");
        let header = "# /// script\n# dependencies = [\"metier-no-such-package\"]\n# ///\nprint(1)\n";
        ground.write(&format!("skills/pdf/{NEEDS}"), header);
        let mut options = ground.options(Tier::User);
        options.approvals = Some(ApprovalStore::new(ground.path("approvals")));
        let mut session = Session::start(options.clone()).unwrap();
        let tree = session.activate_as("pdf", Trigger::User).unwrap().tree_digest;
        Self { ground, options, tree }
    }

    fn store(&self) -> &ApprovalStore {
        self.options.approvals.as_ref().unwrap()
    }

    fn answer(&self, script: &str, granted: bool, lifetime: Lifetime) -> Approval {
        let request = Request::new(Tier::User, "pdf", self.tree, Action::Run { script });
        Approval::answer(&Question::new(&request, Access::Scripts, ""), granted, lifetime)
    }

    /// A session of the holder of a token, or of the person whose machine this is.
    fn session(&self, principal: Option<&str>) -> Session {
        let mut options = self.options.clone();
        options.principal = principal.map(str::to_owned);
        Session::start(options).unwrap()
    }

    fn runs(&self, session: &mut Session) -> bool {
        session.run_script(self.ground.call("pdf", SCRIPT), &mut ()).is_ok()
    }

    fn files(&self) -> Vec<PathBuf> {
        fs::read_dir(self.ground.path("approvals")).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

#[test]
fn an_answer_for_once_is_used_up_by_a_script_that_starts() {
    let answers = Answers::new();
    answers.store().keep(&answers.answer("data.txt", true, Lifetime::Once)).unwrap();
    let mut session = answers.session(None);
    let error = session.run_script(answers.ground.call("pdf", "data.txt"), &mut ()).unwrap_err();
    assert_ne!(error.code(), "permission-denied");
    assert_eq!(answers.files().len(), 1, "nothing has started");
    answers.store().keep(&answers.answer(SCRIPT, true, Lifetime::Once)).unwrap();
    assert!(answers.runs(&mut session) && !answers.runs(&mut session));
    assert_eq!(answers.files().len(), 1);
}

/// A script whose dependencies are missing has not started: the answer still holds once.
#[test]
fn an_answer_for_once_is_kept_if_dependencies_are_missing() {
    let answers = Answers::new();
    let answer = answers.answer(NEEDS, true, Lifetime::Once);
    answers.store().keep(&answer).unwrap();
    let call = answers.ground.call("pdf", NEEDS);
    let error = answers.session(None).run_script(call, &mut ()).unwrap_err();
    assert_eq!(error.code(), "sandbox-dependencies", "{error}");
    assert_eq!(answers.files().len(), 1, "it was not used");
}

/// Fails as it is told to, after something else happened.
struct Fails(fn() -> SandboxError, Box<dyn Fn() + Send + Sync>);

impl Executor for Fails {
    fn run(&self, _: &Job, _: &mut dyn Sink) -> Result<RunOutcome, SandboxError> {
        (self.1)();
        Err((self.0)())
    }
}

fn gone() -> SandboxError {
    SandboxError::LauncherGone { status: "exit status: 1".to_owned() }
}

/// A script that could not be started has used nothing up, wherever that failed.
#[test]
fn an_answer_for_once_is_kept_if_the_script_never_starts() {
    let mut answers = Answers::new();
    answers.ground.write("skills/pdf/scripts/odd.sh", "#!/nonexistent/interpreter\n");
    answers.options.catalog = answers.ground.catalog(Tier::User);
    answers.tree = answers.session(None).activate_as("pdf", Trigger::User).unwrap().tree_digest;
    answers.store().keep(&answers.answer("scripts/odd.sh", true, Lifetime::Once)).unwrap();
    for _ in 0..2 {
        let call = answers.ground.call("pdf", "scripts/odd.sh");
        let error = answers.session(None).run_script(call, &mut ()).unwrap_err();
        assert_eq!(error.code(), "sandbox-program", "{error}");
        assert_eq!(answers.files().len(), 1, "it was not used");
    }
    answers.options.executor = Arc::new(Fails(gone, Box::new(|| {})));
    answers.store().keep(&answers.answer(SCRIPT, true, Lifetime::Once)).unwrap();
    assert!(!answers.runs(&mut answers.session(None)));
    assert_eq!(answers.files().len(), 2, "nor was this");
    // Where it may have started, it is used up.
    let lost = || SandboxError::Launch {
        step: "talking to the launcher".to_owned(),
        source: std::io::Error::other("x"),
    };
    answers.options.executor = Arc::new(Fails(lost, Box::new(|| {})));
    assert!(!answers.runs(&mut answers.session(None)));
    assert_eq!(answers.files().len(), 1);
}

/// An answer is not usable while its script is on the way, and what is answered meanwhile counts.
#[test]
fn an_answer_that_is_given_back_replaces_no_newer_one() {
    let mut answers = Answers::new();
    let (yes, no) =
        (answers.answer(SCRIPT, true, Lifetime::Once), answers.answer(SCRIPT, false, Lifetime::Once));
    let (store, seen) = (answers.store().clone(), Arc::new(AtomicUsize::new(9)));
    store.keep(&yes).unwrap();
    let meanwhile = {
        let (store, seen) = (store.clone(), Arc::clone(&seen));
        move || {
            seen.store(store.list().unwrap().0.len(), Ordering::Relaxed);
            store.keep(&no).unwrap();
        }
    };
    answers.options.executor = Arc::new(Fails(gone, Box::new(meanwhile)));
    assert!(!answers.runs(&mut answers.session(None)));
    assert_eq!(seen.load(Ordering::Relaxed), 0, "it is used up while the script is on its way");
    let kept = store.list().unwrap().0;
    assert!(kept.len() == 1 && !kept[0].approval.granted, "{kept:?}");
}

/// The name of a file covers the answer too.
#[test]
fn a_no_that_was_edited_into_a_yes_does_not_count() {
    let answers = Answers::new();
    answers.store().keep(&answers.answer(SCRIPT, false, Lifetime::Digest)).unwrap();
    let [file] = answers.files().try_into().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    for (old, new) in
        [("\"granted\": false", "\"granted\": true"), ("\"skill\": \"pdf\"", "\"skill\": \"other\"")]
    {
        assert!(text.contains(old), "{text}");
        fs::write(&file, text.replace(old, new)).unwrap();
        let error = answers.session(None).run_script(answers.ground.call("pdf", SCRIPT), &mut ());
        let said = error.map(drop).unwrap_err().to_string();
        assert!(said.contains("its name does not match its content"), "{said}");
    }
}

/// There is one answer to a question, the last.
#[test]
fn a_second_answer_takes_the_place_of_the_first() {
    let answers = Answers::new();
    for granted in [true, false, true, true, false] {
        answers.store().keep(&answers.answer(SCRIPT, granted, Lifetime::Digest)).unwrap();
        let kept = answers.store().list().unwrap();
        assert!(kept.0.len() == 1 && kept.0[0].approval.granted == granted && kept.1.is_empty(), "{kept:?}");
        assert_eq!(answers.runs(&mut answers.session(None)), granted);
    }
    // Those about something else stay.
    answers.store().keep(&answers.answer(NEEDS, true, Lifetime::Digest)).unwrap();
    answers.store().keep(&answers.answer(SCRIPT, true, Lifetime::Once)).unwrap();
    assert_eq!(answers.files().len(), 3);
}

#[test]
fn an_answer_of_a_token_holder_is_theirs_alone() {
    let answers = Answers::new();
    let mut alice = answers.session(Some("alice"));
    alice.set_approver(Box::new(Says(true, Lifetime::Digest, Arc::default())));
    assert!(answers.runs(&mut alice));
    assert!(answers.runs(&mut answers.session(Some("alice"))), "it is stored");
    assert!(!answers.runs(&mut answers.session(Some("bob"))));
    assert!(
        !answers.runs(&mut answers.session(None)),
        "nor does it count for the person whose machine it is"
    );
    let answered = |event: &Event| match event {
        Event::SkillApproval { by, how, .. } => Some((by.clone(), how.clone())),
        _ => None,
    };
    let recorded: Vec<_> = answers.ground.events().iter().filter_map(answered).collect();
    assert_eq!(recorded, [(Some("alice".to_owned()), Some("host".to_owned()))]);
    let run = |event: &Event| match event {
        Event::SkillScriptExecuted(run) => {
            Some(run.facts.approved.clone().map(|by| (by.how, by.id.is_some())))
        }
        _ => None,
    };
    let runs: Vec<_> = answers.ground.events().iter().filter_map(run).collect();
    let (now, before) = (Some(("host".to_owned(), true)), Some(("stored".to_owned(), true)));
    assert_eq!(runs, [now, before, None, None]);
    // A no of one is no no of another.
    let mut bob = answers.session(Some("bob"));
    bob.set_approver(Box::new(Says(false, Lifetime::Digest, Arc::default())));
    assert!(!answers.runs(&mut bob) && answers.runs(&mut answers.session(Some("alice"))));
    // What the person has approved beforehand holds for all who use the machine, and what they refuse too.
    answers.store().keep(&answers.answer(SCRIPT, true, Lifetime::Digest)).unwrap();
    assert!(answers.runs(&mut answers.session(None)) && answers.runs(&mut answers.session(Some("carol"))));
    answers.store().keep(&answers.answer(SCRIPT, false, Lifetime::Digest)).unwrap();
    assert!(!answers.runs(&mut answers.session(Some("carol"))));
    assert!(!answers.runs(&mut answers.session(Some("alice"))));
}

#[test]
fn a_refusal_says_since_when_and_how_to_undo_it() {
    let answers = Answers::new();
    let mut refusal = answers.answer(SCRIPT, false, Lifetime::Digest);
    refusal.on = Some("2026-11-17".to_owned());
    let id = answers.store().keep(&refusal).unwrap();
    let error = answers.session(None).run_script(answers.ground.call("pdf", SCRIPT), &mut ()).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("refused on 2026-11-17"), "{said}");
    assert!(said.contains(&format!("`metier approvals --revoke {id}`")), "{said}");
    assert_eq!(answers.store().refusals().unwrap()[0].id, id);
    // A no to a question is about now, and there is nothing to undo.
    answers.store().forget(&refusal).unwrap();
    let mut session = answers.session(None);
    session.set_approver(Box::new(Says::no()));
    let said = session.run_script(answers.ground.call("pdf", SCRIPT), &mut ()).unwrap_err().to_string();
    assert!(said.contains("approval was refused") && !said.contains("--revoke"), "{said}");
    assert_eq!(answers.files().len(), 0);
}

#[test]
fn a_file_that_is_no_answer_stops_only_what_it_could_be_about() {
    let answers = Answers::new();
    answers.store().keep(&answers.answer(SCRIPT, true, Lifetime::Digest)).unwrap();
    let [kept] = answers.files().try_into().unwrap();
    let text = fs::read_to_string(&kept).unwrap();
    let about = |digest: &str, name: &str| answers.ground.path(&format!("approvals/{digest}-{name}.json"));
    let other = &Digest::of(b"other").hex()[..16];
    fs::write(about(other, "0123456789ab"), "{").unwrap();
    assert!(answers.runs(&mut answers.session(None)), "it is about another skill");
    let own = &answers.tree.hex()[..16];
    let place = |path: &PathBuf, forge: &dyn Fn(&PathBuf)| {
        forge(path);
        let error = answers.session(None).run_script(answers.ground.call("pdf", SCRIPT), &mut ());
        let said = error.unwrap_err().to_string();
        assert!(said.contains(path.to_str().unwrap()), "{said}");
        let reason = answers.store().list().unwrap().1.into_iter().find(|problem| problem.path == *path);
        fs::remove_file(path).unwrap();
        reason.unwrap().reason
    };
    let forged = about(own, "0123456789ab");
    assert!(place(&forged, &|path| fs::write(path, "{").unwrap()).contains("not an approval"));
    assert!(place(&forged, &|path| fs::write(path, &text).unwrap()).contains("name"));
    assert!(place(&forged, &|path| symlink(&kept, path).unwrap()).contains("cannot be read"));
    let open = |path: &PathBuf| {
        fs::write(path, &text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
    };
    assert!(place(&kept, &open).contains("others may write"));
    // A name without a digest could be about anything.
    assert!(
        place(&answers.ground.path("approvals/fedcba987654.json"), &|path| fs::write(path, "{").unwrap())
            .contains("not an approval")
    );
}

#[test]
fn answers_about_other_skills_are_not_opened() {
    let answers = Answers::new();
    answers.store().keep(&answers.answer(SCRIPT, true, Lifetime::Digest)).unwrap();
    // Whoever opened one of these would wait for ever, or fail.
    for number in 0..100 {
        let digest = Digest::of(format!("{number}").as_bytes()).hex();
        let path = answers.ground.path(&format!("approvals/{}-0123456789ab.json", &digest[..16]));
        symlink("/nonexistent", path).unwrap();
    }
    assert!(answers.runs(&mut answers.session(None)));
    assert_eq!(answers.store().list().unwrap().1.len(), 100);
}
