//! Passes over a header, watched: whatever reads it again must see what was proven.
//!
//! No input or output happens here. Whoever has a storage, blocking or not, asks how much to read
//! where, and feeds it. Errors are made at the end, by [`Pass::settle`]: whoever reads headers on a small
//! stack cannot afford room for one in every frame.

use crate::bytes::{index_below, low_u32};
use crate::check::Summary;
use crate::error::{Blame, Error, ErrorKind};
use crate::fingerprint::Fingerprint;
use crate::progress::{Machine, Progress};
use crate::source::{FileLen, ReadError};

/// The current pass of a machine over a header.
pub(crate) struct Pass {
    fingerprint: Fingerprint,
    /// The fingerprint of an earlier pass.
    due: u64,
    /// How many bytes have come by. A header ends at byte 100,000,008 at the latest.
    position: u32,
    /// Where an earlier pass ended; 0 when there was none.
    end: u32,
}

/// What a step of a pass has come to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Read on.
    More,
    /// The machine is done.
    Done,
    /// The machine has failed.
    Failed,
    /// The header is not the one of an earlier pass.
    Changed,
    /// The storage ends here.
    Ended,
    /// The window has no room for a byte.
    NoWindow,
}

impl Pass {
    /// Before byte 0 of a header that nobody has seen.
    pub(crate) const fn first() -> Self {
        Self::again(0, 0)
    }

    /// Before byte 0 of a header that was seen to end at byte `end`, and its fingerprint.
    pub(crate) const fn again(end: u64, due: u64) -> Self {
        Self { fingerprint: Fingerprint::new(), due, position: 0, end: low_u32(end) }
    }

    /// The fingerprint of the header that has been passed.
    pub(crate) const fn seal(&self) -> u64 {
        self.due
    }

    /// Where to read next.
    pub(crate) const fn position(&self) -> u64 {
        self.position as u64
    }

    /// The part of the window to read into, so that nothing behind the header is read where its end
    /// is known.
    pub(crate) fn room<'w>(&self, machine: &impl Machine, window: &'w mut [u8]) -> &'w mut [u8] {
        let end = match (self.end, machine.header_len()) {
            (0, None) => return window,
            (0, Some(len)) => len + 8,
            (end, _) => end.into(),
        };
        let left = end.saturating_sub(self.position());
        let len = index_below(left, window.len()).unwrap_or(window.len());
        window.split_at_mut_checked(len).map_or(&mut [], |(room, _)| room)
    }

    /// Feeds the machine the `len` bytes that were read into `room`, at [`position`](Self::position), which
    /// is 0 again when the machine wants the header once more.
    pub(crate) fn take(&mut self, machine: &mut impl Machine, room: &[u8], len: usize) -> Outcome {
        match room.get(..len).unwrap_or(room) {
            [] if room.is_empty() => Outcome::NoWindow,
            [] => Outcome::Ended,
            input => self.feed(machine, input),
        }
    }

    fn feed(&mut self, machine: &mut impl Machine, input: &[u8]) -> Outcome {
        let mut rest = input;
        let progress = machine.push(&mut rest);
        let (taken, _) = input.split_at_checked(input.len() - rest.len()).unwrap_or((input, rest));
        self.fingerprint.push(self.position, taken);
        self.position += low_u32(taken.len() as u64);
        match progress {
            None => Outcome::Failed,
            Some(Progress::NeedInput) if self.position == self.end => Outcome::Changed,
            Some(Progress::NeedInput) => Outcome::More,
            Some(Progress::Rewind) => self.conclude(Outcome::More),
            Some(Progress::Done) => self.conclude(Outcome::Done),
        }
    }

    /// Compares what has come by with what did before, and stands before byte 0 again.
    #[inline(never)]
    fn conclude(&mut self, outcome: Outcome) -> Outcome {
        if self.end != 0 && !self.is_whole() {
            return Outcome::Changed;
        }
        *self = Self::again(self.position(), self.fingerprint.finish(self.position));
        outcome
    }

    /// Whether what has come by is what came by before.
    fn is_whole(&self) -> bool {
        self.position == self.end && self.fingerprint.finish(self.position) == self.due
    }

    /// The verdict on a pass that has come to an end.
    ///
    /// # Errors
    /// Those of the machine; [`ErrorKind::Changed`] when the header is not the one of an earlier pass;
    /// [`ErrorKind::NoWindow`]; what is wrong when the storage ends too early; those of the storage.
    #[inline]
    pub(crate) fn settle<E>(
        &self,
        machine: &mut impl Machine,
        outcome: Result<Outcome, E>,
    ) -> Result<(), ReadError<E>> {
        match outcome {
            Ok(Outcome::Done) => Ok(()),
            Ok(outcome) => Err(self.error(machine, outcome)),
            Err(error) => Err(ReadError::Source(error)),
        }
    }

    #[cold]
    #[inline(never)]
    fn error<E>(&self, machine: &mut impl Machine, outcome: Outcome) -> ReadError<E> {
        let at = self.position();
        match outcome {
            Outcome::Failed => ReadError::Format(self.judge(machine.error())),
            Outcome::Ended => self.end_of_input(machine),
            Outcome::NoWindow => ReadError::Format(ErrorKind::NoWindow.at(at)),
            _ => ReadError::Format(ErrorKind::Changed.at(at)),
        }
    }

    fn end_of_input<E>(&self, machine: &mut impl Machine) -> ReadError<E> {
        match (self.end, machine.end_of_input()) {
            (0, Err(error)) => ReadError::Format(error),
            _ => ReadError::UnexpectedEof { at: self.position() },
        }
    }

    /// A header that came to its end without a fault has none, so one that shows one on the way now has
    /// changed. Only names that occur twice are not looked for in every pass. What a machine finds wrong when
    /// it has seen the whole header again, such as a hole that sorting has shown, is the file's.
    fn judge(&self, error: Error) -> Error {
        match error.kind {
            ErrorKind::NameTwice | ErrorKind::KeyTwice => error,
            _ if self.end == 0 || self.is_whole() => error,
            kind if kind.blame() == Blame::File => ErrorKind::Changed.at(error.at),
            _ => error,
        }
    }
}

/// What a check that is done has proven, if the data have room in the storage.
///
/// # Errors
/// [`ErrorKind::DataShort`].
pub(crate) fn admit(summary: Option<Summary>, file_len: FileLen) -> Result<Summary, Error> {
    let summary = summary.ok_or(ErrorKind::Changed.at(0))?;
    let len = match file_len {
        FileLen::Exactly(_) => return Ok(summary),
        FileLen::AtMost(len) => len,
        // Longer than what a place in it can be counted with is no file.
        FileLen::Unknown => u64::MAX,
    };
    let (needed, present) = (summary.data_len, len.saturating_sub(summary.data_start));
    if needed > present {
        return Err(ErrorKind::DataShort { needed, present }.at(len));
    }
    Ok(summary)
}
