//! Writes a file of this many megabytes with `write_file`; or, with a third argument, without it. For
//! `cargo xtask measure command`.

use embedded_safetensors::Dtype;
use embedded_safetensors::write::{FileSpec, TensorSpec};
use safetensors_files::write_file;
use std::fs::File;
use std::io::{self, Write};

const CHUNK: usize = 1 << 20;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, megabytes, rest @ ..] = &words[..] else { return Err(io::ErrorKind::InvalidInput.into()) };
    let count: u64 = megabytes.parse().map_err(io::Error::other)?;
    let chunk = vec![1; CHUNK];
    if !rest.is_empty() {
        let mut file = File::create(path)?;
        (0..count).try_for_each(|_| file.write_all(&chunk))?;
        return file.sync_all();
    }
    let dims = [count * CHUNK as u64];
    let tensors = [TensorSpec::new("t", Dtype::U8, &dims)];
    Ok(write_file(path, FileSpec::new(&tensors), |file| {
        let mut tensor = file.tensor("t")?;
        (0..count).try_for_each(|_| tensor.write_bytes(&chunk))
    })?)
}
