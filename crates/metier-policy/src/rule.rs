//! The grammar of tool rules: `Tool`, `Tool(spec)`, `mcp__server__tool`. Problems with a rule are reported when it is
//! parsed.

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

/// A note about a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RuleNote {
    /// The rule as written.
    pub rule: String,
    /// The code of the finding about the skill.
    pub code: Code,
    /// What is wrong, and what to write instead.
    pub message: String,
}

/// The purpose of a rule: the same text has different meanings in an allow rule and a deny rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Allow,
    Deny,
}

/// A parsed rule.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) text: String,
    pub(crate) tool: ToolPattern,
    pub(crate) spec: Spec,
}

/// The tools that a rule applies to.
#[derive(Debug, Clone)]
pub(crate) enum ToolPattern {
    /// One tool, by its name in the tool table, or by its own name if it is not listed there.
    Named { name: String, kind: Kind },
    /// Tools of an MCP server.
    Mcp { server: String, tool: Option<Wildcard>, text: String },
    /// Any tool whose full name matches; only in deny rules.
    Glob(Wildcard),
}

/// The condition of a rule for the arguments.
#[derive(Debug, Clone)]
pub(crate) enum Spec {
    /// Any arguments.
    Any,
    /// A command line or similar text: the pattern, and the same in lower case.
    Text {
        text: Wildcard,
        lower: Wildcard,
    },
    Path(Box<PathPattern>),
    Domain(DomainPattern),
    /// One of the given names.
    Names(Vec<String>),
    /// One argument with a value; only in deny rules.
    Argument {
        name: String,
        value: Wildcard,
    },
}

/// Parses a rule. If it can never match, the result is `None` and a note says why.
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

/// Parses a list of rules.
pub(crate) fn read_all(tools: &ToolRules, purpose: Purpose, places: &Anchors) -> (Vec<Rule>, Vec<RuleNote>) {
    let mut notes = Vec::new();
    let mut rules = Vec::new();
    for (index, text) in tools.rules().iter().enumerate() {
        // `Bash (git *)` must not become `Bash`, which is every command.
        let is_cut_off = tools.rules().get(index + 1).is_some_and(|next| next.starts_with('('));
        if is_cut_off && purpose == Purpose::Allow {
            let message = "there is a space before the parenthesis; remove it".to_owned();
            notes.push(RuleNote { rule: text.clone(), code: Code::RuleNeverMatches, message });
        } else {
            rules.extend(read(text, purpose, places, &mut notes));
        }
    }
    (rules, notes)
}

/// Limits for rules, because they come from untrusted skills.
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
            return Err("the rule is too long or has too many `*`".to_owned());
        }
        let (name, spec) = split(self.text)?;
        let tool = self.tool(name)?;
        let spec = match (spec, &tool) {
            (None, _) => Spec::Any,
            (Some(spec), _) if self.text.contains('\0') || spec.contains('\u{1}') => {
                return Err("the rule contains a character that no call can contain".to_owned());
            }
            (Some("*"), ToolPattern::Named { kind, .. }) if self.is_any(*kind) => Spec::Any,
            (Some(""), _) => {
                return Err(format!("the parentheses are empty; write `{name}` for every use"));
            }
            (Some(spec), ToolPattern::Named { kind, .. }) => self.spec(name, spec, *kind)?,
            (Some(spec), _) => self.argument(spec)?,
        };
        Ok(Rule { text: self.text.to_owned(), tool, spec })
    }

    /// Whether `*` means every use. For paths it is a name; in case of doubt, the purpose of the rule decides.
    fn is_any(&self, kind: Kind) -> bool {
        self.purpose == Purpose::Deny
            || matches!(kind, Kind::Shell | Kind::PowerShell | Kind::Agent | Kind::Skill)
    }

    fn tool(&self, name: &str) -> Result<ToolPattern, String> {
        let is_odd = |c: char| !c.is_alphanumeric() && !"_.:*/-".contains(c);
        if name.contains(is_odd) {
            return Err("this is not a tool name; write each rule separately, without quotes".to_owned());
        }
        let lower = name.to_ascii_lowercase();
        if lower.starts_with("mcp_") && !name.starts_with("mcp__") {
            return Err("write an MCP tool as `mcp__SERVER__TOOL`".to_owned());
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
                Some((server, _)) => format!("write the tools of an MCP server as `mcp__{server}__*`"),
                None if name.contains('/') => {
                    "write the tools of an MCP server as `mcp__SERVER__*`".to_owned()
                }
                None => "a tool must be named in full; only `mcp__SERVER__*` may contain a `*`".to_owned(),
            });
        }
        if let Some(tool) = tools::in_rule(name) {
            return Ok(ToolPattern::Named { name: tool.name.to_owned(), kind: tool.kind });
        }
        if let Some(meant) = tools::nearest(name) {
            return Err(format!("unknown tool `{name}`; did you mean `{meant}`?"));
        }
        if name.contains(['/', '\\']) {
            return Err("write an MCP tool as `mcp__SERVER__TOOL`".to_owned());
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
            return Err("the server must be named in full, for example `mcp__SERVER__*`".to_owned());
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
                    format!("write `{name}(domain:example.com)`, with a host only")
                };
                domain.map(Spec::Domain).ok_or(advice)
            }
            Kind::Agent => {
                if names_known {
                    return Err("rules about arguments can only deny".to_owned());
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
                        "`{name}` accepts no pattern in parentheses; write `{name}` or `{name}(ARGUMENT:VALUE)`"
                    ));
                }
                Err(format!("`{name}` accepts no pattern in parentheses; write `{name}` to allow every use"))
            }
        }
    }

    /// `name:value` for a rule that denies.
    fn argument(&self, spec: &str) -> Result<Spec, String> {
        let refuse = || Err("rules about arguments can only deny; write only the tool's name".to_owned());
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
            return Err(format!("`{name}:` is not supported; write only the command"));
        }
        if middle_colon {
            return Err("`:*` is only valid at the end; elsewhere, write ` *`".to_owned());
        }
        if pattern.trim().chars().all(|c| c == '*' || c == ':') {
            return Err("write `Bash` for every command".to_owned());
        }
        check_words(&pattern, self.purpose)?;
        let text = Wildcard::from_pieces(pieces_of(&pattern, self.purpose)?);
        if text.prefix().is_empty() && !text.is_exact() {
            let message = "the rule names no program, so it matches any program".to_owned();
            self.note(Code::RuleBroad, message);
        }
        let mut words = std::str::from_utf8(text.prefix()).unwrap_or_default().split(' ');
        let [program, subcommand, third] = [(); 3].map(|()| words.next().unwrap_or_default());
        if self.purpose == Purpose::Allow && !text.is_exact() && is_runner(program, subcommand, third) {
            return Err(format!(
                "`{program}` runs other commands or changes how they run; only a rule with the full command and no `*` can allow it"
            ));
        }
        let lower = Wildcard::from_pieces(pieces_of(&pattern.to_ascii_lowercase(), self.purpose)?);
        Ok(Spec::Text { text, lower })
    }

    fn path(&mut self, name: &str, spec: &str, kind: Kind) -> Result<Spec, String> {
        let meant = if kind == Kind::Edit { "Edit" } else { "Read" };
        let expanded = self.expand(spec, |path| escape(Path::new(path)))?;
        if expanded != spec {
            let message = "`${…}` is expanded here, but other clients expand it only in `Bash(…)`".to_owned();
            self.note(Code::RuleRewritten, message);
        }
        if let Some((field, _)) =
            expanded.split_once(':').filter(|(field, _)| ["path", "file_path", "file"].contains(field))
        {
            return Err(format!("`{field}:` is not supported; write only the path"));
        }
        if expanded.contains('{') && expanded.contains(',') {
            return Err("braces are not supported; write one rule for each path".to_owned());
        }
        // The expanded value is an absolute path.
        let expanded = if expanded == spec { expanded } else { format!("/{expanded}") };
        if !matches!(name, "Read" | "Edit") && tools::in_rule(name).is_some_and(|tool| tool.name == name) {
            let message = format!("this is read as `{meant}({spec})`; other clients ignore it");
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
                PatternProblem::Negation => "exclusion with `!` is not supported; name the paths to match",
                PatternProblem::Empty => "the path is empty",
                PatternProblem::Syntax => "invalid pattern; write `\\[` to match a literal `[`",
                PatternProblem::AboveAnchor => "`..` is not supported; start with `//` for an absolute path",
            }
            .to_owned()
        })
    }

    /// Replaces the documented directory variables.
    fn expand(&self, spec: &str, quote: impl Fn(&str) -> String) -> Result<String, String> {
        let mut text = spec.to_owned();
        let known =
            [("${CLAUDE_SKILL_DIR}", &self.places.skill), ("${CLAUDE_PLUGIN_ROOT}", &self.places.plugin)];
        for (variable, value) in known {
            if text.contains(variable) {
                let value = value.as_ref().ok_or_else(|| format!("`{variable}` is not available here"))?;
                text = text.replace(variable, &quote(&value.to_string_lossy()));
            }
        }
        if text.contains("${") {
            return Err("only `${CLAUDE_SKILL_DIR}` and `${CLAUDE_PLUGIN_ROOT}` are expanded".to_owned());
        }
        Ok(text)
    }
}

/// The tool's name and the text in the parentheses.
fn split(text: &str) -> Result<(&str, Option<&str>), String> {
    let Some(open) = text.find('(') else {
        if text.contains(')') {
            return Err("unmatched `)`".to_owned());
        }
        return if text.is_empty() { Err("the rule is empty".to_owned()) } else { Ok((text, None)) };
    };
    let name = &text[..open];
    if name.is_empty() {
        return Err("the parenthesis must directly follow a tool name".to_owned());
    }
    let Some(spec) = text[open + 1..].strip_suffix(')') else {
        return Err("the parenthesis is not closed, or text follows it".to_owned());
    };
    let mut depth = 0_usize;
    for c in spec.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or("the parentheses are not balanced")?,
            _ => {}
        }
    }
    if depth > 0 {
        return Err("the parentheses are not balanced".to_owned());
    }
    Ok((name, Some(spec.trim())))
}

/// `name:value`, if the name could be that of an argument.
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

/// Arguments of known tools that a rule may check for any value.
const KNOWN_ARGUMENTS: &[&str] = &["run_in_background", "model", "isolation", "timeout", "subagent_type"];

/// A pattern with a final `:*` written as ` *`, and whether another `:*` is elsewhere.
fn prefix_form(spec: &str) -> (String, bool) {
    let pattern = match spec.strip_suffix(":*") {
        Some(prefix) => format!("{} *", prefix.trim_end()),
        None => spec.to_owned(),
    };
    let middle = pattern.contains(":*");
    (pattern, middle)
}

/// Rejects a pattern whose words cannot occur in any command, so that it would silently match nothing.
fn check_words(pattern: &str, purpose: Purpose) -> Result<(), String> {
    let first = pattern.split_whitespace().next().unwrap_or_default();
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if first.split_once('=').is_some_and(|(name, _)| is_name(name)) {
        return Err("variable assignments are checked separately; write only the command".to_owned());
    }
    if first.starts_with('~') && purpose == Purpose::Allow {
        return Err("a program path with `~` is not supported; write the absolute path".to_owned());
    }
    if first
        .split_once(':')
        .is_some_and(|(name, rest)| is_name(name) && rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    {
        return Err("a colon does not separate words; write a space".to_owned());
    }
    Ok(())
}

/// The literal pieces of a command pattern: words as the shell would unquote them, separated by one space.
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
                None => return Err("the pattern ends with a `\\`".to_owned()),
            },
            (' ' | '\t', None) => {
                if chars.peek().is_some_and(|next| !matches!(next, ' ' | '\t')) {
                    push(piece, ' ', false);
                }
            }
            // In a deny rule, a quoted `*` may have been meant as a wildcard.
            ('*', _) if quote.is_none() || purpose == Purpose::Deny => pieces.push(Vec::new()),
            (',', None) if chars.peek() == Some(&' ') => {
                return Err("a comma does not separate commands; write one rule for each command".to_owned());
            }
            (';' | '&' | '|' | '<' | '>' | '\n' | '`', None) => {
                return Err(format!(
                    "`{}` joins or redirects commands; write one rule for each command",
                    c.escape_debug()
                ));
            }
            ('$', None | Some('"')) => {
                return Err("variables are not expanded in rules; write the value".to_owned());
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

/// Whether a rule with a `*` for a program has no effect.
fn is_runner(program: &str, subcommand: &str, third: &str) -> bool {
    let name = base_name(program);
    if name == "metier" {
        return own::acts(subcommand, third);
    }
    let known = programs::known(name);
    let reads = !programs::known(&format!("{name} {subcommand}")).reads.is_empty();
    known.is_runner || (known.subcommands.contains(&subcommand) && !reads)
}
