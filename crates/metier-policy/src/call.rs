//! One call to a tool, as a host is about to make it.

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

/// The arguments in which hosts name the directory that a command runs in, in small letters and without signs such as `_`.
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
    /// To where it says.
    There,
    /// By a link, to here.
    To(&'a Path),
    /// By a link, and that cannot be told.
    Anywhere,
}

/// A call to a tool: its name, its arguments, and where links in its paths lead.
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
    /// Paths of a command line that are or pass a link, and where they lead, if that can be told.
    links: HashMap<PathBuf, Option<PathBuf>>,
    /// The command line, taken apart when it is first asked for. Copies share it.
    parsed: Arc<OnceLock<ParsedCall>>,
}

impl ToolCall {
    /// A call with its arguments: an object, or a text for the argument that rules are about.
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

    /// Adds the path that one of the call's paths leads to, when links are followed from part to part, `..` too, as
    /// the system would. A host must say so for every path that is or passes a link.
    #[must_use]
    pub fn leading_to(mut self, path: impl Into<PathBuf>) -> Self {
        self.resolved.push(path.into());
        self
    }

    /// Says that where a path leads cannot be told: nothing about paths allows the call, and everything denies it.
    #[must_use]
    pub fn leading_anywhere(mut self) -> Self {
        self.is_lost = true;
        self
    }

    /// Says where a path of a command line leads, as [`ToolCall::shell_paths`] names it; nothing where that cannot be told. A
    /// host must say so for every such path that is or passes a link.
    #[must_use]
    pub fn following(mut self, path: PathBuf, real: Option<PathBuf>) -> Self {
        self.links.insert(path, real);
        self
    }

    /// The paths that a command line names: files that it opens by redirection, directories that it works in, and words
    /// that may be paths, from each directory that it may go to. A `..` in one leads up from where links before it lead.
    /// Of very many words not all are here; rules that deny then take the others for links to anywhere.
    pub fn shell_paths(&self, places: &Anchors) -> Vec<PathBuf> {
        if self.kind() != Kind::Shell && self.suspected().kind() != Kind::Shell {
            return Vec::new();
        }
        // What rules that allow ask for comes first, however much it is.
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

    /// Whether a path of its command line is or passes a link.
    pub(crate) fn has_links(&self) -> bool {
        !self.links.is_empty()
    }

    /// Where a path of a command line leads, as it is written, if that is elsewhere than it says.
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

    /// The same call to the tool that its name may mean. Nearly always that is the tool it does mean.
    pub(crate) fn suspected(&self) -> Cow<'_, Self> {
        if self.known.is_some() {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { known: tools::suspected(&self.tool), ..self.clone() })
    }

    /// The tool as the host calls it.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The tool as rules call it.
    pub fn name(&self) -> &str {
        self.known.map_or(&self.tool, |tool| tool.name)
    }

    /// The paths that the call is about, as they stand in it.
    pub fn paths(&self) -> Vec<&str> {
        let is_file = matches!(self.kind(), Kind::Read | Kind::Search | Kind::Edit);
        self.texts().filter(|_| is_file).unwrap_or_default()
    }

    pub(crate) fn kind(&self) -> Kind {
        self.known.map_or(Kind::Plain, |tool| tool.kind)
    }

    /// The command line of a shell's call. A list is one word each, so that nothing in them is taken for more.
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
        // Two of them are one too many to know which one runs.
        lines.next().is_none().then_some(line)
    }

    /// Whether a shell's call brings more than a command: an environment, another shell, words to add.
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

    /// The directories that a shell's call names to run in, as they are written, each once. More than one contradict each
    /// other.
    pub(crate) fn directories(&self, places: &Anchors) -> Vec<PathBuf> {
        let mut values = Vec::new();
        collect_directories(&self.input, &mut values);
        // What is not a text is nowhere.
        let path = |value: &Value| match value.as_str() {
            Some(path) => places.written_at(&places.cwd, path),
            None => "/".into(),
        };
        let mut paths: Vec<PathBuf> = values.into_iter().map(path).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// What a rule can be about: the texts of the arguments that the table names. `None` where one is no text.
    pub(crate) fn texts(&self) -> Option<Vec<&str>> {
        if let Value::String(text) = &self.input {
            return Some(vec![text]);
        }
        let fields = self.known.map_or(&[][..], |tool| tool.fields);
        let mut texts = Vec::new();
        // Some hosts' tools name files in a list of what to do with each.
        let is_deep = matches!(self.kind(), Kind::Read | Kind::Search | Kind::Edit);
        collect(&self.input, fields, is_deep, &mut texts)?;
        Some(texts)
    }

    /// An argument by its name.
    pub(crate) fn argument(&self, name: &str) -> Option<&Value> {
        self.input.get(name)
    }

    /// What a rule about skills is held against: the name, and what it is given. `None` where that is not plain.
    pub(crate) fn skill_text(&self) -> Option<String> {
        // Two names are one too many.
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

    /// Every path that is touched: as named, and where links lead. `None` if that cannot be told.
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
            // `a -> b` is how a link is shown; should a file be called so, it is judged by more than its name.
            let parts = text.split(" -> ").chain(text.contains(" -> ").then_some(text));
            touched.extend(parts.map(|part| places.absolute(part)));
            if is_glob && leads_out(text) {
                return None;
            }
        }
        if is_glob && self.input.is_object() {
            touched = self.below_of_glob(places)?;
        }
        // A search without a directory is one of the working directory.
        if touched.is_empty() && self.kind() == Kind::Search {
            touched.push(places.cwd.clone());
        }
        touched.extend(self.resolved.iter().map(|path| crate::paths::normal(path)));
        (!touched.is_empty()).then_some(touched)
    }

    /// The files that a patch is about. `None` where it names none.
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

    /// The directories that patterns of `Glob` are searched below.
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

/// The values that name a directory to run in, however deep they stand.
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

/// Whether an argument names a directory to run in.
fn is_directory(name: &str) -> bool {
    let is_same = |known: &str| {
        let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
        letters.map(|byte| byte.to_ascii_lowercase()).eq(known.bytes())
    };
    DIRECTORIES.iter().any(|known| is_same(known))
}

/// The texts of some fields of an object. `None` where one is something else.
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

/// Whether a text is a path to every host: no blanks around it, nobody else's home, no address, no variable.
fn is_plain_path(text: &str) -> bool {
    // No system opens a longer one.
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

/// Whether a pattern for files can lead out of where it is searched: by a way up after a pattern, or by an alternative.
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
    // Hosts wrap a line as `bash -lc LINE`: what counts is the line.
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
