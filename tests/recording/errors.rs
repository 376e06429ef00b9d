//! Mistakes of the caller, which the next call can mend, and calls of flash that fail.

use embedded_safetensors::{
    Dtype, ErrorKind, WriteError,
    io::{NorError, NorFile},
    write::{FileSpec, TensorSpec, Writer},
};
use support::flash::{Accident, Nor, Tear};
use support::mock::Fault;
use support::verdict::judge;

use crate::recording::sample::Sample;

const TENSORS: [TensorSpec<'_>; 3] = [
    TensorSpec::new("gain", Dtype::F32, &[2]),
    TensorSpec::new("none", Dtype::I16, &[0]),
    TensorSpec::new("steps", Dtype::U8, &[3]),
];

#[test]
fn mistakes_are_told_and_can_be_mended() {
    let plan = FileSpec::new(&TENSORS).plan().expect("it is in order");
    let (start, end) = (plan.data_start(), plan.file_len());
    let mut memory = vec![0; usize::try_from(end).unwrap()];
    let mut buffer = [0; 8];
    let mut recorder = Writer::record(&mut memory[..], plan, &mut buffer).expect("it has room");
    let at = |kind: ErrorKind, at| Err(WriteError::Format(kind.at(at)));
    let too_many = ErrorKind::TooManyBytes { tensor: 0, given: 9, left: 8 };
    assert_eq!(recorder.write_bytes(&[0; 9]), at(too_many, start));
    let mismatch = ErrorKind::ValueType { tensor: 0, given: Dtype::U8, needed: Dtype::F32 };
    assert_eq!(recorder.write(&[1u8]), at(mismatch, start));
    assert_eq!(recorder.write_tensor("steps", &[1, 2, 3]), at(ErrorKind::NotDue { tensor: 0 }, start));
    let length = ErrorKind::TensorLength { tensor: 0, given: 4, needed: 8 };
    assert_eq!(recorder.write_tensor("gain", &[0; 4]), at(length, start));
    assert_eq!(recorder.write(&[0.5f32]), Ok(()));
    let due = recorder.next_tensor().expect("something is");
    assert_eq!(
        (due.tensor.name(), due.position, due.remaining, recorder.position()),
        ("gain", 4, 4, start + 4)
    );
    assert_eq!(recorder.write(&[0.25f32]), Ok(()));
    assert_eq!(recorder.write_tensor("steps", &[1, 2, 3]), Ok(()));
    assert_eq!(recorder.write_bytes(&[4]), at(ErrorKind::NothingDue, end));
    assert_eq!(recorder.write_bytes(&[]), Ok(()));
    assert_eq!((recorder.next_tensor(), recorder.position()), (None, end));
    recorder.finish().expect("it is complete");
    judge(&memory).expect("it is sound");
    assert!(memory.ends_with(&[0, 0, 0, 0x3F, 0, 0, 0x80, 0x3E, 1, 2, 3]));
}

#[test]
fn what_is_not_complete_is_no_file() {
    let plan = FileSpec::new(&TENSORS).plan().expect("it is in order");
    let mut memory = vec![0; usize::try_from(plan.file_len()).unwrap()];
    let mut buffer = [0; 8];
    let mut recorder = Writer::record(&mut memory[..], plan, &mut buffer).expect("it has room");
    recorder.write(&[0.5f32, 0.25]).expect("it is due");
    recorder.write_bytes(&[1]).expect("it is due");
    let missing = ErrorKind::Incomplete { tensor: 2, missing: 2 }.at(plan.file_len() - 2);
    assert_eq!(recorder.finish().map(drop), Err(missing.into()));
    assert_eq!(judge(&memory).expect_err("it is not finished").kind.code(), "container.header-too-large");
}

/// Each call that changes the flash fails once, after it has done nothing, a part or all.
fn calls_fail<const UNIT: usize>() {
    for sample in [Sample::short(), Sample::long()] {
        let sample = sample.for_unit(UNIT);
        let mut flash = Nor::<UNIT, 1024>::new(4);
        sample.record(NorFile::new(&mut flash), UNIT.max(64), 50).expect("it goes well");
        let calls = flash.calls().to_vec();
        for call in 0..calls.len() {
            for tear in [Tear::Front(0), Tear::Front(1), Tear::Front(9), Tear::Picked(1), Tear::WHOLE] {
                let accident = Accident { call, tear, cuts_power: false };
                flash.restart();
                flash.plan(accident);
                let outcome =
                    sample.clone().again(9).record(NorFile::new(&mut flash), UNIT.max(64), 50).map(drop);
                assert_eq!(outcome, Err(WriteError::Sink(NorError(Fault::Broken))), "{accident:?}");
                assert_eq!(flash.calls().len(), call + 1, "nothing is tried behind a failure");
                let found = &flash.memory()[..sample.file().len()];
                let is_whole =
                    [sample.file(), sample.clone().again(9).file()].iter().any(|file| file == found);
                assert!(judge(found).is_err() || is_whole, "{UNIT}, {accident:?}");
                flash.restart();
                sample.record(NorFile::new(&mut flash), UNIT.max(64), 50).expect("it can be done again");
                assert_eq!(flash.memory()[..sample.file().len()], sample.file());
            }
        }
    }
}

#[test]
fn when_a_call_fails_there_is_the_whole_file_or_none() {
    calls_fail::<1>();
    calls_fail::<4>();
    calls_fail::<8>();
    calls_fail::<32>();
    calls_fail::<256>();
}
