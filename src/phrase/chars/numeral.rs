//! Numerals of every script in use.

use super::in_ranges;

/// Zeros of the decimal digits (Unicode's Nd) of the Basic Multilingual Plane: nine more follow each.
const ZEROS: [u16; 37] = [
    0x0030, 0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66, 0x0de6,
    0x0e50, 0x0ed0, 0x0f20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40,
    0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
];

/// The same of the next plane, less 0x10000.
const HIGH_ZEROS: [u16; 34] = [
    0x04a0, 0x0d30, 0x0d40, 0x1066, 0x10f0, 0x1136, 0x11d0, 0x12f0, 0x1450, 0x14d0, 0x1650, 0x16c0, 0x16d0, 0x16da,
    0x1730, 0x18e0, 0x1950, 0x1bf0, 0x1c50, 0x1d50, 0x1da0, 0x1f50, 0x6130, 0x6a60, 0x6ac0, 0x6b50, 0x6d70, 0xccf0,
    0xe140, 0xe2f0, 0xe4f0, 0xe5f1, 0xe950, 0xfbf0,
];

/// Other numerals (No, Nl): superscripts and subscripts, fractions, Roman, circled, and those of single scripts.
const OTHERS: [u16; 58] = [
    0xb2, 0xb3, 0xb9, 0xb9, 0xbc, 0xbe, 0x09f4, 0x09f9, 0x0b72, 0x0b77, 0x0bf0, 0x0bf2, 0x0c78, 0x0c7e, 0x0d58, 0x0d5e,
    0x0d70, 0x0d78, 0x0f2a, 0x0f33, 0x1369, 0x137c, 0x17f0, 0x17f9, 0x19da, 0x19da, 0x2070, 0x2070, 0x2074, 0x2079,
    0x2080, 0x2089, 0x2150, 0x2182, 0x2185, 0x2189, 0x2460, 0x249b, 0x24ea, 0x24ff, 0x2776, 0x2793, 0x3021, 0x3029,
    0x3038, 0x303a, 0x3192, 0x3195, 0x3220, 0x3229, 0x3248, 0x324f, 0x3251, 0x325f, 0x3280, 0x3289, 0x32b1, 0x32bf,
];

/// And of the next plane: Mathematical Alphanumeric Symbols' digits, digits with a stop or comma.
const HIGH_OTHERS: [u16; 4] = [0xd7ce, 0xd7ff, 0xf100, 0xf10c];

/// Whether `c` is a numeral by itself. Ideographs that are words for numbers, U+3007 among them, are letters.
#[inline(never)]
pub(crate) fn is_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    let (base, zeros, others): (u32, &[u16], &[u16]) =
        if c < '\u{10000}' { (0, &ZEROS, &OTHERS) } else { (0x10000, &HIGH_ZEROS, &HIGH_OTHERS) };
    let code = u32::from(c).wrapping_sub(base);
    zeros.iter().any(|&zero| code.wrapping_sub(zero.into()) < 10) || in_ranges(others, base, c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numerals_are_those_of_unicode() {
        // Scripts that nobody writes, and numerals inside words.
        let left_out = |c: char| {
            matches!(c, '\u{16ee}'..='\u{16f0}' | '\u{2183}'..='\u{2184}' | '\u{2cfd}' | '\u{3007}')
                || matches!(c, '\u{a6e6}'..='\u{a6ef}' | '\u{a830}'..='\u{a835}')
                || (c >= '\u{10000}' && !matches!(c, '\u{1d7ce}'..='\u{1d7ff}' | '\u{1f100}'..='\u{1f10c}'))
        };
        for c in '\0'..=char::MAX {
            if is_digit(c) {
                assert!(c.is_numeric() || c > '\u{10000}', "{c:?}");
            } else {
                assert!(!c.is_numeric() || left_out(c), "{c:?}");
            }
        }
    }

    #[test]
    fn samples() {
        for c in "09０９٣۴५²₂½Ⅳ①⑩❶㈠𝟗𞥐".chars() {
            assert!(is_digit(c), "{c:?}");
        }
        for c in "aO一二三〇.%Vⓐ".chars() {
            assert!(!is_digit(c), "{c:?}");
        }
    }
}
