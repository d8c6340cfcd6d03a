//! User-facing text of a file in pieces: prose for the tests of wording, with line numbers.

/// A text on one line, with the number of the line that each of its bytes comes from.
pub(crate) struct Piece {
    pub(crate) text: String,
    lines: Vec<usize>,
}

impl Piece {
    /// The line of a byte of the text.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.lines[at]
    }
}

/// The whole text. Marks of comments (`#`) at the start of lines are left out.
pub(crate) fn whole(text: &str) -> Piece {
    let lines =
        text.lines().enumerate().map(|(at, line)| (at + 1, line.trim_start().trim_start_matches('#')));
    joined(lines)
}

/// The doc comments and string literals of a Rust file, without its module of tests.
pub(crate) fn of_rust(text: &str) -> Vec<Piece> {
    let end = text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let mut pieces = strings(&text[..end]);
    let mut comment = Vec::new();
    for (at, line) in text[..end].lines().enumerate() {
        let line = line.trim_start();
        match line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) {
            Some(line) => comment.push((at + 1, line)),
            None if !comment.is_empty() => pieces.push(joined(comment.drain(..))),
            None => {}
        }
    }
    pieces.push(joined(comment));
    pieces
}

/// The string literals of a Rust file.
fn strings(text: &str) -> Vec<Piece> {
    let bytes = text.as_bytes();
    let mut pieces = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let rest = &text[at..];
        let length = match bytes[at] {
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'\'' => length_of_quoted_char(rest),
            b'r' if rest.starts_with("r\"") || rest.starts_with("r#") => {
                let marks = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
                let end = format!("\"{}", "#".repeat(marks));
                let inside = rest.get(marks + 2..).unwrap_or_default();
                let is_raw = rest[1 + marks..].starts_with('"');
                inside.find(&end).filter(|_| is_raw).map_or(1, |found| marks + 2 + found + end.len())
            }
            b'"' => length_of_string(rest),
            _ => 1,
        };
        let found = &rest[..length];
        if found.len() > 2 && found.ends_with(['"', '#']) && !found.starts_with('/') {
            let inside = found.lines().enumerate().map(|(number, text)| (line + number, text));
            pieces.push(joined(inside.map(|(number, text)| (number, text.trim_end_matches('\\')))));
        }
        line += found.matches('\n').count();
        at += length;
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    pieces
}

/// The length of a string literal at the start of a text.
fn length_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 2)
}

/// The length of a character literal at the start of a text; 1 for the mark of a lifetime.
fn length_of_quoted_char(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => text.get(3..).and_then(|rest| rest.find('\'')).map_or(1, |end| end + 4),
        Some(_) => chars.next().filter(|(_, c)| *c == '\'').map_or(1, |(end, _)| end + 1),
        None => 1,
    }
}

/// Lines joined to one, with single spaces, in lower case.
fn joined<'a>(parts: impl IntoIterator<Item = (usize, &'a str)>) -> Piece {
    let mut piece = Piece { text: String::new(), lines: Vec::new() };
    for (number, part) in parts {
        for word in part.split_whitespace() {
            piece.text.push_str(&word.to_ascii_lowercase());
            piece.text.push(' ');
            piece.lines.resize(piece.text.len(), number);
        }
    }
    piece
}

#[test]
fn texts_of_a_rust_file_are_found() {
    let source = "//! Head\n//! goes on.\nfn x<'a>() { say('\"', \"A \\\"b\\\" \\\n  c\"); } // not this\n/// Doc.\n\
                  const Y: &str = r#\"raw \" text\"#;\n#[cfg(test)]\nmod tests {\n const Z: &str = \"no\";\n}\n";
    let texts: Vec<String> = of_rust(source).into_iter().map(|piece| piece.text).collect();
    assert_eq!(texts, ["\"a \\\"b\\\" c\" ", "r#\"raw \" text\"# ", "head goes on. ", "doc. ", ""]);
    assert_eq!(of_rust(source)[0].line(10), 4);
    assert_eq!(whole("# A\n\n# b  c\n").text, "a b c ");
}
