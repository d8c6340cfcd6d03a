//! `metier show`: fields, files, digests and costs of one skill.

use std::path::Path;

use metier_catalog::{Compatibility, Entry, Problem, State, compatibility, read_requires};
use metier_host::{
    Environment, HostCatalog, HostError, Metier, Refusal, StateSetting, ThisMachine, digest_of,
};
use metier_skill::{
    Digest, Location, Reading, Rules, Severity, Skill, SkillError, SymlinkPolicy, Tree, tokens,
};
use metier_store::Provenance;
use serde_json::{Map, Value, json};

use crate::exit::Exit;
use crate::host::{Flags, save};
use crate::output::Output;
use crate::table::one_line;

/// Show one skill: its fields, files, digests, what it needs and what it costs in tokens
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier show code-review            the skill with that name
  metier show third_party/code-review
  metier show --body writing-skills  only its instructions
  metier show skills/code-review     the skill in that directory
  metier show --json notes.md | jq .description")]
pub(crate) struct Args {
    /// Skill: its name, id or directory, or a single Markdown file
    skill: String,

    #[command(flatten)]
    catalog: Flags,

    /// Print only the instructions
    #[arg(long, conflicts_with = "json")]
    body: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// A skill and its files.
struct Shown {
    path: String,
    skill: Skill,
    reading: Reading,
    tree: Tree,
    skill_md_digest: Digest,
    tree_digest: Digest,
    compatibility: Compatibility,
    /// What the catalog knows beyond the skill itself.
    listed: Option<Listed>,
    /// What is known of one that was installed.
    provenance: Option<Provenance>,
    /// Whether its content differs from what was installed; then it is not loaded.
    is_tampered: bool,
}

/// What the catalog knows of a skill.
struct Listed {
    entry: Entry,
    /// The skills that it needs.
    needs: Vec<String>,
    /// What gave it its state, where it is not on.
    set_by: Option<String>,
    /// What other clients refuse it for, and which.
    warning: Option<Problem>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let path = Path::new(&args.skill);
    // A bare word is a name; what looks like a path is one, if there is something.
    let is_name = path.components().count() == 1 && !args.skill.contains(['.', '/']);
    let shown = if path.exists() && !is_name {
        look(path, args.skill.clone(), output)?
    } else {
        match in_catalog(args, output)? {
            Ok(shown) => shown,
            Err(_) if path.exists() => look(path, args.skill.clone(), output)?,
            Err(error) => return Err(error.into()),
        }
    };
    if args.body {
        output.text(&shown.skill.body)?;
    } else if args.json {
        output.json(&shown.json())?;
    } else {
        shown.table(output)?;
    }
    Ok(Exit::Done)
}

/// The skill with a name or an id in the catalog.
fn in_catalog(args: &Args, output: &mut Output) -> anyhow::Result<Result<Shown, HostError>> {
    let mut skills = args.catalog.find(output)?;
    save(&mut skills, output)?;
    let Some(entry) = skills.by_name_or_id(&args.skill) else {
        let Some(problem) = skills.problem_of(&args.skill) else {
            return Ok(Err(skills.not_found(&args.skill)));
        };
        output.note(format_args!("note: it cannot be used: {}: {}", problem.code, problem.message))?;
        return look(&problem.path, problem.path.display().to_string(), output).map(Ok);
    };
    // What others of the name need is not what this one needs.
    let needs = match entry.shadowed_by {
        None => skills.needs(entry.name()).into_iter().map(str::to_owned).collect(),
        Some(_) => read_requires(entry.facts.requires().unwrap_or_default())
            .into_iter()
            .filter_map(|needed| Some(needed.ok()?.name))
            .collect(),
    };
    // Files inside the binary are looked at where they are written out.
    let unpacked = entry.builtin().map(|builtin| {
        let place = tempfile::tempdir()?;
        let directory = builtin.unpack(place.path())?;
        anyhow::Ok((place, directory))
    });
    let unpacked = unpacked.transpose()?;
    let directory = unpacked.as_ref().map_or_else(|| entry.real_path(), |(_, directory)| directory);
    let mut shown = look(directory, entry.path_text().into_owned(), output)?;
    let warning = skills.warnings().iter().find(|warning| warning.path == entry.path()).cloned();
    shown.listed = Some(Listed { set_by: set_by(entry, &skills), entry: entry.clone(), needs, warning });
    let store = skills.metier().installed().filter(|store| entry.path().starts_with(store.root()));
    shown.is_tampered =
        store.as_ref().is_some_and(|store| !store.is_as_installed(entry.path(), &shown.tree_digest));
    let installed = store.map(|store| store.installed()).transpose()?;
    shown.provenance = installed.and_then(|installed| installed.provenance(entry.name()).cloned());
    Ok(Ok(shown))
}

/// What gave a skill its state: a rule of a file or of the command line, or the skill itself.
fn set_by(entry: &Entry, skills: &HostCatalog) -> Option<String> {
    let own = || format!("its {}", metier_skill::SKILL_FILES[0]);
    (entry.state != State::On)
        .then(|| skills.metier().settings().rule_of(entry).map_or_else(own, StateSetting::place))
}

/// Reads a skill and its files. `shown_path` is what people call its path.
fn look(path: &Path, shown_path: String, output: &mut Output) -> anyhow::Result<Shown> {
    let rules = Rules::lenient();
    let location = Location::find(path)?;
    let reading = location.validate_with(&rules, metier_policy::lint)?;
    let Some(skill) = reading.skill.clone() else {
        output.note(format_args!("see `metier validate {shown_path}`"))?;
        let diagnostics = reading.diagnostics;
        return Err(SkillError::Validation { path: shown_path.into(), diagnostics }.into());
    };
    let tree = location.tree(&rules.limits, SymlinkPolicy::Skip)?;
    tree.within(&rules.limits)?;
    let metadata = skill.metadata_text();
    let metadata = metadata.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let machine = ThisMachine::new(Environment::read().path, None);
    Ok(Shown {
        compatibility: compatibility(skill.compatibility.as_deref(), metadata, &machine),
        path: shown_path,
        skill_md_digest: Digest::of(reading.text.as_bytes()),
        tree_digest: digest_of(&reading, &location)?,
        skill,
        reading,
        tree,
        listed: None,
        provenance: None,
        is_tampered: false,
    })
}

impl Shown {
    /// Tokens while the skill is only listed, and once it is active.
    fn cost(&self) -> (usize, usize) {
        (tokens(self.skill.name.len() + self.skill.description.len()), tokens(self.skill.body.len()))
    }

    fn count(&self, severity: Severity) -> usize {
        self.reading.diagnostics.iter().filter(|found| found.severity == severity).count()
    }

    fn table(&self, output: &mut Output) -> anyhow::Result<()> {
        let skill = &self.skill;
        output.row("name", &skill.name)?;
        if skill.id.as_str() != skill.name {
            output.row("known as", skill.id.as_str())?;
        }
        output.row("description", &one_line(&skill.description))?;
        for (key, value) in [("license", &skill.license), ("compatibility", &skill.compatibility)] {
            if let Some(value) = value {
                output.row(key, value)?;
            }
        }
        if let Some(tools) = &skill.allowed_tools {
            if tools.is_empty() {
                output.row("allowed-tools", "none")?;
            }
            rows("allowed-tools", tools.rules(), output)?;
        }
        if let Some(tools) = skill.disallowed_tools() {
            rows("disallowed", tools.rules(), output)?;
        }
        for (key, value) in skill.metadata_text() {
            output.row("metadata", &format!("{key}: {value}"))?;
        }
        for entry in skill.fields.iter().filter(|entry| entry.key.text() != "disallowed-tools") {
            output.row("other field", &format!("{}: {}", entry.key.text(), entry.value))?;
        }
        for unmet in self.compatibility.unmet() {
            output.row("unmet", &format!("{}: {}", unmet.text, unmet.reason))?;
        }
        self.listing(output)?;
        output.row("path", &self.path)?;
        if self.is_tampered {
            let name = one_line(&skill.name);
            output.row("changed", &format!("its content differs from what was installed, so it is not loaded; `metier verify` shows the difference, `metier update {name}` repairs it"))?;
        }
        if let Some(known) = &self.provenance {
            let commit = known.resolved.as_ref().map(|resolved| format!(" ({resolved})")).unwrap_or_default();
            output.row("installed from", &format!("{}{commit}", known.source))?;
            let who = known.who.as_ref().map(|who| format!(" by {who}")).unwrap_or_default();
            output.row("installed", &format!("{}{who}", known.time))?;
            let signed =
                known.signature.as_ref().map(|signed| format!("{} ({})", signed.name, signed.fingerprint));
            output.row("signed by", signed.as_deref().unwrap_or("none"))?;
            let accepted = if known.scan.is_accepted { ", and the risk was accepted" } else { "" };
            output.row("scan", &format!("{}{accepted}", known.scan.verdict))?;
        }
        let (listed, active) = self.cost();
        output.row("tokens", &format!("about {listed} while listed, {active} more when active"))?;
        for file in &self.tree.files {
            let run = if file.executable { ", executable" } else { "" };
            output.row("file", &format!("{} ({} bytes{run})", file.path_text(), file.size))?;
        }
        output.row("SKILL.md digest", &self.skill_md_digest.to_string())?;
        output.row("tree digest", &self.tree_digest.to_string())?;
        let count = self.reading.diagnostics.len();
        if count > 0 {
            let noun = if count == 1 { "finding" } else { "findings" };
            output.note(format_args!("{count} {noun}: see `metier validate {}`", self.path))?;
        }
        Ok(())
    }

    /// Stored refusals about it, if the catalog knows it.
    fn refusals(&self) -> Vec<Refusal> {
        let metier = Metier::with_defaults(Environment::read());
        let about = |entry: &Entry| metier.refusals(entry.name(), &self.tree_digest);
        self.listed.as_ref().map(|listed| about(&listed.entry)).unwrap_or_default()
    }

    /// What the catalog knows: its id and state, and what shadows or refuses it.
    fn listing(&self, output: &mut Output) -> anyhow::Result<()> {
        let Some(Listed { entry, needs, set_by, warning }) = &self.listed else { return Ok(()) };
        output.row("id", &entry.id.to_string())?;
        let by = set_by.as_ref().map(|by| format!(", set by {by}")).unwrap_or_default();
        let state = entry.state.as_str();
        let state = if entry.state == State::On { state.to_owned() } else { output.warning(state) };
        output.styled_row("state", &format!("{state}{}", one_line(&by)))?;
        if let Some(winner) = &entry.shadowed_by {
            output.row("shadowed by", &winner.to_string())?;
        }
        if let Some(Problem { code, refused_by, .. }) = warning {
            output.row("refused by", &format!("{} ({code})", refused_by.join(", ")))?;
        }
        for refused in self.refusals() {
            output.row("refused", &refused.message)?;
        }
        for skill in needs {
            output.row("needs skill", skill)?;
        }
        for place in entry.places().iter().skip(1) {
            output.row("also at", &place.path.to_string_lossy())?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let skill = &self.skill;
        let (listed, active) = self.cost();
        let files = self.tree.files.iter().map(
            |file| json!({ "path": file.path_text(), "bytes": file.size, "executable": file.executable }),
        );
        let fields: Map<String, Value> =
            skill.fields.iter().map(|entry| (entry.key.text().to_owned(), json!(entry.value))).collect();
        let catalog = self.listed.as_ref().map(|Listed { entry, needs, set_by, warning }| {
            let copies = entry.places().iter().skip(1);
            json!({
                "id": entry.id,
                "tier": entry.tier(),
                "scope": entry.scope(),
                "state": entry.state,
                "state_set_by": set_by,
                "shadowed_by": entry.shadowed_by,
                "needs": needs,
                "warning": warning,
                "also_at": copies.map(|place| place.path.to_string_lossy()).collect::<Vec<_>>(),
            })
        });
        let mut shown = json!({
            "id": skill.id,
            "name": skill.name,
            "description": skill.description,
            "license": skill.license,
            "compatibility": skill.compatibility,
            "allowed_tools": skill.allowed_tools,
            "metadata": skill.metadata,
            "fields": fields,
            "path": self.path,
            "files": files.collect::<Vec<_>>(),
            "tokens": { "listed": listed, "active": active },
            "skill_md_digest": self.skill_md_digest,
            "tree_digest": self.tree_digest,
            "needs": self.compatibility,
            "catalog": catalog,
            "installed": self.provenance,
            "changed_since_install": self.is_tampered,
            "errors": self.count(Severity::Error),
            "warnings": self.count(Severity::Warning),
        });
        let refusals = self.refusals();
        if !refusals.is_empty() {
            shown["refusals"] = json!(refusals);
        }
        shown
    }
}

/// Several values of one key.
fn rows(key: &str, values: &[impl AsRef<str>], output: &mut Output) -> anyhow::Result<()> {
    for (index, value) in values.iter().enumerate() {
        output.row(if index == 0 { key } else { "" }, value.as_ref())?;
    }
    Ok(())
}
