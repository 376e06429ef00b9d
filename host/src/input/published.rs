//! What the published text of the format rejects in files that the reference accepts.

use crate::error::{Error, Fails};
use crate::input::evidence::error_of;
use crate::input::header::{Failure, visit};
use crate::input::source::Source;
use embedded_safetensors::header::Event;
use std::ops::ControlFlow;
use std::path::Path;

/// The first byte of the header.
const START: u64 = 8;
/// The number of bytes read at once from the end of the header.
const PIECE: u64 = 4096;

/// Checks a valid file.
///
/// # Errors
/// The first violation; the file cannot be read.
pub fn check_published(file: &Path, source: &mut Source) -> Result<(), Error> {
    let found = first_violation(source).map_err(|failure| error_of(file, source, failure))?;
    found.map_or(Ok(()), |(code, at, message)| {
        Err(Error::fails(file, Fails { code, at, message: message.to_owned(), value: None }))
    })
}

type Violation = (&'static str, u64, &'static str);

fn first_violation(source: &mut Source) -> Result<Option<Violation>, Failure> {
    if source.read_range(START..START + 1)? != b"{" {
        return Ok(Some(("published.start", START, "the header does not begin with {")));
    }
    let mut null = None;
    visit(source, |event, at| {
        null = matches!(event, Event::MetadataNull).then_some(at);
        null.map_or(ControlFlow::Continue(()), |_| ControlFlow::Break(()))
    })?;
    if let Some(at) = null {
        let message = "the metadata is null and not an object of strings";
        return Ok(Some(("published.metadata", at, message)));
    }
    let message = "the header is padded with other characters than spaces";
    Ok(padding(source)?.map(|at| ("published.padding", at, message)))
}

/// The first byte after the object that is not a space.
fn padding(source: &mut Source) -> Result<Option<u64>, Failure> {
    let (mut end, mut first) = (source.header_end()?, None);
    while end > START {
        let begin = end.saturating_sub(PIECE).max(START);
        for (byte, at) in source.read_range(begin..end)?.into_iter().rev().zip((begin..end).rev()) {
            match byte {
                b' ' => {}
                b'\t' | b'\n' | b'\r' => first = Some(at),
                _ => return Ok(first),
            }
        }
        end = begin;
    }
    Ok(first)
}
