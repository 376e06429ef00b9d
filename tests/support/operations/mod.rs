//! All operations on a model in storage, one at a time, while the storage has faults.

use std::fmt::Debug;

use embedded_io::Read;
use embedded_safetensors::{
    Error, Model, ReadAt, ReadError, TensorInfo, TensorReader,
    index::{Index, IndexStorage},
    metadata::MetadataError,
    query::Query,
    reader::{Region, SliceReader, Values},
    slice::AxisRange,
    validate::SortSlot,
};
use serde::Deserialize;

use crate::mock::{Plan, Storage};
use crate::sources::SourceKind;

/// An operation on a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `Model::open`.
    Open,
    /// `Model::open_unordered`, with a slot alone.
    OpenSorting,
    /// `Model::open_indexed`.
    OpenIndexed,
    /// `Model::check_unchanged`.
    CheckUnchanged,
    /// `Model::find`.
    Find,
    /// `Model::find_all`.
    FindAll,
    /// `Model::for_each`.
    ForEach,
    /// `Model::metadata_value`.
    Metadata,
    /// `Model::metadata`.
    AllMetadata,
    /// `Model::metadata_as`.
    MetadataAs,
    /// `Model::metadata_value_as`.
    MetadataValueAs,
    /// `Model::build_index`.
    Index,
    /// `Model::index_size`.
    IndexSize,
    /// `Model::validate_names`, with few slots.
    CheckNames,
    /// `TensorReader::next_chunk`, to the end.
    NextChunk,
    /// `TensorReader::read_to_end`.
    ReadAll,
    /// `TensorReader::read_at`, from the end to the front.
    ReadAt,
    /// `embedded_io::Read`, to the end.
    Read,
    /// `Values::read`, to the end.
    NextValues,
    /// `Values::read_exact`, rounded.
    ReadValues,
    /// `TensorReader::row`, from the last row to the first.
    Row,
    /// `TensorReader::rows`, a row by each `Values::read_exact`.
    Rows,
    /// `SliceReader::next_chunk`, to the end, column by column.
    Slices,
    /// `SliceReader::read_to_end`, column by column.
    WholeSlices,
    /// `SliceReader::values`, by `Values::read` to the end, column by column.
    SlicesAsValues,
    /// `SliceReader::values`, by `Values::read_exact`, rounded, column by column.
    WholeSlicesAsValues,
}

/// The operations that open a model.
pub const OPENING: [Operation; 3] = [Operation::Open, Operation::OpenSorting, Operation::OpenIndexed];

/// The operations that query the header of an open model.
pub const QUERYING: [Operation; 11] = [
    Operation::CheckUnchanged,
    Operation::Find,
    Operation::FindAll,
    Operation::ForEach,
    Operation::Metadata,
    Operation::AllMetadata,
    Operation::MetadataAs,
    Operation::MetadataValueAs,
    Operation::Index,
    Operation::IndexSize,
    Operation::CheckNames,
];

/// The operations that read a tensor.
pub const READING: [Operation; 12] = [
    Operation::NextChunk,
    Operation::ReadAll,
    Operation::ReadAt,
    Operation::Read,
    Operation::NextValues,
    Operation::ReadValues,
    Operation::Row,
    Operation::Rows,
    Operation::Slices,
    Operation::WholeSlices,
    Operation::SlicesAsValues,
    Operation::WholeSlicesAsValues,
];

/// Those of them that read it in slices.
const SLICING: [Operation; 4] =
    [Operation::Slices, Operation::WholeSlices, Operation::SlicesAsValues, Operation::WholeSlicesAsValues];

/// The tensor that is found and read: F32, in rows.
pub const TENSOR: &str = "fc1.weight";

/// The outcome of an operation: its answer as text, or the bytes read.
pub type Outcome = Result<Vec<u8>, AnyReadError>;

/// A [`ReadError`] of any storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyReadError {
    /// [`ReadError::Format`].
    Format(Error),
    /// [`ReadError::Source`].
    Source,
    /// [`ReadError::UnexpectedEof`].
    Eof(u64),
}

impl<E> From<ReadError<E>> for AnyReadError {
    fn from(error: ReadError<E>) -> Self {
        match error {
            ReadError::Format(error) => Self::Format(error),
            ReadError::Source(_) => Self::Source,
            ReadError::UnexpectedEof { at } => Self::Eof(at),
        }
    }
}

/// An operation and its memory.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The operation.
    pub operation: Operation,
    /// Bytes of the window.
    pub window: usize,
    /// How often a call is repeated after a storage error.
    pub retries: usize,
}

impl Setup {
    /// Runs the operation. The storage has no faults while the model is opened and the tensor is found; then
    /// it follows the plan. Opening operations follow it from the start.
    pub fn run<D: SourceKind>(self, storage: &Storage<'_>, plan: Plan) -> Outcome {
        self.run_with(D::source(storage), || storage.set_plan(plan))
    }

    /// The same with any source, which has no faults until `start_faults` is called.
    pub fn run_with<S: ReadAt<Error: embedded_io::Error>>(
        self,
        mut source: S,
        start_faults: impl FnOnce(),
    ) -> Outcome {
        let mut window = vec![0; self.window];
        if OPENING.contains(&self.operation) {
            start_faults();
            return Ok(self.open(&mut source, &mut window)?);
        }
        let mut model = Model::open_unordered(source, &mut [SortSlot::EMPTY; 8], &mut window)?;
        if QUERYING.contains(&self.operation) {
            start_faults();
            return Ok(self.run_query(&mut model, &mut window)?);
        }
        let tensor = model.find(TENSOR, &mut window)?.expect("present in every file");
        if self.operation == Operation::Row {
            start_faults();
            return Ok(self.rows_backwards(&mut model, &tensor)?);
        }
        if SLICING.contains(&self.operation) {
            start_faults();
            return Ok(self.columns(&mut model, &tensor)?);
        }
        let reader = model.reader(&tensor).expect("tensor of this file");
        start_faults();
        Ok(self.read(reader)?)
    }

    /// Checks the header again, so that a model whose header has changed does not count as opened.
    fn open<S: ReadAt>(self, source: &mut S, window: &mut [u8]) -> Result<Vec<u8>, ReadError<S::Error>> {
        let mut storage = IndexStorage::<8, 16, 64>::new();
        self.with_retries(|| {
            let (source, mut answer) = (&mut *source, vec![]);
            let mut model = match self.operation {
                Operation::Open => Model::open(source, window)?,
                Operation::OpenSorting => Model::open_unordered(source, &mut [SortSlot::EMPTY], window)?,
                _ => {
                    let (opened, index) = Model::open_indexed(source, storage.memory(), window)?;
                    answer = entries(&index);
                    opened
                }
            };
            model.check_unchanged(window)?;
            answer.extend(debug_bytes(&model.summary()));
            Ok(answer)
        })
    }

    fn run_query<S: ReadAt>(
        self,
        model: &mut Model<S>,
        window: &mut [u8],
    ) -> Result<Vec<u8>, ReadError<S::Error>> {
        self.with_retries(|| match self.operation {
            Operation::Find => Ok(debug_bytes(&model.find(TENSOR, window)?)),
            Operation::FindAll => find_all(model, window),
            Operation::ForEach => for_each(model, window),
            Operation::Metadata
            | Operation::AllMetadata
            | Operation::MetadataAs
            | Operation::MetadataValueAs => self.metadata(model, window),
            Operation::Index => {
                let mut storage = IndexStorage::<8, 16, 64>::new();
                Ok(entries(&model.build_index(storage.memory(), window)?))
            }
            Operation::IndexSize => Ok(debug_bytes(&model.index_size(window)?)),
            Operation::CheckNames => {
                Ok(debug_bytes(&model.validate_names([1, 2], &mut [SortSlot::EMPTY; 2], &mut [0], window)?))
            }
            _ => Ok(debug_bytes(&model.check_unchanged(window)?)),
        })
    }

    fn metadata<S: ReadAt>(
        self,
        model: &mut Model<S>,
        window: &mut [u8],
    ) -> Result<Vec<u8>, ReadError<S::Error>> {
        let mut text = [0; 64];
        match self.operation {
            Operation::AllMetadata => {
                let metadata = model.metadata(&mut text, window)?;
                Ok(debug_bytes(&metadata.map(Iterator::collect::<Vec<_>>)))
            }
            Operation::MetadataAs => {
                Ok(debug_bytes(&expect_decoded(model.metadata_as::<Metadata<'_>>(&mut text, window))?))
            }
            Operation::MetadataValueAs => {
                Ok(debug_bytes(&expect_decoded(model.metadata_value_as::<u64>("seed", &mut text, window))?))
            }
            _ => Ok(debug_bytes(&model.metadata_value("unit", &mut text, window)?)),
        }
    }

    fn read<S>(self, mut reader: TensorReader<'_, S>) -> Result<Vec<u8>, ReadError<S::Error>>
    where
        S: ReadAt<Error: embedded_io::Error>,
    {
        let mut bytes = vec![0; usize::try_from(reader.byte_len()).expect("fits in usize")];
        match self.operation {
            Operation::NextValues => return Ok(self.values(reader.values())?.concat()),
            Operation::ReadValues => return self.all_values(reader.values().rounded()),
            Operation::Rows => return self.rows(reader),
            Operation::ReadAll => self.with_retries(|| reader.read_to_end(&mut bytes).map(|_| ()))?,
            Operation::ReadAt => self.read_backwards(&mut reader, &mut bytes)?,
            _ => self.read_forwards(&mut reader, &mut bytes)?,
        }
        Ok(bytes)
    }

    /// Reads as `f64`, so that bytes are converted in place; returns the original bytes.
    fn values<S: ReadAt>(
        self,
        mut reader: Values<S, impl Region>,
    ) -> Result<Vec<[u8; 4]>, ReadError<S::Error>> {
        let mut bytes = vec![];
        loop {
            assert_eq!(reader.position(), bytes.len() as u64, "a fault leaves the position unchanged");
            let mut values = [0.0; 3];
            match self.with_retries(|| reader.read(&mut values).map(<[f64]>::len))? {
                0 => return Ok(bytes),
                len => bytes.extend(values[..len].iter().map(as_f32)),
            }
        }
    }

    fn all_values<S: ReadAt>(
        self,
        mut reader: Values<S, impl Region, true>,
    ) -> Result<Vec<u8>, ReadError<S::Error>> {
        let mut values = vec![0.0; usize::try_from(reader.len()).expect("fits in usize")];
        self.with_retries(|| {
            assert_eq!(reader.position(), 0, "a fault leaves the position unchanged");
            reader.read_exact(&mut values)
        })?;
        assert_eq!(reader.remaining(), 0);
        Ok(values.iter().flat_map(as_f32).collect())
    }

    fn rows<S: ReadAt>(self, reader: TensorReader<'_, S>) -> Result<Vec<u8>, ReadError<S::Error>> {
        let (count, row_len) = (reader.dims()[0], reader.dims()[1..].iter().product::<u64>());
        let mut bytes = vec![];
        let mut values = vec![0.0; usize::try_from(row_len).expect("fits in usize")];
        let mut rows = reader.rows(0..count).expect("in range");
        for _ in 0..count {
            self.with_retries(|| {
                assert_eq!(rows.position() * 4, bytes.len() as u64, "a fault leaves the position unchanged");
                rows.read_exact(&mut values)
            })?;
            bytes.extend(values.iter().flat_map(as_f32));
        }
        assert_eq!(rows.remaining(), 0);
        Ok(bytes)
    }

    /// Each row has a new reader, so a failed call leaves nothing behind.
    fn rows_backwards<S: ReadAt>(
        self,
        model: &mut Model<S>,
        tensor: &TensorInfo,
    ) -> Result<Vec<u8>, ReadError<S::Error>> {
        let mut rows = vec![];
        for row in (0..tensor.shape().dims()[0]).rev() {
            rows.push(self.values(model.reader(tensor)?.row(row)?)?.concat());
        }
        rows.reverse();
        Ok(rows.concat())
    }

    /// Reads each column of a matrix as a slice; together they are the tensor.
    fn columns<S: ReadAt>(
        self,
        model: &mut Model<S>,
        tensor: &TensorInfo,
    ) -> Result<Vec<u8>, ReadError<S::Error>> {
        let index = |number: u64| usize::try_from(number).expect("fits in usize");
        let (mut bytes, count) = (vec![0; index(tensor.byte_len())], tensor.shape().dims()[1]);
        for column in 0..count {
            let slice = [AxisRange::ALL, AxisRange::index(column)];
            let slice = model.reader(tensor)?.slice(&slice)?;
            let elements = match self.operation {
                Operation::SlicesAsValues => self.values(slice.values())?.concat(),
                Operation::WholeSlicesAsValues => self.all_values(slice.values().rounded())?,
                _ => self.column(slice)?,
            };
            let places = bytes.chunks_mut(4).skip(index(column)).step_by(index(count));
            places.zip(elements.chunks(4)).for_each(|(place, element)| place.copy_from_slice(element));
        }
        Ok(bytes)
    }

    fn column<S: ReadAt>(self, mut reader: SliceReader<S>) -> Result<Vec<u8>, ReadError<S::Error>> {
        let (mut elements, count) = (vec![], reader.remaining());
        let width = u64::from(reader.dtype().bits()) / 8;
        while reader.remaining() > 0 {
            let read = (count - reader.remaining()) * width;
            assert_eq!(read, elements.len() as u64, "a fault leaves the position unchanged");
            let mut bytes = [0; 40];
            let len = self.with_retries(|| match self.operation {
                Operation::Slices => Ok(reader.next_chunk(&mut bytes[..13])?.map_or(0, <[u8]>::len)),
                _ => Ok(reader.read_to_end(&mut bytes)?.len()),
            })?;
            elements.extend(&bytes[..len]);
        }
        Ok(elements)
    }

    fn read_backwards<S: ReadAt>(
        self,
        reader: &mut TensorReader<'_, S>,
        bytes: &mut [u8],
    ) -> Result<(), ReadError<S::Error>> {
        for begin in (0..bytes.len()).step_by(11).rev() {
            let end = bytes.len().min(begin + 11);
            let len = self.with_retries(|| reader.read_at(begin as u64, &mut bytes[begin..end]))?;
            assert_eq!((len, reader.position()), (end - begin, 0));
        }
        Ok(())
    }

    fn read_forwards<S>(
        self,
        reader: &mut TensorReader<'_, S>,
        bytes: &mut [u8],
    ) -> Result<(), ReadError<S::Error>>
    where
        S: ReadAt<Error: embedded_io::Error>,
    {
        let mut filled = 0;
        loop {
            assert_eq!(reader.position(), filled as u64, "a fault leaves the position unchanged");
            let end = bytes.len().min(filled + 11);
            let piece = &mut bytes[filled..end];
            filled += match self.with_retries(|| self.read_piece(reader, piece))? {
                0 if filled == end => return Ok(()),
                len => len,
            };
        }
    }

    fn read_piece<S>(
        self,
        reader: &mut TensorReader<'_, S>,
        piece: &mut [u8],
    ) -> Result<usize, ReadError<S::Error>>
    where
        S: ReadAt<Error: embedded_io::Error>,
    {
        match self.operation {
            Operation::NextChunk => Ok(reader.next_chunk(piece)?.map_or(0, <[u8]>::len)),
            _ => reader.read(piece),
        }
    }

    fn with_retries<T, E>(
        self,
        mut call: impl FnMut() -> Result<T, ReadError<E>>,
    ) -> Result<T, ReadError<E>> {
        for _ in 0..self.retries {
            match call() {
                Err(ReadError::Source(_)) => {}
                outcome => return outcome,
            }
        }
        call()
    }
}

/// Returns the bytes of the element that became this value. A cast would make a signalling NaN quiet.
#[expect(clippy::cast_possible_truncation, reason = "it was an `f32`")]
fn as_f32(value: &f64) -> [u8; 4] {
    let bits = value.to_bits();
    let of_nan = (bits >> 32) as u32 & 1 << 31 | 0xFF << 23 | (bits >> 29) as u32 & 0x7F_FFFF;
    let element = if value.is_nan() { of_nan } else { (*value as f32).to_bits() };
    element.to_le_bytes()
}

/// The `__metadata__` of every file here.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "it is read as words")]
struct Metadata<'t> {
    unit: &'t str,
    seed: u64,
}

/// The text comes from the validated header, so it always decodes.
fn expect_decoded<T, E>(decoded: Result<T, MetadataError<E>>) -> Result<T, ReadError<E>> {
    decoded.map_err(|error| match error {
        MetadataError::Read(error) => error,
        MetadataError::Decode(error) => panic!("other text was decoded: {error:?}"),
    })
}

fn find_all<S: ReadAt>(model: &mut Model<S>, window: &mut [u8]) -> Result<Vec<u8>, ReadError<S::Error>> {
    let mut queries = [Query::required("fc2.weight"), Query::optional("none"), Query::required(TENSOR)];
    let outcome = model.find_all(&mut queries, window);
    let found = queries.map(|one| one.info());
    assert!(outcome.is_ok() || found == [None; 3], "a failed lookup has results");
    outcome.map(|()| debug_bytes(&found))
}

fn for_each<S: ReadAt>(model: &mut Model<S>, window: &mut [u8]) -> Result<Vec<u8>, ReadError<S::Error>> {
    let mut entries_seen = vec![];
    model.for_each(&mut [0; 16], window, |entry| entries_seen.extend(debug_bytes(entry)))?;
    Ok(entries_seen)
}

fn entries(index: &Index<'_>) -> Vec<u8> {
    debug_bytes(&index.by_offset().collect::<Vec<_>>())
}

fn debug_bytes(answer: &impl Debug) -> Vec<u8> {
    format!("{answer:?}").into_bytes()
}
