//! Where things are, and patterns for paths: those of gitignore, with the anchors `//`, `~/`, `/` and none.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// The places that rules are relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Places {
    /// The directory that the agent works in; absolute.
    pub cwd: PathBuf,
    /// What a pattern that begins with one `/` is below: the project. The working directory, if not set.
    pub anchor: PathBuf,
    /// The person's home.
    pub home: PathBuf,
    /// The directory of the skill whose rules these are: `${CLAUDE_SKILL_DIR}`.
    pub skill: Option<PathBuf>,
    /// The directory of the plugin that the skill came with: `${CLAUDE_PLUGIN_ROOT}`.
    pub plugin: Option<PathBuf>,
}

impl Places {
    /// A working directory, which is the project too, and a home.
    pub fn new(cwd: impl Into<PathBuf>, home: impl Into<PathBuf>) -> Self {
        let cwd = normal(&cwd.into());
        Self { anchor: cwd.clone(), cwd, home: normal(&home.into()), skill: None, plugin: None }
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
        let path = match path.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => self.home.join(rest.trim_start_matches('/')),
            _ => self.cwd.join(path),
        };
        normal(&path)
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

/// A pattern for paths, ready to be matched.
#[derive(Debug, Clone)]
pub(crate) struct PathPattern {
    allow: GlobMatcher,
    deny: GlobMatcher,
    /// The directory itself, where the pattern is all that is below one.
    directory: Option<GlobMatcher>,
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
    pub(crate) fn new(text: &str, places: &Places) -> Result<Self, PatternProblem> {
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
        let below = |glob: String| format!("{}/{glob}", escape(base).trim_end_matches('/'));
        // A pattern without a `/` in it means that name at any depth.
        let floats = is_relative && !rest.contains('/');
        let allow = if floats { below(format!("**/{rest}")) } else { below(rest.to_owned()) };
        // For a prohibition, one directory and all below it float too.
        let one_directory = is_relative && rest.strip_suffix("/**").is_some_and(|head| !head.contains('/'));
        let deny = if floats || one_directory { below(format!("**/{rest}")) } else { allow.clone() };
        let directory = match allow.strip_suffix("/**") {
            Some(directory) => Some(glob(directory, false)?),
            None => None,
        };
        Ok(Self { allow: glob(&allow, false)?, deny: glob(&deny, true)?, directory })
    }

    /// A pattern for one path and all below it, for what cannot be read as a pattern but must be kept.
    pub(crate) fn literal(path: &Path) -> Result<Self, PatternProblem> {
        let text = escape(path);
        Ok(Self { allow: glob(&text, false)?, deny: glob(&text, true)?, directory: None })
    }

    /// Whether an absolute, normal path is one of those; or the directory that all of those are below.
    pub(crate) fn allows(&self, path: &Path, or_directory: bool) -> bool {
        with_below(&self.allow, path)
            || (or_directory && self.directory.as_ref().is_some_and(|directory| directory.is_match(path)))
    }

    /// The same for a prohibition: letters in any case, and directories at any depth.
    pub(crate) fn denies(&self, path: &Path) -> bool {
        with_below(&self.deny, path)
    }
}

/// Whether a pattern matches a path or a directory that it is in.
fn with_below(pattern: &GlobMatcher, path: &Path) -> bool {
    path.ancestors().any(|path| pattern.is_match(path))
}

fn glob(text: &str, any_case: bool) -> Result<GlobMatcher, PatternProblem> {
    // gitignore has no alternatives in braces.
    let text = text.replace('{', "[{]").replace('}', "[}]");
    let glob = GlobBuilder::new(&text)
        .literal_separator(true)
        .backslash_escape(true)
        .case_insensitive(any_case)
        .build();
    glob.map(|glob| glob.compile_matcher()).map_err(|_| PatternProblem::Syntax)
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
        let places = Places::new("/repo", "/me");
        PathPattern::new(pattern, &places).is_ok_and(|pattern| pattern.allows(Path::new(path), false))
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
        assert!(!allows("src/**", "/repo/src") && !allows("*.ts", "/repo/a.tsx"));
    }

    #[test]
    fn parts_of_a_base_are_no_patterns() {
        let places = Places::new("/re[p]o*", "/me");
        let pattern = PathPattern::new("x", &places).unwrap_or_else(|_| unreachable!());
        assert!(
            pattern.allows(Path::new("/re[p]o*/x"), false) && !pattern.allows(Path::new("/repo1/x"), false)
        );
    }
}
