//! The result of a policy check, with its reason.

use std::fmt;

use serde::Serialize;

use crate::rule::RuleNote;

/// The result for a request. Stricter values compare greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The request may proceed.
    Allow,
    /// The request needs approval.
    Ask,
    /// The request is denied.
    Deny,
}

impl Verdict {
    /// The value's name.
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
        /// A stable name for the reason of a decision.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum DecisionCode {
            $(#[doc = $summary] $variant,)+
        }

        impl DecisionCode {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The code as printed and documented.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// What the code means, in one line.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary,)+ }
            }
        }
    };
}

codes! {
    // Calls to tools
    NoList            "no-list"            "no active skill declares `allowed-tools`";
    RuleMatched       "rule-matched"       "every active skill's `allowed-tools` has a matching rule";
    OwnTool           "own-tool"           "one of metier's own skill tools, which are always available";
    OutsideList       "outside-list"       "no rule of an active skill's `allowed-tools` matches";
    EmptyList         "empty-list"         "an active skill's `allowed-tools` is empty, so nothing is allowed";
    NotParsed         "not-parsed"         "the command could not be parsed";
    NotJudged         "not-judged"         "the command uses something that changes the meaning of other commands";
    UnknownProgram    "unknown-program"    "the command does not show plainly which program runs";
    UnknownVariable   "unknown-variable"   "the command sets a variable that can change what runs";
    RedirectOutside   "redirect-outside"   "a redirection reads or writes a file that no rule covers";
    CriticalPath      "critical-path"      "the command would destroy a system directory or the home directory";
    DeniedByRule      "denied-by-rule"     "a deny rule matches, or may match";
    Advisory          "advisory"           "not covered by `allowed-tools`; in this mode it is only recorded";
    NotPreApproved    "not-pre-approved"   "not pre-approved by any rule, so it needs approval";
    OnlyThroughSkills "only-through-skills" "the policy allows the tool only while an active skill declares it";
    ToolAllowed       "tool-allowed"       "no rule is about the tool of an MCP server, so it can be called";
    ToolChanged       "tool-changed"       "an MCP server changed the tool's definition after it was first seen, so it needs approval again";

    // Skills and scripts
    TierAllows        "tier-allows"        "the skill's tier allows it";
    TierAsks          "tier-asks"          "the skill's tier requires approval";
    PolicyAllows      "policy-allows"      "a policy rule allows it";
    PolicyAsks        "policy-asks"        "a policy rule requires approval";
    PolicyDenies      "policy-denies"      "a policy rule denies it";
    DestructiveAsks   "destructive-asks"   "a destructive operation needs approval, unless a policy rule covers it";
    NetworkAsks       "network-asks"       "a network operation needs approval, unless a policy rule covers it";
    OrganisationForbids "organisation-forbids" "the organisation's policy forbids it";
    OrganisationAsks  "organisation-asks"  "the organisation's policy requires approval";
    NotAFile          "not-a-file"         "the path does not unambiguously name a file in the skill";
    Approved          "approved"           "approved for this content of the skill";
    Refused           "refused"            "refused for this content of the skill";
    NobodyToAsk       "nobody-to-ask"      "approval is needed, but there is no terminal or client to ask";
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
    /// The verdict.
    #[serde(rename = "decision")]
    pub verdict: Verdict,
    /// The reason as a stable code.
    pub code: DecisionCode,
    /// The reason as text.
    pub reason: String,
    /// The rule that decided, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Problems of the rules that were checked.
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

    /// The rule that required approval or denied, if any.
    pub fn deciding_rule(&self) -> Option<&str> {
        self.rule.as_deref().filter(|_| !self.is_allowed())
    }

    /// Whether the request may proceed without approval.
    pub fn is_allowed(&self) -> bool {
        self.verdict == Verdict::Allow
    }
}
