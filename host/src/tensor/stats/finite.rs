//! Finds the first value of a model that is not a number or infinite.

use crate::error::Error;
use crate::input::model::{Tensor, threads_for};
use crate::input::remote;
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
        each_piece(&tensor, span, work, &mut Vec::new(), |at, bytes| {
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
    /// In bytes.
    width: usize,
    /// These bits have this value.
    mask: u64,
    value: u64,
    /// Whether a value without other bits but its sign is an infinity.
    has_infinities: bool,
}

impl Pattern {
    /// None if all values of the dtype are finite.
    fn of(dtype: Dtype) -> Option<Self> {
        let ieee = |width, mask| Self { width, mask, value: mask, has_infinities: true };
        let only_nan = |mask, value| Self { width: 1, mask, value, has_infinities: false };
        Some(match dtype {
            Dtype::F64 => ieee(8, 0x7FF0_0000_0000_0000),
            Dtype::F32 | Dtype::C64 => ieee(4, 0x7F80_0000),
            Dtype::F16 => ieee(2, 0x7C00),
            Dtype::BF16 => ieee(2, 0x7F80),
            Dtype::F8_E5M2 => ieee(1, 0x7C),
            Dtype::F8_E4M3 => only_nan(0x7F, 0x7F),
            Dtype::F8_E4M3FNUZ | Dtype::F8_E5M2FNUZ => only_nan(0xFF, 0x80),
            Dtype::F8_E8M0 => only_nan(0xFF, 0xFF),
            _ => return None,
        })
    }

    /// The index of the first such value, and its kind.
    fn find(&self, bytes: &[u8]) -> Option<(usize, &'static str)> {
        match self.width {
            1 => self.find_in(bytes.as_chunks::<1>().0, |bytes| u64::from(bytes[0])),
            2 => self.find_in(bytes.as_chunks::<2>().0, |bytes| u64::from(u16::from_le_bytes(bytes))),
            4 => self.find_in(bytes.as_chunks::<4>().0, |bytes| u64::from(u32::from_le_bytes(bytes))),
            _ => self.find_in(bytes.as_chunks::<8>().0, u64::from_le_bytes),
        }
    }

    fn find_in<const N: usize>(
        &self,
        values: &[[u8; N]],
        bits: impl Fn([u8; N]) -> u64,
    ) -> Option<(usize, &'static str)> {
        const MANY: usize = 1024;
        let is_bad = |value: &[u8; N]| bits(*value) & self.mask == self.value;
        let mut chunks = values.chunks(MANY).enumerate();
        // Without a branch for each value, the processor compares several at once.
        let (number, chunk) =
            chunks.find(|(_, chunk)| chunk.iter().fold(false, |any, value| any | is_bad(value)))?;
        let index = chunk.iter().position(is_bad)?;
        let bits = bits(chunk[index]);
        let what = match bits & !self.mask {
            0 if self.has_infinities => "an infinity",
            sign if self.has_infinities && sign == 1 << (8 * N - 1) => "a negative infinity",
            _ => "NaN",
        };
        Some((number * MANY + index, what))
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;
    use embedded_safetensors::Dtype;
    use safetensors_convert::numbers::Decoder;

    /// Against the values that the library decodes.
    #[test]
    fn the_first_of_any_dtype_is_found() {
        for &dtype in Dtype::ALL.iter().filter(|dtype| dtype.bits() <= 16 && dtype.bits() % 8 == 0) {
            let width = usize::from(dtype.bits() / 8);
            for bytes in (0..1_u32 << dtype.bits()).map(|bits| bits.to_le_bytes()[..width].to_vec()) {
                let mut values = Vec::<f64>::new();
                Decoder::new(dtype).decode(&bytes, &mut values).expect("whole elements");
                let expected = match values[0] {
                    value if value.is_finite() => None,
                    f64::INFINITY => Some((0, "an infinity")),
                    f64::NEG_INFINITY => Some((0, "a negative infinity")),
                    _ => Some((0, "NaN")),
                };
                let found = Pattern::of(dtype).and_then(|pattern| pattern.find(&bytes));
                assert_eq!(found, expected, "{dtype} {bytes:?}");
            }
        }
        let kinds =
            [(f32::NEG_INFINITY, "a negative infinity"), (f32::INFINITY, "an infinity"), (f32::NAN, "NaN")];
        for (value, what) in kinds {
            let mut singles = [f32::MAX; 5000];
            singles[4000..].fill(value);
            let doubles = singles.map(|single| f64::from(single).to_le_bytes());
            let [single, double] = [Dtype::F32, Dtype::F64].map(|dtype| Pattern::of(dtype).expect("floats"));
            assert_eq!(single.find(singles.map(f32::to_le_bytes).as_flattened()), Some((4000, what)));
            assert_eq!(double.find(doubles.as_flattened()), Some((4000, what)));
            assert_eq!(double.find(doubles[..4000].as_flattened()), None);
        }
    }
}
