//! Finds mistakes in a policy file, and rules that do less than they seem to. All findings are reported at once.

use metier_skill::{Code, Tier, ToolRules};
use serde::Serialize;

use crate::decision::Verdict;
use crate::denylist::Denylist;
use crate::paths::Anchors;
use crate::request::Access;
use crate::settings::{PolicyRule, PolicySettings, ready};

/// A finding about a policy file: see [`PolicySettings::lint`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PolicyFinding {
    /// The rule: its number and name, or the text of a deny rule.
    pub rule: String,
    /// Whether it makes the policy unusable.
    pub is_error: bool,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl PolicySettings {
    /// All mistakes in these settings, and every rule that decides less than it seems to, because the last matching
    /// rule wins. For an organisation's file, use [`PolicySettings::lint_organisation`].
    ///
    /// ```
    /// let settings: metier_policy::PolicySettings = serde_json::from_str(
    ///     r#"{ "rules": [{ "skill": "pdf", "scripts": "allow" }, { "name": "no scripts", "scripts": "deny" }] }"#,
    /// )?;
    /// let found = settings.lint();
    /// assert_eq!(found[0].rule, "rule 1");
    /// assert!(found[0].message.contains("has no effect"), "{found:?}");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn lint(&self) -> Vec<PolicyFinding> {
        self.findings(|own, other| (other > own).then_some("comes later and matches the same skills"))
    }

    /// The same for an organisation's file, where the strictest matching rule wins.
    pub fn lint_organisation(&self) -> Vec<PolicyFinding> {
        self.findings(|own, other| {
            let (Some(rule), Some(later)) = (self.rules.get(own), self.rules.get(other)) else { return None };
            let is_stricter = |access: &Access| later.verdict(*access) > rule.verdict(*access);
            let is_same = |access: &Access| later.verdict(*access) == rule.verdict(*access);
            let mut decided = Access::ALL.iter().filter(|access| rule.verdict(**access).is_some());
            decided
                .all(|access| is_stricter(access) || (other < own && is_same(access)))
                .then_some("matches the same skills and is as strict")
        })
    }

    /// All findings. `wins` returns why the second rule decides instead of the first.
    fn findings(&self, wins: impl Fn(usize, usize) -> Option<&'static str>) -> Vec<PolicyFinding> {
        let mut findings = Vec::new();
        for (index, rule) in self.rules.iter().enumerate() {
            let mut report = |is_error: bool, message: String| {
                findings.push(PolicyFinding { rule: rule.label(index + 1), is_error, message });
            };
            if let Err(error) = ready("", std::slice::from_ref(rule)) {
                // The rule is already named in its own field.
                let text = error.to_string();
                let text = text.trim_start_matches(": ").replacen("rule 1 ", "", 1);
                report(true, text);
            }
            let others = self.rules.iter().enumerate().filter(|(other, _)| *other != index);
            let mut others = others.filter(|(_, other)| rule.is_covered_by(other));
            if let Some((why, other)) =
                others.find_map(|(place, other)| Some((wins(index, place)?, other.label(place + 1))))
            {
                report(false, format!("has no effect: {other} {why}"));
            }
            if rule.wants_digest() {
                report(
                    false,
                    "does not allow scripts of third-party skills without a `digest`; they still need approval"
                        .to_owned(),
                );
            }
            let is_twice = |other: &PolicyRule| other.name.is_some() && other.name == rule.name;
            if self.rules.iter().take(index).any(is_twice) {
                report(false, "another rule has the same name".to_owned());
            }
        }
        for (name, rules) in [("deny", &self.deny), ("only_through_skills", &self.only_through_skills)] {
            let notes = Denylist::new(&ToolRules::from_rules(rules), &Anchors::new("/", "/"));
            findings.extend(notes.notes().iter().map(|note| PolicyFinding {
                rule: format!("{name} `{}`", note.rule),
                is_error: note.code == Code::RuleNeverMatches,
                message: note.message.clone(),
            }));
        }
        findings
    }
}

impl PolicyRule {
    /// Whether another rule matches whenever this one does, and decides everything that this one decides.
    fn is_covered_by(&self, later: &Self) -> bool {
        fn covers<T: PartialEq>(later: Option<&T>, own: Option<&T>) -> bool {
            later.is_none_or(|later| own == Some(later))
        }
        covers(later.tier.as_ref(), self.tier.as_ref())
            && covers(later.skill.as_ref(), self.skill.as_ref())
            && covers(later.script.as_ref(), self.script.as_ref())
            && covers(later.server.as_ref(), self.server.as_ref())
            && covers(later.tool.as_ref(), self.tool.as_ref())
            && covers(later.digest.as_ref(), self.digest.as_ref())
            && Access::ALL.iter().any(|access| self.verdict(*access).is_some())
            && Access::ALL
                .iter()
                .all(|access| self.verdict(*access).is_none() || later.verdict(*access).is_some())
    }

    /// Whether it would allow access that is only allowed for content with a known digest.
    fn wants_digest(&self) -> bool {
        let acts = [self.scripts, self.network, self.destructive];
        self.tier == Some(Tier::ThirdParty) && self.digest.is_none() && acts.contains(&Some(Verdict::Allow))
    }
}
