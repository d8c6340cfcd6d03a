//! The command line as people and programs meet it: what is typed, what is printed, how it ends.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "cli/audit.rs"]
mod audit;
#[path = "cli/catalog.rs"]
mod catalog;
#[path = "cli/general.rs"]
mod general;
#[path = "cli/hostile.rs"]
mod hostile;
#[path = "cli/kill.rs"]
mod kill;
#[path = "cli/new.rs"]
mod new;
#[path = "cli/policy.rs"]
mod policy;
#[path = "cli/prompt.rs"]
mod prompt;
#[path = "cli/reference.rs"]
mod reference;
#[path = "cli/run.rs"]
mod run;
#[path = "cli/sandbox.rs"]
mod sandbox;
#[path = "cli/search.rs"]
mod search;
#[path = "cli/serve.rs"]
mod serve;
#[path = "cli/serve_http.rs"]
mod serve_http;
#[path = "cli/session.rs"]
mod session;
#[path = "cli/show.rs"]
mod show;
#[path = "cli/support.rs"]
mod support;
#[path = "cli/validate.rs"]
mod validate;
