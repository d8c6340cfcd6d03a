//! What keeps skills from being served.

use std::io;
use std::net::SocketAddr;

use metier_session::SessionError;
use metier_skill::Coded;

/// Why nothing is served, or no longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// What came in was not MCP.
    #[error(
        "the input is not MCP: it begins with `{line}`; a client has to start this command, and `metier serve --print-config claude` shows how"
    )]
    NotMcp {
        /// The beginning of the first line.
        line: String,
    },
    /// The handshake failed.
    #[error("the MCP handshake with the client failed: {reason}")]
    Handshake {
        /// What went wrong.
        reason: String,
    },
    /// The system said no.
    #[error("cannot {what}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Nobody can listen there.
    #[error("cannot listen on {address}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Others than this machine would be served, and anybody could be one of them.
    #[error(
        "{address} can be reached from other machines: name tokens with `--token-file`, or listen on 127.0.0.1"
    )]
    Open {
        /// Where.
        address: SocketAddr,
    },
    /// A line that is no token.
    #[error("line {line} is not a token: {problem}")]
    Token {
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The session could not be ended as it should.
    #[error("the session could not be ended")]
    Session(#[from] SessionError),
}

impl Coded for McpError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotMcp { .. } => "mcp-not-mcp",
            Self::Handshake { .. } => "mcp-handshake",
            Self::Io { .. } => "mcp-io",
            Self::Listen { .. } => "mcp-listen",
            Self::Open { .. } => "mcp-open",
            Self::Token { .. } => "mcp-token",
            Self::Session(error) => error.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Listen { .. } => Some("choose another port, or 0 for any that is free".to_owned()),
            Self::Token { .. } => Some(
                "write a name, a space and a token in each line; `openssl rand -hex 16` creates a token"
                    .to_owned(),
            ),
            Self::Session(error) => error.hint(),
            // Their messages say it, or there is nothing to do.
            Self::NotMcp { .. } | Self::Handshake { .. } | Self::Io { .. } | Self::Open { .. } => None,
        }
    }
}
