//! Runs the conformance vectors on the device: each file is validated by the code that opens models, and
//! the verdict is compared with the one in `tests/vectors/manifest.json`.
//!
//! The manifest is read line by line: after the line `"vectors":[` each line is a vector, up to the line
//! `]}`. The files are concatenated in a pack, in the manifest's order; those of more than [`LONGEST`]
//! bytes are left out.

mod expectation;
mod failure;
mod judge;
mod lines;
mod outcome;
mod tensors;

pub use failure::{Failure, File};
pub use outcome::{Difference, Outcome, Totals, Verdict};

use embedded_safetensors::{ReadAt, io::FileLen, validate::SortSlot};
use expectation::Expectation;
use judge::Part;
use lines::Lines;

use crate::report::{Event, Sink};

/// The largest file in the pack, in bytes.
pub const LONGEST: u64 = 65_536;

/// The memory for all vectors, besides the stack.
///
/// *Memory*: 5,056 bytes.
pub struct Memory {
    line: [u8; 4096],
    work: Work,
}

/// The memory for one file.
struct Work {
    window: [u8; 256],
    slots: [SortSlot; 8],
    text: [u8; 512],
}

impl Memory {
    /// Creates memory filled with zeros.
    pub const fn new() -> Self {
        let work = Work { window: [0; 256], slots: [SortSlot::EMPTY; 8], text: [0; 512] };
        Self { line: [0; 4096], work }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

/// Validates every vector, reports each, and reports the totals.
///
/// # Errors
/// A storage fails, or contains something else than a manifest and its pack: then vectors that were not
/// reported are untested. After all reports, [`Failure::Differs`] if any verdict differs from the manifest,
/// or if there were none.
pub fn run<M, P>(
    manifest: M,
    pack: P,
    memory: &mut Memory,
    sink: &mut impl Sink,
) -> Result<Totals, Failure<M::Error>>
where
    M: ReadAt,
    P: ReadAt<Error = M::Error>,
{
    let Memory { line, work } = memory;
    let mut lines = Lines::new(manifest, line);
    lines.check_beginning(b'{')?;
    lines.skip_to(b"\"vectors\":[")?;
    let mut run = Run { pack, at: 0, totals: Totals::default(), work };
    loop {
        let (line, number) = lines.next_line()?;
        if line == b"]}" {
            break;
        }
        let expectation = Expectation::decode(line).map_err(|reason| Failure::Line { number, reason })?;
        run.take(&expectation, sink)?;
    }
    run.end(sink)
}

/// A pass through the pack.
struct Run<'m, P> {
    pack: P,
    /// The offset of the next file.
    at: u64,
    totals: Totals,
    work: &'m mut Work,
}

impl<P: ReadAt> Run<'_, P> {
    fn take(&mut self, expectation: &Expectation<'_>, sink: &mut impl Sink) -> Result<(), Failure<P::Error>> {
        let outcome = match expectation.length() {
            length @ ..=LONGEST => self.judge(expectation, length)?,
            length => Outcome::LeftOut { length },
        };
        self.totals.count(&outcome);
        sink.event(&Event::Vector { id: expectation.id(), outcome });
        Ok(())
    }

    fn judge<'e>(
        &mut self,
        expectation: &Expectation<'e>,
        length: u64,
    ) -> Result<Outcome<'e>, Failure<P::Error>> {
        let start = self.at;
        self.at += length;
        match self.pack.file_len().map_err(|error| Failure::storage(File::Pack, start, error))? {
            FileLen::Exactly(end) | FileLen::AtMost(end) if end < self.at => {
                Err(Failure::Ends { file: File::Pack, at: end })
            }
            _ => judge::judge(&mut Part::new(&mut self.pack, start, length), expectation, self.work),
        }
    }

    /// Reports the totals. A pack with more bytes is not the manifest's.
    fn end(mut self, sink: &mut impl Sink) -> Result<Totals, Failure<P::Error>> {
        let len = self.pack.file_len().map_err(|error| Failure::storage(File::Pack, self.at, error))?;
        if matches!(len, FileLen::Exactly(len) if len > self.at) {
            return Err(Failure::Surplus { at: self.at });
        }
        sink.event(&Event::Vectors(self.totals));
        match self.totals {
            Totals { differing: 0, agreeing: 1.., .. } => Ok(self.totals),
            totals => Err(Failure::Differs(totals)),
        }
    }
}
