//! Models of TFLite: the tensors whose elements are in their files.
//!
//! A file is a FlatBuffer, whose tables are read one by one; nothing of a graph is executed. Elements are in
//! buffers, or after the tables in files of more than 2 GB. Each tensor of a shared buffer has all of it.
//!
//! # Names
//! Tensors of the first subgraph have their own names. Those of another begin with the name of the subgraph
//! and a slash. A name that is empty, or that of an earlier tensor, has `#` and the index after it.
//!
//! # Quantisation
//! Of a tensor `NAME` of integers, `NAME.scale` has the scales, F32, and `NAME.zero_point` the zero points
//! with the dtype of the tensor, unless all are 0. Their shape is `[1]` for the tensor, `[rows]` for the
//! first axis, and for another axis that of the tensor with 1 for all other axes.
//!
//! Variables without elements and texts are left out. Rejected: sparse tensors, other quantisation,
//! elements in other files, dtypes that safetensors does not have.

mod table;

use crate::error::{beyond_limit, ensure, unsound, within};
use crate::listed::{Kind, Listed, MOST_DIMS, check_len, dtype_in, holds, is_signed};
use crate::pages::Pages;
use crate::source::{InTensor, Tensor, TensorSource, no_tensor, pieces};
use crate::text::quoted;
use crate::zip::{Exact, read_full};
use embedded_safetensors::Dtype;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use table::Table;

/// The dtypes in the order of their numbers, from 0: by their names in safetensors, or else in TFLite.
const DTYPES: &str = "F32 F16 I32 U8 I64 STRING BOOL I16 C64 I8 F64 COMPLEX128 U64 RESOURCE VARIANT U32 U16 \
    INT4 BF16 INT2 UINT4 F8_E4M3 F8_E5M2";
const MAGIC: [u8; 4] = *b"TFL3";
const VERSION: u64 = 3;
/// Tensors of shared buffers may together have this many bytes more than the file.
const EXPANDED: u64 = 1 << 30;

/// An open model.
#[derive(Debug)]
pub struct Tflite {
    file: File,
    listed: Listed,
    /// The elements of each tensor. Those of zero points have 64 bits.
    stored: Vec<Range<u64>>,
}

impl Tflite {
    /// Reads and validates the structure of a file.
    ///
    /// # Errors
    /// As [`TensorSource`] says.
    pub fn open(file: File) -> io::Result<Self> {
        let pages = Pages::new(&file)?;
        ensure(pages.bytes(4)? == MAGIC, || "byte 4: the file has not the identifier \"TFL3\"")?;
        let model = Table::of(&pages, 0)?;
        let version = model.number::<4>(0)?;
        ensure(version == VERSION, || format!("version {version} is not supported; version {VERSION} is"))?;
        let (buffers, most) = (model.vector(4, 4)?, pages.len.saturating_add(EXPANDED));
        let mut walk = Walk { pages: &pages, buffers, most, listed: Listed::default(), stored: vec![] };
        for (index, graph) in model.children(2)?.enumerate() {
            let read = graph.and_then(|graph| walk.graph(graph, index));
            read.map_err(|error| within(&format!("subgraph {index}"), error))?;
        }
        let Walk { listed, stored, .. } = walk;
        Ok(Self { file, listed, stored })
    }
}

impl TensorSource for Tflite {
    fn tensors(&self) -> &[Tensor] {
        &self.listed.tensors
    }

    fn metadata(&self) -> &[(String, String)] {
        &[]
    }

    fn left_out(&self) -> &[(String, &'static str)] {
        &self.listed.left_out
    }

    fn read(&self, index: usize) -> io::Result<Box<dyn Read + Send + '_>> {
        let (tensor, stored) = self.tensors().get(index).zip(self.stored.get(index)).ok_or_else(no_tensor)?;
        let (len, name) = (stored.end - stored.start, &*tensor.name);
        let source = Exact::new(&self.file, stored.start, len);
        Ok(match len > tensor.byte_len() {
            true => Box::new(InTensor { source: narrowed(source, tensor.dtype), name }),
            false => Box::new(InTensor { source, name }),
        })
    }
}

/// Returns the lowest bytes of numbers of 64 bits.
fn narrowed(mut source: impl Read, dtype: Dtype) -> impl Read {
    let (width, mut numbers) = (usize::from(dtype.bits() >> 3), [0; 1 << 12]);
    pieces(move |out| {
        let len = read_full(&mut source, &mut numbers)?;
        numbers[..len].chunks_exact(8).for_each(|number| out.extend(&number[..width]));
        Ok(())
    })
}

struct Walk<'p> {
    pages: &'p Pages<'p>,
    /// The offsets of all buffers.
    buffers: Range<u64>,
    /// The bytes that tensors may still have.
    most: u64,
    listed: Listed,
    stored: Vec<Range<u64>>,
}

impl Walk<'_> {
    fn graph(&mut self, graph: Table<'_>, index: usize) -> io::Result<()> {
        let path = if index == 0 { String::new() } else { format!("{}/", graph.text(4)?) };
        self.listed.count(&path)?;
        for (index, table) in graph.children(0)?.enumerate() {
            let named = table.and_then(|table| Ok((table, table.text(3)?)));
            let (table, own) = named.map_err(|error| within(&format!("tensor {index}"), error))?;
            let mut name = format!("{path}{own}");
            if own.is_empty() || self.listed.has(&name) {
                name = format!("{name}#{index}");
            }
            let place = format!("tensor {} at byte {}", quoted(&name), table.at);
            self.tensor(table, name).map_err(|error| within(&place, error))?;
        }
        Ok(())
    }

    fn tensor(&mut self, table: Table<'_>, name: String) -> io::Result<()> {
        let is_outside = table.number::<4>(10)? != 0;
        ensure(!is_outside, || "its elements are in another file, which is not supported")?;
        let range = self.buffer(table.number::<4>(2)?)?;
        // A constant can be empty; results of operators have no elements either.
        let is_empty = table.numbers(0)?.any(|dim| matches!(dim, Ok([0, 0, 0, 0])));
        if range.is_empty() && !is_empty {
            // Offsets can lead to the same tables again and again.
            return match table.number::<1>(5)? {
                0 => self.listed.count(&name),
                _ => self.add(name, Err("variable without elements"), &[], range),
            };
        }
        let Some(dtype) = dtype_in(DTYPES, 0, table.number::<1>(1)?).map_err(unsound)? else {
            return self.add(name, Err("string"), &[], range);
        };
        ensure(table.child(6)?.is_none(), || "it is sparse, which is not supported")?;
        let mut dims = Vec::new();
        for dim in table.numbers(0)? {
            let dim = u64::try_from(i32::from_le_bytes(dim?)).ok().filter(|_| dims.len() < MOST_DIMS);
            dims.push(
                dim.ok_or_else(|| unsound(format!("a dim is negative, or it has more than {MOST_DIMS}")))?,
            );
        }
        check_len(range.end - range.start, dtype, &dims).map_err(unsound)?;
        if let Some(parameters) = table.child(4)? {
            self.quantisation(parameters, &name, dtype, &dims)?;
        }
        self.add(name, Ok(dtype), &dims, range)
    }

    /// Returns where the elements of a buffer are.
    fn buffer(&self, index: u64) -> io::Result<Range<u64>> {
        let Range { start, end } = self.buffers;
        let count = (end - start) / 4;
        ensure(index < count, || format!("it has buffer {index}, but there are only {count}"))?;
        let table = Table::of(self.pages, start + index * 4)?;
        let (data, offset) = (table.vector(0, 1)?, table.number::<8>(1)?);
        match offset {
            // Writers set 1 before they know the offset.
            0 | 1 => Ok(data),
            _ if !data.is_empty() => Err(unsound(format!("buffer {index} has elements in two places"))),
            _ => self.pages.range(offset, table.number::<8>(2)?),
        }
    }

    /// Adds the scales and the zero points of a tensor.
    fn quantisation(&mut self, table: Table<'_>, name: &str, dtype: Dtype, dims: &[u64]) -> io::Result<()> {
        let (kind, axis) = (table.number::<1>(4)?, table.number::<4>(6)?);
        ensure(kind == 0, || format!("quantisation of kind {kind} is not supported"))?;
        let (scales, zeros) = (table.vector(2, 4)?, table.vector(3, 8)?);
        let [len, zero_points] =
            [(&scales, 4), (&zeros, 8)].map(|(range, width)| (range.end - range.start) / width);
        ensure(zero_points == 0 || zero_points == len, || {
            format!("it has {len} scales, but {zero_points} zero points")
        })?;
        if len == 0 {
            return Ok(());
        }
        let is_integer = is_signed(dtype) || matches!(dtype, Dtype::U8 | Dtype::U16 | Dtype::U32);
        ensure(is_integer, || format!("it has scales, but is {}", dtype.name()))?;
        let size = usize::try_from(axis).ok().and_then(|axis| dims.get(axis));
        ensure(len == 1 || size == Some(&len), || {
            format!("it has {len} scales, but its shape is {dims:?}, axis {axis}")
        })?;
        let shape = match (len, axis) {
            (1, _) | (_, 0) => vec![len],
            _ => (0..).zip(dims).map(|(own, _)| if own == axis { len } else { 1 }).collect(),
        };
        let mut is_zero = true;
        for number in table.numbers(3)? {
            let number = i64::from_le_bytes(number?);
            ensure(holds(dtype, number.into()), || format!("the zero point {number} does not fit"))?;
            is_zero &= number == 0;
        }
        self.add(format!("{name}.scale"), Ok(Dtype::F32), &shape, scales)?;
        if is_zero { Ok(()) } else { self.add(format!("{name}.zero_point"), Ok(dtype), &shape, zeros) }
    }

    fn add(&mut self, name: String, kind: Kind, dims: &[u64], range: Range<u64>) -> io::Result<()> {
        self.listed.add(name, kind, dims)?;
        let left = self.most.checked_sub(range.end - range.start);
        let sentence = "its tensors share buffers, and are far longer than the file";
        self.most = left.ok_or_else(|| beyond_limit(sentence))?;
        self.stored.extend(kind.is_ok().then_some(range));
        Ok(())
    }
}
