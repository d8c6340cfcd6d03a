//! The rules for the fields of the frontmatter, one function per field.

use std::collections::HashMap;

use crate::client_fields;
use crate::diagnostic::Findings;
use crate::name::{self, NameError, SkillName};
use crate::tool_rules::ToolRules;
use crate::value::{Data, Field, Scalar, ScalarKind, Value};
use crate::yaml::repair::quote;
use crate::{Body, Code, Edit, Fix, Origin, Rules, Skill, Span};

/// The maximum number of characters in a description.
pub const DESCRIPTION_MAX: usize = 1024;

/// The fields of the standard.
pub(crate) const STANDARD_FIELDS: [&str; 6] =
    ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

/// Checks a frontmatter against the rules. Returns a skill if it has a name and a description, even invalid
/// ones.
pub(crate) fn check(
    frontmatter: &Value,
    origin: Origin<'_>,
    rules: &Rules,
    findings: &mut Findings<'_>,
) -> Option<Skill> {
    let entries = frontmatter.as_map()?;
    let mut fields = Fields { entries, origin, rules, findings };
    fields.others();
    let name = fields.name();
    let description = fields.description();
    let license = fields.license();
    let compatibility = fields.compatibility();
    let metadata = fields.metadata();
    let allowed_tools = fields.allowed_tools();
    let others = entries.iter().filter(|entry| !STANDARD_FIELDS.contains(&entry.key.text()));
    let others = others.cloned().collect();
    let (name, id) = name;
    Some(Skill {
        id,
        name,
        description: description?,
        license,
        compatibility,
        metadata,
        allowed_tools,
        fields: others,
        body: Body::default(),
    })
}

struct Fields<'a, 'f, 'r> {
    entries: &'a [Field],
    origin: Origin<'a>,
    rules: &'a Rules,
    findings: &'f mut Findings<'r>,
}

impl<'a> Fields<'a, '_, '_> {
    fn find(&self, key: &str) -> Option<&'a Field> {
        self.entries.iter().find(|entry| entry.key.text() == key)
    }

    /// Finds an optional field that has a value. A field without a value counts as absent.
    fn find_present(&mut self, key: &str) -> Option<&'a Field> {
        let entry = self.find(key)?;
        if !entry.value.is_null() {
            return Some(entry);
        }
        let message = match key {
            "allowed-tools" => {
                "`allowed-tools` has no value and is ignored; write `[]` to allow no tools".to_owned()
            }
            _ => format!("`{key}` has no value and is ignored; add a value or remove the field"),
        };
        self.findings.report(Code::FieldNull, entry.key_span, message);
        None
    }

    /// The start of the frontmatter, where missing fields are reported.
    fn start(&self) -> Span {
        self.entries.first().map_or(Span::default(), |entry| Span::at(entry.key_span.start))
    }

    fn name(&mut self) -> (String, SkillName) {
        let fallback = self.origin.directory.or(self.origin.stem()).unwrap_or("skill");
        let named = |name: &str, fields: &Self| (name.to_owned(), fields.id(name, fallback));
        let Some(entry) = self.find("name") else {
            let example = SkillName::slug(fallback);
            let example = example.as_ref().map_or("my-skill", SkillName::as_str);
            let message = format!("missing required field: `name`; add `name: {example}`");
            self.findings.report(Code::NameMissing, self.start(), message);
            return named(fallback, self);
        };
        let span = value_span(entry);
        let Some(scalar) = entry.value.as_scalar() else {
            let message = format!("`name` must be a string, not {}", entry.value.noun());
            self.findings.report(Code::NameNotString, span, message);
            return named(fallback, self);
        };
        if is_nothing(scalar) {
            self.findings.report(
                Code::NameEmpty,
                span,
                "`name` cannot be empty; use the name of the skill's directory",
            );
            return named(fallback, self);
        }
        if scalar.kind() != ScalarKind::String {
            self.report_not_string(Code::NameNotString, "name", entry, scalar);
        }
        self.name_rule(scalar.text(), span);
        named(scalar.text().trim(), self)
    }

    /// The name under which the skill is known: `name` if it is valid, otherwise the nearest valid name.
    fn id(&self, name: &str, fallback: &str) -> SkillName {
        let exact =
            if self.rules.unicode_names { SkillName::new_unicode(name) } else { SkillName::new(name) };
        // A name in another script may leave nothing to keep, and so may the directory's name.
        let nearest = || SkillName::slug(name).or_else(|| SkillName::slug(fallback));
        exact.ok().or_else(nearest).unwrap_or_else(|| SkillName::numbered(name))
    }

    fn name_rule(&mut self, text: &str, span: Span) {
        let shown = name::normalize(text.trim());
        let unicode = self.rules.unicode_names;
        let checked = if unicode { name::normalize(text) } else { text.to_owned() };
        let fix = self.name_fix(text, span);
        for error in name::check(&checked, unicode) {
            let (code, message) = match error {
                NameError::Empty => (Code::NameEmpty, "`name` cannot be empty".to_owned()),
                NameError::Blanks => {
                    let message = "`name` starts or ends with white space; remove it".to_owned();
                    (Code::NameBlanks, message)
                }
                NameError::TooLong(length) => {
                    let message =
                        format!("`name` exceeds {} characters ({length}); shorten it", name::NAME_MAX);
                    (Code::NameTooLong, message)
                }
                NameError::NotLowercase => {
                    (Code::NameNotLowercase, format!("the name `{}` must be lower case", shortened(&shown)))
                }
                NameError::EdgeHyphen => {
                    (Code::NameEdgeHyphen, "`name` cannot start or end with a hyphen".to_owned())
                }
                NameError::DoubleHyphen => {
                    (Code::NameDoubleHyphen, "`name` cannot have two hyphens in a row".to_owned())
                }
                NameError::InvalidCharacter(other) => {
                    let kind = if unicode { "letters" } else { "letters a to z" };
                    let message = format!(
                        "`name` contains `{}`; only lower-case {kind}, digits and hyphens are allowed",
                        other.escape_debug()
                    );
                    (Code::NameInvalidCharacter, message)
                }
            };
            self.findings.report_with_fix(code, span, message, fix.clone());
        }
        let Some(directory) = self.origin.directory else {
            return;
        };
        if name::normalize(directory) != shown {
            let message = format!(
                "the name `{}` must match the directory's name `{}`; rename one of them",
                shortened(&shown),
                directory.escape_debug()
            );
            self.findings.report_with_fix(Code::NameMismatch, span, message, fix);
        }
    }

    /// Suggests a valid name: the directory's, or for a single file the nearest valid one. A valid name that
    /// differs from the directory's gets no fix, because either of the two may be right.
    fn name_fix(&self, text: &str, span: Span) -> Option<Fix> {
        if SkillName::new(text).is_ok() {
            return None;
        }
        let right = match self.origin.directory {
            Some(directory) => SkillName::new(directory).ok()?,
            None => SkillName::slug(text).filter(|_| text.chars().count() <= name::NAME_MAX)?,
        };
        (right.as_str() != text).then(|| {
            let written = match ScalarKind::of_plain(right.as_str()) {
                ScalarKind::String => right.to_string(),
                _ => quote(right.as_str()),
            };
            Fix::replace(format!("change the name to `{right}`"), span, written)
        })
    }

    fn description(&mut self) -> Option<String> {
        let Some(entry) = self.find("description") else {
            let message = "missing required field: `description`; say what the skill does and when to use it";
            self.findings.report(Code::DescriptionMissing, self.start(), message);
            return None;
        };
        let span = value_span(entry);
        let Some(scalar) = entry.value.as_scalar() else {
            let message = format!("`description` must be a string, not {}; quote it", entry.value.noun());
            self.findings.report(Code::DescriptionNotText, span, message);
            return None;
        };
        let text = scalar.text().trim();
        if is_nothing(scalar) {
            let message = "`description` cannot be empty; say what the skill does and when to use it";
            self.findings.report(Code::DescriptionEmpty, span, message);
            return None;
        }
        if scalar.kind() != ScalarKind::String {
            self.report_not_string(Code::DescriptionNotString, "description", entry, scalar);
        }
        let length = text.chars().count();
        if length > DESCRIPTION_MAX {
            let message = format!(
                "`description` exceeds {DESCRIPTION_MAX} characters ({length}); older Codex skips the skill, newer \
                 Codex and VS Code truncate it. Move details into the body"
            );
            self.findings.report(Code::DescriptionTooLong, span, message);
        }
        if let Some(tag) = find_tag(text) {
            let message = format!(
                "`{}` looks like an XML tag, which some agents reject or treat as markup; describe it in words",
                tag.escape_debug()
            );
            self.findings.report(Code::DescriptionMarkup, span, message);
        }
        Some(text.to_owned())
    }

    fn license(&mut self) -> Option<String> {
        let entry = self.find_present("license")?;
        match entry.value.as_scalar() {
            Some(scalar) if scalar.kind() == ScalarKind::String => {}
            Some(scalar) => {
                self.report_not_string(Code::LicenseNotString, "license", entry, scalar);
            }
            None => {
                let message = format!("`license` must be a string, not {}", entry.value.noun());
                self.findings.report(Code::LicenseNotString, value_span(entry), message);
            }
        }
        Some(entry.value.to_string())
    }

    fn compatibility(&mut self) -> Option<String> {
        let entry = self.find_present("compatibility")?;
        let span = value_span(entry);
        let Some(scalar) = entry.value.as_scalar().filter(|scalar| scalar.kind() != ScalarKind::Reserved)
        else {
            let message = format!("`compatibility` must be a string, not {}", entry.value.noun());
            self.findings.report(Code::CompatibilityNotText, span, message);
            return Some(entry.value.to_string());
        };
        if scalar.kind() != ScalarKind::String {
            self.report_not_string(Code::CompatibilityNotString, "compatibility", entry, scalar);
        }
        let text = scalar.text();
        let (length, most) = (text.chars().count(), self.rules.limits.compatibility_chars);
        if text.trim().is_empty() {
            let message = "`compatibility` cannot be empty; say what the skill needs, or remove the field";
            self.findings.report(Code::CompatibilityEmpty, span, message);
            return None;
        }
        if length > most {
            let message = format!("`compatibility` exceeds {most} characters ({length}); shorten it");
            self.findings.report(Code::CompatibilityTooLong, span, message);
        }
        Some(text.to_owned())
    }

    fn metadata(&mut self) -> Option<Value> {
        let entry = self.find_present("metadata")?;
        let Data::Map(entries) = &entry.value.data else {
            let message =
                format!("`metadata` must be a mapping of strings to strings, not {}", entry.value.noun());
            self.findings.report(Code::MetadataShape, value_span(entry), message);
            return Some(entry.value.clone());
        };
        for field in entries {
            self.metadata_field(field);
        }
        Some(entry.value.clone())
    }

    fn metadata_field(&mut self, field: &Field) {
        let key = field.key.text().escape_debug();
        if field.key.kind() != ScalarKind::String {
            let message = format!(
                "keys of `metadata` must be strings, but `{key}` is {}; quote it",
                field.key.kind().noun()
            );
            let fix = quote_fix(&field.key, field.key_span);
            self.findings.report_with_fix(Code::MetadataShape, field.key_span, message, fix);
        }
        let (noun, fix) = match field.value.as_scalar() {
            Some(scalar) if scalar.kind() == ScalarKind::String => return,
            Some(scalar) => (scalar.kind().noun(), quote_fix(scalar, value_span(field))),
            None => (field.value.noun(), None),
        };
        let advice =
            if fix.is_some() { "quote it" } else { "clients that follow the standard may ignore it" };
        let message = format!("values of `metadata` must be strings, but `{key}` is {noun}; {advice}");
        self.findings.report_with_fix(Code::MetadataShape, value_span(field), message, fix);
    }

    fn allowed_tools(&mut self) -> Option<ToolRules> {
        let entry = self.find_present("allowed-tools")?;
        let span = value_span(entry);
        let (tools, plain_form) = match &entry.value.data {
            Data::Scalar(scalar) if scalar.kind() == ScalarKind::String => {
                let tools = ToolRules::split(scalar.text());
                let blanks_only =
                    tools.rules().iter().map(String::as_str).eq(scalar.text().split_whitespace());
                let commas = !blanks_only && scalar.text().contains(',');
                (tools, !commas)
            }
            Data::List(items) if items.iter().all(|item| item.as_str().is_some()) => {
                (ToolRules::from_rules(items.iter().filter_map(Value::as_str)), false)
            }
            _ => {
                let message = "`allowed-tools` must be a string or a list of strings; otherwise the skill is \
                               allowed no tools";
                self.findings.report(Code::AllowedToolsType, span, message);
                return Some(ToolRules::default());
            }
        };
        if !plain_form {
            let message = "the standard separates `allowed-tools` with spaces; some clients do not read commas or lists";
            self.findings.report(Code::AllowedToolsForm, span, message);
        }
        for rule in tools.rules() {
            if let Some(problem) = ToolRules::problem(rule) {
                let message = format!("the rule `{}` can never match: {problem}", rule.escape_debug());
                self.findings.report(Code::AllowedToolsRule, span, message);
            }
        }
        Some(tools)
    }

    /// Checks fields that are not in the standard.
    fn others(&mut self) {
        // Counted only if there is an unknown field; most skills have none.
        let mut spellings = None;
        let missing: Vec<&str> =
            STANDARD_FIELDS.into_iter().filter(|field| self.find(field).is_none()).collect();
        for entry in self.entries {
            let key = entry.key.text();
            if STANDARD_FIELDS.contains(&key) {
                continue;
            }
            match client_fields::find(key) {
                Some(field) => self.client_field(entry, field),
                None => {
                    let spellings = spellings.get_or_insert_with(|| count_spellings(self.entries));
                    self.unknown_field(entry, spellings, &missing);
                }
            }
        }
    }

    fn client_field(&mut self, entry: &Field, field: &client_fields::ClientField) {
        if self.findings.wants(Code::FieldClient) {
            let message = format!(
                "`{}` is read by {}, but is not in the standard; move it under `metadata` before publishing",
                field.name, field.clients
            );
            self.findings.report(Code::FieldClient, entry.key_span, message);
        }
        if !field.kind.fits(&entry.value) {
            let (wanted, noun) = (field.kind.noun(), entry.value.noun());
            let message = format!("`{}` should be {wanted}, but is {noun}", field.name);
            self.findings.report(Code::FieldClientType, value_span(entry), message);
        }
    }

    fn unknown_field(&mut self, entry: &Field, spellings: &HashMap<String, usize>, missing: &[&str]) {
        let key = entry.key.text();
        let meant = STANDARD_FIELDS.into_iter().find(|field| squash(field) == squash(key));
        // If two fields could be meant, renaming one would be a guess.
        let is_only = |field: &&str| spellings.get(&squash(field)) == Some(&1);
        let (message, fix) = match meant.filter(|field| is_only(field) && self.would_fit(field, &entry.value))
        {
            Some(field) => {
                let message = format!("unknown field `{}`; did you mean `{field}`?", key.escape_debug());
                (message, Some(Fix::replace(format!("rename the field to `{field}`"), entry.key_span, field)))
            }
            None => {
                // A misspelled prohibition is worse than none, because it has no effect.
                let forbids = ["disallowedtools", "deniedtools", "denytools", "blockedtools"];
                let meant = forbids.contains(&squash(key).as_str()).then_some(&"disallowed-tools");
                let nearest = meant.or_else(|| missing.iter().find(|field| is_near(field, key)));
                let advice = match nearest {
                    Some(field) => format!("did you mean `{field}`?"),
                    None => "no known client reads it. Move it under `metadata`".to_owned(),
                };
                (format!("unknown field `{}`; {advice}", key.escape_debug()), None)
            }
        };
        self.findings.report_with_fix(Code::FieldUnknown, entry.key_span, message, fix);
    }

    /// Whether the value would be valid under a standard key. Only then is renaming the key suggested.
    fn would_fit(&self, field: &str, value: &Value) -> bool {
        match (field, &value.data) {
            ("metadata", data) => matches!(data, Data::Map(_)),
            ("allowed-tools", Data::List(items)) => items.iter().all(|item| item.as_str().is_some()),
            ("compatibility", _) => value.as_str().is_some_and(|text| {
                (1..=self.rules.limits.compatibility_chars).contains(&text.trim().chars().count())
            }),
            _ => value.as_str().is_some(),
        }
    }

    fn report_not_string(&mut self, code: Code, key: &str, entry: &Field, scalar: &Scalar) {
        let noun = scalar.kind().noun();
        let message = format!(
            "`{key}` must be a string, but YAML reads `{}` as {noun}; quote it",
            scalar.text().escape_debug()
        );
        let fix = quote_fix(scalar, value_span(entry));
        self.findings.report_with_fix(code, value_span(entry), message, fix);
    }
}

/// Quotes a plain scalar. Null has no fix, because quoting it would invent a text.
fn quote_fix(scalar: &Scalar, span: Span) -> Option<Fix> {
    let edit = Edit { span, text: quote(scalar.text()) };
    (scalar.kind() != ScalarKind::Null)
        .then(|| Fix { title: "quote the value".to_owned(), edits: vec![edit] })
}

/// Whether a required text is missing: null, empty or white space.
fn is_nothing(scalar: &Scalar) -> bool {
    scalar.kind() == ScalarKind::Null || scalar.text().trim().is_empty()
}

/// The position of a value, or of its key if the value is empty.
fn value_span(entry: &Field) -> Span {
    let span = entry.value.span;
    if span.start == span.end { entry.key_span } else { span }
}

/// A name for a message, escaped and shortened.
fn shortened(name: &str) -> String {
    const SHOWN: usize = 100;
    let mut text: String = name.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if name.chars().nth(SHOWN).is_some() {
        text.push('…');
    }
    text
}

/// Whether two keys differ by at most two inserted, removed or changed letters.
fn is_near(field: &str, key: &str) -> bool {
    if field.len().abs_diff(key.len()) > 2 || field.len() < 4 {
        return false;
    }
    strsim::levenshtein(&squash(field), &squash(key)) <= 2
}

/// Counts how often each spelling of a key occurs, compared by [`squash`].
fn count_spellings(entries: &[Field]) -> HashMap<String, usize> {
    let mut spellings = HashMap::new();
    for entry in entries {
        *spellings.entry(squash(entry.key.text())).or_default() += 1;
    }
    spellings
}

/// Keeps letters and digits only, so that `allowedTools`, `allowed_tools` and `Allowed-Tools` compare equal.
fn squash(key: &str) -> String {
    key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// The first `<…>` that looks like a tag.
pub fn find_tag(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        rest = &rest[rest.find('<')?..];
        let inside = &rest[1..];
        let end = inside.find(['<', '>'])?;
        let begins =
            inside.trim_start_matches(['/', '!', '?']).starts_with(|c: char| c.is_ascii_alphabetic());
        if begins && inside[end..].starts_with('>') {
            return Some(&rest[..end + 2]);
        }
        rest = &inside[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_keys_are_near() {
        for (field, key) in [
            ("description", "descrption"),
            ("name", "nmae"),
            ("license", "licence"),
            ("metadata", "meta_dta"),
        ] {
            assert!(is_near(field, key), "{key}");
        }
        for (field, key) in [("name", "tags"), ("license", "version"), ("description", "describe")] {
            assert!(!is_near(field, key), "{key}");
        }
    }

    #[test]
    fn tags_are_told_from_comparisons() {
        assert_eq!(find_tag("Use <foo> & <bar>"), Some("<foo>"));
        assert_eq!(find_tag("close </b> it"), Some("</b>"));
        assert_eq!(find_tag("a < b > c"), None);
        assert_eq!(find_tag("x <y z"), None);
        assert_eq!(find_tag("<1>, <<a>"), Some("<a>"));
    }
}
