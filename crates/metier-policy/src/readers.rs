//! Programs that do not change the files they name. A program that is not listed may change them.

use crate::invocation::{git_subcommand, may_run};
use crate::shell::{Command, Word};

/// Programs that read files, and have no way to write one.
#[rustfmt::skip]
const READERS: &[&str] = &[
    "cat", "ls", "head", "tail", "wc", "grep", "egrep", "fgrep", "diff", "cmp", "stat", "du", "more", "od", "hexdump",
    "md5sum", "sha1sum", "sha256sum", "cksum", "strings", "realpath", "readlink", "basename", "dirname", "test", "[",
    "cut", "nl", "jq", "echo", "cd", "pushd", "popd", "chdir", "tr", "column", "pwd", "true", "date", "which",
];

/// Programs that read, except with certain options.
struct Reader {
    name: &'static str,
    /// Short options that write, possibly combined with others.
    letters: &'static [char],
    /// Parts of the names of long options that write.
    names: &'static [&'static str],
}

#[rustfmt::skip]
const READERS_WITHOUT: &[Reader] = &[
    Reader { name: "tree", letters: &['o'], names: &[] },
    Reader { name: "less", letters: &['o', 'O'], names: &["log"] },
    Reader { name: "file", letters: &['C'], names: &["compile"] },
    Reader { name: "eslint", letters: &['o'], names: &["fix", "out", "cache", "init"] },
    Reader { name: "mypy", letters: &[], names: &["report", "xml", "cache", "install"] },
    Reader { name: "rg", letters: &[], names: &[] },
    Reader { name: "find", letters: &[], names: &[] },
    Reader { name: "sort", letters: &[], names: &[] },
    Reader { name: "awk", letters: &[], names: &[] },
    Reader { name: "sed", letters: &['i'], names: &["in"] },
];

/// Subcommands of `git` that do not change the working files.
const READING_GIT: &[&str] =
    &["show", "blame", "ls-files", "log", "diff", "status", "grep", "rev-parse", "add", "commit", "branch"];

/// Options of these subcommands that write a file or run a program.
const WRITING_GIT: &[&str] = &["--output", "--open-files-in-pager", "--ext-diff"];

/// Whether a command does not change the files that it names.
pub(crate) fn only_reads(command: &Command) -> bool {
    let is_reader = match command.words.first().map(Word::literal) {
        None => true,
        Some(None) => false,
        Some(Some("git")) => git_reads(&command.words),
        // The second file is the one that it writes.
        Some(Some("uniq")) => operands(&command.words[1..], &["-f", "-s", "-w"]) < 2,
        Some(Some(name)) => {
            let without = || READERS_WITHOUT.iter().find(|reader| reader.name == name);
            READERS.contains(&name) || without().is_some_and(|reader| reader.reads(&command.words))
        }
    };
    is_reader && command.redirects.iter().all(|redirect| !redirect.writes)
}

impl Reader {
    fn reads(&self, words: &[Word]) -> bool {
        let writes = |word: &Word| {
            let text = String::from_utf8_lossy(&word.text);
            match text.strip_prefix("--") {
                Some(long) => {
                    let name = long.split('=').next().unwrap_or(long).to_ascii_lowercase();
                    self.names.iter().any(|part| name.contains(part))
                }
                None => text.starts_with('-') && text.contains(self.letters),
            }
        };
        !may_run(self.name, words) && !words[1..].iter().any(writes)
    }
}

fn git_reads(words: &[Word]) -> bool {
    let Some(at) = git_subcommand(words) else { return false };
    let is_set = |word: &Word| {
        let text = word.literal().unwrap_or("-c");
        text == "-c" || text.starts_with("--config-env") || text.starts_with("--exec-path")
    };
    // A long option may be abbreviated.
    let writes = |word: &Word| {
        let text = String::from_utf8_lossy(&word.text);
        let name = text.split(['=', '\0']).next().unwrap_or_default();
        text.starts_with("-O") || (name.len() > 3 && WRITING_GIT.iter().any(|long| long.starts_with(name)))
    };
    words[at].literal().is_some_and(|name| READING_GIT.contains(&name))
        && !words[1..at].iter().any(is_set)
        && !words[at + 1..].iter().any(writes)
}

/// The number of words that are neither options nor their values.
fn operands(words: &[Word], valued: &[&str]) -> usize {
    let is_value =
        |at: usize| at > 0 && words[at - 1].literal().is_some_and(|before| valued.contains(&before));
    let is_operand = |at: &usize| words[*at].text.first() != Some(&b'-') && !is_value(*at);
    (0..words.len()).filter(is_operand).count()
}
