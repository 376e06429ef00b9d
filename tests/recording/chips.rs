//! The calls of NOR flash.

use std::ops::Range;

use embedded_safetensors::{
    ErrorKind, ReadAt, WriteAt, WriteError,
    io::{FileLen, NorFile},
    write::Placement,
};
use support::nor::Call;
use support::verdict::full_verdict;
use support::{Chip, for_units};

use crate::recording::sample::Sample;

const SECTOR: usize = 1024;
const PARTITION: Range<u32> = 2048..6144;

fn recorded<const UNIT: usize>(sample: &Sample, buffer: usize, piece: usize) -> Chip<UNIT> {
    let mut flash = Chip::new(7);
    sample.record(NorFile::partition(&mut flash, PARTITION), buffer, piece).expect("succeeds");
    flash
}

/// Records with units of this size, through buffers and in pieces of many sizes.
fn assert_recorded_as_planned<const UNIT: usize>() {
    for sample in [Sample::short(), Sample::long()] {
        let sample = sample.with_data_unit(UNIT);
        let file = sample.file();
        full_verdict(&file).expect("valid file");
        for (buffer, piece) in [(0, 1), (0, 1000), (7, 3), (UNIT, 100), (100, 100), (1000, 7), (5000, 5000)] {
            let flash = recorded::<UNIT>(&sample, UNIT.max(8) + buffer, piece);
            let (before, rest) = flash.memory().split_at(2048);
            assert_eq!(rest[..file.len()], file, "{UNIT}: {buffer}, {piece}");
            let after = &rest[file.len()..file.len().next_multiple_of(SECTOR)];
            assert!(after.iter().all(|byte| *byte == 0xFF), "the rest of the sector is erased");
            let untouched = Chip::<UNIT>::new(7);
            assert_eq!(before, &untouched.memory()[..2048], "before the partition");
            let touched = 2048 + file.len().next_multiple_of(SECTOR);
            assert_eq!(flash.memory()[touched..], untouched.memory()[touched..], "after the file");
        }
    }
}

#[test]
fn recorded_file_matches_plan() {
    for_units!(1 2 4 8 32 256: assert_recorded_as_planned());
}

#[test]
fn first_sector_is_first_and_length_is_last() {
    let sample = Sample::short(); // data from byte 72 to byte 405
    let calls = recorded::<4>(&sample, 128, 333).calls;
    let at_addresses = |range: Range<u32>| range.start + 2048..range.end + 2048;
    let expected = [
        Call::Erase(at_addresses(0..1024)),
        Call::Write(at_addresses(72..384)), // straight from the caller, to the end of a page
        Call::Write(at_addresses(384..408)),
        Call::Write(at_addresses(8..72)),
        Call::Write(at_addresses(0..4)),
        Call::Write(at_addresses(4..8)),
    ];
    assert_eq!(calls, expected);
    let calls = recorded::<32>(&sample.clone().with_data_unit(32), 32, 333).calls;
    let expected = [
        Call::Erase(at_addresses(0..1024)),
        Call::Write(at_addresses(96..416)),
        Call::Write(at_addresses(416..448)),
        Call::Write(at_addresses(32..64)),
        Call::Write(at_addresses(64..96)),
        Call::Write(at_addresses(0..32)),
    ];
    assert_eq!(calls, expected);
    let long = Sample::long().with_placement(Placement::Start(1024));
    let calls = recorded::<8>(&long, 64, 5000).calls;
    assert_eq!(calls[..2], [Call::Erase(at_addresses(0..1024)), Call::Erase(at_addresses(1024..2048))]);
}

/// Returns how many pages of this length are programmed, each as often as it is.
fn programs<const UNIT: usize>(flash: &Chip<UNIT, 25>, page: u32) -> u32 {
    let pages = flash.calls.iter().map(|call| match call {
        Call::Write(range) => range.end.div_ceil(page) - range.start / page,
        Call::Erase(_) => 0,
    });
    pages.sum()
}

/// A buffer of one page suffices. The two halves of the length, which are last, and the first bytes of the
/// data program a page again.
#[test]
fn each_page_is_programmed_once() {
    let sample = Sample::large();
    assert_eq!(sample.file().len(), 24_584);
    for (page, pages) in [(256, 97), (512, 49)] {
        for (buffer, piece) in [(page, 61), (page, 256), (page, 1024), (page + 8, 61), (page + 8, 1024)] {
            let mut received = Chip::<1, 25>::new(7);
            let mut recorded = received.clone();
            sample.receive(NorFile::new(&mut received), buffer, piece).expect("fits");
            sample.record(NorFile::new(&mut recorded), buffer, piece).expect("fits");
            let page = u32::try_from(page).unwrap();
            assert_eq!(programs(&received, page), pages + 2, "{buffer}, {piece}");
            assert_eq!(programs(&recorded, page), pages + 3, "{buffer}, {piece}");
        }
    }
    // The first unit is in the buffer.
    let mut received = Chip::<16, 25>::new(7);
    sample.receive(NorFile::new(&mut received), 16 + 256, 61).expect("fits");
    assert_eq!(programs(&received, 256), 97 + 1);
}

#[test]
fn partition_starts_at_a_sector_and_ends_anywhere() {
    let sample = Sample::short();
    let needed = 408;
    for (partition, capacity) in
        [(2048..2448, 0), (1024..3071, 1024), (1024..1500, 0), (2048..2048, 0), (8192..9216, 0)]
    {
        let mut flash = Chip::<4>::new(7);
        let outcome = sample.record(NorFile::partition(&mut flash, partition.clone()), 64, 100).map(drop);
        let is_refused = capacity < needed;
        let error = ErrorKind::Capacity { needed, capacity }.at(capacity).into();
        assert_eq!(outcome, if is_refused { Err(error) } else { Ok(()) }, "{partition:?}");
        assert_eq!(flash.calls.is_empty(), is_refused, "nothing was erased");
        assert!(
            flash.calls.iter().all(|call| !matches!(call, Call::Erase(range) if range.end > partition.end))
        );
    }
    let mut flash = Chip::<4>::new(7);
    let error = sample.record(NorFile::partition(&mut flash, 1000..8000), 64, 100).map(drop).unwrap_err();
    assert_eq!(error, ErrorKind::Partition { start: 1000, sector: 1024 }.at(0).into());
    let message = "error[usage.partition] at byte 0: the partition begins at address 1000, which is not a \
        multiple of the flash's sector size, 1024 bytes";
    assert_eq!(error.to_string(), message);
    assert!(flash.calls.is_empty());
}

#[test]
fn file_length_is_updated_after_recording() {
    let mut flash = Chip::<4>::new(7);
    let mut storage = NorFile::partition(&mut flash, PARTITION).with_file_len(1000);
    Sample::short().record(&mut storage, 64, 100).expect("succeeds");
    assert_eq!(storage.file_len(), Ok(FileLen::Exactly(405)));
    let mut storage = NorFile::partition(&mut flash, PARTITION);
    Sample::short().record(&mut storage, 64, 100).expect("succeeds");
    assert_eq!(storage.file_len(), Ok(FileLen::AtMost(4096)), "flash does not report where a file ends");
}

#[test]
fn file_larger_than_the_partition_is_not_written() {
    let mut flash = Chip::<4>::new(7);
    let mut storage = NorFile::partition(&mut flash, PARTITION);
    assert_eq!(storage.capacity(), Ok(Some(4096)));
    assert_eq!(storage.prepare(8, 4097), Err(WriteError::Full { at: 4096 }));
    assert_eq!(storage.prepare(8, u64::MAX), Err(WriteError::Full { at: 4096 }));
    assert_eq!(storage.prepare(8, 4096), Ok(()));
    assert_eq!(storage.write_at(4092, &[0; 8]), Ok(4));
    assert_eq!(storage.write_at(4096, &[0; 8]), Ok(0));
    assert_eq!(storage.write_at(1 << 32, &[0; 8]), Ok(0));
    assert_eq!(flash.calls.len(), 3);
}
