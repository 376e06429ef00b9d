//! Makes a file of one tensor with ordinary bytes.

use support::file::with_header;
use support::random::Random;

/// The tensor's name.
pub const NAME: &str = "t";

/// Long enough for any dtype and shape in the benches.
const HEADER_LEN: usize = 88;

/// The offset of the tensor's bytes.
pub const DATA_START: u64 = 8 + HEADER_LEN as u64;

/// Returns a file whose tensor has elements of `width` bytes and these dimensions.
pub fn one_tensor(dtype: &str, width: usize, dims: &[usize]) -> Vec<u8> {
    let len = dims.iter().product::<usize>() * width;
    let header = format!(r#"{{"{NAME}":{{"dtype":"{dtype}","shape":{dims:?},"data_offsets":[0,{len}]}}}}"#);
    let mut file = with_header(&format!("{header:HEADER_LEN$}"), 0);
    let data_start = file.len();
    assert_eq!(data_start as u64, DATA_START, "the header is too long");
    let mut random = Random::new(1);
    file.extend((0..len.div_ceil(8)).flat_map(|_| random.number().to_le_bytes()));
    file.truncate(data_start + len);
    file
}
