//! Why a server could not be reached, or did not answer.

use std::time::Duration;

use metier_skill::Coded;

/// Why a server behind the gateway could not be reached, or did not answer.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum UpstreamError {
    /// The program or the connection could not be started.
    #[error("the server cannot be reached: {reason}")]
    Unreachable {
        /// Why.
        reason: String,
    },
    /// The server ended or closed the connection.
    #[error("the server ended: {reason}")]
    Ended {
        /// What is known about why.
        reason: String,
    },
    /// The server does not follow the protocol.
    #[error("the server does not follow the protocol: {reason}")]
    Protocol {
        /// What it did.
        reason: String,
    },
    /// A message of the server is too long.
    #[error("the server sent a message of more than {most} bytes")]
    TooLong {
        /// The maximum.
        most: usize,
    },
    /// There was no answer in time.
    #[error("the server did not answer within {patience:?}")]
    Silent {
        /// How long it was waited for.
        patience: Duration,
    },
    /// The server was restarted too recently.
    #[error("the server failed and is restarted after a pause")]
    Withdrawn,
}

impl Coded for UpstreamError {
    fn code(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "upstream-unreachable",
            Self::Ended { .. } => "upstream-ended",
            Self::Protocol { .. } => "upstream-protocol",
            Self::TooLong { .. } => "upstream-too-long",
            Self::Silent { .. } => "upstream-silent",
            Self::Withdrawn => "upstream-withdrawn",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unreachable { .. } => {
                Some("check `command` or `url` of the server in the settings".to_owned())
            }
            Self::Withdrawn => Some("try again later; the other servers are available".to_owned()),
            _ => None,
        }
    }
}

impl UpstreamError {
    pub(crate) fn protocol(reason: impl Into<String>) -> Self {
        Self::Protocol { reason: reason.into() }
    }

    pub(crate) fn unreachable(error: impl std::fmt::Display) -> Self {
        Self::Unreachable { reason: error.to_string() }
    }

    pub(crate) fn ended(reason: impl Into<String>) -> Self {
        Self::Ended { reason: reason.into() }
    }
}
