//! The tensors as a tree that can be unfolded, with their statistics.

use crate::print::tree::{Branch, Tree};
use crate::report::Palette;
use crate::report::escape::{escaped, label};
use crate::tensor::stats::{Row, Spread};
use crate::text::share_of;
use crate::text::{counted, grouped, human, short};
use std::collections::HashMap;
use std::fmt::Write;

/// With more tensors, only the first level is unfolded.
const FEW: usize = 200;
/// Longer shapes are cut.
const DIMS: usize = 16;

/// The tree of all tensors.
pub fn tree(rows: &[Row<'_>], palette: &Palette) -> String {
    let tensors: Vec<_> = rows.iter().map(|row| row.tensor).collect();
    let by_name: HashMap<&str, &Row<'_>> = rows.iter().map(|row| (row.tensor.name(), row)).collect();
    let (tree, mut html, mut open) = (Tree::of(&tensors), String::new(), Vec::new());
    for branch in tree.branches() {
        while open.last().is_some_and(|depth| *depth >= branch.depth) {
            open.pop();
            html += "</details>";
        }
        match branch.tensor.and_then(|tensor| by_name.get(tensor.name())) {
            Some(row) => leaf(&mut html, &branch, row, palette),
            None => {
                let unfolded = if rows.len() <= FEW || branch.depth == 0 { " open" } else { "" };
                let (name, tensors) = (label(&branch.name), counted(branch.tensors, "tensor"));
                let (parameters, size) = (counted(branch.parameters, "parameter"), human(branch.bytes));
                let _ = write!(
                    html,
                    "<details{unfolded}><summary><span class=n>{name}</span> \
                     <span class=dim>{tensors}, {parameters}, {size}</span></summary>"
                );
                open.push(branch.depth);
            }
        }
    }
    html + &"</details>".repeat(open.len())
}

fn leaf(html: &mut String, branch: &Branch<'_, '_>, row: &Row<'_>, palette: &Palette) {
    let (tensor, part) = (&row.tensor, &row.part);
    let (title, name, dtype) = (escaped(tensor.name()), label(&branch.name), tensor.dtype());
    let shape: Vec<String> = tensor.dims().iter().take(DIMS).map(|dim| grouped(*dim)).collect();
    let more = if tensor.dims().len() > DIMS { " × …" } else { "" };
    let shape = if shape.is_empty() { "scalar".to_owned() } else { shape.join(" × ") + more };
    let _ = write!(
        html,
        "<div class=t title=\"{title}\"><div class=n>{name}</div><div class=d>{dtype} · {shape}</div>\
         <div class=b>{}</div>",
        human(branch.bytes)
    );
    *html +=
        &row.spread.as_ref().map_or("<svg></svg>".into(), |spread| bars(spread, palette, row));
    *html += "<div class=v>";
    if let (Some(least), Some(largest)) = (part.min, part.max) {
        let (mean, deviation) = (short(part.moments.mean()), short(part.moments.deviation()));
        let range = format!("{least} to {largest}");
        let _ = write!(
            html,
            "{range}, mean {mean}, std {deviation}, zeros {}",
            share_of(part.zeros, part.values)
        );
    } else {
        *html += if part.values == 0 { "no values" } else { "no finite values" };
    }
    for (count, what) in [(part.nan, "NaN"), (part.infinities(), "infinite")] {
        if count > 0 {
            let _ = write!(html, ", <b>{} {what}</b>", grouped(count));
        }
    }
    *html += "</div></div>";
}

/// The histogram as one path of steps.
fn bars(spread: &Spread, palette: &Palette, row: &Row<'_>) -> String {
    let most = spread.bars.iter().max().copied().unwrap_or(1).max(1);
    let height = |count: u64| u128::from(count) * 20 / u128::from(most) + u128::from(count > 0);
    let (mut path, mut last) = (String::from("M0 22"), 0);
    for count in spread.bars {
        let next = i64::try_from(height(count)).unwrap_or(0);
        let _ = match next - last {
            0 => write!(path, "h1"),
            step => write!(path, "v{}h1", -step),
        };
        last = next;
    }
    let class = palette.class(row.tensor.dtype());
    format!("<svg class={class} viewBox=\"0 0 24 22\" preserveAspectRatio=none><path d=\"{path}V22\"/></svg>")
}
