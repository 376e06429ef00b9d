//! Passes over a header, one buffer at a time.

use crate::error::not_read::Failure;
use crate::input::source::{BUFFER, Source};
use embedded_safetensors::header::{Event, HeaderParser};
use std::ops::ControlFlow;

/// Passes every event of the header to `see` with its byte offset. The source may be read in between.
pub fn visit<E: From<Failure>>(
    source: &mut Source,
    mut see: impl FnMut(&Event<'_>, u64, &mut Source) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    // A file too short for a length is short.
    let end = source.header_end().unwrap_or(0).clamp(8, BUFFER as u64);
    let mut buffer = vec![0; usize::try_from(end).unwrap_or(BUFFER)];
    let (mut parser, mut position) = (HeaderParser::new(), 0);
    loop {
        let mut input = source.read_at(position, &mut buffer).map_err(Failure::from)?;
        position += input.len() as u64;
        if input.is_empty() {
            return parser.end_of_input().map_err(|error| Failure::from(error).into());
        }
        loop {
            let event = parser.next(&mut input).map_err(Failure::from)?;
            match event {
                Event::NeedInput => break,
                Event::HeaderEnd => return Ok(()),
                _ if see(&event, parser.event_start(), source)?.is_break() => return Ok(()),
                _ => {}
            }
        }
    }
}
