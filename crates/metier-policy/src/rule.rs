//! The grammar of rules: `Tool`, `Tool(spec)`, `mcp__server__tool`. What is wrong with a rule is said when it is read.

use std::path::Path;

use metier_skill::{Code, ToolRules};
use serde::Serialize;

use crate::domain::DomainPattern;
use crate::invocation::{BLANK, base_name};
use crate::own;
use crate::paths::{Anchors, PathPattern, PatternProblem, escape};
use crate::powershell;
use crate::programs;
use crate::tools::{self, Kind};
use crate::wildcard::Wildcard;

/// What a person should know about a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RuleNote {
    /// The rule as it was written.
    pub rule: String,
    /// The code under which it is a finding about the skill.
    pub code: Code,
    /// What is the matter, and what to write instead.
    pub message: String,
}

/// What a rule is for: the same text means different things in a list of what is allowed and of what is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Allow,
    Deny,
}

/// A rule that was read.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) text: String,
    pub(crate) tool: ToolPattern,
    pub(crate) spec: Spec,
}

/// The tools that a rule is about.
#[derive(Debug, Clone)]
pub(crate) enum ToolPattern {
    /// One tool, by the name in the table, or by its own if it is not there.
    Named { name: String, kind: Kind },
    /// Tools of an MCP server.
    Mcp { server: String, tool: Option<Wildcard>, text: String },
    /// Any tool whose whole name matches; only for denying.
    Glob(Wildcard),
}

/// What a rule says about the arguments.
#[derive(Debug, Clone)]
pub(crate) enum Spec {
    /// Whatever they are.
    Any,
    /// A command line, or what stands for one: the text and the same in small letters.
    Text {
        text: Wildcard,
        lower: Wildcard,
    },
    Path(Box<PathPattern>),
    Domain(DomainPattern),
    /// One of some names.
    Names(Vec<String>),
    /// One argument with a value; only for denying.
    Argument {
        name: String,
        value: Wildcard,
    },
}

/// Reads a rule. Without one it can never match, and a note says why.
pub(crate) fn read(
    text: &str,
    purpose: Purpose,
    places: &Anchors,
    notes: &mut Vec<RuleNote>,
) -> Option<Rule> {
    let mut reader = Reader { text, purpose, places, notes };
    match reader.rule() {
        Ok(rule) => Some(rule),
        Err(message) => {
            reader.note(Code::RuleNeverMatches, message);
            None
        }
    }
}

/// Reads a list of rules.
pub(crate) fn read_all(tools: &ToolRules, purpose: Purpose, places: &Anchors) -> (Vec<Rule>, Vec<RuleNote>) {
    let mut notes = Vec::new();
    let mut rules = Vec::new();
    for (index, text) in tools.rules().iter().enumerate() {
        // `Bash (git *)` must not become `Bash`, which is every command.
        let is_cut_off = tools.rules().get(index + 1).is_some_and(|next| next.starts_with('('));
        if is_cut_off && purpose == Purpose::Allow {
            let message = "a blank stands before its parenthesis; write them together".to_owned();
            notes.push(RuleNote { rule: text.clone(), code: Code::RuleNeverMatches, message });
        } else {
            rules.extend(read(text, purpose, places, &mut notes));
        }
    }
    (rules, notes)
}

/// Rules come from skills, and must not cost more than they are worth.
const MOST_BYTES: usize = 1_000;
const MOST_STARS: usize = 16;

struct Reader<'a> {
    text: &'a str,
    purpose: Purpose,
    places: &'a Anchors,
    notes: &'a mut Vec<RuleNote>,
}

impl Reader<'_> {
    fn note(&mut self, code: Code, message: String) {
        self.notes.push(RuleNote { rule: self.text.to_owned(), code, message });
    }

    fn rule(&mut self) -> Result<Rule, String> {
        if self.text.len() > MOST_BYTES || self.text.matches('*').count() > MOST_STARS {
            return Err("it is longer than a rule can be, or has too many `*`".to_owned());
        }
        let (name, spec) = split(self.text)?;
        let tool = self.tool(name)?;
        let spec = match (spec, &tool) {
            (None, _) => Spec::Any,
            (Some(spec), _) if self.text.contains('\0') || spec.contains('\u{1}') => {
                return Err("it has a character that no call can have".to_owned());
            }
            (Some("*"), ToolPattern::Named { kind, .. }) if self.is_any(*kind) => Spec::Any,
            (Some(""), _) => {
                return Err(format!("there is nothing in the parentheses; write `{name}` for every use"));
            }
            (Some(spec), ToolPattern::Named { kind, .. }) => self.spec(name, spec, *kind)?,
            (Some(spec), _) => self.argument(spec)?,
        };
        Ok(Rule { text: self.text.to_owned(), tool, spec })
    }

    /// Whether `*` is every use. For paths it is a name, and a doubt is settled by what the rule is for.
    fn is_any(&self, kind: Kind) -> bool {
        self.purpose == Purpose::Deny
            || matches!(kind, Kind::Shell | Kind::PowerShell | Kind::Agent | Kind::Skill)
    }

    fn tool(&self, name: &str) -> Result<ToolPattern, String> {
        let is_odd = |c: char| !c.is_alphanumeric() && !"_.:*/-".contains(c);
        if name.contains(is_odd) {
            return Err("that is no tool's name; each rule stands for itself, without quotes".to_owned());
        }
        let lower = name.to_ascii_lowercase();
        if lower.starts_with("mcp_") && !name.starts_with("mcp__") {
            return Err("a server's tool is written `mcp__SERVER__TOOL`".to_owned());
        }
        if let Some(rest) = name.strip_prefix("mcp__") {
            return self.mcp(rest, name);
        }
        if name.contains('*') {
            if self.purpose == Purpose::Deny && !name.contains(':') {
                return Ok(ToolPattern::Glob(Wildcard::new(name)));
            }
            return Err(match name.split_once(':') {
                Some((tool, _)) if tools::in_rule(tool).is_some() => {
                    format!("`:*` belongs inside parentheses; write `{tool}` or `{tool}(COMMAND:*)`")
                }
                Some((server, _)) => format!("a server's tools are written `mcp__{server}__*`"),
                None if name.contains('/') => "a server's tools are written `mcp__SERVER__*`".to_owned(),
                None => "a tool must be named in full; only `mcp__SERVER__*` may have a `*`".to_owned(),
            });
        }
        if let Some(tool) = tools::in_rule(name) {
            return Ok(ToolPattern::Named { name: tool.name.to_owned(), kind: tool.kind });
        }
        if let Some(meant) = tools::nearest(name) {
            return Err(format!("there is no tool `{name}`; did you mean `{meant}`?"));
        }
        if name.contains(['/', '\\']) {
            return Err("a server's tool is written `mcp__SERVER__TOOL`".to_owned());
        }
        Ok(ToolPattern::Named { name: name.to_owned(), kind: Kind::Plain })
    }

    fn mcp(&self, rest: &str, name: &str) -> Result<ToolPattern, String> {
        let (server, tool) =
            rest.split_once("__").map_or((rest, None), |(server, tool)| (server, Some(tool)));
        let is_deny = self.purpose == Purpose::Deny;
        if is_deny && server.contains('*') {
            return Ok(ToolPattern::Glob(Wildcard::new(name)));
        }
        if server.is_empty() || server.contains('*') {
            return Err("the server must be named in full, as in `mcp__SERVER__*`".to_owned());
        }
        let tool = match tool {
            Some("") => return Err(format!("the tool is missing; write `mcp__{server}__*` for all of them")),
            None | Some("*") => None,
            Some(tool) => Some(Wildcard::new(tool)),
        };
        Ok(ToolPattern::Mcp { server: server.to_owned(), tool, text: name.to_owned() })
    }

    fn spec(&mut self, name: &str, spec: &str, kind: Kind) -> Result<Spec, String> {
        // Skills and agents of plugins have a colon in their names.
        let has_colons = matches!(kind, Kind::Fetch | Kind::Skill | Kind::Agent);
        let names_known =
            spec.split_once(':').is_some_and(|(name, _)| KNOWN_ARGUMENTS.contains(&name.trim()));
        let takes_arguments = kind == Kind::Plain || (!has_colons && kind == Kind::PowerShell) || names_known;
        if self.purpose == Purpose::Deny
            && takes_arguments
            && let Ok(argument) = self.argument(spec)
        {
            return Ok(argument);
        }
        match kind {
            Kind::Shell => self.command(spec),
            Kind::PowerShell => {
                let (pattern, _) = prefix_form(spec);
                let text = Wildcard::new(&powershell::canonical(&pattern));
                Ok(Spec::Text { lower: text.clone(), text })
            }
            Kind::Read | Kind::Search | Kind::Edit => self.path(name, spec, kind),
            Kind::Fetch => {
                let domain = spec.strip_prefix("domain:").and_then(DomainPattern::new);
                let advice = if spec == "*" {
                    format!("write `{name}`")
                } else {
                    format!("write `{name}(domain:example.com)`, the host alone")
                };
                domain.map(Spec::Domain).ok_or(advice)
            }
            Kind::Agent => {
                if names_known {
                    return Err("a rule about an argument can only deny".to_owned());
                }
                Ok(Spec::Names(
                    spec.split(',')
                        .map(|name| name.trim().to_owned())
                        .filter(|name| !name.is_empty())
                        .collect(),
                ))
            }
            Kind::Skill => {
                let (pattern, _) = prefix_form(spec);
                let text = Wildcard::new(&pattern);
                Ok(Spec::Text { lower: text.clone(), text })
            }
            Kind::Plain => {
                if self.purpose == Purpose::Deny {
                    return Err(format!(
                        "`{name}` has nothing to match in parentheses; write `{name}` or `{name}(ARGUMENT:VALUE)`"
                    ));
                }
                Err(format!(
                    "nothing in parentheses can be matched for `{name}`; only `{name}` for every use of it"
                ))
            }
        }
    }

    /// `name:value` for a rule that denies.
    fn argument(&self, spec: &str) -> Result<Spec, String> {
        let refuse = || Err("a rule about an argument can only deny; write the tool's name alone".to_owned());
        let Some((name, value)) = spec.split_once(':').filter(|_| is_argument(spec)) else { return refuse() };
        let (name, value) = (name.trim(), value.trim());
        if self.purpose == Purpose::Allow || tools::TOOLS.iter().any(|tool| tool.fields.contains(&name)) {
            return refuse();
        }
        Ok(Spec::Argument { name: name.to_owned(), value: Wildcard::new(value) })
    }

    fn command(&mut self, spec: &str) -> Result<Spec, String> {
        let expanded = self.expand(spec, |path| format!("'{}'", path.replace('\'', "'\\''")))?;
        let (pattern, middle_colon) = prefix_form(&expanded);
        if let Some((name, _)) = pattern.split_once(':').filter(|(name, _)| ["command", "cmd"].contains(name))
        {
            return Err(format!("`{name}:` is not matched; write the command alone"));
        }
        if middle_colon {
            return Err("`:*` only means something at the end; inside, write ` *`".to_owned());
        }
        if pattern.trim().chars().all(|c| c == '*' || c == ':') {
            return Err("write `Bash` for every command".to_owned());
        }
        check_words(&pattern, self.purpose)?;
        let text = Wildcard::from_pieces(pieces_of(&pattern, self.purpose)?);
        if text.prefix().is_empty() && !text.is_exact() {
            let message = "no program is named, so that any program will do".to_owned();
            self.note(Code::RuleBroad, message);
        }
        let mut words = std::str::from_utf8(text.prefix()).unwrap_or_default().split(' ');
        let [program, subcommand, third] = [(); 3].map(|()| words.next().unwrap_or_default());
        if self.purpose == Purpose::Allow && !text.is_exact() && is_runner(program, subcommand, third) {
            return Err(format!(
                "`{program}` runs other commands or changes how they run, so it is only allowed by a rule without `*` for the whole command"
            ));
        }
        let lower = Wildcard::from_pieces(pieces_of(&pattern.to_ascii_lowercase(), self.purpose)?);
        Ok(Spec::Text { text, lower })
    }

    fn path(&mut self, name: &str, spec: &str, kind: Kind) -> Result<Spec, String> {
        let meant = if kind == Kind::Edit { "Edit" } else { "Read" };
        let expanded = self.expand(spec, |path| escape(Path::new(path)))?;
        if expanded != spec {
            let message = "`${…}` is put in here, but not by other clients outside `Bash(…)`".to_owned();
            self.note(Code::RuleRewritten, message);
        }
        if let Some((field, _)) =
            expanded.split_once(':').filter(|(field, _)| ["path", "file_path", "file"].contains(field))
        {
            return Err(format!("`{field}:` is not matched; write the path alone"));
        }
        if expanded.contains('{') && expanded.contains(',') {
            return Err("braces have no alternatives here; write a rule for each".to_owned());
        }
        // What is put in is a path from the root.
        let expanded = if expanded == spec { expanded } else { format!("/{expanded}") };
        if !matches!(name, "Read" | "Edit") && tools::in_rule(name).is_some_and(|tool| tool.name == name) {
            let message = format!("this is read as `{meant}({spec})`; other clients pass over it");
            self.note(Code::RuleRewritten, message);
        }
        let pattern = PathPattern::new(&expanded, self.purpose, self.places);
        let pattern = match (pattern, self.purpose) {
            (Err(PatternProblem::Syntax), Purpose::Deny) => {
                PathPattern::literal(&self.places.absolute(&expanded))
            }
            (pattern, _) => pattern,
        };
        pattern.map(|pattern| Spec::Path(Box::new(pattern))).map_err(|problem| {
            match problem {
                PatternProblem::Negation => "a path cannot be taken out with `!`; name those that are meant",
                PatternProblem::Empty => "no path is named",
                PatternProblem::Syntax => {
                    "the pattern cannot be read; put a `\\` before `[` to mean it as a letter"
                }
                PatternProblem::AboveAnchor => {
                    "`..` is not followed; begin with `//` for a path from the root"
                }
            }
            .to_owned()
        })
    }

    /// Puts the documented directories in the place of their variables.
    fn expand(&self, spec: &str, quote: impl Fn(&str) -> String) -> Result<String, String> {
        let mut text = spec.to_owned();
        let known =
            [("${CLAUDE_SKILL_DIR}", &self.places.skill), ("${CLAUDE_PLUGIN_ROOT}", &self.places.plugin)];
        for (variable, value) in known {
            if text.contains(variable) {
                let value = value.as_ref().ok_or_else(|| format!("`{variable}` is not known here"))?;
                text = text.replace(variable, &quote(&value.to_string_lossy()));
            }
        }
        if text.contains("${") {
            return Err("only `${CLAUDE_SKILL_DIR}` and `${CLAUDE_PLUGIN_ROOT}` are put in".to_owned());
        }
        Ok(text)
    }
}

/// The tool's name and what stands in the parentheses.
fn split(text: &str) -> Result<(&str, Option<&str>), String> {
    let Some(open) = text.find('(') else {
        if text.contains(')') {
            return Err("a `)` has no `(`".to_owned());
        }
        return if text.is_empty() { Err("it is empty".to_owned()) } else { Ok((text, None)) };
    };
    let name = &text[..open];
    if name.is_empty() {
        return Err("a tool's name must stand right before the parenthesis".to_owned());
    }
    let Some(spec) = text[open + 1..].strip_suffix(')') else {
        return Err("the parenthesis is not closed, or something follows it".to_owned());
    };
    let mut depth = 0_usize;
    for c in spec.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or("its parentheses are not balanced")?,
            _ => {}
        }
    }
    if depth > 0 {
        return Err("its parentheses are not balanced".to_owned());
    }
    Ok((name, Some(spec.trim())))
}

/// `name:value`, where the name could be that of an argument.
fn is_argument(spec: &str) -> bool {
    let is_name = |name: &str| {
        let name = name.trim();
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    // `git:*` is a prefix, not an argument of that name.
    spec.split_once(':')
        .is_some_and(|(name, value)| is_name(name) && value != "*" && !value.trim().is_empty())
        || spec.split_once(':').is_some_and(|(name, _)| KNOWN_ARGUMENTS.contains(&name.trim()))
}

/// Arguments of known tools that a rule may ask for with any value.
const KNOWN_ARGUMENTS: &[&str] = &["run_in_background", "model", "isolation", "timeout", "subagent_type"];

/// A pattern with a `:*` at its end written as ` *`, and whether another stands elsewhere.
fn prefix_form(spec: &str) -> (String, bool) {
    let pattern = match spec.strip_suffix(":*") {
        Some(prefix) => format!("{} *", prefix.trim_end()),
        None => spec.to_owned(),
    };
    let middle = pattern.contains(":*");
    (pattern, middle)
}

/// Refuses a pattern whose words no command can have, so that it would silently match nothing.
fn check_words(pattern: &str, purpose: Purpose) -> Result<(), String> {
    let first = pattern.split_whitespace().next().unwrap_or_default();
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if first.split_once('=').is_some_and(|(name, _)| is_name(name)) {
        return Err("variables before a command are judged apart; write the command alone".to_owned());
    }
    if first.starts_with('~') && purpose == Purpose::Allow {
        return Err("a program at home is only known when it runs; write its whole path".to_owned());
    }
    if first
        .split_once(':')
        .is_some_and(|(name, rest)| is_name(name) && rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    {
        return Err("a colon separates nothing here; write a blank".to_owned());
    }
    Ok(())
}

/// The literal pieces of a command pattern: words as the shell would unquote them, one blank between each two.
fn pieces_of(pattern: &str, purpose: Purpose) -> Result<Vec<Vec<u8>>, String> {
    let mut pieces = vec![Vec::new()];
    let mut chars = pattern.trim().chars().peekable();
    let mut quote = None;
    while let Some(c) = chars.next() {
        let Some(piece) = pieces.last_mut() else { break };
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => match chars.next() {
                Some(next) => push(piece, next, true),
                None => return Err("it ends with a `\\`".to_owned()),
            },
            (' ' | '\t', None) => {
                if chars.peek().is_some_and(|next| !matches!(next, ' ' | '\t')) {
                    push(piece, ' ', false);
                }
            }
            // In a prohibition a quoted one may have been meant as a pattern.
            ('*', _) if quote.is_none() || purpose == Purpose::Deny => pieces.push(Vec::new()),
            (',', None) if chars.peek() == Some(&' ') => {
                return Err("a comma separates nothing here; write a rule for each command".to_owned());
            }
            (';' | '&' | '|' | '<' | '>' | '\n' | '`', None) => {
                return Err(format!(
                    "`{}` joins or redirects commands; write a rule for each command",
                    c.escape_debug()
                ));
            }
            ('$', None | Some('"')) => {
                return Err(
                    "a variable is not known before the command runs; write what it stands for".to_owned()
                );
            }
            (c, _) => push(piece, c, quote.is_some()),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".to_owned());
    }
    Ok(pieces)
}

fn push(piece: &mut Vec<u8>, c: char, quoted: bool) {
    if c == ' ' && quoted {
        piece.push(BLANK);
    } else {
        piece.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// Whether a rule with a `*` for a program is of no use.
fn is_runner(program: &str, subcommand: &str, third: &str) -> bool {
    let name = base_name(program);
    if name == "metier" {
        return own::acts(subcommand, third);
    }
    let known = programs::known(name);
    let reads = !programs::known(&format!("{name} {subcommand}")).reads.is_empty();
    known.is_runner || (known.subcommands.contains(&subcommand) && !reads)
}
