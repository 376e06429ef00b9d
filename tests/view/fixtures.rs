//! Files assembled at compile time.

use embedded_safetensors::{View, values::AlignedFile};

/// Returns a file of this header and these data.
pub const fn file<const LEN: usize>(header: &[u8], data: &[u8]) -> [u8; LEN] {
    let mut file = [0; LEN];
    let (length, rest) = file.split_at_mut(8);
    length.copy_from_slice(&(header.len() as u64).to_le_bytes());
    let (head, tail) = rest.split_at_mut(header.len());
    head.copy_from_slice(header);
    tail.copy_from_slice(data);
    file
}

/// Returns an aligned `static` file of this header and these data.
macro_rules! aligned_file {
    ($align:literal, $header:expr, $data:expr $(,)?) => {{
        const LEN: usize = 8 + $header.len() + $data.len();
        static FILE: AlignedFile<$align, LEN> =
            AlignedFile::new(crate::view::fixtures::file($header.as_bytes(), $data));
        &FILE
    }};
}

/// A header whose data begin at a multiple of 64, with every kind of tensor: aligned and unaligned, with an
/// escaped name, empty.
pub const NET: &str = concat!(
    r#"{"__metadata__":{"arch":"tiny","arch\u0041":"\"x\""},"#,
    r#""conv.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"#,
    r#""fc\u002eweight":{"dtype":"I16","shape":[4],"data_offsets":[24,32]},"#,
    r#""odd":{"dtype":"U8","shape":[1],"data_offsets":[32,33]},"#,
    r#""late":{"dtype":"U16","shape":[1],"data_offsets":[33,35]},"#,
    r#""none":{"dtype":"F64","shape":[2,0],"data_offsets":[35,35]}}"#,
    "               ",
);

/// 1, -2 … as F32, 1 to 4 as I16, and three bytes.
pub const NET_DATA: &[u8] = b"\0\0\x80\x3F\0\0\0\xC0\0\0\x40\x40\0\0\x80\xC0\0\0\xA0\x40\0\0\xC0\xC0\
    \x01\0\x02\0\x03\0\x04\0\x07\x08\x09";

/// A valid model, aligned.
pub const MODEL: View<'static> = View::embed(aligned_file!(64, NET, NET_DATA));
