//! One check: its name, how it ended, and what fixes it.

use std::path::Path;

use metier_skill::is_invisible;
use serde::Serialize;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CheckStatus {
    /// Nothing is wrong.
    Ok,
    /// Worth knowing; metier works all the same.
    Notice,
    /// metier refuses to work, or to do a part of it.
    Failed,
}

/// One check of a [`Checkup`](crate::Checkup).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Check {
    /// What was checked, such as `journal`.
    #[serde(rename = "check")]
    pub name: &'static str,
    /// How it ended.
    pub status: CheckStatus,
    /// What was found.
    pub message: String,
    /// The file or directory that it is about.
    #[serde(rename = "where")]
    pub place: Option<String>,
    /// What fixes it, if something is wrong.
    pub fix: Option<String>,
}

impl Check {
    pub(super) fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, status: CheckStatus::Ok, message: message.into(), place: None, fix: None }
    }

    pub(super) fn notice(name: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { status: CheckStatus::Notice, fix: Some(fix.into()), ..Self::ok(name, message) }
    }

    pub(super) fn failed(name: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { status: CheckStatus::Failed, fix: Some(fix.into()), ..Self::ok(name, message) }
    }

    pub(super) fn at(self, place: impl AsRef<Path>) -> Self {
        Self { place: Some(place.as_ref().to_string_lossy().into_owned()), ..self }
    }
}

/// A path as a word of a shell command, on one line and without invisible characters.
pub(super) fn shell_path(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;

    let is_plain = |c: char| c.is_alphanumeric() || "/._-~+:@".contains(c);
    match path.to_str() {
        Some(text) if text.chars().all(is_plain) => text.to_owned(),
        Some(text) if !text.contains(|c: char| is_invisible(c) || matches!(c, '\n' | '\t')) => {
            format!("'{}'", text.replace('\'', "'\\''"))
        }
        _ => escaped(path.as_os_str().as_bytes()),
    }
}

/// Any bytes, as `$'…'`.
fn escaped(bytes: &[u8]) -> String {
    let byte = |byte: u8| match byte {
        b'\n' => r"\n".to_owned(),
        b'\'' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        other => format!("\\x{other:02x}"),
    };
    let text: String = bytes.iter().map(|one| byte(*one)).collect();
    format!("$'{text}'")
}
