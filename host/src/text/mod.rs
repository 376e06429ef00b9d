//! Text for people: names from files, and counts.

// Mostly used with the feature `chips`.
pub mod number;
pub mod terminal;

pub use safetensors_convert::text::{is_plain, quoted, quoted_whole, shown, shown_text};

use std::path::Path;
use unicode_width::UnicodeWidthChar;

/// The width in columns of a text whose characters are as [`shown`] prints them, also in colours.
pub fn columns(text: &str) -> usize {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().into_iter();
    let shown = first.chain(parts.map(|part| part.split_once('m').map_or(part, |(_, shown)| shown)));
    shown.flat_map(str::chars).filter_map(UnicodeWidthChar::width).sum()
}

/// A path that is safe to print.
pub fn shown_path(path: &Path) -> String {
    shown_text(&path.to_string_lossy())
}

/// A text as one word of a command line that stands between backticks.
pub fn shell_word(text: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:@,+%".contains(letter);
    let is_shown = |letter: char| is_plain(letter) && !"'\\`".contains(letter);
    let shown = |letter: char| match is_shown(letter) {
        true => letter.to_string(),
        false => letter.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
    };
    match text.chars().all(is_shown) {
        true if !text.is_empty() && !text.starts_with('=') && text.chars().all(is_bare) => text.to_owned(),
        true => format!("'{text}'"),
        // As Bash and others have it.
        false => format!("$'{}'", text.chars().map(shown).collect::<String>()),
    }
}

/// The first names of so many, and the number of others.
pub fn listed(names: impl Iterator<Item = String>, most: usize, count: u64) -> String {
    let names: Vec<String> = names.take(most).collect();
    match count.saturating_sub(names.len() as u64) {
        0 => names.join(", "),
        others => format!("{} and {} more", names.join(", "), grouped(others)),
    }
}

/// A question about the most similar name, which follows a sentence; empty if none is similar.
pub fn did_you_mean<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let alike = known.into_iter().map(|other| match name.eq_ignore_ascii_case(other) {
        true => (f64::INFINITY, other),
        false => (strsim::jaro_winkler(name, other), other),
    });
    let nearest = alike.max_by(|(one, _), (other, _)| one.total_cmp(other));
    // Short words have many letters in common by chance.
    let is_similar = |other: &str| {
        let longest = name.chars().count().max(other.chars().count());
        other.starts_with(name)
            || name.eq_ignore_ascii_case(other)
            || 2 * strsim::damerau_levenshtein(name, other) <= longest
    };
    match nearest.filter(|(likeness, other)| *likeness > 0.7 && is_similar(other)) {
        Some((_, other)) => format!("; did you mean {}?", quoted(other)),
        None => String::new(),
    }
}

/// A number with separators: `1,234,567`.
pub fn grouped(number: impl Into<u128>) -> String {
    let digits = number.into().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with separators: `1 tensor`, `1,234 tensors`.
pub fn counted(number: impl Into<u128>, what: &str) -> String {
    let number = number.into();
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A share in percent, which is 0 or 100 only if it is exactly that.
pub fn share_of(part: impl Into<u128>, all: impl Into<u128>) -> String {
    let (part, all) = (part.into(), all.into());
    // Rounded to the nearest, but never to all.
    let permyriad = ((part * 20_000 + all) / (2 * all).max(1)).min(9_999);
    match permyriad {
        _ if part == 0 => "0 %".to_owned(),
        _ if part == all => "100 %".to_owned(),
        0 => "<0.01 %".to_owned(),
        _ => format!("{}.{:02} %", permyriad / 100, permyriad % 100),
    }
}

/// A number with four digits.
pub fn short(measure: f64) -> String {
    let digits = format!("{measure:.3e}");
    // The largest double rounds to infinity.
    let rounded = digits.parse().ok().filter(|rounded: &f64| rounded.is_finite());
    let text = rounded.map_or(digits, |rounded| format!("{rounded:?}"));
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A text that is safe to print. One that is wider than this is cut at its middle, or at the nearest part
/// without digits, because numbers tell names apart.
pub fn fitted(text: &str, width: usize) -> String {
    let (needed, room) = (columns(text), width.saturating_sub(1));
    if needed <= width {
        return text.to_owned();
    }
    // The bytes, columns and digits before each character, and in all.
    let mut before = vec![(0, 0, 0)];
    for letter in text.chars() {
        let (bytes, columns, digits) = before[before.len() - 1];
        let is_digit = usize::from(letter.is_ascii_digit());
        before.push((bytes + letter.len_utf8(), columns + letter.width().unwrap_or(0), digits + is_digit));
    }
    let all = before[before.len() - 1].1;
    let cut = |tail: usize| {
        let head = before.partition_point(|(_, columns, _)| *columns <= room - tail) - 1;
        [before[head], before[before.partition_point(|(_, columns, _)| columns + tail < all)]]
    };
    let has_no_digit =
        |tail: &usize| cut(*tail).map(|(.., digits)| digits).windows(2).all(|two| two[0] == two[1]);
    let tails = (0..=room).rev().filter(|_| needed <= 2 * width).filter(has_no_digit);
    let [(head, ..), (tail, ..)] = cut(tails.min_by_key(|tail| tail.abs_diff(room / 2)).unwrap_or(room / 2));
    format!("{}…{}", &text[..head], &text[tail..])
}

/// A number of bytes for people: `702.4 KB`, with the units of 1000.
pub fn human(bytes: impl Into<u128>) -> String {
    let bytes = bytes.into();
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let units = ["KB", "MB", "GB", "TB", "PB", "EB"];
    let (mut unit, mut size) = (0, 1000);
    // What would be rounded to 1000 has the next unit.
    while (bytes * 10 + size / 2) / size >= 10_000 && unit + 1 < units.len() {
        size *= 1000;
        unit += 1;
    }
    let tenths = (bytes * 10 + size / 2) / size;
    format!("{}.{} {}", grouped(tenths / 10), tenths % 10, units[unit])
}

#[cfg(test)]
mod tests {
    use super::{columns, fitted, grouped, human, share_of, short};

    /// Sums are longer than numbers of 64 bits.
    const SUM: u128 = 6 * (u64::MAX / 4) as u128;

    #[test]
    fn texts_are_cut_in_the_middle_to_fit() {
        for (width, text) in [(7, "abcdefg"), (6, "abc…fg"), (5, "ab…fg"), (3, "a…g"), (2, "a…"), (1, "…")]
        {
            assert_eq!(fitted("abcdefg", width), text);
        }
        assert_eq!(fitted("層層層層", 6), "層…層");
        assert_eq!(
            ["model.layers.1.q", "model.layers.12345.q"].map(|name| fitted(name, 13)),
            ["model.…rs.1.q", "model…12345.q"]
        );
    }

    #[test]
    fn only_nothing_is_no_percent_and_only_all_is_a_hundred() {
        let shares =
            [(0_u64, 9_u64), (1, 1_000_000), (1, 8), (999_999, 1_000_000), (7, 7), (0, 0), (1, 6), (5, 6)];
        let texts = ["0 %", "<0.01 %", "12.50 %", "99.99 %", "100 %", "0 %", "16.67 %", "83.33 %"];
        assert_eq!(shares.map(|(part, all)| share_of(part, all)), texts);
    }

    #[test]
    fn sizes_have_a_unit_and_one_digit_after_the_point() {
        let sizes = [0, 999, 1000, 1049, 1050, 702_428, 999_949, 999_950, 15_500_000_000, SUM].map(human);
        let texts = [
            "0 B", "999 B", "1.0 KB", "1.0 KB", "1.1 KB", "702.4 KB", "999.9 KB", "1.0 MB", "15.5 GB",
            "27.7 EB",
        ];
        assert_eq!(sizes, texts);
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
    fn large_numbers_are_grouped() {
        let numbers = [0, 7, 999, 1000, 12_345, 123_456, SUM].map(grouped);
        let texts = ["0", "7", "999", "1,000", "12,345", "123,456", "27,670,116,110,564,327,418"];
        assert_eq!(numbers, texts);
    }

    #[test]
    fn columns_are_those_of_a_terminal() {
        assert_eq!(["abc", "é", "層", "\u{1F600}", "m\u{1b}[34m█\u{1b}[0mm"].map(columns), [3, 1, 2, 2, 3]);
    }
}
