//! The blocks of the page, and how they show text of a file.

use crate::text::{fitted, grouped, shown_text};
use std::fmt::Display;

const BLOCKS: &str = include_str!("page.html");

/// The widest name that is shown whole, in columns.
const NAME: usize = 200;

/// Fills a block of the page with values, in the order of its placeholders. Values are escaped, but those of
/// `{!…}`, which are HTML.
pub fn fill(name: &str, values: &[&dyn Display]) -> String {
    let mut blocks = BLOCKS.split("<!-- ").filter_map(|block| block.split_once(" -->\n"));
    let block = blocks.find(|(known, _)| *known == name).map_or("", |(_, block)| block);
    let (mut html, mut values) = (String::new(), values.iter());
    for part in block.trim_end_matches('\n').split_inclusive('}') {
        let (text, placeholder) = part.split_once('{').unwrap_or((part, ""));
        html += text;
        html += &match placeholder.chars().next().and_then(|first| Some((first, values.next()?))) {
            Some(('!', value)) => value.to_string(),
            Some((_, value)) => escaped(&value.to_string()),
            None => String::new(),
        };
    }
    html
}

/// Escapes text for HTML, and its control, invisible and bidirectional characters as on a terminal.
fn escaped(text: &str) -> String {
    let text = shown_text(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

/// A name, in quotes if it begins or ends where nothing is to be seen, and without its middle if it is long.
pub fn label(name: &str) -> String {
    let shown = fitted(&shown_text(name), NAME);
    if name.is_empty() || name.trim() != name { format!("\"{shown}\"") } else { shown }
}

/// The beginning of a long text, and how much is left out, as HTML.
pub fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => fill("cut", &[&&text[..end], &grouped(text.len() as u64)]),
        None => fill("text", &[&text]),
    }
}

#[cfg(test)]
mod tests {
    use super::BLOCKS;
    use base64::{Engine, engine::general_purpose::STANDARD};
    use sha2::{Digest, Sha256};

    /// No other script may run, whatever a browser takes for one. The policy comes before the first text of a
    /// file.
    #[test]
    fn the_policy_allows_only_the_script_of_the_page() {
        let hash = STANDARD.encode(Sha256::digest(super::super::SCRIPT));
        let policy = format!(
            "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; \
             style-src 'unsafe-inline'; script-src 'sha256-{hash}'\">\n"
        );
        let (head, rest) = BLOCKS.split_once("{name}").expect("a title");
        assert!(head.contains(&policy), "{policy}");
        assert!(rest.matches("<script").count() == 1 && rest.contains("<script>{!script}</script>"));
    }
}
