//! Decodes the bytes of elements to numbers, with the library: each chunk is passed to it as a file with
//! one tensor.

use embedded_safetensors::{Dtype, View, values::Element};
use std::io;

/// Decodes chunks of whole elements of one dtype.
#[derive(Clone)]
pub struct Decoder {
    dtype: Dtype,
    file: Vec<u8>,
}

impl Decoder {
    /// Creates a decoder.
    pub fn new(dtype: Dtype) -> Self {
        Self { dtype, file: Vec::new() }
    }

    /// Decodes all elements, rounded if `T` cannot represent them.
    ///
    /// # Errors
    /// The bytes are not whole elements.
    pub fn decode<T: Element + Copy + Default>(
        &mut self,
        bytes: &[u8],
        values: &mut Vec<T>,
    ) -> io::Result<()> {
        values.resize(self.frame(bytes), T::default());
        self.read(values).map_err(io::Error::other)
    }

    /// Makes a file with one tensor of these bytes. Returns the number of elements.
    fn frame(&mut self, bytes: &[u8]) -> usize {
        let (len, bits) = (bytes.len(), usize::from(self.dtype.bits()));
        let (name, elements) = (self.dtype.name(), len * 8 / bits);
        let header =
            format!("{{\"t\":{{\"dtype\":\"{name}\",\"shape\":[{elements}],\"data_offsets\":[0,{len}]}}}}");
        self.file.clear();
        self.file.extend((header.len() as u64).to_le_bytes());
        self.file.extend(header.as_bytes());
        self.file.extend(bytes);
        elements
    }

    fn read<T: Element + Copy>(&self, mut values: &mut [T]) -> Result<(), String> {
        let view = View::parse(&self.file).map_err(|error| error.to_string())?;
        let tensor = view.tensor("t").map_err(|error| error.to_string())?;
        let mut reader = tensor.reader().values().rounded();
        while !values.is_empty() {
            let read = reader.read(values).map_err(|error| error.to_string())?.len();
            values = values.get_mut(read..).unwrap_or_default();
        }
        Ok(())
    }
}

/// Whether the dtype is an integer; BOOL is one, with the values 0 and 1.
pub(super) fn is_integer(dtype: Dtype) -> bool {
    use Dtype::{BOOL, I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(dtype, BOOL | I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64)
}
