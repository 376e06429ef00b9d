//! Measures the job done in C, through the C API: the programs of `firmware/measure/c`. Their names, and
//! those of their figures, begin with `c.`.

use super::SMALL;
use super::job::{Bench, Params, STREAM, TENSORS, TOGETHER, WINDOWS};
use super::model::{self, Content};
use super::sheet::Sheet;
use crate::c::Compiler;
use crate::toolchain::Toolchain;
use crate::workspace;
use std::path::PathBuf;

/// What the names of these programs begin with.
pub const PREFIX: &str = "c.";

const OPENED: &str = "c.opened";
const EMBEDDED: &str = "c.embedded";
/// Programs that do one more thing than another: their names, and the other's.
const MORE: [(&str, &str); 4] =
    [("c.error_code", OPENED), ("c.error_sentence", OPENED), (EMBEDDED, OPENED), (FLOATS, "c.together")];
const FLOATS: &str = "c.floats";
const LISTED: &str = "c.listed";
const RECORDER: &str = "c.recorder";
const RECEIVER: &str = "c.receiver";
const OTHERS: [&str; 4] = ["c.empty", "c.stream", LISTED, RECORDER];

/// The bytes of a storage, a model and an error.
const OPEN: usize = 24 + 64 + 64;
/// With a request and a tensor.
const OBJECTS: usize = OPEN + 80 + 128;
/// The programs whose calls have a limit of their own, and the bytes of their objects and arrays.
const CALLS: [(&str, usize); 4] = [
    (FLOATS, OBJECTS + 16 * 4),
    (EMBEDDED, OPEN),
    (LISTED, OPEN + 64),
    // A sink, memory for a tensor and a pair, a buffer, a recorder and an error.
    (RECORDER, 32 + 40 + 64 + 208 + 64),
];

/// The files of every program.
const FRAME: [&str; 2] = ["frame", "card"];

/// Installs the compilers for these targets.
pub fn need(triples: &[&str]) -> Result<(), String> {
    triples.iter().try_for_each(|triple| Compiler::of(triple)?.need())
}

/// Returns the path of a program, by its name without the prefix.
pub fn program(toolchain: Toolchain, name: &str) -> PathBuf {
    workspace::target_dir().join("measure-c").join(toolchain.triple).join(name)
}

/// Builds all programs of a target; the library must be built.
fn build(bench: Bench) -> Result<(), String> {
    let (compiler, source) =
        (Compiler::of(bench.toolchain.triple)?, workspace::root().join("firmware/measure/c"));
    let machine = bench.target.board.linker_script;
    let path = format!("-L{}", workspace::root().join("firmware/board/machine").display());
    let options = ["-nostartfiles", &path, "-Tno-statics.x", "-T", machine];
    let names = MORE.iter().map(|(name, _)| name).chain(&OTHERS).chain([&"c.together", &OPENED, &RECEIVER]);
    for name in names.filter_map(|name| name.strip_prefix(PREFIX)) {
        let files = FRAME.into_iter().chain([name]).map(|name| source.join(name).with_extension("c"));
        compiler.link(bench.toolchain, files, &options, &program(bench.toolchain, name))?;
    }
    Ok(())
}

/// Measures one target, at the only level of the library.
pub fn measure(bench: Bench, sheet: &mut Sheet) -> Result<(), String> {
    if bench.level != SMALL {
        return Ok(());
    }
    build(bench)?;
    let [stream, together] = [STREAM, TOGETHER].map(|name| format!("{PREFIX}{name}"));
    bench.frame(&format!("{PREFIX}empty"))?;
    bench.images(sheet, &[&stream, &together, OPENED, RECEIVER])?;
    bench.headers(sheet, &stream, &together)?;
    bench.memory(sheet, &stream, TENSORS)?;
    bench.memory(sheet, &together, TENSORS)?;
    for name in [STREAM, TOGETHER] {
        for figure in ["flash", "ram.100"] {
            let [c, rust] =
                [format!("{PREFIX}{name}.{figure}"), format!("{name}.{figure}")].map(|name| sheet.get(&name));
            sheet.set(format!("{PREFIX}{name}.above.{figure}"), c? - rust?);
        }
    }
    let call = sheet.get("c.together.ram.100")? - (WINDOWS[0] + OBJECTS) as f64;
    sheet.set("c.together.call", call);
    for (name, without) in MORE {
        sheet.set(format!("{name}.flash"), bench.flash(name)? - bench.flash(without)?);
    }
    stacks(bench, sheet)
}

/// Measures the stack of the programs that have no limit of their RAM, with the objects on it.
fn stacks(bench: Bench, sheet: &mut Sheet) -> Result<(), String> {
    let [window, _] = WINDOWS;
    let header = model::make(Content { long: Some((TENSORS / 2, 128)), ..Content::small(TENSORS) });
    for name in [OPENED, FLOATS, RECEIVER, RECORDER] {
        let figures = bench.run(name, &header, &Params::window(window))?;
        figures.has_done(if name == OPENED { header.file.len() } else { 128 })?;
        sheet.set(format!("{name}.stack"), figures.get("stack")? as f64);
    }
    let file = model::with_sum();
    let figures = bench.run(EMBEDDED, &file, &Params::window(window))?;
    figures.has_done(file.file.len())?;
    sheet.set(format!("{EMBEDDED}.stack"), figures.get("stack")? as f64);
    let figures = bench.run(LISTED, &header, &Params::window(window))?;
    figures.has_done(header.file.len() - header.header_len)?;
    sheet.set(format!("{LISTED}.stack"), figures.get("stack")? as f64);
    for (name, objects) in CALLS {
        let stack = sheet.get(&format!("{name}.stack"))?;
        sheet.set(format!("{name}.call"), stack - objects as f64);
    }
    let bad = model::damaged(&header)?;
    for name in ["c.error_code", "c.error_sentence"] {
        let figures = bench.run(name, &bad, &Params::window(window))?;
        if figures.get("done")? != u64::from(u32::MAX) {
            return Err(format!(
                "{name}: a model whose first tensor's shape does not match its bytes was opened"
            ));
        }
        sheet.set(format!("{name}.stack"), figures.get("stack")? as f64);
    }
    Ok(())
}
