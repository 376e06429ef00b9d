//! What a tensor's reader promises besides the right bytes: where it stands after each call, what it refuses,
//! and what it asks of the storage.

use embedded_io::Read;
use embedded_safetensors::{
    Dtype, ErrorKind, Model, ReadError, Shape, TensorInfo, TensorReader, io::FileLen, query::Query,
};
use support::file::with_header;
use support::mock::{Failure, Fault, Plan, Reads, Storage};

/// Where the data of [`file`] begins, and its tensor `b`.
const START: u64 = 128;

/// Tensor `a` of 3 bytes, and `b` of 40 elements of 4 bytes that count up.
fn file() -> Vec<u8> {
    let header = r#"{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"F32","shape":[40],"data_offsets":[3,163]}}"#;
    let mut file = with_header(&format!("{header:120}"), 0);
    assert_eq!(file.len() as u64, START);
    file.extend(b"abc");
    file.extend(0..160);
    file
}

/// Opens the model and hands over the reader of `b`, on a plan that begins there.
fn read_b(plan: Plan, read: impl FnOnce(TensorReader<'_, &mut &Storage<'_>>, &Storage<'_>)) {
    let file = file();
    let storage = Storage::new(&file, Plan::default());
    let mut window = [0; 64];
    let mut model = Model::open(&storage, &mut window).expect("it is sound");
    let info = model.find("b", &mut window).expect("it is sound").expect("it is there");
    storage.follow(plan);
    read(model.reader(&info).expect("it is this file's"), &storage);
}

fn bytes(range: std::ops::Range<u8>) -> Vec<u8> {
    range.collect()
}

#[test]
fn a_reader_says_what_it_reads() {
    read_b(Plan::default(), |mut reader, _| {
        assert_eq!((reader.dtype(), reader.byte_len()), (Dtype::F32, 160));
        assert_eq!((reader.position(), reader.remaining()), (0, 160));
        assert_eq!(reader.next_chunk(&mut [0; 11]), Ok(Some(&bytes(0..8)[..])));
        assert_eq!((reader.position(), reader.remaining()), (8, 152));
    });
}

#[test]
fn a_chunk_asks_the_storage_once_and_for_no_other_bytes() {
    read_b(Plan::default(), |mut reader, storage| {
        let mut buffer = [0; 50];
        while reader.next_chunk(&mut buffer).expect("it is sound").is_some() {}
        let begin = START + 3;
        let expected = [(0, 48), (48, 96), (96, 144), (144, 160)].map(|(from, to)| begin + from..begin + to);
        assert_eq!(storage.counts().ranges, expected);
        assert_eq!(storage.counts().calls, 4, "at the end there is nothing to ask for");
    });
}

#[test]
fn what_reads_nothing_asks_for_nothing() {
    read_b(Plan::default(), |mut reader, storage| {
        assert_eq!(reader.read(&mut []), Ok(0));
        assert_eq!(reader.read_at(5, &mut []), Ok(0));
        assert_eq!(reader.read_at(160, &mut [0; 8]), Ok(0));
        reader.seek(160).expect("it is the end");
        assert_eq!(reader.next_chunk(&mut []), Ok(None));
        assert_eq!(reader.next_chunk(&mut [0; 8]), Ok(None));
        assert_eq!(reader.read_to_end(&mut []), Ok(&[][..]));
        assert_eq!(reader.read(&mut [0; 8]), Ok(0));
        assert_eq!(storage.counts().calls, 0);
    });
}

#[test]
fn a_buffer_without_room_for_an_element_is_refused() {
    read_b(Plan::default(), |mut reader, storage| {
        for capacity in 0..4u64 {
            let mut buffer = vec![0; usize::try_from(capacity).expect("it is small")];
            let refused = ErrorKind::BufferLength { needed: 4, capacity }.at(START + 3 + capacity);
            assert_eq!(reader.next_chunk(&mut buffer), Err(refused.into()));
        }
        reader.seek(6).expect("it is inside");
        let refused = ErrorKind::BufferLength { needed: 2, capacity: 1 }.at(START + 3 + 6 + 1);
        assert_eq!(reader.next_chunk(&mut [0; 1]), Err(refused.into()));
        assert_eq!(reader.next_chunk(&mut [0; 2]), Ok(Some(&bytes(6..8)[..])), "the rest of the element");
        assert_eq!(refused.kind.code(), "limit.buffer");
        assert_eq!((reader.position(), storage.counts().calls), (8, 1));
    });
}

#[test]
fn a_buffer_without_room_for_the_rest_says_how_long_that_is() {
    read_b(Plan::default(), |mut reader, _| {
        reader.seek(100).expect("it is inside");
        let refused = ErrorKind::BufferLength { needed: 60, capacity: 59 }.at(START + 3 + 100 + 59);
        assert_eq!(reader.read_to_end(&mut [0; 59]), Err(refused.into()));
        assert_eq!(reader.position(), 100);
        assert_eq!(reader.read_to_end(&mut [0; 60]), Ok(&bytes(100..160)[..]));
        assert_eq!(reader.position(), 160);
    });
}

#[test]
fn no_place_beyond_the_end_is_accepted() {
    read_b(Plan::default(), |mut reader, storage| {
        let outside = |asked| ErrorKind::OutsideTensor { asked, len: 160 }.at(START + 163);
        assert_eq!(outside(1).kind.code(), "usage.range");
        reader.seek(7).expect("it is inside");
        for asked in [161, 1 << 32, u64::MAX] {
            assert_eq!(reader.seek(asked), Err(outside(asked)));
            assert_eq!(reader.read_at(asked, &mut [0; 4]), Err(outside(asked).into()));
            assert_eq!(reader.read_at(asked, &mut []), Err(outside(asked).into()));
        }
        assert_eq!(reader.skip(154), Err(outside(161)));
        assert_eq!(reader.skip(u64::MAX), Err(outside(u64::MAX)));
        assert_eq!((reader.position(), storage.counts().calls), (7, 0), "it stays where it was");
        assert_eq!(reader.skip(153), Ok(()));
        assert_eq!(reader.remaining(), 0);
        assert_eq!(reader.seek(0), Ok(()));
        assert_eq!(reader.remaining(), 160);
    });
}

#[test]
fn only_powers_of_two_are_blocks() {
    for asked in [0, 3, 6, 511, u64::MAX] {
        read_b(Plan::default(), |reader, _| {
            let refused = ErrorKind::Block { asked }.at(START + 3);
            assert_eq!(refused.kind.code(), "usage.block");
            assert_eq!(reader.aligned_to(asked).map(|_| ()), Err(refused));
        });
    }
    for block in [1, 2, 1 << 32, 1 << 63] {
        read_b(Plan::default(), |reader, _| assert!(reader.aligned_to(block).is_ok()));
    }
}

/// The tensor begins at byte 131, so that no border of 32 bytes is one of its elements of 4.
#[test]
fn blocks_that_share_no_border_with_the_elements_cost_no_reads() {
    read_b(Plan { reads: Reads::Whole, ..Plan::default() }, |reader, storage| {
        let mut reader = reader.aligned_to(32).expect("a power of two");
        let mut buffer = [0; 70];
        while reader.next_chunk(&mut buffer).expect("it is sound").is_some() {}
        let expected = [(0, 68), (68, 136), (136, 160)].map(|(from, to)| START + 3 + from..START + 3 + to);
        assert_eq!(storage.counts().ranges, expected);
    });
}

#[test]
fn reads_that_are_short_are_gone_on_with() {
    for most in [1, 2, 7] {
        read_b(Plan { reads: Reads::AtMost(most), ..Plan::default() }, |mut reader, storage| {
            assert_eq!(reader.next_chunk(&mut [0; 42]), Ok(Some(&bytes(0..40)[..])));
            assert_eq!(storage.counts().reads, 40u64.div_ceil(most as u64));
            let mut buffer = [0; 8];
            assert_eq!(reader.read(&mut buffer), Ok(most), "one read gives what there is");
            assert_eq!(buffer[..most], bytes(40..48)[..most]);
            assert_eq!(reader.position(), 40 + most as u64);
        });
    }
}

#[test]
fn a_reader_stands_where_it_stood_before_what_failed() {
    let plan = |call| Plan { reads: Reads::AtMost(5), failure: Some(Failure::Once(call)), ..Plan::default() };
    let broken = ReadError::Source(Fault::Broken);
    for call in 0..4 {
        read_b(plan(call), |mut reader, _| {
            assert_eq!(reader.next_chunk(&mut [0; 20]), Err(broken));
            assert_eq!(reader.position(), 0);
            assert_eq!(reader.next_chunk(&mut [0; 20]), Ok(Some(&bytes(0..20)[..])));
        });
        read_b(plan(call), |mut reader, _| {
            reader.seek(1).expect("it is inside");
            assert_eq!(reader.read_to_end(&mut [0; 160]), Err(broken));
            assert_eq!(reader.read_at(50, &mut [0; 20]), Ok(20));
            assert_eq!(reader.position(), 1);
            assert_eq!(reader.read_to_end(&mut [0; 160]), Ok(&bytes(1..160)[..]));
        });
        read_b(plan(call), |mut reader, _| {
            reader.seek(9).expect("it is inside");
            assert_eq!(reader.read_at(50, &mut [0; 20]), Err(broken));
            assert_eq!(reader.position(), 9);
        });
    }
    read_b(plan(0), |mut reader, _| {
        assert_eq!(reader.read(&mut [0; 20]), Err(broken));
        assert_eq!(reader.position(), 0);
        assert_eq!(reader.read(&mut [0; 20]), Ok(5));
    });
}

#[test]
fn a_tensor_of_another_model_is_refused_where_it_cannot_lie_in_this_one() {
    let (file, small) = (file(), with_header(r#"{"b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}"#, 3));
    let mut window = [0; 64];
    let mut wanted = [Query::required("b")];
    let mut large = Model::open(&file[..], &mut window).expect("it is sound");
    large.find_all(&mut wanted, &mut window).expect("it is there");
    let mut model = Model::open(&small[..], &mut window).expect("it is sound");
    let outside = ErrorKind::OutsideData { end: 163, data_len: 3 }.at(small.len() as u64);
    assert_eq!(outside.kind.code(), "usage.tensor");
    assert_eq!(model.reader(&wanted[0]).map(|_| ()), Err(outside));
    let info =
        |begin, end| TensorInfo::new(Dtype::U8, Shape::new(&[end - begin]).unwrap(), begin, end).unwrap();
    assert!(model.reader(&info(0, 3)).is_ok());
    assert!(model.reader(&info(3, 3)).is_ok());
    for (begin, end) in [(0, 4), (3, 4), (4, 4), (u64::MAX, u64::MAX)] {
        let outside = ErrorKind::OutsideData { end, data_len: 3 }.at(small.len() as u64);
        assert_eq!(model.reader(&info(begin, end)).map(|_| ()), Err(outside), "{begin}..{end}");
    }
}

#[test]
fn the_end_of_the_storage_is_named_by_its_byte() {
    let file = file();
    let mut window = [0; 64];
    for cut in [START + 3, START + 4, START + 100, START + 162] {
        let cut_file = &file[..usize::try_from(cut).expect("it is in memory")];
        let claim = Some(FileLen::Exactly(file.len() as u64));
        let storage = Storage::new(cut_file, Plan { claim, ..Plan::default() });
        let mut model = Model::open(&storage, &mut window).expect("the header is sound");
        let info = model.find("b", &mut window).expect("it is sound").expect("it is there");
        let mut reader = model.reader(&info).expect("it is this file's");
        let ends = Err(ReadError::UnexpectedEof { at: cut });
        assert_eq!(reader.read_to_end(&mut [0; 160]), ends);
        assert_eq!(reader.read_at(0, &mut [0; 160]).map(|_| &[][..]), ends);
        assert_eq!(reader.position(), 0);
        let present = usize::try_from(cut - START - 3).expect("it is in memory");
        assert_eq!(reader.read(&mut [0; 160]).ok(), Some(present).filter(|&len| len > 0));
        assert_eq!(reader.read(&mut [0; 160]).map(|_| &[][..]), ends);
    }
}
