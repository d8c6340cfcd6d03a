//! Where one skill is on disk, and its way from there: found, read, validated, digested.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::error::SkillError;
use crate::tree::{self, Tree, is_link_error, open_regular};
use crate::{
    Code, Diagnostic, Digest, Limits, Origin, Reading, Rules, SymlinkPolicy, lint, read, tree_digest,
};

/// The names that the file of a skill's directory may have, the better one first.
pub const SKILL_FILES: [&str; 2] = ["SKILL.md", "skill.md"];

/// Where a skill is: a directory, or a markdown file that stands for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    path: PathBuf,
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// The path is the directory; its name is the one to match.
    Directory { name: String },
    /// The path is the file.
    File,
}

impl Location {
    /// The skill at a path: a directory, its `SKILL.md`, or another markdown file.
    pub fn find(path: &Path) -> Result<Self, SkillError> {
        let meta = fs::metadata(path).map_err(SkillError::io(path))?;
        if meta.is_dir() {
            return Self::directory(path);
        }
        let is_skill_md = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
        match path.parent() {
            Some(parent) if is_skill_md && parent == Path::new("") => Self::directory(Path::new(".")),
            Some(parent) if is_skill_md => Self::directory(parent),
            _ => Ok(Self { path: path.to_owned(), form: Form::File }),
        }
    }

    /// The skill in a directory that is known to be one.
    pub fn directory(path: &Path) -> Result<Self, SkillError> {
        // `.` and `a/..` have no name of their own.
        let name = match path.file_name() {
            Some(name) => name.to_owned(),
            None => {
                let real = fs::canonicalize(path).map_err(SkillError::io(path))?;
                real.file_name().unwrap_or_default().to_owned()
            }
        };
        let name = name.to_string_lossy().into_owned();
        Ok(Self { path: path.to_owned(), form: Form::Directory { name } })
    }

    /// The path of the directory or the single file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the directory, which the skill's name must match; `None` for a single file.
    pub fn name(&self) -> Option<&str> {
        match &self.form {
            Form::Directory { name } => Some(name),
            Form::File => None,
        }
    }

    /// The directory that findings' files are relative to.
    pub fn root(&self) -> &Path {
        match self.form {
            Form::Directory { .. } => &self.path,
            Form::File => self.path.parent().unwrap_or(Path::new("")),
        }
    }

    /// Whether the skill is a single file.
    pub fn is_single_file(&self) -> bool {
        self.form == Form::File
    }

    /// Reads the skill's file and holds it to the rules. This is one file read and nothing else.
    pub fn load(&self, rules: &Rules) -> Result<Reading, SkillError> {
        self.load_named(rules).map(|(reading, _)| reading)
    }

    /// [`Location::load`], and advice on the text and on the files around it.
    pub fn validate(&self, rules: &Rules) -> Result<Reading, SkillError> {
        let (mut reading, file) = self.load_named(rules)?;
        let Some(file) = file else { return Ok(reading) };
        let mut advice = lint::text(&reading, &file, rules);
        if !self.is_single_file() {
            let tree = self.tree(&rules.limits, rules.symlinks)?;
            advice.extend(lint::directory(&reading, &file, &tree, rules));
            advice.extend(lint::group(&self.path, &file, rules));
        }
        reading.diagnostics.append(&mut advice);
        // In the order of the text; what is about other files comes after.
        reading.diagnostics.sort_by(|a, b| {
            let key = |found: &Diagnostic| (found.file != file, found.file.clone(), found.span);
            key(a).cmp(&key(b))
        });
        Ok(reading)
    }

    /// Every file of the skill.
    pub fn tree(&self, limits: &Limits, symlinks: SymlinkPolicy) -> Result<Tree, SkillError> {
        match self.form {
            Form::Directory { .. } => Tree::of_directory(&self.path, limits, symlinks),
            Form::File => Tree::of_file(&self.path),
        }
    }

    /// The digest of the whole skill, if it keeps the limits.
    pub fn tree_digest(&self, limits: &Limits) -> Result<Digest, SkillError> {
        let tree = self.tree(limits, SymlinkPolicy::Skip)?;
        tree.within(limits)?;
        tree_digest(&tree)
    }

    /// The reading, and the name of the file it came from, if there is one.
    fn load_named(&self, rules: &Rules) -> Result<(Reading, Option<String>), SkillError> {
        match &self.form {
            Form::Directory { name } => self.load_directory(name, rules),
            Form::File => self.load_file(rules),
        }
    }

    fn load_directory(&self, name: &str, rules: &Rules) -> Result<(Reading, Option<String>), SkillError> {
        for file in SKILL_FILES {
            let path = self.path.join(file);
            let opened = match open_regular(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) if is_link_error(&error) => match self.open_link(&path, rules) {
                    Some(opened) => opened,
                    None if fs::metadata(&path).is_err() => continue,
                    None => {
                        return Ok((Reading::nothing(rules, file, Code::SkillMdLink, LINK), None));
                    }
                },
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    let message = format!("`{file}` is not a regular file; put one in its place");
                    return Ok((Reading::nothing(rules, file, Code::SkillMdMissing, message), None));
                }
                Err(error) => {
                    return Err(SkillError::Io { path, source: error });
                }
                Ok(opened) => opened,
            };
            let origin = Origin { file, directory: Some(name) };
            let mut reading = read_open(opened, &path, origin, rules)?;
            report_file_name(file, &path, rules, &mut reading);
            return Ok((reading, Some(file.to_owned())));
        }
        let message = "the directory has no `SKILL.md`; add one, or run `metier new`";
        Ok((Reading::nothing(rules, "SKILL.md", Code::SkillMdMissing, message), None))
    }

    /// The file that a link stands for, where the rules follow it and it leads into the skill.
    fn open_link(&self, path: &Path, rules: &Rules) -> Option<File> {
        if rules.symlinks != SymlinkPolicy::FollowWithinRoot {
            return None;
        }
        let target = fs::canonicalize(path).ok()?;
        let root = fs::canonicalize(&self.path).ok()?;
        target.starts_with(root).then(|| open_regular(&target).ok()).flatten()
    }

    fn load_file(&self, rules: &Rules) -> Result<(Reading, Option<String>), SkillError> {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_markdown = self.path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
        if !is_markdown {
            let message =
                "a skill must be markdown: a directory with `SKILL.md`, or a file whose name ends in `.md`";
            return Ok((Reading::nothing(rules, &file, Code::NotMarkdown, message), None));
        }
        // The path was given, so a link there is meant.
        let target = fs::canonicalize(&self.path).map_err(SkillError::io(&self.path))?;
        let opened = open_regular(&target).map_err(SkillError::io(&self.path))?;
        let reading = read_open(opened, &self.path, Origin::file(&file), rules)?;
        Ok((reading, Some(file)))
    }
}

const LINK: &str =
    "`SKILL.md` is a symbolic link, and Codex skips such a skill without a word; put the file itself here";

/// What there is to say of the file as such: its name, and that it is a link which was followed.
fn report_file_name(file: &str, path: &Path, rules: &Rules, reading: &mut Reading) {
    if file == "skill.md" {
        let message =
            "the file is called `skill.md`; on Linux most agents look for `SKILL.md` only, so rename it";
        let found = Reading::nothing(rules, file, Code::SkillMdLowercase, message);
        reading.diagnostics.splice(0..0, found.diagnostics);
    }
    if rules.symlinks == SymlinkPolicy::FollowWithinRoot && path.is_symlink() {
        let found = Reading::nothing(rules, file, Code::SkillMdLink, LINK);
        reading.diagnostics.splice(0..0, found.diagnostics);
    }
}

/// Reads an open file, but no more than the limit allows.
fn read_open(
    mut opened: File,
    path: &Path,
    origin: Origin<'_>,
    rules: &Rules,
) -> Result<Reading, SkillError> {
    let io = |source| SkillError::Io { path: path.to_owned(), source };
    let size = opened.metadata().map_err(io)?.len();
    let most = rules.limits.skill_md_bytes;
    if size > most {
        let message = read::too_large(size, rules);
        return Ok(Reading::nothing(rules, origin.file, Code::SkillMdTooLarge, message));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    // It may have grown since; one byte more than the limit is enough to tell.
    opened.by_ref().take(most + 1).read_to_end(&mut bytes).map_err(io)?;
    Ok(read::read(bytes, origin, rules))
}

/// Reads and validates the skill at a path: a directory, its `SKILL.md`, or a single markdown file.
///
/// What is wrong with the skill is in the [`Reading`]; an error means that there is nothing to look at.
pub fn validate_skill(path: &Path, rules: &Rules) -> Result<Reading, SkillError> {
    Location::find(path)?.validate(rules)
}

/// The valid skill at a path, for callers that cannot do with less.
pub fn load_skill(path: &Path, rules: &Rules) -> Result<crate::Skill, SkillError> {
    let reading = Location::find(path)?.load(rules)?;
    reading.into_valid().map_err(|diagnostics| SkillError::Validation { path: path.to_owned(), diagnostics })
}

/// The name a skill at this path would have if nobody gave it another: its directory's or file's.
///
/// ```
/// use std::path::Path;
/// use metier_skill::effective_name;
///
/// assert_eq!(effective_name(Path::new("skills/code-review")).as_deref(), Some("code-review"));
/// assert_eq!(effective_name(Path::new("skills/code-review/SKILL.md")).as_deref(), Some("code-review"));
/// assert_eq!(effective_name(Path::new("skills/testing.md")).as_deref(), Some("testing"));
/// ```
pub fn effective_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    if name.eq_ignore_ascii_case("SKILL.md") {
        return Some(path.parent()?.file_name()?.to_str()?.to_owned());
    }
    let is_markdown = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
    let stem = path.file_stem().filter(|_| is_markdown).and_then(|stem| stem.to_str());
    Some(stem.unwrap_or(name).to_owned())
}

/// Whether a directory has a skill's file.
pub fn is_skill_directory(path: &Path) -> bool {
    SKILL_FILES.iter().any(|file| tree::exists(&path.join(file)))
}
