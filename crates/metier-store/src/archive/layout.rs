//! Finds the skills in an archive by its paths: a folder with a `SKILL.md` directly inside is a skill.

use std::collections::BTreeSet;

use metier_skill::SKILL_FILES;

use super::error::ArchiveError;

/// Which skills an archive contains, and where they are.
///
/// Skills can be at the top (`x/SKILL.md`) or in other folders (`repo-main/skills/x/SKILL.md`). A `SKILL.md` inside a
/// skill is one of its files.
///
/// ```
/// use metier_store::ArchiveLayout;
///
/// let layout = ArchiveLayout::of(["repo/README.md", "repo/skills/x/SKILL.md", "repo/skills/x/a.py"])?;
/// assert_eq!(layout.skills(), ["repo/skills/x"]);
/// assert_eq!(layout.outside(), ["repo/README.md"]);
/// # Ok::<(), metier_store::ArchiveError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArchiveLayout {
    skills: Vec<String>,
    outside: Vec<String>,
}

impl ArchiveLayout {
    /// Finds the skills among these paths, which must be checked already ([`crate::UnpackedArchive::files`]). It is
    /// an error if there is none, or if the archive's root is a skill: a skill's folder must have its name.
    pub fn of<'p>(paths: impl IntoIterator<Item = &'p str>) -> Result<Self, ArchiveError> {
        let paths: BTreeSet<&str> = paths.into_iter().collect();
        let mut folders = BTreeSet::new();
        for path in &paths {
            match path.rsplit_once('/') {
                Some((folder, file)) if SKILL_FILES.contains(&file) => drop(folders.insert(folder)),
                None if SKILL_FILES.contains(path) => {
                    return Err(ArchiveError::SkillAtRoot { file: (*path).to_owned() });
                }
                _ => {}
            }
        }
        let skills: Vec<String> = folders
            .iter()
            .filter(|folder| above(folder).all(|above| !folders.contains(above)))
            .map(|folder| (*folder).to_owned())
            .collect();
        if skills.is_empty() {
            return Err(ArchiveError::NoSkill);
        }
        let is_outside = |path: &&&str| above(path).all(|above| !folders.contains(above));
        let outside = paths.iter().filter(is_outside).map(|path| (*path).to_owned()).collect();
        Ok(Self { skills, outside })
    }

    /// The folders of the skills, sorted.
    pub fn skills(&self) -> &[String] {
        &self.skills
    }

    /// The files outside of the skills' folders, sorted.
    pub fn outside(&self) -> &[String] {
        &self.outside
    }

    /// The folder of the only skill; an error if there are several, or other files.
    pub fn only(&self) -> Result<&str, ArchiveError> {
        match self.skills.as_slice() {
            [only] => self.nothing_outside().map(|()| only.as_str()),
            [first, second, ..] => Err(ArchiveError::SeveralSkills {
                count: self.skills.len(),
                first: first.clone(),
                second: second.clone(),
            }),
            [] => Err(ArchiveError::NoSkill),
        }
    }

    /// An error if a file is outside of the skills' folders.
    pub fn nothing_outside(&self) -> Result<(), ArchiveError> {
        match self.outside.first() {
            Some(file) => Err(ArchiveError::OutsideSkill { file: file.clone() }),
            None => Ok(()),
        }
    }
}

/// The folders above a path, nearest first.
fn above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(path.rsplit_once('/'), |(folder, _)| folder.rsplit_once('/'))
        .map(|(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code<T>(result: Result<T, ArchiveError>) -> &'static str {
        result.map_or_else(|error| error.code(), |_| "fine")
    }

    #[test]
    fn skills_are_where_a_skill_md_is() {
        let layout =
            ArchiveLayout::of(["b/skill.md", "a/SKILL.md", "a/inner/SKILL.md", "c/x.md", "a-b/y"]).unwrap();
        assert_eq!(layout.skills(), ["a", "b"]);
        assert_eq!(layout.outside(), ["a-b/y", "c/x.md"]);
        assert_eq!(code(layout.only()), "archive-several-skills");
        assert_eq!(code(layout.nothing_outside()), "archive-outside-skill");
        let one = ArchiveLayout::of(["deep/er/a/SKILL.md", "deep/er/a/b/c"]).unwrap();
        assert_eq!(one.only().unwrap(), "deep/er/a");
    }

    #[test]
    fn what_is_no_layout() {
        assert_eq!(code(ArchiveLayout::of([])), "archive-no-skill");
        assert_eq!(code(ArchiveLayout::of(["a/README.md", "a/Skill.md"])), "archive-no-skill");
        assert_eq!(code(ArchiveLayout::of(["SKILL.md", "a/SKILL.md"])), "archive-skill-at-root");
        assert_eq!(code(ArchiveLayout::of(["skill.md"])), "archive-skill-at-root");
        assert_eq!(
            code(ArchiveLayout::of(["a/SKILL.md", "README.md"]).unwrap().only()),
            "archive-outside-skill"
        );
    }
}
