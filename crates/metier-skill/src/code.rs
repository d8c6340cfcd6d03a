//! The table of all codes that a diagnostic of a skill can have, one row per code, with the severity in each
//! profile.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Profile, Severity};

/// Severity of a row in one profile: error, warning, off.
const E: Option<Severity> = Some(Severity::Error);
const W: Option<Severity> = Some(Severity::Warning);
const O: Option<Severity> = None;

macro_rules! codes {
    ($($variant:ident $text:literal [$strict:ident $standard:ident $lenient:ident] $summary:literal;)+) => {
        /// The stable code of one kind of finding.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $summary] $variant,)+
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The code as it is printed and documented.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The code with this text, or `None` if it is unknown.
            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// A one-line explanation of the finding.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary,)+ }
            }

            /// The severity in a profile; `None` if the profile does not report this code.
            pub const fn severity(self, profile: Profile) -> Option<Severity> {
                let [strict, standard, lenient] = match self {
                    $(Self::$variant => [$strict, $standard, $lenient],)+
                };
                match profile {
                    Profile::Strict => strict,
                    Profile::Standard => standard,
                    Profile::Lenient => lenient,
                }
            }
        }
    };
}

// Columns: strict, standard, lenient. `strict` gives the verdict of the reference validator. Findings that the
// reference validator accepts are at most warnings there, even if they are errors in `standard`.
codes! {
    // The file
    SkillMdMissing       "skill-md-missing"       [E E E] "the directory has no `SKILL.md`";
    SkillMdNotFile       "skill-md-not-file"      [E E E] "`SKILL.md` is not a regular file";
    SkillMdLink          "skill-md-link"          [E E E] "`SKILL.md` is a symbolic link, which is not followed";
    SkillMdLinkFollowed  "skill-md-link-followed" [W W W] "`SKILL.md` is a symbolic link into the skill";
    SkillMdLowercase     "skill-md-lowercase"     [W W W] "the file is called `skill.md`, not `SKILL.md`";
    SkillMdTooLarge      "skill-md-too-large"     [E E E] "`SKILL.md` is larger than the limit";
    NotMarkdown          "not-markdown"           [E E E] "a single-file skill is not a markdown file";
    NotUtf8              "not-utf8"               [E E E] "the file is not UTF-8";
    Bom                  "bom"                    [W W W] "the file starts with a byte-order mark";

    // The frontmatter as text
    FrontmatterMissing   "frontmatter-missing"    [E E E] "the file does not start with a `---` line";
    FrontmatterUnclosed  "frontmatter-unclosed"   [E E E] "the frontmatter has no closing `---` line";
    FrontmatterEmpty     "frontmatter-empty"      [E E E] "the frontmatter is empty";
    FrontmatterTooLarge  "frontmatter-too-large"  [E E E] "the frontmatter is larger than the limit";
    FrontmatterNotMapping "frontmatter-not-mapping" [E E E] "the frontmatter is not a mapping of `key: value` fields";
    FrontmatterSynthesized "frontmatter-synthesized" [W W W] "there is no frontmatter; name and description were derived from the file";
    ControlCharacter     "control-character"      [E E E] "the frontmatter contains a character that YAML does not allow";
    YamlSyntax           "yaml-syntax"            [E E E] "the frontmatter is not valid YAML";
    YamlUnquotedColon    "yaml-unquoted-colon"    [E E W] "an unquoted value contains `: `";
    YamlDuplicateKey     "yaml-duplicate-key"     [E E E] "a mapping has the same key twice";
    YamlAnchor           "yaml-anchor"            [E E E] "YAML anchors are not allowed";
    YamlAlias            "yaml-alias"             [E E E] "YAML aliases are not allowed";
    YamlTag              "yaml-tag"               [E E E] "YAML tags are not allowed";
    YamlComplexKey       "yaml-complex-key"       [E E E] "a key is a list or a mapping";
    YamlMultipleDocuments "yaml-multiple-documents" [E E E] "the frontmatter contains more than one YAML document";
    YamlTooDeep          "yaml-too-deep"          [E E E] "the frontmatter is nested deeper than the limit";
    YamlTab              "yaml-tab"               [E O O] "a tab is used outside quotes";
    YamlMergeKey         "yaml-merge-key"         [E E E] "the YAML merge key `<<` is not allowed";

    // The fields
    NameMissing          "name-missing"           [E E W] "the required field `name` is missing";
    NameNotString        "name-not-string"        [E E W] "`name` is not a string";
    NameEmpty            "name-empty"             [E E W] "`name` is empty";
    NameBlanks           "name-blanks"            [W E W] "`name` starts or ends with white space";
    NameTooLong          "name-too-long"          [E E W] "`name` is longer than 64 characters";
    NameNotLowercase     "name-not-lowercase"     [E E W] "`name` contains upper-case letters";
    NameEdgeHyphen       "name-edge-hyphen"       [E E W] "`name` starts or ends with a hyphen";
    NameDoubleHyphen     "name-double-hyphen"     [E E W] "`name` has two hyphens in a row";
    NameInvalidCharacter "name-invalid-character" [E E W] "`name` contains a character other than letters, digits and hyphens";
    NameMismatch         "name-mismatch"          [E E W] "`name` differs from the name of the skill's directory";
    DescriptionMissing   "description-missing"    [E E E] "the required field `description` is missing";
    DescriptionNotString "description-not-string" [E E W] "`description` is a number or another scalar that is not a string";
    DescriptionNotText   "description-not-text"   [E E E] "`description` is a list or a mapping";
    DescriptionEmpty     "description-empty"      [E E E] "`description` is empty";
    DescriptionTooLong   "description-too-long"   [E E W] "`description` is longer than 1024 characters";
    DescriptionMarkup    "description-markup"     [W W W] "`description` contains text that looks like an XML tag";
    LicenseNotString     "license-not-string"     [W E W] "`license` is not a string";
    CompatibilityNotString "compatibility-not-string" [W E W] "`compatibility` is a number or another scalar that is not a string";
    CompatibilityNotText "compatibility-not-text" [E E W] "`compatibility` is a list, a mapping or a reserved word";
    CompatibilityEmpty   "compatibility-empty"    [E E W] "`compatibility` is empty";
    CompatibilityTooLong "compatibility-too-long" [E E W] "`compatibility` is longer than 500 characters";
    MetadataShape        "metadata-shape"         [W W W] "`metadata` is not a mapping of strings to strings";
    AllowedToolsType     "allowed-tools-type"     [W E W] "`allowed-tools` is neither a string nor a list of strings";
    AllowedToolsForm     "allowed-tools-form"     [W O O] "`allowed-tools` uses commas or a list; the standard uses spaces";
    AllowedToolsRule     "allowed-tools-rule"     [W W W] "an `allowed-tools` rule has parentheses that cannot match anything";
    FieldNull            "field-null"             [W W W] "an optional field has no value";
    FieldUnknown         "field-unknown"          [E W W] "neither metier nor any known client reads the field";
    FieldClient          "field-client"           [E O O] "the field is read by some clients, but is not part of the standard";
    FieldClientType      "field-client-type"      [W W W] "the value of a client's field has a type that the client does not read";

    // The directory
    SkillTooLarge        "skill-too-large"        [E E E] "the skill's files exceed the size limit";
    TooManyEntries       "too-many-entries"       [E E E] "the skill has more files and directories than the limit";
    TooDeep              "too-deep"               [E E E] "directories are nested deeper than the limit";
    LinkOutside          "link-outside"           [W E W] "a symbolic link points outside the skill";
    LinkSkipped          "link-skipped"           [W W W] "a symbolic link in the skill is not followed";
    FileSkipped          "file-skipped"           [W W W] "an entry of the skill is not a regular file and is skipped";
    Unreadable           "unreadable"             [W W W] "a file or directory of the skill cannot be read";

    // Advice
    BodyEmpty            "body-empty"             [W W W] "there are no instructions after the frontmatter";
    BodyLong             "body-long"              [W W W] "the body is longer than 500 lines or about 5,000 tokens";
    BodyPlaceholder      "body-placeholder"       [W W W] "the body still contains a line from the template, which starts with `TODO:`";
    DescriptionPlaceholder "description-placeholder" [W W W] "`description` is still template text, which starts with `TODO:`";
    DescriptionNoTrigger "description-no-trigger" [W W W] "`description` does not say when to use the skill";
    ReferenceMissing     "reference-missing"      [W W W] "the body refers to a file that does not exist";
    ResourceUnnamed      "resource-unnamed"       [W W W] "`SKILL.md` does not refer to this file";
    ScriptNoShebang      "script-no-shebang"      [W W W] "a script does not start with `#!`";
    ScriptNotExecutable  "script-not-executable"  [W W W] "a script is not executable";
    ResourceNested       "resource-nested"        [W W W] "files are more than one directory below the skill";
    SkillNested          "skill-nested"           [W W W] "the skill is in a group directory";

    // Problems with rules for tools, which the policy parses and reports
    RuleNeverMatches     "rule-never-matches"     [W W W] "a rule for tools can never match";
    RuleRewritten        "rule-rewritten"         [W W W] "a rule for tools is interpreted as a different one, which some clients do not do";
    RuleBroad            "rule-broad"             [W W W] "a rule for tools allows more than it seems to";
}

impl Code {
    /// Whether the code is about text of a template that the author has not replaced.
    pub const fn is_placeholder(self) -> bool {
        matches!(self, Self::BodyPlaceholder | Self::DescriptionPlaceholder)
    }

    /// Whether the code is about a rule for tools. Only the policy reports these codes.
    pub const fn is_about_tool_rule(self) -> bool {
        matches!(self, Self::RuleNeverMatches | Self::RuleRewritten | Self::RuleBroad)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// As its text, which stays the same in every version.
impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(CodeText)
    }
}

struct CodeText;

impl Visitor<'_> for CodeText {
    type Value = Code;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the code of a finding")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Code, E> {
        Code::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_its_text() {
        for code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(*code));
            let json = serde_json::to_string(code).unwrap();
            assert_eq!(json, format!("\"{code}\""));
            assert_eq!(serde_json::from_str::<Code>(&json).unwrap(), *code);
        }
        assert!(serde_json::from_str::<Code>("\"no-such-code\"").is_err());
    }
}
