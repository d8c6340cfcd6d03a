//! Tables of texts with what they amount to on a machine made up for it, and what holds for any text.

use proptest::prelude::*;
use semver::Version;

use super::*;

/// A Linux with `git`, `gh`, `jq` and `mytool`, Python 3.11.4 and Node.js 18.19.0.
struct Made {
    os: Os,
    network: Option<bool>,
    agent: Option<&'static str>,
}

const LINUX: Made = Made { os: Os::Linux, network: None, agent: None };

impl Machine for Made {
    fn os(&self) -> Os {
        self.os
    }

    fn has_program(&self, name: &str) -> bool {
        ["git", "gh", "jq", "mytool", "python3", "node", "npm", "bash"].contains(&name)
    }

    fn version_of(&self, program: &str) -> Option<Version> {
        match program {
            "python3" => Some(Version::new(3, 11, 4)),
            "node" => Some(Version::new(18, 19, 0)),
            _ => None,
        }
    }

    fn has_network(&self) -> Option<bool> {
        self.network
    }

    fn agent(&self) -> Option<&str> {
        self.agent
    }
}

/// `+` for each requirement that is met, `-` for one that is not, `?` for one unknown.
fn signs(found: &Compatibility) -> String {
    let sign = |found: &Requirement| match found.status {
        RequirementStatus::Met => '+',
        RequirementStatus::Unmet => '-',
        RequirementStatus::Unknown => '?',
    };
    found.requirements.iter().map(sign).collect()
}

fn check_texts(machine: &Made, texts: &[(&str, &str)]) {
    for (text, expected) in texts {
        let found = compatibility(Some(text), [], machine);
        assert_eq!(signs(&found), *expected, "{text}: {found:#?}");
    }
}

fn check_metadata(pairs: &[(&str, &str, &str)]) {
    for (key, value, expected) in pairs {
        let found = compatibility(None, [(*key, *value)], &LINUX);
        assert_eq!(signs(&found), *expected, "{key}: {value}: {found:#?}");
    }
}

#[test]
fn nothing_said_is_met() {
    let nothing = Compatibility { status: RequirementStatus::Met, requirements: Vec::new() };
    assert_eq!(compatibility(None, [], &LINUX), nothing);
    assert_eq!(compatibility(Some(" \n"), [("author", "someone"), ("version", "1.0")], &LINUX), nothing);
}

#[test]
fn programs_and_their_versions() {
    check_texts(
        &LINUX,
        &[
            ("git", "+"),
            ("Docker", "-"),
            ("Requires Python 3.11+", "+"),
            ("Requires Python 3.12+", "-"),
            ("Requires Python 3.12+.", "-"),
            ("Python >= 3.10", "+"),
            ("Python>=3.10,<3.11", "-"),
            ("Python >= 3.10 and < 3.13", "+"),
            ("Python (>=3.12)", "-"),
            ("python3.12+", "-"),
            ("Python 3", "+"),
            ("Python version 3.12 or higher", "-"),
            ("Needs Python 3.9 or 3.10", "+"),
            ("Node.js 18 or newer", "+"),
            ("Node.js 20 and above", "-"),
            ("Node 16", "?"),
            ("Node 20", "-"),
            ("git 2.40+", "?"),
            ("requires git, jq and the GitHub CLI (gh)", "+++"),
            ("Requires git, docker, and jq", "+-+"),
            ("git + jq", "++"),
            ("Needs jq for reading answers", "+"),
            ("Docker must be installed locally", "-"),
            ("the GitHub CLI", "+"),
            ("Requires: git", "+"),
            ("golang", "-"),
            ("gopher", "?"),
        ],
    );
}

#[test]
fn one_of_several_is_enough() {
    check_texts(
        &LINUX,
        &[
            ("Docker or git", "+"),
            ("Docker or Podman", "-"),
            ("pnpm or yarn or npm", "+"),
            ("Docker/Podman", "-"),
            ("Docker or something quite different", "?"),
            ("Docker (or Podman)", "?"),
            ("Python 3.10+, Docker or Podman", "?"),
            ("one of docker, podman", "?"),
        ],
    );
}

#[test]
fn a_word_that_may_turn_the_meaning_leaves_a_sentence_unread() {
    check_texts(
        &LINUX,
        &[
            ("Optional: Docker", "?"),
            ("Docker recommended", "?"),
            ("Docker (optional)", "?"),
            ("Works best with Docker", "?"),
            ("git, and optionally Docker or Podman", "?"),
            ("Docker if images are built", "?"),
            ("No Docker needed", "?"),
            ("does not need Docker", "?"),
            ("Not on Linux", "?"),
            ("a container engine, e.g. docker", "?"),
            ("Tested with: git, Docker", "?"),
            ("Checked against: git, Docker", "?"),
            ("git. Optional: Docker", "+?"),
        ],
    );
}

#[test]
fn systems() {
    let texts =
        ["macOS", "Linux/macOS", "macOS, Linux, and Windows", "WSL or macOS", "macOS. Also runs on WSL."];
    for (os, expected) in [
        (Os::Linux, ["-", "+", "+", "-", "-"]),
        (Os::Wsl, ["-", "+", "+", "+", "+"]),
        (Os::MacOs, ["+", "+", "+", "+", "+"]),
        (Os::Windows, ["-", "-", "+", "-", "-"]),
        (Os::Other, ["?", "?", "?", "?", "?"]),
    ] {
        for (text, expected) in texts.iter().zip(expected) {
            check_texts(&Made { os, ..LINUX }, &[(text, expected)]);
        }
    }
    check_texts(
        &LINUX,
        &[
            ("macOS only", "-"),
            ("macOS 14+", "?"),
            ("macOS, Solaris", "??"),
            ("git, macOS", "+-"),
            ("macOS or Linux. Needs git.", "++"),
        ],
    );
}

#[test]
fn agents() {
    let texts = [
        "Designed for Claude Code",
        "Designed for Claude Code (or similar products)",
        "Codex, OpenCode, and Gemini CLI",
        "For Goose; also works with GitHub Copilot or Cursor",
        "any agent that reads skills",
        "Claude Code, Codex and other agents",
        "made for Claude",
    ];
    for (agent, expected) in [
        (None, "???????"),
        (Some("claude-code"), "+?--??+"),
        (Some("Claude Code"), "+?--??+"),
        (Some("codex"), "-?+-??-"),
        (Some("copilot"), "-?-+??-"),
        (Some("my-own"), "-?--??-"),
    ] {
        for (text, expected) in texts.iter().zip(expected.chars()) {
            check_texts(&Made { agent, ..LINUX }, &[(text, &expected.to_string())]);
        }
    }
}

#[test]
fn the_network_is_what_the_caller_says() {
    for (network, expected) in [(None, "?"), (Some(true), "+"), (Some(false), "-")] {
        for text in ["network access", "Internet access to fetch pages", "requires access to the internet"] {
            check_texts(&Made { network, ..LINUX }, &[(text, expected)]);
        }
    }
}

#[test]
fn other_text_is_kept_as_the_author_wrote_it() {
    for text in ["Wants a quiet room", "an API key", "MY_TOKEN must be set", "`docker`, tea and git"] {
        let found = compatibility(Some(text), [], &LINUX);
        let texts: Vec<&str> = found.requirements.iter().map(|found| found.text.as_str()).collect();
        assert_eq!((texts.join(", "), found.status), (text.replace(" and", ","), RequirementStatus::Unknown));
    }
    check_texts(&LINUX, &[("git. Also two cups.", "+?"), ("git, tea and biscuits, docker", "+?")]);
}

#[test]
fn metadata_is_read_by_its_keys() {
    check_metadata(&[
        ("requires-python", ">=3.11", "+"),
        ("requires_python", ">=3.12,<4", "-"),
        ("python", "soon", "?"),
        ("node-version", "\">=18\"", "+"),
        ("os", "[darwin, linux]", "+"),
        ("platforms", "macos", "-"),
        ("os", "all", "?"),
        ("bins", "git, yourtool", "+-"),
        ("requires-bins", "[\"jq\", \"../x\"]", "+?"),
        ("any-bins", "yourtool git", "+"),
        ("requires-env", "MY_TOKEN", ""),
        ("network", "true", "?"),
        ("network", "false", ""),
        ("compatibility", "Requires git", "+"),
        ("requires", "other-skill", ""),
        ("requires", "{bins: [docker]}", "-"),
        ("openclaw", "{emoji: x, requires: {bins: [jq], anyBins: [a, git]}, os: [darwin]}", "++-"),
        (
            "clawdbot",
            r#"{"requires":{"bins":["docker"],"env":["MY_TOKEN"]},"install":[{"bins":["x"]}]}"#,
            "-",
        ),
        ("openclaw", "{network: yes, tags: [os]}", ""),
        ("author", "Docker", ""),
    ]);
}

#[test]
fn reasons_are_plain() {
    for (text, expected) in [
        ("Python 3.12+", "`python3` is 3.11.4, but 3.12+ is needed"),
        ("Docker", "`docker` not found in PATH; install it"),
        (
            "Docker or Podman",
            "`docker` not found in PATH; install it; `podman` not found in PATH; install it",
        ),
        ("Docker or jq", "`jq` is installed"),
        ("pip", "`pip3` and `pip` not found in PATH; install it"),
        ("git 2.40+", "`git` is installed, but its version is unknown; 2.40+ is needed"),
        ("macOS", "this is Linux"),
    ] {
        let found = compatibility(Some(text), [], &LINUX);
        assert_eq!(found.requirements[0].reason, expected, "{text}");
    }
}

#[test]
fn it_is_data_that_others_can_read() {
    let found = compatibility(Some("git"), [], &LINUX);
    let json = serde_json::to_string(&found).unwrap();
    let expected =
        r#"{"status":"met","requirements":[{"text":"git","status":"met","reason":"`git` is installed"}]}"#;
    assert_eq!(json, expected);
}

#[test]
fn work_is_bounded() {
    for piece in ["git, ", "(", "((git)", "a or ", "Python 3, < ", "`", "{a: ", "no x, y or "] {
        let text = piece.repeat(200_000);
        let found = compatibility(Some(&text), [("bins", text.as_str()), ("openclaw", &text)], &LINUX);
        assert!(found.requirements.len() <= REQUIREMENTS_MAX + 1, "{piece}");
        assert_ne!(found.status, RequirementStatus::Met, "{piece}");
    }
    let many: Vec<(String, String)> = (0..100_000).map(|at| ("bins".into(), format!("t{at}"))).collect();
    let found = compatibility(None, many.iter().map(|(key, value)| (key.as_str(), value.as_str())), &LINUX);
    assert_eq!(found.requirements.len(), REQUIREMENTS_MAX + 1);
}

/// Words that mean something, in any order, and any characters.
fn any_text() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "git",
        "Docker",
        "Python",
        "3.11+",
        ">=",
        "3",
        "or",
        "and",
        ",",
        "(",
        ")",
        ".",
        "no",
        "not",
        "optional",
        "macOS",
        "Windows",
        "Claude Code",
        "similar",
        "agents",
        "newer",
        "CLI",
        "`",
        "/",
        "with",
        "if",
        "for",
        "to",
        "network access",
        "requires",
        "tea",
        "{",
        "}",
        ":",
        "–",
        "技能",
    ]);
    prop_oneof![
        prop::collection::vec(words, 0..20).prop_map(|words| words.join(" ")),
        "\\PC{0,80}",
        prop::collection::vec(any::<char>(), 0..60).prop_map(String::from_iter),
    ]
}

proptest! {
    #[test]
    fn any_text_has_a_status_that_follows_from_its_requirements(
        text in any_text(),
        key in prop::sample::select(vec!["os", "bins", "requires-python", "openclaw", "requires", "network", "x"]),
        value in any_text(),
        agent in prop::sample::select(vec![None, Some("codex"), Some("claude-code")]),
    ) {
        let found = compatibility(Some(&text), [(key, value.as_str())], &Made { agent, ..LINUX });
        let has = |status| found.requirements.iter().any(|found| found.status == status);
        let expected = match (has(RequirementStatus::Unmet), has(RequirementStatus::Unknown)) {
            (true, _) => RequirementStatus::Unmet,
            (_, true) => RequirementStatus::Unknown,
            _ => RequirementStatus::Met,
        };
        prop_assert_eq!(found.status, expected);
        for requirement in &found.requirements {
            prop_assert!(!requirement.reason.is_empty() && !requirement.text.is_empty(), "{:?}", requirement);
        }
        let again = compatibility(Some(&text), [(key, value.as_str())], &Made { agent, ..LINUX });
        prop_assert_eq!(found, again);
    }
}
