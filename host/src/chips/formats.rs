//! Image formats for other tools.

use crate::chips::image::Image;
use crate::error::Error;
use crate::output::file::Product;
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
    /// The format of the file's suffix.
    ///
    /// # Errors
    /// The suffix is unknown; the chip has no boot loader for the format; the address is too high for it.
    pub fn of(file: &Path, chip: &str, last: u64) -> Result<Self, Error> {
        let suffix = file.extension().map(|suffix| suffix.to_string_lossy().to_ascii_lowercase());
        let format = match suffix.as_deref() {
            Some("hex" | "ihex" | "ihx") => Self::Hex,
            Some("uf2") => match family(chip) {
                Some(family) => Self::Uf2(family),
                None => {
                    let sentence =
                        format!("UF2 works with RP2040 and RP235x only; write a .bin or .hex for {chip}");
                    return Err(Error::about(file, sentence));
                }
            },
            None | Some("bin" | "img" | "raw") => return Ok(Self::Raw),
            Some(_) => {
                let sentence = "unknown suffix: .hex, .uf2 or .bin needed";
                return Err(Error::about(file, sentence));
            }
        };
        if u32::try_from(last).is_err() {
            return Err(Error::about(file, "this format has no addresses above 4 GiB; write a .bin"));
        }
        Ok(format)
    }

    /// Writes the complete image.
    ///
    /// # Errors
    /// The model cannot be read, or the file cannot be written.
    pub fn write(self, image: &Image<'_>, to: &mut Product) -> Result<(), Error> {
        match self {
            Self::Raw => image.each(|_, piece| to.put(piece)),
            Self::Hex => {
                let mut hex = Hex::default();
                image.each(|address, piece| to.put(hex.records(address, piece).as_bytes()))?;
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

/// Records of Intel HEX.
#[derive(Default)]
struct Hex {
    /// The current upper half of the address.
    high: u16,
}

impl Hex {
    /// Pieces begin and end at multiples of the record length, except for the last one.
    fn records(&mut self, address: u64, piece: &[u8]) -> String {
        let mut text = String::new();
        for (index, bytes) in (0..).zip(piece.chunks(RECORD)) {
            let [_, _, _, _, a, b, c, d] = (address + index * RECORD as u64).to_be_bytes();
            let high = u16::from_be_bytes([a, b]);
            if high != self.high {
                text += &record(0, HIGH, &[a, b]);
                self.high = high;
            }
            text += &record(u16::from_be_bytes([c, d]), DATA, bytes);
        }
        text
    }
}

fn record(address: u16, kind: u8, data: &[u8]) -> String {
    let [high, low] = address.to_be_bytes();
    // No record is longer than `RECORD`.
    let length = u8::try_from(data.len()).unwrap_or(u8::MAX);
    let mut bytes = vec![length, high, low, kind];
    bytes.extend_from_slice(data);
    let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    bytes.push(sum.wrapping_neg());
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!(":{}\n", digits.concat())
}

/// Bytes per block of UF2.
const BLOCK: usize = 256;

/// One block. A boot loader is done when it has received all of them.
fn uf2(start: u64, number: u64, blocks: u64, family: u32, data: &[u8]) -> Vec<u8> {
    const FAMILY_IS_GIVEN: u32 = 0x2000;
    // The format was chosen only if the last address fits.
    let word = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let address = word(start + number * BLOCK as u64);
    let mut block = Vec::with_capacity(512);
    for word in [
        0x0a32_4655,
        0x9e5d_5157,
        FAMILY_IS_GIVEN,
        address,
        word(data.len() as u64),
        word(number),
        word(blocks),
        family,
    ] {
        block.extend(word.to_le_bytes());
    }
    block.extend_from_slice(data);
    block.resize(508, 0);
    block.extend(0x0ab1_6f30_u32.to_le_bytes());
    block
}

#[cfg(test)]
mod tests {
    use super::{END, Format, Hex, record, uf2};
    use std::path::Path;

    #[test]
    fn records_are_those_of_the_format() {
        assert_eq!(record(0, END, &[]), ":00000001FF\n");
        assert_eq!(record(0x0100, 0, &[0x21, 0x46, 0x01, 0x36]), ":0401000021460136".to_owned() + "5D\n");
        let mut hex = Hex::default();
        let text = hex.records(0x0800_ffe0, &[0xff; 48]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert_eq!((lines[0], lines[2]), (":020000040800F2", ":020000040801F1"));
        assert!(lines[1].starts_with(":20FFE000FF") && lines[3].starts_with(":10000000FF"));
        assert_eq!(hex.records(0x0801_0020, &[0]), ":0100200000DF\n");
    }

    #[test]
    fn blocks_are_those_of_the_format() {
        let block = uf2(0x1010_0000, 3, 9, 0xe48b_ff56, &[7; 256]);
        assert_eq!(block.len(), 512);
        assert_eq!(block[..8], *b"UF2\n\x57\x51\x5d\x9e");
        assert_eq!(
            block[12..32],
            [0, 3, 0x10, 0x10, 0, 1, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 0x56, 0xff, 0x8b, 0xe4]
        );
        assert!(
            block[32..288].iter().all(|&byte| byte == 7) && block[288..508].iter().all(|&byte| byte == 0)
        );
        assert_eq!(block[508..], [0x30, 0x6f, 0xb1, 0x0a]);
    }

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
