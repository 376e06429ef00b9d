//! Many dimensions, tensors and pairs, around the borders of counters; and a file above 4 GiB.

use crate::case::{At, Case, MEMBERS, bad, ok, recipe, tensors};
use crate::recipe::Part::{self, Text, Zeros};
use crate::recipe::list;

/// The start of an entry with a long shape.
const SHAPE: Part = Text(r#"{"a":{"dtype":"U8","shape":["#);

/// The end of such an entry with two bytes.
const TWO: Part = Text(r#",2],"data_offsets":[0,2]}}"#);

const BYTE: &str = r#""t${i}":{"dtype":"U8","shape":[1],"data_offsets":[${i},${i*1+1}]}"#;
const EMPTY: &str = r#""e${i}":{"dtype":"U8","shape":[0],"data_offsets":[${i},${i}]}"#;

#[rustfmt::skip] // One case, a few lines.
pub const CASES: &[Case] = &[
    ok("shape-rank-5", "shape-5", tensors!(("a" "U8" "[1,1,1,1,2]" "[0,2]")).data(2), "Five dimensions, one more than some libraries have.").flags(&["rank"]),
    ok("shape-rank-6", "shape-5", tensors!(("a" "U8" "[2,1,1,1,1,3]" "[0,6]")).data(6), "Six dimensions.").flags(&["rank"]),
    ok("shape-rank-7", "shape-5", tensors!(("a" "U8" "[1,2,1,2,1,2,1]" "[0,8]")).data(8), "Seven dimensions that count.").flags(&["rank"]),
    ok("shape-rank-16", "shape-5", recipe(&[SHAPE, list(15, "1"), TWO], &[Zeros(2)]), "Sixteen dimensions.").deviates("D6").flags(&["rank"]),
    ok("shape-rank-17", "shape-5", recipe(&[SHAPE, list(16, "1"), TWO], &[Zeros(2)]), "One dimension more than arrays of sixteen hold.").deviates("D6").flags(&["rank"]),
    ok("shape-rank-21", "shape-5", recipe(&[SHAPE, list(20, "1"), TWO], &[Zeros(2)]), "One dimension more than arrays of twenty hold.").deviates("D6").flags(&["rank"]),
    ok("shape-rank-32", "shape-5", recipe(&[SHAPE, list(31, "1"), TWO], &[Zeros(2)]), "As many dimensions as numpy had once.").deviates("D6").flags(&["rank"]),
    ok("shape-rank-64", "shape-5", recipe(&[SHAPE, list(63, "1"), TWO], &[Zeros(2)]), "As many dimensions as numpy and PyTorch have.").deviates("D6").flags(&["rank"]),
    ok("shape-rank-128", "shape-5", recipe(&[SHAPE, list(127, "1"), TWO], &[Zeros(2)]), "One dimension more than a signed byte counts.").deviates("D6").flags(&["rank"]),
    ok("shape-rank-255", "shape-5", recipe(&[SHAPE, list(254, "1"), TWO], &[Zeros(2)]), "As many dimensions as a byte counts.").deviates("D6").flags(&["rank"]),
    ok("shape-rank-256", "shape-5", recipe(&[SHAPE, list(255, "1"), TWO], &[Zeros(2)]), "One dimension more than a byte counts: it would be a scalar.").deviates("D6").flags(&["rank"]),
    ok("shape-rank-257", "shape-5", recipe(&[SHAPE, list(256, "1"), TWO], &[Zeros(2)]), "Two dimensions more than a byte counts.").deviates("D6").flags(&["rank"]),
    bad("shape-rank-256-size", "shape-5", "tensor.size", recipe(&[SHAPE, list(255, "1"), Text(r#",3],"data_offsets":[¦0,2]}}"#)], &[Zeros(2)]), "The last of 256 dimensions makes the size wrong.").flags(&["rank"]),
    bad("shape-rank-257-size", "shape-5", "tensor.size", recipe(&[SHAPE, list(256, "1"), Text(r#",3],"data_offsets":[¦0,2]}}"#)], &[Zeros(2)]), "The last of 257 dimensions makes the size wrong.").flags(&["rank"]),
    ok("shape-rank-65537", "shape-5", recipe(&[SHAPE, list(65_536, "1"), TWO], &[Zeros(2)]), "Two dimensions more than 16 bits count.").deviates("D6").flags(&["rank", "quantity"]),
    bad("shape-rank-65537-size", "shape-5", "tensor.size", recipe(&[SHAPE, list(65_536, "1"), Text(r#",3],"data_offsets":[¦0,2]}}"#)], &[Zeros(2)]), "The last of 65,537 dimensions makes the size wrong.").twin("shape-rank-65537").flags(&["rank", "quantity"]),
    ok("count-12", "layout-2", recipe(&[Text("{"), list(12, BYTE), Text("}")], &[Zeros(12)]), "Twelve tensors, as many as some sorts treat as few."),
    ok("count-40-with-empty", "layout-5", recipe(&[Text("{"), list(40, concat!(r#""e${i}":{"dtype":"U8","shape":[0],"data_offsets":[${i},${i}]},"#, r#""t${i}":{"dtype":"U8","shape":[1],"data_offsets":[${i},${i*1+1}]}"#)), Text("}")], &[Zeros(40)]), "Forty tensors, an empty one before each: a sort by begin alone must be stable.").flags(&["empty-tensor"]),
    ok("count-40-then-empty", "layout-5", recipe(&[Text("{"), list(40, BYTE), Text(","), list(40, EMPTY), Text("}")], &[Zeros(40)]), "Forty tensors, then an empty one at the begin of each: a sort by begin alone puts it after.").flags(&["empty-tensor", "header-order"]),
    ok("count-40-after-empty", "layout-5", recipe(&[Text("{"), list(40, EMPTY), Text(","), list(40, BYTE), Text("}")], &[Zeros(40)]), "Forty empty tensors, then one with a byte at each of them.").flags(&["empty-tensor", "header-order"]),
    ok("count-many-kinds", "layout-5", recipe(&[Text(r#"{"__metadata__":{"#), list(257, r#""k${i}":"v${i}""#), Text("},"), list(600, BYTE), Text(","), list(600, EMPTY), Text("}")], &[Zeros(600)]), "257 pairs, 600 tensors, then an empty one at the begin of each, in more than 64 KiB.").flags(&["metadata", "empty-tensor", "header-order"]),
    ok("count-64-three-orders", "layout-4", recipe(&[Text("{"), list(64, r#""c${i}":{"dtype":"U8","shape":[1],"data_offsets":[${i*3+2},${i*3+3}]}"#), Text(","), list(64, r#""a${i}":{"dtype":"U8","shape":[1],"data_offsets":[${i*3},${i*3+1}]}"#), Text(","), list(64, r#""b${i}":{"dtype":"U8","shape":[1],"data_offsets":[${i*3+1},${i*3+2}]}"#), Text("}")], &[Zeros(192)]), "Three times 64 tensors that take turns in the data.").flags(&["header-order"]),
    bad("count-64-three-orders-overlap", "layout-3", "layout.overlap", recipe(&[Text("{"), list(64, r#""c${i}":{"dtype":"U8","shape":[1],"data_offsets":[${i*3+2},${i*3+3}]}"#), Text(","), list(64, r#""a${i}":{"dtype":"U8","shape":[1],"data_offsets":[${i*3},${i*3+1}]}"#), Text(","), list(63, r#""b${i}":{"dtype":"U8","shape":[1],"data_offsets":[${i*3+1},${i*3+2}]}"#), Text(r#","b63":{"dtype":"U8","shape":[2],"data_offsets":[¦189,191]}}"#)], &[Zeros(192)]), "The last of 192 tensors out of order shares a byte with another.").twin("count-64-three-orders").flags(&["header-order", "overlap"]),
    ok("count-255", "layout-2", recipe(&[Text("{"), list(255, BYTE), Text("}")], &[Zeros(255)]), "As many tensors as a byte counts."),
    ok("count-256", "layout-2", recipe(&[Text("{"), list(256, BYTE), Text("}")], &[Zeros(256)]), "One tensor more than a byte counts: there would be none."),
    ok("count-257", "layout-2", recipe(&[Text("{"), list(257, BYTE), Text("}")], &[Zeros(257)]), "Two tensors more than a byte counts."),
    bad("count-257-overlap", "layout-3", "layout.overlap", recipe(&[Text("{"), list(256, BYTE), Text(r#","t256":{"dtype":"U8","shape":[2],"data_offsets":[¦255,257]}}"#)], &[Zeros(257)]), "The last of 257 tensors shares a byte with the one before it.").twin("count-257").flags(&["overlap"]),
    bad("count-257-size", "tensor-3", "tensor.size", recipe(&[Text("{"), list(256, BYTE), Text(r#","t256":{"dtype":"U8","shape":[2],"data_offsets":[¦256,257]}}"#)], &[Zeros(257)]), "The last of 257 tensors has a wrong size.").twin("count-257"),
    bad("count-257-dtype", "dtype-1", "dtype.unknown", recipe(&[Text("{"), list(256, BYTE), Text(r#","t256":{"dtype":¦"U9","shape":[1],"data_offsets":[256,257]}}"#)], &[Zeros(257)]), "The last of 257 tensors has an unknown dtype.").twin("count-257"),
    bad("count-257-same-name", "name-2", "name.duplicate", recipe(&[Text("{"), list(256, BYTE), Text(r#",¦"t0":{"dtype":"U8","shape":[0],"data_offsets":[256,256]}}"#)], &[Zeros(256)]), "The last of 257 names is the first one again; the reference forgets the first and finds a hole.").twin("count-256-and-empty").faults(2).flags(&["duplicate-keys"]),
    ok("count-256-and-empty", "layout-5", recipe(&[Text("{"), list(256, BYTE), Text(r#","e0":{"dtype":"U8","shape":[0],"data_offsets":[256,256]}}"#)], &[Zeros(256)]), "256 tensors, and an empty one at the end."),
    ok("count-4097", "layout-2", recipe(&[Text("{"), list(4097, BYTE), Text("}")], &[Zeros(4097)]), "4,097 tensors: more than a page of anything."),
    ok("count-65537", "layout-2", recipe(&[Text("{"), list(65_537, BYTE), Text("}")], &[Zeros(65_537)]), "Two tensors more than 16 bits count.").flags(&["huge-header"]),
    bad("count-65537-overlap", "layout-3", "layout.overlap", recipe(&[Text("{"), list(65_536, BYTE), Text(r#","t65536":{"dtype":"U8","shape":[2],"data_offsets":[¦65535,65537]}}"#)], &[Zeros(65_537)]), "The last of 65,537 tensors shares a byte with the one before it.").twin("count-65537").flags(&["huge-header", "overlap"]),
    ok("count-65537-empty", "layout-5", recipe(&[Text("{"), list(65_537, r#""${i}":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#), Text("}")], &[]), "65,537 tensors without bytes.").flags(&["huge-header", "empty-tensor"]),
    ok("count-257-pairs", "metadata-1", recipe(&[Text(r#"{"__metadata__":{"#), list(257, r#""k${i}":"v${i}""#), Text(r#"},"a":{"#), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "257 pairs of metadata before a tensor.").flags(&["metadata"]),
    bad("count-257-pairs-number", "metadata-2", "metadata.value", recipe(&[Text(r#"{"__metadata__":{"#), list(256, r#""k${i}":"v${i}""#), Text(r#","k256":¦256},"a":{"#), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "The last of 257 values is a number.").twin("count-257-pairs").flags(&["metadata", "string-metadata"]),
    ok("count-65537-pairs", "metadata-1", recipe(&[Text(r#"{"__metadata__":{"#), list(65_537, r#""${i}":"""#), Text("}}")], &[]), "65,537 pairs of metadata.").flags(&["metadata"]),
    ok("count-257-unknown", "entry-5", recipe(&[Text(r#"{"a":{"#), list(257, r#""k${i}":${i}"#), Text(","), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "257 unknown members in one entry."),
    bad("count-257-unknown-then-dtype", "entry-3", "entry.repeated", recipe(&[Text(r#"{"a":{"dtype":"U8","#), list(256, r#""k${i}":${i}"#), Text(r#",¦"dtype":0,"#), Text(r#""shape":[1],"data_offsets":[0,1]}}"#)], &[Zeros(1)]), "A known key again after 256 unknown members.").twin("count-257-unknown-then-unknown").flags(&["duplicate-keys"]),
    ok("count-257-unknown-then-unknown", "entry-5", recipe(&[Text(r#"{"a":{"dtype":"U8","#), list(256, r#""k${i}":${i}"#), Text(r#","type":0,"#), Text(r#""shape":[1],"data_offsets":[0,1]}}"#)], &[Zeros(1)]), "Unknown members between the dtype and the shape, 257 of them."),
    ok("count-name-4096", "name-1", recipe(&[Text("{\""), list(1024, "abc"), Text("\":{"), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "A name of 4,095 bytes."),
    ok("count-name-65537", "name-1", recipe(&[Text("{\""), list(16_384, "abc"), Text("de\":{"), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "A name of 65,537 bytes."),
    ok("count-name-65537-escaped", "json-6", recipe(&[Text("{\""), list(16_384, "abc"), Text("\\ne\":{"), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "An escape at the end of a name of 65,537 bytes.").flags(&["escapes"]),
    bad("count-name-65537-escape", "json-6", "json.escape", recipe(&[Text("{\""), list(16_384, "abc"), Text("\\¦e\":{"), Text(MEMBERS), Text("}}")], &[Zeros(1)]), "A bad escape at the end of a name of 65,537 bytes.").twin("count-name-65537-escaped").flags(&["escapes"]),
    ok("large-beyond-4-gib", "container-4", recipe(&[Text(r#"{"a":{"dtype":"U8","shape":[4294967296],"data_offsets":[0,4294967296]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4294967296,4294967304]}}"#)], &[Zeros(4_294_967_304)]), "A tensor of 4 GiB, and one after it, whose offsets are above 2^32: a file of zeros takes no space.").flags(&["overflow-32", "data-length"]),
    bad("large-beyond-4-gib-short", "container-4", "data.short", recipe(&[Text(r#"{"a":{"dtype":"U8","shape":[4294967296],"data_offsets":[0,4294967296]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4294967296,4294967304]}}"#)], &[Zeros(4_294_967_303)]), "The last byte above 4 GiB is missing.").at(At::FileEnd).twin("large-beyond-4-gib").flags(&["overflow-32", "data-length"]),
];
