//! Mistakes of the caller, which the next call can correct, and flash calls that fail.

use embedded_safetensors::{
    Dtype, ErrorKind, WriteAt, WriteError,
    io::{NorError, NorFile},
    write::{FileSpec, TensorSpec, Writer},
};
use std::convert::Infallible;
use support::flash::{Accident, Nor, Tear};
use support::mock::Fault;
use support::verdict::full_verdict;

use crate::recording::sample::Sample;

const TENSORS: [TensorSpec<'_>; 3] = [
    TensorSpec::new("gain", Dtype::F32, &[2]),
    TensorSpec::new("none", Dtype::I16, &[0]),
    TensorSpec::new("steps", Dtype::U8, &[3]),
];

#[test]
fn mistakes_are_reported_and_can_be_corrected() {
    let plan = FileSpec::new(&TENSORS).plan().expect("in order");
    let (start, end) = (plan.data_start(), plan.file_len());
    let mut memory = vec![0; usize::try_from(end).unwrap()];
    let mut buffer = [0; 8];
    let mut recorder = Writer::record(&mut memory[..], plan, &mut buffer).expect("fits");
    let at = |kind: ErrorKind, at| Err(WriteError::Format(kind.at(at)));
    let too_many = ErrorKind::TooManyBytes { tensor: 0, given: 9, left: 8 };
    assert_eq!(recorder.write_bytes(&[0; 9]), at(too_many, start));
    let mismatch = ErrorKind::ValueType { tensor: 0, given: Dtype::U8, needed: Dtype::F32 };
    assert_eq!(recorder.write(&[1u8]), at(mismatch, start));
    assert_eq!(recorder.write_tensor("steps", &[1, 2, 3]), at(ErrorKind::WrongTensor { tensor: 0 }, start));
    let length = ErrorKind::TensorLength { tensor: 0, given: 4, needed: 8 };
    assert_eq!(recorder.write_tensor("gain", &[0; 4]), at(length, start));
    assert_eq!(recorder.write(&[0.5f32]), Ok(()));
    let next = recorder.next_tensor().expect("a next tensor");
    assert_eq!(
        (next.tensor.name(), next.position, next.remaining, recorder.position()),
        ("gain", 4, 4, start + 4)
    );
    assert_eq!(recorder.write(&[0.25f32]), Ok(()));
    assert_eq!(recorder.write_tensor("steps", &[1, 2, 3]), Ok(()));
    assert_eq!(recorder.write_bytes(&[4]), at(ErrorKind::AllWritten, end));
    assert_eq!(recorder.write_bytes(&[]), Ok(()));
    assert_eq!((recorder.next_tensor(), recorder.position()), (None, end));
    recorder.finish().expect("complete");
    full_verdict(&memory).expect("valid file");
    assert!(memory.ends_with(&[0, 0, 0, 0x3F, 0, 0, 0x80, 0x3E, 1, 2, 3]));
}

/// Storage with units of 16 bytes that claims to have written so many bytes more.
struct Claims(Vec<u8>, isize);

impl WriteAt for Claims {
    type Error = Infallible;

    fn unit(&self) -> usize {
        16
    }

    fn capacity(&mut self) -> Result<Option<u64>, Infallible> {
        Ok(None)
    }

    fn prepare(&mut self, _: u64, _: u64) -> Result<(), WriteError<Infallible>> {
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, Infallible> {
        let at = usize::try_from(offset).unwrap();
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len().saturating_add_signed(self.1))
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

#[test]
fn counts_that_no_write_can_have_are_errors() {
    let sample = Sample::short().with_data_unit(16);
    for (more, is_error) in [(0, false), (1, true), (16, true), (1 << 30, true), (-1, true)] {
        for outcome in [
            sample.record(Claims(vec![0xFF; 1024], more), 64, 50).map(drop),
            sample.receive(Claims(vec![0xFF; 1024], more), 64, 50).map(drop),
        ] {
            let kind = outcome.map_err(|error| match error {
                WriteError::Format(error) => error.kind,
                error => panic!("{error}"),
            });
            assert_eq!(matches!(kind, Err(ErrorKind::Count { .. })), is_error, "{more}: {kind:?}");
        }
    }
}

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
        let mut flash = Nor::<UNIT, 1024>::new(4);
        sample.record(NorFile::new(&mut flash), UNIT.max(64), 50).expect("succeeds");
        let calls = flash.calls().to_vec();
        for call in 0..calls.len() {
            for tear in [Tear::Front(0), Tear::Front(1), Tear::Front(9), Tear::Picked(1), Tear::WHOLE] {
                let accident = Accident { call, tear, cuts_power: false };
                flash.restart();
                flash.plan(accident);
                let outcome =
                    sample.clone().with_seed(9).record(NorFile::new(&mut flash), UNIT.max(64), 50).map(drop);
                assert_eq!(outcome, Err(WriteError::Sink(NorError(Fault::Broken))), "{accident:?}");
                assert_eq!(flash.calls().len(), call + 1, "no calls after a failure");
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
    test_failing_calls::<1>();
    test_failing_calls::<4>();
    test_failing_calls::<8>();
    test_failing_calls::<32>();
    test_failing_calls::<256>();
}
