//! Checks whether an `awk` command only processes text. `awk` programs can also run other programs.

use crate::shell::Word;

/// Whether the program of a command runs nothing else. Takes the words after `awk`.
pub(crate) fn is_plain(arguments: &[Word]) -> bool {
    let mut arguments = arguments.iter();
    while let Some(word) = arguments.next() {
        let Some(text) = word.literal().filter(|_| !word.splits && !word.globs) else { return false };
        match text.strip_prefix('-') {
            // `-F` and `-v` take a value, attached or not.
            Some("F" | "v") => {
                if arguments.next().is_none() {
                    return false;
                }
            }
            Some(option) if option.starts_with(['F', 'v']) => {}
            Some(_) => return false,
            // After the program come files and variables.
            None => return is_plain_program(text),
        }
    }
    false
}

/// Whether an `awk` program never runs another program.
fn is_plain_program(program: &str) -> bool {
    let chars: Vec<char> = program.chars().collect();
    let mut at = 0;
    // Whether a `/` here starts a pattern instead of dividing.
    let mut may_be_pattern = true;
    // Whether printed text may go to a file, and how deep it is in parentheses, where `>` compares.
    let (mut prints, mut depth) = (false, 0_usize);
    while let Some(&c) = chars.get(at) {
        let mut is_keyword = false;
        at = match c {
            '"' => match closing(&chars, at, '"') {
                Some(end) => end,
                None => return false,
            },
            '/' if may_be_pattern => match closing(&chars, at, '/') {
                Some(end) => end,
                None => return false,
            },
            '|' if chars.get(at + 1) == Some(&'|') => at + 1,
            // A pipe, an extension, a comment that hides a quote, or a continued line.
            '|' | '@' | '#' | '\\' | '`' => return false,
            c if c.is_alphabetic() || c == '_' => {
                let end = (at..chars.len()).find(|at| !chars[*at].is_alphanumeric() && chars[*at] != '_');
                let end = end.unwrap_or(chars.len());
                let name: String = chars[at..end].iter().collect();
                if matches!(name.as_str(), "system" | "getline" | "ENVIRON" | "PROCINFO") {
                    return false;
                }
                prints |= matches!(name.as_str(), "print" | "printf");
                is_keyword = KEYWORDS.contains(&name.as_str());
                end - 1
            }
            '>' if prints && depth == 0 => return false,
            '(' => {
                depth += 1;
                at
            }
            ')' => {
                depth = depth.saturating_sub(1);
                at
            }
            ';' | '}' | '\n' => {
                prints = false;
                at
            }
            _ => at,
        };
        let last = chars[at];
        if !last.is_whitespace() {
            let is_step = "+-".contains(last) && at > 0 && chars[at - 1] == last;
            may_be_pattern =
                is_keyword || c != '/' && c != '"' && !is_step && "(,{;!~&|=?:<>+-*%^\n}".contains(last);
        }
        at += 1;
    }
    true
}

/// The position of the next unescaped occurrence of a character on this line.
fn closing(chars: &[char], open: usize, sign: char) -> Option<usize> {
    let mut at = open + 1;
    loop {
        match chars.get(at)? {
            '\n' => return None,
            '\\' => at += 1,
            // Implementations disagree on delimiters and brackets inside brackets.
            '[' if sign == '/' && !is_plain_bracket(&chars[at + 1..], sign) => return None,
            c if *c == sign => return Some(at),
            _ => {}
        }
        at += 1;
    }
}

/// Names after which a `/` starts a pattern.
const KEYWORDS: &[&str] =
    &["print", "printf", "return", "in", "case", "else", "do", "exit", "delete", "BEGIN", "END"];

/// Whether a bracket expression ends at the first `]` and contains no delimiter.
pub(crate) fn is_plain_bracket(rest: &[char], sign: char) -> bool {
    let rest = rest.strip_prefix(&['^']).unwrap_or(rest);
    let inside = rest.iter().position(|c| *c == ']').map(|end| &rest[..end]);
    inside.is_some_and(|inside| {
        !inside.is_empty() && !inside.iter().any(|c| *c == sign || *c == '[' || *c == '\\')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_only_work_on_text() {
        for plain in [
            "{print $1}",
            "$1 ~ /a|b/",
            "$1==1 || $2==2 {print}",
            "/user@host/",
            "BEGIN{FS=\"|\"} {s+=$2} END{print s/NR}",
            "$1 > 5",
            "{gsub(/x/, \"y|z\"); print}",
            "NR>1 && /a/",
            "{print \"system\"}",
            "{a = b / c; d = e / f; print}",
            "!/x|y/",
            "",
        ] {
            assert!(is_plain_program(plain), "{plain}");
        }
    }

    #[test]
    fn programs_that_can_do_more() {
        for other in [
            "BEGIN{system(\"x\")}",
            "{print | \"sh\"}",
            "{\"x\" | getline}",
            "{print a/b|c;x=1/2}",
            "{print a/b|c}",
            "{x = 1 /2|c/ 3}",
            "@load \"x\"",
            "{print \"a}",
            "/a",
            "# /\nBEGIN{system(\"x\")}#/",
            "{print 1 |& \"x\"}",
            "{cmd | getline}",
            "{print x/\"|\"|c/1}",
            "{print a++/b|c/d}",
            "{print $1/2|c;/}",
            "{print a[1]/2|c/ 3}",
            "{print (1)/2|c/ 3}",
            "{sys\\\ntem(1)}",
            "BEGIN{ print /\"/; system(\"x\"); print /\"/ }",
            "BEGIN{ x=/[]/\"]/; system(\"x\"); x=/[]/\"]/ }",
            "x=/[[:alpha:]/\"]/",
            "{print \"x\" > \"f\"}",
            "{print $1 >> \"f\"}",
            "{printf \"x\" > f}",
        ] {
            assert!(!is_plain_program(other), "{other}");
        }
    }
}
