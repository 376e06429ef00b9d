//! Divides models among shards for `hub.py`, and opens the shards that it has written for the same models.
//!
//! Each line of input is an object: `tensors`, pairs of a name and a number of bytes; `max`, the size of a
//! shard in text; `metadata`, pairs for the index; `ours`, a directory to write to, where each byte of a
//! tensor is its number; `theirs`, a directory to open if it has an index. The answer is an object, too:
//! `max` in bytes; of the opened model `tensors`, sorted: name, shard, length and sum of its bytes.

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::path::Path;

use embedded_safetensors::{
    Dtype,
    write::{FileSpec, TensorSpec},
};
use safetensors_files::EditError;
use safetensors_files::{
    shards::{PlannedShard, ShardIndex, ShardLimits, ShardPlan, ShardedModel, parse_shard_size},
    write_file,
};
use serde::Deserialize;
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

#[derive(Deserialize)]
struct Question {
    tensors: Vec<(String, u64)>,
    max: String,
    metadata: Vec<(String, String)>,
    ours: String,
    theirs: String,
}

fn main() -> Outcome<()> {
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let question: Question = serde_json::from_str(&line?)?;
        let max = parse_shard_size(&question.max).ok_or("it is no size")?;
        write(&question, max)?;
        let answer = json!({"max": max, "tensors": opened(Path::new(&question.theirs))?});
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn write(question: &Question, max: u64) -> Outcome<()> {
    let tensors = question.tensors.iter().map(|(name, len)| (name, *len));
    let plan = ShardPlan::new("model", tensors, max);
    let path = plan.write(&question.ours, |shard, path| write_shard(question, shard, path))?;
    if plan.is_sharded() {
        let mut index = ShardIndex::open(&path, &ShardLimits::USUAL)?;
        question.metadata.iter().try_for_each(|(key, value)| index.set_metadata(key, value.as_str()))?;
        index.save(&path)?;
    }
    Ok(())
}

fn write_shard(question: &Question, shard: PlannedShard<'_>, path: &Path) -> Result<(), EditError> {
    let all = question.tensors.iter().zip(0_u8..);
    let here: Vec<_> = all.filter(|((name, _), _)| shard.tensors().contains(name)).collect();
    let specs: Vec<_> = here
        .iter()
        .map(|((name, len), _)| TensorSpec::new(name, Dtype::U8, std::slice::from_ref(len)))
        .collect();
    write_file(path, FileSpec::new(&specs).with_metadata(&[("format", "pt")]), |file| {
        here.iter()
            .try_for_each(|((name, len), number)| file.write_chunks(name, (0..*len).map(|_| [*number])))
    })
}

fn opened(directory: &Path) -> Outcome<Vec<Value>> {
    if !directory.join("model.safetensors.index.json").exists() {
        return Ok(Vec::new());
    }
    let model = ShardedModel::open(directory)?;
    let mut tensors = Vec::new();
    for tensor in model.tensors() {
        let mut bytes = vec![0; usize::try_from(tensor.byte_len())?];
        let sum: u64 = tensor.reader().read_to_end(&mut bytes)?.iter().map(|&byte| u64::from(byte)).sum();
        let shard = model.index().shard_of(tensor.name());
        tensors.push((tensor.name(), json!([tensor.name(), shard, tensor.byte_len(), sum])));
    }
    tensors.sort_by_key(|&(name, _)| name);
    Ok(tensors.into_iter().map(|(_, tensor)| tensor).collect())
}
