//! One layer of a network whose weights stay on an SD card. They are F16, and are read as `f32`, row by
//! row.
//!
//! ```text
//! weight [3, 64] F16: 64 values a row, through 256 bytes
//! outputs [24.5, 24.25, 24.75]
//! ```

mod support {
    pub mod card;
}

use embedded_safetensors::{Model, ReadAt, ReadError, io::Seekable, query::Query};
use embedded_sdmmc::{Mode, VolumeIdx};
use std::error::Error;
use support::card;

const INPUTS: usize = 64;
const OUTPUTS: usize = 3;

/// Multiplies the matrix by the vector and adds the bias.
fn layer<S: ReadAt>(
    model: &mut Model<S>,
    [weight, bias]: &[Query<'_>; 2],
    inputs: &[f32; INPUTS],
) -> Result<[f32; OUTPUTS], ReadError<S::Error>> {
    let mut outputs = [0.0; OUTPUTS];
    model.reader(bias)?.values().read_exact(&mut outputs)?;
    let mut row = [0.0; INPUTS]; // the only memory for weights
    let mut rows = model.reader(weight)?.rows(0..OUTPUTS as u64)?;
    for output in &mut outputs {
        rows.read_exact(&mut row)?;
        *output += row.iter().zip(inputs).map(|(weight, input)| weight * input).sum::<f32>();
    }
    Ok(outputs)
}

fn main() -> Result<(), Box<dyn Error>> {
    let card = card::with_file("MODEL.ST", &file())?;
    let volume = card.open_volume(VolumeIdx(0))?;
    let root = volume.open_root_dir()?;
    let file = root.open_file_in_dir("MODEL.ST", Mode::ReadOnly)?;

    let mut sector = [0; 512];
    let mut model = Model::open(Seekable::new(file), &mut sector)?;
    let mut queries = [Query::required("weight"), Query::required("bias")];
    model.find_all(&mut queries, &mut sector)?;
    let [weight, _] = &queries;
    let info = weight.info().ok_or("the weight was not found")?;
    let row = size_of::<[f32; INPUTS]>();
    println!("weight {:?} {}: {INPUTS} values a row, through {row} bytes", info.shape(), info.dtype());
    println!("outputs {:?}", layer(&mut model, &queries, &[1.0; INPUTS])?);
    Ok(())
}

/// Creates the model file. The weights repeat 0, 0.25, 0.5, 0.75, the bias is 0.5, 0.25, 0.75, and both are
/// encoded as F16.
fn file() -> Vec<u8> {
    let header = concat!(
        r#"{"weight":{"dtype":"F16","shape":[3,64],"data_offsets":[0,384]},"#,
        r#""bias":{"dtype":"F16","shape":[3],"data_offsets":[384,390]}}"#,
    );
    let weights = [0x0000, 0x3400, 0x3800, 0x3A00].into_iter().cycle().take(OUTPUTS * INPUTS);
    let elements = weights.chain([0x3800, 0x3400, 0x3A00]).flat_map(u16::to_le_bytes);
    let length = (header.len() as u64).to_le_bytes();
    length.into_iter().chain(header.bytes()).chain(elements).collect()
}
