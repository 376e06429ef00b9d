//! What the published text of the format rejects in files that the reference accepts.

use crate::error::not_read::Failure;
use crate::input::header::visit;
use crate::input::source::Source;
use embedded_safetensors::header::Event;
use std::ops::ControlFlow;

/// The first byte of the header.
const START: u64 = 8;
/// The number of bytes read at once from the end of the header.
const PIECE: u64 = 4096;

/// A violation of the text in a file that is valid otherwise.
pub struct Violation {
    /// Its stable code.
    pub code: &'static str,
    /// Its byte in the file.
    pub at: u64,
    pub message: &'static str,
}

impl Violation {
    /// Finds the first violation in a valid file.
    pub fn find(source: &mut Source) -> Result<Option<Self>, Failure> {
        if source.read_range(START..START + 1)? != b"{" {
            let message = "the header does not begin with {";
            return Ok(Some(Self { code: "published.start", at: START, message }));
        }
        if let Some(at) = null_metadata(source)? {
            let message = "the metadata is null and not an object of strings";
            return Ok(Some(Self { code: "published.metadata", at, message }));
        }
        let message = "the header is padded with other characters than spaces";
        let violation = |at| Self { code: "published.padding", at, message };
        Ok(padding(source)?.map(violation))
    }
}

fn null_metadata(source: &mut Source) -> Result<Option<u64>, Failure> {
    let mut null = None;
    visit(source, |event, at, _| {
        null = matches!(event, Event::MetadataNull).then_some(at);
        Ok::<_, Failure>(if null.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(null)
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
