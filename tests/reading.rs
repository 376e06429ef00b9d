//! The contract of a tensor reader besides the right bytes: its position after each call, its errors, and its
//! calls of the storage.

use embedded_io::Read;
use embedded_safetensors::{Dtype, ErrorKind, Model, Shape, TensorInfo, TensorReader, query::Query};
use support::file::with_header;
use support::mock::{Plan, Storage};

/// The offset of the data of [`file`], and of its tensor `b`.
const START: u64 = 128;

/// Tensor `a` of 3 bytes, and `b` of 40 elements of 4 bytes that count up.
fn file() -> Vec<u8> {
    let header = concat!(
        r#"{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"#,
        r#""b":{"dtype":"F32","shape":[40],"data_offsets":[3,163]}}"#,
    );
    let mut file = with_header(&format!("{header:120}"), 0);
    assert_eq!(file.len() as u64, START);
    file.extend(b"abc");
    file.extend(0..160);
    file
}

/// Opens the model and passes the reader of `b`, on a plan that starts there.
fn read_b(plan: Plan, read: impl FnOnce(TensorReader<'_, &mut &Storage<'_>>, &Storage<'_>)) {
    let file = file();
    let storage = Storage::new(&file, Plan::default());
    let mut window = [0; 64];
    let mut model = Model::open(&storage, &mut window).expect("valid file");
    let info = model.find("b", &mut window).expect("valid file").expect("present");
    storage.set_plan(plan);
    read(model.reader(&info).expect("tensor of this file"), &storage);
}

fn bytes(range: std::ops::Range<u8>) -> Vec<u8> {
    range.collect()
}

#[test]
fn empty_read_makes_no_call() {
    read_b(Plan::default(), |mut reader, storage| {
        assert_eq!(reader.read(&mut []), Ok(0));
        assert_eq!(reader.read_at(5, &mut []), Ok(0));
        assert_eq!(reader.read_at(160, &mut [0; 8]), Ok(0));
        reader.seek(160).expect("in range");
        assert_eq!(reader.next_chunk(&mut []), Ok(None));
        assert_eq!(reader.next_chunk(&mut [0; 8]), Ok(None));
        assert_eq!(reader.read_to_end(&mut []), Ok(&[][..]));
        assert_eq!(reader.read(&mut [0; 8]), Ok(0));
        assert_eq!(storage.counts().calls, 0);
    });
}

#[test]
fn too_small_buffer_is_rejected() {
    read_b(Plan::default(), |mut reader, storage| {
        for capacity in 0..4u64 {
            let mut buffer = vec![0; usize::try_from(capacity).expect("fits in usize")];
            let rejected = ErrorKind::BufferLength { needed: 4, capacity }.at(START + 3 + capacity);
            assert_eq!(reader.next_chunk(&mut buffer), Err(rejected.into()));
        }
        reader.seek(6).expect("in range");
        let rejected = ErrorKind::BufferLength { needed: 2, capacity: 1 }.at(START + 3 + 6 + 1);
        assert_eq!(reader.next_chunk(&mut [0; 1]), Err(rejected.into()));
        assert_eq!(reader.next_chunk(&mut [0; 2]), Ok(Some(&bytes(6..8)[..])), "the rest of the element");
        assert_eq!(rejected.kind.code(), "limit.buffer");
        assert_eq!((reader.position(), storage.counts().calls), (8, 1));
    });
}

#[test]
fn too_small_buffer_reports_remaining_length() {
    read_b(Plan::default(), |mut reader, _| {
        reader.seek(100).expect("in range");
        let rejected = ErrorKind::BufferLength { needed: 60, capacity: 59 }.at(START + 3 + 100 + 59);
        assert_eq!(reader.read_to_end(&mut [0; 59]), Err(rejected.into()));
        assert_eq!(reader.position(), 100);
        assert_eq!(reader.read_to_end(&mut [0; 60]), Ok(&bytes(100..160)[..]));
        assert_eq!(reader.position(), 160);
    });
}

#[test]
fn offset_beyond_the_end_is_rejected() {
    read_b(Plan::default(), |mut reader, storage| {
        let outside = |asked| ErrorKind::OutsideTensor { asked, len: 160 }.at(START + 163);
        assert_eq!(outside(1).kind.code(), "usage.range");
        reader.seek(7).expect("in range");
        for asked in [161, 1 << 32, u64::MAX] {
            assert_eq!(reader.seek(asked), Err(outside(asked)));
            assert_eq!(reader.read_at(asked, &mut [0; 4]), Err(outside(asked).into()));
            assert_eq!(reader.read_at(asked, &mut []), Err(outside(asked).into()));
        }
        assert_eq!(reader.skip(154), Err(outside(161)));
        assert_eq!(reader.skip(u64::MAX), Err(outside(u64::MAX)));
        assert_eq!((reader.position(), storage.counts().calls), (7, 0), "the position is unchanged");
        assert_eq!(reader.skip(153), Ok(()));
        assert_eq!(reader.remaining(), 0);
        assert_eq!(reader.seek(0), Ok(()));
        assert_eq!(reader.remaining(), 160);
    });
}

#[test]
fn block_size_must_be_a_power_of_two() {
    for asked in [0, 3, 6, 511, u64::MAX] {
        read_b(Plan::default(), |reader, _| {
            let rejected = ErrorKind::Block { asked }.at(START + 3);
            assert_eq!(rejected.kind.code(), "usage.block");
            assert_eq!(reader.aligned_to(asked).map(|_| ()), Err(rejected));
        });
    }
    for block in [1, 2, 1 << 32, 1 << 63] {
        read_b(Plan::default(), |reader, _| assert!(reader.aligned_to(block).is_ok()));
    }
}

#[test]
fn tensor_outside_the_model_is_rejected() {
    let (file, small) = (file(), with_header(r#"{"b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}"#, 3));
    let mut window = [0; 64];
    let mut queries = [Query::required("b")];
    let mut large = Model::open(&file[..], &mut window).expect("valid file");
    large.find_all(&mut queries, &mut window).expect("present");
    let mut model = Model::open(&small[..], &mut window).expect("valid file");
    let other = ErrorKind::OtherModel.at(model.summary().data_start);
    assert_eq!(model.reader(&queries[0]).map(|_| ()), Err(other));
    let outside = ErrorKind::OutsideData { end: 163, data_len: 3 }.at(small.len() as u64);
    assert_eq!(outside.kind.code(), "usage.tensor");
    assert_eq!(model.reader(&queries[0].info().expect("present")).map(|_| ()), Err(outside));
    let info =
        |begin, end| TensorInfo::new(Dtype::U8, Shape::new(&[end - begin]).unwrap(), begin, end).unwrap();
    assert!(model.reader(&info(0, 3)).is_ok());
    assert!(model.reader(&info(3, 3)).is_ok());
    for (begin, end) in [(0, 4), (3, 4), (4, 4), (u64::MAX, u64::MAX)] {
        let outside = ErrorKind::OutsideData { end, data_len: 3 }.at(small.len() as u64);
        assert_eq!(model.reader(&info(begin, end)).map(|_| ()), Err(outside), "{begin}..{end}");
    }
}
