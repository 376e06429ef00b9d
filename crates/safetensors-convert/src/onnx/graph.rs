//! Walks the graphs of a file, and lists the tensors in them.

use crate::error::{ensure, ensure_within, unsound, within};
use crate::listed::{Listed, MOST_DIMS, check_len, dtype_in, holds, is_signed, len_of};
use crate::pages::{Pages, Span};
use crate::proto::{Bytes, Fields, Known, Value, known, varint};
use crate::text::quoted;
use embedded_safetensors::Dtype;
use std::io;

/// The dtypes in the order of their numbers, from 1: by their names in safetensors, or else in ONNX.
const DTYPES: &str = "F32 U8 I8 U16 I16 I32 I64 STRING BOOL F16 F64 U32 U64 C64 COMPLEX128 BF16 F8_E4M3 \
    F8_E4M3FNUZ F8_E5M2 F8_E5M2FNUZ UINT4 INT4 F4 F8_E8M0 UINT2 INT2 F6_E2M3 F6_E3M2";
/// The deepest graphs in graphs.
const DEEPEST: usize = 32;

/// What is in a file.
#[derive(Debug, Default)]
pub struct Walk {
    pub listed: Listed,
    /// The elements of each tensor.
    pub stored: Vec<Stored>,
}

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

/// A graph: the names of those around it, and their number.
type Graph<'p> = (&'p str, usize);

impl Walk {
    /// Reads a whole file.
    pub fn of(pages: &Pages<'_>) -> io::Result<Self> {
        let fields: [Known<Span<'_>>; _] = [
            (1, "ir_version", Value::count),
            (7, "graph", Value::message),
            (20, "training_info", Value::unsupported),
            (25, "functions", Value::unsupported),
        ];
        let [version, graph, ..] = known(Span { pages, range: 0..pages.len }, fields)?;
        ensure(version.is_some_and(|version| version.number > 0), || "the file has no version of ONNX")?;
        let graph = graph.ok_or_else(|| unsound("the file has no graph"))?;
        let mut walk = Self::default();
        walk.graph(graph.bytes, ("", 0))?;
        Ok(walk)
    }

    fn graph(&mut self, message: Span<'_>, graph: Graph<'_>) -> io::Result<()> {
        ensure_within(graph.1 <= DEEPEST, || {
            let at = message.range.start;
            format!("byte {at}: more than {DEEPEST} graphs in one another are not supported")
        })?;
        for field in Fields(message) {
            match field? {
                (1, node) => self.node(node.message("node")?.bytes, graph)?,
                (5, tensor) => self.tensor(tensor.message("initializer")?.bytes, graph.0, None)?,
                (15, sparse) => sparse.unsupported("sparse_initializer").map(|_| ())?,
                _ => {}
            }
        }
        Ok(())
    }

    fn node(&mut self, message: Span<'_>, graph: Graph<'_>) -> io::Result<()> {
        let fields: [Known<Span<'_>>; _] = [(3, "name", Value::message), (4, "op_type", Value::message)];
        let [name, kind] = known(message.clone(), fields)?;
        let output = Fields(message.clone()).flatten().find(|(number, _)| *number == 2);
        let names = [text(name)?, text(kind)?, text(output.map(|(_, output)| output))?];
        for field in Fields(message) {
            if let (5, attribute) = field? {
                self.attribute(attribute.message("attribute")?.bytes, &names, graph)?;
            }
        }
        Ok(())
    }

    /// Reads the tensor or the graph in an attribute of a node, which has this name, operator and first
    /// output. The output is its name if it has none.
    fn attribute(&mut self, message: Span<'_>, names: &[String; 3], graph: Graph<'_>) -> io::Result<()> {
        let ([node, kind, output], (path, depth)) = (names, graph);
        let fields: [Known<Span<'_>>; _] = [
            (1, "name", Value::message),
            (5, "t", Value::message),
            (6, "g", Value::message),
            (10, "tensors", Value::unsupported),
            (11, "graphs", Value::unsupported),
            (22, "sparse_tensor", Value::unsupported),
            (23, "sparse_tensors", Value::unsupported),
        ];
        let [own, tensor, inner, ..] = known(message, fields)?;
        let own = text(own)?;
        if let Some(tensor) = tensor {
            let is_value = kind == "Constant" && own == "value";
            let name = if is_value { output.clone() } else { format!("{output}.{own}") };
            self.tensor(tensor.bytes, path, Some(name))?;
        }
        if kind == "Constant" && own.starts_with("value_") {
            let what = if own.contains("string") { "string" } else { "number" };
            self.listed.add(format!("{path}{output}"), Err(what), &[])?;
        }
        if let Some(inner) = inner {
            let node = if node.is_empty() { output } else { node };
            let path = format!("{path}{node}.{own}/");
            self.listed.count(&path)?;
            self.graph(inner.bytes, (&path, depth + 1))?;
        }
        Ok(())
    }

    /// Adds a tensor with this name, or else its own.
    fn tensor(&mut self, message: Span<'_>, path: &str, name: Option<String>) -> io::Result<()> {
        let at = message.range.start;
        let [own] = known(message.clone(), [(8, "name", Value::message)])?;
        let name = name.map_or_else(|| text(own), Ok)?;
        ensure(!name.is_empty(), || format!("byte {at}: a tensor has no name"))?;
        let name = format!("{path}{name}");
        let place = || format!("tensor {} at byte {at}", quoted(&name));
        let (dtype, dims, stored) = described(message).map_err(|error| within(&place(), error))?;
        if !stored.location.is_empty() {
            self.listed.count(&stored.location)?;
        }
        self.listed.add(name, dtype.ok_or("string"), &dims)?;
        self.stored.extend(dtype.map(|_| stored));
        Ok(())
    }
}

/// Reads the dtype, the shape and the place of a tensor.
fn described(message: Span<'_>) -> io::Result<(Option<Dtype>, Vec<u64>, Stored)> {
    let fields: [Known<Span<'_>>; _] = [
        (2, "data_type", Value::count),
        (3, "segment", Value::unsupported),
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
                dims.push(dim?);
                let is_fine = dims.len() <= MOST_DIMS && dims.last() <= Some(&(u64::MAX >> 1));
                ensure(is_fine, || format!("a dim is negative, or it has more than {MOST_DIMS}"))?;
            }
        }
    }
    let [dtype, _, place, raw, typed @ ..] = known(message.clone(), fields)?;
    let dtype = dtype_in(DTYPES, 1, dtype.map_or(0, |dtype| dtype.number)).map_err(unsound)?;
    let Some(dtype) = dtype else { return Ok((None, dims, Stored::default())) };
    let place = place.map_or(0, |place| place.number);
    let count = raw.iter().chain(typed.iter().flatten()).count() as u64;
    ensure(place <= 1 && count + place <= 1, || "it has elements in several places, or in an unknown one")?;
    let stored = match raw {
        _ if place == 1 => outside(message, dtype, &dims)?,
        None if count == 1 => in_field(typed, dtype, &dims)?,
        raw => raw.map_or_else(Stored::default, |raw| stored(raw.bytes, None)),
    };
    if stored.width.is_none() {
        check_len(stored.len, dtype, &dims).map_err(unsound)?;
    }
    Ok((Some(dtype), dims, stored))
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
    let [mut location, mut offset, mut length] = [const { None }; 3];
    for field in Fields(message) {
        let (13, pair) = field? else { continue };
        let fields: [Known<Span<'_>>; _] = [(1, "key", Value::message), (2, "value", Value::message)];
        let [key, value] = known(pair.message("external_data")?.bytes, fields)?;
        let key = text(key)?;
        let place = match &*key {
            "location" => &mut location,
            "offset" => &mut offset,
            "length" => &mut length,
            _ => continue,
        };
        ensure(place.replace(text(value)?).is_none(), || format!("the {key} of its elements is duplicate"))?;
    }
    let number = |text: String| {
        let sentence = |_| format!("its offset or length {} is no number", quoted(&text));
        text.parse().map_err(|error| unsound(sentence(error)))
    };
    let len = length.map_or_else(|| len_of(dtype, dims).map_err(unsound), number)?;
    let location = location.unwrap_or_default();
    ensure(!location.is_empty(), || "its elements are in another file without a name")?;
    Ok(Stored { location, at: offset.map_or(Ok(0), number)?, len, width: None })
}

/// Returns a text that is there, or an empty one.
fn text(value: Option<Value<Span<'_>>>) -> io::Result<String> {
    value.map_or(Ok(String::new()), |value| value.bytes.pages.text(value.bytes.range))
}
