//! Where firmware lies: the parts of an ELF file that are put into memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

/// More than any linker makes for a chip.
const MOST_SEGMENTS: u16 = 4096;
/// Of a segment that is loaded.
const LOAD: u64 = 1;

/// Why the segments of a file are not known.
#[derive(Debug)]
pub enum Fault {
    /// It cannot be read.
    Io(io::Error),
    /// It says something else than an ELF file does, as a sentence that goes on after its name.
    Form(&'static str),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Form("is cut short: an ELF file is longer"),
            _ => Self::Io(error),
        }
    }
}

/// The addresses at which an ELF file has something to be programmed: the physical ones, where a debugger puts it.
///
/// # Errors
/// It cannot be read, or is no ELF file.
pub fn segments(file: &mut File) -> Result<Vec<Range<u64>>, Fault> {
    let mut start = [0; 64];
    let read = fill(file, &mut start)?;
    let elf = Elf::of(start.get(..read).unwrap_or(&start))?;
    let (offset, size, count) = elf.table(&start);
    if count > u64::from(MOST_SEGMENTS) || size < elf.entry() {
        return Err(Fault::Form("is no firmware: its program headers make no sense"));
    }
    let mut segments = Vec::new();
    for index in 0..count {
        let at =
            offset.checked_add(index * size).ok_or(Fault::Form("is no firmware: its headers lie nowhere"))?;
        file.seek(SeekFrom::Start(at))?;
        let mut header = [0; 56];
        let entry = header.get_mut(..usize::from(elf.entry_bytes())).unwrap_or_default();
        file.read_exact(entry)?;
        segments.extend(elf.segment(&header));
    }
    Ok(segments)
}

/// As much as there is.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

/// How the numbers of a file are written.
struct Elf {
    wide: bool,
    big: bool,
}

impl Elf {
    fn of(start: &[u8]) -> Result<Self, Fault> {
        match start {
            [0x7f, b'E', b'L', b'F', class @ (1 | 2), order @ (1 | 2), ..] if start.len() >= 52 => {
                Ok(Self { wide: *class == 2, big: *order == 2 })
            }
            [0x7f, b'E', b'L', b'F', ..] => Err(Fault::Form("is cut short: an ELF file is longer")),
            _ => Err(Fault::Form("is no ELF file")),
        }
    }

    /// The table of segments: where it is, how long its entries are, how many it has.
    fn table(&self, start: &[u8]) -> (u64, u64, u64) {
        if self.wide {
            (self.number(start, 32, 8), self.number(start, 54, 2), self.number(start, 56, 2))
        } else {
            (self.number(start, 28, 4), self.number(start, 42, 2), self.number(start, 44, 2))
        }
    }

    fn entry_bytes(&self) -> u8 {
        if self.wide { 56 } else { 32 }
    }

    fn entry(&self) -> u64 {
        u64::from(self.entry_bytes())
    }

    /// Where a segment is put, if it is.
    fn segment(&self, header: &[u8]) -> Option<Range<u64>> {
        let (address, bytes) = if self.wide {
            (self.number(header, 24, 8), self.number(header, 32, 8))
        } else {
            (self.number(header, 12, 4), self.number(header, 16, 4))
        };
        let is_put = self.number(header, 0, 4) == LOAD && bytes > 0;
        is_put.then(|| address..address.saturating_add(bytes))
    }

    fn number(&self, bytes: &[u8], at: usize, len: usize) -> u64 {
        let bytes = bytes.get(at..at + len).unwrap_or_default();
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        if self.big { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    }
}

#[cfg(test)]
pub mod tests {
    use super::{Fault, segments};
    use std::io::{Seek, Write};
    use std::ops::Range;

    /// An ELF file of 32 bits with these segments.
    pub fn elf(segments: &[(u32, u32)]) -> Vec<u8> {
        let mut elf = vec![0; 52];
        elf[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', 1, 1, 1]);
        elf[28..32].copy_from_slice(&52_u32.to_le_bytes());
        elf[42..44].copy_from_slice(&32_u16.to_le_bytes());
        elf[44..46].copy_from_slice(&u16::try_from(segments.len()).expect("few").to_le_bytes());
        for (start, end) in segments {
            for word in [1, 0, *start, *start, end - start, 0, 5, 4] {
                elf.extend(word.to_le_bytes());
            }
        }
        elf
    }

    fn read(bytes: &[u8]) -> Result<Vec<Range<u64>>, Fault> {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(bytes).expect("it is written");
        file.rewind().expect("it is at its beginning");
        segments(&mut file)
    }

    #[test]
    fn segments_with_contents_are_found() {
        let bytes = elf(&[(0x800_0000, 0x800_1234), (0x2000_0000, 0x2000_0000)]);
        assert_eq!(read(&bytes).expect("ELF"), [0x800_0000..0x800_1234]);
    }

    #[test]
    fn the_other_class_and_order_are_read() {
        let mut elf = vec![0; 64];
        elf[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 2, 1]);
        elf[32..40].copy_from_slice(&64_u64.to_be_bytes());
        elf[54..56].copy_from_slice(&56_u16.to_be_bytes());
        elf[56..58].copy_from_slice(&1_u16.to_be_bytes());
        for word in [1 << 32, 0, 7, 0x8000_0000, 0x100, 0x100, 8_u64] {
            elf.extend(word.to_be_bytes());
        }
        assert_eq!(read(&elf).expect("ELF"), [0x8000_0000..0x8000_0100]);
    }

    #[test]
    fn what_is_no_firmware_is_told() {
        let sound = elf(&[(0, 16)]);
        let mut short_entries = sound.clone();
        short_entries[42] = 8;
        for (bytes, sentence) in [
            (&b"no"[..], "is no ELF file"),
            (&sound[..20], "is cut short: an ELF file is longer"),
            (&sound[..60], "is cut short: an ELF file is longer"),
            (&short_entries, "is no firmware: its program headers make no sense"),
        ] {
            assert!(matches!(read(bytes), Err(Fault::Form(said)) if said == sentence), "{sentence}");
        }
    }
}
