//! Recognizes names and values of secrets. All crates use this module, so that a secret is redacted everywhere
//! or nowhere.

/// Words that mark a variable's name as that of a secret.
const SECRET_WORDS: &[&str] = &[
    "AUTH",
    "AUTHORIZATION",
    "BEARER",
    "CERT",
    "COOKIE",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "DSN",
    "JWT",
    "KEY",
    "KEYS",
    "OTP",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PASSWORDS",
    "PAT",
    "PIN",
    "PRIVATE",
    "PW",
    "PWD",
    "SALT",
    "SECRET",
    "SECRETS",
    "SESSION",
    "SIGNATURE",
    "TOKEN",
    "TOKENS",
];

/// Endings that mark a name whose words are not separated, as in `APIKEY`.
const SECRET_ENDINGS: &[&str] = &[
    "APIKEY",
    "SECRETKEY",
    "ACCESSKEY",
    "PRIVATEKEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIALS",
];

/// Ordinary variables of desktops and terminals whose names contain such a word.
const ORDINARY: &[&str] = &[
    "DESKTOP_SESSION",
    "GNOME_DESKTOP_SESSION_ID",
    "OLDPWD",
    "PWD",
    "SESSION_MANAGER",
    "TERM_SESSION_ID",
    "WT_SESSION",
];

/// Prefixes of such ordinary names.
const ORDINARY_BEGINNINGS: &[&str] = &["XDG_SESSION_", "DBUS_SESSION_BUS_", "KDE_SESSION_"];

/// Shorter values that are only letters or only digits occur in ordinary text: `user`, `2`, `ubuntu`.
const SECRET_VALUE_MIN: usize = 8;

/// Even shorter values occur in ordinary text, whatever they consist of.
const MIXED_VALUE_MIN: usize = 4;

/// Whether a variable of this name is likely to hold a secret.
///
/// ```
/// use metier_skill::is_secret_name;
///
/// assert!(is_secret_name("GITHUB_TOKEN") && is_secret_name("--api-key") && is_secret_name("OPENAI_APIKEY"));
/// assert!(!is_secret_name("HOME") && !is_secret_name("KEYBOARD_LAYOUT") && !is_secret_name("PWD"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    if ORDINARY.contains(&name) || ORDINARY_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) {
        return false;
    }
    let name = spread(name);
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    let endings = |word: &str| SECRET_ENDINGS.iter().any(|ending| word.ends_with(ending));
    words.any(|word| {
        // `TOKEN2` is a token.
        let word = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
        SECRET_WORDS.contains(&word) || endings(word)
    })
}

/// Whether a secret's value can be redacted from texts. Short values that are only a word, a number or one
/// repeated character also occur in unrelated text.
///
/// ```
/// use metier_skill::is_secret_value;
///
/// assert!(is_secret_value("ghp_4xq81z") && is_secret_value("hunter2"));
/// assert!(!is_secret_value("user") && !is_secret_value("2") && !is_secret_value("--------"));
/// ```
pub fn is_secret_value(value: &str) -> bool {
    let value = value.trim();
    let first = value.chars().next();
    let is_mixed = value.chars().any(char::is_alphabetic) && !value.chars().all(char::is_alphabetic);
    match value.chars().count() {
        0..MIXED_VALUE_MIN => false,
        MIXED_VALUE_MIN..SECRET_VALUE_MIN => is_mixed,
        _ => value.chars().any(|letter| Some(letter) != first),
    }
}

/// In capitals, with the words of `camelCase` separated.
fn spread(name: &str) -> String {
    let mut spread = String::with_capacity(name.len() + 4);
    let mut was_lower = false;
    for letter in name.chars() {
        if was_lower && letter.is_ascii_uppercase() {
            spread.push('_');
        }
        was_lower = letter.is_ascii_lowercase();
        spread.push(letter.to_ascii_uppercase());
    }
    spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for name in [
            "apiKey",
            "AWS_SECRET_ACCESS_KEY",
            "MYSQL_PWD",
            "npm_config_//r/:_authToken",
            "--password",
            "PGPASSWORD",
            "GH_PAT",
            "SSH_PRIVATE",
            "x-api-key",
            "API_KEY1",
            "SESSION_TOKEN",
            "RAILS_SESSION",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "PATH",
            "LANG",
            "MONKEY",
            "TOKENIZERS_PARALLELISM",
            "AUTHOR",
            "KEYMAP",
            "COMPASS",
            "PASSENGER_COUNT",
            "DBUS_SESSION_BUS_ADDRESS",
            "DESKTOP_SESSION",
            "XDG_SESSION_CLASS",
            "XDG_SESSION_ID",
            "XDG_SESSION_TYPE",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn values_that_any_text_has_are_no_secrets() {
        for value in ["", " ", "2", "user", "ubuntu", "x11", "482", "3600", "true", "aaaaaaaaaaaa"] {
            assert!(!is_secret_value(value), "{value}");
        }
        for value in ["hunter2", "a1b2", "correcthorse", "20261117", "ghp_x"] {
            assert!(is_secret_value(value), "{value}");
        }
    }
}
