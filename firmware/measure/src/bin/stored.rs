//! Verifies the sum of a model in flash, and reads a tensor: the same without updates.
#![no_std]
#![no_main]

use embedded_safetensors::integrity::Sha256;
use embedded_safetensors::io::{NorError, NorFile};
use embedded_safetensors::{Model, ReadError, query::Query};
use embedded_storage::nor_flash::{NorFlash, NorFlashErrorKind};
use measure::{Chip, Job, read_chunks};
use safetensors_slots::Offer;

measure::program!(|job| job.done = run(job));

type Flash<'m> = Chip<&'m mut [u8]>;
type Outcome = Result<u32, ReadError<NorError<NorFlashErrorKind>>>;

fn run(job: &mut Job) -> Option<u32> {
    let (window, memory) = job.window.split_at_mut_checked(256)?;
    let mut flash = Chip(memory);
    let offer = measure::offer(job.file);
    verify(&mut flash, &offer, job.file, job.name, window).ok()?;
    read(&mut flash, job.name, window).ok()
}

#[inline(never)]
fn verify(flash: &mut Flash<'_>, offer: &Offer, file: &[u8], name: &str, window: &mut [u8]) -> Outcome {
    let written = flash.erase(0, 0x8000).and_then(|()| flash.write(0, file));
    written.map_err(|error| ReadError::Source(NorError(error)))?;
    let file = NorFile::partition(flash, 0..file.len() as u32);
    let mut model = Model::open_with(file, &mut [Query::required(name)], window)?;
    model.verify(Sha256::new(), &offer.sum, window)?;
    Ok(0)
}

#[inline(never)]
fn read(flash: &mut Flash<'_>, name: &str, window: &mut [u8]) -> Outcome {
    let mut tensor = [Query::required(name)];
    let mut model = Model::open_with(NorFile::new(flash), &mut tensor, window)?;
    let [tensor] = &tensor;
    read_chunks(model.reader(tensor)?, window)
}
