//! What is served: the same for every client, and changed in one step when the skills change.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use metier_catalog::Catalog;
use metier_session::SessionOptions;
use rmcp::model::RequestStateCodec;
use tokio::sync::watch;

use crate::approval::Used;
use crate::conversation::Conversation;
use crate::metrics::Metrics;
use crate::tools::ToolNames;
use crate::turns::Turns;
use crate::view::View;

/// Where the list of skills goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CataloguePlace {
    /// Into the server's instructions.
    #[default]
    Instructions,
    /// Into the description of the tool that loads skills, for clients that show no instructions to their model.
    Description,
    /// Nowhere: the model has to ask for it.
    Nowhere,
}

/// How skills are served.
#[derive(Clone)]
#[non_exhaustive]
pub struct LibraryOptions {
    /// What sessions work with, and the skills to begin with.
    pub session: SessionOptions,
    /// What the tools are called.
    pub tool_names: ToolNames,
    /// Where the list of skills goes.
    pub catalogue: CataloguePlace,
    /// At most so many tokens of it.
    pub catalogue_tokens: usize,
    /// Where what searching needs is kept; without it, it is made anew each time.
    pub search: Option<PathBuf>,
    /// The directory that scripts may change; without it each gets an empty one that is removed afterwards.
    pub work: Option<PathBuf>,
    /// How many entries of a list are sent at once.
    pub page: usize,
    /// How long a person has to answer.
    pub patience: Duration,
    /// How many calls are worked on at the same time, of all clients together. Those that wait for a person do not count.
    pub calls: usize,
    /// What seals questions that clients take along; the same for servers that stand in for each other. Without it, each has its own.
    pub seal_key: Option<[u8; 32]>,
}

impl LibraryOptions {
    /// The usual.
    pub const fn new(session: SessionOptions) -> Self {
        Self {
            session,
            tool_names: ToolNames::Plain,
            catalogue: CataloguePlace::Instructions,
            catalogue_tokens: 4_000,
            search: None,
            work: None,
            page: 100,
            patience: Duration::from_mins(5),
            calls: 64,
            seal_key: None,
        }
    }
}

impl std::fmt::Debug for LibraryOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LibraryOptions").field("tool_names", &self.tool_names).finish_non_exhaustive()
    }
}

/// What is served, to any number of clients.
pub struct Library {
    pub(crate) options: LibraryOptions,
    view: RwLock<Arc<View>>,
    changes: watch::Sender<u64>,
    /// Seals what a client has to bring back.
    pub(crate) seal: RequestStateCodec,
    pub(crate) used: Used,
    pub(crate) turns: Turns,
    conversations: Mutex<Vec<Weak<Conversation>>>,
    pub(crate) metrics: Metrics,
}

impl Library {
    /// A library of the skills in the options' catalog.
    pub fn new(options: LibraryOptions) -> Arc<Self> {
        let view = View::new(options.session.catalog.clone(), &options);
        let random =
            || [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()].iter().flat_map(|id| *id.as_bytes()).collect();
        let key: Vec<u8> = options.seal_key.map_or_else(random, |key| key.to_vec());
        Arc::new(Self {
            view: RwLock::new(Arc::new(view)),
            changes: watch::channel(0).0,
            seal: RequestStateCodec::new_unchecked(key),
            used: Used::default(),
            turns: Turns::new(options.calls),
            conversations: Mutex::default(),
            metrics: Metrics::default(),
            options,
        })
    }

    /// Other skills from now on. Clients that want to know are told.
    pub fn set_catalog(&self, catalog: Catalog) {
        let view = Arc::new(View::new(catalog, &self.options));
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = view;
        self.changes.send_modify(|count| *count += 1);
    }

    /// The same, unless it is what is served already.
    pub fn update(&self, catalog: Catalog) {
        if !catalog.is_same(&self.view().catalog) && !catalog.changes_since(&self.view().catalog).is_empty() {
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
        self.view().skills.len()
    }

    /// How many calls are worked on.
    pub(crate) fn running(&self) -> usize {
        self.turns.count()
    }

    /// What is served now.
    pub(crate) fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says when that changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("skills", &self.view().skills.len()).finish_non_exhaustive()
    }
}
