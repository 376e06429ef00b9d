//! Shows errors: the only place that does.

use super::excerpt::Excerpt;
use crate::error::Error;
use crate::exit::Exit;
use crate::json;
use crate::output::stdout::{cannot_write, complain};
use crate::text::terminal::terminal_width;
use std::io;

/// Prints an error: to standard error, or as JSON to standard output. Returns its exit code.
pub fn say(error: &Error, json: bool) -> Exit {
    match error.of_output() {
        Some(error) => return cannot_write(error),
        // If this write fails, the exit code still reports the error.
        None if json => drop(json::print(&mut io::stdout(), error)),
        None => complain(text(error)),
    }
    error.exit()
}

/// An error as text for standard output or standard error.
pub fn text(error: &Error) -> String {
    line(error, terminal_width().unwrap_or(usize::MAX))
}

/// An error as text, with the passage of the header that it is about, at most so many columns wide.
pub fn line(error: &Error, columns: usize) -> String {
    error.line() + &passage(error, columns)
}

/// The same without the file.
pub fn sentence(error: &Error, columns: usize) -> String {
    error.sentence() + &passage(error, columns)
}

fn passage(error: &Error, columns: usize) -> String {
    let shown = error.as_invalid().filter(|invalid| invalid.hint.is_none());
    let excerpt =
        shown.and_then(|invalid| Some(Excerpt::of(invalid.passage.as_ref()?, invalid.error.kind, columns)));
    excerpt.map_or(String::new(), |excerpt| format!("\n{excerpt}"))
}
