//! The other side of the gateway: MCP servers that metier is a client of.
//!
//! Messages stay JSON values from end to end, so that unknown members and methods pass through.

mod backoff;
mod connect;
mod error;
mod http;
mod pool;
mod program;
mod sse;
mod wire;

use std::fmt;
use std::time::Duration;

use metier_sandbox::Program;

pub(crate) use self::backoff::Backoff;
pub use self::backoff::RestartPauses;
pub(crate) use self::connect::{Caller, Connected, Generation, META_CAPABILITIES, connect as connect_to};
pub(crate) use self::error::UpstreamError;
pub(crate) use self::wire::{Incoming, Ongoing, Reply, Step};

/// The maximum size of one message of a server.
pub(crate) const LONGEST: usize = 16 << 20;

/// An MCP server behind the gateway.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UpstreamServer {
    /// Its name in the settings; part of the names of its tools.
    pub name: String,
    /// How it is reached.
    pub transport: UpstreamTransport,
    /// How long a call may take without an answer or progress.
    pub patience: Duration,
}

impl UpstreamServer {
    /// A server with the default time limit.
    pub fn new(name: impl Into<String>, transport: UpstreamTransport) -> Self {
        Self { name: name.into(), transport, patience: Duration::from_mins(5) }
    }
}

/// How a server is reached.
#[derive(Clone)]
#[non_exhaustive]
pub enum UpstreamTransport {
    /// It is started, and talked to on its standard input and output.
    Program(Program),
    /// By streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Headers of every request. They may be credentials.
        headers: Vec<(String, String)>,
    },
}

/// Without the values of variables and headers: secrets are among them.
impl fmt::Debug for UpstreamTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(program) => f.debug_tuple("Program").field(&program.path).finish(),
            Self::Http { url, .. } => f.debug_struct("Http").field("url", url).finish_non_exhaustive(),
        }
    }
}
