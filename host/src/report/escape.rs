//! Text in HTML.

use crate::text::{fitted, shown_text};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Escapes text from a file: for HTML, and its control, invisible and bidirectional characters as on a
/// terminal.
pub fn escaped(text: &str) -> String {
    let mut html = String::new();
    for character in shown_text(text).chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
    html
}

/// The widest name that is shown whole, in columns.
const NAME: usize = 200;

/// A name, in quotes if it begins or ends where nothing is to be seen, and without its middle if it is long.
pub fn label(name: &str) -> String {
    match name {
        _ if name.is_empty() || name.trim() != name => {
            format!("&quot;{}&quot;", escaped(&fitted(&shown_text(name), NAME)))
        }
        _ => escaped(&fitted(&shown_text(name), NAME)),
    }
}

/// The beginning of a long text, and how much is left out.
pub fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => {
            let mut html = escaped(&text[..end]);
            // Writing to a string cannot fail.
            let _ = write!(
                html,
                "<span class=dim>… {} bytes in all</span>",
                crate::text::grouped(text.len() as u64)
            );
            html
        }
        None => escaped(text),
    }
}

/// The hash by which a policy allows a script.
pub fn script_hash(script: &str) -> String {
    base64(&Sha256::digest(script.as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = (word >> (18 - 6 * place) & 63) as usize;
            text.push(if place <= chunk.len() { char::from(DIGITS[digit]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{base64, beginning, escaped, label};

    #[test]
    fn nothing_from_a_file_is_markup() {
        let text = escaped("<script>alert('\"&\u{1b}\u{202e}\u{0}é");
        assert_eq!(text, "&lt;script&gt;alert(&#39;&quot;&amp;\\u{1b}\\u{202e}\\u{0}é");
    }

    #[test]
    fn long_texts_say_how_long_they_are() {
        assert_eq!(beginning("<a>", 3), "&lt;a&gt;");
        assert_eq!(beginning("<aé>", 2), "&lt;a<span class=dim>… 5 bytes in all</span>");
    }

    #[test]
    fn names_are_seen_and_short() {
        assert_eq!([label(""), label("<a>")], ["&quot;&quot;", "&lt;a&gt;"]);
        assert_eq!(label(" sp"), "&quot; sp&quot;");
        let long = label(&"n".repeat(4000));
        assert_eq!(long.chars().count(), 200);
        assert!(long.starts_with("nnn") && long.contains("n…n") && long.ends_with("nnn"));
    }

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }
}
