//! Finds the first value of a model that is not a number or infinite.

use crate::error::Error;
use crate::input::model::{Tensor, threads_for};
use crate::tensor::stats::scan::{PIECE, read_piece, spans};
use crate::threads::in_order;
use crate::work::Work;
use embedded_safetensors::Dtype;
use std::ops::Range;

/// A value that is not finite.
pub struct NotFinite<'m> {
    pub tensor: Tensor<'m>,
    /// Its index among the values of the tensor, of which a C64 has two per element.
    pub index: u64,
    /// The offset of its first byte in the file.
    pub byte: u64,
    /// What it is.
    pub what: &'static str,
}

/// The first one in the order of the tensors; None if there is none. Reads from a server without ranges in
/// order.
///
/// # Errors
/// A file cannot be read; the user has interrupted the work.
pub fn first_not_finite<'m>(tensors: &[Tensor<'m>], work: &Work) -> Result<Option<NotFinite<'m>>, Error> {
    let floats = tensors.iter().filter_map(|tensor| Some((*tensor, Pattern::of(tensor.dtype())?)));
    let parts = floats
        .flat_map(|(tensor, pattern)| spans(tensor.byte_len()).map(move |span| (tensor, pattern, span)));
    let mut found = None;
    let outcome = in_order(
        parts,
        threads_for(tensors),
        |(tensor, pattern, span)| search(tensor, pattern, span, work),
        |part| match part {
            Err(complaint) => Err(Some(complaint)),
            Ok(None) => Ok(()),
            Ok(Some(first)) => {
                found = Some(first);
                Err(None)
            }
        },
    );
    match outcome {
        Err(Some(complaint)) => Err(complaint),
        Err(None) | Ok(()) => Ok(found),
    }
}

fn search<'m>(
    tensor: Tensor<'m>,
    pattern: Pattern,
    span: Range<u64>,
    work: &Work,
) -> Result<Option<NotFinite<'m>>, Error> {
    let mut buffer = vec![0; PIECE.min(usize::try_from(span.end - span.start).unwrap_or(PIECE))];
    let mut at = span.start;
    while at < span.end {
        let wanted = usize::try_from(span.end - at).unwrap_or(PIECE).min(PIECE);
        let bytes = read_piece(&tensor, at, wanted, &mut buffer)?;
        if let Some((index, what)) = pattern.find(bytes) {
            let offset = at + (index * pattern.width) as u64;
            let byte = tensor.model().index().summary().data_start + tensor.begin() + offset;
            return Ok(Some(NotFinite { tensor, index: offset / pattern.width as u64, byte, what }));
        }
        at += wanted as u64;
        work.advance(wanted as u64)?;
    }
    Ok(None)
}

/// The bits of the values of a dtype that are not finite.
#[derive(Clone, Copy)]
struct Pattern {
    /// In bytes.
    width: usize,
    /// These bits have this value.
    mask: u64,
    value: u64,
    /// The other bits of an infinity, without its sign; None if the dtype has no infinities.
    fraction: Option<u64>,
    sign: u64,
}

impl Pattern {
    /// None if all values of the dtype are finite.
    fn of(dtype: Dtype) -> Option<Self> {
        let ieee = |width: usize, mask: u64, fraction: u64| {
            Some(Self { width, mask, value: mask, fraction: Some(fraction), sign: 1 << (8 * width - 1) })
        };
        let only_nan = |mask, value| Some(Self { width: 1, mask, value, fraction: None, sign: 0 });
        match dtype {
            Dtype::F64 => ieee(8, 0x7FF0_0000_0000_0000, 0xF_FFFF_FFFF_FFFF),
            Dtype::F32 | Dtype::C64 => ieee(4, 0x7F80_0000, 0x7F_FFFF),
            Dtype::F16 => ieee(2, 0x7C00, 0x3FF),
            Dtype::BF16 => ieee(2, 0x7F80, 0x7F),
            Dtype::F8_E5M2 => ieee(1, 0x7C, 0x3),
            Dtype::F8_E4M3 => only_nan(0x7F, 0x7F),
            Dtype::F8_E4M3FNUZ | Dtype::F8_E5M2FNUZ => only_nan(0xFF, 0x80),
            Dtype::F8_E8M0 => only_nan(0xFF, 0xFF),
            _ => None,
        }
    }

    /// The index of the first such value, and what it is.
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
        let what = match self.fraction {
            Some(fraction) if bits & fraction == 0 && bits & self.sign == 0 => "an infinity",
            Some(fraction) if bits & fraction == 0 => "a negative infinity",
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
    fn patterns_of_all_narrow_elements_agree_with_their_values() {
        for &dtype in Dtype::ALL.iter().filter(|dtype| dtype.bits() <= 16) {
            let width = usize::from(dtype.bits().div_ceil(8));
            let patterns = (0..=u16::MAX).map(|pattern| pattern.to_le_bytes()[..width].to_vec());
            for bytes in patterns.take(1 << (8 * width)) {
                let bytes =
                    if dtype.bits() == 6 { [bytes.clone(), bytes.clone(), bytes].concat() } else { bytes };
                let mut values = Vec::<f64>::new();
                Decoder::new(dtype).decode(&bytes, &mut values).expect("whole elements");
                let expected = values.into_iter().find(|value| !value.is_finite());
                let expected = expected.map(|value| match value {
                    f64::INFINITY => "an infinity",
                    f64::NEG_INFINITY => "a negative infinity",
                    _ => "NaN",
                });
                let found = Pattern::of(dtype).and_then(|pattern| pattern.find(&bytes));
                assert_eq!(found.map(|(_, what)| what), expected, "{dtype} {bytes:?}");
            }
        }
    }

    #[test]
    fn the_first_of_wide_elements_is_found() {
        let mut floats = vec![1.0_f32; 5000];
        floats[4000] = f32::NEG_INFINITY;
        floats[4001] = f32::NAN;
        let bytes: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
        let pattern = Pattern::of(Dtype::F32).expect("floats");
        assert_eq!(pattern.find(&bytes), Some((4000, "a negative infinity")));
        assert_eq!(pattern.find(&bytes[..16_000]), None);
        let pattern = Pattern::of(Dtype::F64).expect("floats");
        assert_eq!(pattern.find(&f64::NAN.to_le_bytes()), Some((0, "NaN")));
        assert_eq!(pattern.find(&f64::INFINITY.to_le_bytes()), Some((0, "an infinity")));
        assert_eq!(pattern.find(&f64::MAX.to_le_bytes()), None);
        assert!(Pattern::of(Dtype::I64).is_none());
    }
}
