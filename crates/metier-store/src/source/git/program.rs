//! Runs `git` in a temporary repository, with limits on time and space.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::StoreError;
use crate::archive::{
    ArchiveError, ArchiveFile, ArchiveLimits, EntryProblem, SkippedReason, name, skipped_reason,
};
use crate::source::FetchContext;
use crate::staging::Basket;

/// The most bytes that git may print, such as a list of files or references.
const OUTPUT_MAX: u64 = 128 << 20;

/// How often time and space are checked.
const LOOKS: Duration = Duration::from_millis(500);

/// A file in the tree of a commit.
pub(super) struct Blob {
    pub(super) path: String,
    id: String,
    size: u64,
    is_executable: bool,
}

/// An entry in the tree of a commit that is not a file of a skill.
pub(super) struct LeftOut {
    pub(super) path: String,
    pub(super) why: &'static str,
}

/// `git`, with a repository of its own.
pub(super) struct Git<'a> {
    fetching: &'a FetchContext<'a>,
    directory: PathBuf,
    began: Instant,
}

impl<'a> Git<'a> {
    /// Creates a repository in a directory.
    pub(super) fn begin(fetching: &'a FetchContext<'a>, directory: PathBuf) -> Result<Self, StoreError> {
        #[expect(clippy::disallowed_methods, reason = "how long something takes cannot be told otherwise")]
        let began = Instant::now();
        let git = Self { fetching, directory, began };
        git.run("create a temporary repository", &["init", "--quiet", "--bare", "--template=", "."])?;
        Ok(git)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.fetching.git);
        // Nothing from the repository runs, and git never prompts.
        for setting in [
            "core.hooksPath=/dev/null",
            "protocol.ext.allow=never",
            "protocol.file.allow=always",
            "fetch.recurseSubmodules=false",
            "transfer.fsckObjects=true",
            // Stop if the server sends almost nothing for a minute.
            "http.lowSpeedLimit=1000",
            "http.lowSpeedTime=60",
            "gc.auto=0",
            "maintenance.auto=false",
        ] {
            command.args(["-c", setting]);
        }
        command.args(args).current_dir(&self.directory).env("GIT_DIR", &self.directory);
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "true").env("LC_ALL", "C");
        // ssh asks a program that answers nothing, instead of the terminal.
        command.env("SSH_ASKPASS", "true").env("SSH_ASKPASS_REQUIRE", "force");
        for name in
            ["GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"]
        {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs git, and returns its output up to a limit.
    pub(super) fn run(&self, doing: &'static str, args: &[&str]) -> Result<Vec<u8>, StoreError> {
        let failed = |reason: String| StoreError::Git { doing, reason };
        let broken = |error: std::io::Error| failed(format!("{}: {error}", self.fetching.git.display()));
        let mut child = self.command(args).spawn().map_err(broken)?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let running = Running::watch(child, self);
        let (Some(output), Some(mut errors)) = (output, errors) else { return Err(garbled("pipe")) };
        let errors = thread::spawn(move || {
            let mut said = Vec::new();
            let _ = errors.by_ref().take(OUTPUT_MAX).read_to_end(&mut said);
            // Unused output must still be read, or the process blocks.
            let _ = std::io::copy(&mut errors, &mut std::io::sink());
            said
        });
        let mut printed = Vec::new();
        output.take(OUTPUT_MAX + 1).read_to_end(&mut printed).map_err(broken)?;
        if printed.len() as u64 > OUTPUT_MAX {
            return Err(failed(format!("the output is larger than {OUTPUT_MAX} bytes")));
        }
        let status = running.end().map_err(|ended| match ended {
            Ended::Stopped(reason) => failed(reason),
            Ended::Io(error) => broken(error),
        })?;
        if status.success() {
            return Ok(printed);
        }
        let said = errors.join().unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = said
            .lines()
            .map(|line| line.trim_start_matches("fatal: "))
            .filter(|line| !line.trim().is_empty())
            .collect();
        Err(failed(lines.first().map_or_else(|| status.to_string(), |line| (*line).to_owned())))
    }

    /// Fetches one commit. If the server does not serve commits by id, fetches the reference, or everything.
    pub(super) fn fetch(&self, url: &str, commit: &str, full: Option<&str>) -> Result<(), StoreError> {
        let doing = "fetch the repository";
        let shallow =
            |what: &str| self.run(doing, &["fetch", "--quiet", "--depth=1", "--no-tags", "--", url, what]);
        if let (Err(_), Some(full)) = (shallow(commit), full) {
            // If these fail, the last attempt reports the error.
            let _ = shallow(full);
        }
        if !self.has(commit) {
            // The whole history, even if part of it is already here.
            let is_shallow = self.directory.join("shallow").exists();
            let mut args = vec!["fetch", "--quiet"];
            args.extend(is_shallow.then_some("--unshallow"));
            args.extend(["--", url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]);
            self.run(doing, &args)?;
        }
        // The limits are only checked at intervals, and a fetch from a local disk is fast.
        let room = self.fetching.limits.archive_bytes;
        if size_of(&self.directory) > room {
            return Err(StoreError::Git { doing, reason: too_large(room) });
        }
        if self.has(commit) {
            return Ok(());
        }
        Err(StoreError::Git { doing, reason: format!("{url} no longer has the commit {commit}") })
    }

    fn has(&self, commit: &str) -> bool {
        self.run("find the commit", &["cat-file", "-e", &format!("{commit}^{{commit}}")]).is_ok()
    }

    /// The files at these paths in the tree of a commit, or all files; also the skipped entries.
    pub(super) fn tree(
        &self,
        commit: &str,
        paths: &[String],
        limits: &ArchiveLimits,
    ) -> Result<(Vec<Blob>, Vec<LeftOut>), StoreError> {
        let mut args = vec!["ls-tree", "-r", "-z", "-l", "--full-tree", "--", commit];
        args.extend(paths.iter().map(String::as_str));
        let listed = self.run("list the files", &args)?;
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
                others.push(LeftOut { path: shown, why: "it is a link or a submodule" });
                continue;
            }
            // Names are checked later, for skills only.
            let Ok(path) = std::str::from_utf8(path) else {
                others.push(LeftOut { path: shown, why: "its name is not UTF-8" });
                continue;
            };
            // A server may send entries that git itself would never put into a tree.
            if skipped_reason(path, false) == Some(SkippedReason::VersionControl) {
                others.push(LeftOut { path: shown, why: "it is in a version-control directory" });
                continue;
            }
            let (path, size) = (path.to_owned(), size.parse().map_err(|_| garbled("list"))?);
            blobs.push(Blob { path, id: id.to_owned(), size, is_executable: mode == "100755" });
        }
        Ok((blobs, others))
    }

    /// Reads the files with one process and passes them to the basket.
    pub(super) fn hand_out(
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
        let mut command = self.command(&["cat-file", "--batch"]);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let _running = Running::watch(child, self);
        let (Some(mut input), Some(output)) = (input, output) else { return Err(garbled("pipe")) };
        thread::scope(|scope| {
            scope.spawn(move || blobs.iter().try_for_each(|blob| writeln!(input, "{}", blob.id)));
            let mut output = BufReader::with_capacity(1 << 16, output);
            blobs.iter().try_for_each(|blob| blob.take(&mut output, basket))
        })
    }
}

impl Blob {
    /// The same file at another path.
    pub(super) fn at(self, path: String) -> Self {
        Self { path, ..self }
    }

    /// Reads the next file from git and puts it into the basket.
    fn take(&self, output: &mut BufReader<ChildStdout>, basket: &Basket<'_>) -> Result<(), StoreError> {
        let failed =
            |error: std::io::Error| StoreError::Git { doing: "read the files", reason: error.to_string() };
        let mut line = String::new();
        output.read_line(&mut line).map_err(failed)?;
        if line.trim_end() != format!("{} blob {}", self.id, self.size) {
            return Err(garbled("object"));
        }
        let mut bytes = vec![0; usize::try_from(self.size).unwrap_or_default()];
        output.read_exact(&mut bytes).map_err(failed)?;
        output.read_exact(&mut [0]).map_err(failed)?;
        basket.add(ArchiveFile { path: &self.path, is_executable: self.is_executable, bytes: &bytes })
    }
}

/// A process that is stopped when a limit is reached.
struct Running {
    child: Child,
    /// Dropped when the process no longer needs to be watched.
    until: Option<mpsc::Sender<()>>,
    watcher: Option<JoinHandle<()>>,
    /// Why it was stopped.
    stopped: Arc<Mutex<Option<String>>>,
}

enum Ended {
    Stopped(String),
    Io(std::io::Error),
}

impl Running {
    fn watch(child: Child, git: &Git<'_>) -> Self {
        let (until, is_over) = mpsc::channel();
        let (pid, directory) = (Pid::from_child(&child), git.directory.clone());
        let patience = git.fetching.patience.saturating_sub(git.began.elapsed());
        let (seconds, room) = (git.fetching.patience.as_secs(), git.fetching.limits.archive_bytes);
        let stopped: Arc<Mutex<Option<String>>> = Arc::default();
        let told = Arc::clone(&stopped);
        let watcher = thread::spawn(move || {
            let mut waited = Duration::ZERO;
            while is_over.recv_timeout(LOOKS.min(patience)) == Err(RecvTimeoutError::Timeout) {
                waited += LOOKS;
                let why = if waited >= patience {
                    format!("it took longer than {seconds} seconds")
                } else if size_of(&directory) > room {
                    too_large(room)
                } else {
                    continue;
                };
                told.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
                kill(pid);
            }
        });
        Self { child, until: Some(until), watcher: Some(watcher), stopped }
    }

    /// Waits until the process ends, on its own or stopped.
    fn end(mut self) -> Result<std::process::ExitStatus, Ended> {
        // The process id stays reserved until the watcher is done.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(Pid::from_child(&self.child)), options));
        self.unwatch();
        let status = self.child.wait().map_err(Ended::Io)?;
        match self.stopped.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(why) => Err(Ended::Stopped(why)),
            None => Ok(status),
        }
    }

    fn unwatch(&mut self) {
        self.until = None;
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.unwatch();
        // It may have ended on its own.
        if matches!(self.child.try_wait(), Ok(None)) {
            kill(Pid::from_child(&self.child));
        }
        let _ = self.child.wait();
    }
}

/// Kills a process and its known children, which could otherwise continue as long as a server keeps sending.
fn kill(pid: Pid) {
    let number = pid.as_raw_nonzero();
    let children = fs::read_to_string(format!("/proc/{number}/task/{number}/children")).unwrap_or_default();
    let _ = kill_process(pid, Signal::KILL);
    let children = children.split_ascii_whitespace().filter_map(|child| child.parse().ok());
    children.filter_map(Pid::from_raw).for_each(kill);
}

/// The number of bytes below a directory, as far as it can be read.
fn size_of(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => size_of(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

fn too_large(room: u64) -> String {
    format!("the repository is larger than {room} bytes")
}

fn split_tab(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'\t', line)?;
    Some((&line[..at], &line[at + 1..]))
}

fn garbled(what: &str) -> StoreError {
    StoreError::Git { doing: "read the repository", reason: format!("its {what} is not what was expected") }
}
