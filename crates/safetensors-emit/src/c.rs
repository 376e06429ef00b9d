//! Writes a model as a header for C99 and C++.

use crate::Constants;
use crate::constants::hex_lines;
use crate::names::{Identifiers, identifier};
use embedded_safetensors::{Dtype, file::FileTensor, tensor::MAX_RANK};
use std::io::{self, Write};

/// The suffixes of a tensor's macros.
const FIELDS: [&str; 11 + MAX_RANK] = [
    "NAME", "DTYPE", "TYPE", "RANK", "SHAPE", "ELEMENTS", "BYTES", "OFFSET", "BEGIN", "ADDRESS", "REQUEST",
    "DIM0", "DIM1", "DIM2", "DIM3", "DIM4", "DIM5", "DIM6", "DIM7",
];

/// Writes the header.
///
/// # Errors
/// Those of `out`.
pub fn write(constants: &Constants<'_>, prefix: &str, out: &mut impl Write) -> io::Result<()> {
    let numbers = numbers(constants, prefix);
    let mut taken =
        Identifiers::new(numbers.iter().map(|(name, _, _)| name.clone()).chain(lists(prefix)), &FIELDS);
    let identifiers: Vec<String> =
        constants.tensors().map(|tensor| taken.take(&identifier(prefix, tensor.name()))).collect();
    begin(constants, prefix, out)?;
    for (name, value, about) in &numbers {
        writeln!(out, "/* {about} */\n#define {name} {value}")?;
    }
    let mut requests = 0;
    for (tensor, base) in constants.tensors().zip(&identifiers) {
        macros(constants, &tensor, base, out)?;
        match obstacle(&tensor) {
            Some(why) => writeln!(out, "/* No REQUEST: {why} */")?,
            None => {
                writeln!(out, "#define {base}_REQUEST {requests}")?;
                requests += 1;
            }
        }
    }
    list(constants, prefix, requests, out)?;
    table(constants, prefix, &identifiers, out)?;
    metadata(constants, prefix, out)?;
    writeln!(out, "\n#endif")
}

fn begin(constants: &Constants<'_>, prefix: &str, out: &mut impl Write) -> io::Result<()> {
    let file = constants.file_name();
    writeln!(out, "/* Written by safetensors-emit from {file}. Offsets and sizes are in bytes. */")?;
    writeln!(out, "#ifndef {prefix}_MODEL_H\n#define {prefix}_MODEL_H\n\n#include <stdint.h>\n")
}

/// The numbers for the entire file, with a comment each.
fn numbers(constants: &Constants<'_>, prefix: &str) -> Vec<(String, String, &'static str)> {
    let address =
        constants.hex_address().map(|address| ("ADDRESS", address, "The address of the file in memory"));
    let numbers = constants
        .of_file()
        .into_iter()
        .chain(constants.of_memory())
        .map(|(name, number, about)| (name, decimal(number), about));
    let [upper, lower] = hex_lines(constants.sha256());
    let sums = [
        ("SHA256", format!("{{ \\\n    {upper}, \\\n    {lower} }}"), "SHA-256 of the file"),
        ("CRC32", format!("{:#010x}u", constants.crc32()), "CRC-32 of the file, as in zip, gzip and PNG"),
    ];
    let all = address.into_iter().chain(numbers).chain(sums);
    all.map(|(name, value, about)| (format!("{prefix}_{name}"), value, about)).collect()
}

/// The names of the lists.
fn lists(prefix: &str) -> [String; 5] {
    ["MODEL_H", "TENSORS", "METADATA", "REQUESTS", "REQUEST_COUNT"].map(|name| format!("{prefix}_{name}"))
}

fn macros(
    constants: &Constants<'_>,
    tensor: &FileTensor<'_>,
    base: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "\n#define {base}_NAME {}", string(tensor.name()))?;
    writeln!(out, "#define {base}_DTYPE \"{}\"", tensor.dtype().name())?;
    if let Some(c_type) = c_type(tensor.dtype()) {
        writeln!(out, "#define {base}_TYPE {c_type}")?;
    }
    writeln!(out, "#define {base}_RANK {}", tensor.dims().len())?;
    if !tensor.dims().is_empty() {
        let dims: Vec<String> = tensor.dims().iter().map(|&dim| decimal(dim)).collect();
        writeln!(out, "#define {base}_SHAPE {{ {} }}", dims.join(", "))?;
    }
    dims(tensor, base, out)?;
    writeln!(out, "#define {base}_ELEMENTS {}", tensor.elements())?;
    writeln!(out, "#define {base}_BYTES {}", tensor.byte_len())?;
    writeln!(out, "#define {base}_OFFSET {}", constants.offset_of(tensor))?;
    writeln!(out, "#define {base}_BEGIN {}", tensor.begin())?;
    match constants.address_of(tensor) {
        Some(address) => writeln!(out, "#define {base}_ADDRESS {address:#010x}"),
        None => Ok(()),
    }
}

/// One macro per axis, unless there are so many that long names would make the header much larger than the
/// model.
fn dims(tensor: &FileTensor<'_>, base: &str, out: &mut impl Write) -> io::Result<()> {
    if tensor.dims().len() > MAX_RANK {
        return writeln!(out, "/* No DIM macros for more than {MAX_RANK} dimensions */");
    }
    for (axis, dim) in tensor.dims().iter().enumerate() {
        writeln!(out, "#define {base}_DIM{axis} {}", decimal(*dim))?;
    }
    Ok(())
}

/// The type that holds one element: the bits of halves and narrower floats; none for packed and complex
/// elements.
fn c_type(dtype: Dtype) -> Option<&'static str> {
    Some(match dtype {
        Dtype::I8 => "int8_t",
        Dtype::I16 => "int16_t",
        Dtype::I32 => "int32_t",
        Dtype::I64 => "int64_t",
        Dtype::U32 => "uint32_t",
        Dtype::U64 => "uint64_t",
        Dtype::F32 => "float",
        Dtype::F64 => "double",
        Dtype::C64 => return None,
        other => match other.bits() {
            8 => "uint8_t",
            16 => "uint16_t",
            _ => return None,
        },
    })
}

/// Why the C API cannot request a tensor, if it cannot.
fn obstacle(tensor: &FileTensor<'_>) -> Option<String> {
    match tensor.dims().len() {
        0..=MAX_RANK => tensor.name().contains('\0').then(|| "in C the name ends at its NUL".to_owned()),
        rank => Some(format!("{rank} dimensions, but a request has at most {MAX_RANK}")),
    }
}

/// An `sft_request` for tables.
fn request(tensor: &FileTensor<'_>) -> String {
    let (name, dtype, rank) = (string(tensor.name()), tensor.dtype().name(), tensor.dims().len());
    let dims = match tensor.dims() {
        [] => "0".to_owned(),
        dims => dims.iter().map(|&dim| decimal(dim)).collect::<Vec<_>>().join(", "),
    };
    format!("SFT_REQUIRED({name}, SFT_{dtype}, {rank}, {dims})")
}

/// The initialiser of so many requests. There is none if it would be empty, which C forbids.
fn list(constants: &Constants<'_>, prefix: &str, requests: usize, out: &mut impl Write) -> io::Result<()> {
    if requests == 0 {
        writeln!(out, "\n/* There is no {prefix}_REQUESTS, because no tensor can be requested */")?;
    } else {
        let left_out = constants.tensors().count() - requests;
        let but = if left_out == 0 { String::new() } else { format!(" but {left_out}") };
        writeln!(
            out,
            "\n/* Requests of all tensors{but}, in the order of the data. They need safetensors.h:"
        )?;
        writeln!(out, " *     static const sft_request REQUESTS[] = {prefix}_REQUESTS; */")?;
        write!(out, "#define {prefix}_REQUESTS {{")?;
        let all = constants.tensors().filter(|tensor| obstacle(tensor).is_none()).enumerate();
        for (index, tensor) in all {
            write!(out, "{} \\\n    {}", if index == 0 { "" } else { "," }, request(&tensor))?;
        }
        writeln!(out, " }}")?;
    }
    writeln!(out, "#define {prefix}_REQUEST_COUNT {requests}")
}

/// A macro that calls another one for each tensor.
fn table(
    constants: &Constants<'_>,
    prefix: &str,
    identifiers: &[String],
    out: &mut impl Write,
) -> io::Result<()> {
    let about =
        "X(identifier, name, dtype, rank, elements, bytes, offset) for each tensor, in the order of the data";
    write!(out, "\n/* {about} */\n#define {prefix}_TENSORS(X)")?;
    for (tensor, base) in constants.tensors().zip(identifiers) {
        let (name, dtype, rank) = (string(tensor.name()), tensor.dtype().name(), tensor.dims().len());
        let (elements, bytes, offset) = (tensor.elements(), tensor.byte_len(), constants.offset_of(&tensor));
        write!(out, " \\\n    X({base}, {name}, \"{dtype}\", {rank}, {elements}, {bytes}, {offset})")?;
    }
    writeln!(out)
}

fn metadata(constants: &Constants<'_>, prefix: &str, out: &mut impl Write) -> io::Result<()> {
    write!(out, "\n/* X(key, value) for each metadata key */\n#define {prefix}_METADATA(X)")?;
    for (key, value) in constants.metadata() {
        write!(out, " \\\n    X({}, {})", string(key), string(value))?;
    }
    writeln!(out)
}

/// A literal that fits its type: only numbers larger than any signed type need the suffix.
fn decimal(number: u64) -> String {
    let suffix = if i64::try_from(number).is_ok() { "" } else { "u" };
    format!("{number}{suffix}")
}

/// A literal in ASCII. Octal escapes have three digits so that they end, and a question mark cannot begin a
/// trigraph.
fn string(text: &str) -> String {
    let mut literal = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => literal.extend(['\\', char::from(byte)]),
            b' '..=b'~' => literal.push(char::from(byte)),
            _ => literal += &format!("\\{byte:03o}"),
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests {
    use super::{FIELDS, string};

    #[test]
    fn literals_hold_any_text() {
        assert_eq!(string("a\"b\\c"), r#""a\"b\\c""#);
        assert_eq!(string("??/\n1é\0"), r#""\?\?/\0121\303\251\000""#);
    }

    #[test]
    fn no_field_has_an_underscore() {
        for field in FIELDS {
            assert!(!field.contains('_'), "{field}");
        }
    }
}
