//! The grammar of sources: what users type and what lockfiles contain, as one type. It reads neither the disk nor the
//! network, and never guesses: text with two readings is refused with both of them.

mod name;
mod web;

use std::fmt;

use metier_skill::{Digest, SkillName};

pub(crate) use self::name::is_plugin_name;
pub(crate) use self::web::{WELL_KNOWN, host_of, is_this_machine};
use crate::StoreError;
use crate::archive::{ArchiveLimits, name as path_name};

/// A source of skills as text describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceAddress {
    /// Where the skills are.
    pub place: SourcePlace,
    /// The skill that the text chooses, as in `owner/repo@skill`.
    pub skill: Option<String>,
}

/// Where skills are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourcePlace {
    /// A directory or an archive on this machine.
    Path(String),
    /// A git repository.
    Git(GitAddress),
    /// One file at a URL: an archive, or a `SKILL.md`.
    Download {
        /// The URL.
        url: String,
        /// The digest that the file must have.
        digest: Option<Digest>,
    },
    /// A site with an index of skills below `/.well-known/agent-skills/`.
    Site {
        /// The URL that `/.well-known/` is appended to, without a slash at the end.
        url: String,
    },
    /// An npm package.
    Npm {
        /// Its name, with its scope.
        package: String,
        /// A version, a range of versions or a tag.
        range: Option<String>,
    },
    /// An artifact in an OCI registry.
    Oci(OciAddress),
    /// A skill in a registry with the `ClawHub` protocol.
    ClawHub {
        /// Its owner.
        owner: Option<String>,
        /// Its name.
        slug: String,
        /// A version or a tag.
        version: Option<String>,
    },
    /// A plugin of a marketplace.
    Plugin {
        /// Its name in the marketplace.
        plugin: String,
        /// The marketplace: a source that contains its file.
        marketplace: String,
    },
}

/// A git repository, and what is meant in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GitAddress {
    /// An address for git.
    pub url: String,
    /// A branch, a tag or a commit.
    pub reference: Option<String>,
    /// The directory with the skills.
    pub directory: Option<String>,
    /// A reference and a directory in one, as in `/tree/REFERENCE/DIRECTORY`. Only the repository knows where the
    /// reference ends, because it may contain slashes.
    pub tree: Option<String>,
}

/// An artifact in an OCI registry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OciAddress {
    /// The host, with its port.
    pub registry: String,
    /// The name of the repository.
    pub repository: String,
    /// A tag.
    pub tag: Option<String>,
    /// The digest of the manifest.
    pub digest: Option<Digest>,
}

/// Hosts that have a scheme of their own.
const HOSTS: [(&str, &str); 4] = [
    ("github", "https://github.com"),
    ("gitlab", "https://gitlab.com"),
    ("bitbucket", "https://bitbucket.org"),
    ("codeberg", "https://codeberg.org"),
];

/// The endings of archives.
const ARCHIVES: [&str; 5] = [".zip", ".skill", ".tar", ".tar.gz", ".tgz"];

const SCHEMES: &str = "`https:`, `ssh:`, `git:`, `file:`, `git+…:`, `github:`, `gitlab:`, `bitbucket:`, `codeberg:`, `npm:`, `oci:`, \
     `clawhub:`";

impl SourceAddress {
    /// Parses a source. `owner/repository` is on the host `git_host`.
    ///
    /// ```
    /// use metier_store::{GIT_HOST, SourceAddress};
    ///
    /// let source = SourceAddress::parse("acme/skills/tools#v2@pdf", GIT_HOST)?;
    /// assert_eq!(source.skill.as_deref(), Some("pdf"));
    /// assert_eq!(source.to_string(), "https://github.com/acme/skills//tools#v2@pdf");
    ///
    /// let error = SourceAddress::parse("https://example.org/skills", GIT_HOST).unwrap_err();
    /// assert_eq!(error.code(), "store-ambiguous");
    /// # Ok::<(), metier_store::StoreError>(())
    /// ```
    pub fn parse(text: &str, git_host: &str) -> Result<Self, StoreError> {
        if text.is_empty() || text.chars().any(is_hidden) || text.trim() != text {
            return Err(wrong(text, "is not a source; use a directory, an archive, a repository or a URL"));
        }
        if is_path(text) {
            return Ok(SourcePlace::Path(text.to_owned()).into());
        }
        if let Some((scheme, rest)) = scheme(text) {
            return with_scheme(text, scheme, rest);
        }
        match text.split_once('@') {
            // The short form for ssh.
            Some((user, rest)) if !user.contains('/') && rest.contains(':') => git(text, text),
            Some((plugin, marketplace)) if !plugin.contains(['/', '#']) => {
                name::plugin(text, plugin, marketplace)
            }
            _ if text.contains('/') => shorthand(text, text, git_host),
            _ => Ok(SourcePlace::Path(text.to_owned()).into()),
        }
    }

    /// Whether this could also be the name of a file: nothing in it says that it is not.
    pub(super) fn is_like_path(text: &str) -> bool {
        !text.is_empty() && !is_path(text) && scheme(text).is_none() && !text.chars().any(is_hidden)
    }
}

impl From<SourcePlace> for SourceAddress {
    fn from(place: SourcePlace) -> Self {
        Self { place, skill: None }
    }
}

fn with_scheme(text: &str, scheme: &str, rest: &str) -> Result<SourceAddress, StoreError> {
    if let Some((_, host)) = HOSTS.iter().find(|(known, _)| *known == scheme) {
        return shorthand(text, rest, host);
    }
    match scheme {
        "https" | "http" => web::parse(text),
        "ssh" | "git" | "file" => git(text, text),
        "git+https" | "git+http" | "git+ssh" | "git+file" => git(text, &text["git+".len()..]),
        "npm" => name::npm(text, rest),
        "oci" => name::oci(text, rest),
        "clawhub" => name::clawhub(text, rest),
        "mcp" | "mcp+https" | "mcp+http" => {
            Err(wrong(text, "is an MCP server; installing from MCP servers is not supported yet"))
        }
        host if host.contains('.') => Err(wrong(
            text,
            &format!("has no scheme or account; write `git@{text}` or `https://{host}/{rest}`"),
        )),
        _ => Err(wrong(text, &format!("has the unknown scheme `{scheme}:`; supported: {SCHEMES}"))),
    }
}

fn is_hidden(c: char) -> bool {
    c.is_control() || metier_skill::is_invisible(c)
}

fn wrong(text: &str, problem: &str) -> StoreError {
    StoreError::Source { text: text.to_owned(), problem: problem.to_owned() }
}

/// The error for text with two readings. Each says what to write, and what that means.
fn ambiguous(text: &str, first: &str, second: &str) -> StoreError {
    StoreError::Ambiguous { text: text.to_owned(), first: first.to_owned(), second: second.to_owned() }
}

/// Whether this can only be a path.
fn is_path(text: &str) -> bool {
    let has_drive =
        matches!(text.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    let is_archive = || scheme(text).is_none() && ARCHIVES.iter().any(|ending| text.ends_with(ending));
    text.starts_with(['.', '/', '~']) || text.contains('\\') || has_drive || is_archive()
}

/// The scheme, and the rest after the colon.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let is_scheme = scheme.len() > 1 && scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    (is_scheme && scheme.chars().all(is_letter)).then_some((scheme, rest))
}

/// `owner/repository[/directory][#reference][@skill]`.
fn shorthand(text: &str, rest: &str, host: &str) -> Result<SourceAddress, StoreError> {
    let (place, fragment) = split_fragment(rest);
    let (place, skill) = match place.rsplit_once('@') {
        Some((place, skill)) if !place.ends_with('/') => (place, Some(skill)),
        _ => (place, None),
    };
    let parts: Vec<&str> = place.split('/').collect();
    let (owner, repository, below) = match parts[..] {
        [owner, repository, ref below @ ..] if is_plain(owner) && is_plain(repository) => {
            (owner, repository, below.join("/"))
        }
        _ => {
            let problem = "is not an existing path, `owner/repository` or a URL";
            return Err(wrong(text, problem));
        }
    };
    let url = format!("{}/{owner}/{repository}", host.trim_end_matches('/'));
    if owner.contains('.') && !below.is_empty() && !below.starts_with('/') && rest == text {
        let first = format!("`https://{text}` for the host `{owner}`");
        return Err(ambiguous(text, &first, &format!("`{url}//{below}` for the owner `{owner}`")));
    }
    if let Some(skill) = skill
        && fragment.is_some()
    {
        let hint = format!("names a skill before the reference; write `{place}#REFERENCE@{skill}`");
        return Err(wrong(text, &hint));
    }
    if let Some(skill) = skill {
        if is_like_version(skill) {
            let first = format!("`{place}#{skill}` for the tag");
            return Err(ambiguous(text, &first, &format!("`{place}#@{skill}` for the skill")));
        }
        let git = git_address(text, &url, &below, None)?;
        let skill = skill_name(text, skill, || format!("write a reference after `#`: `{place}#{skill}`"))?;
        return Ok(SourceAddress { place: SourcePlace::Git(git), skill: Some(skill) });
    }
    referenced(text, &url, &below, fragment)
}

/// A URL for git: `URL[//directory][#reference][@skill]`.
fn git(text: &str, url: &str) -> Result<SourceAddress, StoreError> {
    let (rest, fragment) = split_fragment(url);
    let scheme = rest.find("://").map_or(0, |at| at + 3);
    let (place, directory) = match rest[scheme..].split_once("//") {
        Some((place, directory)) => (&rest[..scheme + place.len()], directory),
        None => (rest, ""),
    };
    if !super::git::is_address(place) {
        return Err(wrong(text, "is not the URL of a git repository"));
    }
    if scheme > 0 && !place.starts_with("file:") {
        web::check_authority(text, place)?;
    }
    referenced(text, place, directory, fragment)
}

/// What follows the address of a repository.
fn referenced(
    text: &str,
    url: &str,
    directory: &str,
    fragment: Option<&str>,
) -> Result<SourceAddress, StoreError> {
    let (reference, skill) = match fragment.map(|fragment| (fragment, fragment.rsplit_once('@'))) {
        None => (None, None),
        Some((whole, None)) => (Some(whole), None),
        Some((_, Some(("", skill)))) => (None, Some(skill)),
        Some((whole, Some((reference, skill)))) if is_like_version(skill) => {
            let tag = whole.replace('@', "%40");
            let first = format!("`#{tag}` for the reference `{whole}`");
            let second = format!("`#{reference}` with `--skill {skill}` for the skill");
            return Err(ambiguous(text, &first, &second));
        }
        Some((_, Some((reference, skill)))) => (Some(reference), Some(skill)),
    };
    let reference = reference.map(web::decode);
    let git = git_address(text, url, directory, reference)?;
    let hint = || "write `%40` for an `@` in a reference".to_owned();
    let skill = skill.map(|skill| skill_name(text, skill, hint)).transpose()?;
    Ok(SourceAddress { place: SourcePlace::Git(git), skill })
}

fn git_address(
    text: &str,
    url: &str,
    directory: &str,
    reference: Option<String>,
) -> Result<GitAddress, StoreError> {
    if reference.as_ref().is_some_and(|reference| !is_reference(reference)) {
        return Err(wrong(text, "has an invalid branch, tag or commit after `#`"));
    }
    let directory = directory.trim_matches('/');
    if !directory.is_empty() {
        path_name::check(directory.as_bytes(), ArchiveLimits::default().depth)?;
    }
    let directory = (!directory.is_empty()).then(|| directory.to_owned());
    Ok(GitAddress { url: url.to_owned(), reference, directory, tree: None })
}

/// Whether git allows this as the name of a reference, or it is a commit.
fn is_reference(text: &str) -> bool {
    let is_odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c) || metier_skill::is_invisible(c);
    !text.is_empty() && !text.starts_with('-') && !text.contains("..") && !text.contains(is_odd)
}

fn split_fragment(text: &str) -> (&str, Option<&str>) {
    text.split_once('#').map_or((text, None), |(rest, fragment)| (rest, Some(fragment)))
}

/// The part after `@`, which chooses a skill.
fn skill_name(text: &str, skill: &str, hint: impl FnOnce() -> String) -> Result<String, StoreError> {
    if SkillName::new(skill).is_err() {
        let problem = format!("names the skill `{skill}`, which is not a valid name; {}", hint());
        return Err(wrong(text, &problem));
    }
    Ok(skill.to_owned())
}

/// Whether text after `@` may be meant as a version, as other tools have it.
fn is_like_version(text: &str) -> bool {
    let number = text.strip_prefix('v').unwrap_or(text);
    super::git::is_commit(text) || text == "latest" || number.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether this can be the name of an owner or of a repository.
fn is_plain(part: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !part.is_empty() && !part.starts_with('-') && part.chars().all(is_word) && part.contains(|c| c != '.')
}

/// The text that [`SourceAddress::parse`] reads as the same.
impl fmt::Display for SourceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let skill = self.skill.as_deref();
        match &self.place {
            SourcePlace::Path(path) => f.write_str(path),
            SourcePlace::Git(git) => {
                let text = format!("{git}{}", git.mark(skill));
                // A web address can have another reading without this.
                let is_same = Self::parse(&text, "").is_ok_and(|source| source == *self);
                write!(f, "{}{text}", if is_same { "" } else { "git+" })
            }
            SourcePlace::Download { url, digest } => {
                let digest = digest.map(|digest| digest.to_string()).unwrap_or_default();
                let skill = skill.map(|skill| format!("@{skill}")).unwrap_or_default();
                let mark = if digest.is_empty() && skill.is_empty() { "" } else { "#" };
                write!(f, "{url}{mark}{digest}{skill}")
            }
            SourcePlace::Site { url } => {
                let skill = skill.map(|skill| format!("/{skill}")).unwrap_or_default();
                write!(f, "{url}/.well-known/agent-skills{skill}")
            }
            SourcePlace::Npm { package, range } => {
                write!(f, "npm:{package}{}{}", after('@', range.as_deref()), after('#', skill))
            }
            SourcePlace::Oci(oci) => write!(f, "{oci}{}", after('#', skill)),
            SourcePlace::ClawHub { owner, slug, version } => {
                let owner = owner.as_ref().map(|owner| format!("@{owner}/")).unwrap_or_default();
                write!(f, "clawhub:{owner}{slug}{}", after('@', version.as_deref()))
            }
            SourcePlace::Plugin { plugin, marketplace } => write!(f, "{plugin}@{marketplace}"),
        }
    }
}

/// The text after a mark, if there is any.
fn after(mark: char, text: Option<&str>) -> String {
    text.map(|text| format!("{mark}{text}")).unwrap_or_default()
}

impl GitAddress {
    /// The reference and the skill, as they are written after the repository.
    fn mark(&self, skill: Option<&str>) -> String {
        let encode = |text: &String| text.replace('%', "%25").replace('#', "%23").replace('@', "%40");
        let reference = self.reference.as_ref().map(encode).unwrap_or_default();
        let skill = after('@', skill);
        if reference.is_empty() && skill.is_empty() { String::new() } else { format!("#{reference}{skill}") }
    }
}

impl fmt::Display for GitAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)?;
        match (&self.tree, &self.directory) {
            (Some(tree), _) => write!(f, "/-/tree/{tree}"),
            (None, Some(directory)) => write!(f, "//{directory}"),
            (None, None) => Ok(()),
        }
    }
}

impl fmt::Display for OciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = self.digest.map(|digest| digest.to_string());
        let (tag, digest) = (after(':', self.tag.as_deref()), after('@', digest.as_deref()));
        write!(f, "oci://{}/{}{tag}{digest}", self.registry, self.repository)
    }
}
