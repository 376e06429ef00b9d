//! Finds the first value of a model that is not a number or infinite.

use crate::error::Error;
use crate::input::model::{Tensor, threads_for};
use crate::input::remote;
use crate::tensor::stats::part::decode;
use crate::tensor::stats::scan::{each_piece, spans};
use crate::threads::in_order;
use crate::work::Work;
use embedded_safetensors::Dtype;

/// A value that is not finite.
pub struct NotFinite<'m> {
    pub tensor: Tensor<'m>,
    /// Its index among the values of the tensor: a C64 has two per element.
    pub index: u64,
    /// The offset of its first byte in the file.
    pub byte: u64,
    /// "NaN", "an infinity" or "a negative infinity".
    pub what: &'static str,
}

/// Returns the first one in the order of the tensors, if there is one. Reads from a server without ranges in
/// order.
///
/// # Errors
/// A file cannot be read; the user has interrupted the work.
pub fn first_not_finite<'m>(tensors: &[Tensor<'m>], work: &Work) -> Result<Option<NotFinite<'m>>, Error> {
    remote::expect(tensors.iter().copied().filter(|tensor| Pattern::of(tensor.dtype()).is_some()));
    let floats = tensors.iter().filter_map(|tensor| Some((*tensor, Pattern::of(tensor.dtype())?)));
    let parts = floats
        .flat_map(|(tensor, pattern)| spans(tensor.byte_len()).map(move |span| (tensor, pattern, span)));
    let search = |(tensor, pattern, span): (Tensor<'m>, Pattern, _)| {
        each_piece(&tensor, span, work, |at, bytes| {
            let (index, what) = pattern.find(bytes)?;
            let offset = at + (index * pattern.width) as u64;
            let byte = tensor.model().index().summary().data_start + tensor.begin() + offset;
            Some(NotFinite { tensor, index: offset / pattern.width as u64, byte, what })
        })
    };
    let end = in_order(parts, threads_for(tensors), search, |part| match part {
        Ok(None) => Ok(()),
        end => Err(end),
    });
    end.map_or_else(|end| end, |()| Ok(None))
}

/// The bits of the values of a dtype that are not finite.
#[derive(Clone, Copy)]
struct Pattern {
    dtype: Dtype,
    /// In bytes.
    width: usize,
    /// These bits have this value.
    mask: u64,
    value: u64,
}

impl Pattern {
    /// None if all values of the dtype are finite.
    fn of(dtype: Dtype) -> Option<Self> {
        let (width, mask, value) = match dtype {
            Dtype::F64 => (8, 0x7FF0_0000_0000_0000, 0x7FF0_0000_0000_0000),
            Dtype::F32 | Dtype::C64 => (4, 0x7F80_0000, 0x7F80_0000),
            Dtype::F16 => (2, 0x7C00, 0x7C00),
            Dtype::BF16 => (2, 0x7F80, 0x7F80),
            Dtype::F8_E5M2 => (1, 0x7C, 0x7C),
            Dtype::F8_E4M3 => (1, 0x7F, 0x7F),
            Dtype::F8_E4M3FNUZ | Dtype::F8_E5M2FNUZ => (1, 0xFF, 0x80),
            Dtype::F8_E8M0 => (1, 0xFF, 0xFF),
            _ => return None,
        };
        Some(Self { dtype, width, mask, value })
    }

    /// The index of the first such value, and its kind.
    fn find(&self, bytes: &[u8]) -> Option<(usize, &'static str)> {
        let index = match self.width {
            1 => self.find_in(bytes.as_chunks().0, |[byte]| u64::from(byte)),
            2 => self.find_in(bytes.as_chunks().0, |bytes| u64::from(u16::from_le_bytes(bytes))),
            4 => self.find_in(bytes.as_chunks().0, |bytes| u64::from(u32::from_le_bytes(bytes))),
            _ => self.find_in(bytes.as_chunks().0, u64::from_le_bytes),
        }?;
        let mut value = Vec::new();
        decode(self.dtype, &bytes[index * self.width..][..self.width], &mut value);
        let what = match value[0] {
            f64::INFINITY => "an infinity",
            f64::NEG_INFINITY => "a negative infinity",
            _ => "NaN",
        };
        Some((index, what))
    }

    fn find_in<const N: usize>(&self, values: &[[u8; N]], bits: impl Fn([u8; N]) -> u64) -> Option<usize> {
        const MANY: usize = 1024;
        let is_bad = |value: &[u8; N]| bits(*value) & self.mask == self.value;
        // Without a branch for each value, the processor compares several at once.
        let is_any_bad = |chunk: &[[u8; N]]| chunk.iter().fold(false, |any, value| any | is_bad(value));
        let number = values.chunks(MANY).position(is_any_bad)?;
        Some(number * MANY + values[number * MANY..].iter().position(is_bad)?)
    }
}

#[cfg(test)]
mod tests {
    use super::{Pattern, decode};
    use embedded_safetensors::Dtype;

    /// Against the values that the library decodes.
    #[test]
    fn the_first_of_any_dtype_is_found() {
        for &dtype in Dtype::ALL.iter().filter(|dtype| dtype.bits() <= 16 && dtype.bits() % 8 == 0) {
            for bytes in (0..1_u32 << dtype.bits()).map(u32::to_le_bytes) {
                let (bytes, mut values) = (&bytes[..usize::from(dtype.bits() / 8)], Vec::new());
                decode(dtype, bytes, &mut values);
                let found = Pattern::of(dtype).and_then(|pattern| pattern.find(bytes));
                assert_eq!(found.is_none(), values[0].is_finite(), "{dtype} {bytes:?}");
            }
        }
        let mut doubles = [1.0; 5000];
        for (value, what) in
            [(f64::NEG_INFINITY, "a negative infinity"), (f64::INFINITY, "an infinity"), (f64::NAN, "NaN")]
        {
            doubles[4000..].fill(value);
            let found =
                Pattern::of(Dtype::F64).expect("floats").find(doubles.map(f64::to_le_bytes).as_flattened());
            assert_eq!(found, Some((4000, what)));
        }
    }
}
