//! Files of other formats, recognised by their beginnings.

use crate::input::open::open_file;
use crate::input::source::Source;
use embedded_safetensors::header::MAX_HEADER_LEN;
use safetensors_convert::pickle::{Argument, Opcode, Opcodes};
use safetensors_convert::tensorflow::is_table;
use safetensors_convert::zip::{Part, entries};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The number that begins an old file of PyTorch, as a pickle.
const OLD_NUMBER: Argument = Argument::Int(0x1950_a86a_20f9_469c_fc6c);
/// The number of bytes that are looked at. A stream whose header is too long has only 8.
const LOOKED_AT: u64 = 64 * 1024;

/// A format that `safetensors convert` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readable {
    /// `.npy`
    Array,
    /// `.npz`
    Archive,
    PyTorch,
    Gguf,
    /// A checkpoint or a SavedModel, by its index.
    TensorFlow,
    Onnx,
    TfLite,
}

impl Readable {
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Array | Self::Archive => ("numpy", "numpy"),
            Self::PyTorch => ("PyTorch", "pytorch"),
            Self::Gguf => ("GGUF", "gguf"),
            Self::TensorFlow => ("TensorFlow", "tensorflow"),
            Self::Onnx => ("ONNX", "onnx"),
            Self::TfLite => ("TFLite", "tflite"),
        }
    }

    /// The name for people; formats of the same name can be in one directory.
    pub const fn name(self) -> &'static str {
        self.names().0
    }

    /// The `error` code in JSON for invalid files.
    pub const fn code(self) -> &'static str {
        self.names().1
    }

    /// Whether a file has the suffix of such a format: those of a directory that are converted. A model of
    /// ONNX or TFLite is one file, and may be beside others.
    pub fn has_suffix(path: &Path) -> bool {
        Self::by_suffix(path).is_some_and(|(suffix, _)| !["pb", "pkl", "onnx", "tflite"].contains(&&*suffix))
    }

    fn by_suffix(path: &Path) -> Option<(String, Self)> {
        let suffix = path.extension()?.to_string_lossy().to_ascii_lowercase();
        let format = match &*suffix {
            "npy" => Self::Array,
            "npz" => Self::Archive,
            "pt" | "pth" | "bin" | "ckpt" | "pkl" => Self::PyTorch,
            "gguf" => Self::Gguf,
            "index" | "pb" => Self::TensorFlow,
            "onnx" => Self::Onnx,
            "tflite" => Self::TfLite,
            _ => return None,
        };
        Some((suffix, format))
    }

    /// The format by the name of a file, for contents that show none.
    pub fn by_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy();
        // Its reader says which file to give instead.
        let has_index = name == "checkpoint" || name.contains(".data-0") || name.ends_with(".meta");
        if has_index { Some(Self::TensorFlow) } else { Self::by_suffix(path).map(|(_, format)| format) }
    }
}

/// A format: what a file looks like, and what to do with it.
#[derive(Clone, Copy, PartialEq)]
struct Format {
    what: &'static str,
    advice: &'static str,
    readable: Option<Readable>,
}

impl Format {
    fn hint(self, first: &str) -> String {
        format!("it looks like {}: {first}{}", self.what, self.advice)
    }
}

const fn format(what: &'static str, advice: &'static str) -> Format {
    Format { what, advice, readable: None }
}

const fn readable(what: &'static str, format: Readable) -> Format {
    Format { what, advice: "use `safetensors convert`", readable: Some(format) }
}

/// Formats with these first bytes.
const BINARY: [(&[u8], Format); 19] = [
    (b"version ", format("a pointer of Git LFS instead of the file", "fetch the file with `git lfs pull`")),
    (b"GGUF", readable("a GGUF file, as llama.cpp reads it", Readable::Gguf)),
    (b"lmgg", GGML),
    (b"fmgg", GGML),
    (b"tjgg", GGML),
    (b"(dp", PICKLE),
    (b"(lp", PICKLE),
    (b"ccollect", PICKLE),
    (b"\x93NUMPY", readable("an array of numpy", Readable::Array)),
    (
        b"\x89HDF\r\n\x1A\n",
        format(
            "an HDF5 file, as Keras writes it",
            "read its arrays with h5py, and save them with safetensors.numpy.save_file",
        ),
    ),
    (b"\x89PNG", format("a PNG image", "give a safetensors file")),
    (b"\xFF\xD8\xFF", format("a JPEG image", "give a safetensors file")),
    (b"%PDF-", format("a PDF document", "give a safetensors file")),
    (b"\x7FELF", format("a program or library for Linux (ELF)", "give a safetensors file")),
    (b"\x1F\x8B\x08", format("a file compressed with gzip", "decompress it with `gunzip`")),
    (b"\xFD7zXZ\0", format("a file compressed with xz", "decompress it with `unxz`")),
    (b"BZh", format("a file compressed with bzip2", "decompress it with `bunzip2`")),
    (b"7z\xBC\xAF\x27\x1C", format("a 7z archive", "extract it with `7z x`")),
    (b"\x28\xB5\x2F\xFD", format("a file compressed with Zstandard", "decompress it with `zstd -d`")),
];

const GGML: Format = format(
    "a GGML file, as old releases of llama.cpp read it",
    "use the safetensors files from which it was converted",
);
const TAR: Format = format("a tar archive", "extract it with `tar xf`");
const OLD_TORCH: Format = readable("a pickle, as old .pt and .bin files of PyTorch are", Readable::PyTorch);
const PICKLE: Format = Format {
    what: "a pickle that torch.save did not write",
    advice: "use `safetensors convert` if it has arrays of numpy; `safetensors scan` shows what it would run",
    readable: Some(Readable::PyTorch),
};
const JOBLIB: Format = format(
    "a file of joblib",
    "load it in Python if you trust it, and save its arrays with safetensors.numpy.save_file",
);
const ZLIB: Format = format(
    "a file compressed with zlib, as joblib writes it",
    "load it in Python if you trust it, and save its arrays with safetensors.numpy.save_file",
);
const MSGPACK: Format = format(
    "a file in MessagePack, as Flax writes it",
    "read it with flax.serialization.msgpack_restore, and save its arrays with safetensors.flax.save_file",
);
const KERAS: Format = format(
    "a model of Keras in a zip archive",
    "extract its model.weights.h5, read the arrays with h5py, and save them with safetensors.numpy.save_file",
);
const SAVED_MODEL: Format = Format {
    what: "a SavedModel of TensorFlow",
    advice: "give its directory to `safetensors convert`",
    readable: Some(Readable::TensorFlow),
};
const GRAPH: Format = format(
    "a graph of TensorFlow, as .meta files are",
    "give the index of the checkpoint, NAME.index, to `safetensors convert`",
);
const CHECKPOINT: Format =
    readable("a model of PyTorch in a zip archive, as .pt and .bin files are", Readable::PyTorch);
const ARRAYS: Format = readable("a zip archive of numpy", Readable::Archive);
const ZIP: Format = format(
    "a zip archive, as .pt and .npz files are",
    "`safetensors convert` reads one that has the data.pkl of PyTorch, or the .npy of numpy",
);
const ONNX: Format = readable("an ONNX file", Readable::Onnx);
const TFLITE: Format = readable("a TFLite file", Readable::TfLite);
const PAGE: Format =
    format("an HTML page, such as the error or the login of a web server", "download the file again");
const TEXT: Format = format(
    "a text, such as a script or the error of a web server",
    "look at it, and download the file again",
);
const XML: Format = format("an XML text, such as the error of a web server", "download the file again");
const INDEX: Format = format(
    "the index of a sharded model",
    "give its directory, or rename it: the name of an index ends in .safetensors.index.json",
);
const CONFIG: Format =
    format("the config of a model in JSON", "give the .safetensors file beside it, or the directory of both");
const BIG_ENDIAN: Format = format(
    "a safetensors file with the length of its header in big-endian order",
    "write the 8 bytes of the length in the reverse order",
);
const UTF_16: Format = format("a text in UTF-16", "write the header in UTF-8");
const JSON: Format =
    format("a JSON text", "give a .safetensors file, or a .safetensors.index.json by path, beside its files");

/// A sentence about an invalid file that looks like one of another format, and the name of the format if
/// `convert` reads it.
pub fn seen_in(source: &mut Source) -> (Option<String>, Option<&'static str>) {
    let first = source.read_up_to(0, LOOKED_AT).unwrap_or_default();
    let found = format_of(&first);
    let name = found.and_then(|format| format.readable).map(Readable::name);
    // So little is known of a stream.
    let is_archive = found.is_some() && first.len() == 8 && first.starts_with(b"PK\x03\x04");
    let hint = found.or_else(|| is_text(&first).then_some(TEXT)).map(|mut format| {
        if !source.is_file() && [PAGE, XML].contains(&format) {
            format.advice = "the server sent it instead of the file; check the URL";
        }
        // `convert` itself reads those only from a file.
        let is_piped = format.readable.is_some() && !source.is_file();
        format.hint(if is_piped { "save it as a file, and " } else { "" })
    });
    (hint, name.or(is_archive.then_some("PyTorch or numpy")))
}

/// Whether a file that is no model has nothing but text, as far as it is known.
fn is_text(first: &[u8]) -> bool {
    // The last character may be cut.
    let text = first.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let is_printed = |letter: char| !letter.is_control() || letter.is_ascii_whitespace();
    first.len() >= 8 && text.len() + 3 >= first.len() && !is_model(first) && text.chars().all(is_printed)
}

/// A sentence about a file in which no pickle is found, if it does not look like one.
///
/// # Errors
/// Those of reading.
pub fn hint_of(file: &File) -> io::Result<Option<String>> {
    let first = beginning(file)?;
    let format = format_of(&first).or_else(|| is_text(&first).then_some(TEXT));
    let is_other = |format: &Format| format.readable.is_none() && *format != PICKLE;
    Ok(format.filter(is_other).map(|format| format.hint("")))
}

fn beginning(file: &File) -> io::Result<Vec<u8>> {
    let mut first = Vec::new();
    Part::new(file, 0, LOOKED_AT).read_to_end(&mut first)?;
    Ok(first)
}

/// Whether a file is a model of ONNX, or of a checkpoint of TensorFlow: its index, or data that have their
/// index beside them.
///
/// # Errors
/// Those of reading.
pub fn is_checkpoint(file: &File, path: &Path) -> io::Result<bool> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let index = name.rsplit_once(".data-").map(|(prefix, _)| path.with_file_name(format!("{prefix}.index")));
    let is_index = |path: PathBuf| open_file(&path).is_ok_and(|(file, _)| is_table(&file).unwrap_or(false));
    let is_onnx = readable_format(file, path)? == Some(Readable::Onnx);
    Ok(is_onnx || is_table(file)? || index.is_some_and(is_index))
}

/// The format of a file with this name, if `convert` reads it. The name counts only if the contents show
/// nothing. A zip archive whose first entry is neither an array nor a pickle is searched for one.
///
/// # Errors
/// Those of reading.
pub fn readable_format(file: &File, path: &Path) -> io::Result<Option<Readable>> {
    let first = beginning(file)?;
    let seen = format_of(&first);
    let found = match seen {
        Some(format) => format.readable,
        None => is_table(file)?.then_some(Readable::TensorFlow),
    };
    if found.is_none() && first.starts_with(b"PK\x03\x04") {
        // A damaged archive has no entries.
        let entries = entries(file).unwrap_or_default();
        let listed = entries.iter().find_map(|entry| named_format(entry.name.as_bytes())?.readable);
        return Ok(listed.or_else(|| Readable::by_name(path)));
    }
    let says_nothing = seen.is_none() && !is_model(&first);
    let is_numpy = |format: &Readable| matches!(format, Readable::Array | Readable::Archive);
    Ok(found.or_else(|| Readable::by_name(path).filter(|named| says_nothing || is_numpy(named))))
}

/// The format of a local file of ONNX or TFLite.
pub fn graph_format(path: &Path) -> Option<Readable> {
    let (file, _) = open_file(path).ok()?;
    let mut first = Vec::new();
    Part::new(&file, 0, 16).read_to_end(&mut first).ok()?;
    // Of a model, no data is read.
    let format = if is_model(&first) { None } else { readable_format(&file, path).ok()? };
    format.filter(|format| matches!(format, Readable::Onnx | Readable::TfLite))
}

fn format_of(first: &[u8]) -> Option<Format> {
    let Some((length, _)) = first.split_first_chunk() else { return text_format(first) };
    let is_length = u64::from_le_bytes(*length) <= MAX_HEADER_LEN;
    // In Python, `.encode("utf-16")` begins with a byte order mark.
    let is_wide = |header: &[u8]| matches!(header, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | b"{\0\"\0");
    if is_length && first.get(8..12).is_some_and(is_wide) {
        return Some(UTF_16);
    }
    if is_model(first) {
        return None;
    }
    let known = BINARY.iter().find(|(prefix, _)| first.starts_with(prefix)).map(|(_, format)| *format);
    known.or_else(|| match first {
        [b'P', b'K', 3, 4, ..] => Some(zip_format(first)),
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] if !is_length => Some(UTF_16),
        // More than a length of which the upper half is zero.
        [0x80, 2..=5, ..] if !is_length => {
            // So little is known of a stream.
            Some(match () {
                () if first.len() == 8 || is_old_torch(first) => OLD_TORCH,
                () if contains(first, b"joblib.numpy_pickle") => JOBLIB,
                () => PICKLE,
            })
        }
        // A map with a text as its first key.
        [0x81..=0x8F, 0xA1..=0xBF, letter, ..] | [0xDE, _, _, 0xA1..=0xBF, letter, ..]
            if !is_length && letter.is_ascii_alphabetic() =>
        {
            Some(MSGPACK)
        }
        [0x78, 0x01 | 0x5E | 0x9C | 0xDA, ..] if !is_length => Some(ZLIB),
        [8, 1, 0x12, ..] if !is_length => Some(SAVED_MODEL),
        [b'\n', ..] if contains(first, b"Const") && contains(first, b"dtype") => Some(GRAPH),
        // The version of the format, and one of the fields that follow it.
        [8, 1..=31, 0x12 | 0x1A | 0x22 | 0x28 | 0x32 | 0x3A | 0x42, ..] if !is_length => Some(ONNX),
        [_, _, _, _, b'T', b'F', b'L', b'3', ..] => Some(TFLITE),
        _ if first.get(257..262) == Some(b"ustar") => Some(TAR),
        _ if first[8..].starts_with(b"{\"") && u64::from_be_bytes(*length) <= MAX_HEADER_LEN => {
            Some(BIG_ENDIAN)
        }
        _ => text_format(first),
    })
}

/// Whether the first pickle is the number by which PyTorch knows its old files; of any protocol.
pub fn is_old_torch(first: &[u8]) -> bool {
    let ops = Opcodes::new(first).map_while(Result::ok);
    let mut ops = ops.filter(|op| !matches!(op.code, Opcode::Proto | Opcode::Frame));
    ops.next().is_some_and(|op| op.argument == OLD_NUMBER)
        && ops.next().is_some_and(|op| op.code == Opcode::Stop)
}

/// Whether a file begins with the length of a header, of which nothing or JSON follows.
pub fn is_model(first: &[u8]) -> bool {
    first.split_first_chunk().is_some_and(|(length, rest)| {
        let is_json = matches!(rest, [] | [b'{' | b' ' | b'\t' | b'\r' | b'\n', ..]);
        is_json && u64::from_le_bytes(*length) <= MAX_HEADER_LEN
    })
}

/// The format of a zip archive by the name of its first entry.
fn zip_format(first: &[u8]) -> Format {
    let len = first.get(26..28).map_or(0, |len| usize::from(len[0]) | usize::from(len[1]) << 8);
    let other = if contains(first, b"model.weights.h5") { KERAS } else { ZIP };
    first.get(30..30 + len).and_then(named_format).unwrap_or(other)
}

fn contains(first: &[u8], word: &[u8]) -> bool {
    first.windows(word.len()).any(|part| part == word)
}

fn named_format(name: &[u8]) -> Option<Format> {
    match name {
        name if name.ends_with(b".npy") => Some(ARRAYS),
        name if name.ends_with(b".pkl") => Some(CHECKPOINT),
        _ => None,
    }
}

fn text_format(first: &[u8]) -> Option<Format> {
    let text = first.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(first).trim_ascii_start();
    let begins =
        |prefix: &[u8]| text.get(..prefix.len()).is_some_and(|text| text.eq_ignore_ascii_case(prefix));
    let has = |key: &[u8]| contains(text, key);
    let begins_with = |first: u8, then: &[u8]| {
        let rest = text.strip_prefix(&[first]).map(<[u8]>::trim_ascii_start);
        rest.is_some_and(|rest| rest.first().is_none_or(|next| then.contains(next)))
    };
    if begins_with(b'{', b"\"}") {
        let is_config = has(b"\"model_type\"") || has(b"\"architectures\"") || has(b"\"peft_type\"");
        return Some(match () {
            () if has(b"\"weight_map\"") => INDEX,
            () if is_config => CONFIG,
            () => JSON,
        });
    }
    let is_page = ["<!doctyp", "<html", "<head", "<!--"].iter().any(|tag| begins(tag.as_bytes()));
    match () {
        () if begins_with(b'[', b"{[\"]-0123456789") => Some(JSON),
        () if is_page => Some(PAGE),
        () => begins(b"<?xml").then_some(XML),
    }
}
