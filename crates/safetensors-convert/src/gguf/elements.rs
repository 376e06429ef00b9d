//! The elements of a tensor, as safetensors stores them.

use super::Kind;
use super::quants::dequantise;
use crate::source::pieces;
use crate::zip::{Exact, read_full};
use std::io::Read;

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

/// Returns a reader of blocks that are converted while they are read; their numbers are reversed if the
/// file is big-endian.
pub fn blocks(mut source: Exact<'_>, kind: Kind, is_big: bool, is_raw: bool) -> impl Read {
    // The offsets of numbers in each block whose byte order is reversed.
    let reversed: &[usize] = if is_big { kind.scales().unwrap_or_default() } else { &[] };
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let (from, elements) = (size(kind.block_bytes()), size(kind.block_elements()));
    let mut raw = Vec::new();
    pieces(move |out| {
        raw.resize(size(source.left).min(BATCH / from * from), 0);
        read_full(&mut source, &mut raw)?;
        for block in raw.chunks_exact_mut(from) {
            reversed.iter().for_each(|&at| block[at..at + 2].reverse());
        }
        if is_raw {
            out.extend(&raw);
        } else {
            out.resize(raw.len() / from * elements * 4, 0);
            dequantise(kind, &raw, out);
        }
        Ok(())
    })
}
