//! The tokenizer of `mteval-v13a`, which BLEU scores are comparable by: a fixed list of rewrites, in this order.

use super::is_space;

/// The tokens of `line`, separated by single spaces.
pub fn tokenize(line: &str) -> String {
    let line = line.trim_end_matches(is_space);
    let line = line.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    // `&amp;` before the angle brackets: `&amp;lt;` becomes `<`, as in the original.
    let line = line.replace("&quot;", "\"").replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">");
    let mut chars = Vec::new();
    for c in format!(" {line} ").chars() {
        if is_symbol(c) { chars.extend([' ', c, ' ']) } else { chars.push(c) }
    }
    let is_stop = |c: char| matches!(c, '.' | ',');
    let chars = split_pairs(&chars, |a, b| !a.is_ascii_digit() && is_stop(b), |a, b| [a, ' ', b, ' ']);
    let chars = split_pairs(&chars, |a, b| is_stop(a) && !b.is_ascii_digit(), |a, b| [' ', a, ' ', b]);
    let chars = split_pairs(&chars, |a, b| a.is_ascii_digit() && b == '-', |a, b| [a, ' ', b, ' ']);
    let text: String = chars.into_iter().collect();
    text.split(is_space).filter(|token| !token.is_empty()).collect::<Vec<_>>().join(" ")
}

/// ASCII punctuation that always stands alone: all but `'`, `,`, `-` and `.`; the space is among it, harmlessly.
fn is_symbol(c: char) -> bool {
    matches!(c, ' '..='&' | '('..='+' | '/' | ':'..='@' | '['..='`' | '{'..='~')
}

/// Rewrites pairs of neighbours from left to right. Pairs never overlap, as with a regular expression's matches: the
/// second of a rewritten pair is not looked at again as the first of another.
fn split_pairs(chars: &[char], is_pair: impl Fn(char, char) -> bool, spaced: fn(char, char) -> [char; 4]) -> Vec<char> {
    let mut out = Vec::with_capacity(chars.len() + 8);
    let mut rest = chars;
    while let [a, tail @ ..] = rest {
        rest = match tail {
            [b, after @ ..] if is_pair(*a, *b) => {
                out.extend(spaced(*a, *b));
                after
            }
            _ => {
                out.push(*a);
                tail
            }
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::tokenize;

    /// Outputs of sacrebleu 2.6.0.
    #[test]
    fn as_sacrebleu() {
        for (line, wanted) in [
            ("1,000.50, 3.x x.3 a..b ...,", "1,000.50 , 3 . x x . 3 a . . b . . . ,"),
            ("5-6 -5 a-b", "5 - 6 -5 a-b"),
            ("it's (ok)/[no] {x}~`_^", "it's ( ok ) / [ no ] { x } ~ ` _ ^"),
            ("x&quot;y&amp;lt;z <skipped>", "x \" y < z"),
            ("no-\nbreak a\nb\u{1c}c\u{a0}d", "nobreak a b c d"),
            ("¿Qué? «sí» … 日本,語。", "¿Qué ? «sí» … 日本 , 語。"),
            ("9.,9", "9 . , 9"),
            (".5", ". 5"),
            ("5.", "5 ."),
            ("a,.b", "a , . b"),
            ("", ""),
        ] {
            assert_eq!(tokenize(line), wanted, "{line:?}");
        }
    }
}
