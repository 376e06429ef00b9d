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
//! Scales of other tensors, variables without elements, and texts are left out. Rejected: sparse tensors,
//! other quantisation, elements in other files, dtypes that safetensors does not have.

mod table;

use crate::error::{ensure, unsound, within};
use crate::listed::{Listed, add_dim, check_len, dtype_in, holds, is_signed};
use crate::pages::{Pages, Span, numbers};
use crate::proto::Bytes;
use crate::source::{InTensor, Tensor, TensorSource};
use crate::text::quoted;
use crate::zip::Exact;
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

/// An open model.
#[derive(Debug)]
pub struct Tflite {
    file: File,
    /// The elements of zero points have 64 bits in the file.
    listed: Listed<Range<u64>>,
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
        let mut walk = Walk { pages: &pages, buffers: model.vector(4, 4)?, listed: Listed::default() };
        for (index, graph) in model.children(2)?.enumerate() {
            let read = graph.and_then(|graph| walk.graph(graph, index));
            read.map_err(|error| within(&format!("subgraph {index}"), error))?;
        }
        Ok(Self { listed: walk.listed, file })
    }
}

impl TensorSource for Tflite {
    fn tensors(&self) -> &[Tensor] {
        &self.listed.tensors
    }

    fn left_out(&self) -> &[(String, &'static str)] {
        &self.listed.left_out
    }

    fn read(&self, index: usize) -> io::Result<Box<dyn Read + Send + '_>> {
        let (tensor, range) = self.listed.get(index)?;
        let (len, name, width) = (range.end - range.start, &*tensor.name, tensor.dtype.bits() >> 3);
        let source: Box<dyn Read + Send> = match len > tensor.byte_len() {
            true => Box::new(numbers(Pages::new(&self.file)?, range.clone(), width.into(), long)),
            false => Box::new(Exact::new(&self.file, range.start, len)),
        };
        Ok(Box::new(InTensor { source, name }))
    }
}

/// Takes a number of 64 bits.
fn long(span: &mut Span<'_>) -> io::Result<u64> {
    span.pages.bytes(span.split(8).range.start).map(u64::from_le_bytes)
}

struct Walk<'p> {
    pages: &'p Pages<'p>,
    /// The offsets of all buffers.
    buffers: Range<u64>,
    listed: Listed<Range<u64>>,
}

impl Walk<'_> {
    fn graph(&mut self, graph: Table<'_>, index: usize) -> io::Result<()> {
        let path = if index == 0 { String::new() } else { format!("{}/", graph.text(4)?) };
        self.listed.count(&path, 0)?;
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
        let mut dims = Vec::new();
        let add =
            |dim: io::Result<[u8; 4]>| add_dim(&mut dims, i32::from_le_bytes(dim?).into()).map_err(unsound);
        // Results of operators may have unknown dims.
        let shape = table.numbers(0)?.try_for_each(add);
        // A constant can be empty; results of operators have no elements either.
        if range.is_empty() && !dims.contains(&0) {
            // Offsets can lead to the same tables again and again.
            return match table.number::<1>(5)? {
                0 => self.listed.count(&name, dims.len()),
                _ => self.listed.add(name, Err("variable without elements"), &[]),
            };
        }
        let Some(dtype) = dtype_in(DTYPES, 0, table.number::<1>(1)?).map_err(unsound)? else {
            return self.listed.add(name, Err("string"), &[]);
        };
        ensure(table.child(6)?.is_none(), || "it is sparse, which is not supported")?;
        shape?;
        check_len(range.end - range.start, dtype, &dims).map_err(unsound)?;
        if let Some(parameters) = table.child(4)? {
            self.quantisation(parameters, &name, dtype, &dims)?;
        }
        self.listed.add(name, Ok((dtype, range)), &dims)?;
        // Before other tensors lead to the same bytes again.
        self.listed.check_shared(self.pages.len)
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
        if len == 0 {
            return Ok(());
        }
        ensure(zero_points == 0 || zero_points == len, || {
            format!("it has {len} scales, but {zero_points} zero points")
        })?;
        if !is_signed(dtype) && !matches!(dtype, Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64) {
            let what = "scales of a tensor without integers";
            return self.listed.add(format!("{name}.scale"), Err(what), &[]);
        }
        let size = usize::try_from(axis).ok().and_then(|axis| dims.get(axis));
        ensure(len == 1 || size == Some(&len), || {
            let axis = u32::try_from(axis).unwrap_or_default().cast_signed();
            format!("it has {len} scales, but its shape is {dims:?}, axis {axis}")
        })?;
        let shape = match (len, axis) {
            (1, _) | (_, 0) => vec![len],
            _ => (0..).zip(dims).map(|(own, _)| if own == axis { len } else { 1 }).collect(),
        };
        let mut is_zero = true;
        for number in table.numbers(3)? {
            let number = i64::from_le_bytes(number?);
            let sentence = || format!("the zero point {number} is not an element of {}", dtype.name());
            ensure(holds(dtype, number.into()), sentence)?;
            is_zero &= number == 0;
        }
        self.listed.add(format!("{name}.scale"), Ok((Dtype::F32, scales)), &shape)?;
        match is_zero {
            true => Ok(()),
            false => self.listed.add(format!("{name}.zero_point"), Ok((dtype, zeros)), &shape),
        }
    }
}
