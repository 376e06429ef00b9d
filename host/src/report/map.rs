//! A file drawn to scale.

use crate::input::model::{Model, Part, Tensor};
use crate::print::facts::Facts;
use crate::print::listing::shape_text;
use crate::report::template::fill;
use crate::text::{counted, grouped, human};

/// The width of a file, in units of the drawing.
const WIDTH: f64 = 1000.0;
/// The height of a file.
const HEIGHT: f64 = 56.0;
/// The most parts of all drawings together.
const MOST: f64 = 2000.0;

/// The maps of all files, and the legend.
pub fn maps(model: &Model, facts: &Facts) -> String {
    let (mut html, parts) = (String::new(), model.parts());
    for part in parts {
        let name = part.path().file_name().unwrap_or_default().to_string_lossy();
        html += &if parts.len() > 1 { fill("file", &[&name]) } else { String::new() };
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
    let widest = tensors.iter().rev().max_by_key(|tensor| tensor.byte_len());
    let named = widest.map_or(String::new(), |tensor| {
        format!("{}, {} {}", tensor.name(), tensor.dtype(), shape_text(tensor.dims()))
    });
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
