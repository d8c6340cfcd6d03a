//! A model that says what a test tells it to, behind the interfaces of real ones: Anthropic Messages, `OpenAI` Responses and Chat
//! Completions, Gemini. It listens on loopback alone, and remembers what it was asked.
//!
//! An agent that is pointed at it does what it would do with a real model: it sends its prompt, gets a call of a tool, runs that,
//! and sends the result. Which step comes next is told by how many results a request has, so that nothing has to be remembered
//! between requests, and an agent that asks again gets the same answer.
//!
//! ```
//! use metier_fake_model::{Server, Step};
//! use serde_json::json;
//!
//! let steps = vec![Step::call("load_skill", json!({ "name": "pdf" })), Step::text("Done.")];
//! let server = Server::start(steps)?;
//! assert!(server.url().starts_with("http://127.0.0.1:"));
//! assert!(server.requests().is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```

mod http;
mod protocol;
mod request;
mod server;
mod step;

pub use request::Request;
pub use server::Server;
pub use step::Step;
