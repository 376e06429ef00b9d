//! Collects what a report about an invalid file shows, as long as the file is open.

use super::foreign::seen_in;
use super::header::{Failure, visit};
use super::source::Source;
use crate::args::names::dtype_named;
use crate::error::not_read::NotRead;
use crate::error::{Error, Invalid, Passage};
use crate::text::counted;
use embedded_safetensors::{ErrorKind, header::Event};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

/// Bytes on either side of an error: more than any terminal shows.
const REACH: u64 = 2048;
/// The kept part of a name in bytes: longer than any part that is shown.
const NAME: usize = 4096;
/// The header begins after its length.
const HEADER: u64 = 8;

/// The error of a file that has no positive verdict.
pub fn error_of(file: &Path, source: &mut Source, failure: Failure) -> Error {
    let invalid = match failure {
        Failure::Invalid(error) => describe(source, error),
        Failure::NotRead(reason) => Err(reason),
    };
    match invalid {
        Ok(invalid) => Error::invalid(file, invalid),
        Err(reason) => Error::not_read(file, reason),
    }
}

fn describe(source: &mut Source, error: embedded_safetensors::Error) -> Result<Invalid, NotRead> {
    let passage = passage(source, &error)?;
    let tensor = if passage.is_some() { tensor_at(source, error.at)? } else { None };
    let (hint, seen) = seen_in(source);
    // A stream is read only up to the first byte too many.
    let len = source.len().filter(|_| source.is_file());
    let advice = advice(&error, passage.as_ref(), len);
    source.check_unchanged()?;
    Ok(Invalid { error, tensor, passage, advice, hint, seen })
}

/// What follows the sentence of an error.
fn advice(error: &embedded_safetensors::Error, passage: Option<&Passage>, len: Option<u64>) -> String {
    match error.kind {
        ErrorKind::DtypeUnknown => passage.map_or_else(String::new, |passage| similar_dtype(&passage.after)),
        _ if passage.is_some_and(|passage| passage.after.starts_with(b"\xEF\xBB\xBF")) => {
            "; remove the byte order mark, and subtract its 3 bytes from the length of the header".to_owned()
        }
        ErrorKind::DataTrailing { .. } => len.map_or_else(String::new, |len| {
            format!(" for {}", counted(len.saturating_sub(error.at), "byte"))
        }),
        _ => String::new(),
    }
}

/// A question about the dtype that other programs call so.
fn similar_dtype(token: &[u8]) -> String {
    let name = token.iter().skip(1).take_while(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(byte));
    let name: String = name.map(|byte| char::from(*byte)).collect();
    let found = dtype_named(&name, |_| true);
    found.map_or_else(|_| String::new(), |dtype| format!("; did you mean {:?}?", dtype.name()))
}

/// The header's text around an error. Errors of the container and of the data have no position in it.
fn passage(source: &mut Source, error: &embedded_safetensors::Error) -> io::Result<Option<Passage>> {
    let is_in_text =
        |kind: ErrorKind| !["container.", "data."].iter().any(|area| kind.code().starts_with(area));
    if !is_in_text(error.kind) {
        return Ok(None);
    }
    let end = source.header_end()?;
    if end == HEADER {
        return Ok(None);
    }
    let from = error.at.saturating_sub(REACH).max(HEADER);
    let to = error.at.saturating_add(REACH).min(end);
    let (before, after) = (source.read_range(from..error.at)?, source.read_range(error.at..to)?);
    Ok(Some(Passage { before, after, is_cut: (from > HEADER, to < end) }))
}

/// The name of the tensor whose entry contains byte `at`. An entry extends from the name's opening quote to
/// the closing brace.
fn tensor_at(source: &mut Source, at: u64) -> Result<Option<String>, NotRead> {
    // An entry that is open at the end is the one.
    let (mut name, mut in_entry) = (Vec::new(), false);
    let seen = visit(source, |event, start| {
        match event {
            Event::Tensor if start > at => return ControlFlow::Break(()),
            Event::TensorEnd if start >= at => return ControlFlow::Break(()),
            Event::Name(piece) => name.extend(piece.as_bytes().iter().take(NAME.saturating_sub(name.len()))),
            Event::Tensor => in_entry = true,
            Event::Metadata | Event::TensorEnd => {
                in_entry = false;
                name.clear();
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    match seen {
        Err(Failure::NotRead(reason)) => Err(reason),
        // In an entry that the error cuts off, the search ends where the header does.
        Ok(()) | Err(Failure::Invalid(_)) => {
            // Without a character cut at its end.
            let name = name.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            Ok(in_entry.then(|| name.to_owned()))
        }
    }
}
