//! Errors that stop the server.

use std::io;
use std::net::SocketAddr;

use metier_session::SessionError;
use metier_skill::Coded;

/// Why the server cannot start, or had to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The input is not MCP.
    #[error(
        "the input is not MCP: it starts with `{line}`; an MCP client has to start this command, see `metier serve --print-config claude`"
    )]
    NotMcp {
        /// The start of the first line.
        line: String,
    },
    /// The handshake failed.
    #[error("the MCP handshake with the client failed: {reason}")]
    Handshake {
        /// What went wrong.
        reason: String,
    },
    /// A system call failed.
    #[error("cannot {what}")]
    Io {
        /// The operation that failed.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The address is reachable from other machines, but no tokens are set.
    #[error(
        "{address} can be reached from other machines; set tokens with `--token-file`, or listen on 127.0.0.1"
    )]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// A line of the token file is invalid.
    #[error("line {line}: invalid token: {problem}")]
    Token {
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The session could not be ended properly.
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
            Self::Listen { .. } => Some("choose another port, or 0 for any free port".to_owned()),
            Self::Token { .. } => Some(
                "write a name, a space and a token on each line; `openssl rand -hex 16` creates a token"
                    .to_owned(),
            ),
            Self::Session(error) => error.hint(),
            // Their messages already contain the fix, or there is none.
            Self::NotMcp { .. } | Self::Handshake { .. } | Self::Io { .. } | Self::Open { .. } => None,
        }
    }
}
