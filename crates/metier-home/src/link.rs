//! Links that make skills visible to an agent in a person's own home, and removing them again.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use metier_skill::{SkillName, is_skill_directory};

use crate::error::HomeError;

/// The result of linking or unlinking a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkedSkill {
    /// The link.
    pub link: PathBuf,
    /// The directory that it leads to.
    pub target: PathBuf,
    /// Whether it was created or removed by this call.
    pub is_new: bool,
}

/// Links a skill's directory into an agent's directory for skills. If something else has that name, it stays, and the result is an
/// error.
///
/// The link leads to the given path: an installed skill stays visible when an update replaces what its path leads to.
pub fn link_skill(name: &str, skill: &Path, directory: &Path) -> Result<LinkedSkill, HomeError> {
    check_name(name, skill)?;
    let real = fs::canonicalize(skill).map_err(|_| HomeError::NotFound { path: skill.to_owned() })?;
    // A link to a relative path would begin where the link is.
    let target = if skill.is_absolute() { skill.to_owned() } else { real.clone() };
    if !is_skill_directory(&real) {
        return Err(HomeError::NoDirectory { name: name.to_owned(), path: skill.to_owned() });
    }
    fs::create_dir_all(directory).map_err(HomeError::io("make", directory))?;
    let link = directory.join(name);
    match symlink(&target, &link) {
        Ok(()) => Ok(LinkedSkill { link, target, is_new: true }),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // Also where it is the skill itself.
            if fs::canonicalize(&link).is_ok_and(|known| known == real) {
                return Ok(LinkedSkill { link, target, is_new: false });
            }
            Err(HomeError::Duplicate { name: name.to_owned(), first: link, second: target })
        }
        Err(error) => Err(HomeError::io("link", &link)(error)),
    }
}

/// Removes a link that leads to the skill. Other files are not changed.
pub fn unlink_skill(name: &str, skill: &Path, directory: &Path) -> Result<LinkedSkill, HomeError> {
    check_name(name, skill)?;
    let link = directory.join(name);
    let target = fs::canonicalize(skill).unwrap_or_else(|_| skill.to_owned());
    match fs::read_link(&link) {
        Ok(known)
            if known == target
                || known == skill
                || fs::canonicalize(&link).is_ok_and(|real| real == target) =>
        {
            fs::remove_file(&link).map_err(HomeError::io("remove", &link))?;
            Ok(LinkedSkill { link, target, is_new: true })
        }
        _ => Ok(LinkedSkill { link, target, is_new: false }),
    }
}

fn check_name(name: &str, skill: &Path) -> Result<(), HomeError> {
    let wrong = |problem| HomeError::Name { name: name.to_owned(), path: skill.to_owned(), problem };
    SkillName::new(name).map(drop).map_err(wrong)
}
