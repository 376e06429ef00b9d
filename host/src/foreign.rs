//! Files of other formats, recognised by their beginnings.

use crate::source::Source;
use embedded_safetensors::header::MAX_HEADER_LEN;

/// The number of bytes that are looked at. A stream whose header is too long has only 8.
const LOOKED_AT: u64 = 64 * 1024;

/// A format: what a file looks like, and what to do with it.
type Format = (&'static str, &'static str);

/// Formats with these first bytes.
const BINARY: [(&[u8], Format); 16] = [
    (b"version ", ("a pointer of Git LFS instead of the file", "fetch the file with `git lfs pull`")),
    (
        b"GGUF",
        ("a GGUF file, as llama.cpp reads it", "use the safetensors files from which it was converted"),
    ),
    (b"lmgg", GGML),
    (b"fmgg", GGML),
    (b"tjgg", GGML),
    (b"(dp", PICKLE),
    (b"(lp", PICKLE),
    (b"ccollect", PICKLE),
    (b"\x93NUMPY", ("an array of numpy", "give it a name with .npy, and use `safetensors convert`")),
    (
        b"\x89HDF\r\n\x1A\n",
        (
            "an HDF5 file, as Keras writes it",
            "read its arrays with h5py, and save them with safetensors.numpy.save_file",
        ),
    ),
    (b"\x89PNG", ("a PNG image", "give a safetensors file")),
    (b"\x1F\x8B\x08", ("a file compressed with gzip", "decompress it with `gunzip`")),
    (b"\xFD7zXZ\0", ("a file compressed with xz", "decompress it with `unxz`")),
    (b"BZh", ("a file compressed with bzip2", "decompress it with `bunzip2`")),
    (b"7z\xBC\xAF\x27\x1C", ("a 7z archive", "extract it with `7z x`")),
    (b"\x28\xB5\x2F\xFD", ("a file compressed with Zstandard", "decompress it with `zstd -d`")),
];

const GGML: Format = (
    "a GGML file, as old releases of llama.cpp read it",
    "use the safetensors files from which it was converted",
);
const TAR: Format = ("a tar archive", "extract it with `tar xf`");
const PYTORCH: &str = "load it with torch.load, and save its tensors with safetensors.torch.save_file";
const PICKLE: Format = ("a pickle, as old .pt and .bin files of PyTorch are", PYTORCH);
const CHECKPOINT: Format = ("a model of PyTorch in a zip archive, as .pt and .bin files are", PYTORCH);
const ARRAYS: Format = ("a zip archive of numpy", "give it a name with .npz, and use `safetensors convert`");
const ZIP: Format = (
    "a zip archive, as .pt and .npz files are",
    "`safetensors convert` reads a .npz; a .pt needs PyTorch, and safetensors.torch.save_file",
);
const ONNX: Format = (
    "an ONNX file",
    "read its initializers with the Python package onnx, and save them with safetensors.numpy.save_file",
);
const TFLITE: Format = ("a TFLite file", "use the model from which it was converted");
const PAGE: Format =
    ("an HTML page, such as the error or the login of a web server", "download the file again");
const XML: Format = ("an XML text, such as the error of a web server", "download the file again");
const INDEX: Format = (
    "the index of a sharded model",
    "give its directory, or rename it: the name of an index ends in .safetensors.index.json",
);
const CONFIG: Format =
    ("the config of a model in JSON", "give the .safetensors file beside it, or the directory of both");
const JSON: Format = ("a JSON text", "give a .safetensors file, or the .safetensors.index.json of a model");

/// A sentence about an invalid file that looks like one of another format.
pub fn hint(source: &mut Source) -> Option<String> {
    let first = source.beginning(LOOKED_AT).ok()?;
    let (what, advice) = format_of(&first)?;
    Some(format!("it looks like {what}: {advice}"))
}

fn format_of(first: &[u8]) -> Option<Format> {
    let Some((length, rest)) = first.split_first_chunk() else { return text_format(first) };
    let is_length = u64::from_le_bytes(*length) <= MAX_HEADER_LEN;
    // The length of a header, of which nothing or JSON follows.
    if is_length && matches!(rest, [] | [b'{' | b' ' | b'\t' | b'\r' | b'\n', ..]) {
        return None;
    }
    let known = BINARY.iter().find(|(prefix, _)| first.starts_with(prefix)).map(|(_, format)| *format);
    known.or_else(|| match first {
        [b'P', b'K', 3, 4, ..] => Some(zip_format(first)),
        // More than a length of which the upper half is zero.
        [0x80, 2..=5, ..] if !is_length => Some(PICKLE),
        // The version of the format, and one of the fields that follow it.
        [8, 1..=31, 0x12 | 0x1A | 0x22 | 0x28 | 0x32 | 0x3A | 0x42, ..] if !is_length => Some(ONNX),
        [_, _, _, _, b'T', b'F', b'L', b'3', ..] => Some(TFLITE),
        _ if first.get(257..262) == Some(b"ustar") => Some(TAR),
        _ => text_format(first),
    })
}

/// The format of a zip archive by the name of its first entry.
fn zip_format(first: &[u8]) -> Format {
    let len = first.get(26..28).map_or(0, |len| usize::from(len[0]) | usize::from(len[1]) << 8);
    match first.get(30..30 + len) {
        Some(name) if name.ends_with(b".npy") => ARRAYS,
        Some(name) if name.ends_with(b".pkl") => CHECKPOINT,
        _ => ZIP,
    }
}

fn text_format(first: &[u8]) -> Option<Format> {
    let text = first.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(first).trim_ascii_start();
    let begins =
        |prefix: &[u8]| text.get(..prefix.len()).is_some_and(|text| text.eq_ignore_ascii_case(prefix));
    let has = |key: &[u8]| text.windows(key.len()).any(|part| part == key);
    match text.split_first() {
        Some((b'{', rest)) if matches!(rest.trim_ascii_start(), [] | [b'"' | b'}', ..]) => {
            let is_config =
                [&b"\"model_type\""[..], b"\"architectures\"", b"\"peft_type\""].into_iter().any(has);
            match (has(b"\"weight_map\""), is_config) {
                (true, _) => Some(INDEX),
                (_, true) => Some(CONFIG),
                _ => Some(JSON),
            }
        }
        Some((b'[', rest))
            if matches!(
                rest.trim_ascii_start(),
                [] | [b'{' | b'[' | b'"' | b']' | b'-' | b'0'..=b'9', ..]
            ) =>
        {
            Some(JSON)
        }
        _ if [&b"<!doctyp"[..], b"<html", b"<head", b"<!--"].into_iter().any(begins) => Some(PAGE),
        _ if begins(b"<?xml") => Some(XML),
        _ => None,
    }
}
