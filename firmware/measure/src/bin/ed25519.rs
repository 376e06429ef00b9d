//! Verifies the signature of an offer.
#![no_std]
#![no_main]

use core::hint::black_box;
use safetensors_slots::{Ed25519, Offer};

const OFFER: &[u8; 128] = include_bytes!("../../../minimal-esp/model.offer");
const OWNER: Ed25519<'_> = Ed25519(&[(0, *include_bytes!("../../../minimal-esp/owner.key"))]);

measure::program!(|job| {
    let offer = Offer::from_bytes(black_box(OFFER));
    job.done = offer.and_then(|offer| offer.check::<()>(&OWNER, &offer.device).ok()).map(|()| 1);
});
