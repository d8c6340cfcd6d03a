//! A place that is also shown elsewhere: the same through both paths, to be changed through neither, and nothing is
//! made outside to show it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "support/common.rs"]
mod common;
#[path = "missing/filter.rs"]
mod filter;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use metier_sandbox::{
    Ending, Executor, Job, PinnedPath, Protection, RunOutcome, SandboxError, SandboxProfile, Strictness,
};
use metier_skill::Coded as _;
use tempfile::TempDir;

use crate::filter::{Lacking, Only};

/// A copy of a skill beside a secret, and a directory to work in.
struct Ground {
    base: TempDir,
    work: TempDir,
}

impl Ground {
    fn new() -> Self {
        let ground = Self { base: common::work(), work: common::work() };
        lay_out(&ground.copy(), "the copy");
        fs::write(ground.base.path().join("secret"), "the secret").unwrap();
        ground
    }

    fn copy(&self) -> PathBuf {
        self.base.path().join("copy")
    }

    fn in_work(&self, path: &str) -> PathBuf {
        self.work.path().join(path)
    }

    fn profile(&self, alias: &Path) -> SandboxProfile {
        let mut profile = common::profile(self.work.path());
        profile.add_skill(PinnedPath::pin(self.copy()).unwrap().also_at(alias));
        profile.environment.insert("ALIAS".into(), alias.into());
        profile
    }

    fn error(&self, alias: &Path) -> SandboxError {
        common::local().run(&Job::new(self.profile(alias), "true", Vec::new()), &mut ()).unwrap_err()
    }

    /// Runs a script, which must change neither the copy nor what the work directory has at the alias.
    fn sh(&self, alias: &Path, script: &str) -> RunOutcome {
        let before = [contents(&self.copy()), contents(alias)];
        let outcome = common::sh(self.profile(alias), script);
        assert_eq!([contents(&self.copy()), contents(alias)], before, "{script}: {}", errors(&outcome));
        outcome
    }
}

/// A skill that says whose it is.
fn lay_out(skill: &Path, whose: &str) {
    fs::create_dir_all(skill.join("scripts")).unwrap();
    let script = skill.join("scripts/tool");
    fs::write(&script, "#!/bin/sh\ncat \"${0%/*}/../data\"\n").unwrap();
    fs::set_permissions(script, Permissions::from_mode(0o755)).unwrap();
    fs::write(skill.join("data"), format!("{whose}\n")).unwrap();
}

/// Every path below one, with what is in the files.
fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = vec![(path.to_owned(), fs::read(path).unwrap_or_default())];
    for entry in fs::read_dir(path).into_iter().flatten() {
        found.extend(contents(&entry.unwrap().path()));
    }
    found.sort();
    found
}

fn output(outcome: &RunOutcome) -> String {
    String::from_utf8_lossy(&outcome.output.bytes).into_owned()
}

fn errors(outcome: &RunOutcome) -> String {
    String::from_utf8_lossy(&outcome.errors.bytes).into_owned()
}

/// Where a skill may have been: in the work directory, with other content and below what is protected; in `/tmp`; and
/// where nothing is outside, so that no rule of Landlock but the place's own lets anybody read there.
fn aliases(ground: &Ground) -> Vec<PathBuf> {
    for inside in ["skills/x", ".agents/skills/x"] {
        lay_out(&ground.in_work(inside), "somebody else's");
        fs::write(ground.in_work(inside).join("more"), "").unwrap();
    }
    let mut aliases = vec![ground.in_work("skills/x"), ground.in_work(".agents/skills/x")];
    aliases.extend(
        ["/tmp/metier-nowhere/skills/x", "/metier-nowhere/skills/x", "/etc/metier/skills/x"]
            .map(PathBuf::from),
    );
    aliases
}

#[test]
fn both_paths_are_the_copy() {
    let ground = Ground::new();
    for alias in aliases(&ground) {
        let script = r#"
            cat "$METIER_SKILL_DIR/data" "$ALIAS/data"
            "$METIER_SKILL_DIR/scripts/tool"; "$ALIAS/scripts/tool"
            (cd "$ALIAS" && sh scripts/tool && ls)
            [ "$METIER_SKILL_DIR/data" -ef "$ALIAS/data" ] && stat -c %U "$ALIAS/data""#;
        let outcome = ground.sh(&alias, script);
        let expected = format!("{}data\nscripts\nskill\n", "the copy\n".repeat(5));
        assert_eq!(output(&outcome), expected, "{}: {}", alias.display(), errors(&outcome));
    }
}

#[test]
fn neither_path_can_be_written_to() {
    let ground = Ground::new();
    for alias in aliases(&ground) {
        let script = r#"
            for place in "$METIER_SKILL_DIR" "$ALIAS"; do
                echo evil >"$place/new" || echo refused
                echo evil >>"$place/data" || echo refused
                rm -f "$place/data" || echo refused
                mkdir "$place/directory" || echo refused
                mv "$place/data" "$place/other" || echo refused
                ln "$place/data" linked || echo refused
                chmod 777 "$place/scripts" || echo refused
                touch -t 200001010000 "$place/data" || echo refused
                [ -w "$place/data" ] || echo refused
            done"#;
        let outcome = ground.sh(&alias, script);
        assert_eq!(output(&outcome), "refused\n".repeat(18), "{}: {}", alias.display(), errors(&outcome));
    }
}

#[test]
fn it_cannot_be_moved_away_or_uncovered() {
    let unmount = r#"python3 -c 'import ctypes, os
for flags in (0, 2, 8): ctypes.CDLL(None).umount2(os.environ["ALIAS"].encode(), flags)'"#;
    for script in [
        r#"mv "$ALIAS" away; mkdir "$ALIAS""#,
        r#"mv "$ALIAS/.." away; mkdir -p "$ALIAS""#,
        r#"mv "$ALIAS/../.." away; mkdir -p "$ALIAS""#,
        r#"cd "$ALIAS/../.." && mv skills away; mkdir -p "$ALIAS""#,
        r#"parent=$(dirname "$(dirname "$ALIAS")"); mv "$parent" "$parent.away"; mkdir -p "$ALIAS""#,
        r#"mv -T --exchange "$ALIAS" scripts; rm -rf "$ALIAS""#,
        r#"ln -sfn /tmp "$ALIAS"; rmdir "$ALIAS""#,
        r#"umount "$ALIAS"; umount -l "$ALIAS"; mount --bind . "$ALIAS"; mount -o remount,rw "$ALIAS""#,
        unmount,
    ] {
        let ground = Ground::new();
        for alias in aliases(&ground) {
            let script = format!(
                r#"{{ {script}
                }} >/dev/null 2>&1
                cd /; echo evil >"$ALIAS/data"; cat "$ALIAS/data""#
            );
            let outcome = ground.sh(&alias, &script);
            let shown = alias.display();
            assert_eq!(output(&outcome), "the copy\n", "{shown}, {script}: {}", errors(&outcome));
        }
    }
}

#[test]
fn it_leads_nowhere_else() {
    let ground = Ground::new();
    symlink("../secret", ground.copy().join("link")).unwrap();
    for alias in aliases(&ground) {
        let script = r#"
            cat "$ALIAS/../secret" "$ALIAS/link"
            cd "$ALIAS" && cat ../secret && ls -A .. | grep -v '^x$'
            cd "$ALIAS/scripts" && cat ../../secret"#;
        let outcome = ground.sh(&alias, script);
        assert_eq!(output(&outcome), "", "{}", alias.display());
        assert_eq!(errors(&outcome).matches("No such file").count(), 4, "{}", errors(&outcome));
    }
}

/// What may be written to below the place is shown elsewhere too, and protected there by being read-only.
#[test]
fn what_is_writable_in_it_is_not_elsewhere() {
    let ground = Ground::new();
    let inner = ground.copy().join("inner");
    fs::create_dir_all(inner.join(".git/hooks")).unwrap();
    let mut profile = common::profile(&inner);
    profile.add_skill(PinnedPath::pin(ground.copy()).unwrap().also_at("/metier-nowhere"));
    let script = "echo good >file
        echo evil >/metier-nowhere/inner/.git/hooks/pre-commit || echo evil >/metier-nowhere/inner/file || cat file";
    let outcome = common::sh(profile, script);
    assert_eq!(output(&outcome), "good\n", "{}", errors(&outcome));
    assert_eq!(fs::read_dir(inner.join(".git/hooks")).unwrap().count(), 0);
}

#[test]
fn nothing_is_made_outside() {
    let ground = Ground::new();
    fs::create_dir(ground.in_work("skills")).unwrap();
    let before = contents(ground.work.path());
    for missing in ["skills/x", "no/skills/x"] {
        let outcome = ground.sh(&ground.in_work(missing), r#"cat "$METIER_SKILL_DIR/data"; ls "$ALIAS""#);
        assert_eq!(output(&outcome), "the copy\n");
        assert!(errors(&outcome).contains("No such file"), "{}", errors(&outcome));
        assert_eq!(contents(ground.work.path()), before);
    }
    for elsewhere in ["/tmp/metier-nowhere/x", "/metier-nowhere/x"] {
        ground.sh(Path::new(elsewhere), "true");
        assert!(!Path::new(elsewhere).parent().unwrap().exists());
    }
}

/// What is there can have been put there by an earlier script: a link would lead to what is not the copy.
#[test]
fn a_link_in_its_way_is_refused() {
    let ground = Ground::new();
    lay_out(&ground.in_work("evil/x"), "evil");
    symlink("evil", ground.in_work("skills")).unwrap();
    symlink("nowhere", ground.in_work("evil/broken")).unwrap();
    fs::write(ground.in_work("evil/file"), "").unwrap();
    for alias in ["skills/x", "skills", "evil/broken", "evil/file", "evil/file/x"] {
        assert_eq!(ground.error(&ground.in_work(alias)).code(), "sandbox-path-swapped", "{alias}");
    }
}

#[test]
fn nothing_that_others_need_is_covered() {
    let ground = Ground::new();
    fs::create_dir(ground.in_work("other")).unwrap();
    let parent = ground.work.path().parent().unwrap();
    let copy = ground.copy();
    let paths = [
        "/",
        "/proc",
        "/proc/self",
        "/dev",
        "/dev/shm/x",
        "/sys/x",
        "/usr",
        "/usr/bin",
        "/usr/share/x",
        "/bin",
        "/lib/x",
        "/etc",
        "/etc/ssl",
        "/etc/metier",
        "/nix",
        "/nix/store",
        "/gnu",
        "/run/x",
        "/tmp",
        "/home",
        "/var",
    ];
    let paths = paths.map(Path::new);
    let own = [ground.work.path(), parent, ground.base.path(), &copy.join("scripts")];
    for path in paths.iter().chain(&own) {
        let error = ground.error(path);
        assert_eq!(error.code(), "sandbox-path-too-wide", "{}: {error}", path.display());
    }
    for path in ["", "relative", "../x", "/srv/../usr"] {
        assert_eq!(ground.error(Path::new(path)).code(), "sandbox-path", "{path}");
    }
    let other = PinnedPath::pin(ground.in_work("other")).unwrap();
    for (one, another) in [("/srv/x", "/srv/x"), ("/srv", "/srv/x"), ("/srv/x", "/srv/x/y")] {
        let mut profile = ground.profile(Path::new(one));
        profile.readable.push(other.clone().also_at(another));
        let error = common::local().run(&Job::new(profile, "true", Vec::new()), &mut ()).unwrap_err();
        let is_wide = matches!(error, SandboxError::TooWide { .. } | SandboxError::Path { .. });
        assert!(is_wide, "{one}, {another}: {error}");
    }
}

#[test]
fn a_file_can_be_shown_elsewhere_too() {
    let ground = Ground::new();
    let mut profile = common::profile(ground.work.path());
    let file = PinnedPath::pin(ground.copy().join("data")).unwrap();
    profile.readable.push(file.also_at("/metier-nowhere/a").also_at("/tmp/metier-nowhere/b"));
    let script = "cat /metier-nowhere/a /tmp/metier-nowhere/b; echo evil >/metier-nowhere/a";
    let outcome = common::sh(profile, script);
    assert_eq!(output(&outcome), "the copy\nthe copy\n", "{}", errors(&outcome));
    assert!(matches!(outcome.ending, Ending::Exited(1..)));
}

#[test]
fn without_namespaces_there_is_only_the_place_itself() {
    let ground = Ground::new();
    // Nobody's files are shown as another's here.
    fs::set_permissions(ground.work.path(), Permissions::from_mode(0o777)).unwrap();
    let mut profile = ground.profile(Path::new("/metier-nowhere/x"));
    profile.strictness = Strictness::Core;
    let script = r#"cat "$METIER_SKILL_DIR/data"; cat "$ALIAS/data""#;
    let job = Job::new(profile, "/bin/sh", vec!["-c".into(), script.into()]);
    let lacking = Lacking::new(libc::SYS_unshare, Only::Bit(0, libc::CLONE_NEWNS), libc::EPERM);
    let outcome = lacking.during(|| common::local().run(&job, &mut ())).unwrap();
    assert!(!outcome.protections.has(Protection::MountNamespace));
    assert_eq!((output(&outcome), outcome.ending), ("the copy\n".into(), Ending::Exited(1)));
}

#[test]
fn as_an_ordinary_user() {
    common::again_as_ordinary_user();
}
