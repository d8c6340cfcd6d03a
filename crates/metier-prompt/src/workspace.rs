//! Files that an agent works on: which are copied into its workspace, and what the model is told of them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use globset::Glob;

use crate::error::PromptError;
use crate::node::workspace_path;
use crate::path::SectionPath;
use crate::section::{Draft, Role, WorkspaceSection};

/// A file or directory of the host that is copied into a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostMount {
    /// Its path on the host.
    pub host_path: PathBuf,
    /// Its path in the workspace; the last part of the host's path by default.
    pub mount_path: Option<PathBuf>,
    /// If not empty, only paths that match one of these globs are copied. They are matched against the path below `host_path`.
    pub include: Vec<String>,
    /// Paths that match one of these globs are not copied.
    pub exclude: Vec<String>,
    /// The maximum size, in bytes.
    pub max_bytes: Option<u64>,
    /// Whether symlinks are followed, if they lead to paths below the allowed roots.
    pub follow_symlinks: bool,
}

impl HostMount {
    /// All files, without following symlinks.
    pub fn new(host_path: impl Into<PathBuf>) -> Self {
        Self {
            host_path: host_path.into(),
            mount_path: None,
            include: Vec::new(),
            exclude: Vec::new(),
            max_bytes: None,
            follow_symlinks: false,
        }
    }

    /// Copies it to this path in the workspace.
    #[must_use]
    pub fn mounted_at(self, path: impl Into<PathBuf>) -> Self {
        Self { mount_path: Some(path.into()), ..self }
    }

    /// Its path in the workspace, also where none was given.
    ///
    /// ```
    /// use metier_prompt::HostMount;
    ///
    /// assert_eq!(HostMount::new("/srv/app/src").target(), std::path::Path::new("src"));
    /// assert_eq!(HostMount::new("/srv/app/src").mounted_at("repo").target(), std::path::Path::new("repo"));
    /// ```
    pub fn target(&self) -> &Path {
        let last = || Path::new(self.host_path.file_name().unwrap_or_default());
        self.mount_path.as_deref().unwrap_or_else(last)
    }

    /// A line about it for the model. Where it comes from is left out: the agent works on the copy.
    fn line(&self) -> String {
        let mut line = format!("- `{}`", self.target().display());
        let patterns = |patterns: &[String]| {
            let quoted: Vec<String> = patterns.iter().map(|pattern| format!("`{pattern}`")).collect();
            quoted.join(", ")
        };
        if !self.include.is_empty() {
            let _ = write!(line, ", only {}", patterns(&self.include));
        }
        if !self.exclude.is_empty() {
            let _ = write!(line, ", without {}", patterns(&self.exclude));
        }
        line
    }
}

/// Files for a workspace, and where they may come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkspaceFiles {
    /// What is copied.
    pub mounts: Vec<HostMount>,
    /// The directories that may be copied from.
    pub allowed_roots: Vec<PathBuf>,
}

impl WorkspaceFiles {
    /// Adds other files.
    pub fn extend(&mut self, other: &Self) {
        self.mounts.extend(other.mounts.iter().cloned());
        self.allowed_roots.extend(other.allowed_roots.iter().cloned());
    }

    /// Checks what can be known before anything is copied.
    pub(crate) fn check(&self, path: &SectionPath) -> Result<(), PromptError> {
        for mount in &self.mounts {
            let target = mount.target().to_string_lossy();
            if target != "." {
                workspace_path(&target, path)?;
            }
            for pattern in mount.include.iter().chain(&mount.exclude) {
                Glob::new(pattern).map_err(|error| PromptError::Pattern {
                    path: path.clone(),
                    pattern: pattern.clone(),
                    reason: error.kind().to_string(),
                })?;
            }
        }
        Ok(())
    }

    /// What the model is told; empty without files.
    pub(crate) fn text(&self) -> String {
        if self.mounts.is_empty() {
            return String::new();
        }
        let lines: Vec<String> = self.mounts.iter().map(HostMount::line).collect();
        let lines = lines.join("\n");
        format!("Your working directory contains copies of these files and directories:\n\n{lines}")
    }

    /// The same, in one line.
    pub(crate) fn names(&self) -> String {
        let names: Vec<String> =
            self.mounts.iter().map(|mount| format!("`{}`", mount.target().display())).collect();
        format!("Files: {}", names.join(", "))
    }
}

impl WorkspaceSection {
    /// Files for the agent to work on. Its key defaults to `workspace`.
    ///
    /// ```
    /// use metier_prompt::{HostMount, Prompt, PromptError, SessionView, WorkspaceSection};
    ///
    /// let repo = HostMount::new("/srv/app").mounted_at("repo");
    /// let files = WorkspaceSection::new([repo]).allowed_roots(["/srv"]);
    /// let prompt = Prompt::builder("docs", "workspace").section(files).build()?;
    /// let rendered = prompt.render(&SessionView::default())?;
    /// assert!(rendered.text.ends_with("- `repo`"));
    /// assert_eq!(rendered.workspace.mounts.len(), 1);
    /// # Ok::<(), PromptError>(())
    /// ```
    pub fn new(mounts: impl IntoIterator<Item = HostMount>) -> Self {
        let workspace = WorkspaceFiles { mounts: mounts.into_iter().collect(), allowed_roots: Vec::new() };
        Self::of(Draft { workspace, ..Draft::new("workspace", "Workspace", Role::Workspace) })
    }
}

impl<P> WorkspaceSection<P> {
    /// The directories that may be copied from. Without them, nothing may.
    #[must_use]
    pub fn allowed_roots<T: Into<PathBuf>>(mut self, roots: impl IntoIterator<Item = T>) -> Self {
        self.draft.workspace.allowed_roots.extend(roots.into_iter().map(Into::into));
        self
    }
}
