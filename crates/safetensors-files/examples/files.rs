//! A model written, edited in place, taken apart, and joined with another: each file is there whole, or
//! not at all.
//!
//! ```text
//! written: head.weight [3, 64], model.bias [64], model.weight [64, 32]
//! renamed: encoder.bias [64], encoder.weight [64, 32], head.weight [3, 64] (InPlace)
//! taken apart: head.weight [3, 64] (Copied)
//! joined: encoder.bias [64], encoder.weight [64, 32], new.head.weight [3, 64] (Copied)
//! refused: head.safetensors: tensor "head.weight": 768 bytes needed, 8 given
//! ```

use embedded_safetensors::{
    Dtype,
    write::{FileSpec, Placement, TensorSpec},
};
use safetensors_files::EditError;
use safetensors_files::{ModelEditor, write_file};
use std::error::Error;
use std::{env, fs, io, process};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::temp_dir().join(format!("embedded-safetensors-example-{}", process::id()));
    fs::create_dir(&folder)?;
    env::set_current_dir(&folder)?;
    let outcome = all();
    fs::remove_dir_all(&folder)?;
    Ok(outcome?)
}

fn all() -> Result<(), EditError> {
    write()?;
    show("written", &ModelEditor::open("model.safetensors")?, "");

    // Where the new header has room in the place of the old one, nothing else is written, however large
    // the model is.
    let mut model = ModelEditor::open("model.safetensors")?;
    model.rename_all(|name| name.replace("model.", "encoder."))?;
    model.remove_metadata("note");
    let saved = model.save("model.safetensors")?;
    show("renamed", &model, format!(" ({saved:?})"));

    let mut head = ModelEditor::open("model.safetensors")?;
    head.select(["head.weight"])?;
    let saved = head.save("head.safetensors")?;
    show("taken apart", &head, format!(" ({saved:?})"));

    // Two tensors of one name would be an error that names both files.
    head.rename("head.weight", "new.head.weight")?;
    let mut model = ModelEditor::open("model.safetensors")?;
    model.remove("head.weight")?;
    model.append(head)?;
    model.set_placement(Placement::BySize(64));
    let saved = model.save("joined.safetensors")?;
    show("joined", &model, format!(" ({saved:?})"));

    let tensors = [TensorSpec::new("head.weight", Dtype::F32, &[3, 64])];
    let outcome = write_file("head.safetensors", FileSpec::new(&tensors), |file| {
        file.tensor("head.weight")?.write_values(&[0.5_f32; 2])
    });
    println!("refused: {}", outcome.err().map_or(String::new(), |error| error.to_string()));
    Ok(()) // and the old head.safetensors is as it was
}

/// In any order, and never all in memory.
fn write() -> Result<(), EditError> {
    let tensors = [
        TensorSpec::new("model.weight", Dtype::F32, &[64, 32]),
        TensorSpec::new("model.bias", Dtype::F32, &[64]),
        TensorSpec::new("head.weight", Dtype::F32, &[3, 64]),
    ];
    let spec = FileSpec::new(&tensors).with_metadata(&[("note", "before training")]);
    write_file("model.safetensors", spec, |file| {
        file.write_values("model.bias", &[0.25_f32; 64])?;
        for row in 0..64_u8 {
            file.tensor("model.weight")?.write_values(&[f32::from(row); 32])?;
        }
        io::copy(&mut &[0; 3 * 64 * 4][..], &mut file.tensor("head.weight")?)?; // any reader
        Ok(())
    })
}

fn show(what: &str, model: &ModelEditor, how: impl AsRef<str>) {
    let tensors = model.tensors().map(|tensor| format!("{} {:?}", tensor.name(), tensor.dims()));
    println!("{what}: {}{}", tensors.collect::<Vec<_>>().join(", "), how.as_ref());
}
