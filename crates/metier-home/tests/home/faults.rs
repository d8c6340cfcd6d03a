//! Mounting that is killed at any moment, or runs out of room: nothing is visible by half, and nothing is left for long.
//!
//! `METIER_KILLS` says how often, for each of both.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use metier_home::{Agent, Home, HomeOptions, HostVariables, MountOptions, mount_skills, remove_leftovers};
use metier_prompt::SkillMount;
use metier_skill::Coded as _;

use crate::common::{Ground, skill_md};
use crate::small_disk::in_small_file_system;

const SKILLS: usize = 30;

#[expect(clippy::disallowed_methods, reason = "a test asks itself by a variable")]
fn asked(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn count() -> usize {
    asked("METIER_KILLS").map_or(25, |text| text.parse().unwrap())
}

/// Skills of some files each, and a person's credentials.
fn ground() -> Ground {
    let ground = Ground::new();
    for number in 0..SKILLS {
        let name = format!("skill-{number}");
        ground.skill(&format!("skills/{name}"));
        for file in ["scripts/run.sh", "references/guide.md"] {
            ground.write(&format!("skills/{name}/{file}"), vec![b'x'; 2_000 + 100 * number]);
        }
    }
    ground.write("host/.claude/.credentials.json", "credentials");
    ground
}

fn mounts(ground: &Path) -> Vec<SkillMount> {
    (0..SKILLS).map(|number| SkillMount::new(ground.join(format!("skills/skill-{number}")))).collect()
}

fn new_home(ground: &Path) -> Home {
    let env = [("HOME".to_owned(), ground.join("host").to_string_lossy().into_owned())].into();
    Home::new(Agent::ClaudeCode, &HostVariables::new(env), &HomeOptions::new(ground.join("homes"))).unwrap()
}

/// Every skill is there with all of its files.
fn is_whole(skills: &Path) -> bool {
    let whole = |number: usize| {
        let skill = skills.join(format!("skill-{number}"));
        let size = |file: &str| fs::metadata(skill.join(file)).map_or(0, |meta| meta.len());
        let body = 2_000 + 100 * number as u64;
        let name = format!("skill-{number}");
        size("SKILL.md") == skill_md(&name).len() as u64
            && size("scripts/run.sh") == body
            && size("references/guide.md") == body
    };
    fs::read_dir(skills).unwrap().count() == SKILLS && (0..SKILLS).all(whole)
}

/// Not a test: makes homes and mounts skills until it is killed.
#[test]
#[ignore = "started by other tests"]
fn mounter() {
    let Some(ground) = asked("METIER_MOUNTER").map(PathBuf::from) else { return };
    println!("ready");
    let mut last = None;
    loop {
        let mut home = new_home(&ground);
        home.mount(&mounts(&ground), &MountOptions::default()).unwrap();
        // One is there while the next is made, and then it goes.
        drop(last.replace(home));
    }
}

#[test]
fn whoever_is_killed_leaves_nothing_by_half_and_nothing_for_long() {
    let ground = ground();
    let mut seed = 7_u64;
    let (mut whole, mut partly, mut kills) = (0, 0, 0);
    // On a fast or a busy machine it takes more of them to hit the middle of it; that none of many does means that none can.
    while kills < count() || (partly == 0 && kills < 40 * count()) {
        kills += 1;
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "faults::mounter", "--ignored", "--nocapture"])
            .env("METIER_MOUNTER", ground.0.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with("ready")));
        thread::sleep(Duration::from_micros((seed >> 33) % 500_000));
        child.kill().unwrap();
        child.wait().unwrap();
        for home in fs::read_dir(ground.path("homes")).into_iter().flatten().flatten() {
            if home.file_name().to_string_lossy().starts_with('.') {
                // On its way out, where no agent is told to look.
                continue;
            }
            let skills = home.path().join(".claude/skills");
            if skills.exists() {
                assert!(is_whole(&skills), "{} is there by half", skills.display());
                whole += 1;
            } else {
                partly += 1;
            }
        }
        let next = new_home(ground.0.path());
        assert_eq!(ground.homes(), 1, "the next one removes what was left");
        drop(next);
        assert_eq!(ground.homes(), 0, "no credentials outlive a home");
    }
    println!("{kills} kills: {whole} with all skills there, {partly} without any");
    assert!(partly > 0, "some were killed in the middle of it");
}

#[test]
fn a_disk_that_gets_full_shows_nothing_by_half() {
    let Some(small) = in_small_file_system("faults::a_disk_that_gets_full_shows_nothing_by_half", 4) else {
        return;
    };
    let ground = ground();
    let (mut failed, mut copies, mut done) = (0, 0, 0);
    let mut seed = 11_u64;
    for _ in 0..count() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let room = (seed >> 33) % 600_000;
        let mut ballast = File::create(small.join("ballast")).unwrap();
        ballast.write_all(&vec![0; (4 << 20) - usize::try_from(room).unwrap()]).unwrap();
        let target = small.join("out");
        match mount_skills(&mounts(ground.0.path()), &target, &MountOptions::default()) {
            Ok(_) => {
                assert!(is_whole(&target));
                done += 1;
                let home = target.parent().unwrap();
                assert_eq!(fs::read_dir(home).unwrap().count(), 2);
                open_and_remove(&target);
            }
            Err(error) => {
                // M05: what fails while a skill is copied says which, and why.
                assert!(["home-io", "mount-copy"].contains(&error.code()), "{error}");
                assert!(std::error::Error::source(&error).is_some(), "{error}");
                copies += usize::from(error.to_string().starts_with("failed to copy the skill `skill-"));
                failed += 1;
            }
        }
        assert_eq!(remove_leftovers(&small).removed, 0);
        assert_eq!(fs::read_dir(&small).unwrap().count(), 1, "only the ballast is there");
        fs::remove_file(small.join("ballast")).unwrap();
    }
    println!("full disks: {failed} failed, {done} had enough room");
    assert!(failed > 0 && copies > 0 && done > 0);
}

fn open_and_remove(path: &Path) {
    let status = Command::new("chmod").args(["-R", "u+w"]).arg(path).status().unwrap();
    assert!(status.success());
    fs::remove_dir_all(path).unwrap();
}
