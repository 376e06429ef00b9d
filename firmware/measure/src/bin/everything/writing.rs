//! Files that are written: every method of descriptions, plans, encoders and writers.

use crate::Job;
use crate::numbers::{bytes, number};
use crate::recording;
use embedded_io::ErrorKind as IoErrorKind;
use embedded_safetensors::{
    Dtype, WriteError,
    error::Class,
    write::{
        FilePlan, FileSpec, Placement, PlannedContent, SpecError, SpecErrorKind, SpecPart, TensorSpec, Writer,
    },
};
use measure::Wire;

pub fn all(job: &Job, file: &'static [u8]) -> u64 {
    let (name, rest) = file.split_at_checked(job.slots).unwrap_or((file, &[]));
    let [name, other] = [name, rest].map(|bytes| core::str::from_utf8(bytes).unwrap_or("a"));
    let dims = [job.file_len, u64::from(job.mode)];
    let dtype = Dtype::from_name(rest).unwrap_or(Dtype::F16);
    let tensors = [
        TensorSpec::new(name, dtype, &dims),
        TensorSpec::new(other, Dtype::F4, &[]),
        TensorSpec::new("c", dtype, &[0]),
    ];
    let pairs = [(name, other), (other, name)];
    let mut sum = 0;
    for placement in [Placement::Start, Placement::BySize, Placement::Padded] {
        let spec = FileSpec::new(&tensors).with_metadata(&pairs).with_placement(placement(job.mode));
        let mut memory = [0; 8];
        let memory = memory.get_mut(..job.slots).unwrap_or_default();
        sum ^= planned(spec.plan(), job, file)
            ^ planned(spec.plan_as_given(memory), job, file)
            ^ planned(spec.plan_sorted(memory), job, file);
        sum ^= described(spec);
    }
    sum
}

fn described(spec: FileSpec<'_>) -> u64 {
    let names = spec
        .tensors()
        .iter()
        .map(|tensor| bytes(tensor.name().as_bytes()) ^ u64::from(tensor.dtype().bits()));
    names.sum::<u64>()
        ^ spec.metadata().map_or(0, |pairs| pairs.len() as u64)
        ^ (spec.placement() == Placement::Start(8)) as u64
}

fn planned(plan: Result<FilePlan<'_>, SpecError>, job: &Job, file: &'static [u8]) -> u64 {
    let plan = match plan {
        Ok(plan) => plan,
        Err(error) => return rejected(error),
    };
    let mut sum =
        plan.header_len() ^ plan.data_start() ^ plan.data_len() ^ plan.file_len() ^ described(plan.spec());
    for tensor in plan.tensors() {
        sum ^= tensor.begin ^ tensor.end ^ tensor.byte_len() ^ u64::from(tensor.dtype().bits());
        sum ^= match tensor.content {
            PlannedContent::Tensor { index, spec } => index as u64 ^ spec.byte_len().unwrap_or(1),
            PlannedContent::Padding { number } => number.into(),
        };
    }
    let mut encoder = plan.encoder();
    encoder.skip(3);
    while let part @ [_, ..] = encoder.encode(&mut [0; 7]) {
        sum ^= bytes(part) ^ encoder.remaining();
    }
    sum ^ encoder.position() ^ outcome(write(plan, file)) ^ recording::all(plan, job, file)
}

fn rejected(error: SpecError) -> u64 {
    let class = u64::from(error.kind.class() == Class::Limit);
    let part = match error.part {
        SpecPart::Tensor(index) | SpecPart::Key(index) => index as u64,
        SpecPart::File => 7,
    };
    let other = match error.kind {
        SpecErrorKind::DuplicateName { other } | SpecErrorKind::DuplicateKey { other } => other as u64,
        _ => 0,
    };
    class ^ part ^ other ^ bytes(error.kind.code().as_bytes())
}

fn write(plan: FilePlan<'_>, file: &'static [u8]) -> Result<u64, WriteError<IoErrorKind>> {
    let (window, rest) = file.split_at_checked(5).unwrap_or((file, &[]));
    let mut memory = [0; 16];
    let memory = memory.get_mut(..window.len()).unwrap_or_default();
    let mut writer = Writer::new(Wire::new(file), plan, memory)?;
    writer.write_bytes(rest)?;
    writer.write(&[1.0_f32, f32::from(rest.len() as u8)])?;
    writer.write(&[1_u16])?;
    writer.write_tensor("c", window)?;
    let next = writer.next_tensor().map_or(0, |next| {
        next.index as u64 ^ next.position ^ next.remaining ^ next.tensor.dims().len() as u64
    });
    let position = writer.position();
    writer.finish()?;
    Ok(next ^ position)
}

/// Like [`number`], for writes.
pub fn outcome<E>(outcome: Result<u64, WriteError<E>>) -> u64 {
    match outcome {
        Ok(seen) => seen,
        Err(WriteError::Format(error)) => number(Err(error)),
        Err(WriteError::Spec(error)) => rejected(error),
        Err(WriteError::Sink(_)) => 1,
        Err(WriteError::Full { at }) => at,
    }
}
