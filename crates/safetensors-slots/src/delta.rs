//! A delta: a model as pieces, each copied from the confirmed model or new.
//!
//! Its file is a safetensors file with one tensor of U8: the SHA-256 of the base, then pieces. A piece is
//! three numbers, and new bytes: where to copy from the base, how many bytes, and how many new bytes follow.
//! The header of the file is skipped: it says nothing that the device needs.

use crate::error::SlotError;
use crate::low_u32;
use crate::state::Applied;

/// The length of a piece without its new bytes.
const PIECE: u8 = 12;

/// How far a delta was applied, and read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delta {
    /// The next byte of its file.
    at: u32,
    /// Where to copy from, how many bytes, and how many new bytes follow.
    piece: [u32; 3],
    /// Where the tensor begins, once the length of the header is known.
    data: u32,
    /// How many bytes of the piece's numbers were read.
    seen: u8,
}

impl Delta {
    /// Goes on after an interruption.
    pub(crate) fn after([at, piece @ ..]: Applied) -> Self {
        Self { at, piece, data: 0, seen: if piece[1..] == [0, 0] { 0 } else { PIECE } }
    }

    /// What to remember.
    pub(crate) fn applied(&self) -> Applied {
        let [from, copy, new] = self.piece;
        [self.at, from, copy, new]
    }

    /// Reads up to the new bytes of a piece, or to something to copy. The base has this length and sum.
    pub(crate) fn read<E>(
        &mut self,
        bytes: &mut &[u8],
        base_len: u32,
        sum: &[u8; 32],
    ) -> Result<(), SlotError<E>> {
        while self.seen < PIECE {
            let at = self.at;
            let skipped = self.data.saturating_sub(at).min(low_u32(bytes.len())) as usize;
            let Some((byte, rest)) = bytes.get(skipped..).unwrap_or_default().split_first() else {
                self.at = at.saturating_add(low_u32(bytes.len()));
                *bytes = &[];
                return Ok(());
            };
            *bytes = rest;
            self.at = at.saturating_add(low_u32(skipped)).saturating_add(1);
            let in_sum = (self.at - 1).wrapping_sub(self.data) as usize;
            match sum.get(in_sum) {
                _ if at < 8 => self.read_length(*byte)?,
                Some(expected) if expected != byte => return Err(SlotError::OtherBase),
                Some(_) => {}
                None => self.read_piece(*byte, base_len)?,
            }
        }
        Ok(())
    }

    /// Takes a byte of the header's length.
    fn read_length<E>(&mut self, byte: u8) -> Result<(), SlotError<E>> {
        self.read_number(self.at > 4, byte);
        let [low, high, _] = self.piece;
        if self.at == 8 {
            self.data = low.checked_add(8).filter(|_| high == 0).ok_or(SlotError::Delta(8))?;
        }
        Ok(())
    }

    /// Takes the next of four bytes in little-endian.
    fn read_number(&mut self, number: impl Into<usize>, byte: u8) {
        if let Some(number) = self.piece.get_mut(number.into()) {
            *number = *number >> 8 | u32::from(byte) << 24;
        }
    }

    /// Takes a byte of the numbers of a piece.
    fn read_piece<E>(&mut self, byte: u8, base_len: u32) -> Result<(), SlotError<E>> {
        self.read_number(self.seen / 4, byte);
        self.seen += 1;
        let [from, copy, new] = self.piece;
        let is_in_base = from.checked_add(copy).is_some_and(|end| end <= base_len);
        let is_possible = if copy > 0 { is_in_base } else { new > 0 };
        if self.seen < PIECE || is_possible { Ok(()) } else { Err(SlotError::Delta(self.at)) }
    }

    /// Returns the next byte of its file.
    pub(crate) fn position(&self) -> u32 {
        self.at
    }

    /// How many bytes are to be copied, and from where.
    pub(crate) fn copy(&self) -> Option<(u32, usize)> {
        let [from, copy, _] = self.piece;
        (self.seen == PIECE && copy > 0).then_some((from, copy as usize))
    }

    /// How many new bytes follow.
    pub(crate) fn new_bytes(&self) -> usize {
        if self.seen == PIECE { self.piece[2] as usize } else { 0 }
    }

    /// Counts bytes that were copied, and new bytes that were taken, if they are of a piece.
    pub(crate) fn advance(&mut self, copied: usize, taken: usize) {
        if self.seen < PIECE {
            return;
        }
        let Self { at, piece: [from, copy, new], .. } = self;
        (*from, *copy) = (from.saturating_add(low_u32(copied)), copy.saturating_sub(low_u32(copied)));
        (*at, *new) = (at.saturating_add(low_u32(taken)), new.saturating_sub(low_u32(taken)));
        if *copy == 0 && *new == 0 {
            self.seen = 0;
        }
    }
}
