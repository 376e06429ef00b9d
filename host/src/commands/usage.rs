//! Errors in the command line.

use crate::args::remote::hide_in_text;
use crate::error::Error;
use crate::exit::Exit;
use crate::print::diagnostic::say;
use std::ffi::OsString;
use std::io::{self, Write};

/// Prints the error in these words with the usage, or as one JSON object. Help is printed and is no error.
pub fn end(error: &clap::Error, words: &[OsString]) -> Exit {
    if !error.use_stderr() {
        return error.print().map_or_else(|error| say(&error.into(), false), |()| Exit::Good);
    }
    let text = hide_in_text(words, error.to_string());
    if words.iter().any(|word| word == "--json") {
        return say(&Error::usage(sentence(&text)), true);
    }
    match io::stderr().write_all(text.as_bytes()) {
        Err(error) => say(&error.into(), false),
        Ok(()) => Exit::Failed,
    }
}

/// The first paragraph, which is the error, and the tips on one line.
fn sentence(text: &str) -> String {
    let (mistake, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let words: Vec<&str> = mistake.split_whitespace().collect();
    let tips = rest.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    let line = tips.fold(words.join(" "), |line, tip| format!("{line}; {tip}"));
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn the_mistake_is_told_in_one_line() {
        let text =
            "error: these were not provided:\n  <FILE>...\n\nUsage: safetensors check <FILE>...\n\nFor more";
        assert_eq!(sentence(text), "these were not provided: <FILE>...");
        assert_eq!(sentence("error: no"), "no");
        assert_eq!(sentence("error: no --x\n\n  tip: use '--y'\n\nUsage: a"), "no --x; use '--y'");
    }
}
