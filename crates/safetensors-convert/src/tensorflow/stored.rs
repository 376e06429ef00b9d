//! Reads the bytes of a tensor: those of one place, or of the slices of a partitioned variable.

use super::table::masked;
use crate::error::ensure;
use crate::zip::Part;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Read};

/// The place of some bytes in a checkpoint's files: the number of the file from 0, their checksum as it is
/// stored, their offset, and their number.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub shard: u32,
    pub crc: u32,
    pub at: u64,
    pub size: u64,
}

/// Bytes whose checksum is computed while they are read. The last one is returned only if it is right.
struct Checked<'f> {
    source: Part<'f>,
    place: Place,
    left: u64,
    crc: u32,
}

impl Read for Checked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 || buffer.is_empty() {
            return Ok(0);
        }
        let Place { shard, crc, at, size } = self.place;
        let len = self.source.read(buffer)?;
        ensure(len > 0, || format!("data file {shard} ends {} bytes too early", self.left))?;
        self.crc = crc32c::crc32c_append(self.crc, &buffer[..len]);
        self.left = self.left.saturating_sub(len as u64);
        ensure(self.left > 0 || masked(self.crc) == crc, || {
            format!("the {size} bytes at byte {at} of data file {shard} have a wrong checksum")
        })?;
        Ok(len)
    }
}

/// The bytes of a tensor: those of one place, or of slices along one axis. From each in turn a run of bytes
/// is taken, as often as the axes before that one say.
pub struct Joined<'f> {
    /// The pieces that have runs left, in the order of these.
    pieces: VecDeque<Piece<'f>>,
    /// The size of each piece's buffer.
    buffer: usize,
}

struct Piece<'f> {
    file: &'f File,
    place: Place,
    /// The length of a run, and how much is left of the next one.
    run: u64,
    left: u64,
    /// How many runs are left.
    runs: u64,
    /// It is open from its first run to its last.
    source: Option<Box<BufReader<Checked<'f>>>>,
}

/// The memory for the buffers of all pieces.
const BUFFERS: usize = 16 << 20;
/// The largest and the smallest buffer of a piece.
const BUFFER: (usize, usize) = (1 << 16, 1 << 12);
/// The most pieces that are read in turn.
pub const MOST_PIECES: usize = BUFFERS / BUFFER.1;

impl<'f> Joined<'f> {
    /// Creates a reader of `runs` runs of each of these places, which have bytes.
    pub fn new(places: impl Iterator<Item = (&'f File, Place)>, runs: u64) -> Self {
        let piece = |(file, place): (_, Place)| {
            let run = place.size.checked_div(runs).unwrap_or_default();
            Piece { file, place, run, left: run, runs, source: None }
        };
        let pieces: VecDeque<_> = places.map(piece).collect();
        let buffer = (BUFFERS / pieces.len().max(1)).clamp(BUFFER.1, BUFFER.0);
        Self { pieces, buffer }
    }
}

impl Read for Joined<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(piece) = self.pieces.front_mut() else { return Ok(0) };
        let open = || {
            let (place, left) = (piece.place, piece.place.size);
            let source = Checked { source: Part::new(piece.file, place.at, left), place, left, crc: 0 };
            Box::new(BufReader::with_capacity(self.buffer, source))
        };
        let most = usize::try_from(piece.left).unwrap_or(usize::MAX).min(buffer.len());
        let len = piece.source.get_or_insert_with(open).read(&mut buffer[..most])?;
        piece.left -= len as u64;
        if piece.left == 0
            && let Some(mut piece) = self.pieces.pop_front().filter(|piece| piece.runs > 1)
        {
            (piece.left, piece.runs) = (piece.run, piece.runs - 1);
            self.pieces.push_back(piece);
        }
        Ok(len)
    }
}
