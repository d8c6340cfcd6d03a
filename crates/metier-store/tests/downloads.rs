//! Downloads from servers on the loopback address: each kind of source, and each way in which a server can fail or lie.
//! Nothing is half installed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "downloads/server.rs"]
mod server;

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metier_skill::{Digest, Folder, Rules};
use metier_store::{
    ArchiveFormat, ChangeKind, DownloadCredential, FetchContext, GIT_HOST, InstallOptions, InstallRequest,
    Installation, SkillSelection, Store, StoreError, pack, parse_source,
};
use server::{Reply, Server};

/// A store, and what it may reach.
struct Ground {
    place: tempfile::TempDir,
    fetching: FetchContext<'static>,
}

impl Drop for Ground {
    /// What is installed cannot be written to, and would outlive this.
    fn drop(&mut self) {
        let opened = Command::new("chmod").args(["-R", "u+w"]).arg(self.place.path()).status();
        assert!(opened.unwrap().success());
    }
}

fn skill(version: &str) -> String {
    format!(
        "---\nname: pdf\ndescription: Use when testing.\nmetadata:\n  version: \"{version}\"\n---\nDo it.\n"
    )
}

impl Ground {
    fn new() -> Self {
        let mut fetching = FetchContext::new("git");
        fetching.network.silence = Duration::from_millis(300);
        fetching.network.patience = Duration::from_secs(2);
        fetching.network.bytes = 1 << 20;
        fetching.network.pause = |_| {};
        Self { place: tempfile::tempdir().unwrap(), fetching }
    }

    /// An archive of the skill, with its folder at the root.
    fn archive(&self, version: &str) -> Vec<u8> {
        let folder = self.place.path().join("made/pdf");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("SKILL.md"), skill(version)).unwrap();
        fs::write(folder.join("guide.md"), format!("The guide of {version}.\n")).unwrap();
        pack(&Folder::open(&folder).unwrap(), &Rules::standard(), ArchiveFormat::TarGz).unwrap().bytes
    }

    /// The same without the folder, as other tools write it.
    fn flat(&self, version: &str) -> Vec<u8> {
        self.archive(version);
        let path = self.place.path().join("flat.tar.gz");
        let mut tar = Command::new("tar");
        tar.arg("-czf").arg(&path).arg("-C").arg(self.place.path().join("made/pdf"));
        assert!(tar.args(["SKILL.md", "guide.md"]).status().unwrap().success());
        fs::read(path).unwrap()
    }

    fn store(&self) -> Store {
        Store::new(self.place.path().join("store"))
    }

    fn install_as(&self, text: &str, wanted: SkillSelection) -> Result<Installation, StoreError> {
        let source = parse_source(text, self.place.path(), GIT_HOST)?.source;
        self.store().install(
            &[InstallRequest { source, wanted }],
            &InstallOptions::new("now"),
            &self.fetching,
        )
    }

    fn install(&self, text: &str) -> Result<Installation, StoreError> {
        self.install_as(text, SkillSelection::Only)
    }

    /// It is refused for this reason, and nothing is left of it.
    #[track_caller]
    fn refuses(&self, text: &str, code: &str, reason: &str) {
        let error = self.install(text).unwrap_err();
        let told = error.to_string();
        assert!(error.code() == code && told.contains(reason), "{}: {told}", error.code());
        assert!(self.store().installed().unwrap().lock().skills().is_empty());
        let left = fs::read_dir(self.place.path().join("store/staging")).into_iter().flatten().count();
        assert_eq!(left, 0, "{told}");
        assert!(!self.place.path().join("store/current").exists());
    }
}

#[test]
fn an_archive_is_installed_locked_restored_and_updated() {
    let (ground, server) = (Ground::new(), Server::new());
    let url = server.body("/pdf.tar.gz", ground.archive("1.0.0"));
    let done = ground.install(&url).unwrap();
    assert_eq!(done.changes[0].kind, ChangeKind::Installed);
    assert!(
        done.notes.iter().any(|note| note.contains("was not verified: no digest was given")),
        "{:?}",
        done.notes
    );
    let lock = ground.store().installed().unwrap().lock().clone();
    // Elsewhere: the lock alone does not make a private address fine.
    let mut other = Ground::new();
    let working = Path::new("/");
    let restore = |other: &Ground| {
        other.store().install_locked(&lock, working, &InstallOptions::new("now"), &other.fetching)
    };
    let told = restore(&other).unwrap_err().to_string();
    assert!(told.contains("has the private address 127.0.0.1"), "{told}");
    other.fetching.network.private_hosts.push("127.0.0.1".to_owned());
    restore(&other).unwrap();
    assert_eq!(other.store().installed().unwrap().lock(), &lock);
    // A changed archive is not what is locked, and an update shows it.
    server.body("/pdf.tar.gz", ground.archive("2.0.0"));
    let mut third = Ground::new();
    third.fetching.network.private_hosts.push("127.0.0.1".to_owned());
    assert_eq!(restore(&third).unwrap_err().code(), "store-not-as-locked");
    let updated = ground.store().update(&[], working, &InstallOptions::new("now"), &ground.fetching).unwrap();
    assert_eq!(updated.changes[0].kind, ChangeKind::Changed);
    assert_eq!(updated.changes[0].files, ["~ SKILL.md", "~ guide.md"]);
}

#[test]
fn each_shape_of_download() {
    let (ground, server) = (Ground::new(), Server::new());
    let flat = ground.flat("1.0.0");
    for (path, body) in [("/some-other-name.tgz", flat), ("/x/SKILL.md", skill("1.0.0").into_bytes())] {
        let url = server.body(path, body.clone());
        let ground = Ground::new();
        ground.install(&format!("{url}#{}", Digest::of(&body))).unwrap();
        let installed = ground.store().installed().unwrap();
        assert_eq!(installed.lock().skills()[0].name, "pdf", "{path}");
        assert_eq!(installed.lock().skills()[0].path, None);
    }
    server.body("/nameless/SKILL.md", "# Nothing\n");
    Ground::new().refuses(&format!("{}/nameless/SKILL.md", server.base), "store-download", "no valid name");
    server.body("/text.zip", "not an archive");
    Ground::new().refuses(&format!("{}/text.zip", server.base), "archive-unknown-format", "");
}

#[test]
fn what_a_server_does_wrong_leaves_nothing() {
    let server = Server::new();
    let redirect = |to: &str| Reply::Status(302, vec![("Location", to.to_owned())]);
    let (timeout, busy) = ("the server did not answer in time", Reply::Status(500, Vec::new()));
    for (path, reply, reason) in [
        ("/silent.zip", Reply::Silent, timeout),
        ("/dripping.zip", Reply::Dripping, timeout),
        ("/cut.zip", Reply::Cut(vec![b'P'; 100]), "ended before the file was complete"),
        ("/broken.zip", busy, "the server answered 500"),
        (
            "/limited.zip",
            Reply::Status(429, vec![("Retry-After", "0".to_owned())]),
            "the server answered 429",
        ),
        ("/missing.zip", Reply::Status(404, Vec::new()), "the server answered 404"),
        ("/endless.zip", Reply::Endless, "it is larger than 1048576 bytes"),
        ("/plain.zip", redirect("http://example.org/x.zip"), "leads to plain HTTP at `example.org`"),
        ("/file.zip", redirect("file:///etc/passwd"), "invalid address"),
        ("/data.zip", redirect("gopher://example.org/"), "scheme `gopher:`"),
        ("/key.zip", redirect("https://me:key@example.org/"), "invalid address"),
        ("/loop.zip", redirect("/loop.zip"), "redirects more than 5 times"),
        ("/private.zip", redirect("http://127.0.0.2:1/x.zip"), "has the private address 127.0.0.2"),
        ("/cloud.zip", redirect("https://169.254.169.254/latest"), "has the private address 169.254.169.254"),
    ] {
        let url = server.put(path, reply);
        Ground::new().refuses(&url, "store-download", reason);
    }
    let count = |path: &str| server.asked().iter().filter(|asked| *asked == path).count();
    assert_eq!((count("/broken.zip"), count("/limited.zip"), count("/missing.zip")), (3, 3, 1));
    let ground = Ground::new();
    let url = server.body("/pdf.tar.gz", ground.archive("1.0.0"));
    let other = Digest::of(b"other");
    ground.refuses(&format!("{url}#{other}"), "store-wrong-digest", &format!("not {other}"));
}

#[test]
fn a_busy_server_is_asked_again() {
    let (ground, server) = (Ground::new(), Server::new());
    let busy = Reply::Status(429, vec![("Retry-After", "1".to_owned())]);
    let broken = Reply::Status(503, Vec::new());
    let replies = vec![busy, broken, Reply::Body(ground.archive("1.0.0"))];
    ground.install(&server.put("/pdf.tar.gz", Reply::Then(replies))).unwrap();
    // Not if that takes longer than there is.
    let late = Reply::Status(429, vec![("Retry-After", "60".to_owned())]);
    Ground::new().refuses(&server.put("/late.zip", late), "store-download", "answered 429");
    assert_eq!(server.asked().iter().filter(|asked| *asked == "/late.zip").count(), 1);
}

#[test]
fn credentials_stay_with_their_origin() {
    let (mut ground, server, other) = (Ground::new(), Server::new(), Server::at("127.0.0.2"));
    ground.fetching.network.credentials = vec![DownloadCredential::new(&server.base, "Bearer key")];
    ground.fetching.network.private_hosts.push("127.0.0.2".to_owned());
    let there = other.body("/pdf.tar.gz", ground.archive("1.0.0"));
    let url = server.put("/pdf.tar.gz", Reply::Status(307, vec![("Location", there)]));
    ground.install(&url).unwrap();
    assert_eq!(server.asked(), ["/pdf.tar.gz Bearer key"]);
    assert_eq!(other.asked(), ["/pdf.tar.gz"]);
}

/// A name that means another address a moment later.
#[test]
fn the_address_that_was_checked_is_the_one_that_is_used() {
    let (mut ground, server) = (Ground::new(), Server::new());
    server.body("/pdf.tar.gz", ground.archive("1.0.0"));
    let address: SocketAddr = server.base["http://".len()..].parse().unwrap();
    let lookups = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&lookups);
    ground.fetching.network.lookup = Arc::new(move |_, _| {
        let first = seen.fetch_add(1, Ordering::Relaxed) == 0;
        Ok(vec![if first { address } else { "10.0.0.1:80".parse().unwrap() }])
    });
    ground.install("http://localhost/pdf.tar.gz").unwrap();
    assert_eq!(lookups.load(Ordering::Relaxed), 1, "looked up once, and that was checked");

    let mut ground = Ground::new();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    ground.fetching.network.lookup = Arc::new(move |host, _| {
        seen.lock().unwrap().push(host.to_owned());
        Ok(vec!["1.1.1.1:443".parse().unwrap(), "10.0.0.1:443".parse().unwrap()])
    });
    ground.refuses(
        "https://rebound.test/x.zip",
        "store-download",
        "`rebound.test` has the private address 10.0.0.1",
    );
    assert_eq!(*asked.lock().unwrap(), ["rebound.test"]);
}

const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

fn index(entries: &str) -> String {
    format!("\u{feff}{{\"$schema\": \"{SCHEMA}\", \"extra\": 1, \"skills\": [{entries}]}}")
}

fn entry(name: &str, kind: &str, url: &str, digest: &Digest) -> String {
    format!(
        "{{\"name\":\"{name}\",\"type\":\"{kind}\",\"description\":\"x\",\"url\":\"{url}\",\"digest\":\"{digest}\",\"x\":0}}"
    )
}

#[test]
fn the_skills_of_a_site() {
    let (ground, server) = (Ground::new(), Server::new());
    let (text, flat) = (skill("1.0.0").replace("name: pdf", "name: ocr"), ground.flat("1.0.0"));
    server.body("/.well-known/agent-skills/ocr/SKILL.md", text.clone());
    let archive = server.body("/files/pdf.tar.gz", flat.clone());
    let entries = [
        entry("ocr", "skill-md", "ocr/SKILL.md", &Digest::of(text.as_bytes())),
        entry("pdf", "archive", &archive, &Digest::of(&flat)),
        entry("bad", "skill", "bad/SKILL.md", &Digest::of(b"x")),
    ];
    server.body("/.well-known/agent-skills/index.json", index(&entries.join(",")));
    let site = format!("{}/.well-known/agent-skills", server.base);
    let told = ground.install(&site).unwrap_err().to_string();
    assert!(told.contains("has 2 skills: `ocr`, `pdf`"), "{told}");
    let named = |name: &str| SkillSelection::Named(vec![name.to_owned()]);
    let told = ground.install_as(&site, named("bad")).unwrap_err().to_string();
    assert!(told.contains("`bad` has the unknown type `skill`"), "{told}");
    let told = ground.install_as(&site, named("zip")).unwrap_err().to_string();
    assert!(told.contains("has no skill `zip`; it has `bad`, `ocr`, `pdf`"), "{told}");
    let done = ground.install_as(&site, SkillSelection::All).unwrap();
    assert_eq!(done.changes.len(), 2);
    assert_eq!(
        done.notes,
        ["skipped `bad`: it has the unknown type `skill`; supported: `skill-md`, `archive`"]
    );
    let lock = ground.store().installed().unwrap().lock().clone();
    assert_eq!(
        (lock.skills()[1].source.as_str(), lock.skills()[1].path.as_deref()),
        (site.as_str(), Some("pdf"))
    );
    let mut other = Ground::new();
    other.fetching.network.private_hosts.push("127.0.0.1".to_owned());
    other
        .store()
        .install_locked(&lock, Path::new("/"), &InstallOptions::new("now"), &other.fetching)
        .unwrap();
    assert_eq!(other.store().installed().unwrap().lock(), &lock);
    // What the index says about it has to hold.
    server.body("/files/pdf.tar.gz", ground.flat("2.0.0"));
    let error = ground.store().update(
        &["pdf".to_owned()],
        Path::new("/"),
        &InstallOptions::new("now"),
        &ground.fetching,
    );
    assert_eq!(error.unwrap_err().code(), "store-wrong-digest");
    assert_eq!(ground.store().installed().unwrap().lock(), &lock);
}

#[test]
fn an_old_index_has_no_digests() {
    let (ground, server) = (Ground::new(), Server::new());
    server.body(
        "/.well-known/skills/index.json",
        "{\"skills\":[{\"name\":\"pdf\",\"files\":[\"SKILL.md\",\"a b/x.md\"]}]}",
    );
    server.body("/.well-known/skills/pdf/SKILL.md", skill("1.0.0"));
    server.body("/.well-known/skills/pdf/a%20b/x.md", "x");
    // Below a path there is none, so the root's is used.
    let done = ground.install(&format!("{}/docs/.well-known/agent-skills", server.base)).unwrap();
    assert!(
        done.notes.iter().any(|note| note.contains("has no digests, so its skills were not verified")),
        "{:?}",
        done.notes
    );
    let installed = ground.store().installed().unwrap();
    assert_eq!(installed.lock().skills()[0].files.len(), 2);
}

#[test]
fn indexes_that_are_not_used() {
    let server = Server::new();
    let at = |body: &str| server.body("/.well-known/agent-skills/index.json", body.as_bytes());
    for (body, reason) in [
        ("[]", "not a JSON object"),
        ("{", "not valid JSON"),
        (
            "{\"$schema\":\"https://example.org/mine\",\"skills\":[]}",
            "is unknown; supported: https://schemas",
        ),
        ("{}", "no list `skills`"),
    ] {
        at(body);
        Ground::new().refuses(&server.base, "store-download", reason);
    }
    at(&index(&entry("pdf", "skill-md", "http://example.org/SKILL.md", &Digest::of(b"x"))));
    Ground::new().refuses(&server.base, "store-download", "leads to plain HTTP at `example.org`");
    at(&index(&entry("pdf", "archive", "file:///etc/passwd", &Digest::of(b"x"))));
    Ground::new().refuses(&server.base, "store-download", "`pdf` has an invalid URL");
    let twice = entry("pdf", "skill-md", "a", &Digest::of(b"x"));
    at(&index(&format!("{twice},{twice}")));
    Ground::new().refuses(&server.base, "store-download", "two skills have the name `pdf`");
    at("{\"skills\":[{\"name\":\"pdf\",\"files\":[\"SKILL.md\",\"../x\"]}]}");
    Ground::new().refuses(
        &format!("{}/.well-known/agent-skills/pdf", server.base),
        "store-download",
        "lists an invalid path",
    );
}
