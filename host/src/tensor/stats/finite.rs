//! Finds the first value of a model that is not a number or infinite.

use crate::error::Error;
use crate::input::model::{Tensor, threads_for};
use crate::input::remote;
use crate::tensor::stats::part::decode;
use crate::tensor::stats::scan::{each_piece, spans};
use crate::threads::in_order;
use crate::work::Work;
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::is_float;

/// Bytes that are decoded at a time.
const BLOCK: usize = 16 << 10;

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
    let floats = || tensors.iter().copied().filter(|tensor| is_wide_float(tensor.dtype()));
    remote::expect(floats());
    let parts = floats().flat_map(|tensor| spans(tensor.byte_len()).map(move |span| (tensor, span)));
    let search = |(tensor, span): (Tensor<'m>, _)| {
        let mut values = Vec::new();
        let width = if tensor.dtype() == Dtype::C64 { 4 } else { usize::from(tensor.dtype().bits() / 8) };
        each_piece(&tensor, span, work, |at, bytes| {
            bytes.chunks(BLOCK).enumerate().find_map(|(number, block)| {
                decode(tensor.dtype(), block, &mut values);
                // Without a branch for each value, the processor compares several at once.
                if values.iter().fold(true, |all, value| all & value.is_finite()) {
                    return None;
                }
                let index = values.iter().position(|value| !value.is_finite())?;
                let offset = at + (number * BLOCK + index * width) as u64;
                let byte = tensor.model().index().summary().data_start + tensor.begin() + offset;
                let what = match values[index] {
                    f64::INFINITY => "an infinity",
                    f64::NEG_INFINITY => "a negative infinity",
                    _ => "NaN",
                };
                Some(NotFinite { tensor, index: offset / width as u64, byte, what })
            })
        })
    };
    let end = in_order(parts, threads_for(tensors), search, |part| match part {
        Ok(None) => Ok(()),
        end => Err(end),
    });
    end.map_or_else(|end| end, |()| Ok(None))
}

/// Whether a dtype has values that are not finite: all floats of whole bytes have some.
fn is_wide_float(dtype: Dtype) -> bool {
    dtype == Dtype::C64 || is_float(dtype) && dtype.bits() >= 8
}

#[cfg(test)]
mod tests {
    use super::{decode, is_wide_float};
    use embedded_safetensors::Dtype;

    #[test]
    fn the_dtypes_with_values_that_are_not_finite_are_searched() {
        for &dtype in Dtype::ALL.iter().filter(|dtype| [8, 16].contains(&dtype.bits())) {
            let mut values = Vec::new();
            let patterns = (0..=u16::MAX).map(u16::to_le_bytes);
            let bytes: Vec<u8> =
                patterns.flat_map(|bytes| bytes[..usize::from(dtype.bits() / 8)].to_vec()).collect();
            decode(dtype, &bytes, &mut values);
            assert_eq!(!values.iter().all(|value| value.is_finite()), is_wide_float(dtype), "{dtype}");
        }
    }
}
