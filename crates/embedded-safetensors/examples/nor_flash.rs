//! A model in a partition of NOR flash that can only be read in words.
//!
//! ```text
//! made for unit seven
//! fc1.weight [64, 32] F32 at 0..8192
//! fc1.bias [64] F32 at 8192..8448
//! fc2.weight [3, 64] F32 at 8448..9216
//! fc2.bias [3] F32 at 9216..9228
//! bias: [0.0, 0.25, 0.5]
//! ```

mod support {
    pub mod flash;
    pub mod model;
}

use embedded_safetensors::{Model, io::NorFile};
use std::error::Error;
use std::ops::Range;
use support::flash::Flash;
use support::model;

/// The address range of the model, from the linker script or the partition table.
const PARTITION: Range<u32> = 0x4000..0x1_0000;

fn main() -> Result<(), Box<dyn Error>> {
    let flash = Flash::with(&model::file(), PARTITION.start as usize);
    let mut window = [0; 64];
    let mut model = Model::open(NorFile::partition(flash, PARTITION), &mut window)?;

    let mut text = [0; 32];
    if let Some(unit) = model.metadata_value("unit", &mut text, &mut window)? {
        println!("made for unit {unit}");
    }
    model.for_each(&mut text, &mut window, |tensor| {
        let info = &tensor.info;
        println!("{} {:?} {} at {}..{}", tensor.name(), info.shape(), info.dtype(), info.begin(), info.end());
    })?;

    let bias = model.find("fc2.bias", &mut window)?.ok_or("the model has no bias")?;
    let bytes = model.reader(&bias)?.read_to_end(&mut text)?;
    println!("bias: {:?}", model::floats(bytes).collect::<Vec<_>>());
    Ok(())
}
