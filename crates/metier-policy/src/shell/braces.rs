//! Brace expansion: `a{b,c}` becomes `ab` and `ac` in most shells.

/// The maximum number of alternatives, and of braces and commas in a word.
const MOST: usize = 64;
const MOST_SIGNS: usize = 256;

/// The braces and commas of a word outside quotes.
#[derive(Default)]
pub(super) struct Braces {
    /// Their positions in the word's text, starting with the first brace.
    signs: Vec<usize>,
    /// The word may become several words.
    pub(super) expands: bool,
}

/// The words that a word with braces may become.
pub(super) struct Alternative {
    pub(super) text: Vec<u8>,
    /// A `*` in it stands for a range such as `{1..9}`.
    pub(super) has_range: bool,
}

impl Braces {
    /// Records each character outside quotes.
    pub(super) fn see(&mut self, rest: &[u8], at: usize) {
        let is_open = !self.signs.is_empty();
        match rest.first() {
            Some(b'{') => self.signs.push(at),
            Some(b'}') if is_open => self.signs.push(at),
            Some(b',') if is_open => {
                self.signs.push(at);
                self.expands = true;
            }
            Some(b'.') if is_open && rest.get(1) == Some(&b'.') => self.expands = true,
            _ => {}
        }
    }

    /// The position of the first one.
    pub(super) fn first(&self) -> Option<usize> {
        self.signs.first().copied()
    }

    /// All words that it may become; `None` if there are too many.
    pub(super) fn alternatives(&self, text: &[u8]) -> Option<Vec<Alternative>> {
        if self.signs.len() > MOST_SIGNS {
            return None;
        }
        expand(text, &self.signs, 0, text.len())
    }
}

/// The alternatives of a part of a text.
fn expand(text: &[u8], signs: &[usize], from: usize, to: usize) -> Option<Vec<Alternative>> {
    let signs: Vec<usize> = signs.iter().copied().filter(|at| (from..to).contains(at)).collect();
    let opens = signs.iter().enumerate().filter(|(_, at)| text[**at] == b'{');
    let group = opens.map(|(index, _)| index).find_map(|index| Group::read(text, &signs[index..]));
    let Some(group) = group else {
        return Some(vec![Alternative { text: text[from..to].to_vec(), has_range: false }]);
    };
    let mut middle = Vec::new();
    if group.is_range {
        middle.push(Alternative { text: b"*".to_vec(), has_range: true });
    } else {
        for ends in group.ends.windows(2) {
            middle.extend(expand(text, &signs, ends[0] + 1, ends[1])?);
        }
    }
    let open = group.ends.first().copied().unwrap_or(from);
    let after = expand(text, &signs, group.ends.last().map_or(to, |end| end + 1), to)?;
    if middle.len() * after.len() > MOST {
        return None;
    }
    let joined = middle.iter().flat_map(|one| {
        after.iter().map(move |rest| Alternative {
            text: [&text[from..open], &one.text, &rest.text].concat(),
            has_range: one.has_range || rest.has_range,
        })
    });
    Some(joined.collect())
}

/// A pair of braces that becomes several words.
struct Group {
    /// The opening brace, its own commas, and the closing brace.
    ends: Vec<usize>,
    is_range: bool,
}

impl Group {
    /// The group that starts with the first brace, if any.
    fn read(text: &[u8], signs: &[usize]) -> Option<Self> {
        let (open, rest) = signs.split_first()?;
        let mut ends = vec![*open];
        let mut depth = 0_usize;
        for at in rest {
            match text[*at] {
                b'{' => depth += 1,
                b'}' if depth > 0 => depth -= 1,
                b',' if depth == 0 => ends.push(*at),
                b'}' => {
                    ends.push(*at);
                    let is_range = ends.len() == 2 && is_range(&text[open + 1..*at]);
                    return (is_range || ends.len() > 2).then_some(Self { ends, is_range });
                }
                _ => {}
            }
        }
        None
    }
}

/// Whether braces contain a range such as `1..9` or `a..z..2`.
fn is_range(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let is_end = |end: &str| {
        !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-".contains(&byte))
    };
    (2..=3).contains(&text.split("..").count()) && text.split("..").all(is_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Option<String> {
        let mut braces = Braces::default();
        (0..text.len()).for_each(|at| braces.see(&text.as_bytes()[at..], at));
        let words = braces.alternatives(text.as_bytes())?;
        let words: Vec<_> = words.iter().map(|one| String::from_utf8_lossy(&one.text).into_owned()).collect();
        Some(words.join(" "))
    }

    #[test]
    fn alternatives_are_those_of_bash() {
        for (text, expected) in [
            ("a{b,c}d", "abd acd"),
            ("{a,b}{c,d}", "ac ad bc bd"),
            ("{a,{b,c}}", "a b c"),
            ("{{a,b}}", "{a} {b}"),
            ("{a,b{c,d}", "{a,bc {a,bd"),
            (".e{n,}v", ".env .ev"),
            ("{a}", "{a}"),
            ("{a,b", "{a,b"),
            ("x{1..3}y{a,b}", "x*ya x*yb"),
            ("{../x}", "{../x}"),
            ("a,b}{", "a,b}{"),
        ] {
            assert_eq!(words(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(words(&"{a,b}".repeat(7)), None);
        assert_eq!(words(&"{".repeat(1000)), None);
    }
}
