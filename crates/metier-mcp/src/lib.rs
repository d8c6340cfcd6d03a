//! Serves skills to any agent that speaks the Model Context Protocol (MCP): four tools, the Skills extension, prompts
//! and the skill list.
//!
//! A [`Library`] is what is served. Each client that connects gets a [`McpConnection`] with a session of its own:
//! everything it loads, reads and runs is checked against the policy and recorded in the journal.
//!
//! *Architecture invariant:* this crate decides nothing and does not open a skill's files; sessions do. Async code ends
//! here: everything behind a connection is synchronous code on blocking threads.

mod answer;
mod approval;
mod connection;
mod conversation;
mod error;
mod extension;
mod gateway;
mod governed;
mod http;
mod library;
mod lines;
mod metrics;
mod output;
mod place;
mod prompts;
mod renamed;
mod resources;
mod running;
mod slots;
mod stdio;
mod turns;
mod upstream;
mod uri;
mod view;

pub use connection::McpConnection;
pub use error::McpError;
pub use gateway::{GatewayOptions, ServerToolNames};
pub use http::{HttpOptions, HttpServer, Token};
pub use library::{AskMode, Library, LibraryContents, LibraryOptions, SkillListPlacement};
pub use place::{RootCheck, WorkDirectories};
pub use stdio::{serve, serve_stdio};
pub use upstream::{RestartPauses, UpstreamServer, UpstreamTransport};
pub use view::Greeting;
