//! The files of the vectors.

use crate::conform::Unusable;
use crate::failure::sentence;
use flate2::read::DeflateDecoder;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::NamedTempFile;
use vectors::{Manifest, Vector};

/// The manifest, the template of the page and the files of the vectors at build time, compressed.
static PACK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/vectors.pack"));

/// The same by name. What is not there is missing where it is asked for.
static PACKED: LazyLock<HashMap<String, Vec<u8>>> = LazyLock::new(|| {
    let mut pack = DeflateDecoder::new(PACK);
    let files = iter::from_fn(|| {
        let name = String::from_utf8(part(&mut pack)?).ok()?;
        Some((name, part(&mut pack)?))
    });
    files.collect()
});

/// No vector is longer; a longer one in a manifest is damage.
const LONGEST: u64 = 1 << 33;
/// No manifest is longer.
const LONGEST_MANIFEST: u64 = 1 << 30;

/// A file for a reader.
pub enum Input {
    Bytes(Vec<u8>),
    /// A file that is too long for memory; its zeros take no space.
    File(NamedTempFile),
}

impl Input {
    pub fn len(&self, vector: &Vector) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::File(_) => vector.length,
        }
    }
}

/// The built-in vectors, or those of a directory.
pub enum Store {
    Packed,
    Folder(PathBuf),
}

impl Store {
    /// The path of the manifest.
    pub fn manifest_path(&self) -> PathBuf {
        match self {
            Self::Packed => "manifest.json".into(),
            Self::Folder(folder) => folder.join("manifest.json"),
        }
    }

    pub fn manifest(&self) -> Result<Manifest, Unusable> {
        match self {
            Self::Packed => packed("manifest.json").and_then(Manifest::parse).map_err(Unusable::Vectors),
            Self::Folder(_) => {
                let bytes = read(&self.manifest_path(), LONGEST_MANIFEST);
                let bytes = bytes
                    .map_err(|error| Unusable::Vectors(format!("cannot be read: {}", sentence(&error))))?;
                Manifest::parse(&bytes).map_err(Unusable::Vectors)
            }
        }
    }

    /// A vector's file, read or made. In memory it is compared with its checksum.
    pub fn input(&self, vector: &Vector) -> Result<Input, Unusable> {
        match vector.fits_memory() {
            true => self.content(vector).map(Input::Bytes),
            false => sparse(vector).map(Input::File).map_err(|why| unusable(vector, why)),
        }
    }

    /// The bytes of a vector's file, compared with their checksum.
    pub fn content(&self, vector: &Vector) -> Result<Vec<u8>, Unusable> {
        let bytes = vector.content(|file| self.file(file, vector.length));
        bytes.map_err(|why| unusable(vector, why))
    }

    fn file(&self, name: &str, len: usize) -> Result<Vec<u8>, String> {
        match self {
            Self::Packed => packed(name).map(<[u8]>::to_vec),
            Self::Folder(folder) => read(&folder.join(name), len as u64 + 1)
                .map_err(|error| format!("{name}: {}", sentence(&error))),
        }
    }
}

fn unusable(vector: &Vector, why: String) -> Unusable {
    Unusable::Vectors(format!("vector {:?} cannot be used: {why}", vector.id))
}

/// Makes a file that ends with so many zeros that it is not made in memory.
fn sparse(vector: &Vector) -> Result<NamedTempFile, String> {
    let length = vector.length as u64;
    if length > LONGEST {
        return Err(format!("too long: {length} bytes, at most {LONGEST} allowed"));
    }
    let recipe = vector.recipe.as_ref().ok_or("its file is too long")?;
    let (bytes, zeros) = recipe.without_zeros()?;
    if bytes.len() as u64 + zeros != length {
        return Err(format!("its recipe does not make the {length} bytes that it has"));
    }
    let make = || {
        let mut file = NamedTempFile::with_suffix(".safetensors")?;
        file.write_all(&bytes)?;
        file.as_file().set_len(length)?;
        Ok(file)
    };
    make().map_err(|error| sentence(&error))
}

/// Returns a file of the program.
pub fn packed(name: &str) -> Result<&'static [u8], String> {
    PACKED.get(name).map(Vec::as_slice).ok_or_else(|| format!("no file {name:?}"))
}

/// The next name or file of the pack: its length, and its bytes.
fn part(pack: &mut impl Read) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    pack.read_exact(&mut length).ok()?;
    let length = u64::from(u32::from_le_bytes(length));
    let mut bytes = Vec::new();
    let read = pack.take(length).read_to_end(&mut bytes).ok()?;
    (read as u64 == length).then_some(bytes)
}

/// Reads a file up to a maximum length.
fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Input, PACKED, Store, Unusable};

    #[test]
    fn every_vector_is_in_the_program_and_no_other_file() {
        let manifest = Store::Packed.manifest().expect("valid manifest");
        for vector in manifest.vectors.iter().filter(|vector| !vector.is_large()) {
            let bytes = Store::Packed.content(vector).expect("valid vector");
            assert_eq!(bytes.len(), vector.length, "{}", vector.id);
        }
        let files = manifest.vectors.iter().filter(|vector| vector.file.is_some()).count();
        assert!(files > 900);
        // And the manifest and the page.
        assert_eq!(PACKED.len(), files + 2);
    }

    #[test]
    fn a_long_file_is_made_without_memory() {
        let manifest = Store::Packed.manifest().expect("valid manifest");
        let mut long = manifest.vectors.into_iter().find(|vector| !vector.fits_memory()).expect("a long one");
        let Ok(Input::File(file)) = Store::Packed.input(&long) else { panic!("not a file") };
        assert_eq!(file.as_file().metadata().expect("it is there").len(), long.length as u64);
        long.length += 1;
        let input = Store::Packed.input(&long);
        let why = format!("its recipe does not make the {} bytes that it has", long.length);
        assert!(matches!(input, Err(Unusable::Vectors(said)) if said.ends_with(&why)));
    }

    #[test]
    fn a_file_that_is_not_in_the_program_is_missing() {
        let mut vector = Store::Packed.manifest().expect("valid manifest").vectors.swap_remove(0);
        (vector.file, vector.recipe) = (Some("valid/none".to_owned()), None);
        let content = Store::Packed.content(&vector);
        assert!(matches!(content, Err(Unusable::Vectors(why)) if why.ends_with("no file \"valid/none\"")));
    }
}
