//! A file of one tensor, none of whose bytes is special.

use support::file::with_header;
use support::random::Random;

/// What the tensor is called.
pub const NAME: &str = "t";

/// Enough for any dtype and shape that is asked for.
const HEADER_LEN: usize = 88;

/// Where the tensor's bytes begin.
pub const DATA_START: u64 = 8 + HEADER_LEN as u64;

/// With elements of so many bytes, and these dimensions.
pub fn one_tensor(dtype: &str, width: usize, dims: &[usize]) -> Vec<u8> {
    let len = dims.iter().product::<usize>() * width;
    let header = format!(r#"{{"{NAME}":{{"dtype":"{dtype}","shape":{dims:?},"data_offsets":[0,{len}]}}}}"#);
    let mut file = with_header(&format!("{header:HEADER_LEN$}"), 0);
    let data_start = file.len();
    assert_eq!(data_start as u64, DATA_START, "the header is longer than there is room for it");
    let mut random = Random::new(1);
    file.extend((0..len.div_ceil(8)).flat_map(|_| random.number().to_le_bytes()));
    file.truncate(data_start + len);
    file
}
