//! A model on an SD card, read through a buffer of one sector.
//!
//! ```text
//! fc1.weight [64, 32] F32: 8192 bytes in 17 chunks, sum 768
//! fc2.weight [3, 64] F32: 768 bytes in 2 chunks, sum 72
//! ```

mod support {
    pub mod card;
    pub mod model;
}

use embedded_safetensors::{Model, io::Seekable, query::Query};
use embedded_sdmmc::{Mode, VolumeIdx};
use std::error::Error;
use support::{card, model};

fn main() -> Result<(), Box<dyn Error>> {
    let card = card::with_file("MODEL.ST", &model::file())?;
    let volume = card.open_volume(VolumeIdx(0))?;
    let root = volume.open_root_dir()?;
    let file = root.open_file_in_dir("MODEL.ST", Mode::ReadOnly)?;

    let mut sector = [0; 512];
    let mut model = Model::open(Seekable::new(file), &mut sector)?;
    let mut queries = [Query::required("fc1.weight"), Query::required("fc2.weight")];
    model.find_all(&mut queries, &mut sector)?;

    for tensor in &queries {
        let (mut chunks, mut sum) = (0, 0.0);
        // Every chunk but the first begins at a sector boundary.
        let mut reader = model.reader(tensor)?.aligned_to(512)?;
        while let Some(chunk) = reader.next_chunk(&mut sector)? {
            chunks += 1;
            sum += model::floats(chunk).sum::<f32>();
        }
        let info = tensor.info().ok_or("the tensor was not found")?;
        let (name, shape, dtype, bytes) = (tensor.name(), info.shape(), info.dtype(), info.byte_len());
        println!("{name} {shape:?} {dtype}: {bytes} bytes in {chunks} chunks, sum {sum}");
    }
    Ok(())
}
