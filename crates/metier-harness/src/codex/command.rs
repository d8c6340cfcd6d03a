//! Commands of Codex: the script inside of the shell that runs it, and the files that a plain command reads.

use std::path::{Path, PathBuf};

use super::normal;

/// The shells that Codex runs scripts with.
const SHELLS: &[&str] = &["bash", "zsh", "sh"];
/// Programs that only read the files that they are given, whatever their options are.
const READERS: &[&str] = &["cat", "head", "tail", "nl", "wc"];

/// The script of a command like `/bin/bash -lc 'ls -l'`, which is how Codex shows `ls -l`. Other commands stay as they
/// are.
pub(super) fn script_of(command: &str) -> String {
    inner(command).unwrap_or_else(|| command.to_owned())
}

fn inner(command: &str) -> Option<String> {
    let mut parts = command.splitn(3, ' ');
    let (shell, option, quoted) = (parts.next()?, parts.next()?, parts.next()?);
    let name = Path::new(shell).file_name()?.to_str()?;
    if !SHELLS.contains(&name) || !matches!(option, "-lc" | "-c") {
        return None;
    }
    unquoted(quoted)
}

/// One word as a shell reads it, if it is one word without expansions.
fn unquoted(quoted: &str) -> Option<String> {
    let mut word = String::new();
    let mut rest = quoted.chars();
    while let Some(first) = rest.next() {
        match first {
            '\'' => loop {
                match rest.next()? {
                    '\'' => break,
                    inside => word.push(inside),
                }
            },
            '"' => loop {
                match rest.next()? {
                    '"' => break,
                    '\\' => match rest.next()? {
                        escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                        other => word.extend(['\\', other]),
                    },
                    '$' | '`' => return None,
                    inside => word.push(inside),
                }
            },
            '\\' => word.push(rest.next()?),
            plain if is_plain(plain) => word.push(plain),
            _ => return None,
        }
    }
    (!word.is_empty()).then_some(word)
}

/// The files that a script reads, if it is one plain command that does nothing else: no expansions but of the home
/// directory, no redirections, no patterns.
pub(super) fn files_read(script: &str, home: &Path, working: Option<&Path>) -> Option<Vec<PathBuf>> {
    let words = words_of(script)?;
    let (program, mut operands) = words.split_first()?;
    let is_sed = program == "sed";
    if is_sed {
        // `sed -n 1,200p` prints lines; other scripts can write and run.
        let [option, lines, files @ ..] = operands else { return None };
        if option != "-n" || !is_line_range(lines) {
            return None;
        }
        operands = files;
    } else if !READERS.contains(&program.as_str()) {
        return None;
    }
    // Without a slash, a word could be something else.
    let is_relative = |word: &str| working.is_some() && !word.starts_with(['-', '$']) && word.contains('/');
    let is_file = |word: &&String| word.starts_with('/') || word.starts_with("$HOME/") || is_relative(word);
    // The only other words are options and their numbers.
    let is_option = |word: &String| {
        let bare = word.strip_prefix('-').unwrap_or(word);
        !is_sed
            && bare.len() <= 6
            && !bare.is_empty()
            && bare.chars().all(|c| c.is_ascii_alphanumeric())
            && (word.starts_with('-') || bare.chars().all(|c| c.is_ascii_digit()))
    };
    let (files, others): (Vec<&String>, Vec<&String>) = operands.iter().partition(is_file);
    if files.is_empty() || !others.into_iter().all(is_option) {
        return None;
    }
    files.into_iter().map(|file| absolute(file, home, working)).collect()
}

fn absolute(file: &str, home: &Path, working: Option<&Path>) -> Option<PathBuf> {
    normal(&match file.strip_prefix("$HOME/") {
        Some(below) => home.join(below),
        None => working.map_or_else(|| PathBuf::from(file), |working| working.join(file)),
    })
}

fn is_line_range(text: &str) -> bool {
    let Some(range) = text.strip_suffix('p') else { return false };
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    match range.split_once(',') {
        Some((first, last)) => is_number(first) && (is_number(last) || last == "$"),
        None => is_number(range),
    }
}

/// The words of a plain command. A home directory that is expanded becomes `$HOME/`, which cannot be written otherwise.
fn words_of(script: &str) -> Option<Vec<String>> {
    script.split(' ').filter(|word| !word.is_empty()).map(word_of).collect()
}

/// A plain word, as a whole in quotes or in none.
fn word_of(word: &str) -> Option<String> {
    let is_in = |quote: char| word.len() > 1 && word.starts_with(quote) && word.ends_with(quote);
    if is_in('\'') {
        let bare = &word[1..word.len() - 1];
        return bare
            .chars()
            .all(|c| is_plain(c) || c == '$')
            .then(|| bare.to_owned())
            .filter(|bare| !bare.starts_with('$'));
    }
    let is_quoted = is_in('"');
    let bare = if is_quoted { &word[1..word.len() - 1] } else { word };
    let homes: &[&str] = if is_quoted { &["$HOME/", "${HOME}/"] } else { &["$HOME/", "${HOME}/", "~/"] };
    let below = homes.iter().find_map(|home| bare.strip_prefix(home));
    let plain = below.unwrap_or(bare);
    if plain.is_empty() || !plain.chars().all(is_plain) {
        return None;
    }
    Some(below.map_or_else(|| plain.to_owned(), |below| format!("$HOME/{below}")))
}

/// Characters that mean themselves in every shell.
fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_-./,:@%+".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_what_the_shell_runs() {
        for (command, script) in [
            ("/bin/bash -lc 'touch a.txt && echo made'", "touch a.txt && echo made"),
            ("/usr/bin/zsh -lc ls", "ls"),
            (r#"/bin/bash -lc "echo 'it'""#, "echo 'it'"),
            (r#"bash -c 'a'"'"'b'"#, "a'b"),
            (r#"/bin/bash -lc "echo \$HOME""#, "echo $HOME"),
            // Not a shell with one script: as it is.
            ("/bin/bash -lc 'ls' x", "/bin/bash -lc 'ls' x"),
            ("/bin/bash -lc 'ls", "/bin/bash -lc 'ls"),
            ("/bin/bash -lc $(x)", "/bin/bash -lc $(x)"),
            ("/bin/bash -ic 'ls'", "/bin/bash -ic 'ls'"),
            ("python3 -c 'x'", "python3 -c 'x'"),
            ("ls", "ls"),
        ] {
            assert_eq!(script_of(command), script, "{command}");
        }
    }

    #[test]
    fn only_plain_commands_are_known_to_read() {
        let read = |script: &str| files_read(script, Path::new("/me"), None);
        let one = |path: &str| Some(vec![PathBuf::from(path)]);
        assert_eq!(read("cat /s/a/SKILL.md"), one("/s/a/SKILL.md"));
        let here = |script: &str| files_read(script, Path::new("/me"), Some(Path::new("/w")));
        assert_eq!(here("head -n 5 skills/a/SKILL.md"), one("/w/skills/a/SKILL.md"));
        assert_eq!(here("cat ./a /b"), Some(vec!["/w/a".into(), "/b".into()]));
        for script in ["cat ../a", "cat s/../../etc/x", "cat -x/y", "cat a.md", "cat $PWD/x", "sh a/b"] {
            assert_eq!(here(script), None, "{script}");
        }
        assert_eq!(read("cat a/b"), None);
        assert_eq!(read("sed -n '1,200p' /s/a/SKILL.md"), one("/s/a/SKILL.md"));
        assert_eq!(read("sed -n 1,$p /s"), None);
        assert_eq!(read("sed -n '1,$p' /s"), one("/s"));
        assert_eq!(read("head -n 20 ~/s/./a.md"), one("/me/s/a.md"));
        assert_eq!(read(r#"cat "$HOME/s/a.md" /b"#), Some(vec!["/me/s/a.md".into(), "/b".into()]));
        for script in [
            "cat",
            "cat a.md",
            "cat /a; rm /b",
            "cat /a > /b",
            "cat /a | sh",
            "cat $(x)",
            "cat `x`",
            "cat /s/../etc/x",
            "cat '$HOME/x'",
            "cat $PWD/x",
            "cat /a*",
            "cat /a\nrm /b",
            "cat /a &",
            "sed -i 1p /a",
            "sed -n 1w/x /a",
            "sed -n '1p;e' /a",
            "rm /a",
            "cat '/a b'",
            "cat {/a,/b}",
            "FOO=1 cat /a",
            "/tmp/cat /a",
            "cat /a\t/b",
            "tail --follow=name /a",
            "cat ~root/x",
            r#"cat "~/x""#,
            "cat \\/a",
            "cat /a #",
            "",
        ] {
            assert_eq!(read(script), None, "{script}");
        }
    }
}
