//! Letters of other scripts that look like Latin ones.

/// Letters that look like a Latin letter in most fonts, sorted by code point.
const LOOKALIKES: &[(char, char)] = &[
    ('\u{131}', 'i'),
    ('\u{251}', 'a'),
    ('\u{261}', 'g'),
    ('\u{391}', 'a'),
    ('\u{392}', 'b'),
    ('\u{395}', 'e'),
    ('\u{396}', 'z'),
    ('\u{397}', 'h'),
    ('\u{399}', 'i'),
    ('\u{39a}', 'k'),
    ('\u{39c}', 'm'),
    ('\u{39d}', 'n'),
    ('\u{39f}', 'o'),
    ('\u{3a1}', 'p'),
    ('\u{3a4}', 't'),
    ('\u{3a5}', 'y'),
    ('\u{3a7}', 'x'),
    ('\u{3bf}', 'o'),
    ('\u{405}', 's'),
    ('\u{406}', 'i'),
    ('\u{408}', 'j'),
    ('\u{410}', 'a'),
    ('\u{412}', 'b'),
    ('\u{415}', 'e'),
    ('\u{41a}', 'k'),
    ('\u{41c}', 'm'),
    ('\u{41d}', 'h'),
    ('\u{41e}', 'o'),
    ('\u{420}', 'p'),
    ('\u{421}', 'c'),
    ('\u{422}', 't'),
    ('\u{425}', 'x'),
    ('\u{430}', 'a'),
    ('\u{435}', 'e'),
    ('\u{43e}', 'o'),
    ('\u{440}', 'p'),
    ('\u{441}', 'c'),
    ('\u{443}', 'y'),
    ('\u{445}', 'x'),
    ('\u{455}', 's'),
    ('\u{456}', 'i'),
    ('\u{458}', 'j'),
    ('\u{4bb}', 'h'),
    ('\u{4cf}', 'l'),
    ('\u{501}', 'd'),
    ('\u{51b}', 'q'),
    ('\u{51d}', 'w'),
    ('\u{561}', 'w'),
    ('\u{570}', 'h'),
    ('\u{578}', 'n'),
    ('\u{57d}', 'u'),
    ('\u{585}', 'o'),
    ('\u{1c0}', 'l'),
    ('\u{2010}', '-'),
    ('\u{2011}', '-'),
    ('\u{2018}', '\''),
    ('\u{2019}', '\''),
    ('\u{201c}', '"'),
    ('\u{201d}', '"'),
    ('\u{2212}', '-'),
];

/// The Latin letter or ASCII character that a character looks like, else the character itself.
pub(super) fn folded(c: char) -> char {
    LOOKALIKES.iter().find(|(other, _)| *other == c).map_or(c, |(_, plain)| *plain)
}

/// Whether a character is a letter of another script that looks like a Latin one.
///
/// Most Greek letters are left out, because they appear next to Latin ones in formulas.
pub(super) fn is_lookalike(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{58f}' | '\u{3bf}' | '\u{39f}') && folded(c) != c
}
