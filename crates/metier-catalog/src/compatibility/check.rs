//! Needs against a machine: whether each is met, and why.

use super::bounds::{Bounds, Fit};
use super::machine::{Machine, Os};
use super::programs::Program;
use super::read::{Group, Need, What};
use super::table::{self, System};
use super::{Requirement, RequirementStatus};

/// What comes of looking: a status, and the reason.
type Answer = (RequirementStatus, String);

/// Ways of which the reasons are told.
const REASONS: usize = 4;

/// Checks one group of needs: met when one is, unknown when one is not known.
pub(super) fn check(group: &Group, machine: &dyn Machine) -> Requirement {
    let answers: Vec<Answer> = group.any_of.iter().map(|need| check_need(need, machine)).collect();
    let of = |status: RequirementStatus| {
        answers.iter().filter(move |answer| answer.0 == status).map(|answer| &answer.1)
    };
    let status = if of(RequirementStatus::Met).next().is_some() {
        RequirementStatus::Met
    } else if of(RequirementStatus::Unknown).next().is_some() || answers.is_empty() {
        RequirementStatus::Unknown
    } else {
        RequirementStatus::Unmet
    };
    let mut reasons: Vec<&str> = Vec::new();
    for (_, reason) in
        answers.iter().filter(|answer| status != RequirementStatus::Met || answer.0 == RequirementStatus::Met)
    {
        if !reasons.contains(&reason.as_str()) {
            reasons.push(reason);
        }
    }
    // One way that works is enough to know; of ways that do not, each has its reason.
    reasons.truncate(if status == RequirementStatus::Met { 1 } else { REASONS });
    Requirement { text: group.text.clone(), status, reason: reasons.join("; ") }
}

fn check_need(need: &Need, machine: &dyn Machine) -> Answer {
    let (status, reason) = check_what(&need.what, machine);
    if need.optional {
        // A wish is never in the way.
        let reason = if matches!(need.what, What::Unreadable | What::Unseen(_)) {
            "nothing is needed".to_owned()
        } else {
            reason
        };
        return (RequirementStatus::Met, format!("optional: {reason}"));
    }
    match status {
        RequirementStatus::Met if need.beyond => {
            (RequirementStatus::Unknown, format!("{reason}, but more is asked than metier can see"))
        }
        RequirementStatus::Unmet if need.conditional => {
            (RequirementStatus::Unknown, format!("needed in some cases only: {reason}"))
        }
        _ => (status, reason),
    }
}

fn check_what(what: &What, machine: &dyn Machine) -> Answer {
    match what {
        What::Program(program, bounds) => check_program(program, bounds, machine),
        What::Named { name, sure } => check_name(name, *sure, machine),
        What::System(system) => check_system(*system, machine.os()),
        What::NotSystem(system) => match check_system(*system, machine.os()) {
            (RequirementStatus::Met, _) => {
                (RequirementStatus::Unmet, format!("this is {}, which is ruled out", machine.os()))
            }
            (RequirementStatus::Unmet, _) => (RequirementStatus::Met, format!("this is {}", machine.os())),
            unknown => unknown,
        },
        What::Agent(agent) => check_agent(agent, machine.agent()),
        What::AnyAgent => (RequirementStatus::Met, "other agents will do".to_owned()),
        What::Network => match machine.has_network() {
            Some(true) => (RequirementStatus::Met, "there is a network".to_owned()),
            Some(false) => (RequirementStatus::Unmet, "there is no network".to_owned()),
            None => (RequirementStatus::Unknown, "metier does not try the network".to_owned()),
        },
        What::Unseen(why) => (RequirementStatus::Unknown, (*why).to_owned()),
        What::Nothing => (RequirementStatus::Met, "nothing is needed".to_owned()),
        What::Unreadable => {
            (RequirementStatus::Unknown, "metier does not understand this: check it yourself".to_owned())
        }
    }
}

/// Looks for a program under each of its names. One that is there in the wrong version is not the last word:
/// it may be there under another name too.
fn check_program(program: &Program, bounds: &Bounds, machine: &dyn Machine) -> Answer {
    let mut best: Option<Answer> = None;
    for name in program.executables.iter().filter(|name| machine.has_program(name)) {
        let answer = check_version(name, bounds, machine);
        if answer.0 == RequirementStatus::Met {
            return answer;
        }
        if best
            .as_ref()
            .is_none_or(|best| best.0 == RequirementStatus::Unmet && answer.0 == RequirementStatus::Unknown)
        {
            best = Some(answer);
        }
    }
    best.unwrap_or_else(|| {
        let names: Vec<String> = program.executables.iter().map(|name| format!("`{name}`")).collect();
        let verb = if names.len() == 1 { "is not" } else { "are not" };
        (RequirementStatus::Unmet, format!("{} {verb} on the path: install it", names.join(" and ")))
    })
}

fn check_version(name: &str, bounds: &Bounds, machine: &dyn Machine) -> Answer {
    if bounds.is_any() {
        return (RequirementStatus::Met, format!("`{name}` is installed"));
    }
    let Some(version) = machine.version_of(name) else {
        return (
            RequirementStatus::Unknown,
            format!("`{name}` is installed, but its version is not known; {bounds} is needed"),
        );
    };
    match bounds.fit(&version) {
        Fit::Inside => (RequirementStatus::Met, format!("`{name}` is {version}")),
        Fit::Outside => (RequirementStatus::Unmet, format!("`{name}` is {version}, and {bounds} is needed")),
        Fit::Perhaps => (
            RequirementStatus::Unknown,
            format!("`{name}` is {version}, newer than the {bounds} that is named"),
        ),
    }
}

fn check_name(name: &str, sure: bool, machine: &dyn Machine) -> Answer {
    if machine.has_program(name) {
        (RequirementStatus::Met, format!("`{name}` is installed"))
    } else if sure {
        (RequirementStatus::Unmet, format!("`{name}` is not on the path: install it"))
    } else {
        (RequirementStatus::Unknown, format!("`{name}` is not on the path, but may go by another name there"))
    }
}

fn check_system(system: System, os: Os) -> Answer {
    let met = match system {
        System::Any => return (RequirementStatus::Met, "any system will do".to_owned()),
        System::Linux | System::Distribution => matches!(os, Os::Linux | Os::Wsl),
        System::MacOs => os == Os::MacOs,
        System::Windows => os == Os::Windows,
        System::Wsl => os == Os::Wsl,
        System::Unix => matches!(os, Os::Linux | Os::Wsl | Os::MacOs),
    };
    match (met, system) {
        (_, _) if os == Os::Other => {
            (RequirementStatus::Unknown, "metier does not know this system".to_owned())
        }
        (true, System::Distribution) => {
            (RequirementStatus::Unknown, format!("this is {os}, but metier does not look at which"))
        }
        (true, _) => (RequirementStatus::Met, format!("this is {os}")),
        (false, _) => (RequirementStatus::Unmet, format!("this is {os}")),
    }
}

fn check_agent(wanted: &str, agent: Option<&str>) -> Answer {
    let Some(agent) = agent else {
        return (RequirementStatus::Unknown, "metier was not told which agent will use this".to_owned());
    };
    let known = table::agent(agent).unwrap_or(agent);
    // `Claude` alone may be any of its products.
    let same = known == wanted || (wanted == "claude" && known.starts_with("claude-"));
    (if same { RequirementStatus::Met } else { RequirementStatus::Unmet }, format!("the agent is {agent}"))
}
