//! Skills in a git repository: what is in the tree of one commit, read without ever checking it out.
//!
//! `git` fetches and hands out objects by their ids. No hook, filter, attribute or submodule of the repository has a say in that.

mod program;

use std::collections::BTreeSet;

use metier_skill::SKILL_FILES;

use self::program::{Blob, Git, LeftOut};
use super::{FetchContext, FetchedSource, SkillSource, folder_name};
use crate::archive::{ArchiveLimits, name};
use crate::install::SkillSelection;
use crate::staging::Basket;
use crate::{LockedSkill, StoreError};

/// A git repository, at a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSource {
    url: String,
    reference: Option<String>,
    directory: Option<String>,
    /// The commit that it must be, with what the reference was then.
    commit: Option<String>,
    /// The commit that a tag must still be.
    was: Option<String>,
    /// Whether a tag may be another commit all the same.
    lets_move: bool,
}

impl GitSource {
    /// `owner/repository` or any URL, with `//directory` and `#reference` after it.
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
                "neither on the disk nor `owner/repository` nor an address of a git repository{}",
                nearly(place)
            )));
        }
        let account = url.split_once("://").and_then(|(_, rest)| rest.split('/').next()?.rsplit_once('@'));
        if account.is_some_and(|(account, _)| account.contains(':')) {
            return Err(StoreError::Source {
                text: url.split('@').next_back().unwrap_or_default().to_owned(),
                problem: "an address with a password, which would stay in the lock; leave it to git's credential helper".to_owned(),
            });
        }
        let is_fine = |reference: &str| {
            !reference.is_empty()
                && !reference.starts_with('-')
                && !reference.contains("..")
                && !reference.contains([' ', '~', '^', ':', '?', '*', '[', '\\'])
        };
        if reference.is_some_and(|reference| !is_fine(reference)) {
            return Err(wrong("followed by something that is no branch, tag or commit"));
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

    /// Where a skill came from, as it is now.
    pub(crate) fn following(skill: &LockedSkill) -> Self {
        Self { commit: None, was: skill.commit.clone(), ..Self::locked(skill) }
    }

    /// The same, where somebody knows that tags are moved.
    pub(crate) fn letting_tags_move(self, lets_move: bool) -> Self {
        Self { lets_move, ..self }
    }

    /// The very commit that a skill was locked at.
    pub(crate) fn locked(skill: &LockedSkill) -> Self {
        let (url, reference, commit) = (skill.source.clone(), skill.reference.clone(), skill.commit.clone());
        Self { url, reference, directory: None, commit, was: None, lets_move: false }
    }
}

/// What somebody may have meant.
fn nearly(place: &str) -> String {
    let parts: Vec<&str> = place.split('/').collect();
    match parts[..] {
        [host, _, _] if host.contains('.') => format!("; is it `https://{place}`?"),
        [owner, name, ..] if parts.len() > 2 => {
            format!("; a directory comes after two strokes: `{owner}/{name}//{}`", parts[2..].join("/"))
        }
        [_, name] if name.contains('@') => {
            format!("; a reference comes after `#`: `{}`", place.replace('@', "#"))
        }
        _ => String::new(),
    }
}

/// Whether git is to be asked for something there: by a protocol that is known, and nothing that could be an option.
pub(crate) fn is_address(url: &str) -> bool {
    let known = ["https://", "http://", "ssh://", "git://", "file://"];
    let is_url = known.iter().any(|known| url.starts_with(known));
    // `user@host:path`, as ssh has it.
    let is_ssh = url.split_once(':').is_some_and(|(who, path)| {
        who.contains('@') && !who.contains(['/', ' ']) && !who.contains("@-") && !path.starts_with(':')
    });
    (is_url || is_ssh) && !url.starts_with('-')
}

/// Whether this is the id of a commit.
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
        // Of everything else in the repository nobody asks how large it is or what it is called.
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
            |left: &LeftOut| Some(format!("left out {}: {}", left.path.strip_prefix(&below)?, left.why));
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
    /// The commit that is meant, fetched, and how it is called: with all of its name, since a tag and a branch may have the same.
    fn resolve(&self, git: &Git<'_>) -> Result<(Option<String>, String), StoreError> {
        let wanted = self.reference.as_deref();
        // What looks like a commit is one: a branch or tag of that name is there to mislead.
        let id = wanted.filter(|text| is_commit(text)).map(str::to_ascii_lowercase);
        let listed = git.run("look at the repository", &["ls-remote", "--symref", "--", &self.url])?;
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
                let hint = if is_short { "; a commit needs all its 40 digits" } else { "" };
                let reason = format!("{} has no branch or tag `{name}`{hint}", self.url);
                return Err(StoreError::Git { doing: "find the reference", reason });
            }
        };
        git.fetch(&self.url, &commit, full.as_deref())?;
        let reference = full.filter(|full| full != "HEAD").or_else(|| wanted.map(str::to_owned));
        Ok((reference, commit))
    }

    /// The files of the skills that are wanted, in folders: a repository or directory that is a skill itself gets one of its name.
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

/// What is to be handed out.
struct Sorted {
    blobs: Vec<Blob>,
    /// The folders of all skills, wanted or not.
    skills: Vec<String>,
    /// The folder that a skill was put into which has none.
    folder: Option<String>,
}

/// The branch that a repository is at, and its commit.
fn head(listed: &str) -> Option<(String, String)> {
    let full = listed.lines().find_map(|line| line.strip_prefix("ref: ")?.strip_suffix("\tHEAD"));
    // It may be at no branch.
    let detached =
        || Some(("HEAD".to_owned(), listed.lines().find_map(|line| line.strip_suffix("\tHEAD"))?.to_owned()));
    full.map_or_else(detached, |full| find(listed, full))
}

/// The reference of a name, and the commit that it is. A tag goes before a branch, as git has it.
fn find(listed: &str, wanted: &str) -> Option<(String, String)> {
    let of = |full: &str| {
        listed
            .lines()
            .find_map(|line| line.split_once('\t').filter(|(_, name)| *name == full))
            .map(|(id, _)| id.to_owned())
    };
    let names = [wanted.to_owned(), format!("refs/tags/{wanted}"), format!("refs/heads/{wanted}")];
    names.into_iter().filter(|full| full.starts_with("refs/")).find_map(|full| {
        // What an annotated tag is of has a line of its own.
        let commit = of(&format!("{full}^{{}}")).or_else(|| of(&full))?;
        Some((full, commit))
    })
}
