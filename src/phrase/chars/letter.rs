//! Letters and their case, by ranges in which case is regular.

use super::{CodeRange, in_ranges, is_digit, is_emoji};

/// Capitals whose small letters lie `delta` further on; where it is 0, capitals and small letters take turns.
struct Cased {
    first: u16,
    last: u16,
    delta: u8,
}

const fn cased(first: u16, last: u16, delta: u8) -> Cased {
    Cased { first, last, delta }
}

/// Latin, Greek, Cyrillic, Armenian, fullwidth Latin. ASCII is not in it.
const CASED: [Cased; 35] = [
    cased(0x00c0, 0x00d6, 32),
    cased(0x00d8, 0x00de, 32),
    cased(0x0100, 0x012f, 0),
    cased(0x0132, 0x0137, 0),
    cased(0x0139, 0x0148, 0),
    cased(0x014a, 0x0177, 0),
    cased(0x0179, 0x017e, 0),
    cased(0x01a0, 0x01a5, 0),
    cased(0x01af, 0x01b0, 0),
    cased(0x01b3, 0x01b6, 0),
    cased(0x01cd, 0x01dc, 0),
    cased(0x01de, 0x01ef, 0),
    cased(0x01f8, 0x021f, 0),
    cased(0x0222, 0x0233, 0),
    cased(0x0246, 0x024f, 0),
    cased(0x0370, 0x0373, 0),
    cased(0x0376, 0x0377, 0),
    cased(0x0386, 0x0386, 38),
    cased(0x0388, 0x038a, 37),
    cased(0x038c, 0x038c, 64),
    cased(0x038e, 0x038f, 63),
    cased(0x0391, 0x03a1, 32),
    cased(0x03a3, 0x03ab, 32),
    cased(0x03d8, 0x03ef, 0),
    cased(0x0400, 0x040f, 80),
    cased(0x0410, 0x042f, 32),
    cased(0x0460, 0x0481, 0),
    cased(0x048a, 0x04bf, 0),
    cased(0x04c0, 0x04c0, 15),
    cased(0x04c1, 0x04ce, 0),
    cased(0x04d0, 0x052f, 0),
    cased(0x0531, 0x0556, 48),
    cased(0x1e00, 0x1e95, 0),
    cased(0x1ea0, 0x1eff, 0),
    cased(0xff21, 0xff3a, 32),
];

/// The other case of `c`, if it is a capital (or, with `down` false, a small letter) of [`CASED`].
#[inline(never)]
fn other_case(c: char, down: bool) -> Option<char> {
    let code = u16::try_from(u32::from(c)).ok()?;
    let other = CASED.iter().find_map(|range| {
        let delta = u16::from(range.delta);
        let turns = delta == 0;
        let from = if turns || down { code } else { code.wrapping_sub(delta) };
        let at = from.wrapping_sub(range.first);
        let found = from >= range.first && from <= range.last && (!turns || (at & 1 == 0) == down);
        let step = if turns { 1 } else { delta };
        found.then_some(if down { code.wrapping_add(step) } else { code.wrapping_sub(step) })
    })?;
    char::from_u32(other.into())
}

/// The capital of a small letter, if that is one character; any other character itself.
#[inline(never)]
pub(crate) fn upper(c: char) -> char {
    match c {
        '\0'..='\x7f' => c.to_ascii_uppercase(),
        '\u{b5}' => '\u{39c}',  // micro sign
        '\u{ff}' => '\u{178}',  // y with diaeresis
        '\u{131}' => 'I',       // dotless i
        '\u{17f}' => 'S',       // long s
        '\u{3c2}' => '\u{3a3}', // final sigma
        _ => other_case(c, false).unwrap_or(c),
    }
}

/// The small letter of a capital; any other character itself.
#[inline(never)]
pub(crate) fn lower(c: char) -> char {
    match c {
        '\0'..='\x7f' => c.to_ascii_lowercase(),
        '\u{130}' => 'i', // I with dot
        '\u{178}' => '\u{ff}',
        '\u{1e9e}' => '\u{df}', // sharp s
        _ => other_case(c, true).unwrap_or(c),
    }
}

/// Whether `c` is a capital.
#[inline(never)]
pub(crate) fn is_upper(c: char) -> bool {
    lower(c) != c
}

/// Whether `c` is a small letter.
#[inline(never)]
pub(crate) fn is_lower(c: char) -> bool {
    c == '\u{df}' || upper(c) != c
}

/// What of U+0080..=U+FFFF is neither letter nor mark on one: punctuation, symbols, spaces, controls, private use.
const NOT_LETTERS: [CodeRange; 59] = [
    (0x0080, 0x00a9),
    (0x00ab, 0x00b4),
    (0x00b6, 0x00b9),
    (0x00bb, 0x00bf),
    (0x00d7, 0x00d7),
    (0x00f7, 0x00f7),
    (0x02c2, 0x02c5),
    (0x02d2, 0x02df),
    (0x0375, 0x0375),
    (0x037e, 0x037e),
    (0x0384, 0x0385),
    (0x0387, 0x0387),
    (0x055a, 0x055f),
    (0x0589, 0x058f),
    (0x05be, 0x05be),
    (0x05c0, 0x05c0),
    (0x05c3, 0x05c3),
    (0x05c6, 0x05c6),
    (0x05f3, 0x05f4),
    (0x0600, 0x060f),
    (0x061b, 0x061f),
    (0x066a, 0x066d),
    (0x06d4, 0x06d4),
    (0x06dd, 0x06de),
    (0x06e9, 0x06e9),
    (0x0700, 0x070f),
    (0x0964, 0x0965),
    (0x0970, 0x0970),
    (0x09f2, 0x09f3),
    (0x0df4, 0x0df4),
    (0x0e3f, 0x0e3f),
    (0x0e4f, 0x0e4f),
    (0x0e5a, 0x0e5b),
    (0x0f01, 0x0f17),
    (0x0f3a, 0x0f3d),
    (0x104a, 0x104f),
    (0x10fb, 0x10fb),
    (0x1360, 0x1368),
    (0x1680, 0x1680),
    (0x17d4, 0x17d6),
    (0x17d8, 0x17db),
    (0x1800, 0x180e),
    (0x2000, 0x200b), // U+200C stays: Persian words have it inside
    (0x200d, 0x2070),
    (0x207a, 0x207e),
    (0x208a, 0x208f),
    (0x20a0, 0x2bff),
    (0x2e00, 0x2e7f),
    (0x2ff0, 0x3004),
    (0x3008, 0x3020),
    (0x3030, 0x3030),
    (0x3036, 0x3037),
    (0x303d, 0x303f),
    (0x309b, 0x309c),
    (0x30a0, 0x30a0),
    (0x30fb, 0x30fb),
    (0x3200, 0x33ff),
    (0xd800, 0xf8ff),
    (0xfd3e, 0xfd3f),
];

/// The same from U+FE00 on, and of the planes above, less 0x10000: marks of layout, forms of punctuation, symbols.
const NOT_LETTERS_FROM_FE00: [CodeRange; 8] = [
    (0xfe00, 0xfe6f),
    (0xfeff, 0xff0f),
    (0xff1a, 0xff20),
    (0xff3b, 0xff40),
    (0xff5b, 0xff65),
    (0xffe0, 0xffff),
    (0x4dc0, 0x4dff),
    (0xfdfc, 0xfdff),
];
const HIGH_NOT_LETTERS: [CodeRange; 2] = [(0xd000, 0xd3ff), (0xec70, 0xffff)];

/// Whether `c` is a letter, an ideograph, or a mark on one.
#[inline(never)]
pub(crate) fn is_letter(c: char) -> bool {
    match u32::from(c) {
        0..0x80 => c.is_ascii_alphabetic(),
        0x80..0x250 => !in_ranges(&NOT_LETTERS, 0, c),
        0x250..0x10000 => !in_ranges(&NOT_LETTERS, 0, c) && !in_ranges(&NOT_LETTERS_FROM_FE00, 0, c) && !is_digit(c),
        0x10000..0x20000 => !in_ranges(&HIGH_NOT_LETTERS, 0x10000, c) && !is_digit(c) && !is_emoji(c),
        code => code < 0xe0000,
    }
}

/// Whether `c` belongs to a script of East Asia that is written without spaces, or to Hangul.
#[inline(never)]
pub(crate) fn is_cjk(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{31ff}')
        || matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7ff}')
        || matches!(c, '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ffdc}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether `c` is a Greek letter.
pub(crate) fn is_greek(c: char) -> bool {
    matches!(c, '\u{386}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}') && is_letter(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mapping of one char to one other, which std's iterators give.
    fn single(mut mapped: impl Iterator<Item = char>) -> Option<char> {
        mapped.next().filter(|_| mapped.next().is_none())
    }

    /// Letters with irregular case: International Phonetic and historic ones, symbols that letters stand for.
    fn is_exception(c: char) -> bool {
        matches!(c, '\u{180}'..='\u{19f}' | '\u{1a6}'..='\u{1ae}' | '\u{1b1}'..='\u{1b2}' | '\u{1b7}'..='\u{1cc}')
            || matches!(c, '\u{1dd}' | '\u{1f1}'..='\u{1f7}' | '\u{220}'..='\u{221}' | '\u{234}'..='\u{245}')
            || matches!(c, '\u{130}' | '\u{1e9b}' | '\u{37b}'..='\u{37f}' | '\u{3cf}'..='\u{3d7}')
            || matches!(c, '\u{3f0}'..='\u{3ff}')
    }

    #[test]
    fn case_is_unicodes() {
        for c in ('\0'..='\u{24f}').chain('\u{370}'..='\u{58f}').chain('\u{1e00}'..='\u{1eff}') {
            if is_exception(c) {
                continue;
            }
            assert_eq!(lower(c), single(c.to_lowercase()).unwrap_or(c), "{c:?}");
            assert_eq!(upper(c), single(c.to_uppercase()).unwrap_or(c), "{c:?}");
            assert_eq!(is_upper(c), c.is_uppercase(), "{c:?}");
            let irregular =
                matches!(c, '\u{aa}' | '\u{ba}' | '\u{138}' | '\u{149}' | '\u{390}' | '\u{3b0}' | '\u{587}')
                    || matches!(c, '\u{560}' | '\u{588}' | '\u{37a}' | '\u{1f0}' | '\u{1e96}'..='\u{1e9f}');
            assert_eq!(is_lower(c), c.is_lowercase() && !irregular, "{c:?}");
        }
    }

    #[test]
    fn case_of_every_char_is_consistent() {
        for c in '\0'..=char::MAX {
            assert!(!(is_upper(c) && is_lower(c)), "{c:?}");
            if is_upper(c) || is_lower(c) {
                assert!(is_letter(c) && c.is_alphabetic(), "{c:?}");
            }
            let all_of = |c: char| lower(c) == c || c == '\u{130}' || c == '\u{1e9e}' || upper(lower(c)) == c;
            assert!(all_of(c), "{c:?}");
        }
        assert_eq!((lower('\u{130}'), lower('\u{1e9e}'), upper('\u{df}')), ('i', '\u{df}', '\u{df}'));
    }

    #[test]
    fn letters_are_unicodes() {
        for c in '\0'..='\u{ffff}' {
            // Combining marks go with their letters, signs of letters don't; unassigned code points may be either.
            if c.is_alphabetic() && !c.is_numeric() {
                let symbols = matches!(c, '\u{2100}'..='\u{218f}' | '\u{24b6}'..='\u{24e9}' | '\u{2e2f}');
                assert!(is_letter(c) || symbols, "{c:?}");
            }
            if c.is_whitespace() || c.is_control() || c.is_ascii_punctuation() || is_digit(c) {
                assert!(!is_letter(c), "{c:?}");
            }
        }
        for c in "aéßñçŷŽЖйαΩԱאبहกあ漢한々ー\u{301}\u{200c}\u{20000}ªº".chars() {
            assert!(is_letter(c), "{c:?}");
        }
        for c in "0_-'’“”«»¿¡…—€£™©→★😀🇪‍️。、「」・！～〜؟،।\u{fffd}×÷№\u{a0}\u{3000}\u{e0041}".chars()
        {
            assert!(!is_letter(c), "{c:?}");
        }
    }

    #[test]
    fn scripts() {
        assert!("漢字かなカナ한국어ｶﾅ".chars().all(is_cjk));
        assert!(!"aжא。、٣".chars().any(is_cjk));
        assert!("αΩάἀς".chars().all(is_greek));
        assert!(!"aж;\u{37e}\u{387}".chars().any(is_greek));
    }
}
