//! Use this when the entire model is in memory: linked into flash, memory-mapped, or on a heap. Nothing is
//! copied.
//!
//! [`include_model!`](crate::include_model) creates a [`View`] of a file at build time, [`View::parse`] at
//! run time.

mod embedded;
mod expect;
mod iter;
mod json_str;
mod links;
mod macros;
mod message;
mod metadata;
mod names;
mod runs;
mod tensor;
#[cfg(test)]
mod tests;
mod verdict;
mod walk;

use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
#[cfg(all(feature = "std", any(unix, windows)))]
use crate::index::IndexedTensor;
use crate::util::bytes::{index_below, low_u32};
use crate::util::top_k::SortSlot;
use crate::validate::{Summary, validate_header};
use crate::values::native::{Align, Aligned, AlignedFile, Alignment};
pub use embedded::{Embedded, room};
pub use iter::Tensors;
pub use json_str::{Chars, JsonStr};
pub use links::Link;
use message::Message;
pub use metadata::MetadataView;
pub use runs::SliceRuns;
pub use tensor::Tensor;
use verdict::{Validated, list, validate_and_list};
#[cfg(all(feature = "std", any(unix, windows)))]
use walk::ParsedTensor;

/// A model in memory with a validated header.
///
/// Everything borrows from the file, which is never copied. The file can be in flash, where the compiler can
/// validate it, in a memory map or on a heap.
///
/// ```
/// use embedded_safetensors::View;
///
/// let file = b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   xy";
/// let model = View::parse(file)?;
/// assert_eq!(model.tensor("a")?.as_u8()?, b"xy");
/// # Ok::<(), embedded_safetensors::Error>(())
/// ```
///
/// For a model that is linked into the program, [`include_model!`](crate::include_model) does lookups at
/// build time, so the program contains no parser.
///
/// *Memory*: 80 bytes, `Copy`. Each lookup reads the header again, or a table that you
/// provide: [`with_tensors`](Self::with_tensors).
#[derive(Clone, Copy)]
pub struct View<'a> {
    file: Aligned<'a>,
    /// The offset of the data. It fits in 32 bits, as does the number of tensors: a header has less than 2^27
    /// bytes.
    data_start: u32,
    count: u32,
    data_len: u64,
    /// All tensors, or empty: then lookups read the header.
    tensors: &'a [Tensor<'a>],
    /// As many as there are tensors, or empty: then lookups search all of `tensors`.
    links: &'a [Link],
}

impl<'a> View<'a> {
    const fn new(file: Aligned<'a>, summary: Summary) -> Self {
        let Summary { tensors, data_start, data_len } = summary;
        let (data_start, count) = (low_u32(data_start), low_u32(tensors));
        Self { file, data_start, count, data_len, tensors: &[], links: &[] }
    }

    /// Validates a file in one pass over its header, as [`Validator`](crate::validate::Validator) does,
    /// including the length of the file. Duplicate names are reported when they are looked up, or by
    /// [`validate_names`](Self::validate_names).
    ///
    /// # Errors
    /// The errors of the file; [`ErrorKind::OutOfOrder`] when its tensors are not in the order of their
    /// offsets: use [`parse_unordered`](Self::parse_unordered) for such files.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub const fn parse(file: &'a [u8]) -> Result<Self, Error> {
        let file = Aligned::anywhere(file);
        match validate_and_list::<false>(file, &mut []) {
            Ok(validated) => Ok(Self::new(file, validated.summary)),
            Err(error) => Err(error),
        }
    }

    /// Validates a file at the front of memory that may be longer, such as a partition, and returns it with
    /// the bytes after it. Only its header says where it ends.
    ///
    /// # Errors
    /// As [`parse`](Self::parse) of the same memory without the bytes after the last tensor.
    pub const fn parse_prefix(memory: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        let summary = match list::<false>(Aligned::anywhere(memory), &mut []) {
            Ok(Validated { summary, .. }) => summary,
            Err(error) => return Err(error),
        };
        let parts = match index_below(summary.file_len(), usize::MAX) {
            Some(len) => memory.split_at_checked(len),
            None => None,
        };
        match parts {
            Some((file, rest)) => Ok((Self::new(Aligned::anywhere(file), summary), rest)),
            None => Err(summary.length_error(memory.len() as u64)),
        }
    }

    /// Validates a file as [`parse`](Self::parse) does, for headers in any order. A header in the order of
    /// its offsets takes one pass; any other takes one more for every `slots.len()` tensors.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), except [`ErrorKind::OutOfOrder`] if there is at least one slot.
    pub const fn parse_unordered(file: &'a [u8], slots: &mut [SortSlot]) -> Result<Self, Error> {
        match validate_header(file, slots) {
            Ok(summary) => Ok(Self::new(Aligned::anywhere(file), summary)),
            Err(error) => Err(error),
        }
    }

    /// Validates a file that is linked into the program, in any order. For consts;
    /// [`include_model!`](crate::include_model) does this and more.
    ///
    /// # Panics
    /// When the file is invalid, which in a const fails the build with the error's sentence. Not for run
    /// time.
    pub const fn embed<const ALIGN: usize, const LEN: usize>(file: &'a AlignedFile<ALIGN, LEN>) -> Self
    where
        Align<ALIGN>: Alignment,
    {
        let file = Aligned::file(file);
        Self::new(file, embedded::embed(file, &mut []).summary)
    }

    /// Returns the same view, which looks tensors up in a table instead of the header. The table has all
    /// tensors of this view, as [`tensors`](Self::tensors) returns them. A table of another length is not
    /// used.
    ///
    /// *Memory*: 160 bytes a tensor, which the caller provides.
    pub const fn with_tensors(self, tensors: &'a [Tensor<'a>]) -> Self {
        Self { tensors: if tensors.len() == self.len() { tensors } else { &[] }, links: &[], ..self }
    }

    /// Creates a view of a file that has been validated.
    #[cfg(all(feature = "std", any(unix, windows)))]
    pub(crate) const fn of_validated(file: &'a [u8], summary: Summary) -> Self {
        Self::new(Aligned::anywhere(file), summary)
    }

    /// Returns the tensor of an index of this file. Its name is at `name_at`.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] when it has more dimensions than a [`Shape`](crate::Shape) holds.
    #[cfg(all(feature = "std", any(unix, windows)))]
    pub(crate) fn indexed(&self, tensor: &IndexedTensor<'_>, name_at: u64) -> Result<Tensor<'a>, Error> {
        match tensor.info() {
            Ok(info) => Ok(self.tensor_of(&ParsedTensor {
                name: JsonStr::opening_at(self.file(), name_at),
                info,
                rank_at: 0,
            })),
            Err(_) => self.tensor(tensor.name()),
        }
    }

    /// Returns the number of tensors.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns whether there are no tensors.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of tensors, the offset of the data and its length.
    pub const fn summary(&self) -> Summary {
        let (tensors, data_start) = (self.count as u64, self.data_start());
        Summary { tensors, data_start, data_len: self.data_len }
    }

    const fn data_start(&self) -> u64 {
        self.data_start as u64
    }

    /// Returns the entire file.
    pub const fn file(&self) -> &'a [u8] {
        self.file.bytes()
    }

    /// Returns the data, which follows the header.
    pub const fn data(&self) -> &'a [u8] {
        let Some(start) = index_below(self.data_start(), usize::MAX) else { return &[] };
        match self.file().split_at_checked(start) {
            Some((_, data)) => data,
            None => &[],
        }
    }
}

shown!(View<'_>, it => "View {{ summary: {:?}, .. }}", it.summary());

/// Fails the build with a message.
const fn fail(message: &Message) -> ! {
    panic!("{}", message.as_str())
}
