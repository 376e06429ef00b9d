//! The tables of `docs/src/formats.md`: what `convert` makes of every type of every format, from its runs.
//!
//! `BLESS=1 cargo test -p safetensors-host --test command format_table::` updates them.
#![cfg(unix)]

use crate::made;
use crate::made::graphs::{buffer, message, onnx, tensor, tensor_of, tflite};
use crate::support::{Place, file};
use embedded_safetensors::Dtype;
use safetensors_convert::gguf::Kind;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- tables: written by a test of the command -->\n";
const END: &str = "<!-- end of tables -->\n";
const ELEMENTS: u8 = 4;
/// In the order of the columns.
const FORMATS: [&str; 8] =
    ["PyTorch, zip", "PyTorch, before 1.6", "GGUF", "TensorFlow", ".npy", ".npz", "ONNX", "TFLite"];
/// What a file of each format is called.
const FILES: [&str; 8] = ["m.pt", "m.bin", "m.gguf", "m.index", "m.npy", "m.npz", "m.onnx", "m.tflite"];

/// The options for bits whose dtype numpy does not name.
const READ_BITS: &str = "--from-bits";
const WRITE_BITS: &str = "--bits";

/// Types of a format, each with the dtype with the same elements, if there is one.
fn types(list: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let dtype = |name: &str| Dtype::from_name(name.as_bytes()).is_some();
    list.split("; ").map(move |one| one.rsplit_once(' ').filter(|(_, name)| dtype(name)).unwrap_or((one, "")))
}

/// The classes of storages in `torch`.
const STORAGES: &str = "BoolStorage BOOL; ByteStorage U8; CharStorage I8; ShortStorage I16; IntStorage I32; \
    LongStorage I64; HalfStorage F16; BFloat16Storage BF16; FloatStorage F32; DoubleStorage F64; \
    ComplexFloatStorage C64; ComplexDoubleStorage; QInt8Storage; QUInt8Storage; QInt32Storage; \
    QUInt4x2Storage; QUInt2x4Storage";
/// The dtypes of `torch` that have no such class.
const NEWER: &str = "uint16 U16; uint32 U32; uint64 U64; float8_e4m3fn F8_E4M3; float8_e5m2 F8_E5M2; \
    float8_e4m3fnuz F8_E4M3FNUZ; float8_e5m2fnuz F8_E5M2FNUZ; float8_e8m0fnu F8_E8M0; \
    float4_e2m1fn_x2 F4; complex32; bits8; bits16; bits1x8; bits2x4; bits4x2; int4; uint4; uint1";
/// The dtypes of TensorFlow, in the order of their numbers, from 1.
const TENSORFLOW: &str = "DT_FLOAT F32; DT_DOUBLE F64; DT_INT32 I32; DT_UINT8 U8; DT_INT16 I16; DT_INT8 I8; DT_STRING; \
    DT_COMPLEX64 C64; DT_INT64 I64; DT_BOOL BOOL; DT_QINT8; DT_QUINT8; DT_QINT32; DT_BFLOAT16 BF16; \
    DT_QINT16; DT_QUINT16; DT_UINT16 U16; DT_COMPLEX128; DT_HALF F16; DT_RESOURCE; DT_VARIANT; \
    DT_UINT32 U32; DT_UINT64 U64; DT_FLOAT8_E5M2 F8_E5M2; DT_FLOAT8_E4M3FN F8_E4M3; \
    DT_FLOAT8_E4M3FNUZ F8_E4M3FNUZ; DT_FLOAT8_E4M3B11FNUZ; DT_FLOAT8_E5M2FNUZ F8_E5M2FNUZ; DT_INT4; \
    DT_UINT4; DT_INT2; DT_UINT2; DT_FLOAT4_E2M1FN";
/// The types of numpy, and those of ml_dtypes that it stores as nameless bytes.
const NUMPY: &str = "'|b1' BOOL; '|u1' U8; '|i1' I8; '<u2' U16; '<i2' I16; '<f2' F16; '<u4' U32; '<i4' I32; '<f4' F32; \
    '<u8' U64; '<i8' I64; '<f8' F64; '<c8' C64; '<f1' F8_E5M2; '<V2' BF16; '|V1' F8_E4M3; \
    '|V1' F8_E8M0; '|V1' F8_E4M3FNUZ; '|V1' F8_E5M2FNUZ; '<f16'; '<c16'; '|S4'; '<U1'; '<M8[s]'; \
    '<m8[s]'; '|O'; '|V4'; [('a', '<f4')]";
/// The types of ONNX, in the order of their numbers, from 1.
const ONNX: &str = "FLOAT F32; UINT8 U8; INT8 I8; UINT16 U16; INT16 I16; INT32 I32; INT64 I64; STRING; BOOL BOOL; \
    FLOAT16 F16; DOUBLE F64; UINT32 U32; UINT64 U64; COMPLEX64 C64; COMPLEX128; BFLOAT16 BF16; \
    FLOAT8E4M3FN F8_E4M3; FLOAT8E4M3FNUZ F8_E4M3FNUZ; FLOAT8E5M2 F8_E5M2; FLOAT8E5M2FNUZ F8_E5M2FNUZ; \
    UINT4; INT4; FLOAT4E2M1 F4; FLOAT8E8M0 F8_E8M0; UINT2; INT2; FLOAT6E2M3 F6_E2M3; FLOAT6E3M2 F6_E3M2";
/// The types of TFLite, in the order of their numbers, from 0.
const TFLITE: &str = "FLOAT32 F32; FLOAT16 F16; INT32 I32; UINT8 U8; INT64 I64; STRING; BOOL BOOL; INT16 I16; \
    COMPLEX64 C64; INT8 I8; FLOAT64 F64; COMPLEX128; UINT64 U64; RESOURCE; VARIANT; UINT32 U32; \
    UINT16 U16; INT4; BFLOAT16 BF16; INT2; UINT4; FLOAT8_E4M3FN F8_E4M3; FLOAT8_E5M2 F8_E5M2";

/// A file with one tensor of a type.
struct Sample {
    format: usize,
    /// Its name in the format.
    name: String,
    dtype: &'static str,
    data: Vec<u8>,
    /// Contents by name; the first is the input.
    files: Vec<(&'static str, Vec<u8>)>,
}

/// What came of a file.
#[derive(Clone, PartialEq)]
enum Outcome {
    Dtype(String),
    /// The right dtype with this option.
    With(&'static str),
    Reason(String),
}

/// The reasons, which cells name by number.
#[derive(Default)]
struct Reasons(Vec<String>);

impl Reasons {
    fn cell(&mut self, reason: String) -> String {
        let known = self.0.iter().position(|known| *known == reason);
        let at = known.unwrap_or_else(|| {
            self.0.push(reason);
            self.0.len() - 1
        });
        format!("no ({})", at + 1)
    }
}

/// Bytes that differ, or those of booleans.
fn bytes(len: u64, dtype: &str) -> Vec<u8> {
    let bytes = (1..=u8::MAX).cycle().take(usize::try_from(len).expect("few"));
    bytes.map(|byte| if dtype == "BOOL" { byte & 1 } else { byte }).collect()
}

/// The number of bytes of the elements: types without a dtype have 16 bytes each at most.
fn len(dtype: &str) -> u64 {
    let bits = Dtype::from_name(dtype.as_bytes()).map_or(128, Dtype::bits);
    u64::from(bits) * u64::from(ELEMENTS) / 8
}

fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    for (name, dtype) in types(STORAGES).chain(types(NEWER)) {
        samples.extend([false, true].map(|is_old| of_pytorch((name, dtype), is_old)));
    }
    for kind in Kind::ALL {
        let dims = [kind.block_elements().max(u64::from(ELEMENTS))];
        let dtype = kind.dtype().map_or("", Dtype::name);
        let data = bytes(dims[0] / kind.block_elements() * kind.block_bytes(), dtype);
        let files = vec![(FILES[2], made::gguf(kind.number(), &dims, &data))];
        samples.push(Sample { format: 2, name: kind.name().to_owned(), dtype, data, files });
    }
    for (number, (name, dtype)) in (1..).zip(types(TENSORFLOW)) {
        // The lengths of four empty texts, and their checksum.
        let texts = [&[0, 0, 0, 0][..], &made::masked(&[0; 4])].concat();
        let data = if number == 7 { texts } else { bytes(len(dtype), dtype) };
        let (index, of_shard) = made::tensorflow(&[("w", number, ELEMENTS, &data)]);
        let files = vec![(FILES[3], index), ("m.data-00000-of-00001", of_shard)];
        samples.push(Sample { format: 3, name: name.to_owned(), dtype, data, files });
    }
    for (number, (name, dtype)) in (1..).zip(types(ONNX)) {
        let data = bytes(len(dtype), dtype);
        let tensor = tensor("w", number, &[ELEMENTS.into()], &message(9, &data));
        let files = vec![(FILES[6], onnx(&message(5, &tensor)))];
        samples.push(Sample { format: 6, name: name.to_owned(), dtype, data, files });
    }
    for (number, (name, dtype)) in (0..).zip(types(TFLITE)) {
        let data = bytes(len(dtype), dtype);
        let tensors = vec![tensor_of("w", number, &[ELEMENTS.into()], 1)];
        let files = vec![(FILES[7], tflite(&[("", tensors)], &[buffer(&data)]))];
        samples.push(Sample { format: 7, name: name.to_owned(), dtype, data, files });
    }
    for (name, dtype) in types(NUMPY) {
        let data = bytes(len(dtype), dtype);
        let array = made::npy(name, "False", "(4,)", &data);
        let archive = made::archive(&[("w.npy".to_owned(), &array)], true);
        for (format, contents) in [(4, array), (5, archive)] {
            let (name, data, files) = (name.to_owned(), data.clone(), vec![(FILES[format], contents)]);
            samples.push(Sample { format, name, dtype, data, files });
        }
    }
    samples
}

fn of_pytorch((name, dtype): (&str, &'static str), is_old: bool) -> Sample {
    let len = match name {
        "QInt32Storage" => 16,
        // A byte of F4 has two elements.
        _ if dtype == "F4" || name.starts_with('Q') => 4,
        _ => len(dtype),
    };
    let data = bytes(len, dtype);
    let has_class = name.ends_with("Storage");
    let count = u8::try_from(data.len()).expect("few");
    let tensor = match has_class {
        true => made::tensor("0", name, ELEMENTS, is_old),
        false => made::newer_tensor("0", name, [ELEMENTS, count], is_old),
    };
    let object = made::dictionary(&[("w", tensor)]);
    let contents = match is_old {
        true => made::old_pytorch(&object, if has_class { ELEMENTS } else { count }, &data),
        false => made::pytorch(&object, std::slice::from_ref(&data)),
    };
    let format = usize::from(is_old);
    Sample { format, name: name.to_owned(), dtype, data, files: vec![(FILES[format], contents)] }
}

/// Converts a file, and returns the dtype of the only tensor, whose bytes are also returned.
fn convert(place: &Place, [input, output]: [&str; 2], options: &[&str], name: &str) -> (Outcome, Vec<u8>) {
    let run = place.run([&["convert", input, output, "--force"], options].concat());
    if run.code != Some(0) {
        assert!(run.code == Some(1) || run.code == Some(2), "{name}: {run:?}");
        let reason = run.err.lines().next().expect("a sentence");
        assert!(!place.path(output).exists(), "{name}: a file after {reason}");
        return (Outcome::Reason(general(reason, name)), Vec::new());
    }
    if !output.ends_with("safetensors") {
        return (Outcome::Dtype(String::new()), Vec::new());
    }
    let bytes = fs::read(place.path(output)).expect("the output");
    let (len, rest) = bytes.split_first_chunk().expect("a length");
    let (header, data) = rest.split_at(usize::try_from(u64::from_le_bytes(*len)).expect("a length"));
    let header: Value = serde_json::from_slice(header).expect("JSON");
    let mut tensors = header.as_object().expect("an object").iter().filter(|(key, _)| *key != "__metadata__");
    let Some((_, tensor)) = tensors.next() else {
        let left_out = run.out.lines().nth(1).unwrap_or_default().trim();
        return (Outcome::Reason(left_out.to_owned()), Vec::new());
    };
    assert!(tensors.next().is_none(), "{name}: {header}");
    (Outcome::Dtype(tensor["dtype"].as_str().expect("a name").to_owned()), data.to_vec())
}

/// Replaces what differs between types and formats in a sentence about a file.
fn general(sentence: &str, name: &str) -> String {
    let mut text = sentence;
    let places = FILES.map(|file| format!("{file}: "));
    let places = places.iter().map(String::as_str);
    let formats = ["PyTorch: ", "GGUF: ", "TensorFlow: ", "numpy: ", "ONNX: ", "TFLite: "];
    let entries = ["entry \"m/data.pkl\": ", "entry \"w.npy\": "];
    let entries = ["i.safetensors: "].into_iter().chain(formats).chain(entries);
    places.chain(entries).for_each(|place| text = text.strip_prefix(place).unwrap_or(text));
    let text = text.replace("tensor \"m\"", "tensor \"w\"");
    let name = name.trim_matches('\'');
    let text = if name.len() > 1 { text.replace(name, "TYPE") } else { text };
    match text.split_once("at byte ") {
        Some((before, after)) => {
            format!("{before}at byte N{}", after.trim_start_matches(|digit: char| digit.is_ascii_digit()))
        }
        None => text,
    }
}

impl Sample {
    fn place(&self) -> Place {
        let place = Place::new();
        self.files.iter().for_each(|(name, contents)| _ = place.put(name, contents));
        place
    }

    /// Reads the file; bytes must be the same, also as another dtype, if the type has a dtype.
    fn read(&self) -> Outcome {
        let (place, files) = (self.place(), [self.files[0].0, "o.safetensors"]);
        let try_with = |options: &[&str]| {
            let (outcome, data) = convert(&place, files, options, &self.name);
            let is_read = matches!(outcome, Outcome::Dtype(_));
            assert!(!is_read || self.dtype.is_empty() || data == self.data, "{} differs", self.name);
            outcome
        };
        match try_with(&[]) {
            Outcome::Reason(reason) if reason.contains(READ_BITS) && !self.dtype.is_empty() => {
                let outcome = try_with(&[READ_BITS, self.dtype]);
                assert!(outcome == Outcome::Dtype(self.dtype.to_owned()), "{}", self.name);
                Outcome::With(READ_BITS)
            }
            outcome => outcome,
        }
    }
}

fn row(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = cells.into_iter().collect();
    assert!(cells.iter().all(|cell| !cell.is_empty()), "an empty cell: {cells:?}");
    format!("| {} |\n", cells.join(" | "))
}

fn head(first: &[&str], rest: &[&str]) -> String {
    let names: Vec<String> = first.iter().chain(rest).map(|name| (*name).to_owned()).collect();
    let rule = names.iter().map(|_| "---".to_owned()).collect::<Vec<_>>();
    row(names) + &row(rule)
}

fn cell(outcome: &Outcome, dtype: &str, reasons: &mut Reasons) -> String {
    match outcome {
        Outcome::Dtype(found) if found == dtype => "ok".to_owned(),
        Outcome::Dtype(found) => format!("as {found}"),
        Outcome::With(option) => format!("`{option}`"),
        Outcome::Reason(reason) => reasons.cell(reason.clone()),
    }
}

/// Returns the table of what is read: a row for each dtype.
fn reading(outcomes: &[(Sample, Outcome)], reasons: &mut Reasons) -> String {
    let mut text = head(&["dtype"], &FORMATS);
    for dtype in Dtype::ALL {
        let cells = (0..FORMATS.len()).map(|format| {
            let mut of_cell =
                outcomes.iter().filter(|(sample, _)| (sample.format, sample.dtype) == (format, dtype.name()));
            let outcome = of_cell.next().map(|(_, outcome)| outcome);
            assert!(of_cell.next().is_none(), "two types of {} for {dtype:?}", FORMATS[format]);
            outcome.map_or("–".to_owned(), |outcome| cell(outcome, dtype.name(), reasons))
        });
        let cells: Vec<String> = cells.collect();
        text += &row([dtype.name().to_owned()].into_iter().chain(cells));
    }
    text
}

/// Returns the table of what is written, which must be read as it was.
fn writing(reasons: &mut Reasons) -> String {
    let mut text = head(&["dtype"], &FORMATS);
    for dtype in Dtype::ALL.iter().map(|dtype| dtype.name()) {
        let data = bytes(len(dtype), dtype);
        let tensor = json!({"w": {"dtype": dtype, "shape": [ELEMENTS], "data_offsets": [0, data.len()]}});
        let place = Place::new();
        place.put("i.safetensors", &file(tensor.to_string(), &data));
        let cells = FILES.map(|name| cell(&written(&place, name, dtype, &data), dtype, reasons));
        text += &row([dtype.to_owned()].into_iter().chain(cells));
    }
    text
}

/// Writes a model in another format, and reads it again.
fn written(place: &Place, name: &str, dtype: &str, data: &[u8]) -> Outcome {
    let there = ["i.safetensors", name];
    let back = |options: &[&str]| {
        let (outcome, found) = convert(place, [name, "o.safetensors"], options, dtype);
        assert!(found == data, "{dtype} in {name} differs");
        outcome
    };
    match convert(place, there, &[], dtype).0 {
        Outcome::Reason(reason) if reason.ends_with("with --bits") => {
            assert!(matches!(convert(place, there, &[WRITE_BITS], dtype).0, Outcome::Dtype(_)), "{dtype}");
            assert!(back(&[READ_BITS, dtype]) == Outcome::Dtype(dtype.to_owned()), "{dtype}");
            Outcome::With(WRITE_BITS)
        }
        Outcome::Dtype(_) => back(&[]),
        outcome => outcome,
    }
}

/// Returns the table of GGUF's blocks: as numbers, as they are, and written from what they are.
fn blocks(outcomes: &[(Sample, Outcome)], reasons: &mut Reasons) -> String {
    let mut text = head(
        &["type"],
        &["no option", "`--to F16`", "`--to BF16`", "`--keep-blocks`", "written from kept blocks"],
    );
    for (sample, outcome) in
        outcomes.iter().filter(|(sample, _)| sample.format == 2 && sample.dtype.is_empty())
    {
        let place = sample.place();
        let try_to = |files, options: &[&str]| convert(&place, files, options, &sample.name);
        let casts = ["F16", "BF16"].map(|dtype| try_to(["m.gguf", "o.safetensors"], &["--to", dtype]).0);
        let (kept, data) = try_to(["m.gguf", "b.safetensors"], &["--keep-blocks"]);
        assert!(kept == Outcome::Dtype("U8".to_owned()) && data == sample.data, "{} differs", sample.name);
        assert!(matches!(try_to(["b.safetensors", "n.gguf"], &[]).0, Outcome::Dtype(_)), "{}", sample.name);
        let new = fs::read(place.path("n.gguf")).expect("the output");
        assert!(new == sample.files[0].1, "{} is written otherwise", sample.name);
        let cells = [outcome.clone()].into_iter().chain(casts).chain([kept]);
        let cells: Vec<_> = cells.map(|outcome| cell(&outcome, "", reasons)).collect();
        text += &row([sample.name.clone()].into_iter().chain(cells).chain(["ok".to_owned()]));
    }
    text
}

/// Returns the table of the other types that no dtype is equal to. Formats with the same result share a row.
fn others(outcomes: &[(Sample, Outcome)], reasons: &mut Reasons) -> String {
    let mut rows: Vec<(String, &str, String)> = Vec::new();
    for (sample, outcome) in outcomes {
        if sample.format == 2 || !sample.dtype.is_empty() {
            continue;
        }
        let (name, cell) = (sample.name.trim_matches('\''), cell(outcome, "", reasons));
        let format = FORMATS[sample.format];
        match rows.iter_mut().find(|(_, known, result)| *known == name && *result == cell) {
            Some((formats, ..)) => *formats += &format!("; {format}"),
            None => rows.push((format.to_owned(), name, cell)),
        }
    }
    let rows = rows.into_iter().map(|(formats, name, cell)| {
        // A bar would end the cell.
        row([formats, format!("`{}`", name.replace('|', "\\|")), cell])
    });
    head(&["format", "type"], &["reading"]) + &rows.collect::<String>()
}

#[test]
fn the_page_has_what_convert_does() {
    let samples = samples().into_iter();
    let outcomes: Vec<(Sample, Outcome)> =
        samples.map(|sample| (sample.read(), sample)).map(|(outcome, sample)| (sample, outcome)).collect();
    let mut reasons = Reasons::default();
    let tables = [
        ("Reading", reading(&outcomes, &mut reasons)),
        ("Writing", writing(&mut reasons)),
        ("Blocks of GGUF", blocks(&outcomes, &mut reasons)),
        ("Other types", others(&outcomes, &mut reasons)),
    ];
    let mut text: String = tables.map(|(title, table)| format!("## {title}\n\n{table}\n")).concat();
    text += "## Reasons\n\n";
    for (at, reason) in reasons.0.iter().enumerate() {
        text += &format!("{}. `{}`\n", at + 1, reason.replace('`', "'"));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/formats.md");
    let page = fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("the mark before the tables");
    let (_, after) = rest.split_once(END).expect("the mark after the tables");
    let new = format!("{before}{BEGIN}\n{text}\n{END}{after}");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, new).expect("files are written");
    } else {
        assert!(page == new, "the tables are not what `convert` does; BLESS=1 updates them");
    }
}
