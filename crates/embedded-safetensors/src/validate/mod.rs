//! Use this when you need to know whether a file is valid: in one call for a file in memory, or piece by
//! piece as its header arrives.

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

/// The contents that a valid header describes.
///
/// *Memory*: 24 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Summary {
    /// The number of tensors.
    pub tensors: u64,
    /// Where the data begins in the file: 8 + the length of the header.
    pub data_start: u64,
    /// The length of the data, all tensors together.
    pub data_len: u64,
}

/// Validates a file while its header arrives: container, UTF-8, JSON, types, each tensor by itself, all
/// tensors against each other, and the length of the file if it is known. The full verdict also needs
/// [`DuplicateFinder`], which finds duplicate names.
///
/// A header that lists its tensors in the order of their offsets takes one pass and no slots. Any other takes
/// one more pass for every `slots.len()` tensors, and returns [`Progress::Rewind`] before each.
///
/// *Memory*: at most 264 bytes, and the slots. No heap.
///
/// ```
/// use embedded_safetensors::validate::{Progress, Validator};
///
/// # let storage = &include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/network.safetensors"))[..];
/// let mut validator = Validator::new(Some(storage.len() as u64), &mut []);
/// for mut piece in storage.chunks(64) {
///     if validator.push(&mut piece)? == Progress::Done {
///         break;
///     }
/// }
/// assert_eq!(validator.summary().map(|summary| summary.tensors), Some(5));
/// # Ok::<(), embedded_safetensors::Error>(())
/// ```
pub struct Validator<'s> {
    parser: HeaderParser,
    /// The first pass. It is enough if the tensors are listed in the order of their offsets.
    order: InOrder,
    /// 0 if it is not known: an empty file has failed already.
    file_len: u64,
    sorting: Sorting<'s>,
}

impl<'s> Validator<'s> {
    /// Creates a validator for a new file. If the file's length is known, it is validated too: the header
    /// must end inside the file, and the tensors must end with it. A stream's length is `None`. Without slots
    /// only headers in the order of their offsets can be validated.
    #[inline]
    pub const fn new(file_len: Option<u64>, slots: &'s mut [SortSlot]) -> Self {
        let (parser, order) = (HeaderParser::of_tensors(file_len), InOrder::new());
        let file_len = if let Some(file_len) = file_len { file_len } else { 0 };
        Self { parser, order, file_len, sorting: Sorting::new(slots) }
    }

    /// Returns what the header describes, once it is validated.
    pub const fn summary(&self) -> Option<Summary> {
        if self.parser.is_complete() { Some(self.describe()) } else { None }
    }

    /// Returns how many bytes of the file have been consumed in this pass. After an error this may be a few
    /// more than were needed to detect it.
    pub const fn position(&self) -> u64 {
        self.parser.position()
    }

    /// Reads `input`, and moves it past the bytes consumed.
    ///
    /// # Errors
    /// The first error in the file. Every further call returns the same error. [`ErrorKind::OutOfOrder`] when
    /// slots are needed and there are none.
    pub const fn push(&mut self, input: &mut &[u8]) -> Result<Progress, Error> {
        if self.parser.is_complete() {
            return Ok(Progress::Done);
        }
        match self.run(input) {
            Some(progress) => Ok(progress),
            None => Err(self.error()),
        }
    }

    /// Ends the input: the file has no more bytes. Returns `Ok` if the header is complete. For sources whose
    /// length is not known beforehand.
    ///
    /// # Errors
    /// [`ErrorKind::FileTooShort`] or [`ErrorKind::HeaderBeyondFile`]; [`ErrorKind::Changed`] when the
    /// file was longer in an earlier pass; an earlier error is repeated.
    pub const fn end_of_input(&mut self) -> Result<(), Error> {
        match self.parser.end_pass(!self.sorting.has_begun()) {
            Signal::Failed => Err(self.error()),
            _ => Ok(()),
        }
    }

    /// Returns `None` on an error.
    const fn run(&mut self, input: &mut &[u8]) -> Option<Progress> {
        const SELECTED: Signals = Signals::of(&[Signal::TensorEnd]);
        let mut run: &[u8] = &[];
        loop {
            while let Some(entry) = self.parser.take_entry::<false>(input) {
                self.see(entry.place);
            }
            match self.parser.advance::<false>(input, &mut run, SELECTED) {
                Signal::TensorEnd => self.see(self.parser.extent()),
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
            self.order.see(tensor);
        }
    }

    #[inline(never)]
    const fn end_pass(&mut self) -> Option<Progress> {
        let sorted = match self.sorting.has_begun() {
            true => self.sorting.end_pass(self.order.tensors()),
            false if self.order.needs_sorting() && self.sorting.begin() => Sorted::NeedPass,
            false => Sorted::Decided,
        };
        let fault = match sorted {
            Sorted::NeedPass => {
                self.parser = self.parser.rewound();
                return Some(Progress::Rewind);
            }
            Sorted::Decided if self.is_contiguous() && self.ends_with_file() => {
                return Some(Progress::Done);
            }
            Sorted::Decided => Fault::OTHER,
            Sorted::Changed => Fault::Changed,
        };
        let end = low_u32(self.position());
        self.parser.stop(fault, end);
        None
    }

    const fn is_contiguous(&self) -> bool {
        if self.sorting.has_begun() { self.sorting.is_contiguous() } else { self.order.is_contiguous() }
    }

    #[inline(never)]
    const fn error(&self) -> Error {
        match self.parser.fault() {
            Fault::OTHER if self.is_contiguous() => self.describe().length_error(self.file_len),
            Fault::OTHER if self.sorting.has_begun() => self.sorting.error(),
            Fault::OTHER => self.order.error(),
            _ => self.parser.error(),
        }
    }

    const fn describe(&self) -> Summary {
        Summary { tensors: self.order.tensors(), data_start: self.position(), data_len: self.data_len() }
    }

    const fn ends_with_file(&self) -> bool {
        self.file_len == 0 || self.describe().fills(self.file_len)
    }

    const fn data_len(&self) -> u64 {
        if self.sorting.has_begun() { self.sorting.end() } else { self.order.end() }
    }
}

impl Machine for Validator<'_> {
    fn push(&mut self, input: &mut &[u8]) -> Option<Progress> {
        self.run(input)
    }

    fn parser(&mut self) -> &mut HeaderParser {
        &mut self.parser
    }

    fn failure(&mut self) -> Error {
        Validator::error(self)
    }
}

impl Summary {
    /// Returns the length of the file, or `u64::MAX` if it is larger. No file is that long, but a header can
    /// claim it.
    pub const fn file_len(&self) -> u64 {
        self.data_start.saturating_add(self.data_len)
    }

    /// Validates that the tensors end where the file ends.
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

    /// Returns the error for a length that is not the right one.
    pub(crate) const fn length_error(&self, file_len: u64) -> Error {
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

/// Validates a file in memory completely: as [`Validator`] does, including the file's length, and as
/// [`DuplicateFinder`] does, for duplicate names.
///
/// *Memory*: one pass after the other on the stack, less than 1 KiB, the slots (two at least) and the text
/// (one byte at least, better a 64th of the header, see [`DuplicateFinder`]). No heap.
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

/// Validates a file in memory except for duplicate names: as [`Validator`] does, including the file's length.
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
        // The header is inside the file, so the parser cannot need more than all of it.
        None => Err(ErrorKind::Changed.at(file.len() as u64)),
    }
}

/// As [`DuplicateFinder`], for a validated header in memory.
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
