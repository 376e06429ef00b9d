//! The format before PyTorch 1.6: five pickles, and then the storages.
//!
//! The pickles are a magic number, the version of the format, facts about the system, the object, and the
//! keys of the storages in their order. Each storage follows with its number of elements and its elements,
//! which are little-endian on every system.

use super::Options;
use super::rebuild::Reader;
use super::store::Store;
use crate::error::{ensure, unsound};
use crate::pickle::{Argument, Indices, LONGEST_FRAME, Machine, Op, Opcode, Opcodes};
use crate::text::quoted;
use crate::zip::{Part, read_full};
use std::fs::File;
use std::io;

/// The number by which the format is recognised, and its version.
const MAGIC: Argument = Argument::Int(0x1950_a86a_20f9_469c_fc6c);
const VERSION: Argument = Argument::Int(1001);

type Source<'f> = Opcodes<Part<'f>>;

/// Reads the pickles before the object, and returns where that begins; `None` if the file does not begin as
/// this format does.
///
/// # Errors
/// The file ends before, or is of another version.
pub(super) fn object_at(file: &File, len: u64) -> io::Result<Option<u64>> {
    let mut opcodes = Opcodes::new(Part::new(file, 0, len));
    if !begins_with_magic(&mut opcodes)? {
        return Ok(None);
    }
    let is_known = next_number(&mut opcodes)? == Some(VERSION);
    ensure(is_known, || "the file has another version of the format before 1.6 than 1001")?;
    next_number(&mut opcodes)?;
    next(&mut opcodes)?;
    Ok(Some(opcodes.offset()))
}

/// Whether the first pickle is the magic number, and nothing else.
fn begins_with_magic(opcodes: &mut Source<'_>) -> io::Result<bool> {
    let mut opcodes = opcodes.filter(|op| !op.as_ref().is_ok_and(is_framing));
    match (opcodes.next().transpose(), opcodes.next().transpose()) {
        (Ok(Some(op)), Ok(Some(stop))) => Ok(op.argument == MAGIC && stop.code == Opcode::Stop),
        (Err(error), _) | (_, Err(error)) if error.kind() != io::ErrorKind::InvalidData => Err(error),
        _ => Ok(false),
    }
}

/// Whether an opcode may precede the value of a pickle.
fn is_framing(op: &Op) -> bool {
    matches!((op.code, &op.argument), (Opcode::Proto, _) | (Opcode::Frame, Argument::Int(..LONGEST_FRAME)))
}

fn next(opcodes: &mut Source<'_>) -> io::Result<()> {
    let more = opcodes.resume()?;
    ensure(more, || format!("the file ends at byte {}, before its tensors", opcodes.offset()))
}

/// Reads the next pickle, and returns the number that it begins with.
fn next_number(opcodes: &mut Source<'_>) -> io::Result<Option<Argument>> {
    next(opcodes)?;
    let mut store = Store::default();
    let mut reader = Reader::new(&mut store, Indices::default(), Options::default());
    let mut number = None;
    let opcodes = opcodes.inspect(|op| match op {
        Ok(op) if !is_framing(op) => drop(number.get_or_insert_with(|| op.argument.clone())),
        _ => {}
    });
    Machine::new(&mut reader).run(opcodes)?;
    Ok(number)
}

/// Reads the keys of the storages, which begin at `at`, and where each storage is.
///
/// # Errors
/// The storages are not those of the pickle, or do not fit the file.
pub(super) fn place_storages(file: &File, len: u64, at: u64, store: &mut Store) -> io::Result<()> {
    use Opcode::*;
    let mut opcodes = Opcodes::starting_at(Part::new(file, at, len - at), at);
    let mut indices = Vec::new();
    for op in &mut opcodes {
        let Op { code, argument, at, .. } = op?;
        match (code, argument) {
            (_, Argument::Text(key)) => {
                let index = store.take(&key);
                indices.push(index.ok_or_else(|| {
                    let key = quoted(&key);
                    unsound(format!("storage {key} at byte {at} is not in the pickle, or a duplicate"))
                })?);
            }
            (Frame, Argument::Int(..LONGEST_FRAME))
            | (Proto | EmptyList | Mark | List | Append | Appends, _)
            | (Put | BinPut | LongBinPut | Memoize | Stop, _) => {}
            (code, _) => {
                let code = code.name();
                return Err(unsound(format!("opcode {code} at byte {at} is not expected in a list of keys")));
            }
        }
    }
    if let Some(key) = store.untaken() {
        return Err(unsound(format!("storage {key} of the pickle is missing in the file")));
    }
    let mut at = opcodes.offset();
    for index in indices {
        at = place(file, len, at, index, store)?;
    }
    ensure(at == len, || format!("{} bytes follow the last storage", len - at))
}

/// Places the storage that begins at `at` with its number of elements, and returns where it ends.
fn place(file: &File, len: u64, at: u64, index: u32, store: &mut Store) -> io::Result<u64> {
    let storage = *store.get(index)?;
    let key = storage.key;
    let mut count = [0; 8];
    let read = read_full(&mut Part::new(file, at, len.saturating_sub(at)), &mut count)?;
    ensure(read == count.len(), || format!("the file ends at byte {len}, before storage {key}"))?;
    let count = u64::from_le_bytes(count);
    ensure(count.checked_mul(storage.width.into()) == Some(storage.len), || {
        let expected = storage.len / u64::from(storage.width);
        format!("storage {key} at byte {at} has {count} elements, but the pickle says {expected}")
    })?;
    let begin = at + 8;
    store.place(index, begin);
    let end = begin.checked_add(storage.len).filter(|end| *end <= len);
    end.ok_or_else(|| unsound(format!("the file ends at byte {len}, within storage {key}")))
}
