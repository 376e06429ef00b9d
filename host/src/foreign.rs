//! Files of other formats, recognised by their first bytes.

use crate::source::Source;
use embedded_safetensors::header::MAX_HEADER_LEN;

/// The first bytes of files, in any case, and what begins like that. A stream whose header is too long has
/// only 8 bytes to compare.
const KNOWN: [(&[u8], &str); 13] = [
    (b"PK\x03\x04", "a zip archive, as PyTorch's .pt files do"),
    (b"\x80\x02", "a pickle, as older .pt files do"),
    (b"\x80\x03", "a pickle"),
    (b"\x80\x04", "a pickle"),
    (b"\x80\x05", "a pickle"),
    (b"version ", "a pointer of Git LFS (run `git lfs pull`)"),
    (b"<!doctyp", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"\x89PNG", "a PNG image"),
    (b"GGUF", "a GGUF file"),
    (b"\x1F\x8B", "a gzip archive"),
    (b"\x93NUMPY", "a .npy file"),
    (b"\x89HDF", "an HDF5 file, as Keras's .h5 files do"),
];

/// A sentence about an invalid file that begins like one of another format.
pub fn hint(source: &mut Source) -> Option<String> {
    let first = source.read_range(0..8).ok()?;
    let begins = |prefix: &[u8]| first[..prefix.len()].eq_ignore_ascii_case(prefix);
    let (_, what) = KNOWN.iter().find(|(prefix, _)| begins(prefix))?;
    (!has_json(source)).then(|| format!("it begins like {what}: it is probably not a safetensors file"))
}

/// Whether the first 8 bytes can be the length of a header, of which nothing or JSON follows.
fn has_json(source: &mut Source) -> bool {
    let is_short = source.header_end().is_ok_and(|end| end <= 8 + MAX_HEADER_LEN);
    is_short && matches!(source.read_at(8, &mut [0]), Ok([] | [b'{' | b' ' | b'\t' | b'\r' | b'\n']))
}
