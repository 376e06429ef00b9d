//! The error codes, with the class of the reference's error that each of them answers to.

/// One code of this project's errors.
pub struct Code {
    /// The stable text.
    pub code: &'static str,
    /// The class of the reference, abbreviated.
    pub class: &'static str,
    /// What is wrong, and at which byte.
    pub meaning: &'static str,
}

const fn code(code: &'static str, class: &'static str, meaning: &'static str) -> Code {
    Code { code, class, meaning }
}

/// Every code that a file can cause.
#[rustfmt::skip] // One code, one line.
pub const CODES: &[Code] = &[
    code("container.short", "SMALL", "Fewer than 8 bytes. At: the end of the file."),
    code("container.header-too-large", "LARGE", "The header claims more than 100,000,000 bytes. At: byte 0."),
    code("container.header-beyond-file", "LEN", "The file ends before its header does. At: the end of the file."),
    code("text.utf8", "UTF8", "Not UTF-8. At: the first byte of the bad sequence."),
    code("json.syntax", "JSON", "A byte that no JSON text has at this place. At: that byte."),
    code("json.end", "JSON", "The header ends inside its JSON text. At: the end of the header."),
    code("json.control", "JSON", "A raw control character inside a string. At: that byte."),
    code("json.escape", "JSON", "A byte that does not belong into an escape sequence. At: that byte."),
    code("json.surrogate", "JSON", "Half a surrogate pair. At: the backslash of the half."),
    code("json.number", "JSON", "A leading zero, or digits missing. At: the byte that shows it."),
    code("json.depth", "JSON", "More than 127 brackets open at once. At: the 128th."),
    code("json.trailing", "JSON", "Something other than whitespace after the header's object. At: its first byte."),
    code("header.type", "JSON", "The header is JSON, but not an object. At: its first byte."),
    code("entry.type", "JSON", "A tensor's entry is neither an object nor an array. At: the value's first byte."),
    code("entry.array", "JSON", "A tensor's entry is an array. At: the bracket."),
    code("entry.missing", "JSON", "An entry lacks one of its three members. At: the entry's closing brace."),
    code("entry.repeated", "JSON", "An entry has one of its three members twice. At: the second key's opening quote."),
    code("dtype.type", "JSON", "The dtype is neither a string nor an object. At: the value's first byte."),
    code("dtype.object", "JSON", "The dtype is an object. At: the brace."),
    code("dtype.unknown", "JSON", "No such dtype. At: the string's opening quote."),
    code("shape.type", "JSON", "The shape is not an array. At: the value's first byte."),
    code("shape.integer", "JSON", "A dimension is not a plain non-negative integer. At: the byte that shows it."),
    code("shape.range", "JSON", "A dimension is above 2^64 - 1. At: its first digit."),
    code("offsets.type", "JSON", "The offsets are not an array. At: the value's first byte."),
    code("offsets.integer", "JSON", "An offset is not a plain non-negative integer. At: the byte that shows it."),
    code("offsets.range", "JSON", "An offset is above 2^64 - 1. At: its first digit."),
    code("offsets.count", "JSON", "Not exactly two offsets. At: the bracket that comes too early, or the comma too many."),
    code("metadata.type", "JSON", "__metadata__ is neither an object nor null. At: the value's first byte."),
    code("metadata.value", "JSON", "A value in __metadata__ is not a string. At: the value's first byte."),
    code("metadata.twice", "JSON", "__metadata__ stands twice in the header. At: the second key's opening quote."),
    code("tensor.overflow", "OVF", "Elements or bits, multiplied left to right, exceed 2^64 - 1. At: the dimension that overflows; the shape's opening bracket when it is the width of the dtype."),
    code("tensor.subbyte", "MISAL", "The tensor does not fill whole bytes. At: the shape's opening bracket."),
    code("tensor.size", "INFO", "The offsets span another number of bytes than dtype and shape need. At: the first offset."),
    code("layout.reversed", "OFFSET", "The second offset lies before the first. At: the first offset."),
    code("layout.hole", "OFFSET", "Bytes that belong to no tensor. At: the first offset of the tensor behind the hole."),
    code("layout.overlap", "OFFSET", "Bytes that belong to two tensors. At: the first offset of the later of the two."),
    code("data.short", "INCOMPLETE", "The file ends before its tensors do. At: the end of the file."),
    code("data.trailing", "INCOMPLETE", "Bytes after the last tensor. At: the first of them."),
    code("name.duplicate", "ok", "Two tensors have the same name. At: the second name's opening quote."),
    code("metadata.duplicate", "ok", "Two keys in __metadata__ are the same. At: the second key's opening quote."),
];

/// Known classes of bugs, which vectors name as flags.
#[rustfmt::skip] // One flag, one line.
pub const FLAGS: &[(&str, &str)] = &[
    ("bom", "A byte order mark is not part of the format; text decoders may swallow it."),
    ("cesu8", "Surrogates written as UTF-8 are not UTF-8; lenient decoders take them."),
    ("deep-nesting", "Brackets inside an unknown field; recursive parsers exhaust their stack."),
    ("double-rounding", "Neighbours that are the same number in a double: integers must stay integers."),
    ("duplicate-keys", "JSON libraries keep the first or the last of equal keys without a word."),
    ("early-end", "The header's length cuts or exceeds the JSON text; readers that look for the last brace differ."),
    ("empty-tensor", "Tensors without bytes; readers skip them in their layout checks or divide by zero."),
    ("escaped-keys", "A key in escapes is the same key; comparing raw bytes misses it."),
    ("float-integers", "Numbers such as 1.0, 1e1 and -0; many libraries turn them into integers."),
    ("header-order", "Tensors not in the order of their offsets; checking neighbours in the header is not enough."),
    ("hidden-data", "Bytes that no tensor owns can hide a payload."),
    ("huge-header", "Limits on memory and time."),
    ("leading-whitespace", "The reference takes whitespace before the brace although the format's text forbids it."),
    ("length-overflow", "8 + N wraps around, or is negative as a signed number."),
    ("lenient-json", "Extensions that libraries take: NaN, comments, trailing commas, single quotes."),
    ("lone-surrogate", "Half a surrogate pair; Python and JavaScript libraries take it."),
    ("metadata-position", "__metadata__ is not the first member, or is spelled with escapes."),
    ("new-dtypes", "Dtypes that came with later releases."),
    ("nul-padding", "Headers padded with NUL exist in the wild and are refused."),
    ("null-metadata", "null means that there is no metadata."),
    ("overflow-32", "Wraps around in 32 bits and looks sound."),
    ("overflow-64", "Wraps around in 64 bits and looks sound."),
    ("overlap", "Two tensors share bytes."),
    ("path-name", "Names that are dangerous as file names or in a terminal."),
    ("product-order", "The product of a shape is checked from left to right."),
    ("rank", "More dimensions than a fixed array holds."),
    ("string-metadata", "Metadata values must be strings; lenient readers turn others into text."),
    ("sub-byte", "Elements of 4 or 6 bits."),
    ("trailing-data", "Bytes behind the last tensor."),
    ("u64", "Needs all 64 bits of an unsigned integer."),
    ("unaligned", "Header or tensors at odd offsets."),
    ("unicode-names", "Names are compared byte for byte, without normalisation."),
    ("utf8", "Decoders that replace bad bytes instead of refusing them."),
];
