//! Applies limits to a stream of JSON before it is parsed.

use super::error::ShardErrorKind;
use super::limits::ShardLimits;
use std::io::{self, Read};

/// Forwards bytes until a limit is exceeded. Then it reads the rest, to report the value that would be
/// needed, and fails.
pub(super) struct Scan<'l, R> {
    inner: R,
    limits: &'l ShardLimits,
    bytes: u64,
    depth: u64,
    deepest: u64,
    /// The length of the current string.
    text: u64,
    longest: u64,
    state: ScanState,
}

#[derive(Clone, Copy)]
enum ScanState {
    Outside,
    Inside,
    /// After a backslash.
    Escape,
}

impl<'l, R: Read> Scan<'l, R> {
    pub(super) fn new(inner: R, limits: &'l ShardLimits) -> Self {
        let state = ScanState::Outside;
        Self { inner, limits, bytes: 0, depth: 0, deepest: 0, text: 0, longest: 0, state }
    }

    fn observe(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (ScanState::Outside, b'"') => {
                self.text = 0;
                ScanState::Inside
            }
            (ScanState::Outside, b'[' | b'{') => {
                self.depth += 1;
                self.deepest = self.deepest.max(self.depth);
                ScanState::Outside
            }
            (ScanState::Outside, b']' | b'}') => {
                self.depth = self.depth.saturating_sub(1);
                ScanState::Outside
            }
            (ScanState::Outside, _) | (ScanState::Inside, b'"') => ScanState::Outside,
            (inside, _) => {
                self.text += 1;
                self.longest = self.longest.max(self.text);
                if matches!(inside, ScanState::Inside) && byte == b'\\' {
                    ScanState::Escape
                } else {
                    ScanState::Inside
                }
            }
        };
    }

    fn exceeded(&self) -> Option<ShardErrorKind> {
        check("bytes", self.limits.bytes, self.bytes)
            .and_then(|()| check("bytes in one string", self.limits.text, self.longest))
            .and_then(|()| check("levels of arrays and objects", self.limits.depth, self.deepest))
            .err()
    }

    /// Reads from the inner reader, and scans the bytes.
    fn read_inner(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = loop {
            match self.inner.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome?,
            }
        };
        self.bytes = self.bytes.saturating_add(len as u64);
        buffer.iter().take(len).for_each(|&byte| self.observe(byte));
        Ok(len)
    }
}

impl<R: Read> Read for Scan<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.read_inner(buffer)?;
        if self.exceeded().is_none() {
            return Ok(len);
        }
        while self.bytes <= self.limits.bytes && self.read_inner(buffer)? > 0 {}
        match self.exceeded() {
            Some(exceeded) => Err(io::Error::other(exceeded)),
            None => Ok(0),
        }
    }
}

/// Checks a limit on `what`.
pub(super) fn check(what: &'static str, allowed: u64, needed: u64) -> Result<(), ShardErrorKind> {
    if needed > allowed { Err(ShardErrorKind::Limit { what, allowed, needed }) } else { Ok(()) }
}
