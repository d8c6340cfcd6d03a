//! Which names give away that a value is nobody's business. All crates ask here, so that what is withheld in one place is in all.

/// Words that make a variable's name look like a secret's.
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

/// Endings that give a name away where its words are not kept apart, as in `APIKEY`.
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

/// Whether a variable of this name is likely to hold a secret.
///
/// ```
/// use metier_skill::is_secret_name;
///
/// assert!(is_secret_name("GITHUB_TOKEN") && is_secret_name("--api-key") && is_secret_name("OPENAI_APIKEY"));
/// assert!(!is_secret_name("HOME") && !is_secret_name("KEYBOARD_LAYOUT") && !is_secret_name("PWD"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    // The working directory, which every shell sets.
    if matches!(name, "PWD" | "OLDPWD") {
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

/// In capitals, with the words of `camelCase` apart.
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
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
