//! Everything that is done with a model in storage, one deed at a time, while the storage does its worst.

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
use crate::sources::Door;

/// Something that is done with a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
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
    Visit,
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

/// The deeds that prove a header.
pub const OPENING: [Deed; 3] = [Deed::Open, Deed::OpenSorting, Deed::OpenIndexed];

/// The deeds that look at a header that was proven.
pub const LOOKING: [Deed; 11] = [
    Deed::CheckUnchanged,
    Deed::Find,
    Deed::FindAll,
    Deed::Visit,
    Deed::Metadata,
    Deed::AllMetadata,
    Deed::MetadataAs,
    Deed::MetadataValueAs,
    Deed::Index,
    Deed::IndexSize,
    Deed::CheckNames,
];

/// The deeds that read a tensor.
pub const READING: [Deed; 12] = [
    Deed::NextChunk,
    Deed::ReadAll,
    Deed::ReadAt,
    Deed::Read,
    Deed::NextValues,
    Deed::ReadValues,
    Deed::Row,
    Deed::Rows,
    Deed::Slices,
    Deed::WholeSlices,
    Deed::SlicesAsValues,
    Deed::WholeSlicesAsValues,
];

/// Those of them that read it in slices.
const SLICING: [Deed; 4] = [Deed::Slices, Deed::WholeSlices, Deed::SlicesAsValues, Deed::WholeSlicesAsValues];

/// The tensor that is found and read: of F32, in rows.
pub const TENSOR: &str = "fc1.weight";

/// What became of a deed: what it answers, in words, or the bytes that it read.
pub type Outcome = Result<Vec<u8>, Trouble>;

/// A [`ReadError`] of any storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// [`ReadError::Format`].
    Format(Error),
    /// [`ReadError::Source`].
    Source,
    /// [`ReadError::UnexpectedEof`].
    Eof(u64),
}

impl<E> From<ReadError<E>> for Trouble {
    fn from(error: ReadError<E>) -> Self {
        match error {
            ReadError::Format(error) => Self::Format(error),
            ReadError::Source(_) => Self::Source,
            ReadError::UnexpectedEof { at } => Self::Eof(at),
        }
    }
}

/// A deed and with what memory it is done.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// What is done.
    pub deed: Deed,
    /// Bytes of the window.
    pub window: usize,
    /// How often a call is made again where the storage failed.
    pub again: usize,
}

impl Scene {
    /// Does it with a storage that is sound until then, and follows the plan from then on. Where it looks at a
    /// model or reads a tensor, that was opened and found before.
    pub fn play<D: Door>(self, storage: &Storage<'_>, plan: Plan) -> Outcome {
        self.play_with(D::source(storage), || storage.follow(plan))
    }

    /// The same with any source, sound until `fate` is called.
    pub fn play_with<S: ReadAt<Error: embedded_io::Error>>(
        self,
        mut source: S,
        fate: impl FnOnce(),
    ) -> Outcome {
        let mut window = vec![0; self.window];
        if OPENING.contains(&self.deed) {
            fate();
            return Ok(self.open(&mut source, &mut window)?);
        }
        let mut model = Model::open_unordered(source, &mut [SortSlot::EMPTY; 8], &mut window)?;
        if LOOKING.contains(&self.deed) {
            fate();
            return Ok(self.look(&mut model, &mut window)?);
        }
        let tensor = model.find(TENSOR, &mut window)?.expect("every file here has it");
        if self.deed == Deed::Row {
            fate();
            return Ok(self.rows_backwards(&mut model, &tensor)?);
        }
        if SLICING.contains(&self.deed) {
            fate();
            return Ok(self.columns(&mut model, &tensor)?);
        }
        let reader = model.reader(&tensor).expect("it is this file's");
        fate();
        Ok(self.read(reader)?)
    }

    /// A model whose header is another one when it is looked at once more is not taken for opened.
    fn open<S: ReadAt>(self, source: &mut S, window: &mut [u8]) -> Result<Vec<u8>, ReadError<S::Error>> {
        let mut storage = IndexStorage::<8, 16, 64>::new();
        self.tried(|| {
            let (source, mut answer) = (&mut *source, vec![]);
            let mut model = match self.deed {
                Deed::Open => Model::open(source, window)?,
                Deed::OpenSorting => Model::open_unordered(source, &mut [SortSlot::EMPTY], window)?,
                _ => {
                    let (opened, index) = Model::open_indexed(source, storage.memory(), window)?;
                    answer = entries(&index);
                    opened
                }
            };
            model.check_unchanged(window)?;
            answer.extend(words(&model.summary()));
            Ok(answer)
        })
    }

    fn look<S: ReadAt>(
        self,
        model: &mut Model<S>,
        window: &mut [u8],
    ) -> Result<Vec<u8>, ReadError<S::Error>> {
        self.tried(|| match self.deed {
            Deed::Find => Ok(words(&model.find(TENSOR, window)?)),
            Deed::FindAll => find_all(model, window),
            Deed::Visit => visit(model, window),
            Deed::Metadata | Deed::AllMetadata | Deed::MetadataAs | Deed::MetadataValueAs => {
                self.metadata(model, window)
            }
            Deed::Index => {
                let mut storage = IndexStorage::<8, 16, 64>::new();
                Ok(entries(&model.build_index(storage.memory(), window)?))
            }
            Deed::IndexSize => Ok(words(&model.index_size(window)?)),
            Deed::CheckNames => {
                Ok(words(&model.validate_names([1, 2], &mut [SortSlot::EMPTY; 2], &mut [0], window)?))
            }
            _ => Ok(words(&model.check_unchanged(window)?)),
        })
    }

    fn metadata<S: ReadAt>(
        self,
        model: &mut Model<S>,
        window: &mut [u8],
    ) -> Result<Vec<u8>, ReadError<S::Error>> {
        let mut text = [0; 64];
        match self.deed {
            Deed::AllMetadata => {
                let metadata = model.metadata(&mut text, window)?;
                Ok(words(&metadata.map(Iterator::collect::<Vec<_>>)))
            }
            Deed::MetadataAs => Ok(words(&proven(model.metadata_as::<Metadata<'_>>(&mut text, window))?)),
            Deed::MetadataValueAs => {
                Ok(words(&proven(model.metadata_value_as::<u64>("seed", &mut text, window))?))
            }
            _ => Ok(words(&model.metadata_value("unit", &mut text, window)?)),
        }
    }

    fn read<S>(self, mut reader: TensorReader<'_, S>) -> Result<Vec<u8>, ReadError<S::Error>>
    where
        S: ReadAt<Error: embedded_io::Error>,
    {
        let mut bytes = vec![0; usize::try_from(reader.byte_len()).expect("it is small")];
        match self.deed {
            Deed::NextValues => return Ok(self.values(reader.values())?.concat()),
            Deed::ReadValues => return self.all_values(reader.values().rounded()),
            Deed::Rows => return self.rows(reader),
            Deed::ReadAll => self.tried(|| reader.read_to_end(&mut bytes).map(|_| ()))?,
            Deed::ReadAt => self.read_backwards(&mut reader, &mut bytes)?,
            _ => self.read_forwards(&mut reader, &mut bytes)?,
        }
        Ok(bytes)
    }

    /// As `f64`, so that bytes are turned in place; the bytes that they were before.
    fn values<S: ReadAt>(
        self,
        mut reader: Values<S, impl Region>,
    ) -> Result<Vec<[u8; 4]>, ReadError<S::Error>> {
        let mut bytes = vec![];
        loop {
            assert_eq!(reader.position(), bytes.len() as u64, "after a fault it stands where it stood");
            let mut values = [0.0; 3];
            match self.tried(|| reader.read(&mut values).map(<[f64]>::len))? {
                0 => return Ok(bytes),
                len => bytes.extend(values[..len].iter().map(as_f32)),
            }
        }
    }

    fn all_values<S: ReadAt>(
        self,
        mut reader: Values<S, impl Region, true>,
    ) -> Result<Vec<u8>, ReadError<S::Error>> {
        let mut values = vec![0.0; usize::try_from(reader.len()).expect("it is small")];
        self.tried(|| {
            assert_eq!(reader.position(), 0, "after a fault it stands where it stood");
            reader.read_exact(&mut values)
        })?;
        assert_eq!(reader.remaining(), 0);
        Ok(values.iter().flat_map(as_f32).collect())
    }

    fn rows<S: ReadAt>(self, reader: TensorReader<'_, S>) -> Result<Vec<u8>, ReadError<S::Error>> {
        let (count, row_len) = (reader.dims()[0], reader.dims()[1..].iter().product::<u64>());
        let mut bytes = vec![];
        let mut values = vec![0.0; usize::try_from(row_len).expect("it is small")];
        let mut rows = reader.rows(0..count).expect("it has so many");
        for _ in 0..count {
            self.tried(|| {
                assert_eq!(rows.position() * 4, bytes.len() as u64, "after a fault it stands where it stood");
                rows.read_exact(&mut values)
            })?;
            bytes.extend(values.iter().flat_map(as_f32));
        }
        assert_eq!(rows.remaining(), 0);
        Ok(bytes)
    }

    /// Nobody has read anything of a row that could not be read.
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

    /// Each column of a matrix is a slice of its own; together they are the tensor.
    fn columns<S: ReadAt>(
        self,
        model: &mut Model<S>,
        tensor: &TensorInfo,
    ) -> Result<Vec<u8>, ReadError<S::Error>> {
        let index = |number: u64| usize::try_from(number).expect("it is small");
        let (mut bytes, count) = (vec![0; index(tensor.byte_len())], tensor.shape().dims()[1]);
        for column in 0..count {
            let slice = [AxisRange::ALL, AxisRange::index(column)];
            let slice = model.reader(tensor)?.slice(&slice)?;
            let elements = match self.deed {
                Deed::SlicesAsValues => self.values(slice.values())?.concat(),
                Deed::WholeSlicesAsValues => self.all_values(slice.values().rounded())?,
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
            assert_eq!(read, elements.len() as u64, "after a fault it stands where it stood");
            let mut bytes = [0; 40];
            let len = self.tried(|| match self.deed {
                Deed::Slices => Ok(reader.next_chunk(&mut bytes[..13])?.map_or(0, <[u8]>::len)),
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
            let len = self.tried(|| reader.read_at(begin as u64, &mut bytes[begin..end]))?;
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
            assert_eq!(reader.position(), filled as u64, "after a fault it stands where it stood");
            let end = bytes.len().min(filled + 11);
            let piece = &mut bytes[filled..end];
            filled += match self.tried(|| self.read_on(reader, piece))? {
                0 if filled == end => return Ok(()),
                len => len,
            };
        }
    }

    fn read_on<S>(
        self,
        reader: &mut TensorReader<'_, S>,
        piece: &mut [u8],
    ) -> Result<usize, ReadError<S::Error>>
    where
        S: ReadAt<Error: embedded_io::Error>,
    {
        match self.deed {
            Deed::NextChunk => Ok(reader.next_chunk(piece)?.map_or(0, <[u8]>::len)),
            _ => reader.read(piece),
        }
    }

    fn tried<T, E>(self, mut call: impl FnMut() -> Result<T, ReadError<E>>) -> Result<T, ReadError<E>> {
        for _ in 0..self.again {
            match call() {
                Err(ReadError::Source(_)) => {}
                outcome => return outcome,
            }
        }
        call()
    }
}

/// The bytes of an element that became this value. A cast would make a signalling NaN quiet.
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

/// Only text that was read from the header that was proven is decoded, and that fits.
fn proven<T, E>(decoded: Result<T, MetadataError<E>>) -> Result<T, ReadError<E>> {
    decoded.map_err(|error| match error {
        MetadataError::Read(error) => error,
        MetadataError::Decode(error) => panic!("another text was decoded: {error:?}"),
    })
}

fn find_all<S: ReadAt>(model: &mut Model<S>, window: &mut [u8]) -> Result<Vec<u8>, ReadError<S::Error>> {
    let mut wanted = [Query::required("fc2.weight"), Query::optional("none"), Query::required(TENSOR)];
    let outcome = model.find_all(&mut wanted, window);
    let found = wanted.map(|one| one.info());
    assert!(outcome.is_ok() || found == [None; 3], "what failed has found something");
    outcome.map(|()| words(&found))
}

fn visit<S: ReadAt>(model: &mut Model<S>, window: &mut [u8]) -> Result<Vec<u8>, ReadError<S::Error>> {
    let mut shown = vec![];
    model.for_each(&mut [0; 16], window, |entry| shown.extend(words(entry)))?;
    Ok(shown)
}

fn entries(index: &Index<'_>) -> Vec<u8> {
    words(&index.by_offset().collect::<Vec<_>>())
}

fn words(answer: &impl Debug) -> Vec<u8> {
    format!("{answer:?}").into_bytes()
}
