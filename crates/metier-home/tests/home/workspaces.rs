//! Working directories with copies of what an agent is to work on.

use std::fs;
use std::os::unix::fs::symlink;

use metier_home::{WorkingDirectory, Workspace, link_skill, unlink_skill};
use metier_prompt::HostMount;
use metier_skill::Coded as _;

use crate::common::Ground;

fn project() -> Ground {
    let ground = Ground::new();
    for file in ["src/main.rs", "src/lib.rs", "target/big", "README.md"] {
        ground.write(&format!("repo/{file}"), file);
    }
    ground.write("repo/run.sh", "#!/bin/sh\n");
    ground.set_mode("repo/run.sh", 0o4755);
    ground.write("secret", "secret");
    symlink(ground.path("secret"), ground.path("repo/leads-out")).unwrap();
    symlink("README.md", ground.path("repo/leads-in")).unwrap();
    ground
}

fn listing(ground: &Ground, workspace: &Workspace) -> Vec<String> {
    let below = workspace.path().strip_prefix(ground.0.path()).unwrap().to_str().unwrap().to_owned();
    ground.listing(&below)
}

#[test]
fn a_workspace_has_what_was_asked_for_and_is_gone_with_its_owner() {
    let ground = project();
    let mut mount = HostMount::new(ground.path("repo"));
    mount.exclude = vec!["target".to_owned(), "*.md".to_owned()];
    let workspace = Workspace::new(&ground.path("work"), &[mount], &[ground.path("repo")]).unwrap();
    assert_eq!(listing(&ground, &workspace), ["repo/run.sh", "repo/src/lib.rs", "repo/src/main.rs"]);
    assert_eq!(workspace.bytes(), 31);
    let path = workspace.path().to_owned();
    assert!(!fs::metadata(path.join("repo/run.sh")).unwrap().permissions().readonly());
    fs::write(path.join("repo/src/main.rs"), "changed").unwrap();
    assert_eq!(fs::read_to_string(ground.path("repo/src/main.rs")).unwrap(), "src/main.rs", "it is a copy");
    drop(workspace);
    assert!(!path.exists());
    assert_eq!(fs::read_dir(ground.path("work")).unwrap().count(), 0);
}

#[test]
fn only_some_under_another_name_and_through_links() {
    let ground = project();
    let mut mount = HostMount::new(ground.path("repo"));
    (mount.mount_path, mount.include) =
        (Some("a/b".into()), vec!["leads-*".to_owned(), "**/lib.rs".to_owned()]);
    mount.follow_symlinks = true;
    let workspace = Workspace::new(&ground.path("work"), &[mount.clone()], &[ground.path("repo")]).unwrap();
    assert_eq!(listing(&ground, &workspace), ["a/b/leads-in", "a/b/src/lib.rs"], "nothing from outside");
    let file = HostMount::new(ground.path("repo/README.md"));
    let workspace = Workspace::new(&ground.path("work"), &[file], &[ground.path("repo")]).unwrap();
    assert_eq!(listing(&ground, &workspace), ["README.md"]);
}

/// E52: a fresh and empty directory where nobody says anything, gone afterwards; what is said comes first.
#[test]
fn e52_an_agent_works_where_it_is_told_or_where_there_is_nothing() {
    let ground = project();
    let base = ground.path("work");
    let nowhere = WorkingDirectory::choose(None, None, &base).unwrap();
    let path = nowhere.path().to_owned();
    assert!(
        path.is_dir()
            && ground.listing(path.strip_prefix(ground.0.path()).unwrap().to_str().unwrap()).is_empty()
    );
    drop(nowhere);
    assert_eq!(fs::read_dir(&base).unwrap().count(), 0);
    let workspace = || Workspace::new(&base, &[], &[]).unwrap();
    let made = workspace();
    let path = made.path().to_owned();
    assert_eq!(WorkingDirectory::choose(None, Some(made), &base).unwrap().path(), path);
    let said = ground.path("repo");
    let chosen = WorkingDirectory::choose(Some(said.clone()), Some(workspace()), &base).unwrap();
    assert_eq!(chosen.path(), said);
    assert_eq!(fs::read_dir(&base).unwrap().count(), 0, "the one that is not needed is gone");
    drop(chosen);
    assert!(said.join("README.md").exists());
    let kept = workspace().keep();
    assert_eq!(metier_home::remove_leftovers(&base).removed, 0);
    assert!(kept.is_dir());
}

#[test]
fn what_may_not_be_mounted_is_refused_and_leaves_nothing() {
    let ground = project();
    let repo = HostMount::new(ground.path("repo"));
    let up = HostMount { mount_path: Some("../up".into()), ..repo.clone() };
    let absolute = HostMount { mount_path: Some("/etc".into()), ..repo.clone() };
    let large = HostMount { max_bytes: Some(5), ..repo.clone() };
    for (mount, roots, code) in [
        (repo.clone(), ground.path("elsewhere"), "home-workspace"),
        (HostMount::new(ground.path("nowhere")), ground.path("."), "home-workspace"),
        (up, ground.path("."), "home-workspace"),
        (absolute, ground.path("."), "home-workspace"),
        (large, ground.path("."), "mount-size"),
    ] {
        let error = Workspace::new(&ground.path("work"), &[mount], &[roots]).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert_eq!(fs::read_dir(ground.path("work")).unwrap().count(), 0);
    }
}

#[test]
fn links_are_made_and_taken_away_and_nothing_else_is_touched() {
    let ground = Ground::new();
    let (skill, agent) = (ground.skill("skills/one"), ground.path("home/.claude/skills"));
    let made = link_skill("one", &skill, &agent).unwrap();
    assert!(made.is_new && made.link.join("SKILL.md").is_file());
    assert!(!link_skill("one", &skill, &agent).unwrap().is_new, "it is there");
    ground.skill("home/.claude/skills/own");
    assert_eq!(link_skill("own", &skill, &agent).unwrap_err().code(), "mount-duplicate");
    assert_eq!(link_skill("../up", &skill, &agent).unwrap_err().code(), "mount-name");
    assert!(!unlink_skill("own", &skill, &agent).unwrap().is_new);
    assert!(agent.join("own/SKILL.md").is_file());
    assert!(unlink_skill("one", &skill, &agent).unwrap().is_new);
    assert!(!agent.join("one").exists() && skill.exists());
}
