//! Skills in a git repository: the tree of one commit, read without a checkout.
//!
//! `git` only fetches objects and prints them by id. Hooks, filters, attributes and submodules of the repository have
//! no effect.

mod program;

use std::collections::BTreeSet;

use metier_skill::SKILL_FILES;

use self::program::{Blob, Git, LeftOut};
use super::{FetchContext, FetchedSource, SkillSource, folder_name};
use crate::archive::{ArchiveLimits, name};
use crate::install::SkillSelection;
use crate::staging::Basket;
use crate::{LockedSkill, StoreError};

/// A git repository at a reference, as a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSource {
    url: String,
    reference: Option<String>,
    directory: Option<String>,
    /// The commit to use, and to which the reference must have pointed.
    commit: Option<String>,
    /// The commit that a tag must still point to.
    was: Option<String>,
    /// Whether a tag may point to another commit.
    lets_move: bool,
}

impl GitSource {
    /// Parses `owner/repository` or a URL, with optional `//directory` and `#reference`.
    pub(super) fn parse(text: &str, host: &str) -> Result<Self, StoreError> {
        let wrong = |problem: &str| StoreError::Source { text: text.to_owned(), problem: problem.to_owned() };
        let (rest, reference) = match text.split_once('#') {
            Some((rest, reference)) => (rest, Some(reference)),
            None => (text, None),
        };
        let scheme = rest.find("://").map_or(0, |at| at + 3);
        let (place, directory) = match rest[scheme..].split_once("//") {
            Some((place, directory)) => (&rest[..scheme + place.len()], Some(directory)),
            None => (rest, None),
        };
        let place = place.strip_prefix("git+").unwrap_or(place);
        let is_plain = |part: &str| !part.is_empty() && !part.starts_with('-') && part.chars().all(is_word);
        let url = match place.split_once('/') {
            Some((owner, name)) if scheme == 0 && is_plain(owner) && is_plain(name) => {
                format!("{}/{place}", host.trim_end_matches('/'))
            }
            _ => place.to_owned(),
        };
        if !is_address(&url) {
            return Err(wrong(&format!(
                "is not an existing path, `owner/repository` or the URL of a git repository{}",
                nearly(place)
            )));
        }
        let account = url.split_once("://").and_then(|(_, rest)| rest.split('/').next()?.rsplit_once('@'));
        if account.is_some_and(|(account, _)| account.contains(':')) {
            return Err(StoreError::Source {
                text: url.split('@').next_back().unwrap_or_default().to_owned(),
                problem: "contains a password, which would be stored in the lockfile; use git's credential helper instead".to_owned(),
            });
        }
        let is_fine = |reference: &str| {
            !reference.is_empty()
                && !reference.starts_with('-')
                && !reference.contains("..")
                && !reference.contains([' ', '~', '^', ':', '?', '*', '[', '\\'])
        };
        if reference.is_some_and(|reference| !is_fine(reference)) {
            return Err(wrong("has an invalid branch, tag or commit after `#`"));
        }
        let directory =
            directory.map(|directory| directory.trim_matches('/')).filter(|directory| !directory.is_empty());
        if let Some(directory) = directory {
            name::check(directory.as_bytes(), ArchiveLimits::default().depth)?;
        }
        Ok(Self {
            url,
            reference: reference.map(str::to_owned),
            directory: directory.map(str::to_owned),
            commit: None,
            was: None,
            lets_move: false,
        })
    }

    /// The current source of an installed skill, for updates.
    pub(crate) fn following(skill: &LockedSkill) -> Self {
        Self { commit: None, was: skill.commit.clone(), ..Self::locked(skill) }
    }

    /// The same, allowing tags to move or not.
    pub(crate) fn letting_tags_move(self, lets_move: bool) -> Self {
        Self { lets_move, ..self }
    }

    /// The exact commit that a skill was locked at.
    pub(crate) fn locked(skill: &LockedSkill) -> Self {
        let (url, reference, commit) = (skill.source.clone(), skill.reference.clone(), skill.commit.clone());
        Self { url, reference, directory: None, commit, was: None, lets_move: false }
    }
}

/// A suggestion for a mistyped source.
fn nearly(place: &str) -> String {
    let parts: Vec<&str> = place.split('/').collect();
    match parts[..] {
        [host, _, _] if host.contains('.') => format!("; did you mean `https://{place}`?"),
        [owner, name, ..] if parts.len() > 2 => {
            format!("; write a directory after two slashes: `{owner}/{name}//{}`", parts[2..].join("/"))
        }
        [_, name] if name.contains('@') => {
            format!("; write a reference after `#`: `{}`", place.replace('@', "#"))
        }
        _ => String::new(),
    }
}

/// Whether this is an address for git: with a known protocol, and not parsed as an option.
pub(crate) fn is_address(url: &str) -> bool {
    let known = ["https://", "http://", "ssh://", "git://", "file://"];
    let is_url = known.iter().any(|known| url.starts_with(known));
    // `user@host:path`, the short form for ssh.
    let is_ssh = url.split_once(':').is_some_and(|(who, path)| {
        who.contains('@') && !who.contains(['/', ' ']) && !who.contains("@-") && !path.starts_with(':')
    });
    (is_url || is_ssh) && !url.starts_with('-')
}

/// Whether this is a commit id.
pub(crate) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

const fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

impl SkillSource for GitSource {
    fn name(&self) -> String {
        self.url.clone()
    }

    fn fetch(
        &self,
        wanted: &SkillSelection,
        basket: &Basket<'_>,
        fetching: &FetchContext<'_>,
    ) -> Result<FetchedSource, StoreError> {
        (fetching.progress)(&format!("fetching {}", self.url));
        let git = Git::begin(fetching, basket.scratch()?)?;
        let (reference, commit) = self.resolve(&git)?;
        (fetching.progress)("reading");
        // Only the requested paths are listed; the limits and name checks apply to nothing else.
        let mut paths = match wanted {
            SkillSelection::At(paths) => paths.clone(),
            _ => self.directory.iter().cloned().collect(),
        };
        paths.extend(paths.clone().iter().map(|path| format!("{path}.sig")));
        let (blobs, others) = git.tree(&commit, &paths, &fetching.limits)?;
        let sorted = self.in_folders(blobs, wanted)?;
        git.hand_out(&sorted.blobs, &fetching.limits, basket)?;
        let below = self.directory.as_ref().map(|directory| format!("{directory}/")).unwrap_or_default();
        let note =
            |left: &LeftOut| Some(format!("skipped {}: {}", left.path.strip_prefix(&below)?, left.why));
        Ok(FetchedSource {
            reference,
            commit: Some(commit),
            base: self.directory.clone(),
            folder: sorted.folder,
            skills: sorted.skills,
            notes: others.iter().filter_map(note).collect(),
            ..FetchedSource::default()
        })
    }
}

impl GitSource {
    /// Resolves the reference to a commit and fetches it. Returns the full name of the reference, because a tag and a
    /// branch may have the same short name.
    fn resolve(&self, git: &Git<'_>) -> Result<(Option<String>, String), StoreError> {
        let wanted = self.reference.as_deref();
        // Text that looks like a commit id is one; a branch or tag with such a name would be misleading.
        let id = wanted.filter(|text| is_commit(text)).map(str::to_ascii_lowercase);
        let listed =
            git.run("list the references of the repository", &["ls-remote", "--symref", "--", &self.url])?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let found = match wanted {
            _ if id.is_some() => None,
            Some(wanted) => find(&listed, wanted),
            None => head(&listed),
        };
        if let (Some(locked), Some((full, now))) = (self.commit.as_ref().or(self.was.as_ref()), &found)
            && let Some(tag) = full.strip_prefix("refs/tags/")
            && now != locked
            && !self.lets_move
        {
            return Err(StoreError::TagMoved {
                source_name: self.url.clone(),
                tag: tag.to_owned(),
                was: locked.clone(),
                now: now.clone(),
            });
        }
        let (full, commit) = match (&self.commit, found, id) {
            (Some(locked), found, _) => (found.map(|(full, _)| full), locked.clone()),
            (None, Some((full, commit)), _) => (Some(full), commit),
            (None, None, Some(id)) => (None, id),
            (None, None, None) => {
                let name = wanted.unwrap_or("HEAD");
                let is_short = name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
                let hint = if is_short { "; a commit id needs all 40 digits" } else { "" };
                let reason = format!("{} has no branch or tag `{name}`{hint}", self.url);
                return Err(StoreError::Git { doing: "find the reference", reason });
            }
        };
        git.fetch(&self.url, &commit, full.as_deref())?;
        let reference = full.filter(|full| full != "HEAD").or_else(|| wanted.map(str::to_owned));
        Ok((reference, commit))
    }

    /// The files of the requested skills, in folders. A repository or directory that is itself a skill gets a folder
    /// with its name.
    fn in_folders(&self, blobs: Vec<Blob>, wanted: &SkillSelection) -> Result<Sorted, StoreError> {
        let base = self.directory.as_deref().unwrap_or_default();
        let folders = blobs.iter().map(|blob| blob.path.rsplit_once('/').unwrap_or(("", &blob.path)));
        let found =
            folders.filter(|(_, file)| SKILL_FILES.contains(file)).map(|(folder, _)| folder.to_owned());
        let mut skills: BTreeSet<String> = found.collect();
        if let SkillSelection::At(paths) = wanted {
            skills.retain(|folder| paths.contains(folder));
        } else if skills.contains(base) {
            let folder = folder_name(self.directory.as_deref().unwrap_or(&self.url));
            let name = |path: &str| match path.strip_prefix(base) {
                Some(rest) if !base.is_empty() => format!("{folder}{rest}"),
                _ => format!("{folder}/{path}"),
            };
            let blobs = blobs
                .into_iter()
                .map(|blob| {
                    let path = name(&blob.path);
                    blob.at(path)
                })
                .collect();
            return Ok(Sorted { blobs, skills: vec![folder.clone()], folder: Some(folder) });
        }
        if let Some(directory) = self.directory.as_ref().filter(|_| blobs.is_empty()) {
            let reason = format!("{} has no directory `{directory}`", self.url);
            return Err(StoreError::Git { doing: "list the files", reason });
        }
        let below = if base.is_empty() { String::new() } else { format!("{base}/") };
        let all = skills.iter().filter_map(|folder| folder.strip_prefix(&below)).map(str::to_owned).collect();
        if !matches!(wanted, SkillSelection::At(_)) {
            skills.retain(|folder| wanted.has(folder.rsplit('/').next().unwrap_or(folder)));
        }
        let is_wanted = |path: &str| {
            let signs = path.strip_suffix(".sig").is_some_and(|folder| skills.contains(folder));
            signs || path.match_indices('/').any(|(at, _)| skills.contains(&path[..at]))
        };
        let blobs = blobs.into_iter().filter(|blob| is_wanted(&blob.path)).filter_map(|blob| {
            let path = blob.path.strip_prefix(&below)?.to_owned();
            Some(blob.at(path))
        });
        Ok(Sorted { blobs: blobs.collect(), skills: all, folder: None })
    }
}

/// The files to read.
struct Sorted {
    blobs: Vec<Blob>,
    /// The folders of all skills, requested or not.
    skills: Vec<String>,
    /// The folder that was added for a skill without a folder of its own.
    folder: Option<String>,
}

/// The default branch of a repository, and its commit.
fn head(listed: &str) -> Option<(String, String)> {
    let full = listed.lines().find_map(|line| line.strip_prefix("ref: ")?.strip_suffix("\tHEAD"));
    // HEAD may be detached.
    let detached =
        || Some(("HEAD".to_owned(), listed.lines().find_map(|line| line.strip_suffix("\tHEAD"))?.to_owned()));
    full.map_or_else(detached, |full| find(listed, full))
}

/// The full name of a reference and its commit. A tag takes precedence over a branch, as in git.
fn find(listed: &str, wanted: &str) -> Option<(String, String)> {
    let of = |full: &str| {
        listed
            .lines()
            .find_map(|line| line.split_once('\t').filter(|(_, name)| *name == full))
            .map(|(id, _)| id.to_owned())
    };
    let names = [wanted.to_owned(), format!("refs/tags/{wanted}"), format!("refs/heads/{wanted}")];
    names.into_iter().filter(|full| full.starts_with("refs/")).find_map(|full| {
        // An annotated tag has a separate line for the commit it points to.
        let commit = of(&format!("{full}^{{}}")).or_else(|| of(&full))?;
        Some((full, commit))
    })
}
