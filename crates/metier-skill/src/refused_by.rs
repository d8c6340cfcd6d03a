//! Which other clients reject a skill because of a finding. Clients that are not listed may reject it too.

use crate::{Code, Profile, Severity};

/// The reference validator. The strict profile gives its verdict.
const REFERENCE: &str = "skills-ref";

impl Code {
    /// The known clients that do not load a skill with this finding, with the reference validator
    /// (`skills-ref`) last. Empty if no client is known to reject it.
    ///
    /// ```
    /// use metier_skill::Code;
    ///
    /// assert_eq!(Code::NameNotLowercase.refused_by(), ["Zed", "skills-ref"]);
    /// assert!(Code::BodyLong.refused_by().is_empty());
    /// ```
    pub fn refused_by(self) -> Vec<&'static str> {
        let clients: &[&str] = match self {
            Self::NameNotLowercase | Self::NameInvalidCharacter => &["Zed"],
            Self::NameTooLong => &["Codex", "Zed"],
            Self::NameMissing | Self::NameEmpty => &["Gemini CLI", "Goose", "OpenCode", "Zed"],
            Self::NameNotString | Self::DescriptionNotString => &["Codex", "Goose", "OpenCode", "Zed"],
            Self::YamlUnquotedColon => &["Goose", "Zed"],
            Self::YamlSyntax | Self::ControlCharacter | Self::DescriptionMissing | Self::DescriptionEmpty => {
                &["Codex", "Goose", "Zed"]
            }
            Self::DescriptionNotText
            | Self::FrontmatterMissing
            | Self::FrontmatterUnclosed
            | Self::FrontmatterEmpty
            | Self::FrontmatterNotMapping => &["Codex", "Gemini CLI", "Goose", "OpenCode", "Zed"],
            _ => &[],
        };
        let reference = (self.severity(Profile::Strict) == Some(Severity::Error)).then_some(REFERENCE);
        clients.iter().copied().chain(reference).collect()
    }
}
