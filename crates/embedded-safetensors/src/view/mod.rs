//! Models in memory: in flash, in a map, on a heap. Nothing is copied. [`include_model!`](crate::include_model) makes a [`View`] of a file
//! while the program is built, [`View::parse`] at run time.

mod embedded;
mod expect;
mod iter;
mod json_str;
mod links;
mod macros;
mod message;
mod metadata;
mod names;
mod prove;
mod runs;
mod tensor;
#[cfg(test)]
mod tests;
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
use prove::prove_alone;
pub use runs::SliceRuns;
pub use tensor::Tensor;
#[cfg(all(feature = "std", any(unix, windows)))]
use walk::Seen;

/// A model in memory, whose header is proven sound.
///
/// All of it borrows from the file, which is addressed and never copied: in flash, where the compiler can have proven it, in a map of
/// a file, on a heap.
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
/// Linked into a program, it is looked up while that is built, and of the parser nothing is left in it:
/// [`include_model!`](crate::include_model).
///
/// *Memory*: 80 bytes, `Copy`. Lookups read the header again, or a table that you give: [`with_tensors`](Self::with_tensors).
#[derive(Clone, Copy)]
pub struct View<'a> {
    file: Aligned<'a>,
    /// The first byte of the data, and how many tensors there are: a header has less than 2^27 bytes.
    data_start: u32,
    count: u32,
    data_len: u64,
    /// All of them, or none: then they are looked for in the header.
    tensors: &'a [Tensor<'a>],
    /// As many, or none: then all of the tensors are looked at.
    links: &'a [Link],
}

impl<'a> View<'a> {
    const fn new(file: Aligned<'a>, summary: Summary) -> Self {
        let Summary { tensors, data_start, data_len } = summary;
        let (data_start, count) = (low_u32(data_start), low_u32(tensors));
        Self { file, data_start, count, data_len, tensors: &[], links: &[] }
    }

    /// Proves a file in one pass over its header: as [`Validator`](crate::validate::Validator), the length of the file included. Names
    /// that occur twice show when they are looked up, or to [`validate_names`](Self::validate_names).
    ///
    /// # Errors
    /// The faults of the file; [`ErrorKind::OutOfOrder`] when its tensors are not in the order of their offsets,
    /// for which there is [`parse_unordered`](Self::parse_unordered).
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub const fn parse(file: &'a [u8]) -> Result<Self, Error> {
        match prove_alone(file) {
            Ok(summary) => Ok(Self::new(Aligned::anywhere(file), summary)),
            Err(error) => Err(error),
        }
    }

    /// As [`parse`](Self::parse), for headers in any order: those in the order of their offsets take one
    /// pass, others one more for every so many slots.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), but for [`ErrorKind::OutOfOrder`] if there is at least one slot.
    pub const fn parse_unordered(file: &'a [u8], slots: &mut [SortSlot]) -> Result<Self, Error> {
        match validate_header(file, slots) {
            Ok(summary) => Ok(Self::new(Aligned::anywhere(file), summary)),
            Err(error) => Err(error),
        }
    }

    /// Proves a file that is linked into the program, in any order. For consts: [`include_model!`](crate::include_model) does
    /// it, and more.
    ///
    /// # Panics
    /// When the file is not sound, which in a const fails the build with the error's sentence. Not for run time.
    pub const fn embed<const ALIGN: usize, const LEN: usize>(file: &'a AlignedFile<ALIGN, LEN>) -> Self
    where
        Align<ALIGN>: Alignment,
    {
        let file = Aligned::file(file);
        Self::new(file, embedded::embed(file, &mut []).summary)
    }

    /// The same view, which looks tensors up in a table instead of the header: all of its own tensors, as
    /// [`tensors`](Self::tensors) gives them. A table of another length is not used.
    ///
    /// *Memory*: 160 bytes a tensor, which are yours.
    pub const fn with_tensors(self, tensors: &'a [Tensor<'a>]) -> Self {
        Self { tensors: if tensors.len() == self.len() { tensors } else { &[] }, links: &[], ..self }
    }

    /// Of a file that is proven.
    #[cfg(all(feature = "std", any(unix, windows)))]
    pub(crate) const fn proven(file: &'a [u8], summary: Summary) -> Self {
        Self::new(Aligned::anywhere(file), summary)
    }

    /// The tensor of an index of this file, whose name is there in the header.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] when it has more dimensions than a [`Shape`](crate::Shape) holds.
    #[cfg(all(feature = "std", any(unix, windows)))]
    pub(crate) fn indexed(&self, tensor: &IndexedTensor<'_>, name_at: u64) -> Result<Tensor<'a>, Error> {
        match tensor.info() {
            Ok(info) => {
                Ok(self.found(&Seen { name: JsonStr::opening_at(self.file(), name_at), info, rank_at: 0 }))
            }
            Err(_) => self.tensor(tensor.name()),
        }
    }

    /// How many tensors there are.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is no tensor.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many tensors there are, where the data begins, how long it is.
    pub const fn summary(&self) -> Summary {
        let (tensors, data_start) = (self.count as u64, self.data_start());
        Summary { tensors, data_start, data_len: self.data_len }
    }

    const fn data_start(&self) -> u64 {
        self.data_start as u64
    }

    /// The whole file.
    pub const fn file(&self) -> &'a [u8] {
        self.file.bytes()
    }

    /// What follows the header.
    pub const fn data(&self) -> &'a [u8] {
        let Some(start) = index_below(self.data_start(), usize::MAX) else { return &[] };
        match self.file().split_at_checked(start) {
            Some((_, data)) => data,
            None => &[],
        }
    }
}

shown!(View<'_>, it => "View {{ summary: {:?}, .. }}", it.summary());

/// Stops the compiler.
const fn fail(message: &Message) -> ! {
    panic!("{}", message.as_str())
}
