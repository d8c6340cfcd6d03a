//! Writing to a journal: appends from any number of threads, grouped into transactions.

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
use crate::start::Start;
use crate::store::{NewRow, Store, Tail, is_checkpoint};

/// When an append returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// When the record is durable.
    #[default]
    Full,
    /// Immediately; the record is durable about one second later. A crash loses the records of that second.
    Batched,
}

/// How to open a journal.
#[derive(Clone)]
pub struct JournalOptions {
    /// When an append returns.
    pub durability: Durability,
    /// Clock and ids for the records that the journal adds itself.
    pub clock: Arc<dyn Clock>,
    /// A file outside of the journal for its last checkpoint. Without it, truncation is not detected when the journal is opened.
    pub remember: Option<PathBuf>,
    /// Called with every durable record, in order. It must not block.
    pub observer: Option<Arc<dyn Observer>>,
    /// How long to wait for another process that writes to the same file.
    pub patience: Duration,
}

impl JournalOptions {
    /// The defaults: durable appends, no remembered checkpoint, no observer.
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

/// Receives every record after it is durable, for example to send telemetry.
pub trait Observer: Send + Sync {
    /// Called with a durable record.
    fn recorded(&self, row: &RecordRef<'_>);
}

/// The result of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Receipt {
    /// The record is durable.
    Recorded {
        /// Its sequence.
        sequence: u64,
        /// Its hash.
        hash: Digest,
    },
    /// The record will be durable in about one second.
    Queued,
}

/// A journal that is open for writing.
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
    /// Opens the journal at this address, and creates it if it does not exist.
    ///
    /// Fails if the journal is shorter than its remembered checkpoint, or is another one: nothing is added to a truncated journal.
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

    /// Its file, if it is in one. Scripts must not be able to write to it.
    pub fn file(&self) -> Option<&Path> {
        self.address.as_file()
    }

    /// Appends a record.
    pub fn append(&self, entry: PendingRecord) -> Result<Receipt, JournalError> {
        match &self.batched {
            Some(batched) => batched.append(entry).map(|()| Receipt::Queued),
            None => self.shared.append(entry),
        }
    }

    /// Appends records: with full durability all of them in one step, or none.
    pub fn append_all(&self, entries: Vec<PendingRecord>) -> Result<(), JournalError> {
        match &self.batched {
            Some(batched) => entries.into_iter().try_for_each(|entry| batched.append(entry)),
            None if entries.is_empty() => Ok(()),
            None => self.shared.write_all(&entries).map(drop),
        }
    }

    /// Whether a record could be appended now. Call it before an action that must be recorded.
    pub fn ready(&self) -> Result<(), JournalError> {
        if let Some(batched) = &self.batched {
            batched.ready()?;
        }
        lock(&self.shared.store).ready()
    }

    /// The checkpoint over all records up to the last one appended here; `None` for an empty journal.
    pub fn checkpoint(&self) -> Result<Option<Checkpoint>, JournalError> {
        self.flush()?;
        self.shared.checkpoint()
    }

    pub(crate) const fn address(&self) -> &JournalAddress {
        &self.address
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.shared.options.clock
    }

    /// Writes everything that was appended and remembers the checkpoint over it: the number of records it is over.
    pub(crate) fn settle(&self) -> Result<u64, JournalError> {
        self.flush()?;
        self.shared.remember()?;
        Ok(lock(&self.shared.store).tail().size())
    }

    /// Removes records that are in an archive, and records that.
    pub(crate) fn cut(&self, from: u64, start: &Start, entry: PendingRecord) -> Result<(), JournalError> {
        self.shared.write_rows(&[entry], &mut |store, make| store.cut(from, start, make)).map(drop)
    }

    /// Returns unused space to the file system.
    pub(crate) fn shrink(&self) -> Result<(), JournalError> {
        lock(&self.shared.store).shrink()
    }

    /// Waits until everything that was appended is durable.
    pub fn flush(&self) -> Result<(), JournalError> {
        self.batched.as_ref().map_or(Ok(()), Batched::flush)
    }

    /// Writes what is queued, and remembers the last checkpoint.
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
        // Call `close` to learn of errors; then this does nothing.
        let _ = self.end();
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

/// A way to write the rows that the function makes.
type Write<'a> = dyn FnMut(&mut dyn Store, &mut dyn FnMut(&mut Tail) -> Vec<NewRow>) -> Result<Vec<NewRow>, JournalError>
    + 'a;

/// What all threads have in common.
pub(crate) struct Shared {
    store: Mutex<Box<dyn Store>>,
    group: Mutex<Group>,
    options: JournalOptions,
    remembered: Option<Remembered>,
}

/// Entries that wait to be written. The first thread writes for all that wait; then the first of those that came meanwhile does.
#[derive(Default)]
struct Group {
    waiting: VecDeque<(PendingRecord, Arc<Turn>)>,
    is_led: bool,
    /// The number that was written together last.
    last: usize,
}

/// A thread that waits.
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

    /// Waits for the result; `None` if this thread is to write for all.
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
        // This thread has written its own entry among the others.
        turn.wait().unwrap_or_else(|| Err(panicked()))
    }

    /// All entries that wait. Threads that just got their results may append again at once, so they get a moment: a step costs the same for one entry and for many.
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

    /// Writes for all that wait, passes on the results, and lets the next thread lead.
    fn lead(&self) {
        let (entries, turns): (Vec<PendingRecord>, Vec<Arc<Turn>>) = self.gather().into_iter().unzip();
        // The host's clock and observer may panic; other threads must not wait for ever.
        let write = |entries: &[PendingRecord]| {
            catch_unwind(AssertUnwindSafe(|| self.write_all(entries))).unwrap_or_else(|_| Err(panicked()))
        };
        let results: Vec<_> = match write(&entries) {
            Ok(receipts) => receipts.into_iter().map(Ok).collect(),
            // There is space for each entry, but perhaps not for all together.
            Err(JournalError::Full { .. }) if entries.len() > 1 => {
                let one = |entry| {
                    write(std::slice::from_ref(entry))
                        .and_then(|all| all.first().copied().ok_or_else(panicked))
                };
                entries.iter().map(one).collect()
            }
            Err(error) => vec![Err(error); entries.len()],
        };
        // Results first, so that threads that append again are among the next.
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
        let rows = self.write_rows(entries, &mut |store, make| store.append(make))?;
        let asked = rows.iter().filter(|row| !row.is_own);
        Ok(asked.map(|row| Receipt::Recorded { sequence: row.sequence, hash: row.hash }).collect())
    }

    /// Writes these in one step, in this way: all rows that were written.
    fn write_rows(
        &self,
        entries: &[PendingRecord],
        write: &mut Write<'_>,
    ) -> Result<Vec<NewRow>, JournalError> {
        let mut store = lock(&self.store);
        let mut is_made = true;
        let rows = write(&mut **store, &mut |tail| {
            let made = catch_unwind(AssertUnwindSafe(|| tail.extend(entries, &*self.options.clock)));
            is_made = made.is_ok();
            made.unwrap_or_default()
        })?;
        if !is_made {
            return Err(panicked());
        }
        if let Some(observer) = &self.options.observer {
            // The records are durable, whatever the observer does.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                for row in &rows {
                    observer.recorded(&row.as_row());
                }
            }));
        }
        drop(store);
        if rows.iter().any(|row| is_checkpoint(row.sequence)) {
            // The records are durable; closing the journal tries this again and reports the error.
            let _ = catch_unwind(AssertUnwindSafe(|| self.remember()));
        }
        Ok(rows)
    }

    /// Whether these are in the journal after an attempt with an unknown outcome. They were written in one step, so the first stands for all.
    pub(crate) fn are_written(&self, entries: &[PendingRecord]) -> Result<bool, JournalError> {
        let Some(first) = entries.first().map(|entry| entry.id.to_string()) else { return Ok(true) };
        let mut store = lock(&self.store);
        let (from, mut is_there) = (store.tail().size(), false);
        store.read(from, &mut |_| {}, &mut |found| {
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

/// A poisoned lock is used on: no code here panics between two changes of the protected data.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
