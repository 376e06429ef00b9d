//! Converts a file of PyTorch to safetensors: `torch IN OUT`. A test compares the result with PyTorch's own.
//!
//! Prints each value that is left out. The exit code is 1 for a file that is rejected, and 2 for other
//! errors.

use safetensors_convert::TensorSource;
use safetensors_convert::torch::{Checkpoint, Ties};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [file] => File::open(file).and_then(|file| convert(file, &mut io::sink())),
        [file, out] => File::open(file).and_then(|file| convert(file, &mut File::create(out)?)),
        _ => Err(io::Error::other("usage: torch IN [OUT]")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            let is_rejected = matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::QuotaExceeded);
            ExitCode::from(if is_rejected { 1 } else { 2 })
        }
    }
}

fn convert(file: File, out: &mut dyn Write) -> io::Result<()> {
    let source = Checkpoint::open_with(file, Ties::Note)?;
    for value in source.left_out() {
        println!("left out: {} {}", value.path, value.kind);
    }
    let mut header = String::from("{\"__metadata__\":{");
    for (number, (key, value)) in source.metadata().iter().enumerate() {
        header += if number > 0 { "," } else { "" };
        header += &format!("{}:{}", json(key), json(value));
    }
    header += "}";
    let mut at = 0;
    for tensor in source.tensors() {
        let elements: u64 = tensor.dims.iter().product();
        let end = at + elements * u64::from(tensor.dtype.bits()) / 8;
        let (name, dtype, dims) = (json(&tensor.name), tensor.dtype.name(), &tensor.dims);
        header +=
            &format!(",{name}:{{\"dtype\":\"{dtype}\",\"shape\":{dims:?},\"data_offsets\":[{at},{end}]}}");
        at = end;
    }
    header += "}";
    let mut out = BufWriter::with_capacity(0, out);
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    let mut buffer = vec![0; 1 << 20];
    for index in 0..source.tensors().len() {
        let mut elements = source.read(index)?;
        loop {
            let len = elements.read(&mut buffer)?;
            if len == 0 {
                break;
            }
            out.write_all(&buffer[..len])?;
        }
    }
    out.flush()
}

fn json(text: &str) -> String {
    let escaped = text.chars().map(|character| match character {
        '"' | '\\' | '\0'..='\x1f' => format!("\\u{:04x}", u32::from(character)),
        other => other.into(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}
