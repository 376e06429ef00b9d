//! Image formats for other tools.

use crate::chips::image::Image;
use crate::error::Error;
use crate::output::file::Product;
use crate::text::number::digits;
use std::path::Path;

/// The format of an image file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Raw bytes, without the address.
    Raw,
    /// Intel HEX, with addresses.
    Hex,
    /// UF2 for mass-storage boot loaders, with their family id.
    Uf2(u32),
}

impl Format {
    /// The format of the file's suffix, for an image whose addresses end here.
    ///
    /// # Errors
    /// The suffix is unknown; the chip has no boot loader for the format; the address is too high for it.
    pub fn of(file: &Path, chip: &str, end: u64) -> Result<Self, Error> {
        let suffix = file.extension().map(|suffix| suffix.to_string_lossy().to_ascii_lowercase());
        let sentence = match suffix.as_deref() {
            None | Some("bin" | "img" | "raw") => return Ok(Self::Raw),
            Some("hex" | "ihex" | "ihx" | "uf2") if u32::try_from(end).is_err() => {
                "this format has no addresses above 4 GiB; write a .bin".to_owned()
            }
            Some("hex" | "ihex" | "ihx") => return Ok(Self::Hex),
            Some("uf2") => match family(chip) {
                Some(family) => return Ok(Self::Uf2(family)),
                None => format!("UF2 works with RP2040 and RP235x only; write a .bin or .hex for {chip}"),
            },
            Some(_) => "unknown suffix: .hex, .uf2 or .bin needed".to_owned(),
        };
        Err(Error::about(file, sentence))
    }

    /// Writes the complete image.
    pub fn write(self, image: &Image<'_>, to: &mut Product) -> Result<(), Error> {
        match self {
            Self::Raw => image.each(|_, piece| to.put(piece)),
            Self::Hex => {
                let mut high = 0;
                image.each(|address, piece| to.put(records(&mut high, address, piece).as_bytes()))?;
                to.put(record(0, END, &[]).as_bytes())
            }
            Self::Uf2(family) => {
                let blocks = image.len().div_ceil(BLOCK as u64);
                image.each(|address, piece| {
                    let first = (address - image.range.start) / BLOCK as u64;
                    for (number, block) in (first..).zip(piece.chunks(BLOCK)) {
                        to.put(&uf2(image.range.start, number, blocks, family, block))?;
                    }
                    Ok(())
                })
            }
        }
    }
}

/// The family id of Raspberry Pi's boot loaders; for the RP235x the family of absolute addresses.
fn family(chip: &str) -> Option<u32> {
    match chip.get(..6) {
        Some("RP2040") => Some(0xe48b_ff56),
        Some("RP235x" | "RP2350") => Some(0xe48b_ff57),
        _ => None,
    }
}

const DATA: u8 = 0;
const END: u8 = 1;
const HIGH: u8 = 4;
/// Bytes per record of Intel HEX.
const RECORD: usize = 32;

/// Records of Intel HEX, after those with this upper half of the address. A piece begins and ends at a
/// multiple of the record length, except for the last one.
fn records(high: &mut u16, address: u64, piece: &[u8]) -> String {
    let mut text = String::new();
    for (address, bytes) in (address..).step_by(RECORD).zip(piece.chunks(RECORD)) {
        let [_, _, _, _, a, b, c, d] = address.to_be_bytes();
        if u16::from_be_bytes([a, b]) != *high {
            text += &record(0, HIGH, &[a, b]);
            *high = u16::from_be_bytes([a, b]);
        }
        text += &record(u16::from_be_bytes([c, d]), DATA, bytes);
    }
    text
}

fn record(address: u16, kind: u8, data: &[u8]) -> String {
    let [high, low] = address.to_be_bytes();
    // No record is longer than `RECORD`.
    let length = u8::try_from(data.len()).unwrap_or(u8::MAX);
    let mut bytes = [&[length, high, low, kind], data].concat();
    let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    bytes.push(sum.wrapping_neg());
    format!(":{}\n", digits(&bytes).to_ascii_uppercase())
}

/// Bytes per block of UF2.
const BLOCK: usize = 256;

/// One block. A boot loader is done when it has received all of them.
fn uf2(start: u64, number: u64, blocks: u64, family: u32, data: &[u8]) -> Vec<u8> {
    const FAMILY_IS_GIVEN: u32 = 0x2000;
    // The format was chosen only if the last address fits.
    let word = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let (address, len) = (word(start + number * BLOCK as u64), word(data.len() as u64));
    let (number, blocks) = (word(number), word(blocks));
    let head = [0x0a32_4655, 0x9e5d_5157, FAMILY_IS_GIVEN, address, len, number, blocks, family];
    let mut block = head.map(u32::to_le_bytes).concat();
    block.extend_from_slice(data);
    block.resize(508, 0);
    block.extend(0x0ab1_6f30_u32.to_le_bytes());
    block
}

#[cfg(test)]
mod tests {
    use super::Format;
    use std::path::Path;

    #[test]
    fn the_name_of_the_file_says_the_format() {
        let format = |name: &str, chip: &str, last| Format::of(Path::new(name), chip, last).ok();
        assert_eq!(format("a.HEX", "nRF52840_xxAA", 9), Some(Format::Hex));
        assert_eq!(format("a.uf2", "RP2040", 9), Some(Format::Uf2(0xe48b_ff56)));
        assert_eq!(format("a.uf2", "nRF52840_xxAA", 9), None);
        assert_eq!(format("a.hex", "x", 1 << 32), None);
        assert_eq!(format("a.bin", "x", 1 << 32), Some(Format::Raw));
        assert_eq!(format("-", "x", 9), Some(Format::Raw));
        for other in ["a.elf", "a.srec", "a.s19", "a.safetensors"] {
            assert_eq!(format(other, "RP2040", 9), None);
        }
    }
}
