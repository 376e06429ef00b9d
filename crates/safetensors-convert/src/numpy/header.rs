//! The header of an array.

use super::dict;
use crate::error::unsound;
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

/// The names of numpy's types, without byte order, for all dtypes that safetensors has too.
const TYPES: [(&str, Dtype); 13] = [
    ("b1", Dtype::BOOL),
    ("u1", Dtype::U8),
    ("i1", Dtype::I8),
    ("u2", Dtype::U16),
    ("i2", Dtype::I16),
    ("f2", Dtype::F16),
    ("u4", Dtype::U32),
    ("i4", Dtype::I32),
    ("f4", Dtype::F32),
    ("u8", Dtype::U64),
    ("i8", Dtype::I64),
    ("f8", Dtype::F64),
    ("c8", Dtype::C64),
];

/// numpy's names for dtypes of the package ml_dtypes, and the integers of the same width.
const RAW: [(&str, Dtype); 2] = [("V1", Dtype::U8), ("V2", Dtype::U16)];
/// The only one of them with a name of its own.
const E5M2: (&str, Dtype) = ("f1", Dtype::F8_E5M2);

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
        let (dtype, order) = dtype_of(&dict.descr)?;
        let header = Self { dtype, order, dims: dict.shape, is_fortran: dict.fortran_order };
        header.byte_len()?;
        Ok((header, len))
    }

    /// Returns the dtype with this name in numpy, which has no byte order.
    pub fn named(name: &str) -> Option<Dtype> {
        TYPES.iter().find(|(of, _)| *of == name).map(|(_, dtype)| *dtype)
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
        let (name, _) = TYPES.iter().find(|(_, of)| *of == dtype)?;
        let order = if dtype.bits() == 8 { '|' } else { '<' };
        let mut shape: String = dims.iter().map(|dim| format!("{dim}, ")).collect();
        if dims.len() > 1 {
            shape.truncate(shape.len() - 2);
        } else if dims.len() == 1 {
            shape.truncate(shape.len() - 1);
        }
        let text = format!("{{'descr': '{order}{name}', 'fortran_order': False, 'shape': ({shape}), }}");
        Some(framed(&pad_for_growth(text, dims)))
    }
}

/// Pads the text: numpy lets the first dimension grow to 21 digits.
fn pad_for_growth(mut text: String, dims: &[u64]) -> String {
    if let Some(first) = dims.first() {
        let digits = first.to_string().len();
        text.extend(std::iter::repeat_n(' ', 21usize.saturating_sub(digits)));
    }
    text
}

/// Frames the text as version 1.0, or 2.0 if its length does not fit 16 bits.
fn framed(text: &str) -> Vec<u8> {
    let padded = |fixed: usize| (fixed + text.len() + 1).next_multiple_of(UNIT) - fixed;
    let mut header = MAGIC.to_vec();
    let len = match u16::try_from(padded(10)) {
        Ok(len) => {
            header.extend([1, 0]);
            header.extend(len.to_le_bytes());
            padded(10)
        }
        Err(_) => {
            header.extend([2, 0]);
            header.extend(u32::try_from(padded(12)).unwrap_or(u32::MAX).to_le_bytes());
            padded(12)
        }
    };
    header.extend(text.as_bytes());
    header.extend(std::iter::repeat_n(b' ', len - text.len() - 1));
    header.push(b'\n');
    header
}

/// Returns the text of a header, and its length in bytes with everything before it.
fn read_text(source: &mut (impl Read + ?Sized)) -> io::Result<(String, u64)> {
    let mut start = [0; 8];
    let read = read_full(source, &mut start)?;
    if read < 8 || start[..6] != *MAGIC {
        return Err(unsound("not a .npy array: it does not begin with \\x93NUMPY and a version"));
    }
    let (width, is_utf8) = match (start[6], start[7]) {
        (1, 0) => (2, false),
        (2, 0) => (4, false),
        (3, 0) => (4, true),
        (major, minor) => {
            return Err(unsound(format!(
                "unknown .npy version {major}.{minor}; 1.0, 2.0 and 3.0 are supported"
            )));
        }
    };
    let mut length = [0; 4];
    if read_full(source, &mut length[..width])? < width {
        return Err(unsound("the .npy ends before its header does"));
    }
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > LONGEST {
        return Err(unsound(format!(
            "the header of the array claims {length} bytes, at most {LONGEST} are allowed"
        )));
    }
    let mut bytes = vec![0; length];
    let read = read_full(source, &mut bytes)?;
    if read < length {
        return Err(unsound(format!("the .npy ends after {read} of the {length} bytes of its header")));
    }
    Ok((decoded(bytes, is_utf8)?, (8 + width + length) as u64))
}

/// Decodes the text; before version 3.0, headers were Latin-1.
fn decoded(bytes: Vec<u8>, is_utf8: bool) -> io::Result<String> {
    if is_utf8 {
        return String::from_utf8(bytes).map_err(|_| unsound("the header of the array is not UTF-8"));
    }
    Ok(bytes.into_iter().map(char::from).collect())
}

fn dtype_of(descr: &str) -> io::Result<(Dtype, Order)> {
    let name = descr.trim_start_matches(['<', '>', '|', '=']);
    let has_order = descr.len() - name.len() == 1;
    if let Some((_, dtype)) = TYPES.iter().chain([&E5M2]).find(|(of, _)| has_order && *of == name) {
        return Ok((*dtype, if descr.starts_with('>') { Order::Big } else { Order::Little }));
    }
    if let Some((_, dtype)) =
        RAW.iter().find(|(of, _)| *of == name && matches!(descr.as_bytes(), [b'<' | b'|', _, _]))
    {
        return Ok((*dtype, Order::Raw));
    }
    let shown = quoted(descr);
    Err(unsound(match name.chars().next() {
        Some('O') => format!("its elements are Python objects (dtype {shown}), which are never loaded"),
        Some('S' | 'a' | 'U' | 'T') => {
            format!("its elements are strings (dtype {shown}), which safetensors does not have")
        }
        Some('V') => format!("its elements are raw bytes (dtype {shown}), which safetensors does not have"),
        Some('M' | 'm') => {
            format!(
                "its elements are times (dtype {shown}), which safetensors does not have: view them as i8"
            )
        }
        _ => format!("its elements have the dtype {shown}, which safetensors does not have"),
    }))
}

#[cfg(test)]
mod tests {
    use super::{Dtype, Header, Order, TYPES};

    fn error(bytes: &[u8]) -> String {
        Header::read(&mut &bytes[..]).unwrap_err().to_string()
    }

    fn array(version: u8, descr: &str) -> Vec<u8> {
        let text = format!("{{'descr': '{descr}', 'fortran_order': True, 'shape': (2, 3)}}");
        let mut bytes = [b"\x93NUMPY".as_slice(), &[version, 0]].concat();
        let len = u32::try_from(text.len()).expect("short").to_le_bytes();
        bytes.extend(&len[..if version == 1 { 2 } else { 4 }]);
        bytes.extend(text.as_bytes());
        bytes
    }

    #[test]
    fn all_versions_are_read() {
        for version in 1..4 {
            let bytes = array(version, ">f4");
            let (header, len) = Header::read(&mut &bytes[..]).expect("a header");
            assert_eq!(
                (header.dtype, header.dims.as_slice(), len),
                (Dtype::F32, &[2, 3][..], bytes.len() as u64)
            );
            assert!(header.is_fortran && header.order == Order::Big);
        }
    }

    #[test]
    fn written_headers_are_read_back() {
        let long = [1; 64];
        for (_, dtype) in TYPES {
            for dims in [&[][..], &[0], &[7], &[2, 3], &[u64::from(u32::MAX), 0, 5], &long] {
                let bytes = Header::spelled(dtype, dims).expect("a type of numpy");
                assert_eq!(bytes.len() % 64, 0);
                let (header, len) = Header::read(&mut &bytes[..]).expect("a header");
                assert_eq!((header.dtype, header.dims.as_slice(), len), (dtype, dims, bytes.len() as u64));
                assert!(!header.is_fortran && header.order == Order::Little);
            }
        }
        assert_eq!(Header::spelled(Dtype::BF16, &[1]), None);
    }

    /// As ml_dtypes makes numpy write bfloat16, float8_e4m3fn and float8_e5m2.
    #[test]
    fn dtypes_of_ml_dtypes_are_read() {
        for (descr, dtype, order) in [
            ("<V2", Dtype::U16, Order::Raw),
            ("|V1", Dtype::U8, Order::Raw),
            ("<V1", Dtype::U8, Order::Raw),
            ("<f1", Dtype::F8_E5M2, Order::Little),
        ] {
            let (header, _) = Header::read(&mut &array(1, descr)[..]).expect("a header");
            assert_eq!((header.dtype, header.order), (dtype, order), "{descr}");
        }
    }

    #[test]
    fn unsupported_dtypes_and_invalid_headers_are_rejected() {
        for (descr, part) in [
            ("|O", "Python objects"),
            ("<U8", "strings"),
            ("|S3", "strings"),
            ("|V3", "raw bytes"),
            (">V2", "raw bytes"),
            ("V2", "raw bytes"),
            ("<M8[ns]", "times"),
            ("<f16", "dtype \"<f16\""),
            ("<c16", "dtype \"<c16\""),
            ("f4", "dtype \"f4\""),
            ("<<f4", "dtype \"<<f4\""),
            ("", "dtype \"\""),
        ] {
            assert!(error(&array(1, descr)).contains(part), "{descr}: {}", error(&array(1, descr)));
        }
        let whole = array(2, "<f4");
        for len in 0..whole.len() {
            let message = error(&whole[..len]);
            assert!(message.contains("not a .npy array") || message.contains("ends"), "{len}: {message}");
        }
        assert_eq!(error(b"\x93NUMPY\x04\x00"), "unknown .npy version 4.0; 1.0, 2.0 and 3.0 are supported");
        let endless = [b"\x93NUMPY\x02\x00".as_slice(), &[255; 4]].concat();
        assert!(error(&endless).starts_with("the header of the array claims 4294967295 bytes"));
        let dict = "{'descr':'<f8','fortran_order':False,'shape':(4294967296,4294967296)}  ";
        let huge = &[b"\x93NUMPY\x01\x00\x47\x00", dict.as_bytes()].concat();
        assert!(error(huge).contains("does not fit into 64 bits"), "{}", error(huge));
    }
}
