//! Checks whether a call is certainly allowed by a list of allow rules.
//!
//! Deny rules use a separate matcher on purpose: in case of doubt, a call is not allowed, and is denied.

use std::path::{Path, PathBuf};

use metier_skill::{Code, ToolRules};

use crate::call::{Leads, ToolCall};
use crate::critical::{self, Whereabouts};
use crate::decision::DecisionCode;
use crate::domain;
use crate::invocation::{self, Refusal, Way};
use crate::moves::goes;
use crate::paths::{self, Anchors};
use crate::programs::{DESTROYERS, SAFE_VARIABLES, SPECIAL_NAMES};
use crate::rule::{self, Purpose, Rule, RuleNote, Spec, ToolPattern};
use crate::shell::{Assignment, Command, Redirect, Script, Word};
use crate::tools::Kind;
use crate::wildcard::{Subject, Wildcard};

/// A parsed list of allow rules.
///
/// ```
/// use metier_policy::{Allowlist, ToolCall, Anchors};
/// use metier_skill::ToolRules;
///
/// let places = Anchors::new("/repo", "/me");
/// let list = Allowlist::new(&ToolRules::split("Bash(git log *) Read"), &places);
/// assert!(list.find(&ToolCall::new("Bash", "git log --oneline")).is_ok());
/// assert!(list.find(&ToolCall::new("Bash", "git log; rm -rf x")).is_err());
/// ```
#[derive(Debug, Clone)]
pub struct Allowlist {
    rules: Vec<Rule>,
    notes: Vec<RuleNote>,
    places: Anchors,
}

/// Why no rule of an allowlist matches a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllowlistMiss {
    /// The reason as a stable code.
    pub code: DecisionCode,
    /// The reason as text.
    pub reason: String,
}

impl AllowlistMiss {
    fn new(code: DecisionCode, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }
}

impl Allowlist {
    /// Parses a skill's rules. Rules that can never match produce a note.
    pub fn new(tools: &ToolRules, places: &Anchors) -> Self {
        let (rules, notes) = rule::read_all(tools, Purpose::Allow, places);
        Self { rules, notes, places: places.clone() }
    }

    /// Notes about the rules.
    pub fn notes(&self) -> &[RuleNote] {
        &self.notes
    }

    /// The notes that affect decisions: rules that never match, or that match something else than written.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = &RuleNote> {
        self.notes.iter().filter(|note| note.code != Code::RuleBroad)
    }

    /// Whether the list has no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.notes.is_empty()
    }

    /// The rule that allows a call, or the reason why no rule does.
    pub fn find(&self, call: &ToolCall) -> Result<&str, AllowlistMiss> {
        match call.kind() {
            Kind::Shell => self.find_shell(call),
            Kind::PowerShell => self.find_powershell(call),
            _ => self.find_other(call),
        }
    }

    fn find_other(&self, call: &ToolCall) -> Result<&str, AllowlistMiss> {
        let found = self.rules.iter().find(|rule| self.is_allowed_by(rule, call));
        found.map(|rule| rule.text.as_str()).ok_or_else(|| {
            let texts = call.texts().unwrap_or_default();
            let with = texts.first().map(|text| format!(" with `{}`", shown(text))).unwrap_or_default();
            AllowlistMiss::new(
                DecisionCode::OutsideList,
                format!("no rule allows `{}`{with}", shown(call.tool())),
            )
        })
    }

    fn is_allowed_by(&self, rule: &Rule, call: &ToolCall) -> bool {
        match &rule.tool {
            ToolPattern::Named { name, kind } => {
                covers(name, *kind, &rule.spec, call) && self.meets(&rule.spec, call)
            }
            ToolPattern::Mcp { server, tool, .. } => {
                // If a name contains `__`, the server's name may end there.
                let is_tool = |found: &str| match tool {
                    Some(tool) if tool.is_exact() => tool.surely(&Subject::plain(found)),
                    Some(tool) => tool.surely(&Subject::plain(found)) && !found.contains("__"),
                    None => !found.contains("__"),
                };
                let parts = call.tool().strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
                matches!(rule.spec, Spec::Any)
                    && parts.is_some_and(|(found, name)| found == server && !name.is_empty() && is_tool(name))
            }
            ToolPattern::Glob(_) => false,
        }
    }

    fn meets(&self, spec: &Spec, call: &ToolCall) -> bool {
        match spec {
            Spec::Any => true,
            Spec::Text { text, .. } => {
                call.skill_text().is_some_and(|name| text.surely(&Subject::plain(&name)))
            }
            Spec::Path(pattern) => {
                let is_search = call.kind() == Kind::Search;
                let touched = call.touched(&self.places);
                touched.is_some_and(|paths| paths.iter().all(|path| pattern.matches(path, is_search)))
            }
            Spec::Domain(pattern) => {
                let urls = call.texts().unwrap_or_default();
                let fits = |url: &&str| domain::host(url).is_some_and(|host| pattern.matches(&host));
                !urls.is_empty() && urls.iter().all(fits)
            }
            Spec::Names(names) => {
                let texts = call.texts().unwrap_or_default();
                !texts.is_empty() && texts.iter().all(|text| names.iter().any(|name| name == text))
            }
            Spec::Argument { .. } => false,
        }
    }

    fn find_powershell(&self, call: &ToolCall) -> Result<&str, AllowlistMiss> {
        if let Some(rule) = self.any("PowerShell") {
            return Ok(rule);
        }
        let commands =
            call.parsed().powershell().filter(|_| call.brings_more().is_none()).ok_or_else(|| {
                AllowlistMiss::new(
                    DecisionCode::NotParsed,
                    "only plain PowerShell commands can be checked against rules",
                )
            })?;
        let mut first = None;
        for command in commands {
            let rule = self.texts("PowerShell").find(|(_, text)| text.surely(command));
            let (rule, _) = rule.ok_or_else(|| no_command(&String::from_utf8_lossy(&command.bytes)))?;
            first.get_or_insert(rule);
        }
        first.ok_or_else(no_line)
    }

    fn find_shell(&self, call: &ToolCall) -> Result<&str, AllowlistMiss> {
        let parsed = call.parsed();
        let (Some(line), Some(script)) = (&parsed.line, parsed.script()) else { return Err(no_line()) };
        if let Some(rule) = self.any("Bash") {
            // Even a rule that allows every command does not allow this.
            return destroyed(call, &self.places).map_or(Ok(rule), |what| Err(destroys(&what)));
        }
        if !self.rules.iter().any(|rule| rule.is_for("Bash")) {
            return Err(no_command(line));
        }
        let script = script.map_err(|error| {
            AllowlistMiss::new(DecisionCode::NotParsed, format!("the command could not be parsed: {error}"))
        })?;
        if let Some(what) = call.brings_more() {
            let reason = format!("the argument `{what}` can change what the command runs");
            return Err(AllowlistMiss::new(DecisionCode::NotJudged, reason));
        }
        self.check_place(call, script)?;
        self.find_script(call, line, script)
    }

    /// Outside the working directory, relative paths name other files, and `git` reads other settings.
    fn check_place(&self, call: &ToolCall, script: &Script) -> Result<(), AllowlistMiss> {
        let refuse = |reason: String| Err(AllowlistMiss::new(DecisionCode::NotJudged, reason));
        let directories = call.directories(&self.places);
        let directory = match directories.as_slice() {
            [] => return Ok(()),
            [only] => only,
            [one, other, ..] => {
                let (one, other) = (one.to_string_lossy(), other.to_string_lossy());
                let (one, other) = (shown(&one), shown(&other));
                return refuse(format!(
                    "two working directories are given, `{one}` and `{other}`; give only one"
                ));
            }
        };
        let real = self.below_here(call, directory);
        if real.as_ref() == Some(&self.places.cwd) {
            return Ok(());
        }
        let redirects = script.commands.iter().any(|command| !command.redirects.is_empty());
        if real.is_some() && !redirects && !runs(script, &["git"]) {
            return Ok(());
        }
        let text = directory.to_string_lossy();
        refuse(format!("the command runs in `{}`, where its effects cannot be checked", shown(&text)))
    }

    /// The real path of a directory, if both it and the written path are inside the working directory.
    fn below_here(&self, call: &ToolCall, directory: &Path) -> Option<PathBuf> {
        let named = paths::normal(directory);
        let is_here = named.starts_with(&self.places.cwd);
        let real = match call.leads(directory) {
            Leads::There => named,
            Leads::To(real) => paths::normal(real),
            Leads::Anywhere => return None,
        };
        (is_here && real.starts_with(&self.places.cwd)).then_some(real)
    }

    fn find_script(&self, call: &ToolCall, line: &str, script: &Script) -> Result<&str, AllowlistMiss> {
        if let Some(oddity) = script.oddities.first() {
            return Err(AllowlistMiss::new(
                DecisionCode::NotJudged,
                format!("the command uses {}, which cannot be checked", oddity.0),
            ));
        }
        let bases = critical::bases(call, script.commands.iter(), &self.places);
        if let Some(what) = critical::fed(&script.commands, &script.documents, &bases) {
            return Err(destroys(&what));
        }
        let mut first = None;
        let mut all_uses = vec![false; script.commands.len()];
        let moves = script.commands.iter().filter(|command| goes(command)).count();
        for (index, command) in script.commands.iter().enumerate() {
            check_assignments(command)?;
            // In a loop, a command may run after one that follows it. With several `cd`s, each may run after another.
            let is_moved = moves > 1 || (moves == 1 && !goes(command));
            match self.find_command(command, &bases) {
                Ok(None) => {}
                Ok(Some(found)) if is_moved && found.text.names_relative_path() => {
                    let reason =
                        format!("after `cd`, the relative paths in rule `{}` name other files", found.rule);
                    return Err(AllowlistMiss::new(DecisionCode::NotJudged, reason));
                }
                Ok(Some(found)) => {
                    all_uses[index] = found.is_any_use;
                    first.get_or_insert(found.rule);
                }
                // Changing to a directory below needs no rule.
                Err(_) if index == 0 && moves == 1 && self.goes_below(call, line, script) => {}
                Err(outside) => return Err(outside),
            }
            for redirect in &command.redirects {
                self.check_redirect(call, redirect)?;
            }
        }
        check_moves(script, &all_uses)?;
        first.ok_or_else(no_line)
    }

    /// Whether a line starts with a `cd` to a directory below the working directory. It must be the very first command,
    /// because a loop would go one level deeper each time.
    fn goes_below(&self, call: &ToolCall, line: &str, script: &Script) -> bool {
        let is_first = line.trim_start_matches(['(', ' ', '\t', '\n']).starts_with("cd ");
        let Some(Command { words, redirects, .. }) = script.commands.first() else { return false };
        let [_, directory] = words.as_slice() else { return false };
        let Some(text) = directory.literal().filter(|_| directory.is_static()) else { return false };
        let is_plain =
            !text.is_empty() && !text.starts_with(['-', '~']) && !text.split('/').any(|part| part == "..");
        // The `cd` would be relative to the directory that the call names.
        let is_here = call.directories(&self.places).iter().all(|directory| *directory == self.places.cwd);
        let leads_below = || self.below_here(call, &self.places.cwd.join(text)).is_some();
        is_first && redirects.is_empty() && is_plain && is_here && leads_below()
    }

    /// The rule that allows a simple command. `None` if nothing is run, so that no rule is needed.
    fn find_command(
        &self,
        command: &Command,
        bases: &Whereabouts<'_>,
    ) -> Result<Option<Found<'_>>, AllowlistMiss> {
        if command.words.is_empty() {
            return Ok(None);
        }
        let ways = invocation::allowable(command, bases).map_err(|refusal| match refusal {
            Refusal::Critical(what) => destroys(&what),
            Refusal::Program => {
                let program = command.words.first().map(display).unwrap_or_default();
                let reason = format!(
                    "cannot tell which program `{program}` runs; write its name without quotes, variables or patterns"
                );
                AllowlistMiss::new(DecisionCode::UnknownProgram, reason)
            }
        })?;
        let found = self.texts("Bash").find_map(|(rule, text)| {
            let is_any_use = ways.iter().flat_map(|way| &way.uses).any(|words| text.is_any_use_of(words));
            let is_allowed = is_any_use || ways.iter().any(|way| text.surely(&way.subject));
            is_allowed.then_some(Found { rule, text, is_any_use })
        });
        found.map(Some).ok_or_else(|| self.why_not(command, &ways))
    }

    /// The reason why no rule matches. If a rule fails only because of one word, the reason names that word.
    fn why_not(&self, command: &Command, ways: &[Way]) -> AllowlistMiss {
        let text = command.words.iter().map(display).collect::<Vec<_>>().join(" ");
        let would_do = |way: &&Way| {
            let unmarked = Subject { strict: vec![false; way.subject.bytes.len()], ..way.subject.clone() };
            self.texts("Bash").any(|(_, text)| text.surely(&unmarked))
        };
        let Some(way) = ways.iter().find(would_do) else { return no_command(&text) };
        let reason = match &way.marked {
            Some(word) if way.subject.strict.first() != Some(&true) => {
                format!(
                    "`{}`: `*` does not match `{}`, because it can run or change other things",
                    shown(&text),
                    shown(word)
                )
            }
            _ => format!(
                "`{}` can run or change other things; only a rule with the full command and no `*` allows it",
                shown(&text)
            ),
        };
        AllowlistMiss::new(DecisionCode::OutsideList, reason)
    }

    /// Checks the file that a redirection opens. Writing needs a rule; reading needs a rule or a file inside the
    /// working directory. A link must pass for both its own path and its target.
    fn check_redirect(&self, call: &ToolCall, redirect: &Redirect) -> Result<(), AllowlistMiss> {
        let target = &redirect.target;
        let refuse = |what: &str| {
            let verb = if redirect.writes { "write to" } else { "read from" };
            let rule = if redirect.writes { "Edit" } else { "Read" };
            let reason = format!("no `{rule}` rule allows it to {verb} `{}`{what}", display(target));
            Err(AllowlistMiss::new(DecisionCode::RedirectOutside, reason))
        };
        let Some(text) = target.literal().filter(|_| target.is_static()) else {
            return refuse(", a path that is only known at run time");
        };
        if matches!(text, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/stdin") {
            return Ok(());
        }
        let path = self.places.cwd.join(text);
        if !self.may_open(&paths::normal(&path), redirect.writes) {
            return refuse("");
        }
        match call.leads(&path) {
            Leads::There => Ok(()),
            Leads::To(real) if self.may_open(real, redirect.writes) => Ok(()),
            Leads::To(real) => {
                let real = real.to_string_lossy();
                refuse(&format!(", which is a link to `{}`", shown(&real)))
            }
            Leads::Anywhere => refuse(", a link whose target is unknown"),
        }
    }

    fn may_open(&self, path: &Path, writes: bool) -> bool {
        if path.starts_with("/dev") || path.starts_with("/proc") {
            return false;
        }
        let is_here = |directory: &Path| path.starts_with(directory);
        let is_inside = is_here(&self.places.cwd) || self.places.skill.as_deref().is_some_and(is_here);
        self.covers_path(path, writes) || (!writes && is_inside)
    }

    fn covers_path(&self, path: &Path, writes: bool) -> bool {
        self.rules.iter().any(|rule| {
            let ToolPattern::Named { name, kind } = &rule.tool else { return false };
            let is_kind = *kind == Kind::Edit || (!writes && matches!(kind, Kind::Read | Kind::Search));
            match &rule.spec {
                // A rule for searching does not allow reading or writing everything.
                Spec::Any => *kind == Kind::Edit || (!writes && name == "Read"),
                Spec::Path(pattern) => is_kind && pattern.matches(path, false),
                _ => false,
            }
        })
    }

    /// The rule that allows every use of a tool.
    fn any(&self, tool: &str) -> Option<&str> {
        let rule = self.rules.iter().find(|rule| rule.is_for(tool) && matches!(rule.spec, Spec::Any));
        rule.map(|rule| rule.text.as_str())
    }

    /// The rules about command lines of a tool.
    fn texts(&self, tool: &'static str) -> impl Iterator<Item = (&str, &Wildcard)> {
        self.rules.iter().filter(move |rule| rule.is_for(tool)).filter_map(|rule| match &rule.spec {
            Spec::Text { text, .. } => Some((rule.text.as_str(), text)),
            _ => None,
        })
    }
}

/// A rule that allows a command.
struct Found<'a> {
    rule: &'a str,
    text: &'a Wildcard,
    /// The rule matches every use of the program.
    is_any_use: bool,
}

/// What a shell call would destroy, if that is a critical path. `None` if the command could not be parsed.
pub(crate) fn destroyed(call: &ToolCall, places: &Anchors) -> Option<String> {
    let parsed = call.parsed();
    let Script { commands, documents, .. } = parsed.script()?.ok()?;
    let nested = &parsed.suspicion().nested;
    let bases = critical::bases(call, commands.iter().chain(nested.iter().flatten()), places);
    let by_itself = commands.iter().find_map(|command| critical::anywhere(command, &bases));
    by_itself.or_else(|| {
        let mut sets = std::iter::once(commands).chain(nested);
        sets.find_map(|commands| critical::fed(commands, documents, &bases))
    })
}

impl Rule {
    fn is_for(&self, tool: &str) -> bool {
        matches!(&self.tool, ToolPattern::Named { name, .. } if name == tool)
    }
}

/// Whether a rule for one tool also applies to another: rules for reading and editing apply to all tools that do so.
fn covers(name: &str, kind: Kind, spec: &Spec, call: &ToolCall) -> bool {
    let is_path = matches!(spec, Spec::Path(_));
    call.name() == name
        || match (kind, call.kind()) {
            (Kind::Read | Kind::Search, Kind::Read | Kind::Search) => is_path || name == "Read",
            (Kind::Edit, Kind::Edit | Kind::Read | Kind::Search) => is_path || name == "Edit",
            _ => false,
        }
}

fn check_assignments(command: &Command) -> Result<(), AllowlistMiss> {
    // A loop's variable stays in the shell, so only names without a special meaning are accepted.
    let is_loop = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && !name.contains(|c: char| c.is_ascii_uppercase())
            && !SPECIAL_NAMES.contains(&name)
    };
    let is_fine = |assignment: &&Assignment| {
        (SAFE_VARIABLES.contains(&assignment.name.as_str()) && is_safe_value(assignment))
            || (assignment.is_loop && is_loop(&assignment.name))
    };
    match command.assignments.iter().find(|assignment| !is_fine(assignment)) {
        None => Ok(()),
        Some(Assignment { name, .. }) => {
            let reason = format!("setting `{name}` could change what runs");
            Err(AllowlistMiss::new(DecisionCode::UnknownVariable, reason))
        }
    }
}

/// In some locales, a shell decodes characters differently than this parser.
fn is_safe_value(assignment: &Assignment) -> bool {
    let is_locale = assignment.name.starts_with("LANG") || assignment.name.starts_with("LC_");
    let value = assignment.value.literal().unwrap_or("?").to_ascii_lowercase();
    let charset = value.rsplit('.').next().unwrap_or_default();
    !is_locale || matches!(value.as_str(), "" | "c" | "posix") || matches!(charset, "utf-8" | "utf8")
}

/// After a `cd`, relative paths name other files, and `git` reads another repository's settings. A rule for every use
/// of an interpreter covers its files wherever they are.
fn check_moves(script: &Script, all_uses: &[bool]) -> Result<(), AllowlistMiss> {
    if !script.commands.iter().any(goes) {
        return Ok(());
    }
    let is_relative =
        |redirect: &Redirect| redirect.target.literal().is_none_or(|target| !target.starts_with('/'));
    let mut commands = script.commands.iter().zip(all_uses);
    let what = if runs(script, &["git"]) {
        "`git`"
    } else if script.commands.iter().flat_map(|command| &command.redirects).any(is_relative) {
        "a redirection"
    } else if runs(script, DESTROYERS) {
        "a command that deletes or changes files"
    } else if commands.any(|(command, is_any_use)| runs_relative(command, *is_any_use)) {
        "a program or script with a relative path"
    } else {
        return Ok(());
    };
    let reason = format!("`cd` together with {what} cannot be checked; use separate commands");
    Err(AllowlistMiss::new(DecisionCode::NotJudged, reason))
}

/// Whether a command runs a file by a relative path.
fn runs_relative(command: &Command, is_any_use: bool) -> bool {
    let is_relative =
        |word: &Word| word.literal().is_none_or(|path| path.contains('/') && !path.starts_with('/'));
    let program = command.words.first();
    let interprets =
        program.and_then(Word::literal).is_some_and(|name| invocation::interpreter(name).is_some());
    program.is_some_and(is_relative) || (interprets && !is_any_use)
}

/// Whether a script may run one of the given programs.
fn runs(script: &Script, programs: &[&str]) -> bool {
    let mut words = script.commands.iter().flat_map(|command| &command.words);
    words.any(|word| word.literal().is_some_and(|word| programs.contains(&invocation::base_name(word))))
}

pub(crate) fn destroys(what: &str) -> AllowlistMiss {
    let reason = format!(
        "the command would delete or change {} and everything in it; no rule can allow that",
        shown(what)
    );
    AllowlistMiss::new(DecisionCode::CriticalPath, reason)
}

fn no_line() -> AllowlistMiss {
    AllowlistMiss::new(DecisionCode::OutsideList, "the call has no command that a rule could allow")
}

fn no_command(command: &str) -> AllowlistMiss {
    AllowlistMiss::new(DecisionCode::OutsideList, format!("no rule allows `{}`", shown(command)))
}

/// A word for display, with `…` for expansions.
fn display(word: &Word) -> String {
    String::from_utf8_lossy(&word.text).replace('\0', "…")
}

/// The start of a text, on one line.
fn shown(text: &str) -> String {
    const MOST: usize = 80;
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
