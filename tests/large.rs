//! A model of 6 GiB, more than 32 bits can count, on targets of any word size.

use embedded_safetensors::{
    Model, ReadAt, TensorReader, index::IndexStorage, io::Seekable, query::Query, tensor::Located,
};
use std::convert::Infallible;
use std::fmt::Debug;
use support::file::with_header;

const GIB: u64 = 1 << 30;
/// The first tensor, which begins below 4 GiB and ends far above.
const HUGE: u64 = 6 * GIB - 24;
const DATA_LEN: u64 = 6 * GIB;

/// The file up to its data.
fn head() -> Vec<u8> {
    let rows = HUGE / 8;
    let last = HUGE + 16;
    with_header(
        &[
            format!(r#"{{"huge":{{"dtype":"F32","shape":[{rows},2],"data_offsets":[0,{HUGE}]}},"#),
            format!(r#""after":{{"dtype":"F64","shape":[2],"data_offsets":[{HUGE},{last}]}},"#),
            format!(r#""last":{{"dtype":"U8","shape":[8],"data_offsets":[{last},{DATA_LEN}]}}}}"#),
        ]
        .concat(),
        0,
    )
}

/// Returns the byte at this offset of the data. Bytes that are 4 GiB apart differ.
fn datum(offset: u64) -> u8 {
    let [.., byte] = offset.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    byte
}

/// Returns the data from this offset on.
fn data(offset: u64, len: usize) -> Vec<u8> {
    (offset..).take(len).map(datum).collect()
}

/// A file whose data are computed when they are read.
struct Synthetic {
    head: Vec<u8>,
    position: u64,
}

impl Synthetic {
    fn new() -> Self {
        Self { head: head(), position: 0 }
    }

    fn len(&self) -> u64 {
        self.head.len() as u64 + DATA_LEN
    }

    fn byte(&self, offset: u64) -> u8 {
        let in_head = usize::try_from(offset).ok().and_then(|offset| self.head.get(offset));
        in_head.copied().unwrap_or_else(|| datum(offset - self.head.len() as u64))
    }
}

impl embedded_io::ErrorType for Synthetic {
    type Error = Infallible;
}

impl embedded_io::Read for Synthetic {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let present = buffer.iter_mut().zip(self.position..self.len());
        let len = present.map(|(byte, offset)| *byte = self.byte(offset)).count();
        self.position += len as u64;
        Ok(len)
    }
}

impl embedded_io::Seek for Synthetic {
    fn seek(&mut self, to: embedded_io::SeekFrom) -> Result<u64, Infallible> {
        self.position = match to {
            embedded_io::SeekFrom::Start(offset) => offset,
            embedded_io::SeekFrom::End(offset) => {
                self.len().checked_add_signed(offset).expect("inside the file")
            }
            embedded_io::SeekFrom::Current(offset) => {
                self.position.checked_add_signed(offset).expect("inside the file")
            }
        };
        Ok(self.position)
    }
}

/// The range of the huge tensor that is read in chunks, across 4 GiB.
const ACROSS: u64 = 4 * GIB - 65_536 - 8;
const ACROSS_LEN: usize = 2 * 65_536;

/// Opens the model and reads everything across and above 4 GiB.
fn read_everything<S: ReadAt<Error: Debug>>(source: S) {
    let mut model = Model::open(source, &mut [0; 64]).expect("valid file");
    assert_eq!(model.summary().data_len, DATA_LEN);
    let mut queries = [Query::required("huge"), Query::required("after"), Query::required("last")];
    model.find_all(&mut queries, &mut [0; 64]).expect("present");
    let [huge, after, last] = &queries;
    read_across(model.reader(huge).expect("tensor of this file"));
    read_entire(&mut model, after, HUGE);
    read_entire(&mut model, last, HUGE + 16);
    read_values(&mut model, after);
    read_indexed(&mut model);
}

fn read_across<S: ReadAt<Error: Debug>>(mut reader: TensorReader<'_, S>) {
    assert_eq!(reader.byte_len(), HUGE);
    reader.seek(ACROSS).expect("in range");
    let expected = data(ACROSS, ACROSS_LEN);
    for expected in expected.chunks(4096) {
        let mut buffer = [0; 4096];
        let chunk = reader.next_chunk(&mut buffer).expect("the storage works");
        assert!(chunk == Some(expected), "wrong bytes before byte {}", reader.position());
    }
    assert_eq!(reader.position(), ACROSS + ACROSS_LEN as u64);
    assert_eq!(reader.remaining(), HUGE - reader.position());
    read_end(reader);
}

/// Reads the last bytes of the huge tensor, at an offset and after a skip.
fn read_end<S: ReadAt<Error: Debug>>(mut reader: TensorReader<'_, S>) {
    let mut buffer = [0; 16];
    assert_eq!(reader.read_at(HUGE - 16, &mut buffer).expect("the storage works"), 16);
    assert_eq!(buffer[..], data(HUGE - 16, 16));
    reader.skip(reader.remaining() - 8).expect("in range");
    assert_eq!(reader.read_to_end(&mut buffer).expect("the storage works"), data(HUGE - 8, 8));
}

fn read_entire<S: ReadAt<Error: Debug>>(model: &mut Model<S>, tensor: &impl Located, begin: u64) {
    let mut buffer = [0; 64];
    let mut reader = model.reader(tensor).expect("tensor of this file");
    let bytes = reader.read_to_end(&mut buffer).expect("the storage works");
    assert_eq!(bytes, data(begin, bytes.len()));
}

/// Reads elements as values, after an error that names a byte above 4 GiB.
fn read_values<S: ReadAt<Error: Debug>>(model: &mut Model<S>, after: &impl Located) {
    let mut values = model.reader(after).expect("tensor of this file").values();
    let error = values.read::<f64>(&mut []).expect_err("no space");
    let at = head().len() as u64 + HUGE;
    assert!(format!("{error:?}").contains(&at.to_string()), "{error:?} is not at byte {at}");
    let mut read = [0.0f64; 2];
    values.read_exact(&mut read).expect("the storage works");
    assert_eq!(read.map(f64::to_le_bytes).concat(), data(HUGE, 16));
}

fn read_indexed<S: ReadAt<Error: Debug>>(model: &mut Model<S>) {
    let mut storage = IndexStorage::<3, 4, 16>::new();
    let index = model.build_index(storage.memory(), &mut [0; 64]).expect("fits");
    let after = index.at_offset(HUGE + 15).expect("present");
    assert_eq!((after.name(), after.begin()), ("after", HUGE));
    read_entire(model, &after, HUGE);
}

/// An offset is never truncated to the width of a pointer.
#[test]
fn slice_is_empty_above_4_gib() {
    let mut buffer = [0; 8];
    for offset in [8, 1 << 32, (1 << 32) + 4, u64::MAX] {
        assert_eq!((&[1; 8][..]).read_at(offset, &mut buffer), Ok(0), "at {offset}");
    }
}

#[test]
fn seekable_storage_is_read_above_4_gib() {
    read_everything(Seekable::new(Synthetic::new()));
}

/// A real, sparse file: only the bytes that are read are written.
#[cfg(all(feature = "std", unix))]
#[test]
fn file_is_read_above_4_gib() {
    use std::os::unix::fs::FileExt;
    let path = std::env::temp_dir().join(format!("embedded-safetensors-large-{}", std::process::id()));
    let file =
        std::fs::File::options().read(true).write(true).create_new(true).open(&path).expect("a new file");
    // The file exists until it is closed.
    std::fs::remove_file(&path).expect("the file can be unlinked");
    let head = head();
    let start = head.len() as u64;
    file.set_len(start + DATA_LEN).expect("sparse files are supported");
    file.write_all_at(&head, 0).expect("fits");
    for (begin, len) in [(ACROSS, ACROSS_LEN), (HUGE - 16, 40)] {
        file.write_all_at(&data(begin, len), start + begin).expect("fits");
    }
    read_everything(file);
}
