//! Numbers as a person reads them.

/// `1299365` as `1,299,365`.
pub fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes in kB or MB of three digits.
pub fn size(bytes: usize) -> String {
    let bytes = bytes as f64;
    match bytes {
        b if b < 1000.0 => format!("{b} B"),
        b if b < 99_950.0 => format!("{:.1} kB", b / 1e3),
        b if b < 999_500.0 => format!("{:.0} kB", b / 1e3),
        b => format!("{:.2} MB", b / 1e6),
    }
}

/// Decibels; infinite where nothing differs.
pub fn decibels(db: f64) -> String {
    if db.is_finite() { format!("{db:.1}") } else { "exact".to_owned() }
}

/// A change with its sign, a true minus included; no sign where it rounds to nothing.
pub fn signed(x: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", x.abs());
    match x {
        _ if text.bytes().all(|b| matches!(b, b'0' | b'.')) => text,
        x if x < 0.0 => format!("\u{2212}{text}"),
        _ => format!("+{text}"),
    }
}

/// Three significant digits or so.
pub fn short(x: f64) -> String {
    match x.abs() {
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        a if a >= 1.0 || a == 0.0 => format!("{x:.2}"),
        a if a >= 0.01 => format!("{x:.3}"),
        _ => format!("{x:.1e}"),
    }
}

/// A name in a chart: `encoder.1.self_q` as `enc1.self_q`, cut where it is long.
pub fn label(name: &str) -> String {
    let name = match name.split_once('.') {
        Some(("encoder", rest)) => format!("enc{rest}"),
        Some(("decoder", rest)) => format!("dec{rest}"),
        _ => name.to_owned(),
    };
    cut(&name, 18)
}

/// At most `most` characters.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['\u{2026}']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0, 999, 1000, 1_299_365].map(thousands), ["0", "999", "1,000", "1,299,365"]);
        assert_eq!([12, 1299, 99_960, 240_032, 1_299_365].map(size), ["12 B", "1.3 kB", "100 kB", "240 kB", "1.30 MB"]);
        assert_eq!([0.004, -0.004, 0.126, -3.0].map(|x| signed(x, 2)), ["0.00", "0.00", "+0.13", "\u{2212}3.00"]);
        assert_eq!([0.0, 0.0123, 3.456, 45.67, 1234.5].map(short), ["0.00", "0.012", "3.46", "45.7", "1234"]);
        assert_eq!((decibels(f64::INFINITY).as_str(), decibels(31.25).as_str()), ("exact", "31.2"));
        assert_eq!(label("encoder.1.self_q"), "enc1.self_q");
        assert_eq!(label("source_embedding_of_many"), "source_embedding_\u{2026}");
    }
}
