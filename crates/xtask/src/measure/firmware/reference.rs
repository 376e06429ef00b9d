//! Measures the reference doing the same job.

use super::job::{Bench, FEW, MANY, Params, REFERENCE, TENSORS};
use super::model::{self, Content, Spelling};
use super::sheet::Sheet;

/// More heap than the reference needs for the measured headers, except for the one that is too long.
const ROOMY: usize = 2 << 20;
/// The RAM of many microcontrollers.
pub const RAM: usize = 64 << 10;
/// A number of tensors that certainly fits into this RAM, and one that does not.
const FITS: usize = 1;
const TOO_MANY: usize = 1024;
/// The most instructions of a lookup for each byte of a header.
const MOST_TO_FIND: f64 = 1.0;
/// How the program ends if it gets no memory: it panics.
const OUT_OF_MEMORY: &str = "exit code 101";

/// Measures the job and, on request, how many tensors the reference can open.
pub fn measure(bench: Bench, sheet: &mut Sheet, finds_limit: bool) -> Result<(), String> {
    for tensors in [FEW, TENSORS, 10 * TENSORS] {
        job(bench, sheet, Content::of(tensors))?;
    }
    for spelling in [Spelling::Spaced, Spelling::NonCanonical] {
        job(bench, sheet, Content { spelling, ..Content::of(TENSORS) })?;
    }
    check_lookups(sheet)?;
    if finds_limit {
        check_many_fail(bench)?;
        find_most_tensors(bench, sheet)?;
    }
    Ok(())
}

/// Checks the bound that the readme states: the cost of a lookup varies with the address of the map.
fn check_lookups(sheet: &Sheet) -> Result<(), String> {
    for spelling in Spelling::ALL {
        let figure = format!("reference.find.{}.{TENSORS}", spelling.name());
        let each = sheet.get(&figure)?;
        if each >= MOST_TO_FIND {
            return Err(format!(
                "{figure}: {each} instructions per byte, fewer than {MOST_TO_FIND} expected"
            ));
        }
    }
    Ok(())
}

fn job(bench: Bench, sheet: &mut Sheet, content: Content) -> Result<(), String> {
    let model = model::make(content);
    let figures = bench.run(REFERENCE, &model, &Params::heap(ROOMY).and_count())?;
    figures.has_done(128)?;
    let mut set = |name: &str, value: f64| {
        sheet.set(format!("reference.{name}.{}.{}", content.spelling.name(), content.tensors), value);
    };
    let [stack, heap, allocations] =
        ["stack", "heap", "allocations"].map(|name| figures.get(name).map(|value| value as f64));
    let (stack, heap) = (stack?, heap?);
    set("stack", stack);
    set("heap", heap);
    set("allocations", allocations?);
    let [open, find, all] = bench.steps(&figures)?.map(|count| count / model.header_len as f64);
    set("open", open);
    set("find", (find - open) / figures.get("lookups")? as f64);
    set("job", all);
    let ram = sheet.get("reference.static")? + stack + heap;
    sheet.set(format!("reference.ram.{}.{}", content.spelling.name(), content.tensors), ram);
    Ok(())
}

/// Finds how many tensors a header may have so that the reference opens it in 64 KiB of RAM, with a heap of
/// all that its statics and its stack leave.
fn find_most_tensors(bench: Bench, sheet: &mut Sheet) -> Result<(), String> {
    let statics = sheet.get("reference.static")?;
    let (mut fits, mut too_many) = (FITS, TOO_MANY);
    while too_many - fits > 1 {
        let middle = fits.midpoint(too_many);
        if opens(bench, middle, statics)? { fits = middle } else { too_many = middle }
    }
    sheet.set("reference.most_tensors", fits as f64);
    Ok(())
}

fn opens(bench: Bench, tensors: usize, statics: f64) -> Result<bool, String> {
    let model = model::make(Content::of(tensors));
    let stack = bench.run(REFERENCE, &model, &Params::heap(ROOMY))?.get("stack")?;
    let left = (0..RAM / 8)
        .rev()
        .map(|words| words * 8)
        .find(|heap| *heap as f64 + statics + stack as f64 <= RAM as f64);
    fits(bench, &model, left.unwrap_or(0))
}

/// Checks that the reference cannot open a header of very many tensors.
fn check_many_fail(bench: Bench) -> Result<(), String> {
    match fits(bench, &model::make(Content::small(MANY)), ROOMY)? {
        false => Ok(()),
        true => Err(format!("the reference opens a header of {MANY} tensors with a heap of {ROOMY} B")),
    }
}

/// Whether the reference does the job with a heap of this size.
fn fits(bench: Bench, model: &model::Model, heap: usize) -> Result<bool, String> {
    match bench.run(REFERENCE, model, &Params::heap(heap)) {
        Ok(figures) => figures.has_done(128).map(|()| true),
        Err(output) if output.contains(OUT_OF_MEMORY) => Ok(false),
        Err(output) => Err(output),
    }
}
