//! Which characters are invisible to a reader. This is the only such list; text for people, models and shells
//! is checked against it.

use std::borrow::Cow;

/// The replacement for an invisible character.
const INSTEAD: char = char::REPLACEMENT_CHARACTER;

/// Whether a character is invisible or makes other characters appear in its place. These are control characters
/// (C0 and C1) except tabs and line feeds, formatting characters (general category `Cf`, default ignorables,
/// variation selectors, tags), letters without a glyph, line and paragraph separators, and noncharacters.
///
/// ```
/// use metier_skill::is_invisible;
///
/// assert!(is_invisible('\u{202e}') && is_invisible('\u{200b}') && is_invisible('\u{e0041}') && is_invisible('\r'));
/// assert!(!is_invisible('é') && !is_invisible(' ') && !is_invisible('\n'));
/// ```
pub const fn is_invisible(c: char) -> bool {
    // True for nearly every character.
    if matches!(c, ' '..='~') {
        return false;
    }
    // The last two code points of every plane are noncharacters.
    (c as u32) & 0xfffe == 0xfffe
        || matches!(c, '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}'
            | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
            | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The offset of the first invisible character ([`is_invisible`]). Fast for long ASCII texts.
///
/// ```
/// use metier_skill::first_invisible;
///
/// assert_eq!(first_invisible("é\u{200b}"), Some(2));
/// assert_eq!(first_invisible("plain"), None);
/// ```
pub fn first_invisible(text: &str) -> Option<usize> {
    // Without branches, so that the compiler can vectorize it.
    let is_plain = |bytes: &[u8]| bytes.iter().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~'));
    if is_plain(text.as_bytes()) { None } else { text.find(is_invisible) }
}

/// Replaces every invisible character ([`is_invisible`]) with U+FFFD. Tabs and line feeds stay, and so do the
/// parts of an emoji: the selector after one and the joiner between two.
///
/// Use it for text with several lines, and [`visible_name`] for names and paths.
///
/// ```
/// use metier_skill::visible;
///
/// assert_eq!(visible("fill\u{200b}.py\n\u{1b}[2J"), "fill\u{fffd}.py\n\u{fffd}[2J");
/// assert_eq!(visible("⚠\u{fe0f} careful"), "⚠\u{fe0f} careful");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    // The last character that is not a selector, and whether a selector followed it.
    let (mut before, mut is_selected) = (' ', false);
    while let Some(c) = rest.next() {
        let is_part = match c {
            '\u{fe0f}' => is_emoji(before) && !is_selected,
            '\u{200d}' => is_emoji(before) && rest.peek().is_some_and(|next| is_emoji(*next)),
            _ => false,
        };
        shown.push(if is_part || !is_invisible(c) { c } else { INSTEAD });
        is_selected = is_part && c == '\u{fe0f}';
        if !is_selected {
            before = c;
        }
    }
    shown.into()
}

/// A name or path on one line. Every invisible character ([`is_invisible`]), including tabs, line feeds and
/// parts of emoji, is replaced with U+FFFD, so that different names look different.
///
/// ```
/// use metier_skill::visible_name;
///
/// assert_eq!(visible_name("a\nb\u{200e}.sh"), "a\u{fffd}b\u{fffd}.sh");
/// ```
pub fn visible_name(name: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| is_invisible(c) || matches!(c, '\t' | '\n');
    if !name.contains(is_hidden) {
        return name.into();
    }
    name.chars().map(|c| if is_hidden(c) { INSTEAD } else { c }).collect()
}

/// Whether a character can be an emoji, followed by a selector or joined with another.
const fn is_emoji(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_replaced_wherever_it_stands() {
        for c in '\0'..=char::MAX {
            let text = format!("a{c}b");
            assert_eq!(visible(&text).contains(c), !is_invisible(c), "{:x}", u32::from(c));
            let is_shown = !is_invisible(c) && !matches!(c, '\t' | '\n');
            assert_eq!(visible_name(&text).contains(c), is_shown, "{:x}", u32::from(c));
        }
    }

    #[test]
    fn emoji_stay_whole_and_carry_nothing_more() {
        for whole in ["⚠\u{fe0f}", "👩\u{200d}💻", "🏳\u{fe0f}\u{200d}🌈", "❤\u{fe0f}\u{200d}🔥 ok"]
        {
            assert!(matches!(visible(whole), Cow::Borrowed(_)) || visible(whole) == whole, "{whole:?}");
            assert!(visible_name(whole).contains(INSTEAD));
        }
        assert_eq!(visible("⚠\u{fe0f}\u{fe0f}"), "⚠\u{fe0f}\u{fffd}");
        assert_eq!(visible("⚠\u{fe0e}a\u{fe0f}"), "⚠\u{fffd}a\u{fffd}");
        assert_eq!(visible("👩\u{200d}x\u{200d}👩"), "👩\u{fffd}x\u{fffd}👩");
        assert_eq!(visible("👩\u{200d}\u{200d}👩"), "👩\u{fffd}\u{fffd}👩");
    }
}
