//! Splits text into words, in the same way for skills and queries.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use foldhash::fast::RandomState;
use frostem::{Algorithm, Stemmer};

use crate::meaning::Model;

/// Words that do not tell what a skill is for.
static STOP_WORDS: &str = include_str!("../data/stop-words.txt");

/// Longer words are noise, such as hashes and encoded data.
const WORD_MAX: usize = 40;

/// The maximum number of words to remember.
const KNOWN_MAX: usize = 50_000;

/// Stems words and caches the results: the same few thousand words occur repeatedly.
pub(crate) struct Words {
    stemmer: Stemmer,
    places: HashMap<Arc<str>, u32, RandomState>,
    known: Vec<Known>,
    stem_places: HashMap<Arc<str>, u32, RandomState>,
    stems: Vec<Arc<str>>,
}

/// The data of a word.
#[derive(Debug)]
pub(crate) struct Known {
    word: Arc<str>,
    /// Its stem, as a number for [`Words::stem_at`].
    pub(crate) stem: u32,
    /// Its row in the model.
    pub(crate) row: Option<u32>,
    /// Whether it does not tell what a skill is for.
    pub(crate) is_stop_word: bool,
}

impl Words {
    pub(crate) fn new() -> Self {
        Self {
            stemmer: Stemmer::new(Algorithm::English),
            places: HashMap::default(),
            known: Vec::new(),
            stem_places: HashMap::default(),
            stems: Vec::new(),
        }
    }

    /// The data of a word, and its number, which is valid until [`Words::forget`].
    pub(crate) fn know(&mut self, word: &str) -> (u32, &Known) {
        let place = match self.places.get(word) {
            Some(place) => *place,
            None => self.learn(word),
        };
        (place, &self.known[place as usize])
    }

    fn learn(&mut self, word: &str) -> u32 {
        let stem = self.stemmer.stem(word);
        let row = Model::get().row(&stem);
        let stem = match self.stem_places.get(&*stem) {
            Some(place) => *place,
            None => add(&mut self.stem_places, &mut self.stems, &stem, |stem| stem),
        };
        let is_stop_word = is_stop_word(word);
        add(&mut self.places, &mut self.known, word, |word| Known { word, stem, row, is_stop_word })
    }

    /// The word with this number.
    pub(crate) fn word_at(&self, place: u32) -> &str {
        &self.known[place as usize].word
    }

    /// The stem with this number.
    pub(crate) fn stem_at(&self, place: u32) -> &str {
        &self.stems[place as usize]
    }

    /// The stem of a word, which it shares with its other forms.
    pub(crate) fn stem(&mut self, word: &str) -> &str {
        let stem = self.know(word).1.stem;
        self.stem_at(stem)
    }

    /// Clears the cache if it is too large. Numbers of words and stems become invalid.
    pub(crate) fn forget(&mut self) {
        if self.known.len() > KNOWN_MAX {
            self.places.clear();
            self.known.clear();
            self.stem_places.clear();
            self.stems.clear();
        }
    }

    /// Passes on every word of a text in lower case: runs of letters and digits, split at capitals. Scripts
    /// without spaces give pairs of characters, and a single character gives itself.
    pub(crate) fn split(text: &str, each: impl FnMut(&str)) {
        Self::split_as(text, Use::Question, each);
    }

    /// The same for indexing: it also passes on the last character of each run, so that each character can be
    /// found as a prefix.
    pub(crate) fn split_to_find(text: &str, each: impl FnMut(&str)) {
        Self::split_as(text, Use::Index, each);
    }

    fn split_as(text: &str, purpose: Use, mut each: impl FnMut(&str)) {
        let text = spelled_out(text);
        if text.is_ascii() {
            return split_ascii(&text, each);
        }
        let mut word = String::new();
        let mut flush = |word: &mut String| {
            if !word.is_empty() && word.len() <= WORD_MAX {
                each(word);
            }
            word.clear();
        };
        let mut last = ' ';
        // Whether the character in `word` was already the second of a pair.
        let mut is_paired = false;
        for c in text.chars() {
            match (is_unparted(last), is_unparted(c)) {
                (true, true) => {
                    // Two characters, the second of which starts the next pair.
                    word.push(c);
                    flush(&mut word);
                    word.push(c);
                    is_paired = true;
                }
                (false, true) => {
                    flush(&mut word);
                    word.push(c);
                    is_paired = false;
                }
                (before, false) => {
                    if before && is_paired && purpose == Use::Question {
                        word.clear();
                    } else if before {
                        flush(&mut word);
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
        if !(is_unparted(last) && is_paired && purpose == Use::Question) {
            flush(&mut word);
        }
    }
}

/// Gives a text the next number.
fn add<T>(
    places: &mut HashMap<Arc<str>, u32, RandomState>,
    all: &mut Vec<T>,
    text: &str,
    make: impl FnOnce(Arc<str>) -> T,
) -> u32 {
    let text: Arc<str> = text.into();
    let place = u32::try_from(all.len()).unwrap_or(u32::MAX);
    all.push(make(Arc::clone(&text)));
    places.insert(text, place);
    place
}

/// What words are needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Question,
    Index,
}

/// The same for ASCII text, which is most text, and four times as fast.
fn split_ascii(text: &str, mut each: impl FnMut(&str)) {
    let mut word = String::with_capacity(WORD_MAX);
    let mut last = b' ';
    for byte in text.bytes() {
        let is_apart = byte.is_ascii_uppercase() && (last.is_ascii_lowercase() || last.is_ascii_digit());
        if is_apart || !(byte.is_ascii_alphanumeric() || byte == b'\'') {
            if !word.is_empty() && word.len() <= WORD_MAX {
                each(&word);
            }
            word.clear();
        }
        if byte.is_ascii_alphanumeric() {
            word.push(byte.to_ascii_lowercase().into());
        }
        last = byte;
    }
    if !word.is_empty() && word.len() <= WORD_MAX {
        each(&word);
    }
}

/// Names of programming languages that would be split.
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

/// Whether a word does not tell what a skill is for.
pub(crate) fn is_stop_word(word: &str) -> bool {
    static ALL: LazyLock<HashSet<&str>> = LazyLock::new(|| STOP_WORDS.split_whitespace().collect());
    ALL.contains(word)
}

/// Chinese, Japanese and Korean characters.
pub(crate) fn is_unparted(c: char) -> bool {
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
        assert_eq!(split("猫 cat"), ["猫", "cat"]);
        assert_eq!(split("a猫b, 犬"), ["a", "猫", "b", "犬"]);
        assert_eq!(split("用户猫"), ["用户", "户猫"]);
        let mut found = Vec::new();
        Words::split_to_find("用户猫 x", |word| found.push(word.to_owned()));
        assert_eq!(found, ["用户", "户猫", "猫", "x"]);
        assert_eq!(split(""), [""; 0]);
    }

    #[test]
    fn text_is_parted_alike_with_and_without_other_characters() {
        let text = "Don't split GitHub-API2Json, C++ or .NET; a_b  c1D2 'x'";
        let plain = split(text);
        let mut marked = split(&format!("{text} é"));
        assert_eq!(marked.pop().as_deref(), Some("é"));
        assert_eq!(plain, marked);
    }

    #[test]
    fn stop_words_are_whole_words() {
        assert!(is_stop_word("the") && is_stop_word("a") && is_stop_word("yours"));
        assert!(!is_stop_word("th") && !is_stop_word("review") && !is_stop_word("hav"));
    }
}
