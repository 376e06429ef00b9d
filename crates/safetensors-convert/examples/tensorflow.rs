//! Lists the tensors of a TensorFlow checkpoint, and writes their bytes one after the other.
//!
//! ```text
//! cargo run --example tensorflow -- CHECKPOINT BYTES
//! ```

use safetensors_convert::TensorSource;
use safetensors_convert::tensorflow::{Checkpoint, Names};
use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let [checkpoint, bytes] = &words[..] else {
        eprintln!("usage: tensorflow CHECKPOINT BYTES");
        return ExitCode::from(2);
    };
    match list(checkpoint.as_ref(), bytes.as_ref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", Path::new(checkpoint).display());
            ExitCode::FAILURE
        }
    }
}

fn list(checkpoint: &Path, bytes: &Path) -> Result<(), Box<dyn Error>> {
    let checkpoint = Checkpoint::open(checkpoint, Names::AsListed, |path| File::open(path))?;
    let mut bytes = File::create(bytes)?;
    let mut lines = io::stdout().lock();
    for (index, tensor) in checkpoint.tensors().iter().enumerate() {
        let len = io::copy(&mut checkpoint.read(index)?, &mut bytes)?;
        writeln!(lines, "{}\t{:?}\t{len}\t{}", tensor.dtype.name(), tensor.dims, tensor.name)?;
    }
    for name in checkpoint.strings() {
        writeln!(lines, "left out\t[]\t0\t{name}")?;
    }
    Ok(())
}
