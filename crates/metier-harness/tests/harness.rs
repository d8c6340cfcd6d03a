//! Prompts that run on agents: what an evaluation does, and how it ends whatever the agent does.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

#[path = "harness/acp_frames.rs"]
mod acp_frames;
#[path = "harness/acp_program.rs"]
mod acp_program;
#[path = "harness/answers.rs"]
mod answers;
#[cfg(feature = "openai")]
#[path = "harness/canned.rs"]
mod canned;
#[cfg(feature = "openai")]
#[path = "harness/capabilities.rs"]
mod capabilities;
#[path = "harness/claude_frames.rs"]
mod claude_frames;
#[path = "../../../tests/shared/clock.rs"]
mod clock;
#[path = "harness/codex_frames.rs"]
mod codex_frames;
#[path = "harness/codex_program.rs"]
mod codex_program;
#[path = "harness/failures.rs"]
mod failures;
#[path = "harness/ground.rs"]
mod ground;
#[path = "../../../tests/shared/launcher.rs"]
mod launcher;
#[path = "harness/limits.rs"]
mod limits;
#[cfg(feature = "openai")]
#[path = "harness/openai.rs"]
mod openai;
#[cfg(feature = "openai")]
#[path = "harness/openai_faults.rs"]
mod openai_faults;
#[cfg(feature = "openai")]
#[path = "harness/openai_frames.rs"]
mod openai_frames;
#[cfg(feature = "openai")]
#[path = "harness/openai_skills.rs"]
mod openai_skills;
#[path = "harness/permissions.rs"]
mod permissions;
#[path = "harness/scripted.rs"]
mod scripted;
#[path = "harness/sections.rs"]
mod sections;
#[path = "harness/skills.rs"]
mod skills;
#[path = "harness/tools.rs"]
mod tools;
#[path = "harness/typed.rs"]
mod typed;
