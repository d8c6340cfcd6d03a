//! What an MCP server shows and works with: its library, the directories that scripts may be given, and what clients are shown
//! before the skills are found.

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
    /// What an MCP server needs of a host.
    pub fn server(&self) -> HostServer {
        HostServer { metier: self.clone(), front: None }
    }
}

/// What an MCP server needs of a host: options, contents, and changes.
#[derive(Debug)]
pub struct HostServer {
    metier: Metier,
    front: Option<Front>,
}

/// What goes on beside the serving. Keep it as long as the server serves.
#[derive(Debug)]
#[non_exhaustive]
pub struct OpenServer {
    /// Close it at the end.
    pub recorder: Recorder,
    /// What a person should know.
    pub notes: Vec<String>,
    watching: thread::JoinHandle<Option<Watcher>>,
}

impl OpenServer {
    /// Stops looking for changes, and closes the journal. What is returned is what a person should know.
    pub fn close(self) -> Vec<String> {
        drop(self.watching);
        self.recorder.close()
    }
}

impl HostServer {
    /// What the settings say about the library.
    pub fn options(&self) -> LibraryOptions {
        let mut options = LibraryOptions::default();
        options.tool_names = self.metier.settings().tool_names.value;
        options
    }

    /// The directories that scripts may be given. `tokens` is the file with the clients' tokens; `is_shared` means that clients
    /// come over HTTP.
    ///
    /// A directory that is named is the only one. Otherwise it is the client's root directory, where there is one client, or
    /// the working directory if that is a project; holders of tokens may be anywhere, and get neither.
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

    /// The key that seals what clients take along: the same for every server with the same tokens, so that one can stand in
    /// for another.
    pub fn seal_key(options: &HttpOptions) -> Option<[u8; 32]> {
        let tokens: Vec<&str> = options.tokens.iter().map(|token| token.secret.as_str()).collect();
        let tokens = tokens.join("\n");
        (!tokens.is_empty()).then(|| *Digest::of(format!("metier seal\n{tokens}").as_bytes()).as_bytes())
    }

    /// How many connections there are descriptors for.
    pub fn most_connections() -> usize {
        surroundings::descriptors()
    }

    /// Whether other people have an account on this machine, and could use a server without tokens.
    pub fn has_other_users() -> bool {
        surroundings::has_other_users()
    }

    /// What clients were shown last time, if the same would be shown now. From then on, what is shown is kept.
    pub fn greeting(&mut self, options: &LibraryOptions) -> Option<Greeting> {
        self.front = Front::new(&self.metier, options);
        self.front.as_ref().and_then(Front::read)
    }

    /// Looks for the skills, opens the journal, and with both the library.
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
