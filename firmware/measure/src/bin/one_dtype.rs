//! Reads the same values from NOR flash, as `f32`: the model has one dtype, and other conversions are not
//! linked.
#![no_std]
#![no_main]

use embedded_safetensors::io::{NorError, NorFile};
use embedded_safetensors::{Model, ReadError, query::Query, values::dtypes::F16};
use embedded_storage::nor_flash::NorFlashErrorKind;
use measure::{Chip, Job, add};

static FILE: &[u8] = include_bytes!("../../../app/models/digits-f16.safetensors");

const NAMES: [&str; 8] =
    ["fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight", "fc3.bias", "fc3.weight", "fc4.bias", "fc4.weight"];

measure::program!(|job| job.done = read(job).ok());

fn read(job: &mut Job) -> Result<u32, ReadError<NorError<NorFlashErrorKind>>> {
    let mut tensors = NAMES.map(Query::required);
    let mut model = Model::open_with(NorFile::new(Chip(FILE)), &mut tensors, job.window)?;
    let (mut sum, mut few) = (0, [0f32; 64]);
    for tensor in &tensors {
        let mut values = model.reader(tensor)?.values().of(F16)?;
        while let part @ [_, ..] = values.read(&mut few)? {
            sum = add(sum, part.iter().copied());
        }
    }
    Ok(sum)
}
