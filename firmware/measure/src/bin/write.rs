//! Firmware that does nothing but describe a file, sort it and write it.
#![no_std]
#![no_main]

use embedded_safetensors::{Dtype, FileSpec, TensorSpec};

static TENSORS: [TensorSpec<'static>; 2] =
    [TensorSpec::new("counts", Dtype::U32, &[64]), TensorSpec::new("activations", Dtype::F32, &[64, 10])];

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let (_, file) = linkcheck::request();
    let spec = FileSpec::new(core::hint::black_box(&TENSORS)).with_metadata(&[("device", "unit-7")]);
    let written = linkcheck::write_file(spec, file, linkcheck::order());
    linkcheck::exit(written.is_none().into())
}
