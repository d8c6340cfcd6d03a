//! One word of a command line after quote removal.

/// Stands in a word's text for an expansion that is only known at run time. No command line may contain it.
pub(crate) const DYNAMIC: u8 = 0;

/// The known directory that an expansion at the start of a word stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// `$HOME`
    Home,
    /// `$PWD`
    Here,
}

/// A word: its known text, and how it was written.
#[derive(Debug, Default, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property that a shell knows of a word")]
pub(crate) struct Word {
    /// The text without quotes, with [`DYNAMIC`] for each expansion.
    pub(crate) text: Vec<u8>,
    /// Some of it was quoted or escaped.
    pub(crate) quoted: bool,
    /// All of it is one quoted string.
    pub(crate) wholly_quoted: bool,
    /// The only quoting is a backslash before the first character, which bypasses an alias.
    pub(crate) backslash_first: bool,
    /// It can become several words or none.
    pub(crate) splits: bool,
    /// It has a `*`, `?` or `[` that the shell matches against files.
    pub(crate) globs: bool,
    /// It starts with a `~` that the shell expands.
    pub(crate) tilde: bool,
    /// What its first [`DYNAMIC`] stands for, if the word starts with a known variable.
    pub(crate) start: Option<Start>,
    /// The words that braces expand to.
    pub(crate) alternatives: Vec<Word>,
    /// Braces expand to too many words.
    pub(crate) is_riddle: bool,
}

impl Word {
    /// The text, if it has no expansion.
    pub(crate) fn literal(&self) -> Option<&str> {
        if self.text.contains(&DYNAMIC) { None } else { std::str::from_utf8(&self.text).ok() }
    }

    /// The text, if it is written without any quoting and has no expansion.
    pub(crate) fn bare(&self) -> Option<&str> {
        self.literal().filter(|_| !self.quoted)
    }

    /// Whether the shell turns the word into exactly this text.
    pub(crate) fn is_static(&self) -> bool {
        !self.text.contains(&DYNAMIC) && !self.splits && !self.globs && !self.tilde
    }

    /// The program that is run, if the word names it plainly.
    pub(crate) fn program(&self) -> Option<&str> {
        let needs_quotes = || self.text.iter().any(|byte| b" ()[]{}$&'*?;<>|".contains(byte));
        let plain = !self.quoted || self.backslash_first || (self.wholly_quoted && needs_quotes());
        // `[` is a program; it is only a pattern with more text after it.
        let globs = self.globs && self.text != b"[";
        self.literal().filter(|text| plain && !globs && !self.splits && !self.tilde && !text.is_empty())
    }

    /// Whether the expanded word may start with this byte.
    pub(crate) fn may_begin_with(&self, byte: u8) -> bool {
        match self.text.first() {
            Some(&DYNAMIC) => true,
            Some(b'*' | b'?' | b'[') if self.globs => true,
            Some(first) => *first == byte || self.splits,
            None => false,
        }
    }
}
