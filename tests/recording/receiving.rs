//! Files that arrive once and are stored.

use embedded_safetensors::{
    ErrorKind, View, WriteError,
    io::NorFile,
    query::Query,
    stream::{FileReceiver, Status},
};
use support::Chip;
use support::file::with_header;

use crate::recording::sample::Sample;

const HEADER: &str = r#"{"a":{"dtype":"U8","shape":[40],"data_offsets":[0,40]}}"#;

#[test]
fn stored_file_is_the_one_that_arrived() {
    for sample in [Sample::short(), Sample::long()] {
        let file = sample.file();
        for (buffer, piece) in [(8, 1), (17, 1000), (64, 20), (1000, 50), (16, 7)] {
            let mut memory = vec![7; file.len()];
            sample.receive(&mut memory[..], buffer, piece).expect("succeeds");
            assert_eq!(memory, file, "{buffer}, {piece}");
        }
    }
}

fn assert_stored<const UNIT: usize>(file: &[u8]) {
    let mut flash = Chip::<UNIT>::new(7);
    let mut buffer = [0; 512];
    let storage = NorFile::partition(&mut flash, 0..4096);
    let mut receiver = FileReceiver::new(storage, file.len() as u64, &mut [], &mut buffer).expect("fits");
    for piece in file.chunks(3) {
        receiver.push(piece).expect("valid");
    }
    receiver.finish().expect("complete");
    assert_eq!(flash.memory()[..file.len()], *file);
    assert!(flash.memory()[file.len()..1024].iter().all(|byte| *byte == 0xFF));
}

#[test]
fn small_files_are_stored() {
    assert_stored::<256>(&with_header("{}", 0)); // smaller than the unit that is written last
    assert_stored::<16>(&with_header("{}       ", 0)); // one byte longer
    let file = with_header(HEADER, 40);
    assert_stored::<32>(&file);
    // The first byte of data is the last one of the first unit.
    let (mut flash, mut buffer) = (Chip::<64>::new(7), [0; 128]);
    let storage = NorFile::new(&mut flash);
    let mut receiver = FileReceiver::new(storage, file.len() as u64, &mut [], &mut buffer).expect("fits");
    assert_eq!(receiver.push(&file), Err(ErrorKind::FirstUnit { unit: 64 }.at(63).into()));
}

fn receiver<'a>(
    memory: &'a mut [u8],
    file_len: u64,
    buffer: &'a mut [u8],
) -> FileReceiver<'a, 'static, &'a mut [u8]> {
    FileReceiver::new(memory, file_len, &mut [], buffer).expect("fits")
}

#[test]
fn status_follows_the_file() {
    let file = with_header(HEADER, 40);
    let data_start = file.len() - 40;
    let (mut memory, mut buffer) = (vec![0; file.len()], [0; 64]);
    let mut receiver = receiver(&mut memory, file.len() as u64, &mut buffer);
    for (index, byte) in file.iter().enumerate() {
        let expected = match index + 1 {
            end if end < data_start => Status::Header,
            end if end < file.len() => Status::Data,
            _ => Status::Complete,
        };
        assert_eq!(receiver.push(&[*byte]), Ok(expected), "{index}");
        assert_eq!(receiver.position(), index as u64 + 1);
    }
    assert_eq!(receiver.summary().map(|summary| summary.tensors), Some(1));
    receiver.finish().expect("complete");
    assert_eq!(memory, file);
}

/// A file that ends anywhere is not valid in the storage.
#[test]
fn incomplete_file_is_not_valid() {
    let file = with_header(HEADER, 40);
    let file_len = file.len() as u64;
    for len in 0..file.len() {
        let (mut memory, mut buffer) = (file.clone(), [0; 16]);
        let mut receiver = receiver(&mut memory, file_len, &mut buffer);
        receiver.push(&file[..len]).expect("valid so far");
        let code = match receiver.finish() {
            Err(WriteError::Format(error)) => error.kind.code(),
            other => panic!("{len}: {:?}", other.map(drop)),
        };
        let expected = match len {
            0..8 => "container.short",
            _ if len < file.len() - 40 => "container.header-beyond-file",
            _ => "data.short",
        };
        assert_eq!(code, expected, "{len}");
        assert!(View::parse(&memory).is_err(), "{len}");
    }
}

#[test]
fn length_must_be_that_of_the_header() {
    let file = with_header(HEADER, 40);
    for (announced, code) in [(file.len() - 1, "data.short"), (file.len() + 1, "data.trailing")] {
        let (mut memory, mut buffer) = (vec![0; announced], [0; 64]);
        let mut receiver = receiver(&mut memory, announced as u64, &mut buffer);
        let error = receiver.push(&file[..file.len() - 40]).expect_err("another length");
        assert!(matches!(error, WriteError::Format(format) if format.kind.code() == code), "{error}");
        assert_eq!(receiver.push(&[0]), Err(error), "it is repeated");
        assert!(matches!(receiver.finish(), Err(again) if again == error));
        assert!(View::parse(&memory).is_err());
    }
    let (mut memory, mut buffer) = (vec![0; file.len()], [0; 64]);
    let mut receiver = receiver(&mut memory, file.len() as u64, &mut buffer);
    receiver.push(&file).expect("complete");
    let more = receiver.push(&[0]).expect_err("too many bytes");
    assert_eq!(more, ErrorKind::DataTrailing { needed: 40 }.at(file.len() as u64).into());
    assert!(matches!(receiver.finish(), Err(again) if again == more));
    assert!(View::parse(&memory).is_err());
}

#[test]
fn unsuitable_storage_and_buffers_are_reported_first() {
    let mut memory = [7; 100];
    let mut attempt = |file_len, buffer: &mut [u8]| {
        let outcome = FileReceiver::new(&mut memory[..], file_len, &mut [], buffer).map(drop);
        (outcome, memory == [7; 100])
    };
    let short = |needed, capacity| ErrorKind::BufferLength { needed, capacity }.at(0).into();
    assert_eq!(attempt(7, &mut [0; 64]), (Err(ErrorKind::FileTooShort.at(7).into()), true));
    assert_eq!(attempt(100, &mut [0; 7]), (Err(short(8, 7)), true));
    let capacity = ErrorKind::Capacity { needed: 101, capacity: 100 }.at(100).into();
    assert_eq!(attempt(101, &mut [0; 16]), (Err(capacity), true));
    for file_len in [8, 99] {
        let longer = ErrorKind::Longer { len: 100, file_len }.at(file_len).into();
        assert_eq!(attempt(file_len, &mut [0; 16]), (Err(longer), true));
    }
    let (mut flash, mut buffer) = (Chip::<16>::new(7), [0; 31]);
    let outcome = FileReceiver::new(NorFile::new(&mut flash), 100, &mut [], &mut buffer).map(drop);
    let needed = ErrorKind::BufferLength { needed: 32, capacity: 31 }.at(0);
    assert!(matches!(outcome, Err(WriteError::Format(error)) if error == needed), "{outcome:?}");
    assert!(flash.calls.is_empty());
}

/// What the queries request is checked when the header is complete, before the file can become valid.
#[test]
fn file_is_checked_against_queries() {
    let file = with_header(HEADER, 40);
    let shape = ErrorKind::ShapeMismatch { query: None, axis: 0, found: 40, asked: 41 };
    for (dims, is_right) in [([40], true), ([41], false)] {
        let (mut memory, mut buffer) = (vec![0; file.len()], [0; 16]);
        let mut net = [Query::required("a").shape(&dims)];
        let mut receiver =
            FileReceiver::new(&mut memory[..], file.len() as u64, &mut net, &mut buffer).expect("fits");
        let pushed = file.chunks(9).try_for_each(|piece| receiver.push(piece).map(drop));
        assert_eq!(pushed.is_ok(), is_right);
        match (pushed, receiver.finish()) {
            (Ok(()), finished) => drop(finished.expect("complete")),
            (Err(WriteError::Format(error)), Err(_)) => assert_eq!(error.kind.code(), shape.code()),
            (pushed, _) => panic!("{pushed:?}"),
        }
        assert_eq!(net[0].info().is_some(), is_right);
        assert_eq!(View::parse(&memory).is_ok(), is_right);
    }
}

/// However the file is cut, the error is the same; excess bytes never hide one in the header.
#[test]
fn errors_do_not_depend_on_the_pieces() {
    let bad = with_header(&HEADER.replace("U8", "U9"), 40);
    let long = [with_header(HEADER, 40), vec![0; 3]].concat();
    for (file, file_len, code) in
        [(&bad, bad.len() - 3, "dtype.unknown"), (&long, long.len() - 3, "data.trailing")]
    {
        for piece in 1..=file.len() {
            let (mut memory, mut buffer) = (vec![0; file_len], [0; 16]);
            let mut receiver = receiver(&mut memory, file_len as u64, &mut buffer);
            let pushed = file.chunks(piece).try_for_each(|piece| receiver.push(piece).map(drop));
            let error = pushed.expect_err("invalid");
            assert!(
                matches!(error, WriteError::Format(format) if format.kind.code() == code),
                "{piece}: {error}"
            );
        }
    }
}
