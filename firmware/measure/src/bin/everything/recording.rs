//! Files that are recorded: every method of a `Writer`, and every storage for recording.

use crate::Job;
use crate::storage::{Chip, File, partition};
use crate::writing::outcome;
use embedded_safetensors::{
    WriteAt, WriteError,
    io::{NorFile, Seekable},
    write::{FilePlan, Writer},
};

pub fn all(plan: FilePlan<'_>, job: &Job, file: &'static [u8]) -> u64 {
    let mut memory = [0; 256];
    let memory = memory.get_mut(..job.slots).unwrap_or_default();
    outcome(record(memory, plan, file))
        ^ outcome(record(Seekable::new(File::new(file)), plan, file))
        ^ outcome(record(&mut partition(Chip(file), job), plan, file))
        ^ outcome(record(NorFile::new(Chip(file)).with_file_len(job.file_len), plan, file))
}

fn record<S: WriteAt>(
    mut storage: S,
    plan: FilePlan<'_>,
    file: &'static [u8],
) -> Result<u64, WriteError<S::Error>> {
    let (first, rest) = file.split_at_checked(5).unwrap_or((file, &[]));
    let mut buffer = [0; 64];
    let buffer = buffer.get_mut(..rest.len()).unwrap_or_default();
    // Writes beyond what a recorder writes.
    let far = plan.data_len();
    storage.write_at(far, first).map_err(WriteError::Sink)?;
    let mut recorder = Writer::record(storage, plan, buffer)?;
    recorder.write_bytes(rest)?;
    recorder.write_bytes(first)?;
    recorder.write(&[1.0_f32, f32::from(rest.len() as u8)])?;
    recorder.write_tensor("c", first)?;
    let next = recorder.next_tensor().map_or(0, |next| next.index as u64 ^ next.position ^ next.remaining);
    let position = recorder.position();
    let mut storage = recorder.finish()?;
    storage.prepare(far, position)?;
    Ok(next ^ position ^ storage.unit() as u64)
}
