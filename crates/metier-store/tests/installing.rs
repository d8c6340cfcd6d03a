//! Installing through the library: locks written and read again, text that means nothing, what a sweep keeps.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use metier_skill::{Digest, Folder, Manifest, ManifestFile, Rules, Tier};
use metier_store::{
    ArchiveFormat, ArchiveSource, DirectorySource, FetchContext, GIT_HOST, InstallOptions, InstallRequest,
    LockedSkill, Lockfile, SkillSelection, SkillSource, Store, StoreError, SweepReport, TrustFile, pack,
    parse_source,
};
use proptest::prelude::*;
use serde_json::json;

fn locked_skill() -> impl Strategy<Value = LockedSkill> {
    let tier = prop::sample::select(vec![Tier::Org, Tier::User, Tier::ThirdParty]);
    // No part begins like `con`, `prn` and the other names that no skill's file can have.
    let file = (
        "[d-kq-zé][a-z0-9 '=\\[\\]#]{0,8}[a-z](/[D-KQ-Z][a-z.-]{0,6}z){0,3}",
        any::<bool>(),
        any::<[u8; 4]>(),
    );
    let text = || prop::option::of(any::<String>());
    let source = prop_oneof![
        (any::<String>(), Just(None)),
        ("https://[a-z]{1,9}/[ -~é]{0,9}", "[0-9a-f]{40}".prop_map(Some)),
    ];
    let parts = ("[a-z]{1,5}(-[a-z0-9]{1,5}){0,2}", tier, text(), text(), text(), source);
    let more = (
        prop::collection::vec(any::<String>(), 0..3),
        prop::collection::btree_map(file.0, (file.1, file.2), 0..5),
    );
    (parts, more).prop_map(|((name, tier, version, path, signer, (source, commit)), (requires, files))| {
        let files: Vec<_> = files
            .iter()
            .map(|(path, (executable, bytes))| ManifestFile::new(path, *executable, Digest::of(bytes)))
            .collect();
        let line = |file: &ManifestFile| {
            format!(
                "{} {} {}",
                file.digest.hex(),
                if file.executable { 'x' } else { '-' },
                file.path.display()
            )
        };
        let manifest = Manifest::new(files);
        let lines: Vec<String> = manifest.files().iter().map(line).collect();
        let value = json!({
            "name": name, "tier": tier, "version": version, "path": path, "signer": signer, "source": source,
            "commit": commit, "requires": requires, "digest": manifest.digest(), "files": lines,
        });
        serde_json::from_value(value).unwrap()
    })
}

fn parse_all(text: &str) {
    // Whatever comes of it.
    let _ = Lockfile::parse(text, Path::new("metier.lock"));
    let _ = TrustFile::parse(text);
    let _ = parse_source(text, Path::new("/nowhere"), GIT_HOST);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_lock_is_read_as_it_was_written(skills in prop::collection::vec(locked_skill(), 0..5)) {
        let by_name: BTreeMap<String, LockedSkill> = skills.into_iter().map(|skill| (skill.name.clone(), skill)).collect();
        let lock = Lockfile::new(by_name.into_values().rev().collect());
        let text = lock.text().unwrap();
        let read = Lockfile::parse(&text, Path::new("metier.lock")).unwrap();
        prop_assert_eq!(&read, &lock);
        prop_assert_eq!(read.text().unwrap(), text);
    }

    #[test]
    fn a_lock_with_something_else_in_it_is_read_or_refused(skill in locked_skill(), at in any::<prop::sample::Index>(), other in any::<char>()) {
        let mut text: Vec<char> = Lockfile::new(vec![skill]).text().unwrap().chars().collect();
        let at = at.index(text.len());
        text[at] = other;
        let text: String = text.into_iter().collect();
        parse_all(&text);
        parse_all(text.get(at..).unwrap_or_default());
    }

    #[test]
    fn text_that_means_nothing_is_refused_and_no_more(text in any::<String>()) {
        parse_all(&text);
    }

    #[test]
    fn addresses_that_nearly_mean_something(text in "(file://|https://|git\\+|x@y:|[a-z]/|ext::|-|\\.\\./|~)?[a-z0-9/:@.-]{0,9}(//[a-z./-]{0,6})?(#[a-z./^~:-]{0,6})?") {
        parse_all(&text);
    }
}

/// A store and a skill to install.
struct Ground(tempfile::TempDir);

impl Drop for Ground {
    /// What is installed cannot be written to, and would outlive this.
    fn drop(&mut self) {
        let opened = Command::new("chmod").args(["-R", "u+w"]).arg(self.0.path()).status();
        assert!(opened.unwrap().success());
    }
}

impl Ground {
    fn new() -> Self {
        let ground = Self(tempfile::tempdir().unwrap());
        ground.write("1.0.0");
        ground
    }

    fn write(&self, version: &str) {
        let skill = self.0.path().join("pdf");
        fs::create_dir_all(&skill).unwrap();
        let head = format!(
            "---\nname: pdf\ndescription: Use when testing.\nmetadata:\n  version: \"{version}\"\n---\nDo it.\n"
        );
        fs::write(skill.join("SKILL.md"), head).unwrap();
        fs::write(skill.join("same.md"), "The same in all.\n").unwrap();
        fs::write(skill.join("other.md"), format!("Of {version}.\n")).unwrap();
    }

    fn store(&self) -> Store {
        Store::new(self.0.path().join("store"))
    }

    fn install(&self) -> Digest {
        let source = Box::new(DirectorySource::new(self.0.path().join("pdf")));
        let request = InstallRequest { source, wanted: SkillSelection::Only };
        self.store().install(&[request], &InstallOptions::new("now"), &FetchContext::new("git")).unwrap();
        self.digest()
    }

    /// What the clock says that stamps files.
    fn moment(&self) -> SystemTime {
        let path = self.0.path().join("moment");
        fs::write(&path, "x").unwrap();
        fs::metadata(path).unwrap().modified().unwrap()
    }

    fn install_another(&self) {
        let skill = self.0.path().join("md");
        fs::create_dir_all(&skill).unwrap();
        fs::write(skill.join("SKILL.md"), "---\nname: md\ndescription: Use when testing.\n---\nDo it.\n")
            .unwrap();
        let request =
            InstallRequest { source: Box::new(DirectorySource::new(skill)), wanted: SkillSelection::Only };
        self.store().install(&[request], &InstallOptions::new("now"), &FetchContext::new("git")).unwrap();
    }

    fn update(&self, options: &InstallOptions) -> Result<Digest, StoreError> {
        self.store().update(&[], self.0.path(), options, &FetchContext::new("git"))?;
        Ok(self.digest())
    }

    fn digest(&self) -> Digest {
        self.store().installed().unwrap().get("pdf").unwrap().digest
    }

    fn sweep(&self, kept: &[Digest], now: SystemTime, dry_run: bool) -> SweepReport {
        let kept: HashSet<Digest> = kept.iter().copied().collect();
        self.store().sweep(&kept, now, dry_run, Duration::ZERO).unwrap()
    }

    fn has(&self, digest: &Digest) -> bool {
        let Ok(manifest) = self.store().manifest(digest) else { return false };
        manifest.files().iter().all(|file| self.store().read(&file.digest).is_ok())
    }
}

#[test]
fn installing_reports_rules_for_tools_that_never_match() {
    let ground = Ground::new();
    let skill = ground.0.path().join("pdf");
    let text = "---\nname: pdf\ndescription: Use when testing.\nallowed-tools: bash Read\n---\nDo it.\n";
    fs::write(skill.join("SKILL.md"), text).unwrap();
    let request =
        InstallRequest { source: Box::new(DirectorySource::new(skill)), wanted: SkillSelection::Only };
    let context = FetchContext::new("git");
    let installation = ground.store().install(&[request], &InstallOptions::new("now"), &context).unwrap();
    assert_eq!(installation.notes, ["`pdf`: tool rule `bash`: unknown tool `bash`; did you mean `Bash`?"]);
}

#[test]
fn a_sweep_keeps_what_is_installed_what_is_referred_to_and_what_is_young() {
    let ground = Ground::new();
    let first = ground.install();
    ground.write("2.0.0");
    let second = ground.update(&InstallOptions::new("now")).unwrap();
    // The state before is kept for whoever reads it; this is what it is no longer.
    ground.install_another();
    let made = fs::metadata(ground.store().root()).unwrap().modified().unwrap();
    let (soon, later) = (made + Duration::from_mins(59), made + Duration::from_hours(2));
    let tree = ground.store().root().join("trees").join(first.hex());
    let count = |swept: SweepReport| (swept.trees, swept.objects);
    assert_eq!(count(ground.sweep(&[], soon, false)), (0, 0));
    // The tree can be made again from what is kept; the files and what they make up are.
    assert_eq!(count(ground.sweep(&[first], later, true)), (1, 0));
    assert!(tree.exists(), "it was only said");
    assert_eq!(count(ground.sweep(&[first], later, false)), (1, 0));
    assert!(!tree.exists() && ground.has(&first) && ground.has(&second));
    let would = ground.sweep(&[], later, true);
    assert_eq!(count(would), (0, 3), "a manifest and two files; the third is in both");
    assert_eq!(ground.sweep(&[], later, false), would);
    assert!(!ground.has(&first) && ground.has(&second));
    assert!(ground.store().verify_installed(&[]).unwrap().iter().all(metier_store::VerifiedSkill::is_fine));
    // What was never heard of is no reason to fail.
    ground.sweep(&[Digest::of(b"nothing")], later, false);
}

#[test]
fn a_sweep_removes_what_its_dry_run_says() {
    let ground = Ground::new();
    ground.install();
    ground.write("2.0.0");
    ground.update(&InstallOptions::new("now")).unwrap();
    ground.install_another();
    // Just over an hour after everything was made. What is renewed from now on is younger.
    let made = ground.moment();
    let now = made + Duration::from_hours(1) + Duration::from_nanos(1);
    while ground.moment() == made {}
    let would = ground.sweep(&[], now, true);
    assert_eq!((would.trees, would.objects), (1, 3), "a manifest and two files; the third is in both");
    let text = fs::metadata(ground.0.path().join("pdf/SKILL.md")).unwrap().len();
    assert!(would.bytes > text, "what only the tree that goes has as well is free: {} bytes", would.bytes);
    assert_eq!(ground.sweep(&[], now, false), would);
    assert_eq!(
        ground.sweep(&[], now + Duration::from_hours(2), true),
        SweepReport::default(),
        "nothing is left"
    );
}

#[test]
fn a_sweep_removes_nothing_that_is_not_the_stores() {
    let ground = Ground::new();
    ground.install();
    let (objects, outside) = (ground.store().root().join("objects"), ground.0.path().join("outside"));
    let digest = Digest::of(b"nobody's").hex();
    let (first, rest) = digest.split_at(2);
    fs::create_dir_all(outside.join("x")).unwrap();
    fs::create_dir_all(objects.join("notes")).unwrap();
    fs::create_dir_all(objects.join("00")).unwrap();
    let _ = fs::rename(objects.join(first), objects.join("aside"));
    std::os::unix::fs::symlink(&outside, objects.join(first)).unwrap();
    let foreign = [outside.join(rest), objects.join("notes/README"), objects.join("00/README")];
    let own = [objects.join("00").join(rest), objects.join("00/.tmpAbCdEf")];
    for path in foreign.iter().chain(&own) {
        fs::write(path, "whose?").unwrap();
    }
    let tree = ground.store().root().join("trees/notes");
    fs::create_dir(&tree).unwrap();
    let later = fs::metadata(ground.store().root()).unwrap().modified().unwrap() + Duration::from_hours(2);
    let would = ground.sweep(&[], later, true);
    assert_eq!(ground.sweep(&[], later, false), would);
    assert!(foreign.iter().all(|path| path.exists()) && tree.exists());
    assert!(own.iter().all(|path| !path.exists()));
    assert_eq!((would.trees, would.objects, would.bytes), (0, 2, 12));
}

#[test]
fn nothing_is_installed_but_what_was_agreed_to() {
    let ground = Ground::new();
    let first = ground.install();
    ground.write("2.0.0");
    let mut options = InstallOptions::new("now");
    options.agreed = Some(vec![ground.store().installed().unwrap().get("pdf").unwrap().clone()]);
    assert_eq!(ground.update(&options).unwrap_err().code(), "store-not-as-shown");
    assert_eq!(ground.digest(), first);
    options.agreed = None;
    options.dry_run = true;
    let planned = ground.store().update(&[], ground.0.path(), &options, &FetchContext::new("git")).unwrap();
    let shown = planned.changes[0].after.clone().unwrap();
    options.agreed = Some(vec![shown.clone()]);
    options.dry_run = false;
    assert_eq!(ground.update(&options).unwrap(), shown.digest);
}

/// What lies where a signature would, and the code of the error that this is.
fn damaged(path: &Path, how: &str) -> &'static str {
    let _ = fs::remove_file(path);
    match how {
        "pipe" => {
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
            return "store-io";
        }
        "bytes" => fs::write(path, [0xff; 100]).unwrap(),
        // Whoever reads only so much of it finds half of a letter at the end.
        _ => fs::write(path, format!("x{}", "é".repeat(20_000))).unwrap(),
    }
    "signature-unreadable"
}

#[test]
fn a_signature_that_cannot_be_read_stops_everything() {
    let ground = Ground::new();
    let (above, skill) = (ground.0.path(), ground.0.path().join("pdf"));
    let packed = pack(&Folder::open(&skill).unwrap(), &Rules::standard(), ArchiveFormat::Zip).unwrap().bytes;
    fs::write(above.join("pdf.skill"), packed).unwrap();
    let install = |source: Box<dyn SkillSource>| {
        let request = InstallRequest { source, wanted: SkillSelection::All };
        let outcome =
            ground.store().install(&[request], &InstallOptions::new("now"), &FetchContext::new("git"));
        outcome.map_or_else(|error| error.code(), |_| "fine")
    };
    for how in ["pipe", "bytes", "long"] {
        let code = damaged(&above.join("pdf.sig"), how);
        assert_eq!(install(Box::new(DirectorySource::new(&skill))), code, "{how}");
        assert_eq!(install(Box::new(DirectorySource::new(above))), code, "{how}: below");
        let code = damaged(&above.join("pdf.skill.sig"), how);
        assert_eq!(install(Box::new(ArchiveSource::new(above.join("pdf.skill")))), code, "{how}: archive");
    }
    assert!(ground.store().installed().unwrap().get("pdf").is_none());
    fs::remove_file(above.join("pdf.skill.sig")).unwrap();
    assert_eq!(install(Box::new(ArchiveSource::new(above.join("pdf.skill")))), "fine");
}

/// A server that says nothing, and a repository that never ends: git is not waited for, and nothing of it goes on.
#[test]
fn git_has_so_much_time_and_so_much_room() {
    let place = tempfile::tempdir().unwrap();
    let store = Store::new(place.path().join("store"));
    let install = |source: &str, fetching: &FetchContext<'_>| {
        let source = parse_source(source, place.path(), GIT_HOST).unwrap().source;
        let request = InstallRequest { source, wanted: SkillSelection::All };
        store
            .install(&[request], &InstallOptions::new("2026-01-01T00:00:00Z"), fetching)
            .unwrap_err()
            .to_string()
    };
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut fetching = FetchContext::new("git");
    fetching.patience = Duration::from_millis(300);
    let told = install(&format!("git://{}/x", silent.local_addr().unwrap()), &fetching);
    assert!(told.contains("it took longer than"), "{told}");
    let (mut stream, _) = silent.accept().unwrap();
    std::io::copy(&mut stream, &mut std::io::sink()).unwrap();

    let repository = place.path().join("repository");
    fs::create_dir_all(repository.join("pdf")).unwrap();
    fs::write(repository.join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads.\n---\n").unwrap();
    let noise: Vec<u8> =
        (0_u32..200_000).flat_map(|at| Digest::of(&at.to_le_bytes()).as_bytes()[..8].to_vec()).collect();
    fs::write(repository.join("large"), noise).unwrap();
    for args in [
        &["init", "--quiet"][..],
        &["add", "--all"],
        &["-c", "user.name=x", "-c", "user.email=x", "commit", "--quiet", "-m", "x"],
    ] {
        assert!(Command::new("git").args(args).current_dir(&repository).status().unwrap().success());
    }
    let mut fetching = FetchContext::new("git");
    fetching.limits.archive_bytes = 1 << 20;
    let told = install(&format!("file://{}", repository.display()), &fetching);
    assert!(told.contains("the repository is larger than 1048576 bytes"), "{told}");
    assert_eq!(store.installed().unwrap().lock().skills().len(), 0);
}
