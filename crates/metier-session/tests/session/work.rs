//! Skills and work directories that lie in each other, or are found through links.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::SystemTime;

use metier_catalog::{CatalogOptions, Root, Scanner, Scope};
use metier_policy::{Answer, Approver, Lifetime, Question};
use metier_sandbox::{ReservedPaths, Sink, Stream, WorkDirectory};
use metier_session::{ApprovalStore, ScriptCall, Session};
use metier_skill::{Coded as _, Tier};

use crate::common::Ground;

/// A script that tries to change the skill it is of, and says whether it is where it thinks.
fn changes_itself(ground: &Ground) {
    let skill = ground.path("skills/pdf");
    let skill = skill.display();
    let text = format!(
        "cat '{skill}/SKILL.md' > /dev/null && echo there\n(echo evil >> '{skill}/SKILL.md') 2> /dev/null && echo changed\n\
         (echo evil >> work/skills/pdf/SKILL.md) 2> /dev/null && echo changed\ntrue\n"
    );
    ground.write("skills/pdf/scripts/change.sh", &text);
}

#[test]
fn a_skill_in_the_work_directory_stays_as_it_is_by_whatever_links_it_is_found() {
    let ground = Ground::with_pdf();
    changes_itself(&ground);
    let before = fs::read(ground.path("skills/pdf/SKILL.md")).unwrap();
    fs::create_dir(ground.path("linked")).unwrap();
    symlink("skills", ground.path("elsewhere")).unwrap();
    symlink("../skills/pdf", ground.path("linked/pdf")).unwrap();
    for root in ["skills", "elsewhere", "linked"] {
        let mut options = ground.options(Tier::Org);
        let roots = vec![Root::new(ground.path(root), Tier::Org, Scope::User)];
        options.catalog = Scanner::new(CatalogOptions::new(roots)).scan(SystemTime::UNIX_EPOCH);
        for work in ["", "work"] {
            let mut session = Session::start(options.clone()).unwrap();
            let call = ScriptCall::new("pdf", "scripts/change.sh", ground.work(work));
            let report = session.run_script(call, &mut ()).unwrap();
            let said = String::from_utf8_lossy(&report.run.stdout.bytes);
            assert_eq!(said, "there\n", "{root} {work}");
            assert_eq!(fs::read(ground.path("skills/pdf/SKILL.md")).unwrap(), before, "{root} {work}");
        }
    }
}

#[test]
fn a_script_gets_what_its_builder_says() {
    let ground = Ground::with_pdf();
    ground.write("skills/pdf/scripts/all.sh", "cat\necho \"$* $NAME\"\npwd\n");
    let mut session = ground.session(Tier::Org);
    let work = ground.path("work").canonicalize().unwrap();
    let run = session.script("pdf", "scripts/all.sh").arg("a").args(["b", "c"]).stdin("in\n");
    let mut seen = Seen::default();
    let report = run.env("NAME", "value").work_directory(&work).run_with(&mut seen).unwrap();
    let said = format!("in\na b c value\n{}\n", work.display());
    assert_eq!((report.run.stdout.text().as_ref(), seen.0.as_slice()), (said.as_str(), said.as_bytes()));
    assert_eq!(report.run.exit_code, Some(0));
    let error = session.script("pdf", "scripts/all.sh").work_directory(ground.path("skills/pdf")).run();
    assert_eq!(error.unwrap_err().code(), "sandbox-path-too-wide");
}

/// What a script printed while it ran.
#[derive(Default)]
struct Seen(Vec<u8>);

impl Sink for Seen {
    fn take(&mut self, _: Stream, bytes: &[u8]) {
        self.0.extend(bytes);
    }
}

#[test]
fn a_skill_is_no_work_directory_of_its_own_scripts() {
    let ground = Ground::with_pdf();
    symlink("skills", ground.path("elsewhere")).unwrap();
    for work in ["skills/pdf", "skills/pdf/scripts", "elsewhere/pdf"] {
        let call = ScriptCall::new("pdf", "scripts/hello.sh", ground.work(work));
        let error = ground.session(Tier::Org).run_script(call, &mut ()).unwrap_err();
        assert_eq!(error.code(), "sandbox-path-too-wide", "{work}: {error}");
    }
}

#[test]
fn no_script_writes_where_other_skills_are_kept() {
    let ground = Ground::with_pdf();
    ground.skill("other", "", "Mine.\n");
    let script = "(echo evil >> skills/other/SKILL.md) 2> /dev/null && echo changed\n(mkdir skills/new) 2> /dev/null && echo made\n\
                  echo fine > notes.txt && cat notes.txt\n";
    ground.write("skills/pdf/scripts/others.sh", script);
    let call = |work: &str| ScriptCall::new("pdf", "scripts/others.sh", ground.work(work));
    let report = ground.session(Tier::Org).run_script(call(""), &mut ()).unwrap();
    assert_eq!(String::from_utf8_lossy(&report.run.stdout.bytes), "fine\n");
    let error = ground.session(Tier::Org).run_script(call("skills"), &mut ()).unwrap_err();
    assert_eq!(error.code(), "sandbox-path-too-wide", "{error}");
}

#[test]
fn the_home_and_what_is_metier_s_are_no_work_directories() {
    let ground = Ground::with_pdf();
    for directory in ["home/.secrets", "home/project", "store", "approvals", "other"] {
        fs::create_dir_all(ground.own(directory)).unwrap();
    }
    let mut options = ground.options(Tier::Org);
    options.approvals = Some(ApprovalStore::new(ground.own("approvals")));
    options.reserved = ReservedPaths::default().own("the host's own", ground.own("other/secrets"));
    let mut session = Session::start(options).unwrap();
    // The whole place has the journal in it as well.
    for refused in ["", "home", "home/.secrets", "store", "approvals", "other"] {
        let error = session.work_directory(ground.own(refused)).unwrap_err();
        assert_eq!(error.code(), "sandbox-path-too-wide", "{refused}: {error}");
        // Opened by somebody who knew none of the rules.
        let opened =
            WorkDirectory::open(ground.own(refused).canonicalize().unwrap(), &ReservedPaths::default());
        let call = ScriptCall::new("pdf", "scripts/hello.sh", opened.unwrap());
        let error = session.run_script(call, &mut ()).unwrap_err();
        assert_eq!(error.code(), "sandbox-path-too-wide", "{refused}: {error}");
    }
    let work = session.work_directory(ground.own("home/project")).unwrap();
    session.run_script(ScriptCall::new("pdf", "scripts/hello.sh", work), &mut ()).unwrap();
}

#[test]
fn a_root_that_does_not_exist_yet_cannot_be_made() {
    let ground = Ground::with_pdf();
    ground.write("skills/pdf/scripts/plant.sh", "mkdir -p more/evil; echo evil > more/evil/SKILL.md; ls\n");
    let mut options = ground.options(Tier::Org);
    let mut absent = Root::new(ground.path("work/more"), Tier::User, Scope::User);
    absent.is_optional = true;
    let roots = vec![Root::new(ground.path("skills"), Tier::Org, Scope::User), absent];
    options.catalog = Scanner::new(CatalogOptions::new(roots)).scan(SystemTime::UNIX_EPOCH);
    let mut session = Session::start(options).unwrap();
    let report = session.run_script(ground.call("pdf", "scripts/plant.sh"), &mut ()).unwrap();
    assert!(!ground.path("work/more").exists(), "{:?}", report.run);
    assert!(report.run.facts.planted.iter().any(|one| one.path.ends_with("work/more")), "{:?}", report.run);
}

/// Says yes, if nothing was made yet that somebody who ends metier at the question would leave.
struct Looks;

impl Approver for Looks {
    fn ask(&mut self, _: &Question<'_>) -> Answer {
        let own = format!("work-{}", metier_sandbox::Owner::own());
        let room = format!("/tmp/metier-{}", rustix::process::geteuid().as_raw());
        let mut made = fs::read_dir(room).into_iter().flatten().flatten();
        assert!(!made.any(|entry| entry.file_name().to_string_lossy().starts_with(&own)));
        Answer::Approve(Lifetime::Once)
    }
}

#[test]
fn without_a_directory_a_script_works_in_an_empty_one_that_is_removed() {
    let ground = Ground::with_pdf();
    ground.write("skills/pdf/scripts/where.sh", "ls -A; pwd; touch here\n");
    let mut session = ground.session(Tier::User);
    session.set_approver(Box::new(Looks));
    let report = session.run_script(ScriptCall::new("pdf", "scripts/where.sh", None), &mut ()).unwrap();
    let said = String::from_utf8_lossy(&report.run.stdout.bytes).into_owned();
    assert!(said.starts_with('/') && !std::path::Path::new(said.trim_end()).exists(), "{said}");
}

#[test]
fn protected_documents_are_protected_by_whatever_way_they_are_named() {
    let ground = Ground::with_pdf();
    ground.write(
        "skills/pdf/scripts/write.sh",
        "echo mine > doc.md; mkdir -p deep; echo mine > deep/new.md; ls\n",
    );
    symlink("work", ground.path("alias")).unwrap();
    let names = [
        "alias/doc.md",
        "alias/deep/new.md",
        "work/deep/new.md",
        "skills/../work/doc.md",
        "alias/../work/deep/../doc.md",
    ];
    for name in names {
        let _ = fs::remove_dir_all(ground.path("work"));
        fs::create_dir_all(ground.path("work")).unwrap();
        let mut options = ground.options(Tier::Org);
        options.protected = vec![ground.path(name)];
        let mut session = Session::start(options).unwrap();
        let report = session.run_script(ground.call("pdf", "scripts/write.sh"), &mut ()).unwrap();
        assert!(!ground.path(name).exists(), "{name} was made: {:?}", report.run);
    }
}

#[test]
fn a_name_means_the_active_skill_also_where_it_is_a_second_one_of_its_tier() {
    let ground = Ground::with_pdf();
    ground.write("more/pdf/SKILL.md", "---\nname: pdf\ndescription: Use when testing more.\n---\nMore.\n");
    let mut options = ground.options(Tier::User);
    let root = |path: &str| Root::new(ground.path(path), Tier::User, Scope::User);
    options.catalog =
        Scanner::new(CatalogOptions::new(vec![root("skills"), root("more")])).scan(SystemTime::UNIX_EPOCH);
    let mut session = Session::start(options).unwrap();
    let second = session.activate("user/pdf~2").unwrap();
    assert!(second.content.contains("More."), "{}", second.content);
    let read = session.read("pdf", "SKILL.md").unwrap();
    assert_eq!(read.skill_id, "user/pdf~2");
    assert!(session.activate("pdf").unwrap().already_active);
}
