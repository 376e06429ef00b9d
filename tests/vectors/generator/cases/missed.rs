//! Cases for single bugs of readers that no other case catches.

use crate::case::{
    Case, MEMBERS, bad, bytes, empty_offsets, empty_shape, json, leak, members, offsets, ok, recipe, shape,
    tensors, unknown,
};
use crate::recipe::Part::{self, Text, Zeros};
use crate::recipe::{list, times};

/// A long part of names, keys and strings: 65,600 bytes.
const LONG: Part = times(8_200, "abcdefgh");

#[rustfmt::skip] // One case, a few lines.
pub const CASES: &[Case] = &[
    bad("overflow-small-left-u8", "shape-4", "tensor.overflow", tensors!(("a" "U8" "[2,¦9223372036854775809]" "[0,2]")).data(2), "A product that is 2 in 64 bits, and not below its left factor.").flags(&["overflow-64"]).source("text"),
    bad("overflow-small-left-bool", "shape-4", "tensor.overflow", tensors!(("a" "BOOL" "[2,¦9223372036854775810]" "[0,4]")).data(4), "A product that is 4 in 64 bits, and twice its left factor.").flags(&["overflow-64"]).source("text"),
    bad("overflow-small-left-i16", "shape-4", "tensor.overflow", tensors!(("a" "I16" "[2,¦9223372036854775809]" "[0,4]")).data(4), "Two elements of two bytes in 64 bits, and a small left factor.").flags(&["overflow-64"]).source("text"),
    bad("overflow-small-left-f32", "shape-4", "tensor.overflow", tensors!(("a" "F32" "[2,¦9223372036854775809]" "[0,8]")).data(8), "Two elements of four bytes in 64 bits, and a small left factor.").flags(&["overflow-64"]).source("text"),
    bad("overflow-small-left-f64", "shape-4", "tensor.overflow", tensors!(("a" "F64" "[4,¦4611686018427387905]" "[0,32]")).data(32), "Four elements of eight bytes in 64 bits, and a small left factor.").flags(&["overflow-64"]).source("text"),
    bad("overflow-small-left-f8", "shape-4", "tensor.overflow", tensors!(("a" "F8_E4M3" "[2,¦9223372036854775809]" "[0,2]")).data(2), "Two elements of F8_E4M3 in 64 bits, and a small left factor.").flags(&["overflow-64"]).source("text"),
    bad("overflow-small-left-f4", "shape-4", "tensor.overflow", tensors!(("a" "F4" "[2,¦9223372036854775809]" "[0,1]")).data(1), "Two elements of 4 bits in 64 bits, and a small left factor.").flags(&["overflow-64"]).source("text"),
    bad("overflow-small-left-f6", "shape-4", "tensor.overflow", tensors!(("a" "F6_E2M3" "[4,¦4611686018427387905]" "[0,3]")).data(3), "Four elements of 6 bits in 64 bits, and a small left factor.").flags(&["overflow-64"]).source("text"),
    bad("overflow-small-right", "shape-4", "tensor.overflow", tensors!(("a" "U8" "[9223372036854775809,¦2]" "[0,2]")).data(2), "A product that is 2 in 64 bits, and not below its right factor.").flags(&["overflow-64"]).source("text"),
    bad("overflow-odd-left", "shape-4", "tensor.overflow", tensors!(("a" "U8" "[3,¦12297829382473034412]" "[0,4]")).data(4), "A product that is 2^65 + 4: its left factor is odd.").flags(&["overflow-64"]).source("text"),
    bad("overflow-five-times", "shape-4", "tensor.overflow", tensors!(("a" "U8" "[5,¦3689348814741910325]" "[0,9]")).data(9), "A product that is 2^64 + 9, with five times a factor that is positive when it is signed.").flags(&["overflow-64"]).source("text"),
    bad("overflow-small-three", "shape-4", "tensor.overflow", tensors!(("a" "U8" "[1,2,¦9223372036854775809]" "[0,2]")).data(2), "One, two, and 2^63 + 1: 2 in 64 bits.").flags(&["overflow-64"]).source("text"),
    bad("overflow-small-six", "shape-4", "tensor.overflow", tensors!(("a" "U8" "[2,3,¦9223372036854775809]" "[0,6]")).data(6), "Two times three times 2^63 + 1: 6 in 64 bits.").flags(&["overflow-64"]).source("text"),
    bad("overflow-small-middle", "shape-4", "tensor.overflow", tensors!(("a" "U8" "[2,¦9223372036854775809,3]" "[0,6]")).data(6), "The second of three factors overflows, and the third hides it.").flags(&["overflow-64"]).source("text"),
    bad("overflow-small-first", "shape-4", "tensor.overflow", tensors!(("a" "U8" "[9223372036854775809,¦2,3]" "[0,6]")).data(6), "The largest of three factors is first.").flags(&["overflow-64"]).source("text"),
    bad("overflow-ones-between", "shape-4", "tensor.overflow", tensors!(("a" "U8" "[1,2,1,¦9223372036854775809,1]" "[0,2]")).data(2), "Dimensions of 1 around the two that overflow.").flags(&["overflow-64"]).source("text"),
    bad("overflow-small-then-zero", "shape-4", "tensor.overflow", tensors!(("a" "U8" "[2,¦9223372036854775809,0]" "[0,0]")), "The product is 2 in 64 bits, and 0 with the last dimension.").flags(&["product-order", "empty-tensor"]).either(),
    ok("overflow-zero-then-small", "shape-4", tensors!(("a" "U8" "[0,2,9223372036854775809]" "[0,0]")), "A zero before two factors that overflow.").flags(&["product-order", "empty-tensor", "u64"]),
    ok("overflow-small-zero-between", "shape-4", tensors!(("a" "U8" "[2,0,9223372036854775809]" "[0,0]")), "A zero between two factors that overflow.").flags(&["product-order", "empty-tensor", "u64"]),
    bad("overflow-second-tensor", "shape-4", "tensor.overflow", tensors!(("a" "U8" "[1]" "[0,1]"), ("b" "U8" "[2,¦9223372036854775809]" "[1,3]")).data(3), "The second tensor is the one whose product is 2 in 64 bits.").twin("layout-one-and-two").flags(&["overflow-64"]).source("text"),
    ok("size-bool-four", "tensor-3", tensors!(("a" "BOOL" "[4]" "[0,4]")).data(4), "Four elements of BOOL have four bytes."),
    ok("size-i16-two", "tensor-3", tensors!(("a" "I16" "[2]" "[0,4]")).data(4), "Two elements of I16 have four bytes."),
    ok("size-f64-four", "tensor-3", tensors!(("a" "F64" "[4]" "[0,32]")).data(32), "Four elements of F64 have 32 bytes."),
    ok("size-f8-e4m3-two", "tensor-3", tensors!(("a" "F8_E4M3" "[2]" "[0,2]")).data(2), "Two elements of F8_E4M3 have two bytes."),
    ok("size-five", "tensor-3", tensors!(("a" "U8" "[5]" "[0,5]")).data(5), "Five elements of one byte have five bytes."),
    bad("size-32-bits-small-left", "tensor-3", "tensor.size", tensors!(("a" "U8" "[2,2147483649]" "[¦0,2]")).data(2), "A product that is 2 in 32 bits, and not below its left factor.").flags(&["overflow-32"]),
    bad("size-16-bits-small-left", "tensor-3", "tensor.size", tensors!(("a" "U8" "[2,32769]" "[¦0,2]")).data(2), "A product that is 2 in 16 bits."),
    bad("size-first-dimension-only", "tensor-3", "tensor.size", tensors!(("a" "U8" "[2,3]" "[¦0,2]")).data(2), "The bytes of the first dimension alone."),
    bad("size-last-dimension-only", "tensor-3", "tensor.size", tensors!(("a" "U8" "[2,3]" "[¦0,3]")).data(3), "The bytes of the last dimension alone."),
    bad("size-sum-of-dimensions", "tensor-3", "tensor.size", tensors!(("a" "U8" "[2,3]" "[¦0,5]")).data(5), "As many bytes as the sum of the dimensions."),
    bad("size-three-dimensions-only", "tensor-3", "tensor.size", tensors!(("a" "U8" "[1,1,1,2]" "[¦0,1]")).data(1), "The fourth dimension counts."),
    bad("size-four-dimensions-only", "tensor-3", "tensor.size", tensors!(("a" "U8" "[1,1,1,1,2]" "[¦0,1]")).data(1), "The fifth dimension counts."),
    bad("size-bool-packed", "tensor-3", "tensor.size", tensors!(("a" "BOOL" "[8]" "[¦0,1]")).data(1), "Eight elements of BOOL in one byte: a BOOL is no bit."),
    bad("size-bool-packed-rounded", "tensor-3", "tensor.size", tensors!(("a" "BOOL" "[9]" "[¦0,2]")).data(2), "Nine elements of BOOL in two bytes."),
    bad("size-second-tensor-half", "tensor-3", "tensor.size", tensors!(("a" "U8" "[1]" "[0,1]"), ("b" "U16" "[1]" "[¦1,2]")).data(2), "The second tensor has half of its bytes."),
    bad("shape-big-integer", "shape-2", "json.syntax", shape("[1¦n]"), "A big integer of JavaScript."),
    bad("shape-long-suffix", "shape-2", "json.syntax", shape("[1¦L]"), "A long integer of C."),
    bad("shape-float-suffix", "shape-2", "json.syntax", shape("[1¦f]"), "A float of C without a point."),
    bad("shape-binary", "shape-2", "json.syntax", shape("[0¦b1]"), "A binary number."),
    bad("shape-octal", "shape-2", "json.syntax", shape("[0¦o1]"), "An octal number."),
    bad("shape-percent", "shape-2", "json.syntax", shape("[1¦%]"), "A sign after a number."),
    bad("shape-minus-behind", "shape-2", "json.syntax", shape("[1¦-]"), "A minus sign after a dimension."),
    bad("shape-infinity", "shape-2", "json.syntax", empty_shape("[0,¦Infinity]"), "Infinity after a zero is not JSON.").flags(&["lenient-json"]),
    bad("shape-nan-of-empty", "shape-2", "json.syntax", empty_shape("[¦NaN]"), "NaN, which becomes 0 when it is cast.").flags(&["lenient-json"]),
    bad("shape-word", "shape-2", "json.syntax", shape("[¦one]"), "A word in the place of a dimension."),
    bad("offsets-big-integer", "offsets-2", "json.syntax", offsets("[0,1¦n]"), "An end that is a big integer of JavaScript."),
    bad("offsets-big-integer-begin", "offsets-2", "json.syntax", offsets("[0¦n,1]"), "A begin that is a big integer of JavaScript."),
    bad("offsets-long-suffix", "offsets-2", "json.syntax", offsets("[0,1¦L]"), "An end that is a long integer of C."),
    bad("offsets-nan-of-empty", "offsets-2", "json.syntax", empty_offsets("[0,¦NaN]"), "An end of NaN, which becomes 0 when it is cast.").flags(&["lenient-json"]),
    bad("offsets-plus-begin", "offsets-2", "json.syntax", offsets("[¦+0,1]"), "A begin with a plus sign."),
    bad("number-big-integer", "json-3", "json.syntax", unknown("1¦n"), "A skipped big integer of JavaScript."),
    bad("number-leading-zeros", "json-3", "json.number", unknown("[0¦07]"), "A skipped number with two leading zeros."),
    bad("number-leading-zero-float", "json-3", "json.number", unknown("0¦1.5"), "A skipped float with a leading zero."),
    bad("number-plus-in-array", "json-3", "json.syntax", unknown("[1,¦+1]"), "A plus sign in a skipped array."),
    bad("number-nan", "json-2", "json.syntax", unknown("[¦NaN]"), "NaN in a skipped array.").flags(&["lenient-json"]),
    bad("number-infinity", "json-2", "json.syntax", unknown("[¦Infinity]"), "Infinity in a skipped array.").flags(&["lenient-json"]),
    bad("json-literal-null-upper", "json-2", "json.syntax", unknown("[¦NULL]"), "null in capitals.").flags(&["lenient-json"]),
    bad("json-literal-null-capitalized", "json-2", "json.syntax", unknown("[¦Null]"), "null with a capital.").flags(&["lenient-json"]),
    bad("json-literal-true-upper", "json-2", "json.syntax", unknown("[¦TRUE]"), "true in capitals.").flags(&["lenient-json"]),
    bad("json-literal-false-upper", "json-2", "json.syntax", unknown("[¦FALSE]"), "false in capitals.").flags(&["lenient-json"]),
    bad("json-literal-nil", "json-2", "json.syntax", unknown("[n¦il]"), "The null of Ruby and Lua.").flags(&["lenient-json"]),
    bad("number-octal", "json-3", "json.syntax", unknown("0¦o7"), "A skipped octal number."),
    bad("number-binary", "json-3", "json.syntax", unknown("0¦b1"), "A skipped binary number."),
    bad("dtype-unknown-empty", "dtype-1", "dtype.unknown", json(r#"{"a":{"dtype":¦"X9","shape":[0],"data_offsets":[0,0]}}"#), "A tensor without bytes needs a known dtype all the same.").flags(&["empty-tensor"]),
    bad("dtype-unknown-empty-matrix", "dtype-1", "dtype.unknown", json(r#"{"a":{"dtype":¦"X9","shape":[2,0,3],"data_offsets":[0,0]}}"#), "Dimensions around a zero, and an unknown dtype.").flags(&["empty-tensor"]).twin("shape-two-zero-three"),
    ok("shape-two-zero-three", "shape-6", json(r#"{"a":{"dtype":"U8","shape":[2,0,3],"data_offsets":[0,0]}}"#), "Dimensions around a zero.").flags(&["empty-tensor"]),
    bad("dtype-unknown-no-bytes", "dtype-1", "dtype.unknown", json(r#"{"a":{"dtype":¦"X9","shape":[1],"data_offsets":[0,0]}}"#), "An element of an unknown dtype, as if it had no bytes.").faults(2).twin("shape-one-zero"),
    bad("dtype-unknown-empty-first", "dtype-1", "dtype.unknown", json(r#"{"a":{"dtype":¦"X9","shape":[0],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#).data(2), "A tensor of an unknown dtype and without bytes before one with bytes.").flags(&["empty-tensor"]),
    bad("dtype-unknown-empty-last", "dtype-1", "dtype.unknown", json(r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":¦"X9","shape":[0],"data_offsets":[2,2]}}"#).data(2), "A tensor of an unknown dtype and without bytes at the end.").flags(&["empty-tensor"]),
    bad("dtype-lower-empty", "dtype-1", "dtype.unknown", json(r#"{"a":{"dtype":¦"u8","shape":[0],"data_offsets":[0,0]}}"#), "A dtype in small letters, and no bytes.").flags(&["empty-tensor"]),
    bad("dtype-no-text-empty", "dtype-1", "dtype.unknown", json(r#"{"a":{"dtype":¦"","shape":[0],"data_offsets":[0,0]}}"#), "An empty dtype, and no bytes.").flags(&["empty-tensor"]),
    bad("dtype-null-empty", "dtype-2", "dtype.type", json(r#"{"a":{"dtype":¦null,"shape":[0],"data_offsets":[0,0]}}"#), "null for a dtype, and no bytes.").flags(&["empty-tensor"]),
    bad("dtype-unknown-last-with-bytes", "dtype-1", "dtype.unknown", json(r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":¦"X9","shape":[2],"data_offsets":[2,4]}}"#).data(4), "The last tensor has an unknown dtype: to a reader that skips it, its bytes are no hole."),
    bad("dtype-unknown-middle", "dtype-1", "dtype.unknown", json(r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":¦"X9","shape":[1],"data_offsets":[1,2]},"c":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}"#).data(3), "The second of three tensors has an unknown dtype.").twin("layout-three-single"),
    ok("layout-three-single", "layout-2", json(r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},"c":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}"#).data(3), "Three tensors of a byte each."),
    ok("layout-one-and-two", "layout-2", json(r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#).data(3), "A tensor of one byte, then one of two."),
    bad("dtype-unknown-then-syntax", "dtype-1", "dtype.unknown", json(r#"{"a":{"dtype":¦"X9","shape":[1],"data_offsets":[0,1]},}"#).data(1), "An unknown dtype, then a trailing comma.").faults(2).unlike("entry-object", "Two faults are in two places."),
    bad("dtype-f8-e3m4", "dtype-1", "dtype.unknown", json(r#"{"a":{"dtype":¦"F8_E3M4","shape":[8],"data_offsets":[0,8]}}"#).data(8), "A float of 8 bits that ml_dtypes has."),
    bad("dtype-f8-e5m2fn", "dtype-1", "dtype.unknown", json(r#"{"a":{"dtype":¦"F8_E5M2FN","shape":[8],"data_offsets":[0,8]}}"#).data(8), "F8_E5M2 with two letters more."),
    bad("dtype-bf16-lower", "dtype-1", "dtype.unknown", json(r#"{"a":{"dtype":¦"bf16","shape":[8],"data_offsets":[0,16]}}"#).data(16), "BF16 in small letters."),
    bad("dtype-f32-lower", "dtype-1", "dtype.unknown", json(r#"{"a":{"dtype":¦"f32","shape":[8],"data_offsets":[0,32]}}"#).data(32), "F32 in small letters.").twin("dtype-f32"),
    bad("dtype-bool-lower", "dtype-1", "dtype.unknown", json(r#"{"a":{"dtype":¦"bool","shape":[8],"data_offsets":[0,8]}}"#).data(8), "BOOL in small letters."),
    bad("dtype-f16-line-feed", "dtype-1", "dtype.unknown", json(r#"{"a":{"dtype":¦"F16\n","shape":[8],"data_offsets":[0,16]}}"#).data(16), "A line feed after a dtype, in an escape.").twin("dtype-escaped-f16"),
    ok("dtype-escaped-f16", "dtype-2", json(r#"{"a":{"dtype":"F1\u0036","shape":[8],"data_offsets":[0,16]}}"#).data(16), "The last character of F16 in an escape.").flags(&["escaped-keys"]),
    bad("entry-offsets-alias", "entry-2", "entry.missing", members(r#""dtype":"U8","shape":[1],"offsets":[0,1]¦"#), "offsets is no other word for data_offsets."),
    bad("entry-type-alias", "entry-2", "entry.missing", members(r#""type":"U8","shape":[1],"data_offsets":[0,1]¦"#), "type is no other word for dtype."),
    bad("entry-data-type-alias", "entry-2", "entry.missing", members(r#""data_type":"U8","shape":[1],"data_offsets":[0,1]¦"#), "data_type is no other word for dtype."),
    bad("entry-dims-alias", "entry-2", "entry.missing", members(r#""dtype":"U8","dims":[1],"data_offsets":[0,1]¦"#), "dims is no other word for shape."),
    bad("entry-size-alias", "entry-2", "entry.missing", members(r#""dtype":"U8","size":[1],"data_offsets":[0,1]¦"#), "size is no other word for shape."),
    bad("entry-no-shape-when-empty", "entry-2", "entry.missing", json(r#"{"a":{"dtype":"U8","data_offsets":[0,0]¦}}"#), "A tensor without bytes needs a shape all the same.").flags(&["empty-tensor"]).twin("shape-one-zero"),
    bad("entry-no-dtype-when-empty", "entry-2", "entry.missing", json(r#"{"a":{"shape":[0],"data_offsets":[0,0]¦}}"#), "A tensor without bytes needs a dtype all the same.").flags(&["empty-tensor"]).twin("shape-one-zero"),
    bad("utf8-in-key-of-entry", "text-1", "text.utf8", bytes(b"{\"a\":{\"x\xC2\xA6\xE6\xBC\":1,\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}").data(1), "A cut character in the key of a member that is skipped."),
    bad("utf8-overlong-in-key-of-entry", "text-1", "text.utf8", bytes(b"{\"a\":{\"x\xC2\xA6\xC0\x80\":1,\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}").data(1), "An overlong NUL in the key of a member that is skipped."),
    bad("utf8-cut-4-after-one-byte", "text-1", "text.utf8", bytes(b"{\"\xC2\xA6\xF0abc\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}").data(1), "The lead byte of a character of four bytes, then letters.").flags(&["utf8"]),
    bad("utf8-cut-4-after-three-bytes", "text-1", "text.utf8", bytes(b"{\"\xC2\xA6\xF0\x9F\x98abc\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}").data(1), "Three bytes of a character of four, then letters.").flags(&["utf8"]),
    bad("utf8-cut-2-by-letter", "text-1", "text.utf8", bytes(b"{\"\xC2\xA6\xC3abc\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}").data(1), "The lead byte of a character of two bytes, then letters.").flags(&["utf8"]),
    bad("escape-in-key-of-entry", "json-6", "json.escape", members(r#""x\¦q":1,"dtype":"U8","shape":[1],"data_offsets":[0,1]"#), "A bad escape in the key of a member that is skipped."),
    bad("escape-digits-in-key-of-entry", "json-6", "json.escape", members(r#""x\u00¦g0":1,"dtype":"U8","shape":[1],"data_offsets":[0,1]"#), "Bad digits in the key of a member that is skipped."),
    bad("escape-in-metadata-key", "json-6", "json.escape", json(r#"{"__metadata__":{"k\¦q":"v"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#).data(1), "A bad escape in a metadata key."),
    bad("escape-digits-in-metadata-key", "json-6", "json.escape", json(r#"{"__metadata__":{"k\u00¦g0":"v"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#).data(1), "Bad digits in a metadata key."),
    bad("surrogate-low-in-key-of-entry", "json-7", "json.surrogate", members(r#""x¦\udc00":1,"dtype":"U8","shape":[1],"data_offsets":[0,1]"#), "A lone low half in the key of a member that is skipped.").flags(&["lone-surrogate"]),
    bad("surrogate-low-in-metadata-key", "json-7", "json.surrogate", json(r#"{"__metadata__":{"k¦\udc00":"v"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#).data(1), "A lone low half in a metadata key.").flags(&["lone-surrogate"]),
    ok("escape-key-of-entry", "json-6", members(r#""x\n\u0041\ud83d\ude00":1,"dtype":"U8","shape":[1],"data_offsets":[0,1]"#), "Escapes in the key of a member that is skipped."),
    ok("escape-metadata-key", "json-6", json(r#"{"__metadata__":{"k\n\u0041\ud83d\ude00":"v"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#).data(1), "Escapes in a metadata key, before a tensor."),
    ok("string-del", "json-5", json("{\"__metadata__\":{\"k\u{7f}\":\"v\u{7f}\"},\"a\u{7f}\":{\"x\u{7f}\":{\"y\u{7f}\":[\"z\u{7f}\"]},\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}").data(1), "The character 7F may stand raw in every string."),
    ok("string-c1-controls", "json-5", json("{\"__metadata__\":{\"k\u{80}\":\"v\u{9f}\"},\"a\u{80}\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}").data(1), "The control characters from U+0080 to U+009F may stand raw."),
    ok("escape-solidus-everywhere", "json-6", json(r#"{"__metadata__":{"a\/b":"c\/d"},"e\/f":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#).data(1), "An escaped slash in a name, a key and a value is a slash."),
    ok("count-metadata-key-65537", "metadata-2", recipe(&[Text("{\"__metadata__\":{\""), LONG, Text("1\":\"one\",\""), LONG, Text("2\":\"two\",\""), times(32, "abcdefgh"), Text("\":\"256\",\""), times(512, "abcdefgh"), Text("\":\"4096\",\"abcdefgh\":\"8\"}}")], &[]), "Metadata keys of 8, 256, 4,096 and twice 65,601 bytes, all alike at the start."),
    ok("count-metadata-key-257", "metadata-2", recipe(&[Text("{\"__metadata__\":{\""), times(32, "abcdefgh"), Text("1\":\"one\",\""), times(32, "abcdefgh"), Text("2\":\"two\",\""), times(8, "abcdefgh"), Text("3\":\"three\"}}")], &[]), "Metadata keys of 65 and of 257 bytes, two alike but for the last."),
    ok("count-metadata-key-4097", "metadata-2", recipe(&[Text("{\"__metadata__\":{\""), times(512, "abcdefgh"), Text("1\":\"one\",\""), times(512, "abcdefgh"), Text("2\":\"two\"}}")], &[]), "Two metadata keys of 4,097 bytes, alike but for the last."),
    ok("count-metadata-value-257", "metadata-2", recipe(&[Text("{\"__metadata__\":{\"a\":\""), times(32, "abcdefgh"), Text("1\",\"b\":\""), times(8, "abcdefgh"), Text("2\"}}")], &[]), "Metadata values of 65 and of 257 bytes."),
    ok("count-metadata-value-65537", "metadata-2", recipe(&[Text("{\"__metadata__\":{\"a\":\""), LONG, Text("1\",\"b\":\""), times(512, "abcdefgh"), Text("2\"}}")], &[]), "Metadata values of 4,097 and 65,601 bytes."),
    ok("count-metadata-value-1000001", "metadata-2", recipe(&[Text("{\"__metadata__\":{\"a\":\""), times(1_000_064, "v"), Text("\"}}")], &[]), "A metadata value of more than a million bytes."),
    ok("count-metadata-escapes-65537", "metadata-2", recipe(&[Text("{\"__metadata__\":{\"a\":\""), times(66_000, r"\n"), Text("\"}}")], &[]), "A metadata value of 66,000 line feeds in escapes."),
    ok("count-skipped-string-257", "entry-5", recipe(&[Text("{\"a\":{\"x\":\""), times(32, "abcdefgh"), Text("1\","), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "A skipped string of 257 bytes."),
    ok("count-skipped-string-4097", "entry-5", recipe(&[Text("{\"a\":{\"x\":\""), times(512, "abcdefgh"), Text("1\","), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "A skipped string of 4,097 bytes."),
    ok("count-skipped-string-65537", "entry-5", recipe(&[Text("{\"a\":{\"x\":\""), LONG, Text("1\","), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "A skipped string of 65,601 bytes."),
    bad("count-skipped-string-65537-control", "json-5", "json.control", recipe(&[Text("{\"a\":{\"x\":\""), LONG, Text("¦\u{1}\","), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "A raw control character at the end of a skipped string of 65,601 bytes.").twin("count-skipped-string-65537"),
    ok("count-skipped-key-257", "entry-5", recipe(&[Text("{\"a\":{\""), times(32, "abcdefgh"), Text("1\":0,\"x\":{\""), times(32, "abcdefgh"), Text("\":0},"), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "Skipped keys of 256 and 257 bytes."),
    ok("count-skipped-key-65537", "entry-5", recipe(&[Text("{\"a\":{\""), LONG, Text("1\":0,\"x\":{\""), LONG, Text("\":0},"), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "Skipped keys of 65,600 and 65,601 bytes."),
    ok("count-skipped-key-known-start", "entry-5", recipe(&[Text("{\"a\":{\"dtype"), LONG, Text("\":0,\"shape"), LONG, Text("\":0,"), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "Skipped keys of 65,605 bytes that begin as known ones."),
    bad("count-skipped-key-65537-control", "json-5", "json.control", recipe(&[Text("{\"a\":{\""), LONG, Text("¦\u{1}\":0,\"x\":{\""), LONG, Text("\":0},"), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "A raw control character at the end of a skipped key of 65,601 bytes.").twin("count-skipped-key-65537"),
    ok("count-skipped-array-257", "entry-5", recipe(&[Text("{\"a\":{\"x\":["), list(257, "${i}"), Text("],"), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "A skipped array of 257 numbers."),
    ok("count-skipped-array-65537", "entry-5", recipe(&[Text("{\"a\":{\"x\":["), list(65_537, "0"), Text("],"), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "A skipped array of 65,537 zeros."),
    bad("count-skipped-array-257-bad", "entry-5", "json.syntax", recipe(&[Text("{\"a\":{\"x\":["), list(256, "${i}"), Text(",¦x256],"), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "The last of 257 skipped values is no JSON.").twin("count-skipped-array-257"),
    ok("count-skipped-object-257", "entry-5", recipe(&[Text("{\"a\":{\"x\":{"), list(257, "\"k${i}\":${i}"), Text("},"), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "A skipped object of 257 members."),
    ok("count-skipped-object-65537", "entry-5", recipe(&[Text("{\"a\":{\"x\":{"), list(65_537, "\"${i}\":0"), Text("},"), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "A skipped object of 65,537 members."),
    ok("count-skipped-arrays-257", "entry-5", recipe(&[Text("{\"a\":{\"x\":["), list(257, "[{}]"), Text("],"), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "257 small arrays in a skipped one: brackets are closed again."),
    ok("count-skipped-digits-257", "json-3", recipe(&[Text("{\"a\":{\"x\":1"), times(257, "0"), Text(",\"y\":0."), times(257, "1"), Text(","), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "Skipped numbers of more than 256 digits."),
    ok("count-whitespace-65537", "text-2", recipe(&[Text("{"), times(16_400, " \t\r\n"), Text("\"a\""), times(16_400, " \t\r\n"), Text(":{\"dtype\":\"U8\",\"shape\":["), times(16_400, " \t\r\n"), Text("1],\"data_offsets\":[0,1]}"), times(16_400, " \t\r\n"), Text("}")], &[Zeros(1)]), "65,600 bytes of whitespace in four places.").flags(&["whitespace"]),
    ok("count-whitespace-257", "text-2", recipe(&[Text("{"), times(257, " "), Text("\"a\""), times(257, "\n"), Text(":{\"dtype\":\"U8\",\"shape\":["), times(257, "\t"), Text("1],\"data_offsets\":[0,1]}"), times(257, "\r"), Text("}")], &[Zeros(1)]), "257 bytes of whitespace of each kind.").flags(&["whitespace"]),
    ok("count-name-1025", "name-1", recipe(&[Text("{\""), times(128, "abcdefgh"), Text("1\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},\""), times(128, "abcdefgh"), Text("2\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},\""), times(16, "abcdefgh"), Text("3\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}")], &[]), "Names of 129 and of 1,025 bytes, two alike but for the last.").flags(&["empty-tensor"]),
    ok("count-names-65537-alike", "name-2", recipe(&[Text("{\""), LONG, Text("1\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\""), LONG, Text("2\":{\"dtype\":\"U16\",\"shape\":[1],\"data_offsets\":[1,3]}}")], &[Zeros(3)]), "Two names of 65,601 bytes that differ in the last one."),
    ok("count-all-257", "json-1", recipe(&[Text("{\"__metadata__\":{"), list(257, "\"k${i}\":\"v${i}\""), Text(",\""), times(257, "k"), Text("\":\""), times(4097, "v"), Text("\"},\""), times(1025, "n"), Text("\":{\"x\":\""), times(4097, "s"), Text("\",\""), times(257, "m"), Text("\":{\""), times(257, "u"), Text("\":0},\"y\":["), list(257, "${i}"), Text("],\"z\":{"), list(257, "\"k${i}\":[]"), Text("},\"w\":1"), times(257, "0"), Text(",\"dtype\":\"U8\","), times(257, " \n\r\t"), Text("\"shape\":[0],\"data_offsets\":[0,0]},"), list(257, "\"t${i}\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[${i},${i*1+1}]}"), Text("}")], &[Zeros(257)]), "Strings, keys, arrays, objects, numbers, whitespace, pairs and tensors, each more than 256."),
    ok("count-all-65537", "json-1", recipe(&[Text("{\"__metadata__\":{\""), LONG, Text("1\":\"one\",\""), LONG, Text("2\":\""), LONG, Text("\"},\""), LONG, Text("1\":{\"x\":\""), LONG, Text("\",\""), LONG, Text("\":{\""), LONG, Text("\":0},\"y\":["), list(65_537, "0"), Text("],\"dtype\":\"U8\","), times(66_000, " "), Text("\"shape\":[1],\"data_offsets\":[0,1]},\""), LONG, Text("2\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}")], &[Zeros(2)]), "Strings, keys, an array and whitespace, each above 64 KiB."),
    bad("count-dtype-65537", "dtype-1", "dtype.unknown", recipe(&[Text("{\"a\":{\"dtype\":¦\"U8"), LONG, Text("\",\"shape\":[1],\"data_offsets\":[0,1]}}")], &[Zeros(1)]), "A dtype of 65,602 bytes that begins as a known one.").unlike("entry-object", "The long dtype is the fault."),
];

/// Raw control characters, each in every string but a name.
const CONTROLS: [(&str, char); 4] = [("nul", '\0'), ("tab", '\t'), ("lf", '\n'), ("1f", '\u{1f}')];

/// Where they are: a header with `#` in their place, and the words for it.
#[rustfmt::skip] // One place, one line.
const PLACES: [(&str, &str, &str); 6] = [
    ("key-of-entry", r##"{"a":{"x#":1,"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"##, "the key of a member that is skipped"),
    ("value-of-entry", r##"{"a":{"x":"y#","dtype":"U8","shape":[1],"data_offsets":[0,1]}}"##, "a string that is skipped"),
    ("skipped-key", r##"{"a":{"x":{"y#":1},"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"##, "a key in an object that is skipped"),
    ("skipped-value", r##"{"a":{"x":["y#"],"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"##, "a string in an array that is skipped"),
    ("key-of-metadata", r##"{"__metadata__":{"k#":"v"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"##, "a metadata key"),
    ("value-of-metadata", r##"{"__metadata__":{"k":"v#"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"##, "a metadata value"),
];

/// Returns each control character in each place.
pub fn controls() -> Vec<Case> {
    let one = |(place, header, words): (&str, &str, &str), (id, control): (&str, char)| {
        let header = header.replace('#', &format!("¦{control}")).leak();
        let number = u32::from(control);
        let reason = format!("The raw control character {number:02X} in {words}.").leak();
        bad(format!("string-{id}-in-{place}").leak(), "json-5", "json.control", json(header).data(1), reason)
    };
    PLACES
        .into_iter()
        .flat_map(|place| CONTROLS.into_iter().map(move |control| one(place, control)))
        .collect()
}

/// Where a comma or a colon is: a valid header with `#` in its place, the words for it, which of the two it
/// is, and which of its cases have other ids.
#[rustfmt::skip] // One place, one line.
const SEPARATORS: [(&str, &str, &str, &str, &str); 10] = [
    ("between-entries", r##"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}#"b":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}}"##, "between two entries", ",", "right"),
    ("in-entry", r##"{"a":{"dtype":"U8"#"shape":[1],"data_offsets":[0,1]}}"##, "between two members of an entry", ",", "right semicolon twice"),
    ("in-shape", r##"{"a":{"dtype":"U8","shape":[1#1],"data_offsets":[0,1]}}"##, "between two dimensions", ",", "missing twice"),
    ("in-metadata", r##"{"__metadata__":{"k":"v"#"l":"w"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"##, "between two pairs of metadata", ",", ""),
    ("in-skipped-array", r##"{"a":{"x":["s"#"t"],"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"##, "in an array that is skipped", ",", ""),
    ("in-skipped-object", r##"{"a":{"x":{"y":1#"z":2},"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"##, "in an object that is skipped", ",", ""),
    ("behind-name", r##"{"a"#{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"##, "behind a name", ":", "right equals twice"),
    ("behind-key", r##"{"a":{"dtype"#"U8","shape":[1],"data_offsets":[0,1]}}"##, "behind a key of an entry", ":", "right"),
    ("behind-metadata-key", r##"{"__metadata__":{"k"#"v"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"##, "behind a metadata key", ":", ""),
    ("behind-skipped-key", r##"{"a":{"x":{"y"#1},"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"##, "behind a key that is skipped", ":", ""),
];

/// What a reader may take for a comma or a colon.
const WRONG: [(&str, &str, &str); 5] = [
    ("missing", " ¦", "Nothing"),
    ("semicolon", "¦;", "A semicolon"),
    ("equals", "¦=", "An equals sign"),
    ("twice", "#¦#", "Two instead of one"),
    ("other", "¦@", "A colon for a comma, or the reverse,"),
];

/// Returns each place with its separator, and with what is none.
pub fn separators() -> Vec<Case> {
    let mut cases = Vec::new();
    for (place, header, words, right, elsewhere) in SEPARATORS {
        let with = |separator: &str| json(leak(header.replace('#', separator))).data(1);
        let mut add = |case: Case| cases.push(case.flags(&["grammar"]));
        if !elsewhere.contains("right") {
            let reason = leak(format!("The separator {words}."));
            add(ok(leak(format!("separator-{place}")), "json-1", with(right), reason));
        }
        let other = if right == "," { ":" } else { "," };
        for (id, wrong, what) in WRONG.iter().filter(|(id, ..)| !elsewhere.contains(id)) {
            let body = with(&wrong.replace('#', right).replace('@', other));
            let reason = leak(format!("{what} {words}."));
            let id = leak(format!("separator-{place}-{id}"));
            add(bad(id, "json-1", "json.syntax", body, reason));
        }
    }
    cases
}
