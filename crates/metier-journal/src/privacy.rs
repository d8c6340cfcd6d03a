//! Privacy rules: which data is recorded as digests, and which as text if that is enabled.

use std::collections::BTreeMap;

use metier_skill::{Digest, is_secret_name, is_secret_value};
use serde::{Deserialize, Serialize};

/// The longest recorded text of one content.
const MAX_TEXT: usize = 16 << 10;

/// Content that was read, passed or printed, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedContent {
    /// The digest of the complete content.
    pub digest: Digest,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its text, if recording texts is enabled; long texts are cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A variable, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Variable {
    /// Its name looks like a secret, so not even a digest is recorded: a short value could be guessed from it.
    Withheld,
    /// The digest of its value.
    Digest(Digest),
    /// Its value, if recording texts is enabled.
    Text(String),
}

/// The privacy rules for recorded contents, arguments and variables. The default records digests only.
///
/// ```
/// use metier_journal::Privacy;
///
/// let kept = Privacy::default().content(b"what the script printed");
/// assert_eq!((kept.bytes, kept.text), (23, None));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Privacy {
    keep_text: bool,
    secrets: Vec<String>,
}

impl Privacy {
    /// Records texts as well as digests.
    #[must_use]
    pub fn with_text(mut self) -> Self {
        self.keep_text = true;
        self
    }

    /// Removes the values of variables whose names look like secrets from every text, except values that are too common,
    /// such as `user` or `2` ([`is_secret_value`]).
    #[must_use]
    pub fn hiding<'a, I: IntoIterator<Item = (&'a str, &'a str)>>(mut self, variables: I) -> Self {
        let hidden =
            variables.into_iter().filter(|(name, value)| is_secret_name(name) && is_secret_value(value));
        self.secrets.extend(hidden.map(|(_, value)| value.trim().to_owned()));
        self.secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        self
    }

    /// These bytes as they are recorded.
    pub fn content(&self, bytes: &[u8]) -> RecordedContent {
        let text = self.keep_text.then(|| self.text(bytes));
        RecordedContent { digest: Digest::of(bytes), bytes: bytes.len() as u64, text }
    }

    /// These arguments as they are recorded; the digest is that of their JSON array.
    pub fn arguments<S: AsRef<str>>(&self, arguments: &[S]) -> RecordedContent {
        let list: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
        let whole = serde_json::json!(list).to_string();
        let text = self.keep_text.then(|| {
            let mut hide_next = false;
            let shown = list.iter().map(|one| {
                let hide_this = std::mem::replace(
                    &mut hide_next,
                    one.starts_with('-') && !one.contains('=') && is_secret_name(one),
                );
                if hide_this { HIDDEN.to_owned() } else { self.clean(one) }
            });
            let shown: Vec<String> = shown.collect();
            cut(serde_json::json!(shown).to_string())
        });
        RecordedContent { digest: Digest::of(whole.as_bytes()), bytes: whole.len() as u64, text }
    }

    /// These variables as they are recorded.
    pub fn variables<'a, I: IntoIterator<Item = (&'a str, &'a str)>>(
        &self,
        variables: I,
    ) -> BTreeMap<String, Variable> {
        let of = |(name, value): (&str, &str)| {
            let variable = match () {
                () if is_secret_name(name) => Variable::Withheld,
                () if self.keep_text => Variable::Text(self.text(value.as_bytes())),
                () => Variable::Digest(Digest::of(value.as_bytes())),
            };
            (name.to_owned(), variable)
        };
        variables.into_iter().map(of).collect()
    }

    fn text(&self, bytes: &[u8]) -> String {
        cut(self.clean(&String::from_utf8_lossy(bytes)))
    }

    /// A text without the secrets that are known, and without what looks like one.
    fn clean(&self, text: &str) -> String {
        let known = self.secrets.iter().fold(text.to_owned(), |text, secret| {
            let text = replace(&text, secret);
            // As it is inside of JSON.
            let escaped = serde_json::json!(secret).to_string();
            replace(&text, escaped.trim_matches('"'))
        });
        hide_named(&hide_credentials(&known))
    }
}

/// Short ones only as whole words: they would take out half of every text.
fn replace(text: &str, secret: &str) -> String {
    if secret.len() >= 6 {
        return if text.contains(secret) { text.replace(secret, HIDDEN) } else { text.to_owned() };
    }
    let is_edge = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
    let (mut cleaned, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(secret) {
        let (before, after) = (&rest[..at], &rest[at + secret.len()..]);
        let is_word = is_edge(before.chars().next_back().or(cleaned.chars().next_back()))
            && is_edge(after.chars().next());
        cleaned.push_str(before);
        cleaned.push_str(if is_word { HIDDEN } else { secret });
        rest = after;
    }
    cleaned + rest
}

/// `https://name:password@host` without the password.
fn hide_credentials(text: &str) -> String {
    let (mut cleaned, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        cleaned.push_str(before);
        let end = after
            .find(|letter: char| letter.is_whitespace() || "/?#\"'".contains(letter))
            .unwrap_or(after.len());
        rest = after;
        if let Some((user, _)) = after[..end].rsplit_once('@')
            && let Some((name, password)) = user.split_once(':')
        {
            cleaned.push_str(name);
            cleaned.push(':');
            cleaned.push_str(HIDDEN);
            rest = &after[name.len() + 1 + password.len()..];
        }
    }
    cleaned + rest
}

/// `NAME=value` and `name: value` without the value, where the name is a secret's.
fn hide_named(text: &str) -> String {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let (mut cleaned, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(['=', ':']) {
        let (before, after) = rest.split_at(at + 1);
        cleaned.push_str(before);
        rest = after;
        let stem = before[..at].trim_end_matches(['"', '\'', '\\']);
        let name = &stem[stem
            .rfind(|letter| !is_name(letter))
            .map_or(0, |last| last + stem[last..].chars().next().map_or(1, char::len_utf8))..];
        if !is_secret_name(name) {
            continue;
        }
        let value = after.trim_start_matches(|letter: char| letter == ' ' || "\"'\\".contains(letter));
        let scheme = ["Bearer ", "Basic ", "Token "]
            .into_iter()
            .find(|scheme| value.starts_with(scheme))
            .map_or(0, str::len);
        let is_end = |letter: char| letter.is_whitespace() || "&;,\"'\\".contains(letter);
        let end = scheme + value[scheme..].find(is_end).unwrap_or(value.len() - scheme);
        if end > scheme && !value.starts_with(HIDDEN) && !value.starts_with("//") {
            cleaned.push_str(&after[..after.len() - value.len()]);
            cleaned.push_str(HIDDEN);
            rest = &value[end..];
        }
    }
    cleaned + rest
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        let end = (0..=MAX_TEXT).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// What stands where a secret was.
const HIDDEN: &str = "[withheld]";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_only_where_switched_on() {
        let arguments = ["--token", "abc", "--api-key=def", "plain"];
        assert_eq!(Privacy::default().arguments(&arguments).text, None);
        let kept = Privacy::default().with_text().arguments(&arguments);
        assert_eq!(kept.text.unwrap(), r#"["--token","[withheld]","--api-key=[withheld]","plain"]"#);
        assert_eq!(kept.digest, Privacy::default().arguments(&arguments).digest);
    }

    #[test]
    fn secrets_are_taken_out_of_texts() {
        let privacy =
            Privacy::default().with_text().hiding([("API_KEY", "hunter2hunter2"), ("HOME", "/visible")]);
        let text = privacy.content(b"key hunter2hunter2 in /visible").text.unwrap();
        assert_eq!(text, "key [withheld] in /visible");
        let variables = privacy.variables([("API_KEY", "x"), ("URL", "https://u:hunter2hunter2@h")]);
        assert_eq!(variables["API_KEY"], Variable::Withheld);
        assert_eq!(variables["URL"], Variable::Text("https://u:[withheld]@h".to_owned()));
        assert!(matches!(Privacy::default().variables([("URL", "x")])["URL"], Variable::Digest(_)));
    }

    #[test]
    fn what_looks_like_a_secret_is_taken_out_of_texts() {
        let privacy = Privacy::default()
            .with_text()
            .hiding([("SSH_PRIVATE_KEY", "-----BEGIN\nabc\"def\n-----END"), ("MY_PIN", "48x2")]);
        let shown = |text: &str| privacy.content(text.as_bytes()).text.unwrap();
        assert_eq!(
            shown("https://u:pw@h/x?token=abc&b=1 z"),
            "https://u:[withheld]@h/x?token=[withheld]&b=1 z"
        );
        assert_eq!(shown("DATABASE_URL=postgres://u:p%40w@h/d"), "DATABASE_URL=postgres://u:[withheld]@h/d");
        assert_eq!(shown("Authorization: Bearer abc.def\nHost: h"), "Authorization: [withheld]\nHost: h");
        assert_eq!(shown(r#"{"api_key": "abc", "n": 1}"#), r#"{"api_key": "[withheld]", "n": 1}"#);
        assert_eq!(shown("pin 48x2, port 48x20"), "pin [withheld], port 48x20");
        assert_eq!(shown("é=1 key:é x=2"), "é=1 key:[withheld] x=2");
        let arguments = ["--env=API_KEY=abc", "x", "-----BEGIN\nabc\"def\n-----END"];
        let text = privacy.arguments(&arguments).text.unwrap();
        assert_eq!(text, r#"["--env=API_KEY=[withheld]","x","[withheld]"]"#);
    }

    /// What a desktop session on Linux sets for everybody.
    const DESKTOP: [(&str, &str); 8] = [
        ("XDG_SESSION_CLASS", "user"),
        ("XDG_SESSION_ID", "2"),
        ("XDG_SESSION_TYPE", "wayland"),
        ("XDG_SESSION_DESKTOP", "ubuntu"),
        ("DESKTOP_SESSION", "ubuntu"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus"),
        ("SESSION_MANAGER", "local/host:@/tmp/.ICE-unix/1,unix/host:/tmp/.ICE-unix/1"),
        ("DB_PASSWORD", "user"),
    ];

    #[test]
    fn what_every_desktop_sets_leaves_texts_as_they_are() {
        let text = "user 2 of ubuntu, wayland, unix:path=/run/user/1000/bus";
        let privacy = Privacy::default().with_text().hiding(DESKTOP);
        assert_eq!(privacy.content(text.as_bytes()).text.as_deref(), Some(text));
        let arguments = privacy.arguments(&["--user", "user", "2"]).text;
        assert_eq!(arguments.as_deref(), Some(r#"["--user","user","2"]"#));
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_cleaned(text in "[a-z:=/@ \"'é&-]{0,60}") {
            let privacy = Privacy::default().with_text().hiding([("TOKEN", "abc"), ("KEY", "longer secret")]);
            let text = format!("{text} longer secret {text}");
            proptest::prop_assert!(!privacy.content(text.as_bytes()).text.unwrap().contains("longer secret"));
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let text = Privacy::default().with_text().content("é".repeat(20_000).as_bytes()).text.unwrap();
        assert!(text.len() <= MAX_TEXT + '…'.len_utf8() && text.ends_with('…'));
    }
}
