//! The reference in five releases. One of its sums overflows: a debug build panics there, and a release build
//! returns an error. The manifest allows both.

use std::panic::catch_unwind;

use vectors::table::{Table, Tensor};

/// Why the reference rejects a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The class of the error, abbreviated as in the manifest.
    pub class: String,
    /// The reference's message.
    pub text: String,
}

/// One release of the reference.
#[derive(Clone, Copy)]
pub struct Release {
    /// Its version.
    pub version: &'static str,
    read: fn(&[u8]) -> Result<Table, Rejection>,
}

/// The classes of the reference's errors: abbreviation, and the name in its source.
pub const CLASSES: &[(&str, &str)] = &[
    ("SMALL", "HeaderTooSmall"),
    ("LARGE", "HeaderTooLarge"),
    ("LEN", "InvalidHeaderLength"),
    ("UTF8", "InvalidHeader"),
    ("JSON", "InvalidHeaderDeserialization"),
    ("OFFSET", "InvalidOffset"),
    ("OVF", "ValidationOverflow"),
    ("MISAL", "MisalignedSlice"),
    ("INFO", "TensorInvalidInfo"),
    ("INCOMPLETE", "MetadataIncompleteBuffer"),
];

/// Reads a file with one release and converts the result: the releases have the same names for the same
/// things, but distinct types.
macro_rules! release {
    ($version:literal, $release:ident) => {
        Release {
            version: $version,
            read: |file| match $release::SafeTensors::read_metadata(file) {
                Err(error) => {
                    Err(Rejection { class: abbreviated(&format!("{error:?}")), text: error.to_string() })
                }
                Ok((_, header)) => {
                    let tensor = |(name, info): (String, &$release::tensor::TensorInfo)| Tensor {
                        data_offsets: [info.data_offsets.0 as u64, info.data_offsets.1 as u64],
                        name,
                        dtype: format!("{:?}", info.dtype),
                        shape: info.shape.iter().map(|&dim| dim as u64).collect(),
                    };
                    let metadata = header.metadata().clone().map(|pairs| pairs.into_iter().collect());
                    Ok(Table { tensors: header.tensors().into_iter().map(tensor).collect(), metadata }
                        .sorted())
                }
            },
        }
    };
}

/// The latest release.
pub const LATEST: Release = release!("0.8.0", safetensors_0_8);

/// All releases, oldest first.
pub const RELEASES: [Release; 5] = [
    release!("0.4.5", safetensors_0_4),
    release!("0.5.3", safetensors_0_5),
    release!("0.6.2", safetensors_0_6),
    release!("0.7.0", safetensors_0_7),
    LATEST,
];

impl Release {
    /// Returns the table that it reads from the file.
    ///
    /// # Errors
    /// Why it rejects the file; the class is `panic` when it panics.
    pub fn read(&self, file: &[u8]) -> Result<Table, Rejection> {
        match catch_unwind(|| (self.read)(file)) {
            Ok(outcome) => outcome,
            Err(_) => Err(Rejection { class: "panic".to_owned(), text: "panicked".to_owned() }),
        }
    }

    /// Returns `ok` or the class of the error, as in the manifest.
    pub fn answer(&self, file: &[u8]) -> String {
        self.read(file).err().map_or_else(|| "ok".to_owned(), |rejection| rejection.class)
    }
}

/// Returns the class from the error's debug form, which begins with the name of the variant in all releases.
fn abbreviated(debug: &str) -> String {
    let name: String = debug.chars().take_while(char::is_ascii_alphanumeric).collect();
    let class = CLASSES.iter().find(|(_, full)| *full == name);
    class.map_or(name, |(short, _)| (*short).to_owned())
}
