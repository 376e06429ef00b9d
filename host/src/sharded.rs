//! The output of `inspect` for a sharded model.

use crate::columns::{Side, Table};
use crate::complaint::{Complaint, Outcome};
use crate::dump::by_dtype;
use crate::facts::{Facts, alignment};
use crate::json::{self, Object};
use crate::model::{Model, Tensor};
use crate::table::print_parameters;
use crate::text::{quoted, quoted_short, shown_text};
use crate::verdict::Verdict;
use embedded_safetensors::validate::Summary;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Shows the files, and the tensors with the number of their file.
///
/// # Errors
/// The index or a file is invalid, or they disagree; those of reading and of standard output.
pub fn inspect(path: &Path, json: bool) -> Outcome {
    let model = Model::open(path)?;
    let mut out = BufWriter::with_capacity(1 << 18, io::stdout().lock());
    let facts = facts(&model);
    if json { print_json(&model, &facts, &mut out) } else { print(&model, &facts, &mut out) }?;
    out.flush()?;
    model.check_unchanged()?;
    Ok(crate::exit::Exit::Good)
}

/// The facts of all files together, where they make sense.
fn facts(model: &Model) -> Facts {
    let mut facts = Facts::new(&Summary { tensors: 0, data_start: 0, data_len: 0 }, 2);
    for tensor in model.tensors() {
        facts.count(tensor.dtype(), tensor.elements(), tensor.byte_len());
    }
    facts
}

fn place(tensor: &Tensor<'_>) -> u64 {
    alignment(tensor.model().index().summary().data_start, tensor.begin())
}

/// The number of the file that contains the tensor.
fn shard(model: &Model, tensor: &Tensor<'_>) -> u64 {
    model.part_of(tensor) as u64 + 1
}

fn print(model: &Model, facts: &Facts, out: &mut impl Write) -> Result<(), Complaint> {
    let (shards, tensors) = (model.parts().len() as u64, model.tensors().count() as u64);
    Verdict::Shards { shards, tensors, bytes: model.file_lens() }.write_grouped(model.path(), out)?;
    let mut table = Table::new([
        ("shard", Side::Right),
        ("file", Side::Left),
        ("tensors", Side::Right),
        ("bytes", Side::Right),
    ]);
    for (number, part) in model.parts().iter().enumerate() {
        let (name, len) = (part.path().file_name().unwrap_or_default(), part.index().summary());
        let name = shown_text(&name.to_string_lossy());
        let bytes = len.file_len().to_string();
        table.push([(number + 1).to_string(), name, part.index().len().to_string(), bytes]);
    }
    table.print(out)?;
    writeln!(out)?;
    tensors_of(model).print(out)?;
    writeln!(out)?;
    print_parameters(facts, out)?;
    let keys: Vec<String> = model.metadata().into_iter().flatten().map(|(key, _)| quoted(key)).collect();
    if !keys.is_empty() {
        writeln!(out, "  metadata: {}", keys.join(", "))?;
    }
    Ok(())
}

fn tensors_of(model: &Model) -> Table {
    let mut table = Table::new([
        ("tensor", Side::Left),
        ("dtype", Side::Left),
        ("shape", Side::Left),
        ("begin", Side::Right),
        ("end", Side::Right),
        ("bytes", Side::Right),
        ("align", Side::Right),
        ("shard", Side::Right),
    ]);
    for tensor in model.tensors() {
        let (name, dtype, shape) = (quoted_short(tensor.name()), tensor.dtype().to_string(), tensor.dims());
        let numbers =
            [tensor.begin(), tensor.end(), tensor.byte_len(), place(&tensor), shard(model, &tensor)];
        table.push(
            [name, dtype, format!("{shape:?}")].into_iter().chain(numbers.map(|number| number.to_string())),
        );
    }
    table
}

fn print_json(model: &Model, facts: &Facts, out: &mut impl Write) -> Result<(), Complaint> {
    let shards = model.parts().iter().map(|part| {
        let (name, len) = (part.path().file_name().unwrap_or_default(), part.index().summary());
        let object = Object::new().text("file", &name.to_string_lossy()).number("tensors", len.tensors);
        object.number("bytes", len.file_len()).number("data_start", len.data_start).end()
    });
    let object = Object::new().text("file", &model.path().to_string_lossy()).flag("ok", true);
    let object = object.number("bytes", model.file_lens()).raw("shards", &json::array(shards));
    let tensors = model.tensors().map(|tensor| {
        let shape = json::array(tensor.dims().iter().map(u64::to_string));
        let range = json::array([tensor.begin().to_string(), tensor.end().to_string()]);
        let member = Object::new().text("dtype", tensor.dtype().name()).raw("shape", &shape);
        let member = member.raw("data_offsets", &range).number("alignment", place(&tensor));
        format!("{}:{}", json::quoted(tensor.name()), member.number("shard", shard(model, &tensor)).end())
    });
    let tensors: Vec<String> = tensors.collect();
    let pairs = |pairs: &BTreeMap<String, String>| {
        pairs.iter().fold(Object::new(), |object, (key, value)| object.text(key, value)).end()
    };
    let metadata = model.metadata().map_or("null".into(), pairs);
    let object = object.raw("tensors", &format!("{{{}}}", tensors.join(","))).raw("metadata", &metadata);
    let object = object.number("parameters", facts.parameters()).raw("dtypes", &by_dtype(facts));
    writeln!(out, "{}", object.end())?;
    Ok(())
}
