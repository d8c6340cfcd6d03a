//! The skills that a person wants mounted, and the record of that.

use std::collections::BTreeMap;
use std::path::Path;

use clap::ValueEnum;
use metier_catalog::{Catalog, Entry, State};
use metier_home::{Agent, MountOptions, MountedSkill, Rename};
use metier_journal::{Context, Event};
use metier_prompt::SkillMount;

use crate::config::Flags;
use crate::exit::{NotFoundError, UsageError};
use crate::output::Output;
use crate::skills::Skills;
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
    pub(crate) fn mounts(&self, skills: &Skills, output: &mut Output) -> anyhow::Result<Vec<SkillMount>> {
        if self.skill.is_empty() {
            if !self.catalog.has_roots() {
                let words = "which skills? name some with `--skill`, or all of a directory with `--root`";
                return Err(UsageError(words.to_owned()).into());
            }
            return all(skills, output);
        }
        self.skill.iter().map(|text| named(text, skills)).collect()
    }

    /// What there is to choose from.
    pub(crate) fn skills(&self, output: &mut Output) -> anyhow::Result<Skills> {
        Skills::find(&self.catalog, output)
    }
}

impl Given {
    pub(crate) fn options(&self, skills: &Skills) -> MountOptions {
        MountOptions {
            rules: skills.config.profile.value.rules(),
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

/// Every skill of the roots; what cannot be used is said.
fn all(skills: &Skills, output: &mut Output) -> anyhow::Result<Vec<SkillMount>> {
    if let Some(missing) = skills.catalog.roots().iter().find(|report| !report.exists) {
        let words = format!("there is no directory {}; mend `--root`", missing.root.path.display());
        return Err(NotFoundError(words).into());
    }
    for problem in skills.catalog.problems() {
        let (path, message) = (problem.path.display(), &problem.message);
        output.note(format_args!("note: left out: {path}: {message}; `metier validate {path}` says more"))?;
    }
    let all = skills.catalog.skills().filter(|entry| entry.state.is_for_models());
    let mounts = all.map(|entry| mount_of(entry, skills)).collect::<anyhow::Result<Vec<_>>>()?;
    if mounts.is_empty() {
        return Err(NotFoundError("there are no skills in what `--root` names".to_owned()).into());
    }
    Ok(mounts)
}

/// The agent of a name, as somebody types it.
pub(crate) fn agent(text: &str) -> Result<Agent, String> {
    let names: Vec<&str> = Agent::ALL.iter().map(|agent| agent.name()).collect();
    Agent::find(text).ok_or_else(|| format!("is none of {}", names.join(", ")))
}

/// A skill as somebody has named it: by its path, or by its name in the catalog.
fn named(text: &str, skills: &Skills) -> anyhow::Result<SkillMount> {
    let (what, name) = match text.rsplit_once('=') {
        // A path may have one in it.
        Some((what, name)) if !skills.environment.absolute(Path::new(text)).exists() => (what, Some(name)),
        _ => (text, None),
    };
    let path = skills.environment.absolute(Path::new(what));
    let is_path = what.contains('/') || Path::new(what).extension().is_some_and(|end| end == "md");
    let mount = match find(&skills.catalog, what) {
        Some(entry) if !is_path => mount_of(entry, skills)?,
        _ if is_path || path.exists() => SkillMount::new(path),
        _ => {
            let words = match skills.unusable(what) {
                Some(problem) => {
                    let (path, message) = (problem.path.display(), &problem.message);
                    format!("`{what}` cannot be used: {message}; `metier validate {path}` says more")
                }
                None => format!("there is no skill `{what}`; `metier list` shows those there are"),
            };
            return Err(NotFoundError(words).into());
        }
    };
    Ok(name.into_iter().fold(mount, SkillMount::named))
}

fn find<'a>(catalog: &'a Catalog, name: &str) -> Option<&'a Entry> {
    catalog.find(name).or_else(|| catalog.get(name))
}

fn mount_of(entry: &Entry, skills: &Skills) -> anyhow::Result<SkillMount> {
    if entry.state == State::Off {
        return Err(NotFoundError(format!(
            "`{}` is switched off here; `metier show {0}` says by what",
            entry.name()
        ))
        .into());
    }
    let Some(builtin) = entry.builtin() else { return Ok(SkillMount::new(entry.path())) };
    let nowhere = || UsageError(format!("there is nowhere to unpack `{}`; set HOME", entry.name()));
    let cache = skills.environment.cache_directory().ok_or_else(nowhere)?;
    Ok(SkillMount::new(builtin.unpack(&cache.join("builtin"))?))
}

/// Records what was mounted where, or says why nothing was.
pub(crate) fn record(
    mounted: &[MountedSkill],
    place: &str,
    skills: &Skills,
    output: &mut Output,
) -> anyhow::Result<()> {
    if mounted.is_empty() {
        return Ok(());
    }
    let recorder = skills.config.recording.open(&skills.environment)?;
    let digests: BTreeMap<_, _> =
        mounted.iter().map(|skill| (skill.name.clone(), skill.tree_digest)).collect();
    let event = Event::SkillsInstalled { skills: digests, source: place.to_owned(), accepted: Vec::new() };
    recorder.record(&Context::default(), &event)?;
    recorder.close(output)
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
