//! A model in storage: every method of `Model`, `TensorReader`, `Query` and `Index`.

use crate::numbers::{bytes, indexed, number, read_number, summary, tensor};
use crate::values;
use embedded_safetensors::{
    Error, ErrorKind, Model, ReadAt, ReadError, TensorReader,
    index::{Index, IndexMemory, IndexSize, IndexStorage},
    integrity::{Crc32, Sha256},
    io::FileLen,
    query::{NamedTensor, Query},
    tensor::Located,
    validate::SortSlot,
};

type Outcome<S> = Result<u64, ReadError<<S as ReadAt>::Error>>;
type Storage = IndexStorage<8, 16, 64>;

/// The memory of all tests: the front of the text holds names or texts, the rest is the window.
struct Buffers<'l> {
    slots: &'l mut [SortSlot],
    text: &'l mut [u8],
    window: &'l mut [u8],
}

pub fn all<S: ReadAt>(mut source: S, slots: &mut [SortSlot], memory: &mut [u8]) -> u64 {
    let (text, window) = memory.split_at_mut_checked(64).unwrap_or((&mut [], &mut []));
    let mut buffers = Buffers { slots, text, window };
    let mut sum = read_number(open(&mut source, &mut buffers));
    sum ^= read_number(open_unordered(&mut source, &mut buffers));
    sum ^= read_number(open_indexed(&mut source, &mut buffers));
    sum ^ read_number(file_len(source))
}

fn open<S: ReadAt>(source: &mut S, buffers: &mut Buffers<'_>) -> Outcome<S> {
    let mut model = Model::open(source, buffers.window)?;
    let mut sum = summary(model.summary());
    model.check_unchanged(buffers.window)?;
    sum ^= sums(&mut model, buffers)?;
    sum ^= find(&mut model, buffers)?;
    sum ^= list(&mut model, buffers)?;
    sum ^= metadata(&mut model, buffers)?;
    model.for_each(buffers.text, buffers.window, |entry| {
        sum ^= bytes(entry.name_bytes()) ^ tensor(&entry.info)
    })?;
    model.validate_names([sum, 2], buffers.slots, buffers.text, buffers.window)?;
    sum ^= size(model.index_size(buffers.window)?);
    Ok(sum ^ index(&mut model, buffers)?)
}

fn sums<S: ReadAt>(model: &mut Model<S>, buffers: &mut Buffers<'_>) -> Outcome<S> {
    let crc = model.data_sum(Crc32::new(), buffers.window)?;
    let sum = model.sum(Sha256::new(), buffers.window)?;
    model.verify(Crc32::new(), &crc, buffers.window)?;
    model.verify(Sha256::new(), &sum, buffers.window)?;
    model.verify_embedded(Sha256::new(), buffers.window)?;
    Ok(bytes(&sum) ^ u64::from(crc))
}

fn open_unordered<S: ReadAt>(source: &mut S, buffers: &mut Buffers<'_>) -> Outcome<S> {
    let model = Model::open_unordered(source, buffers.slots, buffers.window)?;
    let seen = summary(model.summary());
    let mut byte = [0];
    let len = model.into_source().read_at(seen, &mut byte).map_err(ReadError::Source)?;
    Ok(seen ^ bytes(&byte) ^ len as u64)
}

fn open_indexed<S: ReadAt>(source: &mut S, buffers: &mut Buffers<'_>) -> Outcome<S> {
    let mut storage = Storage::new();
    let (mut model, index) = Model::open_indexed(source, storage.memory(), buffers.window)?;
    look_up(&mut model, index, buffers.text)
}

fn file_len<S: ReadAt>(mut source: S) -> Outcome<S> {
    Ok(match source.file_len().map_err(ReadError::Source)? {
        FileLen::Exactly(len) | FileLen::AtMost(len) => len,
        FileLen::Unknown => 0,
    })
}

fn find<S: ReadAt>(model: &mut Model<S>, buffers: &mut Buffers<'_>) -> Outcome<S> {
    let name = core::str::from_utf8(buffers.text).unwrap_or("a");
    let one = model.find(name, buffers.window)?;
    let mut sum = one.as_ref().map_or(0, tensor);
    let mut queries = [Query::required(name), Query::optional("a")];
    model.find_all(&mut queries, buffers.window)?;
    for found in &queries {
        sum ^= bytes(found.name().as_bytes()) ^ found.info().as_ref().map_or(0, tensor);
        sum ^= read_number(read(model, found, buffers.window));
    }
    Ok(sum)
}

fn list<S: ReadAt>(model: &mut Model<S>, buffers: &mut Buffers<'_>) -> Outcome<S> {
    let mut tensors: heapless::Vec<NamedTensor<16>, 4> = heapless::Vec::new();
    model.list(&mut tensors, buffers.window)?;
    let mut sum = 0;
    for named in &tensors {
        sum ^= bytes(named.name().as_bytes()) ^ tensor(named.info());
        sum ^= read_number(read(model, named, buffers.window));
    }
    Ok(sum)
}

fn metadata<S: ReadAt>(model: &mut Model<S>, buffers: &mut Buffers<'_>) -> Outcome<S> {
    let value = model.metadata_value("a", buffers.text, buffers.window)?;
    let mut sum = value.map_or(0, |value| bytes(value.as_bytes()));
    let owned: Option<heapless::String<8>> = model.metadata_string("a", buffers.window)?;
    sum ^= owned.map_or(0, |value| bytes(value.as_bytes()));
    let Some(pairs) = model.metadata(buffers.text, buffers.window)? else { return Ok(sum) };
    for pair in pairs {
        sum ^= bytes(pair.key.as_bytes()) ^ bytes(pair.value.as_bytes()) ^ pair.at;
    }
    Ok(sum)
}

fn size(size: IndexSize) -> u64 {
    size.tensors as u64 ^ size.dims as u64 ^ size.name_bytes as u64
}

/// Builds an index in memory that may be too small.
fn index<S: ReadAt>(model: &mut Model<S>, buffers: &mut Buffers<'_>) -> Outcome<S> {
    let mut storage = Storage::default();
    let key = [bytes(buffers.text), 1];
    let index = model.build_index(storage.memory().with_key(key), buffers.window)?;
    let sum = look_up(model, index, buffers.text)?;
    let none = model.build_index(IndexMemory::new(&mut [], &mut [], &mut []), buffers.window)?;
    Ok(sum ^ summary(none.summary()))
}

fn look_up<S: ReadAt>(model: &mut Model<S>, mut index: Index<'_>, buffer: &mut [u8]) -> Outcome<S> {
    let mut sum = index.len() as u64 ^ u64::from(index.is_empty()) ^ summary(index.summary());
    let name = core::str::from_utf8(buffer).unwrap_or("a");
    let looked_up = [index.find(name).unwrap_or(None), index.nth(name.len()), index.at_offset(sum)];
    for found in looked_up.iter().flatten() {
        sum ^= indexed(found) ^ read_number(read(model, found, buffer));
    }
    sum ^= index.by_offset().fold(0, |sum, found| sum ^ indexed(&found));
    Ok(sum ^ index.by_name().fold(0, |sum, found| sum ^ indexed(&found)))
}

/// Reads a tensor in every way.
fn read<S: ReadAt>(model: &mut Model<S>, found: &impl Located, buffer: &mut [u8]) -> Outcome<S> {
    let number = number(found.locate().map(|_| 0));
    let mut reader = model.reader(found)?;
    let mut sum = number ^ positions(&reader);
    while let Some(chunk) = reader.next_chunk(buffer)? {
        sum ^= bytes(chunk);
    }
    reader.seek(sum)?;
    reader.skip(sum)?;
    sum ^= bytes(reader.read_to_end(buffer)?);
    sum ^= reader.read_at(sum, buffer)? as u64;
    let mut aligned = reader.aligned_to(sum)?;
    while let Some(chunk) = aligned.next_chunk(buffer)? {
        sum ^= bytes(chunk);
    }
    Ok(sum ^ values::of_type::<f32, S>(model, found, sum)?)
}

fn positions<S: ReadAt>(reader: &TensorReader<'_, S>) -> u64 {
    let lengths = reader.byte_len() ^ reader.position() ^ reader.remaining();
    lengths ^ u64::from(reader.dtype().bits())
}

/// Reads a tensor through `embedded_io::Read`.
pub fn read_as_bytes<S>(source: S, slots: &mut [SortSlot], memory: &mut [u8]) -> u64
where
    S: ReadAt<Error: embedded_io::Error>,
{
    let outcome = Model::open_unordered(source, slots, memory).and_then(|mut model| {
        let found = model.find("a", memory)?.ok_or(not_found())?;
        let mut reader = model.reader(&found)?;
        Ok(embedded_io::Read::read(&mut reader, memory)? as u64)
    });
    let kind = outcome.as_ref().err().map_or(embedded_io::ErrorKind::Other, embedded_io::Error::kind);
    read_number(outcome) ^ u64::from(kind == embedded_io::ErrorKind::InvalidData)
}

fn not_found() -> Error {
    ErrorKind::NotFound { query: None }.at(0)
}
