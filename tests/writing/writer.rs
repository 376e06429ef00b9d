//! The writer, with sinks that take any number of bytes or fail, and callers that give too few bytes or too
//! many.

use embedded_safetensors::{
    Dtype, ErrorKind, WriteError,
    values::{C64, Native},
    write::{FilePlan, FileSpec, Placement, PlannedContent, Streaming, TensorSpec, Writer},
};
use half::{bf16, f16};
use support::dictionary::{Dictionary, Named};
use support::mock::{Failure, Fault, Reads};
use support::random::Random;
use support::sink::{Sink, SinkPlan};
use support::writing::{Description, as_planned};

const PLACEMENTS: [Placement; 3] = [Placement::Start(8), Placement::BySize(16), Placement::Padded(16)];

/// A few tensors, not in the file's order, some of them without bytes.
fn dictionary() -> Dictionary {
    let mut random = Random::new(0);
    let cases: [(&str, Dtype, &[u64]); 9] = [
        ("steps", Dtype::U8, &[5]),
        ("none", Dtype::U8, &[0]),
        ("gain", Dtype::F32, &[2]),
        ("flag", Dtype::BOOL, &[]),
        ("no flag", Dtype::BOOL, &[3, 0]),
        ("no time", Dtype::I64, &[0]),
        ("nibbles", Dtype::F4, &[3, 2]),
        ("short", Dtype::I16, &[3]),
        ("wide", Dtype::U64, &[]),
    ];
    let tensor = |(name, dtype, dims): (&str, Dtype, &[u64])| {
        Named::random(name.to_owned(), dtype, dims.to_vec(), &mut random)
    };
    let metadata = Some(vec![("device".to_owned(), "unit-7".to_owned())]);
    Dictionary { tensors: cases.into_iter().map(tensor).collect(), metadata }
}

/// A plan, and the expected file.
struct Case<'a> {
    plan: FilePlan<'a>,
    dictionary: &'a Dictionary,
    file: Vec<u8>,
}

/// A part of the data: the index of the tensor in the description, and its bytes.
type Part<'d> = (usize, &'d [u8]);

impl Case<'_> {
    /// Returns the tensors in the order of the file, except those without bytes.
    fn parts(&self) -> Vec<Part<'_>> {
        let parts = self.plan.tensors().filter_map(|planned| match planned.content {
            PlannedContent::Tensor { index, .. } => Some((index, &self.dictionary.tensors[index].bytes[..])),
            PlannedContent::Padding { .. } => None,
        });
        parts.filter(|(_, bytes)| !bytes.is_empty()).collect()
    }

    /// Returns the offset in the file of a tensor of the description.
    fn begin(&self, tensor_index: usize) -> usize {
        let is_requested =
            |content| matches!(content, PlannedContent::Tensor { index, .. } if index == tensor_index);
        let planned = self.plan.tensors().find(|planned| is_requested(planned.content)).expect("present");
        usize::try_from(self.plan.data_start() + planned.begin).expect("fits in usize")
    }

    fn data_start(&self) -> usize {
        usize::try_from(self.plan.data_start()).expect("fits in usize")
    }

    /// Writes into such a sink through a window, and asserts that the file is complete.
    fn write(&self, plan: SinkPlan, window: usize, write: impl FnOnce(&mut Streamed<'_, '_>)) -> Sink {
        let mut sink = Sink::new(plan);
        let mut writer = Writer::new(&mut sink, self.plan, &mut vec![0; window]).expect("succeeds");
        write(&mut writer);
        writer.finish().expect("complete");
        assert!(sink.is_flushed && sink.file == self.file);
        sink
    }

    /// Writes what is left, from the writer's position on.
    fn write_rest(&self, writer: &mut Streamed<'_, '_>) -> Result<(), WriteError<Fault>> {
        while let Some(next) = writer.next_tensor() {
            let bytes = &self.dictionary.tensors[next.index].bytes;
            let rest = &bytes[usize::try_from(next.position).expect("fits in usize")..];
            // So the loop ends.
            assert!(rest.len() as u64 == next.remaining && !rest.is_empty());
            writer.write_bytes(rest)?;
        }
        Ok(())
    }
}

type Streamed<'p, 's> = Writer<'p, Streaming<&'s mut Sink>>;

/// Calls `test` for each placement.
fn each_case(test: impl Fn(&Case<'_>)) {
    let dictionary = dictionary();
    for placement in PLACEMENTS {
        let description = Description::new(&dictionary);
        let mut memory = description.memory();
        let plan =
            description.spec().with_placement(placement).plan_sorted(&mut memory).expect("valid description");
        let mut file = vec![0; usize::try_from(plan.data_start()).expect("fits in usize")];
        plan.encoder().encode(&mut file);
        file.extend(as_planned(&dictionary, plan).tensors.iter().flat_map(|tensor| &tensor.bytes));
        assert_eq!(file.len() as u64, plan.file_len());
        test(&Case { plan, dictionary: &dictionary, file });
    }
}

const PATIENT: SinkPlan =
    SinkPlan { takes: Reads::Whole, interrupted_every: None, failure: None, capacity: None };

/// Returns the error of this crate.
fn fault<T: std::fmt::Debug>(outcome: Result<T, WriteError<Fault>>) -> (ErrorKind, u64) {
    match outcome {
        Err(WriteError::Format(error)) => (error.kind, error.at),
        other => panic!("{other:?} is no mistake of the caller"),
    }
}

#[test]
fn every_sink_and_every_window() {
    let takes = [Reads::Whole, Reads::AtMost(1), Reads::AtMost(3), Reads::Random(1), Reads::Random(2)];
    let interrupted = [None, Some(1), Some(2), Some(5)];
    let sinks = takes.into_iter().flat_map(|takes| interrupted.map(|every| (takes, every)));
    for ((takes, interrupted_every), window) in
        sinks.flat_map(|sink| [1, 2, 7, 8, 9, 64, 1000].map(|len| (sink, len)))
    {
        each_case(|case| {
            let plan = SinkPlan { takes, interrupted_every, ..PATIENT };
            let sink = case.write(plan, window, |writer| {
                case.parts().iter().for_each(|(_, bytes)| writer.write_bytes(bytes).expect("next in order"));
            });
            assert_eq!(sink.counts().interruptions > 0, interrupted_every.is_some());
        });
    }
}

#[test]
fn every_split() {
    each_case(|case| {
        for (split, complete) in case.parts() {
            for at in 0..=complete.len() {
                case.write(PATIENT, 64, |writer| {
                    for (index, bytes) in case.parts() {
                        let (head, tail) = bytes.split_at(if index == split { at } else { 0 });
                        writer.write_bytes(head).expect("next in order");
                        writer.write_bytes(tail).expect("next in order");
                    }
                });
            }
        }
    });
}

#[test]
fn one_byte_at_a_time() {
    each_case(|case| {
        case.write(PATIENT, 64, |writer| {
            assert_eq!(writer.position(), case.plan.data_start());
            for (index, bytes) in case.parts() {
                for position in 0..bytes.len() {
                    let next = writer.next_tensor().expect("incomplete");
                    assert_eq!((next.index, next.tensor), (index, &case.plan.spec().tensors()[index]));
                    let expected = [position, bytes.len() - position].map(|n| n as u64);
                    assert_eq!([next.position, next.remaining], expected);
                    writer.write_bytes(&bytes[position..=position]).expect("next in order");
                    assert_eq!(writer.position(), (case.begin(index) + position + 1) as u64);
                }
            }
        });
    });
}

#[test]
fn fault_at_every_call() {
    let broken = Err(WriteError::Sink(Fault::Broken));
    each_case(|case| {
        let mut failed = [0; 3];
        for call in 0.. {
            let failure = Some(Failure::Once(call));
            let mut sink = Sink::new(SinkPlan { takes: Reads::AtMost(3), failure, ..PATIENT });
            let Ok(mut writer) = Writer::new(&mut sink, case.plan, &mut [0; 16]) else {
                // The header is incomplete, so no reader accepts it.
                assert!(case.file.starts_with(&sink.file) && sink.file.len() < case.data_start());
                failed[0] += 1;
                continue;
            };
            let first = case.write_rest(&mut writer);
            if first.is_err() {
                assert_eq!(first, broken);
                failed[1] += 1;
                case.write_rest(&mut writer).expect("fails only once");
            }
            let end = writer.finish().map(drop);
            assert!(case.file.starts_with(&sink.file));
            match end {
                Ok(()) => assert_eq!(sink.file, case.file),
                Err(_) => failed[2] += 1,
            }
            if end.is_ok() && first.is_ok() {
                break;
            }
            assert!(end == Ok(()) || end == broken);
        }
        // The last call flushes.
        let data = case.file.len() - case.data_start();
        assert!(failed[0] > 8 && failed[1] + failed[2] > data / 3 && failed[2] > 0, "{failed:?}");
    });
}

#[test]
fn full_sink_at_every_byte() {
    each_case(|case| {
        for capacity in 0..case.file.len() {
            let mut sink = Sink::new(SinkPlan { capacity: Some(capacity), ..PATIENT });
            let begun = Writer::new(&mut sink, case.plan, &mut [0; 16]);
            let outcome = begun.and_then(|mut writer| {
                case.write_rest(&mut writer)?;
                writer.finish().map(drop)
            });
            assert_eq!(outcome, Err(WriteError::Full { at: capacity as u64 }));
            assert_eq!(sink.file, case.file[..capacity]);
        }
        let plan = SinkPlan { capacity: Some(case.file.len()), ..PATIENT };
        case.write(plan, 16, |writer| case.write_rest(writer).expect("fits"));
    });
}

#[test]
fn too_many_bytes() {
    each_case(|case| {
        case.write(PATIENT, 16, |writer| {
            for (index, bytes) in case.parts() {
                for position in 0..bytes.len() {
                    let before = writer.position();
                    for more in [1, 2, 100] {
                        let given = [&bytes[position..], &vec![0; more]].concat();
                        let left = (bytes.len() - position) as u64;
                        let tensor = u32::try_from(index).expect("fits in usize");
                        let kind = ErrorKind::TooManyBytes { tensor, given: given.len() as u64, left };
                        assert_eq!(fault(writer.write_bytes(&given)), (kind, before));
                        assert_eq!((kind.code(), writer.position()), ("usage.bytes", before));
                    }
                    writer.write_bytes(&bytes[position..=position]).expect("next in order");
                }
            }
            let end = writer.position();
            assert_eq!(fault(writer.write_bytes(&[0])), (ErrorKind::AllWritten, end));
            assert_eq!(fault(writer.write_tensor("gain", &[0; 8])), (ErrorKind::AllWritten, end));
            assert_eq!(fault(writer.write(&[0_u8])), (ErrorKind::AllWritten, end));
            assert_eq!(writer.write_bytes(&[]), Ok(()));
        });
    });
}

#[test]
fn missing_bytes() {
    each_case(|case| {
        let parts = case.parts();
        let data: Vec<(usize, u8)> =
            parts.iter().flat_map(|(index, bytes)| bytes.iter().map(|byte| (*index, *byte))).collect();
        assert!(parts.len() > 5 && data.len() > 20);
        for (written, (lacking, _)) in data.iter().enumerate() {
            let mut sink = Sink::new(PATIENT);
            let mut writer = Writer::new(&mut sink, case.plan, &mut [0; 16]).expect("succeeds");
            data[..written].iter().for_each(|(_, byte)| writer.write_bytes(&[*byte]).expect("next in order"));
            let (position, tensor) = (writer.position(), u32::try_from(*lacking).expect("fits in usize"));
            let kind = ErrorKind::Incomplete { tensor, missing: case.plan.file_len() - position };
            assert_eq!(fault(writer.finish().map(drop)), (kind, position));
            assert_eq!(kind.code(), "usage.incomplete");
            // No reader accepts the incomplete file.
            assert!(embedded_safetensors::View::parse(&sink.file).is_err() && !sink.is_flushed);
        }
    });
}

#[test]
fn whole_tensors_in_order() {
    each_case(|case| {
        case.write(PATIENT, 16, |writer| {
            for (index, bytes) in case.parts() {
                let (tensor, at) = (u32::try_from(index).expect("fits in usize"), writer.position());
                let name = &case.dictionary.tensors[index].name;
                let others = case.dictionary.tensors.iter().filter(|other| !other.bytes.is_empty());
                let others = others.map(|other| (&other.name[..], &other.bytes[..]));
                for (other, bytes) in others.filter(|(other, _)| other != name).chain([("unknown", bytes)]) {
                    let outcome = fault(writer.write_tensor(other, bytes));
                    assert_eq!(outcome, (ErrorKind::WrongTensor { tensor }, at));
                }
                for given in [&bytes[1..], &[bytes, &[0]].concat(), &[]] {
                    let [given_len, needed] = [given, bytes].map(|bytes| bytes.len() as u64);
                    let kind = ErrorKind::TensorLength { tensor, given: given_len, needed };
                    assert_eq!(fault(writer.write_tensor(name, given)), (kind, at));
                }
                if bytes.len() <= 4 {
                    writer.write_tensor(name, bytes).expect("next in order");
                    continue;
                }
                writer.write_bytes(&bytes[..1]).expect("next in order");
                let at = writer.position();
                let [given, left] = [bytes.len(), bytes.len() - 1].map(|len| len as u64);
                let kind = ErrorKind::TooManyBytes { tensor, given, left };
                assert_eq!(fault(writer.write_tensor(name, bytes)), (kind, at));
                let kind = ErrorKind::TensorLength { tensor, given: left, needed: given };
                assert_eq!(fault(writer.write_tensor(name, &bytes[1..])), (kind, at));
                writer.write_bytes(&bytes[1..]).expect("next in order");
            }
        });
    });
}

/// Asserts that values of this type become these bytes, in pieces of any size.
fn assert_values<T: Native + std::fmt::Debug>(values: &[T], bytes: &[u8]) {
    let dims = [values.len() as u64];
    let tensors = [TensorSpec::new("v", T::DTYPE, &dims)];
    let plan = FileSpec::new(&tensors).plan().expect("valid description");
    for chunk in 1..=values.len() {
        let mut sink = Sink::new(PATIENT);
        let mut writer = Writer::new(&mut sink, plan, &mut [0; 16]).expect("succeeds");
        for values in values.chunks(chunk) {
            writer.write(values).expect("next in order");
        }
        writer.finish().expect("complete");
        assert!(sink.file.ends_with(bytes) && sink.file.len() as u64 == plan.file_len(), "{values:?}");
    }
}

#[test]
fn values_of_every_type() {
    assert_values::<u8>(&[1, 2, 255], &[1, 2, 255]);
    assert_values::<i8>(&[1, -2], &[1, 254]);
    assert_values::<u16>(&[0x0102, 3], &[2, 1, 3, 0]);
    assert_values::<i16>(&[-2, 3], &[254, 255, 3, 0]);
    assert_values::<u32>(&[0x0102_0304, 5], &[4, 3, 2, 1, 5, 0, 0, 0]);
    assert_values::<i32>(&[-2], &[254, 255, 255, 255]);
    assert_values::<u64>(&[0x0102_0304_0506_0708], &[8, 7, 6, 5, 4, 3, 2, 1]);
    assert_values::<i64>(&[-2], &[254, 255, 255, 255, 255, 255, 255, 255]);
    assert_values::<f32>(&[1.0, -2.0], &[0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
    assert_values::<f64>(&[1.0], &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
    assert_values::<f16>(&[f16::ONE], &[0, 0x3c]);
    assert_values::<bf16>(&[bf16::ONE], &[0x80, 0x3f]);
    assert_values::<C64>(&[C64 { re: 1.0, im: -2.0 }], &[0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
}

type Act = fn(&mut Streamed<'_, '_>) -> Result<(), WriteError<Fault>>;

/// Of two tensors, an F32 and an I16: their numbers of elements, and acts in turn, each with its error and
/// the number of bytes of data before it.
fn acts(sizes: [u64; 2], acts: &[(Act, Option<(ErrorKind, u64)>)]) {
    let [first, second] = sizes.each_ref().map(std::slice::from_ref);
    let tensors = [TensorSpec::new("a", Dtype::F32, first), TensorSpec::new("b", Dtype::I16, second)];
    let plan = FileSpec::new(&tensors).plan().expect("valid description");
    let mut sink = Sink::new(PATIENT);
    let mut writer = Writer::new(&mut sink, plan, &mut [0; 16]).expect("succeeds");
    for (number, (act, error)) in acts.iter().enumerate() {
        match (act(&mut writer), error) {
            (Ok(()), None) => {}
            (outcome, Some((kind, at))) => {
                assert_eq!(fault(outcome), (*kind, plan.data_start() + at), "{number}");
            }
            (outcome, None) => panic!("{number}: {outcome:?}"),
        }
    }
    writer.finish().expect("complete");
    assert_eq!(sink.file.len() as u64, plan.file_len());
}

#[test]
fn mistake_changes_nothing() {
    use Dtype::{F32, I16, U16, U32};
    use ErrorKind::{AllWritten, TensorLength, TooManyBytes, ValueType, WrongTensor};
    acts(
        [2, 1],
        &[
            (|writer| writer.write(&[1_u32]), Some((ValueType { tensor: 0, given: U32, needed: F32 }, 0))),
            (|writer| writer.write::<i16>(&[]), None),
            (|writer| writer.write(&[0_f32; 3]), Some((TooManyBytes { tensor: 0, given: 12, left: 8 }, 0))),
            (|writer| writer.write(&[1_f32, 2.]), None),
            (|writer| writer.write(&[1_f32]), Some((ValueType { tensor: 1, given: F32, needed: I16 }, 8))),
            (|writer| writer.write(&[7_i16]), None),
        ],
    );
    // The first one has no bytes, and may be passed over or not.
    acts(
        [0, 1],
        &[
            (|writer| writer.write_bytes(&[1; 3]), Some((TooManyBytes { tensor: 1, given: 3, left: 2 }, 0))),
            (|writer| writer.write(&[1_i16; 2]), Some((TooManyBytes { tensor: 1, given: 4, left: 2 }, 0))),
            (|writer| writer.write(&[1_u16]), Some((ValueType { tensor: 1, given: U16, needed: I16 }, 0))),
            (
                |writer| writer.write_tensor("b", &[1]),
                Some((TensorLength { tensor: 1, given: 1, needed: 2 }, 0)),
            ),
            (|writer| writer.write_tensor("c", &[1, 2]), Some((WrongTensor { tensor: 1 }, 0))),
            (|writer| writer.write_tensor("a", &[]), None),
            (|writer| writer.write_tensor("b", &[1, 2]), None),
        ],
    );
    acts(
        [0, 0],
        &[
            (|writer| writer.write_bytes(&[1]), Some((AllWritten, 0))),
            (|writer| writer.write(&[1_u8]), Some((AllWritten, 0))),
            (|writer| writer.write_tensor("c", &[]), Some((AllWritten, 0))),
            (|writer| writer.write_tensor("a", &[]), None),
            (|writer| writer.write_tensor("b", &[]), None),
            (|writer| writer.write_bytes(&[1]), Some((AllWritten, 0))),
        ],
    );
}

#[test]
fn no_window() {
    each_case(|case| {
        let mut sink = Sink::new(PATIENT);
        let outcome = Writer::new(&mut sink, case.plan, &mut []).map(|_| ());
        assert_eq!(fault(outcome), (ErrorKind::NoWindow, 0));
        assert_eq!((sink.counts().calls, &sink.file[..]), (0, &[][..]));
    });
}
