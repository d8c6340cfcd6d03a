//! Skills in a git repository: the tree of one commit, read without a checkout.
//!
//! `git` only fetches objects and prints them by id. Hooks, filters, attributes and submodules of the repository have
//! no effect.

mod program;

use std::collections::BTreeSet;

use metier_skill::SKILL_FILES;

use self::program::{Blob, Git, LeftOut};
use super::{FetchContext, FetchedSource, GitAddress, SkillSource, folder_name};
use crate::install::SkillSelection;
use crate::staging::Basket;
use crate::{LockedSkill, StoreError};

/// A git repository at a reference, as a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSource {
    address: GitAddress,
    /// The commit to use, and to which the reference must have pointed.
    commit: Option<String>,
    /// The commit that a tag must still point to.
    was: Option<String>,
    /// Whether a tag may point to another commit.
    lets_move: bool,
}

impl GitSource {
    pub(super) fn new(address: GitAddress) -> Self {
        Self { address, commit: None, was: None, lets_move: false }
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
        let address = GitAddress { url, reference, ..GitAddress::default() };
        Self { commit, ..Self::new(address) }
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

impl SkillSource for GitSource {
    fn name(&self) -> String {
        self.address.url.clone()
    }

    fn fetch(
        &self,
        wanted: &SkillSelection,
        basket: &Basket<'_>,
        fetching: &FetchContext<'_>,
    ) -> Result<FetchedSource, StoreError> {
        (fetching.progress)(&format!("fetching {}", self.address.url));
        let git = Git::begin(fetching, basket.scratch()?)?;
        let Resolved { reference, commit, directory } = self.resolve(&git)?;
        (fetching.progress)("reading");
        // Only the requested paths are listed; the limits and name checks apply to nothing else.
        let mut paths = match wanted {
            SkillSelection::At(paths) => paths.clone(),
            _ => directory.iter().cloned().collect(),
        };
        paths.extend(paths.clone().iter().map(|path| format!("{path}.sig")));
        let (blobs, others) = git.tree(&commit, &paths, &fetching.limits)?;
        let sorted = self.in_folders(blobs, directory.as_deref(), wanted)?;
        git.hand_out(&sorted.blobs, &fetching.limits, basket)?;
        let below = directory.as_ref().map(|directory| format!("{directory}/")).unwrap_or_default();
        let note =
            |left: &LeftOut| Some(format!("skipped {}: {}", left.path.strip_prefix(&below)?, left.why));
        Ok(FetchedSource {
            reference,
            commit: Some(commit),
            base: directory,
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
    fn resolve(&self, git: &Git<'_>) -> Result<Resolved, StoreError> {
        let url = &self.address.url;
        let listed =
            git.run("list the references of the repository", &["ls-remote", "--symref", "--", url])?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let (reference, directory) = match &self.address.tree {
            Some(tree) => split_tree(url, tree, &listed)?,
            None => (self.address.reference.clone(), self.address.directory.clone()),
        };
        let wanted = reference.as_deref();
        // Text that looks like a commit id is one; a branch or tag with such a name would be misleading.
        let id = wanted.filter(|text| is_commit(text)).map(str::to_ascii_lowercase);
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
                source_name: url.clone(),
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
                let reason = format!("{url} has no branch or tag `{name}`{hint}");
                return Err(StoreError::Git { doing: "find the reference", reason });
            }
        };
        git.fetch(url, &commit, full.as_deref())?;
        let reference = full.filter(|full| full != "HEAD").or(reference);
        Ok(Resolved { reference, commit, directory })
    }

    /// The files of the requested skills, in folders. A repository or directory that is itself a skill gets a folder
    /// with its name.
    fn in_folders(
        &self,
        blobs: Vec<Blob>,
        directory: Option<&str>,
        wanted: &SkillSelection,
    ) -> Result<Sorted, StoreError> {
        let base = directory.unwrap_or_default();
        let folders = blobs.iter().map(|blob| blob.path.rsplit_once('/').unwrap_or(("", &blob.path)));
        let found =
            folders.filter(|(_, file)| SKILL_FILES.contains(file)).map(|(folder, _)| folder.to_owned());
        let mut skills: BTreeSet<String> = found.collect();
        if let SkillSelection::At(paths) = wanted {
            skills.retain(|folder| paths.contains(folder));
        } else if skills.contains(base) {
            let folder = folder_name(directory.unwrap_or(&self.address.url));
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
        if let Some(directory) = directory.filter(|_| blobs.is_empty()) {
            let reason = format!("{} has no directory `{directory}`", self.address.url);
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

/// What a source resolved to.
struct Resolved {
    reference: Option<String>,
    commit: String,
    directory: Option<String>,
}

/// Splits `REFERENCE/DIRECTORY`, where both may contain slashes, by the references that the repository has.
fn split_tree(url: &str, tree: &str, listed: &str) -> Result<(Option<String>, Option<String>), StoreError> {
    let ends = tree.match_indices('/').map(|(at, _)| at).chain([tree.len()]);
    let is_known = |name: &str| is_commit(name) || find(listed, name).is_some();
    let known: Vec<&str> = ends.map(|end| &tree[..end]).filter(|name| is_known(name)).collect();
    let directory = |name: &str| tree[name.len()..].trim_start_matches('/').to_owned();
    match known[..] {
        [only] => Ok((Some(only.to_owned()), Some(directory(only)).filter(|rest| !rest.is_empty()))),
        [first, second, ..] => {
            let reading = |name| format!("`{url}//{}#{name}` for the reference `{name}`", directory(name));
            let text = format!("{url}/tree/{tree}");
            Err(StoreError::Ambiguous { text, first: reading(first), second: reading(second) })
        }
        [] => {
            let reason = format!("{url} has no branch or tag that `{tree}` begins with");
            Err(StoreError::Git { doing: "find the reference", reason })
        }
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
