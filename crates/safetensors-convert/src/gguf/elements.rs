//! The elements of a tensor, as safetensors stores them.

use super::Kind;
use super::quants::dequantise;
use crate::source::Piece;
use crate::zip::{Exact, read_full};
use std::io::{self, Read};

/// The most bytes of blocks that are read at a time.
const BATCH: usize = 1 << 15;

/// A tensor in a file.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    pub kind: Kind,
    /// The offset of its first byte.
    pub at: u64,
    pub len: u64,
}

/// Blocks, converted while they are read.
pub struct Blocks<'f> {
    source: Exact<'f>,
    kind: Kind,
    /// The offsets of numbers in each block whose byte order is reversed.
    reversed: &'static [usize],
    is_raw: bool,
    raw: Vec<u8>,
    piece: Piece,
}

impl<'f> Blocks<'f> {
    /// Creates a reader; its numbers are reversed if the file is big-endian.
    pub fn new(source: Exact<'f>, kind: Kind, is_big: bool, is_raw: bool) -> Self {
        let reversed = if is_big { kind.scales().unwrap_or_default() } else { &[] };
        Self { source, kind, reversed, is_raw, raw: Vec::new(), piece: Piece::default() }
    }

    /// Converts the next blocks: none at the end of the tensor.
    fn convert(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let (from, elements) = (size(self.kind.block_bytes()), size(self.kind.block_elements()));
        self.raw.resize(size(self.source.left).min(BATCH / from * from), 0);
        read_full(&mut self.source, &mut self.raw)?;
        for block in self.raw.chunks_exact_mut(from) {
            self.reversed.iter().for_each(|&at| block[at..at + 2].reverse());
        }
        if self.is_raw {
            out.extend(&self.raw);
        } else {
            out.resize(self.raw.len() / from * elements * 4, 0);
            dequantise(self.kind, &self.raw, out);
        }
        Ok(())
    }
}

impl Read for Blocks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut piece = std::mem::take(&mut self.piece);
        let read = piece.read(buffer, |bytes| self.convert(bytes));
        self.piece = piece;
        read
    }
}
