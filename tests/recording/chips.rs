//! What is done to NOR flash.

use std::ops::Range;

use embedded_safetensors::{
    ErrorKind, ReadAt, WriteAt, WriteError,
    io::{FileLen, NorFile},
    write::Placement,
};
use support::flash::{Call, Nor};
use support::verdict::judge;

use crate::recording::sample::Sample;

const SECTOR: usize = 1024;
const PARTITION: Range<u32> = 2048..6144;

fn recorded<const UNIT: usize>(sample: &Sample, buffer: usize, piece: usize) -> Nor<UNIT, SECTOR> {
    let mut flash = Nor::new(8);
    sample.record(NorFile::partition(&mut flash, PARTITION), buffer, piece).expect("it goes well");
    flash
}

/// In units of this size, through buffers and in pieces of many sizes.
fn is_recorded_as_planned<const UNIT: usize>() {
    for sample in [Sample::short(), Sample::long()] {
        let sample = sample.for_unit(UNIT);
        let file = sample.file();
        judge(&file).expect("it is sound");
        for (buffer, piece) in [(0, 1), (0, 1000), (7, 3), (UNIT, 100), (100, 100), (1000, 7), (5000, 5000)] {
            let flash = recorded::<UNIT>(&sample, UNIT.max(8) + buffer, piece);
            let (before, rest) = flash.memory().split_at(2048);
            assert_eq!(rest[..file.len()], file, "{UNIT}: {buffer}, {piece}");
            let behind = &rest[file.len()..file.len().next_multiple_of(SECTOR)];
            assert!(behind.iter().all(|byte| *byte == 0xFF), "the rest of the sector is erased");
            let untouched = Nor::<UNIT, SECTOR>::new(8);
            assert_eq!(before, &untouched.memory()[..2048], "before the partition");
            let touched = 2048 + file.len().next_multiple_of(SECTOR);
            assert_eq!(flash.memory()[touched..], untouched.memory()[touched..], "behind the file");
        }
    }
}

#[test]
fn files_are_recorded_as_planned() {
    is_recorded_as_planned::<1>();
    is_recorded_as_planned::<2>();
    is_recorded_as_planned::<4>();
    is_recorded_as_planned::<8>();
    is_recorded_as_planned::<32>();
    is_recorded_as_planned::<256>();
}

#[test]
fn the_first_sector_goes_first_and_the_length_comes_last() {
    let sample = Sample::short(); // data from byte 72 to byte 405
    let calls = recorded::<4>(&sample, 128, 333).calls().to_vec();
    let place = |range: Range<u32>| range.start + 2048..range.end + 2048;
    let expected = [
        Call::Erase(place(0..1024)),
        Call::Write(place(72..328)), // straight from the caller
        Call::Write(place(328..408)),
        Call::Write(place(8..72)),
        Call::Write(place(0..4)),
        Call::Write(place(4..8)),
    ];
    assert_eq!(calls, expected);
    let calls = recorded::<32>(&sample.clone().for_unit(32), 32, 333).calls().to_vec();
    let expected = [
        Call::Erase(place(0..1024)),
        Call::Write(place(96..416)),
        Call::Write(place(416..448)),
        Call::Write(place(32..64)),
        Call::Write(place(64..96)),
        Call::Write(place(0..32)),
    ];
    assert_eq!(calls, expected);
    let long = Sample::long().placed(Placement::Start(1024));
    let calls = recorded::<8>(&long, 64, 5000).calls().to_vec();
    assert_eq!(calls[..2], [Call::Erase(place(0..1024)), Call::Erase(place(1024..2048))]);
}

#[test]
fn small_pieces_are_gathered() {
    let writes = |buffer, piece| recorded::<4>(&Sample::short(), buffer, piece).calls().len() - 1;
    assert_eq!(writes(8, 1), 42 + 8 + 2, "eight bytes at a time");
    assert_eq!(writes(256, 1), 2 + 1 + 2);
    assert_eq!(writes(256, 255), 2 + 1 + 2);
    assert_eq!(writes(259, 1), 2 + 1 + 2, "what is no whole unit of the buffer is not used");
}

#[test]
fn a_partition_begins_at_a_sector_and_may_end_anywhere() {
    let sample = Sample::short();
    let needed = 408;
    for (partition, capacity) in
        [(2048..2448, 0), (1024..3071, 1024), (1024..1500, 0), (2048..2048, 0), (8192..9216, 0)]
    {
        let mut flash = Nor::<4, SECTOR>::new(8);
        let outcome = sample.record(NorFile::partition(&mut flash, partition.clone()), 64, 100).map(drop);
        match capacity < needed {
            true => assert_eq!(
                outcome,
                Err(ErrorKind::Capacity { needed, capacity }.at(capacity).into()),
                "{partition:?}"
            ),
            false => assert_eq!(outcome, Ok(())),
        }
        assert_eq!(flash.calls().is_empty(), capacity < needed, "nothing is lost");
        assert!(
            flash.calls().iter().all(|call| !matches!(call, Call::Erase(range) if range.end > partition.end))
        );
    }
    let mut flash = Nor::<4, SECTOR>::new(8);
    let error = sample.record(NorFile::partition(&mut flash, 1000..8000), 64, 100).map(drop).unwrap_err();
    assert_eq!(error, ErrorKind::Partition { start: 1000, sector: 1024 }.at(0).into());
    let said = "error[usage.partition] at byte 0: the partition begins at address 1000, but the flash erases at multiples of 1024";
    assert_eq!(error.to_string(), said);
    assert!(flash.calls().is_empty());
}

#[test]
fn the_length_of_a_recorded_file_takes_the_place_of_the_old_one() {
    let mut flash = Nor::<4, SECTOR>::new(8);
    let mut storage = NorFile::partition(&mut flash, PARTITION).with_file_len(1000);
    Sample::short().record(&mut storage, 64, 100).expect("it goes well");
    assert_eq!(storage.file_len(), Ok(FileLen::Exactly(405)));
    let mut storage = NorFile::partition(&mut flash, PARTITION);
    Sample::short().record(&mut storage, 64, 100).expect("it goes well");
    assert_eq!(storage.file_len(), Ok(FileLen::AtMost(4096)), "flash does not say where a file ends");
}

#[test]
fn what_has_no_room_is_not_written() {
    let mut flash = Nor::<4, SECTOR>::new(8);
    let mut storage = NorFile::partition(&mut flash, PARTITION);
    assert_eq!(storage.capacity(), Ok(Some(4096)));
    assert_eq!(storage.prepare(8, 4097), Err(WriteError::Full { at: 4096 }));
    assert_eq!(storage.prepare(8, u64::MAX), Err(WriteError::Full { at: 4096 }));
    assert_eq!(storage.prepare(8, 4096), Ok(()));
    assert_eq!(storage.write_at(4092, &[0; 8]), Ok(4));
    assert_eq!(storage.write_at(4096, &[0; 8]), Ok(0));
    assert_eq!(storage.write_at(1 << 32, &[0; 8]), Ok(0));
    assert_eq!(flash.calls().len(), 3);
}
