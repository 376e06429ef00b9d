//! The same values without the library, at addresses counted by hand: the cost limit for firmware with a
//! model in flash.
#![no_std]
#![no_main]

use half::f16;

#[repr(C, align(16))]
struct File([u8; FILE_LEN]);

const FILE_LEN: usize = 702_428;
const DATA: usize = 808;

static FILE: File = File(*include_bytes!("../../../app/models/digits-f16.safetensors"));

const fn at<const LEN: usize>(offset: usize) -> &'static [f16; LEN] {
    assert!(DATA + offset + 2 * LEN <= FILE_LEN && offset & 1 == 0);
    // SAFETY: inside the file, which is aligned; any bytes are valid numbers.
    unsafe { &*FILE.0.as_ptr().add(DATA + offset).cast() }
}

static TENSORS: [&[f16]; 8] = [
    at::<400>(0),
    at::<25_600>(800),
    at::<400>(52_000),
    at::<160_000>(52_800),
    at::<400>(372_800),
    at::<160_000>(373_600),
    at::<10>(693_600),
    at::<4_000>(693_620),
];

measure::program!(|job| job.done = Some(measure::sum(&TENSORS)));
