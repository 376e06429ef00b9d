//! How close an invalid vector is to its valid twin.

/// The longest span in which twins differ, unless the manifest says why.
const MOST: usize = 32;

/// Whether the files differ in their length alone, in the amount of data alone, or in one short span.
pub fn are_close(invalid: &[u8], valid: &[u8]) -> bool {
    spans(invalid, valid).iter().all(|span| *span <= MOST)
}

/// Returns how long the spans are in which the files differ after the length; 0 if only the length differs.
/// Data that is longer or shorter at its end counts as one byte.
pub fn spans(invalid: &[u8], valid: &[u8]) -> [usize; 2] {
    let (length, a) = invalid.split_at(invalid.len().min(8));
    let (of_valid, b) = valid.split_at(valid.len().min(8));
    if length == of_valid && (a.starts_with(b) || b.starts_with(a)) {
        return [1, 0];
    }
    let before = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[before..], &b[before..]);
    let after = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    [a.len() - after, b.len() - after]
}

#[cfg(test)]
mod tests {
    use super::are_close;

    fn file(header: &str, data: usize) -> Vec<u8> {
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &vec![7; data]].concat()
    }

    #[test]
    fn one_short_span_is_close() {
        let (before, after) = ("{".repeat(50), "}".repeat(50));
        let with = |middle: usize| file(&(before.clone() + &"x".repeat(middle) + &after), 100);
        for (span, close) in [(0, true), (1, true), (32, true), (33, false)] {
            assert_eq!(are_close(&with(span), &with(0)), close, "{span}");
            assert_eq!(are_close(&with(0), &with(span)), close, "{span}");
        }
        assert!(!are_close(&file(&format!("x{before}x"), 1), &file(&before, 1)));
    }

    #[test]
    fn other_data_or_another_length_alone_is_close() {
        assert!(are_close(&file("{}", 1000), &file("{}", 1)));
        assert!(are_close(&[&[9; 8], &file("{}", 1)[8..]].concat(), &file("{}", 1)));
        assert!(are_close(&[], &file("{}", 1)));
        assert!(!are_close(&file("{ }", 1000), &file("{}", 1)));
    }
}
