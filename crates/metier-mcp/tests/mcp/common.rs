//! A place with skills, a library of them, and a client that speaks line by line.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use metier_catalog::{Catalog, CatalogOptions, Root, Scanner, Scope};
use metier_mcp::{Library, LibraryContents, LibraryOptions, serve};
use metier_policy::Anchors;
use metier_sandbox::{Executor, ReservedPaths, WorkDirectory};
use metier_session::{Recording, SessionOptions};
use metier_skill::Tier;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex,
    split,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::clock::TestClock;

/// Longer than anything takes that should not wait.
const SOON: Duration = Duration::from_secs(30);

/// A directory with skills in it.
pub(crate) struct Ground(TempDir);

impl Ground {
    /// Two skills of a third party: to run the script of one a person is asked.
    pub(crate) fn new() -> Self {
        let ground = Self(tempfile::tempdir().unwrap());
        ground.write(
            "skills/tally/SKILL.md",
            "---\nname: tally\ndescription: Counts words.\n---\nRun scripts/run.sh.\n",
        );
        ground.write("skills/tally/scripts/run.sh", "#!/bin/sh\necho ran\n");
        ground.write("skills/tally/references/guide.md", "one\ntwo\n");
        ground
            .write("skills/plain/SKILL.md", "---\nname: plain\ndescription: Does nothing.\n---\nNothing.\n");
        ground
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn catalog(&self) -> Catalog {
        let root = Root::new(self.0.path().join("skills"), Tier::ThirdParty, Scope::User);
        Scanner::new(CatalogOptions::new(vec![root])).scan(SystemTime::UNIX_EPOCH)
    }

    /// A directory for scripts.
    pub(crate) fn work(&self) -> WorkDirectory {
        let path = self.0.path().canonicalize().unwrap().join("work");
        fs::create_dir_all(&path).unwrap();
        WorkDirectory::open(path, &ReservedPaths::default()).unwrap()
    }

    pub(crate) fn library(&self, options: LibraryOptions) -> Arc<Library> {
        Library::new(options, LibraryContents::new(self.session()))
    }

    /// A library whose scripts are run by this.
    pub(crate) fn library_with(&self, executor: Arc<dyn Executor + Send + Sync>) -> Arc<Library> {
        let mut session = self.session();
        session.executor = executor;
        Library::new(LibraryOptions::default(), LibraryContents::new(session))
    }

    /// Skills of the person's own.
    pub(crate) fn own_catalog(&self) -> Catalog {
        let root = Root::new(self.0.path().join("own"), Tier::User, Scope::User);
        Scanner::new(CatalogOptions::new(vec![root])).scan(SystemTime::UNIX_EPOCH)
    }

    pub(crate) fn session(&self) -> SessionOptions {
        let places = Anchors::new(self.0.path(), self.0.path().join("home"));
        let clock = TestClock::new(0);
        SessionOptions::new(self.catalog(), places, Recording::Nowhere, clock)
    }
}

/// A client that is served over two streams.
pub(crate) struct Client {
    input: Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: WriteHalf<DuplexStream>,
    id: u64,
    served: JoinHandle<Result<(), metier_mcp::McpError>>,
}

impl Client {
    /// One that has not said anything yet.
    pub(crate) fn connect(library: Arc<Library>) -> Self {
        let (ours, theirs) = duplex(1 << 16);
        let (read, write) = split(theirs);
        let served = tokio::spawn(serve(library, read, write, CancellationToken::new()));
        let (read, output) = split(ours);
        Self { input: BufReader::new(read).lines(), output, id: 0, served }
    }

    /// One that has shaken hands.
    pub(crate) async fn greeted(library: Arc<Library>, capabilities: Value) -> (Self, Value) {
        let mut client = Self::connect(library);
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "tester", "version": "1" } });
        let greeting = client.ask("initialize", params).await["result"].clone();
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        (client, greeting)
    }

    pub(crate) async fn write(&mut self, line: &str) {
        self.output.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.write(&message.to_string()).await;
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let line = timeout(SOON, self.input.next_line()).await.unwrap().unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.id += 1;
        let id = self.id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    /// The next message, which must be the answer.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await["result"].clone()
    }

    /// Says no more; what the server makes of it.
    pub(crate) async fn leave(mut self) -> Result<(), metier_mcp::McpError> {
        self.output.shutdown().await.unwrap();
        drop(self.output);
        drop(self.input);
        timeout(SOON, self.served).await.unwrap().unwrap()
    }
}

pub(crate) fn said(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

pub(crate) fn run() -> Value {
    json!({ "skill_name": "tally", "script_name": "scripts/run.sh" })
}
