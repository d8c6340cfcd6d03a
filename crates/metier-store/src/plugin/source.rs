//! Where a marketplace says that a plugin is.

use metier_skill::Digest;
use serde_json::{Map, Value};

use super::json::{path, text};
use crate::GIT_HOST;
use crate::source::git::is_commit;
use crate::source::{SourceAddress, SourcePlace};

/// Where a plugin is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PluginSource {
    /// A directory beside the marketplace; empty for the directory of the marketplace itself.
    Path(String),
    /// A git repository, or a directory in it.
    Git {
        /// An address for git.
        url: String,
        /// The directory.
        path: Option<String>,
        /// A branch or a tag.
        reference: Option<String>,
        /// The commit; it has precedence over the reference.
        commit: Option<String>,
    },
    /// An npm package.
    Npm {
        /// Its name.
        package: String,
        /// A version, a range or a tag.
        range: Option<String>,
        /// The registry, if it is not the usual one.
        registry: Option<String>,
    },
    /// An archive at a URL.
    Archive {
        /// The URL.
        url: String,
        /// Its digest.
        digest: Option<Digest>,
    },
}

const KINDS: [&str; 6] = ["local", "github", "url", "git-subdir", "npm", "archive"];

impl PluginSource {
    /// Parses the `source` of an entry. The error is what is wrong with the entry.
    pub(super) fn parse(source: Option<&Value>) -> Result<Self, String> {
        match source {
            None => Err("has no `source`".to_owned()),
            Some(Value::String(text)) => of_text(text),
            Some(Value::Object(object)) => of_object(object),
            Some(_) => Err("has a `source` that is neither a path nor an object".to_owned()),
        }
    }
}

fn of_text(text: &str) -> Result<PluginSource, String> {
    if text.contains("://") || (text.contains('@') && text.contains(':')) {
        return Err(format!(
            "has the URL `{text}` as its `source`; an object is expected: {{\"source\": \"url\", \"url\": …}}"
        ));
    }
    if KINDS.contains(&text) {
        return Err(format!(
            "has the `source` `{text}` as text; an object is expected: {{\"source\": \"{text}\", …}}"
        ));
    }
    path(text).map(PluginSource::Path)
}

fn of_object(object: &Map<String, Value>) -> Result<PluginSource, String> {
    let Some(kind) = text(object, "source")? else {
        let keys: Vec<String> = object.keys().map(|key| format!("`{key}`")).collect();
        let found = if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") };
        let kinds = KINDS.map(|kind| format!("`{kind}`")).join(", ");
        return Err(format!(
            "has a `source` without its kind: `source` ({kinds}) is expected, {found} was found"
        ));
    };
    let needed = |key: &str| match text(object, key)? {
        Some(value) if !value.is_empty() => Ok(value),
        _ => Err(format!("has a `source` of the kind `{kind}` without `{key}`")),
    };
    match kind {
        "local" => path(needed("path")?).map(PluginSource::Path),
        "github" => git(object, repository(needed("repo")?)?),
        "url" => git(object, git_url(needed("url")?)?),
        "git-subdir" => {
            needed("path")?;
            let url = needed("url")?;
            let url = if url.contains(':') { git_url(url)? } else { repository(url)? };
            git(object, url)
        }
        "npm" => npm(object, needed("package")?),
        "archive" => archive(object, needed("url")?),
        "command" => Err("runs a program to get the plugin, which metier never does".to_owned()),
        kind => {
            let kinds = KINDS.map(|kind| format!("`{kind}`")).join(", ");
            Err(format!("has a `source` of the unknown kind `{kind}`; supported: {kinds}"))
        }
    }
}

/// `owner/repository` at GitHub.
fn repository(text: &str) -> Result<String, String> {
    match SourceAddress::parse(text, GIT_HOST) {
        Ok(SourceAddress { place: SourcePlace::Git(git), skill: None })
            if git.reference.is_none() && git.directory.is_none() && git.tree.is_none() =>
        {
            Ok(git.url)
        }
        _ => Err(format!("has the `repo` `{text}`; `owner/repository` is expected")),
    }
}

/// An address for git, encrypted or on this machine.
fn git_url(text: &str) -> Result<String, String> {
    let wrong = || format!("has the `url` `{text}`, which is not the URL of a git repository");
    let is_web = text.starts_with("https://") || text.starts_with("http://");
    let parsed =
        SourceAddress::parse(&if is_web { format!("git+{text}") } else { text.to_owned() }, GIT_HOST);
    let SourcePlace::Git(git) = parsed.map_err(|_| wrong())?.place else { return Err(wrong()) };
    let is_secure =
        ["https://", "ssh://"].iter().any(|known| git.url.starts_with(known)) || !git.url.contains("://");
    let host = git.url.strip_prefix("http://").map(|_| crate::source::host_of(&git.url));
    if !is_secure && !host.is_some_and(crate::source::is_this_machine) {
        return Err(format!("has the `url` `{text}`, which is neither `https:` nor `ssh:`"));
    }
    if git.reference.is_some() || git.directory.is_some() {
        return Err(format!("has the `url` `{text}`; `ref` and `path` are keys of their own"));
    }
    Ok(git.url)
}

fn git(object: &Map<String, Value>, url: String) -> Result<PluginSource, String> {
    let directory = text(object, "path")?.map(path).transpose()?.filter(|path| !path.is_empty());
    if object.contains_key("commit") {
        return Err("has a `commit`; `sha` is expected".to_owned());
    }
    let reference = text(object, "ref")?.filter(|reference| !reference.is_empty());
    let is_fine = |reference: &str| {
        SourceAddress::parse(&format!("a/b#{}", reference.replace('@', "%40")), GIT_HOST).is_ok()
    };
    if reference.is_some_and(|reference| !is_fine(reference)) {
        return Err("has an invalid `ref`".to_owned());
    }
    let commit = text(object, "sha")?;
    if commit.is_some_and(|commit| !is_commit(commit) || commit.chars().any(|c| c.is_ascii_uppercase())) {
        return Err("has an invalid `sha`; 40 lower-case hexadecimal digits are expected".to_owned());
    }
    let (reference, commit) = (reference.map(str::to_owned), commit.map(str::to_owned));
    Ok(PluginSource::Git { url, path: directory, reference, commit })
}

fn npm(object: &Map<String, Value>, package: &str) -> Result<PluginSource, String> {
    let version = text(object, "version")?.filter(|version| !version.is_empty());
    let at = version.map(|version| format!("@{version}")).unwrap_or_default();
    let parsed = SourceAddress::parse(&format!("npm:{package}{at}"), GIT_HOST);
    let Ok(SourceAddress { place: SourcePlace::Npm { package, range }, skill: None }) = parsed else {
        return Err(format!("has the npm package `{package}{at}`, which is not valid"));
    };
    let registry = text(object, "registry")?.map(str::to_owned);
    if registry.as_ref().is_some_and(|registry| !registry.starts_with("https://")) {
        return Err("has a `registry` that is not an `https:` URL".to_owned());
    }
    Ok(PluginSource::Npm { package, range, registry })
}

fn archive(object: &Map<String, Value>, url: &str) -> Result<PluginSource, String> {
    if !url.starts_with("https://") {
        return Err(format!("has an archive at `{url}`; an `https:` URL is expected"));
    }
    let digest = text(object, "sha256")?;
    let digest =
        digest.map(|digest| format!("sha256:{}", digest.strip_prefix("sha256:").unwrap_or(digest)).parse());
    let digest =
        digest.transpose().map_err(|_| "has an invalid `sha256`; 64 hexadecimal digits are expected")?;
    Ok(PluginSource::Archive { url: url.to_owned(), digest })
}
