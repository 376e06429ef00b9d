//! Passes over a header: the file from its beginning, a buffer at a time.

use crate::failure::{Failure, NotRead};
use crate::source::{BUFFER, Source};
use embedded_safetensors::{
    Error,
    error::Blame,
    header::{Entry, Event, HeaderParser},
    validate::Progress,
};
use std::io;
use std::ops::ControlFlow;

/// One buffer that moves along the file.
struct Pass {
    buffer: Vec<u8>,
    position: u64,
}

impl Pass {
    fn new() -> Self {
        Self { buffer: vec![0; BUFFER], position: 0 }
    }

    /// The bytes that follow; none at the end of the file.
    fn next(&mut self, source: &mut Source) -> io::Result<&[u8]> {
        let piece = source.read_at(self.position, &mut self.buffer)?;
        self.position += piece.len() as u64;
        Ok(piece)
    }
}

/// Shows every event of the header to `see`, together with the byte where it began. The source may
/// be read in between.
pub fn visit<E: From<Failure>>(
    source: &mut Source,
    mut see: impl FnMut(&Event<'_>, u64, &mut Source) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let mut pass = Pass::new();
    let mut parser = HeaderParser::new();
    loop {
        let mut input = pass.next(source).map_err(Failure::from)?;
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

/// What a header in memory is made of.
pub enum Part<'e, 'h> {
    /// A tensor in the usual spelling, seen all at once.
    Tensor(&'e Entry<'h>),
    /// Of all else the events.
    Event(&'e Event<'h>),
}

/// Shows all of a header that is held, fast.
pub fn each_entry<'h>(header: &'h [u8], mut see: impl FnMut(Part<'_, 'h>)) -> Result<(), Error> {
    let (mut parser, mut input) = (HeaderParser::new(), header);
    loop {
        while let Some(entry) = parser.next_usual(&mut input) {
            see(Part::Tensor(&entry));
        }
        match parser.next(&mut input)? {
            Event::NeedInput => return parser.end_of_input(),
            Event::HeaderEnd => return Ok(()),
            event => see(Part::Event(&event)),
        }
    }
}

/// Feeds a check of the core until it has its verdict. Once a header has `passed` from end to end, it can
/// only fail for what takes more than one pass to see; anything else means that the file changed.
pub fn feed(
    source: &mut Source,
    mut passed: bool,
    mut push: impl FnMut(&mut &[u8]) -> Result<Progress, Error>,
) -> Result<(), Failure> {
    let mut pass = Pass::new();
    loop {
        let mut input = pass.next(source)?;
        let at_end = input.is_empty();
        match push(&mut input) {
            Ok(Progress::Done) => return Ok(()),
            Ok(Progress::NeedInput) if at_end => return Err(NotRead::changed().into()),
            Ok(Progress::NeedInput) => {}
            Ok(Progress::Rewind) => {
                passed = true;
                pass.position = 0;
            }
            Err(error) => return Err(classify(error, passed)),
        }
    }
}

/// The faults of a file, by their codes, that can take more than one pass to see.
const SHOW_LATE: [&str; 6] =
    ["layout.hole", "layout.overlap", "data.short", "data.trailing", "name.duplicate", "metadata.duplicate"];

fn classify(error: Error, passed: bool) -> Failure {
    let shows_late = SHOW_LATE.contains(&error.kind.code());
    match error.kind.blame() {
        Blame::Limit => NotRead::because(error.kind.to_string()).into(),
        Blame::File if shows_late || !passed => error.into(),
        Blame::File | Blame::Usage => NotRead::changed().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::SHOW_LATE;

    /// The faults that show in the first pass: whole areas, or single codes.
    const SHOW_EARLY: [&str; 13] = [
        "container.",
        "text.",
        "json.",
        "header.",
        "entry.",
        "dtype.",
        "shape.",
        "offsets.",
        "tensor.",
        "metadata.type",
        "metadata.value",
        "metadata.twice",
        "layout.reversed",
    ];

    /// A code that nobody has thought about here would be taken for a file that changed.
    #[test]
    fn every_code_is_known_to_show_early_or_late() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors/manifest.json");
        let manifest = std::fs::read(path).expect("the manifest");
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).expect("JSON");
        let codes: Vec<_> = manifest["codes"].as_object().expect("an object").keys().collect();
        for late in SHOW_LATE {
            assert!(codes.iter().any(|code| *code == late), "{late} is no code");
        }
        let early = |code: &&String| SHOW_EARLY.iter().any(|area| code.starts_with(area));
        let unknown = codes.into_iter().filter(|code| !early(code) && !SHOW_LATE.contains(&code.as_str()));
        assert_eq!(unknown.collect::<Vec<_>>(), [""; 0]);
    }
}
