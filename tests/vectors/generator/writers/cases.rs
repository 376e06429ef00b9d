//! The cases of writers. Each has a line, or a few.

use super::Case;
use super::Must::{self, Refuse, Write};
use super::Tensor;

/// One tensor of one byte.
const ONE: &[Tensor] = &[("a", "U8", &[1], "0d")];

const fn case(id: &'static str, must: Must, tensors: &'static [Tensor], reason: &'static str) -> Case {
    Case { id, must, reason, flags: &[], tensors, metadata: None }
}

impl Case {
    const fn flags(mut self, flags: &'static [&'static str]) -> Self {
        self.flags = flags;
        self
    }

    const fn metadata(mut self, pairs: &'static [(&'static str, &'static str)]) -> Self {
        self.metadata = Some(pairs);
        self
    }
}

#[rustfmt::skip] // One case, one line.
pub const CASES: &[Case] = &[
    case("writer-one-tensor", Write, ONE, "One tensor of one byte.").flags(&["layout"]),
    case("writer-nothing", Write, &[], "No tensors, and no metadata.").flags(&["nothing"]),
    case("writer-metadata-only", Write, &[], "Metadata, and no tensors.").flags(&["nothing", "metadata"]).metadata(&[("a", "b")]),
    case("writer-metadata-empty", Write, ONE, "Metadata without pairs is not absent metadata.").flags(&["metadata"]).metadata(&[]),
    case("writer-metadata-empty-alone", Write, &[], "Metadata without pairs, and no tensors: the reference writes a comma too many.").flags(&["nothing", "metadata"]).metadata(&[]),
    case("writer-dtype-bool", Write, &[("a", "BOOL", &[4], "0d141b22")], "Four elements of BOOL.").flags(&["dtypes"]),
    case("writer-dtype-f4", Write, &[("a", "F4", &[4], "0d14")], "Four elements of F4.").flags(&["dtypes"]),
    case("writer-dtype-f6-e2m3", Write, &[("a", "F6_E2M3", &[4], "0d141b")], "Four elements of F6_E2M3.").flags(&["dtypes"]),
    case("writer-dtype-f6-e3m2", Write, &[("a", "F6_E3M2", &[4], "0d141b")], "Four elements of F6_E3M2.").flags(&["dtypes"]),
    case("writer-dtype-u8", Write, &[("a", "U8", &[4], "0d141b22")], "Four elements of U8.").flags(&["dtypes"]),
    case("writer-dtype-i8", Write, &[("a", "I8", &[4], "0d141b22")], "Four elements of I8.").flags(&["dtypes"]),
    case("writer-dtype-f8-e5m2", Write, &[("a", "F8_E5M2", &[4], "0d141b22")], "Four elements of F8_E5M2.").flags(&["dtypes"]),
    case("writer-dtype-f8-e4m3", Write, &[("a", "F8_E4M3", &[4], "0d141b22")], "Four elements of F8_E4M3.").flags(&["dtypes"]),
    case("writer-dtype-f8-e8m0", Write, &[("a", "F8_E8M0", &[4], "0d141b22")], "Four elements of F8_E8M0.").flags(&["dtypes"]),
    case("writer-dtype-f8-e4m3fnuz", Write, &[("a", "F8_E4M3FNUZ", &[4], "0d141b22")], "Four elements of F8_E4M3FNUZ.").flags(&["dtypes"]),
    case("writer-dtype-f8-e5m2fnuz", Write, &[("a", "F8_E5M2FNUZ", &[4], "0d141b22")], "Four elements of F8_E5M2FNUZ.").flags(&["dtypes"]),
    case("writer-dtype-i16", Write, &[("a", "I16", &[4], "0d141b222930373e")], "Four elements of I16.").flags(&["dtypes"]),
    case("writer-dtype-u16", Write, &[("a", "U16", &[4], "0d141b222930373e")], "Four elements of U16.").flags(&["dtypes"]),
    case("writer-dtype-f16", Write, &[("a", "F16", &[4], "0d141b222930373e")], "Four elements of F16.").flags(&["dtypes"]),
    case("writer-dtype-bf16", Write, &[("a", "BF16", &[4], "0d141b222930373e")], "Four elements of BF16.").flags(&["dtypes"]),
    case("writer-dtype-i32", Write, &[("a", "I32", &[4], "0d141b222930373e454c535a61686f76")], "Four elements of I32.").flags(&["dtypes"]),
    case("writer-dtype-u32", Write, &[("a", "U32", &[4], "0d141b222930373e454c535a61686f76")], "Four elements of U32.").flags(&["dtypes"]),
    case("writer-dtype-f32", Write, &[("a", "F32", &[4], "0d141b222930373e454c535a61686f76")], "Four elements of F32.").flags(&["dtypes"]),
    case("writer-dtype-c64", Write, &[("a", "C64", &[4], "0d141b222930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6")], "Four elements of C64.").flags(&["dtypes"]),
    case("writer-dtype-f64", Write, &[("a", "F64", &[4], "0d141b222930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6")], "Four elements of F64.").flags(&["dtypes"]),
    case("writer-dtype-i64", Write, &[("a", "I64", &[4], "0d141b222930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6")], "Four elements of I64.").flags(&["dtypes"]),
    case("writer-dtype-u64", Write, &[("a", "U64", &[4], "0d141b222930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6")], "Four elements of U64.").flags(&["dtypes"]),
    case("writer-scalar", Write, &[("a", "F32", &[], "0000803f")], "A scalar has an empty shape, and one element.").flags(&["sizes"]),
    case("writer-empty", Write, &[("a", "F32", &[0], "")], "A tensor without elements.").flags(&["layout", "sizes"]),
    case("writer-empty-between", Write, &[("a", "U8", &[1], "01"), ("b", "U8", &[0, 2], ""), ("c", "U8", &[1], "02")], "A tensor without elements between two others.").flags(&["layout"]),
    case("writer-empty-only", Write, &[("a", "U8", &[0], ""), ("b", "I64", &[2, 0], "")], "Nothing but tensors without elements.").flags(&["layout", "nothing"]),
    case("writer-odd-then-wide", Write, &[("a", "U8", &[3], "010203"), ("b", "F64", &[1], "000000000000f03f")], "An odd number of bytes before a wide element: no padding between them.").flags(&["layout"]),
    case("writer-not-sorted", Write, &[("b", "U8", &[1], "01"), ("a", "U8", &[1], "02"), ("c", "U16", &[1], "0304")], "Tensors in no order of names or dtypes.").flags(&["layout"]),
    case("writer-rank-9", Write, &[("a", "U8", &[1, 1, 1, 1, 1, 1, 1, 1, 2], "0102")], "Nine dimensions.").flags(&["sizes"]),
    case("writer-zero-then-huge", Write, &[("a", "U8", &[0, 4294967296, 4294967296], "")], "A zero before dimensions whose product overflows.").flags(&["sizes"]),
    case("writer-nan", Write, &[("a", "F32", &[2], "0000c07f0000807f")], "NaN and infinity are values.").flags(&["dtypes"]),
    case("writer-bool-2", Write, &[("a", "BOOL", &[2], "0102")], "A bool of 2 is a value.").flags(&["dtypes"]),
    case("writer-name-empty", Write, &[("", "U8", &[1], "0d")], "The empty string is a name.").flags(&["names"]),
    case("writer-name-quote", Write, &[("\"", "U8", &[1], "0d")], "A quote in a name.").flags(&["names"]),
    case("writer-name-backslash", Write, &[("\\", "U8", &[1], "0d")], "A backslash in a name.").flags(&["names"]),
    case("writer-name-slash", Write, &[("a/b", "U8", &[1], "0d")], "A slash in a name needs no escape.").flags(&["names"]),
    case("writer-name-nul", Write, &[("\0", "U8", &[1], "0d")], "A NUL in a name.").flags(&["names"]),
    case("writer-name-control", Write, &[("\u{1}\u{8}\t\n\u{c}\r\u{1f}", "U8", &[1], "0d")], "Control characters in a name.").flags(&["names"]),
    case("writer-name-del", Write, &[("\u{7f}", "U8", &[1], "0d")], "DEL in a name.").flags(&["names"]),
    case("writer-name-latin", Write, &[("\u{e9}", "U8", &[1], "0d")], "A letter with an accent in a name.").flags(&["names"]),
    case("writer-name-decomposed", Write, &[("e\u{301}", "U8", &[1], "0d")], "A letter and an accent stay two characters.").flags(&["names"]),
    case("writer-name-emoji", Write, &[("\u{1f600}", "U8", &[1], "0d")], "A character of four bytes in a name.").flags(&["names"]),
    case("writer-name-line-separator", Write, &[("\u{2028}", "U8", &[1], "0d")], "A line separator in a name.").flags(&["names"]),
    case("writer-name-bom", Write, &[("\u{feff}a", "U8", &[1], "0d")], "A byte order mark in a name.").flags(&["names"]),
    case("writer-name-last", Write, &[("\u{10ffff}", "U8", &[1], "0d")], "The last character of all in a name.").flags(&["names"]),
    case("writer-name-path", Write, &[("../../etc/passwd", "U8", &[1], "0d")], "A name that looks like a path.").flags(&["names"]),
    case("writer-name-metadata-space", Write, &[("__metadata__ ", "U8", &[1], "0d")], "A name that is nearly that of the metadata.").flags(&["names"]),
    case("writer-name-proto", Write, &[("__proto__", "U8", &[1], "0d")], "A name that is special in JavaScript.").flags(&["names"]),
    case("writer-name-digits", Write, &[("0", "U8", &[1], "0d")], "A name of digits.").flags(&["names"]),
    case("writer-names-differ-in-case", Write, &[("a", "U8", &[1], "01"), ("A", "U8", &[1], "02")], "Names that differ in case.").flags(&["names"]),
    case("writer-names-differ-after-nul", Write, &[("a\0b", "U8", &[1], "01"), ("a\0c", "U8", &[1], "02")], "Names that differ after a NUL.").flags(&["names"]),
    case("writer-names-normal-forms", Write, &[("\u{e9}", "U8", &[1], "01"), ("e\u{301}", "U8", &[1], "02")], "Two spellings of a letter are two names.").flags(&["names"]),
    case("writer-names-like-numbers", Write, &[("10", "U8", &[1], "01"), ("9", "U8", &[1], "02")], "Names that some languages sort as numbers.").flags(&["names"]),
    case("writer-metadata", Write, ONE, "One pair of metadata.").flags(&["metadata"]).metadata(&[("format", "pt")]),
    case("writer-metadata-escapes", Write, ONE, "Quotes, backslashes and control characters in metadata.").flags(&["metadata"]).metadata(&[("k\"\\\n", "v\"\\\0\u{1f}")]),
    case("writer-metadata-unicode", Write, ONE, "Characters of two to four bytes in metadata.").flags(&["metadata"]).metadata(&[("\u{e9}", "\u{20ac}\u{1f600}")]),
    case("writer-metadata-empty-strings", Write, ONE, "An empty key with an empty value.").flags(&["metadata"]).metadata(&[("", "")]),
    case("writer-metadata-own-name", Write, ONE, "A key of the metadata with the metadata's own name.").flags(&["metadata"]).metadata(&[("__metadata__", "x")]),
    case("writer-metadata-like-entry", Write, ONE, "Metadata that looks like an entry.").flags(&["metadata"]).metadata(&[("dtype", "U8")]),
    case("writer-metadata-json", Write, ONE, "JSON in a value is a string.").flags(&["metadata"]).metadata(&[("config", "{\"a\":[1]}")]),
    case("writer-refuse-name-metadata", Refuse, &[("__metadata__", "U8", &[1], "0d")], "A tensor cannot have the name of the metadata: the reference writes a file that no reader accepts.").flags(&["names"]),
    case("writer-refuse-name-metadata-with-metadata", Refuse, &[("__metadata__", "U8", &[1], "0d")], "A tensor with the name of the metadata, beside metadata.").flags(&["names", "metadata"]).metadata(&[("a", "b")]),
    case("writer-refuse-same-name", Refuse, &[("a", "U8", &[1], "01"), ("a", "U8", &[1], "02")], "Two tensors of one name.").flags(&["names"]),
    case("writer-refuse-same-key", Refuse, ONE, "Two values for one key of the metadata.").flags(&["metadata"]).metadata(&[("k", "1"), ("k", "2")]),
    case("writer-refuse-short", Refuse, &[("a", "U8", &[2], "01")], "A byte less than the shape needs.").flags(&["sizes"]),
    case("writer-refuse-long", Refuse, &[("a", "U8", &[2], "010203")], "A byte more than the shape needs.").flags(&["sizes"]),
    case("writer-refuse-scalar-without-data", Refuse, &[("a", "U8", &[], "")], "A scalar without a byte.").flags(&["sizes"]),
    case("writer-refuse-empty-with-data", Refuse, &[("a", "U8", &[0], "01")], "A tensor without elements that has a byte.").flags(&["sizes"]),
    case("writer-refuse-elements-for-bytes", Refuse, &[("a", "F32", &[2], "0102")], "As many bytes as elements.").flags(&["sizes"]),
    case("writer-refuse-half-byte", Refuse, &[("a", "F4", &[3], "0102")], "Three elements of 4 bits do not fill bytes.").flags(&["sizes", "dtypes"]),
    case("writer-refuse-six-bits", Refuse, &[("a", "F6_E2M3", &[2], "0102")], "Two elements of 6 bits do not fill bytes.").flags(&["sizes", "dtypes"]),
    case("writer-refuse-overflow", Refuse, &[("a", "U8", &[4294967296, 4294967296], "")], "A product of dimensions that is 0 in 64 bits.").flags(&["sizes"]),
    case("writer-refuse-bits-overflow", Refuse, &[("a", "F64", &[2305843009213693953], "0000000000000000")], "Bytes that are 8 in 64 bits.").flags(&["sizes"]),
    case("writer-refuse-dtype", Refuse, &[("a", "F32 ", &[1], "0000803f")], "A dtype with a space after it.").flags(&["dtypes"]),
    case("writer-refuse-dtype-lower", Refuse, &[("a", "f32", &[1], "0000803f")], "A dtype in lower case.").flags(&["dtypes"]),
    case("writer-refuse-dtype-unknown", Refuse, &[("a", "I4", &[2], "01")], "A dtype that the format does not have.").flags(&["dtypes"]),
    case("writer-refuse-second-short", Refuse, &[("a", "U8", &[1], "01"), ("b", "U16", &[1], "02")], "The second of two tensors lacks a byte.").flags(&["sizes"]),
];
