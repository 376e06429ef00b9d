//! Reads the bytes of an archive's entry: unpacks them, and checks their length and checksum.

use super::directory::Entry;
use super::part::Part;
use crate::error::{ensure, unsound};
use crate::text::quoted;
use flate2::CrcReader;
use flate2::bufread::DeflateDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read};

/// Where the bytes of an entry are, and what they must be.
#[derive(Clone, Copy, Debug)]
pub struct Contents {
    /// Whether they are deflated; otherwise they are stored.
    pub is_deflated: bool,
    /// The CRC-32 of the unpacked bytes.
    pub crc: u32,
    /// The size in the archive.
    pub packed: u64,
    /// The unpacked size.
    pub unpacked: u64,
    /// The offset of the bytes.
    pub at: u64,
}

/// Opens an entry. Its last byte is returned only if all bytes match the archive's length and checksum.
pub fn open_entry<'f>(file: &'f File, entry: &Entry) -> impl Read + use<'f> {
    open_contents(file, entry.name.clone(), entry.contents)
}

/// Opens the contents of an entry with this name, as [`open_entry`] does.
pub fn open_contents<'f>(file: &'f File, name: String, contents: Contents) -> impl Read + use<'f> {
    let Contents { is_deflated, crc, packed, unpacked: left, at } = contents;
    Checked { source: CrcReader::new(unchecked(file, at, packed, is_deflated)), name, left, crc }
}

/// Opens bytes of a file that are deflated or stored, and does not check them.
pub(super) fn unchecked(file: &File, at: u64, packed: u64, is_deflated: bool) -> Box<dyn Read + Send + '_> {
    let part = Part::new(file, at, packed);
    match is_deflated {
        true => Box::new(DeflateDecoder::new(BufReader::with_capacity(1 << 16, part))),
        false => Box::new(part),
    }
}

struct Checked<'f> {
    source: CrcReader<Box<dyn Read + Send + 'f>>,
    name: String,
    left: u64,
    crc: u32,
}

impl Read for Checked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 || buffer.is_empty() {
            return Ok(0);
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let len = self.source.read(&mut buffer[..most]).map_err(|error| self.broken(error))?;
        ensure(len > 0, || format!("entry {} ends {} bytes too early", quoted(&self.name), self.left))?;
        self.left -= len as u64;
        if self.left == 0 {
            self.check_end()?;
        }
        Ok(len)
    }
}

impl Checked<'_> {
    fn check_end(&mut self) -> io::Result<()> {
        let name = quoted(&self.name);
        let more = self.source.read(&mut [0]).map_err(|error| self.broken(error))?;
        ensure(more == 0, || format!("entry {name} unpacks to more bytes than the archive states"))?;
        ensure(self.source.crc().sum() == self.crc, || {
            format!("the checksum of entry {name} is not the one in the archive")
        })
    }

    /// Turns errors of unpacking into errors of the archive; errors of reading stay.
    fn broken(&self, error: io::Error) -> io::Error {
        match error.kind() {
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                unsound(format!("entry {} cannot be unpacked", quoted(&self.name)))
            }
            _ => error,
        }
    }
}
