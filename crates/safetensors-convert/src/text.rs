//! Makes text from a file safe for a terminal.

use std::borrow::Cow;
use unicode_width::UnicodeWidthChar;

/// The largest number of characters of a name that is printed.
const SHOWN: usize = 80;

/// Returns a character as it is shown: unchanged if it is visible and has no other effect; escaped if it is
/// invisible, controls the terminal, or changes the text's direction.
pub fn shown(character: char) -> Cow<'static, str> {
    match character {
        '\n' => "\\n".into(),
        '\r' => "\\r".into(),
        '\t' => "\\t".into(),
        _ if is_plain(character) => String::from(character).into(),
        _ => format!("\\u{{{:x}}}", u32::from(character)).into(),
    }
}

/// Whether a character is shown unchanged.
pub fn is_plain(character: char) -> bool {
    character.width().is_some_and(|columns| columns > 0) && !is_unseen(character)
}

/// Whether a character has a width in the tables, but is invisible or moves its neighbours.
fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{AD}'
            | '\u{61C}'
            | '\u{115F}'..='\u{1160}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

/// Returns a text as it is shown, without quotes.
pub fn shown_text(text: &str) -> String {
    text.chars().map(shown).collect()
}

/// Returns a name in quotes, shortened if it is extremely long.
pub fn quoted(name: &str) -> String {
    quoted_up_to(name, SHOWN)
}

/// Returns a name in quotes, however long it is.
pub fn quoted_whole(name: &str) -> String {
    quoted_up_to(name, usize::MAX)
}

fn quoted_up_to(name: &str, most: usize) -> String {
    let mut quoted = String::from("\"");
    for (count, character) in name.chars().enumerate() {
        if count == most {
            quoted.push('…');
            break;
        }
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ => quoted.push_str(&shown(character)),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::{quoted, shown_text};

    #[test]
    fn terminal_controls_are_escaped() {
        for (raw, safe) in [
            ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
            ("\u{202e}fed", "\\u{202e}fed"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("a\u{200b}b\u{301}", "a\\u{200b}b\\u{301}"),
            ("\u{2028}\u{ad}\n\t\r\0\u{7f}", "\\u{2028}\\u{ad}\\n\\t\\r\\u{0}\\u{7f}"),
            ("é 層 \u{1F600}", "é 層 \u{1F600}"),
        ] {
            assert_eq!(shown_text(raw), safe);
        }
    }

    #[test]
    fn names_are_quoted_and_shortened() {
        assert_eq!(quoted("a\"b\\c"), "\"a\\\"b\\\\c\"");
        assert_eq!(quoted(&"x".repeat(80)), format!("\"{}\"", "x".repeat(80)));
        assert_eq!(quoted(&"x".repeat(81)), format!("\"{}…\"", "x".repeat(80)));
    }
}
