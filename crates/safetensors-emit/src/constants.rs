//! The facts of a model that are written.

use crate::names::{check_prefix, prefix_of};
use crate::plan::Plan;
use crate::sums::Sums;
use crate::{EmitError, c, rust};
use embedded_safetensors::{FileModel, file::FileTensor, tensor::MAX_RANK};
use std::io::{self, Write};

/// What a program expects of a model: its tensors, the memory that they need, and the sums of its file.
///
/// ```no_run
/// use safetensors_emit::{Constants, FileModel};
/// use std::fs::File;
///
/// let model = FileModel::open("kws.safetensors")?;
/// let constants = Constants::of(&model)?.prefix("NET")?.address(0x0806_0000)?;
/// constants.write_c(&mut File::create("kws.h")?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Constants<'m> {
    pub(crate) model: &'m FileModel,
    plan: Plan,
    sums: Sums,
    prefix: Option<String>,
    address: Option<u64>,
}

impl<'m> Constants<'m> {
    /// Collects the constants of a model. Reads the whole file, one block at a time.
    ///
    /// # Errors
    /// [`EmitError::Model`] when the file cannot be read or has changed since it was opened.
    pub fn of(model: &'m FileModel) -> Result<Self, EmitError> {
        let sums = Sums::of(model).map_err(|kind| kind.of(model.path()))?;
        model.check_unchanged()?;
        Ok(Self { model, plan: Plan::of(model), sums, prefix: None, address: None })
    }

    /// Sets the prefix of all names, without the `_` after it. By default it is the name of the file in C,
    /// and none in Rust.
    ///
    /// # Errors
    /// [`EmitError::Prefix`] when it has other characters than ASCII letters, digits and `_`, or does not
    /// begin with a letter.
    pub fn prefix(self, prefix: &str) -> Result<Self, EmitError> {
        Ok(Self { prefix: Some(check_prefix(prefix)?), ..self })
    }

    /// Sets the address of the model in memory, and adds the address of every tensor to the output.
    ///
    /// # Errors
    /// [`EmitError::Address`] when the model would end past the last address.
    pub fn address(self, address: u64) -> Result<Self, EmitError> {
        let file_bytes = self.plan.file_bytes;
        match address.checked_add(file_bytes) {
            Some(_) => Ok(Self { address: Some(address), ..self }),
            None => Err(EmitError::Address { address, file_bytes }),
        }
    }

    /// Writes a module for Rust, `no_std`. It needs the crate `embedded-safetensors`, and is made to be
    /// included in a `mod`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_rust(&self, out: &mut impl Write) -> io::Result<()> {
        rust::write(self, self.prefix.as_deref().unwrap_or_default(), out)
    }

    /// Writes a header for C99 and C++. It needs nothing but `stdint.h`, and `safetensors.h` where its
    /// `REQUESTS` are used.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_c(&self, out: &mut impl Write) -> io::Result<()> {
        let stem = self.model.path().file_stem().unwrap_or_default().to_string_lossy();
        c::write(self, &self.prefix.clone().unwrap_or_else(|| prefix_of(&stem)), out)
    }

    /// Returns the memory that a device needs.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the SHA-256 of the file.
    pub fn sha256(&self) -> &[u8; 32] {
        &self.sums.sha256
    }

    /// Returns the CRC-32 of the file.
    pub fn crc32(&self) -> u32 {
        self.sums.crc32
    }

    /// Returns the tensors, in data order.
    pub fn tensors(&self) -> impl Iterator<Item = FileTensor<'m>> {
        self.model.tensors()
    }

    /// Returns how many tensors have no query, because they have more than 8 dimensions.
    pub fn left_out(&self) -> u64 {
        self.tensors().filter(|tensor| tensor.dims().len() > MAX_RANK).count() as u64
    }

    /// Returns the keys and values of the metadata.
    pub fn metadata(&self) -> impl Iterator<Item = (&'m str, &'m str)> {
        let pairs = self.model.metadata().into_iter().flatten();
        pairs.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns the offset of a tensor in the file.
    pub fn offset_of(&self, tensor: &FileTensor<'_>) -> u64 {
        self.plan.data_start + tensor.begin()
    }

    /// Returns the address of a tensor in memory, if that of the model is set.
    pub fn address_of(&self, tensor: &FileTensor<'_>) -> Option<u64> {
        // `address` has checked the sum for the whole file.
        self.address.map(|address| address + self.offset_of(tensor))
    }

    /// The address of the file in memory, as it is written.
    pub(crate) fn hex_address(&self) -> Option<String> {
        self.address.map(|address| format!("{address:#010x}"))
    }

    /// The file name, with characters that are safe in a comment.
    pub(crate) fn file_name(&self) -> String {
        let name = self.model.path().file_name().unwrap_or_default().to_string_lossy();
        name.chars().map(comment_safe).collect()
    }

    /// The numbers of the file, which may exceed the target's `usize`: name, value and description.
    pub(crate) fn of_file(&self) -> [Number; 4] {
        [
            ("FILE_BYTES", self.plan.file_bytes, "Length of the file"),
            ("HEADER_BYTES", self.plan.header_bytes, "Length of the header, without the 8 bytes before it"),
            ("DATA_START", self.plan.data_start, "Offset of the data in the file"),
            ("DATA_BYTES", self.plan.data_bytes, "Length of the data"),
        ]
    }

    /// The numbers of the memory that a device needs: name, value and description.
    pub(crate) fn of_memory(&self) -> [Number; 10] {
        let Plan { sizes, largest_tensor, largest_row, .. } = &self.plan;
        [
            ("INDEX_TENSORS", sizes.tensors, "Number of tensors"),
            ("INDEX_DIMS", sizes.dims, "Total number of dimensions, all tensors together"),
            ("INDEX_NAME_BYTES", sizes.name_bytes, "Total length of all names, in bytes"),
            ("INDEX_BYTES", sizes.index_bytes(), "Memory of the index"),
            ("LONGEST_NAME", sizes.longest_name, "Length of the longest name"),
            ("MOST_DIMS", sizes.most_dims, "Largest number of dimensions"),
            ("LARGEST_TENSOR_BYTES", largest_tensor.bytes, "Buffer size for the bytes of any tensor"),
            ("LARGEST_TENSOR_ELEMENTS", largest_tensor.elements, "Buffer size for the values of any tensor"),
            (
                "LARGEST_ROW_BYTES",
                largest_row.bytes,
                "Buffer size for the bytes of any row, one index of the first axis",
            ),
            ("LARGEST_ROW_ELEMENTS", largest_row.elements, "Buffer size for the values of any row"),
        ]
    }
}

/// A name, a value and a description.
pub(crate) type Number = (&'static str, u64, &'static str);

/// The bytes of a SHA-256 as numbers, in two lines.
pub(crate) fn hex_lines(sum: &[u8; 32]) -> [String; 2] {
    let (upper, lower) = sum.split_at(16);
    let line = |half: &[u8]| half.iter().map(|byte| format!("{byte:#04x}")).collect::<Vec<_>>().join(", ");
    [line(upper), line(lower)]
}

/// Replaces characters of a file name that could end a comment.
fn comment_safe(character: char) -> char {
    if character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_' | ' ') {
        character
    } else {
        '_'
    }
}
