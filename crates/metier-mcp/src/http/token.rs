//! What clients have to know, and who they are: a token a line.

use std::collections::HashSet;

use crate::error::McpError;

/// What is shorter can be guessed, or is a name whose secret was forgotten.
const SHORTEST: usize = 16;

/// What a client has to know, and who that client is.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Token {
    /// Under whose name it is recorded what the client does.
    pub holder: Option<String>,
    /// What is sent.
    pub secret: String,
}

impl Token {
    /// The tokens in a text: `SECRET` or `HOLDER SECRET` a line. Empty lines and those that begin with `#` are none.
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
                _ => return Err(wrong("write the token, or a name without blanks and the token")),
            };
            if secret.len() < SHORTEST || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(wrong(
                    "a token has at least 16 letters, digits and signs; `openssl rand -hex 16` makes one",
                ));
            }
            if holder.as_deref().is_some_and(|holder| holder.chars().any(char::is_control)) {
                return Err(wrong("the name has characters in it that cannot be shown"));
            }
            if !seen.insert(secret) {
                return Err(wrong("it is there twice, and whoever sends it could be either"));
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
