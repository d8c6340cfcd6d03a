//! Checks whether a pattern may match a path that is only partly known: one with wildcards of its own, or with
//! expansions.

use super::{Glob, Part, Token, class, is_match};

/// One part of such a path, in lower case.
#[derive(Debug, Clone)]
pub(crate) enum Segment {
    Name(String),
    /// `**`: any number of parts.
    Deep,
    Pattern(Pattern),
}

/// A part with wildcards.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    /// The expansion may be anything.
    wide: Vec<Token>,
    /// The expansion is empty.
    narrow: Vec<Token>,
    is_open: bool,
}

impl Segment {
    /// Parses a part of a path. A NUL stands for an expansion; `*`, `?` and `[` are wildcards where the shell treats
    /// them so.
    pub(crate) fn new(part: &str, globs: bool) -> Self {
        let is_open = part.contains('\0');
        if globs && part == "**" {
            return Self::Deep;
        }
        let has_signs = globs && part.contains(['*', '?', '[']);
        if !is_open && !has_signs {
            return Self::Name(part.to_lowercase());
        }
        let narrow = tokens(part, globs, &[]);
        let wide = if is_open { tokens(part, globs, &[Token::Star]) } else { narrow.clone() };
        Self::Pattern(Pattern { wide, narrow, is_open })
    }

    /// Whether it may be `..`. A pattern that starts with a wildcard never is.
    pub(crate) fn may_climb(&self) -> bool {
        match self {
            Self::Pattern(pattern) => {
                let dots = [Token::Letter('.'), Token::Letter('.')];
                pattern.narrow.first() == Some(&dots[0]) && intersects(&dots, &pattern.narrow)
            }
            _ => false,
        }
    }

    /// Whether it restricts the name.
    fn says(&self) -> bool {
        match self {
            Self::Name(_) => true,
            Self::Deep => false,
            Self::Pattern(pattern) => pattern.says(),
        }
    }
}

impl Pattern {
    fn says(&self) -> bool {
        self.narrow.iter().any(|token| matches!(token, Token::Letter(_) | Token::Class { .. }))
    }

    /// Whether it and a part of a rule may be the same name. `skips` says that hidden directories are excluded.
    fn meets(&self, wanted: &[Token], skips: bool) -> bool {
        // An expanded name is unknown.
        if self.is_open && !self.says() {
            return false;
        }
        let is_plain = wanted.iter().all(|token| matches!(token, Token::Letter(_)));
        let begins_with_sign = matches!(self.narrow.first(), Some(Token::Star | Token::Any));
        // Shell wildcards do not match hidden files, so only a rule that names them is in doubt.
        if begins_with_sign && wanted.first() == Some(&Token::Letter('.')) {
            if is_plain && skips {
                return false;
            }
            if !is_plain {
                let is_letter = |token: &&Token| matches!(token, Token::Letter(_));
                let letters: Vec<Token> = wanted.iter().filter(is_letter).cloned().collect();
                return self.says() && intersects(&letters, &self.narrow);
            }
        }
        intersects(wanted, if is_plain { &self.wide } else { &self.narrow })
    }
}

impl Glob {
    /// Whether it may match a path below a directory, given as its parts, or a directory that contains it.
    pub(crate) fn possibly(&self, base: &[String], path: &[Segment]) -> bool {
        let base = base.iter().map(|name| Wanted::Name(name));
        let wanted: Vec<Wanted<'_>> = base.chain(self.parts.iter().map(Wanted::Part)).collect();
        reaches(&wanted, path, None)
    }

    /// Whether it may match a path that ends with the given parts.
    pub(crate) fn possibly_ends(&self, tail: &[Segment]) -> bool {
        let wanted: Vec<Wanted<'_>> = self.parts.iter().map(Wanted::Part).collect();
        // If nothing before it is known, a single `*` is no reason for a match.
        let first = self.parts.iter().position(|part| *part != Part::Deep);
        (0..tail.len()).any(|at| reaches(&wanted, &tail[at..], first))
    }
}

enum Wanted<'a> {
    Name(&'a str),
    Part(&'a Part),
}

impl Wanted<'_> {
    fn is_deep(&self) -> bool {
        matches!(self, Self::Part(Part::Deep))
    }

    /// Whether a `**` may stand for it. At the end it is a file, which contains nothing.
    fn lies_deep(&self, is_last: bool, skips: bool) -> bool {
        let is_hidden = match self {
            Self::Part(Part::Deep) => return true,
            Self::Name(name) => name.starts_with('.'),
            Self::Part(Part::One(tokens)) => tokens.first() == Some(&Token::Letter('.')),
        };
        if is_last { !self.is_pattern() && !is_hidden } else { !is_hidden || !skips }
    }

    fn is_pattern(&self) -> bool {
        let is_sign = |token: &Token| !matches!(token, Token::Letter(_));
        matches!(self, Self::Part(Part::One(tokens)) if tokens.iter().any(is_sign))
    }

    fn meets(&self, segment: &Segment, skips: bool) -> bool {
        match (self, segment) {
            (Self::Part(Part::Deep), _) | (_, Segment::Deep) => true,
            (Self::Name(wanted), Segment::Name(name)) => wanted == name,
            (Self::Name(wanted), Segment::Pattern(pattern)) => {
                let letters: Vec<Token> = wanted.chars().map(Token::Letter).collect();
                pattern.meets(&letters, skips)
            }
            (Self::Part(Part::One(tokens)), Segment::Name(name)) => is_match(tokens, name),
            (Self::Part(Part::One(tokens)), Segment::Pattern(pattern)) => pattern.meets(tokens, skips),
        }
    }
}

/// Whether the pattern may match the start of a path. The part at `says` must match a part that restricts the name.
fn reaches(wanted: &[Wanted<'_>], path: &[Segment], says: Option<usize>) -> bool {
    // The numbers of parts of the path that can have been consumed.
    let mut used = vec![false; path.len() + 1];
    used[0] = true;
    for (index, want) in wanted.iter().enumerate() {
        let mut next = vec![false; path.len() + 1];
        for at in 0..=path.len() {
            if !used[at] {
                continue;
            }
            next[at] |= want.is_deep();
            let Some(segment) = path.get(at) else { continue };
            let is_deep = matches!(segment, Segment::Deep);
            // Shell wildcards do not enter hidden directories; a name after the wildcard leaves a doubt.
            let after = &path[at + 1..];
            let is_last = index + 1 == wanted.len();
            let names_file = !after.is_empty()
                && after.iter().all(|next| matches!(next, Segment::Name(name) if !name.is_empty()));
            let is_end = is_last && after.is_empty();
            let skips = !names_file && !is_end;
            next[at] |= is_deep && want.lies_deep(is_last, skips);
            used[at + 1] |= is_deep || want.is_deep();
            // A rule that ends with a wildcard is about files, so nothing is below a possible match.
            let is_above =
                is_last && !after.is_empty() && want.is_pattern() && !matches!(segment, Segment::Name(_));
            let is_vague = is_above || (says == Some(index) && !segment.says());
            next[at + 1] |= !want.is_deep() && !is_deep && !is_vague && want.meets(segment, skips);
        }
        used = next;
    }
    used.contains(&true)
}

/// Parses a part as a shell does: an incomplete pattern is a name.
fn tokens(part: &str, globs: bool, put_in: &[Token]) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chars = part.chars();
    while let Some(c) = chars.next() {
        match c {
            '\0' => tokens.extend_from_slice(put_in),
            '*' if globs => tokens.push(Token::Star),
            '?' if globs => tokens.push(Token::Any),
            '[' if globs && chars.as_str().contains(']') => {
                let mut rest = chars.clone();
                match class(&mut rest) {
                    Some(Token::Class { negated: false, ranges }) => {
                        tokens.push(Token::Class { negated: false, ranges });
                    }
                    Some(_) => tokens.push(Token::Any),
                    // Named classes and the like: from here on, it may match anything.
                    None => {
                        tokens.push(Token::Star);
                        return tokens;
                    }
                }
                chars = rest;
            }
            other => tokens.extend(other.to_lowercase().map(Token::Letter)),
        }
    }
    tokens
}

/// Whether the same name may match both.
fn intersects(wanted: &[Token], found: &[Token]) -> bool {
    let is_star = |at: usize| at > 0 && found[at - 1] == Token::Star;
    // `reach[j]`: the pattern up to here can match the first `j` tokens.
    let mut reach = vec![false; found.len() + 1];
    reach[0] = true;
    for at in 1..=found.len() {
        reach[at] = reach[at - 1] && is_star(at);
    }
    for want in wanted {
        let mut next = vec![false; found.len() + 1];
        let mut open = false;
        for at in 0..=found.len() {
            open |= reach[at];
            next[at] = match want {
                Token::Star => open,
                _ if is_star(at) => reach[at] || reach[at - 1] || next[at - 1],
                _ => at > 0 && reach[at - 1] && agree(want, &found[at - 1]),
            };
        }
        reach = next;
    }
    reach[found.len()]
}

/// Whether two tokens, neither of them a `*`, may match the same character. Tokens of the path may be upper case.
fn agree(want: &Token, found: &Token) -> bool {
    match (want, found) {
        (Token::Letter(letter), Token::Class { .. }) => {
            found.takes(*letter) || letter.to_uppercase().any(|upper| found.takes(upper))
        }
        (_, Token::Letter(letter)) => want.takes(*letter),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn segments(path: &str) -> Vec<Segment> {
        path.split('/').map(|part| Segment::new(part, true)).collect()
    }

    proptest! {
        /// Whatever both match is found to be in doubt.
        #[test]
        fn nothing_that_both_match_is_missed(
            rule in "([ab*?]{1,3}|\\*\\*)(/([ab*?]{1,3}|\\*\\*)){0,2}",
            other in "([ab*?]{1,3}|\\*\\*)(/([ab*?]{1,3}|\\*\\*)){0,2}",
            path in "[ab]{1,3}(/[ab]{1,3}){0,2}",
        ) {
            let parts: Vec<&str> = path.split('/').collect();
            // What ends with a pattern is a file, and nothing is below it.
            let ends = rule.rsplit('/').next().unwrap_or_default();
            prop_assume!(ends == "**" || !ends.contains(['*', '?']));
            let (Some(rule), Some(written)) = (Glob::new(&rule), Glob::new(&other)) else { return Ok(()) };
            // The whole path must be what was written, and the rule may be about a directory above it.
            let is_whole = |glob: &Glob| glob.matches(&parts, true)
                && !(1..parts.len()).any(|end| glob.matches(&parts[..end], true));
            if rule.matches(&parts, true) && is_whole(&written) {
                prop_assert!(rule.possibly(&[], &segments(&other)));
            }
        }
    }
}
