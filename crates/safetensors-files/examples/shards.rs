//! A model in two files, written so that no power cut leaves half of it, opened as one, and refused when
//! its index is wrong.
//!
//! ```text
//! model.safetensors.index.json
//! model-00001-of-00002.safetensors: embed.weight
//! model-00002-of-00002.safetensors: head.bias, head.weight
//! head.bias: [0.5, -0.5]
//! refused: ./model.safetensors.index.json: total_size is 9, but the tensors have 2072 bytes
//! ```

use embedded_safetensors::{
    Dtype,
    write::{FileSpec, TensorSpec},
};
use safetensors_files::{
    shards::{ShardIndex, ShardLimits, ShardPlan, ShardedModel},
    write_file,
};
use std::error::Error;
use std::{env, fs, process};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::temp_dir().join(format!("embedded-safetensors-shards-{}", process::id()));
    fs::create_dir(&folder)?;
    env::set_current_dir(&folder)?;
    let outcome = all();
    fs::remove_dir_all(&folder)?;
    outcome
}

fn all() -> Result<(), Box<dyn Error>> {
    println!("{}", write()?);

    let model = ShardedModel::open(".")?; // or the index
    for (name, shard) in model.index().shards().zip(model.shards()) {
        let tensors: Vec<_> = shard.tensors().map(|tensor| tensor.name()).collect();
        println!("{name}: {}", tensors.join(", "));
    }
    let bias: Vec<f32> = model.find("head.bias")?.ok_or("no bias")?.reader().values().read_to_vec()?;
    println!("head.bias: {bias:?}");

    let mut index = ShardIndex::open(model.path(), &ShardLimits::USUAL)?;
    index.set_metadata("total_size", 9)?;
    index.save(model.path())?;
    println!("refused: {}", ShardedModel::open(".").err().map_or(String::new(), |error| error.to_string()));
    Ok(())
}

/// At most 2,050 bytes of tensors in one file; the name of what is to be opened.
fn write() -> Result<String, Box<dyn Error>> {
    let tensors = [
        TensorSpec::new("embed.weight", Dtype::F32, &[256, 2]),
        TensorSpec::new("head.weight", Dtype::F32, &[2, 2]),
        TensorSpec::new("head.bias", Dtype::F32, &[2]),
    ];
    let lens = tensors.iter().map(|tensor| (tensor.name(), 4 * tensor.dims().iter().product::<u64>()));
    let plan = ShardPlan::new("model", lens, 2050);
    let index = plan.write(".", |shard, path| {
        let is_here = |tensor: &&TensorSpec<'_>| shard.tensors().iter().any(|name| name == tensor.name());
        let here: Vec<_> = tensors.iter().filter(is_here).copied().collect();
        write_file(path, FileSpec::new(&here), |file| {
            here.iter().try_for_each(|tensor| {
                let values = (1..=tensor.dims().iter().product::<u64>())
                    .map(|n| if n % 2 == 1 { 0.5_f32 } else { -0.5 });
                file.write_chunks(tensor.name(), values.map(f32::to_le_bytes))
            })
        })
    })?;
    Ok(index.file_name().ok_or("it has a name")?.to_string_lossy().into_owned())
}
