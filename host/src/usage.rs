//! Errors in the command line.

use crate::complaint::Complaint;
use crate::exit::Exit;
use clap::Error;

/// Prints the error with the usage, or as one JSON object. Help is printed and is not an error.
pub fn end(error: &Error, json: bool) -> Exit {
    if error.use_stderr() && json {
        return Complaint::usage(sentence(&error.to_string())).say(true);
    }
    match (error.print(), error.use_stderr()) {
        (Err(error), _) => Complaint::from(error).say(false),
        (Ok(()), true) => Exit::Failed,
        (Ok(()), false) => Exit::Good,
    }
}

/// The first paragraph, which is the error, on one line.
fn sentence(text: &str) -> String {
    let (mistake, _) = text.split_once("\n\n").unwrap_or((text, ""));
    let words: Vec<&str> = mistake.split_whitespace().collect();
    let line = words.join(" ");
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
    }
}
