//! Marketplaces and manifests as people commit them: with every deviation that was seen in real files, in texts of our own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use metier_store::{ManifestKind, Marketplace, PluginManifest, PluginSource};

fn marketplace(entries: &str) -> Marketplace {
    let text = format!(
        "{{\"name\": \"acme\", \"owner\": {{\"name\": \"Acme\"}}, \"extra\": 1, \"plugins\": [{entries}]}}"
    );
    Marketplace::parse(text.as_bytes()).unwrap()
}

/// The source of an entry, or why it is refused.
fn source(source: &str) -> Result<PluginSource, String> {
    let found = marketplace(&format!("{{\"name\": \"pdf\", \"source\": {source}}}"));
    found.entry("pdf").map(|entry| entry.source.clone())
}

fn git(url: &str, path: Option<&str>, reference: Option<&str>, commit: Option<&str>) -> PluginSource {
    let [path, reference, commit] = [path, reference, commit].map(|text| text.map(str::to_owned));
    PluginSource::Git { url: url.to_owned(), path, reference, commit }
}

#[test]
fn each_kind_of_source() {
    let sha = "0123456789abcdef0123456789abcdef01234567";
    let path = |path: &str| PluginSource::Path(path.to_owned());
    for (text, expected) in [
        (r#""./plugins/pdf""#, path("plugins/pdf")),
        (r#""./plugins/pdf/""#, path("plugins/pdf")),
        (r#"".""#, path("")),
        (r#""./""#, path("")),
        (r#""pdf""#, path("pdf")),
        (r#"{"source": "local", "path": "./plugins/pdf"}"#, path("plugins/pdf")),
        (r#"{"source": "github", "repo": "acme/pdf"}"#, git("https://github.com/acme/pdf", None, None, None)),
        (
            r#"{"source": "github", "repo": "acme/pdf", "path": "plugins/pdf", "ref": "v1"}"#,
            git("https://github.com/acme/pdf", Some("plugins/pdf"), Some("v1"), None),
        ),
        (
            &format!(r#"{{"source": "url", "url": "https://example.org/pdf", "sha": "{sha}"}}"#),
            git("https://example.org/pdf", None, None, Some(sha)),
        ),
        (
            r#"{"source": "url", "url": "git@example.org:acme/pdf.git", "path": "./x"}"#,
            git("git@example.org:acme/pdf.git", Some("x"), None, None),
        ),
        (
            r#"{"source": "git-subdir", "url": "acme/pdf", "path": "tools", "ref": "pdf--v1.0.0"}"#,
            git("https://github.com/acme/pdf", Some("tools"), Some("pdf--v1.0.0"), None),
        ),
        (
            r#"{"source": "npm", "package": "@acme/pdf", "version": "^1.2"}"#,
            PluginSource::Npm {
                package: "@acme/pdf".to_owned(),
                range: Some("^1.2".to_owned()),
                registry: None,
            },
        ),
        (
            r#"{"source": "archive", "url": "https://example.org/pdf.zip"}"#,
            PluginSource::Archive { url: "https://example.org/pdf.zip".to_owned(), digest: None },
        ),
    ] {
        assert_eq!(source(text), Ok(expected), "{text}");
    }
}

#[test]
fn a_source_that_cannot_be_used_has_a_reason() {
    for (text, reason) in [
        (
            r#"{"source": "command", "command": "get-it"}"#,
            "runs a program to get the plugin, which metier never does",
        ),
        (
            r#""https://example.org/pdf.git""#,
            "has the URL `https://example.org/pdf.git` as its `source`; an object",
        ),
        (r#""github""#, "has the `source` `github` as text; an object is expected"),
        (r#""../""#, "leads out of its directory"),
        (r#""./../../x""#, "leads out of its directory"),
        (r#""..\\x""#, "leads out of its directory"),
        (r#""/etc""#, "has the invalid path `/etc`"),
        (r#""/""#, "has the absolute path `/`"),
        (r#""a\\b""#, "has the invalid path"),
        (
            r#"{"type": "url", "url": "https://example.org/x"}"#,
            "`source` (`local`, `github`, `url`, `git-subdir`, `npm`, `archive`) is expected, `type`, `url` was found",
        ),
        (r#"{"github": "acme/pdf"}"#, "is expected, `github` was found"),
        (r#"{"path": "./x"}"#, "is expected, `path` was found"),
        ("{}", "nothing was found"),
        (r#"{"source": "git", "repo": "acme/pdf"}"#, "has a `source` of the unknown kind `git`"),
        (r#"{"source": "pip", "package": "x"}"#, "unknown kind `pip`"),
        (r#"{"source": "github"}"#, "without `repo`"),
        (r#"{"source": "github", "repo": "https://x"}"#, "`owner/repository` is expected"),
        (r#"{"source": "git-subdir", "url": "acme/pdf"}"#, "without `path`"),
        (
            r#"{"source": "url", "url": "https://example.org/x", "commit": "01"}"#,
            "has a `commit`; `sha` is expected",
        ),
        (r#"{"source": "url", "url": "https://example.org/x", "sha": "01"}"#, "has an invalid `sha`"),
        (r#"{"source": "url", "url": "https://example.org/x", "ref": "--x"}"#, "has an invalid `ref`"),
        (r#"{"source": "url", "url": "http://example.org/x"}"#, "neither `https:` nor `ssh:`"),
        (r#"{"source": "url", "url": "file:///etc"}"#, "neither `https:` nor `ssh:`"),
        (r#"{"source": "url", "url": "ext::sh -c x"}"#, "is not the URL of a git repository"),
        (
            r#"{"source": "url", "url": "https://example.org/x", "path": "../x"}"#,
            "leads out of its directory",
        ),
        (r#"{"source": "npm", "package": "Not Valid"}"#, "which is not valid"),
        (r#"{"source": "npm", "package": "x", "registry": "http://x"}"#, "not an `https:` URL"),
        (r#"{"source": "archive", "url": "http://example.org/x.zip"}"#, "an `https:` URL is expected"),
        (
            r#"{"source": "archive", "url": "https://example.org/x.zip", "sha256": "xx"}"#,
            "has an invalid `sha256`",
        ),
        ("7", "neither a path nor an object"),
        ("null", "neither a path nor an object"),
    ] {
        let told = source(text).unwrap_err();
        assert!(told.contains(reason), "{text}: {told}");
    }
}

#[test]
fn a_bad_entry_does_not_spoil_the_others() {
    let found = marketplace(
        r#"{"name": "a b", "source": "./x"}, 7, {"source": "./x"}, {"name": "fine", "source": "./fine", "strict": false,
        "skills": ["./skills/pdf", "ocr/SKILL.md", "./"], "hooks": {"PreToolUse": []}, "mcpServers": {"db": {}}},
        {"name": "fine", "source": "./again"}, {"name": "helped", "source": "./x", "headersHelper": "get-key"},
        {"name": "typed", "source": "./x", "skills": 7}, {"name": "out", "source": "./x", "skills": "../y"}"#,
    );
    let told: Vec<String> = found
        .entries
        .iter()
        .map(|entry| {
            entry.as_ref().map_or_else(|it| format!("{} {}", it.name, it.reason), |it| it.name.clone())
        })
        .collect();
    assert_eq!(
        told,
        [
            "a b has an invalid name: spaces, `@`, `:`, `#`, `/` and `\\` are not allowed",
            "entry 2 is not an object",
            "entry 3 has no `name`",
            "fine",
            "fine has the name of an entry before it",
            "helped has a `headersHelper`, which runs a program; metier never does",
            "typed has a `skills` that is neither a path nor a list of paths",
            "out has the path `../y`, which leads out of its directory",
        ]
    );
    let fine = found.entry("fine").unwrap();
    assert_eq!(fine.skills.as_deref().unwrap(), ["skills/pdf", "ocr", ""]);
    assert_eq!(
        (fine.is_strict, fine.hooks.as_slice(), fine.mcp_servers.as_slice()),
        (false, &["PreToolUse".to_owned()][..], &["db".to_owned()][..])
    );
    assert_eq!(found.entry("other").unwrap_err(), "is not in the marketplace");
}

#[test]
fn a_file_that_cannot_be_used_has_a_reason() {
    for (bytes, reason) in [
        (
            &b"../.github/plugin/marketplace.json\n"[..],
            "is a link to `../.github/plugin/marketplace.json` that was checked in as text",
        ),
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"{\n\"name\": \"\xff\"}", "is not UTF-8 (line 2)"),
        (b"{\n<<<<<<< HEAD\n}", "has conflict markers of git"),
        (b"{\"name\": \"x\",}", "is not valid JSON: trailing comma at line 1 column 14"),
        (b"{} {}", "is not valid JSON: trailing characters"),
        (b"[]", "is not a JSON object"),
        (b"{\"plugins\": []}", "has no `name`"),
        (b"{\"name\": 1, \"plugins\": []}", "has a `name` that is not text"),
        (b"{\"name\": \"x\"}", "has no list `plugins`"),
        (b"{\"name\": \"x\", \"plugins\": {}}", "has no list `plugins`"),
        (
            b"{\"name\": \"x\", \"plugins\": [], \"metadata\": {\"pluginRoot\": \"../x\"}}",
            "leads out of its directory",
        ),
    ] {
        let told = Marketplace::parse(bytes).unwrap_err();
        assert!(told.contains(reason), "{told}");
    }
    let deep = "[".repeat(100_000);
    assert!(Marketplace::parse(format!("{{\"name\": \"x\", \"plugins\": {deep}").as_bytes()).is_err());
    // What is odd and fine.
    let odd =
        "\u{feff}{\r\n\"name\": \"x\",\r\n\"metadata\": {\"pluginRoot\": \"./plugins\"}, \"plugins\": []}";
    assert_eq!(Marketplace::parse(odd.as_bytes()).unwrap().plugin_root.as_deref(), Some("plugins"));
}

const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";

#[test]
fn manifests_of_each_kind() {
    let parse = |text: &str, kind| PluginManifest::parse(text.as_bytes(), kind);
    let agent = format!(
        r#"{{"$schema": "{SCHEMA}", "name": "acme.pdf", "version": "0.1.28+x", "skills": "./skills/"}}"#
    );
    assert!(PluginManifest::is_agent_plugins(agent.as_bytes()));
    let found = parse(&agent, ManifestKind::AgentPlugins).unwrap();
    assert_eq!(found.notes, ["ignored `skills`: it is not a field of Agent Plugins"]);
    assert_eq!((found.name.as_str(), found.skills.len(), found.has_usual_place), ("acme.pdf", 0, true));
    for (text, reason) in [
        (r#"{"name": "x"}"#.to_owned(), "has no `$schema`"),
        (format!(r#"{{"$schema": "{SCHEMA}"}}"#), "has no `name`"),
        (format!(r#"{{"$schema": "{SCHEMA}", "name": "Pdf"}}"#), "has the invalid name `Pdf`"),
        (format!(r#"{{"$schema": "{SCHEMA}", "name": "a--b"}}"#), "has the invalid name `a--b`"),
        (
            format!(r#"{{"$schema": "{SCHEMA}", "name": "x", "author": "me"}}"#),
            "has a `author` of the wrong type",
        ),
        (
            format!(r#"{{"$schema": "{SCHEMA}", "name": "x", "keywords": [1]}}"#),
            "has a `keywords` of the wrong type",
        ),
        (
            SCHEMA.replace("1.0.0", "9.0.0").replace("https", "{\"$schema\": \"https")
                + "\", \"name\": \"x\"}",
            "unsupported `$schema`",
        ),
    ] {
        let told = parse(&text, ManifestKind::AgentPlugins).unwrap_err();
        assert!(told.contains(reason), "{text}: {told}");
    }
    let claude = r#"{"name": "pdf", "author": "me", "skills": ["./extra", "one/SKILL.md"], "hooks": "./hooks.json",
        "mcpServers": {"mcpServers": {"db": {"command": "x"}}}, "contributors": []}"#;
    assert!(!PluginManifest::is_agent_plugins(claude.as_bytes()));
    let found = parse(claude, ManifestKind::Claude).unwrap();
    assert_eq!((found.skills, found.has_usual_place), (vec!["extra".to_owned(), "one".to_owned()], true));
    assert_eq!((found.hooks, found.mcp_servers), (vec!["./hooks.json".to_owned()], vec!["db".to_owned()]));
    let cursor = parse(r#"{"name": "pdf", "skills": "my-skills"}"#, ManifestKind::Cursor).unwrap();
    assert!(!cursor.has_usual_place);
    assert!(parse(r#"{"name": "pdf"}"#, ManifestKind::Cursor).unwrap().has_usual_place);
    assert!(parse(r#"{"name": "a:b"}"#, ManifestKind::Codex).unwrap_err().contains("invalid name `a:b`"));
    assert!(parse(r#"{"name": "pdf", "skills": "/etc"}"#, ManifestKind::Gemini).is_err());
}
