//! Records in a table on a PostgreSQL server, for writers on many machines. Writers of a stream queue at a lock of the server.
//!
//! A connection can break at any moment, also between a commit and its acknowledgement. Then it is unknown whether the rows
//! were written. So that they are never written twice, the next attempt first checks whether the first of them is there:
//! they are written all at once or not at all.

mod address;
mod failure;
mod link;
mod session;
mod tls;

use std::ops::ControlFlow;

use metier_skill::Digest;
use tokio_postgres::Row as Stored;

use crate::error::JournalError;
use crate::record::RecordRef;
use crate::start::Start;
use crate::store::{Found, Inspection, NewRow, Store, Tail};
pub(crate) use address::Address;
use failure::Failure;
use link::Link;
use session::{Committed, MANY, Outcome};

/// The tables as they are described in `docs/journal.md`.
const FORMAT: i64 = 1;

/// How often an append is tried when connections break in the middle of it.
const ATTEMPTS: usize = 10;

/// Rows that are asked for at once: few at first, as most who read begin want only the first.
const FETCHED: (usize, usize) = (4, 256);

/// A stream on a server.
pub(crate) struct Postgres {
    address: Address,
    link: Link,
    /// The number of the lock at which the writers of this stream wait.
    lock: i64,
    is_for_reading: bool,
    tail: Tail,
}

/// Rows that may or may not be there, and the end of the journal if they are.
struct Sent {
    rows: Vec<NewRow>,
    tail: Tail,
}

/// Why an attempt to add came to nothing.
enum Problem {
    Server(Failure),
    Journal(JournalError),
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Self::Server(failure)
    }
}

impl Postgres {
    /// Opens a store for appending. Creates missing tables.
    pub(crate) fn open(address: &Address) -> Result<Self, JournalError> {
        let mut postgres = Self::start(address, false)?;
        postgres.lay_out().map_err(|failure| failure.explain(address))?;
        postgres.check_format()?;
        postgres.ready()?;
        let learned = postgres.begin_and_catch_up();
        postgres.roll_back();
        match learned {
            Ok(()) => Ok(postgres),
            Err(problem) => Err(postgres.explain(problem, None)),
        }
    }

    /// For reading only; needs no more than that.
    pub(crate) fn open_to_read(address: &Address) -> Result<Self, JournalError> {
        let postgres = Self::start(address, true)?;
        let not_found = || JournalError::NotFound { place: address.to_string() };
        let layout = postgres.link.run_again(|session| Box::pin(session.look()));
        if !layout.map_err(|failure| failure.explain(address))?.has_tables {
            return Err(not_found());
        }
        if postgres.check_format()? { Ok(postgres) } else { Err(not_found()) }
    }

    fn start(address: &Address, is_for_reading: bool) -> Result<Self, JournalError> {
        let link = Link::start(address).map_err(|failure| failure.explain(address))?;
        let lock = lock_of(&format!("stream {}", address.stream));
        Ok(Self { address: address.clone(), link, lock, is_for_reading, tail: Tail::default() })
    }

    fn lay_out(&self) -> Result<(), Failure> {
        let layout = self.link.run_again(|session| Box::pin(session.look()))?;
        if layout.encoding != "UTF8" {
            let reason = format!("the encoding of the database is {}; a journal needs UTF8", layout.encoding);
            return Err(Failure::refused(reason));
        }
        if layout.has_tables {
            return Ok(());
        }
        let (lock, with_schema) = (lock_of("tables"), !layout.has_schema);
        self.link.run_again(move |session| Box::pin(session.lay_out(lock, FORMAT, with_schema)))
    }

    /// Whether there is anything in the stream, if the tables are of a kind that is known here.
    fn check_format(&self) -> Result<bool, JournalError> {
        let found = self.link.run_again(|session| Box::pin(session.format()));
        match found.map_err(|failure| failure.explain(&self.address))? {
            (Some(FORMAT), has_records) => Ok(has_records),
            (found, _) => Err(JournalError::Format {
                place: self.address.to_string(),
                found: found.unwrap_or_default(),
                known: FORMAT,
            }),
        }
    }

    /// Waits for our turn, and learns what others have added.
    fn begin_and_catch_up(&mut self) -> Result<(), Problem> {
        let links = self.begin()?;
        self.catch_up(links)
    }

    /// Waits for our turn; the last record that is known here, and what comes after it.
    fn begin(&self) -> Result<Vec<session::Link>, Failure> {
        let (lock, from) = (self.lock, self.tail.size().saturating_sub(1).cast_signed());
        self.link.run(move |session| Box::pin(session.begin(lock, from)))
    }

    fn catch_up(&mut self, mut links: Vec<session::Link>) -> Result<(), Problem> {
        let mut tail = self.tail.clone();
        loop {
            follow(&mut tail, &links).map_err(Problem::Journal)?;
            if links.is_empty() && tail.size() > 0 {
                // It has become shorter.
                let (size, hash) = end_of(self.link.run(|session| Box::pin(session.last()))?)?;
                tail.check(size, &hash).map_err(Problem::Journal)?;
            }
            if links.len() < MANY {
                self.tail = tail;
                return Ok(());
            }
            self.skip(&mut tail)?;
            let from = tail.size().saturating_sub(1).cast_signed();
            links = self.link.run(move |session| Box::pin(session.links(from)))?;
        }
    }

    /// Goes on to the last checkpoint, if that is further than what is known.
    fn skip(&self, tail: &mut Tail) -> Result<(), Problem> {
        let (size, _) = end_of(self.link.run(|session| Box::pin(session.last()))?)?;
        let checkpoint = tail.behind(size);
        if checkpoint == tail.size() {
            return Ok(());
        }
        let place = checkpoint.cast_signed();
        let stored = self.link.run(move |session| Box::pin(session.row(place)))?;
        let row = stored.as_ref().map(as_row).transpose().map_err(damaged)?;
        let row = row.ok_or_else(|| damaged(format!("record {checkpoint} is missing")))?;
        tail.catch_up(&row).map_err(Problem::Journal)
    }

    /// Tries to add, once.
    fn attempt(
        &mut self,
        make: &mut dyn FnMut(&mut Tail) -> Vec<NewRow>,
        sent: &mut Option<Sent>,
    ) -> Result<Vec<NewRow>, Problem> {
        let links = self.begin()?;
        // It is our turn, so whoever was asked to write before has written or never will.
        if let Some(Sent { rows, tail }) = sent.take()
            && rows.first().is_some_and(|first| links.iter().any(|link| is_of(link, first)))
        {
            self.roll_back();
            self.tail = tail;
            return Ok(rows);
        }
        if let Err(problem) = self.catch_up(links) {
            self.roll_back();
            return Err(problem);
        }
        let mut tail = self.tail.clone();
        let rows = make(&mut tail);
        if rows.is_empty() {
            self.roll_back();
            return Ok(rows);
        }
        let Committed { rows, outcome } = self.link.run(move |session| Box::pin(session.commit(rows)))?;
        match outcome {
            Outcome::Done => {
                self.tail = tail;
                Ok(rows)
            }
            Outcome::Failed(failure) => Err(failure.into()),
            Outcome::Unknown(failure) => {
                *sent = Some(Sent { rows, tail });
                Err(failure.into())
            }
        }
    }

    /// Gives up what was begun, so that others have their turn. If that fails, the connection is closed, which does the same.
    fn roll_back(&self) {
        let _ = self.link.run(|session| Box::pin(session.roll_back()));
    }

    fn explain(&self, problem: Problem, sent: Option<&Sent>) -> JournalError {
        let error = match problem {
            Problem::Journal(error) => error,
            Problem::Server(failure) => failure.explain(&self.address),
        };
        let Some(sent) = sent else { return error };
        let (place, said) = match error {
            JournalError::Server { place, reason } => (place, reason),
            other => (format!("`{}`", self.address), other.to_string()),
        };
        let reason = format!(
            "{said}; the connection broke while {} records were being written, and whether they are in the journal is \
             not known",
            sent.rows.len()
        );
        JournalError::Server { place, reason }
    }
}

impl Store for Postgres {
    fn append(
        &mut self,
        make: &mut dyn FnMut(&mut Tail) -> Vec<NewRow>,
    ) -> Result<Vec<NewRow>, JournalError> {
        if self.is_for_reading {
            let reason = "it was opened for reading".to_owned();
            return Err(JournalError::ReadOnly { path: self.address.to_string().into(), reason });
        }
        let (mut sent, mut attempts) = (None, 0);
        loop {
            attempts += 1;
            match self.attempt(make, &mut sent) {
                Ok(rows) => return Ok(rows),
                Err(Problem::Server(failure)) if failure.is_lost() && attempts < ATTEMPTS => {}
                Err(problem) => return Err(self.explain(problem, sent.as_ref())),
            }
        }
    }

    fn read(
        &mut self,
        from: u64,
        begin: &mut dyn FnMut(Option<&Start>),
        each: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
    ) -> Result<(), JournalError> {
        begin(None);
        let failed = |failure: Failure| failure.explain(&self.address);
        // From the beginning means all: nothing hides in front of the first.
        let from = if from == 0 { i64::MIN } else { from.cast_signed() };
        self.link.run_again(move |session| Box::pin(session.declare(from))).map_err(failed)?;
        let mut count = FETCHED.0;
        loop {
            let rows = self.link.run(move |session| Box::pin(session.fetch(count))).map_err(failed)?;
            let is_over = rows.iter().map(as_row).any(|found| {
                let is_last = found.is_err();
                each(found).is_break() || is_last
            });
            if is_over || rows.len() < count {
                self.roll_back();
                return Ok(());
            }
            count = (count * 4).min(FETCHED.1);
        }
    }

    fn size(&mut self) -> Result<u64, JournalError> {
        let last = self.link.run_again(|session| Box::pin(session.size()));
        let last = last.map_err(|failure| failure.explain(&self.address))?;
        end_of(last).map(|(size, _)| size).map_err(|problem| self.explain(problem, None))
    }

    fn ready(&mut self) -> Result<(), JournalError> {
        let found = self.link.run_again(|session| Box::pin(session.ready()));
        match found.map_err(|failure| failure.explain(&self.address))? {
            (true, _) => {
                let reason = "the server or this role is read-only".to_owned();
                Err(JournalError::ReadOnly { path: self.address.to_string().into(), reason })
            }
            (false, false) => {
                let reason = "this role may not insert into `metier.record`; `docs/journal.md` lists the required grants";
                Err(Failure::refused(reason).explain(&self.address))
            }
            (false, true) => Ok(()),
        }
    }

    fn cut(
        &mut self,
        _: u64,
        _: &Start,
        _: &mut dyn FnMut(&mut Tail) -> Vec<NewRow>,
    ) -> Result<Vec<NewRow>, JournalError> {
        Err(JournalError::NoArchives { place: self.address.to_string() })
    }

    fn tail(&self) -> &Tail {
        &self.tail
    }

    fn inspect(&mut self) -> Result<Inspection, JournalError> {
        let skipped = Some("the files of the PostgreSQL server".to_owned());
        Ok(Inspection { damage: None, skipped })
    }
}

/// Takes what comes after what is known; the first must be the last that is known.
fn follow(tail: &mut Tail, links: &[session::Link]) -> Result<(), JournalError> {
    let mut links = links;
    if tail.size() > 0
        && let Some(((sequence, hash), rest)) = links.split_first()
    {
        let last = tail.size() - 1;
        if *sequence != last.cast_signed() || hash != tail.hash().as_bytes() {
            let reason = format!("record {last} is not the one that was written");
            return Err(JournalError::Damaged { reason });
        }
        links = rest;
    }
    for (sequence, hash) in links {
        let odd = || JournalError::Damaged {
            reason: format!("the hash of record {sequence} has the wrong length"),
        };
        let hash = digest(hash).ok_or_else(odd)?;
        tail.catch_up(&RecordRef {
            sequence: sequence.cast_unsigned(),
            id: "",
            time: "",
            session: None,
            event: "",
            hash,
        })?;
    }
    Ok(())
}

/// How many records there are if this is the last, and its hash.
fn end_of(last: Option<session::Link>) -> Result<(u64, Digest), Problem> {
    let Some((sequence, hash)) = last else { return Ok((0, crate::record::NOTHING)) };
    let odd = || damaged(format!("record {sequence} has an invalid sequence or hash"));
    let size = u64::try_from(sequence).map_err(|_| odd())? + 1;
    Ok((size, digest(&hash).ok_or_else(odd)?))
}

fn is_of(link: &session::Link, row: &NewRow) -> bool {
    link.0 == row.sequence.cast_signed() && link.1 == row.hash.as_bytes()
}

fn damaged<S: Into<String>>(reason: S) -> Problem {
    Problem::Journal(JournalError::Damaged { reason: reason.into() })
}

/// A row, only if each column is of the kind that was written.
fn as_row(stored: &Stored) -> Found<'_> {
    let wrong = |what: &str| format!("its {what} has the wrong type");
    let text = |index: usize, what: &str| stored.try_get::<_, &str>(index).map_err(|_| wrong(what));
    let sequence = stored.try_get::<_, i64>(0).ok().and_then(|sequence| u64::try_from(sequence).ok());
    let hash = stored.try_get::<_, &[u8]>(5).ok().and_then(digest);
    Ok(RecordRef {
        sequence: sequence.ok_or_else(|| wrong("sequence"))?,
        id: text(1, "id")?,
        time: text(2, "time")?,
        session: stored.try_get(3).map_err(|_| wrong("session"))?,
        event: text(4, "event")?,
        hash: hash.ok_or_else(|| wrong("hash"))?,
    })
}

fn digest(bytes: &[u8]) -> Option<Digest> {
    Some(Digest::from_bytes(bytes.try_into().ok()?))
}

/// The number of a lock. It is derived from a digest, so that other programs with locks in the same database do
/// not use it by accident.
fn lock_of(what: &str) -> i64 {
    let digest = Digest::of(format!("metier.record: {what}").as_bytes());
    digest.as_bytes()[..8].iter().fold(0, |number, byte| number << 8 | i64::from(*byte))
}
