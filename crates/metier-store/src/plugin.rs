//! Files that describe plugins: marketplaces and manifests of Claude Code, Codex, Copilot, Cursor, Gemini CLI and Agent
//! Plugins. Pure: it reads bytes, and never runs or fetches what they name.

mod json;
mod manifest;
mod marketplace;
mod source;

pub use manifest::{MANIFESTS, ManifestKind, PluginManifest};
pub use marketplace::{MARKETPLACES, Marketplace, PluginEntry, PluginProblem};
pub use source::PluginSource;
