//! Models that are replaced at run time, in the partition `models` of an ESP32-C3's flash.
//! In place of a download, it installs the model that is in the program. For your device, change `owner.key`
//! (`openssl pkey -in KEY -pubout -outform DER | tail -c 32`), `DEVICE`, what `install` gets, and `run`.
#![no_std]
#![no_main]

use embedded_safetensors::{Dtype, integrity::Sha256, query::Query};
use esp_println::println;
use esp_storage::{FlashStorage, FlashStorageError};
use safetensors_slots::{Ed25519, Installed, Layout, Offer, Page, SlotError, VerifyError};

#[path = "../device.rs"]
mod device;
type Slots<'p> = safetensors_slots::Slots<'p, FlashStorage<'static>>;
type Outcome<T> = Result<T, VerifyError<FlashStorageError>>;

/// What `safetensors sign model.safetensors --key KEY --device minimal-esp --counter 1` has written.
const OFFER: &[u8; 128] = include_bytes!("../../model.offer");
const OWNERS: Ed25519<'_> = Ed25519(&[(0, *include_bytes!("../../owner.key"))]);
const DEVICE: [u8; 16] = *b"minimal-esp\0\0\0\0\0";
const BIAS: Query<'_> = Query::required("fc.bias").dtype(Dtype::F32).shape(&[3]);

esp_bootloader_esp_idf::esp_app_desc!();

#[esp_hal::main]
fn main() -> ! {
    let mut flash = FlashStorage::new(esp_hal::init(esp_hal::Config::default()).FLASH);
    let region = device::partition(&mut flash, "models").expect("there is no partition `models`");
    let mut page = Page([0; 256]);
    let mut slots = Slots::new(flash, Layout { region, journal: 3, slots: 2 }, &mut page.0);
    // If this start cannot be counted, the confirmed model is used.
    match slots.start().unwrap_or_else(|_| slots.confirmed()).map(|model| run(&mut slots, &model)) {
        None => println!("no model"),
        Some(Ok(sum)) if slots.confirm().is_ok() => println!("the sum is {} thousandths: confirmed", sum),
        Some(Ok(sum)) => println!("the sum is {} thousandths", sum),
        Some(Err(error)) => println!("error: {}", error),
    }
    if let Err(error) = install(&mut slots, include_bytes!("../../model.safetensors")) {
        println!("error: {}", error);
    }
    device::stop()
}

/// Verifies the model, and adds the values of a tensor.
fn run(slots: &mut Slots<'_>, model: &Installed) -> Outcome<i32> {
    let (mut tensors, mut window, mut values) = ([BIAS], [0; 256], [0.0; 3]);
    let sum = *slots.sum(model);
    let mut file = slots.model(model, &mut tensors, &mut window)?;
    file.verify(Sha256::new(), &sum, &mut window)?;
    let [bias] = &tensors;
    file.reader(bias)?.values().read_exact(&mut values)?;
    Ok((values.iter().sum::<f32>() * 1e3) as i32)
}

/// Receives a model that is not there yet, verifies it, and resets to try it at most three times.
fn install(slots: &mut Slots<'_>, file: &[u8]) -> Outcome<()> {
    let offer = Offer::from_bytes(OFFER).ok_or(SlotError::Signature)?;
    if slots.confirmed().is_some_and(|model| model.counter >= offer.counter) {
        return Ok(());
    }
    // After a power cut the model may be verified, or a part of it be there.
    if slots.try_for(3).is_err() {
        offer.check(&OWNERS, &DEVICE)?;
        if let Err(SlotError::OtherModel) = slots.receive(&offer) {
            slots.abandon()?;
        }
        let at = slots.receive(&offer)? as usize;
        file[at..].chunks(64).try_for_each(|piece| slots.push(piece))?;
        let verified = slots.verify(&offer, &OWNERS, &DEVICE, &mut [BIAS]);
        if let Err(VerifyError::Model(_)) = verified {
            slots.abandon()?;
        }
        verified?;
        slots.try_for(3)?;
    }
    println!("model {} is verified: reset", offer.counter);
    esp_hal::system::software_reset()
}
