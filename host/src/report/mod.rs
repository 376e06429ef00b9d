//! `report`: one HTML page about a model, which needs nothing else.

use crate::error::Error;
use crate::input::model::{Model, Part, Tensor};
use crate::lint::Finding;
use crate::output::file::Product;
use crate::print::facts::Facts;
use crate::print::listing::shape_text;
use crate::print::tree::{Branch, Tree};
use crate::tensor::stats::{Row, Spread};
use crate::text::{counted, fitted, grouped, human, share_of, short, shown_text};
use embedded_safetensors::validate::Summary;
use std::collections::HashMap;
use std::fmt::Display;

const BLOCKS: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
/// The page has its hash in its policy.
const SCRIPT: &str = include_str!("script.js");

/// The most findings of each code that are listed.
const FINDINGS: usize = 10;
/// The longest key or value of the metadata that is shown whole, in characters, and the most pairs.
const VALUE: usize = 2000;
const PAIRS: usize = 200;
/// With more tensors, only the first level is unfolded.
const FEW: usize = 200;

/// The widest name that is shown whole, in columns.
const NAME: usize = 200;
/// The width of a file, in units of the drawing.
const WIDTH: f64 = 1000.0;
/// The height of a file.
const HEIGHT: f64 = 56.0;
/// The most parts of all drawings together.
const MOST: f64 = 2000.0;

/// Stands for the tree. No text of a file has this character.
const TREE: &str = "\0";

/// The page about a valid model, part by part: a page about many tensors is long.
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
    let (size, header, maps) = (human(model.file_lens()), human(header), maps(model, &facts));
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
        let code = group[0].code;
        let listed: String = group.iter().take(FINDINGS).map(finding).collect();
        let listed = listed + &unless_zero("more findings", group.len().saturating_sub(FINDINGS) as u64);
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
    table + &unless_zero("more pairs", pairs.len().saturating_sub(PAIRS) as u64)
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
    let steps = spread.as_ref().map_or(String::new(), steps);
    let histogram = fill("histogram", &[&tensor.dtype(), &steps]);
    let statistics = match (part.min, part.max) {
        (Some(min), Some(max)) => {
            let (mean, deviation) = (short(part.moments.mean()), short(part.moments.deviation()));
            let zeros = share_of(part.zeros, part.values);
            format!("{min} to {max}, mean {mean}, std {deviation}, zeros {zeros}")
        }
        _ if part.values == 0 => "no values".to_owned(),
        _ => "no finite values".to_owned(),
    };
    let odd = unless_zero("nan", part.nan) + &unless_zero("infinite", part.infinities());
    let (name, last, size) = (tensor.name(), label(&branch.name), human(branch.bytes));
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

/// The maps of all files, and the legend.
fn maps(model: &Model, facts: &Facts) -> String {
    let (mut html, parts) = (String::new(), model.parts());
    for part in parts {
        if parts.len() > 1 {
            html += &fill("file", &[&part.file_name().to_string_lossy()]);
        }
        let columns = columns(part, facts, WIDTH * parts.len() as f64 / MOST);
        html += &fill("map", &[&columns, &grouped(part.index().summary().file_len())]);
    }
    let colours: String = facts.by_dtype.iter().map(|of| fill("colour", &[&of.dtype, &of.dtype])).collect();
    html + &fill("key", &[&colours])
}

/// The header and all tensors. Those of less than this width are one column with their neighbours, where each
/// dtype has its share of the height.
fn columns(part: &Part, facts: &Facts, least: f64) -> String {
    let summary = part.index().summary();
    let scale = WIDTH / (summary.file_len().max(1) as f64);
    let title = format!("header, {} bytes", grouped(summary.data_start));
    let mut html = column(&[("k", 1)], 0.0, summary.data_start as f64 * scale, &title);
    let tensors: Vec<Tensor<'_>> = part.tensors().filter(|tensor| tensor.byte_len() > 0).collect();
    let mut rest = &tensors[..];
    while let Some(first) = rest.first() {
        let is_wide = |tensor: &Tensor<'_>| (tensor.end() - first.begin()) as f64 * scale >= least;
        let end = rest.iter().position(is_wide).unwrap_or(rest.len() - 1);
        let (together, others) = rest.split_at(end + 1);
        let (from, to) = (summary.data_start + first.begin(), summary.data_start + rest[end].end());
        let parts = facts.by_dtype.iter().map(|of| {
            let of_dtype = together.iter().filter(|tensor| tensor.dtype() == of.dtype);
            (of.dtype.name(), of_dtype.map(|tensor| tensor.byte_len()).sum())
        });
        let parts: Vec<_> = parts.filter(|(_, bytes)| *bytes > 0).collect();
        let title =
            format!("{}, bytes {} to {}, {}", named(together), grouped(from), grouped(to), human(to - from));
        html += &column(&parts, from as f64 * scale, (to - from) as f64 * scale, &title);
        rest = others;
    }
    html
}

/// The tensor with most bytes, and the number of the others.
fn named(tensors: &[Tensor<'_>]) -> String {
    let Some(widest) = tensors.iter().rev().max_by_key(|tensor| tensor.byte_len()) else {
        return String::new();
    };
    let named = format!("{}, {} {}", widest.name(), widest.dtype(), shape_text(widest.dims()));
    match tensors.len() as u64 {
        ..=1 => named,
        all => format!("{named} and {}", counted(all - 1, "small tensor")),
    }
}

/// A column with a part for each of these classes, which have these shares of the height.
fn column(parts: &[(&str, u64)], x: f64, width: f64, title: &str) -> String {
    // Gaps between neighbours, which leave most of a narrow one.
    let width = format!("{:.2}", width - (width / 8.0).min(0.8));
    let (all, mut sum) = (parts.iter().map(|(_, share)| share).sum::<u64>().max(1) as f64, 0);
    let y = |sum: u64| (sum as f64 / all * HEIGHT * 10.0).round() / 10.0;
    let mut drawn = String::new();
    for (class, share) in parts {
        let (top, bottom) = (y(sum), y(sum + share));
        sum += share;
        drawn += &fill("part", &[class, &format!("{x:.2}"), &top, &width, &format!("{:.1}", bottom - top)]);
    }
    fill("column", &[&title, &drawn])
}

/// Fills a block of the page with values, in the order of its placeholders. Values are escaped, but those of
/// `{!…}`, which are HTML.
fn fill(name: &str, values: &[&dyn Display]) -> String {
    let mut blocks = BLOCKS.split("<!-- ").filter_map(|block| block.split_once(" -->\n"));
    let block = blocks.find(|(known, _)| *known == name).map_or("", |(_, block)| block);
    let (mut html, mut values) = (String::new(), values.iter());
    for part in block.trim_end_matches('\n').split_inclusive('}') {
        let (text, placeholder) = part.split_once('{').unwrap_or((part, ""));
        html += text;
        html += &match placeholder.chars().next().and_then(|first| Some((first, values.next()?))) {
            Some(('!', value)) => value.to_string(),
            Some((_, value)) => escaped(&value.to_string()),
            None => String::new(),
        };
    }
    html
}

/// A block with a number, which is left out if it is 0.
fn unless_zero(name: &str, count: u64) -> String {
    if count > 0 { fill(name, &[&grouped(count)]) } else { String::new() }
}

/// Escapes text for HTML, and its control, invisible and bidirectional characters as on a terminal.
fn escaped(text: &str) -> String {
    let text = shown_text(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

/// A name, in quotes if it begins or ends where nothing is to be seen, and without its middle if it is long.
fn label(name: &str) -> String {
    let shown = fitted(&shown_text(name), NAME);
    if name.is_empty() || name.trim() != name { format!("\"{shown}\"") } else { shown }
}

/// The beginning of a long text, and how much is left out, as HTML.
fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => fill("cut", &[&&text[..end], &grouped(text.len() as u64)]),
        None => fill("text", &[&text]),
    }
}
