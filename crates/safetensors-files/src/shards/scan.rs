//! JSON as it comes by, bounded before anything is kept of it.

use super::error::ShardErrorKind;
use super::limits::{ShardLimit, ShardLimits};
use core::fmt;
use std::io::{self, Read};

/// Passes bytes on as long as no limit is exceeded. Then it looks through all that is left, to say what would have been enough, and fails.
pub(super) struct Scan<'l, R> {
    inner: R,
    limits: &'l ShardLimits,
    bytes: u64,
    depth: u64,
    deepest: u64,
    /// Of the text that the scan is in.
    text: u64,
    longest: u64,
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    Outside,
    Inside,
    /// Behind a backslash.
    Escape,
}

/// A limit, on its way through others' errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exceeded {
    limit: ShardLimit,
    allowed: u64,
    needed: u64,
}

impl<'l, R: Read> Scan<'l, R> {
    pub(super) fn new(inner: R, limits: &'l ShardLimits) -> Self {
        let place = Place::Outside;
        Self { inner, limits, bytes: 0, depth: 0, deepest: 0, text: 0, longest: 0, place }
    }

    fn see(&mut self, byte: u8) {
        self.place = match (self.place, byte) {
            (Place::Outside, b'"') => {
                self.text = 0;
                Place::Inside
            }
            (Place::Outside, b'[' | b'{') => {
                self.depth += 1;
                self.deepest = self.deepest.max(self.depth);
                Place::Outside
            }
            (Place::Outside, b']' | b'}') => {
                self.depth = self.depth.saturating_sub(1);
                Place::Outside
            }
            (Place::Outside, _) | (Place::Inside, b'"') => Place::Outside,
            (inside, _) => {
                self.text += 1;
                self.longest = self.longest.max(self.text);
                if matches!(inside, Place::Inside) && byte == b'\\' { Place::Escape } else { Place::Inside }
            }
        };
    }

    fn exceeded(&self) -> Option<Exceeded> {
        let found = [
            (ShardLimit::Bytes, self.bytes),
            (ShardLimit::Text, self.longest),
            (ShardLimit::Depth, self.deepest),
        ];
        let mut found = found.into_iter().map(|(limit, needed)| Exceeded::of(limit, self.limits, needed));
        found.find_map(Result::err)
    }

    /// What is left of one call of the reader.
    fn pull(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = loop {
            match self.inner.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome?,
            }
        };
        self.bytes = self.bytes.saturating_add(len as u64);
        buffer.iter().take(len).for_each(|&byte| self.see(byte));
        Ok(len)
    }
}

impl<R: Read> Read for Scan<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.pull(buffer)?;
        if self.exceeded().is_none() {
            return Ok(len);
        }
        while self.bytes <= self.limits.bytes && self.pull(buffer)? > 0 {}
        match self.exceeded() {
            Some(exceeded) => Err(io::Error::other(exceeded)),
            None => Ok(0),
        }
    }
}

impl Exceeded {
    /// # Errors
    /// When it is.
    pub(super) fn of(limit: ShardLimit, limits: &ShardLimits, needed: u64) -> Result<(), Self> {
        let allowed = limit.of(limits);
        if needed > allowed { Err(Self { limit, allowed, needed }) } else { Ok(()) }
    }
}

impl From<Exceeded> for ShardErrorKind {
    fn from(exceeded: Exceeded) -> Self {
        let Exceeded { limit, allowed, needed } = exceeded;
        Self::Limit { limit, allowed, needed }
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ShardErrorKind::from(*self).fmt(f)
    }
}

impl core::error::Error for Exceeded {}
