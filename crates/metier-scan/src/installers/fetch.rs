//! Parses a command that fetches one address and passes it to a shell, word by word. Anything unknown is refused,
//! because another source can be given without a scheme, by an option, by a proxy, or by a program in between.

/// Programs that fetch, in lower case.
const LOADERS: &[&str] =
    &["curl", "wget", "iwr", "irm", "invoke-webrequest", "invoke-restmethod", "downloadstring"];

/// What may precede the program: a shell that runs the fetched script.
const LEADS: &[&str] = &[
    "",
    ".",
    "-c",
    "-e",
    "-h",
    "bash",
    "dash",
    "env",
    "eval",
    "fish",
    "iex",
    "ksh",
    "net.webclient",
    "new-object",
    "sh",
    "source",
    "sudo",
    "system.net.webclient",
    "zsh",
];

/// Options that do not affect the source.
const PLAIN: &[&str] = &[
    "--fail",
    "--fail-with-body",
    "--silent",
    "--show-error",
    "--location",
    "--compressed",
    "--progress-bar",
    "--no-progress-meter",
    "--verbose",
    "--tlsv1.2",
    "--tlsv1.3",
    "--ssl-reqd",
    "--http1.1",
    "--http2",
    "--ipv4",
    "--ipv6",
    "--retry-all-errors",
    "--retry-connrefused",
    "--quiet",
    "--no-verbose",
    "--show-progress",
    "--https-only",
    "--no-cache",
    "--remote-name",
    "-nv",
    "-useb",
    "-usebasicparsing",
    "-uri",
    "2>/dev/null",
];

/// Options with a number.
const NUMBERED: &[&str] = &[
    "--retry",
    "--retry-delay",
    "--retry-max-time",
    "--max-time",
    "--connect-timeout",
    "--tries",
    "--timeout",
    "-m",
];

/// Options with the name of an output file.
const WRITTEN: &[&str] = &["--output", "--output-document", "-outfile"];

/// Options with a list of protocols.
const PROTOCOLS: &[&str] = &["--proto", "--proto-redir"];

/// Options of one letter. The text is in lower case, so both cases must be harmless.
const LETTERS: &str = "sflqv46#";

/// The only address that a command fetches, if it is passed to a shell unchanged.
pub(super) fn fetched(command: &str) -> Option<&str> {
    let (at, loader) = LOADERS
        .iter()
        .filter_map(|loader| word_at(command, loader).map(|at| (at, *loader)))
        .min_by_key(|(at, _)| *at)?;
    let (before, rest) = (&command[..at], &command[at + loader.len()..]);
    let is_lead = |word: &str| LEADS.contains(&word.rsplit('/').next().unwrap_or(word));
    let mut leads = before.split(|c: char| c.is_whitespace() || "\"'\\`(){}$<&".contains(c));
    if !leads.all(is_lead) {
        return None;
    }
    // A parenthesis inside a call does not end it.
    let rest = if loader == "downloadstring" { rest.strip_prefix('(')? } else { rest };
    let end = rest.find(ENDS).unwrap_or(rest.len());
    let (words, rest) = rest.split_at(end);
    let fetch = Fetch::read(words)?;
    is_handed_on(rest, &fetch).then_some(fetch.address)
}

/// What ends the words of a command.
const ENDS: [char; 7] = ['|', ')', '`', ';', '&', '}', '\n'];

/// Whether a word starts or ends here.
fn word_at(text: &str, word: &str) -> Option<usize> {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let bytes = text.as_bytes();
    text.match_indices(word).map(|(at, _)| at).find(|at| {
        !is_part(at.checked_sub(1).and_then(|at| bytes.get(at))) && !is_part(bytes.get(at + word.len()))
    })
}

/// The source and the destination of a fetch.
#[derive(Debug, Default)]
struct Fetch<'a> {
    address: &'a str,
    file: Option<&'a str>,
}

impl<'a> Fetch<'a> {
    /// Every word must be the only address or a known option.
    fn read(words: &'a str) -> Option<Self> {
        let mut fetch = Self::default();
        let mut words = words.split_whitespace().map(unquoted).peekable();
        while let Some(word) = words.next() {
            if is_address(word) {
                if !fetch.address.is_empty() {
                    return None;
                }
                fetch.address = word;
            } else if !is_plain(word) {
                let (option, attached) = option(word)?;
                // Without an explicit name, the file is named after the address.
                let is_bare = option == "-o" && words.peek().is_none_or(|next| is_address(next));
                if attached.is_none() && is_bare {
                    continue;
                }
                let value = attached.or_else(|| words.next())?;
                if option == "-o" || WRITTEN.contains(&option) {
                    fetch.file = Some(value).filter(|value| is_file(value));
                    fetch.file?;
                } else if !is_value(option, value) {
                    return None;
                }
            }
        }
        (!fetch.address.is_empty()).then_some(fetch)
    }
}

fn is_address(word: &str) -> bool {
    word.starts_with("http://") || word.starts_with("https://")
}

/// Whether a word is an option without a value.
fn is_plain(word: &str) -> bool {
    let is_letters = |letters: &str| !letters.is_empty() && letters.chars().all(|c| LETTERS.contains(c));
    PLAIN.contains(&word) || word.strip_prefix('-').is_some_and(is_letters)
}

/// An option with a value, and the value if it is attached: `--output=x`, `-qO-`.
fn option(word: &str) -> Option<(&str, Option<&str>)> {
    if word.starts_with("--") || NUMBERED.contains(&word) || WRITTEN.contains(&word) {
        return Some(word.split_once('=').map_or((word, None), |(option, value)| (option, Some(value))));
    }
    let letters = word.strip_prefix('-')?.trim_start_matches(|c| LETTERS.contains(c));
    let name = letters.strip_prefix('o')?;
    Some(("-o", Some(name).filter(|name| !name.is_empty())))
}

/// Whether a value cannot be a source.
fn is_value(option: &str, value: &str) -> bool {
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    (NUMBERED.contains(&option) && is_number)
        || (PROTOCOLS.contains(&option) && matches!(value, "=https" | "https"))
}

/// A word without surrounding quotation marks.
fn unquoted(word: &str) -> &str {
    word.trim_matches(['"', '\'', '\\'])
}

/// Whether a word can only be a file name: after `-O` it would be another address.
fn is_file(name: &str) -> bool {
    let is_path = ["/", "./", "~/"].iter().any(|begin| name.starts_with(begin));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/~".contains(c);
    name.chars().all(is_plain) && (is_path || !name.contains('/'))
}

/// Whether nothing comes between the fetched content and the shell that runs it. If a file was written, only that
/// file is run.
fn is_handed_on(rest: &str, fetch: &Fetch<'_>) -> bool {
    let Some(end) = rest.chars().next() else { return true };
    let rest = &rest[1..];
    match end {
        '|' => {
            let shell = rest.trim_end_matches(|c: char| c.is_whitespace() || ";&`-".contains(c));
            !shell.contains(['|', '(', '`', '<', ';', '&'])
        }
        // The text after a call belongs to the match, and could be another call.
        ')' | '`' | '}' => {
            !rest.contains("download") && !LOADERS.iter().any(|loader| word_at(rest, loader).is_some())
        }
        ';' | '&' => {
            let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
            let written = name(fetch.file.unwrap_or(fetch.address));
            let is_step = |step: &str| {
                let words: Vec<&str> = step.split_whitespace().filter(|word| *word != "sudo").collect();
                match words.as_slice() {
                    [] => true,
                    ["chmod", _, file] | ["sh" | "bash" | "zsh" | "source", file] => name(file) == written,
                    [file] => file.starts_with("./") && name(file) == written,
                    _ => false,
                }
            };
            rest.split([';', '&']).all(is_step)
        }
        _ => false,
    }
}
