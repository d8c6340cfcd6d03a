//! The host side of an MCP server: its library, the work directories of scripts, and the greeting that clients get before the
//! catalog was scanned.

mod front;
mod surroundings;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use metier_catalog::{Scanner, WatchOptions, Watcher};
use metier_journal::Trigger;
use metier_mcp::{Greeting, HttpOptions, Library, LibraryContents, LibraryOptions, WorkDirectories};
use metier_sandbox::WorkDirectory;
use metier_skill::Digest;

use self::front::Front;
use crate::environment::SystemClock;
use crate::error::HostError;
use crate::host::Metier;
use crate::recording::Recorder;

/// A client that has just come is served before changes are looked for.
const FIRST: Duration = Duration::from_millis(300);

impl Metier {
    /// Prepares an MCP server.
    pub fn server(&self) -> HostServer {
        HostServer { metier: self.clone(), front: None }
    }
}

/// The host side of an MCP server: options, contents and changes.
#[derive(Debug)]
pub struct HostServer {
    metier: Metier,
    front: Option<Front>,
}

/// The open journal and the watcher of a running server. Keep it while the server runs.
#[derive(Debug)]
#[non_exhaustive]
pub struct OpenServer {
    /// The recorder. Close it at the end.
    pub recorder: Recorder,
    /// Messages for the user.
    pub notes: Vec<String>,
    watching: thread::JoinHandle<Option<Watcher>>,
}

impl OpenServer {
    /// Stops watching for changes and closes the journal. Returns messages for the user.
    pub fn close(self) -> Vec<String> {
        drop(self.watching);
        self.recorder.close()
    }
}

impl HostServer {
    /// The options of the library from the settings.
    pub fn options(&self) -> LibraryOptions {
        let mut options = LibraryOptions::default();
        options.tool_names = self.metier.settings().tool_names.value;
        options
    }

    /// The directories that scripts may work in. `tokens` is the file with the clients' tokens; `is_shared` means that clients
    /// connect over HTTP.
    ///
    /// A named directory is the only one. Otherwise scripts work in the client's root directory, if there is only one client, or
    /// in the working directory if it is a project. Holders of tokens can be on other machines, so they get neither.
    pub fn work_directories(
        &self,
        named: Option<&Path>,
        follow_links: bool,
        tokens: Option<&Path>,
        is_shared: bool,
    ) -> Result<WorkDirectories, HostError> {
        let environment = self.metier.environment();
        let mut reserved = self.metier.reserved_paths();
        if let Some(tokens) = tokens {
            reserved = reserved.own("the tokens of clients", environment.absolute(tokens));
        }
        let mut work = WorkDirectories::default();
        if let Some(named) = named {
            work.named = Some(self.metier.work_directory(named, follow_links, &reserved)?);
            return Ok(work);
        }
        if tokens.is_some() {
            return Ok(work);
        }
        let open = move |path: &Path| WorkDirectory::open(path, &reserved).ok();
        let here = environment.working.as_deref().filter(|here| surroundings::is_project(here));
        work.project = here.and_then(&open);
        if !is_shared {
            work.root = Some(Arc::new(open));
        }
        Ok(work)
    }

    /// The key that seals the state that clients carry. Servers with the same tokens have the same key, so that one can replace
    /// another.
    pub fn seal_key(options: &HttpOptions) -> Option<[u8; 32]> {
        let tokens: Vec<&str> = options.tokens.iter().map(|token| token.secret.as_str()).collect();
        let tokens = tokens.join("\n");
        (!tokens.is_empty()).then(|| *Digest::of(format!("metier seal\n{tokens}").as_bytes()).as_bytes())
    }

    /// The number of connections that the limit of open files allows.
    pub fn most_connections() -> usize {
        surroundings::descriptors()
    }

    /// Whether other people have accounts on this machine. They could use a server without tokens.
    pub fn has_other_users() -> bool {
        surroundings::has_other_users()
    }

    /// The greeting of the last run, if it is still valid. After this call, greetings are cached.
    pub fn greeting(&mut self, options: &LibraryOptions) -> Option<Greeting> {
        self.front = Front::new(&self.metier, options);
        self.front.as_ref().and_then(Front::read)
    }

    /// Scans for skills, opens the journal, and opens the library with both.
    pub fn open(&self, library: &Arc<Library>) -> Result<OpenServer, HostError> {
        let metier = self.metier.clone();
        // A client waits for both.
        let opening = thread::spawn(move || metier.recorder());
        let mut skills = self.metier.catalog()?;
        let mut notes = skills.notes().to_vec();
        notes.extend(
            skills
                .save()
                .err()
                .map(|error| format!("the index was not kept: {}", crate::settings::chain(&error))),
        );
        let recorder = opening.join().map_err(|_| HostError::NotOpened)??;
        let mut session =
            self.metier.session().catalog(skills.catalog()).agent("mcp").trigger(Trigger::Model);
        let mut contents = LibraryContents::new(session.options(&recorder)?);
        contents.search = skills.search_directory();
        let shown = library.open(contents);
        // What was said of a root is said each time.
        let is_quiet = skills.roots().iter().all(|report| report.exists || report.root.is_optional);
        let scanner = skills.into_scanner();
        match &self.front {
            Some(front) if is_quiet => front.write(&shown, &scanner),
            Some(front) => front.forget(),
            None => {}
        }
        // Changes are looked for beside everything else: a client that waits should not wait for that.
        Ok(OpenServer { recorder, notes, watching: watch(scanner, Arc::clone(library)) })
    }
}

/// Tells the library of every change, as long as what comes back is kept.
fn watch(scanner: Scanner, library: Arc<Library>) -> thread::JoinHandle<Option<Watcher>> {
    thread::spawn(move || {
        thread::sleep(FIRST);
        let (told, is_newer) = (Arc::clone(&library), Arc::new(Mutex::new(false)));
        let options = WatchOptions::new(SystemClock::time);
        let said = Arc::clone(&is_newer);
        let started = Watcher::start(scanner, options, move |change| {
            let mut is_newer = said.lock().unwrap_or_else(PoisonError::into_inner);
            *is_newer = true;
            told.set_catalog(change.catalog);
        });
        let (catalog, watcher) = started.ok()?;
        // What was found first must not take the place of what was found since.
        let is_newer = is_newer.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_newer {
            library.update(catalog);
        }
        Some(watcher)
    })
}
