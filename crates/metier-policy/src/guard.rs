//! Decides which tools may be called while skills are active.

use metier_skill::Tier;
use serde::{Deserialize, Serialize};

use crate::allowlist::{self, Allowlist, AllowlistMiss, destroys};
use crate::call::ToolCall;
use crate::critical;
use crate::decision::{Decision, DecisionCode, Verdict};
use crate::denylist::Denylist;
use crate::paths::Anchors;
use crate::rule::RuleNote;
use crate::tools::{self, Kind};

/// How `allowed-tools` is enforced. Stricter modes compare greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GuardMode {
    /// Calls outside the list are recorded only.
    Advisory,
    /// Calls on the list need no approval; other calls do.
    PreApprove,
    /// Calls outside the list are denied.
    #[default]
    Allowlist,
}

impl GuardMode {
    /// Every mode, the most permissive first.
    pub const ALL: [Self; 3] = [Self::Advisory, Self::PreApprove, Self::Allowlist];

    /// The mode's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Advisory => "advisory",
            Self::PreApprove => "pre_approve",
            Self::Allowlist => "allowlist",
        }
    }
}

impl std::fmt::Display for GuardMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// An active skill and its tool rules.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GuardedSkill {
    /// Its name, for reasons.
    pub name: String,
    /// Its tier.
    pub tier: Tier,
    /// Its allow rules (`allowed-tools`); `None` restricts nothing.
    pub allowed: Option<Allowlist>,
    /// Its deny rules (`disallowed-tools`).
    pub denied: Option<Denylist>,
}

impl GuardedSkill {
    /// A skill without tool rules.
    pub fn new(name: impl Into<String>, tier: Tier) -> Self {
        Self { name: name.into(), tier, allowed: None, denied: None }
    }

    /// Adds allow rules.
    #[must_use]
    pub fn allowing(mut self, list: Allowlist) -> Self {
        self.allowed = Some(list);
        self
    }

    /// Adds deny rules.
    #[must_use]
    pub fn denying(mut self, list: Denylist) -> Self {
        self.denied = Some(list);
        self
    }
}

/// Deny rules that apply whatever skills declare.
#[derive(Debug, Clone)]
pub(crate) struct Prohibition {
    pub(crate) list: Denylist,
    /// Where the rules come from, for reasons.
    pub(crate) source: String,
    pub(crate) is_organisation: bool,
}

/// Decides about tool calls while skills are active.
///
/// ```
/// use metier_policy::{GuardedSkill, Allowlist, ToolCall, Anchors, Policy, Verdict};
/// use metier_skill::{ToolRules, Tier};
///
/// let places = Anchors::new("/repo", "/me");
/// let list = Allowlist::new(&ToolRules::split("Bash(git log *)"), &places);
/// let active = vec![GuardedSkill::new("history", Tier::User).allowing(list)];
/// let guard = Policy::default().guard(active, &places);
/// assert_eq!(guard.decide(&ToolCall::new("Bash", "git log")).verdict, Verdict::Allow);
/// assert_eq!(guard.decide(&ToolCall::new("Bash", "git push")).verdict, Verdict::Deny);
/// ```
#[derive(Debug, Clone)]
pub struct Guard {
    mode: GuardMode,
    skills: Vec<GuardedSkill>,
    prohibitions: Vec<Prohibition>,
    /// Tools that may be called only while a skill that declares them is active.
    reserved: Vec<Prohibition>,
    /// Where calls are made, if known.
    places: Option<Anchors>,
}

impl Guard {
    /// A guard without deny rules of its own, not even the organisation's. Hosts should use
    /// [`Policy::guard`](crate::Policy::guard), which includes them.
    pub fn new(mode: GuardMode, skills: Vec<GuardedSkill>) -> Self {
        Self { mode, skills, prohibitions: Vec::new(), reserved: Vec::new(), places: None }
    }

    pub(crate) fn with_prohibitions(
        mut self,
        prohibitions: Vec<Prohibition>,
        reserved: Vec<Prohibition>,
        places: &Anchors,
    ) -> Self {
        (self.prohibitions, self.reserved, self.places) = (prohibitions, reserved, Some(places.clone()));
        self
    }

    /// Adds deny rules and their source.
    #[must_use]
    pub fn denying(mut self, source: impl Into<String>, list: Denylist) -> Self {
        self.prohibitions.push(Prohibition { list, source: source.into(), is_organisation: false });
        self
    }

    /// Decides about one call.
    pub fn decide(&self, call: &ToolCall) -> Decision {
        let mut decision = self.denied(call).unwrap_or_else(|| self.listed(call));
        decision.warnings = self.warnings();
        decision
    }

    /// The deny rule that matches; the organisation's rules come first.
    fn denied(&self, call: &ToolCall) -> Option<Decision> {
        for Prohibition { list, source, is_organisation } in &self.prohibitions {
            if let Some(found) = list.find_reason(call) {
                let code = if *is_organisation {
                    DecisionCode::OrganisationForbids
                } else {
                    DecisionCode::DeniedByRule
                };
                return Some(denied_by(found, source, code));
            }
        }
        let by_skill = self.skills.iter().find_map(|skill| {
            let found = skill.denied.as_ref()?.find_reason(call)?;
            Some(denied_by(found, &format!("`{}`", skill.name), DecisionCode::DeniedByRule))
        });
        by_skill.or_else(|| self.reserved(call))
    }

    /// The rule that reserves a tool for skills, unless an active skill declares the call. Skills of third parties
    /// cannot open what is reserved.
    fn reserved(&self, call: &ToolCall) -> Option<Decision> {
        let found = |one: &Prohibition| {
            let (rule, _) = one.list.find_reason(call)?;
            Some((rule.to_owned(), one.source.clone()))
        };
        let (rule, source) = self.reserved.iter().find_map(found)?;
        let declares = |skill: &GuardedSkill| {
            skill.tier != Tier::ThirdParty
                && skill.allowed.as_ref().is_some_and(|list| list.find(call).is_ok())
        };
        if self.skills.iter().any(declares) {
            return None;
        }
        let reason = format!(
            "{source}: `{rule}` can be called only while an active skill declares it in `allowed-tools`; load such a skill first"
        );
        Some(Decision::new(Verdict::Deny, DecisionCode::OnlyThroughSkills, reason).by_rule(rule))
    }

    /// Checks a call against the lists of all active skills: it must be on each of them.
    fn listed(&self, call: &ToolCall) -> Decision {
        if tools::is_own_tool(call.tool()) {
            let reason = "metier's own skill tools are always available";
            return Decision::new(Verdict::Allow, DecisionCode::OwnTool, reason);
        }
        let mut matched = None;
        for skill in &self.skills {
            let Some(list) = &skill.allowed else { continue };
            match list.find(call) {
                Ok(rule) => {
                    if self.mode == GuardMode::PreApprove && skill.tier == Tier::ThirdParty {
                        let reason = format!(
                            "`{}` is a third-party skill and cannot pre-approve anything",
                            skill.name
                        );
                        return Decision::new(Verdict::Ask, DecisionCode::NotPreApproved, reason)
                            .by_rule(rule);
                    }
                    matched.get_or_insert(rule);
                }
                Err(outside) => return self.outside(skill, list, &outside),
            }
        }
        match (matched, self.mode) {
            (Some(rule), _) => {
                Decision::new(Verdict::Allow, DecisionCode::RuleMatched, format!("`{rule}` allows it"))
                    .by_rule(rule)
            }
            // Calls that were not pre-approved need approval, as they would without skills.
            (None, GuardMode::PreApprove) => Decision::new(
                Verdict::Ask,
                DecisionCode::NotPreApproved,
                "no active skill declares `allowed-tools`",
            ),
            (None, mode) => match self.destroyed(call).filter(|_| mode == GuardMode::Allowlist) {
                Some(outside) => Decision::new(Verdict::Deny, outside.code, outside.reason),
                None => Decision::new(
                    Verdict::Allow,
                    DecisionCode::NoList,
                    "no active skill declares `allowed-tools`",
                ),
            },
        }
    }

    /// What a command would destroy that no rule can allow, if its paths are known.
    fn destroyed(&self, call: &ToolCall) -> Option<AllowlistMiss> {
        let places = self.places.as_ref().filter(|_| call.kind() == Kind::Shell)?;
        allowlist::destroyed(call, places)
            .filter(|what| what != critical::UNKNOWN)
            .map(|what| destroys(&what))
    }

    fn outside(&self, skill: &GuardedSkill, list: &Allowlist, outside: &AllowlistMiss) -> Decision {
        let reason = format!("`{}`: {}", skill.name, outside.reason);
        match self.mode {
            GuardMode::Allowlist if list.is_empty() => {
                let reason = format!("`{}` declares empty `allowed-tools`, which allows nothing", skill.name);
                Decision::new(Verdict::Deny, DecisionCode::EmptyList, reason)
            }
            GuardMode::Allowlist => Decision::new(Verdict::Deny, outside.code, reason),
            GuardMode::PreApprove => Decision::new(Verdict::Ask, DecisionCode::NotPreApproved, reason),
            GuardMode::Advisory => Decision::new(Verdict::Allow, DecisionCode::Advisory, reason),
        }
    }

    fn warnings(&self) -> Vec<RuleNote> {
        let allowed =
            self.skills.iter().filter_map(|skill| skill.allowed.as_ref()).flat_map(Allowlist::warnings);
        let denied = self.skills.iter().filter_map(|skill| skill.denied.as_ref());
        let general = self.prohibitions.iter().chain(&self.reserved);
        let denied = denied.chain(general.map(|prohibition| &prohibition.list));
        allowed.chain(denied.flat_map(Denylist::warnings)).cloned().collect()
    }
}

fn denied_by((rule, is_riddle): (&str, bool), source: &str, code: DecisionCode) -> Decision {
    let reason = if is_riddle {
        format!("{source}: the command could not be parsed, so deny rule `{rule}` is assumed to match")
    } else {
        format!("{source}: blocked by deny rule `{rule}`")
    };
    Decision::new(Verdict::Deny, code, reason).by_rule(rule)
}
