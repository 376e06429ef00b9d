//! Passes over a header, watched: whatever reads it again must see what was proven.
//!
//! No input or output happens here. Whoever has a storage, blocking or not, asks how much to read
//! where, and feeds it.

use crate::error::{Class, Error, ErrorKind};
use crate::header::progress::{Machine, Progress};
use crate::index::build::IndexBuilder;
use crate::io::{FileLen, ReadError};
use crate::query::find::Search;
use crate::util::bytes::low_u32;
use crate::util::fingerprint::Fingerprint;
use crate::validate::{Summary, Validator};

/// A header that was proven, and by what it is known again.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Proven {
    hash: u64,
    data_len: u64,
    /// A header ends at byte 100,000,008 at the latest. 0 while no pass has seen it.
    data_start: u32,
    tensors: u32,
}

impl Proven {
    /// Of a header that nobody has seen.
    pub(crate) const NONE: Self = Self { hash: 0, data_len: 0, data_start: 0, tensors: 0 };

    pub(crate) const fn is_known(&self) -> bool {
        self.data_start > 0
    }

    pub(crate) const fn summary(&self) -> Summary {
        let Self { data_start, tensors, data_len, .. } = *self;
        Summary { tensors: tensors as u64, data_start: data_start as u64, data_len }
    }

    /// Keeps what a pass has proven that is over.
    pub(crate) const fn keep(&mut self, summary: Summary) {
        (self.data_len, self.tensors) = (summary.data_len, low_u32(summary.tensors));
    }

    /// As [`keep`](Self::keep), if the data have room in the storage.
    ///
    /// # Errors
    /// What shows when all of the header has been seen; [`ErrorKind::DataShort`].
    pub(crate) fn keep_of(&mut self, machine: &mut impl Prover, file_len: FileLen) -> Result<(), Error> {
        let summary = machine.prove()?;
        check_room(summary, file_len)?;
        self.keep(summary);
        Ok(())
    }
}

/// A machine that proves a header.
pub(crate) trait Prover: Machine {
    /// What it has proven, once it is done.
    ///
    /// # Errors
    /// What shows only when all of the header has been seen.
    fn prove(&mut self) -> Result<Summary, Error>;
}

impl Prover for Search<'_, '_> {
    fn prove(&mut self) -> Result<Summary, Error> {
        self.conclude()?;
        Ok(self.summary())
    }
}

impl Prover for Validator<'_> {
    fn prove(&mut self) -> Result<Summary, Error> {
        self.summary().ok_or(ErrorKind::Changed.at(0))
    }
}

impl Prover for IndexBuilder<'_> {
    fn prove(&mut self) -> Result<Summary, Error> {
        IndexBuilder::prove(self)
    }
}

/// How a pass goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
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
/// It waits on the stack while the machine works. So it is small, and its methods give small results: an error is made
/// by [`end`](Self::end) when the pass is over.
pub(crate) struct Pass<'p> {
    known: &'p mut Proven,
    fingerprint: Fingerprint,
    position: u32,
}

impl<'p> Pass<'p> {
    /// Before byte 0 of a header that is known, or that nobody has seen.
    pub(crate) const fn over(known: &'p mut Proven) -> Self {
        Self { known, fingerprint: Fingerprint::new(), position: 0 }
    }

    /// Where to read next.
    pub(crate) const fn position(&self) -> u64 {
        self.position as u64
    }

    /// The part of the window to read into, so that nothing behind the header is read where its end
    /// is known. Empty where there is none.
    pub(crate) fn room<'w>(&self, machine: &impl Machine, window: &'w mut [u8]) -> &'w mut [u8] {
        let len = window.len().min(self.left(machine));
        window.get_mut(..len).unwrap_or_default()
    }

    /// What is to be read next of a file in memory. Empty at its end.
    pub(crate) fn part<'f>(&self, machine: &impl Machine, file: &'f [u8]) -> &'f [u8] {
        let rest = file.get(self.position as usize..).unwrap_or_default();
        rest.get(..self.left(machine)).unwrap_or(rest)
    }

    /// How many bytes are left to the end of the header, as far as that is known.
    fn left(&self, machine: &impl Machine) -> usize {
        let end = match self.known.data_start {
            0 => machine.header_len().map_or(u32::MAX, |len| low_u32(len + 8)),
            end => end,
        };
        end.saturating_sub(self.position) as usize
    }

    /// Feeds the machine the `len` bytes that were read into `room`, at [`position`](Self::position), which
    /// is 0 again when the machine wants the header once more.
    #[inline] // for it lies between the frames of the caller and the machine
    pub(crate) fn take(&mut self, machine: &mut impl Machine, room: &[u8], len: usize) -> Turn {
        let input = room.get(..len).unwrap_or(room);
        let mut rest = input;
        if input.is_empty() {
            return Turn::EndOfInput;
        }
        let progress = machine.push(&mut rest);
        self.turn(input, rest.len(), progress)
    }

    /// Takes note of `input`, of which the machine has left so much.
    #[inline(never)]
    fn turn(&mut self, input: &[u8], left: usize, progress: Option<Progress>) -> Turn {
        let taken = input.get(..input.len() - left).unwrap_or(input);
        self.fingerprint.push(self.position, taken);
        self.position += low_u32(taken.len() as u64);
        let end = self.known.data_start;
        match progress {
            None => Turn::Failed,
            Some(Progress::NeedInput) if end == 0 || self.position < end => Turn::Read,
            Some(Progress::NeedInput) => Turn::Changed,
            Some(progress) => {
                let (hash, data_start) = (self.fingerprint.finish(self.position), self.position);
                if end > 0 && (hash, data_start) != (self.known.hash, end) {
                    return Turn::Changed;
                }
                (self.known.hash, self.known.data_start) = (hash, data_start);
                (self.fingerprint, self.position) = (Fingerprint::new(), 0);
                if progress == Progress::Done { Turn::Done } else { Turn::Read }
            }
        }
    }

    /// Whether all of the header has come by that an earlier pass saw.
    const fn is_as_known(&self) -> bool {
        self.position == self.known.data_start && self.fingerprint.finish(self.position) == self.known.hash
    }

    /// What a pass came to that is over.
    ///
    /// # Errors
    /// When the machine or the storage was at its end before the header was, or the header is not the one of an earlier
    /// pass.
    #[inline]
    pub(crate) fn end<E>(&self, machine: &mut impl Machine, turn: Turn) -> Result<(), ReadError<E>> {
        match turn {
            Turn::Done => Ok(()),
            Turn::EndOfInput if self.known.is_known() => {
                Err(ReadError::UnexpectedEof { at: self.position() })
            }
            _ => Err(ReadError::Format(self.error(machine, turn))),
        }
    }

    /// Why the pass is over too early.
    #[inline(never)]
    fn error(&self, machine: &mut impl Machine, turn: Turn) -> Error {
        if turn == Turn::EndOfInput {
            machine.cut_short();
        }
        let mut error = machine.error();
        match turn {
            Turn::NoWindow => error = ErrorKind::NoWindow.at(self.position()),
            Turn::Changed => error = ErrorKind::Changed.at(self.position()),
            _ if self.is_change(error.kind) => error.kind = ErrorKind::Changed,
            _ => {}
        }
        error
    }

    /// A header that came to its end without a fault has none, so one that shows one on the way now has
    /// changed. Only names that occur twice are not looked for in every pass. What a machine finds wrong when
    /// it has seen the whole header again, such as a hole that sorting has shown, is the file's.
    fn is_change(&self, kind: ErrorKind) -> bool {
        let is_new =
            !matches!(kind, ErrorKind::NameTwice | ErrorKind::KeyTwice) && kind.class() == Class::File;
        is_new && self.known.is_known() && !self.is_as_known()
    }
}

fn check_room(summary: Summary, file_len: FileLen) -> Result<(), Error> {
    let (len, is_exact) = match file_len {
        FileLen::Exactly(len) => (len, true),
        FileLen::AtMost(len) => (len, false),
        // Longer than what a place in it can be counted with is no file.
        FileLen::Unknown => (u64::MAX, false),
    };
    let (needed, present) = (summary.data_len, len.saturating_sub(summary.data_start));
    if needed > present {
        Err(ErrorKind::DataShort { needed, present }.at(len))
    } else if is_exact && needed < present {
        Err(ErrorKind::DataTrailing { needed }.at(summary.file_len()))
    } else {
        Ok(())
    }
}
