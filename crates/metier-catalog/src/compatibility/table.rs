//! The requirements that metier can check, with their common spellings, and the keys of `metadata`. Add new
//! names here.

use super::Os;

/// A requirement that metier can check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// A program, by the names of its executable. One of them is enough.
    Program(&'static [&'static str]),
    /// One of these systems.
    System(&'static [Os]),
    /// An agent, by its stable id.
    Agent(&'static str),
    /// The network.
    Network,
}

use Known::{Agent, Network, Program, System};

/// All requirements that metier can check, with their spellings in lower case.
pub(super) const TABLE: &[(Known, &[&str])] = &[
    (Program(&["python3", "python"]), &["python", "python3"]),
    (Program(&["pip3", "pip"]), &["pip", "pip3"]),
    (Program(&["uv"]), &["uv"]),
    (Program(&["node"]), &["node", "node.js", "nodejs"]),
    (Program(&["npm"]), &["npm"]),
    (Program(&["npx"]), &["npx"]),
    (Program(&["pnpm"]), &["pnpm"]),
    (Program(&["yarn"]), &["yarn"]),
    (Program(&["bun"]), &["bun"]),
    (Program(&["deno"]), &["deno"]),
    (Program(&["go"]), &["go", "golang"]),
    (Program(&["cargo"]), &["cargo", "rust"]),
    (Program(&["ruby"]), &["ruby"]),
    (Program(&["php"]), &["php"]),
    (Program(&["perl"]), &["perl"]),
    (Program(&["java"]), &["java", "jre"]),
    (Program(&["javac"]), &["jdk", "javac"]),
    (Program(&["dotnet"]), &[".net", "dotnet"]),
    (Program(&["make", "gmake"]), &["make", "gnu make"]),
    (Program(&["cmake"]), &["cmake"]),
    (Program(&["gcc"]), &["gcc"]),
    (Program(&["git"]), &["git"]),
    (Program(&["gh"]), &["gh", "github cli"]),
    (Program(&["glab"]), &["glab", "gitlab cli"]),
    (Program(&["docker"]), &["docker"]),
    (Program(&["podman"]), &["podman"]),
    (Program(&["kubectl"]), &["kubectl"]),
    (Program(&["terraform"]), &["terraform"]),
    (Program(&["aws"]), &["aws cli", "awscli"]),
    (Program(&["az"]), &["az", "azure cli"]),
    (Program(&["gcloud"]), &["gcloud", "google cloud cli", "google cloud sdk"]),
    (Program(&["jq"]), &["jq"]),
    (Program(&["yq"]), &["yq"]),
    (Program(&["rg"]), &["rg", "ripgrep"]),
    (Program(&["sqlite3"]), &["sqlite", "sqlite3"]),
    (Program(&["psql"]), &["psql"]),
    (Program(&["ffmpeg"]), &["ffmpeg"]),
    (Program(&["magick", "convert"]), &["imagemagick"]),
    (Program(&["pandoc"]), &["pandoc"]),
    (Program(&["soffice", "libreoffice"]), &["libreoffice"]),
    (Program(&["pdftotext"]), &["poppler", "poppler-utils", "pdftotext"]),
    (Program(&["tesseract"]), &["tesseract"]),
    (Program(&["curl"]), &["curl"]),
    (Program(&["wget"]), &["wget"]),
    (Program(&["bash"]), &["bash"]),
    (System(&[Os::Linux, Os::Wsl]), &["linux"]),
    (System(&[Os::MacOs]), &["macos", "mac os", "os x", "osx", "darwin", "mac"]),
    (System(&[Os::Windows]), &["windows", "win32"]),
    (System(&[Os::Wsl]), &["wsl", "wsl2"]),
    (System(&[Os::Linux, Os::Wsl, Os::MacOs]), &["unix"]),
    (Agent("claude-code"), &["claude code", "claude-code"]),
    (Agent("claude-desktop"), &["claude desktop", "claude-desktop"]),
    (Agent("claude"), &["claude"]),
    (Agent("codex"), &["codex", "openai codex"]),
    (Agent("opencode"), &["opencode"]),
    (Agent("gemini-cli"), &["gemini cli", "gemini-cli"]),
    (Agent("goose"), &["goose"]),
    (Agent("copilot"), &["copilot", "github copilot"]),
    (Agent("cursor"), &["cursor"]),
    (Agent("windsurf"), &["windsurf"]),
    (Agent("cline"), &["cline"]),
    (Agent("amp"), &["amp"]),
    (Agent("zed"), &["zed"]),
    (Agent("openclaw"), &["openclaw", "clawdbot", "moltbot"]),
    (Network, &["network", "network access", "network connection"]),
    (Network, &["internet", "internet access", "internet connection"]),
    (Network, &["access to the network", "access to the internet"]),
];

/// The requirement that a lower-case spelling stands for.
pub(super) fn known(spelling: &str) -> Option<Known> {
    TABLE.iter().find(|(_, spellings)| spellings.contains(&spelling)).map(|(known, _)| *known)
}

/// The stable id of an agent, from any of its spellings.
pub(super) fn agent(name: &str) -> Option<&'static str> {
    match known(&name.trim().to_ascii_lowercase()) {
        Some(Agent(agent)) => Some(agent),
        _ => None,
    }
}

/// What a key of `metadata` contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// Text in the form of `compatibility`.
    Text,
    /// A version range of this program.
    VersionsOf(Known),
    /// Systems; one is enough.
    Systems,
    /// Programs; all are required.
    Programs,
    /// Programs; one is enough.
    AnyProgram,
    /// Whether the network is required.
    Network,
    /// A client's own mapping with the same keys in it.
    Inside,
}

const PYTHON: Known = Program(&["python3", "python"]);
const NODE: Known = Program(&["node"]);

/// What a key of `metadata` contains. The key is in lower case with hyphens, and a dot separates levels of
/// mappings. `None` if it is not about compatibility.
pub(super) fn key(name: &str) -> Option<Key> {
    Some(match name {
        "compatibility" | "prerequisites" => Key::Text,
        "requires-python" | "python" | "python-version" | "min-python" | "requires.python" => {
            Key::VersionsOf(PYTHON)
        }
        "requires-node" | "node" | "node-version" | "min-node" | "requires.node" => Key::VersionsOf(NODE),
        "os" | "platform" | "platforms" | "requires-os" | "requires.os" => Key::Systems,
        "bins" | "binaries" | "requires-bins" | "requires.bins" | "requires.binaries" => Key::Programs,
        "any-bins" | "anybins" | "requires-any-bins" | "requires.anybins" | "requires.any-bins" => {
            Key::AnyProgram
        }
        "network" | "requires-network" | "requires.network" => Key::Network,
        "openclaw" | "clawdbot" | "moltbot" | "nanobot" | "hermes" | "metier" => Key::Inside,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_spelling_stands_for_one_thing() {
        let mut seen = HashSet::new();
        for spelling in TABLE.iter().flat_map(|(_, spellings)| *spellings) {
            assert!(seen.insert(spelling) && *spelling == spelling.to_lowercase(), "{spelling}");
        }
        assert_eq!((known("python"), known("node")), (Some(PYTHON), Some(NODE)));
    }

    #[test]
    fn agents_are_known_by_any_of_their_names() {
        for (name, expected) in [
            ("claude-code", Some("claude-code")),
            ("Claude Code", Some("claude-code")),
            (" GitHub Copilot ", Some("copilot")),
            ("codex", Some("codex")),
            ("something else", None),
            ("git", None),
        ] {
            assert_eq!(agent(name), expected, "{name}");
        }
    }
}
