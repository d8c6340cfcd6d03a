//! What an agent sees: skills mounted into a directory, all of them or none; temporary homes for agents, with exactly the skills
//! that they were given; workspaces.
//!
//! *Architecture invariant:* the host's environment and directories come from outside. What is mounted is a copy; nothing of the
//! source is trusted after that. No agent is started here.

mod agent;
mod agents;
mod copy;
mod env;
mod error;
mod home;
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
pub use isolation::{AgentSandbox, IsolationConfig, NetworkPolicy, Secret};
pub use leaks::{Enclosure, Leak, leaks};
pub use link::{LinkedSkill, link_skill, unlink_skill};
pub use mount::{MountOptions, MountedSkill, Rename, add_skills, mount_skills};
pub use project::{ProjectFile, ProjectFileKind, project_files};
pub use workspace::{HostMount, WorkingDirectory, Workspace};
