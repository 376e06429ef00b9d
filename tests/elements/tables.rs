//! The tables, read as a safetensors file.

use embedded_safetensors::{Dtype, View};
use sha2::{Digest, Sha256};

/// The expected values of one type.
pub enum Expected<'a> {
    /// The bytes of all values.
    Bytes(&'a [u8]),
    /// Their SHA-256, in hexadecimal digits.
    Digest(String),
}

/// The expected conversion of one dtype to one type.
pub enum Pair<'a> {
    Lossless(Expected<'a>),
    Rounded(Expected<'a>),
    Nothing,
}

pub struct Tables {
    file: Vec<u8>,
}

impl Tables {
    pub fn load() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/elements/tables.safetensors");
        Self { file: std::fs::read(path).unwrap() }
    }

    fn view(&self) -> View<'_> {
        View::parse(&self.file).unwrap()
    }

    fn tensor(&self, name: &str) -> Option<&[u8]> {
        Some(self.view().find(name).unwrap()?.bytes())
    }

    /// Returns the elements of the tables: all possible ones in order, where they are whole bytes and few.
    pub fn elements(&self, dtype: Dtype) -> Vec<u8> {
        match dtype.bits() {
            8 => (0..=u8::MAX).collect(),
            16 => (0..=u16::MAX).flat_map(u16::to_le_bytes).collect(),
            _ => self.tensor(&format!("{dtype}.elements")).unwrap().to_vec(),
        }
    }

    pub fn pair(&self, dtype: Dtype, to: &str) -> Pair<'_> {
        let lossless = self.expected(&format!("{dtype}.lossless.{to}"));
        let rounded = self.expected(&format!("{dtype}.rounded.{to}"));
        match (lossless, rounded) {
            (Some(expected), None) => Pair::Lossless(expected),
            (None, Some(expected)) => Pair::Rounded(expected),
            (None, None) => Pair::Nothing,
            (Some(_), Some(_)) => panic!("{dtype} as {to} is both lossless and rounded"),
        }
    }

    fn expected(&self, name: &str) -> Option<Expected<'_>> {
        let digest = self.view().metadata_value(name).unwrap();
        let digest = digest.map(|digest| Expected::Digest(digest.to_string()));
        self.tensor(name).map(Expected::Bytes).or(digest)
    }
}

impl Expected<'_> {
    pub fn matches(&self, values: &[u8]) -> bool {
        match self {
            Self::Bytes(expected) => *expected == values,
            Self::Digest(digest) => {
                let found = Sha256::digest(values);
                *digest == found.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
            }
        }
    }

    /// Describes the first difference of values of `width` bytes.
    pub fn difference(&self, values: &[u8], width: usize) -> String {
        let Self::Bytes(expected) = self else { return "the digest differs".to_owned() };
        let pairs = expected.chunks(width).zip(values.chunks(width)).enumerate();
        let first = pairs.into_iter().find(|(_, (expected, found))| expected != found);
        format!("{first:x?}, of {} bytes and not {}", values.len(), expected.len())
    }
}
