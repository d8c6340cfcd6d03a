//! Copies one skill, file by file, into a directory that is not visible yet.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

use metier_skill::{
    Digest, Folder, Manifest, ManifestFile, Origin, Reading, SKILL_FILES, ScalarKind, Skill, SkillError,
    SkillName, SkipReason, SkippedFile, Tree, TreeWriter, Value, read,
};

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::error::HomeError;
use crate::mount::{MountOptions, Rename};

/// What was copied.
pub(crate) struct Copied {
    /// What the skill said that it is called.
    pub(crate) own_name: Option<String>,
    pub(crate) bytes: u64,
    pub(crate) files: usize,
    pub(crate) skipped: Vec<SkippedFile>,
    pub(crate) tree_digest: Digest,
}

/// A copy that is being made.
pub(crate) struct Copy<'a> {
    name: &'a str,
    /// Where it comes from, as messages show it.
    source: &'a Path,
    is_directory: bool,
    target: &'a Path,
    options: &'a MountOptions,
    /// Made with the first file.
    writer: Option<(TreeWriter, u32)>,
    bytes: u64,
    skipped: Vec<SkippedFile>,
    own_name: Option<String>,
    /// What the digest of the source must be.
    expected: Option<Digest>,
}

impl<'a> Copy<'a> {
    pub(crate) fn new(name: &'a str, source: &'a Path, target: &'a Path, options: &'a MountOptions) -> Self {
        Self {
            name,
            source,
            is_directory: source.is_dir(),
            target,
            options,
            writer: None,
            bytes: 0,
            skipped: Vec::new(),
            own_name: None,
            expected: None,
        }
    }

    /// The same, where the source must have this digest.
    pub(crate) fn expecting(self, expected: Option<Digest>) -> Self {
        Self { expected, ..self }
    }

    /// Fails if the files that were copied are not those that were expected.
    fn check(&self, source: &Manifest) -> Result<(), HomeError> {
        if self.expected.is_none_or(|expected| source.digest() == expected) {
            return Ok(());
        }
        Err(HomeError::Changed { name: self.name.to_owned(), path: self.source.to_owned() })
    }

    /// Everything beneath a directory, without links.
    pub(crate) fn directory(&mut self, source: &Path) -> Result<(), HomeError> {
        let mut failed = None;
        let captured = Folder::open(source).and_then(|folder| {
            folder.capture(&self.options.rules.limits, |file, bytes| {
                let done = self.file(&file.path, file.executable, bytes);
                done.map_err(|error| {
                    failed = Some(error);
                    io::ErrorKind::Other.into()
                })
            })
        });
        match (failed, captured) {
            (Some(error), _) => Err(error),
            (None, Ok(captured)) => {
                self.skipped = captured.skipped;
                self.check(&captured.manifest)
            }
            (None, Err(SkillError::NotFound { .. })) => self.without_skill_md(source),
            (None, Err(error)) => Err(self.error(source, error)),
        }
    }

    /// A directory without its own `SKILL.md`: the file is a link, or invalid skills are accepted.
    fn without_skill_md(&mut self, source: &Path) -> Result<(), HomeError> {
        if SKILL_FILES.iter().any(|name| fs::symlink_metadata(source.join(name)).is_ok()) {
            return Err(HomeError::SkillMdLink { name: self.name.to_owned(), path: source.to_owned() });
        }
        let tree = self.tree(source)?;
        self.skipped = tree.skipped;
        self.check(&Manifest::new(Vec::new()))
    }

    /// The same, with links inside the skill as the files that they lead to.
    pub(crate) fn directory_with_links(&mut self, source: &Path) -> Result<(), HomeError> {
        let tree = self.tree(source)?;
        if let Some(outside) = tree.skipped.iter().find(|skipped| skipped.reason == SkipReason::LinkOutside) {
            let (name, path) = (self.name.to_owned(), source.to_owned());
            return Err(HomeError::LinkOutside { name, path, link: outside.path.clone() });
        }
        // A digest covers what is in the skill without its links.
        let mut own = Vec::new();
        for file in &tree.files {
            let mut bytes = Vec::new();
            let opened = tree.open(file).map_err(|error| self.error(source, error))?;
            let limit = self.options.rules.limits.skill_bytes + 1;
            let path = tree.path_of(file);
            opened.take(limit).read_to_end(&mut bytes).map_err(|error| self.io(&path, error))?;
            self.file(&file.path, file.executable, &bytes)?;
            if self.expected.is_some() && !file.is_linked() {
                own.push(ManifestFile::new(&file.path, file.executable, Digest::of(&bytes)));
            }
        }
        self.skipped = tree.skipped;
        self.check(&Manifest::new(own))
    }

    fn tree(&self, source: &Path) -> Result<Tree, HomeError> {
        let (limits, symlinks) = (&self.options.rules.limits, self.options.rules.symlinks);
        let tree = Tree::of_directory(source, limits, symlinks);
        let tree = tree.and_then(|tree| tree.within(limits).map(|()| tree));
        tree.map_err(|error| self.error(source, error))
    }

    /// A markdown file that stands for a directory.
    pub(crate) fn single_file(&mut self, source: &Path) -> Result<(), HomeError> {
        let mut bytes = Vec::new();
        let limit = self.options.rules.limits.skill_md_bytes.max(self.options.rules.limits.skill_bytes);
        // Opened without blocking, because the file may have been replaced by a pipe without a writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = openat(CWD, source, flags, Mode::empty()).map_err(io::Error::from);
        let file = File::from(opened.map_err(|error| self.io(source, error))?);
        if !file.metadata().is_ok_and(|meta| meta.is_file()) {
            return Err(
                self.io(source, io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
            );
        }
        file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| self.io(source, error))?;
        self.file(Path::new(SKILL_FILES[0]), false, &bytes)?;
        self.check(&Manifest::new(vec![ManifestFile::new(SKILL_FILES[0], false, Digest::of(&bytes))]))
    }

    /// One file.
    pub(crate) fn file(&mut self, path: &Path, executable: bool, bytes: &[u8]) -> Result<(), HomeError> {
        let is_skill_md = SKILL_FILES.iter().any(|name| path == Path::new(name));
        let limits = &self.options.rules.limits;
        let most = if is_skill_md { Some(limits.skill_md_bytes) } else { self.options.file_bytes };
        if let Some(limit) = most.filter(|limit| bytes.len() as u64 > *limit) {
            let what = format!("`{}` of {}", path.display(), self.called());
            return Err(HomeError::Size { what, limit });
        }
        if self.bytes + bytes.len() as u64 > limits.skill_bytes {
            let what = format!("the total size of {}", self.called());
            return Err(HomeError::Size { what, limit: limits.skill_bytes });
        }
        if !is_skill_md {
            return self.write(path, executable, bytes);
        }
        if path == Path::new(SKILL_FILES[1])
            && self
                .writer
                .iter()
                .any(|(writer, _)| writer.files().iter().any(|file| file.path == Path::new(SKILL_FILES[0])))
        {
            // The better one is there; this is a file like any other.
            return self.write(path, executable, bytes);
        }
        let text = self.named(bytes)?;
        self.write(Path::new(SKILL_FILES[0]), executable, &text)
    }

    /// A `SKILL.md` that says what it is mounted as, where that is wanted.
    fn named(&mut self, bytes: &[u8]) -> Result<Vec<u8>, HomeError> {
        let origin = Origin { file: SKILL_FILES[0], directory: Some(self.name) };
        if let Some(text) = self.synthesized(bytes) {
            return Ok(text);
        }
        let reading = read(bytes, origin, &self.options.rules);
        self.own_name = reading.skill.as_ref().map(|skill| skill.name.clone());
        let own = self.own_name.clone().unwrap_or_default();
        if own == self.name || own.is_empty() || self.options.rename == Rename::Verbatim {
            return Ok(bytes.to_vec());
        }
        if self.options.rename == Rename::Reject {
            let (name, path) = (self.name.to_owned(), self.source.to_owned());
            return Err(HomeError::Renamed { name, own, path });
        }
        let Some(span) = reading.frontmatter.as_ref().and_then(|all| all.get("name")).map(|name| name.span)
        else {
            return Ok(bytes.to_vec());
        };
        // Some names mean something else where they are not quoted, as `123`.
        for name in [self.name.to_owned(), format!("\"{}\"", self.name)] {
            let mut text = String::clone(&reading.text);
            text.replace_range(span.range(), &name);
            let said = read(text.as_bytes(), origin, &self.options.rules).frontmatter;
            let said = said.as_ref().and_then(|all| all.get("name")).and_then(Value::as_scalar);
            if said.is_some_and(|said| said.kind() == ScalarKind::String && said.text() == self.name) {
                return Ok(text.into_bytes());
            }
        }
        let (name, path) = (self.name.to_owned(), self.source.to_owned());
        Err(HomeError::Renamed { name, own, path })
    }

    /// A single file without frontmatter, with one that is derived from it, where that is wanted.
    fn synthesized(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let rules = &self.options.rules;
        if self.is_directory || !rules.synthesize_frontmatter {
            return None;
        }
        let file = self.source.file_name()?.to_str()?;
        let Reading { frontmatter: None, skill: Some(found), .. } = read(bytes, Origin::file(file), rules)
        else {
            return None;
        };
        let mut skill = Skill::new(SkillName::new(self.name).ok()?, found.description);
        skill.body = found.body;
        Some(skill.to_skill_md().into_bytes())
    }

    fn write(&mut self, path: &Path, executable: bool, bytes: &[u8]) -> Result<(), HomeError> {
        // Users who could not read the source cannot read the copy.
        let usual = if executable { 0o555 } else { 0o444 };
        let mode = self.mode_of(path).map_or(usual, |mode| mode & 0o555 | 0o400);
        let mode = if self.options.is_writable { mode | 0o200 } else { mode };
        let above: Vec<&Path> = path.ancestors().skip(1).filter(|above| *above != Path::new("")).collect();
        for above in above.into_iter().rev() {
            let mode = self.directory_mode(above);
            let made = self.writer()?.make(above, mode);
            made.map_err(|error| self.io(&self.target.join(above), error))?;
        }
        let written = self.writer()?.write(path, executable, bytes, mode);
        written.map_err(|error| self.io(&self.target.join(path), error))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// What may be done with a part of the source.
    fn mode_of(&self, path: &Path) -> Option<u32> {
        let path = if self.is_directory { &self.source.join(path) } else { self.source };
        Some(fs::metadata(path).ok()?.permissions().mode())
    }

    /// What may be done with a directory of the copy.
    fn directory_mode(&self, below: &Path) -> u32 {
        self.mode_of(below).filter(|_| self.is_directory).map_or(0o755, |mode| mode & 0o755 | 0o700)
    }

    /// What writes the copy.
    fn writer(&mut self) -> Result<&mut TreeWriter, HomeError> {
        let opened = self.open()?;
        Ok(&mut self.writer.insert(opened).0)
    }

    /// The same, and the mode of the copy's directory, which is made where it is missing.
    fn open(&mut self) -> Result<(TreeWriter, u32), HomeError> {
        if let Some(opened) = self.writer.take() {
            return Ok(opened);
        }
        let mode = self.directory_mode(Path::new(""));
        let made = DirBuilder::new().mode(mode).recursive(true).create(self.target);
        let opened = made.and_then(|()| TreeWriter::open(self.target));
        Ok((opened.map_err(|error| self.io(self.target, error))?, mode))
    }

    /// Closes it to writing.
    pub(crate) fn finish(mut self) -> Result<Copied, HomeError> {
        let (writer, mode) = self.open()?;
        if !self.options.is_writable {
            let closed = writer
                .close()
                .and_then(|()| fs::set_permissions(self.target, Permissions::from_mode(mode & 0o555)));
            closed.map_err(|error| self.io(self.target, error))?;
        }
        let manifest = writer.finish();
        let (files, tree_digest) = (manifest.files().len(), manifest.digest());
        let (own_name, bytes, skipped) = (self.own_name, self.bytes, self.skipped);
        Ok(Copied { own_name, bytes, files, skipped, tree_digest })
    }

    /// The skill, as messages name it.
    fn called(&self) -> String {
        format!("`{}` ({})", self.name, self.source.display())
    }

    fn io(&self, path: &Path, source: io::Error) -> HomeError {
        let (name, from) = (self.name.to_owned(), self.source.to_owned());
        HomeError::Copy { name, path: from, source: SkillError::Io { path: path.to_owned(), source } }
    }

    fn error(&self, source: &Path, error: SkillError) -> HomeError {
        let (name, path) = (self.name.to_owned(), source.to_owned());
        match error {
            SkillError::NotFound { .. } => HomeError::NotFound { path },
            SkillError::Limit { what, .. } if what.contains("bytes") => HomeError::Size {
                what: format!("the total size of {}", self.called()),
                limit: self.options.rules.limits.skill_bytes,
            },
            source => HomeError::Copy { name, path, source },
        }
    }
}
