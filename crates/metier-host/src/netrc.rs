//! Passwords for downloads from `~/.netrc`, as git, curl and package managers read it.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use metier_store::DownloadCredential;

use crate::environment::Environment;
use crate::settings::read_bounded;

/// The credentials in the file that `NETRC` names, or in `~/.netrc`. A file that cannot be read has none.
pub(crate) fn credentials(environment: &Environment) -> Vec<DownloadCredential> {
    let named = environment.variable("NETRC").map(PathBuf::from);
    let path = named.or_else(|| Some(environment.home.as_ref()?.join(".netrc")));
    let text = path.and_then(|path| read_bounded(&path).ok()).unwrap_or_default();
    parse(&text)
}

/// `machine NAME login NAME password TEXT`, in words. What `default` has would go to every host, so it is ignored.
fn parse(text: &str) -> Vec<DownloadCredential> {
    let mut words = words(text).into_iter();
    let (mut found, mut machine, mut login) = (Vec::new(), None, String::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            "machine" => (machine, login) = (words.next(), String::new()),
            "default" => machine = None,
            "login" => login = words.next().unwrap_or_default(),
            "account" => drop(words.next()),
            "password" => {
                if let (Some(machine), Some(password)) = (&machine, words.next()) {
                    let basic = STANDARD.encode(format!("{login}:{password}"));
                    found.push(DownloadCredential::new(
                        format!("https://{machine}"),
                        format!("Basic {basic}"),
                    ));
                }
            }
            _ => {}
        }
    }
    found
}

/// The words of a file, without comments and macros. A macro ends at an empty line.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut is_macro = false;
    for line in text.lines() {
        is_macro = (is_macro && !line.trim().is_empty()) || line.trim_start().starts_with("macdef");
        if is_macro || line.trim_start().starts_with('#') {
            continue;
        }
        words.extend(line.split_whitespace().map(|word| word.trim_matches('"').to_owned()));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_machine_has_its_own_password() {
        let text = "# mine\nmachine example.org login me password hunter2\nmacdef init\nmachine evil.test\n\n\
                    machine api.example.org\n  login x\n  password \"y\"\ndefault login a password b\n";
        let found = parse(text);
        let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
        let expected = [
            DownloadCredential::new("https://example.org", basic("me:hunter2")),
            DownloadCredential::new("https://api.example.org", basic("x:y")),
        ];
        assert_eq!(found, expected);
        assert!(!format!("{found:?}").contains("Basic"));
        assert_eq!(parse("machine login password"), []);
    }
}
