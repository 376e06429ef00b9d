//! A model of 6 GiB, more than 32 bits can count, on machines of any word size.

use embedded_safetensors::{
    Model, ReadAt, TensorReader,
    index::IndexStorage,
    io::{FileLen, Seekable},
    query::Query,
    tensor::Located,
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
        &format!(
            r#"{{"huge":{{"dtype":"F32","shape":[{rows},2],"data_offsets":[0,{HUGE}]}},"behind":{{"dtype":"F64","shape":[2],"data_offsets":[{HUGE},{last}]}},"last":{{"dtype":"U8","shape":[8],"data_offsets":[{last},{DATA_LEN}]}}}}"#
        ),
        0,
    )
}

/// What stands at this byte of the synthetic file's data: nothing that any place 4 GiB away has too.
fn datum(offset: u64) -> u8 {
    let [.., byte] = offset.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    byte
}

/// The data that begin at this byte of the data.
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

impl ReadAt for Synthetic {
    type Error = Infallible;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let present = buffer.iter_mut().zip(offset..self.len());
        Ok(present.map(|(byte, offset)| *byte = self.byte(offset)).count())
    }

    fn file_len(&mut self) -> Result<FileLen, Infallible> {
        Ok(FileLen::Exactly(self.len()))
    }
}

impl embedded_io::ErrorType for Synthetic {
    type Error = Infallible;
}

impl embedded_io::Read for Synthetic {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let len = self.read_at(self.position, buffer)?;
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

/// What is read of the huge tensor chunk by chunk, across the 4 GiB.
const ACROSS: u64 = 4 * GIB - 65_536 - 8;
const ACROSS_LEN: usize = 2 * 65_536;

/// Opens the model and reads all that lies across and above 4 GiB.
fn read_all_doors<S: ReadAt<Error: Debug>>(source: S) {
    let mut model = Model::open(source, &mut [0; 64]).expect("it is sound");
    assert_eq!(model.summary().data_len, DATA_LEN);
    let mut wanted = [Query::required("huge"), Query::required("behind"), Query::required("last")];
    model.find_all(&mut wanted, &mut [0; 64]).expect("they are there");
    let [huge, behind, last] = &wanted;
    read_across(model.reader(huge).expect("it is this file's"));
    read_whole(&mut model, behind, HUGE);
    read_whole(&mut model, last, HUGE + 16);
    read_indexed(&mut model);
}

fn read_across<S: ReadAt<Error: Debug>>(mut reader: TensorReader<'_, S>) {
    assert_eq!(reader.byte_len(), HUGE);
    reader.seek(ACROSS).expect("it is inside");
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

/// The last bytes of the huge tensor, from a place and by skipping there.
fn read_end<S: ReadAt<Error: Debug>>(mut reader: TensorReader<'_, S>) {
    let mut buffer = [0; 16];
    assert_eq!(reader.read_at(HUGE - 16, &mut buffer).expect("the storage works"), 16);
    assert_eq!(buffer[..], data(HUGE - 16, 16));
    reader.skip(reader.remaining() - 8).expect("it is inside");
    assert_eq!(reader.read_to_end(&mut buffer).expect("the storage works"), data(HUGE - 8, 8));
}

fn read_whole<S: ReadAt<Error: Debug>>(model: &mut Model<S>, tensor: &impl Located, begin: u64) {
    let mut buffer = [0; 64];
    let mut reader = model.reader(tensor).expect("it is this file's");
    let bytes = reader.read_to_end(&mut buffer).expect("the storage works");
    assert_eq!(bytes, data(begin, bytes.len()));
}

fn read_indexed<S: ReadAt<Error: Debug>>(model: &mut Model<S>) {
    let mut storage = IndexStorage::<3, 4, 16>::new();
    let index = model.build_index(storage.memory(), &mut [0; 64]).expect("there is room");
    let behind = index.at_offset(HUGE + 15).expect("it lies there");
    assert_eq!((behind.name(), behind.begin()), ("behind", HUGE));
    read_whole(model, &behind, HUGE);
}

/// An offset is never cut to the width of a pointer.
#[test]
fn a_slice_has_nothing_above_4_gib() {
    let mut buffer = [0; 8];
    for offset in [8, 1 << 32, (1 << 32) + 4, u64::MAX] {
        assert_eq!((&[1; 8][..]).read_at(offset, &mut buffer), Ok(0), "at {offset}");
    }
}

#[test]
fn storage_of_our_own_is_read_above_4_gib() {
    read_all_doors(Synthetic::new());
}

#[test]
fn storage_that_seeks_is_read_above_4_gib() {
    read_all_doors(Seekable::new(Synthetic::new()));
}

/// A real file with holes: only what is read is written.
#[cfg(all(feature = "std", unix))]
#[test]
fn a_file_is_read_above_4_gib() {
    use std::os::unix::fs::FileExt;
    let path = std::env::temp_dir().join(format!("embedded-safetensors-large-{}", std::process::id()));
    let file =
        std::fs::File::options().read(true).write(true).create_new(true).open(&path).expect("a new file");
    // It lives on until it is closed, and leaves nothing behind then.
    std::fs::remove_file(&path).expect("the file can be unlinked");
    let head = head();
    let start = head.len() as u64;
    file.set_len(start + DATA_LEN).expect("the disk takes files with holes");
    file.write_all_at(&head, 0).expect("there is room");
    for (begin, len) in [(ACROSS, ACROSS_LEN), (HUGE - 16, 40)] {
        file.write_all_at(&data(begin, len), start + begin).expect("there is room");
    }
    read_all_doors(file);
}
