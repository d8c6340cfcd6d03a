//! A journal that is written to: appends from any number of threads, several at a time in one step.

use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metier_skill::Digest;

use crate::address::JournalAddress;
use crate::batched::Batched;
use crate::checkpoint::{Checkpoint, Remembered};
use crate::error::JournalError;
use crate::record::{Clock, PendingRecord, RecordRef};
use crate::store::{Store, is_checkpoint};

/// When an append answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// When the record is on the disk.
    #[default]
    Full,
    /// At once; the record is on the disk about a second later. Whatever ends the process, or the machine, takes that second's records with it.
    Batched,
}

/// How a journal is kept.
#[derive(Clone)]
pub struct JournalOptions {
    /// When an append answers.
    pub durability: Durability,
    /// Clock and ids for the records that the journal itself writes.
    pub clock: Arc<dyn Clock>,
    /// The file outside of the journal that has the last checkpoint; without it, a journal that was cut off cannot be told from a whole one.
    pub remember: Option<PathBuf>,
    /// Told of every record that is on the disk, in order; it must not block.
    pub observer: Option<Arc<dyn Observer>>,
    /// How long to wait for another process that is writing to the same file.
    pub patience: Duration,
}

impl JournalOptions {
    /// The usual ones.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            durability: Durability::default(),
            clock,
            remember: None,
            observer: None,
            patience: Duration::from_secs(30),
        }
    }
}

impl fmt::Debug for JournalOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { durability, remember, .. } = self;
        f.debug_struct("JournalOptions")
            .field("durability", durability)
            .field("remember", remember)
            .finish_non_exhaustive()
    }
}

/// Somebody who wants to know what was recorded.
pub trait Observer: Send + Sync {
    /// This is on the disk.
    fn recorded(&self, row: &RecordRef<'_>);
}

/// What an append answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Receipt {
    /// It is on the disk.
    Recorded {
        /// Its place in the journal.
        sequence: u64,
        /// Its hash.
        hash: Digest,
    },
    /// It will be, in about a second.
    Queued,
}

/// A journal to add to.
///
/// ```
/// # use std::sync::Arc;
/// # struct Fixed;
/// # impl metier_journal::Clock for Fixed {
/// #     fn now(&self) -> metier_journal::Time { metier_journal::Time::from_micros(0) }
/// #     fn id(&self) -> uuid::Uuid { uuid::Uuid::nil() }
/// # }
/// # #[cfg(feature = "sqlite")]
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let clock = Arc::new(Fixed);
/// # let directory = tempfile::tempdir()?;
/// # let address = directory.path().join("journal.db").to_str().unwrap().parse()?;
/// use metier_journal::{Event, Journal, JournalOptions, PendingRecord, RecordContext, verify};
///
/// let journal = Journal::open(&address, JournalOptions::new(clock.clone()))?;
/// let event = Event::SkillDeactivated { name: "pdf".to_owned() };
/// journal.append(PendingRecord::new(&*clock, &RecordContext::session("s1"), &event)?)?;
/// journal.close()?;
///
/// let verification = verify(&address, &[])?;
/// assert_eq!((verification.records, verification.damage), (2, None));
/// # Ok(())
/// # }
/// # #[cfg(feature = "sqlite")]
/// # example().unwrap();
/// ```
pub struct Journal {
    address: JournalAddress,
    shared: Arc<Shared>,
    batched: Option<Batched>,
    is_over: bool,
}

impl Journal {
    /// Opens the journal at this place, and makes it if it is not there.
    ///
    /// It is an error if the journal is not the one that the remembered checkpoint is of, or is shorter: nothing is added to what somebody cut off.
    pub fn open(address: &JournalAddress, options: JournalOptions) -> Result<Self, JournalError> {
        let mut store = address.open(options.patience)?;
        let remembered = options.remember.clone().map(Remembered::at);
        if let Some(remembered) = &remembered {
            remembered.check(&mut *store)?;
        }
        let shared =
            Arc::new(Shared { store: Mutex::new(store), group: Mutex::default(), options, remembered });
        let batched = match shared.options.durability {
            Durability::Full => None,
            Durability::Batched => Some(Batched::start(Arc::clone(&shared))),
        };
        Ok(Self { address: address.clone(), shared, batched, is_over: false })
    }

    /// The file that it is in, if it is in one. Nobody else should be able to write there.
    pub fn file(&self) -> Option<&Path> {
        self.address.as_file()
    }

    /// Records something.
    pub fn append(&self, entry: PendingRecord) -> Result<Receipt, JournalError> {
        match &self.batched {
            Some(batched) => batched.append(entry).map(|()| Receipt::Queued),
            None => self.shared.append(entry),
        }
    }

    /// Whether something could be recorded now. Ask before doing what must not be done unrecorded.
    pub fn ready(&self) -> Result<(), JournalError> {
        if let Some(batched) = &self.batched {
            batched.ready()?;
        }
        lock(&self.shared.store).ready()
    }

    /// The checkpoint over everything up to what was last appended here; what others add later is in the next.
    pub fn checkpoint(&self) -> Result<Option<Checkpoint>, JournalError> {
        self.flush()?;
        self.shared.checkpoint()
    }

    /// Waits until everything that was appended is on the disk.
    pub fn flush(&self) -> Result<(), JournalError> {
        self.batched.as_ref().map_or(Ok(()), Batched::flush)
    }

    /// Writes what is left, and remembers the last checkpoint.
    pub fn close(mut self) -> Result<(), JournalError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), JournalError> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(());
        }
        let written = self.batched.take().map_or(Ok(()), Batched::stop);
        let remembered = self.shared.remember();
        written.and(remembered)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Who wants to know how it went calls `close`, after which nothing is left to be done here.
        let _ = self.end();
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

/// What all threads have in common.
pub(crate) struct Shared {
    store: Mutex<Box<dyn Store>>,
    group: Mutex<Group>,
    options: JournalOptions,
    remembered: Option<Remembered>,
}

/// Who waits to be written. The first of them writes for all that are there; then the first of those who came meanwhile does.
#[derive(Default)]
struct Group {
    waiting: VecDeque<(PendingRecord, Arc<Turn>)>,
    is_led: bool,
    /// How many were written together last.
    last: usize,
}

/// One who waits.
#[derive(Default)]
struct Turn {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Waiting,
    Lead,
    Done(Result<Receipt, JournalError>),
}

impl Turn {
    fn set(&self, state: State) {
        *lock(&self.state) = state;
        self.changed.notify_one();
    }

    /// Waits to be served; nothing, if it is for this one to serve all.
    fn wait(&self) -> Option<Result<Receipt, JournalError>> {
        let mut state = lock(&self.state);
        loop {
            match std::mem::take(&mut *state) {
                State::Waiting => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                State::Lead => return None,
                State::Done(result) => return Some(result),
            }
        }
    }
}

impl Shared {
    fn append(&self, entry: PendingRecord) -> Result<Receipt, JournalError> {
        let turn = Arc::new(Turn::default());
        let leads = {
            let mut group = lock(&self.group);
            group.waiting.push_back((entry, Arc::clone(&turn)));
            !std::mem::replace(&mut group.is_led, true)
        };
        if !leads && let Some(result) = turn.wait() {
            return result;
        }
        self.lead();
        // Served by itself, among the others.
        turn.wait().unwrap_or_else(|| Err(panicked()))
    }

    /// All that wait. Those who were just answered are given a moment to come back: a step costs the same for one and for many.
    fn gather(&self) -> VecDeque<(PendingRecord, Arc<Turn>)> {
        let mut group = lock(&self.group);
        let expected = group.last;
        for _ in 1..expected {
            let before = group.waiting.len();
            if before >= expected {
                break;
            }
            drop(group);
            std::thread::yield_now();
            group = lock(&self.group);
            if group.waiting.len() == before {
                break;
            }
        }
        group.last = group.waiting.len();
        std::mem::take(&mut group.waiting)
    }

    /// Writes for all that wait, gives each its answer, and lets the next lead.
    fn lead(&self) {
        let (entries, turns): (Vec<PendingRecord>, Vec<Arc<Turn>>) = self.gather().into_iter().unzip();
        // What the host brings in, its clock and its observer, may panic: others are not kept waiting for it.
        let write = |entries: &[PendingRecord]| {
            catch_unwind(AssertUnwindSafe(|| self.write_all(entries))).unwrap_or_else(|_| Err(panicked()))
        };
        let results: Vec<_> = match write(&entries) {
            Ok(receipts) => receipts.into_iter().map(Ok).collect(),
            // Each was promised room, and none that all had it together.
            Err(JournalError::Full { .. }) if entries.len() > 1 => {
                let one = |entry| {
                    write(std::slice::from_ref(entry))
                        .and_then(|all| all.first().copied().ok_or_else(panicked))
                };
                entries.iter().map(one).collect()
            }
            Err(error) => vec![Err(error); entries.len()],
        };
        // First the answers, so that those who come back are among the next.
        for (turn, result) in turns.iter().zip(results) {
            turn.set(State::Done(result));
        }
        let mut group = lock(&self.group);
        match group.waiting.front() {
            Some((_, next)) => next.set(State::Lead),
            None => group.is_led = false,
        }
    }

    /// Writes these in one step.
    pub(crate) fn write_all(&self, entries: &[PendingRecord]) -> Result<Vec<Receipt>, JournalError> {
        let mut store = lock(&self.store);
        let mut is_made = true;
        let rows = store.append(&mut |tail| {
            let made = catch_unwind(AssertUnwindSafe(|| tail.extend(entries, &*self.options.clock)));
            is_made = made.is_ok();
            made.unwrap_or_default()
        })?;
        if !is_made {
            return Err(panicked());
        }
        if let Some(observer) = &self.options.observer {
            // The records are on the disk, whatever becomes of this.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                for row in &rows {
                    observer.recorded(&row.as_row());
                }
            }));
        }
        drop(store);
        if rows.iter().any(|row| is_checkpoint(row.sequence)) {
            // The records are on the disk, whatever becomes of this; closing tries again and says so.
            let _ = catch_unwind(AssertUnwindSafe(|| self.remember()));
        }
        let asked = rows.iter().filter(|row| !row.is_own);
        Ok(asked.map(|row| Receipt::Recorded { sequence: row.sequence, hash: row.hash }).collect())
    }

    /// Whether these are in the journal, after an attempt to write them that may have failed or not. They were one step, so the first stands for all.
    pub(crate) fn are_written(&self, entries: &[PendingRecord]) -> Result<bool, JournalError> {
        let Some(first) = entries.first().map(|entry| entry.id.to_string()) else { return Ok(true) };
        let mut store = lock(&self.store);
        let (from, mut is_there) = (store.tail().size(), false);
        store.read(from, &mut |found| {
            is_there |= found.is_ok_and(|row| row.id == first);
            if is_there { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(is_there)
    }

    fn checkpoint(&self) -> Result<Option<Checkpoint>, JournalError> {
        Checkpoint::of(&mut **lock(&self.store), self.options.clock.now())
    }

    fn remember(&self) -> Result<(), JournalError> {
        let Some(remembered) = &self.remembered else { return Ok(()) };
        match self.checkpoint()? {
            Some(checkpoint) => remembered.keep(&checkpoint),
            None => Ok(()),
        }
    }
}

pub(crate) fn panicked() -> JournalError {
    JournalError::Event { reason: "the clock or the source of ids panicked".to_owned() }
}

/// A thread that panicked while it held a lock left what it protects whole: nothing in here panics between two changes.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
