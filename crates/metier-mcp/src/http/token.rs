//! Tokens that clients authenticate with, one per line of a file.

use std::collections::HashSet;

use crate::error::McpError;

/// Shorter secrets can be guessed, or are a name without a secret.
const SHORTEST: usize = 16;

/// A token and its holder.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Token {
    /// The name under which the client's actions are recorded.
    pub holder: Option<String>,
    /// The secret that the client sends.
    pub secret: String,
}

impl Token {
    /// Parses tokens: `SECRET` or `HOLDER SECRET` on each line. Empty lines and lines that start with `#` are ignored.
    ///
    /// ```
    /// let tokens = metier_mcp::Token::parse("# of the team\nbuild-server 3f8a61c2e09b47d5\n")?;
    /// assert_eq!(tokens[0].holder.as_deref(), Some("build-server"));
    /// assert_eq!(tokens[0].secret, "3f8a61c2e09b47d5");
    /// # Ok::<(), metier_mcp::McpError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Vec<Self>, McpError> {
        let (mut tokens, mut seen) = (Vec::new(), HashSet::new());
        for (number, line) in text.lines().enumerate() {
            let wrong = |problem| McpError::Token { line: number + 1, problem };
            let words: Vec<&str> = line.split_whitespace().collect();
            let (holder, secret) = match words[..] {
                [] => continue,
                [first, ..] if first.starts_with('#') => continue,
                [secret] => (None, secret),
                [holder, secret] => (Some(holder.to_owned()), secret),
                _ => return Err(wrong("write the token, or a name without spaces and the token")),
            };
            if secret.len() < SHORTEST || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(wrong(
                    "a token needs at least 16 letters, digits or punctuation characters; create one with `openssl rand -hex 16`",
                ));
            }
            if holder.as_deref().is_some_and(|holder| holder.chars().any(char::is_control)) {
                return Err(wrong("the name contains characters that cannot be displayed"));
            }
            if !seen.insert(secret) {
                return Err(wrong("the same token is listed twice, so its holder is ambiguous"));
            }
            tokens.push(Self { holder, secret: secret.to_owned() });
        }
        Ok(tokens)
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Token").field("holder", &self.holder).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_becomes_a_token_by_mistake() {
        let long = "0123456789abcdef";
        for (text, line) in [
            ("\n# all of the team\nbuild-server\n", 3),
            ("short", 1),
            ("the build server 0123456789abcdef", 1),
            ("a\u{1b}[2J 0123456789abcdef", 1),
            ("one 0123456789abcdef\ntwo 0123456789abcdef", 2),
            ("one 0123456789abcdé", 1),
        ] {
            let error = Token::parse(text).unwrap_err();
            assert!(matches!(error, McpError::Token { line: at, .. } if at == line), "{text:?}: {error}");
        }
        let fine = Token::parse(&format!("# {long}\n  {long}  \n\nme\t{long}x\r\n")).unwrap();
        let fine: Vec<_> = fine.iter().map(|token| (token.holder.as_deref(), &*token.secret)).collect();
        assert_eq!(fine, [(None, long), (Some("me"), "0123456789abcdefx")]);
    }
}
