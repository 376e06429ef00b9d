//! How close an invalid vector is to its valid twin, and whether both need the same of a reader.

use std::collections::BTreeSet;

/// The dtypes of the format.
#[rustfmt::skip] // By width.
pub const DTYPES: [&str; 22] = [
    "F4", "F6_E2M3", "F6_E3M2",
    "BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ",
    "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "C64", "F64", "I64", "U64",
];

/// Many readers hold no more dimensions.
const USUAL_RANK: usize = 8;

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

/// Returns what a reader needs to read the first file, and not the second: dtypes, more than 8 dimensions,
/// escapes. A reader without it rejects the first for that alone.
pub fn only_needed_for(invalid: &[u8], valid: &[u8]) -> BTreeSet<String> {
    &needs(invalid) - &needs(valid)
}

/// Returns what a reader needs to read this file. Its text is searched, not parsed: it may be invalid.
fn needs(file: &[u8]) -> BTreeSet<String> {
    let mut needs = BTreeSet::new();
    let mut before: [&[u8]; 2] = [b"", b""];
    for piece in file.get(8..).unwrap_or_default().split(|byte| *byte == b'"') {
        match before {
            [b"dtype", b":"] => {
                needs.extend(DTYPES.into_iter().filter(|name| name.as_bytes() == piece).map(str::to_owned));
            }
            [_, b"shape"] => needs.extend(many_dimensions(piece)),
            _ => {}
        }
        needs.extend(escapes(piece));
        before = [before[1], piece];
    }
    needs
}

/// Returns how many dimensions a text such as `:[2,3],` has, if they are many.
fn many_dimensions(text: &[u8]) -> Option<String> {
    let end = text.iter().position(|byte| *byte == b']')?;
    let rank = text[..end].iter().filter(|byte| **byte == b',').count() + 1;
    (rank > USUAL_RANK).then(|| format!("{rank} dimensions"))
}

/// Returns the kinds of escapes that a text has.
fn escapes(text: &[u8]) -> BTreeSet<String> {
    let mut kinds = BTreeSet::new();
    let mut bytes = text.iter();
    while bytes.any(|byte| *byte == b'\\') {
        kinds.insert("escapes".to_owned());
        if bytes.next() == Some(&b'u') {
            kinds.insert("escapes of numbers".to_owned());
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::{are_close, only_needed_for};

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

    #[test]
    fn a_reader_without_a_feature_learns_nothing_from_a_twin_without_it() {
        let tensor =
            |dtype: &str, shape: &str| file(&format!(r#"{{"a":{{"dtype":"{dtype}","shape":[{shape}]"#), 0);
        let (plain, nine) = (tensor("U8", "1"), "1,1,1,1,1,1,1,1,1");
        let only = |invalid: &[u8], valid: &[u8]| {
            only_needed_for(invalid, valid).into_iter().collect::<Vec<_>>().join(", ")
        };
        assert_eq!(only(&tensor("F4", nine), &plain), "9 dimensions, F4");
        assert_eq!(only(&tensor("U8", &nine[2..]), &plain), "");
        assert_eq!(only(&tensor("F4", nine), &tensor("F4", nine)), "");
        assert_eq!(only(&tensor("F5", "1"), &plain), "");
        assert_eq!(only(&tensor(r"\u0055", "1"), &tensor(r"\n", "1")), "escapes of numbers");
    }
}
