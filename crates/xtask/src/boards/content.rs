//! What boards find in their storage: the committed models, sound and spoiled.

use super::vectors;
use crate::{model, workspace};
use std::path::PathBuf;

const FOLDER: &str = "firmware/app/models";

/// The networks that read digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Weights of 16-bit floats.
    Floats,
    /// Weights of 8-bit integers.
    Integers,
}

impl Network {
    pub fn path(self) -> PathBuf {
        let name = match self {
            Self::Floats => "digits-f16.safetensors",
            Self::Integers => "digits-i8.safetensors",
        };
        workspace::root().join(FOLDER).join(name)
    }
}

/// A file in the storage of a board.
#[derive(Clone, Copy)]
pub enum Content {
    Model(Network),
    /// One bit of the header is another: a tensor begins elsewhere.
    Corrupt(Network),
    /// The end is missing.
    Cut(Network),
    /// What is expected of the conformance vectors.
    Manifest,
    /// The same, but not all of it is true.
    WrongManifest,
    /// The bytes of the conformance vectors, one behind the other.
    Vectors,
}

impl Content {
    pub fn bytes(self) -> Result<Vec<u8>, String> {
        match self {
            Self::Model(network) => workspace::read(&network.path()),
            Self::Corrupt(network) => corrupt(Self::Model(network).bytes()?),
            Self::Cut(network) => cut(Self::Model(network).bytes()?),
            Self::Manifest => workspace::read(&vectors::manifest()),
            Self::WrongManifest => vectors::wrong_manifest(),
            Self::Vectors => vectors::pack(),
        }
    }
}

/// The first digit of where the last tensor begins.
fn corrupt(mut file: Vec<u8>) -> Result<Vec<u8>, String> {
    const OFFSETS: &[u8] = br#""data_offsets":["#;
    let header = model::data_start(&file).and_then(|end| file.get(..end));
    let at = header.and_then(|header| header.windows(OFFSETS.len()).rposition(|bytes| bytes == OFFSETS));
    let digit = at.and_then(|at| file.get_mut(at + OFFSETS.len()));
    *digit.ok_or("the model's header is not as expected")? ^= 1;
    Ok(file)
}

fn cut(mut file: Vec<u8>) -> Result<Vec<u8>, String> {
    file.truncate(file.len().saturating_sub(1000));
    Ok(file)
}

/// An image of a handwritten digit: eight rows of eight pixels, each of 0 to 16.
pub type Image = [u8; 64];

/// The images that the boards read.
pub fn images() -> Result<Vec<Image>, String> {
    let file = workspace::read(&workspace::root().join(FOLDER).join("digits-test.safetensors"))?;
    let bytes = model::range(&file, "images").and_then(|range| file.get(range));
    let images = bytes.ok_or("the file with the images has no images")?.chunks_exact(64);
    images.map(|image| image.try_into().map_err(|_| "an image is cut short".to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_shades_of_ink() {
        let images = images().unwrap();
        assert_eq!(images.len(), 64);
        assert!(
            images
                .iter()
                .all(|image| image.iter().all(|pixel| *pixel <= 16) && image.iter().any(|pixel| *pixel > 8))
        );
    }

    #[test]
    fn one_bit_is_spoiled() {
        let sound =
            model::ModelFile::default().with("a", "U8", "[1]", [0]).with("b", "U8", "[1]", [0]).bytes();
        let spoiled = corrupt(sound.clone()).unwrap();
        let differ: Vec<_> = sound.iter().zip(&spoiled).filter(|(sound, spoiled)| sound != spoiled).collect();
        assert_eq!(differ, [(&b'1', &b'0')]);
        assert_eq!(cut(vec![0; 1001]).unwrap(), [0]);
    }
}
