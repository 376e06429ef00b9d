//! Passes over a header: the file from its beginning, a buffer at a time.

use crate::failure::Failure;
use crate::source::{BUFFER, Source};
use embedded_safetensors::header::{Event, HeaderParser};
use std::ops::ControlFlow;

/// Shows every event of the header to `see`, together with the byte where it began. The source may
/// be read in between.
pub fn visit<E: From<Failure>>(
    source: &mut Source,
    see: impl FnMut(&Event<'_>, u64, &mut Source) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    pass(source, |_, _| {}, see)
}

/// The same, but for tensors in the usual spelling, which are passed over.
pub fn visit_metadata<E: From<Failure>>(
    source: &mut Source,
    mut see: impl FnMut(&Event<'_>) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let skip = |parser: &mut HeaderParser, input: &mut &[u8]| while parser.next_usual(input).is_some() {};
    pass(source, skip, |event, _, _| see(event))
}

fn pass<E: From<Failure>>(
    source: &mut Source,
    skip: impl Fn(&mut HeaderParser, &mut &[u8]),
    mut see: impl FnMut(&Event<'_>, u64, &mut Source) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let (mut parser, mut buffer, mut position) = (HeaderParser::new(), vec![0; BUFFER], 0);
    loop {
        let mut input = source.read_at(position, &mut buffer).map_err(Failure::from)?;
        position += input.len() as u64;
        if input.is_empty() {
            return parser.end_of_input().map_err(|error| Failure::from(error).into());
        }
        loop {
            skip(&mut parser, &mut input);
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
