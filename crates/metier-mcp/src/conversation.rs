//! The session behind a connection: started on first use, used by one call at a time, and ended with the connection.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use metier_policy::NoApprover;
use metier_session::{Session, SessionError};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::answer::Refusal;
use crate::library::Library;

/// One client's session.
pub(crate) struct Conversation {
    library: Arc<Library>,
    session: Arc<Mutex<Option<Session>>>,
    /// The name under which actions are recorded.
    actor: OnceLock<String>,
    /// The client's own name.
    client: OnceLock<String>,
    /// Whether the client keeps the skill list that it was shown when it connected.
    has_list: AtomicBool,
}

impl Conversation {
    pub(crate) fn new(library: Arc<Library>) -> Self {
        Self {
            library,
            session: Arc::default(),
            actor: OnceLock::new(),
            client: OnceLock::new(),
            has_list: AtomicBool::new(false),
        }
    }

    /// Sets who acts and through which client, before anything is done. A session belongs to one token and one client,
    /// so both stay the same.
    pub(crate) fn introduce(&self, actor: Option<String>, client: Option<String>) {
        for (known, name) in [(&self.actor, actor), (&self.client, client)] {
            if let Some(name) = name {
                known.get_or_init(|| name);
            }
        }
    }

    /// Marks that the client keeps the skill list, so that its session begins with a record of it.
    pub(crate) fn has_list(&self) {
        self.has_list.store(true, Ordering::Relaxed);
    }

    /// Runs work in the session on a blocking thread. A call that is cancelled while it waits for its turn is dropped;
    /// work that has started runs to its end.
    pub(crate) async fn with<T: Send + 'static>(
        &self,
        gone: &CancellationToken,
        work: impl FnOnce(&mut Session) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let library = Arc::clone(&self.library);
        let (actor, client) = (self.actor.get().cloned(), self.client.get().cloned());
        let has_list = self.has_list.load(Ordering::Relaxed);
        // Before the call waits for its turn, so that ending the session does not wait for it.
        tokio::select! {
            biased;
            // The reason for the failure is more useful than the fact that the session has ended.
            view = library.view() => view.map(drop).map_err(Refusal::Broken)?,
            () = gone.cancelled() => return Err(Refusal::Gone),
        }
        let mut held = tokio::select! {
            biased;
            () = gone.cancelled() => return Err(Refusal::Gone),
            held = Arc::clone(&self.session).lock_owned() => held,
        };
        let turn = library.turns.work().await;
        let under_way = library.turns.begin();
        let done = tokio::task::spawn_blocking(move || {
            let _held = (under_way, turn);
            // The current catalog, not the one from before the wait.
            let view =
                library.view_now().ok_or_else(|| Refusal::Broken("no skills are served".to_owned()))?;
            let catalog = view.catalog.clone();
            let session = match &mut *held {
                Some(session) => {
                    if !session.catalog().is_same(&catalog) {
                        session.set_catalog(catalog)?;
                    }
                    session
                }
                none => {
                    let mut options = view.stock.session.clone();
                    options.catalog = catalog;
                    options.tools = library.tools.clone();
                    options.principal.clone_from(&actor);
                    options.actor = actor.or(options.actor);
                    options.agent = client.map(|client| format!("mcp: {client}")).or(options.agent);
                    let session = none.insert(Session::start(options)?);
                    if has_list {
                        session.disclosed(view.listed())?;
                    }
                    session
                }
            };
            let done = work(session);
            // The client that could be asked may be gone with the call.
            session.set_approver(Box::new(NoApprover));
            done
        });
        done.await.unwrap_or_else(|error| Err(Refusal::Broken(format!("the call was interrupted: {error}"))))
    }

    /// Ends the session, if there is one, and waits until that is recorded.
    pub(crate) async fn end(&self) -> Result<(), SessionError> {
        let Some(session) = self.session.lock().await.take() else { return Ok(()) };
        let ended = tokio::task::spawn_blocking(move || session.end());
        // A panic has already been reported.
        ended.await.unwrap_or(Ok(()))
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // Nobody waits for this session any more. Without a runtime it ends without a record, as after a crash.
        let session = Arc::clone(&self.session);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let under_way = self.library.turns.begin();
            runtime.spawn_blocking(move || {
                let _under_way = under_way;
                session.blocking_lock().take().map(Session::end)
            });
        }
    }
}
