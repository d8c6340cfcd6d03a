//! Checks whether a call matches a deny rule, or may match one. In case of doubt, it does.

use metier_skill::{Code, ToolRules};
use serde_json::Value;

use crate::call::{Leads, ToolCall};
use crate::domain;
use crate::glob::{Glob, Segment};
use crate::mentions::{MOST_FOLLOWED, Mentions, Partial, Text, Use};
use crate::paths::{Anchors, PathPattern, parts};
use crate::rule::{self, Purpose, Rule, RuleNote, Spec, ToolPattern};
use crate::tools::Kind;
use crate::wildcard::Subject;

/// A parsed list of deny rules.
#[derive(Debug, Clone)]
pub struct Denylist {
    rules: Vec<Rule>,
    notes: Vec<RuleNote>,
    places: Anchors,
}

impl Denylist {
    /// Parses deny rules. Rules that can never match produce a note.
    pub fn new(tools: &ToolRules, places: &Anchors) -> Self {
        let (rules, notes) = rule::read_all(tools, Purpose::Deny, places);
        Self { rules, notes, places: places.clone() }
    }

    /// Notes about the rules.
    pub fn notes(&self) -> &[RuleNote] {
        &self.notes
    }

    /// The notes that affect decisions.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = &RuleNote> {
        self.notes.iter().filter(|note| note.code != Code::RuleBroad)
    }

    /// The rule that denies a call, or may deny it.
    pub fn find(&self, call: &ToolCall) -> Option<&str> {
        self.find_reason(call).map(|(rule, _)| rule)
    }

    /// The rule that denies a call, and whether only because the command could not be parsed.
    pub fn find_reason(&self, call: &ToolCall) -> Option<(&str, bool)> {
        if self.rules.is_empty() {
            return None;
        }
        let call = &*call.suspected();
        let shell = (call.kind() == Kind::Shell).then(|| Line::new(call, &self.places));
        let is_riddle = shell.as_ref().is_some_and(|line| line.named.is_none());
        let found = self.rules.iter().find(|rule| self.is_denied_by(rule, call, shell.as_ref()));
        found.map(|rule| (rule.text.as_str(), is_riddle))
    }

    fn is_denied_by(&self, rule: &Rule, call: &ToolCall, shell: Option<&Line<'_>>) -> bool {
        match &rule.tool {
            ToolPattern::Glob(pattern) => {
                let matches = |name: &str| pattern.surely(&Subject::plain(name));
                (matches(call.tool()) || matches(call.name())) && self.meets(rule, Kind::Plain, call, shell)
            }
            ToolPattern::Mcp { server, tool, text } => {
                let rest = call.tool().strip_prefix("mcp__").unwrap_or_default();
                // If a name contains `__`, the server's name may end at any of them.
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

    fn meets(&self, rule: &Rule, kind: Kind, call: &ToolCall, shell: Option<&Line<'_>>) -> bool {
        match &rule.spec {
            Spec::Any => true,
            Spec::Text { lower, text } => match (kind, shell) {
                (Kind::Shell, Some(line)) => {
                    line.ways.as_ref().is_none_or(|ways| ways.iter().any(|way| lower.possibly(way)))
                }
                (Kind::PowerShell, _) => {
                    let commands = call.parsed().powershell();
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
    fn line_touches(line: &Line<'_>, kind: Kind, pattern: &PathPattern) -> bool {
        let Some(named) = &line.named else { return true };
        let is_about = |named: &&Mention| kind != Kind::Edit || named.purpose != Use::Reads;
        named.iter().filter(is_about).any(|named| match &named.path {
            // A file that is only written is not affected by a rule against reading.
            Named::Unknown => kind == Kind::Edit || named.purpose != Use::Writes,
            Named::Known(parts) => pattern.matches_parts(parts, true),
            Named::Pattern(path) => pattern.may_match(path),
            Named::Ending(name) => pattern.may_end_with(name),
            Named::Tail(parts) => pattern.may_have_tail(parts),
        })
    }
}

/// Whether a deny rule for one tool also applies to another: a file that must not be read must not be changed either.
fn denies_kind(name: &str, kind: Kind, spec: &Spec, call: &ToolCall) -> bool {
    let is_path = matches!(spec, Spec::Path(_));
    call.name() == name
        || match (kind, call.kind()) {
            (Kind::Read | Kind::Search, Kind::Read | Kind::Search) => is_path || name == "Read",
            (Kind::Read | Kind::Search, Kind::Edit) => is_path,
            (Kind::Edit, Kind::Edit) => is_path || name == "Edit",
            _ => false,
        }
}

/// A command line with the files that it names, resolved against one list's anchors.
struct Line<'a> {
    /// The commands it may run; `None` if that may be anything.
    ways: Option<&'a [Vec<u8>]>,
    /// The files it names; `None` if it could not be parsed.
    named: Option<Vec<Mention>>,
}

/// A file that a command line names.
struct Mention {
    path: Named,
    purpose: Use,
}

enum Named {
    /// Only known at run time.
    Unknown,
    Known(Vec<String>),
    /// It contains patterns or expansions.
    Pattern(Vec<Segment>),
    /// Only the end is known: a pattern for the last part, or the part itself.
    Ending(Glob),
    /// Only the last parts are known.
    Tail(Vec<Segment>),
}

impl<'a> Line<'a> {
    fn new(call: &'a ToolCall, places: &Anchors) -> Self {
        let Some(mentions) = Mentions::of(call, places) else { return Self { ways: None, named: None } };
        Self { ways: call.parsed().suspicion().ways.as_deref(), named: Some(named(call, places, mentions)) }
    }
}

/// The files that a call names, and the targets of links in their paths.
fn named(call: &ToolCall, places: &Anchors, mut mentions: Mentions<'_>) -> Vec<Mention> {
    let mut named = Vec::with_capacity(mentions.texts.len());
    for (partial, purpose) in mentions.partial.drain(..) {
        let path = match partial {
            Partial::Nothing => Named::Unknown,
            Partial::Tail(parts) => Named::Tail(parts),
        };
        named.push(Mention { path, purpose });
    }
    for text in &mentions.texts {
        named.extend(ends(text, mentions.moves).map(|path| Mention { path, purpose: text.purpose }));
    }
    let is_long = mentions.located().nth(MOST_FOLLOWED).is_some();
    for (text, base) in mentions.located().take(MOST_FOLLOWED) {
        let mut push = |path: Named| named.push(Mention { path, purpose: text.purpose });
        push(if text.is_sure() {
            Named::Known(places.parts_at(base, &text.path, Purpose::Deny))
        } else {
            Named::Pattern(places.segments_at(base, &text.path, text.globs))
        });
        if !call.has_links() || text.is_open() {
            continue;
        }
        for path in text.paths(base, places) {
            match call.leads(&path) {
                Leads::There => {}
                Leads::To(real) if text.globs => {
                    push(Named::Pattern(places.segments_at(base, &real.to_string_lossy(), true)));
                }
                Leads::To(real) => push(Named::Known(parts(real, Purpose::Deny))),
                Leads::Anywhere => push(Named::Unknown),
            }
        }
    }
    // Files that are not examined, or are relative to an unknown directory, may be any file.
    let is_left = |(at, text): &(usize, &Text<'_>)| {
        *at >= MOST_FOLLOWED || (text.is_relative() && (is_long || mentions.bases.is_cut))
    };
    let left = mentions.texts.iter().enumerate().filter(is_left);
    named.extend(left.map(|(_, text)| Mention { path: Named::Unknown, purpose: text.purpose }));
    named
}

/// The known end of a path whose start is unknown.
fn ends(text: &Text<'_>, moves: bool) -> impl Iterator<Item = Named> {
    let moves = moves && text.is_relative();
    let name = text.path.rsplit('/').next().filter(|_| moves && !text.is_open());
    let ending = name.and_then(|name| Glob::new(&name.to_lowercase())).map(Named::Ending);
    let tail = moves.then(|| Named::Tail(text.tail()));
    ending.into_iter().chain(tail)
}
