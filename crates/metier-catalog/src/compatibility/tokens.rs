//! The words of free text, with their places in it.

/// A word or a mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// In lower case.
    pub(super) text: String,
    /// The bytes of the text it was made of.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it stands in backticks.
    pub(super) quoted: bool,
}

/// What a token is for the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    /// `>=` and its kin.
    Operator,
    Open,
    Close,
    Comma,
    /// `and`, `&`, `plus`.
    And,
    /// `or`, `/`, `|`.
    Or,
    /// `with`, `on`, `in`: what follows is needed too, but is not of the same list.
    With,
    /// The end of a sentence or of what counts as one.
    Break,
}

/// Takes text apart.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut quoted = false;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = match c {
            '`' => {
                quoted = !quoted;
                at += 1;
                continue;
            }
            '(' | '[' => (Some(Kind::Open), 1),
            ')' | ']' => (Some(Kind::Close), 1),
            ',' | '，' | '、' => (Some(Kind::Comma), c.len_utf8()),
            '&' => (Some(Kind::And), 1),
            '+' if rest[1..].starts_with(char::is_whitespace) => (Some(Kind::And), 1),
            '|' => (Some(Kind::Or), 1),
            '<' | '>' | '=' | '~' | '^' | '!' | '≥' | '≤' => operator(rest),
            _ => match word_length(rest) {
                0 => (is_break(rest).then_some(Kind::Break), c.len_utf8()),
                length => (Some(word_kind(&rest[..length])), length),
            },
        };
        let end = at + length;
        if c == '/' {
            tokens.push(Token { kind: Kind::Or, text: "/".into(), start: at, end, quoted });
        } else if let Some(kind) = kind {
            tokens.push(Token { kind, text: text[at..end].to_lowercase(), start: at, end, quoted });
        }
        at = end;
    }
    tokens
}

fn operator(rest: &str) -> (Option<Kind>, usize) {
    let is_part = |c: char| matches!(c, '<' | '>' | '=' | '~' | '^' | '!' | '≥' | '≤');
    // `~/.config` is a path.
    if rest.starts_with("~/") {
        return (Some(Kind::Word), word_length(rest));
    }
    (Some(Kind::Operator), rest.find(|c| !is_part(c)).unwrap_or(rest.len()))
}

fn word_kind(word: &str) -> Kind {
    match word.to_ascii_lowercase().as_str() {
        "and" | "plus" => Kind::And,
        "or" => Kind::Or,
        "with" | "on" | "in" | "under" => Kind::With,
        _ => Kind::Word,
    }
}

/// How many bytes of a word the text begins with. A dot belongs to a word that goes on after it (`RequiresNode.js`),
/// a slash to paths, addresses and the names of packages only (`macOS/Linux` is two).
fn word_length(rest: &str) -> usize {
    let relative = rest.starts_with("./") || rest.starts_with("../");
    let opaque = relative || rest.starts_with(['@', '~', '$', '.']);
    let mut address = false;
    let mut before = ' ';
    for (at, c) in rest.char_indices() {
        let after = &rest[at + c.len_utf8()..];
        let goes_on = after.starts_with(|next: char| next.is_alphanumeric() || next == '*');
        let inside = match c {
            '_' | '\'' | '’' => true,
            '@' | '$' | '~' => at == 0 || address,
            '.' => goes_on || (relative && after.starts_with(['.', '/'])),
            '-' => before.is_alphanumeric() && goes_on,
            '*' => before == '.' || goes_on,
            '+' | '#' => before.is_alphanumeric() || before == '+',
            '–' => before.is_ascii_digit() && after.starts_with(|next: char| next.is_ascii_digit()),
            ':' if after.starts_with("//") => {
                address = true;
                true
            }
            '/' => opaque || address,
            '?' | '=' | '%' => address,
            _ => c.is_alphanumeric(),
        };
        if !inside {
            return at;
        }
        before = c;
    }
    rest.len()
}

/// Whether the mark at the beginning of `rest` ends a sentence or stands for its end. A colon does not: what
/// follows `Requires:` is what is required.
fn is_break(rest: &str) -> bool {
    rest.starts_with(['.', ';', '\n', '—', '–', '。', '；', '!', '?', '•']) || rest.starts_with("- ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kept_whole_and_lists_are_not() {
        for (text, expected) in [
            ("Node.js 18+, git.", "node.js|18+|,|git|."),
            ("macOS/Linux", "macos|/|linux"),
            ("Python>=3.10,<3.13", "python|>=|3.10|,|<|3.13"),
            ("see https://a.b/c?d=e now", "see|https://a.b/c?d=e|now"),
            ("@scope/tool ~/.config .NET $HOME", "@scope/tool|~/.config|.net|$home"),
            ("3.11–3.14 – c++", "3.11–3.14|–|c++"),
            ("../a/b ./c ...", "../a/b|./c|.|.|."),
            ("git + jq", "git|+|jq"),
            ("`gh` (CLI)", "gh|(|cli|)"),
            ("built-in - 2.*", "built-in|-|2.*"),
        ] {
            let words: Vec<String> = tokens(text).into_iter().map(|token| token.text).collect();
            assert_eq!(words.join("|"), expected, "{text}");
        }
    }
}
