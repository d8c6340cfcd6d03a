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
mod error;
mod executor;
mod profile;
mod protection;
mod script;
mod stopwatch;
mod width;

#[cfg(target_os = "linux")]
mod control;
#[cfg(target_os = "linux")]
mod launcher;
#[cfg(target_os = "linux")]
mod local;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod proxy;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod sys;

#[cfg(not(target_os = "linux"))]
mod elsewhere;

pub use container::Container;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Local, launch_if_asked, probe, system_paths};
pub use error::{Missing, SandboxError};
pub use executor::{
    Cancel, Captured, Connection, Ending, Executor, Job, Limit, Outcome, Planted, Sink, Stream, Usage,
};
#[cfg(target_os = "linux")]
pub use launcher::launch_if_asked;
#[cfg(target_os = "linux")]
pub use local::{Local, system_paths};
#[cfg(target_os = "linux")]
pub use probe::probe;
pub use profile::{Destination, Limits, Network, Place, Profile};
pub use protection::{Finding, Protection, Protections, Strictness};
pub use script::Script;
