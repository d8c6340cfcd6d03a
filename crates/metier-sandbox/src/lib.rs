//! Run it, contained.
//!
//! A [`Profile`] says what a program may reach; an [`Executor`] runs a [`Job`] under it; the [`Outcome`] says how it
//! ended and which [`Protection`]s were really active while it ran. On Linux, [`Local`] needs nothing but the kernel:
//! it starts the program that it is part of again as a small launcher, which sets everything up
//! (see [`launch_if_asked`]).
//!
//! Nothing here decides whether a script may run, or asks anybody. A protection that the profile needs and that
//! cannot be had is an error before the program starts.

mod capture;
mod container;
mod control;
mod error;
mod executor;
mod launcher;
mod local;
mod plan;
mod probe;
mod profile;
mod protection;
mod proxy;
mod script;
mod seccomp;
mod stopwatch;
mod sys;

pub use container::Container;
pub use error::{Missing, SandboxError};
pub use executor::{
    Cancel, Captured, Connection, Ending, Executor, Job, Limit, Outcome, Planted, Sink, Stream, Usage,
};
pub use launcher::launch_if_asked;
pub use local::{Local, system_paths};
pub use probe::probe;
pub use profile::{Destination, Limits, Network, Place, Profile};
pub use protection::{Finding, Protection, Protections, Strictness};
pub use script::Script;
