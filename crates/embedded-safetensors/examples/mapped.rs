//! A memory-mapped model: borrows elements in place, prefetches rows before they are needed, and detects
//! that the file has changed.
//!
//! ```text
//! 2 tensors, 2056 bytes of data
//! head.bias: [0.5, -0.5]
//! rows 100 to 101 of embed.weight: [100.0, 100.5, 101.0, 101.5]
//! changed: model.safetensors: it has changed since it was opened
//! ```

use embedded_safetensors::{
    Dtype,
    file::{Advice, MapOptions},
    slice::AxisRange,
    write::{FileSpec, TensorSpec, Writer},
};
use std::error::Error;
use std::fs::{self, File};
use std::{env, io, process};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::temp_dir().join(format!("embedded-safetensors-mapped-{}", process::id()));
    fs::create_dir(&directory)?;
    env::set_current_dir(&directory)?;
    let outcome = write().map_err(Into::into).and_then(|()| all());
    fs::remove_dir_all(&directory)?;
    outcome
}

fn all() -> Result<(), Box<dyn Error>> {
    // SAFETY: no other process uses this file. The last lines change it, but do not access its bytes
    // afterwards.
    let model = unsafe { MapOptions::new().with_advice(Advice::Random).open("model.safetensors")? };
    println!("{} tensors, {} bytes of data", model.index().len(), model.index().summary().data_len);
    println!("head.bias: {:?}", model.find("head.bias")?.ok_or("no bias")?.as_f32()?);

    // The system reads these rows in the background; all others stay on disk.
    let embedding = model.find("embed.weight")?.ok_or("no embedding")?;
    let rows = [(100..102).into(), AxisRange::ALL];
    for part in embedding.slice_runs(&rows)? {
        model.prefetch(part)?;
    }
    let values: Vec<f32> = embedding.reader().slice(&rows)?.values().read_to_vec()?;
    println!("rows 100 to 101 of embed.weight: {values:?}");

    File::options().write(true).open("model.safetensors")?.set_len(1000)?;
    if let Err(error) = model.check_unchanged() {
        println!("changed: {error}"); // accessing the tensors would now crash the program
    }
    Ok(())
}

fn write() -> io::Result<()> {
    let tensors = [
        TensorSpec::new("embed.weight", Dtype::F32, &[256, 2]),
        TensorSpec::new("head.bias", Dtype::F32, &[2]),
    ];
    let (mut order, mut buffer) = ([0; 2], [0; 4096]);
    let plan = FileSpec::new(&tensors).plan_sorted(&mut order)?;
    let mut file = Writer::record(File::create("model.safetensors")?, plan, &mut buffer)?;
    for number in 0..512 {
        file.write(&[number as f32 / 2.0])?;
    }
    file.write(&[0.5_f32, -0.5])?;
    file.finish().map(drop)?;
    Ok(())
}
