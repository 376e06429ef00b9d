//! Converts big-endian numbers to little-endian.

use crate::source::pieces;
use crate::zip::read_full;
use embedded_safetensors::Dtype;
use std::io::Read;

/// The number of bytes of a piece, a multiple of all widths.
const PIECE: usize = 1 << 16;

/// Returns a reader that reverses the bytes of each number of this dtype.
pub fn swapped(dtype: Dtype, mut source: impl Read) -> impl Read {
    // The two parts of a complex number are reversed separately.
    let bits = if dtype == Dtype::C64 { 32 } else { dtype.bits() };
    let width = usize::from(bits / 8).max(1);
    pieces(move |bytes| {
        bytes.resize(PIECE, 0);
        let len = read_full(&mut source, bytes)?;
        bytes.truncate(len);
        bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::{Dtype, swapped};
    use std::io::Read;

    #[test]
    fn bytes_are_swapped_with_any_buffer_size() {
        let source = [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8];
        for size in 1..20 {
            let (mut reader, mut result) = (swapped(Dtype::I64, &source[..]), Vec::<u8>::new());
            while reader.by_ref().take(size).read_to_end(&mut result).expect("read") > 0 {}
            assert!(result.iter().copied().eq(0..16), "{size}");
        }
    }
}
