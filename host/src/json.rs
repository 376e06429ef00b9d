//! Strings as JSON spells them.

use crate::text::is_plain;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes a piece of a string, without quotes. The piece may end inside a character.
pub fn write_piece(out: &mut impl Write, piece: &[u8]) -> io::Result<()> {
    let mut plain = piece;
    while let Some(index) = plain.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        let (before, special) = plain.split_at(index);
        out.write_all(before)?;
        match special[0] {
            byte @ (b'"' | b'\\') => out.write_all(&[b'\\', byte])?,
            byte => write!(out, "\\u{byte:04x}")?,
        }
        plain = &special[1..];
    }
    out.write_all(plain)
}

/// A whole string with its quotes, for a line that a person may look at: what a terminal should
/// not see raw is escaped here too.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if is_plain(character) => quoted.push(character),
            _ => escape(&mut quoted, character),
        }
    }
    quoted.push('"');
    quoted
}

fn escape(quoted: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        // Writing to a string cannot fail.
        let _ = write!(quoted, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::{quoted, write_piece};

    #[test]
    fn both_spellings_read_back_as_what_they_were() {
        let text: String = ('\0'..='\u{17f}').chain("\u{200b}\u{202e}\u{feff}層\u{1f600}".chars()).collect();
        let mut raw = b"\"".to_vec();
        write_piece(&mut raw, text.as_bytes()).expect("a Vec takes everything");
        raw.push(b'"');
        assert_eq!(serde_json::from_slice::<String>(&raw).expect("JSON"), text);
        assert_eq!(serde_json::from_str::<String>(&quoted(&text)).expect("JSON"), text);
    }

    #[test]
    fn a_terminal_sees_nothing_raw() {
        assert_eq!(quoted("a\u{1b}\u{202e}\u{e0001}\"\\"), r#""a\u001b\u202e\udb40\udc01\"\\""#);
    }
}
