//! Which skill a call of an agent's tool loads, or a prompt names: one of the run, or one of the catalog.

use std::path::{Path, PathBuf};

use metier_catalog::{Catalog, Entry};
use metier_guard::{GuardContext, HostCall};
use metier_policy::{Anchors, ToolCall};
use metier_session::AgentSkill;
use metier_skill::SKILL_FILES;

use crate::catalog::HostCatalog;
use crate::error::HostError;
use crate::host::Metier;
use crate::policy::real;

/// A skill that an agent can load.
#[derive(Debug, Clone)]
pub(super) enum KnownSkill {
    /// A copy in the home of a run.
    Mounted(AgentSkill),
    /// One of the catalog, by its id.
    Catalogued(String),
}

/// The skills that could be meant.
pub(super) enum Known<'a> {
    Run(&'a GuardContext),
    Catalog(Box<HostCatalog>),
}

impl<'a> Known<'a> {
    /// Those of the run, or those of the catalog. The index is written, so that the next hook does not read every skill again.
    pub(super) fn open(metier: &Metier, context: Option<&'a GuardContext>) -> Result<Self, HostError> {
        if let Some(context) = context {
            return Ok(Self::Run(context));
        }
        let mut catalog = metier.catalog()?;
        // Without an index the next hook is slower.
        let _ = catalog.save();
        Ok(Self::Catalog(Box::new(catalog)))
    }

    pub(super) fn catalog(&self) -> Catalog {
        match self {
            Self::Run(_) => Catalog::default(),
            Self::Catalog(catalog) => catalog.catalog().clone(),
        }
    }

    /// The skill with a name.
    pub(super) fn named(&self, name: &str) -> Option<KnownSkill> {
        match self {
            Self::Run(context) => mounted(context).find(|skill| skill.name == name).map(KnownSkill::Mounted),
            Self::Catalog(catalog) => {
                catalog.by_name_or_id(name).map(|entry| KnownSkill::Catalogued(entry.id.to_string()))
            }
        }
    }

    /// The skill with this `SKILL.md`.
    fn at(&self, skill_md: &Path) -> Option<KnownSkill> {
        let file = skill_md.file_name()?;
        if !SKILL_FILES.iter().any(|name| file.eq_ignore_ascii_case(name)) {
            return None;
        }
        // The file itself may be a link to that of a skill.
        let real_file = real(skill_md.to_owned());
        let directory = real_file.parent()?;
        match self {
            Self::Run(context) => mounted(context)
                .find(|skill| real(skill.directory.clone()) == directory)
                .map(KnownSkill::Mounted),
            Self::Catalog(catalog) => {
                let is_it = |entry: &&Entry| {
                    let path = entry.real_path();
                    entry.builtin().is_none()
                        && path.file_name() == directory.file_name()
                        && real(path.to_owned()) == directory
                };
                catalog.all().iter().find(is_it).map(|entry| KnownSkill::Catalogued(entry.id.to_string()))
            }
        }
    }

    /// Every skill whose name is a word of a text.
    fn in_text(&self, text: &str) -> Vec<KnownSkill> {
        let is_word = |name: &str| {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
            text.match_indices(name).any(|(at, _)| {
                !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part)
            })
        };
        match self {
            Self::Run(context) => {
                mounted(context).filter(|skill| is_word(&skill.name)).map(KnownSkill::Mounted).collect()
            }
            Self::Catalog(catalog) => {
                let named = catalog.skills().filter(|entry| is_word(entry.name()));
                named.map(|entry| KnownSkill::Catalogued(entry.id.to_string())).collect()
            }
        }
    }
}

fn mounted(context: &GuardContext) -> impl Iterator<Item = AgentSkill> {
    context.skills.iter().filter_map(|skill| {
        let name = skill.directory.file_name()?.to_string_lossy();
        Some(AgentSkill::new(name, &skill.directory, skill.tree_digest).of_tier(skill.tier))
    })
}

/// What a call may load: the names of skills, the files it may read, and a text that may name files in other ways.
#[derive(Debug, Default)]
pub(super) struct Loads {
    names: Vec<String>,
    files: Vec<PathBuf>,
    text: Option<String>,
}

impl Loads {
    /// What calls may load; without looking at the disk, except at links.
    pub(super) fn of(calls: &[HostCall], places: &Anchors) -> Self {
        let mut loads = Self::default();
        for call in calls {
            loads.names.extend(call.skill().map(str::to_owned));
            let tool = ToolCall::new(&call.tool, call.input.clone());
            if !matches!(tool.name(), "Read" | "NotebookRead" | "Bash" | "PowerShell") {
                continue;
            }
            let text = call.input.to_string();
            if !may_read_a_skill(&text) {
                continue;
            }
            let paths = tool.paths().into_iter().map(|path| places.absolute(path));
            loads.files.extend(paths.chain(tool.shell_paths(places)));
            loads.text = Some(text);
        }
        loads
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.text.is_none()
    }

    /// The skills that are loaded, each with the file that the agent reads.
    pub(super) fn find(&self, known: &Known<'_>) -> Vec<(KnownSkill, PathBuf)> {
        let mut found: Vec<(KnownSkill, PathBuf)> = Vec::new();
        found.extend(self.names.iter().filter_map(|name| Some((known.named(name)?, PathBuf::new()))));
        found.extend(self.files.iter().filter_map(|file| Some((known.at(file)?, file.clone()))));
        // A pattern or a variable can stand for any file, and a program can be told to go elsewhere first.
        if let Some(text) = self.text.as_ref().filter(|_| found.is_empty()) {
            found.extend(known.in_text(text).into_iter().map(|skill| (skill, PathBuf::new())));
        }
        found
    }
}

/// Whether a text may name a `SKILL.md`: by its name, or by a pattern or a variable below a directory of skills.
fn may_read_a_skill(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains("skill.md") || (text.contains("skill") && text.contains(['*', '?', '[', '$', '`']))
}
