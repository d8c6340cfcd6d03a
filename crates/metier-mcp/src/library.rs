//! What is served: the same for every client, and changed in one step when the skills change.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use metier_catalog::Catalog;
use metier_prompt::ToolNames;
use metier_session::{SessionOptions, SkillToolOptions};
use rmcp::model::RequestStateCodec;
use tokio::sync::watch;

use crate::approval::Used;
use crate::conversation::Conversation;
use crate::metrics::Metrics;
use crate::output::Outputs;
use crate::place::WorkDirectories;
use crate::slots::Slots;
use crate::turns::Turns;
use crate::view::{Greeting, View};

/// Where the list of skills goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SkillListPlacement {
    /// Into the server's instructions.
    #[default]
    Instructions,
    /// Into the description of the tool that loads skills, for clients that show no instructions to their model.
    Description,
    /// Nowhere: the model has to ask for it.
    Nowhere,
}

/// Whether a person is asked through the client where the policy wants an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum AskMode {
    /// Where the client can ask.
    #[default]
    Client,
    /// Never: what needs an answer is refused, unless it was approved before.
    Never,
}

/// How skills are served.
#[derive(Clone)]
#[non_exhaustive]
pub struct LibraryOptions {
    /// What the tools are called.
    pub tool_names: ToolNames,
    /// Where the list of skills goes.
    pub skill_list: SkillListPlacement,
    /// At most so many tokens of it.
    pub skill_list_tokens: usize,
    /// The directory that scripts may change; without any, each gets an empty one that is removed afterwards.
    pub work: WorkDirectories,
    /// Whether people are asked.
    pub ask: AskMode,
    /// The command by which a person approves something, before the name of a skill.
    pub approve: String,
    /// How many entries of a list are sent at once.
    pub page: usize,
    /// How long a person has to answer.
    pub patience: Duration,
    /// How many calls are worked on at the same time, of all clients together. Those that wait for a person do not count.
    pub calls: usize,
    /// What seals questions that clients take along; the same for servers that stand in for each other. Without it, each has its own.
    pub seal_key: Option<[u8; 32]>,
}

impl Default for LibraryOptions {
    /// The usual.
    fn default() -> Self {
        Self {
            tool_names: ToolNames::Plain,
            skill_list: SkillListPlacement::Instructions,
            skill_list_tokens: 4_000,
            work: WorkDirectories::default(),
            ask: AskMode::Client,
            approve: "metier approve".to_owned(),
            page: 100,
            patience: Duration::from_mins(5),
            calls: 64,
            seal_key: None,
        }
    }
}

impl LibraryOptions {
    pub(crate) fn tools(&self) -> SkillToolOptions {
        let mut tools = SkillToolOptions::default();
        tools.names = self.tool_names;
        tools.place = Some(self.work.said());
        tools.approve.clone_from(&self.approve);
        tools
    }
}

impl std::fmt::Debug for LibraryOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key is nobody's business.
        f.debug_struct("LibraryOptions").field("tool_names", &self.tool_names).finish_non_exhaustive()
    }
}

/// What a library is opened with.
#[non_exhaustive]
pub struct LibraryContents {
    /// What sessions work with, and the skills to begin with.
    pub session: SessionOptions,
    /// Where what searching needs is kept; without it, it is made anew each time.
    pub search: Option<PathBuf>,
}

impl LibraryContents {
    /// These sessions, and searches that keep nothing.
    pub const fn new(session: SessionOptions) -> Self {
        Self { session, search: None }
    }
}

impl std::fmt::Debug for LibraryContents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stock").field("search", &self.search).finish_non_exhaustive()
    }
}

/// What is served, to any number of clients.
pub struct Library {
    pub(crate) options: LibraryOptions,
    /// How sessions offer the tools.
    pub(crate) tools: SkillToolOptions,
    /// What clients are told before they ask for anything.
    shown: RwLock<Arc<Greeting>>,
    /// Everything else; nothing before the library is opened.
    view: watch::Sender<Option<Arc<View>>>,
    /// Whether somebody waits for the library to be opened.
    wanted: watch::Sender<bool>,
    /// Why it cannot be opened, which ends the wait of everybody.
    never: watch::Sender<Option<String>>,
    changes: watch::Sender<u64>,
    /// Seals what a client has to bring back.
    pub(crate) seal: RequestStateCodec,
    pub(crate) used: Used,
    pub(crate) turns: Turns,
    pub(crate) slots: Slots,
    /// What scripts printed, as long as it is kept.
    pub(crate) outputs: Outputs,
    conversations: Mutex<Vec<Weak<Conversation>>>,
    pub(crate) metrics: Metrics,
}

impl Library {
    /// A library of the skills in the catalog that sessions work with.
    pub fn new(options: LibraryOptions, stock: LibraryContents) -> Arc<Self> {
        let library = Self::closed(options, Greeting::default());
        library.open(stock);
        library
    }

    /// A library that is known to show this, and that can be looked through once it is opened. Whoever wants more than what is shown waits.
    pub fn closed(options: LibraryOptions, shown: Greeting) -> Arc<Self> {
        let random =
            || [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()].iter().flat_map(|id| *id.as_bytes()).collect();
        let key: Vec<u8> = options.seal_key.map_or_else(random, |key| key.to_vec());
        Arc::new(Self {
            shown: RwLock::new(Arc::new(shown)),
            view: watch::channel(None).0,
            wanted: watch::channel(false).0,
            never: watch::channel(None).0,
            changes: watch::channel(0).0,
            seal: RequestStateCodec::new_unchecked(key),
            used: Used::default(),
            turns: Turns::new(options.calls),
            slots: Slots::default(),
            outputs: Outputs::default(),
            conversations: Mutex::default(),
            metrics: Metrics::default(),
            tools: options.tools(),
            options,
        })
    }

    /// Opens the library, and says what it shows. Clients that were shown something else are told.
    pub fn open(&self, stock: LibraryContents) -> Arc<Greeting> {
        let view = View::new(stock.session.catalog.clone(), Arc::new(stock), &self.options);
        if view.shown == self.shown() {
            let shown = Arc::clone(&view.shown);
            self.view.send_replace(Some(Arc::new(view)));
            return shown;
        }
        self.set_view(view)
    }

    /// Waits until somebody wants the library to be opened, but no longer than this. It needs a runtime with a clock.
    pub async fn wait_until_wanted(&self, patience: Duration) {
        let mut wanted = self.wanted.subscribe();
        // Either way it is time.
        let _ = tokio::time::timeout(patience, wanted.wait_for(|wanted| *wanted)).await;
    }

    /// Says that it will never be opened, and why: nobody needs to wait any more.
    pub fn give_up(&self, why: impl Into<String>) {
        self.never.send_replace(Some(why.into()));
        self.want();
    }

    /// Whether it has been opened.
    pub fn is_open(&self) -> bool {
        self.view.borrow().is_some()
    }

    /// Says that somebody waits.
    fn want(&self) {
        self.wanted.send_replace(true);
    }

    /// Other skills from now on. Clients that want to know are told.
    pub fn set_catalog(&self, catalog: Catalog) {
        let Some(old) = self.view_now() else { return };
        // Also where nothing of that is shown at first: lists of resources and prompts have changed.
        self.set_view(View::new(catalog, Arc::clone(&old.stock), &self.options));
    }

    fn set_view(&self, view: View) -> Arc<Greeting> {
        let shown = Arc::clone(&view.shown);
        self.view.send_replace(Some(Arc::new(view)));
        let mut told = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        *told = Arc::clone(&shown);
        drop(told);
        self.changes.send_modify(|count| *count += 1);
        shown
    }

    /// The same, unless it is what is served already.
    pub fn update(&self, catalog: Catalog) {
        let Some(old) = self.view_now() else { return };
        if !catalog.is_same(&old.catalog) && !catalog.changes_since(&old.catalog).is_empty() {
            self.set_catalog(catalog);
        }
    }

    /// A new client's session.
    pub(crate) fn converse(self: &Arc<Self>) -> Arc<Conversation> {
        let conversation = Arc::new(Conversation::new(Arc::clone(self)));
        let mut all = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == all.capacity() {
            all.retain(|one| one.strong_count() > 0);
        }
        all.push(Arc::downgrade(&conversation));
        conversation
    }

    /// Waits for what is under way, ends what takes too long, and then every session: all of it is recorded.
    pub(crate) async fn end(&self, patience: Duration) {
        self.turns.settled(patience).await;
        self.turns.stop.cancel();
        self.turns.settled(patience).await;
        let all = std::mem::take(&mut *self.conversations.lock().unwrap_or_else(PoisonError::into_inner));
        for conversation in all.iter().filter_map(Weak::upgrade) {
            // Whatever could not be recorded is said by the journal when it is closed.
            let _ = conversation.end().await;
        }
        self.turns.settled(patience).await;
        self.outputs.clear();
    }

    /// Does something on a thread that may wait, in turn.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, tokio::task::JoinError> {
        let turn = self.turns.work().await;
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        })
        .await
    }

    /// How many skills are served.
    pub(crate) fn count(&self) -> usize {
        self.view_now().map_or(0, |view| view.skills.len())
    }

    /// How many calls are worked on.
    pub(crate) fn running(&self) -> usize {
        self.turns.count()
    }

    /// What clients are told before they ask for anything.
    pub(crate) fn shown(&self) -> Arc<Greeting> {
        Arc::clone(&self.shown.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is served now, as soon as the library is open; or why it never will be.
    pub(crate) async fn view(&self) -> Result<Arc<View>, String> {
        let (mut views, mut never) = (self.view.subscribe(), self.never.subscribe());
        loop {
            if let Some(view) = views.borrow_and_update().clone() {
                return Ok(view);
            }
            if let Some(why) = never.borrow_and_update().clone() {
                return Err(why);
            }
            self.want();
            // Neither can be gone: this holds them.
            tokio::select! {
                _ = views.changed() => {}
                _ = never.changed() => {}
            }
        }
    }

    /// The same without waiting.
    pub(crate) fn view_now(&self) -> Option<Arc<View>> {
        self.view.borrow().clone()
    }

    /// Says when that changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("skills", &self.count()).finish_non_exhaustive()
    }
}
