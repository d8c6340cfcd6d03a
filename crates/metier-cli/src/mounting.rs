//! The skills that a command mounts.

use clap::ValueEnum;
use metier_home::{Agent, MountOptions, MountedSkill, Rename};
use metier_host::{Approve, HostCatalog};
use metier_prompt::SkillMount;
use metier_skill::{did_you_mean, nearest_names};

use crate::exit::UsageError;
use crate::host::Flags;
use crate::output::Output;
use crate::table::counted;

/// Which skills.
#[derive(Debug, clap::Args)]
pub(crate) struct Chosen {
    /// Skills: their names, ids, directories or files. `SKILL=NAME` mounts a skill under another name
    #[arg(value_name = "SKILL[=NAME]")]
    skills: Vec<String>,

    /// Same as SKILL. Can be repeated
    #[arg(long, value_name = "SKILL[=NAME]")]
    skill: Vec<String>,

    /// All skills that `metier list` shows and models may use
    #[arg(long, short, conflicts_with_all = ["skills", "skill"])]
    all: bool,

    #[command(flatten)]
    catalog: Flags,
}

/// Which skills, and how they are copied.
#[derive(Debug, clap::Args)]
pub(crate) struct Given {
    #[command(flatten)]
    pub(crate) chosen: Chosen,

    /// Make the copies writable
    #[arg(long)]
    writable: bool,

    /// Also mount skills that are not valid
    #[arg(long)]
    no_validate: bool,

    /// Derive a missing frontmatter of a Markdown file: its name from the file's, its description from the first paragraph
    #[arg(long)]
    synthesize_frontmatter: bool,

    /// Name in the SKILL.md of a skill that is mounted under another name
    #[arg(long, value_name = "HOW", default_value = "rewrite")]
    rename: RenameArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RenameArg {
    /// The new name
    Rewrite,
    /// Keep its own name
    Verbatim,
    /// Refuse to mount it
    Reject,
}

impl Chosen {
    /// The skills that are named; without names, all skills of the given roots.
    pub(crate) fn mounts(
        &self,
        skills: &HostCatalog,
        output: &mut Output,
    ) -> anyhow::Result<Vec<SkillMount>> {
        self.check_given()?;
        // Failing to print a note does not stop the command.
        let mut tell = |note: String| drop(output.note(format_args!("note: {note}")));
        Ok(skills.mounts(&self.named(), Approve::ask_terminal(), &mut tell)?)
    }

    /// The same skills for removing their links, without checking whether they may be used.
    pub(crate) fn mounts_to_remove(
        &self,
        agent: Agent,
        skills: &HostCatalog,
    ) -> anyhow::Result<Vec<SkillMount>> {
        self.check_given()?;
        let named = self.named();
        if named.is_empty() {
            return Ok(skills.all_mounts_to_remove(agent, !self.catalog.has_roots())?);
        }
        Ok(skills.mounts_to_remove(agent, &named)?)
    }

    /// Whether all skills were requested with `--all`.
    pub(crate) const fn is_all(&self) -> bool {
        self.all
    }

    fn named(&self) -> Vec<String> {
        self.skills.iter().chain(&self.skill).cloned().collect()
    }

    fn check_given(&self) -> Result<(), UsageError> {
        if self.all || !self.named().is_empty() || self.catalog.has_roots() {
            return Ok(());
        }
        let words = "no skills given; name them, or use `--root DIR` (all in a directory) or `--all`";
        Err(UsageError(words.to_owned()))
    }

    /// The same skills, if roots without skills are not an error.
    pub(crate) fn mounts_or_none(
        &self,
        skills: &HostCatalog,
        output: &mut Output,
    ) -> anyhow::Result<Vec<SkillMount>> {
        if self.named().is_empty() && self.catalog.has_roots() && skills.is_without_skills() {
            output.note(format_args!(
                "note: there are no skills in the directories of `--root`; running without skills"
            ))?;
            return Ok(Vec::new());
        }
        self.mounts(skills, output)
    }

    /// The catalog to choose from.
    pub(crate) fn skills(&self, output: &mut Output) -> anyhow::Result<HostCatalog> {
        self.catalog.find(output)
    }
}

impl Given {
    pub(crate) fn options(&self, skills: &HostCatalog) -> MountOptions {
        let mut rules = skills.metier().settings().mount_profile().rules();
        rules.synthesize_frontmatter = self.synthesize_frontmatter;
        MountOptions {
            rules,
            validate: !self.no_validate,
            is_writable: self.writable,
            rename: match self.rename {
                RenameArg::Rewrite => Rename::Rewrite,
                RenameArg::Verbatim => Rename::Verbatim,
                RenameArg::Reject => Rename::Reject,
            },
            ..MountOptions::default()
        }
    }
}

/// The agent with a name.
pub(crate) fn agent(text: &str) -> Result<Agent, String> {
    let names = Agent::ALL.map(Agent::name);
    let unknown = || {
        let meant = did_you_mean(&nearest_names(text, names), "");
        // These have no home that metier could make, but read skills from an MCP server.
        let is_client = ["cursor", "vscode"].contains(&text);
        let other =
            if is_client { format!("; for {text}, see `metier serve --print-config {text}`") } else { meant };
        format!("unknown agent; supported: {}{other}", names.join(", "))
    };
    Agent::find(text).ok_or_else(unknown)
}

/// Notes which files were not copied.
pub(crate) fn note_skipped(mounted: &[MountedSkill], output: &mut Output) -> anyhow::Result<()> {
    for skill in mounted.iter().filter(|skill| !skill.skipped.is_empty()) {
        let paths: Vec<String> =
            skill.skipped.iter().take(5).map(|one| one.path.display().to_string()).collect();
        let count = counted(skill.skipped.len(), "file");
        output.note(format_args!("note: skipped {count} of `{}`: {}", skill.name, paths.join(", ")))?;
    }
    Ok(())
}
