//! The verdict on a file: header, layout and length.

use crate::duplicates::DuplicateCheck;
use crate::error::{Error, ErrorKind};
use crate::header::entry::{Extents, Found};
use crate::layout::{InOrder, LayoutStep, Sorting};
use crate::progress::{Machine, Progress};
use crate::smallest::Slot;

/// What a sound header describes.
///
/// *Memory*: 24 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// How many tensors there are.
    pub tensors: u64,
    /// Where the data begins in the file: 8 + the length of the header.
    pub data_start: u64,
    /// How long the data is, all tensors together.
    pub data_len: u64,
}

/// Judges a file whose header lists its tensors in the order of their offsets while it comes by: all
/// that [`HeaderCheck`] proves, in one pass and without slots.
pub(crate) struct OrderCheck {
    extents: Extents,
    order: InOrder,
    file_len: Option<u64>,
    proven: bool,
}

impl OrderCheck {
    pub(crate) const fn new(file_len: Option<u64>) -> Self {
        Self { extents: Extents::new(), order: InOrder::new(), file_len, proven: false }
    }

    /// As [`HeaderCheck::summary`].
    pub(crate) const fn summary(&self) -> Option<Summary> {
        if self.proven { Some(self.described(self.order.end())) } else { None }
    }

    /// Holds at the end of the last pass.
    const fn described(&self, data_len: u64) -> Summary {
        Summary { tensors: self.order.tensors(), data_start: self.position(), data_len }
    }

    /// As [`HeaderCheck::position`].
    pub(crate) const fn position(&self) -> u64 {
        self.extents.parser().position()
    }

    /// As [`HeaderCheck::header_len`].
    pub(crate) const fn header_len(&self) -> Option<u64> {
        self.extents.parser().header_len()
    }

    /// As [`HeaderCheck::push`], but never asks for another pass: a header out of order is an error.
    pub(crate) const fn push(&mut self, input: &mut &[u8]) -> Result<Progress, Error> {
        if self.proven {
            return Ok(Progress::Done);
        }
        match self.run(input) {
            Ok(progress) => Ok(progress),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// As [`HeaderCheck::end_of_input`].
    pub(crate) const fn end_of_input(&mut self) -> Result<(), Error> {
        self.extents.parser_mut().end_of_input()
    }

    const fn fail(&mut self, error: Error) -> Error {
        self.extents.parser_mut().fail(error)
    }

    const fn run(&mut self, input: &mut &[u8]) -> Result<Progress, Error> {
        loop {
            match self.next(input) {
                Ok(Found::Tensor(tensor)) => self.order.see(tensor),
                Ok(Found::HeaderEnd) => return self.end_pass(),
                Ok(_) => return Ok(Progress::NeedInput),
                Err(error) => return Err(error),
            }
        }
    }

    /// The next tensor, the header's end, or the need for more input.
    const fn next(&mut self, input: &mut &[u8]) -> Result<Found, Error> {
        if let Some(file_len @ 0..8) = self.file_len {
            return Err(ErrorKind::FileTooShort.at(file_len));
        }
        match self.extents.next(input) {
            Ok(Found::Length(length)) => match self.check_header_fits(length) {
                Ok(()) => self.extents.next(input),
                Err(error) => Err(error),
            },
            other => other,
        }
    }

    const fn check_header_fits(&self, length: u64) -> Result<(), Error> {
        match self.file_len {
            Some(file_len) if file_len - 8 < length => {
                Err(ErrorKind::HeaderBeyondFile { length, present: file_len - 8 }.at(file_len))
            }
            _ => Ok(()),
        }
    }

    const fn end_pass(&mut self) -> Result<Progress, Error> {
        match self.order.conclude() {
            Ok(()) => self.check_data_len(self.order.end()),
            Err(error) => Err(error),
        }
    }

    const fn check_data_len(&mut self, data_len: u64) -> Result<Progress, Error> {
        if let Some(file_len) = self.file_len {
            if let Err(error) = self.described(data_len).check_file_len(file_len) {
                return Err(error);
            }
        }
        self.proven = true;
        Ok(Progress::Done)
    }
}

/// Judges a file while its header comes by: container, UTF-8, JSON, types, each tensor against itself,
/// all tensors against each other, and the length of the file where it is known. What is missing to
/// the full verdict are names that occur twice: [`DuplicateCheck`].
///
/// A header that lists its tensors in the order of their offsets takes one pass and no slots. Any
/// other takes one pass more for every `slots.len()` tensors, and says [`Progress::Rewind`] before
/// each.
///
/// *Memory*: at most 336 bytes, and the slots. No heap.
pub struct HeaderCheck<'s> {
    check: OrderCheck,
    sorting: Sorting<'s>,
}

impl<'s> HeaderCheck<'s> {
    /// Stands before byte 0 of a file. Where its length is known it is judged too: the header must
    /// lie in it, and the tensors must end with it. A stream's length is `None`. Without slots only
    /// headers in the order of their offsets can be judged.
    #[inline]
    pub const fn new(file_len: Option<u64>, slots: &'s mut [Slot]) -> Self {
        Self { check: OrderCheck::new(file_len), sorting: Sorting::new(slots) }
    }

    /// What the header describes, once it is proven.
    pub const fn summary(&self) -> Option<Summary> {
        match self.check.summary() {
            Some(summary) if self.sorting.has_begun() => {
                Some(Summary { data_len: self.sorting.end(), ..summary })
            }
            summary => summary,
        }
    }

    /// How many bytes of the file have been consumed in this pass.
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
    ///
    /// # Panics
    /// Never.
    pub const fn push(&mut self, input: &mut &[u8]) -> Result<Progress, Error> {
        if self.sorting.has_begun() && !self.check.proven {
            return self.sort(input);
        }
        match self.check.push(input) {
            Err(Error { kind: ErrorKind::OutOfOrder, .. }) if self.sorting.is_possible() => {
                self.sorting.begin();
                Ok(self.rewind())
            }
            outcome => outcome,
        }
    }

    /// The error that is due when the file ends where the input ended, or `Ok` when the header is
    /// complete. For sources whose length is not known beforehand.
    ///
    /// # Errors
    /// [`ErrorKind::FileTooShort`] or [`ErrorKind::HeaderBeyondFile`]; [`ErrorKind::Changed`] when the
    /// file was longer in an earlier pass; an earlier error is repeated.
    pub const fn end_of_input(&mut self) -> Result<(), Error> {
        self.check.extents.parser_mut().end_of_pass(!self.sorting.has_begun())
    }

    const fn rewind(&mut self) -> Progress {
        self.check.extents = Extents::new();
        Progress::Rewind
    }

    const fn sort(&mut self, input: &mut &[u8]) -> Result<Progress, Error> {
        loop {
            let outcome = match self.check.next(input) {
                Ok(Found::Tensor(tensor)) => {
                    self.sorting.see(tensor);
                    continue;
                }
                Ok(Found::HeaderEnd) => self.end_sorting_pass(),
                Ok(_) => return Ok(Progress::NeedInput),
                Err(error) => Err(error),
            };
            return match outcome {
                Ok(progress) => Ok(progress),
                Err(error) => Err(self.check.fail(error)),
            };
        }
    }

    const fn end_sorting_pass(&mut self) -> Result<Progress, Error> {
        match self.sorting.end_pass(self.check.order.tensors(), self.position()) {
            Ok(LayoutStep::Proven) => self.check.check_data_len(self.sorting.end()),
            Ok(LayoutStep::AnotherPass) => Ok(self.rewind()),
            Err(error) => Err(error),
        }
    }
}

impl Machine for HeaderCheck<'_> {
    fn push(&mut self, input: &mut &[u8]) -> Result<Progress, Error> {
        HeaderCheck::push(self, input)
    }

    fn end_of_input(&mut self) -> Result<(), Error> {
        HeaderCheck::end_of_input(self)
    }

    fn header_len(&self) -> Option<u64> {
        HeaderCheck::header_len(self)
    }
}

impl Machine for OrderCheck {
    fn push(&mut self, input: &mut &[u8]) -> Result<Progress, Error> {
        OrderCheck::push(self, input)
    }

    fn end_of_input(&mut self) -> Result<(), Error> {
        OrderCheck::end_of_input(self)
    }

    fn header_len(&self) -> Option<u64> {
        OrderCheck::header_len(self)
    }
}

impl Summary {
    /// Checks that the tensors end where the file ends.
    ///
    /// # Errors
    /// [`ErrorKind::DataShort`] or [`ErrorKind::DataTrailing`]; [`ErrorKind::HeaderBeyondFile`] when the
    /// file ends before its data begins.
    pub const fn check_file_len(&self, file_len: u64) -> Result<(), Error> {
        let needed = self.data_len;
        let Some(present) = file_len.checked_sub(self.data_start) else {
            let (length, present) = (self.data_start.saturating_sub(8), file_len.saturating_sub(8));
            return Err(ErrorKind::HeaderBeyondFile { length, present }.at(file_len));
        };
        if present < needed {
            return Err(ErrorKind::DataShort { needed, present }.at(file_len));
        }
        if present > needed {
            return Err(ErrorKind::DataTrailing { needed }.at(self.data_start + needed));
        }
        Ok(())
    }
}

/// The full verdict on a file in memory: all that [`HeaderCheck`] proves, the file's length included,
/// and that no name occurs twice, as [`DuplicateCheck`] does.
///
/// *Memory*: one check after the other on the stack, less than 1 KiB, the slots (two at least) and
/// the text (one byte at least). No heap.
///
/// # Errors
/// As [`HeaderCheck::push`] and [`DuplicateCheck::push`].
///
/// ```
/// use embedded_safetensors::{Slot, check};
///
/// let file = b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ab";
/// let summary = check(file, &mut [Slot::EMPTY; 16], &mut [0; 32])?;
/// assert_eq!((summary.tensors, summary.data_start, summary.data_len), (1, 64, 2));
/// # Ok::<(), embedded_safetensors::Error>(())
/// ```
pub const fn check(file: &[u8], slots: &mut [Slot], text: &mut [u8]) -> Result<Summary, Error> {
    let summary = match check_header(file, slots) {
        Ok(summary) => summary,
        Err(error) => return Err(error),
    };
    match check_names(file, slots, text) {
        Ok(()) => Ok(summary),
        Err(error) => Err(error),
    }
}

/// The verdict on a file in memory but for names that occur twice: all that [`HeaderCheck`] proves,
/// the file's length included.
///
/// *Memory*: a [`HeaderCheck`] on the stack, and the slots, of which none is needed for a header in
/// the order of its offsets. No heap.
///
/// # Errors
/// As [`HeaderCheck::push`].
///
/// ```
/// let file = b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ab";
/// assert!(embedded_safetensors::check_header(file, &mut []).is_ok());
/// ```
pub const fn check_header(file: &[u8], slots: &mut [Slot]) -> Result<Summary, Error> {
    let mut check = HeaderCheck::new(Some(file.len() as u64), slots);
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

const fn check_names(file: &[u8], slots: &mut [Slot], text: &mut [u8]) -> Result<(), Error> {
    let mut check = DuplicateCheck::new([0, 0], slots, text);
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

impl core::fmt::Debug for HeaderCheck<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let summary = self.summary();
        f.debug_struct("HeaderCheck").field("at", &self.position()).field("summary", &summary).finish()
    }
}
