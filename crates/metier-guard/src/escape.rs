//! Calls after which an agent does things that it asks no hook about.

use metier_home::Agent;

use crate::input::AgentCall;

/// Programs that read commands from a person until they are told to stop, if they are given nothing to run.
#[rustfmt::skip]
const INTERACTIVE: &[&str] = &[
    "bash", "sh", "dash", "zsh", "fish", "ksh", "ash", "busybox", "csh", "tcsh", "pwsh", "nu", "xonsh", "screen", "tmux",
    "python", "python2", "python3", "ipython", "node", "deno", "bun", "irb", "ruby", "perl", "lua", "php", "R", "ghci", "scala",
    "jshell", "julia", "erl", "iex", "guile", "sbcl", "ocaml", "swipl", "octave", "tclsh", "gdb", "lldb", "ed", "ex", "vi", "vim",
    "nvim", "nano", "emacs", "less", "more", "man", "sqlite3", "psql", "mysql", "redis-cli", "mongosh", "ssh", "telnet", "ftp", "sftp",
    "nc", "bc", "dc", "su", "script", "expect",
];

/// Programs that run the one behind them.
const BEFORE: &[&str] =
    &["env", "exec", "command", "nohup", "time", "nice", "sudo", "stdbuf", "setsid", "builtin"];

impl AgentCall {
    /// Why what the call starts would not be asked about, if that is so: what Goose's subagents do, and what is typed into a program
    /// that Codex has started.
    pub fn escapes_hooks(&self, agent: Agent) -> Option<&'static str> {
        match agent {
            Agent::Goose if self.tool == "delegate" => Some(
                "Goose calls no hook for what a subagent does, so the skill's rules would not apply to it",
            ),
            Agent::Codex if self.tool == "Bash" => {
                let line = self.input.get("command")?.as_str()?;
                starts_interactive(line).then_some(
                    "Codex calls no hook for what is typed into a program that waits for input; give the program something to run",
                )
            }
            _ => None,
        }
    }
}

/// Whether a command line starts a program that waits for commands. Quotes are not looked at: in doubt it does.
fn starts_interactive(line: &str) -> bool {
    line.split([';', '&', '|', '\n', '(', ')', '{', '}', '`']).any(|command| {
        let is_assignment =
            |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.contains(['/', '-']));
        let is_before = |word: &&str| is_assignment(word) || BEFORE.contains(&base(word));
        let mut words = command.split_whitespace().skip_while(is_before);
        let Some(program) = words.next().map(base) else { return false };
        // Versions in names, as in `python3.12`.
        let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        if !INTERACTIVE.contains(&program) && !INTERACTIVE.contains(&plain) {
            return false;
        }
        let given: Vec<&str> = words.take_while(|word| !word.starts_with(['<', '>'])).collect();
        let is_option = |word: &&&str| word.starts_with('-') && word.len() > 1;
        let has_something = given.iter().any(|word| !is_option(&word))
            || given.iter().any(|word| matches!(*word, "--version" | "-V" | "--help" | "-h" | "-v"));
        let asks_for_it = given.iter().filter(is_option).any(|word| {
            *word == "--interactive"
                || (!word.starts_with("--") && word[1..].contains('i') && word.len() <= 3)
        });
        !has_something || asks_for_it
    })
}

fn base(word: &str) -> &str {
    let word = word.trim_matches(['"', '\'', '\\']);
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_wait_for_input() {
        for line in [
            "bash",
            "python3",
            "python3.12 -i x.py",
            "cd sub && /usr/bin/python3",
            "env A=1 sh -l",
            "A=1 sqlite3",
            "'bash'",
            "sudo su",
            "bash -i",
            "true; node",
        ] {
            assert!(starts_interactive(line), "{line}");
        }
        for line in [
            "bash -c ls",
            "python3 x.py",
            "python3 -c 'print(1)'",
            "git log",
            "node --version",
            "echo bash",
            "ls",
            "",
            "python3 -m pytest -q",
            "sqlite3 a.db 'select 1'",
        ] {
            assert!(!starts_interactive(line), "{line}");
        }
        let delegate = AgentCall::new("delegate", serde_json::json!({}));
        assert!(
            delegate.escapes_hooks(Agent::Goose).is_some() && delegate.escapes_hooks(Agent::Codex).is_none()
        );
    }
}
