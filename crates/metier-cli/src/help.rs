//! The help of `metier`: its commands in groups. clap lists them in one block.

use std::fmt::Write as _;

use clap::Command;
use metier_host::Environment;

use crate::table::{pad, wrap};

/// The groups in the order of the help. Each command is in one of them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start here", &["tour", "doctor", "config"]),
    ("Find skills", &["list", "search", "show", "prompt"]),
    ("Use skills", &["activate", "read", "exec", "run", "ask", "serve", "gateway", "mount", "link"]),
    ("Install skills", &["install", "update", "remove", "verify", "lock", "gc"]),
    ("Write and publish skills", &["new", "validate", "scan", "digest", "pack", "sign", "ref"]),
    ("Decide what skills may do", &["trust", "approve", "approvals", "policy", "sandbox", "guard"]),
    ("See what happened", &["audit"]),
    ("Help", &["completions", "man", "help"]),
];

/// clap adds this command after the others.
const HELP: (&str, &str) = ("help", "Print this message or the help of a command");

/// Help is never wider.
pub(crate) const WIDEST: usize = 100;

/// The command whose help shows its commands in groups.
pub(crate) fn grouped(command: Command) -> Command {
    let columns = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let columns = columns.or_else(Environment::columns).unwrap_or(WIDEST).min(WIDEST);
    let (header, name_style) = (*command.get_styles().get_header(), *command.get_styles().get_literal());
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    for (title, names) in GROUPS {
        // Writing into a text does not fail.
        let _ = writeln!(template, "\n{header}{title}:{header:#}");
        for name in *names {
            let line = format!("  {}  {}", pad(name, width), about(&command, name));
            let wrapped = wrap(&line, columns, width + 4);
            let rest =
                wrapped.strip_prefix("  ").and_then(|rest| rest.strip_prefix(name)).unwrap_or_default();
            let _ = writeln!(template, "  {name_style}{name}{name_style:#}{rest}");
        }
    }
    let _ = write!(template, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    command.help_template(template)
}

/// What a command does, in a line.
fn about(command: &Command, name: &str) -> String {
    let found = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
    found.unwrap_or_else(|| HELP.1.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = crate::Cli::command();
        let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set()).map(Command::get_name);
        let mut shown: Vec<&str> = shown.chain([HELP.0]).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
    }

    #[test]
    fn the_help_names_every_command_once() {
        let help = grouped(crate::Cli::command()).render_help().to_string();
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            let rows = help.lines().filter(|line| line.starts_with(&format!("  {name} ")));
            assert_eq!(rows.count(), 1, "{name}: {help}");
        }
        assert!(help.lines().all(|line| line.chars().count() <= WIDEST), "{help}");
    }
}
