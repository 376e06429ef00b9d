//! Errors in the command line.

use crate::args::remote::hide_in_text;
use crate::error::Error;
use crate::exit::Exit;
use crate::print::diagnostic::say;
use crate::text::terminal::Stream;
use clap::error::{ContextKind, ContextValue};
use std::ffi::OsString;
use std::io::{self, Write};

/// Words of other programs, and what does the same here.
const WORDS: [(&str, &str); 11] = [
    ("download", "`safetensors checkpoint DIR URL` downloads the files of a model"),
    ("list", "`safetensors inspect FILE` lists the tensors"),
    ("merge", "`safetensors pack FILE... -o OUTPUT` puts the tensors of several files into one"),
    ("rename", "`safetensors pack FILE -o OUTPUT --rename OLD=NEW` renames tensors"),
    ("validate", "`safetensors check FILE` validates files"),
    (
        "verify",
        "`safetensors check FILE` validates files, `safetensors hash --verify LIST` compares their sums",
    ),
    ("--metadata", "`safetensors inspect --json FILE` shows all metadata"),
    ("--strip-prefix", "`safetensors pack FILE -o OUTPUT --rename-prefix OLD=` removes a prefix"),
    ("--tensor", "`safetensors cat FILE TENSOR` prints a tensor"),
    ("--tensors", "`safetensors inspect FILE` lists the tensors"),
    ("--names", "`safetensors inspect FILE` lists the tensors"),
];

/// Prints the error in these words with the usage, or as one JSON object. Help is printed and is no error.
pub fn end(mut error: clap::Error, words: &[OsString]) -> Exit {
    if !error.use_stderr() {
        return error.print().map_or_else(|error| say(&error.into(), false), |()| Exit::Good);
    }
    propose(&mut error);
    let text = hide_in_text(words, error.to_string());
    if words.iter().any(|word| word == "--json") {
        return say(&Error::usage(sentence(&text)), true);
    }
    let text = text.replacen("error:", &Stream::Err.bad("error:"), 1);
    let text = text.replacen("  tip:", &format!("  {}", Stream::Err.good("tip:")), 1);
    match io::stderr().write_all(text.as_bytes()) {
        Err(error) => say(&error.into(), false),
        Ok(()) => Exit::Failed,
    }
}

/// Replaces advice that does not help: no command takes an option as a value.
fn propose(error: &mut clap::Error) {
    let unknown = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg].into_iter();
    let unknown = unknown.filter_map(|kind| error.get(kind)).find_map(|value| match value {
        ContextValue::String(word) => Some(word.clone()),
        _ => None,
    });
    error.remove(ContextKind::Suggested);
    let known = |word: &str| WORDS.iter().find(|(known, _)| *known == word);
    let has_similar = error.get(ContextKind::SuggestedArg).is_some();
    if let Some((_, advice)) = unknown.as_deref().and_then(known).filter(|_| !has_similar) {
        // A similar word would mislead.
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![(*advice).into()]));
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
