//! `report`: one HTML page about a model, which needs nothing else.

mod map;
mod template;

use crate::error::Error;
use crate::input::model::Model;
use crate::lint::Finding;
use crate::output::file::Product;
use crate::print::facts::Facts;
use crate::print::listing::shape_text;
use crate::print::tree::{Branch, Tree};
use crate::tensor::stats::{Row, Spread};
use crate::text::{counted, grouped, human, share_of, short};
use embedded_safetensors::validate::Summary;
use std::collections::HashMap;
use std::fmt::Display;
use template::{beginning, fill, label};

const STYLE: &str = include_str!("style.css");
/// The page has its hash.
const SCRIPT: &str = include_str!("script.js");

/// The most findings of each code that are listed.
const FINDINGS: usize = 10;
/// The longest key or value of the metadata that is shown whole, in characters, and the most pairs.
const VALUE: usize = 2000;
const PAIRS: usize = 200;
/// With more tensors, only the first level is unfolded.
const FEW: usize = 200;

/// Stands for the tree. No text of a file has this character.
const TREE: &str = "\0";

/// The page about a valid model, part by part: that of many tensors is long.
///
/// # Errors
/// Those of `out`.
pub fn valid(
    name: &str,
    model: &Model,
    rows: &[Row<'_>],
    findings: &[Finding],
    out: &mut Product,
) -> Result<(), Error> {
    let mut facts = Facts::new(&Summary { tensors: 0, data_start: 0, data_len: 0 }, 2);
    for row in rows {
        facts.count(row.tensor.dtype(), row.tensor.elements(), row.tensor.byte_len());
    }
    let files = model.index().map(|_| format!(" in {}", counted(model.parts().len() as u64, "file")));
    let files = files.unwrap_or_default();
    let header: u64 = model.parts().iter().map(|part| part.index().summary().data_start).sum();
    let odd: u64 = rows.iter().map(|row| row.part.nan + row.part.infinities()).sum();
    let (tensors, parameters, odd) = (grouped(rows.len() as u64), grouped(facts.parameters()), grouped(odd));
    let (size, header, maps) = (human(model.file_lens()), human(header), map::maps(model, &facts));
    let (findings, dtypes, metadata) = (lint(findings), dtypes(&facts), metadata(model));
    let facts: [&dyn Display; 6] = [&files, &tensors, &parameters, &size, &header, &odd];
    let page =
        page(name, &fill("valid", &[&facts[..], &[&maps, &findings, &dtypes, &metadata, &TREE]].concat()));
    let (begin, end) = page.split_once(TREE).unwrap_or((&page, ""));
    out.put(begin.as_bytes())?;
    tree(rows, out)?;
    out.put(end.as_bytes())
}

/// The page about an invalid file: what `check` says of it.
pub fn invalid(name: &str, verdict: &str) -> String {
    let (sentence, excerpt) = verdict.split_once('\n').unwrap_or((verdict, ""));
    let lines = excerpt.lines().map(|line| fill("text", &[&line.strip_prefix("    ").unwrap_or(line)]));
    let lines = lines.collect::<Vec<_>>().join("\n");
    let excerpt = if lines.is_empty() { lines } else { fill("excerpt", &[&lines]) };
    page(name, &fill("invalid", &[&sentence, &excerpt]))
}

fn page(name: &str, body: &str) -> String {
    fill("page", &[&name, &STYLE, &name, &body, &env!("CARGO_PKG_VERSION"), &SCRIPT]) + "\n"
}

fn lint(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return fill("no findings", &[]);
    }
    let finding = |finding: &Finding| {
        let file = finding.file.as_ref().map_or(String::new(), |file| format!(" of {file}"));
        let tensor = finding.tensor.as_deref().map(|name| fill("tensor of finding", &[&label(name)]));
        fill("finding", &[&tensor.unwrap_or_default(), &finding.message, &grouped(finding.at), &file])
    };
    let group = |group: &[Finding]| {
        let (code, more) = (group[0].code, group.len().saturating_sub(FINDINGS));
        let mut listed: String = group.iter().take(FINDINGS).map(finding).collect();
        if more > 0 {
            listed += &fill("more findings", &[&grouped(more as u64)]);
        }
        let level = code.level().name();
        fill("group", &[&level, &level, &code.name(), &listed, &commands(code.advice())])
    };
    let groups = findings.chunk_by(|one, other| one.code == other.code).map(group);
    fill("findings", &[&groups.collect::<String>()])
}

/// A sentence with commands between backticks. Browsers would break an option after a hyphen.
fn commands(text: &str) -> String {
    let word = |word: &str| fill(if word.starts_with('-') { "option" } else { "text" }, &[&word]);
    let mark = |(at, part): (usize, &str)| match at % 2 {
        0 => fill("text", &[&part]),
        _ => fill("command", &[&part.split(' ').map(word).collect::<Vec<_>>().join(" ")]),
    };
    text.split('`').enumerate().map(mark).collect()
}

fn dtypes(facts: &Facts) -> String {
    let all: u128 = facts.by_dtype.iter().map(|of| of.bytes).sum();
    let rows = facts.by_dtype.iter().map(|of| {
        let (tensors, elements, size) = (grouped(of.tensors), grouped(of.elements), human(of.bytes));
        let share = share_of(of.bytes, all);
        fill("dtype", &[&of.dtype, &of.dtype, &tensors, &elements, &size, &share])
    });
    fill("dtypes", &[&rows.collect::<String>()])
}

fn metadata(model: &Model) -> String {
    let Some(pairs) = model.metadata().filter(|all| !all.is_empty()) else { return fill("no metadata", &[]) };
    let shown = pairs.iter().take(PAIRS);
    let shown = shown.map(|(key, value)| fill("pair", &[&beginning(key, VALUE), &beginning(value, VALUE)]));
    let table = fill("metadata", &[&shown.collect::<String>()]);
    match pairs.len().saturating_sub(PAIRS) as u64 {
        0 => table,
        more => table + &fill("more pairs", &[&grouped(more)]),
    }
}

/// The tree of all tensors.
fn tree(rows: &[Row<'_>], out: &mut Product) -> Result<(), Error> {
    let tensors: Vec<_> = rows.iter().map(|row| row.tensor).collect();
    let by_name: HashMap<&str, &Row<'_>> = rows.iter().map(|row| (row.tensor.name(), row)).collect();
    let (tree, mut open) = (Tree::of(&tensors), Vec::new());
    for branch in tree.branches() {
        while open.pop_if(|depth| *depth >= branch.depth).is_some() {
            out.put(b"</details>")?;
        }
        if let Some(row) = branch.tensor.and_then(|tensor| by_name.get(tensor.name())) {
            out.put(leaf(&branch, row).as_bytes())?;
            continue;
        }
        open.push(branch.depth);
        let unfolded = if rows.len() <= FEW || branch.depth == 0 { " open" } else { "" };
        let (tensors, size) = (counted(branch.tensors.unwrap_or(0), "tensor"), human(branch.bytes));
        let (name, parameters) = (label(&branch.name), counted(branch.parameters, "parameter"));
        out.put(fill("group of tensors", &[&unfolded, &name, &tensors, &parameters, &size]).as_bytes())?;
    }
    out.put("</details>".repeat(open.len()).as_bytes())
}

fn leaf(branch: &Branch<'_, '_>, Row { tensor, part, spread, .. }: &Row<'_>) -> String {
    let histogram = spread.as_ref().map(|spread| fill("histogram", &[&tensor.dtype(), &steps(spread)]));
    let statistics = match (part.min, part.max) {
        (Some(min), Some(max)) => {
            let (mean, deviation) = (short(part.moments.mean()), short(part.moments.deviation()));
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
    fill(
        "tensor",
        &[&name, &last, &tensor.dtype(), &shape_text(tensor.dims()), &size, &histogram, &statistics, &odd],
    )
}

/// The steps of the histogram, whose height is 22.
fn steps(spread: &Spread) -> String {
    let most = u128::from(spread.bars.iter().max().copied().unwrap_or(1).max(1));
    let step = |count: &u64| 22 - u128::from(*count) * 20 / most - u128::from(*count > 0);
    spread.bars.iter().map(|count| format!("V{}h1", step(count))).collect()
}
