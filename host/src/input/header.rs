//! Passes over a header, one buffer at a time.

use crate::error::not_read::NotRead;
use crate::input::source::{BUFFER, Source};
use embedded_safetensors::header::{Event, HeaderParser};
use embedded_safetensors::{Error, ReadError, error::Class};
use std::io;
use std::ops::ControlFlow;

/// The file is invalid, or it could not be read.
pub enum Failure {
    /// The file was validated and is invalid.
    Invalid(Error),
    /// The file could not be validated.
    NotRead(NotRead),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::NotRead(error.into())
    }
}

impl From<NotRead> for Failure {
    fn from(reason: NotRead) -> Self {
        Self::NotRead(reason)
    }
}

impl From<ReadError<io::Error>> for Failure {
    fn from(error: ReadError<io::Error>) -> Self {
        match error {
            ReadError::Source(error) => error.into(),
            ReadError::UnexpectedEof { .. } => NotRead::changed().into(),
            ReadError::Format(error) => match error.kind.class() {
                Class::File => Self::Invalid(error),
                Class::Limit => NotRead::because(error.kind.to_string()).into(),
                Class::Usage => NotRead::changed().into(),
            },
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Invalid(error)
    }
}

/// Passes every event of the header to `see` with its byte offset, until it breaks.
pub fn visit(
    source: &mut Source,
    mut see: impl FnMut(&Event<'_>, u64) -> ControlFlow<()>,
) -> Result<(), Failure> {
    // A file too short for a length is short.
    let end = source.header_end().unwrap_or(0).clamp(8, BUFFER as u64);
    let mut buffer = vec![0; usize::try_from(end).unwrap_or(BUFFER)];
    let (mut parser, mut position) = (HeaderParser::new(), 0);
    loop {
        let mut input = source.read_at(position, &mut buffer)?;
        position += input.len() as u64;
        if input.is_empty() {
            return Ok(parser.end_of_input()?);
        }
        loop {
            match parser.next(&mut input)? {
                Event::NeedInput => break,
                Event::HeaderEnd => return Ok(()),
                event if see(&event, parser.event_start()).is_break() => return Ok(()),
                _ => {}
            }
        }
    }
}
