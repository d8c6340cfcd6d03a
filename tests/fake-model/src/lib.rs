//! A fake model for tests. It gives scripted answers behind the APIs of real models: Anthropic Messages,
//! `OpenAI` Responses and Chat Completions, and Gemini. It listens on loopback only and records its requests.
//!
//! An agent that uses it behaves as with a real model: it sends its prompt, gets a tool call, runs it and sends
//! the result. The number of tool results in a request selects the next step. So the server keeps no state
//! between requests, and an agent that repeats a request gets the same answer.
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
