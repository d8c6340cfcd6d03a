//! Web addresses: repositories, downloads and sites.

use metier_skill::{Digest, SkillName};
use percent_encoding::percent_decode_str;

use super::{
    ARCHIVES, GitAddress, SourceAddress, SourcePlace, ambiguous, is_plain, referenced, skill_name,
    split_fragment, wrong,
};
use crate::StoreError;

/// Hosts whose addresses are those of repositories, and what precedes `REFERENCE/DIRECTORY` in them.
const FORGES: [(&str, &[&str]); 4] = [
    ("github.com", &["tree", "blob"]),
    ("gitlab.com", &["tree", "blob"]),
    ("bitbucket.org", &["src"]),
    ("codeberg.org", &["src/branch", "src/tag", "src/commit"]),
];

/// Where sites have their index, the current place first.
pub(crate) const WELL_KNOWN: [&str; 2] = ["/.well-known/agent-skills", "/.well-known/skills"];

/// A web address and its parts.
struct Web<'a> {
    text: &'a str,
    /// `https://host`.
    origin: &'a str,
    host: &'a str,
    /// The path, from its slash on.
    path: &'a str,
    /// The query, without its mark.
    query: Option<&'a str>,
    fragment: Option<&'a str>,
}

/// A web address, by what is certain about it.
pub(super) fn parse(text: &str) -> Result<SourceAddress, StoreError> {
    let web = Web::split(text)?;
    let (origin, path) = (web.origin, web.path);
    if let Some((at, known)) = WELL_KNOWN.iter().find_map(|known| Some((find_part(path, known)?, known))) {
        let skill = path[at + known.len()..].trim_matches('/').trim_end_matches("index.json");
        return web.site(&path[..at], skill.trim_end_matches('/'));
    }
    if let Some(source) = web.repository()? {
        return Ok(source);
    }
    if web.is_download() {
        return web.download();
    }
    if path.trim_matches('/').is_empty() && web.fragment.is_none() {
        return web.site("", "");
    }
    if web.fragment.is_some_and(|fragment| !fragment.starts_with("sha256:")) && web.query.is_none() {
        return super::git(text, text);
    }
    let (address, _) = split_fragment(text);
    let site = format!("`{origin}{}{}` for a site with skills", path.trim_end_matches('/'), WELL_KNOWN[0]);
    Err(ambiguous(text, &format!("`git+{address}` for a git repository"), &site))
}

impl<'a> Web<'a> {
    fn split(text: &'a str) -> Result<Self, StoreError> {
        let (rest, fragment) = split_fragment(text);
        let after = |(scheme, after): (&str, &str)| after.starts_with("//").then_some(scheme.len() + 3);
        let begin = rest.split_once(':').and_then(after);
        let begin = begin.ok_or_else(|| wrong(text, "has no `//` after its scheme; write `https://…`"))?;
        check_authority(text, rest)?;
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let end = rest[begin..].find('/').map_or(rest.len(), |at| begin + at);
        let host = host_of(rest);
        let path = if end == rest.len() { "/" } else { &rest[end..] };
        Ok(Self { text, origin: &rest[..end], host, path, query, fragment })
    }

    /// The repository that this is the address of, or of a directory in it.
    fn repository(&self) -> Result<Option<SourceAddress>, StoreError> {
        let (path, origin) = (self.path, self.origin);
        if let Some((repository, tree)) = path.split_once("/-/tree/").or_else(|| path.split_once("/-/blob/"))
        {
            return self.tree(repository, tree).map(Some);
        }
        if path.contains("/_git/") && self.query.is_some() {
            return self.azure().map(Some);
        }
        let forge = FORGES.iter().find(|(host, _)| *host == self.host);
        if let Some((_, words)) = forge {
            let parts: Vec<&str> = path.splitn(4, '/').collect();
            if let [_, owner, name, rest] = parts[..] {
                let tree = words.iter().find_map(|word| rest.strip_prefix(word)?.strip_prefix('/'));
                if let Some(tree) = tree.filter(|tree| !tree.is_empty()) {
                    return self.tree(&format!("/{owner}/{name}"), tree).map(Some);
                }
            }
        }
        if self.query.is_some() || (self.is_download() && !is_repository(&format!("{origin}{path}"))) {
            return Ok(None);
        }
        let (place, directory) = match path[1..].split_once("//") {
            Some((place, directory)) if !place.trim_matches('/').is_empty() => {
                (&path[..=place.len()], directory)
            }
            _ => (path, ""),
        };
        let url = format!("{origin}{}", place.trim_end_matches('/'));
        if directory.is_empty() && !is_repository(&url) {
            if forge.is_some() && place.len() > 1 {
                let problem = "is not the address of a repository; use `OWNER/REPOSITORY`, a URL that ends in `.git`, or \
                               a directory on a branch (`/tree/…`)";
                return Err(wrong(self.text, problem));
            }
            return Ok(None);
        }
        referenced(self.text, &url, directory, self.fragment).map(Some)
    }

    /// `…/tree/REFERENCE/DIRECTORY`.
    fn tree(&self, repository: &str, tree: &str) -> Result<SourceAddress, StoreError> {
        if repository.contains("//") {
            return Err(wrong(self.text, "has `//` in the address of its repository; write `/`"));
        }
        let tree = decode(tree);
        let mut tree = tree.trim_matches('/');
        // All of them: what is written without the last one is read again.
        while let Some(folder) =
            metier_skill::SKILL_FILES.iter().find_map(|file| tree.strip_suffix(file)?.strip_suffix('/'))
        {
            tree = folder;
        }
        let is_fine = |part: &str| !part.is_empty() && !matches!(part, "." | "..");
        let is_odd = |c: char| "#%?\\".contains(c) || c.is_control() || metier_skill::is_invisible(c);
        if repository.trim_matches('/').is_empty()
            || !tree.split('/').all(is_fine)
            || tree.starts_with('-')
            || tree.contains(is_odd)
        {
            return Err(wrong(self.text, "has an invalid branch or directory"));
        }
        let skill = match self.fragment {
            None => None,
            Some(fragment) => match fragment.strip_prefix('@') {
                Some(skill) => Some(skill_name(self.text, skill, || "use `--skill`".to_owned())?),
                None => return Err(wrong(self.text, "has a second reference after `#`; remove one of them")),
            },
        };
        let url = format!("{}{}", self.origin, repository.trim_end_matches('/'));
        let git = GitAddress { url, tree: Some(tree.to_owned()), ..GitAddress::default() };
        Ok(SourceAddress { place: SourcePlace::Git(git), skill })
    }

    /// `https://dev.azure.com/organisation/project/_git/repository?path=/x&version=GBmain`.
    fn azure(&self) -> Result<SourceAddress, StoreError> {
        let (mut directory, mut reference) = (String::new(), None);
        for (name, value) in self.query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='))
        {
            match name {
                "path" => directory = decode(value),
                "version" => reference = ["GB", "GT", "GC"].iter().find_map(|kind| value.strip_prefix(kind)),
                _ => {}
            }
        }
        let place = self.path.trim_end_matches('/');
        // In an address without a query a directory would follow it.
        if place.contains("//") {
            return Err(wrong(self.text, "has `//` before its query; write the directory as `path=/…`"));
        }
        let url = format!("{}{place}", self.origin);
        if reference.is_some() && self.fragment.is_some() {
            return Err(wrong(self.text, "has a second reference after `#`; remove one of them"));
        }
        referenced(self.text, &url, directory.trim_start_matches('/'), reference.or(self.fragment))
    }

    fn is_download(&self) -> bool {
        let file = self.path.rsplit('/').next().unwrap_or_default();
        ARCHIVES.iter().any(|ending| file.ends_with(ending)) || metier_skill::SKILL_FILES.contains(&file)
    }

    fn download(&self) -> Result<SourceAddress, StoreError> {
        self.check_secure()?;
        let (url, _) = split_fragment(self.text);
        let (digest, skill) = match self.fragment.map(|fragment| (fragment, fragment.split_once('@'))) {
            None => (None, None),
            Some((digest, None)) => (Some(digest), None),
            Some((_, Some((digest, skill)))) => {
                (Some(digest).filter(|digest| !digest.is_empty()), Some(skill))
            }
        };
        let digest = digest.map(str::parse::<Digest>).transpose().map_err(|_| {
            wrong(self.text, "has no valid digest after `#`; it must be `sha256:` and 64 hexadecimal digits")
        })?;
        let skill =
            skill.map(|skill| skill_name(self.text, skill, || "use `--skill`".to_owned())).transpose()?;
        Ok(SourceAddress { place: SourcePlace::Download { url: url.to_owned(), digest }, skill })
    }

    fn site(&self, path: &str, skill: &str) -> Result<SourceAddress, StoreError> {
        self.check_secure()?;
        if self.query.is_some() || self.fragment.is_some() {
            return Err(wrong(self.text, "is a site, so it cannot have a `?` or `#`"));
        }
        if !skill.is_empty() && SkillName::new(skill).is_err() {
            return Err(wrong(self.text, &format!("names `{skill}`, which is not a valid name of a skill")));
        }
        let url = format!("{}{}", self.origin, path.trim_end_matches('/'));
        let skill = (!skill.is_empty()).then(|| skill.to_owned());
        Ok(SourceAddress { place: SourcePlace::Site { url }, skill })
    }

    /// Plain HTTP is only for this machine.
    fn check_secure(&self) -> Result<(), StoreError> {
        if self.origin.starts_with("http://") && !is_this_machine(self.host) {
            return Err(wrong(
                self.text,
                "uses plain HTTP, which anyone on the way can change; use `https://`",
            ));
        }
        if self.origin.contains('@') {
            return Err(wrong(self.text, "contains an account; it would be stored in the lockfile"));
        }
        Ok(())
    }
}

/// The host of a URL, without its port.
pub(crate) fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    match host.find(']') {
        Some(end) => &host[..=end],
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// Where whole parts of a path are.
fn find_part(path: &str, parts: &str) -> Option<usize> {
    let ends = |at: usize| path[at + parts.len()..].is_empty() || path[at + parts.len()..].starts_with('/');
    path.match_indices(parts).map(|(at, _)| at).find(|at| ends(*at))
}

/// Whether a host is this machine by its name alone.
pub(crate) fn is_this_machine(host: &str) -> bool {
    host == "localhost"
        || host == "[::1]"
        || (host.starts_with("127.") && host.parse::<std::net::Ipv4Addr>().is_ok())
}

/// Whether a web address can only be the one of a repository.
fn is_repository(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return true };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit('@').next().unwrap_or_default();
    let mut parts = path.split('/');
    let is_pair = || path.split('/').count() == 2 && path.split('/').all(is_plain);
    // Groups of GitLab can be nested.
    let is_group = || host == "gitlab.com" && path.contains('/') && path.split('/').all(is_plain);
    path.strip_suffix(".git").is_some()
        || parts.any(|part| part == "_git")
        || (FORGES.iter().any(|(known, _)| *known == host) && (is_pair() || is_group()))
}

/// Checks the account and the host of a URL. A password is not shown.
pub(super) fn check_authority(text: &str, url: &str) -> Result<(), StoreError> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let (account, host) =
        authority.rsplit_once('@').map_or((None, authority), |(who, host)| (Some(who), host));
    if account.is_some_and(|account| account.contains(':')) {
        return Err(StoreError::Source {
            text: host.to_owned(),
            problem:
                "contains a password, which would be stored in the lockfile; use git's credential helper or \
                      `~/.netrc` instead"
                    .to_owned(),
        });
    }
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, rest)) => {
            if name.parse::<std::net::Ipv6Addr>().is_err() {
                return Err(wrong(text, "has an invalid host"));
            }
            ("ip", rest.strip_prefix(':').or_else(|| rest.is_empty().then_some("1")).unwrap_or("?"))
        }
        None => host.split_once(':').unwrap_or((host, "1")),
    };
    if !name.is_ascii() {
        let problem = "has a host with letters that are not ASCII, which can look like another one; write it as \
                       `xn--…`";
        return Err(wrong(text, problem));
    }
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if name.is_empty()
        || !name.chars().all(is_letter)
        || name.starts_with(['-', '.'])
        || port.parse::<u16>().is_err()
    {
        return Err(wrong(text, "has an invalid host"));
    }
    Ok(())
}

/// Text with its `%40` and the like replaced.
pub(super) fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned)
}
