//! Whether a call is on a list of what is denied, or could be: a doubt is enough.

use metier_skill::AllowedTools;
use serde_json::Value;

use crate::call::Call;
use crate::domain;
use crate::glob::Glob;
use crate::invocation::may_run;
use crate::paths::{PathPattern, Places};
use crate::powershell;
use crate::rule::{self, NoteCode, Purpose, Rule, RuleNote, Spec, ToolPattern};
use crate::shell::{self, Command, Word};
use crate::suspicion::Suspects;
use crate::tools::Kind;
use crate::wildcard::Subject;

/// A list of what is denied, read and ready.
#[derive(Debug, Clone)]
pub struct Denylist {
    rules: Vec<Rule>,
    notes: Vec<RuleNote>,
    places: Places,
}

impl Denylist {
    /// Reads rules that deny. Those that can never match have a note.
    pub fn new(tools: &AllowedTools, places: &Places) -> Self {
        let (rules, notes) = rule::read_all(tools, Purpose::Deny, places);
        Self { rules, notes, places: places.clone() }
    }

    /// What a person should know about the rules.
    pub fn notes(&self) -> &[RuleNote] {
        &self.notes
    }

    /// The notes that matter to a decision.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = &RuleNote> {
        self.notes.iter().filter(|note| note.code != NoteCode::RuleBroad)
    }

    /// The rule that denies a call, or could.
    pub fn find(&self, call: &Call) -> Option<&str> {
        self.find_reason(call).map(|(rule, _)| rule)
    }

    /// The same, and whether only because the command cannot be read.
    pub(crate) fn find_reason(&self, call: &Call) -> Option<(&str, bool)> {
        if self.rules.is_empty() {
            return None;
        }
        let call = &call.suspected();
        let shell = (call.kind() == Kind::Shell).then(|| Line::new(call, &self.places));
        let is_riddle = shell.as_ref().is_some_and(|line| line.named.is_none());
        let found = self.rules.iter().find(|rule| self.is_denied_by(rule, call, shell.as_ref()));
        found.map(|rule| (rule.text.as_str(), is_riddle))
    }

    fn is_denied_by(&self, rule: &Rule, call: &Call, shell: Option<&Line>) -> bool {
        match &rule.tool {
            ToolPattern::Glob(pattern) => {
                let matches = |name: &str| pattern.surely(&Subject::plain(name));
                (matches(call.tool()) || matches(call.name())) && self.meets(rule, Kind::Plain, call, shell)
            }
            ToolPattern::Mcp { server, tool, text } => {
                let rest = call.tool().strip_prefix("mcp__").unwrap_or_default();
                // Where a name has `__` in it, the server may end at any of them.
                let ends = rest.match_indices("__").map(|(at, _)| (&rest[..at], &rest[at + 2..]));
                let is_tool =
                    |found: &str| tool.as_ref().is_none_or(|tool| tool.surely(&Subject::plain(found)));
                let is_named = ends.clone().any(|(found, name)| found == server && is_tool(name));
                let is_server = call
                    .tool()
                    .strip_prefix(text.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with("__"));
                (is_named || is_server) && self.meets(rule, Kind::Plain, call, shell)
            }
            ToolPattern::Named { name, kind } => {
                if let (Some(line), Spec::Path(pattern)) = (shell, &rule.spec) {
                    return Self::line_touches(line, *kind, pattern);
                }
                denies_kind(name, *kind, &rule.spec, call) && self.meets(rule, *kind, call, shell)
            }
        }
    }

    fn meets(&self, rule: &Rule, kind: Kind, call: &Call, shell: Option<&Line>) -> bool {
        match &rule.spec {
            Spec::Any => true,
            Spec::Text { lower, text } => match (kind, shell) {
                (Kind::Shell, Some(line)) => {
                    line.ways.as_ref().is_none_or(|ways| ways.iter().any(|way| lower.possibly(way)))
                }
                (Kind::PowerShell, _) => {
                    let commands = powershell::commands(&call.command_line().unwrap_or_default());
                    commands
                        .is_none_or(|commands| commands.iter().any(|command| text.possibly(&command.bytes)))
                }
                _ => call.skill_text().is_none_or(|name| {
                    let name = name.trim().trim_start_matches('/');
                    let bare = name.split_whitespace().next().unwrap_or_default();
                    text.possibly(name.as_bytes()) || text.possibly(bare.as_bytes())
                }),
            },
            Spec::Path(pattern) => {
                let touched = call.touched(&self.places);
                touched.is_none_or(|paths| paths.iter().any(|path| pattern.matches(path, true)))
            }
            Spec::Domain(pattern) => {
                let urls = call.texts().unwrap_or_default();
                urls.is_empty()
                    || urls.iter().any(|url| domain::host(url).is_none_or(|host| pattern.matches(&host)))
            }
            Spec::Names(names) => {
                let texts = call.texts().unwrap_or_default();
                texts.is_empty()
                    || texts
                        .iter()
                        .any(|text| names.iter().any(|name| name.eq_ignore_ascii_case(text.trim())))
            }
            Spec::Argument { name, value } => match call.argument(name) {
                None | Some(Value::Null) => false,
                Some(Value::String(text)) => value.surely(&Subject::plain(text)),
                Some(other) => value.surely(&Subject::plain(&other.to_string())),
            },
        }
    }

    /// Whether a command line names a path that must not be read or written.
    fn line_touches(line: &Line, kind: Kind, pattern: &PathPattern) -> bool {
        let Some(named) = &line.named else { return true };
        named.iter().filter(|named| kind != Kind::Edit || !named.only_read).any(|named| match &named.path {
            // What is written is nothing that must not be read.
            Named::Unknown => named.only_read != (kind == Kind::Edit),
            Named::Known(parts) => pattern.matches_parts(parts, true),
            Named::Ending(name) => pattern.may_end_with(name),
            Named::Tail(parts) => pattern.may_have_tail(parts),
        })
    }
}

/// Whether a rule that denies one tool is about another as well: who must not read a file must not change it.
fn denies_kind(name: &str, kind: Kind, spec: &Spec, call: &Call) -> bool {
    let is_path = matches!(spec, Spec::Path(_));
    call.name() == name
        || match (kind, call.kind()) {
            (Kind::Read | Kind::Search, Kind::Read | Kind::Search) => is_path || name == "Read",
            (Kind::Read | Kind::Search, Kind::Edit) => is_path,
            (Kind::Edit, Kind::Edit) => is_path || name == "Edit",
            _ => false,
        }
}

/// A command line, taken apart once for all rules.
struct Line {
    /// What it might run; `None` where that may be anything.
    ways: Option<Vec<Vec<u8>>>,
    /// The files that it names; `None` where it cannot be read.
    named: Option<Vec<Mention>>,
}

/// A file that a command line names.
struct Mention {
    path: Named,
    only_read: bool,
}

enum Named {
    /// Only known when it runs.
    Unknown,
    Known(Vec<String>),
    /// What is known is how it ends: a pattern for the last part, or the part itself.
    Ending(Glob),
    /// What is known are its last parts.
    Tail(Vec<String>),
}

/// Programs that read the files they are given, and change none.
const READERS: &[&str] = &[
    "cat",
    "ls",
    "head",
    "tail",
    "wc",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "diff",
    "cmp",
    "stat",
    "file",
    "du",
    "tree",
    "less",
    "more",
    "od",
    "xxd",
    "hexdump",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "cksum",
    "strings",
    "realpath",
    "readlink",
    "basename",
    "dirname",
    "test",
    "[",
    "cut",
    "nl",
    "jq",
    "echo",
    "cd",
    "uniq",
    "tr",
    "column",
    "eslint",
    "mypy",
    "tsc",
    "pwd",
    "true",
    "date",
    "which",
];

impl Line {
    fn new(call: &Call, places: &Places) -> Self {
        let script = call.command_line().and_then(|line| shell::parse(&line).ok());
        let Some(script) = script else { return Self { ways: None, named: None } };
        let mut suspects = Suspects::default();
        let mut named = Vec::new();
        let mut is_known = true;
        let mut open = script.commands;
        // Code that is given to others is looked at as well, and code in that, a few times over.
        for _ in 0..4 {
            let moves =
                open.iter().any(|command| command.words.iter().any(|word| word.literal() == Some("cd")));
            // Where everything only reads, so does whatever is done with what is named.
            let all_read = open.iter().all(only_reads);
            for command in &open {
                is_known &= suspects.add(command);
                mentions(command, moves, all_read, places, &mut named);
            }
            open = std::mem::take(&mut suspects.nested);
        }
        Self { ways: (is_known && open.is_empty()).then_some(suspects.ways), named: Some(named) }
    }
}

/// The files that a command names.
fn mentions(command: &Command, moves: bool, all_read: bool, places: &Places, named: &mut Vec<Mention>) {
    for redirect in &command.redirects {
        let path = match redirect.target.literal() {
            None => vec![Named::Unknown],
            Some(_) => names(&redirect.target, moves, places),
        };
        named.extend(path.into_iter().map(|path| Mention { path, only_read: !redirect.writes }));
    }
    // Where one goes matters to what is done there.
    let goes = command.words.first().and_then(Word::literal) == Some("cd");
    let only_read = all_read || (!goes && !command.words.is_empty() && only_reads(command));
    let values = command.assignments.iter().map(|assignment| &assignment.value);
    for word in command.words.iter().skip(1).chain(&command.mentions).chain(values) {
        named.extend(names(word, moves, places).into_iter().map(|path| Mention { path, only_read }));
    }
}

/// Whether a command changes none of the files that it names.
fn only_reads(command: &Command) -> bool {
    let word = |at: usize| command.words.get(at).and_then(Word::literal);
    let is_reader = match word(0) {
        None => command.words.is_empty(),
        Some("git") => word(1).is_some_and(|name| READING_GIT.contains(&name)),
        Some("sed") => {
            !command.words.iter().any(|word| word.text.starts_with(b"-i") || word.text.starts_with(b"--in"))
        }
        Some("find" | "sort" | "awk") => !may_run(word(0).unwrap_or_default(), &command.words),
        Some(name) => READERS.contains(&name),
    };
    is_reader && command.redirects.iter().all(|redirect| !redirect.writes)
}

/// Subcommands of `git` that leave the working files as they are.
const READING_GIT: &[&str] =
    &["show", "blame", "ls-files", "log", "diff", "status", "grep", "rev-parse", "add", "commit", "branch"];

/// The paths that a word may be: all of it, or a part.
fn names(word: &Word, moves: bool, places: &Places) -> Vec<Named> {
    let Some(text) = word.literal() else {
        // `"$PWD/.env"`: how it ends is known; `src/{a,b}`: how it begins.
        let text = String::from_utf8_lossy(&word.text).into_owned();
        let (begin, end) =
            (text.split('\0').next().unwrap_or_default(), text.rsplit('\0').next().unwrap_or_default());
        let begin = begin.rsplit_once('/').map(|(above, _)| Named::Known(places.parts(above, Purpose::Deny)));
        let end: Vec<String> =
            end.split('/').skip(1).filter(|part| !part.is_empty()).map(str::to_lowercase).collect();
        let end = Some(end).filter(|end| !end.is_empty()).map(Named::Tail);
        return begin.into_iter().chain(end).collect();
    };
    // `--file=.env`, `-f.env`, `@.env`, `if=.env`, `HEAD:.env`, `file:///repo/.env`
    let is_option = text.starts_with('-');
    let attached = text.get(2..).filter(|_| is_option && !text.starts_with("--"));
    let separators = ['=', '@', ':', ','];
    let parts = text.split(separators).filter(|piece| !piece.starts_with('-') && piece.len() < text.len());
    let whole = Some(text).filter(|_| !is_option);
    let all = whole.into_iter().chain(attached).chain(parts);
    let mut named = Vec::new();
    for piece in all.filter(|piece| !piece.is_empty()) {
        let last = piece.rsplit('/').next().unwrap_or(piece);
        if word.globs || (moves && !piece.starts_with('/')) {
            named.extend(ending(last));
        }
        if moves && !piece.starts_with('/') {
            let parts = piece.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
            named.push(Named::Tail(parts.map(str::to_lowercase).collect()));
        }
        named.push(Named::Known(places.parts(piece, Purpose::Deny)));
    }
    named
}

fn ending(last: &str) -> Option<Named> {
    Glob::new(&last.to_lowercase()).map(Named::Ending)
}
