//! Skills for any agent that speaks the Model Context Protocol: four tools, the Skills extension, prompts and a list of what there is.
//!
//! A [`Library`] is what is served; each client that connects gets a [`McpConnection`] to it, which is a session of its own: what it loads,
//! reads and runs is allowed by the policy and recorded like everything else.
//!
//! *Architecture invariant:* nothing here decides what may be done or touches a skill's files; sessions do. This crate is where async
//! ends: everything behind a connection is plain code on threads that may wait.

mod answer;
mod approval;
mod connection;
mod conversation;
mod error;
mod extension;
mod governed;
mod http;
mod library;
mod lines;
mod metrics;
mod output;
mod place;
mod prompts;
mod resources;
mod running;
mod slots;
mod stdio;
mod turns;
mod uri;
mod view;

pub use connection::McpConnection;
pub use error::McpError;
pub use http::{HttpOptions, HttpServer, Token};
pub use library::{AskMode, Library, LibraryContents, LibraryOptions, SkillListPlacement};
pub use place::{RootCheck, WorkDirectories};
pub use stdio::{serve, serve_stdio};
pub use view::Greeting;
