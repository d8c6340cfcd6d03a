//! Parses PowerShell command lines. Only the simplest commands are accepted.

use crate::invocation::subject_of;
use crate::wildcard::Subject;

/// PowerShell's aliases for its own commands.
const ALIASES: &[(&str, &str)] = &[
    ("gci", "get-childitem"),
    ("ls", "get-childitem"),
    ("dir", "get-childitem"),
    ("gc", "get-content"),
    ("cat", "get-content"),
    ("type", "get-content"),
    ("ri", "remove-item"),
    ("rm", "remove-item"),
    ("rmdir", "remove-item"),
    ("del", "remove-item"),
    ("erase", "remove-item"),
    ("rd", "remove-item"),
    ("ci", "copy-item"),
    ("cp", "copy-item"),
    ("copy", "copy-item"),
    ("cpi", "copy-item"),
    ("mi", "move-item"),
    ("mv", "move-item"),
    ("move", "move-item"),
    ("ni", "new-item"),
    ("md", "mkdir"),
    ("sl", "set-location"),
    ("cd", "set-location"),
    ("chdir", "set-location"),
    ("gl", "get-location"),
    ("pwd", "get-location"),
    ("echo", "write-output"),
    ("write", "write-output"),
    ("iex", "invoke-expression"),
    ("iwr", "invoke-webrequest"),
    ("curl", "invoke-webrequest"),
    ("wget", "invoke-webrequest"),
    ("irm", "invoke-restmethod"),
    ("icm", "invoke-command"),
    ("ii", "invoke-item"),
    ("sajb", "start-job"),
    ("saps", "start-process"),
    ("start", "start-process"),
    ("gps", "get-process"),
    ("ps", "get-process"),
    ("kill", "stop-process"),
    ("spps", "stop-process"),
    ("sc", "set-content"),
    ("ac", "add-content"),
    ("clc", "clear-content"),
    ("gi", "get-item"),
    ("gp", "get-itemproperty"),
    ("sp", "set-itemproperty"),
    ("select", "select-object"),
    ("where", "where-object"),
    ("sort", "sort-object"),
    ("measure", "measure-object"),
    ("sls", "select-string"),
    ("ft", "format-table"),
    ("fl", "format-list"),
    ("gcm", "get-command"),
    ("man", "help"),
    ("rni", "rename-item"),
    ("ren", "rename-item"),
    ("sal", "set-alias"),
    ("nal", "new-alias"),
    ("ipmo", "import-module"),
    ("gwmi", "get-wmiobject"),
    ("h", "get-history"),
    ("r", "invoke-history"),
    ("ihy", "invoke-history"),
    ("cls", "clear-host"),
    ("tee", "tee-object"),
    ("group", "group-object"),
    ("diff", "compare-object"),
    ("sleep", "start-sleep"),
];

/// Commands that run their arguments.
const RUNNERS: &[&str] = &[
    "invoke-expression",
    "invoke-command",
    "invoke-item",
    "start-process",
    "start-job",
    "start-threadjob",
    "add-type",
    "set-alias",
    "new-alias",
    "import-module",
    "invoke-history",
    "foreach-object",
    "where-object",
    "new-object",
    "powershell",
    "pwsh",
    "powershell.exe",
    "pwsh.exe",
    "cmd",
    "cmd.exe",
    "bash",
    "sh",
    "wsl",
    "python",
    "python3",
    "node",
    "invoke-wmimethod",
    "invoke-cimmethod",
    "register-scheduledtask",
    "new-service",
    "set-executionpolicy",
    "rundll32",
    "mshta",
    "regsvr32",
    "wscript",
    "cscript",
    "msbuild",
    "npx",
    "sudo",
    "ssh",
    "set-variable",
    "set-item",
    "%",
    "?",
    ".",
];

/// The commands of a line, in lower case and with full names. `None` if it has more than plain commands.
pub(crate) fn commands(line: &str) -> Option<Vec<Subject>> {
    let mut commands = Vec::new();
    for part in split(line)? {
        let mut words: Vec<String> = part.split_ascii_whitespace().map(str::to_owned).collect();
        let first = words.first_mut()?;
        // `Module\Command` is the command.
        let name = first.rsplit('\\').next().unwrap_or(first).to_lowercase();
        *first =
            ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| (*name).to_owned());
        let is_runner = RUNNERS.contains(&first.as_str());
        let mut subject = subject_of(&words);
        if is_runner {
            subject.strict.fill(true);
        }
        subject.bytes = String::from_utf8_lossy(&subject.bytes).to_ascii_lowercase().into_bytes();
        commands.push(subject);
    }
    (!commands.is_empty()).then_some(commands)
}

/// The full name of a command in a rule.
pub(crate) fn canonical(pattern: &str) -> String {
    let lower = pattern.to_lowercase();
    let (first, rest) = lower.split_at(lower.find([' ', '*', ':']).unwrap_or(lower.len()));
    let name = ALIASES.iter().find(|(alias, _)| *alias == first).map_or(first, |(_, name)| name);
    format!("{name}{rest}")
}

/// Splits at command separators. Quoted text may only contain plain characters.
fn split(line: &str) -> Option<Vec<String>> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    let mut chars = line.trim().chars().peekable();
    while let Some(c) = chars.next() {
        // Variables, subexpressions, blocks, redirections, calls and escapes are not supported. PowerShell accepts
        // several Unicode characters as quotes.
        if "$`{}()<>@&#[]%\0".contains(c) && !(c == '&' && chars.peek() == Some(&'&') && quote.is_none()) {
            return None;
        }
        // Several characters can end a line.
        if c.is_control() && c != '\n' && c != '\t' {
            return None;
        }
        if !c.is_ascii() && (quote.is_none() || !c.is_alphanumeric()) {
            return None;
        }
        let part = parts.last_mut()?;
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => part.push(if c == ' ' { '\u{1}' } else { c }),
            (';' | '|' | '\n' | '&', None) => {
                if matches!(c, '|' | '&') && chars.peek() == Some(&c) {
                    chars.next();
                }
                parts.push(String::new());
            }
            (c, None) => part.push(c),
        }
    }
    (quote.is_none() && parts.iter().all(|part| !part.trim().is_empty())).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_lines_are_read() {
        let names = |line: &str| {
            let commands = commands(line)?;
            Some(
                commands
                    .iter()
                    .map(|command| String::from_utf8_lossy(&command.bytes).into_owned())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(
            names("LS x; Git commit -m 'a b'"),
            Some(vec!["get-childitem x".into(), "git commit -m a\u{1}b".into()])
        );
        assert_eq!(names("a | b && c || d\ne").map(|names| names.len()), Some(5));
        for odd in [
            "a $x",
            "& a",
            "a; ",
            "",
            "a `",
            "a > b",
            "{a}",
            "(a)",
            "a 'b",
            "a &",
            "a \u{2018}b\u{2019}",
            "a # b",
        ] {
            assert_eq!(names(odd), None, "{odd}");
        }
    }
}
