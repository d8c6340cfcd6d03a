//! The policy: tiers, settings of users and organisations, and their precedence.

use metier_skill::{Code, Tier, ToolRules};

use crate::approval::{Answer, Approval, Approvals, Approver, Lifetime, Question, plain};
use crate::decision::{Decision, DecisionCode, Verdict};
use crate::denylist::Denylist;
use crate::error::PolicyError;
use crate::guard::{Guard, GuardMode, GuardedSkill, Prohibition};
use crate::paths::Anchors;
use crate::request::{Access, Action, Request, ToolConcern};
use crate::settings::{PolicySettings, ReadyRule, ready};

/// The policy in force.
///
/// Later layers win over earlier ones, and within a layer the last matching rule wins. The organisation's file is the
/// lowest layer and also a minimum for all others: what it denies stays denied, and what it requires approval for
/// always does.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    organisation: Layer,
    layers: Vec<Layer>,
}

/// The result of a request: the decision, and the changes to the stored answers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settlement {
    /// The decision.
    pub decision: Decision,
    /// Answers that were given just now.
    pub answered: Vec<Approval>,
    /// Those of them that are to be stored.
    pub recorded: Vec<Approval>,
    /// Stored answers that were valid once and are now used up.
    pub used: Vec<Approval>,
}

#[derive(Debug, Clone, Default)]
struct Layer {
    source: String,
    mode: Option<GuardMode>,
    rules: Vec<ReadyRule>,
    deny: ToolRules,
    only_through_skills: ToolRules,
}

impl Layer {
    fn new(source: &str, settings: &PolicySettings) -> Result<Self, PolicyError> {
        let deny = ToolRules::from_rules(&settings.deny);
        let only_through_skills = ToolRules::from_rules(&settings.only_through_skills);
        for rules in [&deny, &only_through_skills] {
            // The actual directories do not affect whether rules can match.
            let notes = Denylist::new(rules, &Anchors::new("/", "/")).notes().to_vec();
            if let Some(note) = notes.into_iter().find(|note| note.code == Code::RuleNeverMatches) {
                let source_name = source.to_owned();
                return Err(PolicyError::DenyRule { source_name, rule: note.rule, message: note.message });
            }
        }
        Ok(Self {
            source: source.to_owned(),
            mode: settings.mode,
            rules: ready(source, &settings.rules)?,
            deny,
            only_through_skills,
        })
    }
}

impl Policy {
    /// A policy from an organisation's settings and other settings, each with the name of its file. Later ones win.
    pub fn new(
        organisation: Option<(&str, &PolicySettings)>,
        others: &[(&str, &PolicySettings)],
    ) -> Result<Self, PolicyError> {
        let organisation = match organisation {
            Some((source, settings)) => Layer::new(source, settings)?,
            None => Layer::default(),
        };
        let layers = others.iter().map(|(source, settings)| Layer::new(source, settings));
        Ok(Self { organisation, layers: layers.collect::<Result<_, _>>()? })
    }

    /// The guard mode: the last one set, but never more permissive than the organisation's.
    pub fn mode(&self) -> GuardMode {
        let said = self.layers.iter().rev().find_map(|layer| layer.mode);
        let floor = self.organisation.mode;
        said.or(floor).unwrap_or_default().max(floor.unwrap_or(GuardMode::Advisory))
    }

    /// A guard for tool calls, with the deny rules of all layers.
    pub fn guard(&self, skills: Vec<GuardedSkill>, places: &Anchors) -> Guard {
        let layers =
            [(&self.organisation, true)].into_iter().chain(self.layers.iter().map(|layer| (layer, false)));
        let (mut prohibitions, mut reserved) = (Vec::new(), Vec::new());
        // `~` is the account's home directory, whatever a variable says.
        let other = places.account.clone().map(|home| Anchors { home, ..places.clone() });
        let places_of_rules: Vec<Anchors> = [Some(places.clone()), other].into_iter().flatten().collect();
        for (layer, is_organisation) in layers {
            let lists = |rules: &ToolRules| -> Vec<Prohibition> {
                let places = places_of_rules.iter().filter(|_| !rules.is_empty());
                let list = places.map(|places| Denylist::new(rules, places));
                list.map(|list| Prohibition { list, source: layer.source.clone(), is_organisation }).collect()
            };
            prohibitions.extend(lists(&layer.deny));
            reserved.extend(lists(&layer.only_through_skills));
        }
        Guard::new(self.mode(), skills).with_prohibitions(prohibitions, reserved, places)
    }

    /// Decides about a request without asking for approval.
    pub fn decide(&self, request: &Request<'_>) -> Decision {
        if let Action::Call { .. } = request.action {
            return self.decide_access(request, Access::Tools);
        }
        let activate = request.to_activate();
        let gate = self.decide_access(&activate, Access::Activate);
        gated(request, gate, |access| self.decide_access(request, access))
    }

    /// Decides about a request by the settings and stored answers, without asking and without using up answers.
    pub fn recall(&self, request: &Request<'_>, session: Option<&str>, approvals: &Approvals) -> Decision {
        if let Action::Call { .. } = request.action {
            return self.recall_access(request, Access::Tools, session, approvals);
        }
        let activate = request.to_activate();
        let gate = self.recall_access(&activate, Access::Activate, session, approvals);
        gated(request, gate, |access| self.recall_access(request, access, session, approvals))
    }

    /// The kinds of access that still need approval; empty if the request is denied anyway.
    pub fn open(&self, request: &Request<'_>, session: Option<&str>, approvals: &Approvals) -> Vec<Access> {
        if self.recall(request, session, approvals).verdict == Verdict::Deny {
            return Vec::new();
        }
        let is_open = |access: &Access| {
            self.recall_access(request, *access, session, approvals).verdict == Verdict::Ask
        };
        request.accesses().filter(is_open).collect()
    }

    /// Decides about a request, asks for approval if needed, and stores the answers. If approval cannot
    /// be requested, the request is denied.
    ///
    /// The decision is [`Verdict::Ask`] only if the approver answers [`Answer::Later`].
    pub fn settle(
        &self,
        request: &Request<'_>,
        session: Option<&str>,
        approvals: &mut Approvals,
        approver: &mut dyn Approver,
    ) -> Settlement {
        let (mut answered, mut recorded) = (Vec::new(), Vec::new());
        for access in self.open(request, session, approvals) {
            let open = self.decide_access(request, access);
            let approval = match ask(request, access, &open.reason, approver) {
                Asked::Answered(approval) => *approval,
                // Answers that were given before this question are given again when the request is repeated.
                Asked::Later => {
                    let (answered, recorded, used) = (Vec::new(), Vec::new(), Vec::new());
                    return Settlement { decision: open, answered, recorded, used };
                }
                Asked::Nobody => {
                    let reason = format!("{}, but there is no terminal or client to ask", open.reason);
                    return Settlement { decision: nobody(reason), answered, recorded, used: Vec::new() };
                }
            };
            answered.push(approval.clone());
            let is_granted = approval.granted;
            // One-time answers are not stored.
            if approval.lifetime != Lifetime::Once {
                approvals.record(approval.clone());
                recorded.push(approval);
            }
            if !is_granted {
                break;
            }
        }
        let mut known = approvals.clone();
        for answer in &answered {
            // The answer is valid now, whatever its lifetime.
            known.record(Approval { lifetime: Lifetime::Once, ..answer.clone() });
        }
        let mut decision = self.recall(request, session, &known);
        if decision.verdict == Verdict::Ask {
            decision = nobody(format!("{}, but there is no terminal or client to ask", decision.reason));
        }
        let used = self.spend(request, session, approvals, decision.verdict);
        Settlement { decision, answered, recorded, used }
    }

    /// Removes one-time answers that this request used.
    fn spend(
        &self,
        request: &Request<'_>,
        session: Option<&str>,
        approvals: &mut Approvals,
        verdict: Verdict,
    ) -> Vec<Approval> {
        if verdict != Verdict::Allow {
            return Vec::new();
        }
        let asks = |access: &Access| self.decide_access(request, *access).verdict == Verdict::Ask;
        let found =
            request.accesses().filter(asks).filter_map(|access| approvals.find(request, access, session));
        let used: Vec<Approval> =
            found.filter(|approval| approval.lifetime == Lifetime::Once).cloned().collect();
        for approval in &used {
            approvals.use_up(approval);
        }
        used
    }

    fn recall_access(
        &self,
        request: &Request<'_>,
        access: Access,
        session: Option<&str>,
        approvals: &Approvals,
    ) -> Decision {
        let decision = self.decide_access(request, access);
        match (decision.verdict, approvals.find(request, access, session)) {
            (Verdict::Deny, _) | (_, None) => decision,
            // A refusal applies even if the tier would allow the request.
            (_, Some(approval)) if !approval.granted => answered(request, approval),
            (Verdict::Allow, Some(_)) => decision,
            (Verdict::Ask, Some(approval)) => answered(request, approval),
        }
    }

    /// Decides about one kind of access of a request.
    pub fn decide_access(&self, request: &Request<'_>, access: Access) -> Decision {
        if request.file().is_err() {
            let reason = format!("the path does not name a file of `{}`", request.skill);
            return Decision::new(Verdict::Deny, DecisionCode::NotAFile, reason);
        }
        let lower = self.decide_below(request, access);
        match self.organisation_says(request, access) {
            Some(floor) if floor.verdict >= lower.verdict && floor.verdict != Verdict::Allow => floor,
            _ => lower,
        }
    }

    /// The most that the organisation's file allows: the strictest of its matching rules.
    fn organisation_says(&self, request: &Request<'_>, access: Access) -> Option<Decision> {
        let rules = self.organisation.rules.iter();
        let fitting = rules.filter_map(|rule| Some((rule.applies(request, access)?, rule)));
        let (verdict, rule) = fitting.reduce(|worst, next| if next.0 > worst.0 { next } else { worst })?;
        let code = match verdict {
            Verdict::Deny => DecisionCode::OrganisationForbids,
            Verdict::Ask => DecisionCode::OrganisationAsks,
            Verdict::Allow => DecisionCode::PolicyAllows,
        };
        Some(by_rule(verdict, code, request, access, rule))
    }

    /// The decision by tier, organisation and the layers above it.
    fn decide_below(&self, request: &Request<'_>, access: Access) -> Decision {
        let layers = self.layers.iter().rev().chain([&self.organisation]);
        let mut rules = layers.flat_map(|layer| layer.rules.iter().rev());
        let found = rules.find_map(|rule| Some((rule.applies(request, access)?, rule)));
        let Some((verdict, rule)) = found else { return by_default(request, access) };
        // Third-party code is trusted only for content with a known digest.
        let unseen = rule.rule.digest.is_none() && request.tier == Tier::ThirdParty;
        if verdict == Verdict::Allow && unseen && !matches!(access, Access::Activate | Access::Resources) {
            let reason = format!(
                "`{}` is a third-party skill, so {} allows it only with its `digest`; until then it needs approval",
                request.skill, rule.place
            );
            return Decision::new(Verdict::Ask, DecisionCode::PolicyAsks, reason).by_rule(&rule.place);
        }
        // A rule was written for the tool as it was then, unless it names the definition.
        let is_changed = matches!(request.action, Action::Call { concern: Some(ToolConcern::Changed), .. });
        if verdict == Verdict::Allow && is_changed && rule.rule.digest.is_none() {
            return by_default(request, access);
        }
        let code = match verdict {
            Verdict::Allow => DecisionCode::PolicyAllows,
            Verdict::Ask => DecisionCode::PolicyAsks,
            Verdict::Deny => DecisionCode::PolicyDenies,
        };
        by_rule(verdict, code, request, access, rule)
    }
}

/// The strictest decision about all kinds of access; the first one if several are equal. A skill that must not be
/// loaded must not do anything else either.
fn gated(request: &Request<'_>, gate: Decision, decide: impl Fn(Access) -> Decision) -> Decision {
    if gate.verdict == Verdict::Deny && request.access() != Access::Activate {
        return gate;
    }
    let first = decide(request.access());
    let others = request.accesses().skip(1).map(decide);
    others.fold(first, |worst, next| if next.verdict > worst.verdict { next } else { worst })
}

fn nobody(reason: String) -> Decision {
    Decision::new(Verdict::Deny, DecisionCode::NobodyToAsk, reason)
}

fn by_rule(
    verdict: Verdict,
    code: DecisionCode,
    request: &Request<'_>,
    access: Access,
    rule: &ReadyRule,
) -> Decision {
    let says = match verdict {
        Verdict::Allow => "allows",
        Verdict::Ask => "requires approval for",
        Verdict::Deny => "does not allow",
    };
    let message = rule.rule.message.as_ref().filter(|_| verdict != Verdict::Allow);
    let message = message.map(|message| format!(": {message}")).unwrap_or_default();
    let reason = match request.tool() {
        Some(tool) => {
            let says = says.trim_end_matches(" for");
            format!("{} {says} {}{message}", rule.place, calls_of(tool, request.skill))
        }
        None => format!("{} {says} `{}` to {}{message}", rule.place, request.skill, access.verb()),
    };
    Decision::new(verdict, code, reason).by_rule(&rule.place)
}

/// The decision that a stored answer leads to.
fn answered(request: &Request<'_>, approval: &Approval) -> Decision {
    match approval.refusal() {
        Some(refusal) => Decision::new(Verdict::Deny, DecisionCode::Refused, refusal),
        None => {
            let reason = match request.tool() {
                Some(tool) => format!("approved: {}", calls_of(tool, request.skill)),
                None => format!("approved: `{}` may {}", request.skill, approval.verb()),
            };
            Decision::new(Verdict::Allow, DecisionCode::Approved, reason)
        }
    }
}

/// Calls of a tool, in reasons.
fn calls_of(tool: &str, server: &str) -> String {
    format!("calls of the tool `{}` of the MCP server `{}`", plain(tool), plain(server))
}

/// The decision if no rule matches.
fn by_default(request: &Request<'_>, access: Access) -> Decision {
    let Action::Call { server, tool, concern } = request.action else { return by_tier(request, access) };
    let calls = calls_of(tool, server);
    match concern {
        None => {
            let reason = format!("no rule is about {calls}");
            Decision::new(Verdict::Allow, DecisionCode::ToolAllowed, reason)
        }
        Some(ToolConcern::NotPreApproved) => {
            let reason = format!("{calls} are not pre-approved by any active skill");
            Decision::new(Verdict::Ask, DecisionCode::NotPreApproved, reason)
        }
        Some(ToolConcern::Changed) => {
            let reason = format!(
                "{calls} need approval again, since the server changed the tool's definition after it was first seen"
            );
            Decision::new(Verdict::Ask, DecisionCode::ToolChanged, reason)
        }
    }
}

/// The default by tier, if no rule matches.
fn by_tier(request: &Request<'_>, access: Access) -> Decision {
    let Request { tier, skill, .. } = request;
    let (verdict, code) = match (access, tier) {
        (Access::Activate | Access::Resources, _) | (Access::Scripts, Tier::Builtin | Tier::Org) => {
            (Verdict::Allow, DecisionCode::TierAllows)
        }
        (Access::Scripts, Tier::User | Tier::ThirdParty) => (Verdict::Ask, DecisionCode::TierAsks),
        (Access::Network, _) => (Verdict::Ask, DecisionCode::NetworkAsks),
        (Access::Destructive, _) => (Verdict::Ask, DecisionCode::DestructiveAsks),
        // Only requests to call a tool have this access, and they are decided above.
        (Access::Tools, _) => (Verdict::Ask, DecisionCode::ToolChanged),
    };
    let reason = match verdict {
        Verdict::Allow => format!("`{skill}` (tier `{tier}`) may {} by default", access.verb()),
        _ => format!("`{skill}` (tier `{tier}`) needs approval to {}", access.verb()),
    };
    Decision::new(verdict, code, reason)
}

enum Asked {
    Answered(Box<Approval>),
    Nobody,
    Later,
}

fn ask(request: &Request<'_>, access: Access, reason: &str, approver: &mut dyn Approver) -> Asked {
    let question = Question { request, access, reason };
    let (granted, lifetime) = match approver.ask(&question) {
        Answer::Approve(lifetime) => (true, lifetime),
        Answer::Refuse(lifetime) => (false, lifetime),
        Answer::Nobody => return Asked::Nobody,
        Answer::Later => return Asked::Later,
    };
    let how = Some(approver.how().to_owned());
    Asked::Answered(Box::new(Approval { how, ..Approval::answer(&question, granted, lifetime) }))
}
