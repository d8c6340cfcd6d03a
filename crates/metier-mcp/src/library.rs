//! The served library: the same for every client, and replaced in one step when the skills change.

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
use crate::gateway::{Gateway, GatewayOptions};
use crate::metrics::Metrics;
use crate::output::Outputs;
use crate::place::WorkDirectories;
use crate::slots::Slots;
use crate::turns::Turns;
use crate::view::{Greeting, View};

/// Where the skill list is placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SkillListPlacement {
    /// In the server's instructions.
    #[default]
    Instructions,
    /// In the description of the tool that loads skills, for clients that do not show instructions to their model.
    Description,
    /// Nowhere: the model has to call the list tool.
    Nowhere,
}

/// Whether approvals are requested through the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum AskMode {
    /// If the client can ask its user.
    #[default]
    Client,
    /// Never: an action that needs approval is refused, unless it was approved before.
    Never,
}

/// Options for serving skills.
#[derive(Clone)]
#[non_exhaustive]
pub struct LibraryOptions {
    /// The names of the tools.
    pub tool_names: ToolNames,
    /// Where the skill list is placed.
    pub skill_list: SkillListPlacement,
    /// The maximum size of the skill list, in tokens.
    pub skill_list_tokens: usize,
    /// The directory that scripts may change. Without one, each script gets an empty directory that is removed
    /// afterwards.
    pub work: WorkDirectories,
    /// Whether approvals are requested through the client.
    pub ask: AskMode,
    /// The command that approves something; the name of a skill follows it.
    pub approve: String,
    /// The number of entries on one page of a list.
    pub page: usize,
    /// How long the user has to answer an approval question.
    pub patience: Duration,
    /// The maximum number of concurrent calls of all clients. Calls that wait for an approval do not count.
    pub calls: usize,
    /// The key that encrypts questions sent to clients; servers behind one load balancer need the same key. Without it,
    /// each server creates its own.
    pub seal_key: Option<[u8; 32]>,
    /// The servers behind the gateway; without it, only skills are served.
    pub gateway: Option<GatewayOptions>,
}

impl Default for LibraryOptions {
    /// The default options.
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
            gateway: None,
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
        // The key is secret.
        f.debug_struct("LibraryOptions").field("tool_names", &self.tool_names).finish_non_exhaustive()
    }
}

/// What a library is created from.
#[non_exhaustive]
pub struct LibraryContents {
    /// The session parts and the initial skills.
    pub session: SessionOptions,
    /// The directory for the search index; without it, the index is built anew each time.
    pub search: Option<PathBuf>,
}

impl LibraryContents {
    /// Creates sources with these session parts and without a stored search index.
    pub const fn new(session: SessionOptions) -> Self {
        Self { session, search: None }
    }
}

impl std::fmt::Debug for LibraryContents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stock").field("search", &self.search).finish_non_exhaustive()
    }
}

/// A served library, shared by any number of clients.
pub struct Library {
    pub(crate) options: LibraryOptions,
    /// How sessions offer the tools.
    pub(crate) tools: SkillToolOptions,
    /// The view that clients get before the library is open.
    shown: RwLock<Arc<Greeting>>,
    /// Everything else; empty until the library is opened.
    view: watch::Sender<Option<Arc<View>>>,
    /// Whether a client waits for the library to be opened.
    wanted: watch::Sender<bool>,
    /// Why it cannot be opened; this ends all waits.
    never: watch::Sender<Option<String>>,
    changes: watch::Sender<u64>,
    /// Encrypts state that a client has to return.
    pub(crate) seal: RequestStateCodec,
    pub(crate) used: Used,
    pub(crate) turns: Turns,
    pub(crate) slots: Slots,
    /// The stored output of scripts.
    pub(crate) outputs: Outputs,
    conversations: Mutex<Vec<Weak<Conversation>>>,
    pub(crate) metrics: Metrics,
    pub(crate) gateway: Option<Arc<Gateway>>,
}

impl Library {
    /// Creates a library of the skills in the sessions' catalog.
    pub fn new(options: LibraryOptions, stock: LibraryContents) -> Arc<Self> {
        let library = Self::closed(options, Greeting::default());
        library.open(stock);
        library
    }

    /// Creates a library with a known view that is opened later. Calls that need more than the view wait until then.
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
            gateway: options.gateway.clone().map(Gateway::new),
            options,
        })
    }

    /// Opens the library and returns its view. Clients that saw a different view are notified.
    pub fn open(&self, stock: LibraryContents) -> Arc<Greeting> {
        let view = View::new(stock.session.catalog.clone(), Arc::new(stock), &self.options);
        if view.shown == self.shown() {
            let shown = Arc::clone(&view.shown);
            self.view.send_replace(Some(Arc::new(view)));
            return shown;
        }
        self.set_view(view)
    }

    /// Waits until a client needs the library to be open, at most this long. It needs a runtime with a timer.
    pub async fn wait_until_wanted(&self, patience: Duration) {
        let mut wanted = self.wanted.subscribe();
        // In both cases, it is time to open it.
        let _ = tokio::time::timeout(patience, wanted.wait_for(|wanted| *wanted)).await;
    }

    /// Marks that the library cannot be opened, and why. All waits end.
    pub fn give_up(&self, why: impl Into<String>) {
        self.never.send_replace(Some(why.into()));
        self.want();
    }

    /// Whether it has been opened.
    pub fn is_open(&self) -> bool {
        self.view.borrow().is_some()
    }

    /// Marks that a client waits.
    fn want(&self) {
        self.wanted.send_replace(true);
    }

    /// Replaces the served skills. Clients that subscribed are notified.
    pub fn set_catalog(&self, catalog: Catalog) {
        let Some(old) = self.view_now() else { return };
        // Also if the initial view is the same: lists of resources and prompts have changed.
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

    /// The same, unless this catalog is already served.
    pub fn update(&self, catalog: Catalog) {
        let Some(old) = self.view_now() else { return };
        if !catalog.is_same(&old.catalog) && !catalog.changes_since(&old.catalog).is_empty() {
            self.set_catalog(catalog);
        }
    }

    /// Creates a connection for a new client.
    pub(crate) fn converse(self: &Arc<Self>) -> Arc<Conversation> {
        let conversation = Arc::new(Conversation::new(Arc::clone(self)));
        let mut all = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == all.capacity() {
            all.retain(|one| one.strong_count() > 0);
        }
        all.push(Arc::downgrade(&conversation));
        conversation
    }

    /// Waits for calls in progress, cancels those that take too long, and then ends every session. All of it is
    /// recorded.
    pub(crate) async fn end(&self, patience: Duration) {
        self.turns.settled(patience).await;
        self.turns.stop.cancel();
        self.turns.settled(patience).await;
        let all = std::mem::take(&mut *self.conversations.lock().unwrap_or_else(PoisonError::into_inner));
        for conversation in all.iter().filter_map(Weak::upgrade) {
            // The journal reports unrecorded events when it is closed.
            let _ = conversation.end().await;
        }
        self.turns.settled(patience).await;
        self.outputs.clear();
        if let Some(gateway) = &self.gateway {
            gateway.end();
        }
    }

    /// Runs work on a blocking thread, within the limit of concurrent calls.
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

    /// The number of served skills.
    pub(crate) fn count(&self) -> usize {
        self.view_now().map_or(0, |view| view.skills.len())
    }

    /// The number of calls in progress.
    pub(crate) fn running(&self) -> usize {
        self.turns.count()
    }

    /// The view that clients get first.
    pub(crate) fn shown(&self) -> Arc<Greeting> {
        Arc::clone(&self.shown.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The current view, as soon as the library is open, or the reason why it cannot be opened.
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
            // Neither channel can be closed: this object holds both.
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

    /// Notifies about changes of the view.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("skills", &self.count()).finish_non_exhaustive()
    }
}
