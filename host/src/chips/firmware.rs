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
mod tests {
    use super::segments;
    use std::io::{Seek, Write};

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
        let read = |elf: &[u8]| {
            let mut file = tempfile::tempfile().expect("temporary file");
            file.write_all(elf).expect("file is written");
            file.rewind().expect("seek");
            segments(file)
        };
        assert_eq!(read(&elf).expect("ELF"), [0x8000_0000..0x8000_0100]);
        elf[55] = 8;
        assert_eq!(read(&elf), Err("not firmware: its program headers are invalid"));
    }
}
