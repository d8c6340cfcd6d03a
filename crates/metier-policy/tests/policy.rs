//! What the policy decides, seen from outside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "policy/bypasses.rs"]
mod bypasses;
#[path = "policy/characters.rs"]
mod characters;
#[path = "policy/independent.rs"]
mod independent;
#[path = "policy/organisation.rs"]
mod organisation;
#[path = "policy/patterns.rs"]
mod patterns;
#[path = "policy/properties.rs"]
mod properties;
#[path = "policy/reached.rs"]
mod reached;
#[path = "policy/rules.rs"]
mod rules;
#[path = "policy/seen.rs"]
mod seen;
#[path = "policy/servers.rs"]
mod servers;
#[path = "policy/tiers.rs"]
mod tiers;
#[path = "policy/uses.rs"]
mod uses;
#[path = "policy/vectors.rs"]
mod vectors;
