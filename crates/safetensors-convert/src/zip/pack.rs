//! Writes an archive from front to end, so that its sink need not seek.
//!
//! Checksums and sizes follow each entry's data, because they are not known earlier; the list at the end
//! repeats them. All dates are the earliest possible one, so that the same arrays give the same bytes.

use crate::counted::Counted;
use flate2::write::DeflateEncoder;
use flate2::{Compression, CrcWriter};
use std::io::{self, Write};

/// Flags: sizes and checksums follow the data; names are UTF-8.
const FLAGS: u16 = 1 << 3 | 1 << 11;
const FIRST_DATE: u32 = 0x0021_0000;
/// The zip version that reads archives of any size.
const VERSION: u16 = 45;
const LARGE: u32 = u32::MAX;

/// A writer of an archive, such as a `.npz`.
pub struct Archive<W> {
    out: Counted<W>,
    is_compressed: bool,
    list: Vec<u8>,
    entries: u64,
}

impl<W: Write> Archive<W> {
    /// Creates a writer. [`finish`](Self::finish) completes the archive.
    pub fn new(out: W, is_compressed: bool) -> Self {
        Self { out: Counted::new(out), is_compressed, list: Vec::new(), entries: 0 }
    }

    /// Adds one entry, whose bytes `fill` writes.
    ///
    /// # Errors
    /// Those of `fill` and of the sink.
    pub fn add<E: From<io::Error>>(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        let at = self.out.count;
        self.write_local(name)?;
        let data_at = self.out.count;
        let (crc, unpacked) = self.write_data(fill)?;
        let packed = self.out.count - data_at;
        let sums = [packed.to_le_bytes(), unpacked.to_le_bytes()].concat();
        self.out.write_all(&[b"PK\x07\x08", &crc.to_le_bytes()[..], &sums].concat())?;
        self.list_entry(name, crc, [unpacked, packed, at]);
        Ok(())
    }

    fn write_data<E: From<io::Error>>(
        &mut self,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(u32, u64), E> {
        if !self.is_compressed {
            return write_summed(&mut self.out, fill);
        }
        let mut out = DeflateEncoder::new(&mut self.out, Compression::default());
        let sums = write_summed(&mut out, fill)?;
        out.finish()?;
        Ok(sums)
    }

    /// Returns the fields that both headers of an entry have in common.
    fn common(&self, crc: u32) -> Vec<u8> {
        let method = if self.is_compressed { 8 } else { 0 };
        let fields = [VERSION, FLAGS, method].map(u16::to_le_bytes).concat();
        [fields, [FIRST_DATE, crc, LARGE, LARGE].map(u32::to_le_bytes).concat()].concat()
    }

    fn write_local(&mut self, name: &str) -> io::Result<()> {
        let len = u16::try_from(name.len())
            .map_err(|_| io::Error::other("a name has more than the 65535 bytes that archives allow"))?;
        // The extra field for the two sizes of 8 bytes each, which are not known yet.
        let extra = [&[1, 0, 16, 0][..], &[0; 16]].concat();
        let lens = [len.to_le_bytes(), [20, 0]].concat();
        let header = [b"PK\x03\x04", &self.common(0)[..], &lens, name.as_bytes(), &extra].concat();
        self.out.write_all(&header)
    }

    fn list_entry(&mut self, name: &str, crc: u32, large: [u64; 3]) {
        let len = u16::try_from(name.len()).unwrap_or_default();
        self.list.extend([b"PK\x01\x02", &VERSION.to_le_bytes()[..], &self.common(crc)].concat());
        // After the lengths, comment, disk and attributes.
        self.list.extend([&len.to_le_bytes(), &[28, 0][..], &[0; 10], &LARGE.to_le_bytes()].concat());
        self.list.extend([name.as_bytes(), &[1, 0, 24, 0], &large.map(u64::to_le_bytes).concat()].concat());
        self.entries += 1;
    }

    /// Writes the list, and returns the sink.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(mut self) -> io::Result<W> {
        let (at, len) = (self.out.count, self.list.len() as u64);
        let mut end = std::mem::take(&mut self.list);
        let versions = [VERSION, VERSION].map(u16::to_le_bytes).concat();
        end.extend([b"PK\x06\x06", &44u64.to_le_bytes()[..], &versions, &[0; 8]].concat());
        end.extend([self.entries, self.entries, len, at].map(u64::to_le_bytes).concat());
        end.extend([b"PK\x06\x07\0\0\0\0", &(at + len).to_le_bytes()[..], &[1, 0, 0, 0]].concat());
        end.extend(b"PK\x05\x06\0\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0\0");
        self.out.write_all(&end)?;
        self.out.flush()?;
        Ok(self.out.sink)
    }
}

/// Writes what `fill` writes, and returns its checksum and its length.
fn write_summed<E: From<io::Error>>(
    out: impl Write,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(u32, u64), E> {
    let mut out = Counted::new(CrcWriter::new(out));
    fill(&mut out)?;
    Ok((out.sink.crc().sum(), out.count))
}

#[cfg(test)]
mod tests {
    use super::super::directory::entries;
    use super::super::entry::open_entry;
    use super::Archive;
    use crate::samples::file;
    use std::io::{self, Read};

    fn packed(is_compressed: bool) -> Vec<u8> {
        let mut archive = Archive::new(Vec::new(), is_compressed);
        let contents: [(&str, &[u8]); 2] = [("a.npy", b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"), ("b/c.npy", b"")];
        for (name, contents) in contents {
            archive.add::<io::Error>(name, |out| out.write_all(contents)).expect("written");
        }
        archive.finish().expect("written")
    }

    fn unpacked(bytes: &[u8]) -> io::Result<Vec<(String, Vec<u8>)>> {
        let file = file(bytes);
        let read = |entry| {
            let mut contents = Vec::new();
            open_entry(&file, entry).read_to_end(&mut contents)?;
            Ok((entry.name.clone(), contents))
        };
        entries(&file)?.iter().map(read).collect()
    }

    #[test]
    fn written_archives_are_read_back() {
        for is_compressed in [false, true] {
            let entries = unpacked(&packed(is_compressed)).expect("an archive");
            let names: Vec<&str> = entries.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["a.npy", "b/c.npy"]);
            assert_eq!(entries[0].1, b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
            assert!(entries[1].1.is_empty());
        }
        assert!(packed(true).len() < packed(false).len());
    }

    /// A truncated archive is never accepted, and no damage causes a panic.
    #[test]
    fn damaged_archives_are_rejected() {
        for is_compressed in [false, true] {
            let whole = packed(is_compressed);
            for len in 0..whole.len() {
                assert!(unpacked(&whole[..len]).is_err(), "{len}");
            }
            for (at, mask) in (0..whole.len()).flat_map(|at| [(at, 0x55), (at, 0xFF)]) {
                let mut flipped = whole.clone();
                flipped[at] ^= mask;
                match unpacked(&flipped) {
                    Ok(entries) => assert_eq!(entries[0].1, b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "{at}"),
                    Err(error) => assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{at}: {error}"),
                }
            }
        }
    }
}
