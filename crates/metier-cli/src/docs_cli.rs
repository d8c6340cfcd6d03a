//! `docs/reference/cli.md`, made from the definition of the command line. A test compares the page with it.

use std::fmt::Write as _;
use std::path::Path;

use clap::{ArgAction, Command, CommandFactory as _};
use metier_host::Environment;

use crate::Cli;

/// What stands above the commands.
const HEAD: &str = "\
# Reference: command line

```sh
metier list --root examples/skills
```

Every command with its arguments, options and examples. This page is made from the program's own
definitions: `UPDATE_DOCS=1 cargo test -p metier-cli docs` writes it. [The command line](../cli.md)
explains exit codes, output and how commands work together.
";

#[test]
fn the_page_is_made_from_the_definition() {
    let mut page = HEAD.to_owned();
    let mut command = Cli::command();
    command.build();
    global_options(&command, &mut page);
    summary(&command, &mut page);
    for inner in visible(&command) {
        section(inner, "metier", &mut page);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
    if Environment::read().variable("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    let different =
        found.lines().chain([""]).zip(page.lines().chain([""])).find(|(found, wanted)| found != wanted);
    assert!(
        found == page,
        "docs/reference/cli.md is not what the code makes, first at {different:?}; \
         `UPDATE_DOCS=1 cargo test -p metier-cli docs` writes it"
    );
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|inner| inner.get_name() != "help" && !inner.is_hide_set())
}

/// The commands with what they do, each with a link to its section.
fn summary(command: &Command, page: &mut String) {
    page.push_str("\n## Commands\n\n| command | does |\n|---|---|\n");
    for inner in visible(command) {
        let name = inner.get_name();
        writeln!(page, "| [`{name}`](#metier-{name}) | {} |", about(inner)).unwrap();
    }
}

fn global_options(command: &Command, page: &mut String) {
    page.push_str("\n## Options of every command\n\n| option | meaning |\n|---|---|\n");
    for option in command.get_arguments().filter(|option| option.is_global_set()) {
        writeln!(page, "| {} | {} |", syntax(option), meaning(option)).unwrap();
    }
    page.push_str("| `-h`, `--help` | Print help |\n| `-V`, `--version` | Print version |\n");
}

/// One command, and those below it.
fn section(command: &Command, above: &str, page: &mut String) {
    let name = format!("{above} {}", command.get_name());
    write!(page, "\n## {name}\n\n{}.\n", about(command).trim_end_matches('.')).unwrap();
    let long = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    if let Some((_, more)) = long.split_once("\n\n") {
        write!(page, "\n{}\n", wrapped(more)).unwrap();
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").lines().map(str::trim).collect::<Vec<_>>().join("\n");
    write!(page, "\n```text\n{usage}\n```\n").unwrap();
    let own = || command.get_arguments().filter(|option| !option.is_global_set() && !option.is_hide_set());
    let own = || {
        own().filter(|option| {
            !matches!(
                option.get_action(),
                ArgAction::Help | ArgAction::Version | ArgAction::HelpLong | ArgAction::HelpShort
            )
        })
    };
    for (title, is_positional) in [("argument", true), ("option", false)] {
        let rows: Vec<_> = own().filter(|option| option.is_positional() == is_positional).collect();
        if rows.is_empty() {
            continue;
        }
        write!(page, "\n| {title} | meaning |\n|---|---|\n").unwrap();
        for row in rows {
            writeln!(page, "| {} | {} |", syntax(row), meaning(row)).unwrap();
        }
    }
    after_help(command, page);
    for inner in visible(command) {
        section(inner, &name, page);
    }
}

/// What stands below the options in the help: text is text here, examples are a block.
fn after_help(command: &Command, page: &mut String) {
    let Some(after) = command.get_after_help() else { return };
    for part in after.to_string().split("\n\n") {
        match part.split_once('\n') {
            Some((title, lines)) if title.ends_with(':') && lines.starts_with("  ") => {
                let lines: Vec<&str> =
                    lines.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
                write!(page, "\n{title}\n\n```text\n{}\n```\n", lines.join("\n")).unwrap();
            }
            _ if part.starts_with("  ") => write!(page, "\n```text\n{part}\n```\n").unwrap(),
            _ => write!(page, "\n{}\n", wrapped(part)).unwrap(),
        }
    }
}

fn about(command: &Command) -> String {
    cell(&command.get_about().map(ToString::to_string).unwrap_or_default())
}

/// How an option or argument is written.
fn syntax(option: &clap::Arg) -> String {
    let values: Vec<&str> =
        option.get_value_names().into_iter().flatten().map(clap::builder::Str::as_str).collect();
    let takes = option.get_action().takes_values();
    let value = if takes { values.join(" ") } else { String::new() };
    if option.is_positional() {
        let many = option.get_num_args().is_some_and(|count| count.max_values() > 1);
        return format!("`{value}{}`", if many { "…" } else { "" });
    }
    let names: Vec<String> = option
        .get_short()
        .map(|short| format!("`-{short}`"))
        .into_iter()
        .chain(option.get_long().map(|long| match (value.is_empty(), is_optional(option)) {
            (true, _) => format!("`--{long}`"),
            (false, true) => format!("`--{long} [{value}]`"),
            (false, false) => format!("`--{long} {value}`"),
        }))
        .collect();
    names.join(", ").replace('|', "\\|")
}

fn is_optional(option: &clap::Arg) -> bool {
    option.get_num_args().is_some_and(|count| count.min_values() == 0)
}

/// What an option means, with its values and its default.
fn meaning(option: &clap::Arg) -> String {
    let help = option.get_long_help().or_else(|| option.get_help());
    let mut text = cell(&help.map(ToString::to_string).unwrap_or_default());
    let values: Vec<String> = option
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| {
            let help =
                value.get_help().map(|help| format!(" ({})", cell(&help.to_string()))).unwrap_or_default();
            format!("`{}`{help}", value.get_name())
        })
        .collect();
    if option.get_action().takes_values() && !values.is_empty() && !option.is_hide_possible_values_set() {
        write!(text, ". Values: {}", values.join(", ")).unwrap();
    }
    let defaults: Vec<String> =
        option.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
    if option.get_action().takes_values() && !defaults.is_empty() {
        write!(text, ". Default: {}", defaults.join(", ")).unwrap();
    }
    text
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut is_code = false;
    text.chars().fold(String::new(), |mut cell, c| {
        is_code ^= c == '`';
        match c {
            '|' => cell.push_str("\\|"),
            '<' if !is_code => cell.push_str("&lt;"),
            '*' | '_' if !is_code => cell.extend(['\\', c]),
            c => cell.push(c),
        }
        cell
    })
}

/// Paragraphs with lines of at most 100 columns.
fn wrapped(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let mut lines = vec![String::new()];
        for word in paragraph.split_whitespace() {
            let last = lines.last_mut().unwrap();
            if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > 100 {
                lines.push(word.to_owned());
            } else {
                if !last.is_empty() {
                    last.push(' ');
                }
                last.push_str(word);
            }
        }
        lines.join("\n")
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
