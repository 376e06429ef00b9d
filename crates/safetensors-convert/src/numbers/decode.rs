//! Decodes the bytes of elements to numbers, with the library: each chunk is passed to it as a file with
//! one tensor.

use super::Number;
use embedded_safetensors::{Dtype, ReadError, View, values::Element};
use std::convert::Infallible;
use std::io;

/// Decodes chunks of whole elements of one dtype.
pub struct Decoder {
    dtype: Dtype,
    file: Vec<u8>,
}

impl Decoder {
    /// Creates a decoder.
    pub fn new(dtype: Dtype) -> Self {
        Self { dtype, file: Vec::new() }
    }

    /// Appends the numbers of the elements.
    ///
    /// # Errors
    /// The bytes are not whole elements.
    pub fn decode(&mut self, bytes: &[u8], numbers: &mut Vec<Number>) -> io::Result<()> {
        self.frame(bytes);
        match self.dtype {
            Dtype::U64 => self.turn(0u64, numbers),
            dtype if is_integer(dtype) => self.turn(0i64, numbers),
            _ => self.turn(0f64, numbers),
        }
        .map_err(io::Error::other)
    }

    fn frame(&mut self, bytes: &[u8]) {
        let (len, bits) = (bytes.len(), usize::from(self.dtype.bits()));
        let (name, elements) = (self.dtype.name(), len * 8 / bits);
        let header =
            format!("{{\"t\":{{\"dtype\":\"{name}\",\"shape\":[{elements}],\"data_offsets\":[0,{len}]}}}}");
        self.file.clear();
        self.file.extend((header.len() as u64).to_le_bytes());
        self.file.extend(header.as_bytes());
        self.file.extend(bytes);
    }

    fn turn<T: Element + Into<Number>>(&self, zero: T, numbers: &mut Vec<Number>) -> Result<(), String> {
        let view = View::parse(&self.file).map_err(|error| error.to_string())?;
        let tensor = view.tensor("t").map_err(|error| error.to_string())?;
        let mut reader = tensor.reader().values();
        let mut values = [zero; 256];
        let sentence = |error: ReadError<Infallible>| error.to_string();
        while let values @ [_, ..] = reader.read(&mut values).map_err(sentence)? {
            numbers.extend(values.iter().map(|&value| value.into()));
        }
        Ok(())
    }
}

/// Whether the dtype is an integer; BOOL is one, with the values 0 and 1.
pub(super) fn is_integer(dtype: Dtype) -> bool {
    use Dtype::{BOOL, I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(dtype, BOOL | I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64)
}
