//! The files that an agent sees: skills mounted into a directory, temporary homes for agents with exactly the given skills, and
//! workspaces.
//!
//! *Architecture invariant:* the caller passes the host's environment and directories in. Mounted skills are copies; the source is
//! not trusted after that. This crate starts no agent.

mod agent;
mod agents;
mod copy;
mod env;
mod error;
mod home;
mod install;
mod isolation;
mod leaks;
mod link;
mod mount;
mod project;
mod staging;
mod workspace;

pub use agent::Agent;
pub use agents::BedrockConfig;
pub use env::{HostVariables, Variables, redacted};
pub use error::HomeError;
pub use home::{Home, HomeOptions, leftovers, remove_leftovers};
pub use install::{InstalledPrompt, InstalledSkill, install_prompt};
pub use isolation::{AgentSandbox, IsolationConfig, NetworkPolicy, Secret};
pub use leaks::{Enclosure, Leak, leaks};
pub use link::{LinkedSkill, link_skill, unlink_skill};
pub use mount::{MountOptions, MountedSkill, Rename, add_skills, mount_skills};
pub use project::{ProjectFile, ProjectFileKind, project_files};
pub use workspace::{WorkingDirectory, Workspace};
