//! Passes over a header, watched: whatever reads it again must see what was proven.
//!
//! No input or output happens here. Whoever has a storage, blocking or not, asks how much to read
//! where, and feeds it.

use crate::bytes::low_u32;
use crate::check::{HeaderCheck, OrderCheck, Summary};
use crate::error::{Blame, Error, ErrorKind};
use crate::fingerprint::Fingerprint;
use crate::indexing::IndexBuilder;
use crate::progress::{Machine, Progress};
use crate::source::{FileLen, ReadError};

/// A header that was proven, and by what it is known again.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Proven {
    hash: u64,
    data_len: u64,
    /// A header ends at byte 100,000,008 at the latest.
    data_start: u32,
    tensors: u32,
}

impl Proven {
    pub(crate) const fn summary(&self) -> Summary {
        let Self { data_start, tensors, data_len, .. } = *self;
        Summary { tensors: tensors as u64, data_start: data_start as u64, data_len }
    }

    /// Before byte 0 of the same header.
    pub(crate) const fn again(&self) -> Pass {
        Pass { known_hash: self.hash, known_end: self.data_start, ..Pass::first() }
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

impl Prover for OrderCheck {
    fn prove(&mut self) -> Result<Summary, Error> {
        self.summary().ok_or(ErrorKind::Changed.at(0))
    }
}

impl Prover for HeaderCheck<'_> {
    fn prove(&mut self) -> Result<Summary, Error> {
        self.summary().ok_or(ErrorKind::Changed.at(0))
    }
}

impl Prover for IndexBuilder<'_> {
    fn prove(&mut self) -> Result<Summary, Error> {
        IndexBuilder::prove(self)
    }
}

/// What has ended a pass before its end.
pub(crate) enum Halt<E> {
    /// The storage, by this error.
    Source(E),
    /// Something else.
    Pass(Stop),
}

impl<E> From<Stop> for Halt<E> {
    fn from(stop: Stop) -> Self {
        Self::Pass(stop)
    }
}

/// Why a pass cannot go on.
#[derive(Clone, Copy)]
pub(crate) enum Stop {
    NoWindow,
    EndOfInput,
    Changed,
    Machine,
}

/// The current pass of a machine over a header.
///
/// It waits on the stack while the machine works. So it is small, and its methods give small results: an error is made
/// by [`fail`](Self::fail) when the pass is over.
pub(crate) struct Pass {
    fingerprint: Fingerprint,
    /// Of the header that an earlier pass saw.
    known_hash: u64,
    /// Where that ends; 0 when there was none.
    known_end: u32,
    position: u32,
}

impl Pass {
    /// Before byte 0 of a header that nobody has seen.
    pub(crate) const fn first() -> Self {
        Self { fingerprint: Fingerprint::new(), known_hash: 0, known_end: 0, position: 0 }
    }

    /// Where to read next.
    pub(crate) const fn position(&self) -> u64 {
        self.position as u64
    }

    /// The part of the window to read into, so that nothing behind the header is read where its end
    /// is known.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn room<'w>(
        &self,
        machine: &impl Machine,
        window: &'w mut [u8],
    ) -> Result<&'w mut [u8], Stop> {
        let end = match self.known_end {
            0 => machine.header_len().map_or(u32::MAX, |len| low_u32(len + 8)),
            end => end,
        };
        let len = window.len().min(end.saturating_sub(self.position) as usize);
        match window.get_mut(..len) {
            Some(room @ [_, ..]) => Ok(room),
            _ => Err(Stop::NoWindow),
        }
    }

    /// Feeds the machine the `len` bytes that were read into `room`, at [`position`](Self::position), which
    /// is 0 again when the machine wants the header once more. Whether it is done.
    ///
    /// # Errors
    /// When the machine or the storage is at its end before the header is, or the header is not the one of an earlier
    /// pass.
    pub(crate) fn take(&mut self, machine: &mut impl Machine, room: &[u8], len: usize) -> Result<bool, Stop> {
        let input = room.get(..len).unwrap_or(room);
        if input.is_empty() {
            return Err(Stop::EndOfInput);
        }
        let mut rest = input;
        let progress = machine.push(&mut rest);
        let (taken, _) = input.split_at_checked(input.len() - rest.len()).unwrap_or((input, rest));
        self.fingerprint.push(self.position, taken);
        self.position += low_u32(taken.len() as u64);
        match progress.ok_or(Stop::Machine)? {
            Progress::NeedInput if self.is_again() && self.position >= self.known_end => Err(Stop::Changed),
            Progress::NeedInput => Ok(false),
            Progress::Rewind => self.end().map(|()| false),
            Progress::Done => self.end().map(|()| true),
        }
    }

    fn end(&mut self) -> Result<(), Stop> {
        if self.is_again() && !self.is_as_known() {
            return Err(Stop::Changed);
        }
        let (known_hash, known_end) = (self.fingerprint.finish(self.position), self.position);
        *self = Self { known_hash, known_end, ..Self::first() };
        Ok(())
    }

    /// Whether an earlier pass has seen the header.
    const fn is_again(&self) -> bool {
        self.known_end > 0
    }

    /// Whether all of the header has come by that an earlier pass saw.
    const fn is_as_known(&self) -> bool {
        self.position == self.known_end && self.fingerprint.finish(self.position) == self.known_hash
    }

    /// What the machine has proven, if the data have room in the storage.
    ///
    /// # Errors
    /// What shows when all of the header has been seen; [`ErrorKind::DataShort`].
    pub(crate) fn prove(&self, machine: &mut impl Prover, file_len: FileLen) -> Result<Proven, Error> {
        let summary = machine.prove()?;
        check_room(summary, file_len)?;
        let Summary { tensors, data_len, .. } = summary;
        Ok(Proven { hash: self.known_hash, data_len, data_start: self.known_end, tensors: low_u32(tensors) })
    }

    /// What a pass that is over has proven, or why it is over too early.
    ///
    /// # Errors
    /// As [`prove`](Self::prove) and [`fail`](Self::fail).
    #[cfg(feature = "embedded-io-async")]
    pub(crate) fn conclude<E>(
        &self,
        machine: &mut impl Prover,
        outcome: Result<(), Halt<E>>,
        file_len: FileLen,
    ) -> Result<Proven, ReadError<E>> {
        match outcome {
            Ok(()) => Ok(self.prove(machine, file_len)?),
            Err(halt) => self.fail(machine, halt),
        }
    }

    /// Why the pass did not come to its end.
    #[inline(never)]
    pub(crate) fn fail<T, E>(&self, machine: &mut impl Machine, halt: Halt<E>) -> Result<T, ReadError<E>> {
        match halt {
            Halt::Source(error) => Err(ReadError::Source(error)),
            Halt::Pass(Stop::NoWindow) => Err(ErrorKind::NoWindow.at(self.position()).into()),
            Halt::Pass(Stop::Changed) => Err(ErrorKind::Changed.at(self.position()).into()),
            Halt::Pass(Stop::Machine) if self.is_change(machine.error().kind) => {
                Err(ErrorKind::Changed.at(machine.error().at).into())
            }
            Halt::Pass(Stop::Machine) => Err(machine.error().into()),
            Halt::Pass(Stop::EndOfInput) => match machine.end_of_input() {
                Err(error) if !self.is_again() => Err(error.into()),
                _ => Err(ReadError::UnexpectedEof { at: self.position() }),
            },
        }
    }

    /// A header that came to its end without a fault has none, so one that shows one on the way now has
    /// changed. Only names that occur twice are not looked for in every pass. What a machine finds wrong when
    /// it has seen the whole header again, such as a hole that sorting has shown, is the file's.
    #[inline(never)]
    fn is_change(&self, kind: ErrorKind) -> bool {
        let is_new =
            !matches!(kind, ErrorKind::NameTwice | ErrorKind::KeyTwice) && kind.blame() == Blame::File;
        is_new && self.is_again() && !self.is_as_known()
    }
}

fn check_room(summary: Summary, file_len: FileLen) -> Result<(), Error> {
    let len = match file_len {
        FileLen::Exactly(_) => return Ok(()),
        FileLen::AtMost(len) => len,
        // Longer than what a place in it can be counted with is no file.
        FileLen::Unknown => u64::MAX,
    };
    let (needed, present) = (summary.data_len, len.saturating_sub(summary.data_start));
    if needed > present { Err(ErrorKind::DataShort { needed, present }.at(len)) } else { Ok(()) }
}
