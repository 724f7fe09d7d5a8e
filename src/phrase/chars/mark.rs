//! Spaces, emoji, and the punctuation that ends a sentence or stands around it.

use super::in_ranges;

/// Whether `c` is white space (Unicode's White_Space), ends of lines included.
#[inline(never)]
pub(crate) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// Whether `c` ends a line.
pub(crate) fn is_newline(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Emoji and what they are put together from, in the Basic Multilingual Plane; dingbats less the ornamental brackets
/// and circled digits among them.
const EMOJI: [u16; 54] = [
    0x200d, 0x200d, 0x20e3, 0x20e3, 0x2139, 0x2139, 0x2194, 0x2199, 0x21a9, 0x21aa, 0x231a, 0x231b, 0x2328, 0x2328,
    0x23cf, 0x23cf, 0x23e9, 0x23f3, 0x23f8, 0x23fa, 0x24c2, 0x24c2, 0x25aa, 0x25ab, 0x25b6, 0x25b6, 0x25c0, 0x25c0,
    0x25fb, 0x25fe, 0x2600, 0x2767, 0x2794, 0x27bf, 0x2934, 0x2935, 0x2b05, 0x2b07, 0x2b1b, 0x2b1c, 0x2b50, 0x2b50,
    0x2b55, 0x2b55, 0x3030, 0x3030, 0x303d, 0x303d, 0x3297, 0x3297, 0x3299, 0x3299, 0xfe0e, 0xfe0f,
];

/// Whether `c` is an emoji, a dingbat, or part of a sequence: joiner, variation selector, skin tone, regional
/// indicator, keycap, tag. Digits, `#`, `*` and signs such as (c) are only with a selector after them.
#[inline(never)]
pub(crate) fn is_emoji(c: char) -> bool {
    match u32::from(c) {
        0..0x2000 => false,
        0x2000..0x10000 => in_ranges(&EMOJI, 0, c),
        code => matches!(code, 0x1f000..=0x1f0ff | 0x1f10d..=0x1faff | 0xe0020..=0xe007f),
    }
}

/// Whether `c` ends sentences. An ASCII semicolon, which Greek asks with, does not by itself.
#[inline(never)]
pub(crate) fn is_final_mark(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '\u{2026}' | '\u{203c}' | '\u{203d}' | '\u{2047}'..='\u{2049}')
        || matches!(
            c,
            '\u{37e}' | '\u{589}' | '\u{61f}' | '\u{6d4}' | '\u{1362}' | '\u{1367}' | '\u{1803}' | '\u{2e2e}'
        )
        || is_wide_mark(c)
}

/// Whether `c` ends sentences of a script that puts no space after it.
#[inline(never)]
pub(crate) fn is_wide_mark(c: char) -> bool {
    // Ideographic, halfwidth, fullwidth and small forms, dandas, the marks of Tibetan, Burmese and Khmer.
    matches!(c, '\u{3002}' | '\u{ff61}' | '\u{ff01}' | '\u{ff0e}' | '\u{ff1f}' | '\u{fe12}' | '\u{fe15}' | '\u{fe16}')
        || matches!(c, '\u{fe52}' | '\u{fe56}' | '\u{fe57}' | '\u{964}' | '\u{965}' | '\u{f0d}' | '\u{f0e}')
        || matches!(c, '\u{104a}' | '\u{104b}' | '\u{17d4}' | '\u{17d5}')
}

/// Whether `c` is a quote or bracket that may follow a final mark. Quotes that open in one language close in another.
#[inline(never)]
pub(crate) fn is_closing(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '}' | '\u{ab}' | '\u{bb}' | '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}')
        || matches!(c, '\u{2039}' | '\u{203a}' | '\u{ff02}' | '\u{ff09}' | '\u{ff3d}' | '\u{ff5d}' | '\u{ff63}')
        || matches!(c, '\u{301e}' | '\u{301f}')
        || (is_cjk_bracket(c) && u32::from(c) & 1 == 1)
}

/// Closing ones have odd code points.
fn is_cjk_bracket(c: char) -> bool {
    matches!(c, '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301b}')
}

/// Whether `c` is a quote or bracket that may stand before a sentence.
#[inline(never)]
pub(crate) fn is_opening(c: char) -> bool {
    matches!(c, '"' | '\'' | '(' | '[' | '{' | '\u{ab}' | '\u{bb}' | '\u{2018}' | '\u{201a}' | '\u{201c}' | '\u{201e}')
        || matches!(c, '\u{2039}' | '\u{203a}' | '\u{ff02}' | '\u{ff08}' | '\u{ff3b}' | '\u{ff5b}' | '\u{ff62}')
        || c == '\u{301d}'
        || (is_cjk_bracket(c) && u32::from(c) & 1 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phrase::chars::{is_digit, is_letter};

    #[test]
    fn spaces_are_unicodes() {
        for c in '\0'..=char::MAX {
            assert_eq!(is_space(c), c.is_whitespace(), "{c:?}");
            assert!(!is_newline(c) || is_space(c), "{c:?}");
        }
        assert!("\n\r\u{b}\u{c}\u{85}\u{2028}\u{2029}".chars().all(is_newline));
        assert!(!"\t \u{a0}\u{3000}".chars().any(is_newline));
    }

    #[test]
    fn classes_exclude_each_other() {
        for c in '\0'..=char::MAX {
            let classes = [is_space(c), is_digit(c), is_letter(c), is_emoji(c), is_final_mark(c)];
            let quotes = is_opening(c) || is_closing(c);
            assert!(classes.iter().filter(|&&is| is).count() + usize::from(quotes) <= 1, "{c:?} {classes:?}");
        }
    }

    #[test]
    fn emoji() {
        for text in
            ["😀", "👨\u{200d}👩\u{200d}👧", "👍🏽", "🇪🇸", "❤\u{fe0f}", "☕", "✈️", "🏴\u{e0067}\u{e007f}", "➡⭐㊙🫠"]
        {
            assert!(text.chars().all(is_emoji), "{text}");
        }
        assert!(!"a1#*©®™é€.!‼❶→∞漢\u{fffd}".chars().any(is_emoji));
    }

    #[test]
    fn marks() {
        assert!(".!?…‼⁇。！？．｡؟۔։።।॥\u{37e}။។༎".chars().all(is_final_mark));
        assert!(!",;:،、，-–¿¡aж·".chars().any(is_final_mark));
        assert!("。！？．｡।".chars().all(is_wide_mark));
        assert!(!".!?…؟".chars().any(is_wide_mark));
        assert!("\"')]}»’”›」』】）］｝〉》〕〗〙〛｣“‘".chars().all(is_closing));
        assert!("\"'([{«„‚“‘»‹「『【（［｛〈《〔〖〘〚｢".chars().all(is_opening));
        assert!(!"([{「『（〔".chars().any(is_closing));
        assert!(!")]}」』）〕".chars().any(is_opening));
    }
}
