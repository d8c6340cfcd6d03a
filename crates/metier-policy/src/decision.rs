//! What is decided, and why.

use std::fmt;

use serde::Serialize;

use crate::rule::RuleNote;

/// What happens with a request. Stricter ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It may go on.
    Allow,
    /// A person must say so first.
    Ask,
    /// It must not.
    Deny,
}

impl Verdict {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

macro_rules! codes {
    ($($variant:ident $text:literal $summary:literal;)+) => {
        /// A stable name for why something was decided.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum DecisionCode {
            $(#[doc = $summary] $variant,)+
        }

        impl DecisionCode {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The code as it is printed and documented.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// One line that says what it means.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary,)+ }
            }
        }
    };
}

codes! {
    // Calls to tools
    NoList            "no-list"            "no active skill declares a list";
    RuleMatched       "rule-matched"       "a rule of every active skill's list matches";
    OwnTool           "own-tool"           "one of metier's own tools for skills, which stay available";
    OutsideList       "outside-list"       "no rule of an active skill's list matches";
    EmptyList         "empty-list"         "an active skill's list is empty, so that nothing is allowed";
    NotParsed         "not-parsed"         "the command cannot be read";
    NotJudged         "not-judged"         "the command does something that changes what others mean";
    UnknownProgram    "unknown-program"    "which program runs is not plain from the command";
    UnknownVariable   "unknown-variable"   "the command sets a variable that can change what runs";
    RedirectOutside   "redirect-outside"   "a redirection reads or writes a file that no rule covers";
    CriticalPath      "critical-path"      "the command would destroy a system directory or the home";
    DeniedByRule      "denied-by-rule"     "a rule that denies matches, or could";
    Advisory          "advisory"           "outside the list, which is only recorded in this mode";
    NotPreApproved    "not-pre-approved"   "no rule approves it beforehand, so that a person decides";

    // Skills and scripts
    TierAllows        "tier-allows"        "the skill's tier allows it";
    TierAsks          "tier-asks"          "the skill's tier asks a person first";
    PolicyAllows      "policy-allows"      "a rule of the policy allows it";
    PolicyAsks        "policy-asks"        "a rule of the policy asks a person first";
    PolicyDenies      "policy-denies"      "a rule of the policy denies it";
    DestructiveAsks   "destructive-asks"   "a destructive operation asks, unless the policy names it";
    NetworkAsks       "network-asks"       "a network operation asks, unless the policy names it";
    OrganisationForbids "organisation-forbids" "the organisation's policy forbids it";
    OrganisationAsks  "organisation-asks"  "the organisation's policy asks a person first";
    NotAFile          "not-a-file"         "the path is none that can only mean a file of the skill";
    Approved          "approved"           "a person approved it for this content of the skill";
    Refused           "refused"            "a person refused it for this content of the skill";
    NobodyToAsk       "nobody-to-ask"      "a person would have to be asked, and there is nobody";
}

impl fmt::Display for DecisionCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for DecisionCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A verdict with its reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Decision {
    /// What happens.
    #[serde(rename = "decision")]
    pub verdict: Verdict,
    /// Why, as a stable code.
    pub code: DecisionCode,
    /// Why, for a person.
    pub reason: String,
    /// The rule that decided, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What is the matter with rules that were asked.
    pub warnings: Vec<RuleNote>,
}

impl Decision {
    pub(crate) fn new(verdict: Verdict, code: DecisionCode, reason: impl Into<String>) -> Self {
        Self { verdict, code, reason: reason.into(), rule: None, warnings: Vec::new() }
    }

    pub(crate) fn by_rule(mut self, rule: impl Into<String>) -> Self {
        self.rule = Some(rule.into());
        self
    }

    /// The rule that asked or denied, if it was one.
    pub fn deciding_rule(&self) -> Option<&str> {
        self.rule.as_deref().filter(|_| !self.is_allowed())
    }

    /// Whether it may go on without anybody being asked.
    pub fn is_allowed(&self) -> bool {
        self.verdict == Verdict::Allow
    }
}
