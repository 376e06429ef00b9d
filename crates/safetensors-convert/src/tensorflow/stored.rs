//! Reads the bytes of a tensor: those of one place, or of the slices of a partitioned variable.

use super::table::masked;
use crate::error::unsound;
use crate::zip::Part;
use std::fs::File;
use std::io::{self, BufReader, Read};

/// The place of some bytes in a checkpoint's files.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The file, counted from 0.
    pub shard: u32,
    /// Their checksum, as it is stored.
    pub crc: u32,
    /// Their offset.
    pub at: u64,
    /// How many they are.
    pub size: u64,
}

impl Place {
    /// Opens the bytes in their file. The last one is returned only if the checksum is right.
    pub fn open(self, file: &File) -> Checked<'_> {
        Checked { source: Part::new(file, self.at, self.size), place: self, left: self.size, crc: 0 }
    }
}

/// Bytes whose checksum is computed while they are read.
pub struct Checked<'f> {
    source: Part<'f>,
    place: Place,
    left: u64,
    crc: u32,
}

impl Checked<'_> {
    fn check_end(&self) -> io::Result<()> {
        if self.left > 0 || masked(self.crc) == self.place.crc {
            return Ok(());
        }
        let Place { shard, at, size, .. } = self.place;
        Err(unsound(format!("the {size} bytes at byte {at} of data file {shard} have a wrong checksum")))
    }
}

impl Read for Checked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 || buffer.is_empty() {
            return Ok(0);
        }
        let len = self.source.read(buffer)?;
        if len == 0 {
            let Place { shard, .. } = self.place;
            return Err(unsound(format!("data file {shard} ends {} bytes too early", self.left)));
        }
        self.crc = crc32c::crc32c_append(self.crc, &buffer[..len]);
        self.left = self.left.saturating_sub(len as u64);
        self.check_end()?;
        Ok(len)
    }
}

/// The bytes of slices along one axis. From each in turn a run of bytes is taken, as often as the axes
/// before that one say.
pub struct Joined<'f> {
    pieces: Vec<Piece<'f>>,
    /// How many runs each piece has left, besides the current ones.
    rounds: u64,
    /// The piece whose run is being read, and how much is left of it.
    current: usize,
    left: u64,
    /// The size of each piece's buffer.
    buffer: usize,
}

struct Piece<'f> {
    file: &'f File,
    place: Place,
    run: u64,
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
    /// Creates a reader of `runs` runs of each of these places.
    pub fn new(places: impl Iterator<Item = (&'f File, Place)>, runs: u64) -> Self {
        // There is nothing to read in a tensor without elements.
        let run = |place: &Place| place.size.checked_div(runs).unwrap_or_default();
        let pieces = places.map(|(file, place)| Piece { file, place, run: run(&place), source: None });
        let pieces: Vec<_> = pieces.collect();
        let buffer = (BUFFERS / pieces.len().max(1)).clamp(BUFFER.1, BUFFER.0);
        let left = pieces.first().map_or(0, |piece| piece.run);
        Self { pieces, rounds: runs.saturating_sub(1), current: 0, left, buffer }
    }

    /// Makes the next piece the current one. Returns false at the end.
    fn advance(&mut self) -> bool {
        // Nothing is left of a piece in the last round.
        if self.rounds == 0 {
            self.pieces[self.current].source = None;
        }
        self.current += 1;
        if self.current == self.pieces.len() {
            if self.rounds == 0 {
                self.current -= 1;
                return false;
            }
            (self.current, self.rounds) = (0, self.rounds - 1);
        }
        self.left = self.pieces[self.current].run;
        true
    }
}

impl Read for Joined<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Without this, rounds without bytes would be counted one by one.
        if buffer.is_empty() || self.pieces.iter().all(|piece| piece.run == 0) {
            return Ok(0);
        }
        while self.left == 0 {
            if !self.advance() {
                return Ok(0);
            }
        }
        let piece = &mut self.pieces[self.current];
        let source = match &mut piece.source {
            Some(source) => source,
            none => {
                let source = BufReader::with_capacity(self.buffer, piece.place.open(piece.file));
                none.insert(Box::new(source))
            }
        };
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let len = source.read(&mut buffer[..most])?;
        self.left -= len as u64;
        Ok(len)
    }
}
