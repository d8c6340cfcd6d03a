//! What a journal promises on a PostgreSQL server: the same as in a file, and that it outlives the server's crashes.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::print_stdout, reason = "what was tested is said")]

#[path = "support/behaviours.rs"]
mod behaviours;
#[path = "../../../tests/shared/clock.rs"]
mod clock;
#[path = "support/common.rs"]
mod common;
#[path = "support/proxy.rs"]
mod proxy;
#[path = "support/postgres.rs"]
mod server;
#[path = "support/writers.rs"]
mod writers;

use std::path::Path;
use std::sync::{Arc, Barrier};

use behaviours::{Ground, assert_whole, exported, fill, open};
use clock::TestClock;
use common::{entry, filled};
use metier_journal::{
    ArchiveRequest, Event, Journal, JournalAddress, JournalError, JournalOptions, JournalReader,
    PendingRecord, Receipt, RecordContext, RecordQuery, Time, verify,
};
use metier_skill::Coded as _;
use proxy::{Cut, Proxy};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use server::{ENCODED, PASSWORD, Server, own};

impl Ground for Server {
    fn place(&self, name: &str) -> JournalAddress {
        Server::place(self, name)
    }

    fn alter(&self, name: &str, statement: &str) {
        let own = format!("stream = '{name}'");
        let statement = statement.replace("{record}", "metier.record").replace("{own}", &own);
        self.sql(&statement.replace("{stream}", "stream,"));
    }
}

#[test]
fn a_server_keeps_every_promise() {
    let Some(server) = Server::start() else { return };
    behaviours::all(&server);
    let directory = tempfile::tempdir().unwrap();
    let (here, there) = (filled(directory.path(), 2100), server.place("same"));
    fill(&there, 2100);
    assert_eq!(exported(&here), exported(&there), "the same entries are other bytes on the server");
    let verification = verify(&there, &[]).unwrap();
    assert_eq!(verification.skipped, ["the files of the PostgreSQL server"]);
}

#[test]
fn acknowledged_records_outlive_the_server() {
    let Some(server) = Server::start() else { return };
    writers::outlive(server);
}

/// One of many processes; by itself it does nothing.
#[test]
#[ignore = "started by other tests"]
fn writer() {
    writers::write();
}

#[test]
fn who_comes_first_makes_the_tables() {
    let Some(server) = Server::start() else { return };
    for round in 0..8 {
        server.sql(&format!("CREATE DATABASE round{round}"));
        let place: JournalAddress = server.url("admin", &format!("round{round}"), "").parse().unwrap();
        let together = Barrier::new(16);
        std::thread::scope(|scope| {
            for number in 0..16 {
                let (place, together) = (&place, &together);
                scope.spawn(move || {
                    together.wait();
                    let journal = open(place, number);
                    journal.append(entry(&*TestClock::new(number), "first", number)).unwrap();
                });
            }
        });
        assert_whole(&place, 17);
        assert_eq!(server.sql_in(&format!("round{round}"), "SELECT version FROM metier.format"), "1");
    }
}

/// A place that is reached through the proxy.
fn through(proxy: &Proxy, role: &str, stream: &str) -> JournalAddress {
    format!("postgres://{role}:{ENCODED}@127.0.0.1:{}/postgres?stream={stream}", proxy.port())
        .parse()
        .unwrap()
}

/// Records something that nothing else is like, and finds it once.
fn append_once(journal: &Journal, place: &JournalAddress, name: &str) {
    let event = Event::SkillDeactivated { name: name.to_owned() };
    let clock = TestClock::new(name.bytes().fold(0, |hash: u64, byte| hash * 31 + u64::from(byte)));
    let entry = PendingRecord::new(&*clock, &RecordContext::session("cut"), &event).unwrap();
    let receipt = journal.append(entry).unwrap();
    let query = RecordQuery { skill: Some(name.to_owned()), ..RecordQuery::default() };
    let found = JournalReader::open(place).unwrap().query(&query).unwrap();
    assert_eq!(found.len(), 1, "{name}");
    let Receipt::Recorded { sequence, hash } = receipt else { panic!("{receipt:?}") };
    assert_eq!((found[0].sequence, found[0].hash), (sequence, hash), "{name}");
}

#[test]
fn a_connection_may_break_anywhere() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::start(server.port());
    let (place, beside) = (through(&proxy, "admin", "cut"), server.place("cut"));
    let journal = open(&place, 0);
    let mut cuts = vec![vec![Cut::BeforeCommit], vec![Cut::AnswerToCommit]];
    cuts.extend((0..8).map(|pieces| vec![Cut::After(pieces)]));
    // Again, while it is looked whether the rows are there; connecting and asking takes some pieces.
    cuts.extend((0..24).map(|pieces| vec![Cut::AnswerToCommit, Cut::After(pieces)]));
    cuts.push([[Cut::BeforeCommit; 4].as_slice(), &[Cut::AnswerToCommit]].concat());
    let others = open(&beside, 1);
    let mut happened = 0;
    for (number, cuts) in cuts.iter().enumerate() {
        proxy.cut(cuts);
        append_once(&journal, &beside, &format!("cut-{number}"));
        // There may be fewer pieces than that; there is always a commit.
        assert!(proxy.left() == 0 || matches!(cuts[..], [.., Cut::After(_)]), "{cuts:?} did not happen");
        happened += cuts.len() - proxy.left();
        // What comes late is not cut in the next round.
        proxy.cut(&[]);
        // So that there is always something to catch up with.
        append_once(&others, &beside, &format!("other-{number}"));
    }
    journal.close().unwrap();
    assert_whole(&beside, 1 + 2 * cuts.len() as u64);
    println!("cuts: {} ways, {happened} connections cut, each record there once", cuts.len());
}

#[test]
fn what_is_not_known_is_said() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::start(server.port());
    server.sql(&format!("CREATE ROLE clerk LOGIN SUPERUSER PASSWORD '{}'", PASSWORD.replace('\'', "''")));
    let journal = open(&through(&proxy, "clerk", "default"), 0);
    let server = Arc::new(server);
    let its = Arc::clone(&server);
    proxy.cut(&[Cut::AnswerToCommit]);
    proxy.when_cut(move || {
        its.sql("ALTER ROLE clerk NOLOGIN");
    });
    let error = journal.append(entry(&*TestClock::new(1), "doubt", 0)).unwrap_err();
    assert_eq!(proxy.left(), 0);
    // The proxy goes on for longer than the server.
    proxy.when_cut(|| {});
    let text = error.to_string();
    assert!(text.contains("not permitted to log in") && text.contains("is not known"), "{text}");
    assert_hidden(&error);
    // It was there, which nobody could know; it is not written again.
    server.sql("ALTER ROLE clerk LOGIN");
    append_once(&journal, &server.place("default"), "afterwards");
    assert_whole(&server.place("default"), 3);
}

fn assert_hidden(error: &JournalError) {
    for text in [error.to_string(), format!("{error:?}")] {
        assert!(!text.contains(PASSWORD) && !text.contains(ENCODED) && !text.contains("w'rd"), "{text}");
    }
}

/// What opening this says; never the password.
fn refused(url: &str) -> JournalError {
    let place: JournalAddress = url.parse().unwrap();
    for text in [place.to_string(), format!("{place:?}"), place.key()] {
        assert!(!text.contains("w'rd") && !text.contains(PASSWORD), "{text}");
    }
    let error = Journal::open(&place, JournalOptions::new(TestClock::new(0))).unwrap_err();
    assert_hidden(&error);
    error
}

#[test]
fn what_a_server_refuses_is_said_without_the_password() {
    let Some(server) = Server::start() else { return };
    let password = PASSWORD.replace('\'', "''");
    for role in ["nobody", "reader", "writer", "lazy"] {
        server.sql(&format!("CREATE ROLE {role} LOGIN PASSWORD '{password}'"));
    }
    let said = |url: &str, what: &str| {
        let error = refused(url);
        assert!(error.to_string().contains(what), "{error}");
        error
    };
    let port = server.port();
    let wrong = format!("postgres://admin:w'rd@127.0.0.1:{port}/postgres");
    said(&wrong, "password authentication failed");
    said(&format!("postgres://127.0.0.1:{port}/postgres?user=admin&password=w'rd"), "authentication failed");
    said(&server.url("admin", "absent", ""), "database \"absent\" does not exist");
    server.sql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
    said(&server.url("admin", "latin", ""), "the encoding of the database is LATIN1");
    said(&server.url("nobody", "postgres", ""), "permission denied for database");
    said(&server.url("admin", "postgres", "sslmode=require"), "server does not support TLS");
    said(&format!("postgres://admin:{ENCODED}@no-such-host.invalid/postgres"), "no-such-host.invalid");
    assert_eq!(server.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'metier'"), "0");
    grants(&server);
    read_only(&server);
    full(&server);
    newer(&server);
}

/// What roles need, and no more.
fn grants(server: &Server) {
    let place = server.place("default");
    assert!(matches!(JournalReader::open(&place), Err(JournalError::NotFound { .. })));
    fill(&place, 10);
    let role = |role: &str| server.url(role, "postgres", "");
    assert!(refused(&role("nobody")).to_string().contains("permission denied for schema metier"));
    server.sql("GRANT USAGE ON SCHEMA metier TO reader, writer, lazy");
    server.sql("GRANT SELECT ON metier.record, metier.format TO reader, writer, lazy");
    server.sql("GRANT INSERT ON metier.record TO writer, lazy");
    assert_whole(&role("reader").parse().unwrap(), 11);
    // No writer has a right to delete, so nothing is archived.
    let error = open(&place, 4).archive(&archiving()).unwrap_err();
    assert!(
        error.code() == "journal-no-archives" && error.to_string().contains("only journals in files"),
        "{error}"
    );
    assert!(
        error.hint().unwrap().contains("new stream") && !error.to_string().contains(PASSWORD),
        "{error:?}"
    );
    assert_whole(&place, 11);
    let absent: JournalAddress = server.url("reader", "postgres", "stream=absent").parse().unwrap();
    assert!(matches!(JournalReader::open(&absent), Err(JournalError::NotFound { .. })));
    assert!(refused(&role("reader")).to_string().contains("may not insert"));
    let journal = open(&role("writer").parse().unwrap(), 5);
    journal.append(entry(&*TestClock::new(6), "writer", 0)).unwrap();
    journal.close().unwrap();
    assert_whole(&place, 12);
}

fn archiving() -> ArchiveRequest {
    ArchiveRequest {
        directory: "/nonexistent".into(),
        before: Time::from_micros(i64::MAX),
        by_month: false,
        context: RecordContext::default(),
    }
}

fn read_only(server: &Server) {
    let place: JournalAddress = server.url("lazy", "postgres", "").parse().unwrap();
    let journal = open(&place, 8);
    server.sql("ALTER ROLE lazy SET default_transaction_read_only = on");
    let error = refused(&server.url("lazy", "postgres", ""));
    assert!(matches!(error, JournalError::ReadOnly { .. }), "{error}");
    // Who was there before is told when it happens.
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'lazy'");
    let error = journal.append(entry(&*TestClock::new(9), "lazy", 0)).unwrap_err();
    assert!(matches!(error, JournalError::ReadOnly { .. }), "{error}");
    assert!(matches!(journal.ready(), Err(JournalError::ReadOnly { .. })));
}

fn full(server: &Server) {
    let journal = open(&server.place("default"), 10);
    server.sql(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$; \
         CREATE TRIGGER full_disk BEFORE INSERT ON metier.record EXECUTE FUNCTION full_disk()",
    );
    let error = journal.append(entry(&*TestClock::new(11), "full", 0)).unwrap_err();
    assert!(matches!(error, JournalError::Full { .. }), "{error}");
    server.sql("DROP TRIGGER full_disk ON metier.record");
    journal.append(entry(&*TestClock::new(11), "full", 0)).unwrap();
}

fn newer(server: &Server) {
    server.sql("UPDATE metier.format SET version = 2");
    let error = refused(&server.url("admin", "postgres", ""));
    assert!(matches!(error, JournalError::Format { found: 2, known: 1, .. }), "{error}");
    assert!(matches!(JournalReader::open(&server.place("default")), Err(JournalError::Format { .. })));
    let error = refused(&server.url("writer", "postgres", ""));
    assert!(matches!(error, JournalError::Format { .. }), "{error}");
}

#[test]
fn a_server_is_used_from_inside_of_a_runtime() {
    let Some(server) = Server::start() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        fill(&server.place("inside"), 10);
        let journal = open(&server.place("inside"), 2);
        journal.append(entry(&*TestClock::new(3), "inside", 0)).unwrap();
        journal.ready().unwrap();
        drop(journal);
        assert_whole(&server.place("inside"), 12);
    });
}

/// A certificate for `127.0.0.1` with its key, and that of who signed it.
fn certificates() -> (String, String, String) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let server = server.signed_by(&key, &authority).unwrap();
    (server.pem(), key.serialize_pem(), authority.pem())
}

#[test]
fn only_a_server_that_shows_who_it_is_is_talked_to_in_secret() {
    let (certificate, key, authority) = certificates();
    let put = |directory: &Path| {
        for (name, text) in [("data/server.crt", certificate), ("data/server.key", key)] {
            std::fs::write(directory.join(name), text).unwrap();
            own(&directory.join(name));
        }
    };
    let Some(server) = Server::start_with(&["ssl=on"], put) else { return };
    let directory = tempfile::tempdir().unwrap();
    let trusted = directory.path().join("authority.pem");
    std::fs::write(&trusted, authority).unwrap();
    let trusted = format!("sslrootcert={}", trusted.display());
    for (parameters, what) in [
        ("sslmode=require", "UnknownIssuer"),
        ("sslmode=prefer", "UnknownIssuer"),
        ("", "UnknownIssuer"),
        ("sslmode=verify-full&sslrootcert=/absent.pem", "/absent.pem"),
        (&format!("sslmode=require&channel_binding=require&{trusted}"), "channel binding"),
    ] {
        let error = refused(&server.url("admin", "postgres", parameters));
        assert!(error.to_string().contains(what), "{parameters}: {error}");
    }
    let elsewhere = server.url("admin", "postgres", &format!("sslmode=verify-full&{trusted}"));
    let error = refused(&elsewhere.replace("127.0.0.1", "localhost"));
    assert!(error.to_string().contains("not valid for name"), "{error}");
    for mode in ["require", "verify-full", "prefer"] {
        let place = server.url("admin", "postgres", &format!("stream={mode}&sslmode={mode}&{trusted}"));
        let journal = open(&place.parse().unwrap(), 0);
        journal.append(entry(&*TestClock::new(1), "secret", 0)).unwrap();
        let secret = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'metier'";
        assert_eq!(server.sql(secret), "t");
    }
}

#[test]
fn durability_does_not_depend_on_the_servers_habit() {
    let Some(server) = Server::start_with(&["synchronous_commit=off"], |_| {}) else { return };
    let journal = open(&server.place("default"), 0);
    server.sql(
        "CREATE TABLE seen(setting text); \
         CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN INSERT INTO public.seen VALUES (pg_catalog.current_setting('synchronous_commit')); RETURN NULL; END $$; \
         CREATE TRIGGER look AFTER INSERT ON metier.record EXECUTE FUNCTION look()",
    );
    for (setting, number) in [("off", 0), ("local", 1), ("remote_apply", 2)] {
        server.sql(&format!("ALTER ROLE admin SET synchronous_commit = {setting}"));
        let journal = open(&server.place("default"), number);
        journal.append(entry(&*TestClock::new(number), "habit", number)).unwrap();
    }
    assert_eq!(server.sql("SELECT string_agg(setting, ' ') FROM seen"), "on on remote_apply");
    drop(journal);
}

#[test]
fn urls_are_read_or_refused() {
    let key = |url: &str| url.parse::<JournalAddress>().unwrap().key();
    assert_eq!(key("postgres://a:b@Db.example/audit"), "db.example:5432/audit/default");
    assert_eq!(key("postgresql://x@db.example:5432/audit?stream=default"), "db.example:5432/audit/default");
    assert_eq!(key("postgres://a@one,two:5433/audit?stream=s-1.x"), "one:5432,two:5433/audit/s-1.x");
    assert_eq!(key("postgres:///audit?host=/run/postgresql&user=a"), "/run/postgresql:5432/audit/default");
    for (url, what) in [
        ("postgres://a:se@cret@host/db", "%40"),
        ("postgres://a:se/cret@host/db", "%2F"),
        ("postgres://a:se?cret@host/db", "%3F"),
        ("postgres://host/db?password=se@cret", "%40"),
        ("postgres://host/db?password=x&secret=y", "unknown parameter"),
        ("postgres://a:secret@host:port/db", "port"),
        ("postgres://a:secret@/db", "the host is missing"),
        ("postgres://a:secret@host/db?stream=", "stream"),
        ("postgres://a:secret@host/db?stream=Capital", "stream"),
        ("postgres://a:secret@host/db?sslmode=allow", "sslmode"),
        ("mysql://a:secret@host/db", "only files"),
    ] {
        let error = url.parse::<JournalAddress>().unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(text.contains(what) && !text.contains("cret"), "{url}: {text}");
    }
}
