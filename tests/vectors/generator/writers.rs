//! What a writer must produce, or must not write.
//!
//! A file that must be written is judged by what is read back: names, dtypes, shapes, bytes and metadata. The
//! bytes that the reference writes are listed for comparison; other orders and other padding are as good.

mod cases;

use safetensors_0_8::tensor::{Dtype, TensorView, serialize};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use support::reference::LATEST;

use crate::hex;
use crate::manifest::{Object, of_cases};

/// What a writer is asked to write.
pub struct Case {
    id: &'static str,
    /// What the writer should do.
    must: Must,
    reason: &'static str,
    flags: &'static [&'static str],
    tensors: &'static [Tensor],
    metadata: Option<&'static [(&'static str, &'static str)]>,
}

/// What a writer should do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Must {
    /// Write a file that is valid and has these tensors and this metadata.
    Write,
    /// Write nothing, and report an error.
    Refuse,
}

/// A tensor to write: name, dtype, shape, data in hexadecimal.
type Tensor = (&'static str, &'static str, &'static [u64], &'static str);

/// The groups of cases.
const FLAGS: [(&str, &str); 6] = [
    ("dtypes", "Every dtype has its width, and elements of 4 and 6 bits fill bytes."),
    ("layout", "Tensors of any lengths, and of none, lie end to end."),
    ("metadata", "Pairs of strings, and what is no such pair."),
    ("names", "Names that need escapes, and names that cannot be."),
    ("nothing", "Files without tensors."),
    ("sizes", "The data fits dtype and shape."),
];

/// Returns the manifest of all cases.
pub fn document() -> Result<String, String> {
    let lines: Vec<String> = cases::CASES.iter().map(line).collect::<Result<_, _>>()?;
    Ok(of_cases(&format!("\"reference\":\"{}\",\n", LATEST.version), &FLAGS, &lines))
}

fn line(case: &Case) -> Result<String, String> {
    let written = written(case);
    let sound = written.as_ref().is_some_and(|file| reads_back(case, file));
    let must = match case.must {
        Must::Write => "write",
        Must::Refuse if sound => {
            return Err(format!("{}: the reference writes it, and reads it back", case.id));
        }
        Must::Refuse => "refuse",
    };
    Ok(Object::default()
        .with("id", json!(case.id))
        .with("must", json!(must))
        .with("reason", json!(case.reason))
        .with("flags", json!(case.flags))
        .with("tensors", case.tensors.iter().map(tensor).collect())
        .with("metadata", metadata(case))
        .maybe("reference", written.filter(|_| sound).map(|file| json!(hex(&file))))
        .line())
}

fn tensor((name, dtype, shape, data): &Tensor) -> Value {
    json!({ "name": name, "dtype": dtype, "shape": shape, "data": data })
}

/// Returns the pairs as a list, in which a key can be twice.
fn metadata(case: &Case) -> Value {
    case.metadata.map_or(Value::Null, |pairs| pairs.iter().map(|(key, value)| json!([key, value])).collect())
}

/// Returns what the reference writes, if it writes at all. It panics when two tensors have one name.
fn written(case: &Case) -> Option<Vec<u8>> {
    if repeats_a_name(case) {
        return None;
    }
    let pairs = case.metadata.map(|pairs| {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect::<HashMap<_, _>>()
    });
    let parts: Vec<_> = case.tensors.iter().map(parts).collect::<Option<_>>()?;
    let views: Vec<_> = parts.iter().map(view).collect::<Option<_>>()?;
    serialize(views, pairs).ok()
}

/// Whether two tensors have one name.
fn repeats_a_name(case: &Case) -> bool {
    let mut seen = BTreeSet::new();
    !case.tensors.iter().all(|(name, ..)| seen.insert(name))
}

/// A tensor as the reference takes it.
type Parts = (&'static str, Dtype, Vec<usize>, Vec<u8>);

fn view((name, dtype, shape, data): &Parts) -> Option<(&'static str, TensorView<'_>)> {
    Some((name, TensorView::new(*dtype, shape.clone(), data).ok()?))
}

fn parts((name, dtype, shape, data): &Tensor) -> Option<Parts> {
    let dtype = serde_json::from_value(json!(dtype)).ok()?;
    let shape = shape.iter().map(|&dim| usize::try_from(dim).ok()).collect::<Option<_>>()?;
    Some((name, dtype, shape, bytes(data)))
}

fn bytes(digits: &str) -> Vec<u8> {
    vectors::from_hex(digits).expect("hexadecimal")
}

/// Whether the reference reads the case from the file.
fn reads_back(case: &Case, file: &[u8]) -> bool {
    let Ok(table) = LATEST.read(file) else { return false };
    let pairs = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    table.tensors.len() == case.tensors.len()
        && table.metadata == case.metadata.map(pairs)
        && table.metadata.map_or(0, |pairs| pairs.len()) == case.metadata.map_or(0, <[_]>::len)
        && case.tensors.iter().all(|(name, dtype, shape, _)| {
            table
                .tensors
                .iter()
                .any(|read| read.name == *name && read.dtype == *dtype && read.shape == *shape)
        })
}
