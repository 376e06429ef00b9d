//! The tensors that a file lists: their names, dtypes and lengths.

use crate::error::{ensure, ensure_within};
use crate::source::{Tensor, no_tensor};
use crate::text::quoted;
use embedded_safetensors::Dtype;
use embedded_safetensors::header::MAX_HEADER_LEN;
use std::collections::HashSet;
use std::io;

/// The most dims of a tensor.
const MOST_DIMS: usize = 254;
/// What a header has beside the name of a tensor, at least.
const BESIDE: u64 = 48;
/// Tensors that share bytes may together have this many more than their files.
const SHARED: u64 = 1 << 30;

/// The dtype of a tensor and where its elements are, or what it is if it is left out.
pub type Kind<P> = Result<(Dtype, P), &'static str>;

/// The tensors of a file, as it is read.
#[derive(Debug, Default)]
pub struct Listed<P> {
    pub tensors: Vec<Tensor>,
    /// Where the elements of each are.
    pub places: Vec<P>,
    /// What has no elements that safetensors can hold, and what it is.
    pub left_out: Vec<(String, &'static str)>,
    names: HashSet<String>,
    /// The bytes of all names and shapes.
    len: u64,
    /// The bytes that all elements have.
    data_len: u64,
}

impl<P> Listed<P> {
    /// Adds a tensor, or what is left out.
    pub fn add(&mut self, name: String, kind: Kind<P>, dims: &[u64]) -> io::Result<()> {
        self.count(&name, dims.len())?;
        match kind {
            Ok((dtype, place)) => {
                ensure(name != "__metadata__", || "safetensors reserves the name \"__metadata__\"")?;
                let is_new = self.names.insert(name.clone());
                ensure(is_new, || format!("tensor {}: the name is duplicate", quoted(&name)))?;
                let tensor = Tensor { name, dtype, dims: dims.into() };
                self.data_len = self.data_len.saturating_add(tensor.byte_len());
                self.tensors.push(tensor);
                self.places.push(place);
            }
            Err(what) => self.left_out.push((name, what)),
        }
        Ok(())
    }

    /// Counts what takes memory or time: a name and dims that are read or kept.
    pub fn count(&mut self, name: &str, dims: usize) -> io::Result<()> {
        self.len += (name.len() + dims * size_of::<u64>()) as u64 + BESIDE;
        ensure_within(self.len <= MAX_HEADER_LEN, || {
            format!("its names and shapes have more than {MAX_HEADER_LEN} bytes, each as often as it is used")
        })
    }

    /// Checks that tensors do not share so much that they are far longer than their files.
    pub fn check_shared(&self, of_files: u64) -> io::Result<()> {
        ensure_within(self.data_len <= of_files.saturating_add(SHARED), || {
            format!("tensors share bytes: they have {}, more than {SHARED} above {of_files}", self.data_len)
        })
    }

    /// Returns a tensor, and where its elements are.
    pub fn get(&self, index: usize) -> io::Result<(&Tensor, &P)> {
        self.tensors.get(index).zip(self.places.get(index)).ok_or_else(no_tensor)
    }

    /// Whether a tensor has this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

/// Adds a dim to a shape.
pub fn add_dim(dims: &mut Vec<u64>, dim: i64) -> Result<(), String> {
    if dims.len() == MOST_DIMS {
        return Err(format!("its shape has more than {MOST_DIMS} dims"));
    }
    dims.push(u64::try_from(dim).map_err(|_| format!("its shape has the dim {dim}"))?);
    Ok(())
}

/// Returns the dtype with a number in a list of names, the first of which has the number `first`; `None` for
/// texts.
pub fn dtype_in(list: &'static str, first: u64, number: u64) -> Result<Option<Dtype>, String> {
    let index = number.checked_sub(first).and_then(|index| usize::try_from(index).ok());
    let name = index.and_then(|index| list.split(' ').nth(index));
    match name.map(|name| (name, Dtype::from_name(name.as_bytes()))) {
        Some((_, Some(dtype))) => Ok(Some(dtype)),
        Some((name, _)) if name.ends_with("STRING") => Ok(None),
        Some((name, _)) => Err(format!("its dtype is {name}, which safetensors does not have")),
        None => Err(format!("its dtype has the unknown number {number}")),
    }
}

/// Returns the number of bytes of elements of this shape.
pub fn len_of(dtype: Dtype, dims: &[u64]) -> Result<u64, String> {
    let bits = dims.iter().try_fold(u64::from(dtype.bits()), |bits, dim| bits.checked_mul(*dim));
    let bits = bits.ok_or_else(|| format!("its shape {dims:?} has more bytes than 64 bits can count"))?;
    match bits % 8 {
        0 => Ok(bits / 8),
        _ => Err(format!("its elements of dtype {} and shape {dims:?} do not end at a byte", dtype.name())),
    }
}

/// Checks that elements of this shape have so many bytes.
pub fn check_len(len: u64, dtype: Dtype, dims: &[u64]) -> Result<(), String> {
    let (needed, name) = (len_of(dtype, dims)?, dtype.name());
    if needed == len {
        return Ok(());
    }
    Err(format!("it has {len} bytes, but its dtype {name} and shape {dims:?} need {needed}"))
}

/// Whether an element of a dtype, as an integer of its bits, can be this number.
pub fn holds(dtype: Dtype, number: i128) -> bool {
    let end = 1_i128 << dtype.bits();
    match dtype {
        Dtype::BOOL => (0..2).contains(&number),
        _ if is_signed(dtype) => (-end / 2..end / 2).contains(&number),
        _ => (0..end).contains(&number),
    }
}

pub fn is_signed(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64)
}
