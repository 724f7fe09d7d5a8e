//! Case of letters, by ranges in which it is regular.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phrase::chars::is_letter;

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
}
