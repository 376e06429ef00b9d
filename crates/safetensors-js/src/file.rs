//! One file: its header, whose bytes are in memory, and its tensors, whose bytes are not.

use crate::memory::{release, reserve, take};
use core::convert::Infallible;
use embedded_safetensors::index::{Index, IndexMemory, IndexRecord, IndexedTensor};
use embedded_safetensors::io::FileLen;
use embedded_safetensors::slice::{AxisRange, ByteRuns, SlicePlan};
use embedded_safetensors::validate::{DuplicateFinder, Progress, SortSlot};
use embedded_safetensors::{Error, ErrorKind, Model, ReadAt, ReadError, Shape};

/// The longest header from whose length the memory of its index is estimated. More is measured.
const MAX_ESTIMATED: usize = 1 << 24;
/// The fewest bytes of a tensor in a header, and the most bytes of two names that are compared in one pass.
const MIN_ENTRY: usize = 50;
const TEXT: usize = 1 << 19;

/// A tensor, and the shape, the bytes and the elements of a part.
type Selected = (IndexedTensor<'static>, Option<Shape>, [u64; 2]);

/// A valid file.
pub struct File {
    model: Model<Source>,
    pub index: Index<'static>,
    /// The tensor that was selected last.
    current: Option<IndexedTensor<'static>>,
    pub runs: Runs,
}

impl File {
    /// Validates a header, and indexes its tensors. If they are not in the order of their offsets, they are
    /// sorted in the memory of the index, so there is no other table.
    ///
    /// # Errors
    /// The first error of the file; [`ErrorKind::Index`] and [`ErrorKind::SlotCount`] without memory.
    pub fn open(header: &'static [u8], file_len: u64, key: [u64; 2]) -> Result<Self, Error> {
        let len = header.len().min(MAX_ESTIMATED);
        // Of tensors, dimensions and bytes of names, in the order of `IndexPart`: enough for most headers.
        let mut size = [len / 80 + 1, len / 32, len / 2];
        let top = reserve(0);
        let opened = loop {
            let records = take(size[0], IndexRecord::EMPTY);
            let memory = IndexMemory::new(records, take(size[1], 0), take(size[2], 0)).with_key(key);
            let source = Source { bytes: header, start: 0, file_len };
            let opened = Model::open_indexed(source, memory, &mut [0; 1024]).map_err(format_error);
            match opened {
                Err(Error { kind: ErrorKind::Index { part, needed, capacity }, .. })
                    if capacity == size[part as usize] as u64 =>
                {
                    size[part as usize] = usize::try_from(needed).unwrap_or(usize::MAX);
                    release(top);
                }
                Err(error) if !matches!(error.kind, ErrorKind::DuplicateName) => return Err(error),
                opened => break opened,
            }
        };
        find_duplicates(header, key)?; // also keys of the metadata, and the first one of several
        let (model, index) = opened?;
        Ok(Self { model, index, current: None, runs: Runs { all: None, begin: 0, end: 0 } })
    }

    /// Makes a tensor the current one, and selects a part of it: without ranges the entire tensor, which may
    /// have more dimensions than a shape.
    ///
    /// # Errors
    /// As [`TensorReader::slice`](embedded_safetensors::TensorReader::slice); the part does not consist of
    /// whole bytes.
    pub fn select(&mut self, position: usize, ranges: &[AxisRange]) -> Result<Selected, Error> {
        self.current = self.index.nth(position);
        let (tensor, start) = self.current()?;
        if ranges.is_empty() {
            self.runs = Runs { all: None, begin: 0, end: tensor.byte_len() };
            return Ok((tensor, None, [tensor.byte_len(), tensor.elements()]));
        }
        let byte_len = self.model.reader(&tensor)?.slice(ranges)?.byte_len()?;
        let plan = SlicePlan::new(tensor.dtype(), tensor.dims(), ranges).map_err(|kind| kind.at(start))?;
        let all = plan.byte_runs().map_err(|kind| kind.at(start))?;
        self.runs = Runs { all: Some(all), begin: 0, end: 0 };
        Ok((tensor, Some(*plan.shape()), [byte_len, plan.elements()]))
    }

    /// Converts bytes, as if they were the first ones of the current tensor.
    ///
    /// # Errors
    /// The dtype has values that are no `f32`.
    pub fn convert(&mut self, bytes: &'static [u8], values: &mut [f32]) -> Result<(), Error> {
        let (tensor, start) = self.current()?;
        let source = self.model.source_mut();
        (source.start, source.bytes) = (start, bytes);
        let read = self.model.reader(&tensor)?.values().read_exact(values).map_err(format_error);
        self.model.source_mut().bytes = &[]; // JavaScript rewrites them
        read
    }

    /// Returns the current tensor, and its first byte in the file.
    fn current(&self) -> Result<(IndexedTensor<'static>, u64), Error> {
        let start = self.index.summary().data_start;
        let tensor = self.current.ok_or(ErrorKind::NotFound { query: None }.at(start))?;
        Ok((tensor, start + tensor.begin()))
    }
}

/// # Errors
/// The first name, or key of the metadata, that is a duplicate.
fn find_duplicates(header: &[u8], key: [u64; 2]) -> Result<(), Error> {
    let top = reserve(0);
    let slots = take(2 + header.len() / MIN_ENTRY, SortSlot::EMPTY);
    let mut finder = DuplicateFinder::new(key, slots, take((header.len() / 64 + 1).min(TEXT), 0));
    while let Progress::Rewind = finder.push(&mut &*header)? {}
    finder.end_of_input()?;
    release(top);
    Ok(())
}

fn format_error(error: ReadError<Infallible>) -> Error {
    match error {
        ReadError::Format(error) => error,
        ReadError::UnexpectedEof { at } => ErrorKind::Changed.at(at),
    }
}

/// Bytes that stand for those of the file from `start` on.
struct Source {
    bytes: &'static [u8],
    start: u64,
    file_len: u64,
}

impl ReadAt for Source {
    type Error = Infallible;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let from = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let present = self.bytes.get(from..).unwrap_or_default();
        Ok(buffer.iter_mut().zip(present).map(|(to, from)| *to = *from).count())
    }

    fn file_len(&mut self) -> Result<FileLen, Infallible> {
        Ok(FileLen::Exactly(self.file_len))
    }
}

/// The runs of a slice that are still to be read. There are no pointers in it: index.js keeps copies, so that
/// several slices can be read at the same time.
pub struct Runs {
    all: Option<ByteRuns>,
    /// The rest of the run that was begun.
    begin: u64,
    end: u64,
}

impl Runs {
    /// Lists the next runs in the table, each with its begin and its end in the tensor: at most `left` bytes.
    /// Returns how many; 0 at the end of the slice.
    pub fn list(&mut self, table: &mut [[u64; 2]], mut left: u64) -> usize {
        let mut count = 0;
        for row in table {
            if self.begin == self.end {
                let Some(run) = self.all.as_mut().and_then(Iterator::next) else { break };
                (self.begin, self.end) = (run.start, run.end);
            }
            *row = [self.begin, self.end.min(self.begin + left)];
            if row[0] == row[1] {
                break;
            }
            (left, self.begin, count) = (left - (row[1] - row[0]), row[1], count + 1);
        }
        count
    }
}
