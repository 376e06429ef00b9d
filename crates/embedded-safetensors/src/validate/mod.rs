//! The verdict on a file, in one call for a file in memory or piece by piece as its header arrives.

pub(crate) mod duplicates;
pub(crate) mod order;

pub use crate::header::progress::Progress;
pub use crate::util::top_k::SortSlot;
pub use duplicates::DuplicateFinder;

use crate::error::table::Fault;
use crate::error::{Error, ErrorKind};
use crate::header::progress::Machine;
use crate::header::{HeaderParser, Signal, Signals};
use crate::tensor::info::Extent;
use crate::util::bytes::low_u32;
use crate::validate::order::{InOrder, Sorted, Sorting};
use core::num::NonZeroU64;

/// What a sound header describes.
///
/// *Memory*: 24 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Summary {
    /// How many tensors there are.
    pub tensors: u64,
    /// Where the data begins in the file: 8 + the length of the header.
    pub data_start: u64,
    /// How long the data is, all tensors together.
    pub data_len: u64,
}

/// The first pass over a header: enough where it lists its tensors in the order of their offsets.
struct OrderCheck {
    parser: HeaderParser,
    order: InOrder,
    /// Not zero: a file as short as that has failed.
    file_len: Option<NonZeroU64>,
}

impl OrderCheck {
    #[inline]
    const fn new(file_len: Option<u64>) -> Self {
        let known = match file_len {
            Some(file_len) => NonZeroU64::new(file_len),
            None => None,
        };
        Self { parser: HeaderParser::of_tensors(file_len), order: InOrder::new(), file_len: known }
    }

    /// The header is judged as soon as it is complete.
    const fn is_proven(&self) -> bool {
        self.parser.is_complete()
    }

    const fn described(&self, data_len: u64) -> Summary {
        Summary { tensors: self.order.tensors(), data_start: self.position(), data_len }
    }

    /// As [`Validator::position`].
    const fn position(&self) -> u64 {
        self.parser.position()
    }

    /// As [`Validator::header_len`].
    const fn header_len(&self) -> Option<u64> {
        self.parser.header_len()
    }

    const fn ends_with_file(&self, data_len: u64) -> bool {
        match self.file_len {
            Some(file_len) => self.described(data_len).fills(file_len.get()),
            None => true,
        }
    }

    /// Why it does not.
    const fn length_error(&self, data_len: u64) -> Error {
        let file_len = match self.file_len {
            Some(file_len) => file_len.get(),
            None => 0,
        };
        self.described(data_len).length_error(file_len)
    }
}

/// Judges a file while its header comes by: container, UTF-8, JSON, types, each tensor against itself,
/// all tensors against each other, and the length of the file where it is known. What is missing to
/// the full verdict are names that occur twice: [`DuplicateFinder`].
///
/// A header that lists its tensors in the order of their offsets takes one pass and no slots. Any
/// other takes one pass more for every `slots.len()` tensors, and says [`Progress::Rewind`] before
/// each.
///
/// *Memory*: at most 264 bytes, and the slots. No heap.
pub struct Validator<'s> {
    check: OrderCheck,
    sorting: Sorting<'s>,
}

impl<'s> Validator<'s> {
    /// Stands before byte 0 of a file. Where its length is known it is judged too: the header must
    /// lie in it, and the tensors must end with it. A stream's length is `None`. Without slots only
    /// headers in the order of their offsets can be judged.
    #[inline]
    pub const fn new(file_len: Option<u64>, slots: &'s mut [SortSlot]) -> Self {
        Self { check: OrderCheck::new(file_len), sorting: Sorting::new(slots) }
    }

    /// The same check, but no entry is recognised as a whole. It changes nothing but speed, which tests prove.
    #[doc(hidden)]
    pub const fn by_token(mut self) -> Self {
        self.check.parser = self.check.parser.by_token();
        self
    }

    /// What the header describes, once it is proven.
    pub const fn summary(&self) -> Option<Summary> {
        if self.check.is_proven() { Some(self.check.described(self.data_len())) } else { None }
    }

    /// How many bytes of the file have been consumed in this pass. Behind an error that may be a few more than it took to see it.
    pub const fn position(&self) -> u64 {
        self.check.position()
    }

    /// How long the header is, once its first 8 bytes have been consumed in this pass.
    pub(crate) const fn header_len(&self) -> Option<u64> {
        self.check.header_len()
    }

    /// Reads on, and moves `input` past what it consumed.
    ///
    /// # Errors
    /// The first fault of the file, and the same one again at every further call.
    /// [`ErrorKind::OutOfOrder`] when slots are needed and there are none.
    pub const fn push(&mut self, input: &mut &[u8]) -> Result<Progress, Error> {
        if self.check.is_proven() {
            return Ok(Progress::Done);
        }
        match self.run(input) {
            Some(progress) => Ok(progress),
            None => Err(self.error()),
        }
    }

    /// The error that is due when the file ends where the input ended, or `Ok` when the header is
    /// complete. For sources whose length is not known beforehand.
    ///
    /// # Errors
    /// [`ErrorKind::FileTooShort`] or [`ErrorKind::HeaderBeyondFile`]; [`ErrorKind::Changed`] when the
    /// file was longer in an earlier pass; an earlier error is repeated.
    pub const fn end_of_input(&mut self) -> Result<(), Error> {
        match self.check.parser.end_pass(!self.sorting.has_begun()) {
            Signal::Failed => Err(self.error()),
            _ => Ok(()),
        }
    }

    /// Nothing when there is an error.
    const fn run(&mut self, input: &mut &[u8]) -> Option<Progress> {
        const TOLD: Signals = Signals::of(&[Signal::TensorEnd]);
        let mut run: &[u8] = &[];
        loop {
            while let Some(entry) = self.check.parser.take_entry::<false>(input) {
                self.see(entry.place);
            }
            match self.check.parser.advance::<false>(input, &mut run, TOLD) {
                Signal::TensorEnd => self.see(self.check.parser.extent()),
                Signal::HeaderEnd => return self.end_pass(),
                Signal::Failed => return None,
                _ => return Some(Progress::NeedInput),
            }
        }
    }

    const fn see(&mut self, tensor: Extent) {
        if self.sorting.has_begun() {
            self.sorting.see(tensor);
        } else {
            self.check.order.see(tensor);
        }
    }

    #[inline(never)]
    const fn end_pass(&mut self) -> Option<Progress> {
        let sorted = match self.sorting.has_begun() {
            true => self.sorting.end_pass(self.check.order.tensors()),
            false if self.check.order.needs_sorting() && self.sorting.begin() => Sorted::InPart,
            false => Sorted::Enough,
        };
        let fault = match sorted {
            Sorted::InPart => {
                self.check.parser = self.check.parser.rewound();
                return Some(Progress::Rewind);
            }
            Sorted::Enough if self.lies_end_to_end() && self.check.ends_with_file(self.data_len()) => {
                return Some(Progress::Done);
            }
            Sorted::Enough => Fault::OTHER,
            Sorted::Changed => Fault::Changed,
        };
        let end = low_u32(self.position());
        self.check.parser.stop(fault, end);
        None
    }

    const fn lies_end_to_end(&self) -> bool {
        if self.sorting.has_begun() { self.sorting.is_proven() } else { self.check.order.is_proven() }
    }

    #[inline(never)]
    const fn error(&self) -> Error {
        match self.check.parser.fault() {
            Fault::OTHER if self.lies_end_to_end() => self.check.length_error(self.data_len()),
            Fault::OTHER if self.sorting.has_begun() => self.sorting.error(),
            Fault::OTHER => self.check.order.error(),
            _ => self.check.parser.error(),
        }
    }

    const fn data_len(&self) -> u64 {
        if self.sorting.has_begun() { self.sorting.end() } else { self.check.order.end() }
    }
}

impl Machine for Validator<'_> {
    fn push(&mut self, input: &mut &[u8]) -> Option<Progress> {
        self.run(input)
    }

    fn error(&self) -> Error {
        Validator::error(self)
    }

    fn cut_short(&mut self) {
        self.check.parser.end_pass(!self.sorting.has_begun());
    }

    fn header_len(&self) -> Option<u64> {
        Validator::header_len(self)
    }
}

impl Summary {
    /// How long the file is.
    pub const fn file_len(&self) -> u64 {
        self.data_start.wrapping_add(self.data_len) // cannot wrap: the header has been checked
    }

    /// Checks that the tensors end where the file ends.
    ///
    /// # Errors
    /// [`ErrorKind::DataShort`] or [`ErrorKind::DataTrailing`]; [`ErrorKind::HeaderBeyondFile`] when the
    /// file ends before its data begins.
    pub const fn validate_file_len(&self, file_len: u64) -> Result<(), Error> {
        if self.fills(file_len) { Ok(()) } else { Err(self.length_error(file_len)) }
    }

    const fn fills(&self, file_len: u64) -> bool {
        matches!(file_len.checked_sub(self.data_start), Some(present) if present == self.data_len)
    }

    /// What is wrong with a length that is not the right one.
    const fn length_error(&self, file_len: u64) -> Error {
        let needed = self.data_len;
        match file_len.checked_sub(self.data_start) {
            None => {
                let (length, present) = (self.data_start.saturating_sub(8), file_len.saturating_sub(8));
                ErrorKind::HeaderBeyondFile { length, present }.at(file_len)
            }
            Some(present) if present < needed => ErrorKind::DataShort { needed, present }.at(file_len),
            Some(_) => ErrorKind::DataTrailing { needed }.at(self.data_start.wrapping_add(needed)),
        }
    }
}

/// The full verdict on a file in memory: all that [`Validator`] proves, the file's length included,
/// and that no name occurs twice, as [`DuplicateFinder`] does.
///
/// *Memory*: one check after the other on the stack, less than 1 KiB, the slots (two at least) and
/// the text (one byte at least). No heap.
///
/// # Errors
/// As [`Validator::push`] and [`DuplicateFinder::push`].
///
/// ```
/// use embedded_safetensors::validate::{SortSlot, validate};
///
/// let file = b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ab";
/// let summary = validate(file, &mut [SortSlot::EMPTY; 16], &mut [0; 32])?;
/// assert_eq!((summary.tensors, summary.data_start, summary.data_len), (1, 64, 2));
/// # Ok::<(), embedded_safetensors::Error>(())
/// ```
pub const fn validate(file: &[u8], slots: &mut [SortSlot], text: &mut [u8]) -> Result<Summary, Error> {
    let summary = match validate_header(file, slots) {
        Ok(summary) => summary,
        Err(error) => return Err(error),
    };
    match validate_names(file, [0, 0], slots, text) {
        Ok(()) => Ok(summary),
        Err(error) => Err(error),
    }
}

/// The verdict on a file in memory but for names that occur twice: all that [`Validator`] proves,
/// the file's length included.
///
/// *Memory*: a [`Validator`] on the stack, and the slots, of which none is needed for a header in
/// the order of its offsets. No heap.
///
/// # Errors
/// As [`Validator::push`].
///
/// ```
/// let file = b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ab";
/// assert!(embedded_safetensors::validate::validate_header(file, &mut []).is_ok());
/// ```
pub const fn validate_header(file: &[u8], slots: &mut [SortSlot]) -> Result<Summary, Error> {
    let mut check = Validator::new(Some(file.len() as u64), slots);
    loop {
        let mut input = file;
        match check.push(&mut input) {
            Ok(Progress::Rewind) => {}
            Ok(_) => break,
            Err(error) => return Err(error),
        }
    }
    match check.summary() {
        Some(summary) => Ok(summary),
        // The header lies inside the file, so the parser cannot want more than all of it.
        None => Err(ErrorKind::Changed.at(file.len() as u64)),
    }
}

/// As [`DuplicateFinder`], on a header in memory that is proven.
///
/// # Errors
/// As [`DuplicateFinder::push`].
pub(crate) const fn validate_names(
    file: &[u8],
    key: [u64; 2],
    slots: &mut [SortSlot],
    text: &mut [u8],
) -> Result<(), Error> {
    let mut check = DuplicateFinder::new(key, slots, text).of_proven();
    loop {
        let mut input = file;
        match check.push(&mut input) {
            Ok(Progress::Rewind) => {}
            Ok(Progress::Done) => return Ok(()),
            Ok(Progress::NeedInput) => return check.end_of_input(),
            Err(error) => return Err(error),
        }
    }
}

shown!(Validator<'_>, it => "Validator {{ at: {:?}, summary: {:?} }}", it.position(), it.summary());
