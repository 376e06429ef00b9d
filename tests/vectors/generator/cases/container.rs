//! The length at the start, the position of the header, the amount of data after it.

use crate::case::{At, Case, bad, bytes, json, ok, raw, tensors};

const SHORT: &str = "container.short";
const LARGE: &str = "container.header-too-large";
const BEYOND: &str = "container.header-beyond-file";

#[rustfmt::skip] // One case, one or two lines.
pub const CASES: &[Case] = &[
    bad("container-no-bytes", "container-1", SHORT, raw("¦".as_bytes()), "An empty file is not an empty model."),
    bad("container-one-byte", "container-1", SHORT, raw("\0¦".as_bytes()), "One byte of the length is not a length."),
    bad("container-seven-bytes", "container-1", SHORT, raw("\u{2}\0\0\0\0\0\0¦".as_bytes()), "The last byte of the length is missing."),
    bad("container-four-byte-length", "container-1", SHORT, raw("\u{2}\0\0\0{}¦".as_bytes()), "A 32-bit length with its header is shorter than the 64-bit length alone."),
    bad("container-no-length-text", "container-1", SHORT, raw("{}¦".as_bytes()), "A header without a length in front."),
    ok("container-empty-object", "container-1", json("{}"), "The smallest valid file: an empty object and no data."),
    bad("container-length-zero", "container-2", "json.end", raw("\0\0\0\0\0\0\0\0¦".as_bytes()), "A length of 0 is allowed as a length, but an empty header is not JSON."),
    bad("container-length-zero-with-data", "container-2", "json.end", raw("\0\0\0\0\0\0\0\0¦{}".as_bytes()), "The header ends where the length says, also when JSON follows.").flags(&["early-end"]),
    bad("container-length-100000000-short", "container-3", BEYOND, raw(b"\x00\xE1\xF5\x05\x00\x00\x00\x00{}\xC2\xA6"), "The largest allowed length, in a file that has not so many bytes."),
    bad("container-length-100000001-short", "container-2", LARGE, raw(b"\xC2\xA6\x01\xE1\xF5\x05\x00\x00\x00\x00{}"), "One above the largest length is too large before the file's length is looked at.").faults(2).flags(&["huge-header"]),
    bad("container-length-100000001-alone", "container-2", LARGE, raw(b"\xC2\xA6\x01\xE1\xF5\x05\x00\x00\x00\x00"), "Eight bytes are enough to see that the length is too large.").faults(2),
    bad("container-length-2-31", "container-2", LARGE, raw(b"\xC2\xA6\x00\x00\x00\x80\x00\x00\x00\x00{}"), "2^31 is negative as a signed 32-bit number.").faults(2).flags(&["length-overflow"]),
    bad("container-length-2-32", "container-2", LARGE, raw(b"\xC2\xA6\x00\x00\x00\x00\x01\x00\x00\x00{}"), "2^32 is 0 in 32 bits.").faults(2).flags(&["length-overflow"]),
    bad("container-length-2-32-plus-2", "container-2", LARGE, raw(b"\xC2\xA6\x02\x00\x00\x00\x01\x00\x00\x00{}"), "Cut to 32 bits this length would fit the file exactly.").faults(2).flags(&["length-overflow", "overflow-32"]),
    bad("container-length-2-63", "container-2", LARGE, raw(b"\xC2\xA6\x00\x00\x00\x00\x00\x00\x00\x80{}"), "2^63 is negative as a signed 64-bit number.").faults(2).flags(&["length-overflow"]),
    bad("container-length-2-63-plus-2", "container-2", LARGE, raw(b"\xC2\xA6\x02\x00\x00\x00\x00\x00\x00\x80{}"), "Without its highest bit this length would fit the file exactly.").faults(2).flags(&["length-overflow"]),
    bad("container-length-max", "container-2", LARGE, raw(b"\xC2\xA6\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}"), "8 plus the largest length is 7 in 64 bits.").faults(2).flags(&["length-overflow"]),
    bad("container-length-max-minus-7", "container-2", LARGE, raw(b"\xC2\xA6\xF8\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}"), "8 plus this length is 0 in 64 bits.").faults(2).flags(&["length-overflow"]),
    bad("container-length-minus-2", "container-2", LARGE, raw(b"\xC2\xA6\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}"), "As a signed number this length is -2: a slice that ends before it begins.").faults(2).flags(&["length-overflow"]),
    bad("container-length-big-endian", "container-2", LARGE, raw(b"\xC2\xA6\x00\x00\x00\x00\x00\x00\x00\x02{}"), "The length is little-endian; this one is written big-endian.").faults(2),
    bad("container-json-first", "container-2", LARGE, raw("¦{\"a\":{}}".as_bytes()), "A JSON text without a length: its first eight bytes are a huge length.").faults(2),
    bad("container-length-one-beyond", "container-3", BEYOND, raw(b"\x03\x00\x00\x00\x00\x00\x00\x00{}\xC2\xA6"), "The header claims one byte more than the file has."),
    bad("container-length-eight-beyond", "container-3", BEYOND, raw(b"\x0A\x00\x00\x00\x00\x00\x00\x00{}\xC2\xA6"), "The length counts itself, as some writers think it should."),
    bad("container-header-missing", "container-3", BEYOND, raw(b"\x02\x00\x00\x00\x00\x00\x00\x00\xC2\xA6"), "The file ends directly after the length."),
    bad("container-header-cut-in-name", "container-3", BEYOND, raw(b"\x40\x00\x00\x00\x00\x00\x00\x00{\"weight\xC2\xA6"), "A download that broke off inside the header."),
    ok("container-length-odd", "container-5", json("{} "), "The length need not be a multiple of 8.").flags(&["unaligned"]),
    ok("container-length-multiple-of-8", "container-3", json("{}      "), "The header ends with the file; the reference pads it with spaces to a multiple of 8."),
    ok("container-data-at-odd-offset", "container-5", tensors!(("a" "F32" "[1]" "[0,4]")).data(4), "A header without padding puts 32-bit elements at an odd offset of the file.").flags(&["unaligned"]),
    ok("container-tensor-at-odd-offset", "container-5", tensors!(("a" "U8" "[1]" "[0,1]"), ("b" "F64" "[1]" "[1,9]")).data(9), "A 64-bit element at offset 1 of the data.").flags(&["unaligned"]),
    ok("container-u16-at-odd-offset", "container-5", tensors!(("a" "BOOL" "[3]" "[0,3]"), ("b" "U16" "[2]" "[3,7]")).data(7), "A 16-bit element at offset 3 of the data.").flags(&["unaligned"]),
    bad("container-length-cuts-object", "container-6", "json.end", bytes("{}".as_bytes()).claims(1).data(0), "The closing brace is after the end that the length names.").at(At::Byte(9)).flags(&["early-end"]),
    bad("container-length-cuts-entry", "container-6", "json.end", tensors!(("a" "U8" "[0]" "[0,0]")).claims(52), "The last brace is in the data.").at(At::Byte(60)).flags(&["early-end"]),
    bad("container-length-cuts-name", "container-6", "json.end", tensors!(("weight" "U8" "[0]" "[0,0]")).claims(5), "The length ends inside a name, whose other half is in the data.").at(At::Byte(13)).flags(&["early-end"]),
    bad("container-length-includes-data", "container-6", "json.trailing", json(r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}¦A"#), "The length counts one byte of data as header, and that byte is not whitespace.").faults(2).flags(&["early-end"]),
    ok("container-data-looks-like-json", "container-6", raw(b"\x35\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}{}"), "Data may look like another header; it is not read as one.").flags(&["early-end"]),
    ok("container-data-looks-like-space", "container-6", raw(b"\x35\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}  "), "Spaces after the header's end are data, not padding."),
    ok("data-bool-not-0-or-1", "container-7", raw(b"\x37\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]}}\x02\xFF"), "Values are not validated: a bool of 2 is valid."),
    ok("data-nan", "container-7", raw(b"\x36\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}\xFF\xFF\xFF\xFF"), "Values are not validated: a NaN is a value."),
];

#[rustfmt::skip] // One case, one or two lines.
pub const LENGTHS: &[Case] = &[
    bad("data-byte-after-empty-object", "container-4", "data.trailing", json("{}").data(1), "Without tensors the file ends with the header.").at(At::Data(0)).flags(&["trailing-data"]),
    bad("data-eight-bytes-after-empty-object", "container-4", "data.trailing", json("{}      ").data(8), "Eight bytes of data that belong to no tensor.").at(At::Data(0)).flags(&["trailing-data"]),
    bad("data-byte-after-metadata", "container-4", "data.trailing", json(r#"{"__metadata__":{"a":"b"}}"#).data(1), "Metadata alone describes no data.").at(At::Data(0)).flags(&["trailing-data"]),
    bad("data-byte-after-empty-tensor", "container-4", "data.trailing", tensors!(("a" "U8" "[0]" "[0,0]")).data(1), "A tensor without bytes ends at 0.").at(At::Data(0)).flags(&["trailing-data", "empty-tensor"]),
    bad("data-one-too-many", "container-4", "data.trailing", tensors!(("a" "U8" "[4]" "[0,4]")).data(5), "One byte after the last tensor.").at(At::Data(4)).flags(&["trailing-data"]),
    bad("data-padded-to-8", "container-4", "data.trailing", tensors!(("a" "U8" "[4]" "[0,4]")).data(8), "Padding after the last tensor is not allowed, not even up to a multiple of 8.").at(At::Data(4)).flags(&["trailing-data", "hidden-data"]),
    bad("data-second-file-behind", "container-4", "data.trailing", raw(b"\x02\x00\x00\x00\x00\x00\x00\x00{}\xC2\xA6\x02\x00\x00\x00\x00\x00\x00\x00{}"), "Two files in one: the second would be hidden data.").flags(&["trailing-data", "hidden-data"]),
    bad("data-one-too-few", "container-4", "data.short", tensors!(("a" "U8" "[4]" "[0,4]")).data(3), "The last byte of the last tensor is missing.").at(At::FileEnd),
    bad("data-none-at-all", "container-4", "data.short", tensors!(("a" "F32" "[1]" "[0,4]")), "The file ends with its header although a tensor needs data.").at(At::FileEnd),
    bad("data-second-tensor-cut", "container-4", "data.short", tensors!(("a" "U8" "[2]" "[0,2]"), ("b" "U8" "[2]" "[2,4]")).data(3), "The second tensor is cut in its middle.").at(At::FileEnd),
    bad("data-second-tensor-missing", "container-4", "data.short", tensors!(("a" "U8" "[2]" "[0,2]"), ("b" "U8" "[2]" "[2,4]")).data(2), "The data ends on a border of two tensors, so that each is whole or missing.").at(At::FileEnd),
    bad("data-short-out-of-order", "container-4", "data.short", tensors!(("b" "U8" "[2]" "[2,4]"), ("a" "U8" "[2]" "[0,2]")).data(3), "The tensor that ends last is first in the header.").at(At::FileEnd).flags(&["header-order"]),
    bad("data-trailing-out-of-order", "container-4", "data.trailing", tensors!(("b" "U8" "[2]" "[2,4]"), ("a" "U8" "[2]" "[0,2]")).data(5), "The last end is not that of the last member of the header.").at(At::Data(4)).flags(&["header-order", "trailing-data"]),
    bad("data-header-counted-in", "container-4", "data.short", tensors!(("a" "U8" "[60]" "[0,60]")).data(52), "The end is right when counted from the start of the file, but offsets count from the start of the data.").at(At::FileEnd),
    bad("data-short-2-32", "container-4", "data.short", tensors!(("a" "U8" "[4294967297]" "[0,4294967297]")).data(1), "2^32 + 1 bytes of data are 1 byte in 32 bits.").at(At::FileEnd).flags(&["overflow-32"]).unlike("size-two", "The size is in the shape and in the offsets."),
    bad("data-short-2-61", "container-4", "data.short", tensors!(("a" "U8" "[2305843009213693951]" "[0,2305843009213693951]")), "The largest tensor whose bits can be counted, in a file that has none of its bytes.").at(At::FileEnd).flags(&["u64"]).unlike("size-two", "No file has the data that these offsets need."),
    bad("data-short-end-wraps", "container-4", "data.short", tensors!(
        ("a" "U8" "[2305843009213693951]" "[0,2305843009213693951]"), ("b" "U8" "[2305843009213693951]" "[2305843009213693951,4611686018427387902]"),
        ("c" "U8" "[2305843009213693951]" "[4611686018427387902,6917529027641081853]"), ("d" "U8" "[2305843009213693951]" "[6917529027641081853,9223372036854775804]"),
        ("e" "U8" "[2305843009213693951]" "[9223372036854775804,11529215046068469755]"), ("f" "U8" "[2305843009213693951]" "[11529215046068469755,13835058055282163706]"),
        ("g" "U8" "[2305843009213693951]" "[13835058055282163706,16140901064495857657]"), ("h" "U8" "[2305843009213693951]" "[16140901064495857657,18446744073709551608]")),
        "Eight tensors end at 2^64 - 8; adding the header's length wraps around. The reference panics here unless it was built without overflow checks.")
        .at(At::FileEnd).flags(&["u64"]).random(&["INCOMPLETE", "panic"]).unlike("layout-two-bytes", "No file has the data that these offsets need."),
    ok("data-exact", "container-4", tensors!(("a" "U8" "[4]" "[0,4]")).data(4), "The file ends with its last tensor."),
    ok("data-exact-two-tensors", "layout-3", tensors!(("a" "U8" "[2]" "[0,2]"), ("b" "U16" "[2]" "[2,6]")).data(6), "Two tensors cover the data and share none of it."),
    ok("data-none-needed", "container-4", tensors!(("a" "F32" "[0]" "[0,0]")), "A tensor without bytes needs no data.").flags(&["empty-tensor"]),
];
