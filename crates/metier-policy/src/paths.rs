//! Anchors of paths, and path patterns: those of gitignore, with the anchors `//`, `~/`, `/` and none.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use crate::glob::{Glob, Segment};
use crate::rule::Purpose;

/// The directories that rules are relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Anchors {
    /// The agent's working directory; absolute.
    pub cwd: PathBuf,
    /// The project: patterns that start with one `/` are relative to it. The working directory, if not set.
    pub anchor: PathBuf,
    /// The user's home directory.
    pub home: PathBuf,
    /// The home directory of the account, if it differs: `~` in a deny rule means both.
    pub account: Option<PathBuf>,
    /// The directory of the skill whose rules these are: `${CLAUDE_SKILL_DIR}`.
    pub skill: Option<PathBuf>,
    /// The directory of the plugin that the skill came with: `${CLAUDE_PLUGIN_ROOT}`.
    pub plugin: Option<PathBuf>,
}

impl Anchors {
    /// A working directory, which is also the project, and a home directory.
    pub fn new(cwd: impl Into<PathBuf>, home: impl Into<PathBuf>) -> Self {
        let cwd = normal(&cwd.into());
        Self {
            anchor: cwd.clone(),
            cwd,
            home: normal(&home.into()),
            account: None,
            skill: None,
            plugin: None,
        }
    }

    /// The same anchors for the rules of a skill in a directory.
    #[must_use]
    pub fn with_skill(mut self, skill: impl Into<PathBuf>) -> Self {
        self.skill = Some(normal(&skill.into()));
        self
    }

    /// The same anchors for the rules of a plugin's skill.
    #[must_use]
    pub fn with_plugin(mut self, plugin: impl Into<PathBuf>) -> Self {
        self.plugin = Some(normal(&plugin.into()));
        self
    }

    /// A path as a tool would resolve it: absolute, `~` replaced, without `.` and `..`.
    pub fn absolute(&self, path: &str) -> PathBuf {
        normal(&self.written_at(&self.cwd, path))
    }
}

impl Anchors {
    /// A path as written, relative to a directory: absolute, `~` replaced. A `..` is kept, because it applies after the
    /// link before it is resolved.
    pub(crate) fn written_at(&self, base: &Path, path: &str) -> PathBuf {
        match path.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => self.home.join(rest.trim_start_matches('/')),
            _ => base.join(path),
        }
    }

    /// The parts of a path relative to a directory as a tool would resolve it, without building a path first.
    pub(crate) fn parts_at(&self, base: &Path, path: &str, purpose: Purpose) -> Vec<String> {
        let (base, below) = match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => (self.home.as_path(), rest),
            _ if path.starts_with('/') => (Path::new("/"), path),
            _ => (base, path),
        };
        let mut all = parts(base, purpose);
        for part in below.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    all.pop();
                }
                _ if purpose == Purpose::Deny => all.push(part.to_lowercase()),
                _ => all.push(part.to_owned()),
            }
        }
        all
    }

    /// The same for a path that is only partly known, for deny rules. A NUL stands for an expansion.
    pub(crate) fn segments_at(&self, base: &Path, path: &str, globs: bool) -> Vec<Segment> {
        let (base, below) = match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => (self.home.as_path(), rest),
            _ if path.starts_with('/') => (Path::new("/"), path),
            _ => (base, path),
        };
        let mut all: Vec<Segment> = parts(base, Purpose::Deny).into_iter().map(Segment::Name).collect();
        for part in below.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    all.pop();
                }
                _ => all.push(Segment::new(part, globs)),
            }
        }
        // A pattern that ends with a `/` means directories and their content.
        if globs && path.ends_with('/') {
            all.push(Segment::Name(String::new()));
        }
        all
    }
}

/// A path without `.` and `..`, by text alone. `..` at the root stays at the root.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut parts: Vec<&std::ffi::OsStr> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => parts.push(part),
            Component::ParentDir => {
                parts.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    let mut normal = PathBuf::from("/");
    normal.extend(parts);
    normal
}

/// A pattern for paths below one directory.
#[derive(Debug, Clone)]
pub(crate) struct PathPattern {
    /// The directory that all matches are in, part by part.
    base: Vec<String>,
    glob: Glob,
    purpose: Purpose,
    /// The same pattern relative to the root of the file system, in case a single `/` meant that.
    from_root: bool,
}

/// Why a pattern is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatternProblem {
    Negation,
    Empty,
    Syntax,
    AboveAnchor,
}

impl PathPattern {
    /// Parses a pattern, with its anchor resolved.
    pub(crate) fn new(text: &str, purpose: Purpose, places: &Anchors) -> Result<Self, PatternProblem> {
        if text.starts_with('!') {
            return Err(PatternProblem::Negation);
        }
        let (base, rest, is_relative) = match text {
            _ if text.starts_with("//") => (Path::new("/"), text.trim_start_matches('/'), false),
            "~" => (places.home.as_path(), "", false),
            _ if text.starts_with("~/") => (places.home.as_path(), &text[2..], false),
            _ if text.starts_with('/') => (places.anchor.as_path(), &text[1..], false),
            _ => (places.cwd.as_path(), text, true),
        };
        let (rest, is_relative) = match rest.strip_prefix("./") {
            Some(below) if is_relative => (below, false),
            _ => (rest, is_relative),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.is_empty() || rest.split('/').any(|part| part == "..") {
            return Err(if rest.is_empty() { PatternProblem::Empty } else { PatternProblem::AboveAnchor });
        }
        // A pattern without a `/` means that name at any depth. In a deny rule, so does a directory with everything
        // below it.
        let one_directory = rest.strip_suffix("/**").is_some_and(|head| !head.contains('/'));
        let floats = is_relative && (!rest.contains('/') || (one_directory && purpose == Purpose::Deny));
        let glob = match purpose {
            Purpose::Allow => Glob::new(rest),
            Purpose::Deny => Glob::new(&rest.to_lowercase()),
        };
        let glob = glob.ok_or(PatternProblem::Syntax)?;
        let glob = if floats { glob.at_any_depth() } else { glob };
        // One `/` means the project; in a deny rule it may have been meant as the root.
        let from_root = purpose == Purpose::Deny && text.starts_with('/');
        Ok(Self { base: parts(base, purpose), glob, purpose, from_root })
    }

    /// A deny pattern for one path and everything below it, for text that is not a valid pattern but must still deny.
    pub(crate) fn literal(path: &Path) -> Result<Self, PatternProblem> {
        let glob = Glob::new(&escape(path).to_lowercase()).ok_or(PatternProblem::Syntax)?;
        Ok(Self { base: Vec::new(), glob, purpose: Purpose::Deny, from_root: false })
    }

    /// Whether an absolute, normalised path matches, or is below a match; or is the directory that all matches are in.
    pub(crate) fn matches(&self, path: &Path, or_directory: bool) -> bool {
        self.matches_parts(&parts(path, self.purpose), or_directory)
    }

    /// Whether a path whose last part matches another pattern may match.
    pub(crate) fn may_end_with(&self, last: &Glob) -> bool {
        self.glob.last_name().is_some_and(|name| last.matches(&[name], false))
    }

    /// Whether a path that ends with the given parts may match.
    pub(crate) fn may_have_tail(&self, tail: &[Segment]) -> bool {
        self.glob.possibly_ends(tail)
    }

    /// Whether a path that is only partly known may match.
    pub(crate) fn may_match(&self, path: &[Segment]) -> bool {
        self.glob.possibly(&self.base, path) || (self.from_root && self.glob.possibly(&[], path))
    }

    /// The same for a path that is already split.
    pub(crate) fn matches_parts(&self, path: &[String], or_directory: bool) -> bool {
        let below = path.strip_prefix(self.base.as_slice());
        below.is_some_and(|below| self.glob.matches(below, or_directory))
            || (self.from_root && self.glob.matches(path, or_directory))
    }
}

/// The parts of an absolute path. In lower case for deny rules, because some file systems ignore case.
pub(crate) fn parts(path: &Path, purpose: Purpose) -> Vec<String> {
    let parts = path.iter().skip(1).map(std::ffi::OsStr::to_string_lossy);
    match purpose {
        Purpose::Allow => parts.map(Cow::into_owned).collect(),
        Purpose::Deny => parts.map(|part| part.to_lowercase()).collect(),
    }
}

/// A path as a pattern that matches exactly this path.
pub(crate) fn escape(path: &Path) -> String {
    let mut text = String::new();
    for c in path.to_string_lossy().chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(pattern: &str, path: &str) -> bool {
        let places = Anchors::new("/repo", "/me");
        PathPattern::new(pattern, Purpose::Allow, &places)
            .is_ok_and(|pattern| pattern.matches(Path::new(path), false))
    }

    #[test]
    fn anchors_and_depths() {
        assert!(
            allows(".env", "/repo/a/.env")
                && allows("**/.env", "/repo/.env")
                && !allows("./.env", "/repo/a/.env")
        );
        assert!(
            allows("//etc/**", "/etc/x/y")
                && !allows("/etc/**", "/etc/x")
                && allows("/etc/**", "/repo/etc/x")
        );
        assert!(allows("~/x", "/me/x") && allows("~/x", "/me/x/y") && !allows("~/x", "/repo/x"));
        assert!(allows("src/*", "/repo/src/a") && !allows("src/*", "/repo/srcs/a"));
        assert!(allows("a{b}", "/repo/a{b}") && !allows("a{b,c}", "/repo/ab"));
        assert!(!allows("../x", "/x") && !allows("", "/repo") && !allows("/", "/repo/a"));
        let places = Anchors::new("/Repo", "/me");
        let denied = PathPattern::new("SRC/É", Purpose::Deny, &places);
        assert!(denied.is_ok_and(|pattern| pattern.matches(Path::new("/rePO/src/é"), false)));
        assert!(!allows("src/**", "/repo/src") && !allows("*.ts", "/repo/a.tsx"));
    }

    #[test]
    fn parts_of_a_base_are_no_patterns() {
        let places = Anchors::new("/re[p]o*", "/me");
        let pattern = PathPattern::new("x", Purpose::Allow, &places).unwrap_or_else(|_| unreachable!());
        assert!(
            pattern.matches(Path::new("/re[p]o*/x"), false) && !pattern.matches(Path::new("/repo1/x"), false)
        );
    }
}
