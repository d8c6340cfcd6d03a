//! The step from a rendered prompt to a home: every skill that the prompt brings along, to where its agent finds it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use metier_prompt::{MountSource, RenderedPrompt, RenderedSkill, SkillKind, SkillMount};

use crate::error::HomeError;
use crate::home::Home;
use crate::mount::{MountOptions, MountedSkill, add_skills};
use crate::workspace::WorkingDirectory;

/// What a prompt brought into a home and a working directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledPrompt {
    /// The skills; those of the home's own settings first.
    pub skills: Vec<InstalledSkill>,
    /// Where the agent looks for skills in its home.
    pub directory: PathBuf,
}

/// A skill that was installed for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledSkill {
    /// The copy.
    pub mounted: MountedSkill,
    /// How it came into the prompt; `None` for a skill of the home's own settings.
    pub kind: Option<SkillKind>,
}

impl InstalledPrompt {
    /// The names of the skills that came into the prompt in one way.
    pub fn names(&self, kind: SkillKind) -> Vec<String> {
        let of_kind = self.skills.iter().filter(|skill| skill.kind == Some(kind));
        of_kind.map(|skill| skill.mounted.name.clone()).collect()
    }
}

/// Installs every skill of a rendered prompt: skills that are written in the prompt as files, skills that it refers to
/// as copies with their permissions, skills with a mount path into the workspace, and those of the home's settings.
///
/// This is the only place that turns a prompt's skills into files. If the home installs no skills, nothing is written;
/// render the prompt with `install_skills(home.installs_skills())`, so that the skills stay in its text instead.
pub fn install_prompt(
    rendered: &RenderedPrompt,
    home: &mut Home,
    working: &WorkingDirectory,
    options: &MountOptions,
) -> Result<InstalledPrompt, HomeError> {
    let directory = home.skills_directory();
    if !home.installs_skills() {
        return Ok(InstalledPrompt { skills: Vec::new(), directory });
    }
    let (native, placed): (Vec<&RenderedSkill>, Vec<&RenderedSkill>) =
        rendered.skills.iter().partition(|skill| skill.mount_path.is_none());
    let mounts: Vec<SkillMount> = native.iter().map(|skill| (*skill.mount).clone()).collect();
    let kind_of = |mounted: &MountedSkill, wanted: &[&RenderedSkill]| {
        wanted.iter().find(|skill| *skill.name == *mounted.name).map(|skill| skill.kind)
    };
    let mounted = home.mount(&mounts, options).map_err(failed(&native, &directory))?;
    let mut skills: Vec<InstalledSkill> = mounted
        .into_iter()
        .map(|mounted| InstalledSkill { kind: kind_of(&mounted, &native), mounted })
        .collect();
    for (path, wanted) in by_directory(&placed) {
        let mounts: Vec<SkillMount> = wanted.iter().map(|skill| (*skill.mount).clone()).collect();
        let target = workspace(working, path)?;
        let mounted = add_skills(&mounts, &target, options).map_err(failed(&wanted, &target))?;
        let placed = mounted.into_iter();
        skills.extend(placed.map(|mounted| InstalledSkill { kind: kind_of(&mounted, &wanted), mounted }));
    }
    Ok(InstalledPrompt { skills, directory })
}

/// Says which skill of the prompt could not be installed, and where.
fn failed(wanted: &[&RenderedSkill], directory: &Path) -> impl FnOnce(HomeError) -> HomeError {
    move |error| {
        let is_it = |skill: &&&RenderedSkill| match (error.skill(), skill.mount.source()) {
            (Some(name), _) => *skill.name == *name,
            (None, MountSource::Path(path)) => error.missing() == Some(path),
            _ => false,
        };
        let skill = wanted.iter().find(is_it);
        let own = [SkillKind::Inline, SkillKind::Referenced];
        match skill.filter(|skill| own.contains(&skill.kind)) {
            Some(skill) => HomeError::Installation {
                name: skill.name.to_string(),
                kind: skill.kind,
                skills_dir: directory.to_owned(),
                source: Box::new(error),
            },
            None => error,
        }
    }
}

fn by_directory<'a>(placed: &[&'a RenderedSkill]) -> BTreeMap<&'a str, Vec<&'a RenderedSkill>> {
    let mut all: BTreeMap<&str, Vec<&RenderedSkill>> = BTreeMap::new();
    for skill in placed {
        all.entry(skill.mount_path.as_deref().unwrap_or_default()).or_default().push(skill);
    }
    all
}

/// A directory of the workspace. The person's own directory is not written to.
fn workspace(working: &WorkingDirectory, path: &str) -> Result<PathBuf, HomeError> {
    match working {
        WorkingDirectory::Temporary(workspace) => Ok(workspace.path().join(Path::new(path))),
        WorkingDirectory::Given(directory) => {
            Err(HomeError::NoWorkspace { path: directory.clone(), mount: path.to_owned() })
        }
    }
}
