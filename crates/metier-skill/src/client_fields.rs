//! A table of frontmatter fields that are not in the standard: which clients read each field, and its type.

use crate::value::{Data, ScalarKind, Value};

/// A field that some clients read.
#[derive(Debug)]
pub(crate) struct ClientField {
    pub(crate) name: &'static str,
    /// The clients that read it, as in "read by …".
    pub(crate) clients: &'static str,
    pub(crate) kind: FieldKind,
}

/// The type that a client expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Bool,
    /// Any scalar: clients take numbers and versions as text.
    Text,
    /// A string, or a list of strings.
    Texts,
    Any,
}

const fn field(name: &'static str, kind: FieldKind, clients: &'static str) -> ClientField {
    ClientField { name, clients, kind }
}

/// The table, in alphabetical order.
pub(crate) const CLIENT_FIELDS: &[ClientField] = &[
    field("agent", FieldKind::Text, "Claude Code"),
    field("argument-hint", FieldKind::Any, "Claude Code, VS Code and Copilot CLI"),
    field("arguments", FieldKind::Texts, "Claude Code"),
    field("background", FieldKind::Bool, "Claude Code"),
    field("context", FieldKind::Text, "Claude Code and VS Code"),
    field("default-enabled", FieldKind::Any, "Claude Code"),
    field("disable-model-invocation", FieldKind::Bool, "Claude Code, VS Code, Copilot CLI, Zed and metier"),
    field("disallowed-tools", FieldKind::Texts, "Claude Code and metier"),
    field("display-name", FieldKind::Text, "Claude Code"),
    field("effort", FieldKind::Text, "Claude Code"),
    field("fallback", FieldKind::Any, "Claude Code"),
    field("hooks", FieldKind::Any, "Claude Code"),
    field("model", FieldKind::Text, "Claude Code"),
    field("paths", FieldKind::Texts, "Claude Code"),
    field("shell", FieldKind::Text, "Claude Code"),
    field("slash", FieldKind::Bool, "OpenCode"),
    field("user-invocable", FieldKind::Bool, "Claude Code, VS Code and metier"),
    field("user-invokable", FieldKind::Bool, "older VS Code"),
    field("version", FieldKind::Text, "marketplaces and metier"),
    field("when_to_use", FieldKind::Text, "Claude Code"),
];

/// The row of a field, or `None` if no known client reads it.
pub(crate) fn find(name: &str) -> Option<&'static ClientField> {
    CLIENT_FIELDS.binary_search_by(|field| field.name.cmp(name)).ok().map(|index| &CLIENT_FIELDS[index])
}

impl FieldKind {
    /// Whether a value has this type. Null always fits: it means "absent".
    pub(crate) fn fits(self, value: &Value) -> bool {
        let is_text = |value: &Value| value.as_scalar().is_some();
        match self {
            _ if value.is_null() => true,
            Self::Any => true,
            Self::Bool => value.as_scalar().is_some_and(|scalar| scalar.kind() == ScalarKind::Bool),
            Self::Text => is_text(value),
            Self::Texts => match &value.data {
                Data::List(items) => items.iter().all(is_text),
                _ => is_text(value),
            },
        }
    }

    /// The expected type as part of a message.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Bool => "`true` or `false`",
            Self::Text => "text",
            Self::Texts => "text or a list of texts",
            Self::Any => "anything",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_for_the_search() {
        assert!(CLIENT_FIELDS.is_sorted_by(|a, b| a.name < b.name));
        assert!(CLIENT_FIELDS.iter().all(|field| find(field.name).is_some()));
    }
}
