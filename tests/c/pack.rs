//! Writes the pack.

use crate::files::of_frameworks;
use crate::models::{Bytes, DAMAGED, NET, WRONG};
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use vectors::{Vector, sha256};

/// What is before the file of a record.
struct Record<'a> {
    kind: u8,
    request: Option<u8>,
    name: &'a str,
    code: &'a str,
    text: &'a [u8],
}

impl<'a> Record<'a> {
    const fn new(kind: u8, name: &'a str, code: &'a str, text: &'a [u8]) -> Self {
        Self { kind, request: None, name, code, text }
    }

    fn write(&self, to: &mut impl Write, file: &[u8]) -> io::Result<()> {
        to.write_all(&[self.kind, self.request.unwrap_or(u8::MAX)])?;
        for len in [self.name.len(), self.code.len(), self.text.len()] {
            to.write_all(&u16::try_from(len).map_err(io::Error::other)?.to_le_bytes())?;
        }
        to.write_all(&u32::try_from(file.len()).map_err(io::Error::other)?.to_le_bytes())?;
        for part in [self.name.as_bytes(), self.code.as_bytes(), self.text, file] {
            to.write_all(part)?;
        }
        Ok(())
    }
}

/// Writes a pack with the vectors up to this length, the files of other frameworks and all wrong models.
pub fn write(path: &str, longest: usize) -> Result<String, String> {
    let (manifest, files) = (vectors::load(), of_frameworks()?);
    let chosen = manifest.vectors.iter().filter(|vector| vector.length <= longest);
    let chosen: Vec<&Vector> = chosen.chain(&files).collect();
    write_all(path, &chosen).map_err(|error| format!("{path}: {error}"))?;
    Ok(format!("{} vectors, {} models", chosen.len(), 2 + WRONG.len() + 2 * DAMAGED.len()))
}

fn write_all(path: &str, vectors: &[&Vector]) -> io::Result<()> {
    let mut pack = BufWriter::new(File::create(path)?);
    pack.write_all(b"SFTPACK1")?;
    write_models(&mut pack)?;
    for vector in vectors {
        Record::new(b'V', &vector.id, "", &keys(vector)).write(&mut pack, &vector.bytes())?;
    }
    Record::new(0, "", "", &[]).write(&mut pack, &[])?;
    pack.flush()
}

/// Returns the keys of a vector's metadata that a string of C can have, and one that is missing.
fn keys(vector: &Vector) -> Vec<u8> {
    let pairs = vector.metadata.as_ref().and_then(Value::as_object);
    let known = pairs.into_iter().flatten().map(|(key, _)| key.as_str());
    let keys = known.filter(|key| !key.contains('\0')).chain(vector.metadata.as_ref().map(|_| "?missing"));
    keys.flat_map(|key| [key.as_bytes(), &[0]].concat()).collect()
}

fn write_models(pack: &mut impl Write) -> io::Result<()> {
    let right = Bytes::right();
    Record::new(b'R', "right", "", &sum(&right)).write(pack, &right)?;
    Record::new(b'E', "right, with its sum", "", &[]).write(pack, &Bytes::right_with_sum())?;
    for wrong in &WRONG {
        let request = wrong.tensor.and_then(|name| NET.iter().position(|query| query.name() == name));
        let record = Record::new(b'W', wrong.what, wrong.code, wrong.sentence.as_bytes());
        let request = request.and_then(|request| u8::try_from(request).ok());
        Record { request, ..record }.write(pack, &wrong.file())?;
    }
    for damaged in &DAMAGED {
        let file = damaged.file(Bytes::right());
        Record::new(b'D', damaged.what, "integrity.sum", &[]).write(pack, &file)?;
        let file = damaged.file(Bytes::right_with_sum());
        let name = format!("{}, with a sum", damaged.what);
        Record::new(b'F', &name, "integrity.sum", &[]).write(pack, &file)?;
    }
    Ok(())
}

fn sum(file: &[u8]) -> Vec<u8> {
    let digits = sha256(file);
    let byte = |at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap_or_default();
    (0..32).map(byte).collect()
}
