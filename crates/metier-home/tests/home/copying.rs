//! One skill copied: M01 to M15, each by its number.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use metier_home::{HomeError, MountOptions, MountedSkill, mount_skills};
use metier_prompt::SkillMount;
use metier_skill::{Coded as _, SkipReason, SymlinkPolicy};

use crate::common::{Ground, skill_md};

fn mount(ground: &Ground, source: &Path, options: &MountOptions) -> Result<MountedSkill, HomeError> {
    let mounted = mount_skills(&[SkillMount::new(source)], &ground.path("out"), options)?;
    Ok(mounted.into_iter().next().unwrap())
}

fn usual(ground: &Ground, source: &Path) -> MountedSkill {
    mount(ground, source, &MountOptions::default()).unwrap()
}

#[test]
fn m01_a_directory_is_copied_with_everything_in_it() {
    let ground = Ground::new();
    let source = ground.skill("code-review");
    ground.write("code-review/examples/example.py", "print(1)\n");
    let mounted = usual(&ground, &source);
    assert_eq!(ground.listing("out"), ["code-review/SKILL.md", "code-review/examples/example.py"]);
    for file in ["SKILL.md", "examples/example.py"] {
        let (from, to) = (source.join(file), mounted.path.join(file));
        assert_eq!(fs::read(from).unwrap(), fs::read(to).unwrap());
    }
    assert_eq!(mounted.bytes, (skill_md("code-review").len() + 9) as u64);
    assert_eq!((mounted.files, mounted.skipped.len()), (2, 0));
    let copy = metier_skill::Folder::open(&mounted.path).unwrap();
    let digest = copy.manifest(&metier_skill::Limits::default()).unwrap().digest();
    assert_eq!(mounted.tree_digest, digest, "the digest is that of the copy");
}

#[test]
fn m02_a_file_becomes_a_directory_with_a_skill_md() {
    let ground = Ground::new();
    let source = ground.write("testing.md", skill_md("testing"));
    usual(&ground, &source);
    assert_eq!(ground.listing("out"), ["testing/SKILL.md"]);
    assert_eq!(fs::read(ground.path("out/testing/SKILL.md")).unwrap(), fs::read(source).unwrap());
}

#[test]
fn m03_more_than_the_limit_is_refused() {
    let ground = Ground::new();
    let mut options = MountOptions { validate: false, ..MountOptions::default() };
    options.rules.limits.skill_bytes = 10;
    for source in [ground.skill("big"), ground.write("large.md", skill_md("large"))] {
        let error = mount(&ground, &source, &options).unwrap_err();
        assert!(matches!(error, HomeError::Size { limit: 10, .. }), "{error}");
        assert!(error.to_string().contains("exceeds"), "{error}");
        assert!(!ground.path("out").exists(), "nothing is visible");
    }
}

#[test]
fn m04_links_are_left_out_and_said() {
    let ground = Ground::new();
    let source = ground.skill("linked");
    symlink("SKILL.md", source.join("inside.md")).unwrap();
    symlink("/etc/passwd", source.join("outside")).unwrap();
    ground.write("linked/real.txt", "x");
    let options = MountOptions { validate: false, ..MountOptions::default() };
    let mounted = mount(&ground, &source, &options).unwrap();
    assert_eq!(ground.listing("out"), ["linked/SKILL.md", "linked/real.txt"]);
    let skipped: Vec<_> =
        mounted.skipped.iter().map(|one| (one.path.to_str().unwrap(), one.reason)).collect();
    assert_eq!(skipped, [("inside.md", SkipReason::Link), ("outside", SkipReason::LinkOutside)]);
}

#[test]
fn m05_m06_what_cannot_be_copied_says_why() {
    let ground = Ground::new();
    let source = ground.skill("closed");
    fs::create_dir(ground.path("file")).unwrap();
    ground.write("blocker", "x");
    let error =
        mount_skills(&[SkillMount::new(&source)], &ground.path("blocker/out"), &MountOptions::default());
    let error = error.unwrap_err();
    assert!(matches!(error, HomeError::Io { .. }), "{error}");
    assert!(std::error::Error::source(&error).is_some(), "the cause is kept");
    let error = mount(&ground, &ground.path("nowhere"), &MountOptions::default()).unwrap_err();
    assert!(matches!(error, HomeError::NotFound { .. }), "{error}");
}

#[test]
fn a_pipe_is_no_skill_and_nobody_waits_for_it() {
    let ground = Ground::new();
    let pipe = ground.path("note.md");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    let options = MountOptions { validate: false, ..MountOptions::default() };
    let error = mount(&ground, &pipe, &options).unwrap_err();
    assert!(error.to_string().contains("note"), "{error}");
}

#[test]
fn an_empty_directory_keeps_who_may_look_into_it() {
    let ground = Ground::new();
    let source = ground.skill("one");
    fs::create_dir(ground.path("out")).unwrap();
    ground.set_mode("out", 0o700);
    usual(&ground, &source);
    assert_eq!(ground.mode("out"), 0o700);
    ground.write("file", "x");
    let error = mount_skills(&[SkillMount::new(&source)], &ground.path("file"), &MountOptions::default());
    assert_eq!(error.unwrap_err().code(), "home-io", "it is not said to be a directory that is not empty");
}

#[test]
fn m07_nothing_below_a_linked_directory_is_copied() {
    for symlinks in [SymlinkPolicy::Skip, SymlinkPolicy::FollowWithinRoot] {
        let ground = Ground::new();
        let source = ground.skill("deep");
        fs::create_dir(source.join("real")).unwrap();
        symlink("real", source.join("linked")).unwrap();
        ground.write("deep/real/a.txt", "a");
        let mut options = MountOptions::default();
        options.rules.symlinks = symlinks;
        mount(&ground, &source, &options).unwrap();
        assert_eq!(ground.listing("out"), ["deep/SKILL.md", "deep/real/a.txt"], "{symlinks:?}");
    }
}

#[test]
fn m08_version_control_and_special_files_stay_behind_and_are_said() {
    let ground = Ground::new();
    let source = ground.skill("odd");
    fs::create_dir(source.join("empty")).unwrap();
    ground.write("odd/.git/config", "x");
    ground.write("odd/.hidden", "x");
    rustix::fs::mkfifoat(rustix::fs::CWD, source.join("pipe"), rustix::fs::Mode::RWXU).unwrap();
    let _socket = UnixListener::bind(source.join("socket")).unwrap();
    let mounted = usual(&ground, &source);
    assert_eq!(ground.listing("out"), ["odd/.hidden", "odd/SKILL.md"]);
    assert!(!ground.path("out/odd/empty").exists());
    let skipped: Vec<_> =
        mounted.skipped.iter().map(|one| (one.path.to_str().unwrap(), one.reason)).collect();
    let special = SkipReason::Special;
    assert_eq!(skipped, [(".git", SkipReason::VersionControl), ("pipe", special), ("socket", special)]);
}

#[test]
fn m09_m10_what_can_be_run_stays_so_and_nothing_can_be_written() {
    let ground = Ground::new();
    let source = ground.skill("modes");
    ground.write("modes/scripts/run.sh", "#!/bin/sh\n");
    ground.set_mode("modes/scripts/run.sh", 0o6777);
    ground.set_mode("modes/SKILL.md", 0o666);
    usual(&ground, &source);
    assert_eq!(ground.mode("out/modes/scripts/run.sh"), 0o555);
    assert_eq!(ground.mode("out/modes/SKILL.md"), 0o444);
    assert_eq!((ground.mode("out/modes"), ground.mode("out/modes/scripts")), (0o555, 0o555));

    let ground = Ground::new();
    let source = ground.skill("private");
    ground.write("private/scripts/run", "#!/bin/sh\n");
    for (path, mode) in [("SKILL.md", 0o600), ("scripts/run", 0o700), ("scripts", 0o700)] {
        ground.set_mode(&format!("private/{path}"), mode);
    }
    usual(&ground, &source);
    let modes =
        ["SKILL.md", "scripts/run", "scripts"].map(|path| ground.mode(&format!("out/private/{path}")));
    assert_eq!(modes, [0o400, 0o500, 0o500], "what was private stays so");

    let ground = Ground::new();
    let source = ground.skill("modes");
    ground.write("modes/run.sh", "#!/bin/sh\n");
    ground.set_mode("modes/run.sh", 0o4777);
    let options = MountOptions { is_writable: true, ..MountOptions::default() };
    mount(&ground, &source, &options).unwrap();
    assert_eq!(ground.mode("out/modes/run.sh"), 0o755, "the owner may write where that is asked for");
    assert_eq!(ground.mode("out/modes"), 0o755);
}

#[test]
fn m11_links_that_are_followed_become_files_and_never_leave_the_skill() {
    let ground = Ground::new();
    let source = ground.skill("linked");
    ground.write("linked/real.txt", "real");
    symlink("real.txt", source.join("alias.txt")).unwrap();
    symlink("loop", source.join("loop")).unwrap();
    let mut options = MountOptions::default();
    options.rules.symlinks = SymlinkPolicy::FollowWithinRoot;
    options.validate = false;
    mount(&ground, &source, &options).unwrap();
    let copy = ground.path("out/linked/alias.txt");
    assert!(fs::symlink_metadata(&copy).unwrap().is_file());
    assert_eq!(fs::read_to_string(copy).unwrap(), "real");

    let ground = Ground::new();
    let source = ground.skill("leaving");
    symlink("/etc/passwd", source.join("out")).unwrap();
    let error = mount(&ground, &source, &options).unwrap_err();
    assert!(error.to_string().contains("escapes"), "{error}");
    assert!(!ground.path("out").exists());
}

#[test]
fn m12_a_skill_md_that_is_a_link_is_an_error_unless_links_are_followed() {
    let ground = Ground::new();
    ground.write("symmd/real.md", skill_md("symmd"));
    ground.write("symmd/a.txt", "a");
    let source = ground.path("symmd");
    symlink("real.md", source.join("SKILL.md")).unwrap();
    for (validate, code) in [(true, "skill-validation"), (false, "mount-skill-md-link")] {
        let options = MountOptions { validate, ..MountOptions::default() };
        let error = mount(&ground, &source, &options).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(!ground.path("out").exists(), "never a skill without its SKILL.md");
    }
    let mut options = MountOptions::default();
    options.rules.symlinks = SymlinkPolicy::FollowWithinRoot;
    mount(&ground, &source, &options).unwrap();
    assert!(ground.listing("out").contains(&"symmd/SKILL.md".to_owned()));
}

#[test]
fn m13_one_file_has_a_limit_only_where_one_is_set() {
    let ground = Ground::new();
    let source = ground.skill("heavy");
    ground.write("heavy/data.bin", vec![0; (1 << 20) + 1]);
    usual(&ground, &source);
    let other = Ground::new();
    let source = other.skill("heavy");
    other.write("heavy/data.bin", [0; 11]);
    let options = MountOptions { file_bytes: Some(10), ..MountOptions::default() };
    assert_eq!(mount(&other, &source, &options).unwrap_err().code(), "mount-size");
    other.write("heavy/data.bin", [0; 10]);
    mount(&other, &source, &options).unwrap();
}

#[test]
fn m14_exactly_the_limit_fits() {
    let limit = 10_usize << 20;
    for (more, is_fine) in [(0, true), (1, false)] {
        let ground = Ground::new();
        let source = ground.skill("full");
        let rest = limit - skill_md("full").len() + more;
        ground.write("full/data.bin", vec![0; rest]);
        for validate in [true, false] {
            let options = MountOptions { validate, ..MountOptions::default() };
            let place = ground.path(if validate { "out" } else { "other" });
            let mounted = mount_skills(&[SkillMount::new(&source)], &place, &options);
            let code = mounted.as_ref().err().map(HomeError::code);
            assert_eq!(code, (!is_fine).then_some("mount-size"), "{more}");
        }
    }
}

/// The fixture of the first specification: a file without frontmatter.
#[test]
fn a_file_without_frontmatter_gets_one_where_that_is_wanted() {
    let ground = Ground::new();
    let source = ground.write("test-skill.md", "# Test Skill\n\nDoes testing.");
    assert_eq!(mount(&ground, &source, &MountOptions::default()).unwrap_err().code(), "skill-validation");
    let mut options = MountOptions::default();
    options.rules.synthesize_frontmatter = true;
    for (target, named, name) in [("out", None, "test-skill"), ("other", Some("checks"), "checks")] {
        let mut skill = SkillMount::new(&source);
        if let Some(named) = named {
            skill = skill.named(named);
        }
        let mounted = mount_skills(&[skill], &ground.path(target), &options).unwrap();
        let text = fs::read_to_string(mounted[0].path.join("SKILL.md")).unwrap();
        let head = format!("---\nname: {name}\ndescription: Does testing.\n---\n");
        assert_eq!(text, format!("{head}# Test Skill\n\nDoes testing."));
    }
    // A directory says what it is.
    ground.write("bare/SKILL.md", "# Test Skill\n\nDoes testing.");
    assert_eq!(mount(&ground, &ground.path("bare"), &options).unwrap_err().code(), "skill-validation");
}

#[test]
fn m15_all_skills_together_have_a_limit() {
    let ground = Ground::new();
    let (one, two) = (ground.skill("one"), ground.skill("two"));
    let bytes = (skill_md("one").len() + skill_md("two").len()) as u64;
    let mounts = [SkillMount::new(one), SkillMount::new(two)];
    let options = |set_bytes| MountOptions { set_bytes, ..MountOptions::default() };
    let error = mount_skills(&mounts, &ground.path("out"), &options(bytes - 1)).unwrap_err();
    assert!(error.to_string().contains("total skills size"), "{error}");
    assert!(!ground.path("out").exists());
    mount_skills(&mounts, &ground.path("out"), &options(bytes)).unwrap();
}

#[test]
fn what_changed_since_it_was_checked_is_not_mounted() {
    let ground = Ground::new();
    let source = ground.skill("pdf");
    ground.write("pdf/scripts/fill.sh", "echo 1\n");
    symlink("scripts/fill.sh", source.join("link.sh")).unwrap();
    let limits = metier_skill::Limits::default();
    let digest_of =
        |path: &Path| metier_skill::Folder::open(path).unwrap().capture(&limits, |_, _| Ok(())).unwrap();
    let checked = digest_of(&source).manifest.digest();
    let mut with_links = MountOptions::default();
    with_links.rules.symlinks = SymlinkPolicy::FollowWithinRoot;
    for (number, options) in [MountOptions::default(), with_links].iter().enumerate() {
        let expecting = [SkillMount::new(&source).named("forms").expecting(checked)];
        // Under another name the copy differs; what counts is what it was made from.
        mount_skills(&expecting, &ground.path(&format!("before-{number}")), options).unwrap();
        ground.write("pdf/scripts/fill.sh", "echo 2\n");
        let out = ground.path(&format!("after-{number}"));
        let error = mount_skills(&expecting, &out, options).unwrap_err();
        assert!(matches!(&error, HomeError::Changed { name, .. } if name == "forms"), "{error}");
        assert!(!out.exists());
        ground.write("pdf/scripts/fill.sh", "echo 1\n");
    }
    let file = ground.write("notes.md", skill_md("notes"));
    let other = [SkillMount::new(&file).expecting(checked)];
    let error = mount_skills(&other, &ground.path("file"), &MountOptions::default()).unwrap_err();
    assert_eq!(error.code(), "mount-changed");
}
