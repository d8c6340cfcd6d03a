//! The skills that a person wants mounted.

use clap::ValueEnum;
use metier_home::{Agent, MountOptions, MountedSkill, Rename};
use metier_host::{Approve, HostCatalog};
use metier_prompt::SkillMount;

use crate::exit::UsageError;
use crate::host::Flags;
use crate::output::Output;
use crate::table::counted;

/// Which skills.
#[derive(Debug, clap::Args)]
pub(crate) struct Chosen {
    /// A skill: its directory or file, or its name; `SKILL=NAME` mounts it as another. May be repeated
    #[arg(long, value_name = "SKILL[=NAME]")]
    skill: Vec<String>,

    #[command(flatten)]
    catalog: Flags,
}

/// Which skills, and how they are copied.
#[derive(Debug, clap::Args)]
pub(crate) struct Given {
    #[command(flatten)]
    pub(crate) chosen: Chosen,

    /// Let the copies be written to
    #[arg(long)]
    writable: bool,

    /// Mount what is no valid skill, too
    #[arg(long)]
    no_validate: bool,

    /// What a skill says that is mounted as something else
    #[arg(long, value_name = "HOW", default_value = "rewrite")]
    rename: RenameArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RenameArg {
    /// The new name
    Rewrite,
    /// What it said before
    Verbatim,
    /// It is not mounted
    Reject,
}

impl Chosen {
    /// The skills that are named; without any, all of the roots that are given.
    pub(crate) fn mounts(
        &self,
        skills: &HostCatalog,
        output: &mut Output,
    ) -> anyhow::Result<Vec<SkillMount>> {
        self.check_given()?;
        // Where nothing can be told, the rest is done all the same.
        let mut tell = |note: String| drop(output.note(format_args!("note: {note}")));
        Ok(skills.mounts(&self.skill, Approve::ask_terminal(), &mut tell)?)
    }

    /// The same without asking whether they may be used: for taking them away again.
    pub(crate) fn mounts_to_remove(&self, skills: &HostCatalog) -> anyhow::Result<Vec<SkillMount>> {
        self.check_given()?;
        Ok(skills.mounts_to_remove(&self.skill)?)
    }

    fn check_given(&self) -> Result<(), UsageError> {
        if !self.skill.is_empty() || self.catalog.has_roots() {
            return Ok(());
        }
        let words = "which skills? name some with `--skill`, or all of a directory with `--root`";
        Err(UsageError(words.to_owned()))
    }

    /// The same, where roots without any skill are not a mistake.
    pub(crate) fn mounts_or_none(
        &self,
        skills: &HostCatalog,
        output: &mut Output,
    ) -> anyhow::Result<Vec<SkillMount>> {
        if self.skill.is_empty() && self.catalog.has_roots() && skills.is_without_skills() {
            output.note(format_args!(
                "note: there are no skills in what `--root` names; running without any"
            ))?;
            return Ok(Vec::new());
        }
        self.mounts(skills, output)
    }

    /// What there is to choose from.
    pub(crate) fn skills(&self, output: &mut Output) -> anyhow::Result<HostCatalog> {
        self.catalog.find(output)
    }
}

impl Given {
    pub(crate) fn options(&self, skills: &HostCatalog) -> MountOptions {
        MountOptions {
            rules: skills.metier().settings().profile.value.rules(),
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

/// The agent of a name, as somebody types it.
pub(crate) fn agent(text: &str) -> Result<Agent, String> {
    let names: Vec<&str> = Agent::ALL.iter().map(|agent| agent.name()).collect();
    Agent::find(text).ok_or_else(|| format!("is none of {}", names.join(", ")))
}

/// Says what is not in the copies.
pub(crate) fn note_skipped(mounted: &[MountedSkill], output: &mut Output) -> anyhow::Result<()> {
    for skill in mounted.iter().filter(|skill| !skill.skipped.is_empty()) {
        let paths: Vec<String> =
            skill.skipped.iter().take(5).map(|one| one.path.display().to_string()).collect();
        let count = counted(skill.skipped.len(), "part");
        output.note(format_args!("note: {count} of `{}` not copied: {}", skill.name, paths.join(", ")))?;
    }
    Ok(())
}
