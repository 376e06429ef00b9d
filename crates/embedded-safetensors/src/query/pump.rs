//! Passes over a header. Every later pass must see the header that the first pass validated.
//!
//! Nothing here does I/O. The caller, blocking or not, asks how many bytes to read at which offset, and
//! passes them on.

use crate::error::{Class, Error, ErrorKind};
use crate::header::progress::{Machine, Progress};
use crate::index::build::IndexBuilder;
use crate::io::ReadError;
use crate::query::find::{Search, end_lookup};
use crate::tensor::span::Data;
use crate::util::bytes::low_u32;
use crate::util::fingerprint::Fingerprint;
use crate::validate::{Summary, Validator};

/// The result of validating a header, with a fingerprint to recognise it by.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct ValidHeader {
    hash: u64,
    data_len: u64,
    /// A header ends at byte 100,000,008 at the latest. 0 before the first pass.
    data_start: u32,
    tensors: u32,
}

impl ValidHeader {
    /// No header has been validated yet.
    pub(crate) const NONE: Self = Self { hash: 0, data_len: 0, data_start: 0, tensors: 0 };

    pub(crate) const fn is_known(&self) -> bool {
        self.data_start > 0
    }

    pub(crate) const fn summary(&self) -> Summary {
        let Self { data_start, tensors, data_len, .. } = *self;
        Summary { tensors: tensors as u64, data_start: data_start as u64, data_len }
    }

    /// Returns where the data is.
    pub(crate) const fn data(&self) -> Data {
        Data { start: self.data_start as u64, len: self.data_len, header: low_u32(self.hash) | 1 }
    }

    /// Stores the summary that a completed pass has validated.
    pub(crate) const fn set_summary(&mut self, summary: Summary) {
        (self.data_len, self.tensors) = (summary.data_len, low_u32(summary.tensors));
    }

    /// As [`set_summary`](Self::set_summary), if the data fits into the storage.
    ///
    /// # Errors
    /// Errors that show only at the end of the header; [`ErrorKind::DataShort`].
    pub(crate) fn accept(
        &mut self,
        machine: &mut impl HeaderValidator,
        file_len: (u64, bool),
    ) -> Result<(), Error> {
        let summary = machine.validated_summary()?;
        check_file_len(summary, file_len)?;
        self.set_summary(summary);
        Ok(())
    }
}

/// A machine that validates a header.
pub(crate) trait HeaderValidator: Machine {
    /// Returns the summary of the header, once it is complete.
    ///
    /// # Errors
    /// Errors that show only at the end of the header.
    fn validated_summary(&mut self) -> Result<Summary, Error>;
}

impl HeaderValidator for Search<'_, '_> {
    fn validated_summary(&mut self) -> Result<Summary, Error> {
        self.lookup.conclude()?;
        Ok(self.lookup.summary())
    }
}

impl HeaderValidator for Validator<'_> {
    fn validated_summary(&mut self) -> Result<Summary, Error> {
        self.summary().ok_or(ErrorKind::Changed.at(0))
    }
}

impl HeaderValidator for IndexBuilder<'_> {
    fn validated_summary(&mut self) -> Result<Summary, Error> {
        IndexBuilder::prove(self)
    }
}

/// The state of a pass after a read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Read,
    Done,
    NoWindow,
    EndOfInput,
    Changed,
    /// The machine has failed.
    Failed,
}

/// The current pass of a machine over a header.
///
/// It stays on the stack while the machine runs, so it is small and its methods return small results. The
/// error is built by [`end`](Self::end), when the pass is over.
pub(crate) struct Pass<'p> {
    known: &'p mut ValidHeader,
    fingerprint: Fingerprint,
    position: u32,
}

impl<'p> Pass<'p> {
    /// Starts at byte 0 of a header, whether or not it is known.
    pub(crate) const fn over(known: &'p mut ValidHeader) -> Self {
        Self { known, fingerprint: Fingerprint::new(), position: 0 }
    }

    /// The offset to read at next.
    pub(crate) const fn position(&self) -> u64 {
        self.position as u64
    }

    /// The part of the window to read into. It is limited so that no byte after a known end of the header
    /// is read. Empty if no byte can be read.
    pub(crate) fn room<'w>(&self, machine: &mut impl Machine, window: &'w mut [u8]) -> &'w mut [u8] {
        let len = window.len().min(self.left(machine));
        window.get_mut(..len).unwrap_or_default()
    }

    /// The next part of a file in memory. Empty at its end.
    pub(crate) fn part<'f>(&self, machine: &mut impl Machine, file: &'f [u8]) -> &'f [u8] {
        let rest = file.get(self.position as usize..).unwrap_or_default();
        rest.get(..self.left(machine)).unwrap_or(rest)
    }

    /// How many bytes are left in the header, as far as that is known.
    fn left(&self, machine: &mut impl Machine) -> usize {
        let end = match self.known.data_start {
            0 => machine.parser().header_len().map_or(u32::MAX, |len| low_u32(len + 8)),
            end => end,
        };
        end.saturating_sub(self.position) as usize
    }

    /// Feeds the machine the `len` bytes that were read into `room`, at [`position`](Self::position). The
    /// position is 0 again when the machine needs another pass.
    #[inline] // keeps a stack frame out of the path from the caller to the machine
    pub(crate) fn take(&mut self, machine: &mut impl Machine, room: &[u8], len: usize) -> Step {
        let input = room.get(..len).unwrap_or(room); // the count has been checked
        let mut rest = input;
        if input.is_empty() {
            return Step::EndOfInput;
        }
        let progress = machine.push(&mut rest);
        self.account(input, rest.len(), progress)
    }

    /// Accounts for `input`, of which the machine has left `left` bytes unread.
    #[inline(never)]
    fn account(&mut self, input: &[u8], left: usize, progress: Option<Progress>) -> Step {
        let taken = input.get(..input.len() - left).unwrap_or(input);
        self.fingerprint.push(self.position, taken);
        self.position += low_u32(taken.len() as u64);
        let end = self.known.data_start;
        match progress {
            None => Step::Failed,
            Some(Progress::NeedInput) if end == 0 || self.position < end => Step::Read,
            Some(Progress::NeedInput) => Step::Changed,
            Some(progress) => {
                let (hash, data_start) = (self.fingerprint.finish(self.position), self.position);
                if end > 0 && (hash, data_start) != (self.known.hash, end) {
                    return Step::Changed;
                }
                (self.known.hash, self.known.data_start) = (hash, data_start);
                (self.fingerprint, self.position) = (Fingerprint::new(), 0);
                if progress == Progress::Done { Step::Done } else { Step::Read }
            }
        }
    }

    /// Whether this pass has seen the same header as an earlier pass, completely.
    const fn matches_known(&self) -> bool {
        self.position == self.known.data_start && self.fingerprint.finish(self.position) == self.known.hash
    }

    /// Returns the result of a pass that is over.
    ///
    /// # Errors
    /// When the machine failed, the storage ended before the header did, or the header differs from that of
    /// an earlier pass.
    #[inline]
    pub(crate) fn end<E>(&self, machine: &mut impl Machine, step: Step) -> Result<(), ReadError<E>> {
        match step {
            Step::Done => Ok(()),
            Step::EndOfInput if self.known.is_known() => {
                Err(ReadError::UnexpectedEof { at: self.position() })
            }
            _ => Err(ReadError::Format(self.error(machine, step))),
        }
    }

    /// Returns the result of a lookup that is over, and of the validation of the header if it was the first.
    ///
    /// # Errors
    /// As [`end`](Self::end), [`ValidHeader::accept`] and [`end_lookup`].
    #[inline(never)] // keeps the stack of errors out of the pass
    pub(crate) fn end_search<E>(
        &mut self,
        search: &mut Search<'_, '_>,
        step: Step,
        file_len: (u64, bool),
    ) -> Result<(), ReadError<E>> {
        if step != Step::Done {
            return self.end(search, step);
        }
        if !search.lookup.skims {
            self.known.accept(search, file_len)?;
        }
        let Data { start, header, .. } = self.known.data();
        end_lookup(search.queries, header, start)
    }

    /// Why the pass has ended too early.
    #[inline(never)]
    fn error(&self, machine: &mut impl Machine, step: Step) -> Error {
        match step {
            Step::NoWindow => return ErrorKind::NoWindow.at(self.position()),
            Step::Changed => return ErrorKind::Changed.at(self.position()),
            Step::EndOfInput => machine.cut_short(),
            Step::Read | Step::Done | Step::Failed => {}
        }
        let mut error = machine.failure();
        if self.is_change(error.kind) {
            error.kind = ErrorKind::Changed;
        }
        error
    }

    /// An earlier pass found no error in the header, so an error that a later pass finds before the end
    /// means that the header has changed. Duplicates are the exception, since not every pass looks for
    /// them. An error that a machine finds only at the end of the same header, such as a gap that sorting
    /// reveals, is an error in the file.
    fn is_change(&self, kind: ErrorKind) -> bool {
        let is_new = !matches!(kind, ErrorKind::DuplicateName | ErrorKind::DuplicateKey)
            && kind.class() == Class::File;
        is_new && self.known.is_known() && !self.matches_known()
    }
}

fn check_file_len(summary: Summary, (len, is_exact): (u64, bool)) -> Result<(), Error> {
    let (needed, present) = (summary.data_len, len.saturating_sub(summary.data_start));
    if needed > present {
        Err(ErrorKind::DataShort { needed, present }.at(len))
    } else if needed < present && is_exact {
        // The sum is smaller than the length of the file.
        Err(ErrorKind::DataTrailing { needed }.at(summary.data_start.wrapping_add(needed)))
    } else {
        Ok(())
    }
}
