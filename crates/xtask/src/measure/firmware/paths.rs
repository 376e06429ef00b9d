//! The paths of the library, each a program of `firmware/measure`: its flash, its stack and its
//! instructions on some files.

use super::job::{Bench, Params};
use super::model::{self, Content, Model, Spelling};
use super::sheet::Sheet;
use crate::elf::Elf;
use crate::measure::firmware::{Figures, SMALL};

/// The paths that read only a header, with their public names. The check for duplicates returns yes; the
/// others count tensors.
const HEADERS: [(&str, &str); 5] = [
    ("parser", "HeaderParser"),
    ("check", "Validator"),
    ("duplicates", "DuplicateFinder"),
    ("entries", "Entries"),
    ("view", "View"),
];

const TENSORS: usize = 1000;
const FEW: usize = 10;
const MANY: usize = 100_000;
/// Slots for this many tensors out of order, and for this many names.
const SLOTS: usize = 64;

/// A sector of a card. Programs have it on their stack: first the header's window, then the data's buffer.
const BLOCK: usize = 512;
/// The number of bytes streamed.
const STREAMED: usize = 1 << 20;

/// The matrix that is read as `f32`: its rows, the values of a row, and the bytes of a row.
const ROWS: usize = 512;
const ROW: usize = 64;
const ROW_LEN: usize = 4 * ROW;
const DTYPES: [(&str, usize); 4] = [("F32", 4), ("F16", 2), ("BF16", 2), ("I8", 1)];

/// Quantised matrices with rows of as many values: the name of each, its weights with the size of a row,
/// and its scales with their shape and the bytes of a row.
type Quantised = (&'static str, (&'static str, usize), (&'static str, &'static str, &'static [u8]));
const QUANTISED: [Quantised; 3] = [
    ("Q8", ("I8", ROW), ("F16", "[ROWS]", &[0x12, 0x21])),
    ("Q4", ("U8", ROW / 2), ("F16", "[ROWS,2]", &[0x12, 0x21, 0x34, 0x22])),
    ("MXFP4", ("F4", ROW), ("F8_E8M0", "[ROWS,2]", &[120, 121])),
];

/// The types that callers keep, as the program `sizes` names them.
const SIZES: [&str; 13] = [
    "parser",
    "check",
    "duplicates",
    "entries",
    "slot",
    "wanted",
    "encoder",
    "writer",
    "recorder",
    "plan",
    "crc32",
    "sha256",
    "verifier",
];

/// The programs that compute a sum of a file.
const SUMS: [(&str, &str); 3] = [
    ("crc32", "Model: CRC-32 of 64 KiB"),
    ("sha256", "Model: SHA-256 of 64 KiB"),
    ("embedded", "Model: the embedded sum of 64 KiB"),
];
/// The program that only opens the file.
const OPENED: &str = "opened";

pub fn measure(bench: Bench, sheet: &mut Sheet) -> Result<(), String> {
    flash(bench, sheet)?;
    sizes(bench, sheet)?;
    for (program, name) in HEADERS {
        headers(bench, sheet, program, name)?;
    }
    network(bench, sheet)?;
    sums(bench, sheet)?;
    for (dtype, width) in DTYPES {
        matrix(bench, sheet, dtype, width)?;
    }
    for quantised in &QUANTISED {
        quantised_matrix(bench, sheet, quantised)?;
    }
    let [network, rows] = [sheet.get("network.stack")?, sheet.get("rows.stack")? - ROW_LEN as f64];
    sheet.set("model.stack", network.max(rows) - BLOCK as f64);
    for (program, name) in [("write", "Writer::new"), ("record", "Writer::record")] {
        let (file, expected) = model::described();
        take(bench, sheet, program, &file, 0, expected, &[("all", &format!("{name}: a file"))])?;
    }
    Ok(())
}

/// Sets the flash of each program above one that does nothing, without the descriptions of the files that
/// it writes.
fn flash(bench: Bench, sheet: &mut Sheet) -> Result<(), String> {
    let others = ["network", "rows", "slice", "quantised", "products", "write", "record"].into_iter();
    for program in HEADERS.into_iter().map(|(program, _)| program).chain(others) {
        let description = Elf::open(&bench.program(program))?.symbols_with(&["7measure11description"])?.bytes;
        sheet.set(format!("{program}.flash"), bench.flash(program)? - description as f64);
    }
    sheet.set("expected.flash", bench.flash("expected")? - bench.flash("network")?);
    for program in ["error_code", "error_debug", "error_display"] {
        sheet.set(format!("{program}.flash"), bench.flash(program)? - bench.flash("error_silent")?);
    }
    Ok(())
}

fn sizes(bench: Bench, sheet: &mut Sheet) -> Result<(), String> {
    let figures = bench.run("sizes", &model::make(Content::of(1)), &Params::default())?;
    for name in SIZES {
        sheet.set(format!("size.{name}"), figures.get(name)? as f64);
    }
    Ok(())
}

fn headers(bench: Bench, sheet: &mut Sheet, program: &str, name: &str) -> Result<(), String> {
    let expected = |tensors: usize| if program == "duplicates" { 1 } else { tensors };
    let mut judge = |content: Content, counts: &[(&'static str, &str)]| {
        take(bench, sheet, program, &model::make(content), SLOTS, expected(content.tensors), counts).map(drop)
    };
    judge(Content::small(FEW), &[])?;
    judge(Content::small(TENSORS), &[("all", &format!("{name}, {TENSORS} tensors, canonical"))])?;
    let spaced = Content { spelling: Spelling::Spaced, ..Content::small(TENSORS) };
    judge(spaced, &[("all", &format!("{name}, {TENSORS} tensors, spaced"))])?;
    if program == "check" {
        judge(Content { reversed: true, ..Content::small(FEW) }, &[])?;
        judge(Content { reversed: true, ..Content::small(TENSORS) }, &[])?;
    }
    Ok(())
}

/// Measures opening, finding 12 tensors and streaming the first of them, for any number of tensors and for
/// a bad file.
fn network(bench: Bench, sheet: &mut Sheet) -> Result<(), String> {
    let content = |tensors| Content { long: Some((0, STREAMED)), ..Content::small(tensors) };
    let judge = |sheet: &mut Sheet, tensors, counts: &[(&'static str, &str)]| {
        let model = model::make(content(tensors));
        let figures = take(bench, sheet, "network", &model, 0, STREAMED, counts)?;
        reads_once(&figures, &model)
    };
    judge(sheet, FEW, &[])?;
    let counts = ["open", "open, find 12", "open, find 12, stream 1 MiB"]
        .map(|what| format!("Model: {what} of {TENSORS}"));
    let [open, find, all] = counts.each_ref();
    judge(sheet, TENSORS, &[("open", open), ("find", find), ("all", all)])?;
    if bench.level == SMALL {
        judge(sheet, MANY, &[])?;
    }
    let expected = bench.run("expected", &model::make(content(TENSORS)), &Params::default())?;
    if expected.get("done")? != STREAMED as u64 {
        return Err("a model whose tensors are as requested was not read".to_owned());
    }
    let other = Content { len: 256, ..content(TENSORS) };
    if bench.run("expected", &model::make(other), &Params::default())?.get("done")? != u64::from(u32::MAX) {
        return Err("tensors of another shape than requested were read".to_owned());
    }
    let bad = model::damaged(&model::make(content(FEW)))?;
    let figures = bench.run("network", &bad, &Params::default())?;
    if figures.get("done")? != u64::from(u32::MAX) {
        return Err("a model whose first tensor's shape does not match its bytes was opened".to_owned());
    }
    let more = figures.get("stack")? as f64 - sheet.get("network.stack")?;
    sheet.set("network.for_error", more.max(0.0));
    Ok(())
}

/// Checks that opening reads the header once, finding reads it again, and streaming reads the tensor once,
/// block by block.
fn reads_once(figures: &Figures, model: &Model) -> Result<(), String> {
    let expected =
        [2 * model.header_len + STREAMED, 2 * model.header_len.div_ceil(BLOCK) + STREAMED.div_ceil(BLOCK)];
    let read = [figures.get("bytes")?, figures.get("calls")?];
    match read == expected.map(|number| number as u64) {
        true => Ok(()),
        false => Err(format!("a model was read with {read:?} bytes and calls, not {expected:?}")),
    }
}

/// Measures the sums of a file: instructions for each of its bytes, the reads included; flash above that of
/// opening it; stack.
fn sums(bench: Bench, sheet: &mut Sheet) -> Result<(), String> {
    let model = model::with_sum();
    let params = Params { steps: vec!["open", "all"], ..Params::window(BLOCK) };
    for (program, name) in SUMS {
        let figures = bench.run(program, &model, &params)?;
        figures.has_done(model.file.len())?;
        let [open, all] = ["open", "all"].map(|step| bench.instructions(&figures, step));
        sheet.set(format!("{program}.byte"), (all? - open?) / model.file.len() as f64);
        sheet.set(format!("{program}.stack"), figures.get("stack")? as f64);
        sheet.set(format!("{program}.flash"), bench.flash(program)? - bench.flash(OPENED)?);
        sheet.count(name.to_owned(), bench.target.board.instructions(figures.get("all")?));
    }
    Ok(())
}

/// Measures reading a matrix as `f32`, row by row and in part.
fn matrix(bench: Bench, sheet: &mut Sheet, dtype: &str, width: usize) -> Result<(), String> {
    let model = model::matrix(dtype, width, [ROWS, ROW]);
    for (program, what, values) in [("rows", "rows", ROWS * ROW), ("slice", "a slice", ROWS * ROW / 4)] {
        let name = format!("Model: {what} of {dtype} as f32");
        let figures = take(bench, sheet, program, &model, 0, values, &[("find", ""), ("all", &name)])?;
        let [find, all] = ["find", "all"].map(|step| bench.instructions(&figures, step));
        sheet.set(format!("{program}.value.{dtype}"), ((all? - find?) / values as f64).ceil());
    }
    Ok(())
}

/// Measures reading a quantised matrix as `f32`, row by row, and multiplying its rows by a vector of
/// integers.
fn quantised_matrix(bench: Bench, sheet: &mut Sheet, quantised: &Quantised) -> Result<(), String> {
    let (layout, weights, scales) = *quantised;
    let model = model::quantised(weights, scales, ROWS);
    for (program, what) in [("quantised", "rows"), ("products", "products of rows")] {
        let name = format!("Model: {what} of {layout}");
        let figures = take(bench, sheet, program, &model, 0, ROWS * ROW, &[("find", ""), ("all", &name)])?;
        let [find, all] = ["find", "all"].map(|step| bench.instructions(&figures, step));
        sheet.set(format!("{program}.value.{layout}"), ((all? - find?) / (ROWS * ROW) as f64).ceil());
    }
    Ok(())
}

/// Runs a program on a file, and records its stack and the instructions up to the named steps.
fn take(
    bench: Bench,
    sheet: &mut Sheet,
    program: &str,
    model: &Model,
    memory: usize,
    expected: usize,
    counts: &[(&'static str, &str)],
) -> Result<Figures, String> {
    let steps = counts.iter().map(|(step, _)| *step).collect();
    let figures = bench.run(program, model, &Params { memory, steps, ..Params::default() })?;
    figures.has_done(expected)?;
    sheet.set_largest(&format!("{program}.stack"), figures.get("stack")? as f64);
    for (step, name) in counts.iter().filter(|(_, name)| !name.is_empty()) {
        sheet.count((*name).to_owned(), bench.target.board.instructions(figures.get(step)?));
    }
    Ok(figures)
}
