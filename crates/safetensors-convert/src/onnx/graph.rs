//! The tensors of a file, and its data files.

use super::walk::{pair, walk};
use crate::error::{ensure, unsound, within};
use crate::listed::{Kind, Listed, add_dim, check_len, dtype_in, holds, is_signed, len_of};
use crate::pages::{Pages, Span};
use crate::proto::{Bytes, Fields, Known, Value, known, varint};
use crate::text::quoted;
use crate::zip::is_unsafe;
use embedded_safetensors::Dtype;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// The dtypes in the order of their numbers, from 1: by their names in safetensors, or else in ONNX.
const DTYPES: &str = "F32 U8 I8 U16 I16 I32 I64 STRING BOOL F16 F64 U32 U64 C64 COMPLEX128 BF16 F8_E4M3 \
    F8_E4M3FNUZ F8_E5M2 F8_E5M2FNUZ UINT4 INT4 F4 F8_E8M0 UINT2 INT2 F6_E2M3 F6_E3M2";

/// Where elements are.
#[derive(Debug, Default)]
pub struct Stored {
    /// The path of another file, or nothing.
    pub location: String,
    pub at: u64,
    pub len: u64,
    /// The bytes of each element, if they are numbers of variable length.
    pub width: Option<usize>,
}

/// Lists the tensors of a file.
pub fn tensors(pages: &Pages<'_>) -> io::Result<Listed<Stored>> {
    let mut listed = Listed::default();
    walk(pages, |kind, message, name| {
        let at = message.range.start;
        match kind {
            "initializer" | "t" => {
                let name = name();
                ensure(!name.is_empty(), || format!("byte {at}: a tensor has no name"))?;
                let place = || format!("tensor {} at byte {at}", quoted(&name));
                let (kind, dims) = described(message.clone()).map_err(|error| within(&place(), error))?;
                listed.add(name, kind, &dims)
            }
            "number" | "string" => listed.add(name(), Err(kind), &[]),
            "graph" | "node" | "constant" | "attribute" | "g" | "external_data" => Ok(()),
            _ => Err(unsound(format!("byte {at}: the field {kind} is not supported"))),
        }
    })?;
    Ok(listed)
}

/// Returns the paths of all data files, relative to the directory of the model.
pub fn data_files(pages: &Pages<'_>) -> io::Result<BTreeSet<String>> {
    let (mut files, mut names) = (BTreeSet::new(), Listed::<()>::default());
    walk(pages, |kind, message, _| {
        if kind == "external_data" {
            let [key, value] = pair(message.clone())?;
            names.count(&key, 0)?;
            names.count(&value, 0)?;
            files.extend((key == "location").then(|| location(&value)).transpose()?);
        }
        Ok(())
    })?;
    Ok(files)
}

/// Returns the shortest path of a data file, which is below the directory.
fn location(path: &str) -> io::Result<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let is_below = !is_unsafe(path) && !parts.is_empty();
    ensure(is_below, || format!("data file {} is not below the directory of the model", quoted(path)))?;
    Ok(parts.join("/"))
}

/// Reads the dtype, the shape and the place of a tensor.
fn described(message: Span<'_>) -> io::Result<(Kind<Stored>, Vec<u64>)> {
    let fields: [Known<Span<'_>>; _] = [
        (2, "data_type", Value::count),
        (14, "data_location", Value::count),
        (9, "raw_data", Value::message),
        (4, "float_data", Value::message),
        (5, "int32_data", Value::message),
        (7, "int64_data", Value::message),
        (10, "double_data", Value::message),
        (11, "uint64_data", Value::message),
    ];
    let mut dims = Vec::new();
    for field in Fields(message.clone()) {
        if let (1, value) = field? {
            for dim in value.numbers("dims") {
                add_dim(&mut dims, dim?.cast_signed()).map_err(unsound)?;
            }
        }
    }
    let [dtype, place, raw, typed @ ..] = known(message.clone(), fields)?;
    let dtype = dtype_in(DTYPES, 1, dtype.map_or(0, |dtype| dtype.number)).map_err(unsound)?;
    let Some(dtype) = dtype else { return Ok((Err("string"), dims)) };
    let place = place.map_or(0, |place| place.number);
    let count = raw.iter().chain(typed.iter().flatten()).count() as u64;
    ensure(place <= 1, || format!("the field data_location has the unknown number {place}"))?;
    ensure(count + place <= 1, || format!("it has elements in {} places", count + place))?;
    let stored = match raw {
        _ if place == 1 => outside(message, dtype, &dims)?,
        None if count == 1 => in_field(typed, dtype, &dims)?,
        raw => raw.map_or_else(Stored::default, |raw| stored(raw.bytes, None)),
    };
    if stored.width.is_none() {
        check_len(stored.len, dtype, &dims).map_err(unsound)?;
    }
    Ok((Ok((dtype, stored)), dims))
}

fn stored(bytes: Span<'_>, width: Option<usize>) -> Stored {
    Stored { at: bytes.range.start, len: bytes.left(), width, ..Stored::default() }
}

/// Finds the elements in the field for their dtype: of floats, integers, long ones, doubles, and unsigned
/// ones.
fn in_field(fields: [Option<Value<Span<'_>>>; 5], dtype: Dtype, dims: &[u64]) -> io::Result<Stored> {
    let [floats, integers, longs, doubles, unsigned] = fields;
    let (field, is_fixed) = match dtype {
        Dtype::F32 | Dtype::C64 => (floats, true),
        Dtype::F64 => (doubles, true),
        Dtype::I64 => (longs, false),
        Dtype::U32 | Dtype::U64 => (unsigned, false),
        _ => (integers, false),
    };
    let field = field.ok_or_else(|| unsound("its elements are in the field of other dtypes"))?;
    if is_fixed {
        return Ok(stored(field.bytes, None));
    }
    // Two of F4 are in a number.
    let unit = if dtype == Dtype::F4 { Dtype::U8 } else { dtype };
    ensure(unit.bits() % 8 == 0, || format!("numbers of {} are not supported", unit.name()))?;
    let (width, mut len, mut left) = (u64::from(unit.bits() >> 3), 0, field.bytes.clone());
    while left.left() > 0 {
        let at = left.range.start;
        let number = varint(&mut left)?;
        let wide = if is_signed(unit) { number.cast_signed().into() } else { i128::from(number) };
        ensure(holds(unit, wide), || format!("byte {at}: {wide} is not an element of {}", unit.name()))?;
        len += width;
    }
    check_len(len, dtype, dims).map_err(unsound)?;
    Ok(stored(field.bytes, usize::try_from(width).ok()))
}

/// Reads where elements are in another file; without a length, they are as many as the shape needs.
fn outside(message: Span<'_>, dtype: Dtype, dims: &[u64]) -> io::Result<Stored> {
    let mut pairs = BTreeMap::new();
    for field in Fields(message) {
        if let (13, value) = field? {
            let [key, value] = pair(value.message("external_data")?.bytes)?;
            let is_new = pairs.insert(key.clone(), value).is_none();
            ensure(is_new, || format!("the {key} of its elements is duplicate"))?;
        }
    }
    let number = |key| {
        let sentence = |text| unsound(format!("the {key} of its elements, {}, is no number", quoted(text)));
        pairs.get(key).map(|text: &String| text.parse().map_err(|_| sentence(text))).transpose()
    };
    let len = number("length")?.map_or_else(|| len_of(dtype, dims).map_err(unsound), Ok)?;
    let path =
        pairs.get("location").ok_or_else(|| unsound("its elements are in another file without a name"))?;
    Ok(Stored { location: location(path)?, at: number("offset")?.unwrap_or_default(), len, width: None })
}
