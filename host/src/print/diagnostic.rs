//! Shows errors: the only place that does.

use super::excerpt::excerpt;
use crate::error::Error;
use crate::exit::Exit;
use crate::json;
use crate::output::stdout::{cannot_write, complain};
use crate::text::terminal::Stream;
use std::io;

/// Prints an error: to standard error, or as JSON to standard output. Returns its exit code.
pub fn say(error: &Error, json: bool) -> Exit {
    match error.of_output() {
        Some(error) => return cannot_write(error),
        // If this write fails, the exit code still reports the error.
        None if json => drop(json::print(&mut io::stdout(), error)),
        None => complain(painted(error, Stream::Err)),
    }
    error.exit()
}

/// An error as text in colours for a standard stream.
pub fn painted(error: &Error, to: Stream) -> String {
    let sentence = error.sentence();
    // `error[CODE]`, or a sentence without a code.
    let code = sentence.find(']').filter(|_| sentence.starts_with("error[")).map_or(0, |end| end + 1);
    let (code, rest) = sentence.split_at(code);
    let code = if code.is_empty() { String::new() } else { to.bad(code) };
    let passage = passage(error, to.columns().unwrap_or(usize::MAX), |carets| to.bad(carets));
    format!("{}: {code}{rest}{passage}", error.place())
}

/// An error as text, with the passage of the header that it is about.
pub fn line(error: &Error, columns: usize) -> String {
    format!("{}: {}", error.place(), sentence(error, columns))
}

/// The same without the file.
pub fn sentence(error: &Error, columns: usize) -> String {
    error.sentence() + &passage(error, columns, str::to_owned)
}

fn passage(error: &Error, columns: usize, paint: impl Fn(&str) -> String) -> String {
    let shown = error.as_invalid().filter(|invalid| invalid.hint.is_none());
    let shown = shown.and_then(|invalid| Some((invalid.passage.as_ref()?, invalid.error.kind)));
    shown.map_or(String::new(), |(passage, kind)| format!("\n{}", excerpt(passage, kind, columns, paint)))
}
