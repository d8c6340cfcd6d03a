//! Skills from git repositories: over each way there is, at each kind of reference; and repositories that mean harm.

use std::fs;
use std::os::unix::fs::symlink;

use crate::store_server::{Kind, Repository, serve};
use crate::store_support::set_mode;
use crate::support::Place;

/// A repository with two versions of two skills: the first commit, which has tags, and the second.
fn repository(place: &Place) -> (Repository, [String; 2]) {
    let repository = Repository::new(place.path().join("host/acme/skills"));
    place.versioned("host/acme/skills/tools/pdf", "1.0.0");
    place.versioned("host/acme/skills/tools/ocr", "1.0.0");
    place.write("host/acme/skills/README.md", "Skills.\n");
    let first = repository.commit("one");
    repository.git(&["tag", "light"]);
    repository.git(&["tag", "-a", "-m", "one", "v1"]);
    repository.git(&["branch", "old"]);
    place.versioned("host/acme/skills/tools/pdf", "2.0.0");
    let second = repository.commit("two");
    (repository, [first, second])
}

/// Where the repository is, for each way.
fn addresses(place: &Place, repository: &Repository) -> [String; 3] {
    let host = place.path().join("host");
    let file = repository.url();
    let dumb = format!("{}/acme/skills/.git", serve(&host, Kind::Files));
    [file, dumb, format!("{}/acme/skills/.git", serve(&host, Kind::Backend))]
}

#[test]
fn each_way_and_each_reference() {
    let place = Place::new();
    let (repository, [first, second]) = repository(&place);
    for url in addresses(&place, &repository) {
        for (reference, commit, version) in [
            (None, &second, "2.0.0"),
            (Some("main"), &second, "2.0.0"),
            (Some("old"), &first, "1.0.0"),
            (Some("light"), &first, "1.0.0"),
            (Some("v1"), &first, "1.0.0"),
            (Some(first.as_str()), &first, "1.0.0"),
        ] {
            let mark = reference.map_or_else(String::new, |reference| format!("#{reference}"));
            let source = format!("{url}//tools{mark}");
            place.done(&["install", &source, "--skill", "pdf"]);
            let locked = place.locked("pdf");
            assert_eq!((&locked["commit"], &locked["version"]), (&commit.as_str().into(), &version.into()));
            assert_eq!(locked["path"], "tools/pdf");
            let full = match reference {
                None | Some("main") => "refs/heads/main",
                Some("old") => "refs/heads/old",
                Some("light") => "refs/tags/light",
                Some("v1") => "refs/tags/v1",
                Some(id) => id,
            };
            assert_eq!(locked["reference"], full, "{source}");
            place.done(&["verify"]);
            // The lock alone finds it again.
            place.done(&["lock", "-o", "metier.lock"]);
            place.done(&["remove", "pdf"]);
            place.done(&["install", "--locked"]);
            assert_eq!(place.locked("pdf"), locked, "{source}");
            place.done(&["remove", "pdf"]);
        }
        place.ends(5, &["install", &format!("{url}#nowhere"), "--all"]);
        place.ends(5, &["install", &format!("{url}#{}", "1".repeat(40)), "--all"]);
        place.done(&["install", &url, "--all"]);
        place.done(&["remove", "pdf", "ocr"]);
    }
}

#[test]
fn a_commit_that_no_reference_is_at_from_a_server_that_refuses_ids() {
    let place = Place::new();
    let (repository, [first, _]) = repository(&place);
    for name in ["refs/heads/old", "refs/tags/v1", "refs/tags/light"] {
        repository.git(&["update-ref", "-d", name]);
    }
    repository.git(&["update-server-info"]);
    for url in addresses(&place, &repository) {
        place.done(&["install", &format!("{url}//tools/pdf#{first}")]);
        assert_eq!(place.locked("pdf")["version"], "1.0.0", "{url}");
        place.done(&["remove", "pdf"]);
    }
}

#[test]
fn owner_and_repository_at_the_host_of_the_settings() {
    let place = Place::new();
    let (_, [_, second]) = repository(&place);
    let host = format!("git_host = \"file://{}\"\n", place.path().join("host").display());
    place.write("me/.config/metier/config.toml", host);
    place.done(&["install", "acme/skills//tools/pdf"]);
    assert_eq!(place.locked("pdf")["commit"], second);
    assert!(place.locked("pdf")["source"].as_str().unwrap().ends_with("/host/acme/skills"));
    place.done(&["install", "acme/skills#v1", "--skill", "ocr"]);
}

#[test]
fn a_branch_moves_on_and_a_tag_should_not() {
    let place = Place::new();
    let (repository, [first, second]) = repository(&place);
    let url = repository.url();
    place.done(&["install", &format!("{url}//tools/pdf#old"), &format!("{url}//tools/ocr#v1")]);
    place.done(&["lock", "-o", "metier.lock"]);
    place.done(&["remove", "pdf", "ocr"]);
    // A branch that moved is no reason not to install what is locked.
    repository.git(&["branch", "--force", "old", "main"]);
    place.done(&["install", "--locked"]);
    assert_eq!(place.locked("pdf")["commit"], first);
    let told = place.done(&["update", "--dry-run"]);
    assert!(told.contains("changed   pdf") && told.contains("~ references/guide.md"), "{told}");
    place.done(&["update", "pdf", "--yes"]);
    assert_eq!(
        (&place.locked("pdf")["commit"], &place.locked("pdf")["reference"]),
        (&second.into(), &"refs/heads/old".into())
    );
    // A tag that moved is.
    place.versioned("host/acme/skills/tools/ocr", "1.0.1");
    let third = repository.commit("three");
    repository.git(&["tag", "--force", "-a", "-m", "again", "v1"]);
    let told = place.ends(3, &["install", "--locked"]);
    assert!(told.contains(&format!("the tag `v1` of `{url}` was moved from {first} to {third}")), "{told}");
    let told = place.ends(3, &["update", "ocr", "--dry-run"]);
    assert!(told.contains("was moved"), "{told}");
    // Neither does it get in by another way, but for whoever says so.
    let source = format!("{url}//tools/ocr#v1");
    place.ends(2, &["install", &source]);
    let told = place.ends(3, &["install", &source, "--replace"]);
    assert!(told.contains("`--allow-moved-tag`"), "{told}");
    place.done(&["update", "ocr", "--yes", "--allow-moved-tag"]);
    assert_eq!(place.locked("ocr")["commit"], third);
}

/// Where a reference with slashes ends, only the repository knows.
#[test]
fn an_address_from_the_browser() {
    let place = Place::new();
    let (repository, [first, _]) = repository(&place);
    let url = format!("{}/acme/skills.git", serve(&place.path().join("host"), Kind::Backend));
    std::os::unix::fs::symlink("skills/.git", place.path().join("host/acme/skills.git")).unwrap();
    repository.git(&["branch", "feature/x", &first]);
    let tree = |tree: &str| format!("{url}/-/tree/{tree}");
    for (text, reference, path) in [
        (tree("main/tools/pdf/SKILL.md"), "refs/heads/main", "tools/pdf"),
        (tree("feature/x/tools/pdf"), "refs/heads/feature/x", "tools/pdf"),
        (tree(&format!("{first}/tools/pdf")), first.as_str(), "tools/pdf"),
        (format!("{}@pdf", tree("v1#")), "refs/tags/v1", "tools/pdf"),
        (format!("{url}#old@pdf"), "refs/heads/old", "tools/pdf"),
    ] {
        place.done(&["install", &text]);
        let locked = place.locked("pdf");
        assert_eq!((&locked["reference"], &locked["path"]), (&reference.into(), &path.into()), "{text}");
        place.done(&["remove", "pdf"]);
    }
    let told = place.ends(5, &["install", &tree("nowhere/tools")]);
    assert!(told.contains("no branch or tag that `nowhere/tools` begins with"), "{told}");
    repository.git(&["tag", "feature", &first]);
    let told = place.ends(2, &["install", &tree("feature/x/tools/pdf")]);
    assert!(told.contains("//x/tools/pdf#feature`") && told.contains("//tools/pdf#feature/x`"), "{told}");
}

#[test]
fn a_path_like_a_repository_is_refused_with_both_readings() {
    let place = Place::new();
    place.versioned("acme/skills", "1.0.0");
    let told = place.ends(2, &["install", "acme/skills"]);
    let readings =
        "write `./acme/skills` for the path, or `https://github.com/acme/skills` for the repository";
    assert!(told.contains(readings), "{told}");
    place.done(&["install", "./acme/skills"]);
    place.versioned("one@two", "1.0.0");
    let told = place.ends(2, &["install", "one@two"]);
    assert!(told.contains("`./one@two` for the path, or `one@two` for the plugin"), "{told}");
    let told = place.ends(2, &["install", "acme/skills/tools@pdf", "--all"]);
    assert!(told.contains("names one skill, and `--all` asks for every one"), "{told}");
}

/// Names can be taken by others: a tag's by a branch, a commit's by a tag, a branch's by a tag.
#[test]
fn a_name_does_not_come_to_mean_something_else() {
    let place = Place::new();
    let (repository, [first, second]) = repository(&place);
    let url = repository.url();
    place.done(&["install", &format!("{url}//tools/pdf#v1"), &format!("{url}//tools/ocr")]);
    repository.git(&["tag", "-d", "v1"]);
    repository.git(&["branch", "v1", "main"]);
    let told = place.ends(5, &["update", "pdf", "--yes"]);
    assert!(told.contains("has no branch or tag `refs/tags/v1`"), "{told}");
    assert_eq!(place.locked("pdf")["commit"], first);
    repository.git(&["tag", "main", &first]);
    place.done(&["update", "ocr", "--yes"]);
    assert_eq!(place.locked("ocr")["commit"], second);
    place.done(&["remove", "pdf", "ocr"]);
    for kind in ["tags", "heads"] {
        repository.git(&["update-ref", &format!("refs/{kind}/{first}"), &second]);
    }
    place.done(&["install", &format!("{url}//tools/pdf#{first}")]);
    assert_eq!(
        (&place.locked("pdf")["commit"], &place.locked("pdf")["version"]),
        (&first.into(), &"1.0.0".into())
    );
}

/// What is wrong with a skill that nobody asked for is no matter.
#[test]
fn only_what_is_wanted_has_to_be_right() {
    let place = Place::new();
    let (repository, _) = repository(&place);
    place.write("host/acme/skills/tools/ocr/what?.md", "No name for Windows.\n");
    place.write("host/acme/skills/tools/ocr/large", "x".repeat(11 << 20));
    repository.commit("sloppy");
    for source in [repository.url(), "./host/acme/skills".to_owned()] {
        place.done(&["install", &source, "--skill", "pdf"]);
        place.done(&["remove", "pdf"]);
        place.ends(1, &["install", &source, "--skill", "ocr"]);
        let told = place.ends(4, &["install", &source, "--skill", "pdff"]);
        assert!(told.contains("has no skill `pdff`; it has `ocr`, `pdf`"), "{told}");
    }
}

/// Skills below a skill are found again where they were.
#[test]
fn skills_in_a_repository_that_is_one_itself() {
    let place = Place::new();
    let repository = Repository::new(place.path().join("host/whole"));
    place.versioned("host/whole", "1.0.0");
    for name in ["aa", "bb"] {
        place.versioned(&format!("host/whole/sub/{name}"), "1.0.0");
    }
    repository.commit("one");
    let url = repository.url();
    place.done(&["install", &format!("{url}//sub/aa"), &format!("{url}//sub/bb"), &url]);
    place.done(&["lock", "-o", "metier.lock"]);
    let before = ["aa", "bb", "whole"].map(|name| place.locked(name));
    place.versioned("host/whole/sub/bb", "1.1.0");
    repository.commit("two");
    place.done(&["update", "--yes"]);
    assert_eq!(place.locked("bb")["version"], "1.1.0");
    place.done(&["remove", "aa", "bb", "whole"]);
    place.done(&["install", "--locked"]);
    assert_eq!(["aa", "bb", "whole"].map(|name| place.locked(name)), before);
    let told = place.ends(5, &["install", &format!("{url}//nowhere")]);
    assert!(told.contains("has no directory `nowhere`"), "{told}");
}

#[test]
fn a_commit_that_is_gone_is_not_replaced_by_another() {
    let place = Place::new();
    let (repository, [_, second]) = repository(&place);
    place.done(&["install", &format!("{}//tools/pdf", repository.url())]);
    place.done(&["lock", "-o", "metier.lock"]);
    place.done(&["remove", "pdf"]);
    // History is written anew, with another byte in it.
    place.write("host/acme/skills/tools/pdf/references/guide.md", "Another.\n");
    repository.git(&["add", "--all"]);
    repository.git(&["commit", "--quiet", "--amend", "-m", "two"]);
    repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    repository.git(&["gc", "--quiet", "--prune=now"]);
    repository.git(&["update-server-info"]);
    for url in addresses(&place, &repository) {
        let lock = place.read("metier.lock").replace(&repository.url(), &url);
        place.write("other.lock", lock);
        let told = place.ends(5, &["install", "--locked", "other.lock"]);
        assert!(told.contains(&format!("no longer has the commit {second}")), "{told}");
    }
    // A lock that says it is the new one has the old one's files.
    let lock = place.read("metier.lock").replace(&second, &repository.git(&["rev-parse", "HEAD"]));
    place.write("other.lock", lock);
    let told = place.ends(1, &["install", "--locked", "other.lock"]);
    assert!(told.contains("~ references/guide.md"), "{told}");
    assert!(place.locked("pdf").is_null());
}

#[test]
fn a_repository_that_is_a_skill_and_what_is_left_out_of_it() {
    let place = Place::new();
    let repository = Repository::new(place.path().join("pdf"));
    place.versioned("pdf", "1.0.0");
    symlink("/etc/passwd", place.path().join("pdf/references/link.md")).unwrap();
    let first = repository.commit("one");
    // A submodule is a commit in a tree.
    repository.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{first},module")]);
    repository.git(&["commit", "--quiet", "-m", "two"]);
    let told = place.done(&["install", &repository.url()]);
    for left in ["skipped references/link.md", "skipped module"] {
        assert!(told.contains(left), "{told}");
    }
    place.done(&["verify"]);
    assert!(place.locked("pdf")["path"].is_null());
    let skill = place.store().join("current/skills/third_party/pdf");
    assert!(skill.join("scripts/run.sh").is_file() && !skill.join("references/link.md").exists());
    assert!(!skill.join("module").exists() && !skill.join(".git").exists());
    // At no branch at all.
    repository.git(&["checkout", "--quiet", "--detach"]);
    repository.git(&["branch", "-D", "main"]);
    place.done(&["remove", "pdf"]);
    place.done(&["install", &repository.url()]);
    place.done(&["update"]);
}

/// A tree with one more entry than the working directory has, whatever its name.
fn plant(repository: &Repository, mode: &str, name: &str, content: &[u8]) {
    let raw = |id: &str| -> Vec<u8> {
        (0..20).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap()).collect()
    };
    let write = |kind: &str, bytes: &[u8]| {
        repository.git_with(&["hash-object", "-w", "--literally", "-t", kind, "--stdin"], bytes)
    };
    let entry =
        |mode: &str, name: &str, id: &str| [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &raw(id)].concat();
    let skill = fs::read(repository.0.join("pdf/SKILL.md")).unwrap();
    let mut evil = write("blob", content);
    if mode == "40000" {
        evil = write("tree", &entry("100644", "config", &evil));
    }
    let mut entries =
        [(name, entry(mode, name, &evil)), ("SKILL.md", entry("100644", "SKILL.md", &write("blob", &skill)))];
    entries.sort_by(|a, b| a.0.cmp(b.0));
    let folder = write("tree", &[entries[0].1.clone(), entries[1].1.clone()].concat());
    let top = write("tree", &entry("40000", "pdf", &folder));
    let commit = repository.git(&["commit-tree", "-m", "evil", &top]);
    repository.git(&["update-ref", "refs/heads/main", &commit]);
    repository.git(&["update-server-info"]);
}

#[test]
fn nothing_of_a_hostile_repository_escapes() {
    let place = Place::new();
    let repository = Repository::new(place.path().join("host/acme/skills"));
    place.versioned("host/acme/skills/pdf", "1.0.0");
    repository.commit("one");
    for url in addresses(&place, &repository) {
        for (mode, name) in [
            ("100644", ".."),
            ("40000", ".."),
            ("40000", ".git"),
            ("40000", ".GIT"),
            ("40000", "git~1"),
            ("100644", ".git"),
            ("100644", "a\\..\\..\\b"),
            ("100644", "../../../out"),
            ("100644", "/tmp/out"),
            ("100644", "con"),
        ] {
            plant(&repository, mode, name, b"[core]\n\tfsmonitor = touch ran\n");
            let output = place.metier(&["install", &url, "--all"]);
            if output.status.success() {
                // What is not refused is installed as a plain file, or not at all.
                place.done(&["verify"]);
                place.done(&["remove", "pdf"]);
                assert!([".GIT", "git~1", ".git"].contains(&name), "{mode} {name} at {url}");
            } else {
                assert!([Some(1), Some(5)].contains(&output.status.code()), "{name}");
            }
            for out in ["me/.local/share/out", "me/.local/share/metier/store/out", "out", "ran"] {
                assert!(!place.path().join(out).exists());
            }
        }
    }
    // A name like an option is a name.
    place.write("host/acme/skills/pdf/-x", "x");
    place.write("host/acme/skills/pdf/--upload-pack=touch ran", "x");
    repository.git(&["reset", "--quiet", "--soft", "HEAD"]);
    repository.commit("options");
    place.done(&["install", &repository.url(), "--all"]);
    place.done(&["verify"]);
    assert!(place.store().join("current/skills/third_party/pdf/-x").is_file());
}

#[test]
fn nothing_of_a_hostile_repository_runs() {
    let place = Place::new();
    let repository = Repository::new(place.path().join("host/skills"));
    place.versioned("host/skills/pdf", "1.0.0");
    place.write("host/skills/.gitattributes", "* filter=evil export-subst ident\n");
    place.write("host/skills/pdf/references/guide.md", "$Format:%H$ $Id$\n");
    place.write("host/skills/.gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c touch% ran\n");
    repository.commit("one");
    let ran = place.path().join("ran");
    let touch = format!("touch {}", ran.display());
    for hook in ["post-checkout", "pre-receive", "post-update", "reference-transaction", "fsmonitor-watchman"]
    {
        let hook = place.write(&format!("host/skills/.git/hooks/{hook}"), format!("#!/bin/sh\n{touch}\n"));
        set_mode(hook, 0o755);
    }
    for (key, value) in [
        ("filter.evil.smudge", touch.as_str()),
        ("filter.evil.process", &touch),
        ("core.fsmonitor", &touch),
        ("core.sshCommand", &touch),
        ("uploadpack.packObjectsHook", &touch),
    ] {
        repository.git(&["config", key, value]);
    }
    place.done(&["install", &format!("{}//pdf", repository.url())]);
    assert!(!ran.exists());
    let guide = place.store().join("current/skills/third_party/pdf/references/guide.md");
    assert_eq!(fs::read_to_string(guide).unwrap(), "$Format:%H$ $Id$\n");
    let ext = format!("ext::sh -c {}", touch.replace(' ', "% "));
    let option = format!("--upload-pack={touch}");
    let proxy = format!("-oProxyCommand={touch}@host:x");
    let odd = format!("x@y::{touch}");
    let host = format!("a@-oProxyCommand={touch}:x");
    for source in [ext.as_str(), &option, &proxy, &odd, &host, "fd::7", "transport::x", "-x", "--all"] {
        place.ends(2, &["install", "--", source]);
        assert!(!ran.exists(), "{source}");
    }
    for more in ["#--upload-pack=x", "#a..b", "#", "//../../etc", "#main:refs/heads/x"] {
        let output = place.metier(&["install", &format!("{}{more}", repository.url())]);
        assert!([Some(1), Some(2)].contains(&output.status.code()), "{more}");
    }
}
