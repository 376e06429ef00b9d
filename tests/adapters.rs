//! The calls that the adapters make to the storage they wrap, and how they map its errors.

use std::ops::Range;

use embedded_io::{Error, ErrorKind};
use embedded_safetensors::{
    ErrorKind as Kind, Model, ReadAt, ReadError, WriteError,
    io::{FileLen, NorError, NorFile, Seekable},
    query::Query,
    slice::AxisRange,
    write::{SpecError, SpecErrorKind, SpecPart},
};
use safetensors_quant::{Matrix, QuantReader};
use support::file::with_header;
use support::mock::{Fault, Plan, Storage};
use support::sources::{Flash, Stream};

const HEADER: &str = r#"{"a":{"dtype":"U8","shape":[100],"data_offsets":[0,100]}}"#;

fn file() -> Vec<u8> {
    let mut file = with_header(HEADER, 0);
    file.extend(0..100);
    file
}

#[test]
fn stream_seeks_only_for_non_sequential_reads() {
    let file = file();
    let storage = Storage::new(&file, Plan::default());
    let mut window = [0; 16];
    let mut model = Model::open(Seekable::new(Stream::new(&storage)), &mut window).expect("valid file");
    assert_eq!(storage.counts().seeks, 2, "to the end, for the length, and to the front");
    let info = model.find("a", &mut window).expect("valid file").expect("present");
    assert_eq!(storage.counts().seeks, 3, "to the front");
    let mut reader = model.reader(&info).expect("tensor of this file");
    while reader.next_chunk(&mut window).expect("valid file").is_some() {}
    assert_eq!(storage.counts().seeks, 3, "the tensor follows the header");
    reader.seek(50).expect("in range");
    while reader.next_chunk(&mut window).expect("valid file").is_some() {}
    assert_eq!(storage.counts().seeks, 4);
}

#[test]
fn errors_map_to_io_error_kinds() {
    let kind = |error: ReadError<Fault>| error.kind();
    assert_eq!(kind(ReadError::Source(Fault::Interrupted)), ErrorKind::Interrupted);
    assert_eq!(kind(ReadError::Source(Fault::Broken)), ErrorKind::Other);
    assert_eq!(kind(ReadError::UnexpectedEof { at: 1 }), ErrorKind::InvalidData);
    assert_eq!(kind(Kind::Utf8.at(1).into()), ErrorKind::InvalidData);
    assert_eq!(kind(Kind::OutOfOrder.at(1).into()), ErrorKind::OutOfMemory);
    assert_eq!(kind(Kind::NoWindow.at(1).into()), ErrorKind::InvalidInput);
    assert_eq!(NorError(Fault::NotAligned).kind(), ErrorKind::Other);
    assert_eq!(
        NorError(Fault::NotAligned).to_string(),
        "the address or the length of a flash access is not aligned"
    );
    let kind = |error: WriteError<Fault>| error.kind();
    assert_eq!(kind(WriteError::Sink(Fault::Interrupted)), ErrorKind::Interrupted);
    assert_eq!(kind(WriteError::Full { at: 1 }), ErrorKind::WriteZero);
    assert_eq!(kind(Kind::OutOfOrder.at(1).into()), ErrorKind::OutOfMemory);
    assert_eq!(kind(description(SpecErrorKind::OutOfOrder).into()), ErrorKind::InvalidInput);
}

fn description(kind: SpecErrorKind) -> SpecError {
    SpecError { kind, part: SpecPart::File }
}

/// Returns the reads of flash with units of 16 bytes when these bytes of a partition that starts at 0x20 are
/// read.
fn units_of(offset: u64, len: usize) -> Vec<(u64, u64)> {
    let file: Vec<u8> = (0..100).collect();
    let storage = Storage::new(&file, Plan::default());
    let mut source = NorFile::partition(Flash::<16>::new(&storage, 0x20), 0x20..0x84);
    let mut buffer = vec![0; len];
    let mut filled = 0;
    while filled < len {
        filled += source.read_at(offset + filled as u64, &mut buffer[filled..]).expect("valid file");
    }
    let offset = usize::try_from(offset).expect("fits in usize");
    assert_eq!(buffer, file[offset..offset + len]);
    storage.counts().ranges.iter().map(|range| (range.start, range.end)).collect()
}

#[test]
fn flash_reads_cover_whole_units() {
    assert_eq!(units_of(0, 96), [(0, 96)]);
    assert_eq!(units_of(16, 16), [(16, 32)]);
    assert_eq!(units_of(0, 40), [(0, 48)]);
    assert_eq!(units_of(5, 11), [(0, 16)]);
    assert_eq!(units_of(5, 50), [(0, 64)]);
    assert_eq!(units_of(17, 3), [(16, 32)]);
    assert_eq!(units_of(96, 4), [(96, 100)]);
    // Without space for the units around the bytes.
    assert_eq!(units_of(5, 90), [(0, 80), (80, 96)]);
}

/// Returns how many reads of flash eight rows of 250 bytes take: as values, as a slice, as all values, and as
/// those of a quantised matrix and its products.
fn reads_of_rows<const READ_SIZE: usize>() -> [u64; 5] {
    let header = concat!(
        r#"{"scale":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"#,
        r#""w":{"dtype":"I8","shape":[8,250],"data_offsets":[4,2004]}}"#
    );
    let mut file = with_header(header, 0);
    let start = file.len() + 4;
    file.extend(1f32.to_le_bytes());
    file.extend((0..2000u16).map(|at| (at % 251).to_le_bytes()[0]));
    let row_of = |row: usize| file[start + 250 * row..][..250].iter().map(|byte| byte.cast_signed().into());
    let expected: Vec<f32> = (0..8).flat_map(row_of).collect();
    let storage = Storage::new(&file, Plan::default());
    let (mut queries, mut window) = ([Query::required("w"), Query::required("scale")], [0; 64]);
    let source = NorFile::new(Flash::<READ_SIZE>::new(&storage, 0));
    let mut model = Model::open_with(source, &mut queries, &mut window).expect("valid file");
    let [weights, scale] = &queries;
    // Five units of 64 bytes, and what may be before the first aligned byte.
    let (mut row, mut bytes, mut all) = ([0.0; 250], [0; 320 + 15], [0.0; 2000]);
    let matrix = Matrix::q8(weights, scale, None).expect("found");
    [0, 1, 2, 3, 4].map(|way| {
        storage.set_plan(Plan::default());
        if way == 2 {
            model.reader(weights).unwrap().values().read_exact(&mut all).expect("readable");
            assert_eq!(all[..], expected);
            return storage.counts().reads;
        }
        for (index, expected) in (0..8).zip(expected.chunks(250)) {
            let reader = model.reader(weights).unwrap();
            let sum: f32 = expected.iter().sum();
            match way {
                0 => reader.row(index).unwrap().read_exact(&mut row).expect("readable"),
                1 => {
                    let slice = reader.slice(&[AxisRange::index(index)]).expect("in range");
                    slice.values().read_exact(&mut row).expect("readable");
                }
                3 => QuantReader::new(&mut model, &matrix)
                    .unwrap()
                    .read_row(index, &mut row)
                    .expect("readable"),
                _ => {
                    let mut rows = QuantReader::new(&mut model, &matrix).unwrap();
                    assert_eq!(rows.dot(index, &[1; 250], &mut bytes), Ok(sum));
                }
            }
            assert!(way == 4 || row == *expected);
        }
        storage.counts().reads
    })
}

/// A row of a quantised matrix takes another for its scale.
#[test]
fn values_take_one_read_of_flash_also_inside_units() {
    let once = [8, 8, 1, 16, 16];
    assert_eq!([reads_of_rows::<1>(), reads_of_rows::<4>()], [once; 2]);
    assert_eq!([reads_of_rows::<32>(), reads_of_rows::<64>()], [once; 2]);
}

#[test]
fn partition_limits_reads() {
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
fn bytes_after_the_file_in_a_partition_are_not_read() {
    let mut flash = file();
    let len = flash.len() as u64;
    flash.extend([0xFF; 50]);
    let storage = Storage::new(&flash, Plan::default());
    let mut window = [0; 64];
    let source = NorFile::new(Flash::<4>::new(&storage, 0));
    let model = Model::open(source, &mut window).expect("valid file");
    let source = model.into_source().with_file_len(len + 1);
    let trailing = Kind::DataTrailing { needed: 100 }.at(len);
    assert_eq!(Model::open(source, &mut window).map(|_| ()), Err(trailing.into()));
}

/// As firmware/README.md and `with_file_len` document: flash does not report which of its bytes were written.
#[test]
fn partly_written_file_is_detected() {
    let file = file();
    let len = file.len() as u64;
    let data_start = file.len() - 100;
    let mut window = [0; 64];
    for written in [0, 7, 8, data_start - 1, data_start, data_start + 70] {
        let mut flash = vec![0xFF; file.len() + 50];
        flash[..written].copy_from_slice(&file[..written]);
        let storage = Storage::new(&flash, Plan::default());
        let source = || NorFile::new(Flash::<4>::new(&storage, 0));
        let is_header_complete = written >= data_start;
        assert_eq!(Model::open(source(), &mut window).is_ok(), is_header_complete, "{written}");
        assert_eq!(
            Model::open(source().with_file_len(len), &mut window).is_ok(),
            is_header_complete,
            "{written}"
        );
        let outcome = Model::open(source().with_file_len(written as u64), &mut window).map(drop);
        match is_header_complete {
            true => {
                let present = (written - data_start) as u64;
                let short = Kind::DataShort { needed: 100, present }.at(written as u64);
                assert_eq!(outcome, Err(short.into()));
            }
            false => assert!(outcome.is_err(), "{written}"),
        }
    }
}

#[cfg(all(feature = "std", unix))]
#[test]
fn special_file_has_unknown_length() {
    let mut null = std::fs::File::open("/dev/null").expect("exists on every system");
    assert_eq!(null.file_len().expect("can be queried"), FileLen::Unknown);
    let too_short = Model::open(&null, &mut [0; 8]).map(|_| ()).expect_err("empty file");
    assert!(matches!(too_short, ReadError::Format(error) if error == Kind::FileTooShort.at(0)));
}

#[cfg(all(feature = "std", unix))]
#[test]
fn unreadable_file_returns_the_system_error() {
    let directory = std::fs::File::open(env!("CARGO_MANIFEST_DIR")).expect("project directory");
    let error = Model::open(&directory, &mut [0; 8]).map(|_| ()).expect_err("a directory has no bytes");
    let ReadError::Source(error) = error else { panic!("{error}") };
    assert_eq!(error.kind(), std::io::ErrorKind::IsADirectory);
}

#[cfg(all(feature = "std", any(unix, windows)))]
#[test]
fn read_errors_convert_to_io_errors() {
    let kind = |error: ReadError<std::io::Error>| std::io::Error::from(error).kind();
    let error = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    assert_eq!(kind(ReadError::Source(error)), std::io::ErrorKind::PermissionDenied);
    assert_eq!(kind(ReadError::UnexpectedEof { at: 7 }), std::io::ErrorKind::UnexpectedEof);
    assert_eq!(kind(Kind::Utf8.at(9).into()), std::io::ErrorKind::InvalidData);
    assert_eq!(kind(Kind::NoWindow.at(0).into()), std::io::ErrorKind::InvalidInput);
    let ended = std::io::Error::from(ReadError::<std::io::Error>::UnexpectedEof { at: 7 });
    assert_eq!(ended.to_string(), "the file ends too early: byte 7 is missing");
    let kind = |error: WriteError<std::io::Error>| std::io::Error::from(error).kind();
    let error = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    assert_eq!(kind(WriteError::Sink(error)), std::io::ErrorKind::PermissionDenied);
    assert_eq!(kind(WriteError::Full { at: 1 }), std::io::ErrorKind::WriteZero);
    assert_eq!(kind(Kind::OutOfOrder.at(1).into()), std::io::ErrorKind::OutOfMemory);
    assert_eq!(kind(description(SpecErrorKind::OutOfOrder).into()), std::io::ErrorKind::InvalidInput);
    let sorting = SpecErrorKind::OrderMemory { needed: 2, capacity: 1 };
    assert_eq!(kind(description(sorting).into()), std::io::ErrorKind::OutOfMemory);
}

/// Returns how many reads of flash with units of 4 bytes it takes to stream 5120 bytes in chunks of 512. The
/// data start at a unit; the stream starts with their first or second byte.
fn reads_of_a_stream(begin: u64, block: u64) -> u64 {
    let end = begin + 5120;
    let pad = format!(r#""pad":{{"dtype":"U8","shape":[{begin}],"data_offsets":[0,{begin}]}}"#);
    let header = format!(r#"{{{pad},"a":{{"dtype":"U8","shape":[5120],"data_offsets":[{begin},{end}]}}}}"#);
    let padding = " ".repeat(header.len().next_multiple_of(8) - header.len());
    let file = with_header(&(header + &padding), 5121);
    let storage = Storage::new(&file, Plan::default());
    let mut buffer = [0; 512];
    let mut model = Model::open(NorFile::new(Flash::<4>::new(&storage, 0)), &mut buffer).expect("valid file");
    let info = model.find("a", &mut buffer).expect("valid file").expect("present");
    let before = storage.counts().reads;
    let mut reader =
        model.reader(&info).expect("tensor of this file").aligned_to(block).expect("a power of two");
    while reader.next_chunk(&mut buffer).expect("valid file").is_some() {}
    storage.counts().reads - before
}

/// As the guide says.
#[test]
fn unaligned_flash_chunks_take_one_more_read() {
    assert_eq!(reads_of_a_stream(0, 1), 10);
    assert_eq!(reads_of_a_stream(1, 1), 10 + 10);
    assert_eq!(reads_of_a_stream(0, 4), 10);
    // The first chunk takes two; the last chunk is a part of a unit.
    assert_eq!(reads_of_a_stream(1, 4), 12);
}
