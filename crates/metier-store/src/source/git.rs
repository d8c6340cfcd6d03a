//! Skills in a git repository: what is in the tree of one commit, read without ever checking it out.
//!
//! `git` fetches and hands out objects by their ids. No hook, filter, attribute or submodule of the repository has a say in that.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use metier_skill::SKILL_FILES;

use super::{Fetched, Fetching, Source, folder_name};
use crate::archive::{
    ArchiveError, ArchiveFile, ArchiveLimits, EntryProblem, SkippedReason, name, skipped_reason,
};
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
}

/// Bytes that git may print: the names of all that is in a repository, or of every branch and tag.
const OUTPUT_MAX: u64 = 128 << 20;

/// A file in the tree of a commit.
struct Blob {
    path: String,
    id: String,
    size: u64,
    is_executable: bool,
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
            return Err(wrong(
                "neither on the disk nor `owner/repository` nor an address of a git repository",
            ));
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
        })
    }

    /// Where a skill came from, as it is now.
    pub(crate) fn following(skill: &LockedSkill) -> Self {
        Self { commit: None, was: skill.commit.clone(), ..Self::locked(skill) }
    }

    /// The same, of which only a directory matters.
    pub(crate) fn at(self, directory: Option<String>) -> Self {
        Self { directory, ..self }
    }

    /// The very commit that a skill was locked at.
    pub(crate) fn locked(skill: &LockedSkill) -> Self {
        let (url, reference, commit) = (skill.source.clone(), skill.reference.clone(), skill.commit.clone());
        Self { url, reference, directory: None, commit, was: None }
    }
}

/// Whether git is to be asked for something there: by a protocol that is known, and nothing that could be an option.
pub(crate) fn is_address(url: &str) -> bool {
    let known = ["https://", "http://", "ssh://", "git://", "file://"];
    let is_url = known.iter().any(|known| url.starts_with(known));
    // `user@host:path`, as ssh has it.
    let is_ssh = url
        .split_once(':')
        .is_some_and(|(who, path)| who.contains('@') && !who.contains('/') && !path.starts_with(':'));
    (is_url || is_ssh) && !url.starts_with('-')
}

/// Whether this is the id of a commit.
pub(crate) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

const fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

impl Source for GitSource {
    fn name(&self) -> String {
        self.url.clone()
    }

    fn fetch(&self, basket: &Basket<'_>, fetching: &Fetching<'_>) -> Result<Fetched, StoreError> {
        let git = Git { program: &fetching.git, directory: basket.scratch()? };
        (fetching.progress)(&format!("fetching {}", self.url));
        git.run("begin", &["init", "--quiet", "--bare", "--template=", "."])?;
        let (reference, commit) = self.resolve(&git)?;
        (fetching.progress)("reading");
        let (blobs, notes) = git.tree(&commit, self.directory.as_deref(), &fetching.limits)?;
        let (folder, blobs) = self.in_folders(blobs)?;
        git.hand_out(&blobs, &fetching.limits, basket)?;
        Ok(Fetched {
            reference,
            commit: Some(commit),
            base: self.directory.clone(),
            folder,
            notes,
            ..Fetched::default()
        })
    }
}

impl GitSource {
    /// The commit that is meant, fetched, and how it is called.
    fn resolve(&self, git: &Git<'_>) -> Result<(Option<String>, String), StoreError> {
        let wanted = self.reference.as_deref();
        let listed = git.run("look at the repository", &["ls-remote", "--symref", "--", &self.url])?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let found = wanted.map_or_else(|| head(&listed), |wanted| find(&listed, wanted));
        if let (Some(locked), Some((full, now))) = (self.commit.as_ref().or(self.was.as_ref()), &found)
            && full.starts_with("refs/tags/")
            && now != locked
        {
            return Err(StoreError::TagMoved {
                source_name: self.url.clone(),
                tag: wanted.unwrap_or_default().to_owned(),
                was: locked.clone(),
                now: now.clone(),
            });
        }
        let (full, commit) = match (&self.commit, found) {
            (Some(locked), found) => (found.map(|(full, _)| full), locked.clone()),
            (None, Some((full, commit))) => (Some(full), commit),
            (None, None) => match wanted.filter(|text| is_commit(text)) {
                Some(id) => (None, id.to_owned()),
                None => {
                    let name = wanted.unwrap_or("HEAD");
                    let reason = format!("{} has no branch or tag `{name}`", self.url);
                    return Err(StoreError::Git { doing: "find the reference", reason });
                }
            },
        };
        git.fetch(&self.url, &commit, full.as_deref())?;
        let reference = full
            .filter(|full| full != "HEAD")
            .map(|full| full.trim_start_matches("refs/heads/").trim_start_matches("refs/tags/").to_owned());
        Ok((wanted.map(str::to_owned).or(reference), commit))
    }

    /// The files of skills, in folders: a repository or directory that is a skill itself gets one of its name.
    fn in_folders(&self, mut blobs: Vec<Blob>) -> Result<(Option<String>, Vec<Blob>), StoreError> {
        if blobs.iter().any(|blob| SKILL_FILES.contains(&blob.path.as_str())) {
            let folder = folder_name(self.directory.as_deref().unwrap_or(&self.url));
            for blob in &mut blobs {
                blob.path = format!("{folder}/{}", blob.path);
            }
            return Ok((Some(folder), blobs));
        }
        let skills: BTreeSet<String> = blobs
            .iter()
            .filter_map(|blob| blob.path.rsplit_once('/'))
            .filter(|(_, file)| SKILL_FILES.contains(file))
            .map(|(folder, _)| folder.to_owned())
            .collect();
        if skills.is_empty() {
            return Err(ArchiveError::NoSkill.into());
        }
        let is_wanted = |path: &str| {
            let signs = path.strip_suffix(".sig").is_some_and(|folder| skills.contains(folder));
            signs || path.match_indices('/').any(|(at, _)| skills.contains(&path[..at]))
        };
        blobs.retain(|blob| is_wanted(&blob.path));
        Ok((None, blobs))
    }
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

/// The program, in a repository of its own.
struct Git<'a> {
    program: &'a Path,
    directory: PathBuf,
}

impl Git<'_> {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        // Nothing of the repository runs, and nobody is asked anything.
        for setting in [
            "core.hooksPath=/dev/null",
            "protocol.ext.allow=never",
            "protocol.file.allow=always",
            "fetch.recurseSubmodules=false",
            "transfer.fsckObjects=true",
            // A server that says next to nothing for a minute is not waited for.
            "http.lowSpeedLimit=1000",
            "http.lowSpeedTime=60",
            "gc.auto=0",
            "maintenance.auto=false",
        ] {
            command.args(["-c", setting]);
        }
        command.args(args).current_dir(&self.directory).env("GIT_DIR", &self.directory);
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "true").env("LC_ALL", "C");
        for name in
            ["GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"]
        {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it, and gives what it printed, of which there must not be more than so much.
    fn run(&self, doing: &'static str, args: &[&str]) -> Result<Vec<u8>, StoreError> {
        let failed = |reason: String| StoreError::Git { doing, reason };
        let broken = |error: std::io::Error| failed(format!("{}: {error}", self.program.display()));
        let mut child = Ended(self.command(args).spawn().map_err(broken)?);
        let (Some(output), Some(mut errors)) = (child.0.stdout.take(), child.0.stderr.take()) else {
            return Err(garbled("pipe"));
        };
        let errors = thread::spawn(move || {
            let mut said = Vec::new();
            let _ = errors.by_ref().take(OUTPUT_MAX).read_to_end(&mut said);
            // What nobody wants to read must still be taken, or it waits for ever.
            let _ = std::io::copy(&mut errors, &mut std::io::sink());
            said
        });
        let mut printed = Vec::new();
        output.take(OUTPUT_MAX + 1).read_to_end(&mut printed).map_err(broken)?;
        if printed.len() as u64 > OUTPUT_MAX {
            return Err(failed(format!("there is more than {OUTPUT_MAX} bytes to be told")));
        }
        let status = child.0.wait().map_err(broken)?;
        let said = errors.join().unwrap_or_default();
        let output = std::process::Output { status, stdout: printed, stderr: said };
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = said
            .lines()
            .map(|line| line.trim_start_matches("fatal: "))
            .filter(|line| !line.trim().is_empty())
            .collect();
        Err(failed(lines.first().map_or_else(|| output.status.to_string(), |line| (*line).to_owned())))
    }

    /// Fetches one commit. A server that does not hand out commits by their ids is asked for the reference, or for everything.
    fn fetch(&self, url: &str, commit: &str, full: Option<&str>) -> Result<(), StoreError> {
        let doing = "fetch the repository";
        let shallow =
            |what: &str| self.run(doing, &["fetch", "--quiet", "--depth=1", "--no-tags", "--", url, what]);
        let mut last = shallow(commit);
        if let (Err(_), Some(full)) = (&last, full) {
            last = shallow(full);
        }
        if !self.has(commit) {
            last = last.and(Ok(Vec::new())).or_else(|_| Ok(Vec::new()));
            // All of the history, also where a part of it is here.
            let is_shallow = self.directory.join("shallow").exists();
            let mut args = vec!["fetch", "--quiet"];
            args.extend(is_shallow.then_some("--unshallow"));
            args.extend(["--", url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]);
            self.run(doing, &args)?;
        }
        last?;
        if self.has(commit) {
            return Ok(());
        }
        Err(StoreError::Git { doing, reason: format!("{url} does not have the commit {commit} any more") })
    }

    fn has(&self, commit: &str) -> bool {
        self.run("look", &["cat-file", "-e", &format!("{commit}^{{commit}}")]).is_ok()
    }

    /// The files in the tree of a commit, below a directory, and what is left out of it.
    fn tree(
        &self,
        commit: &str,
        below: Option<&str>,
        limits: &ArchiveLimits,
    ) -> Result<(Vec<Blob>, Vec<String>), StoreError> {
        let tree = below.map_or_else(|| commit.to_owned(), |below| format!("{commit}:{below}"));
        let listed = self.run("list the files", &["ls-tree", "-r", "-z", "-l", "--full-tree", &tree])?;
        let (mut blobs, mut others) = (Vec::new(), Vec::new());
        for line in listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            if blobs.len() + others.len() >= limits.entries {
                return Err(ArchiveError::TooManyEntries { limit: limits.entries }.into());
            }
            let (fields, path) = split_tab(line).ok_or_else(|| garbled("list"))?;
            let fields = String::from_utf8_lossy(fields);
            let mut fields = fields.split_ascii_whitespace();
            let (mode, id, size) = (fields.next(), fields.nth(1), fields.next());
            let (Some(mode), Some(id), Some(size)) = (mode, id, size) else { return Err(garbled("list")) };
            let shown = String::from_utf8_lossy(path).into_owned();
            if !matches!(mode, "100644" | "100755") {
                others.push(format!("left out {shown}: it is a link or another repository"));
                continue;
            }
            // Names are checked where they matter: in skills.
            let Ok(path) = std::str::from_utf8(path) else {
                others.push(format!("left out {shown}: its name is no text"));
                continue;
            };
            // A server may hand out what git itself would never put into a tree.
            if skipped_reason(path, false) == Some(SkippedReason::VersionControl) {
                others.push(format!("left out {shown}: it belongs to version control"));
                continue;
            }
            let (path, size) = (path.to_owned(), size.parse().map_err(|_| garbled("list"))?);
            blobs.push(Blob { path, id: id.to_owned(), size, is_executable: mode == "100755" });
        }
        Ok((blobs, others))
    }

    /// Hands out the files, all from one process.
    fn hand_out(
        &self,
        blobs: &[Blob],
        limits: &ArchiveLimits,
        basket: &Basket<'_>,
    ) -> Result<(), StoreError> {
        let mut total = 0_u64;
        for blob in blobs {
            name::check(blob.path.as_bytes(), limits.depth)?;
            if blob.size > limits.file_bytes {
                let problem = EntryProblem::TooLarge { limit: limits.file_bytes };
                return Err(ArchiveError::entry(blob.path.as_bytes(), problem).into());
            }
            total = total.saturating_add(blob.size);
        }
        if total > limits.total_bytes {
            return Err(ArchiveError::UnpacksTooLarge { limit: limits.total_bytes }.into());
        }
        let failed =
            |error: std::io::Error| StoreError::Git { doing: "read the files", reason: error.to_string() };
        let mut child = self.command(&["cat-file", "--batch"]);
        let mut child = Ended(child.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?);
        let (Some(mut input), Some(output)) = (child.0.stdin.take(), child.0.stdout.take()) else {
            return Err(garbled("pipe"));
        };
        thread::scope(|scope| {
            scope.spawn(move || blobs.iter().try_for_each(|blob| writeln!(input, "{}", blob.id)));
            let mut output = BufReader::with_capacity(1 << 16, output);
            for blob in blobs {
                let mut line = String::new();
                output.read_line(&mut line).map_err(failed)?;
                if line.trim_end() != format!("{} blob {}", blob.id, blob.size) {
                    return Err(garbled("object"));
                }
                let mut bytes = vec![0; usize::try_from(blob.size).unwrap_or_default()];
                output.read_exact(&mut bytes).map_err(failed)?;
                output.read_exact(&mut [0]).map_err(failed)?;
                basket.add(ArchiveFile {
                    path: &blob.path,
                    is_executable: blob.is_executable,
                    bytes: &bytes,
                })?;
            }
            Ok(())
        })
    }
}

/// A process that ends with this.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn split_tab(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'\t', line)?;
    Some((&line[..at], &line[at + 1..]))
}

fn garbled(what: &str) -> StoreError {
    StoreError::Git { doing: "read the repository", reason: format!("its {what} is not what was expected") }
}
