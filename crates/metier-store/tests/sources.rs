//! The grammar of sources: what people type in other tools, what has two readings, and any text at all.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use metier_store::{GIT_HOST, GitAddress, SourceAddress, SourcePlace, StoreError};
use proptest::prelude::*;

fn parse(text: &str) -> Result<SourceAddress, StoreError> {
    SourceAddress::parse(text, GIT_HOST)
}

/// What text means, as it is written without any doubt.
const MEANS: &[(&str, &str)] = &[
    // npx skills
    ("acme/skills", "https://github.com/acme/skills"),
    ("acme/skills/sub/path", "https://github.com/acme/skills//sub/path"),
    ("acme/skills@pdf", "https://github.com/acme/skills#@pdf"),
    ("acme/skills#v2", "https://github.com/acme/skills#v2"),
    ("acme/skills#v2@pdf", "https://github.com/acme/skills#v2@pdf"),
    ("acme/skills/sub#feature/x@pdf", "https://github.com/acme/skills//sub#feature/x@pdf"),
    ("github:acme/skills", "https://github.com/acme/skills"),
    ("gitlab:acme/skills#v2", "https://gitlab.com/acme/skills#v2"),
    ("https://github.com/acme/skills", "https://github.com/acme/skills"),
    ("https://github.com/acme/skills/", "https://github.com/acme/skills"),
    ("https://github.com/acme/skills.git#v1", "https://github.com/acme/skills.git#v1"),
    (
        "https://github.com/acme/skills/tree/main/tools/pdf",
        "https://github.com/acme/skills/-/tree/main/tools/pdf",
    ),
    (
        "https://github.com/acme/skills/blob/main/pdf/SKILL.md",
        "https://github.com/acme/skills/-/tree/main/pdf",
    ),
    ("https://gitlab.com/a/b/-/tree/main/x/SKILL.md/SKILL.md", "https://gitlab.com/a/b/-/tree/main/x"),
    ("https://gitlab.com/a/b/c/-/tree/main/x%20y", "https://gitlab.com/a/b/c/-/tree/main/x y"),
    ("https://gitlab.com/a/b/c", "https://gitlab.com/a/b/c"),
    ("https://codeberg.org/a/b/src/branch/main/x", "https://codeberg.org/a/b/-/tree/main/x"),
    (
        "https://dev.azure.com/org/project/_git/repo?path=/x&version=GBmain",
        "https://dev.azure.com/org/project/_git/repo//x#main",
    ),
    (
        "https://dev.azure.com/org/project/_git/repo/?version=GBmain",
        "https://dev.azure.com/org/project/_git/repo#main",
    ),
    ("git@github.com:acme/skills.git", "git@github.com:acme/skills.git"),
    ("git@host.example:acme/skills.git#v1@pdf", "git@host.example:acme/skills.git#v1@pdf"),
    ("ssh://git@host.example:2222/acme/skills.git", "ssh://git@host.example:2222/acme/skills.git"),
    ("https://git.example.org/skills.git//tools#v2", "https://git.example.org/skills.git//tools#v2"),
    ("git+https://git.example.org/skills", "git+https://git.example.org/skills"),
    ("https://git.example.org/skills#v2", "https://git.example.org/skills#v2"),
    ("file:///srv/skills#v1", "file:///srv/skills#v1"),
    ("acme/skills#pkg%401.0.0", "https://github.com/acme/skills#pkg%401.0.0"),
    // Downloads and sites
    ("https://example.org/pdf.zip", "https://example.org/pdf.zip"),
    ("https://example.org/pdf.tar.gz?x=1", "https://example.org/pdf.tar.gz?x=1"),
    (
        "https://github.com/a/b/releases/download/v1/pdf.skill",
        "https://github.com/a/b/releases/download/v1/pdf.skill",
    ),
    ("https://raw.example.org/a/SKILL.md", "https://raw.example.org/a/SKILL.md"),
    ("https://example.org", "https://example.org/.well-known/agent-skills"),
    ("https://example.org/", "https://example.org/.well-known/agent-skills"),
    ("https://example.org/a/.well-known/skills/pdf/", "https://example.org/a/.well-known/agent-skills/pdf"),
    (
        "https://example.org/.well-known/agent-skills/index.json",
        "https://example.org/.well-known/agent-skills",
    ),
    ("http://127.0.0.1:8000/x.zip", "http://127.0.0.1:8000/x.zip"),
    // Registries
    ("npm:pdf-tools", "npm:pdf-tools"),
    ("npm:@acme/pdf@^1.2 || 3#ocr", "npm:@acme/pdf@^1.2 || 3#ocr"),
    ("oci://ghcr.io/acme/pdf:1.0", "oci://ghcr.io/acme/pdf:1.0"),
    ("oci://localhost:5000/a/b/pdf", "oci://localhost:5000/a/b/pdf"),
    ("clawhub:pdf", "clawhub:pdf"),
    ("clawhub:@acme/pdf@1.0.0", "clawhub:@acme/pdf@1.0.0"),
    ("formatter@acme", "formatter@acme"),
    ("formatter@acme/plugins", "formatter@acme/plugins"),
    ("formatter@https://example.org/marketplace.json", "formatter@https://example.org/marketplace.json"),
    // Paths
    ("skills", "skills"),
    ("./skills/pdf", "./skills/pdf"),
    ("../pdf.zip", "../pdf.zip"),
    ("dist/pdf.skill", "dist/pdf.skill"),
    ("C:\\skills\\pdf", "C:\\skills\\pdf"),
    ("~/skills", "~/skills"),
];

#[test]
fn what_people_type() {
    for (text, means) in MEANS {
        let source = parse(text).unwrap();
        assert_eq!(source.to_string(), *means, "{text}");
        assert_eq!(parse(means).unwrap(), source, "{text}");
    }
    let digest = format!("sha256:{}", "0a".repeat(32));
    let pinned = [
        format!("https://example.org/x.zip#{digest}"),
        format!("https://example.org/x.zip#{digest}@pdf"),
        format!("oci://ghcr.io/acme/pdf:1.0@{digest}#pdf"),
    ];
    for text in pinned {
        assert_eq!(parse(&text).unwrap().to_string(), text);
    }
}

#[test]
fn text_with_two_readings_is_refused_with_both() {
    for (text, first, second) in [
        (
            "https://example.org/skills",
            "`git+https://example.org/skills`",
            "`https://example.org/skills/.well-known/agent-skills`",
        ),
        ("acme/skills@v1.2", "`acme/skills#v1.2`", "`acme/skills#@v1.2`"),
        ("acme/skills@2", "`acme/skills#2`", "`acme/skills#@2`"),
        ("acme/skills#pkg@1.0.0", "`#pkg%401.0.0`", "`--skill 1.0.0`"),
        (
            "github.com/acme/skills",
            "`https://github.com/acme/skills`",
            "`https://github.com/github.com/acme//skills`",
        ),
    ] {
        let error = parse(text).unwrap_err();
        let told = error.to_string();
        assert_eq!(error.code(), "store-ambiguous", "{text}: {told}");
        assert!(told.contains(first) && told.contains(second), "{text}: {told}");
    }
    // Each reading can be written.
    assert!(parse("git+https://example.org/skills").is_ok());
    assert!(parse("https://example.org/skills/.well-known/agent-skills").is_ok());
    assert!(parse("acme/skills#v1.2").is_ok());
    assert!(parse("https://github.com/github.com/acme//skills").is_ok());
}

#[test]
fn text_that_means_nothing_is_refused_with_a_reason() {
    for (text, reason) in [
        ("", "is not a source"),
        ("acme/skills\u{200b}", "is not a source"),
        (" acme/skills", "is not a source"),
        ("pip:skills", "unknown scheme `pip:`"),
        ("mcp+https://example.org", "MCP"),
        ("example.org:acme/skills", "write `git@example.org:acme/skills`"),
        ("acme/skills#", "invalid branch"),
        ("acme/skills#a..b", "invalid branch"),
        ("acme/skills#--upload-pack=x", "invalid branch"),
        ("acme/skills#main@Not_A_Skill", "not a valid name"),
        ("acme/skills@pdf#main", "write `acme/skills#REFERENCE@pdf`"),
        ("acme/skills/../x", "`..`"),
        ("https://me:hunter2@example.org/x.git", "contains a password"),
        ("https://me@example.org/x.zip", "contains an account"),
        ("http://example.org/x.zip", "plain HTTP"),
        ("http://127.0.0.1.example.org/x.zip", "plain HTTP"),
        ("https://ехample.org/x.zip", "not ASCII"),
        ("https://example.org/x.zip#sha256:00", "64 hexadecimal digits"),
        ("https://exa mple.org/x.zip", "invalid host"),
        ("https://example.org:99999/x.zip", "invalid host"),
        ("https://example.org/.well-known/agent-skills/Not_One", "not a valid name"),
        ("https://dev.azure.com/org/project//_git/repo?x=1", "write the directory as `path="),
        ("https://dev.azure.com/org/_git/repo//x?version=GBmain", "write the directory as `path="),
        ("https:/dev.azure.com/org/_git/repo?path=/x", "no `//` after its scheme"),
        ("https:acme/skills://x.zip", "no `//` after its scheme"),
        ("https://github.com/acme/skills/issues/1", "is not the address of a repository"),
        ("https://gitlab.com/a//b/-/tree/main", "has `//` in the address"),
        ("https://github.com/acme/skills/tree/../../x", "invalid branch or directory"),
        ("npm:Not-A-Package", "valid name of a package"),
        ("npm:@acme", "valid name of a package"),
        ("npm:a@1;rm", "invalid version"),
        ("oci:ghcr.io/x", "is not `oci://"),
        ("oci://ghcr.io", "is not `oci://"),
        ("oci://ghcr.io/A", "invalid name"),
        ("oci://ghcr.io/a@sha512:00", "only `sha256:`"),
        ("@acme/pdf", "did you mean `npm:@acme/pdf`"),
        ("a b@market", "is not `plugin@marketplace`"),
        ("clawhub:../x", "is not `clawhub:"),
    ] {
        let error = parse(text).unwrap_err();
        let told = error.to_string();
        assert!(told.contains(reason) && !told.contains("hunter2"), "{text}: {told}");
        assert_ne!(error.code(), "store-ambiguous", "{text}: {told}");
    }
}

#[test]
fn a_branch_and_a_directory_with_slashes_stay_together() {
    let source = parse("https://github.com/acme/skills/tree/feature/x/tools").unwrap();
    let SourcePlace::Git(GitAddress { tree, reference, directory, .. }) = source.place else { panic!() };
    assert_eq!((tree.as_deref(), reference, directory), (Some("feature/x/tools"), None, None));
}

/// Pieces of which sources are made.
const PIECES: &[&str] = &[
    "acme",
    "skills",
    "/",
    "//",
    "@",
    "#",
    ":",
    ".",
    "..",
    "-",
    "pdf",
    "v1.2",
    "https://",
    "http://",
    "git@",
    "git+",
    "npm:",
    "oci://",
    "clawhub:",
    "github:",
    "ssh://",
    "file:///",
    "example.org",
    "github.com",
    "gitlab.com",
    "tree/",
    "/-/tree/",
    "main",
    ".zip",
    ".git",
    "SKILL.md",
    "?",
    "x=1",
    "%40",
    "%2e%2e",
    "%",
    "sha256:",
    "0123456789abcdef",
    ".well-known/agent-skills",
    "127.0.0.1",
    ":8080",
    "[::1]",
    "user:pass",
    " ",
    "\\",
    "é",
    "~",
    "^1.0",
    "\u{202e}",
    "_git",
    "dev.azure.com",
    "&version=GBmain",
    "path=/x",
];

fn check(text: &str) -> Result<(), TestCaseError> {
    let Ok(source) = parse(text) else { return Ok(()) };
    let written = source.to_string();
    let again = parse(&written);
    prop_assert!(again.is_ok(), "{text:?} is written as {written:?}, which is refused: {again:?}");
    prop_assert_eq!(again.unwrap(), source, "{} {}", text, written);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_parsed_is_written_so_that_it_parses_the_same(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..9),
    ) {
        check(&pieces.concat())?;
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in any::<String>()) {
        check(&text)?;
    }
}
