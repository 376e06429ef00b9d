//! How each operation is run, in the text of the asynchronous form; the blocking form is made from it as that
//! of the library is.

use super::{Call, Error, Model, Read, ReadAt, SliceReader, TensorReader, Values, attempt, form};
use crate::operations::{
    Metadata, OPENING, Operation, Outcome, QUERYING, SLICING, Setup, TENSOR, as_f32, debug_bytes, entries,
    expect_decoded,
};
use embedded_safetensors::{
    ReadError, TensorInfo,
    index::IndexStorage,
    query::{NamedTensor, Query},
    reader::Region,
    slice::AxisRange,
    validate::SortSlot,
    values::dtypes::Rounded,
};

/// A setup that can be run.
#[derive(Clone, Copy)]
pub struct Run(pub Setup);

#[form]
impl Run {
    /// Runs the operation on a source that has no faults until `start_faults` is called.
    pub async fn run<S: ReadAt<Error: Error>>(self, mut source: S, start_faults: impl FnOnce()) -> Outcome {
        let mut window = vec![0; self.0.window];
        if OPENING.contains(&self.0.operation) {
            start_faults();
            return Ok(self.open(&mut source, &mut window).await?);
        }
        let mut model = Model::open_unordered(source, &mut [SortSlot::EMPTY; 8], &mut window).await?;
        if QUERYING.contains(&self.0.operation) {
            start_faults();
            return Ok(self.query(&mut model, &mut window).await?);
        }
        let tensor = model.find(TENSOR, &mut window).await?.expect("present in every file");
        if self.0.operation == Operation::Row {
            start_faults();
            return Ok(self.rows_backwards(&mut model, &tensor).await?);
        }
        if SLICING.contains(&self.0.operation) {
            start_faults();
            return Ok(self.columns(&mut model, &tensor).await?);
        }
        let reader = model.reader(&tensor).expect("tensor of this file");
        start_faults();
        Ok(self.read(reader).await?)
    }

    /// Checks the header again, so that a model whose header has changed does not count as opened.
    async fn open<S: ReadAt>(
        self,
        source: &mut S,
        window: &mut [u8],
    ) -> Result<Vec<u8>, ReadError<S::Error>> {
        let mut storage = IndexStorage::<8, 16, 64>::new();
        let open = async || {
            let (source, mut answer) = (&mut *source, vec![]);
            let mut model = match self.0.operation {
                Operation::Open => Model::open(source, window).await?,
                Operation::OpenSorting => {
                    Model::open_unordered(source, &mut [SortSlot::EMPTY], window).await?
                }
                _ => {
                    let (opened, index) = Model::open_indexed(source, storage.memory(), window).await?;
                    answer = entries(&index);
                    opened
                }
            };
            model.check_unchanged(window).await?;
            answer.extend(debug_bytes(&model.summary()));
            Ok(answer)
        };
        self.with_retries(open).await
    }

    async fn query<S: ReadAt>(
        self,
        model: &mut Model<S>,
        window: &mut [u8],
    ) -> Result<Vec<u8>, ReadError<S::Error>> {
        let query = async || match self.0.operation {
            Operation::Find => Ok(debug_bytes(&model.find(TENSOR, window).await?)),
            Operation::FindAll => find_all(model, window).await,
            Operation::ForEach => for_each(model, window).await,
            Operation::List => {
                let mut tensors = heapless::Vec::<NamedTensor<16>, 8>::new();
                model.list(&mut tensors, window).await?;
                Ok(debug_bytes(&tensors))
            }
            Operation::Metadata
            | Operation::MetadataString
            | Operation::AllMetadata
            | Operation::MetadataAs
            | Operation::MetadataValueAs => self.metadata(model, window).await,
            Operation::Index => {
                let mut storage = IndexStorage::<8, 16, 64>::new();
                Ok(entries(&model.build_index(storage.memory(), window).await?))
            }
            Operation::IndexSize => Ok(debug_bytes(&model.index_size(window).await?)),
            Operation::CheckNames => {
                let mut slots = [SortSlot::EMPTY; 2];
                Ok(debug_bytes(&model.validate_names([1, 2], &mut slots, &mut [0], window).await?))
            }
            _ => Ok(debug_bytes(&model.check_unchanged(window).await?)),
        };
        self.with_retries(query).await
    }

    async fn metadata<S: ReadAt>(
        self,
        model: &mut Model<S>,
        window: &mut [u8],
    ) -> Result<Vec<u8>, ReadError<S::Error>> {
        let mut text = [0; 64];
        match self.0.operation {
            Operation::AllMetadata => {
                let metadata = model.metadata(&mut text, window).await?;
                Ok(debug_bytes(&metadata.map(Iterator::collect::<Vec<_>>)))
            }
            Operation::MetadataAs => {
                let decoded = model.metadata_as::<Metadata<'_>>(&mut text, window).await;
                Ok(debug_bytes(&expect_decoded(decoded)?))
            }
            Operation::MetadataValueAs => {
                let decoded = model.metadata_value_as::<u64>("seed", &mut text, window).await;
                Ok(debug_bytes(&expect_decoded(decoded)?))
            }
            Operation::MetadataString => Ok(debug_bytes(&model.metadata_string::<8>("unit", window).await?)),
            _ => Ok(debug_bytes(&model.metadata_value("unit", &mut text, window).await?)),
        }
    }

    async fn read<S>(self, mut reader: TensorReader<'_, S>) -> Result<Vec<u8>, ReadError<S::Error>>
    where
        S: ReadAt<Error: Error>,
    {
        let mut bytes = vec![0; usize::try_from(reader.byte_len()).expect("fits in usize")];
        match self.0.operation {
            Operation::NextValues => return Ok(self.values(reader.values()).await?.concat()),
            Operation::ReadValues => return self.all_values(reader.values().rounded()).await,
            Operation::SameValues => return self.same_values(reader.values()).await,
            Operation::Rows => return self.rows(reader).await,
            Operation::ReadAll => {
                self.with_retries(async || reader.read_to_end(&mut bytes).await.map(|_| ())).await?;
            }
            Operation::ReadAt => self.read_backwards(&mut reader, &mut bytes).await?,
            _ => self.read_forwards(&mut reader, &mut bytes).await?,
        }
        Ok(bytes)
    }

    /// Reads as `f64`, so that bytes are converted in place; returns the original bytes.
    async fn values<S: ReadAt>(
        self,
        mut reader: Values<S, impl Region>,
    ) -> Result<Vec<[u8; 4]>, ReadError<S::Error>> {
        let mut bytes = vec![];
        loop {
            let mut values = [0.0; 3];
            let len = async || {
                assert_eq!(reader.position(), bytes.len() as u64, "a fault leaves the position unchanged");
                reader.read(&mut values).await.map(<[f64]>::len)
            };
            match self.with_retries(len).await? {
                0 => return Ok(bytes),
                len => bytes.extend(values[..len].iter().map(as_f32)),
            }
        }
    }

    async fn all_values<S: ReadAt>(
        self,
        mut reader: Values<S, impl Region, Rounded>,
    ) -> Result<Vec<u8>, ReadError<S::Error>> {
        let mut values = vec![0.0; usize::try_from(reader.len()).expect("fits in usize")];
        let read = async || {
            assert_eq!(reader.position(), 0, "a fault leaves the position unchanged");
            reader.read_exact(&mut values).await
        };
        self.with_retries(read).await?;
        assert_eq!(reader.remaining(), 0);
        Ok(values.iter().flat_map(as_f32).collect())
    }

    /// They are read without a conversion.
    async fn same_values<S: ReadAt>(
        self,
        mut reader: Values<S, impl Region>,
    ) -> Result<Vec<u8>, ReadError<S::Error>> {
        let mut values = vec![0f32; usize::try_from(reader.len()).expect("fits in usize")];
        self.with_retries(async || reader.read_exact(&mut values).await).await?;
        assert_eq!(reader.remaining(), 0);
        Ok(values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    async fn rows<S: ReadAt>(self, reader: TensorReader<'_, S>) -> Result<Vec<u8>, ReadError<S::Error>> {
        let (count, row_len) = (reader.dims()[0], reader.dims()[1..].iter().product::<u64>());
        let mut bytes = vec![];
        let mut values = vec![0.0; usize::try_from(row_len).expect("fits in usize")];
        let mut rows = reader.rows(0..count).expect("in range");
        for _ in 0..count {
            let read = async || {
                assert_eq!(rows.position() * 4, bytes.len() as u64, "a fault leaves the position unchanged");
                rows.read_exact(&mut values).await
            };
            self.with_retries(read).await?;
            bytes.extend(values.iter().flat_map(as_f32));
        }
        assert_eq!(rows.remaining(), 0);
        Ok(bytes)
    }

    /// Each row has a new reader, so a failed call leaves nothing behind.
    async fn rows_backwards<S: ReadAt>(
        self,
        model: &mut Model<S>,
        tensor: &TensorInfo,
    ) -> Result<Vec<u8>, ReadError<S::Error>> {
        let mut rows = vec![];
        for row in (0..tensor.shape().dims()[0]).rev() {
            rows.push(self.values(model.reader(tensor)?.row(row)?).await?.concat());
        }
        rows.reverse();
        Ok(rows.concat())
    }

    /// Reads each column of a matrix as a slice; together they are the tensor.
    async fn columns<S: ReadAt>(
        self,
        model: &mut Model<S>,
        tensor: &TensorInfo,
    ) -> Result<Vec<u8>, ReadError<S::Error>> {
        let index = |number: u64| usize::try_from(number).expect("fits in usize");
        let (mut bytes, count) = (vec![0; index(tensor.byte_len())], tensor.shape().dims()[1]);
        for column in 0..count {
            let slice = [AxisRange::ALL, AxisRange::index(column)];
            let slice = model.reader(tensor)?.slice(&slice)?;
            let elements = match self.0.operation {
                Operation::SlicesAsValues => self.values(slice.values()).await?.concat(),
                Operation::WholeSlicesAsValues => self.all_values(slice.values().rounded()).await?,
                Operation::SlicesAsSameValues => self.same_values(slice.values()).await?,
                _ => self.column(slice).await?,
            };
            let places = bytes.chunks_mut(4).skip(index(column)).step_by(index(count));
            places.zip(elements.chunks(4)).for_each(|(place, element)| place.copy_from_slice(element));
        }
        Ok(bytes)
    }

    async fn column<S: ReadAt>(self, mut reader: SliceReader<S>) -> Result<Vec<u8>, ReadError<S::Error>> {
        let (mut elements, count) = (vec![], reader.remaining());
        let width = u64::from(reader.dtype().bits()) / 8;
        while reader.remaining() > 0 {
            let mut bytes = [0; 40];
            let read = async || {
                let read = (count - reader.remaining()) * width;
                assert_eq!(read, elements.len() as u64, "a fault leaves the position unchanged");
                match self.0.operation {
                    Operation::Slices => {
                        Ok(reader.next_chunk(&mut bytes[..13]).await?.map_or(0, <[u8]>::len))
                    }
                    _ => Ok(reader.read_to_end(&mut bytes).await?.len()),
                }
            };
            let len = self.with_retries(read).await?;
            elements.extend(&bytes[..len]);
        }
        Ok(elements)
    }

    async fn read_backwards<S: ReadAt>(
        self,
        reader: &mut TensorReader<'_, S>,
        bytes: &mut [u8],
    ) -> Result<(), ReadError<S::Error>> {
        for begin in (0..bytes.len()).step_by(11).rev() {
            let end = bytes.len().min(begin + 11);
            let piece = &mut bytes[begin..end];
            let len = self.with_retries(async || reader.read_at(begin as u64, piece).await).await?;
            assert_eq!((len, reader.position()), (end - begin, 0));
        }
        Ok(())
    }

    async fn read_forwards<S>(
        self,
        reader: &mut TensorReader<'_, S>,
        bytes: &mut [u8],
    ) -> Result<(), ReadError<S::Error>>
    where
        S: ReadAt<Error: Error>,
    {
        let mut filled = 0;
        loop {
            let end = bytes.len().min(filled + 11);
            let piece = &mut bytes[filled..end];
            let read = async || {
                assert_eq!(reader.position(), filled as u64, "a fault leaves the position unchanged");
                match self.0.operation {
                    Operation::NextChunk => Ok(reader.next_chunk(piece).await?.map_or(0, <[u8]>::len)),
                    _ => reader.read(piece).await,
                }
            };
            filled += match self.with_retries(read).await? {
                0 if filled == end => return Ok(()),
                len => len,
            };
        }
    }

    /// Repeats a call that the storage has failed, or whose future was dropped.
    async fn with_retries<T, E>(
        self,
        mut call: impl Call() -> Result<T, ReadError<E>>,
    ) -> Result<T, ReadError<E>> {
        for _ in 0..self.0.retries {
            match attempt(self.0.dropped_at, call()).await {
                None | Some(Err(ReadError::Source(_))) => {}
                Some(outcome) => return outcome,
            }
        }
        call().await
    }
}

#[form]
async fn find_all<S: ReadAt>(
    model: &mut Model<S>,
    window: &mut [u8],
) -> Result<Vec<u8>, ReadError<S::Error>> {
    let mut queries = [Query::required("fc2.weight"), Query::optional("none"), Query::required(TENSOR)];
    let outcome = model.find_all(&mut queries, window).await;
    let found = queries.map(|one| one.info());
    assert!(outcome.is_ok() || found == [None; 3], "a failed lookup has results");
    outcome.map(|()| debug_bytes(&found))
}

#[form]
async fn for_each<S: ReadAt>(
    model: &mut Model<S>,
    window: &mut [u8],
) -> Result<Vec<u8>, ReadError<S::Error>> {
    let mut entries_seen = vec![];
    model.for_each(&mut [0; 16], window, |entry| entries_seen.extend(debug_bytes(entry))).await?;
    Ok(entries_seen)
}
