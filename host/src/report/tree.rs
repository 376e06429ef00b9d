//! The tensors as a tree that can be unfolded, with their statistics.

use crate::print::tree::{Branch, Tree};
use crate::report::Palette;
use crate::report::template::{fill, label};
use crate::tensor::stats::{Row, Spread};
use crate::text::{counted, grouped, human, share_of, short};
use std::collections::HashMap;

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
        html += &match branch.tensor.and_then(|tensor| by_name.get(tensor.name())) {
            Some(row) => leaf(&branch, row, palette),
            None => {
                open.push(branch.depth);
                let unfolded = if rows.len() <= FEW || branch.depth == 0 { " open" } else { "" };
                let (tensors, size) = (counted(branch.tensors.unwrap_or(0), "tensor"), human(branch.bytes));
                let parameters = counted(branch.parameters, "parameter");
                let name = label(&branch.name);
                fill("group of tensors", &[&unfolded, &name, &tensors, &parameters, &size])
            }
        };
    }
    html + &"</details>".repeat(open.len())
}

fn leaf(branch: &Branch<'_, '_>, Row { tensor, part, spread, .. }: &Row<'_>, palette: &Palette) -> String {
    let shape: Vec<String> = tensor.dims().iter().take(DIMS).map(|dim| grouped(*dim)).collect();
    let more = if tensor.dims().len() > DIMS { " × …" } else { "" };
    let shape = if shape.is_empty() { "scalar".to_owned() } else { shape.join(" × ") + more };
    let class = palette.class(tensor.dtype());
    let histogram = spread.as_ref().map(|spread| fill("histogram", &[&class, &steps(spread)]));
    let statistics = match (part.min, part.max) {
        (Some(min), Some(max)) => {
            let (mean, deviation) = (short(part.moments.mean()), short(part.moments.deviation));
            let zeros = share_of(part.zeros, part.values);
            format!("{min} to {max}, mean {mean}, std {deviation}, zeros {zeros}")
        }
        _ if part.values == 0 => "no values".to_owned(),
        _ => "no finite values".to_owned(),
    };
    let odd =
        [(part.nan, "NaN"), (part.infinities(), "infinite")].into_iter().filter(|(count, _)| *count > 0);
    let odd: String = odd.map(|(count, what)| fill("odd", &[&grouped(count), &what])).collect();
    let (name, last, size) = (tensor.name(), label(&branch.name), human(branch.bytes));
    let histogram = histogram.unwrap_or_else(|| "<svg></svg>".to_owned());
    fill("tensor", &[&name, &last, &tensor.dtype(), &shape, &size, &histogram, &statistics, &odd])
}

/// The steps of the histogram, whose height is 22.
fn steps(spread: &Spread) -> String {
    let most = u128::from(spread.bars.iter().max().copied().unwrap_or(1).max(1));
    let step = |count: &u64| 22 - u128::from(*count) * 20 / most - u128::from(*count > 0);
    spread.bars.iter().map(|count| format!("V{}h1", step(count))).collect()
}
