//! Tests real agents in metier's homes with a fake model: which skills they show it, and what they do when it
//! asks for one.
//!
//! Each test starts itself again in a network namespace with loopback only, so that nothing else can be
//! contacted. Agents are looked for in the directory where `scripts/real-agents` installs them; only that
//! script runs these tests.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop; what is left out is said"
)]

#[path = "real_agents/asked.rs"]
mod asked;
#[path = "real_agents/asking.rs"]
mod asking;
#[path = "real_agents/cases.rs"]
mod cases;
#[path = "shared/clock.rs"]
mod clock;
#[path = "real_agents/command.rs"]
mod command;
#[path = "real_agents/continued.rs"]
mod continued;
#[path = "real_agents/drift.rs"]
mod drift;
#[path = "real_agents/driver.rs"]
mod driver;
#[path = "real_agents/ended.rs"]
mod ended;
#[path = "real_agents/frames.rs"]
mod frames;
#[path = "real_agents/guarded.rs"]
mod guarded;
#[path = "real_agents/hostile.rs"]
mod hostile;
#[path = "real_agents/outcome.rs"]
mod outcome;
#[path = "real_agents/proxied.rs"]
mod proxied;
#[path = "real_agents/rig.rs"]
mod rig;
#[path = "real_agents/served.rs"]
mod served;
#[path = "shared/skips.rs"]
mod skips;
#[path = "real_agents/stories.rs"]
mod stories;

macro_rules! agent {
    ($name:ident, $agent:ident, [$($case:ident),*]) => {
        mod $name {
            $(
                #[test]
                #[ignore = "needs an agent; scripts/real-agents installs those that it runs"]
                fn $case() {
                    let name = concat!(stringify!($name), "::", stringify!($case));
                    super::rig::within(metier_home::Agent::$agent, name, super::cases::$case);
                }
            )*
        }
    };
}

/// The programs in `examples/prompts`, for an agent.
macro_rules! stories {
    ($name:ident, $agent:ident) => {
        mod $name {
            #[test]
            #[ignore = "needs an agent; scripts/real-agents installs those that it runs"]
            fn stories() {
                let name = concat!(stringify!($name), "::stories");
                super::rig::within(metier_home::Agent::$agent, name, super::stories::stories);
            }
        }
    };
}

/// The cases of `asked.rs` and those that it names, for an agent that prompts run on.
macro_rules! harness {
    ($name:ident, $agent:ident, [$($case:ident),*]) => {
        mod $name {
            $(
                #[test]
                #[ignore = "needs an agent; scripts/real-agents installs those that it runs"]
                fn $case() {
                    let name = concat!(stringify!($name), "::", stringify!($case));
                    super::rig::within(metier_home::Agent::$agent, name, super::asked::$case);
                }
            )*
        }
    };
}

stories!(stories_claude, ClaudeCode);
stories!(stories_codex, Codex);
harness!(
    asked_claude,
    ClaudeCode,
    [
        asked_text,
        asked_typed,
        asked_tool,
        asked_skill,
        asked_permission,
        asked_section,
        asked_limits,
        asked_budget,
        asked_codeword,
        asked_start,
        asked_resume,
        ended_by_kill,
        ended_by_silence,
        goes_on_after_a_flood,
        is_no_agent,
        guarded_answer,
        guard_that_is_gone,
        frames_are_known
    ]
);
harness!(
    asked_codex,
    Codex,
    [
        asked_text,
        asked_typed,
        asked_tool,
        asked_skill,
        asked_permission,
        asked_section,
        asked_limits,
        asked_budget,
        asked_codeword,
        asked_start,
        asked_resume,
        ended_by_kill,
        ended_by_silence,
        goes_on_after_a_flood,
        is_no_agent,
        guarded_answer,
        guard_that_is_gone,
        frames_are_known
    ]
);
harness!(
    asked_goose,
    Goose,
    [
        asked_text,
        asked_typed,
        asked_tool,
        asked_skill,
        asked_permission,
        asked_section,
        asked_limits,
        asked_budget,
        asked_resume,
        asked_codeword,
        asked_start,
        ended_by_kill,
        ended_by_silence,
        goes_on_after_a_flood,
        is_no_agent,
        frames_are_known
    ]
);
harness!(
    asked_opencode,
    OpenCode,
    [
        asked_text,
        asked_typed,
        asked_tool,
        asked_skill,
        asked_permission,
        asked_section,
        asked_limits,
        asked_budget,
        asked_resume,
        asked_codeword,
        asked_start,
        ended_by_kill,
        ended_by_silence,
        goes_on_after_a_flood,
        is_no_agent,
        frames_are_known
    ]
);
harness!(
    asked_gemini,
    Gemini,
    [
        asked_text,
        asked_typed,
        asked_tool,
        asked_skill,
        asked_permission,
        asked_section,
        asked_limits,
        asked_budget,
        asked_codeword,
        asked_start,
        ended_by_kill,
        ended_by_silence,
        goes_on_after_a_flood,
        is_no_agent,
        frames_are_known
    ]
);
harness!(
    asked_copilot,
    Copilot,
    [
        asked_text,
        asked_typed,
        asked_tool,
        asked_skill,
        asked_permission,
        asked_section,
        asked_limits,
        asked_budget,
        asked_resume,
        asked_codeword,
        asked_start,
        ended_by_kill,
        ended_by_silence,
        goes_on_after_a_flood,
        is_no_agent,
        frames_are_known
    ]
);
agent!(
    claude,
    ClaudeCode,
    [
        shows_and_activates,
        answers_with_the_codeword,
        control,
        working_directory_stays_out,
        two_hundred,
        all_kinds,
        added_while_running,
        guarded_run,
        hermetic_command,
        hostile,
        system_stays_out,
        served
    ]
);
agent!(
    codex,
    Codex,
    [
        shows_and_activates,
        answers_with_the_codeword,
        control,
        working_directory_stays_out,
        two_hundred,
        all_kinds,
        named_in_the_prompt,
        guarded_run,
        hermetic_command,
        hostile,
        system_stays_out,
        schema_is_known
    ]
);
agent!(
    goose,
    Goose,
    [
        shows_and_activates,
        answers_with_the_codeword,
        control,
        working_directory_is_reported,
        two_hundred,
        all_kinds,
        added_while_running,
        hermetic_command,
        hostile
    ]
);
agent!(
    opencode,
    OpenCode,
    [
        shows_and_activates,
        answers_with_the_codeword,
        control,
        working_directory_stays_out,
        two_hundred,
        all_kinds,
        hermetic_command,
        hostile
    ]
);
agent!(
    gemini,
    Gemini,
    [
        shows_and_activates,
        answers_with_the_codeword,
        control,
        working_directory_is_reported,
        two_hundred,
        all_kinds,
        hermetic_command,
        hostile,
        not_trusted,
        served_over_http
    ]
);
agent!(
    copilot,
    Copilot,
    [
        shows_and_activates,
        answers_with_the_codeword,
        control,
        working_directory_is_reported,
        two_hundred,
        all_kinds,
        hermetic_command,
        hostile
    ]
);
