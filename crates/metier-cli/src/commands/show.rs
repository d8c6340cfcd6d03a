//! `metier show`: what one skill says, what it brings, what it costs.

use std::path::PathBuf;

use metier_skill::{Digest, Location, Reading, Rules, Severity, Skill, SymlinkPolicy, Tree, tree_digest};
use serde_json::{Map, Value, json};

use crate::exit::Exit;
use crate::output::{self, Output};

/// Show one skill: its fields, files, digests and cost in tokens
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier show skills/code-review
  metier show --json notes.md | jq .description")]
pub(crate) struct Args {
    /// The skill: a directory, its SKILL.md, or a single markdown file
    path: PathBuf,

    /// Print all of it as JSON
    #[arg(long)]
    json: bool,
}

/// A skill and its files.
struct Shown {
    skill: Skill,
    reading: Reading,
    tree: Tree,
    skill_md_digest: Digest,
    tree_digest: Digest,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let rules = Rules::lenient();
    let location = Location::find(&args.path)?;
    let reading = location.validate(&rules)?;
    let Some(skill) = reading.skill.clone() else {
        let path = args.path.clone();
        output.note(format_args!("see `metier validate {}`", path.display()))?;
        return Err(metier_skill::SkillError::Validation { path, diagnostics: reading.diagnostics }.into());
    };
    let tree = location.tree(&rules.limits, SymlinkPolicy::Skip)?;
    tree.within(&rules.limits)?;
    let shown = Shown {
        skill_md_digest: Digest::of(reading.text.as_bytes()),
        tree_digest: tree_digest(&tree)?,
        skill,
        reading,
        tree,
    };
    if args.json {
        output.json(&shown.json(&args.path.display().to_string()))?;
    } else {
        shown.table(&args.path.display().to_string(), output)?;
    }
    Ok(Exit::Done)
}

/// Tokens are about four bytes each; good enough to compare skills by.
fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

impl Shown {
    /// What a model pays for the skill while it is only listed, and once it is active.
    fn cost(&self) -> (usize, usize) {
        (tokens(self.skill.name.len() + self.skill.description.len()), tokens(self.skill.body.len()))
    }

    fn count(&self, severity: Severity) -> usize {
        self.reading.diagnostics.iter().filter(|found| found.severity == severity).count()
    }

    fn table(&self, path: &str, output: &mut Output) -> anyhow::Result<()> {
        let skill = &self.skill;
        output.row("name", &skill.name)?;
        if skill.id.as_str() != skill.name {
            output.row("known as", skill.id.as_str())?;
        }
        output.row("description", &wrapped(&skill.description, output::width().saturating_sub(16)))?;
        for (key, value) in [("license", &skill.license), ("compatibility", &skill.compatibility)] {
            if let Some(value) = value {
                output.row(key, value)?;
            }
        }
        if let Some(tools) = &skill.allowed_tools {
            let tools = if tools.is_empty() { "none at all".to_owned() } else { tools.rules().join("\n") };
            output.row("allowed-tools", &tools)?;
        }
        for (key, value) in skill.metadata_text() {
            output.row("metadata", &format!("{key}: {value}"))?;
        }
        for entry in &skill.fields {
            output.row("other field", &format!("{}: {}", entry.key.text(), entry.value))?;
        }
        output.row("path", path)?;
        let (listed, active) = self.cost();
        output.row("tokens", &format!("about {listed} while listed, {active} more when active"))?;
        for file in &self.tree.files {
            let run = if file.executable { ", can be run" } else { "" };
            output.row("file", &format!("{} ({} bytes{run})", file.path_text(), file.size))?;
        }
        output.row("SKILL.md digest", &self.skill_md_digest.to_string())?;
        output.row("tree digest", &self.tree_digest.to_string())?;
        let count = self.reading.diagnostics.len();
        if count > 0 {
            let noun = if count == 1 { "finding" } else { "findings" };
            output.note(format_args!("{count} {noun}: see `metier validate {path}`"))?;
        }
        Ok(())
    }

    fn json(&self, path: &str) -> Value {
        let skill = &self.skill;
        let (listed, active) = self.cost();
        let files = self.tree.files.iter().map(
            |file| json!({ "path": file.path_text(), "bytes": file.size, "executable": file.executable }),
        );
        let fields: Map<String, Value> =
            skill.fields.iter().map(|entry| (entry.key.text().to_owned(), json!(entry.value))).collect();
        json!({
            "id": skill.id,
            "name": skill.name,
            "description": skill.description,
            "license": skill.license,
            "compatibility": skill.compatibility,
            "allowed_tools": skill.allowed_tools,
            "metadata": skill.metadata,
            "fields": fields,
            "path": path,
            "files": files.collect::<Vec<_>>(),
            "tokens": { "listed": listed, "active": active },
            "skill_md_digest": self.skill_md_digest,
            "tree_digest": self.tree_digest,
            "errors": self.count(Severity::Error),
            "warnings": self.count(Severity::Warning),
        })
    }
}

/// The text in lines of at most `width` characters, broken between words.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}
