//! The reference's writer, and its reader as a dictionary.

use std::collections::HashMap;
use std::panic::catch_unwind;
use std::path::Path;

use safetensors_0_8::{SafeTensors, View, serialize, serialize_to_file, tensor};

use crate::dictionary::{Dictionary, Named};

type Metadata = Option<HashMap<String, String>>;

/// A tensor that claims to have a certain number of bytes, which nothing checks.
struct Claim<'a> {
    tensor: &'a Named,
    dtype: tensor::Dtype,
    shape: Vec<usize>,
    len: usize,
}

impl View for Claim<'_> {
    fn dtype(&self) -> tensor::Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> std::borrow::Cow<'_, [u8]> {
        (&self.tensor.bytes).into()
    }

    fn data_len(&self) -> usize {
        self.len
    }
}

impl<'a> Claim<'a> {
    fn new(tensor: &'a Named, len: usize) -> Self {
        let dtype = serde_json::from_str(&format!("\"{}\"", tensor.dtype)).expect("a dtype of the reference");
        let shape = tensor.dims.iter().map(|&dim| usize::try_from(dim).expect("64 bits")).collect();
        Self { tensor, dtype, shape, len }
    }
}

/// Returns the file that the reference writes for a dictionary: one of many, if there are several keys.
///
/// # Errors
/// The reference's error; `panic` when it panics.
pub fn write(dictionary: &Dictionary) -> Result<Vec<u8>, String> {
    let lens: Vec<_> = dictionary.tensors.iter().map(|tensor| tensor.bytes.len()).collect();
    write_claiming(dictionary, &lens)
}

/// Returns the file when each tensor claims to have this number of bytes.
///
/// # Errors
/// As [`write`].
pub fn write_claiming(dictionary: &Dictionary, lens: &[usize]) -> Result<Vec<u8>, String> {
    let claims = dictionary.tensors.iter().zip(lens);
    let claims: Vec<_> =
        claims.map(|(tensor, &len)| (tensor.name.as_str(), Claim::new(tensor, len))).collect();
    let metadata: Metadata = dictionary.metadata.clone().map(|pairs| pairs.into_iter().collect());
    let written = catch_unwind(std::panic::AssertUnwindSafe(|| serialize(claims, metadata)));
    written.map_err(|_| "panic".to_owned())?.map_err(|error| error.to_string())
}

/// Writes the file to the file system.
///
/// # Errors
/// The reference's error.
pub fn write_to(path: &Path, dictionary: &Dictionary) -> Result<(), String> {
    let tensors = dictionary.tensors.iter();
    let claims = tensors.map(|tensor| (tensor.name.as_str(), Claim::new(tensor, tensor.bytes.len())));
    let metadata: Metadata = dictionary.metadata.clone().map(|pairs| pairs.into_iter().collect());
    serialize_to_file(claims, metadata, path).map_err(|error| error.to_string())
}

/// Returns the dictionary that the reference reads from a file.
///
/// # Errors
/// The reference's error.
pub fn read(file: &[u8]) -> Result<Dictionary, String> {
    let (_, header) = SafeTensors::read_metadata(file).map_err(|error| error.to_string())?;
    let tensors = SafeTensors::deserialize(file).map_err(|error| error.to_string())?;
    let named = |(name, tensor): (String, tensor::TensorView<'_>)| Named {
        name,
        dtype: format!("{:?}", tensor.dtype()),
        dims: tensor.shape().iter().map(|&dim| dim as u64).collect(),
        bytes: tensor.data().to_vec(),
    };
    let metadata = header.metadata().clone().map(|pairs| pairs.into_iter().collect());
    Ok(Dictionary { tensors: tensors.tensors().into_iter().map(named).collect(), metadata }.sorted())
}
