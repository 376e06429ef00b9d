//! Compares a log with the manifest.

use crate::files::of_frameworks;
use crate::log::{self, Judged, Value, Verdict};
use std::collections::BTreeSet;
use vectors::{Ours, Vector};

/// The most dimensions of a tensor in C.
const MAX_RANK: usize = 8;
/// How many tensors are read.
const READ: usize = 8;
/// The least memory for a tensor that is received.
const TEXT: u64 = 512;

/// Compares a log with the vectors up to this length and the files of other frameworks, all of which must be
/// in it.
pub fn compare(path: &str, longest: usize) -> Result<String, String> {
    let text = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    let judged = log::parse(&String::from_utf8_lossy(&text))?;
    let (manifest, files) = (vectors::load(), of_frameworks()?);
    let chosen = manifest.vectors.iter().filter(|vector| vector.length <= longest);
    let chosen: Vec<&Vector> = chosen.chain(&files).collect();
    let ids: Vec<&str> = judged.iter().map(|judged| judged.id.as_str()).collect();
    if ids != chosen.iter().map(|vector| vector.id.as_str()).collect::<Vec<_>>() {
        return Err(format!("the log has {} vectors, {} are due, in this order", ids.len(), chosen.len()));
    }
    let failures: Vec<String> = chosen.iter().zip(&judged).filter_map(failure).collect();
    if !failures.is_empty() {
        return Err(format!("{} vectors differ:\n{}", failures.len(), failures.join("\n")));
    }
    let pushed = judged.iter().filter(|judged| !needs_slots(judged)).count();
    let tensors: usize = judged.iter().map(|judged| judged.tensors.len()).sum();
    Ok(format!(
        "{} of {} vectors as the manifest says, {pushed} of them received in pieces, {tensors} tensors; \
         {} left out",
        judged.len(),
        judged.len(),
        manifest.vectors.len() + files.len() - chosen.len()
    ))
}

fn failure((vector, judged): (&&Vector, &Judged)) -> Option<String> {
    let file = vector.bytes();
    let checks = [verdict(vector, judged), received(vector, judged), contents(vector, judged, &file)];
    let found = checks.into_iter().find_map(Result::err)?;
    Some(format!("{}: {found}\n  {judged:?}", vector.id))
}

/// Whether only slots, which a receiver has not, can tell the verdict.
fn needs_slots(judged: &Judged) -> bool {
    judged.open.as_ref().and_then(Verdict::code) == Some("limit.order")
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: &T, expected: &T) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("{what}: {got:?}, not {expected:?}")) }
}

/// Returns the verdict of the manifest.
fn expected(vector: &Vector) -> Verdict {
    match vector.ours {
        Ours::Accept => Verdict::Ok,
        Ours::Reject => Verdict::Error {
            status: 1,
            code: vector.code.clone().unwrap_or_default(),
            at: vector.at.unwrap_or_default(),
        },
    }
}

/// Whether only [`names`](Judged::names) can tell the verdict.
fn is_duplicate(vector: &Vector) -> bool {
    matches!(vector.code.as_deref(), Some("name.duplicate" | "metadata.duplicate"))
}

/// Returns what opening a file says, which does not look for duplicates.
fn opened(vector: &Vector) -> Verdict {
    if is_duplicate(vector) { Verdict::Ok } else { expected(vector) }
}

fn verdict(vector: &Vector, judged: &Judged) -> Result<(), String> {
    if !needs_slots(judged) {
        expect("open", &judged.open, &Some(opened(vector)))?;
    }
    expect("slots", &judged.slots, &Some(opened(vector)))?;
    let names = (opened(vector) == Verdict::Ok).then(|| expected(vector));
    expect("names", &judged.names, &names)
}

fn received(vector: &Vector, judged: &Judged) -> Result<(), String> {
    match vector.code.as_deref() {
        _ if needs_slots(judged) => {
            let code = judged.pushed.as_ref().and_then(Verdict::code);
            expect("pushed", &code, &Some("limit.order"))
        }
        // A stream does not know its length: the bytes after the header may be wrong first.
        Some("container.header-beyond-file") => {
            expect("pushed", &judged.pushed.as_ref().is_some_and(|pushed| *pushed != Verdict::Ok), &true)
        }
        _ => expect("pushed", &judged.pushed, &Some(opened(vector))),
    }
}

/// Checks tensors, bytes and metadata of a file that is accepted.
fn contents(vector: &Vector, judged: &Judged, file: &[u8]) -> Result<(), String> {
    if vector.ours == Ours::Reject {
        return Ok(());
    }
    let rows = vector.tensors.as_deref().unwrap_or_default();
    if rows.iter().any(|row| row.shape.len() > MAX_RANK) {
        return expect("listed", &judged.listed.as_ref().and_then(Verdict::code), &Some("limit.rank"));
    }
    if vector.tensors.is_some() {
        listed(vector, judged, file)?;
    }
    if judged.listed.as_ref().is_some_and(|listed| listed.code().is_some_and(is_limit)) {
        return expect("a recipe", &vector.recipe.is_some(), &true);
    }
    expect("listed", &judged.listed, &Some(Verdict::Ok))?;
    if let Some(count) = vector.tensor_count {
        expect("the number of tensors", &judged.tensors.len(), &count)?;
    }
    let is_ordered = judged.tensors.is_sorted_by_key(|tensor| (tensor.offset, tensor.offset + tensor.bytes));
    expect("whether slots are needed", &needs_slots(judged), &!is_ordered)?;
    let names: BTreeSet<&[u8]> = judged.tensors.iter().map(|tensor| &tensor.name[..]).collect();
    expect("the number of names", &names.len(), &judged.tensors.len())?;
    bytes(judged, file)
}

fn is_limit(code: &str) -> bool {
    code.starts_with("limit.")
}

/// Checks the tensors and values that the manifest lists.
fn listed(vector: &Vector, judged: &Judged, file: &[u8]) -> Result<(), String> {
    let data_start = 8 + u64::from_le_bytes(file[..8].try_into().map_err(|_| "too short")?);
    let mut rows: Vec<_> = vector.tensors.iter().flatten().collect();
    let mut found: Vec<_> = judged.tensors.iter().collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    found.sort_by(|a, b| a.name.cmp(&b.name));
    expect("the number of tensors", &found.len(), &rows.len())?;
    for (row, tensor) in rows.iter().zip(found) {
        let [begin, end] = row.data_offsets;
        expect("a name", &String::from_utf8_lossy(&tensor.name).as_ref(), &row.name.as_str())?;
        expect("a dtype", &tensor.dtype, &row.dtype)?;
        expect("a shape", &tensor.shape, &row.shape)?;
        expect("offset and bytes", &(tensor.offset, tensor.bytes), &(data_start + begin, end - begin))?;
        expect("elements", &tensor.elements, &row.shape.iter().product())?;
    }
    values(vector, judged)
}

/// A string of C ends at its first 0, so a value with one is an error, and no key has one.
fn values(vector: &Vector, judged: &Judged) -> Result<(), String> {
    let Some(metadata) = &vector.metadata else { return Ok(()) };
    let pairs = metadata.as_object().into_iter().flatten();
    let value = |value: &serde_json::Value| match value.as_str() {
        Some(text) if text.contains('\0') => Value::HasNul,
        Some(text) => Value::Text(text.as_bytes().to_vec()),
        None => Value::Missing,
    };
    let known = pairs.filter(|(key, _)| !key.contains('\0'));
    let mut expected: Vec<_> = known.map(|(key, text)| (key.as_bytes().to_vec(), value(text))).collect();
    expected.push((b"?missing".to_vec(), Value::Missing));
    expect("the metadata", &judged.values, &expected)
}

/// Checks the sums of what was read, found and received.
fn bytes(judged: &Judged, file: &[u8]) -> Result<(), String> {
    expect("how many were read", &judged.bytes.len(), &judged.tensors.len().min(READ))?;
    for (tensor, sum) in judged.tensors.iter().zip(&judged.bytes) {
        let range = usize::try_from(tensor.offset)
            .and_then(|begin| Ok(begin..begin.saturating_add(usize::try_from(tensor.bytes)?)));
        let bytes = range.ok().and_then(|range| file.get(range)).ok_or("a tensor outside the file")?;
        expect("the bytes of a tensor", sum, &fnv(bytes))?;
    }
    let has_first =
        judged.tensors.first().is_some_and(|first| first.name.len() < 64 && !first.name.contains(&0));
    expect("find", &judged.find, &has_first.then_some(Verdict::Ok))?;
    // A longer one is received only if there is memory for it.
    let is_received = has_first && judged.tensors[0].bytes <= TEXT && judged.pushed == Some(Verdict::Ok);
    match judged.bytes.first() {
        Some(sum) if is_received || judged.target.is_some() => {
            expect("the target", &judged.target, &Some(*sum))
        }
        _ => expect("the target", &judged.target, &None),
    }
}

/// The 32-bit FNV-1a.
fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(2_166_136_261, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(16_777_619))
}
