//! Words for people: names from files, and numbers of things.

pub use safetensors_convert::text::{is_plain, quoted, shown, shown_text};

use unicode_width::UnicodeWidthChar;

/// Whether a text is the same in quotes, as most are.
pub fn is_simple(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'))
}

/// How many columns a text takes that consists of characters as they are [`shown`].
pub fn columns(text: &str) -> usize {
    text.chars().filter_map(UnicodeWidthChar::width).sum()
}

/// The beginning of a text that comes in pieces: more of it than is ever shown.
#[derive(Default)]
pub struct Beginning(Vec<u8>);

impl Beginning {
    /// In bytes.
    const KEPT: usize = 4096;

    pub fn push(&mut self, piece: &[u8]) {
        let room = Self::KEPT.saturating_sub(self.0.len());
        self.0.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// What is kept, without the character that was cut at its end.
    pub fn text(&self) -> &str {
        self.0.utf8_chunks().next().map_or("", |chunk| chunk.valid())
    }
}

/// A number for people: `1,234,567`.
pub fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// So many of something: `1 tensor`, `1,234 tensors`.
pub fn counted(number: u64, what: &str) -> String {
    format!("{} {}", grouped(number), plural(number, what))
}

/// The same in digits alone: `1234 tensors`.
pub fn numbered(number: u64, what: &str) -> String {
    format!("{number} {}", plural(number, what))
}

fn plural(number: u64, what: &str) -> String {
    format!("{what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::{columns, grouped};

    #[test]
    fn large_numbers_are_grouped() {
        let numbers = [0, 7, 999, 1000, 12_345, 123_456, u64::MAX].map(grouped);
        let texts = ["0", "7", "999", "1,000", "12,345", "123,456", "18,446,744,073,709,551,615"];
        assert_eq!(numbers, texts);
    }

    #[test]
    fn columns_are_those_of_a_terminal() {
        assert_eq!([columns("abc"), columns("é"), columns("層"), columns("\u{1F600}")], [3, 1, 2, 2]);
    }
}
