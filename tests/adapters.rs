//! What the adapters ask of the storage that they wrap, and what they make of its errors.

use std::ops::Range;

use embedded_io::{Error, ErrorKind};
use embedded_safetensors::{
    ErrorKind as Kind, Model, ReadAt, ReadError,
    io::{FileLen, NorError, NorFile, Seekable},
};
use support::file::with_header;
use support::mock::{Failure, Fault, Plan, Storage};
use support::sources::{Flash, Stream};

const HEADER: &str = r#"{"a":{"dtype":"U8","shape":[100],"data_offsets":[0,100]}}"#;

fn file() -> Vec<u8> {
    let mut file = with_header(HEADER, 0);
    file.extend(0..100);
    file
}

fn failing(call: u64) -> Plan {
    Plan { failure: Some(Failure::Once(call)), ..Plan::default() }
}

#[test]
fn a_stream_is_sought_only_where_the_next_read_does_not_go_on() {
    let file = file();
    let storage = Storage::new(&file, Plan::default());
    let mut window = [0; 16];
    let mut model = Model::open(Seekable::new(Stream::new(&storage)), &mut window).expect("it is sound");
    assert_eq!(storage.counts().seeks, 2, "to the end, for the length, and to the front");
    let info = model.find("a", &mut window).expect("it is sound").expect("it is there");
    assert_eq!(storage.counts().seeks, 3, "to the front");
    let mut reader = model.reader(&info).expect("it is this file's");
    while reader.next_chunk(&mut window).expect("it is sound").is_some() {}
    assert_eq!(storage.counts().seeks, 3, "the tensor follows the header");
    reader.seek(50).expect("it is inside");
    while reader.next_chunk(&mut window).expect("it is sound").is_some() {}
    assert_eq!(storage.counts().seeks, 4);
}

#[test]
fn a_stream_that_failed_is_sought_again() {
    let file: Vec<u8> = (0..100).collect();
    let storage = Storage::new(&file, Plan::default());
    let mut source = Seekable::new(Stream::new(&storage));
    let mut buffer = [0; 10];
    assert_eq!(source.read_at(20, &mut buffer), Ok(10));
    storage.follow(failing(0));
    assert_eq!(source.read_at(30, &mut buffer), Err(Fault::Broken));
    assert_eq!((source.read_at(30, &mut buffer), buffer[0]), (Ok(10), 30), "the stream stood elsewhere");
    assert_eq!(storage.counts().seeks, 1);
    storage.follow(failing(0));
    assert_eq!(source.read_at(70, &mut buffer), Err(Fault::Broken), "the seek fails");
    assert_eq!((source.read_at(40, &mut buffer), buffer[0]), (Ok(10), 40));
    assert_eq!(source.file_len(), Ok(FileLen::Exactly(100)));
    assert_eq!(
        (source.read_at(50, &mut buffer), buffer[0]),
        (Ok(10), 50),
        "the length was asked for between"
    );
}

#[test]
fn the_end_of_a_stream_is_no_bytes() {
    let storage = Storage::new(b"abc", Plan::default());
    let mut source = Seekable::new(Stream::new(&storage));
    let mut buffer = [0; 2];
    assert_eq!(source.read_at(2, &mut buffer), Ok(1));
    assert_eq!(source.read_at(3, &mut buffer), Ok(0));
    assert_eq!(source.read_at(u64::MAX, &mut buffer), Ok(0));
    let mut stream = source.into_inner();
    assert_eq!(embedded_io::Seek::seek(&mut stream, embedded_io::SeekFrom::Start(1)), Ok(1));
    assert_eq!(embedded_io::Read::read(&mut stream, &mut buffer), Ok(2), "it came back");
}

#[test]
fn errors_keep_their_kind_or_get_the_one_that_fits() {
    let kind = |error: ReadError<Fault>| error.kind();
    assert_eq!(kind(ReadError::Source(Fault::Interrupted)), ErrorKind::Interrupted);
    assert_eq!(kind(ReadError::Source(Fault::Broken)), ErrorKind::Other);
    assert_eq!(kind(ReadError::UnexpectedEof { at: 1 }), ErrorKind::InvalidData);
    assert_eq!(kind(Kind::Utf8.at(1).into()), ErrorKind::InvalidData);
    assert_eq!(kind(Kind::OutOfOrder.at(1).into()), ErrorKind::OutOfMemory);
    assert_eq!(kind(Kind::NoWindow.at(1).into()), ErrorKind::InvalidInput);
    assert_eq!(NorError(Fault::NotAligned).kind(), ErrorKind::Other);
}

#[test]
fn errors_are_sentences() {
    let said = |error: ReadError<NorError<Fault>>| error.to_string();
    let flash = |fault| said(ReadError::Source(NorError(fault)));
    let unaligned = "the flash was read, written or erased at an address or in a length that it cannot do";
    assert_eq!(flash(Fault::NotAligned), format!("the storage cannot be read: {unaligned}"));
    let beyond = "the flash was read, written or erased beyond its end";
    assert_eq!(flash(Fault::OutOfBounds), format!("the storage cannot be read: {beyond}"));
    assert_eq!(flash(Fault::Broken), "the storage cannot be read: the flash failed");
    assert_eq!(said(ReadError::UnexpectedEof { at: 7 }), "the file ends at byte 7, before its end was due");
    let format = Kind::FileTooShort.at(3);
    assert_eq!(said(format.into()), format.to_string());
}

/// The reads of flash with units of 16 bytes when these bytes of a partition are read that begins at 0x20.
fn units_of(offset: u64, len: usize) -> Vec<(u64, u64)> {
    let file: Vec<u8> = (0..100).collect();
    let storage = Storage::new(&file, Plan::default());
    let mut source = NorFile::partition(Flash::<16>::new(&storage, 0x20), 0x20..0x84);
    let mut buffer = vec![0; len];
    let mut filled = 0;
    while filled < len {
        filled += source.read_at(offset + filled as u64, &mut buffer[filled..]).expect("it is sound");
    }
    let offset = usize::try_from(offset).expect("it is small");
    assert_eq!(buffer, file[offset..offset + len]);
    storage.counts().ranges.iter().map(|range| (range.start, range.end)).collect()
}

#[test]
fn whole_units_of_flash_are_read_at_once() {
    assert_eq!(units_of(0, 96), [(0, 96)]);
    assert_eq!(units_of(16, 16), [(16, 32)]);
    assert_eq!(units_of(0, 40), [(0, 32), (32, 48)]);
    assert_eq!(units_of(5, 11), [(0, 16)]);
    assert_eq!(units_of(5, 50), [(0, 16), (16, 48), (48, 64)]);
    assert_eq!(units_of(17, 3), [(16, 32)]);
    assert_eq!(units_of(96, 4), [(96, 100)]);
}

#[test]
fn a_partition_lies_in_the_flash() {
    let file: Vec<u8> = (0..64).collect();
    let storage = Storage::new(&file, Plan::default());
    let opened = |range: Range<u32>| NorFile::partition(Flash::<4>::new(&storage, 0), range);
    let mut buffer = [0; 8];
    for (start, end, len) in [
        (0, 64, 64),
        (10, 20, 10),
        (10, 1000, 54),
        (63, u32::MAX, 1),
        (64, 64, 0),
        (20, 10, 0),
        (1000, 2000, 0),
        (u32::MAX, u32::MAX, 0),
    ] {
        let mut source = opened(start..end);
        assert_eq!(source.file_len(), Ok(FileLen::AtMost(len)), "{start}..{end}");
        let last = source.read_at(len.saturating_sub(1), &mut buffer);
        assert_eq!(last, Ok(usize::from(len > 0)), "{start}..{end}");
        assert!(len == 0 || u64::from(buffer[0]) == u64::from(start) + len - 1);
        for beyond in [len, len + 1, 1 << 32, u64::MAX] {
            assert_eq!(source.read_at(beyond, &mut buffer), Ok(0), "{start}..{end}");
        }
        assert_eq!(source.read_at(0, &mut []), Ok(0));
        assert_eq!(source.with_file_len(5).file_len(), Ok(FileLen::Exactly(5)));
    }
    let mut whole = NorFile::new(Flash::<4>::new(&storage, 0));
    assert_eq!(whole.file_len(), Ok(FileLen::AtMost(64)));
    assert_eq!((whole.read_at(0, &mut buffer), buffer), (Ok(8), [0, 1, 2, 3, 4, 5, 6, 7]));
}

#[test]
fn what_lies_behind_the_file_in_its_partition_is_not_looked_at() {
    let mut flash = file();
    let len = flash.len() as u64;
    flash.extend([0xFF; 50]);
    let storage = Storage::new(&flash, Plan::default());
    let mut window = [0; 64];
    let source = NorFile::new(Flash::<4>::new(&storage, 0));
    let model = Model::open(source, &mut window).expect("it is sound");
    let source = model.into_source().with_file_len(len + 1);
    let trailing = Kind::DataTrailing { needed: 100 }.at(len);
    assert_eq!(Model::open(source, &mut window).map(|_| ()), Err(trailing.into()));
}

/// What firmware/README.md and `with_file_len` say of it: flash does not tell which of its bytes were written.
#[test]
fn a_file_that_was_written_in_part_is_noticed_by_its_header_or_the_number_of_bytes() {
    let file = file();
    let len = file.len() as u64;
    let data_start = file.len() - 100;
    let mut window = [0; 64];
    for written in [0, 7, 8, data_start - 1, data_start, data_start + 70] {
        let mut flash = vec![0xFF; file.len() + 50];
        flash[..written].copy_from_slice(&file[..written]);
        let storage = Storage::new(&flash, Plan::default());
        let source = || NorFile::new(Flash::<4>::new(&storage, 0));
        let is_header_whole = written >= data_start;
        assert_eq!(Model::open(source(), &mut window).is_ok(), is_header_whole, "{written}");
        assert_eq!(
            Model::open(source().with_file_len(len), &mut window).is_ok(),
            is_header_whole,
            "{written}"
        );
        let outcome = Model::open(source().with_file_len(written as u64), &mut window).map(drop);
        match is_header_whole {
            true => {
                let present = (written - data_start) as u64;
                let short = Kind::DataShort { needed: 100, present }.at(written as u64);
                assert_eq!(outcome, Err(short.into()));
            }
            false => assert!(outcome.is_err(), "{written}"),
        }
    }
}

#[test]
fn a_slice_is_a_file_that_ends_where_it_ends() {
    let mut source = &b"abc"[..];
    let mut buffer = [0; 2];
    assert_eq!(source.file_len(), Ok(FileLen::Exactly(3)));
    assert_eq!((source.read_at(0, &mut buffer), buffer), (Ok(2), *b"ab"));
    assert_eq!((source.read_at(2, &mut buffer), buffer[0]), (Ok(1), b'c'));
    for beyond in [3, 4, 1 << 32, u64::MAX] {
        assert_eq!(source.read_at(beyond, &mut buffer), Ok(0));
    }
    let lent: &mut &[u8] = &mut source;
    assert_eq!((lent.file_len(), lent.read_at(1, &mut buffer)), (Ok(FileLen::Exactly(3)), Ok(2)));
}

#[cfg(all(feature = "std", unix))]
#[test]
fn what_is_no_regular_file_has_no_length() {
    let mut null = std::fs::File::open("/dev/null").expect("every system has it");
    assert_eq!(null.file_len().expect("it can be asked"), FileLen::Unknown);
    let too_short = Model::open(&null, &mut [0; 8]).map(|_| ()).expect_err("it has no bytes");
    assert!(matches!(too_short, ReadError::Format(error) if error == Kind::FileTooShort.at(0)));
}

#[cfg(all(feature = "std", unix))]
#[test]
fn what_the_system_cannot_read_is_its_error() {
    let folder = std::fs::File::open(env!("CARGO_MANIFEST_DIR")).expect("the project has a folder");
    let error = Model::open(&folder, &mut [0; 8]).map(|_| ()).expect_err("a folder has no bytes");
    let ReadError::Source(error) = error else { panic!("{error}") };
    assert_eq!(error.kind(), std::io::ErrorKind::IsADirectory);
}

#[cfg(all(feature = "std", any(unix, windows)))]
#[test]
fn errors_of_reading_files_turn_into_errors_of_io() {
    let kind = |error: ReadError<std::io::Error>| std::io::Error::from(error).kind();
    let refused = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    assert_eq!(kind(ReadError::Source(refused)), std::io::ErrorKind::PermissionDenied);
    assert_eq!(kind(ReadError::UnexpectedEof { at: 7 }), std::io::ErrorKind::UnexpectedEof);
    assert_eq!(kind(Kind::Utf8.at(9).into()), std::io::ErrorKind::InvalidData);
    assert_eq!(kind(Kind::NoWindow.at(0).into()), std::io::ErrorKind::InvalidInput);
    let ended = std::io::Error::from(ReadError::<std::io::Error>::UnexpectedEof { at: 7 });
    assert_eq!(ended.to_string(), "the file ends at byte 7, before its end was due");
}

/// How many reads of flash with units of 4 bytes it takes to stream 5120 bytes in chunks of 512, from the first
/// byte of the file's data on, which begin at a unit, or the second.
fn reads_of_a_stream(begin: u64, block: u64) -> u64 {
    let header = format!(
        r#"{{"pad":{{"dtype":"U8","shape":[{begin}],"data_offsets":[0,{begin}]}},"a":{{"dtype":"U8","shape":[5120],"data_offsets":[{begin},{}]}}}}"#,
        begin + 5120
    );
    let padding = " ".repeat(header.len().next_multiple_of(8) - header.len());
    let file = with_header(&(header + &padding), 5121);
    let storage = Storage::new(&file, Plan::default());
    let mut buffer = [0; 512];
    let mut model =
        Model::open(NorFile::new(Flash::<4>::new(&storage, 0)), &mut buffer).expect("it is sound");
    let info = model.find("a", &mut buffer).expect("it is sound").expect("it is there");
    let before = storage.counts().reads;
    let mut reader =
        model.reader(&info).expect("it is this file's").aligned_to(block).expect("a power of two");
    while reader.next_chunk(&mut buffer).expect("it is sound").is_some() {}
    storage.counts().reads - before
}

/// The readme says so.
#[test]
fn chunks_that_do_not_begin_at_a_unit_of_flash_take_two_reads_more() {
    assert_eq!(reads_of_a_stream(0, 1), 10);
    assert_eq!(reads_of_a_stream(1, 1), 10 + 2 * 10);
    assert_eq!(reads_of_a_stream(0, 4), 10);
    assert_eq!(reads_of_a_stream(1, 4), 12, "the first chunk has a part in front, the last one is a part");
}
