//! Text for people: names from files, and counts.

pub use safetensors_convert::text::{is_plain, quoted, quoted_whole, shown, shown_text};

use unicode_width::UnicodeWidthChar;

/// Whether a text needs no escapes in quotes, which is usual.
pub fn is_simple(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'))
}

/// The width in columns of a text whose characters are as [`shown`] prints them.
pub fn columns(text: &str) -> usize {
    text.chars().filter_map(UnicodeWidthChar::width).sum()
}

/// The beginning of a text that arrives in pieces, longer than any part that is shown.
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

    /// The kept text, without a character cut at its end.
    pub fn text(&self) -> &str {
        self.0.utf8_chunks().next().map_or("", |chunk| chunk.valid())
    }
}

/// A question about the most similar name, which follows a sentence; empty if none is similar.
pub fn did_you_mean<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let alike = known.into_iter().map(|other| (strsim::jaro_winkler(name, other), other));
    let nearest = alike.max_by(|(one, _), (other, _)| one.total_cmp(other));
    match nearest.filter(|(likeness, _)| *likeness > 0.7) {
        Some((_, other)) => format!("; did you mean {}?", quoted(other)),
        None => String::new(),
    }
}

/// A name in quotes. If it is long, its middle is left out: names often differ only at the end.
pub fn quoted_short(name: &str) -> String {
    const HALF: usize = 40;
    let mut ends = name.char_indices().map(|(at, _)| at);
    let (head, tail) = (ends.nth(HALF), ends.nth_back(HALF - 1));
    match (head, tail) {
        // Only the beginning of a longer name is known.
        (Some(head), Some(tail)) if name.len() <= Beginning::KEPT - 4 => {
            let (head, tail) = (quoted(&name[..head]), quoted(&name[tail..]));
            format!("{}…{}", &head[..head.len() - 1], &tail[1..])
        }
        _ => quoted(name),
    }
}

/// A number with separators: `1,234,567`.
pub fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// A count with separators: `1 tensor`, `1,234 tensors`.
pub fn counted(number: u64, what: &str) -> String {
    format!("{} {}", grouped(number), plural(number, what))
}

/// A count without separators: `1234 tensors`.
pub fn numbered(number: u64, what: &str) -> String {
    format!("{number} {}", plural(number, what))
}

fn plural(number: u64, what: &str) -> String {
    format!("{what}{}", if number == 1 { "" } else { "s" })
}

/// A number with four digits.
pub fn short(measure: f64) -> String {
    let digits = format!("{measure:.3e}");
    // The largest double rounds to infinity.
    let rounded = digits.parse().ok().filter(|rounded: &f64| rounded.is_finite());
    let text = rounded.map_or(digits, |rounded| format!("{rounded:?}"));
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A text that is safe to print, with its middle left out if it is wider than this.
pub fn fitted(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let half = width.saturating_sub(1) / 2;
    let head = beginning(text.chars(), width.saturating_sub(1) - half);
    let tail: String = beginning(text.chars().rev(), half).chars().rev().collect();
    format!("{head}…{tail}")
}

/// As many characters as fit.
fn beginning(text: impl Iterator<Item = char>, width: usize) -> String {
    let mut room = width;
    text.take_while(|character| {
        let columns = character.width().unwrap_or(0);
        let fits = columns <= room;
        room = room.saturating_sub(columns);
        fits
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{columns, fitted, grouped, quoted, quoted_short, short};

    #[test]
    fn texts_are_cut_in_the_middle_to_fit() {
        for (width, text) in [(7, "abcdefg"), (6, "abc…fg"), (5, "ab…fg"), (3, "a…g"), (2, "a…"), (1, "…")]
        {
            assert_eq!(fitted("abcdefg", width), text);
        }
        assert_eq!(fitted("層層層層", 6), "層…層");
    }

    #[test]
    fn measures_have_four_digits() {
        for (measure, shown) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.123_456, "0.1235"),
            (1e-9, "1e-9"),
            (12346.0, "12350"),
            (f64::MAX, "1.798e308"),
        ] {
            assert_eq!(short(measure), shown);
        }
    }

    #[test]
    fn long_names_are_cut_in_the_middle() {
        for length in [0, 1, 80] {
            let name = "é".repeat(length);
            assert_eq!(quoted_short(&name), quoted(&name));
        }
        let (head, tail) = ("a".repeat(40), "层".repeat(40));
        for middle in ["b", "bbb"] {
            assert_eq!(quoted_short(&format!("{head}{middle}{tail}")), format!("\"{head}…{tail}\""));
        }
        let unknown_end = "n".repeat(4096);
        assert_eq!(quoted_short(&unknown_end), quoted(&unknown_end));
    }

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
