//! `metier ref`: the commands of the reference tool, `skills-ref`, with its output.
//!
//! The verdict is that of the `strict` profile; here it is put into the reference's words. What the
//! reference says about YAML is its parser's text, so that part is metier's own.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use metier_skill::{Code, Data, Location, NAME_MAX, Reading, Rules, SKILL_FILES, Value};
use serde_json::{Map, json};
use unicode_normalization::UnicodeNormalization as _;

use crate::exit::{Exit, UsageError};
use crate::output::Output;

mod python;

/// The commands of the reference tool `skills-ref`, with its output
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier ref validate skills/code-review
  metier ref read-properties skills/code-review
  metier ref to-prompt skills/*")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Validate a skill directory
    Validate {
        /// The skill's directory, or its SKILL.md
        skill_path: PathBuf,
    },
    /// Print a skill's properties as JSON
    ReadProperties {
        /// The skill's directory, or its SKILL.md
        skill_path: PathBuf,
    },
    /// Print the list of available skills as XML for an agent's prompt
    ToPrompt {
        /// Skill directories
        #[arg(required = true)]
        skill_paths: Vec<PathBuf>,
    },
}

/// The fields that the reference knows, in its order.
const FIELDS: [&str; 6] = ["allowed-tools", "compatibility", "description", "license", "metadata", "name"];

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Validate { skill_path } => validate(&directory(skill_path)?, output),
        Command::ReadProperties { skill_path } => match properties(&directory(skill_path)?) {
            Ok(properties) => {
                output.text(&python::json(&properties.to_json()))?;
                Ok(Exit::Done)
            }
            Err(message) => Ok(refuse(&message, output)),
        },
        Command::ToPrompt { skill_paths } => to_prompt(skill_paths, output),
    }
}

fn refuse(message: &str, output: &mut Output) -> Exit {
    output.complaint(&format!("Error: {message}"));
    Exit::Findings
}

/// A path that must be there; `SKILL.md` in any case stands for its directory.
fn directory(path: &Path) -> Result<PathBuf, UsageError> {
    if !path.exists() {
        return Err(UsageError(format!("path '{}' does not exist", path.display())));
    }
    // Python's paths do not show a leading `./`.
    let path = path.strip_prefix("./").ok().filter(|rest| *rest != Path::new("")).unwrap_or(path);
    let is_skill_md =
        path.is_file() && path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("skill.md"));
    match path.parent() {
        Some(parent) if is_skill_md && parent == Path::new("") => Ok(PathBuf::from(".")),
        Some(parent) if is_skill_md => Ok(parent.to_owned()),
        _ => Ok(path.to_owned()),
    }
}

fn validate(path: &Path, output: &mut Output) -> anyhow::Result<Exit> {
    let errors = errors(path)?;
    if errors.is_empty() {
        output.line(format_args!("Valid skill: {}", path.display()))?;
        return Ok(Exit::Done);
    }
    output.complaint(&format!("Validation failed for {}:", path.display()));
    for error in errors {
        output.complaint(&format!("  - {error}"));
    }
    Ok(Exit::Findings)
}

/// What the reference would object to, in its words and its order.
fn errors(path: &Path) -> anyhow::Result<Vec<String>> {
    if !path.is_dir() {
        return Ok(vec![format!("Not a directory: {}", path.display())]);
    }
    let location = Location::directory(path)?;
    let reading = location.load(&Rules::strict())?;
    if let Some(error) = document_error(&reading) {
        return Ok(vec![error]);
    }
    let Some(frontmatter) = &reading.frontmatter else { return Ok(Vec::new()) };
    let mut errors = Vec::new();
    let keys: BTreeSet<&str> =
        frontmatter.as_map().unwrap_or_default().iter().map(|entry| entry.key.text()).collect();
    let extra: Vec<&str> = keys.into_iter().filter(|key| !FIELDS.contains(key)).collect();
    if !extra.is_empty() {
        let known = FIELDS.map(|field| format!("'{field}'")).join(", ");
        errors.push(format!(
            "Unexpected fields in frontmatter: {}. Only [{known}] are allowed.",
            extra.join(", ")
        ));
    }
    let name: String = text(frontmatter.get("name")).trim().nfkc().collect();
    let directory = location.name().unwrap_or_default();
    let mut found: Vec<Code> =
        reading.diagnostics.iter().filter(|found| found.is_error()).map(|found| found.code).collect();
    // The table of codes has the fields in the reference's order.
    found.sort();
    let lengths = (length(frontmatter, "description"), length(frontmatter, "compatibility"));
    errors.extend(found.into_iter().filter_map(|code| field_error(code, &name, directory, lengths)));
    errors.dedup();
    Ok(errors)
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_scalar).map_or("", metier_skill::Scalar::text)
}

fn length(frontmatter: &Value, key: &str) -> usize {
    text(frontmatter.get(key)).chars().count()
}

/// The first thing that is wrong with the file as a whole.
fn document_error(reading: &Reading) -> Option<String> {
    let is_about_document = |code: Code| code < Code::NameMissing;
    let found = reading.diagnostics.iter().find(|found| found.is_error() && is_about_document(found.code))?;
    Some(match found.code {
        Code::SkillMdMissing | Code::SkillMdNotFile | Code::SkillMdLink => {
            "Missing required file: SKILL.md".to_owned()
        }
        Code::FrontmatterMissing => "SKILL.md must start with YAML frontmatter (---)".to_owned(),
        Code::FrontmatterUnclosed => "SKILL.md frontmatter not properly closed with ---".to_owned(),
        Code::FrontmatterEmpty | Code::FrontmatterNotMapping => {
            "SKILL.md frontmatter must be a YAML mapping".to_owned()
        }
        _ => format!("Invalid YAML in frontmatter: {}", found.message),
    })
}

fn field_error(code: Code, name: &str, directory: &str, lengths: (usize, usize)) -> Option<String> {
    Some(match code {
        Code::NameMissing => "Missing required field in frontmatter: name".to_owned(),
        Code::NameEmpty | Code::NameNotString => "Field 'name' must be a non-empty string".to_owned(),
        Code::NameTooLong => {
            format!("Skill name '{name}' exceeds {NAME_MAX} character limit ({} chars)", name.chars().count())
        }
        Code::NameNotLowercase => format!("Skill name '{name}' must be lowercase"),
        Code::NameEdgeHyphen => "Skill name cannot start or end with a hyphen".to_owned(),
        Code::NameDoubleHyphen => "Skill name cannot contain consecutive hyphens".to_owned(),
        Code::NameInvalidCharacter => format!(
            "Skill name '{name}' contains invalid characters. Only letters, digits, and hyphens are allowed."
        ),
        Code::NameMismatch => format!("Directory name '{directory}' must match skill name '{name}'"),
        Code::DescriptionMissing => "Missing required field in frontmatter: description".to_owned(),
        Code::DescriptionEmpty | Code::DescriptionNotString | Code::DescriptionNotText => {
            "Field 'description' must be a non-empty string".to_owned()
        }
        Code::DescriptionTooLong => format!("Description exceeds 1024 character limit ({} chars)", lengths.0),
        Code::CompatibilityNotText | Code::CompatibilityEmpty => {
            "Field 'compatibility' must be a string".to_owned()
        }
        Code::CompatibilityTooLong => {
            format!("Compatibility exceeds 500 character limit ({} chars)", lengths.1)
        }
        _ => return None,
    })
}

/// What the reference reads of a skill, without validating it.
struct Properties {
    name: String,
    description: String,
    frontmatter: Value,
    /// `SKILL.md` or `skill.md`.
    file: &'static str,
}

fn properties(path: &Path) -> Result<Properties, String> {
    let file = SKILL_FILES.into_iter().find(|file| path.join(file).exists());
    let file = file.ok_or_else(|| format!("SKILL.md not found in {}", path.display()))?;
    let location = Location::directory(path).map_err(|error| error.to_string())?;
    let reading = location.load(&Rules::strict()).map_err(|error| error.to_string())?;
    if let Some(error) = document_error(&reading) {
        return Err(error);
    }
    let frontmatter = reading.frontmatter.unwrap_or_default();
    let required = |key: &str| {
        let value =
            frontmatter.get(key).ok_or_else(|| format!("Missing required field in frontmatter: {key}"))?;
        let text = text(Some(value)).trim().to_owned();
        if text.is_empty() { Err(format!("Field '{key}' must be a non-empty string")) } else { Ok(text) }
    };
    let (name, description) = (required("name"), required("description"));
    // The reference looks for both before it looks into either.
    let missing = ["name", "description"].into_iter().find(|key| frontmatter.get(key).is_none());
    if let Some(key) = missing {
        return Err(format!("Missing required field in frontmatter: {key}"));
    }
    Ok(Properties { name: name?, description: description?, frontmatter, file })
}

impl Properties {
    fn to_json(&self) -> serde_json::Value {
        let mut all = Map::new();
        all.insert("name".to_owned(), json!(self.name));
        all.insert("description".to_owned(), json!(self.description));
        for key in ["license", "compatibility", "allowed-tools"] {
            if let Some(value) = self.frontmatter.get(key) {
                all.insert(key.to_owned(), python::texts(value));
            }
        }
        let metadata = self.frontmatter.get("metadata").map(|value| match &value.data {
            // The reference turns what is nested into the text that Python prints for it.
            Data::Map(entries) => {
                let text = |entry: &metier_skill::Field| {
                    (entry.key.text().to_owned(), json!(python::str(&entry.value)))
                };
                serde_json::Value::Object(entries.iter().map(text).collect())
            }
            _ => python::texts(value),
        });
        let is_empty =
            |value: &serde_json::Value| *value == json!("") || *value == json!({}) || *value == json!([]);
        if let Some(metadata) = metadata.filter(|value| !is_empty(value)) {
            all.insert("metadata".to_owned(), metadata);
        }
        serde_json::Value::Object(all)
    }
}

fn to_prompt(paths: &[PathBuf], output: &mut Output) -> anyhow::Result<Exit> {
    let directories = paths.iter().map(|path| directory(path)).collect::<Result<Vec<_>, _>>()?;
    let mut lines = vec!["<available_skills>".to_owned()];
    for directory in directories {
        let directory = fs::canonicalize(&directory)?;
        let properties = match properties(&directory) {
            Ok(properties) => properties,
            Err(message) => return Ok(refuse(&message, output)),
        };
        let location = directory.join(properties.file).display().to_string();
        let escaped = [("name", escape(&properties.name)), ("description", escape(&properties.description))];
        lines.push("<skill>".to_owned());
        // The reference does not escape the location; quotes are harmless there, the rest is not.
        for (tag, text) in escaped.into_iter().chain([("location", escape_markup(&location))]) {
            lines.extend([format!("<{tag}>"), text, format!("</{tag}>")]);
        }
        lines.push("</skill>".to_owned());
    }
    lines.push("</available_skills>".to_owned());
    lines.push(String::new());
    output.text(&lines.join("\n"))?;
    Ok(Exit::Done)
}

fn escape_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn escape(text: &str) -> String {
    escape_markup(text).replace('"', "&quot;").replace('\'', "&#x27;")
}
