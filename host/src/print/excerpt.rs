//! The header's text around an error, with carets below it.

use crate::error::Passage;
use crate::text::{columns as columns_of, shown};
use embedded_safetensors::ErrorKind;
use std::borrow::Cow;

/// The maximum width of the text in columns, without the two ellipses.
const WIDTH: usize = 96;
const INDENT: &str = "    ";
/// The maximum share of the columns before the error if enough text follows it.
const LEAD: (usize, usize) = (5, 12);

/// Two lines of at most so many columns: a part of the header, and painted carets below the token with the
/// error.
pub fn excerpt(passage: &Passage, kind: ErrorKind, columns: usize, paint: impl Fn(&str) -> String) -> String {
    let Passage { before, after, is_cut: (is_begun, goes_on) } = passage;
    let (before, after) = (cells(skip_tail(before, *is_begun)), cells(after));
    let width = columns.saturating_sub(INDENT.len() + 2).clamp(1, WIDTH);
    let lead_room = width - width_of(&after).min(width - width * LEAD.0 / LEAD.1);
    let lead = &before[before.len() - fitting(before.iter().rev(), lead_room)..];
    let rest = &after[..fitting(after.iter(), width - width_of(lead))];

    let mark = |cut| if cut { "…" } else { "" };
    let lead_mark = mark(*is_begun || lead.len() < before.len());
    let rest_mark = mark(*goes_on || rest.len() < after.len());
    let text: String = lead.iter().chain(rest).map(|(text, _)| &**text).collect();
    let token = rest.iter().take_while(|(_, at)| *at < token_len(kind, &passage.after)).count();
    let carets = paint(&"^".repeat(width_of(&rest[..token]).max(1)));
    let indent = " ".repeat(width_of(lead) + columns_of(lead_mark));
    format!("{INDENT}{lead_mark}{text}{rest_mark}\n{INDENT}{indent}{carets}")
}

/// One character as it is shown, or one invalid byte, and its offset.
type Cell = (Cow<'static, str>, usize);

fn cells(bytes: &[u8]) -> Vec<Cell> {
    let (mut cells, mut at) = (Vec::new(), 0);
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            cells.push((shown(character), at));
            at += character.len_utf8();
        }
        for byte in chunk.invalid() {
            cells.push((format!("\\x{byte:02x}").into(), at));
            at += 1;
        }
    }
    cells
}

fn width_of(cells: &[Cell]) -> usize {
    cells.iter().map(|(text, _)| columns_of(text)).sum()
}

/// The number of cells that fit into `room` columns.
fn fitting<'c>(cells: impl Iterator<Item = &'c Cell>, room: usize) -> usize {
    let ends = cells.scan(0, |used, (text, _)| {
        *used += columns_of(text);
        Some(*used)
    });
    ends.take_while(|used| *used <= room).count()
}

/// The length of the token that begins at the error: a complete string or number, otherwise one byte.
fn token_len(kind: ErrorKind, bytes: &[u8]) -> usize {
    match (kind, bytes.first()) {
        (ErrorKind::Surrogate, _) => r"\uD800".len(),
        (ErrorKind::Escape(_) | ErrorKind::ControlCharacter(_) | ErrorKind::Utf8, _) => 1,
        (_, Some(b'"')) => string_len(bytes),
        (_, Some(b'-' | b'0'..=b'9')) => {
            bytes.iter().take_while(|byte| b"+-.eE0123456789".contains(byte)).count()
        }
        _ => 1,
    }
}

fn string_len(bytes: &[u8]) -> usize {
    let mut escaped = true; // the opening quote does not close
    let end = bytes.iter().position(|&byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    });
    end.map_or(bytes.len(), |end| end + 1)
}

/// Skips the rest of a character that the start of the passage cuts.
fn skip_tail(bytes: &[u8], is_cut: bool) -> &[u8] {
    let is_tail = |byte: &&u8| matches!(byte, 0x80..=0xBF);
    let tail = if is_cut { bytes.iter().take(3).take_while(is_tail).count() } else { 0 };
    &bytes[tail..]
}
