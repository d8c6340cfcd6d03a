//! The command line as people and programs meet it: what is typed, what is printed, how it ends.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "cli/archive.rs"]
mod archive;
#[path = "cli/ask.rs"]
mod ask;
#[path = "cli/audit.rs"]
mod audit;
#[path = "cli/catalog.rs"]
mod catalog;
#[path = "cli/complete.rs"]
mod complete;
#[path = "cli/counted.rs"]
mod counted;
mod docs;
#[path = "cli/doctor.rs"]
mod doctor;
#[path = "cli/gateway.rs"]
mod gateway;
#[path = "cli/general.rs"]
mod general;
#[path = "cli/guard.rs"]
mod guard;
#[path = "cli/hints.rs"]
mod hints;
#[path = "cli/hook.rs"]
mod hook;
#[path = "cli/hostile.rs"]
mod hostile;
#[path = "cli/kill.rs"]
mod kill;
#[path = "cli/missing.rs"]
mod missing;
#[path = "cli/new.rs"]
mod new;
#[path = "cli/policy.rs"]
mod policy;
#[path = "cli/policy_files.rs"]
mod policy_files;
#[path = "cli/printing.rs"]
mod printing;
#[path = "cli/progress.rs"]
mod progress;
#[path = "cli/prompt.rs"]
mod prompt;
#[path = "cli/races.rs"]
mod races;
#[path = "cli/recorded.rs"]
mod recorded;
#[path = "cli/reference.rs"]
mod reference;
#[path = "cli/run.rs"]
mod run;
#[path = "cli/sandbox.rs"]
mod sandbox;
#[path = "cli/scan.rs"]
mod scan;
#[path = "cli/search.rs"]
mod search;
#[path = "cli/serve.rs"]
mod serve;
#[path = "cli/serve_answers.rs"]
mod serve_answers;
#[path = "cli/serve_changes.rs"]
mod serve_changes;
#[path = "cli/serve_http.rs"]
mod serve_http;
#[path = "cli/serve_machine.rs"]
mod serve_machine;
#[path = "cli/serve_start.rs"]
mod serve_start;
#[path = "cli/session.rs"]
mod session;
#[path = "cli/show.rs"]
mod show;
#[path = "../../../tests/shared/skips.rs"]
mod skips;
#[path = "../../../tests/shared/small_disk.rs"]
mod small_disk;
#[path = "cli/status.rs"]
mod status;
#[path = "cli/store.rs"]
mod store;
#[path = "cli/store_changes.rs"]
mod store_changes;
#[path = "cli/store_downloads.rs"]
mod store_downloads;
#[path = "cli/store_faults.rs"]
mod store_faults;
#[path = "cli/store_git.rs"]
mod store_git;
#[path = "cli/store_rules.rs"]
mod store_rules;
#[path = "cli/store_server.rs"]
mod store_server;
#[path = "cli/store_signatures.rs"]
mod store_signatures;
#[path = "cli/store_support.rs"]
mod store_support;
#[path = "cli/support.rs"]
mod support;
#[path = "../../../tests/shared/terminal.rs"]
mod terminal;
#[path = "cli/validate.rs"]
mod validate;
#[path = "cli/work.rs"]
mod work;
