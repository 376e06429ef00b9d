//! The header of an array.

use super::dict;
use crate::error::{ensure, unsound};
use crate::source::byte_len;
use crate::text::quoted;
use crate::zip::read_full;
use embedded_safetensors::Dtype;
use std::io::{self, Read};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Far more than 64 dimensions need.
const LONGEST: usize = 1 << 20;
/// The data begins at a multiple of this, as numpy writes it.
const UNIT: usize = 64;

/// The header of an array.
#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    /// The dtype of each element.
    pub dtype: Dtype,
    /// Its shape.
    pub dims: Vec<u64>,
    /// Whether the first axis varies fastest.
    pub is_fortran: bool,
    /// The byte order of an element.
    pub order: Order,
}

/// The order of an element's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Little-endian, or a single byte.
    Little,
    /// Big-endian.
    Big,
    /// The bits of a dtype that numpy does not know; `dtype` is the integer of that width.
    Raw,
}

impl Header {
    /// Reads only the header, and returns it with its length in bytes.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if it is not a valid header, or if safetensors cannot hold such an
    /// array.
    pub fn read(source: &mut (impl Read + ?Sized)) -> io::Result<(Self, u64)> {
        let (text, len) = read_text(source)?;
        let dict = dict::parse(&text).map_err(|error| unsound(format!("the header of the array {error}")))?;
        let (dtype, order) = dtype_of(dict.descr)?;
        let header = Self { dtype, order, dims: dict.shape, is_fortran: dict.fortran_order };
        header.byte_len()?;
        Ok((header, len))
    }

    /// Returns the dtype with this name in numpy, which has no byte order.
    pub fn named(name: &str) -> Option<Dtype> {
        Dtype::ALL.iter().copied().find(|dtype| name_of(*dtype).is_some_and(|own| own == name))
    }

    /// Returns the array's length in bytes.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if it does not fit 64 bits.
    pub fn byte_len(&self) -> io::Result<u64> {
        byte_len(self.dtype, &self.dims).ok_or_else(|| {
            unsound(format!("the array's size does not fit into 64 bits: shape {:?}", self.dims))
        })
    }

    /// Returns the header of a little-endian array whose last axis varies fastest, byte for byte as numpy
    /// writes it; `None` if numpy has no such type.
    pub fn spelled(dtype: Dtype, dims: &[u64]) -> Option<Vec<u8>> {
        let (name, order) = (name_of(dtype)?, if dtype.bits() == 8 { '|' } else { '<' });
        let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
        let comma = if dims.len() == 1 { "," } else { "" };
        let shape = dims.join(", ");
        let text =
            format!("{{'descr': '{order}{name}', 'fortran_order': False, 'shape': ({shape}{comma}), }}");
        // numpy lets the first dimension grow to 21 digits.
        let growth = dims.first().map_or(0, |first| 21usize.saturating_sub(first.len()));
        let padded = |fixed: usize| (fixed + text.len() + growth + 1).next_multiple_of(UNIT) - fixed;
        // Version 1.0, or 2.0 if its length does not fit 16 bits.
        let (version, fixed) = if padded(10) <= usize::from(u16::MAX) { (1, 10) } else { (2, 12) };
        let len = padded(fixed);
        let mut header =
            [&MAGIC[..], &[version, 0], &len.to_le_bytes()[..fixed - 8], text.as_bytes()].concat();
        header.resize(fixed + len - 1, b' ');
        header.push(b'\n');
        Some(header)
    }
}

/// Returns numpy's name of a dtype, without byte order; `None` if numpy does not have it.
fn name_of(dtype: Dtype) -> Option<String> {
    use Dtype::{BOOL, C64, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let letter = match dtype {
        BOOL => 'b',
        U8 | U16 | U32 | U64 => 'u',
        I8 | I16 | I32 | I64 => 'i',
        F16 | F32 | F64 => 'f',
        C64 => 'c',
        _ => return None,
    };
    Some(format!("{letter}{}", dtype.bits() / 8))
}

/// Returns the text of a header, and its length in bytes with everything before it.
fn read_text(source: &mut (impl Read + ?Sized)) -> io::Result<(String, u64)> {
    let mut start = [0; 8];
    let read = read_full(source, &mut start)?;
    let is_npy = read == 8 && start[..6] == *MAGIC;
    ensure(is_npy, || "not a .npy array: it does not begin with \\x93NUMPY and a version")?;
    let (width, is_utf8) = match (start[6], start[7]) {
        (1, 0) => (2, false),
        (2, 0) => (4, false),
        (3, 0) => (4, true),
        (major, minor) => {
            let sentence = format!("unknown .npy version {major}.{minor}; 1.0, 2.0 and 3.0 are supported");
            return Err(unsound(sentence));
        }
    };
    let mut length = [0; 4];
    let read = read_full(source, &mut length[..width])?;
    ensure(read == width, || "the .npy ends before its header does")?;
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    ensure(length <= LONGEST, || {
        format!("the header of the array claims {length} bytes, at most {LONGEST} are allowed")
    })?;
    let mut bytes = vec![0; length];
    let read = read_full(source, &mut bytes)?;
    ensure(read == length, || format!("the .npy ends after {read} of the {length} bytes of its header"))?;
    Ok((decoded(bytes, is_utf8)?, (8 + width + length) as u64))
}

/// Decodes the text; before version 3.0, headers were Latin-1.
fn decoded(bytes: Vec<u8>, is_utf8: bool) -> io::Result<String> {
    if is_utf8 {
        return String::from_utf8(bytes).map_err(|_| unsound("the header of the array is not UTF-8"));
    }
    Ok(bytes.into_iter().map(char::from).collect())
}

/// Returns the dtype of a type; of those of the package ml_dtypes, numpy names only one.
fn dtype_of(descr: &str) -> io::Result<(Dtype, Order)> {
    let name = descr.trim_start_matches(['<', '>', '|', '=']);
    let known = if name == "f1" { Some(Dtype::F8_E5M2) } else { Header::named(name) };
    match (descr, known.filter(|_| descr.len() - name.len() == 1)) {
        (_, Some(dtype)) if descr.starts_with('>') => return Ok((dtype, Order::Big)),
        (_, Some(dtype)) => return Ok((dtype, Order::Little)),
        ("<V1" | "|V1", _) => return Ok((Dtype::U8, Order::Raw)),
        ("<V2" | "|V2", _) => return Ok((Dtype::U16, Order::Raw)),
        _ => {}
    }
    let (shown, none) = (quoted(descr), "which safetensors does not have");
    let what = match name.chars().next() {
        Some('O') => format!("are Python objects (dtype {shown}), which are never loaded"),
        Some('S' | 'a' | 'U' | 'T') => format!("are strings (dtype {shown}), {none}"),
        Some('V') => format!("are raw bytes (dtype {shown}), {none}"),
        Some('M' | 'm') => format!("are times (dtype {shown}), {none}: view them as i8"),
        _ => format!("have the dtype {shown}, {none}"),
    };
    Err(unsound(format!("its elements {what}")))
}

#[cfg(test)]
mod tests {
    use super::{Dtype, Header, Order};

    fn error(bytes: &[u8]) -> String {
        Header::read(&mut &bytes[..]).unwrap_err().to_string()
    }

    fn array(version: u8, text: &str) -> Vec<u8> {
        let len = u32::try_from(text.len()).expect("short").to_le_bytes();
        let len = &len[..if version == 1 { 2 } else { 4 }];
        [b"\x93NUMPY", &[version, 0][..], len, text.as_bytes()].concat()
    }

    #[test]
    fn all_versions_are_read() {
        for version in 1..4 {
            let bytes = array(version, "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3)}");
            let header = Header { dtype: Dtype::F32, dims: vec![2, 3], is_fortran: true, order: Order::Big };
            assert_eq!(Header::read(&mut &bytes[..]).expect("a header"), (header, bytes.len() as u64));
            for len in 0..bytes.len() {
                let message = error(&bytes[..len]);
                assert!(message.contains("not a .npy array") || message.contains("ends"), "{len}: {message}");
            }
        }
    }

    #[test]
    fn written_headers_are_read_back() {
        for dims in [&[][..], &[0], &[7], &[2, 3], &[u64::from(u32::MAX), 0, 5], &[1; 64]] {
            let bytes = Header::spelled(Dtype::I16, dims).expect("a type of numpy");
            assert_eq!(bytes.len() % 64, 0);
            let (order, is_fortran) = (Order::Little, false);
            let header = Header { dtype: Dtype::I16, dims: dims.to_vec(), is_fortran, order };
            assert_eq!(Header::read(&mut &bytes[..]).expect("a header"), (header, bytes.len() as u64));
        }
        assert_eq!(Header::spelled(Dtype::BF16, &[1]), None);
    }

    #[test]
    fn invalid_headers_are_rejected() {
        let of = |descr, shape| format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}");
        for descr in [">V2", "V2", "f4", "<<f4", ""] {
            let message = error(&array(1, &of(descr, "(2,)")));
            assert!(message.contains(&format!("dtype \"{descr}\"")), "{message}");
        }
        assert_eq!(error(b"\x93NUMPY\x04\x00"), "unknown .npy version 4.0; 1.0, 2.0 and 3.0 are supported");
        let endless = [b"\x93NUMPY\x02\x00".as_slice(), &[255; 4]].concat();
        assert!(error(&endless).starts_with("the header of the array claims 4294967295 bytes"));
        let huge = error(&array(1, &of("<f8", "(4294967296,4294967296)")));
        assert!(huge.contains("does not fit into 64 bits"), "{huge}");
    }
}
