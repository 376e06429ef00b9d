//! Files that are made by recipes: too large to be stored, or too repetitive.

use crate::case::{At, Case, bad, ok, recipe};
use crate::recipe::Part::{self, Hex, Text, Zeros};
use crate::recipe::{Recipe, list, times};

const TENSOR: &str = r#""dtype":"U8","shape":[1],"data_offsets":[0,1]"#;

const fn header(header: &'static [Part], data: &'static [Part]) -> crate::case::Body {
    recipe(Recipe { header, data, length: None })
}

#[rustfmt::skip] // One case, a few lines.
pub const CASES: &[Case] = &[
    ok("large-padding-4094", "text-2", header(&[Text("{}"), times(4094, " ")], &[]), "Padding far beyond a multiple of 8."),
    ok("large-padding-before", "text-2", header(&[times(4094, "\n"), Text("{}")], &[]), "4094 line feeds before the brace.").flags(&["leading-whitespace"]),
    ok("large-whitespace-inside", "text-2", header(&[Text("{"), times(10000, " \t\r\n"), Text("}")], &[]), "Much whitespace inside an empty object."),
    bad("large-nul-padding-4094", "text-3", "json.trailing", header(&[Text("{}¦"), Hex(b"\0"), times(4093, "\0")], &[]), "A page of NUL padding.").flags(&["nul-padding"]),
    ok("large-100000-tensors", "layout-2", header(&[Text("{"), list(100_000, r#""h.${i}.weight":{"dtype":"U8","shape":[1],"data_offsets":[${i},${i*1+1}]}"#), Text("}")], &[Zeros(100_000)]), "A hundred thousand tensors in order.").flags(&["huge-header"]),
    ok("large-10000-tensors-f32", "layout-2", header(&[Text("{"), list(10_000, r#""layer.${i}":{"dtype":"F32","shape":[1,2],"data_offsets":[${i*8},${i*8+8}]}"#), Text("}")], &[Zeros(80_000)]), "Ten thousand tensors of eight bytes."),
    bad("large-100000-tensors-hole", "layout-2", "layout.hole", header(&[Text("{"), list(99_999, r#""h.${i}.weight":{"dtype":"U8","shape":[1],"data_offsets":[${i},${i*1+1}]}"#), Text(r#","z":{"dtype":"U8","shape":[1],"data_offsets":[¦100000,100001]}}"#)], &[Zeros(100_001)]), "A hundred thousand tensors, and a hole before the last.").flags(&["huge-header", "hidden-data"]),
    bad("large-1000-tensors-two-orders", "layout-3", "layout.overlap", header(&[Text("{"), list(500, r#""a.${i}":{"dtype":"U8","shape":[2],"data_offsets":[${i*2},${i*2+2}]}"#), Text(r#","x":{"dtype":"U8","shape":[2],"data_offsets":[¦501,503]}}"#)], &[Zeros(1000)]), "Five hundred tensors, and one over two of them at the end of the header.").flags(&["overlap", "header-order"]),
    ok("large-2000-tensors-interleaved", "layout-4", header(&[Text("{"), list(1000, r#""even.${i}":{"dtype":"U8","shape":[1],"data_offsets":[${i*2},${i*2+1}]}"#), Text(","), list(1000, r#""odd.${i}":{"dtype":"U8","shape":[1],"data_offsets":[${i*2+1},${i*2+2}]}"#), Text("}")], &[Zeros(2000)]), "First the even, then the odd bytes: two thousand tensors out of order.").flags(&["header-order"]),
    ok("large-10000-empty-tensors", "layout-5", header(&[Text("{"), list(10_000, r#""e${i}":{"dtype":"F32","shape":[0,${i}],"data_offsets":[0,0]}"#), Text("}")], &[]), "Ten thousand tensors without bytes, all at 0.").flags(&["empty-tensor"]),
    bad("large-1000-same-names", "name-2", "name.duplicate", header(&[Text("{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},¦"), list(999, r#""a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#), Text("}")], &[]), "A thousand times the same name, word for word.").deviates("D1").flags(&["duplicate-keys"]),
    bad("large-1000-same-keys", "metadata-4", "metadata.duplicate", header(&[Text("{\"__metadata__\":{\"k\":\"v\",¦"), list(999, r#""k":"${i}""#), Text("}}")], &[]), "A thousand times the same metadata key.").deviates("D2").flags(&["duplicate-keys"]),
    bad("large-duplicate-at-end", "name-2", "name.duplicate", header(&[Text("{"), list(10_000, r#""t${i}":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#), Text(r#",¦"t0":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#)], &[]), "The last of ten thousand names is the first one again.").deviates("D1").flags(&["duplicate-keys"]),
    ok("large-10000-metadata-keys", "metadata-1", header(&[Text("{\"__metadata__\":{"), list(10_000, r#""key ${i}":"value ${i*7+1}""#), Text("}}")], &[]), "Ten thousand metadata pairs."),
    ok("large-metadata-value-1m", "metadata-2", header(&[Text("{\"__metadata__\":{\"config\":\""), times(1_000_000, "x"), Text("\"}}")], &[]), "A metadata value of a million bytes."),
    ok("large-name-100k", "name-1", header(&[Text("{\""), times(100_000, "n"), Text("\":{"), Text(TENSOR), Text("}}")], &[Zeros(1)]), "A name of a hundred thousand bytes."),
    ok("large-name-escaped", "name-1", header(&[Text("{\""), times(10_000, r"\u00e9"), Text("\":{"), Text(TENSOR), Text("}}")], &[Zeros(1)]), "A name of ten thousand escapes.").flags(&["escaped-keys"]),
    bad("large-name-90m-cut", "text-1", "text.utf8", header(&[Text("{\""), times(90_000_000, "n"), Text("¦"), Hex(b"\xFF"), Text("\":{"), Text(TENSOR), Text("}}")], &[Zeros(1)]), "A bad byte at the end of a name of 90 million bytes.").flags(&["huge-header", "utf8"]),
    ok("large-name-90m", "name-1", header(&[Text("{\""), times(90_000_000, "n"), Text("\":{"), Text(TENSOR), Text("}}")], &[Zeros(1)]), "A name of 90 million bytes.").flags(&["huge-header"]),
    ok("large-two-names-1m", "name-2", header(&[Text("{\""), times(1_000_000, "n"), Text("a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},\""), times(1_000_000, "n"), Text("b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}")], &[]), "Two names of a million bytes that differ in the last one."),
    ok("large-header-max", "container-2", header(&[Text("{}"), times(99_999_998, " ")], &[]), "A header of exactly 100,000,000 bytes, the largest allowed.").flags(&["huge-header"]),
    bad("large-header-max-plus-1", "container-2", "container.header-too-large", header(&[Text("{}"), times(99_999_999, " ")], &[]), "A header of 100,000,001 bytes that is all there, and otherwise valid.").at(At::Byte(0)).flags(&["huge-header"]),
    bad("large-header-max-no-object", "text-3", "json.end", header(&[times(100_000_000, " ")], &[]), "A hundred million spaces and no object.").at(At::Byte(100_000_008)).flags(&["huge-header"]),
    ok("large-rank-10000", "shape-5", header(&[Text(r#"{"a":{"dtype":"U8","shape":["#), list(10_000, "1"), Text(r#"],"data_offsets":[0,1]}}"#)], &[Zeros(1)]), "Ten thousand dimensions.").deviates("D6").flags(&["rank"]),
    ok("large-rank-1000000", "shape-5", header(&[Text(r#"{"a":{"dtype":"U8","shape":["#), list(1_000_000, "1"), Text(r#"],"data_offsets":[0,1]}}"#)], &[Zeros(1)]), "A million dimensions.").deviates("D6").flags(&["rank", "huge-header"]),
    bad("large-rank-1000000-overflow", "shape-4", "tensor.overflow", header(&[Text(r#"{"a":{"dtype":"U8","shape":["#), list(1_000_000, "1"), Text(r#",4294967296,¦4294967296],"data_offsets":[0,0]}}"#)], &[]), "The last of a million dimensions overflows the product.").flags(&["rank", "overflow-64"]),
    ok("large-unknown-arrays-4m", "entry-5", header(&[Text(r#"{"a":{"x":["#), list(1_000_000, "[0]"), Text("],"), Text(TENSOR), Text("}}")], &[Zeros(1)]), "A million small arrays in a skipped member: keeping them costs forty times the header.").flags(&["huge-header"]),
    ok("large-unknown-string-10m", "entry-5", header(&[Text(r#"{"a":{"x":""#), times(10_000_000, "s"), Text("\","), Text(TENSOR), Text("}}")], &[Zeros(1)]), "A skipped string of ten million bytes.").flags(&["huge-header"]),
    ok("large-unknown-number", "json-3", header(&[Text(r#"{"a":{"x":0."#), times(100_000, "3"), Text(","), Text(TENSOR), Text("}}")], &[Zeros(1)]), "A skipped number of a hundred thousand digits."),
    ok("large-unknown-members", "entry-5", header(&[Text(r#"{"a":{"#), list(100_000, r#""k${i}":null"#), Text(","), Text(TENSOR), Text("}}")], &[Zeros(1)]), "A hundred thousand unknown members in one entry."),
    bad("large-depth-100000", "json-4", "json.depth", header(&[Text(r#"{"a":{"x":"#), times(125, "["), Text("¦["), times(99_874, "["), times(100_000, "]"), Text(","), Text(TENSOR), Text("}}")], &[Zeros(1)]), "A hundred thousand brackets: recursive parsers run out of stack.").flags(&["deep-nesting"]),
    bad("large-depth-objects", "json-4", "json.depth", header(&[Text(r#"{"a":{"x":"#), times(125, r#"{"y":"#), Text(r#"¦{"y":"#), times(9_874, r#"{"y":"#), Text("0"), times(10_000, "}"), Text(","), Text(TENSOR), Text("}}")], &[Zeros(1)]), "Ten thousand objects, one in the other.").flags(&["deep-nesting"]),
    ok("large-depth-objects-125", "json-4", header(&[Text(r#"{"a":{"x":"#), times(124, r#"{"y":"#), Text("{}"), times(124, "}"), Text(","), Text(TENSOR), Text("}}")], &[Zeros(1)]), "127 braces open at once.").flags(&["deep-nesting"]),
    ok("large-depth-mixed-125", "json-4", header(&[Text(r#"{"a":{"x":"#), times(62, r#"[{"y":"#), Text("[]"), times(62, "}]"), Text(","), Text(TENSOR), Text("}}")], &[Zeros(1)]), "127 brackets and braces in turns: a stack of kinds is full.").flags(&["deep-nesting"]),
    bad("large-depth-mixed-crossed", "json-1", "json.syntax", header(&[Text(r#"{"a":{"x":"#), times(62, r#"[{"y":"#), Text("[]"), times(61, "}]"), Text("¦]}"), Text(","), Text(TENSOR), Text("}}")], &[Zeros(1)]), "The outermost pair of 127 brackets is closed in the wrong order.").flags(&["deep-nesting"]),
    bad("large-depth-top-array", "header-1", "header.type", header(&[Text("¦["), times(99_999, "["), times(100_000, "]")], &[]), "A header of a hundred thousand arrays fails on its type at the first.").flags(&["deep-nesting"]),
    bad("large-comma-after-100000", "json-1", "json.syntax", header(&[Text("{"), list(10_000, r#""t${i}":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#), Text(",¦}")], &[]), "A trailing comma after ten thousand entries.").flags(&["lenient-json"]),
    bad("large-length-beyond", "container-3", "container.header-beyond-file", recipe(Recipe { header: &[Text("{}"), times(9_998, " ")], data: &[], length: Some(10_001) }), "A long header that is one byte short.").at(At::FileEnd),
    bad("large-data-short", "container-4", "data.short", header(&[Text(r#"{"a":{"dtype":"F32","shape":[500,500],"data_offsets":[0,1000000]}}"#)], &[Zeros(999_999)]), "A million bytes of data but one.").at(At::FileEnd),
    ok("large-data-1m", "container-4", header(&[Text(r#"{"a":{"dtype":"F32","shape":[500,500],"data_offsets":[0,1000000]}}"#)], &[Zeros(1_000_000)]), "A million bytes of data."),
    bad("large-zeros", "container-2", "json.end", recipe(Recipe { header: &[], data: &[Zeros(1_000_000)], length: None }), "A million zeros, as an erased disk has them: the header's length is 0.").at(At::Byte(8)),
];
