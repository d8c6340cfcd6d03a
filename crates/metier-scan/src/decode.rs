//! Finds encoded text: base64 and hexadecimal, two levels deep.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::kind;

/// A decoded block.
#[derive(Debug)]
pub(super) struct Decoded {
    /// The range in the file.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) what: What,
}

/// The decoded content.
#[derive(Debug)]
pub(super) enum What {
    Text(Vec<u8>),
    /// A program.
    Program,
}

/// The shortest run; shorter ones are words and numbers.
const SHORTEST: usize = 16;
/// The most runs that are tried in one file, and the longest run.
const MOST: usize = 400;
const LONGEST: usize = 1 << 18;
const LEVELS: usize = 2;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// All blocks in a file that decode to text or to a program.
pub(super) fn decode(bytes: &[u8], runs: &[(usize, usize)]) -> Vec<Decoded> {
    let mut found = Vec::new();
    for &(start, end) in runs {
        let mut inner = bytes[start..end].to_vec();
        for _ in 0..LEVELS {
            let Some(next) = one_level(&inner) else { break };
            if kind::is_program(&next) {
                found.push(Decoded { start, end, what: What::Program });
                break;
            }
            let Some(text) = as_text(next) else { break };
            // The next level, if the decoded text consists only of another encoded block.
            inner.clone_from(&text);
            found.push(Decoded { start, end, what: What::Text(text) });
            inner = longest_run(&inner);
        }
    }
    found
}

/// The characters of base64 and hexadecimal numbers, and their terminators.
const DIGITS: [bool; 256] = {
    let mut digits = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        digits[byte as usize] =
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=');
        byte += 1;
    }
    digits
};

/// Encoded blocks that are too long to be a name or a digest, except for embedded images and the like.
pub(super) fn blobs(bytes: &[u8], runs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    const LONG: usize = 320;
    let is_media = |start: usize| {
        let before = &bytes[start.saturating_sub(40)..start];
        memchr::memmem::find(before, b"data:").is_some() || memchr::memmem::find(before, b"-----").is_some()
    };
    let is_blob = |(start, end): &(usize, usize)| end - start >= LONG && !is_media(*start);
    runs.iter().copied().filter(is_blob).collect()
}

/// A list of small numbers that is long enough to encode a text.
pub(super) fn numbers(bytes: &[u8]) -> Option<(usize, usize)> {
    const MANY: usize = 48;
    let (mut start, mut count, mut digits) = (0, 0, 0);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' if digits < 3 => {
                if count == 0 && digits == 0 {
                    start = at;
                }
                digits += 1;
            }
            b',' if digits > 0 => (count, digits) = (count + 1, 0),
            b' ' if digits == 0 && count > 0 => {}
            _ if count >= MANY => return Some((start, at)),
            _ => (count, digits) = (0, 0),
        }
    }
    (count >= MANY).then_some((start, bytes.len()))
}

/// Long runs of base64 or hexadecimal characters.
pub(super) fn runs(bytes: &[u8]) -> Vec<(usize, usize)> {
    let is_other = |byte: &u8| !DIGITS[usize::from(*byte)];
    let mut runs = Vec::new();
    let mut at = 0;
    while let Some(shortest) = bytes.get(at..at + SHORTEST)
        && runs.len() < MOST
    {
        // Most words are shorter; start from their end to skip them quickly.
        if let Some(other) = shortest.iter().rposition(is_other) {
            at += other + 1;
            continue;
        }
        let length = bytes[at..].iter().position(is_other).unwrap_or(bytes.len() - at);
        let end = at + length.min(LONGEST);
        if looks_encoded(&bytes[at..end]) {
            runs.push((at, end));
        }
        at += length;
    }
    runs
}

/// Long words and paths are excluded: a run must have letters of both cases and digits, or only hexadecimal
/// characters.
fn looks_encoded(run: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| run.iter().any(is);
    let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let is_padded = run.ends_with(b"=");
    (is_mixed && (is_padded || has(u8::is_ascii_digit)) && !has(|byte| *byte == b'-' || *byte == b'_'))
        || (is_mixed && has(u8::is_ascii_digit) && run.len() >= 40)
        || run.iter().all(u8::is_ascii_hexdigit)
}

fn longest_run(text: &[u8]) -> Vec<u8> {
    let longest = runs(text).into_iter().max_by_key(|(start, end)| end - start);
    longest.map(|(start, end)| text[start..end].to_vec()).unwrap_or_default()
}

fn one_level(run: &[u8]) -> Option<Vec<u8>> {
    if run.len() < SHORTEST {
        return None;
    }
    if run.len().is_multiple_of(2) && run.iter().all(u8::is_ascii_hexdigit) {
        return run
            .chunks_exact(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect();
    }
    let run = run.strip_prefix(b"=").unwrap_or(run);
    let engine = if run.iter().any(|byte| matches!(byte, b'-' | b'_')) { URL_SAFE } else { STANDARD };
    engine.decode(run).ok().or_else(|| engine.decode(&run[..run.len() & !3]).ok())
}

/// The bytes as text if they are UTF-8, or UTF-16 as `PowerShell` uses it.
fn as_text(bytes: Vec<u8>) -> Option<Vec<u8>> {
    let is_wide = bytes.len() >= 8 && bytes.iter().skip(1).step_by(2).all(|byte| *byte == 0);
    let bytes = if is_wide { bytes.into_iter().step_by(2).collect() } else { bytes };
    let text = std::str::from_utf8(&bytes).ok()?;
    let is_plain = |c: char| !c.is_control() || c.is_ascii_whitespace();
    (text.len() >= 8 && text.chars().all(is_plain) && text.is_ascii()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8]) -> Vec<String> {
        let text = |found: Decoded| match found.what {
            What::Text(text) => String::from_utf8(text).unwrap(),
            What::Program => "a program".to_owned(),
        };
        decode(bytes, &runs(bytes)).into_iter().map(text).collect()
    }

    #[test]
    fn two_levels_are_decoded() {
        let once = STANDARD.encode("run this command now");
        let twice = STANDARD.encode(&once);
        assert_eq!(texts(format!("x {once} y").as_bytes()), ["run this command now"]);
        assert_eq!(texts(twice.as_bytes()), [once.clone(), "run this command now".to_owned()]);
        assert_eq!(texts(b"61206c6f6e67657220636f6d6d616e64"), ["a longer command"]);
        let wide: Vec<u8> = "iex something".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(texts(STANDARD.encode(wide).as_bytes()), ["iex something"]);
        assert_eq!(
            texts(STANDARD.encode(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0").as_bytes()),
            ["a program"]
        );
    }

    #[test]
    fn long_blocks_and_lists_are_found() {
        let blob = "Qm9yZWQ5".repeat(50);
        let blobs = |text: &str| blobs(text.as_bytes(), &runs(text.as_bytes()));
        assert_eq!(blobs(&format!("x {blob}")), [(2, 402)]);
        assert_eq!(blobs(&format!("data:image/png;base64,{blob}")), []);
        let list: Vec<String> = (0..60).map(|number| (number * 3).to_string()).collect();
        assert_eq!(numbers(format!("a {} b", list.join(",")).as_bytes()).unwrap().0, 2);
        assert_eq!(numbers(list.join(" and ").as_bytes()), None);
    }

    #[test]
    fn words_paths_and_digests_are_not() {
        let digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(
            texts(format!("a/long/path/to/someWhere and {digest} aVeryLongIdentifierName").as_bytes()),
            [""; 0]
        );
    }
}
