//! Receives a model into a slot, verifies, tries and confirms it, and reads a tensor.
#![no_std]
#![no_main]

use core::hint::black_box;
use embedded_safetensors::query::Query;
use embedded_storage::nor_flash::NorFlashErrorKind;
use measure::{Chip, Job, read_chunks};
use safetensors_slots::{Layout, Offer, SlotError, VerifyError};

measure::program!(|job| job.done = run(job));

type Slots<'p> = safetensors_slots::Slots<'p, Chip<&'p mut [u8]>>;
type Outcome = Result<u32, VerifyError<NorFlashErrorKind>>;

/// Trusts anybody: signatures are not part of the measurement.
fn is_signed(_: u32, _: &[u8], signature: &[u8; 64]) -> bool {
    black_box(signature)[0] == 0
}

fn run(job: &mut Job) -> Option<u32> {
    let (window, memory) = job.window.split_at_mut_checked(512)?;
    let (page, window) = window.split_at_mut_checked(256)?;
    loop {
        let layout = Layout { region: 0..0xf000, journal: 3, slots: 2 };
        let mut slots = Slots::new(Chip(memory), layout, page);
        if slots.start().ok()?.is_some() {
            return read(&mut slots, job.name, window).ok();
        }
        let offer = measure::offer(job.file);
        receive(&mut slots, &offer, job.file).ok()?;
        verify(&mut slots, &offer, job.name).ok()?;
    }
}

#[inline(never)]
fn receive(slots: &mut Slots<'_>, offer: &Offer, file: &[u8]) -> Outcome {
    slots.receive(offer)?;
    slots.push(file)?;
    Ok(0)
}

#[inline(never)]
fn verify(slots: &mut Slots<'_>, offer: &Offer, name: &str) -> Outcome {
    slots.verify(offer, &is_signed, &[0; 16], &mut [Query::required(name)])?;
    slots.try_for(3)?;
    Ok(0)
}

#[inline(never)]
fn read(slots: &mut Slots<'_>, name: &str, window: &mut [u8]) -> Outcome {
    slots.confirm()?;
    let model = slots.confirmed().ok_or(SlotError::NotStarted)?;
    let mut tensor = [Query::required(name)];
    let mut model = slots.model(&model, &mut tensor, window)?;
    let [tensor] = &tensor;
    Ok(read_chunks(model.reader(tensor)?, window)?)
}
