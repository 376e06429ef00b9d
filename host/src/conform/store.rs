//! The files of the vectors.

use crate::conform::Unusable;
use crate::failure::sentence;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use vectors::{Manifest, Vector};

/// The manifest, and the files by name, sorted by name.
type Packed = (&'static [u8], &'static [(&'static str, &'static [u8])]);

/// The vectors of the repository at build time.
static PACKED: Packed = include!(concat!(env!("OUT_DIR"), "/vectors.rs"));

/// No vector is longer; a longer one in a manifest is damage.
const LONGEST: usize = 1 << 30;

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
            Self::Packed => Manifest::parse(PACKED.0).map_err(Unusable::Vectors),
            Self::Folder(_) => {
                let bytes = read(&self.manifest_path(), LONGEST as u64);
                let bytes = bytes
                    .map_err(|error| Unusable::Vectors(format!("cannot be read: {}", sentence(&error))))?;
                Manifest::parse(&bytes).map_err(Unusable::Vectors)
            }
        }
    }

    /// The bytes of a vector's file, read or generated, and compared with their checksum.
    pub fn content(&self, vector: &Vector) -> Result<Vec<u8>, Unusable> {
        let bytes = match vector.length > LONGEST {
            true => Err(format!("too long: {} bytes, at most {LONGEST} allowed", vector.length)),
            false => vector.content(|file| self.file(file, vector.length)),
        };
        bytes.map_err(|why| Unusable::Vectors(format!("vector {:?} cannot be used: {why}", vector.id)))
    }

    fn file(&self, name: &str, len: usize) -> Result<Vec<u8>, String> {
        match self {
            Self::Packed => packed(name).map(<[u8]>::to_vec).ok_or_else(|| format!("no file {name:?}")),
            Self::Folder(folder) => read(&folder.join(name), len as u64 + 1)
                .map_err(|error| format!("{name}: {}", sentence(&error))),
        }
    }
}

fn packed(name: &str) -> Option<&'static [u8]> {
    let files = PACKED.1;
    files
        .binary_search_by_key(&name, |(name, _)| name)
        .ok()
        .and_then(|at| files.get(at))
        .map(|(_, bytes)| *bytes)
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
    use super::{PACKED, Store, Unusable};

    #[test]
    fn every_vector_is_in_the_program_and_no_other_file() {
        let manifest = Store::Packed.manifest().expect("valid manifest");
        for vector in manifest.vectors.iter().filter(|vector| !vector.is_large()) {
            let bytes = Store::Packed.content(vector).expect("valid vector");
            assert_eq!(bytes.len(), vector.length, "{}", vector.id);
        }
        let files = manifest.vectors.iter().filter(|vector| vector.file.is_some()).count();
        assert!(files > 900);
        assert_eq!(PACKED.1.len(), files);
    }

    #[test]
    fn a_file_that_is_not_in_the_program_is_missing() {
        let mut vector = Store::Packed.manifest().expect("valid manifest").vectors.swap_remove(0);
        (vector.file, vector.recipe) = (Some("valid/none".to_owned()), None);
        let content = Store::Packed.content(&vector);
        assert!(matches!(content, Err(Unusable::Vectors(why)) if why.ends_with("no file \"valid/none\"")));
    }
}
