//! Passes over a header, watched: whatever reads it again must see what was proven.
//!
//! No input or output happens here. Whoever has a storage, blocking or not, asks how much to read
//! where, and feeds it.

use crate::check::Summary;
use crate::error::{Blame, Error, ErrorKind};
use crate::fingerprint::Fingerprint;
use crate::progress::{Machine, Progress};
use crate::source::{FileLen, ReadError};

/// By what a header is known again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seal {
    /// Where the header ends.
    end: u64,
    hash: u64,
}

/// The current pass of a machine over a header.
pub(crate) struct Pass {
    position: u64,
    fingerprint: Fingerprint,
    /// What an earlier pass saw.
    seal: Option<Seal>,
}

impl Pass {
    /// Before byte 0 of a header that nobody has seen.
    pub(crate) const fn first() -> Self {
        Self { position: 0, fingerprint: Fingerprint::new(), seal: None }
    }

    /// Before byte 0 of a header that has been seen.
    pub(crate) const fn again(seal: Seal) -> Self {
        Self { position: 0, fingerprint: Fingerprint::new(), seal: Some(seal) }
    }

    /// Where to read next.
    pub(crate) const fn position(&self) -> u64 {
        self.position
    }

    /// The part of the window to read into, so that nothing behind the header is read where its end
    /// is known.
    ///
    /// # Errors
    /// [`ErrorKind::NoWindow`].
    pub(crate) fn room<'w>(
        &self,
        machine: &impl Machine,
        window: &'w mut [u8],
    ) -> Result<&'w mut [u8], Error> {
        let end = match self.seal {
            Some(seal) => seal.end,
            None => machine.header_len().map_or(u64::MAX, |len| len + 8),
        };
        let left = usize::try_from(end.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let len = window.len().min(left);
        match window.split_at_mut_checked(len) {
            Some((room, _)) if !room.is_empty() => Ok(room),
            _ => Err(ErrorKind::NoWindow.at(self.position)),
        }
    }

    /// Feeds the machine the `len` bytes that were read into `room`, at [`position`](Self::position), which
    /// is 0 again when the machine wants the header once more. The seal, once it is done.
    ///
    /// # Errors
    /// Those of the machine; [`ErrorKind::Changed`] when the header is not the one of an earlier pass; what
    /// is wrong when the storage ends here, where it gave nothing.
    pub(crate) fn take<E>(
        &mut self,
        machine: &mut impl Machine,
        room: &[u8],
        len: usize,
    ) -> Result<Option<Seal>, ReadError<E>> {
        match room.get(..len).unwrap_or(room) {
            [] => Err(self.end_of_input(machine)),
            input => Ok(self.feed(machine, input)?),
        }
    }

    fn feed(&mut self, machine: &mut impl Machine, input: &[u8]) -> Result<Option<Seal>, Error> {
        let mut rest = input;
        let outcome = machine.push(&mut rest);
        let (taken, _) = input.split_at_checked(input.len() - rest.len()).unwrap_or((input, rest));
        self.fingerprint.push(taken);
        self.position += taken.len() as u64;
        match outcome.map_err(|error| self.judge(error))? {
            Progress::NeedInput if self.seal.is_some_and(|seal| seal.end <= self.position) => {
                Err(ErrorKind::Changed.at(self.position))
            }
            Progress::NeedInput => Ok(None),
            Progress::Rewind => self.end().map(|_| None),
            Progress::Done => self.end().map(Some),
        }
    }

    /// What is wrong when the storage ends at the position.
    fn end_of_input<E>(&self, machine: &mut impl Machine) -> ReadError<E> {
        match (self.seal, machine.end_of_input()) {
            (None, Err(error)) => ReadError::Format(error),
            _ => ReadError::UnexpectedEof { at: self.position },
        }
    }

    fn end(&mut self) -> Result<Seal, Error> {
        let seen = self.seen();
        if self.seal.is_some_and(|seal| seal != seen) {
            return Err(ErrorKind::Changed.at(self.position));
        }
        *self = Self::again(seen);
        Ok(seen)
    }

    /// A header that came to its end without a fault has none, so one that shows one on the way now has
    /// changed. Only names that occur twice are not looked for in every pass. What a machine finds wrong when
    /// it has seen the whole header again, such as a hole that sorting has shown, is the file's.
    fn judge(&self, error: Error) -> Error {
        match (self.seal, error.kind) {
            (None, _) | (_, ErrorKind::NameTwice | ErrorKind::KeyTwice) => error,
            (Some(seal), _) if seal == self.seen() => error,
            (Some(_), kind) if kind.blame() == Blame::File => ErrorKind::Changed.at(error.at),
            _ => error,
        }
    }

    /// What of the header has come by in this pass.
    fn seen(&self) -> Seal {
        Seal { end: self.position, hash: self.fingerprint.finish() }
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
