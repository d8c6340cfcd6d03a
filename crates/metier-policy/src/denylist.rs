//! Whether a call is on a list of what is denied, or could be: a doubt is enough.

use metier_skill::AllowedTools;
use serde_json::Value;

use crate::call::Call;
use crate::domain;
use crate::paths::{PathPattern, Places};
use crate::powershell;
use crate::rule::{self, NoteCode, Purpose, Rule, RuleNote, Spec, ToolPattern};
use crate::shell::{self, Word};
use crate::suspicion;
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
        let shell = (call.kind() == Kind::Shell && !self.rules.is_empty())
            .then(|| Line::new(&call.command_line().unwrap_or_default(), &self.places));
        let found = self.rules.iter().find(|rule| self.is_denied_by(rule, call, shell.as_ref()));
        found.map(|rule| rule.text.as_str())
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
                _ => {
                    let name = call.skill_text();
                    name.is_empty() || text.possibly(name.as_bytes())
                }
            },
            Spec::Path(pattern) => {
                let touched = call.touched(&self.places);
                touched.is_none_or(|paths| paths.iter().any(|path| pattern.matches(path, false)))
            }
            Spec::Domain(pattern) => {
                let urls = call.texts();
                urls.is_empty()
                    || urls.iter().any(|url| domain::host(url).is_none_or(|host| pattern.matches(&host)))
            }
            Spec::Names(names) => {
                let texts = call.texts();
                texts.is_empty() || texts.iter().any(|text| names.iter().any(|name| name == text))
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
        named.iter().any(|named| match named {
            Named::Unknown { writes } => *writes || kind != Kind::Edit,
            Named::Path { parts, only_read } => {
                (kind != Kind::Edit || !only_read) && pattern.matches_parts(parts, false)
            }
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
    named: Option<Vec<Named>>,
}

/// A file that a command line names.
enum Named {
    /// By a redirection, and only known when it runs.
    Unknown {
        writes: bool,
    },
    Path {
        parts: Vec<String>,
        only_read: bool,
    },
}

impl Line {
    fn new(line: &str, places: &Places) -> Self {
        let Ok(script) = shell::parse(line) else { return Self { ways: None, named: None } };
        let mut ways = Some(Vec::new());
        let mut named = Vec::new();
        for command in &script.commands {
            ways = ways.and_then(|mut ways: Vec<Vec<u8>>| {
                ways.extend(suspicion::deniable(command)?);
                Some(ways)
            });
            for redirect in &command.redirects {
                match redirect.target.literal() {
                    None => named.push(Named::Unknown { writes: redirect.writes }),
                    Some(text) => named.push(path(text, !redirect.writes, places)),
                }
            }
            for text in command.words.iter().skip(1).filter_map(Word::literal) {
                // `--file=.env`, `-f.env`, `@.env`, `if=.env`
                let is_option = text.starts_with('-');
                let value = text.split_once('=').map(|(_, value)| value);
                let attached = text.get(2..).filter(|_| is_option && !text.starts_with("--"));
                let whole = Some(text).filter(|_| !is_option);
                let texts = [whole, value, attached, text.strip_prefix('@')];
                let texts = texts.into_iter().flatten().filter(|text| !text.is_empty());
                named.extend(texts.map(|text| path(text, false, places)));
            }
        }
        Self { ways, named: Some(named) }
    }
}

fn path(text: &str, only_read: bool, places: &Places) -> Named {
    Named::Path { parts: places.parts(text, Purpose::Deny), only_read }
}
