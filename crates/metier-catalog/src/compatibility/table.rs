//! The words that metier understands in `compatibility`, as data: systems, agents, the network, the words around
//! them, and the keys of `metadata`. Programs have a table of their own. To teach metier a word, add it here.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::programs::{PROGRAMS, Program};

/// A family of systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    Linux,
    /// A Linux of one name, of which metier knows only that it is Linux.
    Distribution,
    MacOs,
    Windows,
    Wsl,
    /// Linux, macOS and their relatives.
    Unix,
    /// Any system at all.
    Any,
}

/// The systems.
const SYSTEMS: &[(System, &[&str])] = &[
    (System::Linux, &["linux", "gnu / linux"]),
    (
        System::Distribution,
        &["ubuntu", "debian", "fedora", "arch linux", "alpine", "rhel", "centos", "nixos"],
    ),
    (System::MacOs, &["macos", "mac os", "os x", "osx", "darwin", "mac", "macosx", "apple macos"]),
    (System::Windows, &["windows", "win32", "win64", "win", "microsoft windows"]),
    (
        System::Wsl,
        &[
            "wsl",
            "wsl2",
            "wsl 2",
            "windows ( wsl )",
            "windows ( wsl2 )",
            "windows ( wsl 2 )",
            "windows ( via wsl )",
            "windows ( via wsl2 )",
            "windows via wsl",
            "windows via wsl2",
            "windows with wsl",
            "windows with wsl2",
            "windows under wsl",
            "windows subsystem for linux",
        ],
    ),
    (System::Unix, &["unix", "unix-like", "unix-like system", "posix", "*nix"]),
    (
        System::Any,
        &[
            "cross-platform",
            "cross platform",
            "platform-independent",
            "platform independent",
            "platform-agnostic",
            "os-independent",
            "any os",
            "any platform",
            "all platforms",
            "any operating system",
            "all operating systems",
        ],
    ),
];

/// The agents: a name that stays, and how people write it.
const AGENTS: &[(&str, &[&str])] = &[
    (
        "claude-code",
        &["claude code", "claude-code", "claudecode", "anthropic claude code", "claude code cli"],
    ),
    ("claude", &["claude", "claude.ai", "claude ai"]),
    ("claude-desktop", &["claude desktop", "claude-desktop"]),
    ("claude-cowork", &["claude cowork", "cowork"]),
    ("claude-api", &["claude api", "claude agent sdk"]),
    ("codex", &["codex", "openai codex", "codex cli", "openai codex cli", "chatgpt codex"]),
    ("chatgpt", &["chatgpt"]),
    ("opencode", &["opencode", "open code"]),
    ("gemini-cli", &["gemini cli", "gemini-cli", "google gemini cli", "gemini"]),
    ("antigravity", &["antigravity", "google antigravity", "google antigravity 2"]),
    ("goose", &["goose", "block goose"]),
    (
        "copilot",
        &[
            "copilot",
            "github copilot",
            "github-copilot",
            "copilot cli",
            "github copilot cli",
            "vs code copilot",
        ],
    ),
    ("cursor", &["cursor", "cursor ide"]),
    ("windsurf", &["windsurf"]),
    ("cline", &["cline"]),
    ("roo-code", &["roo code", "roo-code", "roo"]),
    ("kilo-code", &["kilo code", "kilo-code"]),
    ("amp", &["amp", "sourcegraph amp"]),
    ("aider", &["aider"]),
    ("zed", &["zed"]),
    ("kiro", &["kiro", "kiro cli"]),
    ("junie", &["junie"]),
    ("droid", &["droid", "factory droid"]),
    ("qwen-code", &["qwen code", "qwen-code"]),
    ("continue", &["continue.dev"]),
    ("openclaw", &["openclaw", "clawdbot", "moltbot"]),
    ("hermes", &["hermes agent", "hermes"]),
    ("pi", &["pi coding agent", "pi agent", "oh my pi"]),
    ("trae", &["trae"]),
    ("letta", &["letta"]),
];

/// Ways to say that the network is needed.
const NETWORK: &[&str] = &[
    "network",
    "network access",
    "network connection",
    "network connectivity",
    "outbound network access",
    "outbound network",
    "internet",
    "internet access",
    "internet connection",
    "internet connectivity",
    "access to the internet",
    "access to internet",
    "access to the network",
    "active internet connection",
    "stable internet connection",
    "web access",
    "https access",
    "outbound https",
    "online",
];

/// What people ask for and metier does not look at, with what it says instead.
const UNSEEN: &[(&str, &[&str])] = &[
    (
        "metier does not look at keys and accounts: check it yourself",
        &[
            "account",
            "accounts",
            "api key",
            "api keys",
            "api token",
            "api credentials",
            "access token",
            "token",
            "credentials",
            "subscription",
            "oauth",
            "license key",
        ],
    ),
    (
        "metier does not know which MCP servers the agent has: check it yourself",
        &["mcp", "mcp server", "mcp servers", "mcp connector", "mcp tools", "mcp tool"],
    ),
    (
        "metier does not look at Python's packages: check it yourself",
        &[
            "python package",
            "python packages",
            "python library",
            "numpy",
            "scipy",
            "pandas",
            "matplotlib",
            "pytorch",
            "torch",
            "tensorflow",
            "transformers",
            "scikit-learn",
            "requests",
            "pillow",
            "pypdf",
            "biopython",
            "beautifulsoup4",
            "openpyxl",
        ],
    ),
    (
        "metier does not look for browsers: check it yourself",
        &[
            "browser",
            "web browser",
            "browser access",
            "browser environment",
            "firefox",
            "safari",
            "playwright",
        ],
    ),
    (
        "metier does not look at hardware: check it yourself",
        &["gpu", "cuda", "apple silicon", "webgpu", "ram", "microphone", "camera"],
    ),
];

/// Ways to say that nothing is needed.
const NOTHING: &[&str] = &[
    "stdlib only",
    "standard library only",
    "python stdlib only",
    "offline",
    "fully offline",
    "none",
    "self-contained",
    "any environment",
    "all environments",
    "everywhere",
    "anywhere",
    "any agent skills client",
    "agent skills standard",
    "agent skills",
];

/// What a spelling stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Program(&'static Program),
    System(System),
    Agent(&'static str),
    Network,
    /// Nothing that metier looks at, for this reason.
    Unseen(&'static str),
    Nothing,
}

/// What a word does where it is not part of a spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Says nothing.
    Filler,
    /// Says that something is needed; matters only beside a `no` or `not`.
    Need,
    /// Makes what it stands beside a wish.
    Optional,
    /// What follows is not there.
    No,
    /// What is said is not so.
    Not,
    /// Asks for more than metier can see: `authenticated`, `running`.
    Beyond,
    /// Before a name it says nothing; after one, what follows says what the thing is for.
    Purpose,
    /// What follows says when the thing is needed.
    Condition,
    /// Others will do: `similar`, `any`.
    Open,
    /// What an agent is called in general.
    AgentNoun,
    /// The word before it is the name of a program.
    ProgramNoun,
}

const ROLES: &[(Role, &str)] = &[
    (
        Role::Filler,
        "the a an your its own either both one of this at be is are has have having must should will and or works \
         work working run runs designed design built made created written intended compatible support \
         supports supported latest recent modern current stable version versions v release minimum min least \
         local locally system host machine machines path $path access only package installed available install \
         installation environment environments runtime runtimes toolchain toolchains tool tools standard regular \
         also plus native natively primary primarily mainly all shell-based project projects codebase \
         codebases use uses usage user users can it e.g i.e platform platforms os operating systems \
         following : dependencies dependency prerequisites prerequisite requirements requirement skill \
         compatibility module globally global plugin plugins separately",
    ),
    (Role::Need, "require requires required requiring need needs needed needing necessary mandatory depends"),
    (
        Role::Optional,
        "optional optionally recommended recommend recommends preferred preferably ideally best suggested benefits \
         tested optimized optimised enhanced may fallback",
    ),
    (Role::No, "no without zero neither nor"),
    (Role::Not, "not cannot isn't doesn't don't won't unsupported incompatible except excluding"),
    (
        Role::Beyond,
        "running daemon authenticated authorized configured configuration logged login enabled active \
         set up setup signed permissions privileges sudo root connected",
    ),
    (
        Role::Purpose,
        "for to using via from because so that which where as by through inside across e.g. including like such",
    ),
    (Role::Condition, "if when unless while during depending"),
    (
        Role::Open,
        "any other others similar compatible equivalent alternatives agent-skills-compatible skills-compatible",
    ),
    (
        Role::AgentNoun,
        "agent agents assistant assistants client clients product products harness harnesses ai llm llms model \
         models coding agentic ide ides editor editors",
    ),
    (Role::ProgramNoun, "cli command binary executable command-line cli-tool"),
];

/// The part of speech of a word in lower case; `None` where metier does not know it. `compatible` is both open
/// and filler: the later row wins.
pub(super) fn role(word: &str) -> Option<Role> {
    static INDEX: LazyLock<HashMap<&'static str, Role>> = LazyLock::new(|| {
        ROLES
            .iter()
            .flat_map(|(role, words)| words.split_ascii_whitespace().map(|word| (word, *role)))
            .collect()
    });
    INDEX.get(word).copied()
}

/// The words of a spelling, and what they stand for.
type Spelling = (Vec<&'static str>, Known);

/// Every spelling by its first word, the longest first.
static SPELLINGS: LazyLock<HashMap<&'static str, Vec<Spelling>>> = LazyLock::new(|| {
    let programs = PROGRAMS.iter().flat_map(|program| {
        program.spellings.iter().map(move |spelling| (*spelling, Known::Program(program)))
    });
    let systems =
        SYSTEMS.iter().flat_map(|(system, all)| all.iter().map(|one| (*one, Known::System(*system))));
    let agents = AGENTS.iter().flat_map(|(agent, all)| all.iter().map(|one| (*one, Known::Agent(agent))));
    let network = NETWORK.iter().map(|one| (*one, Known::Network));
    let unseen = UNSEEN.iter().flat_map(|(why, all)| all.iter().map(|one| (*one, Known::Unseen(why))));
    let nothing = NOTHING.iter().map(|one| (*one, Known::Nothing));
    let mut index: HashMap<&str, Vec<Spelling>> = HashMap::new();
    for (spelling, known) in programs.chain(systems).chain(agents).chain(network).chain(unseen).chain(nothing)
    {
        let words: Vec<&str> = spelling.split(' ').collect();
        index.entry(words[0]).or_default().push((words, known));
    }
    for spellings in index.values_mut() {
        spellings.sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
    }
    index
});

/// The longest spelling with which `words` begin, and how many words it takes.
pub(super) fn known<'t>(mut words: impl Iterator<Item = &'t str> + Clone) -> Option<(Known, usize)> {
    let first = words.next()?;
    let spellings = SPELLINGS.get(first)?;
    let fits = |spelling: &[&str]| {
        let mut words = words.clone();
        spelling[1..].iter().all(|word| words.next() == Some(word))
    };
    spellings.iter().find(|(spelling, _)| fits(spelling)).map(|(spelling, known)| (*known, spelling.len()))
}

/// The lasting name of an agent, however it is written.
pub(super) fn agent(name: &str) -> Option<&'static str> {
    let name = name.trim().to_ascii_lowercase();
    let by_name =
        AGENTS.iter().find(|(agent, spellings)| *agent == name || spellings.contains(&name.as_str()));
    by_name.map(|(agent, _)| *agent)
}

/// What a key of `metadata` holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// Text like that of `compatibility`.
    Text,
    /// A range of versions of this program.
    VersionsOf(&'static str),
    /// Systems, of which one is enough.
    Systems,
    /// Programs, all needed.
    Programs,
    /// Programs, of which one is enough.
    AnyProgram,
    /// Environment variables.
    Variables,
    /// Whether the network is needed.
    Network,
    /// A mapping of one client's own with the same keys in it.
    Inside,
}

/// The keys of `metadata`, in lower case with hyphens. A dot is a level of a mapping.
const KEYS: &[(Key, &[&str])] = &[
    (Key::Text, &["compatibility", "prerequisites", "system-requirements"]),
    (
        Key::VersionsOf("python3"),
        &[
            "requires-python",
            "python",
            "python-version",
            "min-python",
            "min-python-version",
            "requires.python",
        ],
    ),
    (
        Key::VersionsOf("node"),
        &["requires-node", "node", "node-version", "min-node", "min-node-version", "requires.node"],
    ),
    (Key::Systems, &["os", "platform", "platforms", "requires-os", "requires.os"]),
    (
        Key::Programs,
        &[
            "bins",
            "binaries",
            "requires-bins",
            "requires-binaries",
            "requires-commands",
            "required-bins",
            "requires.bins",
            "requires.binaries",
            "requires.commands",
        ],
    ),
    (Key::AnyProgram, &["any-bins", "anybins", "requires-any-bins", "requires.anybins", "requires.any-bins"]),
    (Key::Variables, &["requires-env", "required-env", "requires.env"]),
    (Key::Network, &["network", "requires-network", "requires.network", "requires-internet"]),
    (
        Key::Inside,
        &[
            "openclaw",
            "clawdbot",
            "moltbot",
            "clawdis",
            "nanobot",
            "clawlet",
            "hermes",
            "agentskills",
            "metier",
        ],
    ),
];

/// What a key of `metadata` holds; `None` where it is not about compatibility.
pub(super) fn key(name: &str) -> Option<Key> {
    KEYS.iter().find(|(_, names)| names.contains(&name)).map(|(key, _)| *key)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_spelling_stands_for_one_thing() {
        let mut seen = HashSet::new();
        for (words, known) in SPELLINGS.values().flatten() {
            assert!(seen.insert(words.join(" ")), "{words:?} {known:?}");
            assert_eq!(words.join(" "), words.join(" ").to_lowercase());
        }
    }

    #[test]
    fn agents_are_known_by_any_of_their_names() {
        for (name, expected) in [
            ("claude-code", Some("claude-code")),
            ("Claude Code", Some("claude-code")),
            (" GitHub Copilot ", Some("copilot")),
            ("codex", Some("codex")),
            ("something else", None),
        ] {
            assert_eq!(agent(name), expected, "{name}");
        }
    }
}
