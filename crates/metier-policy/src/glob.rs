//! Path patterns as in gitignore: `*`, `?`, `[…]` within a part, `**` across parts.
//!
//! Skills bring many patterns, so parsing one must be cheap.

mod possibly;

pub(crate) use possibly::Segment;

/// A pattern, part by part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glob {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// `**`: any number of parts.
    Deep,
    One(Vec<Token>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Letter(char),
    Any,
    Star,
    Class { negated: bool, ranges: Vec<(char, char)> },
}

const MOST_PARTS: usize = 64;

impl Glob {
    /// Parses a pattern. `None` if it is invalid.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let mut parts: Vec<Part> = Vec::new();
        for part in split(text) {
            match part {
                "**" if parts.last() == Some(&Part::Deep) => {}
                "**" => parts.push(Part::Deep),
                "" | "." => {}
                _ => parts.push(Part::One(tokens(part)?)),
            }
        }
        // Longer patterns are not accepted.
        (1..=MOST_PARTS).contains(&parts.len()).then_some(Self { parts })
    }

    /// The pattern with `**/` before it.
    pub(crate) fn at_any_depth(mut self) -> Self {
        if self.parts.first() != Some(&Part::Deep) {
            self.parts.insert(0, Part::Deep);
        }
        self
    }

    /// The last part, if it is a plain name.
    pub(crate) fn last_name(&self) -> Option<String> {
        let Some(Part::One(tokens)) = self.parts.last() else { return None };
        let letters = tokens.iter().map(|token| match token {
            Token::Letter(letter) => Some(*letter),
            _ => None,
        });
        letters.collect()
    }

    /// Whether the pattern matches a path, given as its parts, or a directory that contains it. With `or_directory`,
    /// `a/**` also matches `a`.
    pub(crate) fn matches<T: AsRef<str>>(&self, path: &[T], or_directory: bool) -> bool {
        // The numbers of parts of the path that the pattern can have consumed.
        let mut used = vec![false; path.len() + 1];
        used[0] = true;
        for (index, part) in self.parts.iter().enumerate() {
            let is_last = index + 1 == self.parts.len();
            let Some(first) = used.iter().position(|used| *used) else { return false };
            match part {
                Part::Deep => {
                    used[first..].fill(true);
                    // At the end, `**` means the content, not the directory itself.
                    used[first] = !is_last || or_directory;
                }
                Part::One(tokens) => {
                    for (at, name) in path.iter().enumerate().skip(first).rev() {
                        used[at + 1] = used[at] && is_match(tokens, name.as_ref());
                    }
                    used[first] = false;
                }
            }
        }
        used.contains(&true)
    }
}

/// The parts between unescaped slashes.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    text.split(move |c| {
        let is_end = c == '/' && !escaped;
        escaped = c == '\\' && !escaped;
        is_end
    })
}

fn tokens(part: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut chars = part.chars();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            '*' if tokens.last() == Some(&Token::Star) => continue,
            '*' => Token::Star,
            '?' => Token::Any,
            '\\' => Token::Letter(chars.next()?),
            '[' => class(&mut chars)?,
            other => Token::Letter(other),
        });
    }
    Some(tokens)
}

/// Parses from after the `[` to after the `]`.
fn class(chars: &mut std::str::Chars<'_>) -> Option<Token> {
    let mut ranges = Vec::new();
    let negated = chars.as_str().starts_with(['!', '^']);
    if negated {
        chars.next();
    }
    loop {
        let low = match chars.next()? {
            ']' if !ranges.is_empty() => return Some(Token::Class { negated, ranges }),
            '[' if chars.as_str().starts_with([':', '.', '=']) => return None,
            '\\' => chars.next()?,
            other => other,
        };
        let mut rest = chars.as_str().chars();
        let is_range = rest.next() == Some('-') && rest.next().is_some_and(|c| c != ']');
        let high = if is_range {
            chars.next();
            match chars.next()? {
                '\\' => chars.next()?,
                other => other,
            }
        } else {
            low
        };
        if low > high {
            return None;
        }
        ranges.push((low, high));
    }
}

/// Whether tokens match an entire name. On a mismatch, the last `*` takes one more character.
fn is_match(tokens: &[Token], name: &str) -> bool {
    let (mut token, mut rest) = (0, name.chars());
    let mut star = None;
    while let Some(letter) = rest.clone().next() {
        match tokens.get(token) {
            Some(Token::Star) => {
                star = Some((token, rest.clone()));
                token += 1;
            }
            Some(other) if other.takes(letter) => {
                token += 1;
                rest.next();
            }
            _ => {
                let Some((at, from)) = &mut star else { return false };
                from.next();
                (token, rest) = (*at + 1, from.clone());
            }
        }
    }
    tokens[token..].iter().all(|token| *token == Token::Star)
}

impl Token {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Letter(letter) => *letter == c,
            Self::Any | Self::Star => true,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *negated
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use globset::GlobBuilder;
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        Glob::new(pattern).is_some_and(|glob| glob.matches(&parts, false))
    }

    #[test]
    fn parts_and_depths() {
        assert!(matches("src", "src") && matches("src", "src/a/b") && !matches("src", "srcs"));
        assert!(
            matches("src/**", "src/a")
                && !matches("src/**", "src")
                && matches("**/a", "a")
                && matches("**/a", "x/y/a/z")
        );
        assert!(matches("a/**/b", "a/b") && matches("a/**/b", "a/x/y/b") && !matches("a/**/b", "a/x"));
        assert!(
            matches("*.ts", "a.ts")
                && !matches("*.ts", "a.tsx")
                && matches("a*b*c", "aXbYbZc")
                && !matches("a?", "a")
        );
        assert!(
            matches("[a-c]x", "bx")
                && !matches("[!a-c]x", "bx")
                && matches("[]]x", "]x")
                && matches("\\[a]", "[a]")
        );
        for wrong in ["[", "[a", "[4-0]", "a\\", "", "/", "[[:alpha:]]"] {
            assert_eq!(Glob::new(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_another(pattern in "([ab*?]{1,3}|\\[[!]?[ab]{1,2}\\]|\\*\\*)(/([ab*?]{1,3}|\\*\\*)){0,3}", path in "[ab]{1,3}(/[ab]{1,3}){0,3}") {
            // Elsewhere `**` beside letters is not what it is to git.
            prop_assume!(!pattern.split('/').any(|part| part.contains("**") && part != "**"));
            let other = GlobBuilder::new(&pattern).literal_separator(true).build().unwrap().compile_matcher();
            let expected = std::path::Path::new(&path).ancestors().filter(|path| path.as_os_str() != "").any(|path| other.is_match(path));
            prop_assert_eq!(matches(&pattern, &path), expected);
        }
    }
}
