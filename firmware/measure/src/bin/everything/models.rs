//! A model in storage: every method of `Model`, `TensorReader`, `Query` and `Index`.

use crate::numbers::{bytes, indexed, number, read_number, summary, tensor};
use crate::values;
use embedded_safetensors::{
    Error, ErrorKind, Model, ReadAt, ReadError, TensorReader,
    index::{Index, IndexMemory, IndexSize, IndexStorage},
    io::FileLen,
    query::Query,
    tensor::Located,
    validate::SortSlot,
};

type Outcome<S> = Result<u64, ReadError<<S as ReadAt>::Error>>;
type Storage = IndexStorage<8, 16, 64>;

/// What all programs here lend: the front of the text is the name or the text, the rest is the window.
struct Lent<'l> {
    slots: &'l mut [SortSlot],
    text: &'l mut [u8],
    window: &'l mut [u8],
}

pub fn all<S: ReadAt>(mut source: S, slots: &mut [SortSlot], memory: &mut [u8]) -> u64 {
    let (text, window) = memory.split_at_mut_checked(64).unwrap_or((&mut [], &mut []));
    let mut lent = Lent { slots, text, window };
    let mut sum = read_number(open(&mut source, &mut lent));
    sum ^= read_number(open_unordered(&mut source, &mut lent));
    sum ^= read_number(open_indexed(&mut source, &mut lent));
    sum ^ read_number(file_len(source))
}

fn open<S: ReadAt>(source: &mut S, lent: &mut Lent<'_>) -> Outcome<S> {
    let mut model = Model::open(source, lent.window)?;
    let mut sum = summary(model.summary());
    model.check_unchanged(lent.window)?;
    sum ^= find(&mut model, lent)?;
    sum ^= metadata(&mut model, lent)?;
    model.for_each(lent.text, lent.window, |entry| sum ^= bytes(entry.name_bytes()) ^ tensor(&entry.info))?;
    model.validate_names([sum, 2], lent.slots, lent.text, lent.window)?;
    sum ^= size(model.index_size(lent.window)?);
    Ok(sum ^ index(&mut model, lent)?)
}

fn open_unordered<S: ReadAt>(source: &mut S, lent: &mut Lent<'_>) -> Outcome<S> {
    let model = Model::open_unordered(source, lent.slots, lent.window)?;
    let seen = summary(model.summary());
    let mut byte = [0];
    let len = model.into_source().read_at(seen, &mut byte).map_err(ReadError::Source)?;
    Ok(seen ^ bytes(&byte) ^ len as u64)
}

fn open_indexed<S: ReadAt>(source: &mut S, lent: &mut Lent<'_>) -> Outcome<S> {
    let mut storage = Storage::new();
    let (mut model, index) = Model::open_indexed(source, storage.memory(), lent.window)?;
    look_up(&mut model, index, lent.text)
}

fn file_len<S: ReadAt>(mut source: S) -> Outcome<S> {
    Ok(match source.file_len().map_err(ReadError::Source)? {
        FileLen::Exactly(len) | FileLen::AtMost(len) => len,
        FileLen::Unknown => 0,
    })
}

fn find<S: ReadAt>(model: &mut Model<S>, lent: &mut Lent<'_>) -> Outcome<S> {
    let name = core::str::from_utf8(lent.text).unwrap_or("a");
    let one = model.find(name, lent.window)?;
    let mut sum = one.as_ref().map_or(0, tensor);
    let mut wanted = [Query::required(name), Query::optional("a")];
    model.find_all(&mut wanted, lent.window)?;
    for found in &wanted {
        sum ^= bytes(found.name().as_bytes()) ^ found.info().as_ref().map_or(0, tensor);
        sum ^= read_number(read(model, found, lent.window));
    }
    Ok(sum)
}

fn metadata<S: ReadAt>(model: &mut Model<S>, lent: &mut Lent<'_>) -> Outcome<S> {
    let value = model.metadata_value("a", lent.text, lent.window)?;
    let mut sum = value.map_or(0, |value| bytes(value.as_bytes()));
    let Some(pairs) = model.metadata(lent.text, lent.window)? else { return Ok(sum) };
    for pair in pairs {
        sum ^= bytes(pair.key.as_bytes()) ^ bytes(pair.value.as_bytes()) ^ pair.at;
    }
    Ok(sum)
}

fn size(size: IndexSize) -> u64 {
    size.tensors as u64 ^ size.dims as u64 ^ size.name_bytes as u64
}

/// Built in memory of parts that fit together or not.
fn index<S: ReadAt>(model: &mut Model<S>, lent: &mut Lent<'_>) -> Outcome<S> {
    let mut storage = Storage::default();
    let key = [bytes(lent.text), 1];
    let index = model.build_index(storage.memory().with_key(key), lent.window)?;
    let sum = look_up(model, index, lent.text)?;
    let none = model.build_index(IndexMemory::new(&mut [], &mut [], &mut []), lent.window)?;
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

/// Every way to read a tensor.
fn read<S: ReadAt>(model: &mut Model<S>, found: &impl Located, buffer: &mut [u8]) -> Outcome<S> {
    let number = number(found.locate().map(|_| 0));
    let mut reader = model.reader(found)?;
    let mut sum = number ^ place(&reader);
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

fn place<S: ReadAt>(reader: &TensorReader<'_, S>) -> u64 {
    let lengths = reader.byte_len() ^ reader.position() ^ reader.remaining();
    lengths ^ u64::from(reader.dtype().bits())
}

/// A tensor as a file of its own.
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
