//! Files that are recorded or received into storage: every method of `Writer` and `FileReceiver`, and every
//! storage for recording.

use crate::Job;
use crate::numbers::summary;
use crate::storage::{File, chip, partition};
use crate::writing::outcome;
use embedded_safetensors::{
    WriteAt, WriteError,
    io::{NorFile, Seekable},
    query::Query,
    stream::FileReceiver,
    write::{FilePlan, Writer},
};

pub fn all(plan: FilePlan<'_>, job: &Job, file: &'static [u8]) -> u64 {
    let mut memory = [0; 256];
    let memory = memory.get_mut(..job.slots).unwrap_or_default();
    outcome(record(memory, plan, file))
        ^ outcome(record(Seekable::new(File::new(file)), plan, file))
        ^ outcome(record(&mut partition(job), plan, file))
        ^ outcome(record(NorFile::new(chip()).with_file_len(job.file_len), plan, file))
        ^ outcome(store(Seekable::new(File::new(file)), file))
        ^ outcome(store(NorFile::new(chip()), file))
}

fn store<S: WriteAt>(storage: S, file: &'static [u8]) -> Result<u64, WriteError<S::Error>> {
    let (mut buffer, mut queries) = ([0; 64], [Query::optional("b")]);
    let buffer = buffer.get_mut(..file.len()).unwrap_or_default();
    let mut receiver = FileReceiver::new(storage, file.len() as u64, &mut queries, buffer)?;
    for piece in file.chunks(16) {
        if receiver.push(piece)?.is_complete() {
            break;
        }
    }
    let sum = receiver.position() ^ receiver.summary().map_or(0, summary);
    Ok(sum ^ receiver.finish()?.unit() as u64)
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
