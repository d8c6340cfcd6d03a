//! The policy settings of a user or an organisation. This module does not read files.

use globset::{GlobBuilder, GlobMatcher};
use metier_skill::{Digest, Tier, is_invisible};
use serde::Deserialize;

use crate::decision::Verdict;
use crate::error::PolicyError;
use crate::guard::GuardMode;
use crate::request::{Access, Action, Request};

/// The `[policy]` table of `metier.toml`, or an organisation's entire `policy.toml`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PolicySettings {
    /// How `allowed-tools` is enforced.
    pub mode: Option<GuardMode>,
    /// Tool calls to deny, whatever skills declare; same syntax as `allowed-tools`.
    pub deny: Vec<String>,
    /// Tools that can be called only while a skill that declares them in `allowed-tools` is active; same syntax.
    pub only_through_skills: Vec<String>,
    /// What skills may do.
    pub rules: Vec<PolicyRule>,
}

/// A rule for the skills that match all of its conditions.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PolicyRule {
    /// A name for the rule, shown in its decisions.
    pub name: Option<String>,
    /// A text shown when the rule denies or requires approval, for example whom to ask.
    pub message: Option<String>,
    /// Skills of this tier.
    pub tier: Option<Tier>,
    /// Skills whose name matches a glob.
    pub skill: Option<String>,
    /// Files whose path in the skill matches a glob: the script to run, or the file to read.
    pub script: Option<String>,
    /// MCP servers whose name in the settings matches a glob. Only for rules about `tools`.
    pub server: Option<String>,
    /// Tools whose name at the server matches a glob. Only for rules about `tools`.
    pub tool: Option<String>,
    /// The skill with exactly this content, or the tool with exactly this definition.
    pub digest: Option<Digest>,
    /// Whether the skill may be loaded.
    pub activate: Option<Verdict>,
    /// Whether its files may be read.
    pub resources: Option<Verdict>,
    /// Whether its scripts may run.
    pub scripts: Option<Verdict>,
    /// Whether they may reach the network.
    pub network: Option<Verdict>,
    /// Whether they may perform destructive operations.
    pub destructive: Option<Verdict>,
    /// Whether the tools of MCP servers may be called.
    pub tools: Option<Verdict>,
}

/// The maximum length of a name and a message; both appear on one line of a decision.
const NAME_MOST: usize = 80;
const MESSAGE_MOST: usize = 400;

impl PolicyRule {
    /// The rule in a message, by its name if it has one: ``rule `no-network` ``, `rule 2`.
    pub(crate) fn label(&self, number: usize) -> String {
        self.name.as_ref().map_or_else(|| format!("rule {number}"), |name| format!("rule `{name}`"))
    }

    /// Whether its texts are short and on one line.
    fn has_short_texts(&self) -> bool {
        let fits = |text: &Option<String>, most: usize| {
            text.as_ref().is_none_or(|text| {
                !text.trim().is_empty()
                    && text.chars().count() <= most
                    && !text.contains(is_invisible)
                    && !text.contains(['\n', '\t'])
            })
        };
        fits(&self.name, NAME_MOST) && fits(&self.message, MESSAGE_MOST)
    }

    /// The verdict of the rule for one kind of access.
    pub fn verdict(&self, access: Access) -> Option<Verdict> {
        match access {
            Access::Activate => self.activate,
            Access::Resources => self.resources,
            Access::Scripts => self.scripts,
            Access::Network => self.network,
            Access::Destructive => self.destructive,
            Access::Tools => self.tools,
        }
    }

    /// Whether it mixes skills and tools: conditions for one with a verdict about the other, which would never apply.
    fn is_mixed(&self) -> bool {
        let is_about_skills =
            Access::ALL.iter().any(|access| *access != Access::Tools && self.verdict(*access).is_some());
        let names_skills = self.tier.is_some() || self.skill.is_some() || self.script.is_some();
        let names_tools = self.server.is_some() || self.tool.is_some();
        (self.tools.is_some() && names_skills) || (is_about_skills && names_tools)
    }
}

/// A rule with its patterns parsed.
#[derive(Debug, Clone)]
pub(crate) struct ReadyRule {
    pub(crate) rule: PolicyRule,
    skill: Option<GlobMatcher>,
    script: Option<GlobMatcher>,
    server: Option<GlobMatcher>,
    tool: Option<GlobMatcher>,
    /// Where it comes from, for reasons.
    pub(crate) place: String,
}

/// Parses rules, and rejects those that would silently have no effect.
pub(crate) fn ready(source: &str, rules: &[PolicyRule]) -> Result<Vec<ReadyRule>, PolicyError> {
    let glob = |pattern: &Option<String>| match pattern {
        None => Ok(None),
        Some(pattern) => {
            let glob = GlobBuilder::new(pattern).literal_separator(true).build();
            glob.map(|glob| Some(glob.compile_matcher())).map_err(|error| PolicyError::Pattern {
                source_name: source.to_owned(),
                pattern: pattern.clone(),
                source: error,
            })
        }
    };
    let each = rules.iter().enumerate().map(|(index, rule)| {
        if Access::ALL.iter().all(|access| rule.verdict(*access).is_none()) {
            return Err(PolicyError::EmptyRule { source_name: source.to_owned(), number: index + 1 });
        }
        if rule.script.is_some() && rule.activate.is_some() {
            return Err(PolicyError::ScriptToActivate { source_name: source.to_owned(), number: index + 1 });
        }
        if rule.is_mixed() {
            return Err(PolicyError::MixedRule { source_name: source.to_owned(), number: index + 1 });
        }
        if !rule.has_short_texts() {
            return Err(PolicyError::RuleText { source_name: source.to_owned(), number: index + 1 });
        }
        let place = format!("{source}, {}", rule.label(index + 1));
        Ok(ReadyRule {
            skill: glob(&rule.skill)?,
            script: glob(&rule.script)?,
            server: glob(&rule.server)?,
            tool: glob(&rule.tool)?,
            rule: rule.clone(),
            place,
        })
    });
    each.collect()
}

impl ReadyRule {
    /// The verdict of the rule for a request, if it matches.
    pub(crate) fn applies(&self, request: &Request<'_>, access: Access) -> Option<Verdict> {
        let verdict = self.rule.verdict(access)?;
        if let Action::Call { server, tool, .. } = request.action {
            let fits = |glob: &Option<GlobMatcher>, name: &str| {
                glob.as_ref().is_none_or(|glob| {
                    glob.is_match(name) || (verdict == Verdict::Deny && glob.is_match(name.to_lowercase()))
                })
            };
            let is_same = self.rule.digest.is_none_or(|digest| digest == request.digest);
            return (is_same && fits(&self.server, server) && fits(&self.tool, tool)).then_some(verdict);
        }
        // A denying rule matches however the path is written.
        let matches = |glob: &GlobMatcher| {
            let path = request.file().ok().flatten();
            path.is_some_and(|path| {
                glob.is_match(&path) || (verdict == Verdict::Deny && glob.is_match(path.to_lowercase()))
            })
        };
        let fits = self.rule.tier.is_none_or(|tier| tier == request.tier)
            && self.rule.digest.is_none_or(|digest| digest == request.digest)
            && self.skill.as_ref().is_none_or(|glob| glob.is_match(request.skill))
            && self.script.as_ref().is_none_or(matches);
        fits.then_some(verdict)
    }
}
