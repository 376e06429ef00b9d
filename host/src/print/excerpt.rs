//! The header's text around an error, with carets below it.

use crate::error::Passage;
use crate::text::{columns, shown};
use embedded_safetensors::ErrorKind;
use std::borrow::Cow;

/// The maximum width of the text in columns, without the two ellipses.
const WIDTH: usize = 96;
const INDENT: &str = "    ";
/// The maximum share of the columns before the error if enough text follows it.
const LEAD: (usize, usize) = (5, 12);

/// Two lines: a part of the header, and carets below the token with the error.
pub struct Excerpt {
    text: String,
    /// The number of columns before the first caret.
    lead: usize,
    carets: usize,
}

impl Excerpt {
    /// The text around an error, on lines of at most so many columns.
    pub fn of(passage: &Passage, kind: ErrorKind, columns: usize) -> Self {
        let Passage { before, after, is_cut: (is_begun, goes_on) } = passage;
        let token = token_len(kind, after);
        let width = columns.saturating_sub(INDENT.len() + 2).clamp(1, WIDTH);
        Self::new(
            &Side::new(skip_tail(before, *is_begun), *is_begun),
            &Side::new(after, *goes_on),
            token,
            width,
        )
    }

    /// Both lines, with painted carets.
    pub fn shown(&self, paint: impl Fn(&str) -> String) -> String {
        let (lead, carets) = (" ".repeat(self.lead), paint(&"^".repeat(self.carets)));
        format!("{INDENT}{}\n{INDENT}{lead}{carets}", self.text)
    }

    fn new(before: &Side, after: &Side, token: usize, width: usize) -> Self {
        let lead_room = width - after.width().min(width - width * LEAD.0 / LEAD.1);
        let (lead, lead_cut) = before.fit(before.cells.iter().rev(), lead_room);
        let lead_width: usize = lead.iter().map(|cell| cell.columns()).sum();
        let (rest, rest_cut) = after.fit(after.cells.iter(), width - lead_width);

        let mark = |cut| if cut { "…" } else { "" };
        let mut text = String::from(mark(lead_cut));
        text.extend(lead.iter().rev().chain(&rest).map(|cell| &*cell.text));
        text.push_str(mark(rest_cut));
        let under: usize = rest.iter().filter(|cell| cell.at < token).map(|cell| cell.columns()).sum();
        Self { text, lead: lead_width + usize::from(lead_cut), carets: under.max(1) }
    }
}

/// One character as it is shown, or one invalid byte.
struct Cell {
    text: Cow<'static, str>,
    /// The offset of its first byte from the start of its side.
    at: usize,
}

impl Cell {
    fn columns(&self) -> usize {
        columns(&self.text)
    }
}

/// The text on one side of the error's first byte.
struct Side {
    cells: Vec<Cell>,
    /// The header has more text than was read.
    goes_on: bool,
}

impl Side {
    fn new(bytes: &[u8], goes_on: bool) -> Self {
        let mut cells = Vec::new();
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            for character in chunk.valid().chars() {
                cells.push(Cell { text: shown(character), at });
                at += character.len_utf8();
            }
            for byte in chunk.invalid() {
                cells.push(Cell { text: format!("\\x{byte:02x}").into(), at });
                at += 1;
            }
        }
        Self { cells, goes_on }
    }

    fn width(&self) -> usize {
        self.cells.iter().map(Cell::columns).sum()
    }

    /// The cells that fit into `room` columns, and whether that cuts the text.
    fn fit<'c>(&self, cells: impl Iterator<Item = &'c Cell>, room: usize) -> (Vec<&'c Cell>, bool) {
        let mut used = 0;
        let fitting: Vec<_> = cells
            .take_while(|cell| {
                used += cell.columns();
                used <= room
            })
            .collect();
        let cut = self.goes_on || fitting.len() < self.cells.len();
        (fitting, cut)
    }
}

/// The length of the token that begins at the error: a complete string or number, otherwise one byte.
fn token_len(kind: ErrorKind, bytes: &[u8]) -> usize {
    match (kind, bytes.first()) {
        (ErrorKind::Surrogate, _) => r"\uD800".len(),
        (ErrorKind::Escape(_) | ErrorKind::ControlCharacter(_) | ErrorKind::Utf8, _) => 1,
        (_, Some(b'"')) => string_len(bytes),
        (_, Some(b'-' | b'0'..=b'9')) => bytes.iter().take_while(|byte| is_of_number(**byte)).count(),
        _ => 1,
    }
}

fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')
}

fn string_len(bytes: &[u8]) -> usize {
    let mut escaped = true; // the opening quote does not close
    for (index, &byte) in bytes.iter().enumerate() {
        match byte {
            b'"' if !escaped => return index + 1,
            b'\\' if !escaped => escaped = true,
            _ => escaped = false,
        }
    }
    bytes.len()
}

/// Skips the rest of a character that the start of the passage cuts.
fn skip_tail(bytes: &[u8], is_cut: bool) -> &[u8] {
    let is_tail = |byte: &&u8| matches!(byte, 0x80..=0xBF);
    let tail = if is_cut { bytes.iter().take(3).take_while(is_tail).count() } else { 0 };
    &bytes[tail..]
}
