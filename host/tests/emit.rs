//! `safetensors emit`: its output compiles and matches the model.

use crate::emit_page::page_model;
use crate::support::{self, Place, file, model as of, sound};
use embedded_safetensors::integrity::{Crc32, Sha256, Sum};
use embedded_safetensors::{ErrorKind, Model, ReadError, index::IndexStorage};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What `emit` writes for the test's model.
#[allow(dead_code)]
pub mod net {
    include!("emitted/names.rs");
}

const AT: u64 = 0x0806_0000;

/// One tensor of the test's model.
struct Made {
    name: &'static str,
    dtype: &'static str,
    dims: Vec<u64>,
    elements: u64,
    bytes: u64,
    begin: u64,
}

/// Names that clash with each other, with names of the plan, and with keywords.
fn made() -> Vec<Made> {
    let list: [(&str, &str, &[u64], u64); 17] = [
        ("fc1.weight", "F32", &[2, 3], 24),
        ("FC1_WEIGHT", "I8", &[4], 4),
        ("fc1.weight.bytes", "F64", &[1, 1], 8),
        ("int", "F16", &[], 2),
        ("0", "BF16", &[1], 2),
        ("层", "U8", &[2], 2),
        ("重", "BOOL", &[3], 3),
        ("a\"b\\c\n*/??/ \u{202e}\0", "U8", &[1], 1),
        ("", "I64", &[1], 8),
        ("file", "U16", &[1, 1, 2], 4),
        ("h", "U32", &[1], 4),
        ("tensors", "I16", &[1], 2),
        ("packed", "F4", &[2, 4], 4),
        ("pair", "C64", &[1], 8),
        ("deep", "U8", &[1; 9], 1),
        ("sha256", "I8", &[1], 1),
        ("none", "F32", &[0, 18_446_744_073_709_551_615], 0),
    ];
    let mut begin = 0;
    let tensor = |(name, dtype, dims, bytes): (_, _, &[u64], _)| {
        let elements = dims.iter().fold(1, |product: u64, &dim| product.wrapping_mul(dim));
        let made = Made { name, dtype, dims: dims.to_vec(), elements, bytes, begin };
        begin += bytes;
        made
    };
    list.into_iter().map(tensor).collect()
}

const METADATA: [(&str, &str); 2] = [("empty", ""), ("note", "*/ ??/ \"q\"\\\nline \u{202e}é")];

/// The model, and the offset of its data.
pub fn model() -> (Vec<u8>, u64) {
    let tensor = |made: &Made| {
        let Made { dtype, dims, begin, bytes, .. } = made;
        let entry = json!({"dtype": dtype, "shape": dims, "data_offsets": [begin, begin + bytes]});
        format!("{}:{entry}", json!(made.name))
    };
    let metadata: Vec<String> =
        METADATA.iter().map(|(key, value)| format!("{}:{}", json!(key), json!(value))).collect();
    let tensors: Vec<String> = made().iter().map(tensor).collect();
    let header = format!("{{\"__metadata__\":{{{}}},{}}}", metadata.join(","), tensors.join(","));
    let data = vec![0; usize::try_from(made().iter().map(|made| made.bytes).sum::<u64>()).expect("small")];
    (file(&header, &data), header.len() as u64 + 8)
}

fn place() -> Place {
    let place = Place::new();
    place.put("2-model.st", &model().0);
    place
}

/// The note about the tensor of 9 dimensions.
fn left_out(list: &str) -> String {
    format!("2-model.st: left out of the {list}: 1 tensor of more than 8 dimensions\n")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A line for each tensor and each key, and one of the sums, as the compiled program prints them.
fn expected() -> Vec<String> {
    let start = model().1;
    let tensor = |made: &Made| {
        let Made { name, dtype, dims, elements, bytes, begin } = made;
        let (rank, offset) = (dims.len(), start + begin);
        let name = hex(name.split('\0').next().expect("the beginning").as_bytes());
        format!("{name} {dtype} {rank} {elements} {bytes} {offset} {begin} {}", AT + offset)
    };
    let pair = |(key, value): &(&str, &str)| format!("{} {}", hex(key.as_bytes()), hex(value.as_bytes()));
    let (mut sha256, mut crc32) = (Sha256::new(), Crc32::new());
    sha256.update(&model().0);
    crc32.update(&model().0);
    let sums = format!("{} {}", hex(&sha256.finish()), crc32.finish());
    made().iter().map(tensor).chain(METADATA.iter().map(pair)).chain([sums]).collect()
}

#[track_caller]
fn done(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn has(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        eprintln!("there is no {program}: what is emitted for it is not compiled");
    }
    is_there
}

const PROGRAM: &str = r#"
#include "model.h"
#include <stdio.h>
#include <string.h>

static void hex(const char *text, char end) {
    for (; *text; text++) printf("%02x", (unsigned)(unsigned char)*text);
    putchar(end);
}

#define ROW(id, name, dtype, rank, elements, bytes, offset) \
    hex(id##_NAME, ' '); \
    printf("%s %d %llu %llu %llu %llu %llu\n", id##_DTYPE, (int)id##_RANK, (unsigned long long)id##_ELEMENTS, \
           (unsigned long long)id##_BYTES, (unsigned long long)id##_OFFSET, (unsigned long long)id##_BEGIN, \
           (unsigned long long)id##_ADDRESS); \
    if (strcmp(name, id##_NAME) || strcmp(dtype, id##_DTYPE) || rank != id##_RANK \
        || elements != id##_ELEMENTS || bytes != id##_BYTES || offset != id##_OFFSET) return 1;
#define PAIR(key, value) hex(key, ' '); hex(value, '\n');

int main(void) {
    static const MODEL_2_MODEL_FC1_WEIGHT_TYPE
        weight[MODEL_2_MODEL_FC1_WEIGHT_DIM0][MODEL_2_MODEL_FC1_WEIGHT_DIM1] = {{0}};
    static const uint64_t shape[MODEL_2_MODEL_FC1_WEIGHT_RANK] = MODEL_2_MODEL_FC1_WEIGHT_SHAPE;
    static const uint64_t none[] = MODEL_2_MODEL_NONE_SHAPE;
    static unsigned char any[MODEL_2_MODEL_LARGEST_TENSOR_BYTES];
    static const uint8_t sha256[32] = MODEL_2_MODEL_SHA256;
    static const uint32_t crc32 = MODEL_2_MODEL_CRC32;
    MODEL_2_MODEL_TENSORS(ROW)
    MODEL_2_MODEL_METADATA(PAIR)
    for (int at = 0; at < 32; at++) printf("%02x", sha256[at]);
    printf(" %lu\n", (unsigned long)crc32);
    return !(sizeof weight == MODEL_2_MODEL_FC1_WEIGHT_BYTES && shape[0] == 2 && shape[1] == 3
             && sizeof any == 24 && none[1] == UINT64_MAX && sizeof(MODEL_2_MODEL_INT_TYPE) == 2
             && sizeof(MODEL_2_MODEL_PACKED_BYTES));
}
"#;

#[test]
fn c_header_compiles_and_matches_the_model() {
    let place = place();
    place.run(["emit", "--at", "0x08060000", "-o", "model.h", "2-model.st"]).is(0, "", &left_out("requests"));
    let header = fs::read_to_string(place.path("model.h")).expect("text");
    assert!(header.is_ascii() && header.starts_with("/* Written by safetensors-emit from 2-model.st."));
    place.put("main.c", PROGRAM.as_bytes());
    let strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o", "main", "main.c"];
    for (compiler, language) in [("gcc", &["-std=c99"][..]), ("g++", &["-std=c++11", "-x", "c++"])] {
        if has(compiler) {
            done(Command::new(compiler).args(language).args(strict).current_dir(place.path(".")));
            let lines = done(Command::new(place.path("main")).current_dir(place.path(".")));
            assert_eq!(lines.lines().collect::<Vec<_>>(), expected(), "{compiler}");
        }
    }
}

const REQUESTING: &str = r#"
#include "model.h"
#include <safetensors.h>
#include <stdio.h>

static const sft_request REQUESTS[] = MODEL_2_MODEL_REQUESTS;

int main(void) {
    const size_t count = sizeof REQUESTS / sizeof REQUESTS[0];
    for (size_t at = 0; at < count; at++) {
        const sft_request *request = &REQUESTS[at];
        for (const char *text = request->name; *text; text++) printf("%02x", (unsigned)(unsigned char)*text);
        printf(" %lu %d %d", (unsigned long)request->dtypes, (int)request->rank, (int)request->optional);
        for (int axis = 0; axis < SFT_MAX_RANK; axis++) {
            printf(" %llu", (unsigned long long)request->shape[axis]);
        }
        putchar('\n');
    }
    return !(count == MODEL_2_MODEL_REQUEST_COUNT && MODEL_2_MODEL_FC1_WEIGHT_REQUEST == 0
             && MODEL_2_MODEL_PAIR_REQUEST == 12 && MODEL_2_MODEL_NONE_REQUEST == 14);
}
"#;

/// Compiles a program in C and in C++ with `safetensors.h`, and calls a function with each compiler's name.
fn with_library_header(place: &Place, args: &[&str], each: impl Fn(&str)) {
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/safetensors-c/include");
    let strict = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-I", include];
    for (compiler, language) in [("gcc", &["-std=c99"][..]), ("g++", &["-std=c++11", "-x", "c++"])] {
        if has(compiler) {
            let mut command = Command::new(compiler);
            done(command.args(language).args(strict).args(args).current_dir(place.path(".")));
            each(compiler);
        }
    }
}

#[test]
fn c_requests_are_those_of_the_model() {
    let place = place();
    place.run(["emit", "-o", "model.h", "2-model.st"]);
    place.put("main.c", REQUESTING.as_bytes());
    let header = include_str!("../../crates/safetensors-c/include/safetensors.h");
    let line = |made: &Made| {
        let bit =
            header.split_once(&format!("#define SFT_{} (UINT32_C(1) << ", made.dtype)).expect("a dtype").1;
        let bit: u32 = bit.split(')').next().expect("its bit").parse().expect("a number");
        let dims = made.dims.iter().chain(&[0; 8]).take(8).map(|dim| format!(" {dim}")).collect::<String>();
        format!("{} {} {} 0{dims}", hex(made.name.as_bytes()), 1 << bit, made.dims.len())
    };
    let requested = |made: &Made| made.dims.len() <= 8 && !made.name.contains('\0');
    let expected: Vec<String> = made().iter().filter(|made| requested(made)).map(line).collect();
    assert_eq!(expected.len(), made().len() - 2);
    with_library_header(&place, &["-o", "main", "main.c"], |compiler| {
        let lines = done(Command::new(place.path("main")).current_dir(place.path(".")));
        assert_eq!(lines.lines().collect::<Vec<_>>(), expected, "{compiler}");
    });
    let text = fs::read_to_string(place.path("model.h")).expect("text");
    assert!(text.contains("/* Requests of all tensors but 2, in the order of the data."), "{text}");
    for why in ["in C the name ends at its NUL", "9 dimensions, but a request has at most 8"] {
        assert_eq!(text.matches(&format!("/* No REQUEST: {why} */")).count(), 1, "{text}");
    }
}

#[test]
fn programs_of_the_page_of_c_compile() {
    let place = Place::new();
    place.put("model.safetensors", &page_model());
    place.run(["emit", "--prefix", "net", "-o", "net.h", "model.safetensors"]).is(0, "", "");
    let programs = include_str!("../../docs/src/c.md").split("```c\n").skip(1);
    let programs: Vec<&str> = programs.filter_map(|rest| rest.split("```").next()).collect();
    assert!(programs.iter().any(|program| program.contains("NET_REQUESTS")), "the header is used");
    for program in programs {
        place.put("main.c", program.as_bytes());
        with_library_header(&place, &["-c", "main.c"], |_| ());
    }
}

#[test]
fn rust_constants_are_those_of_the_tests() {
    let place = place();
    place.run(["emit", "--at", "0x08060000", "-o", "model.rs", "2-model.st"]).is(0, "", &left_out("queries"));
    assert_eq!(place.run(["emit", "--json", "2-model.st"]).err, "", "JSON has all tensors");
    let output = fs::read_to_string(place.path("model.rs")).expect("text");
    if std::env::var_os("BLESS").is_some() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emitted");
        fs::write(folder.join("names.rs"), output).expect("files are written");
        fs::write(folder.join("names.safetensors"), model().0).expect("files are written");
    } else {
        assert!(
            output == include_str!("emitted/names.rs"),
            "`emit` writes something else; BLESS=1 updates it"
        );
        assert_eq!(model().0, include_bytes!("emitted/names.safetensors"));
    }
}

#[test]
fn rust_constants_match_the_model() {
    let (file, start) = model();
    let in_rust: Vec<Made> = made().into_iter().filter(|made| made.name != "deep").collect();
    assert_eq!(net::TENSORS.len(), in_rust.len());
    for (index, (tensor, made)) in net::TENSORS.iter().zip(in_rust).enumerate() {
        assert_eq!((tensor.index, tensor.name, tensor.dtype.name()), (index, made.name, made.dtype));
        assert_eq!((tensor.shape, tensor.elements as u64), (&made.dims[..], made.elements));
        assert_eq!((tensor.bytes as u64, tensor.begin), (made.bytes, made.begin));
        assert_eq!((tensor.offset, tensor.address as u64), (start + made.begin, AT + start + made.begin));
        assert_eq!(net::QUERIES[index].name(), made.name);
    }
    assert_eq!(net::METADATA, METADATA);
    let any = [0_u8; net::LARGEST_TENSOR_BYTES];
    assert_eq!((any.len(), net::INDEX_TENSORS), (24, 17));
    assert_eq!((net::FILE_BYTES, net::ADDRESS as u64), (file.len() as u64, AT));
}

/// The outcome on a device: the model is opened with the declaration, and its sums are verified.
fn accept(file: &[u8]) -> Result<(), ReadError<std::convert::Infallible>> {
    let mut net = net::QUERIES;
    let mut device = Model::open_with(file, &mut net, &mut [0; 64])?;
    assert_eq!(device.reader(&net[net::FC1_WEIGHT.index])?.byte_len(), 24);
    device.verify(Sha256::new(), &net::SHA256, &mut [])?;
    device.verify(Crc32::new(), &net::CRC32, &mut [])
}

#[test]
fn rust_declaration_accepts_only_its_model() {
    let (file, _) = model();
    assert_eq!(accept(&file), Ok(()));
    let text = |bytes: &[u8]| bytes.iter().map(|&byte| char::from(byte)).collect::<String>();
    let transposed = text(&file).replacen("\"shape\":[2,3]", "\"shape\":[3,2]", 1);
    let transposed: Vec<u8> =
        transposed.chars().map(|letter| u8::try_from(letter).expect("a byte")).collect();
    let error = accept(&transposed).expect_err("another shape");
    assert_eq!(error.tensor_name(&net::QUERIES), Some("fc1.weight"));
    let mut flipped = file;
    *flipped.last_mut().expect("data") ^= 1;
    let is_sum = |error: &ReadError<_>| match error {
        ReadError::Format(error) => matches!(error.kind, ErrorKind::SumMismatch { .. }),
        _ => false,
    };
    assert!(accept(&flipped).is_err_and(|error| is_sum(&error)));
}

#[test]
fn identifiers_match_the_page() {
    let place = place();
    let header = place.run(["emit", "--prefix", "net", "2-model.st"]).out;
    let names = |text: &str, before: &str, after: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(before)?.split_once(after));
        lines.map(|(name, _)| name.to_owned()).collect()
    };
    let identifiers = "FC1_WEIGHT FC1_WEIGHT_2 FC1_WEIGHT_BYTES_2 INT 0 TENSOR TENSOR_2 A_B_C TENSOR_3 FILE_2 H \
        TENSORS_2 PACKED PAIR DEEP SHA256_2 NONE";
    let identifiers: Vec<&str> = identifiers.split(' ').collect();
    assert_eq!(names(&header, "#define NET_", "_NAME "), [&["LONGEST"], &identifiers[..]].concat());
    let module = place.run(["emit", "--lang", "rust", "2-model.st"]).out;
    let constants = names(&module, "pub const ", ": Tensor");
    let mut wanted: Vec<String> =
        identifiers.into_iter().filter(|name| *name != "DEEP").map(str::to_owned).collect();
    (wanted[2], wanted[4], wanted[9]) = ("FC1_WEIGHT_BYTES".into(), "T_0".into(), "FILE".into());
    assert_eq!(constants, wanted);
}

#[test]
fn identifiers_never_clash_with_macros() {
    let place = Place::new();
    let names = ["fc.weight", "fc.weight_shape", "data.bytes", "a.dim7", "a", "m", "model.h"];
    let tensors = names.iter().enumerate().map(|(at, name)| support::tensor(name, at as u64, at as u64 + 1));
    place.put("m", &file(format!("{{{}}}", tensors.collect::<Vec<_>>().join(",")), b"1234567"));
    place.run(["emit", "--at", "0x1000", "-o", "m.h", "m"]).is(0, "", "");
    place.put(
        "main.c",
        b"#include \"m.h\"\n#define ID(id, ...) id,\nenum { M_TENSORS(ID) };\n\
        int main(void) { return M_FC_WEIGHT + 1 != M_FC_WEIGHT_SHAPE_2 || M_DATA_BYTES_2 != 2\n\
        || M_DATA_BYTES != 7 || M_A_DIM7 != 3 || M_A_2 != 4 || M_M != 5 || M_MODEL_H_2 != 6; }\n",
    );
    run_in_c(&place);
}

/// Compiles `main.c` and runs it.
fn run_in_c(place: &Place) {
    if has("gcc") {
        let args = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-o", "main", "main.c"];
        done(Command::new("gcc").args(args).current_dir(place.path(".")));
        done(Command::new(place.path("main")).current_dir(place.path(".")));
    }
}

#[test]
fn many_dimensions_do_not_blow_up_the_header() {
    let place = Place::new();
    let put = |rank: usize, name: &str| {
        place.put("m", &of("", &[(name, "U8", &vec![1; rank], vec![7])]));
    };
    put(10_000, &"n".repeat(20_000));
    let out = place.run(["emit", "m"]).out;
    assert!(out.len() < 500_000 && out.contains("_RANK 10000\n"), "{}", out.len());
    for (rank, dims) in [(8, 8), (9, 0)] {
        put(rank, "a");
        let out = place.run(["emit", "m"]).out;
        assert_eq!(out.matches("#define M_A_DIM").count(), dims, "{out}");
        assert_eq!(out.contains("/* No DIM macros for more than 8 dimensions */"), dims == 0);
        assert!(out.contains(&format!("_SHAPE {{ {} }}", vec!["1"; rank].join(", "))), "{out}");
    }
}

#[test]
fn json_has_the_same_plan() {
    let place = Place::new();
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../firmware/app/models/digits-i8.safetensors");
    let bytes = fs::read(model).expect("a model of the firmware");
    place.put("kws", &bytes);
    let object = place.done(["emit", "--json", "--at", "0x1000", "kws"]).json();
    let index =
        json!({"tensors": 8, "dims": 11, "name_bytes": 72, "bytes": size_of::<IndexStorage<8, 11, 72>>()});
    assert_eq!((&object["plan"]["index"], &object["address"]), (&index, &0x1000.into()));
    assert_eq!(object["tensors"][0]["address"], 0x1000 + 776);
    let (mut sha256, mut crc32) = (Sha256::new(), Crc32::new());
    sha256.update(&bytes);
    crc32.update(&bytes);
    assert_eq!(object["sha256"], json!(hex(&sha256.finish())));
    assert_eq!(object["crc32"], json!(crc32.finish()));
    // Rows and packed elements are counted in whole bytes.
    place.put("m", &of("", &[("p", "F4", &[2, 3, 2], vec![0; 6]), ("s", "F32", &[], vec![0; 4])]));
    let object = place.done(["emit", "--json", "m"]).json();
    assert_eq!(object["plan"]["largest_row"], json!({"bytes": 4, "elements": 6}));
    assert_eq!(object["plan"]["largest_tensor"], json!({"bytes": 6, "elements": 12}));
    assert_eq!(object.get("address"), None);
}

#[test]
fn a_model_without_tensors_compiles_too() {
    let place = Place::new();
    let program = b"#include \"m.h\"\nint main(void) { return M_INDEX_TENSORS + M_REQUEST_COUNT; }\n";
    place.put("m", &file("{}", &[])).put("main.c", program);
    place.done(["emit", "-o", "m.h", "m"]);
    run_in_c(&place);
}

#[test]
fn errors_are_one_sentence() {
    let place = place();
    place.done(["split", "2-model.st", "-o", "parts", "--max-size", "40"]);
    let end = "the model would end past the last address: it has 1216 bytes, at 0xffffffffffffffff";
    for (words, line) in [
        ("-o . 2-model.st", ".: is a directory, not a file"),
        (
            "-o m.py 2-model.st",
            "m.py: unknown suffix: .h (C) or .rs (Rust) needed; use --lang to choose the language",
        ),
        ("--at 0xffffffffffffffff 2-model.st", &format!("safetensors: --at: {end}")),
        ("parts", "parts: is in 2 files, but one is needed; use `safetensors join`"),
    ] {
        place.refuses(&format!("emit {words}"), 2, line);
    }
    let json = place.run(["emit", "--json", "-o", "m.rs", "2-model.st"]).out;
    assert!(json.contains("wrong suffix: --json writes a .json file"), "{json}");
    assert!(!place.path("m.py").exists() && !place.path("m.rs").exists());
    for (words, code) in [
        ("-o m.py --lang c", 0),
        ("-o m.HPP", 0),
        ("-o m", 0),
        ("-o m.json --json", 0),
        ("--prefix 1x", 2),
        ("--lang go", 2),
        ("--json --lang c", 2),
    ] {
        assert_eq!(place.run(format!("emit 2-model.st {words}").split(' ')).code, Some(code), "{words}");
    }
}

#[test]
fn standard_input_is_read_and_standard_output_written() {
    let place = Place::new();
    let run = place.run_piped(["emit", "--lang", "rust", "-"], &sound());
    assert!(run.code == Some(0) && run.out.contains("pub const B: Tensor"), "{run:?}");
    assert!(run.out.contains("pub const SHA256: [u8; 32] = ["), "{run:?}");
    let run = place.run_piped(["emit", "-o", "-", "-"], &sound());
    assert!(run.code == Some(0) && run.out.contains("#define MODEL_B_BYTES 3"), "{run:?}");
}
