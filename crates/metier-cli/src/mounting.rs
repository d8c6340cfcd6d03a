//! The skills that a person wants mounted, and the record of that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use metier_catalog::{Catalog, Entry, State};
use metier_home::{Agent, MountOptions, MountedSkill, Rename};
use metier_journal::{Context, Event};
use metier_prompt::SkillMount;

use crate::config::{Flags, Rule};
use crate::exit::{NotFoundError, UsageError};
use crate::output::Output;
use crate::sessions::SessionArgs;
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
        self.check_given()?;
        if self.skill.is_empty() {
            return all(skills, output);
        }
        let named = self.skill.iter().map(|text| named(text, skills));
        checked(named.collect::<anyhow::Result<_>>()?, WhenRefused::Fail, skills, output)
    }

    /// The same without asking whether they may be used: for taking them away again.
    pub(crate) fn mounts_to_remove(&self, skills: &Skills) -> anyhow::Result<Vec<SkillMount>> {
        self.check_given()?;
        let candidates: Vec<Candidate> = if self.skill.is_empty() {
            skills
                .catalog
                .for_models()
                .map(|skill| candidate(skill.entry, skills))
                .collect::<anyhow::Result<_>>()?
        } else {
            self.skill.iter().map(|text| named(text, skills)).collect::<anyhow::Result<_>>()?
        };
        Ok(candidates.into_iter().map(|one| one.mount).collect())
    }

    fn check_given(&self) -> Result<(), UsageError> {
        if !self.skill.is_empty() || self.catalog.has_roots() {
            return Ok(());
        }
        let words = "which skills? name some with `--skill`, or all of a directory with `--root`";
        Err(UsageError(words.to_owned()))
    }

    /// The same, where roots without any skill are no mistake.
    pub(crate) fn mounts_or_none(
        &self,
        skills: &Skills,
        output: &mut Output,
    ) -> anyhow::Result<Vec<SkillMount>> {
        let is_empty = skills.catalog.skills().next().is_none() && skills.catalog.problems().is_empty();
        let exist = skills.catalog.roots().iter().all(|report| report.exists);
        if self.skill.is_empty() && self.catalog.has_roots() && is_empty && exist {
            output.note(format_args!(
                "note: there are no skills in what `--root` names; running without any"
            ))?;
            return Ok(Vec::new());
        }
        self.mounts(skills, output)
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
    for problem in skills.catalog.problems().iter().filter(|problem| !problem.code.leaves_usable()) {
        let (path, message) = (problem.path.display(), &problem.message);
        output.note(format_args!("note: left out: {path}: {message}; `metier validate {path}` says more"))?;
    }
    let hidden = skills.catalog.all().iter().filter(|entry| entry.shadowed_by.is_none());
    for entry in hidden.filter(|entry| !entry.state.is_for_models()) {
        let rule = skills.config.rule_of(entry);
        let by = rule.map_or_else(|| "its SKILL.md".to_owned(), Rule::origin);
        output.note(format_args!("note: left out: `{}` is {}, set by {by}", entry.name(), entry.state))?;
    }
    let all = skills.catalog.for_models();
    let all = all.map(|skill| candidate(skill.entry, skills)).collect::<anyhow::Result<Vec<_>>>()?;
    let mounts = checked(all, WhenRefused::LeaveOut, skills, output)?;
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

/// A skill that is to be mounted.
struct Candidate {
    mount: SkillMount,
    /// Its name, and its id in the catalog. A path that is not in the catalog has neither: whoever names it means it.
    known: Option<(String, String)>,
}

/// What happens with a skill that may not be used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WhenRefused {
    /// Nothing is mounted.
    Fail,
    /// The others are mounted, with a note.
    LeaveOut,
}

/// Those that are what was installed and that policy and answers allow to be loaded: an agent reads what is mounted by itself.
fn checked(
    candidates: Vec<Candidate>,
    when: WhenRefused,
    skills: &Skills,
    output: &mut Output,
) -> anyhow::Result<Vec<SkillMount>> {
    if candidates.iter().all(|one| one.known.is_none()) {
        return Ok(candidates.into_iter().map(|one| one.mount).collect());
    }
    let mut conversation = SessionArgs::default().open(skills, output)?;
    let (mut mounts, mut failed) = (Vec::new(), None);
    for Candidate { mount, known } in candidates {
        let Some((name, id)) = known else {
            mounts.push(mount);
            continue;
        };
        match conversation.session.check_mount(&id) {
            // What is copied later is compared with what was checked.
            Ok(digest) => mounts.push(mount.expecting(digest)),
            Err(error) if when == WhenRefused::LeaveOut => {
                output.note(format_args!("note: left out: `{name}`: {error}"))?;
            }
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    conversation.close(output)?;
    failed.map_or(Ok(mounts), |error| Err(error.into()))
}

fn candidate(entry: &Entry, skills: &Skills) -> anyhow::Result<Candidate> {
    Ok(Candidate {
        mount: mount_of(entry, skills)?,
        known: Some((entry.name().to_owned(), entry.id.to_string())),
    })
}

/// A skill at a path; where the catalog has it, it is checked like one that is named.
fn at_path(path: PathBuf, skills: &Skills) -> Candidate {
    let real = path.canonicalize().ok();
    let is_it = |entry: &&Entry| {
        entry.builtin().is_none()
            && entry.shadowed_by.is_none()
            && real.is_some()
            && entry.path().canonicalize().ok() == real
    };
    let entry = skills.catalog.all().iter().find(is_it);
    Candidate {
        mount: SkillMount::new(path),
        known: entry.map(|entry| (entry.name().to_owned(), entry.id.to_string())),
    }
}

/// A skill as somebody has named it: by its path, or by its name in the catalog.
fn named(text: &str, skills: &Skills) -> anyhow::Result<Candidate> {
    let (what, name) = match text.rsplit_once('=') {
        // A path may have one in it.
        Some((what, name)) if !skills.environment.absolute(Path::new(text)).exists() => (what, Some(name)),
        _ => (text, None),
    };
    let path = skills.environment.absolute(Path::new(what));
    let is_path = what.contains('/') || Path::new(what).extension().is_some_and(|end| end == "md");
    let Candidate { mount, known } = match find(&skills.catalog, what) {
        Some(entry) if !is_path => candidate(entry, skills)?,
        _ if is_path || path.exists() => at_path(path, skills),
        _ => return Err(skills.not_found(what).into()),
    };
    Ok(Candidate { mount: name.into_iter().fold(mount, SkillMount::named), known })
}

fn find<'a>(catalog: &'a Catalog, name: &str) -> Option<&'a Entry> {
    catalog.by_name(name).or_else(|| catalog.by_id(name))
}

fn mount_of(entry: &Entry, skills: &Skills) -> anyhow::Result<SkillMount> {
    if entry.state == State::Off {
        return Err(skills.off(entry).into());
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
    let event = Event::SkillsMounted { skills: digests, place: place.to_owned() };
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
