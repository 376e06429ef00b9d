//! The same network without the library, at addresses counted by hand: the cost limit for firmware with a
//! model in flash.
#![no_std]
#![no_main]

use measure::Weights;

#[repr(C, align(16))]
struct File([u8; FILE_LEN]);

const FILE_LEN: usize = 4992;

static FILE: File =
    File(*include_bytes!("../../../../crates/embedded-safetensors/examples/network.safetensors"));

const fn at<T>(offset: usize) -> &'static T {
    assert!(offset + size_of::<T>() <= FILE_LEN && offset & (align_of::<T>() - 1) == 0);
    // SAFETY: inside the file, which is aligned for all number types; any bytes are valid numbers.
    unsafe { &*FILE.0.as_ptr().add(offset).cast() }
}

static NETWORK: Weights = Weights {
    fc1_weight: at(2944),
    fc1_bias: at(2688),
    fc1_scale: at(352),
    fc2_weight: at(640),
    fc2_bias: at(608),
};

measure::program!(|job| job.done = NETWORK.sum(job.file));
