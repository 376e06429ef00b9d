//! What the reference takes for the same job.

use super::job::{Bench, FEW, Lent, MANY, REFERENCE, TENSORS};
use super::model::{self, Content, Spelling};
use super::sheet::Sheet;

/// More than it needs for the headers that are measured, but for the one that is too long.
const ROOMY: usize = 2 << 20;
/// The RAM of many a microcontroller.
pub const RAM: usize = 64 << 10;
/// A header of so many tensors certainly fits into it, and one of so many does not.
const FITS: usize = 1;
const TOO_MANY: usize = 1024;
/// Instructions for a byte of a header.
const MOST_TO_FIND: f64 = 1.0;
/// How the program ends that gets no memory: it panics.
const REFUSED: &str = "exit code 101";

/// And, if asked for, how many tensors are too many for it.
pub fn measure(bench: Bench, sheet: &mut Sheet, finds_limit: bool) -> Result<(), String> {
    for tensors in [FEW, TENSORS, 10 * TENSORS] {
        job(bench, sheet, Content::of(tensors))?;
    }
    for spelling in [Spelling::Spaced, Spelling::Foreign] {
        job(bench, sheet, Content { spelling, ..Content::of(TENSORS) })?;
    }
    finds_at_once(sheet)?;
    if finds_limit {
        refuses_many(bench)?;
        most_tensors(bench, sheet)?;
    }
    Ok(())
}

/// The bound that the readme gives: a lookup varies with the address of the map.
fn finds_at_once(sheet: &Sheet) -> Result<(), String> {
    for spelling in Spelling::ALL {
        let figure = format!("reference.find.{}.{TENSORS}", spelling.name());
        let each = sheet.get(&figure)?;
        if each >= MOST_TO_FIND {
            return Err(format!("{figure}: {each} instructions for a byte, not below {MOST_TO_FIND}"));
        }
    }
    Ok(())
}

fn job(bench: Bench, sheet: &mut Sheet, content: Content) -> Result<(), String> {
    let model = model::make(content);
    let figures = bench.run(REFERENCE, &model, &Lent::heap(ROOMY).and_count())?;
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

/// How many tensors a header may have that it opens in 64 KiB of RAM, when its heap is given all that its statics and its stack
/// leave.
fn most_tensors(bench: Bench, sheet: &mut Sheet) -> Result<(), String> {
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
    let stack = bench.run(REFERENCE, &model, &Lent::heap(ROOMY))?.get("stack")?;
    let left = (0..RAM / 8)
        .rev()
        .map(|words| words * 8)
        .find(|heap| *heap as f64 + statics + stack as f64 <= RAM as f64);
    fits(bench, &model, left.unwrap_or(0))
}

/// That it does not open the header of so many tensors at all.
fn refuses_many(bench: Bench) -> Result<(), String> {
    match fits(bench, &model::make(Content::small(MANY)), ROOMY)? {
        false => Ok(()),
        true => Err(format!("the reference opens a header of {MANY} tensors with a heap of {ROOMY} B")),
    }
}

/// Whether it does the job with a heap of this length.
fn fits(bench: Bench, model: &model::Model, heap: usize) -> Result<bool, String> {
    match bench.run(REFERENCE, model, &Lent::heap(heap)) {
        Ok(figures) => figures.has_done(128).map(|()| true),
        Err(said) if said.contains(REFUSED) => Ok(false),
        Err(said) => Err(said),
    }
}
