//! Letters of every script, by what is none.

use super::{in_ranges, is_digit, is_emoji};

/// What of U+0080..=U+FFFF is neither letter nor mark on one: punctuation, symbols, spaces, controls, private use.
/// U+200C is not in it; Persian words have it inside.
const NOT_LETTERS: [u16; 134] = [
    0x0080, 0x00a9, 0x00ab, 0x00b4, 0x00b6, 0x00b9, 0x00bb, 0x00bf, 0x00d7, 0x00d7, 0x00f7, 0x00f7, 0x02c2, 0x02c5,
    0x02d2, 0x02df, 0x0375, 0x0375, 0x037e, 0x037e, 0x0384, 0x0385, 0x0387, 0x0387, 0x055a, 0x055f, 0x0589, 0x058f,
    0x05be, 0x05be, 0x05c0, 0x05c0, 0x05c3, 0x05c3, 0x05c6, 0x05c6, 0x05f3, 0x05f4, 0x0600, 0x060f, 0x061b, 0x061f,
    0x066a, 0x066d, 0x06d4, 0x06d4, 0x06dd, 0x06de, 0x06e9, 0x06e9, 0x0700, 0x070f, 0x0964, 0x0965, 0x0970, 0x0970,
    0x09f2, 0x09f3, 0x0df4, 0x0df4, 0x0e3f, 0x0e3f, 0x0e4f, 0x0e4f, 0x0e5a, 0x0e5b, 0x0f01, 0x0f17, 0x0f3a, 0x0f3d,
    0x104a, 0x104f, 0x10fb, 0x10fb, 0x1360, 0x1368, 0x1680, 0x1680, 0x17d4, 0x17d6, 0x17d8, 0x17db, 0x1800, 0x180e,
    0x2000, 0x200b, 0x200d, 0x2070, 0x207a, 0x207e, 0x208a, 0x208f, 0x20a0, 0x2bff, 0x2e00, 0x2e7f, 0x2ff0, 0x3004,
    0x3008, 0x3020, 0x3030, 0x3030, 0x3036, 0x3037, 0x303d, 0x303f, 0x309b, 0x309c, 0x30a0, 0x30a0, 0x30fb, 0x30fb,
    0x3200, 0x33ff, 0x4dc0, 0x4dff, 0xd800, 0xf8ff, 0xfd3e, 0xfd3f, 0xfdfc, 0xfdff, 0xfe00, 0xfe6f, 0xfeff, 0xff0f,
    0xff1a, 0xff20, 0xff3b, 0xff40, 0xff5b, 0xff65, 0xffe0, 0xffff,
];
/// The same of the next plane, less 0x10000.
const HIGH_NOT_LETTERS: [u16; 4] = [0xd000, 0xd3ff, 0xec70, 0xffff];

/// Whether `c` is a letter, an ideograph, or a mark on one.
#[inline(never)]
pub(crate) fn is_letter(c: char) -> bool {
    match u32::from(c) {
        0..0x80 => c.is_ascii_alphabetic(),
        0x80..0x10000 => !in_ranges(&NOT_LETTERS, 0, c) && !is_digit(c),
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
