//! Whether a call is on a list of what is allowed, beyond doubt.
//!
//! Denying is another matcher, on purpose: what is doubtful is not allowed, and is denied.

use std::path::Path;

use metier_skill::AllowedTools;

use crate::call::Call;
use crate::critical;
use crate::decision::DecisionCode;
use crate::domain;
use crate::invocation::{self, Refusal, Way};
use crate::paths::{self, Places};
use crate::powershell;
use crate::programs::{DESTROYERS, SAFE_VARIABLES, SPECIAL_NAMES, WRAPPERS};
use crate::rule::{self, NoteCode, Purpose, Rule, RuleNote, Spec, ToolPattern};
use crate::shell::{self, Assignment, Command, Redirect, Script, Word};
use crate::tools::Kind;
use crate::wildcard::{Subject, Wildcard};

/// A list of what is allowed, read and ready.
///
/// ```
/// use metier_policy::{Allowlist, Call, Places};
/// use metier_skill::AllowedTools;
///
/// let places = Places::new("/repo", "/me");
/// let list = Allowlist::new(&AllowedTools::split("Bash(git log *) Read"), &places);
/// assert!(list.find(&Call::new("Bash", "git log --oneline")).is_ok());
/// assert!(list.find(&Call::new("Bash", "git log; rm -rf x")).is_err());
/// ```
#[derive(Debug, Clone)]
pub struct Allowlist {
    rules: Vec<Rule>,
    notes: Vec<RuleNote>,
    places: Places,
}

/// Why a call is on no allowlist.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outside {
    /// Why, as a stable code.
    pub code: DecisionCode,
    /// Why, for a person.
    pub reason: String,
}

impl Outside {
    fn new(code: DecisionCode, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }
}

impl Allowlist {
    /// Reads a skill's rules. Those that can never match have a note.
    pub fn new(tools: &AllowedTools, places: &Places) -> Self {
        let (rules, notes) = rule::read_all(tools, Purpose::Allow, places);
        Self { rules, notes, places: places.clone() }
    }

    /// What a person should know about the rules.
    pub fn notes(&self) -> &[RuleNote] {
        &self.notes
    }

    /// The notes that matter to a decision: rules that do nothing, or something else than written.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = &RuleNote> {
        self.notes.iter().filter(|note| note.code != NoteCode::RuleBroad)
    }

    /// Whether nothing was declared in it.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.notes.is_empty()
    }

    /// The rule that allows a call, or why none does.
    pub fn find(&self, call: &Call) -> Result<&str, Outside> {
        match call.kind() {
            Kind::Shell => self.find_shell(call),
            Kind::PowerShell => self.find_powershell(call),
            _ => self.find_other(call),
        }
    }

    fn find_other(&self, call: &Call) -> Result<&str, Outside> {
        let found = self.rules.iter().find(|rule| self.is_allowed_by(rule, call));
        found.map(|rule| rule.text.as_str()).ok_or_else(|| {
            let texts = call.texts().unwrap_or_default();
            let with = texts.first().map(|text| format!(" with `{}`", shown(text))).unwrap_or_default();
            Outside::new(DecisionCode::OutsideList, format!("no rule allows `{}`{with}", shown(call.tool())))
        })
    }

    fn is_allowed_by(&self, rule: &Rule, call: &Call) -> bool {
        match &rule.tool {
            ToolPattern::Named { name, kind } => {
                covers(name, *kind, &rule.spec, call) && self.meets(&rule.spec, call)
            }
            ToolPattern::Mcp { server, tool, .. } => {
                // Where a name has `__` in it, the server may end there.
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

    fn meets(&self, spec: &Spec, call: &Call) -> bool {
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

    fn find_powershell(&self, call: &Call) -> Result<&str, Outside> {
        if let Some(rule) = self.any("PowerShell") {
            return Ok(rule);
        }
        let line = call.command_line().unwrap_or_default();
        let commands =
            powershell::commands(&line).filter(|_| call.brings_more().is_none()).ok_or_else(|| {
                Outside::new(
                    DecisionCode::NotParsed,
                    "it is more than plain PowerShell commands, which cannot be judged",
                )
            })?;
        let mut first = None;
        for command in &commands {
            let rule = self.texts("PowerShell").find(|(_, text)| text.surely(command));
            let (rule, _) = rule.ok_or_else(|| no_command(&String::from_utf8_lossy(&command.bytes)))?;
            first.get_or_insert(rule);
        }
        first.ok_or_else(no_line)
    }

    fn find_shell(&self, call: &Call) -> Result<&str, Outside> {
        let line = call.command_line().ok_or_else(no_line)?;
        let script = shell::parse(&line);
        if let Some(rule) = self.any("Bash") {
            // Even who may do everything does not mean this.
            let commands = script.iter().flat_map(|script| &script.commands);
            let found = commands.into_iter().find_map(|command| critical::anywhere(command, &self.places));
            return found.map_or(Ok(rule), |what| Err(destroys(&what)));
        }
        if !self.rules.iter().any(|rule| rule.is_for("Bash")) {
            return Err(no_command(&line));
        }
        let script = script.map_err(|error| {
            Outside::new(DecisionCode::NotParsed, format!("the command cannot be read: {error}"))
        })?;
        if let Some(what) = call.brings_more() {
            let reason = format!("`{what}` beside the command can change what runs");
            return Err(Outside::new(DecisionCode::NotJudged, reason));
        }
        self.check_place(call, &script)?;
        self.find_script(&script)
    }

    /// Elsewhere than in the working directory, paths mean something else, and `git` reads another's settings.
    fn check_place(&self, call: &Call, script: &Script) -> Result<(), Outside> {
        let directory = call.directory(&self.places).filter(|directory| *directory != self.places.cwd);
        let Some(directory) = directory else { return Ok(()) };
        let redirects = script.commands.iter().any(|command| !command.redirects.is_empty());
        if directory.starts_with(&self.places.cwd) && !redirects && !runs(script, &["git"]) {
            return Ok(());
        }
        let directory = directory.to_string_lossy();
        let reason = format!("what it does in `{}` cannot be judged from here", shown(&directory));
        Err(Outside::new(DecisionCode::NotJudged, reason))
    }

    fn find_script(&self, script: &Script) -> Result<&str, Outside> {
        if let Some(oddity) = script.oddities.first() {
            return Err(Outside::new(DecisionCode::NotJudged, format!("it uses {}", oddity.0)));
        }
        let mut first = None;
        for command in &script.commands {
            check_assignments(command)?;
            if let Some(rule) = self.find_command(command)? {
                first.get_or_insert(rule);
            }
            for redirect in &command.redirects {
                self.check_redirect(redirect)?;
            }
        }
        check_moves(script)?;
        first.ok_or_else(no_line)
    }

    /// The rule that allows a simple command; none is needed where nothing is run.
    fn find_command(&self, command: &Command) -> Result<Option<&str>, Outside> {
        if command.words.is_empty() {
            return Ok(None);
        }
        let ways = invocation::allowable(command, &self.places).map_err(|refusal| match refusal {
            Refusal::Critical(what) => destroys(&what),
            Refusal::Program => {
                let program = command.words.first().map(display).unwrap_or_default();
                let reason = format!(
                    "the program `{program}` is not written plainly; use no quotes, variables or patterns"
                );
                Outside::new(DecisionCode::UnknownProgram, reason)
            }
        })?;
        let rule = self.texts("Bash").find(|(_, text)| ways.iter().any(|way| text.surely(&way.subject)));
        match rule {
            Some((rule, _)) => Ok(Some(rule)),
            None => Err(self.why_not(command, &ways)),
        }
    }

    /// Where a rule would do but for a word that it does not name, that is what to say.
    fn why_not(&self, command: &Command, ways: &[Way]) -> Outside {
        let text = command.words.iter().map(display).collect::<Vec<_>>().join(" ");
        let would_do = |way: &&Way| {
            let unmarked = Subject { strict: vec![false; way.subject.bytes.len()], ..way.subject.clone() };
            self.texts("Bash").any(|(_, text)| text.surely(&unmarked))
        };
        let Some(way) = ways.iter().find(would_do) else { return no_command(&text) };
        let reason = match &way.marked {
            Some(word) if way.subject.strict.first() != Some(&true) => {
                format!(
                    "in `{}`, no `*` stands for `{}`, which can run or change more than it seems",
                    shown(&text),
                    shown(word)
                )
            }
            _ => format!(
                "`{}` can run or change more than it seems: only a rule without `*` for all of it allows it",
                shown(&text)
            ),
        };
        Outside::new(DecisionCode::OutsideList, reason)
    }

    /// Files that a redirection opens: what it writes needs a rule, what it reads one or to lie where one works.
    fn check_redirect(&self, redirect: &Redirect) -> Result<(), Outside> {
        let target = &redirect.target;
        let refuse = |what: &str| {
            let verb = if redirect.writes { "write to" } else { "read from" };
            let rule = if redirect.writes { "Edit" } else { "Read" };
            let reason = format!("no `{rule}` rule lets it {verb} `{}`{what}", display(target));
            Err(Outside::new(DecisionCode::RedirectOutside, reason))
        };
        let Some(text) = target.literal().filter(|_| target.is_static()) else {
            return refuse(", which is only known when it runs");
        };
        if matches!(text, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/stdin") {
            return Ok(());
        }
        let path = paths::normal(&self.places.cwd.join(text));
        if path.starts_with("/dev") || path.starts_with("/proc") {
            return refuse("");
        }
        let is_here = |directory: &Path| path.starts_with(directory);
        let is_inside = is_here(&self.places.cwd) || self.places.skill.as_deref().is_some_and(is_here);
        if self.covers_path(&path, redirect.writes) || (!redirect.writes && is_inside) {
            return Ok(());
        }
        refuse("")
    }

    fn covers_path(&self, path: &Path, writes: bool) -> bool {
        self.rules.iter().any(|rule| {
            let ToolPattern::Named { name, kind } = &rule.tool else { return false };
            let is_kind = *kind == Kind::Edit || (!writes && matches!(kind, Kind::Read | Kind::Search));
            match &rule.spec {
                // Who may search may not read everything, nor write it.
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

impl Rule {
    fn is_for(&self, tool: &str) -> bool {
        matches!(&self.tool, ToolPattern::Named { name, .. } if name == tool)
    }
}

/// Whether a rule for one tool is also about another: those for reading and editing are about all that do.
fn covers(name: &str, kind: Kind, spec: &Spec, call: &Call) -> bool {
    let is_path = matches!(spec, Spec::Path(_));
    call.name() == name
        || match (kind, call.kind()) {
            (Kind::Read | Kind::Search, Kind::Read | Kind::Search) => is_path || name == "Read",
            (Kind::Edit, Kind::Edit | Kind::Read | Kind::Search) => is_path || name == "Edit",
            _ => false,
        }
}

fn check_assignments(command: &Command) -> Result<(), Outside> {
    // A loop's variable stays in the shell; its name may be any that means nothing to anybody.
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
            Err(Outside::new(DecisionCode::UnknownVariable, reason))
        }
    }
}

/// In some languages' encodings a shell reads other letters than we do.
fn is_safe_value(assignment: &Assignment) -> bool {
    let is_locale = assignment.name.starts_with("LANG") || assignment.name.starts_with("LC_");
    let value = assignment.value.literal().unwrap_or("?").to_ascii_lowercase();
    let charset = value.rsplit('.').next().unwrap_or_default();
    !is_locale || matches!(value.as_str(), "" | "c" | "posix") || matches!(charset, "utf-8" | "utf8")
}

/// After a `cd`, relative paths mean something else, and `git` reads another repository's settings.
fn check_moves(script: &Script) -> Result<(), Outside> {
    let is_move = |word: &Word| matches!(word.literal(), Some("cd" | "pushd" | "popd" | "chdir"));
    let wraps = |word: &Word| WRAPPERS.iter().any(|wrapper| word.literal() == Some(wrapper.name));
    let moves = |command: &Command| {
        let is_wrapped = command.words.first().is_some_and(wraps);
        command.words.iter().take(if is_wrapped { usize::MAX } else { 1 }).any(is_move)
    };
    if !script.commands.iter().any(moves) {
        return Ok(());
    }
    let is_relative =
        |redirect: &Redirect| redirect.target.literal().is_none_or(|target| !target.starts_with('/'));
    let what = if runs(script, &["git"]) {
        "`git`"
    } else if script.commands.iter().flat_map(|command| &command.redirects).any(is_relative) {
        "a redirection"
    } else if runs(script, DESTROYERS) {
        "what destroys or changes files"
    } else if script.commands.iter().any(runs_relative) {
        "a program or script by its relative path"
    } else {
        return Ok(());
    };
    let reason = format!("`cd` and {what} in one command cannot be judged; use a command each");
    Err(Outside::new(DecisionCode::NotJudged, reason))
}

/// Whether a command runs a file that is another one elsewhere.
fn runs_relative(command: &Command) -> bool {
    let is_relative =
        |word: &Word| word.literal().is_none_or(|path| path.contains('/') && !path.starts_with('/'));
    let program = command.words.first();
    let interprets =
        program.and_then(Word::literal).is_some_and(|name| invocation::interpreter(name).is_some());
    program.is_some_and(is_relative) || interprets
}

/// Whether a script may run one of some programs.
fn runs(script: &Script, programs: &[&str]) -> bool {
    let mut words = script.commands.iter().flat_map(|command| &command.words);
    words.any(|word| word.literal().is_some_and(|word| programs.contains(&invocation::base_name(word))))
}

fn destroys(what: &str) -> Outside {
    let reason =
        format!("it would destroy or change {} with all that is in it; no rule allows that", shown(what));
    Outside::new(DecisionCode::CriticalPath, reason)
}

fn no_line() -> Outside {
    Outside::new(DecisionCode::OutsideList, "there is no command that a rule could allow")
}

fn no_command(command: &str) -> Outside {
    Outside::new(DecisionCode::OutsideList, format!("no rule allows `{}`", shown(command)))
}

/// A word for people, with a mark where something is put in.
fn display(word: &Word) -> String {
    String::from_utf8_lossy(&word.text).replace('\0', "…")
}

/// The beginning of a text, on one line.
fn shown(text: &str) -> String {
    const MOST: usize = 80;
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
