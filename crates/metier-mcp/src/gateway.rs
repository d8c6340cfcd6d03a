//! The gateway: tools, resources and prompts of other MCP servers, offered beside the skills.
//!
//! Each client has connections of its own to the servers ([`Link`]), so that nothing of one client's session reaches
//! another. Clients of the stateless revision, whose requests stand for themselves, share one per token.
//!
//! *Architecture invariant:* nothing is decided here. Sessions decide about calls; this module forwards what they allow.

mod call;
mod door;
mod forward;
mod items;
mod link;
mod pins;
mod tools;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metier_sandbox::Local;
use tokio::sync::watch;

use self::forward::Parked;
pub(crate) use self::link::Link;
use self::pins::Pins;
use crate::upstream::{Caller, RestartPauses, UpstreamServer};

/// How the tools of servers are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ServerToolNames {
    /// `mcp__server__tool`.
    #[default]
    Qualified,
    /// As the server names them, unless two are the same.
    Plain,
}

/// The servers behind the gateway.
#[derive(Clone)]
#[non_exhaustive]
pub struct GatewayOptions {
    /// The servers.
    pub servers: Vec<UpstreamServer>,
    /// How their tools are named.
    pub names: ServerToolNames,
    /// The directory in which the definitions of tools are remembered; without it, only as long as the gateway runs.
    pub pins: Option<PathBuf>,
    /// The pauses before a failed server is started again.
    pub pauses: RestartPauses,
    /// How long a new client waits for servers to start. Those that need longer are announced later.
    pub start: Duration,
    /// Starts programs.
    pub local: Local,
    /// The time since some point in the past.
    pub clock: Arc<dyn Fn() -> Duration + Send + Sync>,
}

impl GatewayOptions {
    /// These servers, with a monotonic clock.
    pub fn new(
        servers: Vec<UpstreamServer>,
        local: Local,
        clock: Arc<dyn Fn() -> Duration + Send + Sync>,
    ) -> Self {
        Self {
            servers,
            names: ServerToolNames::default(),
            pins: None,
            pauses: RestartPauses::default(),
            start: Duration::from_secs(10),
            local,
            clock,
        }
    }
}

impl std::fmt::Debug for GatewayOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GatewayOptions").field("servers", &self.servers).finish_non_exhaustive()
    }
}

/// The gateway of a library.
pub(crate) struct Gateway {
    options: GatewayOptions,
    pins: Pins,
    /// The connections that stateless clients share, by token.
    shared: Mutex<HashMap<usize, Arc<Link>>>,
    /// Calls that wait for input from a stateless client.
    parked: Parked,
    /// Counts changes of any server's lists.
    changes: watch::Sender<u64>,
}

impl Gateway {
    pub(crate) fn new(options: GatewayOptions) -> Arc<Self> {
        let pins = Pins::new(options.pins.clone());
        Arc::new(Self {
            options,
            pins,
            shared: Mutex::default(),
            parked: Parked::default(),
            changes: watch::channel(0).0,
        })
    }

    /// The connections for a stateless client.
    fn shared(self: &Arc<Self>, principal: usize, caller: impl FnOnce() -> Caller) -> Arc<Link> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(shared.entry(principal).or_insert_with(|| Link::new(Arc::clone(self), caller())))
    }

    /// Changes from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Ends all shared connections.
    pub(crate) fn end(&self) {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.parked.clear();
    }
}
