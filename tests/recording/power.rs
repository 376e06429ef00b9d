//! Power cuts at every call that changes flash, also in the middle of it.

use std::ops::Range;

use embedded_safetensors::{Model, WriteError, io::NorFile};
use support::nor::{Call, End, Fault, NorFlashErrorKind, Tear};
use support::random::Random;
use support::share;
use support::verdict::full_verdict;
use support::{Chip, for_units};

use crate::recording::sample::Sample;

const SECTOR: usize = 1024;
/// A file takes two sectors or fewer.
const FIRST: Range<u32> = 1024..4096;
const SECOND: Range<u32> = 4096..7168;

/// Returns the file that a reader finds in this partition, fully validated.
fn found<const UNIT: usize>(flash: &mut Chip<UNIT>, partition: Range<u32>) -> Option<Vec<u8>> {
    let source = NorFile::partition(&mut *flash, partition.clone());
    let summary = Model::open(source, &mut [0; 64]).ok()?.summary();
    let end = summary.data_start + summary.data_len;
    let start = usize::try_from(partition.start).unwrap();
    let file = &flash.memory()[start..start + usize::try_from(end).unwrap()];
    full_verdict(file).ok().map(|_| file.to_vec())
}

/// Returns every power cut that can happen in the call of this number; of the random ones, a share.
fn cuts(number: usize, call: &Call, units_may_tear: bool) -> Vec<Fault> {
    let parts = call.parts(SECTOR);
    let (done, bits) = match call {
        Call::Erase(_) => (vec![0, 1, 2, 3], 0),
        Call::Write(_) => {
            (vec![0, 1, 4, 7, 8, parts / 2, parts - 1, parts], if units_may_tear { 32 } else { 0 })
        }
    };
    let tears =
        done.into_iter().flat_map(|done| [(Tear::Front(done, parts), 0), (Tear::Back(done, parts), 0)]);
    let picked = share::part(0..8, number).map(|seed| (Tear::Picked, seed));
    let bits = share::part(0..bits, number).map(|seed| (Tear::Bits, seed));
    let fault = |(tear, seed)| Fault { call: number, tear, end: End::PowerCut, seed };
    tears.chain(picked).chain(bits).map(fault).collect()
}

/// Returns them for all these calls.
fn accidents(calls: &[Call], units_may_tear: bool) -> Vec<Fault> {
    let calls = calls.iter().enumerate();
    calls.flat_map(|(number, call)| cuts(number, call, units_may_tear)).collect()
}

/// How a file comes into storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Recorded,
    /// It arrives as a whole.
    Received,
}

fn record<const UNIT: usize>(
    flash: &mut Chip<UNIT>,
    partition: &Range<u32>,
    sample: &Sample,
    buffer: usize,
    how: How,
) -> Result<(), WriteError<NorFlashErrorKind>> {
    let storage = NorFile::partition(flash, partition.clone());
    let least = UNIT.max(8);
    let outcome = match how {
        How::Recorded => sample.record(storage, least + buffer, 50),
        How::Received => sample.receive(storage, 2 * least + buffer, 50),
    };
    outcome.map(drop).map_err(|error| match error {
        WriteError::Sink(error) => WriteError::Sink(error.0),
        other => panic!("{other}"),
    })
}

/// Returns a flash with these files recorded in its two partitions, and the calls that recording another one
/// takes.
fn stage<const UNIT: usize>(
    old: [&Sample; 2],
    new: &Sample,
    into: &Range<u32>,
    buffer: usize,
    how: How,
) -> (Chip<UNIT>, Vec<Call>) {
    let mut flash = Chip::<UNIT>::new(7);
    for (sample, partition) in old.into_iter().zip([FIRST, SECOND]) {
        record(&mut flash, &partition, sample, 0, How::Recorded).expect("succeeds");
    }
    flash.restart();
    let mut rehearsal = flash.clone();
    record(&mut rehearsal, into, new, buffer, how).expect("succeeds");
    assert_eq!(found(&mut rehearsal, into.clone()), Some(new.file()));
    (flash, rehearsal.calls)
}

/// In one partition there is the new file, completely, or none; the old one only when nothing was erased.
fn one_partition<const UNIT: usize>(old: &Sample, new: &Sample, buffer: usize, how: How) -> [usize; 3] {
    let (old, new) = (&old.clone().with_data_unit(UNIT), &new.clone().with_data_unit(UNIT));
    let (flash, calls) = stage::<UNIT>([old; 2], new, &FIRST, buffer, how);
    let (mut ends, all) = ([0; 3], accidents(&calls, UNIT <= 8));
    let mut random = Random::new(buffer as u64);
    for &accident in &all {
        let mut flash = flash.clone();
        flash.fault = Some(accident);
        let outcome = record(&mut flash, &FIRST, new, buffer, how);
        assert_eq!(outcome, Err(WriteError::Sink(NorFlashErrorKind::Other)), "{accident:?}");
        flash.restart();
        let end = match found(&mut flash, FIRST) {
            None => 0,
            Some(file) if file == old.file() && accident.call == 0 => 1,
            Some(file) if file == new.file() && accident.call == calls.len() - 1 => 2,
            Some(_) => panic!("{how:?}, {UNIT}, {buffer}, {accident:?}: an incomplete file"),
        };
        ends[end] += 1;
        // The power is cut again while it is repeated.
        let second = random.pick(&all);
        flash.fault = Some(second);
        record(&mut flash, &FIRST, new, buffer, how).expect_err("power is cut");
        flash.restart();
        let is_whole = |file| file == old.file() || file == new.file();
        assert!(found(&mut flash, FIRST).is_none_or(is_whole), "{accident:?}, then {second:?}");
        record(&mut flash, &FIRST, new, buffer, how).expect("succeeds when repeated");
        assert_eq!(found(&mut flash, FIRST), Some(new.file()));
    }
    ends
}

fn test_one_partition<const UNIT: usize>(how: How) {
    let (short, long) = (Sample::short(), Sample::long());
    assert!(long.file().len() > SECTOR, "it takes two sectors");
    let pairs = [
        (&short, &long),
        (&long, &short),
        (&short.clone().with_seed(9), &short),
        (&long.clone().with_seed(9), &long),
    ];
    for (old, new) in pairs {
        for buffer in [0, 300] {
            let ends = one_partition::<UNIT>(old, new, buffer, how);
            assert!(ends.iter().all(|times| *times > 0), "each outcome occurs: {ends:?}");
        }
    }
}

#[test]
fn one_partition_never_has_an_incomplete_file() {
    for how in [How::Recorded, How::Received] {
        for_units!(1 4 8 32 256: test_one_partition(how));
    }
}

/// Returns the partition that the program uses after a restart: the newer valid one.
fn newest<const UNIT: usize>(flash: &mut Chip<UNIT>) -> Option<(u64, Vec<u8>)> {
    let files = [FIRST, SECOND].map(|partition| {
        let file = found(flash, partition)?;
        let (mut text, mut window) = ([0; 8], [0; 64]);
        let mut model = Model::open(&file[..], &mut window).expect("already validated");
        let number = model
            .metadata_value("number", &mut text, &mut window)
            .expect("already validated")?
            .parse()
            .ok()?;
        Some((number, file))
    });
    files.into_iter().flatten().max_by_key(|(number, _)| *number)
}

fn two_partitions<const UNIT: usize>(buffer: usize, how: How) {
    let numbered =
        |sample: Sample, seed, number| sample.with_seed(seed).with_metadata(number).with_data_unit(UNIT);
    let oldest = numbered(Sample::long(), 20, &[("number", "6")]);
    let old = numbered(Sample::short(), 30, &[("number", "7")]);
    let new = numbered(Sample::long(), 40, &[("number", "8")]);
    let (flash, calls) = stage::<UNIT>([&oldest, &old], &new, &FIRST, buffer, how);
    let mut ends = [0; 2];
    let frayed_erasures = (0..64).map(|seed| Fault { call: 0, tear: Tear::Bits, end: End::PowerCut, seed });
    for accident in accidents(&calls, UNIT <= 8).into_iter().chain(frayed_erasures) {
        let mut flash = flash.clone();
        flash.fault = Some(accident);
        record(&mut flash, &FIRST, &new, buffer, how).expect_err("power is cut");
        flash.restart();
        let end = match newest(&mut flash) {
            Some((7, file)) if file == old.file() => 0,
            Some((8, file)) if file == new.file() => 1,
            other => panic!("{UNIT}, {accident:?}: {:?}", other.map(|(number, _)| number)),
        };
        ends[end] += 1;
    }
    assert!(ends.iter().all(|times| *times > 0), "each outcome occurs: {ends:?}");
}

#[test]
fn two_partitions_have_the_old_or_the_new_file() {
    for (buffer, how) in [(0, How::Recorded), (300, How::Recorded), (0, How::Received), (300, How::Received)]
    {
        for_units!(1 4 8 32 256: two_partitions(buffer, how));
    }
}
