//! How close an invalid vector is to its valid twin.

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
