//! Where things are, and patterns for paths: those of gitignore, with the anchors `//`, `~/`, `/` and none.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use crate::glob::{Glob, Segment};
use crate::rule::Purpose;

/// The places that rules are relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Anchors {
    /// The directory that the agent works in; absolute.
    pub cwd: PathBuf,
    /// What a pattern that begins with one `/` is below: the project. The working directory, if not set.
    pub anchor: PathBuf,
    /// The person's home.
    pub home: PathBuf,
    /// The home of the account, where that is another one: `~` in a prohibition means both.
    pub account: Option<PathBuf>,
    /// The directory of the skill whose rules these are: `${CLAUDE_SKILL_DIR}`.
    pub skill: Option<PathBuf>,
    /// The directory of the plugin that the skill came with: `${CLAUDE_PLUGIN_ROOT}`.
    pub plugin: Option<PathBuf>,
}

impl Anchors {
    /// A working directory, which is the project too, and a home.
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

    /// The same for the rules of a skill in a directory.
    #[must_use]
    pub fn with_skill(mut self, skill: impl Into<PathBuf>) -> Self {
        self.skill = Some(normal(&skill.into()));
        self
    }

    /// The same for the rules of a plugin's skill.
    #[must_use]
    pub fn with_plugin(mut self, plugin: impl Into<PathBuf>) -> Self {
        self.plugin = Some(normal(&plugin.into()));
        self
    }

    /// A path as a tool would take it: absolute, `~` replaced, without `.` and `..`.
    pub fn absolute(&self, path: &str) -> PathBuf {
        normal(&self.written_at(&self.cwd, path))
    }
}

impl Anchors {
    /// A path as it is written, from a directory: absolute, `~` replaced. A `..` is left, since it leads up from where a link
    /// before it leads.
    pub(crate) fn written_at(&self, base: &Path, path: &str) -> PathBuf {
        match path.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => self.home.join(rest.trim_start_matches('/')),
            _ => base.join(path),
        }
    }

    /// The parts of a path from a directory as a tool would take it, without making a path of it first.
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

    /// The same for a path of which not everything is known, for prohibitions. A NUL stands for what is put in.
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
        // A pattern that ends with a `/` is about directories, and what is in them.
        if globs && path.ends_with('/') {
            all.push(Segment::Name(String::new()));
        }
        all
    }
}

/// A path without `.` and `..`, as text alone tells. Nothing is above the root.
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

/// A pattern for paths below one place.
#[derive(Debug, Clone)]
pub(crate) struct PathPattern {
    /// The place that everything is below, part by part.
    base: Vec<String>,
    glob: Glob,
    purpose: Purpose,
    /// The same from the root of the file system, where one `/` was meant so.
    from_root: bool,
}

/// Why a pattern cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatternProblem {
    Negation,
    Empty,
    Syntax,
    AboveAnchor,
}

impl PathPattern {
    /// Reads a pattern. The places give the anchors their meaning.
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
        // A pattern without a `/` in it means that name at any depth. For a prohibition, one directory and all below
        // it float too.
        let one_directory = rest.strip_suffix("/**").is_some_and(|head| !head.contains('/'));
        let floats = is_relative && (!rest.contains('/') || (one_directory && purpose == Purpose::Deny));
        let glob = match purpose {
            Purpose::Allow => Glob::new(rest),
            Purpose::Deny => Glob::new(&rest.to_lowercase()),
        };
        let glob = glob.ok_or(PatternProblem::Syntax)?;
        let glob = if floats { glob.at_any_depth() } else { glob };
        // One `/` means the project; in a prohibition it may have been meant as the root.
        let from_root = purpose == Purpose::Deny && text.starts_with('/');
        Ok(Self { base: parts(base, purpose), glob, purpose, from_root })
    }

    /// A prohibition of one path and all below it, for what cannot be read as a pattern but must be kept.
    pub(crate) fn literal(path: &Path) -> Result<Self, PatternProblem> {
        let glob = Glob::new(&escape(path).to_lowercase()).ok_or(PatternProblem::Syntax)?;
        Ok(Self { base: Vec::new(), glob, purpose: Purpose::Deny, from_root: false })
    }

    /// Whether an absolute, normal path is one of those, or below one; or the directory that all of those are below.
    pub(crate) fn matches(&self, path: &Path, or_directory: bool) -> bool {
        self.matches_parts(&parts(path, self.purpose), or_directory)
    }

    /// Whether a path whose last part matches another pattern may be one of those.
    pub(crate) fn may_end_with(&self, last: &Glob) -> bool {
        self.glob.last_name().is_some_and(|name| last.matches(&[name], false))
    }

    /// Whether a path that ends with some parts may be one of those.
    pub(crate) fn may_have_tail(&self, tail: &[Segment]) -> bool {
        self.glob.possibly_ends(tail)
    }

    /// Whether a path of which not everything is known may be one of those.
    pub(crate) fn may_match(&self, path: &[Segment]) -> bool {
        self.glob.possibly(&self.base, path) || (self.from_root && self.glob.possibly(&[], path))
    }

    /// The same for a path that was taken apart before.
    pub(crate) fn matches_parts(&self, path: &[String], or_directory: bool) -> bool {
        let below = path.strip_prefix(self.base.as_slice());
        below.is_some_and(|below| self.glob.matches(below, or_directory))
            || (self.from_root && self.glob.matches(path, or_directory))
    }
}

/// The parts of an absolute path. For a prohibition in small letters, since some file systems do not tell them from
/// capitals.
pub(crate) fn parts(path: &Path, purpose: Purpose) -> Vec<String> {
    let parts = path.iter().skip(1).map(std::ffi::OsStr::to_string_lossy);
    match purpose {
        Purpose::Allow => parts.map(Cow::into_owned).collect(),
        Purpose::Deny => parts.map(|part| part.to_lowercase()).collect(),
    }
}

/// A path as a pattern that means just that.
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
