//! The header's numbers, read by the compiler, so that header and library cannot differ.

/// The header.
const HEADER: &[u8] = include_bytes!("../include/safetensors.h");

/// What follows a number of words that holds where pointers have as many bits as here.
const WIDTH: &[u8] = if cfg!(target_pointer_width = "64") { b"/* @64 */" } else { b"/* @32 */" };

/// Returns the size of an object in bytes; the header's macro `name` is its size in words.
pub const fn words(name: &str) -> usize {
    8 * defined(name, WIDTH)
}

/// How many bytes the memory for a code has, with its final 0.
pub const CODE_LEN: usize = defined("SFT_CODE_LEN", b"");

/// Returns the number that the header defines for a macro in a line that ends with `suffix`.
const fn defined(name: &str, suffix: &[u8]) -> usize {
    let mut at = 0;
    while at < HEADER.len() {
        if let Some(number) = defined_at(at, name.as_bytes(), suffix) {
            return number;
        }
        at += 1;
    }
    panic!("the header has no such number");
}

/// Returns the number that the line at `at` defines for this macro.
const fn defined_at(at: usize, name: &[u8], suffix: &[u8]) -> Option<usize> {
    let Some(begin) = after(HEADER, at, b"#define ") else { return None };
    let Some(begin) = after(HEADER, begin, name) else { return None };
    let Some(begin) = after(HEADER, begin, b" ") else { return None };
    let (number, end) = number(begin);
    match after(HEADER, spaces(end), suffix) {
        Some(_) => Some(number),
        None => None,
    }
}

/// Returns the position after `word`, if the text has it at `at`.
const fn after(text: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    let mut index = 0;
    while index < word.len() {
        if at + index >= text.len() || text[at + index] != word[index] {
            return None;
        }
        index += 1;
    }
    Some(at + word.len())
}

const fn spaces(mut at: usize) -> usize {
    while HEADER[at] == b' ' {
        at += 1;
    }
    at
}

/// Returns a decimal number and the position after it.
const fn number(mut at: usize) -> (usize, usize) {
    let mut number = 0;
    while HEADER[at].is_ascii_digit() {
        number = 10 * number + (HEADER[at] - b'0') as usize;
        at += 1;
    }
    (number, at)
}

/// Checks at compile time that a type fits into the header's memory for it, with less than three words left:
/// 32-bit x86 aligns numbers of 64 bits to 4 bytes, and has less padding.
macro_rules! fits {
    ($type:ty, $bytes:expr) => {
        const _: () = assert!(size_of::<$type>() <= $bytes, "too large for the header's words");
        const _: () = assert!(size_of::<$type>() + 24 > $bytes, "the header has too many words");
        const _: () = assert!(align_of::<$type>() <= 8, "the header's words are aligned to 8 bytes");
    };
}

pub(crate) use fits;
