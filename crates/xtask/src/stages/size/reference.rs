//! What the reference takes for the same job.

use super::measure::{Bench, FEW, Lent, REFERENCE, TENSORS, found};
use super::model::{self, Content};
use super::sheet::Sheet;

/// More than it needs for the headers that are measured.
const ROOMY: usize = 2 << 20;
/// The RAM of many a microcontroller.
pub const RAM: usize = 64 << 10;
/// A header of so many tensors certainly fits into it, and one of so many does not.
const FITS: usize = 1;
const TOO_MANY: usize = 1024;

pub fn measure(bench: Bench, sheet: &mut Sheet) -> Result<(), String> {
    for tensors in [FEW, TENSORS, 10 * TENSORS] {
        let model = model::make(Content::of(tensors));
        let figures = bench.run(REFERENCE, &model, Lent { window: 0, heap: ROOMY })?;
        found(&figures, 128)?;
        let [stack, heap, allocations] =
            ["stack", "heap", "allocations"].map(|name| figures.get(name).map(|value| value as f64));
        let (stack, heap) = (stack?, heap?);
        sheet.set(format!("reference.stack.{tensors}"), stack);
        sheet.set(format!("reference.heap.{tensors}"), heap);
        sheet.set(format!("reference.allocations.{tensors}"), allocations?);
        sheet.set(format!("reference.ram.{tensors}"), sheet.get("reference.static")? + stack + heap);
        let [open, _, read] = bench.steps(&figures)?.map(|count| count / model.header_len as f64);
        sheet.set(format!("reference.open.{tensors}"), open);
        sheet.set(format!("reference.job.{tensors}"), read);
    }
    Ok(())
}

/// How many tensors a header may have that it opens in 64 KiB of RAM, when its heap is given all that its statics and its stack
/// leave.
pub fn most_tensors(bench: Bench, sheet: &mut Sheet) -> Result<(), String> {
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
    let stack = bench.run(REFERENCE, &model, Lent { window: 0, heap: ROOMY })?.get("stack")?;
    let left = (0..RAM / 8)
        .rev()
        .map(|words| words * 8)
        .find(|heap| *heap as f64 + statics + stack as f64 <= RAM as f64);
    let heap = left.unwrap_or(0);
    Ok(bench
        .run(REFERENCE, &model, Lent { window: 0, heap })
        .is_ok_and(|figures| found(&figures, 128).is_ok()))
}
