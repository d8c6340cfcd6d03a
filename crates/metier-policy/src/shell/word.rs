//! One word of a command line after quote removal.

/// Stands in a word's text for what only running it would tell. No command line may contain it.
pub(crate) const DYNAMIC: u8 = 0;

/// A place that what is put in at the beginning of a word is known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// `$HOME`
    Home,
    /// `$PWD`
    Here,
}

/// A word: what is known of it, and how it was written.
#[derive(Debug, Default, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property that a shell knows of a word")]
pub(crate) struct Word {
    /// The text without quotes; [`DYNAMIC`] where something is put in.
    pub(crate) text: Vec<u8>,
    /// Some of it was quoted or escaped.
    pub(crate) quoted: bool,
    /// All of it is one quoted string.
    pub(crate) wholly_quoted: bool,
    /// The only quoting is a backslash before the first character, as one writes to get past an alias.
    pub(crate) backslash_first: bool,
    /// It can become several words or none.
    pub(crate) splits: bool,
    /// It has a `*`, `?` or `[` that the shell looks up among files.
    pub(crate) globs: bool,
    /// It begins with a `~` that the shell replaces.
    pub(crate) tilde: bool,
    /// What its first [`DYNAMIC`] is, if it begins with a variable that is known.
    pub(crate) start: Option<Start>,
    /// The words that braces make of it.
    pub(crate) alternatives: Vec<Word>,
    /// Braces make more words of it than are told apart.
    pub(crate) is_riddle: bool,
}

impl Word {
    /// The text, if nothing is put into it.
    pub(crate) fn literal(&self) -> Option<&str> {
        if self.text.contains(&DYNAMIC) { None } else { std::str::from_utf8(&self.text).ok() }
    }

    /// The text, if it is written without any quoting and nothing is put into it.
    pub(crate) fn bare(&self) -> Option<&str> {
        self.literal().filter(|_| !self.quoted)
    }

    /// Whether the shell makes of it exactly the text that stands here.
    pub(crate) fn is_static(&self) -> bool {
        !self.text.contains(&DYNAMIC) && !self.splits && !self.globs && !self.tilde
    }

    /// The program that is run, if the word says so plainly.
    pub(crate) fn program(&self) -> Option<&str> {
        let needs_quotes = || self.text.iter().any(|byte| b" ()[]{}$&'*?;<>|".contains(byte));
        let plain = !self.quoted || self.backslash_first || (self.wholly_quoted && needs_quotes());
        // `[` is a program, and a pattern only with more after it.
        let globs = self.globs && self.text != b"[";
        self.literal().filter(|text| plain && !globs && !self.splits && !self.tilde && !text.is_empty())
    }

    /// Whether what it becomes may begin with this byte, as far as can be told.
    pub(crate) fn may_begin_with(&self, byte: u8) -> bool {
        match self.text.first() {
            Some(&DYNAMIC) => true,
            Some(b'*' | b'?' | b'[') if self.globs => true,
            Some(first) => *first == byte || self.splits,
            None => false,
        }
    }
}
