//! A conversation with the server, step by step. Whether a step is repeated, and what follows from it, is decided by who asks for it.

use std::future::Future;
use std::time::Duration;

use futures_util::future::join;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::address::Address;
use super::failure::Failure;
use super::tls::Tls;
use crate::store::NewRow;

/// How long a server may be away while something has to be recorded.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long when nothing was begun.
const SHORT_PATIENCE: Duration = Duration::from_secs(5);
/// Between two attempts to connect: the first, then twice as long each time, but not longer than the last.
const DELAYS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// How long a step may take: longer than the longest wait for other writers.
const STEP: Duration = Duration::from_mins(1);

/// Settings for every connection. Names are only resolved in the expected schema. A client that hangs in the
/// middle of a transaction loses its connection after half a minute, so others wait no longer than that.
///
/// No statement has a time limit: one that ends the wait for a synchronous standby would have the server report a commit as done that is not.
const SETTINGS: &str = "SET search_path = pg_catalog; SET lock_timeout = '30s'; SET statement_timeout = 0; \
                        SET idle_in_transaction_session_timeout = '30s'; SET tcp_keepalives_idle = 30; \
                        SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3";

/// A row is there when the server has written it to its disk, whatever it usually does; what is stricter stays.
const DURABLE: &str = "SELECT set_config('synchronous_commit', 'on', true) \
                       WHERE current_setting('synchronous_commit') <> 'remote_apply'";

const INSERT: &str = "INSERT INTO metier.record(stream, sequence, id, time, session, event, hash) SELECT $1, * \
                      FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[])";

/// So much goes into one statement; the server takes none of a gigabyte.
const PIECE: usize = 16 << 20;

/// What others may have added since we last looked, without a look at the whole journal.
pub(super) const MANY: usize = 1100;

/// A connection, when there is one.
pub(super) struct Session {
    address: Address,
    connection: Option<Connection>,
}

struct Connection {
    client: Client,
    driver: JoinHandle<()>,
}

/// What there is on a server.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) encoding: String,
    pub(super) has_schema: bool,
    pub(super) has_tables: bool,
}

/// The place of a record and its hash, as they are stored.
pub(super) type Link = (i64, Vec<u8>);

/// How a commit ended, with the rows that it was about.
pub(super) struct Committed {
    pub(super) rows: Vec<NewRow>,
    pub(super) outcome: Outcome,
}

pub(super) enum Outcome {
    Done,
    /// Nothing was written.
    Failed(Failure),
    /// The server was asked, and did not live to answer.
    Unknown(Failure),
}

impl Session {
    pub(super) const fn new(address: Address) -> Self {
        Self { address, connection: None }
    }

    pub(super) async fn close(self) {
        if let Some(Connection { client, driver }) = self.connection {
            drop(client);
            // Says goodbye; whether that arrives is not waited for long.
            let _ = timeout(DELAYS.1, driver).await;
        }
    }

    async fn connect_once(&self) -> Result<Connection, Failure> {
        let tls = Tls { certificates: self.address.certificates.clone() };
        let step = async {
            let (client, connection) = self.address.config.connect(tls).await?;
            // How it ends, whoever next uses the client is told.
            let driver = tokio::spawn(async move {
                let _ = connection.await;
            });
            client.batch_execute(SETTINGS).await?;
            Ok(Connection { client, driver })
        };
        within(STEP, step).await
    }

    /// Makes a connection if there is none; tries again and again for so long.
    async fn connected(&mut self, patience: Duration) -> Result<(), Failure> {
        if self.connection.as_ref().is_none_or(|connection| connection.client.is_closed()) {
            self.connection = None;
            let mut last = None;
            let tries = async {
                let mut delay = DELAYS.0;
                loop {
                    match self.connect_once().await {
                        Err(failure) if failure.is_lost() => last = Some(failure),
                        other => return other,
                    }
                    sleep(delay).await;
                    delay = (delay * 2).min(DELAYS.1);
                }
            };
            let made = timeout(patience, tries).await;
            let away = || last.unwrap_or_else(|| Failure::lost("no answer")).away();
            self.connection = Some(made.map_err(|_| away())??);
        }
        Ok(())
    }

    /// The connection in the middle of something: another one would know nothing of it.
    fn client(&self) -> Result<&Client, Failure> {
        let connection = self.connection.as_ref().ok_or_else(|| Failure::lost("the connection was lost"))?;
        Ok(&connection.client)
    }

    /// Drops the connection after a failure, because its state is unknown.
    fn keep<T>(&mut self, result: Result<T, Failure>) -> Result<T, Failure> {
        if result.is_err() {
            self.connection = None;
        }
        result
    }

    /// What exists on the server, according to tables that all users may read.
    pub(super) async fn look(&mut self) -> Result<Layout, Failure> {
        let query = "SELECT current_setting('server_encoding'), \
                     EXISTS(SELECT FROM pg_namespace WHERE nspname = 'metier'), \
                     (SELECT count(*) = 2 FROM pg_class WHERE relname IN ('record', 'format') \
                      AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'metier'))";
        self.connected(SHORT_PATIENCE).await?;
        let client = self.client()?;
        let step = async {
            let row = client.query_typed_one(query, &[]).await?;
            Ok(Layout { encoding: row.try_get(0)?, has_schema: row.try_get(1)?, has_tables: row.try_get(2)? })
        };
        let result = within(STEP, step).await;
        self.keep(result)
    }

    /// Makes the tables. Of those who do this at once, one does it.
    pub(super) async fn lay_out(&mut self, lock: i64, format: i64, with_schema: bool) -> Result<(), Failure> {
        let schema = if with_schema { "CREATE SCHEMA IF NOT EXISTS metier;" } else { "" };
        let statements = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({lock}); {schema}
             CREATE TABLE IF NOT EXISTS metier.format(version bigint PRIMARY KEY);
             CREATE TABLE IF NOT EXISTS metier.record(stream text, sequence bigint, id text NOT NULL,
             time text NOT NULL, session text, event text NOT NULL, hash bytea NOT NULL,
             PRIMARY KEY(stream, sequence));
             INSERT INTO metier.format SELECT {format} WHERE NOT EXISTS(SELECT FROM metier.format); COMMIT"
        );
        self.connected(SHORT_PATIENCE).await?;
        let client = self.client()?;
        let result = within(STEP, client.batch_execute(&statements)).await;
        self.keep(result)
    }

    /// The highest format that is noted, and whether there is anything in the stream.
    pub(super) async fn format(&mut self) -> Result<(Option<i64>, bool), Failure> {
        let query = "SELECT (SELECT max(version) FROM metier.format), \
                     EXISTS(SELECT FROM metier.record WHERE stream = $1)";
        self.connected(SHORT_PATIENCE).await?;
        let client = self.client()?;
        let step = async {
            let row = client.query_typed_one(query, &[(&self.address.stream, Type::TEXT)]).await?;
            Ok((row.try_get(0)?, row.try_get(1)?))
        };
        let result = within(STEP, step).await;
        self.keep(result)
    }

    /// Whether it is only read here, and whether this role may add.
    pub(super) async fn ready(&mut self) -> Result<(bool, bool), Failure> {
        let query = "SELECT current_setting('transaction_read_only')::boolean, \
                     has_table_privilege('metier.record', 'INSERT')";
        self.connected(SHORT_PATIENCE).await?;
        let client = self.client()?;
        let step = async {
            let row = client.query_typed_one(query, &[]).await?;
            Ok((row.try_get(0)?, row.try_get(1)?))
        };
        let result = within(STEP, step).await;
        self.keep(result)
    }

    /// Begins to add, when it is our turn; what is there from this place on, but not more than [`MANY`].
    ///
    /// Waiting and looking are statements of their own: each sees what was there when it began.
    pub(super) async fn begin(&mut self, lock: i64, from: i64) -> Result<Vec<Link>, Failure> {
        let wait =
            format!("BEGIN ISOLATION LEVEL READ COMMITTED; {DURABLE}; SELECT pg_advisory_xact_lock({lock})");
        self.connected(PATIENCE).await?;
        let client = self.client()?;
        let step = async {
            // Sent together, answered in order.
            let (begun, links) = join(client.batch_execute(&wait), self.links_from(client, from)).await;
            begun.and(links)
        };
        let result = within(STEP, step).await;
        self.keep(result)
    }

    /// What else there is, in the middle of adding.
    pub(super) async fn links(&mut self, from: i64) -> Result<Vec<Link>, Failure> {
        let client = self.client()?;
        let result = within(STEP, self.links_from(client, from)).await;
        self.keep(result)
    }

    async fn links_from(&self, client: &Client, from: i64) -> Result<Vec<Link>, tokio_postgres::Error> {
        let query = format!(
            "SELECT sequence, hash FROM metier.record WHERE stream = $1 AND sequence >= $2 ORDER BY sequence \
             LIMIT {MANY}"
        );
        let parameters: [(&(dyn ToSql + Sync), Type); 2] =
            [(&self.address.stream, Type::TEXT), (&from, Type::INT8)];
        let rows = client.query_typed(&query, &parameters).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    /// Writes these rows and ends what was begun, in that order and sent together.
    pub(super) async fn commit(&mut self, rows: Vec<NewRow>) -> Result<Committed, Failure> {
        let outcome = match timeout(STEP, self.insert(&rows)).await {
            Ok(outcome) => outcome,
            Err(_) => Outcome::Unknown(Failure::lost("no answer")),
        };
        if !matches!(outcome, Outcome::Done) {
            self.connection = None;
        }
        Ok(Committed { rows, outcome })
    }

    async fn insert(&self, rows: &[NewRow]) -> Outcome {
        let client = match self.client() {
            Ok(client) => client,
            Err(failure) => return Outcome::Failed(failure),
        };
        let mut rest = rows;
        loop {
            let (piece, others) = rest.split_at(piece_of(rest));
            let insert = insert_piece(client, &self.address.stream, piece);
            if others.is_empty() {
                let (inserted, committed) = join(insert, client.batch_execute("COMMIT")).await;
                return outcome_of(inserted, committed, piece.len());
            }
            if let Err(error) = insert.await {
                return Outcome::Failed(Failure::of(&error));
            }
            rest = others;
        }
    }

    /// Gives up what was begun.
    pub(super) async fn roll_back(&mut self) -> Result<(), Failure> {
        let client = self.client()?;
        let result = within(STEP, client.batch_execute("ROLLBACK")).await;
        self.keep(result)
    }

    /// How many records there are, and the hash of the last; in the middle of something or not.
    pub(super) async fn last(&mut self) -> Result<Option<Link>, Failure> {
        let query =
            "SELECT sequence, hash FROM metier.record WHERE stream = $1 ORDER BY sequence DESC LIMIT 1";
        let client = self.client()?;
        let step = async {
            let row = client.query_typed_opt(query, &[(&self.address.stream, Type::TEXT)]).await?;
            row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).transpose()
        };
        let result = within(STEP, step).await;
        self.keep(result)
    }

    /// The same, when nothing was begun.
    pub(super) async fn size(&mut self) -> Result<Option<Link>, Failure> {
        self.connected(SHORT_PATIENCE).await?;
        self.last().await
    }

    /// One row, in the middle of something.
    pub(super) async fn row(&mut self, sequence: i64) -> Result<Option<Row>, Failure> {
        let query = "SELECT sequence, id, time, session, event, hash FROM metier.record \
                     WHERE stream = $1 AND sequence = $2";
        let parameters: [(&(dyn ToSql + Sync), Type); 2] =
            [(&self.address.stream, Type::TEXT), (&sequence, Type::INT8)];
        let client = self.client()?;
        let result = within(STEP, client.query_typed_opt(query, &parameters)).await;
        self.keep(result)
    }

    /// Starts reading at a position. Readers do not block others, so they may take their time.
    pub(super) async fn declare(&mut self, from: i64) -> Result<(), Failure> {
        // A stream's name has nothing in it that means something to the server.
        let statements = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; \
             SET LOCAL idle_in_transaction_session_timeout = '10min'; \
             DECLARE reading NO SCROLL CURSOR FOR SELECT sequence, id, time, session, event, hash \
             FROM metier.record WHERE stream = '{}' AND sequence >= {from} ORDER BY sequence",
            self.address.stream
        );
        self.connected(SHORT_PATIENCE).await?;
        let client = self.client()?;
        let result = within(STEP, client.batch_execute(&statements)).await;
        self.keep(result)
    }

    /// The next rows.
    pub(super) async fn fetch(&mut self, count: usize) -> Result<Vec<Row>, Failure> {
        let client = self.client()?;
        let fetch = format!("FETCH FORWARD {count} FROM reading");
        let result = within(STEP, client.query_typed(&fetch, &[])).await;
        self.keep(result)
    }
}

/// A step that takes too long has lost its connection.
async fn within<T>(
    limit: Duration,
    step: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, Failure> {
    match timeout(limit, step).await {
        Ok(result) => result.map_err(|error| Failure::of(&error)),
        Err(_) => Err(Failure::lost("no answer")),
    }
}

/// How many of these rows go into one statement; one at least.
fn piece_of(rows: &[NewRow]) -> usize {
    let mut size = 0;
    let fits = rows.iter().take_while(|row| {
        size += row.event.len() + 256;
        size <= PIECE
    });
    fits.count().max(1).min(rows.len())
}

async fn insert_piece(client: &Client, stream: &str, rows: &[NewRow]) -> Result<u64, tokio_postgres::Error> {
    let sequences: Vec<i64> = rows.iter().map(|row| row.sequence.cast_signed()).collect();
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    let times: Vec<&str> = rows.iter().map(|row| row.time.as_str()).collect();
    let sessions: Vec<Option<&str>> = rows.iter().map(|row| row.session.as_deref()).collect();
    let events: Vec<&str> = rows.iter().map(|row| row.event.as_str()).collect();
    let hashes: Vec<&[u8]> = rows.iter().map(|row| row.hash.as_bytes().as_slice()).collect();
    let parameters: [(&(dyn ToSql + Sync), Type); 7] = [
        (&stream, Type::TEXT),
        (&sequences, Type::INT8_ARRAY),
        (&ids, Type::TEXT_ARRAY),
        (&times, Type::TEXT_ARRAY),
        (&sessions, Type::TEXT_ARRAY),
        (&events, Type::TEXT_ARRAY),
        (&hashes, Type::BYTEA_ARRAY),
    ];
    client.execute_typed(INSERT, &parameters).await
}

/// What became of rows, from both answers.
fn outcome_of(
    inserted: Result<u64, tokio_postgres::Error>,
    committed: Result<(), tokio_postgres::Error>,
    count: usize,
) -> Outcome {
    let added = match inserted.and_then(|added| committed.map(|()| added)) {
        Ok(added) => added,
        Err(error) if Failure::leaves_doubt(&error) => return Outcome::Unknown(Failure::of(&error)),
        Err(error) => return Outcome::Failed(Failure::of(&error)),
    };
    if added != count as u64 {
        let reason =
            format!("the server stored {added} of {count} records; a rule or trigger on it removes rows");
        return Outcome::Failed(Failure::refused(reason));
    }
    Outcome::Done
}
