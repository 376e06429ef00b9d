//! The writer, with sinks that take any number of bytes or fail, and callers that give too few bytes or too
//! many.

use embedded_safetensors::{
    Dtype, ErrorKind, WriteError,
    values::{C64, Native},
    write::{FilePlan, Placement, PlannedContent, Streaming, TensorSpec, Writer},
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
}

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

fn sink() -> Sink {
    Sink::new(SinkPlan::default())
}

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
    each_case(|case| {
        for takes in takes {
            for interrupted_every in [None, Some(1), Some(2), Some(5)] {
                for window in [1, 2, 7, 8, 9, 64, 1000] {
                    let mut sink = Sink::new(SinkPlan { takes, interrupted_every, ..SinkPlan::default() });
                    let mut writer =
                        Writer::new(&mut sink, case.plan, &mut vec![0; window]).expect("succeeds");
                    for (_, bytes) in case.parts() {
                        writer.write_bytes(bytes).expect("next in order");
                    }
                    writer.finish().expect("complete");
                    assert_eq!(sink.file, case.file);
                    assert!(sink.is_flushed);
                    assert_eq!(sink.interruptions > 0, interrupted_every.is_some());
                }
            }
        }
    });
}

#[test]
fn every_split() {
    each_case(|case| {
        for (split, complete) in case.parts() {
            for at in 0..=complete.len() {
                let mut sink = sink();
                let mut writer = Writer::new(&mut sink, case.plan, &mut [0; 64]).expect("succeeds");
                for (index, bytes) in case.parts() {
                    let (head, tail) = bytes.split_at(if index == split { at } else { 0 });
                    writer.write_bytes(head).expect("next in order");
                    writer.write_bytes(tail).expect("next in order");
                }
                writer.finish().expect("complete");
                assert_eq!(sink.file, case.file);
            }
        }
    });
}

#[test]
fn one_byte_at_a_time() {
    each_case(|case| {
        let mut sink = sink();
        let mut writer = Writer::new(&mut sink, case.plan, &mut [0; 64]).expect("succeeds");
        assert_eq!(writer.position(), case.plan.data_start());
        for (index, bytes) in case.parts() {
            for position in 0..bytes.len() {
                let next = writer.next_tensor().expect("incomplete");
                let spec = &case.plan.spec().tensors()[index];
                assert_eq!((next.index, next.tensor), (index, spec));
                let expected = [position, bytes.len() - position].map(|n| n as u64);
                assert_eq!([next.position, next.remaining], expected);
                if position > 0 {
                    assert_eq!(writer.position(), (case.begin(index) + position) as u64);
                }
                writer.write_bytes(&bytes[position..=position]).expect("next in order");
                assert_eq!(writer.position(), (case.begin(index) + position + 1) as u64);
            }
        }
        writer.finish().expect("complete");
        assert_eq!(sink.file, case.file);
    });
}

/// Writes the remaining bytes, from the writer's position on.
fn write_rest(
    writer: &mut Writer<'_, Streaming<&mut Sink>>,
    case: &Case<'_>,
) -> Result<(), WriteError<Fault>> {
    while let Some(next) = writer.next_tensor() {
        let bytes = &case.dictionary.tensors[next.index].bytes;
        let rest = &bytes[usize::try_from(next.position).expect("fits in usize")..];
        // So the loop ends.
        assert!(rest.len() as u64 == next.remaining && !rest.is_empty());
        writer.write_bytes(rest)?;
    }
    Ok(())
}

#[test]
fn fault_at_every_call() {
    let broken = Err(WriteError::Sink(Fault::Broken));
    each_case(|case| {
        let mut failed = [0; 3];
        for call in 0.. {
            let failure = Some(Failure::Once(call));
            let mut sink = Sink::new(SinkPlan { takes: Reads::AtMost(3), failure, ..SinkPlan::default() });
            let Ok(mut writer) = Writer::new(&mut sink, case.plan, &mut [0; 16]) else {
                // The header is incomplete, so no reader accepts it.
                assert!(case.file.starts_with(&sink.file) && sink.file.len() < case.data_start());
                failed[0] += 1;
                continue;
            };
            let first = write_rest(&mut writer, case);
            if first.is_err() {
                assert_eq!(first, broken);
                failed[1] += 1;
                write_rest(&mut writer, case).expect("fails only once");
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
            let mut sink = Sink::new(SinkPlan { capacity: Some(capacity), ..SinkPlan::default() });
            let begun = Writer::new(&mut sink, case.plan, &mut [0; 16]);
            let outcome = begun.and_then(|mut writer| {
                write_rest(&mut writer, case)?;
                writer.finish().map(drop)
            });
            assert_eq!(outcome, Err(WriteError::Full { at: capacity as u64 }));
            assert_eq!(sink.file, case.file[..capacity]);
        }
        let mut sink = Sink::new(SinkPlan { capacity: Some(case.file.len()), ..SinkPlan::default() });
        let mut writer = Writer::new(&mut sink, case.plan, &mut [0; 16]).expect("fits");
        write_rest(&mut writer, case).expect("fits");
        writer.finish().expect("fits");
    });
}

#[test]
fn too_many_bytes() {
    each_case(|case| {
        let mut sink = sink();
        let mut writer = Writer::new(&mut sink, case.plan, &mut [0; 16]).expect("succeeds");
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
        writer.finish().expect("complete");
        assert_eq!(sink.file, case.file);
    });
}

#[test]
fn missing_bytes() {
    each_case(|case| {
        let parts = case.parts();
        let (count, data): (usize, Vec<u8>) =
            (parts.len(), parts.iter().flat_map(|part| part.1).copied().collect());
        assert!(count > 5 && data.len() > 20);
        for written in 0..data.len() {
            let mut sink = sink();
            let mut writer = Writer::new(&mut sink, case.plan, &mut [0; 16]).expect("succeeds");
            for byte in &data[..written] {
                writer.write_bytes(&[*byte]).expect("next in order");
            }
            let (mut after, position) = (written, writer.position());
            let lacking = parts.iter().find(|(_, bytes)| {
                let is_lacking = after < bytes.len();
                after = after.saturating_sub(bytes.len());
                is_lacking
            });
            let tensor = u32::try_from(lacking.expect("one lacks bytes").0).expect("fits in usize");
            let missing = case.plan.file_len() - position;
            let kind = ErrorKind::Incomplete { tensor, missing };
            assert_eq!(
                (fault(writer.finish().map(drop)), kind.code()),
                ((kind, position), "usage.incomplete")
            );
            // No reader accepts the incomplete file.
            assert!(embedded_safetensors::View::parse(&sink.file).is_err() && !sink.is_flushed);
        }
    });
}

#[test]
fn whole_tensors_in_order() {
    each_case(|case| {
        let mut sink = sink();
        let mut writer = Writer::new(&mut sink, case.plan, &mut [0; 16]).expect("succeeds");
        for (index, bytes) in case.parts() {
            let (tensor, at) = (u32::try_from(index).expect("fits in usize"), writer.position());
            let name = &case.dictionary.tensors[index].name;
            for other in
                case.dictionary.tensors.iter().filter(|other| other.name != *name && !other.bytes.is_empty())
            {
                assert_eq!(
                    fault(writer.write_tensor(&other.name, &other.bytes)),
                    (ErrorKind::WrongTensor { tensor }, at)
                );
            }
            assert_eq!(fault(writer.write_tensor("unknown", bytes)), (ErrorKind::WrongTensor { tensor }, at));
            for given in [&bytes[1..], &[bytes, &[0]].concat(), &[]] {
                let [given_len, needed] = [given, bytes].map(|bytes| bytes.len() as u64);
                let kind = ErrorKind::TensorLength { tensor, given: given_len, needed };
                assert_eq!(
                    (fault(writer.write_tensor(name, given)), kind.code()),
                    ((kind, at), "usage.length")
                );
            }
            if bytes.len() > 4 {
                writer.write_bytes(&bytes[..1]).expect("next in order");
                let at = writer.position();
                let [given, left] = [bytes.len(), bytes.len() - 1].map(|len| len as u64);
                let kind = ErrorKind::TooManyBytes { tensor, given, left };
                assert_eq!(fault(writer.write_tensor(name, bytes)), (kind, at));
                let kind = ErrorKind::TensorLength { tensor, given: left, needed: given };
                assert_eq!(fault(writer.write_tensor(name, &bytes[1..])), (kind, at));
                writer.write_bytes(&bytes[1..]).expect("next in order");
            } else {
                writer.write_tensor(name, bytes).expect("next in order");
            }
        }
        writer.finish().expect("complete");
        assert_eq!(sink.file, case.file);
    });
}

/// Asserts that values of this type become these bytes, in pieces of any size.
fn assert_values<T: Native + std::fmt::Debug>(values: &[T], bytes: &[u8]) {
    let dims = [values.len() as u64];
    let tensors = [TensorSpec::new("v", T::DTYPE, &dims)];
    let plan = embedded_safetensors::write::FileSpec::new(&tensors).plan().expect("valid description");
    for chunk in 1..=values.len() {
        let mut sink = sink();
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
    let many: Vec<u32> = (0..5000).collect();
    let bytes: Vec<u8> = many.iter().flat_map(|value| value.to_le_bytes()).collect();
    let dims = [5000];
    let tensors = [TensorSpec::new("v", Dtype::U32, &dims)];
    let plan = embedded_safetensors::write::FileSpec::new(&tensors).plan().expect("valid description");
    let mut sink = Sink::new(SinkPlan { takes: Reads::Random(5), ..SinkPlan::default() });
    let mut writer = Writer::new(&mut sink, plan, &mut [0; 16]).expect("succeeds");
    writer.write(&many).expect("next in order");
    writer.finish().expect("complete");
    assert!(sink.file.ends_with(&bytes));
}

#[test]
fn values_of_wrong_dtype() {
    let tensors = [TensorSpec::new("a", Dtype::F32, &[2]), TensorSpec::new("b", Dtype::I16, &[1])];
    let plan = embedded_safetensors::write::FileSpec::new(&tensors).plan().expect("valid description");
    let mut sink = sink();
    let mut writer = Writer::new(&mut sink, plan, &mut [0; 16]).expect("succeeds");
    let at = plan.data_start();
    let mismatch = |tensor, needed, given| ErrorKind::ValueType { tensor, given, needed };
    assert_eq!(fault(writer.write(&[1_u32])), (mismatch(0, Dtype::F32, Dtype::U32), at));
    assert_eq!(fault(writer.write(&[1_u64])), (mismatch(0, Dtype::F32, Dtype::U64), at));
    writer.write::<i16>(&[]).expect("no bytes are always accepted");
    let kind = ErrorKind::TooManyBytes { tensor: 0, given: 12, left: 8 };
    assert_eq!(fault(writer.write(&[1_f32, 2., 3.])), (kind, at));
    writer.write(&[1_f32, 2.]).expect("next in order");
    assert_eq!(fault(writer.write(&[1_f32])), (mismatch(1, Dtype::I16, Dtype::F32), at + 8));
    writer.write(&[7_i16]).expect("next in order");
    writer.finish().expect("complete");
}

#[test]
fn tensors_without_bytes() {
    // Named or passed over, each in its turn.
    each_case(|case| {
        for named in [false, true] {
            let mut sink = sink();
            let mut writer = Writer::new(&mut sink, case.plan, &mut [0; 16]).expect("succeeds");
            for planned in case.plan.tensors() {
                let PlannedContent::Tensor { index, spec } = planned.content else { continue };
                let bytes = &case.dictionary.tensors[index].bytes;
                if named {
                    assert!(
                        writer.write_tensor("unknown", &[]).is_err()
                            && writer.write_tensor(spec.name(), &[0; 9]).is_err()
                    );
                }
                if named || !bytes.is_empty() {
                    writer.write_tensor(spec.name(), bytes).expect("next in order");
                }
                writer.write_bytes(&[]).expect("no bytes are always accepted");
            }
            writer.finish().expect("complete");
            assert_eq!(sink.file, case.file);
        }
    });
    let tensors = [TensorSpec::new("a", Dtype::F32, &[0]), TensorSpec::new("b", Dtype::I16, &[0])];
    let plan = embedded_safetensors::write::FileSpec::new(&tensors).plan().expect("valid description");
    let mut sink = sink();
    let mut writer = Writer::new(&mut sink, plan, &mut [0; 16]).expect("succeeds");
    assert_eq!(writer.next_tensor(), None);
    for mistaken in [writer.write_bytes(&[1]), writer.write(&[1_u8]), writer.write_tensor("c", &[])] {
        assert_eq!(fault(mistaken), (ErrorKind::AllWritten, plan.file_len()));
    }
    writer.write_tensor("a", &[]).expect("a mistake skips nothing");
    writer.write_tensor("b", &[]).expect("the one before it has no bytes");
    assert_eq!(fault(writer.write_bytes(&[1])), (ErrorKind::AllWritten, plan.file_len()));
    writer.finish().expect("complete");
    assert_eq!(sink.file.len() as u64, plan.file_len());
}

#[test]
fn mistakes_before_a_tensor_without_bytes() {
    let tensors = [TensorSpec::new("a", Dtype::F32, &[0]), TensorSpec::new("b", Dtype::I16, &[1])];
    let plan = embedded_safetensors::write::FileSpec::new(&tensors).plan().expect("valid description");
    let mut sink = sink();
    let mut writer = Writer::new(&mut sink, plan, &mut [0; 16]).expect("succeeds");
    let length = ErrorKind::TensorLength { tensor: 1, given: 1, needed: 2 };
    for (mistaken, kind) in [
        (writer.write_bytes(&[1, 2, 3]), ErrorKind::TooManyBytes { tensor: 1, given: 3, left: 2 }),
        (writer.write(&[1_i16, 2]), ErrorKind::TooManyBytes { tensor: 1, given: 4, left: 2 }),
        (writer.write(&[1_u16]), ErrorKind::ValueType { tensor: 1, given: Dtype::U16, needed: Dtype::I16 }),
        (writer.write_tensor("b", &[1]), length),
        (writer.write_tensor("c", &[1, 2]), ErrorKind::WrongTensor { tensor: 1 }),
    ] {
        assert_eq!(fault(mistaken), (kind, plan.data_start()));
    }
    writer.write_tensor("a", &[]).expect("not skipped");
    writer.write_tensor("b", &[1, 2]).expect("next in order");
    writer.finish().expect("complete");
}

#[test]
fn no_tensors() {
    let plan = embedded_safetensors::write::FileSpec::new(&[]).plan().expect("valid description");
    let mut sink = sink();
    let writer = Writer::new(&mut sink, plan, &mut [0; 16]).expect("succeeds");
    assert_eq!((writer.next_tensor(), writer.position()), (None, 16));
    writer.finish().expect("complete");
    assert_eq!(sink.file, b"\x08\0\0\0\0\0\0\0{}      ");
}

#[test]
fn no_window() {
    each_case(|case| {
        let mut sink = sink();
        let outcome = Writer::new(&mut sink, case.plan, &mut []).map(|_| ());
        assert_eq!(fault(outcome), (ErrorKind::NoWindow, 0));
        assert_eq!((sink.calls, &sink.file[..]), (0, &[][..]));
    });
}
