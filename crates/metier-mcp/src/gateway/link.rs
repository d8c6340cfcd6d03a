//! One client's connections to the servers: opened together, restarted one by one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use rmcp::model::{ServerCapabilities, ServerNotification};
use rmcp::service::{Peer, RoleServer};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::Gateway;
use super::tools::ToolTable;
use crate::upstream::{
    Backoff, Caller, Connected, Incoming, Reply, UpstreamError, UpstreamServer, connect_to,
};

/// How many requests of a server that belong to no call may wait for the client.
const QUESTIONS: usize = 16;

/// The connections of one client.
pub(crate) struct Link {
    pub(super) gateway: Arc<Gateway>,
    caller: Caller,
    pub(super) servers: Vec<Arc<Served>>,
    /// The tools as the client saw them last.
    pub(super) table: RwLock<Arc<ToolTable>>,
    /// Counts changes of the servers' lists, and of which servers are there.
    changes: watch::Sender<u64>,
    /// The client, if it can be told something at any time.
    peer: Mutex<Option<Peer<RoleServer>>>,
    is_begun: AtomicBool,
    ended: CancellationToken,
}

/// One server, as far as this client is concerned.
pub(super) struct Served {
    pub(super) server: UpstreamServer,
    /// `None` while it is started, or after it failed.
    connected: watch::Sender<Option<Arc<Connected>>>,
    /// Why it is not connected.
    failed: Mutex<Option<UpstreamError>>,
}

impl Served {
    /// The connection, if there is one now.
    pub(super) fn now(&self) -> Option<Arc<Connected>> {
        self.connected.borrow().clone().filter(|connected| !connected.wire.ended().is_cancelled())
    }

    /// The same, or why there is none.
    pub(super) fn get(&self) -> Result<Arc<Connected>, UpstreamError> {
        let failed = || self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.now().ok_or_else(|| failed().unwrap_or(UpstreamError::Withdrawn))
    }

    fn set_failed(&self, error: UpstreamError) {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

impl Link {
    pub(crate) fn new(gateway: Arc<Gateway>, caller: Caller) -> Arc<Self> {
        let served = |server: &UpstreamServer| {
            let connected = watch::channel(None).0;
            Arc::new(Served { server: server.clone(), connected, failed: Mutex::default() })
        };
        Arc::new(Self {
            servers: gateway.options.servers.iter().map(served).collect(),
            gateway,
            caller,
            table: RwLock::default(),
            changes: watch::channel(0).0,
            peer: Mutex::default(),
            is_begun: AtomicBool::new(false),
            ended: CancellationToken::new(),
        })
    }

    pub(super) const fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Sets where notifications go that belong to no call.
    pub(crate) fn tell(&self, peer: Peer<RoleServer>) {
        *self.peer.lock().unwrap_or_else(PoisonError::into_inner) = Some(peer);
    }

    fn peer(&self) -> Option<Peer<RoleServer>> {
        self.peer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Starts all servers if that has not been done, and waits until each has begun or failed once, within limits.
    pub(crate) async fn begin(self: &Arc<Self>) {
        if !self.is_begun.swap(true, Ordering::Relaxed) {
            for served in &self.servers {
                tokio::spawn(run(Arc::downgrade(self), Arc::clone(served), self.ended.clone()));
            }
        }
        let all = async {
            for served in &self.servers {
                let mut connected = served.connected.subscribe();
                loop {
                    let has_failed = served.failed.lock().unwrap_or_else(PoisonError::into_inner).is_some();
                    if has_failed || connected.borrow_and_update().is_some() {
                        break;
                    }
                    if connected.changed().await.is_err() {
                        break;
                    }
                }
            }
        };
        // A server that needs longer is announced when it is there.
        let _ = tokio::time::timeout(self.gateway.options.start, all).await;
    }

    /// The servers that are there, each with its place in the settings.
    pub(super) fn present(&self) -> impl Iterator<Item = (usize, &Arc<Served>, Arc<Connected>)> {
        let there = |(index, served)| Some((index, served, Arc::<Served>::as_ref(served).now()?));
        self.servers.iter().enumerate().filter_map(there)
    }

    fn changed(&self) {
        // A tool that is called from now on is looked at again first.
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::default();
        self.changes.send_modify(|count| *count += 1);
        // Stateless clients listen apart from the requests that use their connections.
        self.gateway.changes.send_modify(|count| *count += 1);
    }

    /// Changes from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Tells the servers that the client's roots changed.
    pub(crate) fn roots_changed(&self) {
        for (_, _, connected) in self.present() {
            connected.wire.notify("notifications/roots/list_changed", &json!({}));
        }
    }

    /// Adds what the servers can do, and what they say about themselves.
    pub(crate) fn merge(&self, capabilities: &mut ServerCapabilities, instructions: &mut Option<String>) {
        let mut all = serde_json::to_value(&*capabilities).unwrap_or_default();
        for (_, served, connected) in self.present() {
            let Some(offered) = connected.capabilities.as_object() else { continue };
            for (name, value) in offered {
                if ["logging", "experimental", "completions"].contains(&name.as_str()) {
                    all[name] = value.clone();
                }
            }
            if offered.get("resources").is_some_and(|resources| resources["subscribe"] == true) {
                all["resources"]["subscribe"] = json!(true);
            }
            if let Some(text) = &connected.instructions {
                // A model must be able to tell whose words these are.
                let own = instructions.take().map(|own| own + "\n").unwrap_or_default();
                *instructions = Some(format!("{own}From the MCP server `{}`:\n{text}\n", served.server.name));
            }
        }
        if let Ok(merged) = serde_json::from_value(all) {
            *capabilities = merged;
        }
    }

    /// Handles a notification of a server that belongs to no call.
    async fn take(&self, message: Value) {
        let method = message["method"].as_str().unwrap_or_default();
        if method.ends_with("/list_changed") {
            self.changed();
        } else if !method.starts_with("notifications/subscriptions/") {
            self.pass(message).await;
        }
    }

    /// Passes a notification to the client.
    async fn pass(&self, message: Value) {
        let Some(peer) = self.peer() else { return };
        if let Ok(notification) = serde_json::from_value::<ServerNotification>(message) {
            let _ = peer.send_notification(notification).await;
        }
    }

    /// The answer to a request of a server that belongs to no call.
    async fn answer(&self, message: &Value) -> Reply {
        if message["method"] == "ping" {
            return Ok(json!({}));
        }
        match self.peer() {
            Some(peer) => super::forward::ask(&peer, message).await,
            None => Err(json!({ "code": -32601, "message": "there is no client to ask" })),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

/// Keeps one server connected as long as the client is there.
async fn run(link: Weak<Link>, served: Arc<Served>, ended: CancellationToken) {
    let Some((gateway, caller)) = link.upgrade().map(|link| (Arc::clone(&link.gateway), link.caller.clone()))
    else {
        return;
    };
    let options = &gateway.options;
    let mut backoff = Backoff::new(options.pauses);
    loop {
        let connecting = connect_to(&served.server, &options.local, &caller);
        let connecting = tokio::select! {
            () = ended.cancelled() => return,
            connected = connecting => connected,
        };
        match connecting {
            Ok((connected, strays)) => {
                backoff.started((options.clock)());
                let connected = Arc::new(connected);
                *served.failed.lock().unwrap_or_else(PoisonError::into_inner) = None;
                served.connected.send_replace(Some(Arc::clone(&connected)));
                if let Some(link) = link.upgrade() {
                    link.changed();
                }
                let why = attend(&link, &connected, strays, &ended).await;
                let Some(why) = why else { return };
                served.set_failed(why);
            }
            Err(error) => served.set_failed(error),
        }
        served.connected.send_replace(None);
        if let Some(link) = link.upgrade() {
            link.changed();
        }
        let pause = backoff.failed((options.clock)());
        tokio::select! {
            () = ended.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Handles what a server sends by itself until it ends; returns why, or `None` if the client is gone.
async fn attend(
    link: &Weak<Link>,
    connected: &Arc<Connected>,
    mut strays: mpsc::Receiver<Incoming>,
    ended: &CancellationToken,
) -> Option<UpstreamError> {
    let questions = Arc::new(Semaphore::new(QUESTIONS));
    loop {
        tokio::select! {
            () = ended.cancelled() => return None,
            () = connected.wire.ended().cancelled() => return Some(connected.wire.why()),
            incoming = strays.recv() => {
                let (Some(incoming), Some(link)) = (incoming, link.upgrade()) else { return None };
                match incoming {
                    Incoming::Notification(message) => link.take(message).await,
                    Incoming::Request { id, message } => {
                        let Ok(permit) = Arc::clone(&questions).try_acquire_owned() else {
                            connected.wire.respond(&id, Err(json!({ "code": -32000, "message": "too many requests" })));
                            continue;
                        };
                        // A client that is slow to answer must not keep its server from being heard.
                        let connected = Arc::clone(connected);
                        tokio::spawn(async move {
                            connected.wire.respond(&id, link.answer(&message).await);
                            drop(permit);
                        });
                    }
                }
            }
        }
    }
}
