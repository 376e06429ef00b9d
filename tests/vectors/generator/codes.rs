//! The error codes, with the corresponding class of the reference's error, and the flags.

use embedded_safetensors::ErrorKind;
use embedded_safetensors::error::Class;

/// Every code that a file can cause, with its meaning. Sums are no verdict on the format.
pub fn codes() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_files = ErrorKind::ALL.iter().filter(|(class, ..)| *class == Class::File);
    let of_files = of_files.filter(|(_, code, ..)| !code.starts_with("integrity."));
    of_files.map(|(_, code, meaning, _)| (*code, meaning.trim()))
}

/// Returns the class of the reference, abbreviated; `None` where it accepts the file.
pub fn class(code: &str) -> Result<Option<&'static str>, String> {
    if codes().all(|(known, _)| known != code) {
        return Err(format!("no such code: {code}"));
    }
    let (area, fault) = code.split_once('.').ok_or("a code has an area")?;
    Ok(Some(match (area, fault) {
        (_, "duplicate") => return Ok(None),
        ("container", "short") => "SMALL",
        ("container", "header-too-large") => "LARGE",
        ("container", _) => "LEN",
        ("text", _) => "UTF8",
        ("tensor", "overflow") => "OVF",
        ("tensor", "subbyte") => "MISAL",
        ("tensor", _) => "INFO",
        ("layout", _) => "OFFSET",
        ("data", _) => "INCOMPLETE",
        _ => "JSON",
    }))
}

/// Groups of vectors: known classes of bugs, and what a reader needs.
#[rustfmt::skip] // One flag, one line.
pub const FLAGS: &[(&str, &str)] = &[
    ("accidents", "Forms that the reference takes only because its JSON library does."),
    ("beyond-13-dtypes", "The file, or its twin, has another dtype than the 13 of 2023: BOOL, U8, I8, I16, \
        U16, F16, BF16, I32, U32, F32, F64, I64, U64."),
    ("bom", "A byte order mark is not part of the format; text decoders may swallow it."),
    ("buffer-borders", "Borders of buffers from 64 to 65,536 bytes cut characters, escapes, numbers and words."),
    ("cesu8", "Surrogates written as UTF-8 are not UTF-8; lenient decoders take them."),
    ("container", "The length at the start, and the borders between it, the header and the data."),
    ("control", "Control characters in strings, raw and escaped."),
    ("data-length", "The file ends exactly with its last tensor."),
    ("deep-nesting", "Brackets inside an unknown field; recursive parsers exhaust their stack."),
    ("double-rounding", "Neighbours that are the same number in a double: integers must stay integers."),
    ("dtype-spelling", "Dtypes are spelled exactly; other names and other forms are no dtypes."),
    ("duplicate-keys", "JSON libraries keep the first or the last of equal keys without a word."),
    ("early-end", "The header's length cuts or exceeds the JSON text; \
        readers that look for the last brace differ."),
    ("empty-tensor", "Tensors without bytes; readers skip them in their layout checks or divide by zero."),
    ("encoding", "Headers in other encodings than UTF-8; some JSON libraries detect them."),
    ("escaped-keys", "A key in escapes is the same key; comparing raw bytes misses it."),
    ("escapes", "The escapes of JSON strings, and what looks like one."),
    ("float-integers", "Numbers such as 1.0, 1e1 and -0; many libraries turn them into integers."),
    ("grammar", "JSON's commas, colons, quotes, brackets and literals."),
    ("header-order", "Tensors not in the order of their offsets; \
        checking neighbours in the header is not enough."),
    ("hidden-data", "Bytes that no tensor owns can hide a payload."),
    ("huge-header", "Limits on memory and time."),
    ("integers", "Arrays of plain integers of 64 bits, and nothing else, as shapes and offsets."),
    ("javascript", "Keys that objects of JavaScript inherit, or treat specially."),
    ("layout", "Tensors cover the data without holes and without sharing bytes."),
    ("leading-whitespace", "The reference takes whitespace before the brace although \
        the format's text forbids it."),
    ("length-overflow", "8 + N wraps around, or is negative as a signed number."),
    ("lenient-json", "Extensions that libraries take: NaN, comments, trailing commas, single quotes."),
    ("lone-surrogate", "Half a surrogate pair; Python and JavaScript libraries take it."),
    ("look-alike", "Keys and dtypes with characters that only look like the right ones."),
    ("members", "The members that an entry must have, in any order."),
    ("metadata", "A map of strings, anywhere in the header."),
    ("metadata-position", "__metadata__ is not the first member, or is spelled with escapes."),
    ("names", "Any string is a name."),
    ("new-dtypes", "Dtypes that came with later releases."),
    ("no-tensors", "The file, or its twin, has no tensor: needs a reader that takes such files."),
    ("nul-padding", "Headers padded with NUL exist in the wild and are refused."),
    ("null-metadata", "null means that there is no metadata."),
    ("numbers", "JSON's numbers in members that are skipped."),
    ("overflow-32", "Looks sound to a reader whose arithmetic wraps around in 32 bits."),
    ("overflow-64", "Looks sound to a reader whose arithmetic wraps around in 64 bits."),
    ("overlap", "Two tensors share bytes."),
    ("path-name", "Names that are dangerous as file names or in a terminal."),
    ("product-order", "The product of a shape is checked from left to right."),
    ("quantity", "More tensors, members, dimensions or characters than most files have."),
    ("rank", "More dimensions than a fixed array holds."),
    ("root", "The header's value is one object, and nothing is before it."),
    ("several-faults", "Files that break more than one rule: any of the errors is right."),
    ("sizes", "Begin and end fit dtype and shape, in 64 bits."),
    ("string-metadata", "Metadata values must be strings; lenient readers turn others into text."),
    ("sub-byte", "Elements of 4 or 6 bits."),
    ("surrogates", "Pairs of escapes for characters above U+FFFF."),
    ("text-mode", "Files damaged by a transfer as text."),
    ("trailing-data", "Bytes behind the last tensor."),
    ("trailing-text", "Text after the header's object."),
    ("u64", "Needs all 64 bits of an unsigned integer."),
    ("unaligned", "Header or tensors at odd offsets."),
    ("unicode-names", "Names are compared byte for byte, without normalisation."),
    ("unknown-members", "The file, or its twin, has members that are skipped: needs a reader that skips \
        them."),
    ("utf8", "Decoders that replace bad bytes instead of refusing them."),
    ("whitespace", "The four characters of whitespace, and those that are none."),
    ("wrong-file", "Files of other formats under the name of a model."),
];
