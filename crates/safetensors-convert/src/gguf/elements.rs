//! The elements of a tensor, as safetensors stores them.

use super::quants::dequantise;
use super::{Kind, Quantised};
use crate::numbers::Caster;
use crate::zip::{Exact, read_full};
use embedded_safetensors::Dtype;
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
    quantised: Quantised,
    /// The number of bytes of a block, and the number of bytes that it becomes.
    from: usize,
    to: usize,
    /// The bytes of a batch; the F32 that they become if those are not what is returned, and what casts them.
    raw: Vec<u8>,
    singles: Vec<u8>,
    narrower: Option<(Caster, Vec<u8>)>,
    /// What a block became that did not fit the caller's buffer, and how much of it has been returned.
    rest: Vec<u8>,
    given: usize,
}

impl<'f> Blocks<'f> {
    /// Creates a reader; its numbers are reversed if the file is big-endian.
    pub fn new(source: Exact<'f>, kind: Kind, is_big: bool, quantised: Quantised) -> Self {
        let reversed = if is_big { kind.scales().unwrap_or_default() } else { &[] };
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let (from, elements) = (size(kind.block_bytes()), size(kind.block_elements()));
        let to = match quantised {
            Quantised::Raw => from,
            Quantised::F32 => elements * 4,
            Quantised::F16 | Quantised::BF16 => elements * 2,
        };
        let narrower = Caster::new(Dtype::F32, quantised.dtype(), false).map(|caster| (caster, Vec::new()));
        let (raw, singles, rest) = Default::default();
        Self { source, kind, reversed, quantised, from, to, raw, singles, narrower, rest, given: 0 }
    }

    /// Converts the next blocks, at most as many as the buffer has room for, and returns the bytes that they
    /// become: 0 at the end of the tensor.
    fn convert(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = (out.len() / self.to).min(BATCH / self.from) * self.from;
        self.raw.resize(usize::try_from(self.source.left).unwrap_or(usize::MAX).min(most), 0);
        read_full(&mut self.source, &mut self.raw)?;
        if !self.reversed.is_empty() {
            for block in self.raw.chunks_exact_mut(self.from) {
                self.reversed.iter().for_each(|&at| block[at..at + 2].reverse());
            }
        }
        let out = &mut out[..self.raw.len() / self.from * self.to];
        match (self.quantised, &mut self.narrower) {
            (Quantised::Raw, _) => out.copy_from_slice(&self.raw),
            (Quantised::F16 | Quantised::BF16, Some((caster, narrow))) => {
                self.singles.resize(out.len() * 2, 0);
                dequantise(self.kind, &self.raw, &mut self.singles);
                caster.cast(&self.singles, narrow)?;
                out.copy_from_slice(narrow);
            }
            _ => dequantise(self.kind, &self.raw, out),
        }
        Ok(out.len())
    }
}

impl Read for Blocks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.rest.len() && buffer.len() >= self.to {
            return self.convert(buffer);
        }
        if self.given == self.rest.len() && !buffer.is_empty() {
            let mut rest = std::mem::take(&mut self.rest);
            rest.resize(self.to, 0);
            let len = self.convert(&mut rest)?;
            rest.truncate(len);
            (self.rest, self.given) = (rest, 0);
        }
        let rest = self.rest.get(self.given..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        self.given += len;
        Ok(len)
    }
}
