//! Valid files that differ from invalid ones only in the fault: their twins.

use crate::case::{Case, members, ok, raw, tensors};

#[rustfmt::skip] // One case, one or two lines.
pub const CASES: &[Case] = &[
    ok("entry-order-sod-f4", "entry-4", members(r#""shape":[2],"data_offsets":[0,1],"dtype":"F4""#), "Order: shape, offsets, a dtype of 4 bits.").flags(&["sub-byte", "new-dtypes"]),
    ok("offsets-10", "offsets-2", tensors!(("a" "U8" "[10]" "[0,10]")).data(10), "An end of two digits."),
    ok("offsets-16", "offsets-2", tensors!(("a" "U8" "[16]" "[0,16]")).data(16), "An end of 16, in decimal digits."),
    ok("offsets-1000", "offsets-1", tensors!(("a" "U8" "[1000]" "[0,1000]")).data(1000), "An end of four digits."),
    ok("size-two", "tensor-3", tensors!(("a" "U8" "[2]" "[0,2]")).data(2), "Two elements of one byte have two bytes."),
    ok("layout-two-bytes", "layout-2", tensors!(("a" "U8" "[1]" "[0,1]"), ("b" "U8" "[1]" "[1,2]")).data(2), "Two tensors of a byte each."),
    ok("layout-two-pairs", "layout-2", tensors!(("a" "U8" "[2]" "[0,2]"), ("b" "U8" "[2]" "[2,4]")).data(4), "Two tensors of two bytes each."),
    ok("layout-two-fours", "layout-2", tensors!(("a" "U8" "[4]" "[0,4]"), ("b" "U8" "[4]" "[4,8]")).data(8), "Two tensors of four bytes each."),
    ok("layout-two-halves", "layout-2", tensors!(("a" "U8" "[8]" "[0,8]"), ("b" "U8" "[8]" "[8,16]")).data(16), "Two tensors of eight bytes each."),
    ok("layout-one-and-three", "layout-2", tensors!(("a" "U8" "[1]" "[0,1]"), ("b" "U8" "[3]" "[1,4]")).data(4), "A tensor of one byte, then one of three."),
    ok("layout-two-and-one", "layout-2", tensors!(("a" "U8" "[2]" "[0,2]"), ("b" "U8" "[1]" "[2,3]")).data(3), "A tensor of two bytes, then one of one."),
    ok("layout-four-and-two", "layout-2", tensors!(("a" "U8" "[4]" "[0,4]"), ("b" "U8" "[2]" "[4,6]")).data(6), "A tensor of four bytes, then one of two."),
    ok("layout-f64-after-8", "layout-2", tensors!(("a" "U8" "[8]" "[0,8]"), ("b" "F64" "[1]" "[8,16]")).data(16), "A 64-bit element where it is aligned."),
    ok("layout-three", "layout-2", tensors!(("a" "U8" "[3]" "[0,3]"), ("b" "U8" "[2]" "[3,5]"), ("c" "U8" "[1]" "[5,6]")).data(6), "Three tensors, each shorter than the one before."),
    ok("layout-two-backwards", "layout-4", tensors!(("b" "U8" "[3]" "[3,6]"), ("a" "U8" "[3]" "[0,3]")).data(6), "Two tensors of three bytes each, the later one first.").flags(&["header-order"]),
    ok("layout-two-of-three-backwards", "layout-4", tensors!(("b" "U8" "[1]" "[2,3]"), ("a" "U8" "[2]" "[0,2]")).data(3), "Two tensors in three bytes, the later one first.").flags(&["header-order"]),
    ok("layout-two-of-four-backwards", "layout-4", tensors!(("b" "U8" "[2]" "[2,4]"), ("a" "U8" "[2]" "[0,2]")).data(4), "Two tensors in four bytes, the later one first.").flags(&["header-order"]),
    ok("layout-two-of-five-backwards", "layout-4", tensors!(("b" "U8" "[3]" "[2,5]"), ("a" "U8" "[2]" "[0,2]")).data(5), "Two tensors in five bytes, the later one first.").flags(&["header-order"]),
    ok("layout-three-backwards", "layout-4", tensors!(("c" "U8" "[2]" "[3,5]"), ("b" "U8" "[1]" "[2,3]"), ("a" "U8" "[2]" "[0,2]")).data(5), "Three tensors in five bytes, listed backwards.").flags(&["header-order"]),
    ok("layout-third-first", "layout-4", tensors!(("c" "U8" "[2]" "[2,4]"), ("a" "U8" "[1]" "[0,1]"), ("b" "U8" "[1]" "[1,2]")).data(4), "The third tensor is first in the header, the others are in order.").flags(&["header-order"]),
    ok("layout-third-first-of-six", "layout-4", tensors!(("c" "U8" "[2]" "[4,6]"), ("a" "U8" "[1]" "[0,1]"), ("b" "U8" "[3]" "[1,4]")).data(6), "The third of three tensors in six bytes is first in the header.").flags(&["header-order"]),
    ok("empty-at-end-of-four", "layout-5", tensors!(("a" "U8" "[4]" "[0,4]"), ("b" "U8" "[0]" "[4,4]")).data(4), "An empty tensor after four bytes.").flags(&["empty-tensor"]),
    ok("empty-at-end-of-four-first", "layout-5", tensors!(("b" "U8" "[0]" "[4,4]"), ("a" "U8" "[4]" "[0,4]")).data(4), "An empty tensor after four bytes, listed before them.").flags(&["empty-tensor", "header-order"]),
    ok("empty-two-at-end", "layout-5", tensors!(("a" "U8" "[4]" "[0,4]"), ("b" "U8" "[0]" "[4,4]"), ("c" "U8" "[0]" "[4,4]")).data(4), "Two empty tensors after four bytes.").flags(&["empty-tensor"]),
    ok("empty-between-four-and-one", "layout-5", tensors!(("a" "U8" "[4]" "[0,4]"), ("b" "U8" "[0]" "[4,4]"), ("c" "U8" "[1]" "[4,5]")).data(5), "An empty tensor between four bytes and one.").flags(&["empty-tensor"]),
    ok("empty-u16-at-end", "layout-5", tensors!(("a" "U8" "[1]" "[0,1]"), ("b" "U8" "[2]" "[1,3]"), ("c" "U16" "[0]" "[3,3]")).data(3), "An empty tensor of another dtype at the end of the data.").flags(&["empty-tensor"]),
    ok("data-60-bytes", "container-4", tensors!(("a" "U8" "[60]" "[0,60]")).data(60), "A tensor as long as its header nearly is."),
    ok("data-line-ends", "container-7", raw(b"\x35\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}\x0D\x0A\x1A\x80"), "Data may be line ends, an end of file and no ASCII: nothing is translated.").flags(&["text-mode"]),
    ok("data-line-feed", "container-7", raw(b"\x35\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}\x0A"), "Data may be a line feed.").flags(&["text-mode"]),
    ok("container-length-10", "container-1", raw(b"\x0A\x00\x00\x00\x00\x00\x00\x00{}        "), "A length whose first byte is a line feed.").flags(&["text-mode"]),
    ok("container-length-13", "container-1", raw(b"\x0D\x00\x00\x00\x00\x00\x00\x00{}           "), "A length whose first byte is a carriage return.").flags(&["text-mode"]),
];
