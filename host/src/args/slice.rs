//! Parses slices in numpy notation: `0:10, ::2, -1, ...`.

use crate::text::quoted;
use embedded_safetensors::slice::AxisRange;
use std::num::{IntErrorKind, ParseIntError};

/// The option of commands that read or write a part of one tensor.
#[derive(clap::Args)]
pub struct SliceOption {
    /// Slice in numpy notation, such as `0:10, ::2, -1`; steps cannot be negative [default: the whole tensor]
    #[arg(
        long,
        value_name = "SPEC",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    pub slice: String,
}

/// The slice of one axis, before its size is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Index(i64),
    Range {
        begin: Option<i64>,
        end: Option<i64>,
        step: u64,
    },
    /// All remaining axes, complete.
    Rest,
}

/// The ranges of a slice of a tensor with these dimensions. As in numpy, negative numbers count from the
/// end, and ranges are clamped to the axis; an index outside of the axis is an error.
///
/// # Errors
/// A sentence that names the axis and its size, or the text that cannot be parsed.
pub fn ranges(text: &str, dims: &[u64]) -> Result<Vec<AxisRange>, String> {
    let parts = whole(parse(text)?, dims.len())?;
    let axes = parts.iter().zip(dims).enumerate();
    axes.map(|(axis, (part, &size))| resolve(*part, axis, size)).collect()
}

/// Parses the text, with or without brackets.
fn parse(text: &str) -> Result<Vec<Part>, String> {
    let inside = text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text).trim();
    if inside.is_empty() {
        return Ok(Vec::new());
    }
    let list = inside.strip_suffix(',').unwrap_or(inside);
    let in_slice = |error| format!("the slice {} {error}", quoted(text));
    list.split(',').map(|part| parse_part(part.trim()).map_err(in_slice)).collect()
}

fn parse_part(part: &str) -> Result<Part, String> {
    if part == "..." || part == "…" {
        return Ok(Part::Rest);
    }
    let fields: Vec<Option<i64>> =
        part.split(':').map(|field| number(field.trim())).collect::<Result<_, _>>()?;
    match fields[..] {
        [Some(index)] => Ok(Part::Index(index)),
        [begin, end] => Ok(Part::Range { begin, end, step: 1 }),
        [begin, end, step] => match u64::try_from(step.unwrap_or(1)) {
            Ok(0) => Err("has a step of 0".to_owned()),
            Ok(step) => Ok(Part::Range { begin, end, step }),
            Err(_) => Err("has a negative step, which is not supported".to_owned()),
        },
        [None] => Err("has nothing between two commas".to_owned()),
        _ => Err(format!("has {}, with more than two colons", quoted(part))),
    }
}

fn number(field: &str) -> Result<Option<i64>, String> {
    match field {
        "" => Ok(None),
        _ => field.parse().map(Some).map_err(|error: ParseIntError| match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
                format!("has {}, which exceeds 64 bits", quoted(field))
            }
            _ => format!("has {}, which is not a number", quoted(field)),
        }),
    }
}

/// Expands the parts to one for each axis.
fn whole(parts: Vec<Part>, rank: usize) -> Result<Vec<Part>, String> {
    let named = parts.iter().filter(|part| **part != Part::Rest).count();
    if parts.len() > named + 1 {
        return Err("a slice can have only one `...`".to_owned());
    }
    if named > rank {
        return Err(format!("the slice has {named} dimensions, but the tensor has only {rank}"));
    }
    let all = Part::Range { begin: None, end: None, step: 1 };
    let rest = parts.iter().position(|part| *part == Part::Rest).unwrap_or(parts.len());
    let before = parts.iter().take(rest);
    let behind = parts.iter().skip(rest + 1);
    Ok(before.copied().chain(std::iter::repeat_n(all, rank - named)).chain(behind.copied()).collect())
}

fn resolve(part: Part, axis: usize, size: u64) -> Result<AxisRange, String> {
    match part {
        Part::Index(index) => match from_end(index, size).filter(|&at| at < size) {
            Some(at) => Ok(AxisRange::index(at)),
            None => Err(format!("index {index} is out of range for axis {axis} of size {size}")),
        },
        Part::Range { begin, end, step } => {
            let place = |at: i64| from_end(at, size).unwrap_or(0).min(size);
            let begin = begin.map_or(0, place);
            let end = end.map_or(size, place).max(begin);
            Ok(AxisRange::new(begin, end).step_by(step))
        }
        Part::Rest => Ok(AxisRange::ALL),
    }
}

/// None before the beginning.
fn from_end(at: i64, size: u64) -> Option<u64> {
    if at < 0 { size.checked_sub(at.unsigned_abs()) } else { Some(at.unsigned_abs()) }
}

#[cfg(test)]
mod tests {
    use super::ranges;
    use embedded_safetensors::{Dtype, slice::SlicePlan};

    fn shape(text: &str, dims: &[u64]) -> Result<Vec<u64>, String> {
        let ranges = ranges(text, dims)?;
        SlicePlan::new(Dtype::U8, dims, &ranges)
            .map(|plan| plan.shape().dims().to_vec())
            .map_err(|kind| format!("{kind:?}"))
    }

    #[test]
    fn as_numpy_has_it() {
        for (text, dims, sliced) in [
            ("", &[10, 20][..], &[10, 20][..]),
            (":", &[10, 20], &[10, 20]),
            ("0:10,::2,-1", &[30, 20, 5], &[10, 10]),
            ("[..., 0]", &[3, 4, 5], &[3, 4]),
            ("0, ..., 1:3", &[3, 4, 5], &[4, 2]),
            ("-3:", &[10], &[3]),
            (":-3", &[10], &[7]),
            ("5:100", &[10], &[5]),
            ("-100:2", &[10], &[2]),
            ("100:", &[10], &[0]),
            ("7:3", &[10], &[0]),
            ("1:9:3,", &[10], &[3]),
            ("...", &[], &[]),
            ("::18446744073709551", &[10], &[1]),
        ] {
            assert_eq!(shape(text, dims), Ok(sliced.to_vec()), "{text}");
        }
    }

    #[test]
    fn what_is_refused() {
        for (text, error) in [
            ("10", "index 10 is out of range for axis 0 of size 10"),
            ("0,-21", "index -21 is out of range for axis 1 of size 20"),
            ("0,0,0", "the slice has 3 dimensions, but the tensor has only 2"),
            ("...,...", "a slice can have only one `...`"),
            ("::-1", "the slice \"::-1\" has a negative step, which is not supported"),
            ("::0", "the slice \"::0\" has a step of 0"),
            ("1,,2", "the slice \"1,,2\" has nothing between two commas"),
            ("1:2:3:4", "the slice \"1:2:3:4\" has \"1:2:3:4\", with more than two colons"),
            ("a", "the slice \"a\" has \"a\", which is not a number"),
            (
                "99999999999999999999",
                "the slice \"99999999999999999999\" has \"99999999999999999999\", which exceeds 64 bits",
            ),
            ("None", "the slice \"None\" has \"None\", which is not a number"),
        ] {
            assert_eq!(shape(text, &[10, 20]), Err(error.to_owned()), "{text}");
        }
    }
}
