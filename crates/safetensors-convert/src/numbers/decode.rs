//! Decodes the bytes of elements to numbers, with the library: each chunk is passed to it as a file with
//! one tensor.

use super::wide;
use embedded_safetensors::{Dtype, Model, ReadAt, ReadError, io::FileLen, values::Element};
use std::convert::Infallible;
use std::io::{self, Write};

/// Decodes chunks of whole elements of one dtype.
#[derive(Clone)]
pub struct Decoder {
    dtype: Dtype,
    singles: Vec<f32>,
}

impl Decoder {
    /// Creates a decoder.
    pub fn new(dtype: Dtype) -> Self {
        Self { dtype, singles: Vec::new() }
    }

    /// Decodes all elements, rounded if `T` cannot represent them.
    ///
    /// # Errors
    /// The bytes are not whole elements.
    pub fn decode<T: Element + Copy + Default>(&self, bytes: &[u8], values: &mut Vec<T>) -> io::Result<()> {
        values.resize(bytes.len() * 8 / usize::from(self.dtype.bits()), T::default());
        self.read(bytes, values).map_err(io::Error::other)
    }

    fn read<T: Element + Copy>(&self, bytes: &[u8], values: &mut [T]) -> Result<(), String> {
        let (name, len, elements) = (self.dtype.name(), bytes.len(), values.len());
        let header =
            format!("{{\"t\":{{\"dtype\":\"{name}\",\"shape\":[{elements}],\"data_offsets\":[0,{len}]}}}}");
        let header = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
        let sentence = |error: ReadError<Infallible>| error.to_string();
        let mut model = Model::open(Framed { header, bytes }, &mut [0; 64]).map_err(sentence)?;
        let tensor = model.find("t", &mut [0; 64]).map_err(sentence)?.ok_or("no tensor")?;
        let mut reader = model.reader(&tensor).map_err(|error| error.to_string())?.values().rounded();
        reader.read_exact(values).map_err(sentence)
    }

    /// Decodes all elements as [`decode`](Self::decode) does, and widens them in a loop that is vectorised.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn decode_doubles(&mut self, bytes: &[u8], values: &mut Vec<f64>) -> io::Result<()> {
        if needs_f64(self.dtype) {
            return self.decode(bytes, values);
        }
        let mut singles = std::mem::take(&mut self.singles);
        self.decode(bytes, &mut singles)?;
        values.clear();
        wide::run(|| values.extend(singles.iter().map(|&single| f64::from(single))));
        self.singles = singles;
        Ok(())
    }
}

/// A file with one tensor, whose data is elsewhere, so that it need not be copied.
struct Framed<'b> {
    header: Vec<u8>,
    bytes: &'b [u8],
}

impl ReadAt for Framed<'_> {
    type Error = Infallible;

    fn read_at(&mut self, offset: u64, mut buffer: &mut [u8]) -> Result<usize, Infallible> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = match self.header.get(offset..) {
            Some(rest @ [_, ..]) => rest,
            _ => self.bytes.get(offset - self.header.len()..).unwrap_or_default(),
        };
        buffer.write(rest).or(Ok(0))
    }

    fn file_len(&mut self) -> Result<FileLen, Infallible> {
        Ok(FileLen::Exactly((self.header.len() + self.bytes.len()) as u64))
    }
}

/// Whether the dtype is an integer; BOOL is one, with the values 0 and 1.
pub(super) fn is_integer(dtype: Dtype) -> bool {
    use Dtype::{BOOL, I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(dtype, BOOL | I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64)
}

/// Whether an `f32` does not represent every element.
pub(super) fn needs_f64(dtype: Dtype) -> bool {
    dtype == Dtype::F64 || is_integer(dtype) && dtype.bits() > 16
}
