//! Converts between GGUF and safetensors, for the tests with gguf-py.
//!
//! `gguf read f32|f16|bf16|raw|plain IN.gguf OUT.safetensors` (`plain` leaves the metadata out), `gguf write
//! IN.safetensors OUT.gguf`.

use embedded_safetensors::write::{FileSpec, TensorSpec};
use embedded_safetensors::{Dtype, FileModel};
use safetensors_convert::gguf::{Gguf, Options, Plan, Quantised};
use safetensors_convert::zip::Part;
use safetensors_convert::{Tensor, TensorSource};
use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["read", form, from, to] => read(form, from, to),
        ["write", from, to] => write(from, to),
        _ => Err("usage: gguf read FORM IN OUT, gguf write IN OUT".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn open(form: &str, path: &str) -> io::Result<Gguf> {
    let quantised = match form {
        "f16" => Quantised::F16,
        "bf16" => Quantised::BF16,
        "raw" => Quantised::Raw,
        _ => Quantised::F32,
    };
    Gguf::open(File::open(path)?, &Options { quantised, without_metadata: form == "plain" })
}

fn read(form: &str, from: &str, to: &str) -> Result<(), Box<dyn Error>> {
    let source = open(form, from)?;
    let tensors = source.tensors().iter();
    let tensors: Vec<_> = tensors.map(|one| TensorSpec::new(&one.name, one.dtype, &one.dims)).collect();
    let pairs: Vec<_> = source.metadata().iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
    let mut scratch = vec![0; tensors.len() + pairs.len()];
    let plan = FileSpec::new(&tensors).with_metadata(&pairs).plan_as_given(&mut scratch)?;
    let (mut out, mut encoder, mut buffer) =
        (BufWriter::new(File::create(to)?), plan.encoder(), vec![0; 1 << 16]);
    while let bytes @ [_, ..] = encoder.encode(&mut buffer) {
        out.write_all(bytes)?;
    }
    for index in 0..tensors.len() {
        io::copy(&mut source.read(index)?, &mut out)?;
    }
    Ok(out.flush()?)
}

/// A model, in the order of its data.
struct Source {
    model: FileModel,
    tensors: Vec<Tensor>,
    metadata: Vec<(String, String)>,
}

impl TensorSource for Source {
    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    fn read(&self, index: usize) -> io::Result<Box<dyn Read + '_>> {
        let tensor = self.model.tensors().nth(index).ok_or_else(|| io::Error::other("no tensor"))?;
        let begin = self.model.index().summary().data_start + tensor.begin();
        Ok(Box::new(Part::new(self.model.file(), begin, tensor.end() - tensor.begin())))
    }
}

fn write(from: &str, to: &str) -> Result<(), Box<dyn Error>> {
    let model = FileModel::open(from)?;
    let tensor =
        |name: &str, dtype: Dtype, dims: &[u64]| Tensor { name: name.to_owned(), dtype, dims: dims.to_vec() };
    let tensors = model.index().tensors().map(|one| tensor(one.name(), one.dtype(), one.dims())).collect();
    let metadata = model.metadata().into_iter().flatten();
    let metadata = metadata.map(|(key, text)| (key.clone(), text.clone())).collect();
    let source = Source { model, tensors, metadata };
    let plan = Plan::new(source.tensors(), source.metadata())?;
    for key in plan.left_out() {
        println!("left out: {key}");
    }
    let len = plan.file_len();
    let out = plan.write(&source, BufWriter::new(File::create(to)?))?;
    let written = out.into_inner()?.metadata()?.len();
    if written == len { Ok(()) } else { Err(format!("{written} bytes written, {len} planned").into()) }
}
