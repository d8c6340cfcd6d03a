//! Runs programs in a sandbox.
//!
//! A [`SandboxProfile`] defines what a program may access; an [`Executor`] runs a [`Job`] with it; the [`RunOutcome`]
//! reports how it ended and which [`Protection`]s were really active while it ran. On Linux, [`Local`] needs only the
//! kernel: it starts the current program again as a small launcher, which sets everything up (see [`launch_if_asked`]).
//!
//! Nothing here decides whether a script may run, or asks for approval. If a protection that the profile requires is
//! not available, that is an error before the program starts.

mod capture;
mod error;
mod executor;
mod leftovers;
mod links;
mod obeyed;
mod private;
mod profile;
mod protection;
mod reserved;
mod stopwatch;
mod supervised;
mod width;
mod work;

#[cfg(target_os = "linux")]
mod control;
#[cfg(target_os = "linux")]
mod launcher;
#[cfg(target_os = "linux")]
mod local;
#[cfg(target_os = "linux")]
mod mounts;
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

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{
    Local, Signals, SupervisedProgram, is_own_launcher, launch_if_asked, probe, return_freed_memory,
    settle_notes, system_paths,
};
pub use error::{MissingProtection, SandboxError};
pub use executor::{
    Cancel, CapturedOutput, Connection, Ending, Executor, Job, Limit, PathSample, PlantedBy, PlantedItem,
    ResourceUsage, RunOutcome, Sink, Stream, TouchedFiles, UnsettledRuns, Urgency,
};
#[cfg(target_os = "linux")]
pub use launcher::{is_own_launcher, launch_if_asked};
pub use leftovers::{Leftovers, Owner, is_own_directory};
pub use links::leads_to;
#[cfg(target_os = "linux")]
pub use local::{Local, settle_notes, system_paths};
pub use obeyed::{OBEYED, ObeyedEffect, ObeyedPath};
pub use private::{PrivateDirectory, Purpose, leftovers, remove_leftovers};
#[cfg(target_os = "linux")]
pub use probe::probe;
pub use profile::{Destination, Network, PinnedPath, RunLimits, SandboxProfile};
pub use protection::{MeasuredProtection, Protection, Protections, Strictness};
pub use reserved::ReservedPaths;
pub use supervised::{CoveredPath, Program, ProgramEnd, ProgramPipes};
#[cfg(target_os = "linux")]
pub use supervised::{Signals, SupervisedProgram};
#[cfg(target_os = "linux")]
pub use sys::return_freed_memory;
pub use work::WorkDirectory;
