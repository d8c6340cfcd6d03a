//! Text taken apart into words, the same way for skills and for questions.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};

/// Words that say nothing about what a skill is for.
static STOP_WORDS: &str = include_str!("../../data/stop-words.txt");

/// Longer words are noise: hashes, encoded data.
const WORD_MAX: usize = 40;

/// Words of which the stem is remembered.
const KNOWN_MAX: usize = 50_000;

/// Stems words, and remembers: the same few thousand come again and again.
pub(crate) struct Words {
    stemmer: Stemmer,
    known: HashMap<String, String>,
}

impl Words {
    pub(crate) fn new() -> Self {
        Self { stemmer: Stemmer::new(Algorithm::English), known: HashMap::new() }
    }

    /// What a word has in common with its other forms.
    pub(crate) fn stem(&mut self, word: &str) -> &str {
        if self.known.len() > KNOWN_MAX {
            self.known.clear();
        }
        if !self.known.contains_key(word) {
            self.known.insert(word.to_owned(), self.stemmer.stem(word).into_owned());
        }
        self.known.get(word).map_or("", String::as_str)
    }

    /// Every word of a text in lower case: runs of letters and digits, parted at a capital inside. Scripts that
    /// do not part words give pairs of characters.
    pub(crate) fn split(text: &str, mut each: impl FnMut(&str)) {
        let text = spelled_out(text);
        let mut word = String::new();
        let mut flush = |word: &mut String| {
            if !word.is_empty() && word.len() <= WORD_MAX {
                each(word);
            }
            word.clear();
        };
        let mut last = ' ';
        for c in text.chars() {
            match (is_unparted(last), is_unparted(c)) {
                (true, true) => {
                    // Two characters, of which the second begins the next pair.
                    word.push(c);
                    flush(&mut word);
                    word.push(c);
                }
                (false, true) => {
                    flush(&mut word);
                    word.push(c);
                }
                (before, false) => {
                    if before {
                        word.clear();
                    }
                    let is_apart = c.is_uppercase() && (last.is_lowercase() || last.is_ascii_digit());
                    if is_apart || !(c.is_alphanumeric() || matches!(c, '\'' | '’')) {
                        flush(&mut word);
                    }
                    if c.is_alphanumeric() {
                        word.extend(c.to_lowercase());
                    }
                }
            }
            last = c;
        }
        if !is_unparted(last) {
            flush(&mut word);
        }
    }
}

/// Names of languages that would fall apart.
fn spelled_out(text: &str) -> Cow<'_, str> {
    const NAMES: [(&str, &str); 6] = [
        ("C++", " cpp "),
        ("c++", " cpp "),
        ("C#", " csharp "),
        ("c#", " csharp "),
        (".NET", " dotnet "),
        (".net", " dotnet "),
    ];
    let mut text = Cow::Borrowed(text);
    for (name, word) in NAMES {
        if text.contains(name) {
            text = text.replace(name, word).into();
        }
    }
    text
}

/// Whether a word says nothing about what a skill is for.
pub(crate) fn is_stop_word(word: &str) -> bool {
    static ALL: LazyLock<HashSet<&str>> = LazyLock::new(|| STOP_WORDS.split_whitespace().collect());
    ALL.contains(word)
}

/// Chinese, Japanese and Korean characters.
fn is_unparted(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        Words::split(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn words_are_parted_where_people_part_them() {
        assert_eq!(split("Code-Review of GitHub's PDFs"), ["code", "review", "of", "git", "hubs", "pdfs"]);
        assert_eq!(split("用户界面 test"), ["用户", "户界", "界面", "test"]);
        assert_eq!(split(""), [""; 0]);
    }

    #[test]
    fn stop_words_are_whole_words() {
        assert!(is_stop_word("the") && is_stop_word("a") && is_stop_word("yours"));
        assert!(!is_stop_word("th") && !is_stop_word("review") && !is_stop_word("hav"));
    }
}
