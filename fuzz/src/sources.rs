//! Sources of skills, and files that list plugins and skills: real ones in our own words, and the pieces of them.

/// Marketplaces with an entry of each kind, manifests and indexes.
pub(crate) fn plugins() -> Vec<Vec<u8>> {
    let sources = [
        "\"./plugins/pdf\"",
        "\".\"",
        "{\"source\":\"local\",\"path\":\"./x\"}",
        "{\"source\":\"github\",\"repo\":\"acme/pdf\",\"ref\":\"v1\"}",
        "{\"source\":\"url\",\"url\":\"https://example.org/x.git\",\"sha\":\"0123456789abcdef0123456789abcdef01234567\"}",
        "{\"source\":\"git-subdir\",\"url\":\"acme/pdf\",\"path\":\"a/b\"}",
        "{\"source\":\"npm\",\"package\":\"@acme/pdf\",\"version\":\"^1\"}",
        "{\"source\":\"archive\",\"url\":\"https://example.org/x.zip\"}",
        "{\"source\":\"command\",\"command\":\"x\"}",
    ];
    let fields = [
        "",
        ",\"skills\":[\"./a\",\"b/SKILL.md\"]",
        ",\"hooks\":{\"PreToolUse\":[]}",
        ",\"mcpServers\":{\"db\":{}}",
        ",\"strict\":false",
        ",\"version\":\"1.0.0\"",
        ",\"description\":\"é\"",
    ];
    let entry = |source: &str, field: &str| format!("{{\"name\":\"pdf\",\"source\":{source}{field}}}");
    let all = sources.iter().flat_map(|source| fields.map(|field| entry(source, field)));
    let files = all.flat_map(|entry| [format!("{{\"name\":\"acme\",\"plugins\":[{entry}]}}"), entry]);
    let schemas = [
        "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
        "https://schemas.agentskills.io/discovery/0.2.0/schema.json",
    ];
    let pinned = schemas.map(|schema| {
        format!("{{\"$schema\":\"{schema}\",\"name\":\"pdf\",\"skills\":[{{\"name\":\"pdf\"}}]}}")
    });
    files.chain(pinned).map(String::into_bytes).collect()
}

pub(crate) const PLUGINS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\n",
    "\"name\":\"b\"",
    "\"source\":",
    "\"path\":",
    "\"url\":",
    "\"repo\":",
    "\"sha\":",
    "\"ref\":",
    "\"skills\":",
    "\"hooks\":",
    "\"mcpServers\":",
    "\"strict\":",
    "\"github\"",
    "\"git-subdir\"",
    "\"../x\"",
    "\"./x\"",
    "\"..\\\\x\"",
    "\"/etc\"",
    "\"a/./../b\"",
    "null",
    "true",
    "1e5",
    "\u{feff}",
    "\\u0000",
    "\\ud800",
    "\"metadata\":{\"pluginRoot\":\"./p\"}",
    "<<<<<<< ",
    "../x/y.json",
    "\"SKILL.md\"",
    "\"\"",
    "é",
];

/// Sources of each kind.
pub(crate) fn sources() -> Vec<Vec<u8>> {
    let digest = "0a".repeat(32);
    let pinned = [
        format!("https://example.org/x.zip#sha256:{digest}@pdf"),
        format!("oci://ghcr.io/a/b:1@sha256:{digest}"),
    ];
    let known = [
        "acme/skills/tools#feature/x@pdf",
        "https://github.com/acme/skills/tree/main/pdf",
        "https://gitlab.com/a/b/c/-/blob/main/pdf/SKILL.md",
        "https://dev.azure.com/a/b/_git/c?path=/x&version=GBmain",
        "git@host.example:acme/skills.git#v1",
        "git+ssh://git@host.example:22/a//b#v1@pdf",
        "https://example.org/a/.well-known/agent-skills/pdf",
        "npm:@acme/pdf@^1.2#ocr",
        "clawhub:@acme/pdf@1.0.0",
        "formatter@acme/plugins",
        "./skills",
    ];
    let marks = ["", "#v2", "#@pdf", "#v2@pdf", "@pdf", "//tools", "/tools#main", "/../x", "@1.0.0", "?x=1"];
    let texts = known.iter().map(|text| (*text).to_owned()).chain(pinned);
    texts.flat_map(|text| marks.map(|mark| format!("{text}{mark}").into_bytes())).collect()
}

pub(crate) const SOURCES: &[&str] = &[
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
    "/tree/",
    "/blob/",
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
    "0a0a0a0a0a0a0a0a",
    "/.well-known/agent-skills",
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
    "/_git/",
    "dev.azure.com",
    "&version=GBmain",
    "path=/x",
];
