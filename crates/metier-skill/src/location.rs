//! A skill on disk: finding it, reading it, validating it and computing its digest.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Stat};

use crate::diagnostic::Findings;
use crate::disk::{self, open_directory, open_regular};
use crate::error::SkillError;
use crate::tree::{self, Tree, is_executable, is_link_error};
use crate::{
    Code, Digest, Folder, Limits, Manifest, ManifestFile, Origin, Reading, Rules, Span, SymlinkPolicy, lint,
    read,
};

/// The file names that a skill's directory may use, preferred name first.
pub const SKILL_FILES: [&str; 2] = ["SKILL.md", "skill.md"];

/// The location of a skill: a directory, or a single Markdown file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    path: PathBuf,
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// The path is a directory; `name` must match the skill's name.
    Directory { name: String },
    /// The path is the file.
    File,
}

/// A reading, the findings so far and, for a directory, the opened file with its metadata.
struct Loaded<'a> {
    reading: Reading,
    findings: Findings<'a>,
    file: Option<(&'static str, Stat)>,
}

impl Location {
    /// Finds the skill at a path: a directory, its `SKILL.md`, or another Markdown file.
    pub fn find(path: &Path) -> Result<Self, SkillError> {
        let meta = fs::metadata(path).map_err(SkillError::io(path))?;
        if meta.is_dir() { Self::directory(path) } else { Self::of_file(path) }
    }

    /// The skill that a file at this path belongs to, whether or not it exists. Use it with
    /// [`Location::load_text`] for text that is not on disk.
    pub fn of_file(path: &Path) -> Result<Self, SkillError> {
        let is_skill_md = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
        match path.parent() {
            Some(parent) if is_skill_md && parent == Path::new("") => Self::directory(Path::new(".")),
            Some(parent) if is_skill_md => Self::directory(parent),
            _ => Ok(Self { path: path.to_owned(), form: Form::File }),
        }
    }

    /// The skill in a directory that is known to contain one.
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

    /// The directory that the files of findings are relative to.
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

    /// Reads the skill's file and checks it against the rules. Reads no other file.
    pub fn load(&self, rules: &Rules) -> Result<Reading, SkillError> {
        self.load_with(rules, |_, _| {})
    }

    /// [`Location::load`] with additional rules of another crate, which report to the same list. See
    /// [`Location::validate_with`].
    pub fn load_with(
        &self,
        rules: &Rules,
        lint: impl FnOnce(&Reading, &mut Findings<'_>),
    ) -> Result<Reading, SkillError> {
        let Loaded { reading, mut findings, .. } = self.load_from(None, rules)?;
        lint(&reading, &mut findings);
        Ok(reading.with(findings))
    }

    /// Checks a text as if it were the skill's file, such as an editor's buffer or standard input. Reads
    /// nothing from disk. Rules of another crate report to the same list, as in [`Location::validate_with`].
    ///
    /// ```
    /// use std::path::Path;
    /// use metier_skill::{Location, Rules};
    ///
    /// let location = Location::of_file(Path::new("skills/pdf/SKILL.md"))?;
    /// let text = "---\nname: PDF\ndescription: Use when a form is to be filled in.\n---\nFill it in.\n";
    /// let reading = location.load_text(text, &Rules::standard(), |_, _| {});
    /// assert_eq!(reading.diagnostics[0].message, "the name `PDF` must be lower case");
    /// # Ok::<(), metier_skill::SkillError>(())
    /// ```
    pub fn load_text(
        &self,
        text: impl Into<Vec<u8>>,
        rules: &Rules,
        lint: impl FnOnce(&Reading, &mut Findings<'_>),
    ) -> Reading {
        let file = match &self.form {
            Form::Directory { .. } => SKILL_FILES[0].into(),
            Form::File => self.path.file_name().unwrap_or_default().to_string_lossy(),
        };
        let mut findings = Findings::new(rules, &file);
        let origin = Origin { file: &file, directory: self.name() };
        let reading = read::parse(text.into(), origin, &mut findings);
        lint::text(&reading, &mut findings);
        lint(&reading, &mut findings);
        reading.with(findings)
    }

    /// [`Location::load`], plus checks of the files around `SKILL.md`: limits and advice.
    pub fn validate(&self, rules: &Rules) -> Result<Reading, SkillError> {
        self.validate_with(rules, |_, _| {})
    }

    /// [`Location::validate`] with additional rules of another crate. They get the reading, whose `diagnostics`
    /// are still empty, and report to the same list.
    ///
    /// `metier validate`, `show`, `install` and sessions pass `metier_policy::lint`, which checks the rules for
    /// tools.
    pub fn validate_with(
        &self,
        rules: &Rules,
        lint: impl FnOnce(&Reading, &mut Findings<'_>),
    ) -> Result<Reading, SkillError> {
        if self.is_single_file() {
            return self.load_with(rules, lint);
        }
        let directory = open_directory(CWD, &self.path).map_err(SkillError::io(&self.path))?;
        let Loaded { reading, mut findings, file } = self.load_from(Some(&directory), rules)?;
        if let Some((file, stat)) = file {
            let tree = Tree::below(directory, &self.path, Some((file, stat)), &rules.limits, rules.symlinks)?;
            lint::directory(&reading, &tree, &mut findings);
            lint::group(&self.path, &mut findings);
        }
        lint(&reading, &mut findings);
        Ok(reading.with(findings))
    }

    /// Every file of the skill.
    pub fn tree(&self, limits: &Limits, symlinks: SymlinkPolicy) -> Result<Tree, SkillError> {
        match self.form {
            Form::Directory { .. } => Tree::of_directory(&self.path, limits, symlinks),
            Form::File => Tree::of_file(&self.path, limits),
        }
    }

    /// The digest of the whole skill. It covers every regular file's path, executable bit and content.
    ///
    /// It is the SHA-256 of the text `metier-tree-1` and a zero byte, followed by one entry for each file in
    /// byte order of the paths: the 64 digits of the content's SHA-256, a space, `x` if the owner may execute
    /// it or `-` otherwise, a space, the path with `/` as separator, and a zero byte. Links, special files and
    /// version-control directories are skipped. A file that cannot be read is an error. A single-file skill
    /// counts as a directory that contains it as `SKILL.md`.
    pub fn tree_digest(&self, limits: &Limits) -> Result<Digest, SkillError> {
        self.manifest(limits).map(|manifest| manifest.digest())
    }

    /// The manifest of the skill's files, if they are within the limits. Each file is read once.
    pub fn manifest(&self, limits: &Limits) -> Result<Manifest, SkillError> {
        if let Form::Directory { .. } = self.form {
            return Folder::open(&self.path)?.manifest(limits);
        }
        // The user named this path, so links are followed.
        let target = fs::canonicalize(&self.path).map_err(SkillError::io(&self.path))?;
        let (file, stat) = open_regular(CWD, &target).map_err(SkillError::io(&self.path))?;
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        if size > limits.skill_bytes {
            let what = format!("more than {} bytes", limits.skill_bytes);
            return Err(SkillError::Limit { path: self.root().to_owned(), what });
        }
        let bytes = disk::read_all(file, size).map_err(SkillError::io(&self.path))?;
        let file = ManifestFile::new(SKILL_FILES[0], is_executable(&stat), Digest::of(&bytes));
        Ok(Manifest::new(vec![file]))
    }

    /// Reads the skill's file, relative to its directory's handle if that is open.
    fn load_from<'r>(&self, directory: Option<&OwnedFd>, rules: &'r Rules) -> Result<Loaded<'r>, SkillError> {
        match &self.form {
            Form::Directory { name } => self.load_directory(name, directory, rules),
            Form::File => self.load_file(rules),
        }
    }

    fn load_directory<'r>(
        &self,
        name: &str,
        directory: Option<&OwnedFd>,
        rules: &'r Rules,
    ) -> Result<Loaded<'r>, SkillError> {
        let nothing = |file: &str, code: Code, message: &str| Ok(Loaded::nothing(rules, file, code, message));
        let open = |file: &str| match directory {
            Some(directory) => open_regular(directory, file),
            None => open_regular(CWD, self.path.join(file)),
        };
        for file in SKILL_FILES {
            let opened = match open(file) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) if is_link_error(&error) => match self.open_link(file, rules) {
                    Some(opened) => opened,
                    // A dangling link does not keep the other file name from being tried.
                    None if file == SKILL_FILES[0] && tree::exists(&self.path.join(SKILL_FILES[1])) => {
                        continue;
                    }
                    None => return nothing(file, Code::SkillMdLink, LINK),
                },
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    let message = format!("`{file}` is not a regular file; replace it with one");
                    return nothing(file, Code::SkillMdNotFile, &message);
                }
                Err(source) => return Err(SkillError::Io { path: self.path.join(file), source }),
                Ok(opened) => opened,
            };
            let origin = Origin { file, directory: Some(name) };
            let stat = opened.1;
            let mut findings = Findings::new(rules, file);
            self.report_file_name(file, &mut findings);
            let reading = read_open(opened, &self.path, origin, &mut findings)?;
            return Ok(Loaded { reading, findings, file: Some((file, stat)) });
        }
        nothing(
            "SKILL.md",
            Code::SkillMdMissing,
            "the directory has no `SKILL.md` (in capitals); add one, or create a skill with `metier new`",
        )
    }

    /// Reports on the file's name, and on a link that was followed.
    fn report_file_name(&self, file: &str, findings: &mut Findings<'_>) {
        let follows = findings.rules().symlinks == SymlinkPolicy::FollowWithinRoot;
        if follows && self.path.join(file).is_symlink() {
            findings.report(Code::SkillMdLinkFollowed, Span::default(), LINK);
        }
        if file == "skill.md" {
            let message =
                "the file is called `skill.md`; most agents on Linux only find `SKILL.md`; rename it";
            findings.report(Code::SkillMdLowercase, Span::default(), message);
        }
    }

    /// Opens the target of a link, if the rules allow it and it is inside the skill.
    fn open_link(&self, file: &str, rules: &Rules) -> Option<(File, Stat)> {
        if rules.symlinks != SymlinkPolicy::FollowWithinRoot {
            return None;
        }
        let target = fs::canonicalize(self.path.join(file)).ok()?;
        let root = fs::canonicalize(&self.path).ok()?;
        target.starts_with(root).then(|| open_regular(CWD, &target).ok()).flatten()
    }

    fn load_file<'r>(&self, rules: &'r Rules) -> Result<Loaded<'r>, SkillError> {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_markdown = self.path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
        if !is_markdown {
            let message =
                "a skill must be markdown: a directory with `SKILL.md`, or a file whose name ends in `.md`";
            return Ok(Loaded::nothing(rules, &file, Code::NotMarkdown, message));
        }
        // The user named this path, so links are followed.
        let target = fs::canonicalize(&self.path).map_err(SkillError::io(&self.path))?;
        let opened = open_regular(CWD, &target).map_err(SkillError::io(&self.path))?;
        let mut findings = Findings::new(rules, &file);
        let reading = read_open(opened, &self.path, Origin::file(&file), &mut findings)?;
        Ok(Loaded { reading, findings, file: None })
    }
}

impl<'a> Loaded<'a> {
    /// Nothing could be read, for this one reason.
    fn nothing(rules: &'a Rules, file: &str, code: Code, message: &str) -> Self {
        let mut findings = Findings::new(rules, file);
        findings.report(code, Span::default(), message);
        Self { reading: Reading::nothing(file), findings, file: None }
    }
}

const LINK: &str = "`SKILL.md` is a symbolic link, and Codex silently skips the skill; replace the link with the file itself";

/// Reads an open file, up to the limit.
fn read_open(
    (opened, stat): (File, Stat),
    path: &Path,
    origin: Origin<'_>,
    findings: &mut Findings<'_>,
) -> Result<Reading, SkillError> {
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if size > findings.rules().limits.skill_md_bytes {
        read::report_too_large(size, findings);
        return Ok(Reading::nothing(origin.file));
    }
    let bytes = disk::read_all(opened, size).map_err(SkillError::io(path))?;
    let reading = read::parse(bytes, origin, findings);
    lint::text(&reading, findings);
    Ok(reading)
}

/// Reads and validates the skill at a path: a directory, its `SKILL.md`, or a single markdown file.
///
/// Problems of the skill are in the [`Reading`]; an error means that nothing could be read.
pub fn validate_skill(path: &Path, rules: &Rules) -> Result<Reading, SkillError> {
    Location::find(path)?.validate(rules)
}

/// Loads the skill at a path, and fails if it is not valid.
pub fn load_skill(path: &Path, rules: &Rules) -> Result<crate::Skill, SkillError> {
    let reading = Location::find(path)?.load(rules)?;
    reading.into_valid().map_err(|diagnostics| SkillError::Validation { path: path.to_owned(), diagnostics })
}

/// The default name of a skill at this path: its directory's or file's name.
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

/// Whether a directory contains a skill's file.
pub fn is_skill_directory(path: &Path) -> bool {
    SKILL_FILES.iter().any(|file| tree::exists(&path.join(file)))
}
