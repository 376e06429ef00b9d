//! Reads the load addresses of firmware from an ELF file.

use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, ReadCache, elf};
use std::fs::File;
use std::ops::Range;

/// More than any linker makes for a chip.
const MOST_SEGMENTS: u16 = 4096;
const CUT: &str = "truncated ELF file";

/// The ranges that an ELF file programs: the physical addresses, which a debugger uses.
///
/// # Errors
/// The file is not ELF, as a sentence that follows its name.
pub fn segments(file: File) -> Result<Vec<Range<u64>>, &'static str> {
    let data = ReadCache::new(file);
    match FileKind::parse(&data) {
        Ok(FileKind::Elf32) => loaded::<elf::FileHeader32<Endianness>>(&data),
        Ok(FileKind::Elf64) => loaded::<elf::FileHeader64<Endianness>>(&data),
        _ => Err("not an ELF file"),
    }
}

fn loaded<H: FileHeader<Endian = Endianness>>(
    data: &ReadCache<File>,
) -> Result<Vec<Range<u64>>, &'static str> {
    let header = H::parse(data).map_err(|_| CUT)?;
    let endian = header.endian().map_err(|_| CUT)?;
    let size = usize::from(header.e_phentsize(endian));
    if size != size_of::<H::ProgramHeader>() || header.e_phnum(endian) > MOST_SEGMENTS {
        return Err("not firmware: its program headers are invalid");
    }
    let headers = header.program_headers(endian, data).map_err(|_| CUT)?;
    let segments = headers.iter().filter(|segment| segment.p_type(endian) == elf::PT_LOAD).map(|segment| {
        let (start, bytes): (u64, u64) = (segment.p_paddr(endian).into(), segment.p_filesz(endian).into());
        start..start.saturating_add(bytes)
    });
    Ok(segments.filter(|segment| !segment.is_empty()).collect())
}

#[cfg(test)]
pub mod tests {
    use super::segments;
    use std::io::{Seek, Write};
    use std::ops::Range;

    /// A 32-bit ELF file with these segments.
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

    fn read(bytes: &[u8]) -> Result<Vec<Range<u64>>, &'static str> {
        let mut file = tempfile::tempfile().expect("temporary file");
        file.write_all(bytes).expect("file is written");
        file.rewind().expect("seek");
        segments(file)
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
            (&b"no"[..], "not an ELF file"),
            (&sound[..20], "truncated ELF file"),
            (&sound[..60], "truncated ELF file"),
            (&short_entries, "not firmware: its program headers are invalid"),
        ] {
            assert_eq!(read(bytes), Err(sentence));
        }
    }
}
