//! Requirements of a skill, and checking them against a machine.

use semver::{Version, VersionReq};

use super::table::{self, Known};
use super::{Machine, Os, Requirement, RequirementStatus};

/// One requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Need {
    /// An entry of the table, and for a program possibly a version range.
    Known(Known, Option<Versions>),
    /// A program, by the name of its executable.
    Executable(String),
    /// Text in a form that metier does not parse.
    Unread,
}

/// Alternative requirements, one of which is enough, with the author's text.
#[derive(Debug)]
pub(super) struct NeedGroup {
    pub(super) text: String,
    pub(super) any_of: Vec<Need>,
}

/// A status and its reason.
type Answer = (RequirementStatus, String);

impl NeedGroup {
    /// Met if one alternative is met, otherwise unknown if one is unknown.
    pub(super) fn check(&self, machine: &dyn Machine) -> Requirement {
        let answers: Vec<Answer> = self.any_of.iter().map(|need| need.check(machine)).collect();
        let has = |status| answers.iter().any(|answer| answer.0 == status);
        let status = [RequirementStatus::Met, RequirementStatus::Unknown];
        let status = status.into_iter().find(|status| has(*status)).unwrap_or(RequirementStatus::Unmet);
        let mut reasons: Vec<&str> = Vec::new();
        for (_, reason) in answers.iter().filter(|answer| answer.0 == status) {
            if !reasons.contains(&reason.as_str()) {
                reasons.push(reason);
            }
        }
        // One met alternative is enough.
        reasons.truncate(if status == RequirementStatus::Met { 1 } else { REASONS });
        Requirement { text: self.text.clone(), status, reason: reasons.join("; ") }
    }
}

/// The maximum number of reasons per requirement.
const REASONS: usize = 4;

impl Need {
    pub(super) fn is_system(&self) -> bool {
        matches!(self, Self::Known(Known::System(_), _))
    }

    pub(super) fn is_agent(&self) -> bool {
        matches!(self, Self::Known(Known::Agent(_), _))
    }

    fn check(&self, machine: &dyn Machine) -> Answer {
        let decided = |is_met: bool, reason: String| {
            (if is_met { RequirementStatus::Met } else { RequirementStatus::Unmet }, reason)
        };
        match self {
            Self::Known(Known::Program(names), versions) => check_program(names, versions.as_ref(), machine),
            Self::Executable(name) => check_program(&[name], None, machine),
            Self::Known(Known::System(_), _) if machine.os() == Os::Other => {
                (RequirementStatus::Unknown, "the operating system is unknown".to_owned())
            }
            Self::Known(Known::System(systems), _) => {
                decided(systems.contains(&machine.os()), format!("this is {}", machine.os()))
            }
            Self::Known(Known::Agent(wanted), _) => match machine.agent() {
                None => (RequirementStatus::Unknown, "the agent is unknown".to_owned()),
                Some(agent) => {
                    let name = table::agent(agent).unwrap_or(agent);
                    // `Claude` alone may mean any of its products.
                    let is_same = name == *wanted || (*wanted == "claude" && name.starts_with("claude-"));
                    decided(is_same, format!("the agent is {agent}"))
                }
            },
            Self::Known(Known::Network, _) => match machine.has_network() {
                Some(true) => decided(true, "the network is available".to_owned()),
                Some(false) => decided(false, "the network is not available".to_owned()),
                None => (RequirementStatus::Unknown, "network access is not checked".to_owned()),
            },
            Self::Unread => (RequirementStatus::Unknown, "not checked".to_owned()),
        }
    }
}

/// Looks for a program under each of its names. A wrong version under one name does not rule out another name.
fn check_program(names: &[&str], versions: Option<&Versions>, machine: &dyn Machine) -> Answer {
    let installed = names.iter().filter(|name| machine.has_program(name));
    let answers = installed.map(|name| check_version(name, versions, machine));
    let order = [RequirementStatus::Met, RequirementStatus::Unknown, RequirementStatus::Unmet];
    let best = answers.min_by_key(|answer| order.iter().position(|status| *status == answer.0));
    best.unwrap_or_else(|| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        (RequirementStatus::Unmet, format!("{} not found in PATH; install it", names.join(" and ")))
    })
}

fn check_version(name: &str, versions: Option<&Versions>, machine: &dyn Machine) -> Answer {
    let Some(versions) = versions else {
        return (RequirementStatus::Met, format!("`{name}` is installed"));
    };
    let Some(version) = machine.version_of(name) else {
        let reason =
            format!("`{name}` is installed, but its version is unknown; {} is needed", versions.text);
        return (RequirementStatus::Unknown, reason);
    };
    match versions.check(&version) {
        RequirementStatus::Met => (RequirementStatus::Met, format!("`{name}` is {version}")),
        status => (status, format!("`{name}` is {version}, but {} is needed", versions.text)),
    }
}

/// A version range: `3.11+`, `>=3.10, <3.13`, `2.x`, `18`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Versions {
    /// As the author wrote it.
    text: String,
    range: VersionReq,
    /// The major version of a single version without an operator. A newer major version may or may not work.
    named: Option<u64>,
}

impl Versions {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_matches(['"', '\'']).trim();
        let parts: Option<Vec<String>> = text.split(',').map(comparator).collect();
        let range = VersionReq::parse(&parts?.join(",")).ok()?;
        let is_named = text.starts_with(|c: char| c == 'v' || c.is_ascii_digit()) && !text.ends_with('+');
        let named = range.comparators.first().filter(|_| is_named).map(|comparator| comparator.major);
        Some(Self { text: text.to_owned(), range, named })
    }

    fn check(&self, version: &Version) -> RequirementStatus {
        match self.named {
            Some(major) if version.major > major => RequirementStatus::Unknown,
            _ if self.range.matches(version) => RequirementStatus::Met,
            _ => RequirementStatus::Unmet,
        }
    }
}

/// One part of a range in the syntax of semver. A version alone is a minimum.
fn comparator(part: &str) -> Option<String> {
    let part = part.trim().replace('≥', ">=").replace('≤', "<=");
    let at = part.find(|c: char| !"<>=~^".contains(c))?;
    let (operator, version) = part.split_at(at);
    let version = version.trim().trim_start_matches('v').trim_end_matches('+');
    let version = version.trim_end_matches(".x").trim_end_matches(".*");
    let operator = match operator {
        "" => ">=",
        "==" | "===" => "=",
        "~=" if version.matches('.').count() < 2 => "^",
        "~=" => "~",
        other => other,
    };
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| format!("{operator}{version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_a_range_or_not() {
        use RequirementStatus::{Met, Unknown, Unmet};
        for (range, version, expected) in [
            ("3.11+", "3.11.0", Met),
            ("3.11+", "3.9.18", Unmet),
            ("3.11+", "4.0.0", Met),
            ("v18", "18.2.0", Met),
            ("18", "22.0.0", Unknown),
            ("18", "16.0.0", Unmet),
            ("0.4", "0.5.0", Met),
            ("2.x", "2.50.1", Met),
            (">=3.10", "3.10.1", Met),
            (">= 3.10, < 3.13", "3.13.0", Unmet),
            (">3.10", "3.10.1", Unmet),
            ("<3.13", "3.12.9", Met),
            ("<=3.13", "3.13.9", Met),
            ("==3.12", "3.12.9", Met),
            ("==3.12.*", "3.12.9", Met),
            ("~=3.12", "4.0.0", Unmet),
            ("~=3.12.1", "3.13.0", Unmet),
            ("^18", "18.9.0", Met),
            ("≥18", "18.9.0", Met),
        ] {
            let range = Versions::parse(range).unwrap();
            assert_eq!(range.check(&Version::parse(version).unwrap()), expected, "{range:?} {version}");
        }
        for text in ["", "x", "3.", "1.2.3.4", "3-a", "+", "v", "three", "!=3", ">=", "3.11-3.14"] {
            assert_eq!(Versions::parse(text), None, "{text}");
        }
    }
}
