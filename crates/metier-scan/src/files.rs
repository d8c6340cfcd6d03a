//! Rules about files themselves: type against name, link targets, and files that agents load automatically.

use super::archive::{self, Listing};
use super::confusable;
use super::kind::{self, Kind, Magic};
use super::matching::{self, Reads};
use super::text::View;

/// A rule that a file breaks, with details.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) rule: &'static str,
    pub(super) detail: String,
}

impl Broken {
    fn new(rule: &'static str, detail: impl Into<String>) -> Self {
        Self { rule, detail: detail.into() }
    }
}

/// All checks of one file except those of its text.
pub(super) fn check(path: &str, bytes: &[u8], kind: Kind) -> Vec<Broken> {
    let mut broken = Vec::new();
    broken.extend(name(path));
    broken.extend(contents(path, bytes, kind));
    broken.extend(settings(path, bytes));
    broken
}

/// Whether a link's target is outside of the skill, judged by its text alone.
pub(super) fn leaves(path: &str, target: &str) -> bool {
    if target.starts_with(['/', '\\', '~']) || target.get(1..2) == Some(":") {
        return true;
    }
    let mut depth = path.matches('/').count();
    for part in target.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return true,
            },
            _ => depth += 1,
        }
    }
    false
}

/// Checks a file's name.
pub(super) fn name(path: &str) -> Option<Broken> {
    let name = kind::file_name(path);
    let is_odd = |c: char| c.is_control() || metier_skill::is_invisible(c);
    if path.chars().any(is_odd) || name.ends_with([' ', '.']) {
        return Some(Broken::new("file-name-deceives", "its name contains invisible characters"));
    }
    // A name in another script is legitimate; a word that mixes two scripts is not.
    let is_mixed = |word: &str| {
        word.chars().any(|c| c.is_ascii_alphabetic()) && word.chars().any(confusable::is_lookalike)
    };
    if name.split(['.', '-', '_', ' ']).any(is_mixed) {
        return Some(Broken::new("file-name-deceives", "its name contains a letter that only looks Latin"));
    }
    if is_out_of_sight(path) {
        return Some(Broken::new("file-hidden-code", "directory listings do not show it"));
    }
    let mut parts = name.rsplit('.').map(str::to_ascii_lowercase);
    let (last, before) = (parts.next()?, parts.next()?);
    let runs = [
        "exe", "scr", "com", "bat", "cmd", "msi", "lnk", "vbs", "hta", "command", "sh", "ps1", "app", "js",
        "py",
    ];
    let shows = [
        "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "rtf", "png", "jpg", "jpeg", "gif", "webp",
        "heic", "txt", "md", "mp3", "mp4", "zip", "csv",
    ];
    let is_double = runs.contains(&last.as_str()) && shows.contains(&before.as_str());
    is_double
        .then(|| Broken::new("file-name-deceives", format!("it looks like `.{before}` but is `.{last}`")))
}

/// Whether a script is in a hidden file or directory that no known tool uses.
fn is_out_of_sight(path: &str) -> bool {
    const KNOWN: &[&str] = &[
        ".github",
        ".claude",
        ".cursor",
        ".codex",
        ".gemini",
        ".vscode",
        ".husky",
        ".devcontainer",
        ".storybook",
        ".circleci",
        ".claude-plugin",
        ".agents",
        ".git",
        ".gitlab",
        ".vitepress",
    ];
    let runs = matches!(
        kind::ending(path).as_str(),
        "sh" | "py" | "js" | "mjs" | "ps1" | "rb" | "bat" | "pl" | "php"
    );
    let is_odd = |part: &str| {
        part.starts_with('.')
            && !matches!(part, "." | "..")
            && !KNOWN.contains(&part)
            && !part.contains("rc.")
    };
    runs && path.split('/').any(is_odd)
}

/// Compares a file's content with its name.
fn contents(path: &str, bytes: &[u8], kind: Kind) -> Vec<Broken> {
    let ending = kind::ending(path);
    let one = |rule, detail: &str| vec![Broken::new(rule, detail)];
    match kind::magic(bytes) {
        Magic::Native => one("file-native-program", "it is a native program"),
        Magic::Bytecode => one("file-bytecode", "it is bytecode"),
        Magic::Zip => zip(&ending, &archive::zip(bytes)),
        Magic::Tar => vec![archived(&archive::tar(bytes))],
        Magic::Packed => {
            let is_archive = ["tar", "tgz", "tbz", "txz", "7z", "rar", "cab", "iso"]
                .iter()
                .any(|word| path.contains(word));
            // Compressed tables are common; other compressed files hide their content.
            let tables = [
                "csv", "tsv", "json", "jsonl", "fasta", "fastq", "fa", "fq", "nii", "vcf", "bed", "parquet",
                "mtx", "svg",
            ];
            let is_table = tables.iter().any(|ending| path.contains(&format!(".{ending}.")));
            let rule = if is_archive || !is_table { "file-archive-opaque" } else { "file-compressed" };
            one(rule, "its content cannot be scanned")
        }
        Magic::Script if kind == Kind::Media || is_plain_data(&ending) => {
            one("file-script-disguised", "it starts with `#!`, but has the extension of another file type")
        }
        Magic::Media
            if bytes.starts_with(b"%PDF")
                && [&b"/JavaScript"[..], b"/Launch", b"/JS(", b"/JS ("]
                    .iter()
                    .any(|word| has(bytes, word)) =>
        {
            one("file-macros", "it runs code when it is opened")
        }
        Magic::Media => trailing(bytes),
        _ if kind == Kind::Media && !bytes.is_empty() && kind::is_text(bytes) && !is_vector(bytes) => {
            let runs = matching::find(&View::read(bytes).text, Reads::Code);
            let rule = if runs.is_empty() { "file-kind-unlike-name" } else { "file-script-disguised" };
            one(rule, "it is text, but has the extension of a binary file")
        }
        _ if matches!(
            ending.as_str(),
            "pyc"
                | "pyo"
                | "class"
                | "exe"
                | "dll"
                | "so"
                | "dylib"
                | "msi"
                | "scr"
                | "lnk"
                | "pif"
                | "cpl"
                | "sys"
                | "node"
                | "wasm"
                | "appimage"
                | "desktop"
                | "reg"
        ) =>
        {
            one("file-native-program", "its extension is that of a program")
        }
        _ if ending == "svg" && (has(bytes, b"<script") || has(bytes, b"onload=")) => {
            one("file-macros", "it runs code when it is displayed")
        }
        _ => Vec::new(),
    }
}

fn is_plain_data(ending: &str) -> bool {
    ["md", "txt", "json", "yaml", "yml", "csv", "xml", "html", "svg", "log", "toml", "ini", "lock"]
        .contains(&ending)
}

fn is_vector(bytes: &[u8]) -> bool {
    let head = bytes.trim_ascii_start();
    [&b"<svg"[..], b"<?xml", b"solid", b"version https://git-lfs"].iter().any(|start| head.starts_with(start))
}

fn zip(ending: &str, listing: &Listing) -> Vec<Broken> {
    let is_document = kind::PACKED_DOCUMENTS.contains(&ending);
    if listing.has_macros() {
        return vec![Broken::new("file-macros", "it contains macros")];
    }
    if is_document && listing.is_whole && !listing.is_encrypted && listing.runnable().is_none() {
        return Vec::new();
    }
    vec![archived(listing)]
}

fn archived(listing: &Listing) -> Broken {
    let opaque = |detail: String| Broken::new("file-archive-opaque", detail);
    if listing.is_encrypted {
        opaque("it is encrypted".to_owned())
    } else if let Some(name) = listing.escaping() {
        opaque(format!("its entry `{}` points outside of the archive", name.escape_debug()))
    } else if let Some(name) = listing.readable() {
        opaque(format!("its entry `{}` can be executed or read by an agent", name.escape_debug()))
    } else if listing.is_whole {
        Broken::new("file-archive", format!("{} entries, none with code or text", listing.names.len()))
    } else {
        opaque("its list of entries cannot be read".to_owned())
    }
}

/// Finds code after the end of an image.
fn trailing(bytes: &[u8]) -> Vec<Broken> {
    let end = match bytes {
        [0x89, b'P', b'N', b'G', ..] => memchr::memmem::rfind(bytes, b"IEND").map(|at| at + 8),
        [0xff, 0xd8, ..] => memchr::memmem::rfind(bytes, &[0xff, 0xd9]).map(|at| at + 2),
        _ => None,
    };
    let rest = end.and_then(|end| bytes.get(end..)).unwrap_or_default();
    if rest.len() < 16 {
        return Vec::new();
    }
    let is_code = kind::is_program(rest) || rest.starts_with(b"#!") || rest.starts_with(b"PK\x03\x04");
    let is_found =
        is_code || (kind::is_text(rest) && !matching::find(&View::read(rest).text, Reads::Code).is_empty());
    let detail = "code follows the end of the image";
    if is_found { vec![Broken::new("file-script-disguised", detail)] } else { Vec::new() }
}

/// Finds files that an agent, an editor or an interpreter loads as its own settings.
fn settings(path: &str, bytes: &[u8]) -> Option<Broken> {
    let name = kind::file_name(path);
    let lower = path.to_ascii_lowercase();
    let folder = |folder: &str| lower.starts_with(folder) || lower.contains(&format!("/{folder}"));
    let ending = kind::ending(name);
    let is_data = matches!(ending.as_str(), "json" | "jsonc" | "toml" | "yaml" | "yml" | "xml");
    let editors = [
        ".cursor/",
        ".codex/",
        ".gemini/",
        ".vscode/",
        ".windsurf/",
        ".devcontainer/",
        ".idea/",
        ".zed/",
        ".kiro/",
        ".continue/",
    ];
    let is_settings = (folder(".claude/") && name.starts_with("settings") && is_data)
        || matches!(name, ".mcp.json" | "mcp.json" | "hooks.json" | ".claude.json" | "opencode.json")
        || (editors.into_iter().any(folder) && is_data);
    let hooks = [".git/hooks/", ".githooks/", ".husky/", ".claude/hooks/"];
    let is_hook = hooks.into_iter().any(folder) && ending != "sample";
    if is_hook || name == ".envrc" || (name == ".gitattributes" && has(bytes, b"filter=")) {
        return Some(Broken::new("file-agent-hook", "it runs automatically on an event"));
    }
    if is_settings {
        let is_live = [
            &b"\"command\""[..],
            b"command =",
            b"command:",
            b"command\":",
            b"script_text",
            b"\"hooks\"",
            b"\"allow\"",
            b"bypasspermissions",
            b"\"url\"",
        ];
        let lower = bytes.to_ascii_lowercase();
        let runs = is_live.iter().any(|word| has(&lower, word));
        let rule = if runs { "file-agent-hook" } else { "file-agent-settings" };
        return Some(Broken::new(rule, "an agent or editor loads it as its own settings"));
    }
    let is_loaded =
        matches!(name, "sitecustomize.py" | "usercustomize.py") || (ending == "pth" && kind::is_text(bytes));
    is_loaded.then(|| Broken::new("file-loaded-unasked", "Python runs it at every start"))
}

fn has(bytes: &[u8], what: &[u8]) -> bool {
    memchr::memmem::find(bytes, what).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::archive::tests::made;
    use super::*;

    fn rules(path: &str, bytes: &[u8]) -> Vec<&'static str> {
        check(path, bytes, kind::of(path, bytes)).iter().map(|broken| broken.rule).collect()
    }

    #[test]
    fn links_are_judged_by_where_they_lead() {
        assert!(
            leaves("a", "/etc/passwd")
                && leaves("a", "../b")
                && leaves("d/a", "../../b")
                && leaves("a", "~/x")
        );
        assert!(!leaves("a", "b") && !leaves("d/a", "../b") && !leaves("a", "./x/../y"));
    }

    #[test]
    fn files_are_what_they_are_called_or_found() {
        assert_eq!(rules("run", b"\x7fELF\x02\x01"), ["file-native-program"]);
        assert_eq!(rules("x.pyc", b"\xa7\x0d\r\n\0\0\0\0\0\0\0\0\0\0\0\0\0"), ["file-bytecode"]);
        assert_eq!(rules("x.png", b"#!/bin/sh\necho hi\n"), ["file-script-disguised"]);
        assert_eq!(rules("x.jpg", b"just words"), ["file-kind-unlike-name"]);
        assert_eq!(rules("report.pdf.exe", b"text"), ["file-name-deceives", "file-native-program"]);
        assert_eq!(rules("a\u{202e}b.md", b"text"), ["file-name-deceives"]);
        assert_eq!(rules("a.zip", &made(&["a.png"], 0)), ["file-archive"]);
        assert_eq!(rules("a.zip", &made(&["SKILL.md"], 0)), ["file-archive-opaque"]);
        assert_eq!(rules("a.pdf", b"%PDF-1.7 /OpenAction << /JavaScript"), ["file-macros"]);
        assert_eq!(rules("notes.gz", b"\x1f\x8b\x08"), ["file-archive-opaque"]);
        assert_eq!(rules("a.zip", &made(&["a.txt"], 1)), ["file-archive-opaque"]);
        assert_eq!(rules("a.zip", &made(&["a.sh"], 0)), ["file-archive-opaque"]);
        assert_eq!(rules("a.docx", &made(&["word/document.xml"], 0)), [""; 0]);
        assert_eq!(rules("a.docm", &made(&["word/vbaProject.bin"], 0)), ["file-macros"]);
        assert_eq!(rules("a.tar.gz", b"\x1f\x8b\x08"), ["file-archive-opaque"]);
        assert_eq!(rules("table.csv.gz", b"\x1f\x8b\x08"), ["file-compressed"]);
        assert_eq!(rules(".claude/settings.json", b"{\"hooks\": {}}"), ["file-agent-hook"]);
        assert_eq!(rules(".claude/settings.json", b"{\"theme\": \"dark\"}"), ["file-agent-settings"]);
        assert_eq!(rules("sitecustomize.py", b"x = 1"), ["file-loaded-unasked"]);
        let mut png = b"\x89PNG\r\n\x1a\n....IENDcrc.".to_vec();
        assert_eq!(rules("x.png", &png), [""; 0]);
        png.extend(b"#!/bin/sh\necho something\n");
        assert_eq!(rules("x.png", &png), ["file-script-disguised"]);
        assert_eq!(rules("scripts/run.sh", b"#!/bin/sh\n"), [""; 0]);
        assert_eq!(rules("SKILL.md", b"# x\n"), [""; 0]);
        assert_eq!(rules("заметки.md", b"# x\n"), [""; 0]);
    }
}
