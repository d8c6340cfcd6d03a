//! One call to a tool, as a host is about to make it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::paths::Places;
use crate::tools::{self, Kind, Tool};

/// A call to a tool: its name, its arguments, and where links in its paths lead.
///
/// ```
/// use metier_policy::Call;
///
/// let call = Call::new("exec_command", serde_json::json!({ "cmd": ["git", "status"] }));
/// assert_eq!(call.tool(), "exec_command");
/// assert_eq!(call.name(), "Bash");
/// ```
#[derive(Debug, Clone)]
pub struct Call {
    tool: String,
    known: Option<&'static Tool>,
    input: Value,
    resolved: Vec<PathBuf>,
}

impl Call {
    /// A call with its arguments: an object, or a text for the argument that rules are about.
    pub fn new(tool: impl Into<String>, input: impl Into<Value>) -> Self {
        let tool = tool.into();
        Self { known: tools::called(&tool), tool, input: input.into(), resolved: Vec::new() }
    }

    /// Adds the path that one of the call's paths leads to, when links are followed.
    #[must_use]
    pub fn leading_to(mut self, path: impl Into<PathBuf>) -> Self {
        self.resolved.push(path.into());
        self
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
        if matches!(self.kind(), Kind::Read | Kind::Search | Kind::Edit) { self.texts() } else { Vec::new() }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.known.map_or(Kind::Plain, |tool| tool.kind)
    }

    /// The command line of a shell's call. A list is one word each, so that nothing in them is taken for more.
    pub(crate) fn command_line(&self) -> Option<String> {
        if let Value::String(text) = &self.input {
            return Some(text.clone());
        }
        let mut lines = self.known?.fields.iter().filter_map(|field| self.input.get(field));
        let line = match lines.next()? {
            Value::String(text) => text.clone(),
            Value::Array(words) => joined(words)?,
            _ => return None,
        };
        // Two of them are one too many to know which one runs.
        lines.next().is_none().then_some(line)
    }

    /// What a rule can be about: the texts of the arguments that the table names.
    pub(crate) fn texts(&self) -> Vec<&str> {
        if let Value::String(text) = &self.input {
            return vec![text];
        }
        let fields = self.known.map_or(&[][..], |tool| tool.fields);
        let values = fields.iter().filter_map(|field| self.input.get(field));
        let each = values.flat_map(|value| match value {
            Value::Array(items) => items.iter().collect(),
            other => vec![other],
        });
        each.filter_map(Value::as_str).collect()
    }

    /// An argument by its name.
    pub(crate) fn argument(&self, name: &str) -> Option<&Value> {
        self.input.get(name)
    }

    /// What a rule about skills is held against: the name, and what it is given. Empty where that is not plain.
    pub(crate) fn skill_text(&self) -> String {
        // Two names are one too many.
        let [name] = self.texts()[..] else { return String::new() };
        match self.argument("args").or_else(|| self.argument("arguments")) {
            Some(Value::String(args)) if !args.is_empty() => format!("{name} {args}"),
            None | Some(Value::Null | Value::String(_)) => name.to_owned(),
            Some(other) => format!("{name} {other}"),
        }
    }

    /// Every path that is touched: as named, and where links lead. `None` if that cannot be told.
    pub(crate) fn touched(&self, places: &Places) -> Option<Vec<PathBuf>> {
        let mut touched = Vec::new();
        for text in self.texts() {
            if text.contains('\0') {
                return None;
            }
            // `a -> b` is how a link is shown; should a file be called so, it is judged by more than its name.
            for part in text.split(" -> ") {
                touched.push(places.absolute(part));
            }
            if text.contains(" -> ") {
                touched.push(places.absolute(text));
            }
        }
        if self.known.is_some_and(|tool| tool.name == "Glob") && self.input.is_object() {
            touched = self.below_of_glob(places);
        }
        // A search without a directory is one of the working directory.
        if touched.is_empty() && self.kind() == Kind::Search {
            touched.push(places.cwd.clone());
        }
        touched.extend(self.resolved.iter().map(|path| crate::paths::normal(path)));
        (!touched.is_empty()).then_some(touched)
    }

    /// The directory that a pattern of `Glob` is searched below.
    fn below_of_glob(&self, places: &Places) -> Vec<PathBuf> {
        let text = |name| self.input.get(name).and_then(Value::as_str);
        let base = ["path", "dir_path", "directory"].into_iter().find_map(text).unwrap_or(".");
        let pattern = text("pattern").unwrap_or_default();
        let fixed = pattern.find(['*', '?', '[', '{']).map_or(pattern, |end| {
            pattern[..end]
                .rsplit_once('/')
                .map_or("", |(directory, _)| if directory.is_empty() { "/" } else { directory })
        });
        let base = places.absolute(base);
        let rest = &pattern[fixed.len()..];
        // A way up after a pattern leads anywhere.
        if Path::new(rest).components().any(|part| part == std::path::Component::ParentDir) {
            return vec![PathBuf::from("/")];
        }
        vec![crate::paths::normal(&base.join(fixed))]
    }
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
