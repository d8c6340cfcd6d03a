//! Whether a skill is enabled: layers of ordered rules, and the four states that they set.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

use crate::{CatalogError, Tier};

/// How far a skill is enabled for models and users. Later values allow less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Listed with its description.
    #[default]
    On,
    /// Listed without its description.
    NameOnly,
    /// Hidden from models; users can activate it.
    UserOnly,
    /// Disabled.
    Off,
}

impl State {
    /// All states, the most permissive first.
    pub const ALL: [Self; 4] = [Self::On, Self::NameOnly, Self::UserOnly, Self::Off];

    /// The state's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::NameOnly => "name-only",
            Self::UserOnly => "user-only",
            Self::Off => "off",
        }
    }

    /// Whether models see the skill.
    pub const fn is_for_models(self) -> bool {
        matches!(self, Self::On | Self::NameOnly)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for State {
    type Err = CatalogError;

    fn from_str(text: &str) -> Result<Self, CatalogError> {
        let same = |state: &Self| state.as_str() == text;
        Self::ALL.into_iter().find(same).ok_or_else(|| CatalogError::UnknownState { text: text.to_owned() })
    }
}

/// One rule. It sets the state of all skills that match every pattern it has.
#[derive(Debug, Clone)]
pub struct StateRule {
    name: Option<GlobMatcher>,
    tier: Option<Tier>,
    path: Option<GlobMatcher>,
    state: State,
}

impl StateRule {
    /// A rule with patterns for names, tiers and directories. At least one is required. A directory pattern
    /// matches the path as it was found or the target of a link.
    pub fn new(
        name: Option<&str>,
        tier: Option<Tier>,
        path: Option<&str>,
        state: State,
    ) -> Result<Self, CatalogError> {
        if name.is_none() && tier.is_none() && path.is_none() {
            return Err(CatalogError::EmptyRule { state: state.to_string() });
        }
        Ok(Self { name: name.map(glob).transpose()?, tier, path: path.map(glob).transpose()?, state })
    }

    /// Whether the rule matches a skill of this name and tier at one of these paths. [`StateRules::state`]
    /// decides between rules; this method tells which rule it was.
    pub fn matches(&self, name: &str, tier: Tier, paths: &[&Path]) -> bool {
        self.name.as_ref().is_none_or(|glob| glob.is_match(name))
            && self.tier.is_none_or(|wanted| wanted == tier)
            && self.path.as_ref().is_none_or(|glob| paths.iter().any(|path| glob.is_match(path)))
    }
}

/// A pattern in which `*` does not match `/`, but `**` does.
fn glob(pattern: &str) -> Result<GlobMatcher, CatalogError> {
    match GlobBuilder::new(pattern).literal_separator(true).build() {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(source) => Err(CatalogError::Pattern { pattern: pattern.to_owned(), source }),
    }
}

/// Layers of rules: a file, the command line, a session.
///
/// Within a layer the last matching rule decides, so `off` for everything followed by `on` for some is an
/// allowlist. Between layers the most restrictive state wins: no layer can enable what another disabled.
#[derive(Debug, Clone, Default)]
pub struct StateRules(Vec<Vec<StateRule>>);

impl StateRules {
    /// Adds a layer.
    #[must_use]
    pub fn layer(mut self, rules: Vec<StateRule>) -> Self {
        self.0.push(rules);
        self
    }

    /// The state of a skill at these paths, given the state that its author asks for.
    pub fn state(&self, name: &str, tier: Tier, paths: &[&Path], own: State) -> State {
        let of_layer = |rules: &Vec<StateRule>| {
            rules.iter().rev().find(|rule| rule.matches(name, tier, paths)).map(|rule| rule.state)
        };
        self.0.iter().filter_map(of_layer).fold(own, Ord::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(name: &str, state: State) -> StateRule {
        StateRule::new(Some(name), None, None, state).unwrap()
    }

    #[test]
    fn the_last_rule_of_a_layer_decides_and_the_strictest_layer_wins() {
        let list = StateRules::default().layer(vec![rule("*", State::Off), rule("pdf-*", State::On)]);
        let state = |rules: &StateRules, name| rules.state(name, Tier::User, &[Path::new("/s/x")], State::On);
        assert_eq!(state(&list, "pdf-forms"), State::On);
        assert_eq!(state(&list, "docx"), State::Off);
        let more = list.clone().layer(vec![rule("docx", State::On), rule("pdf-forms", State::NameOnly)]);
        assert_eq!(state(&more, "docx"), State::Off, "a later layer cannot turn on");
        assert_eq!(state(&more, "pdf-forms"), State::NameOnly);
    }

    #[test]
    fn a_rule_matches_all_that_it_names() {
        let rule =
            StateRule::new(Some("a*"), Some(Tier::ThirdParty), Some("/skills/**"), State::Off).unwrap();
        assert!(rule.matches("ab", Tier::ThirdParty, &[Path::new("/skills/x/ab")]));
        assert!(!rule.matches("ba", Tier::ThirdParty, &[Path::new("/skills/x/ab")]));
        assert!(!rule.matches("ab", Tier::User, &[Path::new("/skills/x/ab")]));
        assert!(!rule.matches("ab", Tier::ThirdParty, &[Path::new("/other/ab")]));
        assert!(StateRule::new(None, None, None, State::Off).is_err());
        assert!(StateRule::new(Some("[a"), None, None, State::Off).is_err());
    }

    #[test]
    fn the_author_s_wish_is_the_least() {
        let rules = StateRules::default().layer(vec![rule("x", State::On)]);
        assert_eq!(rules.state("x", Tier::User, &[Path::new("/x")], State::UserOnly), State::UserOnly);
    }
}
