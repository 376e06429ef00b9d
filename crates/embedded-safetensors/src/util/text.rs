//! Searches in JSON text, a word at a time where that is faster.

/// Whether both slices are equal. One loop: slice patterns would be inlined as comparisons of single bytes.
#[inline]
pub(crate) const fn equal(a: &[u8], b: &[u8]) -> bool {
    let (mut left, mut right) = (a, b);
    if left.len() != right.len() {
        return false;
    }
    while let ([x, x_rest @ ..], [y, y_rest @ ..]) = (left, right) {
        if *x != *y {
            return false;
        }
        (left, right) = (x_rest, y_rest);
    }
    true
}

/// Returns the bytes after the plain text at the start.
#[inline(always)]
pub(crate) const fn after_plain<const IN_CONST: bool>(text: &[u8]) -> &[u8] {
    if IN_CONST { behind_plain_bytes(text) } else { behind_plain_words(text) }
}

#[inline(never)]
const fn behind_plain_words(text: &[u8]) -> &[u8] {
    let mut left = text;
    while let Some((word, rest)) = left.split_first_chunk() {
        let special = special(usize::from_le_bytes(*word));
        if special != 0 {
            return match left.split_at_checked((special.trailing_zeros() >> 3) as usize) {
                Some((_, rest)) => rest,
                None => left,
            };
        }
        left = rest;
    }
    behind_plain_bytes(left)
}

#[inline]
const fn behind_plain_bytes(text: &[u8]) -> &[u8] {
    let mut left = text;
    while let [b']'..=0x7F | b'#'..=b'[' | b' '..=b'!', rest @ ..] = left {
        left = rest;
    }
    left
}

/// Returns the bytes after the plain text and one-letter escapes at the start, byte by byte, for const
/// evaluation.
pub(crate) const fn after_escapes(text: &[u8]) -> &[u8] {
    let mut left = text;
    while let [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', rest @ ..]
    | [b']'..=0x7F | b'#'..=b'[' | b' '..=b'!', rest @ ..] = left
    {
        left = rest;
    }
    left
}

/// Returns a bit in each byte that is not plain text. Only the lowest of them is reliable: borrows come from
/// such bytes alone.
const fn special(bytes: usize) -> usize {
    let (ones, tops) = (usize::MAX / 255, usize::MAX / 255 * 128);
    // Without its second bit a quote comes directly after the control characters.
    let controls_and_quotes = (bytes ^ (ones * 2)).wrapping_sub(ones * 0x21);
    let backslashes = (bytes ^ (ones * b'\\' as usize)).wrapping_sub(ones);
    (bytes | controls_and_quotes | backslashes) & tops
}

/// Skips the words at the start that have neither a brace, nor a backslash, nor a byte above 0x7B. Returns
/// the bytes after them, and whether an odd number of quotes was among them.
#[inline(always)]
pub(crate) const fn skip_words(text: &[u8]) -> (&[u8], bool) {
    const ONES: usize = usize::MAX / 255;
    const TOPS: usize = ONES * 0x80;
    let (mut left, mut others) = (text, 0);
    while let Some((word, rest)) = left.split_first_chunk() {
        let word = usize::from_le_bytes(*word);
        let backslashes = (word ^ (ONES * b'\\' as usize)).wrapping_sub(ONES);
        let braces = (word & !TOPS).wrapping_add(ONES * (0x80 - b'{' as usize));
        if (word | braces | backslashes) & TOPS != 0 {
            break;
        }
        // A top bit for each byte that is no quote. A word has an even number of bytes, so an odd number of
        // others means an odd number of quotes.
        others ^= (word ^ (ONES * b'"' as usize)).wrapping_add(!TOPS);
        left = rest;
    }
    let others = others as u64;
    let others = others ^ (others >> 32);
    let others = others ^ (others >> 16);
    (left, (others ^ (others >> 8)) & 0x80 != 0)
}
