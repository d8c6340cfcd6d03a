//! What hooks of one conversation must know of each other: on disk, because each is a process of its own.
//!
//! Each conversation has a directory, which is locked while a hook works with it. The file in it is replaced as a whole and
//! begins with its digest.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use metier_home::Agent;
use metier_skill::Digest;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::error::GuardError;
use crate::input::AgentCall;

/// The format version of states.
const FORMAT: u64 = 1;

/// More than any state has.
const MOST: u64 = 256 << 20;

/// How long the state of a conversation is kept in which nothing happens. Agents can continue old conversations.
const KEPT: Duration = Duration::from_hours(30 * 24);

/// How many calls without a result are kept where no run is proven. A call that an agent refuses itself never has one.
const CALLS_KEPT: usize = 200;

/// How deep subagents can be nested; agents do not nest deeper.
const NESTED: usize = 16;

const FILE: &str = "state";
const NEXT: &str = "next";

/// What is known of a conversation with an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ConversationState {
    format: u64,
    /// The agent.
    pub agent: String,
    /// The agent's id of the conversation.
    pub conversation: String,
    /// The conversation that this one works for as a subagent; that one has the skills.
    pub parent: Option<String>,
    /// The saved session, with the active skills.
    pub session: Option<String>,
    /// The active skills with the digests of their trees.
    pub skills: Vec<(String, Digest)>,
    /// Why nothing is allowed any more, if something happened that could not be stopped.
    pub blocked: Option<String>,
    /// Calls that were decided.
    pub calls: Vec<GuardedCall>,
    /// What was wrong with results of tools.
    pub failures: Vec<CallCheck>,
}

/// A call that was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct GuardedCall {
    /// The agent's id of the call.
    pub id: Option<String>,
    /// The agent's name for the tool.
    pub tool: String,
    /// The digest of the tool and the input.
    pub digest: Digest,
    /// Whether it was allowed.
    pub is_allowed: bool,
    /// Whether its result was seen.
    pub has_result: bool,
}

/// What the result of a tool says about the guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum CallCheck {
    /// It is the result of a call that was allowed.
    Matched,
    /// The tool ran with another input than the one that was allowed.
    Changed {
        /// The agent's name for the tool.
        tool: String,
    },
    /// The tool ran although the call was denied.
    Ignored {
        /// The agent's name for the tool.
        tool: String,
    },
    /// The tool ran without having been asked about.
    Unasked {
        /// The agent's name for the tool.
        tool: String,
    },
}

impl CallCheck {
    /// The check's result as a stable code; `None` if nothing is wrong.
    pub const fn code(&self) -> Option<&'static str> {
        match self {
            Self::Matched => None,
            Self::Changed { .. } => Some("call-changed"),
            Self::Ignored { .. } => Some("denial-ignored"),
            Self::Unasked { .. } => Some("call-without-hook"),
        }
    }

    /// The tool that the result is of, if something is wrong.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::Matched => None,
            Self::Changed { tool } | Self::Ignored { tool } | Self::Unasked { tool } => Some(tool),
        }
    }
}

impl ConversationState {
    /// The state of a conversation in which nothing happened yet.
    pub fn new(agent: Agent, conversation: &str) -> Self {
        Self {
            format: FORMAT,
            agent: agent.name().to_owned(),
            conversation: conversation.to_owned(),
            ..Self::default()
        }
    }

    /// Whether nothing in it would be missed.
    pub fn is_empty(&self) -> bool {
        let Self { parent, session, skills, blocked, calls, failures, .. } = self;
        parent.is_none()
            && session.is_none()
            && skills.is_empty()
            && blocked.is_none()
            && calls.is_empty()
            && failures.is_empty()
    }

    /// Notes that a call was decided. If the run is not to be proven, only the last calls without a result are kept.
    pub fn decided(&mut self, call: &AgentCall, is_allowed: bool, is_proven: bool) {
        self.calls.push(GuardedCall {
            id: call.id.clone(),
            tool: call.tool.clone(),
            digest: call.digest(),
            is_allowed,
            has_result: false,
        });
        let extra = self.calls.len().saturating_sub(CALLS_KEPT);
        if !is_proven {
            self.calls.drain(..extra);
        }
    }

    /// Whether the last call like this one was allowed, and has no result yet.
    pub fn has_allowed(&self, call: &AgentCall) -> bool {
        let digest = call.digest();
        let last = self.calls.iter().rev().find(|known| known.digest == digest);
        last.is_some_and(|known| known.is_allowed && !known.has_result)
    }

    /// Compares a result with what was decided about the call: by the call's id, or where agents have none by tool and input,
    /// the earliest first. In a run that is to be proven, a result without a decision is a failure; elsewhere the call may
    /// have begun before there was anything to keep.
    pub fn finished(&mut self, call: &AgentCall, is_proven: bool) -> CallCheck {
        let digest = call.digest();
        let is_open = |known: &&mut GuardedCall| !known.has_result;
        let is_it = |known: &&mut GuardedCall| match (&call.id, &known.id) {
            (Some(id), Some(other)) => id == other,
            (None, None) => known.digest == digest,
            _ => false,
        };
        let is_near =
            |known: &&mut GuardedCall| call.id.is_none() && known.id.is_none() && known.tool == call.tool;
        let at = self.calls.iter_mut().filter(is_open).find(is_it);
        let found = match at {
            Some(_) => at,
            None => self.calls.iter_mut().filter(is_open).find(is_near),
        };
        let tool = call.tool.clone();
        let check = match found {
            Some(known) => {
                known.has_result = true;
                match (known.is_allowed, known.digest == digest) {
                    (true, true) => CallCheck::Matched,
                    (true, false) => CallCheck::Changed { tool },
                    (false, _) => CallCheck::Ignored { tool },
                }
            }
            None if is_proven => CallCheck::Unasked { tool },
            None => CallCheck::Matched,
        };
        if !is_proven {
            self.calls.retain(|known| !known.has_result);
        }
        if check != CallCheck::Matched && self.failures.len() < CALLS_KEPT {
            self.failures.push(check.clone());
        }
        check
    }

    fn to_bytes(&self) -> Vec<u8> {
        // Plain data always serialises.
        let json = serde_json::to_string(self).unwrap_or_default();
        format!("{}\n{json}", Digest::of(json.as_bytes())).into_bytes()
    }

    /// Reads the bytes of a state. The error says what is wrong with them.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
        let (digest, json) = text.split_once('\n').ok_or("it has no digest")?;
        if Digest::of(json.as_bytes()).to_string() != digest {
            return Err("its digest is another".to_owned());
        }
        let state: Self = serde_json::from_str(json).map_err(|error| error.to_string())?;
        if state.format != FORMAT {
            return Err(format!(
                "it has format {}, but this version of metier supports format {FORMAT}",
                state.format
            ));
        }
        Ok(state)
    }
}

/// The states of all conversations, in a directory.
#[derive(Debug, Clone)]
pub struct GuardStates {
    directory: PathBuf,
}

impl GuardStates {
    /// The states in a directory, which need not exist.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Locks the state of a conversation, if there is one. Waits for other hooks of the same conversation.
    pub fn find(&self, agent: Agent, conversation: &str) -> Result<Option<HeldState>, GuardError> {
        let path = self.path(agent, conversation);
        loop {
            let lock = match open_directory(&path) {
                Ok(lock) => lock,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(failed("read", &path)(error)),
            };
            lock.lock().map_err(failed("read", &path))?;
            // Another hook may have removed it meanwhile.
            if !is_linked(&lock).map_err(failed("read", &path))? {
                continue;
            }
            let Some(state) = read(&path)? else { return Ok(None) };
            if state.agent != agent.name() || state.conversation != conversation {
                return Err(GuardError::State { path, reason: "it is of another conversation".to_owned() });
            }
            return Ok(Some(HeldState { path, state, _lock: lock }));
        }
    }

    /// The conversation that has the skills of a conversation: itself, or the one that it works for as a subagent.
    pub fn owner(&self, agent: Agent, conversation: &str) -> Result<String, GuardError> {
        let mut owner = conversation.to_owned();
        for _ in 0..NESTED {
            let held = self.find(agent, &owner)?;
            let Some(parent) = held.and_then(|held| held.state.parent.clone()) else { return Ok(owner) };
            owner = parent;
        }
        let path = self.path(agent, conversation);
        Err(GuardError::State { path, reason: "its subagents are nested too deeply".to_owned() })
    }

    /// Locks the state of a conversation; without one, begins it. States of conversations in which nothing happened for 30 days before
    /// `now` are removed.
    pub fn find_or_begin(
        &self,
        agent: Agent,
        conversation: &str,
        now: SystemTime,
    ) -> Result<HeldState, GuardError> {
        let path = self.path(agent, conversation);
        loop {
            if let Some(held) = self.find(agent, conversation)? {
                return Ok(held);
            }
            DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(failed("write", &path))?;
            let lock = match open_directory(&path) {
                Ok(lock) => lock,
                // Another hook found nothing to keep.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed("write", &path)(error)),
            };
            lock.lock().map_err(failed("write", &path))?;
            if !is_linked(&lock).map_err(failed("write", &path))? || read(&path)?.is_some() {
                continue;
            }
            self.remove_old(&path, now);
            return Ok(HeldState { path, state: ConversationState::new(agent, conversation), _lock: lock });
        }
    }

    /// Every state that can be read, unlocked: as it is now.
    pub fn list(&self) -> Result<Vec<ConversationState>, GuardError> {
        let mut found: Vec<ConversationState> = Vec::new();
        for path in self.paths()? {
            found.extend(read(&path)?);
        }
        found.sort_by(|a, b| (&a.agent, &a.conversation).cmp(&(&b.agent, &b.conversation)));
        Ok(found)
    }

    /// Removes the states that cannot be read, and returns how many: what was active there is not any more.
    pub fn remove_damaged(&self) -> Result<usize, GuardError> {
        let mut count = 0;
        for path in self.paths()? {
            let lock = open_directory(&path).map_err(failed("read", &path))?;
            lock.lock().map_err(failed("read", &path))?;
            if let Err(GuardError::State { .. }) = read(&path) {
                remove(&path).map_err(failed("write", &path))?;
                count += 1;
            }
        }
        Ok(count)
    }

    fn paths(&self) -> Result<Vec<PathBuf>, GuardError> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed("read", &self.directory)(error)),
        };
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        paths.collect::<io::Result<Vec<PathBuf>>>().map_err(failed("read", &self.directory))
    }

    fn path(&self, agent: Agent, conversation: &str) -> PathBuf {
        // Any text can be an id, and not every text is a file's name.
        let key = Digest::of(format!("{}\0{conversation}", agent.name()).as_bytes()).hex();
        self.directory.join(&key[..32])
    }

    /// Removes old states; what cannot be removed now will be later.
    fn remove_old(&self, own: &Path, now: SystemTime) {
        let is_old = |path: &Path| {
            let changed = fs::symlink_metadata(path.join(FILE)).or_else(|_| fs::symlink_metadata(path));
            let changed = changed.and_then(|meta| meta.modified());
            changed.is_ok_and(|changed| now.duration_since(changed).is_ok_and(|age| age > KEPT))
        };
        for path in self.paths().unwrap_or_default() {
            if path == own || !is_old(&path) {
                continue;
            }
            let Ok(lock) = open_directory(&path) else { continue };
            if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) || !is_old(&path) {
                continue;
            }
            let _ = remove(&path);
        }
    }
}

/// The state of a conversation, locked. Nothing changes on disk before [`HeldState::save`].
#[derive(Debug)]
pub struct HeldState {
    path: PathBuf,
    state: ConversationState,
    _lock: File,
}

impl HeldState {
    /// The state.
    pub const fn state(&self) -> &ConversationState {
        &self.state
    }

    /// The state, to be changed.
    pub const fn state_mut(&mut self) -> &mut ConversationState {
        &mut self.state
    }

    /// Writes the state, whole or not at all. A state in which nothing is left is removed.
    pub fn save(self) -> Result<(), GuardError> {
        if self.state.is_empty() {
            return self.remove();
        }
        let write = || {
            let next = self.path.join(NEXT);
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .custom_flags(no_link())
                .open(&next)?;
            file.write_all(&self.state.to_bytes())?;
            fs::rename(&next, self.path.join(FILE))
        };
        write().map_err(failed("write", &self.path))
    }

    /// Removes the state.
    pub fn remove(self) -> Result<(), GuardError> {
        remove(&self.path).map_err(failed("write", &self.path))
    }
}

impl Drop for HeldState {
    fn drop(&mut self) {
        // A state that was begun and not saved leaves nothing behind. A directory that is not empty stays.
        let _ = fs::remove_dir(&self.path);
    }
}

/// The state in a directory; `None` if it was not written yet.
fn read(path: &Path) -> Result<Option<ConversationState>, GuardError> {
    let file = path.join(FILE);
    let open = OpenOptions::new().read(true).custom_flags(no_link()).open(file);
    let mut bytes = Vec::new();
    match open.and_then(|file| file.take(MOST).read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", path)(error)),
    }
    let damaged = |reason| GuardError::State { path: path.to_owned(), reason };
    ConversationState::parse(&bytes).map(Some).map_err(damaged)
}

/// The state goes first: a directory without one does not count.
fn remove(path: &Path) -> io::Result<()> {
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    gone(fs::remove_file(path.join(FILE)))?;
    gone(fs::remove_file(path.join(NEXT)))?;
    gone(fs::remove_dir(path))
}

fn open_directory(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(no_link() | flag(OFlags::DIRECTORY)).open(path)
}

/// Whether a directory that is open was not removed.
fn is_linked(directory: &File) -> io::Result<bool> {
    Ok(directory.metadata()?.nlink() > 0)
}

fn no_link() -> i32 {
    flag(OFlags::NOFOLLOW) | flag(OFlags::CLOEXEC) | flag(OFlags::NONBLOCK)
}

fn flag(flag: OFlags) -> i32 {
    i32::try_from(flag.bits()).unwrap_or(0)
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> GuardError {
    let path = path.to_owned();
    move |source| GuardError::Io { action, path, source }
}
