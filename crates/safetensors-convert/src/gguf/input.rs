//! The structure of a file, read from front to end.

use crate::error::{beyond_limit, unsound, within};
use crate::pages::Pages;
use crate::text::quoted;
use std::fs::File;
use std::io;

/// What is being read, for messages.
#[derive(Clone, Debug)]
pub enum Place {
    Header,
    /// The key with this index.
    Key(u64),
    /// The value of this key.
    Value(String),
    /// The tensor with this index.
    Index(u64),
    /// The tensor with this name.
    Tensor(String),
}

/// A file and the offset up to which it has been read.
pub struct Input<'f> {
    pages: Pages<'f>,
    pub at: u64,
    pub len: u64,
    pub is_big: bool,
    pub place: Place,
}

impl Place {
    /// Returns an error about the file.
    pub fn unsound(&self, reason: impl AsRef<str>) -> io::Error {
        unsound(format!("{}: {}", self.shown(), reason.as_ref()))
    }

    /// Returns an error about a limit.
    pub fn beyond(&self, reason: impl AsRef<str>) -> io::Error {
        beyond_limit(format!("{}: {}", self.shown(), reason.as_ref()))
    }

    fn shown(&self) -> String {
        match self {
            Self::Header => "header".into(),
            Self::Key(index) => format!("metadata key {index}"),
            Self::Value(key) => format!("metadata value {}", quoted(key)),
            Self::Index(index) => format!("tensor {index}"),
            Self::Tensor(name) => format!("tensor {}", quoted(name)),
        }
    }
}

impl<'f> Input<'f> {
    pub fn new(file: &'f File) -> io::Result<Self> {
        let pages = Pages::new(file)?;
        Ok(Self { len: pages.len, pages, at: 0, is_big: false, place: Place::Header })
    }

    /// Returns the number of bytes that have not been read.
    pub fn left(&self) -> u64 {
        self.len - self.at
    }

    fn truncated(&self, needed: u64) -> io::Error {
        let (at, left) = (self.at, self.left());
        self.place.unsound(format!("{needed} bytes needed at byte {at}, but the file has {left} more"))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let needed = buffer.len() as u64;
        if needed > self.left() {
            return Err(self.truncated(needed));
        }
        self.pages.fill(self.at, buffer)?;
        self.at += needed;
        Ok(())
    }

    /// Reads bytes as they are.
    pub fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads an unsigned number of at most 8 bytes.
    pub fn word(&mut self, len: u32) -> io::Result<u64> {
        let mut bytes = [0; 8];
        let own = &mut bytes[..len as usize];
        self.fill(own)?;
        if self.is_big {
            own.reverse();
        }
        Ok(u64::from_le_bytes(bytes))
    }

    pub fn u32(&mut self) -> io::Result<u32> {
        self.word(4).map(|word| u32::try_from(word).unwrap_or(u32::MAX))
    }

    pub fn u64(&mut self) -> io::Result<u64> {
        self.word(8)
    }

    /// Reads the length of a string, which the file has.
    pub fn string_len(&mut self) -> io::Result<u64> {
        match self.u64()? {
            len if len > self.left() => Err(self.truncated(len)),
            len => Ok(len),
        }
    }

    /// Reads a string of this length, which the caller has limited.
    pub fn string(&mut self, len: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(len).map_err(|_| self.truncated(len))?];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads a key or the name of a tensor.
    pub fn name(&mut self) -> io::Result<String> {
        let begin = self.at + 8;
        self.at = begin + self.string_len()?;
        self.pages.text(begin..self.at).map_err(|error| within(&self.place.shown(), error))
    }

    /// Skips bytes that the file has.
    pub fn skip(&mut self, len: u64) -> io::Result<()> {
        if len > self.left() {
            return Err(self.truncated(len));
        }
        self.at += len;
        Ok(())
    }
}
