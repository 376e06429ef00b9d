//! The error codes, with the corresponding class of the reference's error, and the flags.

use embedded_safetensors::ErrorKind;
use embedded_safetensors::error::Class;

/// Every code that a file can cause, with its meaning. Sums are no verdict on the format.
pub fn codes() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_files = ErrorKind::ALL.iter().filter(|(class, ..)| *class == Class::File);
    let of_files = of_files.filter(|(_, code, _)| !code.starts_with("integrity."));
    of_files.map(|(_, code, meaning)| (*code, meaning.trim()))
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

/// Known classes of bugs, which vectors name as flags.
#[rustfmt::skip] // One flag, one line.
pub const FLAGS: &[(&str, &str)] = &[
    ("bom", "A byte order mark is not part of the format; text decoders may swallow it."),
    ("cesu8", "Surrogates written as UTF-8 are not UTF-8; lenient decoders take them."),
    ("deep-nesting", "Brackets inside an unknown field; recursive parsers exhaust their stack."),
    ("double-rounding", "Neighbours that are the same number in a double: integers must stay integers."),
    ("duplicate-keys", "JSON libraries keep the first or the last of equal keys without a word."),
    ("early-end", "The header's length cuts or exceeds the JSON text; \
        readers that look for the last brace differ."),
    ("empty-tensor", "Tensors without bytes; readers skip them in their layout checks or divide by zero."),
    ("escaped-keys", "A key in escapes is the same key; comparing raw bytes misses it."),
    ("float-integers", "Numbers such as 1.0, 1e1 and -0; many libraries turn them into integers."),
    ("header-order", "Tensors not in the order of their offsets; \
        checking neighbours in the header is not enough."),
    ("hidden-data", "Bytes that no tensor owns can hide a payload."),
    ("huge-header", "Limits on memory and time."),
    ("leading-whitespace", "The reference takes whitespace before the brace although \
        the format's text forbids it."),
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
