//! Sets of skills mounted into homes: H01 to H16, each by its number, for every agent.

use std::fs;
use std::path::Path;

use metier_home::{Agent, Home, HomeError, MountOptions, Rename};
use metier_prompt::SkillMount;
use metier_skill::Coded as _;

use crate::common::{Ground, skill_md};

fn usual() -> MountOptions {
    MountOptions::default()
}

/// The same for every agent.
fn each(check: impl Fn(&Ground, Home)) {
    for agent in Agent::ALL {
        let ground = Ground::new();
        let home = ground.home(agent, &[]);
        check(&ground, home);
    }
}

#[test]
fn h01_h02_h05_skills_are_where_the_agent_looks() {
    each(|ground, mut home| {
        let mounts = [
            SkillMount::new(ground.skill("code-review")),
            SkillMount::new(ground.write("testing.md", skill_md("testing"))),
            SkillMount::new(ground.skill("real").join("SKILL.md")),
            SkillMount::from_text("written", skill_md("written")),
        ];
        home.mount(&mounts, &usual()).unwrap();
        let skills = home.skills_directory();
        assert_eq!(skills, home.path().join(home.agent().skills_directory()));
        for name in ["code-review", "testing", "real", "written"] {
            assert!(skills.join(name).join("SKILL.md").is_file(), "{}: {name}", home.agent());
        }
    });
}

#[test]
fn h03_h04_a_skill_under_another_name_says_that_name() {
    let ground = Ground::new();
    let source = ground.skill("original-name");
    let mut home = ground.home(Agent::ClaudeCode, &[]);
    let mounted = home.mount(&[SkillMount::new(&source).named("custom-name")], &usual()).unwrap();
    let skills = home.skills_directory();
    assert!(skills.join("custom-name").exists() && !skills.join("original-name").exists());
    let text = fs::read_to_string(skills.join("custom-name/SKILL.md")).unwrap();
    assert_eq!(text, skill_md("original-name").replace("name: original-name", "name: custom-name"));
    assert_eq!(
        (mounted[0].name.as_str(), mounted[0].own_name.as_deref()),
        ("custom-name", Some("original-name"))
    );

    for name in ["123", "true", "1e5"] {
        let mut home = ground.home(Agent::Codex, &[]);
        home.mount(&[SkillMount::new(&source).named(name)], &usual()).unwrap();
        let text = fs::read_to_string(home.skills_directory().join(name).join("SKILL.md")).unwrap();
        assert!(text.contains(&format!("name: \"{name}\"\n")), "{text}");
    }
    let mut home = ground.home(Agent::Codex, &[]);
    let verbatim = MountOptions { rename: Rename::Verbatim, ..usual() };
    home.mount(&[SkillMount::new(&source).named("custom-name")], &verbatim).unwrap();
    let text = fs::read_to_string(home.skills_directory().join("custom-name/SKILL.md")).unwrap();
    assert_eq!(text, skill_md("original-name"));
    let mut home = ground.home(Agent::Codex, &[]);
    let reject = MountOptions { rename: Rename::Reject, ..usual() };
    let error = home.mount(&[SkillMount::new(&source).named("custom-name")], &reject).unwrap_err();
    assert_eq!(error.code(), "mount-renamed");
}

#[test]
fn h06_two_of_one_name_are_an_error() {
    each(|ground, mut home| {
        let source = ground.skill("one");
        let other = SkillMount::new(ground.skill("other")).named("one");
        let error = home.mount(&[SkillMount::new(&source), other], &usual()).unwrap_err();
        assert!(error.to_string().starts_with("duplicate skill name `one`"), "{error}");
        assert!(!home.skills_directory().exists());
    });
}

#[test]
fn h07_what_is_not_there_is_not_found() {
    each(|_, mut home| {
        let error = home.mount(&[SkillMount::new("some/where")], &usual()).unwrap_err();
        assert_eq!(error.to_string(), "skill not found: some/where", "as it was given");
    });
}

#[test]
fn h08_h09_what_is_no_skill_is_mounted_only_if_nobody_minds() {
    each(|ground, mut home| {
        ground.write("nothing/readme.txt", "x");
        let mount = [SkillMount::new(ground.path("nothing"))];
        let error = home.mount(&mount, &usual()).unwrap_err();
        assert_eq!(error.code(), "skill-validation", "{error}");
        let mut other = ground.home(home.agent(), &[]);
        let lax = MountOptions { validate: false, ..usual() };
        other.mount(&mount, &lax).unwrap();
        assert!(other.skills_directory().join("nothing/readme.txt").is_file());
        let mut third = ground.home(home.agent(), &[]);
        let named = [SkillMount::new(ground.path("nothing")).named("Bad_Name")];
        assert_eq!(
            third.mount(&named, &lax).unwrap_err().code(),
            "mount-name",
            "the rule for names always counts"
        );
    });
}

#[test]
fn h10_h11_without_skills_there_is_no_directory() {
    each(|_, mut home| {
        assert!(!home.skills_directory().exists());
        assert!(home.mount(&[], &usual()).unwrap().is_empty());
        assert!(!home.skills_directory().exists());
    });
}

#[test]
fn h12_skills_are_mounted_once() {
    each(|ground, mut home| {
        home.mount(&[], &usual()).unwrap();
        let error = home.mount(&[SkillMount::new(ground.skill("late"))], &usual()).unwrap_err();
        assert!(error.to_string().contains("already mounted"), "{error}");
        home.inject(&SkillMount::new(ground.skill("late")), &usual()).unwrap();
        assert!(home.skills_directory().join("late/SKILL.md").is_file());
        let again = home.inject(&SkillMount::new(ground.skill("late")), &usual()).unwrap_err();
        assert_eq!(again.code(), "mount-duplicate");
    });
}

#[test]
fn h13_a_failure_leaves_nothing_to_be_seen() {
    each(|ground, mut home| {
        let broken = ground.write("broken/SKILL.md", "nothing").parent().unwrap().to_owned();
        let before = ground.listing("homes");
        let mounts = [SkillMount::new(ground.skill("fine")), SkillMount::new(broken)];
        assert!(home.mount(&mounts, &usual()).is_err());
        assert_eq!(ground.listing("homes"), before);
        assert!(!home.skills_directory().exists());
    });
}

#[test]
fn h14_names_come_before_what_is_there() {
    let ground = Ground::new();
    let mut home = ground.home(Agent::Goose, &[]);
    let twice = [SkillMount::new(ground.skill("one")), SkillMount::new("/nowhere/one")];
    assert_eq!(home.mount(&twice, &usual()).unwrap_err().code(), "mount-duplicate");
    let mut home = ground.home(Agent::Goose, &[]);
    let named = [SkillMount::new("/nowhere/Bad")];
    assert!(matches!(home.mount(&named, &usual()), Err(HomeError::Name { .. })));
}

#[test]
fn h15_h16_what_is_off_is_not_looked_at() {
    let ground = Ground::new();
    let mut home = ground.home(Agent::Copilot, &[]);
    let mounts = [
        SkillMount::new(ground.skill("one")),
        SkillMount::new(ground.skill("other")).named("one").enabled(false),
        SkillMount::new("/nowhere").enabled(false),
    ];
    assert_eq!(home.mount(&mounts, &usual()).unwrap().len(), 1);
}

#[test]
fn r05_a_link_is_what_it_leads_to() {
    let ground = Ground::new();
    let target = ground.skill("target-skill");
    std::os::unix::fs::symlink(target, ground.path("alias-skill")).unwrap();
    let mut home = ground.home(Agent::OpenCode, &[]);
    let mounted = home.mount(&[SkillMount::new(ground.path("alias-skill"))], &usual()).unwrap();
    assert_eq!(mounted[0].name, "target-skill");
}

#[test]
fn what_dead_processes_left_is_removed_and_what_lives_stays() {
    let ground = Ground::new();
    let home = ground.home(Agent::Gemini, &[]);
    let owner = "999999999-1-1-00000000";
    let left = |name: &str, files: &[(&str, &str)]| {
        let path = ground.path(&format!("homes/{name}"));
        fs::create_dir_all(&path).unwrap();
        ground.set_mode(&format!("homes/{name}"), 0o700);
        for (file, text) in files {
            ground.write(&format!("homes/{name}/{file}"), text);
        }
        path
    };
    let (mark, secret) = ((".metier-home", owner), (".claude/.credentials.json", "secret"));
    let dead = left(&format!("claude-agent-{owner}.0"), &[mark, secret]);
    let unborn = left(&format!("codex-agent-{owner}.0"), &[]);
    let unmarked = left(&format!("codex-agent-{owner}.1"), &[(".metier-home", "99999")]);
    let staging = left(&format!(".metier-staging-{owner}.0"), &[("half/x", "")]);
    ground.set_mode(&format!("homes/.metier-staging-{owner}.0/half"), 0o555);
    // Somebody who is there uses it.
    let lent = format!("{owner}\n{}\n", fs::read_to_string(home.path().join(".metier-home")).unwrap().trim());
    let lent = left(&format!("claude-agent-{owner}.1"), &[(".metier-home", &lent)]);
    let open = left(&format!("claude-agent-{owner}.2"), &[mark]);
    ground.set_mode(&format!("homes/claude-agent-{owner}.2"), 0o755);
    let foreign = ground.path("homes/claude-agent-notes");
    fs::create_dir_all(&foreign).unwrap();
    let kept = ground.home(Agent::ClaudeCode, &[]).keep();
    assert_eq!(
        metier_home::remove_leftovers(&ground.path("homes")).removed,
        0,
        "the next home has removed them already"
    );
    assert!(!dead.exists() && !unborn.exists() && !unmarked.exists() && !staging.exists());
    assert!(home.path().exists() && foreign.exists() && kept.exists() && lent.exists() && open.exists());
}

#[test]
fn homes_are_for_their_owner_alone_and_gone_with_them() {
    each(|ground, home| {
        let path = home.path().to_owned();
        let name = Path::new("homes").join(path.file_name().unwrap());
        assert_eq!(ground.mode(name.to_str().unwrap()), 0o700);
        drop(home);
        assert!(!path.exists());
        let mut home = ground.home(Agent::ClaudeCode, &[]);
        home.mount(&[SkillMount::new(ground.skill("closed"))], &usual()).unwrap();
        home.remove().unwrap();
        assert_eq!(ground.homes(), 0, "also where skills cannot be written to");
    });
}

#[test]
fn a_home_can_have_skills_of_its_own_or_none() {
    let ground = Ground::new();
    let (one, two) = (SkillMount::new(ground.skill("one")), SkillMount::new(ground.skill("two")));
    let names = |install: bool| {
        let made = ground.home_with(Agent::Goose, &[], |config| {
            (config.skills, config.install_skills) = (vec![one.clone()], install);
        });
        let mounted = made.unwrap().mount(std::slice::from_ref(&two), &usual()).unwrap();
        mounted.into_iter().map(|skill| skill.name).collect::<Vec<_>>()
    };
    assert_eq!(names(true), ["one", "two"]);
    assert!(names(false).is_empty());
}

/// Many are copied at once, and still the first that cannot be is the one that is named.
#[test]
fn the_first_error_is_the_one_that_is_said() {
    let ground = Ground::new();
    let good = |number: usize| SkillMount::new(ground.skill(&format!("skills/skill-{number}")));
    let bad = |number: usize| SkillMount::new(ground.path(&format!("nowhere/skill-{number}")));
    for first in [0, 1, 17, 39] {
        let mount = |number: usize| {
            if number >= first && number % 2 == first % 2 { bad(number) } else { good(number) }
        };
        let mut mounts: Vec<SkillMount> = (0..40).map(mount).collect();
        // It has the wrong name, and comes after all of these.
        mounts.push(good(1).named("No Name"));
        for _ in 0..10 {
            let error = metier_home::mount_skills(&mounts, &ground.path("out"), &usual()).unwrap_err();
            assert!(error.to_string().ends_with(&format!("nowhere/skill-{first}")), "{error}");
        }
    }
    assert_eq!(fs::read_dir(ground.0.path()).unwrap().count(), 1, "nothing is left");
}
