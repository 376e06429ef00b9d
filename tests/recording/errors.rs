//! Recordings that are not complete, and flash calls that fail.

use embedded_safetensors::{
    Dtype, ErrorKind, WriteError,
    io::{NorError, NorFile},
    write::{FileSpec, TensorSpec, Writer},
};
use support::nor::{End, Fault, NorFlashErrorKind, Tear};
use support::verdict::full_verdict;
use support::{Chip, for_units};

use crate::recording::sample::Sample;

const TENSORS: [TensorSpec<'_>; 3] = [
    TensorSpec::new("gain", Dtype::F32, &[2]),
    TensorSpec::new("none", Dtype::I16, &[0]),
    TensorSpec::new("steps", Dtype::U8, &[3]),
];

#[test]
fn incomplete_recording_is_not_a_file() {
    let plan = FileSpec::new(&TENSORS).plan().expect("in order");
    let mut memory = vec![0; usize::try_from(plan.file_len()).unwrap()];
    let mut buffer = [0; 8];
    let mut recorder = Writer::record(&mut memory[..], plan, &mut buffer).expect("fits");
    recorder.write(&[0.5f32, 0.25]).expect("next in order");
    recorder.write_bytes(&[1]).expect("next in order");
    let missing = ErrorKind::Incomplete { tensor: 2, missing: 2 }.at(plan.file_len() - 2);
    assert_eq!(recorder.finish().map(drop), Err(missing.into()));
    assert_eq!(full_verdict(&memory).expect_err("not finished").kind.code(), "container.header-too-large");
}

/// Each call that changes the flash fails once, after nothing, part or all of it is done.
fn test_failing_calls<const UNIT: usize>() {
    for sample in [Sample::short(), Sample::long()] {
        let sample = sample.with_data_unit(UNIT);
        let mut flash = Chip::<UNIT>::new(7);
        sample.record(NorFile::new(&mut flash), UNIT.max(64), 50).expect("succeeds");
        let calls = flash.calls.clone();
        for (call, parts) in calls.iter().map(|call| call.parts(1024)).enumerate() {
            let fronts = [0, 1, 9, parts].map(|done| Tear::Front(done, parts));
            for tear in fronts.into_iter().chain([Tear::Picked]) {
                let accident = Fault { call, tear, end: End::Failure, seed: 1 };
                flash.restart();
                flash.fault = Some(accident);
                let outcome =
                    sample.clone().with_seed(9).record(NorFile::new(&mut flash), UNIT.max(64), 50).map(drop);
                let failure = WriteError::Sink(NorError(NorFlashErrorKind::Other));
                assert_eq!(outcome, Err(failure), "{accident:?}");
                assert_eq!(flash.calls.len(), call + 1, "no calls after a failure");
                let found = &flash.memory()[..sample.file().len()];
                let is_complete =
                    [sample.file(), sample.clone().with_seed(9).file()].iter().any(|file| file == found);
                assert!(full_verdict(found).is_err() || is_complete, "{UNIT}, {accident:?}");
                flash.restart();
                sample.record(NorFile::new(&mut flash), UNIT.max(64), 50).expect("succeeds when repeated");
                assert_eq!(flash.memory()[..sample.file().len()], sample.file());
            }
        }
    }
}

#[test]
fn failed_call_leaves_complete_file_or_none() {
    for_units!(1 4 8 32 256: test_failing_calls());
}
