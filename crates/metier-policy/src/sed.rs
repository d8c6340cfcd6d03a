//! Checks whether a `sed` command only edits text. `sed` scripts can also run programs and write files.

use crate::awk::is_plain_bracket;
use crate::shell::Word;

/// Whether all scripts of a command only edit text. Takes the words after `sed`.
pub(crate) fn is_plain(arguments: &[Word]) -> bool {
    let mut has_script = false;
    let mut arguments = arguments.iter();
    while let Some(word) = arguments.next() {
        let Some(text) = word.literal().filter(|_| !word.splits) else {
            // A file from an expansion; before the script, it could be the script.
            if has_script && !word.may_begin_with(b'-') {
                continue;
            }
            return false;
        };
        match text {
            // Some versions read it as the suffix of a backup file, others as a script.
            "" => return false,
            _ if is_script_option(text) => {
                let Some(script) = arguments.next().and_then(Word::literal) else { return false };
                if !is_plain_script(script) {
                    return false;
                }
                has_script = true;
            }
            "-n" | "-E" | "-r" | "-i" | "-s" | "-u" | "-z" | "-nE" | "-nr" | "-En" | "--quiet"
            | "--silent" | "--regexp-extended" | "--in-place" | "--separate" | "--null-data" | "--debug"
            | "--posix" | "--sandbox" | "--version" | "--help" => {}
            _ if text.strip_prefix("-i").is_some_and(|suffix| !suffix.contains('/')) => {}
            _ if text.starts_with('-') && text.len() > 1 => return false,
            _ if word.globs && word.may_begin_with(b'-') => return false,
            _ if has_script => {}
            _ if !is_plain_script(text) => return false,
            _ => has_script = true,
        }
    }
    has_script
}

/// Options that a script follows: `-e`, possibly combined with others.
fn is_script_option(text: &str) -> bool {
    let letters = text.strip_prefix('-').unwrap_or_default();
    text == "--expression"
        || letters.strip_suffix('e').is_some_and(|others| others.chars().all(|c| "nErsuz".contains(c)))
}

/// Whether a script only has commands that edit text.
fn is_plain_script(script: &str) -> bool {
    let mut rest = script.as_bytes();
    loop {
        rest = skip(rest, b" \t\n;}");
        if rest.is_empty() {
            return true;
        }
        let Some(after) = addresses(rest).and_then(command) else { return false };
        rest = after;
    }
}

fn skip<'a>(text: &'a [u8], some: &[u8]) -> &'a [u8] {
    let count = text.iter().take_while(|byte| some.contains(byte)).count();
    &text[count..]
}

/// The rest after up to two addresses and a `!`.
fn addresses(text: &[u8]) -> Option<&[u8]> {
    let rest = address(text)?;
    let rest = match rest.split_first() {
        Some((b',', second)) => address(skip(second, b" +~"))?,
        _ => rest,
    };
    Some(skip(rest, b" !"))
}

fn address(text: &[u8]) -> Option<&[u8]> {
    match text.split_first()? {
        (b'/', rest) => Some(skip(delimited(rest, b'/')?, b"IM")),
        (b'\\', _) => None,
        _ => Some(skip(text, b"0123456789$~")),
    }
}

/// The rest after the next unescaped delimiter.
fn delimited(text: &[u8], delimiter: u8) -> Option<&[u8]> {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\n' => return None,
            _ if *byte == delimiter => return Some(&text[at + 1..]),
            // Implementations disagree on delimiters and brackets inside brackets.
            b'[' => {
                let rest: Vec<char> = String::from_utf8_lossy(&text[at + 1..]).chars().collect();
                if !is_plain_bracket(&rest, char::from(delimiter)) {
                    return None;
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

fn command(text: &[u8]) -> Option<&[u8]> {
    let (name, rest) = text.split_first()?;
    let rest = match name {
        b'{' => return Some(rest),
        b's' | b'y' => {
            let (delimiter, rest) = rest.split_first()?;
            if delimiter.is_ascii_alphanumeric() || b"\\ \n;[".contains(delimiter) {
                return None;
            }
            let rest = delimited(delimited(rest, *delimiter)?, *delimiter)?;
            if *name == b's' { skip(rest, b"gpiIm0123456789") } else { rest }
        }
        b'p' | b'P' | b'd' | b'D' | b'n' | b'N' | b'g' | b'G' | b'h' | b'H' | b'x' | b'=' | b'z' | b'l' => {
            rest
        }
        b'q' | b'Q' => skip(rest, b" 0123456789"),
        // The rest of the line is text or a label; only scripts of one line are accepted.
        b'a' | b'i' | b'c' | b'b' | b't' | b':' if !rest.contains(&b'\n') && !rest.contains(&b'}') => {
            let is_text = b"aic".contains(name);
            return if is_text { Some(&[]) } else { skip_label(rest) };
        }
        _ => return None,
    };
    // Something must end the command, or its end was misread.
    let rest = skip(rest, b" \t");
    rest.first().is_none_or(|byte| b";}\n".contains(byte)).then_some(rest)
}

/// The rest after a label, which the end of the command must follow.
fn skip_label(text: &[u8]) -> Option<&[u8]> {
    let text = skip(text, b" ");
    let count = text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let rest = &text[count..];
    rest.first().is_none_or(|byte| b";\n".contains(byte)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_only_edit() {
        for plain in [
            "s/a/b/",
            "s/a/b/g",
            "s|a|b|;s,c,d,gI",
            "1,10p",
            "$d",
            "/x/d",
            "/x/,/y/p",
            "5q",
            "2!d",
            "/a/{s/b/c/;p}",
            "y/abc/def/",
            "1a hello",
            "G",
            "n;d",
            "$!N",
            ":a;N;s/x/y/;ta",
            "s/\\/usr/x/",
            "10,$p",
            "1~2d",
            "",
        ] {
            assert!(is_plain_script(plain), "{plain}");
        }
    }

    #[test]
    fn scripts_that_can_do_more() {
        for other in [
            "e",
            "1e rm x",
            "1erm x",
            "s/x/rm y/e",
            "s/x/y/ge",
            "s/x/y/w out",
            "w out",
            "r /etc/shadow",
            "R x",
            "W x",
            "1,2e id",
            "s/a/b/;e id",
            "p;e id",
            "/x/e id",
            "2!e id",
            "{e id}",
            "s/a/b/\ne id",
            "F",
            "v",
            "\\,x,e id",
            "s\na\nb\ne",
            "y/a/b/;w x",
            ":a e id",
            "ta e id",
            ":a w x",
            ":a}e id",
            "s,[[:digit:],],;s,e#,x,",
            "s,[],],;s,w x,x,",
            "1a x\ne id",
            "s/[/]/e id/",
            "s e a e b e",
        ] {
            assert!(!is_plain_script(other), "{other}");
        }
    }
}
