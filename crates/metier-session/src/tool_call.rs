//! Decides whether a tool may be called while skills are active.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::{fs, io};

use metier_journal::Event;
use metier_policy::{Anchors, Decision, DecisionCode, ToolCall, Verdict};
use metier_prompt::SessionView;
use metier_sandbox::leads_to;
use metier_skill::Digest;

use crate::error::SessionError;
use crate::session::{Session, recorded_rule, shortened};

/// The maximum length of a tool's name that is recorded as it is.
const LONGEST_TOOL: usize = 200;

impl Session {
    /// Decides about a tool call, by the rules of the active skills and the policy. Links in its paths are resolved on
    /// this machine. The decision is recorded.
    pub fn check_tool_call(
        &mut self,
        tool: &str,
        arguments: &serde_json::Value,
    ) -> Result<Decision, SessionError> {
        let decision = self.decide_tool_call(tool, arguments);
        self.record_tool_call(tool, arguments, &decision)?;
        Ok(decision)
    }

    /// Decides about a call of an agent's own tool for which the agent asks permission. A deny rule denies it, a matching
    /// allow rule allows it, and everything else is up to `ask`: `Ok` allows, `Err` refuses with a reason, `None` means
    /// that no person can be asked, which denies. The result is recorded.
    pub fn permit_tool_call(
        &mut self,
        tool: &str,
        arguments: &serde_json::Value,
        ask: impl FnOnce(&Decision) -> Option<Result<(), String>>,
    ) -> Result<Decision, SessionError> {
        let mut decision = self.decide_tool_call(tool, arguments);
        let is_settled = decision.verdict == Verdict::Deny
            || matches!(decision.code, DecisionCode::RuleMatched | DecisionCode::OwnTool);
        if !is_settled {
            let (verdict, code, reason) = match ask(&decision) {
                Some(Ok(())) => (Verdict::Allow, DecisionCode::Approved, "approved".to_owned()),
                Some(Err(reason)) => (Verdict::Deny, DecisionCode::Refused, reason),
                None => {
                    let reason = "approval is needed, and no person can be asked".to_owned();
                    (Verdict::Deny, DecisionCode::NobodyToAsk, reason)
                }
            };
            (decision.verdict, decision.code, decision.reason) = (verdict, code, reason);
        }
        self.record_tool_call(tool, arguments, &decision)?;
        Ok(decision)
    }

    pub(crate) fn decide_tool_call(&mut self, tool: &str, arguments: &serde_json::Value) -> Decision {
        let call = follow_links(ToolCall::new(tool, arguments.clone()), &self.options.places);
        let guard = self.guard.take().unwrap_or_else(|| {
            let active = self.active().map(|held| held.as_active(&self.options.places));
            self.options.policy.guard(active.collect(), &self.options.places)
        });
        let decision = guard.decide(&call);
        self.guard = Some(guard);
        decision
    }

    fn record_tool_call(
        &mut self,
        tool: &str,
        arguments: &serde_json::Value,
        decision: &Decision,
    ) -> Result<(), SessionError> {
        let skills = self.active_digests();
        self.record_decision(tool, &arguments.to_string(), decision, skills)
    }

    /// Calls a tool if that is allowed; a denied call never reaches it. A call that needs approval is denied here;
    /// asking is up to the host.
    pub fn call_tool<T>(
        &mut self,
        tool: &str,
        arguments: &serde_json::Value,
        execute: impl FnOnce(&SessionView) -> T,
    ) -> Result<T, SessionError> {
        let decision = self.check_tool_call(tool, arguments)?;
        if decision.is_allowed() {
            return Ok(execute(&self.view()));
        }
        Err(SessionError::Denied { decision: Box::new(decision) })
    }

    /// The active skills with the digests of their trees, as records name them.
    pub(crate) fn active_digests(&self) -> BTreeMap<String, Digest> {
        self.active().map(|held| (held.name.clone(), held.tree_digest)).collect()
    }

    /// Records a decision about a call, with the skills involved.
    pub(crate) fn record_decision(
        &mut self,
        tool: &str,
        arguments: &str,
        decision: &Decision,
        skills: BTreeMap<String, Digest>,
    ) -> Result<(), SessionError> {
        self.record(&Event::SkillToolCallDecided {
            tool: recorded_tool(tool),
            arguments: self.options.privacy.content(arguments.as_bytes()),
            decision: decision.verdict.as_str().to_owned(),
            code: decision.code.as_str().to_owned(),
            rule: decision.deciding_rule().map(recorded_rule),
            skills,
        })
    }
}

/// The name of a tool as it is recorded. A long name ends with the beginning of its digest, so that two never become
/// one.
fn recorded_tool(tool: &str) -> String {
    if tool.chars().count() <= LONGEST_TOOL {
        return tool.to_owned();
    }
    format!("{}…{}", shortened(tool), &Digest::of(tool.as_bytes()).hex()[..16])
}

/// The call with the link targets on this machine.
pub fn follow_links(call: ToolCall, places: &Anchors) -> ToolCall {
    let texts: Vec<String> = call.paths().iter().map(|path| (*path).to_owned()).collect();
    let call = texts.iter().fold(call, |call, text| {
        let path = match text.strip_prefix("~/") {
            Some(below) => places.home.join(below),
            None => places.cwd.join(text),
        };
        match leads_to(&path) {
            Some(real) if real == places.absolute(text) => call,
            Some(real) => call.leading_to(real),
            None => call.leading_anywhere(),
        }
    });
    // A redirection opens a file like an editor does, and a directory can be a link too.
    call.shell_paths(places).into_iter().fold(call, |call, path| match leads_to(&path) {
        Some(real) if real == path => call,
        None if is_out_of_reach(&path) => call,
        real => call.following(path, real),
    })
}

/// Whether a path is, by its name and not through a link, in a directory that this user may not enter. Commands of the
/// same user cannot open anything there, and many such texts are not paths: `host:/srv/x`.
fn is_out_of_reach(path: &Path) -> bool {
    let is_denied = |path: &Path| {
        fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    };
    let climbs = path.components().any(|part| part == Component::ParentDir);
    let entered = path.ancestors().find(|above| !is_denied(above));
    is_denied(path) && !climbs && entered.is_some_and(|above| leads_to(above).as_deref() == Some(above))
}
