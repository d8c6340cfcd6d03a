//! A tool call that a host is about to make.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::mentions::{MOST_FOLLOWED, Mentions};
use crate::moves::may_go;
use crate::parsed::ParsedCall;
use crate::paths::Anchors;
use crate::shell::Word;
use crate::tools::{self, Kind, Tool};

/// The arguments in which hosts name a command's working directory, in lower case and without `_` and `-`.
#[rustfmt::skip]
const DIRECTORIES: &[&str] = &[
    "workdir", "cwd", "workingdirectory", "workingdir", "directory", "dir", "dirpath", "currentdir", "currentdirectory",
    "currentworkingdirectory", "currentworkingdir", "chdir", "cd", "pwd", "path", "root", "rootdir", "rootpath", "basedir",
    "basepath", "folder", "workspace", "workspaceroot", "workspacedir", "workspacefolder", "workspacepath", "projectdir",
    "projectroot", "projectpath", "rundir", "execdir", "wd",
];

/// Where a path leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leads<'a> {
    /// To the path as written.
    There,
    /// Through a link, to this path.
    To(&'a Path),
    /// Through a link with an unknown target.
    Anywhere,
}

/// A tool call: the tool's name, its arguments, and the targets of links in its paths.
///
/// ```
/// use metier_policy::ToolCall;
///
/// let call = ToolCall::new("exec_command", serde_json::json!({ "cmd": ["git", "status"] }));
/// assert_eq!(call.tool(), "exec_command");
/// assert_eq!(call.name(), "Bash");
/// ```
#[derive(Debug, Clone)]
pub struct ToolCall {
    tool: String,
    known: Option<&'static Tool>,
    input: Value,
    resolved: Vec<PathBuf>,
    is_lost: bool,
    /// The paths of a command line that contain a link, with their targets, if known.
    links: HashMap<PathBuf, Option<PathBuf>>,
    /// The parsed command line. It is parsed on first use; copies share the result.
    parsed: Arc<OnceLock<ParsedCall>>,
}

impl ToolCall {
    /// Creates a call. The arguments are an object, or a text for the argument that rules check.
    pub fn new(tool: impl Into<String>, input: impl Into<Value>) -> Self {
        let tool = tool.into();
        Self {
            known: tools::called(&tool),
            tool,
            input: input.into(),
            resolved: Vec::new(),
            is_lost: false,
            links: HashMap::new(),
            parsed: Arc::default(),
        }
    }

    /// Adds the real path of one of the call's paths, with links and `..` resolved as the system would. A host must
    /// call this for every path that contains a link.
    #[must_use]
    pub fn leading_to(mut self, path: impl Into<PathBuf>) -> Self {
        self.resolved.push(path.into());
        self
    }

    /// Marks that the target of a path is unknown: no path rule allows the call, and every path rule denies it.
    #[must_use]
    pub fn leading_anywhere(mut self) -> Self {
        self.is_lost = true;
        self
    }

    /// Sets the target of a path from [`ToolCall::shell_paths`]; `None` if it is unknown. A host must call this for
    /// every such path that contains a link.
    #[must_use]
    pub fn following(mut self, path: PathBuf, real: Option<PathBuf>) -> Self {
        self.links.insert(path, real);
        self
    }

    /// The paths that a command line names: redirected files, working directories, and words that may be paths,
    /// relative to each directory that the command may change to. A `..` applies after the links before it are
    /// resolved. If there are too many words, some are left out; deny rules then assume that those may be links to any
    /// path.
    pub fn shell_paths(&self, places: &Anchors) -> Vec<PathBuf> {
        if self.kind() != Kind::Shell && self.suspected().kind() != Kind::Shell {
            return Vec::new();
        }
        // Paths that allow rules need come first, without a limit.
        let mut paths = self.directories(places);
        let commands = self.parsed().commands();
        let targets = commands.iter().flat_map(|command| &command.redirects).map(|redirect| &redirect.target);
        let moves = commands.iter().filter(|command| may_go(command)).flat_map(|command| &command.words);
        paths.extend(targets.chain(moves).filter_map(Word::literal).map(|text| places.cwd.join(text)));
        if let Some(mentions) = Mentions::of(self, places) {
            let located = mentions.located().take(MOST_FOLLOWED).filter(|(text, _)| !text.is_open());
            paths.extend(located.flat_map(|(text, base)| text.paths(base, places)));
        }
        let mut seen = HashSet::new();
        paths.retain(|path| seen.insert(path.clone()));
        paths
    }

    /// Whether a path of the command line contains a link.
    pub(crate) fn has_links(&self) -> bool {
        !self.links.is_empty()
    }

    /// The real path of a path in the command line, if it differs from the written path.
    pub(crate) fn leads(&self, path: &Path) -> Leads<'_> {
        match self.links.get(path) {
            None => Leads::There,
            Some(Some(real)) => Leads::To(real),
            Some(None) => Leads::Anywhere,
        }
    }

    /// The command line, taken apart once.
    pub(crate) fn parsed(&self) -> &ParsedCall {
        self.parsed.get_or_init(|| ParsedCall::new(self.command_line()))
    }

    /// The same call with the tool that its name may stand for. This is usually the tool itself.
    pub(crate) fn suspected(&self) -> Cow<'_, Self> {
        if self.known.is_some() {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { known: tools::suspected(&self.tool), ..self.clone() })
    }

    /// The tool's name as the host sent it.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The tool's name as used in rules.
    pub fn name(&self) -> &str {
        self.known.map_or(&self.tool, |tool| tool.name)
    }

    /// Whether an agent that metier knows has such a tool.
    pub(crate) const fn is_known(&self) -> bool {
        self.known.is_some()
    }

    /// What every call of the tool has, if rules are about it.
    pub(crate) fn needs(&self) -> Option<&'static str> {
        self.known?.kind.needs()
    }

    /// The paths of the call, as written.
    pub fn paths(&self) -> Vec<&str> {
        let is_file = matches!(self.kind(), Kind::Read | Kind::Search | Kind::Edit);
        self.texts().filter(|_| is_file).unwrap_or_default()
    }

    pub(crate) fn kind(&self) -> Kind {
        self.known.map_or(Kind::Plain, |tool| tool.kind)
    }

    /// The command line of a shell call. Items of a list are quoted, so that each stays one word.
    fn command_line(&self) -> Option<String> {
        if let Value::String(text) = &self.input {
            return Some(text.clone());
        }
        let mut lines =
            tools::COMMAND.iter().filter_map(|field| self.input.get(field)).filter(|line| !line.is_null());
        let line = match lines.next()? {
            Value::String(text) => text.clone(),
            Value::Array(words) => joined(words)?,
            _ => return None,
        };
        // With two command lines it is unclear which one runs.
        lines.next().is_none().then_some(line)
    }

    /// An argument of a shell call that changes what runs: an environment, another shell, additional words.
    pub(crate) fn brings_more(&self) -> Option<&'static str> {
        let more = ["env", "environment", "shell", "args", "arguments", "stdin", "executable", "interpreter"];
        let is_something = |value: &Value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            _ => true,
        };
        more.into_iter().find(|name| self.input.get(name).is_some_and(is_something))
    }

    /// The working directories that a shell call names, as written and without duplicates. More than one contradict
    /// each other.
    pub(crate) fn directories(&self, places: &Anchors) -> Vec<PathBuf> {
        let mut values = Vec::new();
        collect_directories(&self.input, &mut values);
        // A value that is not a text names no directory.
        let path = |value: &Value| match value.as_str() {
            Some(path) => places.written_at(&places.cwd, path),
            None => "/".into(),
        };
        let mut paths: Vec<PathBuf> = values.into_iter().map(path).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// The texts that rules check: the arguments from the tool table. `None` if one is not a text.
    pub(crate) fn texts(&self) -> Option<Vec<&str>> {
        if let Value::String(text) = &self.input {
            return Some(vec![text]);
        }
        let fields = self.known.map_or(&[][..], |tool| tool.fields);
        let mut texts = Vec::new();
        // Some hosts' tools name files in a list of operations.
        let is_deep = matches!(self.kind(), Kind::Read | Kind::Search | Kind::Edit);
        collect(&self.input, fields, is_deep, &mut texts)?;
        Some(texts)
    }

    /// An argument by its name.
    pub(crate) fn argument(&self, name: &str) -> Option<&Value> {
        self.input.get(name)
    }

    /// The text that a rule about skills is matched against: the skill's name and its arguments. `None` if that is
    /// ambiguous.
    pub(crate) fn skill_text(&self) -> Option<String> {
        // Two names are ambiguous.
        let [name] = self.texts()?[..] else { return None };
        let mut text = name.to_owned();
        for args in ["args", "arguments"].into_iter().filter_map(|field| self.argument(field)) {
            match args {
                Value::Null => {}
                Value::String(args) if args.is_empty() => {}
                Value::String(args) => text = format!("{text} {args}"),
                other => text = format!("{text} {other}"),
            }
        }
        Some(text)
    }

    /// Every path that the call touches: as written, and with links resolved. `None` if a target is unknown.
    pub(crate) fn touched(&self, places: &Anchors) -> Option<Vec<PathBuf>> {
        if self.is_lost {
            return None;
        }
        if self.name() == "apply_patch" {
            return self.patched(places);
        }
        let mut touched = Vec::new();
        let is_glob = self.known.is_some_and(|tool| tool.name == "Glob");
        for text in self.texts()? {
            if !is_plain_path(text) {
                return None;
            }
            // `a -> b` is how a link is displayed. A file with such a name is checked as both paths.
            let parts = text.split(" -> ").chain(text.contains(" -> ").then_some(text));
            touched.extend(parts.map(|part| places.absolute(part)));
            if is_glob && leads_out(text) {
                return None;
            }
        }
        if is_glob && self.input.is_object() {
            touched = self.below_of_glob(places)?;
        }
        // A search without a directory searches the working directory.
        if touched.is_empty() && self.kind() == Kind::Search {
            touched.push(places.cwd.clone());
        }
        touched.extend(self.resolved.iter().map(|path| crate::paths::normal(path)));
        (!touched.is_empty()).then_some(touched)
    }

    /// The files that a patch changes. `None` if it names no file.
    fn patched(&self, places: &Anchors) -> Option<Vec<PathBuf>> {
        let marks =
            ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ b/", "--- a/"];
        let texts = self.texts()?;
        let lines = texts.iter().flat_map(|text| text.lines());
        let names =
            lines.filter_map(|line| marks.iter().find_map(|mark| line.trim_start().strip_prefix(mark)));
        let names: Vec<&str> = names.map(str::trim).collect();
        let all_plain = !names.is_empty() && names.iter().all(|name| is_plain_path(name));
        let paths = names.iter().map(|name| places.absolute(name));
        all_plain.then(|| paths.chain(self.resolved.iter().map(|path| crate::paths::normal(path))).collect())
    }

    /// The directories that `Glob` patterns search.
    fn below_of_glob(&self, places: &Anchors) -> Option<Vec<PathBuf>> {
        let text = |name| self.input.get(name).filter(|value| !value.is_null()).map(Value::as_str);
        let pattern = text("pattern").unwrap_or(Some(""))?;
        let fixed = pattern.find(['*', '?', '[', '{', '(']).map_or(pattern, |end| {
            pattern[..end]
                .rsplit_once('/')
                .map_or("", |(above, _)| if above.is_empty() { "/" } else { above })
        });
        let mut bases = Vec::new();
        for name in ["path", "dir_path", "directory"] {
            if let Some(base) = text(name) {
                bases.push(places.absolute(base?));
            }
        }
        if bases.is_empty() {
            bases.push(places.cwd.clone());
        }
        Some(bases.iter().map(|base| crate::paths::normal(&base.join(fixed))).collect())
    }
}

/// The values that name a working directory, at any depth.
fn collect_directories<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_directories(item, found)),
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::Null | Value::Bool(false) => {}
                    Value::Object(_) => {
                        let before = found.len();
                        collect_directories(value, found);
                        if is_directory(name) && found.len() == before {
                            found.push(value);
                        }
                    }
                    _ if is_directory(name) => found.push(value),
                    _ => collect_directories(value, found),
                }
            }
        }
        _ => {}
    }
}

/// Whether an argument names a working directory.
fn is_directory(name: &str) -> bool {
    let is_same = |known: &str| {
        let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
        letters.map(|byte| byte.to_ascii_lowercase()).eq(known.bytes())
    };
    DIRECTORIES.iter().any(|known| is_same(known))
}

/// The texts of the given fields of an object. `None` if one is not a text.
fn collect<'a>(value: &'a Value, fields: &[&str], is_deep: bool, texts: &mut Vec<&'a str>) -> Option<()> {
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| collect(item, fields, is_deep, texts)),
        Value::Object(members) => members.iter().try_for_each(|(name, value)| {
            match value {
                Value::Null => {}
                _ if !fields.contains(&name.as_str()) => {
                    if is_deep {
                        collect(value, fields, is_deep, texts)?;
                    }
                }
                Value::Array(items) => {
                    texts.extend(items.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?);
                }
                other => texts.push(other.as_str()?),
            }
            Some(())
        }),
        _ => Some(()),
    }
}

/// Whether every host reads a text as the same path: no spaces around it, no other user's home, no URL, no variable.
fn is_plain_path(text: &str) -> bool {
    // No system accepts longer paths.
    if text.len() > 4_096 {
        return false;
    }
    let is_home = !text.starts_with('~') || text == "~" || text.starts_with("~/");
    !text.contains(['\0', '\\'])
        && text.trim() == text
        && is_home
        && !text.contains("://")
        && !text.starts_with('$')
}

/// Whether a file pattern can leave the directory that is searched: through `..` after a wildcard, or through an
/// alternative.
fn leads_out(pattern: &str) -> bool {
    if pattern.starts_with('~') || pattern.contains("[.") {
        return true;
    }
    let Some(special) = pattern.find(['*', '?', '[', '{', '(']) else { return false };
    let rest = &pattern[special..];
    rest.contains("..")
        || ["{/", ",/", "|/", "(/", "{~", ",~", "|~", "(~"].iter().any(|way| rest.contains(way))
}

/// A list of words as one command line.
fn joined(words: &[Value]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
    // Hosts wrap a line as `bash -lc LINE`; only the line is checked.
    if let ["bash" | "sh" | "/bin/bash" | "/bin/sh" | "zsh" | "/bin/zsh", "-c" | "-lc", line] =
        words.as_slice()
    {
        return Some((*line).to_owned());
    }
    let is_plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c))
    };
    let quoted = words.iter().map(|word| {
        if is_plain(word) { (*word).to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
    });
    Some(quoted.collect::<Vec<_>>().join(" "))
}
