//! Requests, tensors and dtypes as C sees them.

use crate::error::{Cause, Misuse};
use crate::pointers::{array, check_array, text};
use crate::storage::Storage;
use core::ffi::c_char;
use embedded_safetensors::query::Query;
use embedded_safetensors::tensor::{Located, Location, MAX_RANK};
use embedded_safetensors::{Dtype, Error, Model, Shape, TensorInfo};

/// How many dtypes the header has, in the order of the library.
const DTYPES: usize = 22;

const _: () = assert!(Dtype::ALL.len() == DTYPES, "the header has all dtypes");

/// Returns the only dtype of a set.
///
/// # Errors
/// There is none or more than one, or it is unknown.
pub fn dtype(bits: u32) -> Result<Dtype, Misuse> {
    let dtype = Dtype::ALL.get(bits.trailing_zeros() as usize);
    dtype.copied().filter(|_| bits.is_power_of_two()).ok_or(Misuse::Dtype)
}

/// Returns the dtypes of a set, the first one also in place of each that is not in it.
///
/// # Errors
/// There is none, or one that is unknown.
fn dtypes(bits: u32) -> Result<[Dtype; DTYPES], Misuse> {
    let first = Dtype::ALL.get(bits.trailing_zeros() as usize).filter(|_| bits >> DTYPES == 0);
    let first = *first.ok_or(Misuse::Dtype)?;
    let in_set = |dtype: &Dtype| bits & bit(*dtype) != 0;
    Ok(core::array::from_fn(|index| Dtype::ALL.get(index).copied().filter(in_set).unwrap_or(first)))
}

/// Returns the bit of a dtype.
const fn bit(dtype: Dtype) -> u32 {
    1 << dtype as u32
}

/// `sft_request`.
#[repr(C)]
pub struct Request {
    pub name: *const c_char,
    pub dtypes: u32,
    pub rank: u8,
    pub optional: u8,
    pub shape: [u64; MAX_RANK],
}

pub const ANY_RANK: u8 = 255;

impl Request {
    /// Returns the query.
    ///
    /// # Errors
    /// The name, the dtypes or the rank is not valid.
    ///
    /// # Safety
    /// The name is a string, or null. It and the request live as long as the query is used.
    pub unsafe fn query(&self) -> Result<Query<'_>, Misuse> {
        let dims = match self.rank {
            ANY_RANK => None,
            rank => Some(self.shape.get(..rank.into()).ok_or(Misuse::Rank)?),
        };
        // SAFETY: the caller's promise.
        let name = unsafe { text(self.name)? };
        let mut query = if self.optional == 0 { Query::required(name) } else { Query::optional(name) };
        if self.dtypes != 0 {
            query = query.dtypes(&dtypes(self.dtypes)?);
        }
        if let Some(dims) = dims {
            query = query.shape(dims);
        }
        Ok(query)
    }
}

/// The model that a tensor belongs to: where its data begins, and a mark of its header; 0 if it has none.
#[derive(Clone, Copy)]
pub struct Home {
    pub data_start: u64,
    pub header: u32,
}

impl Home {
    pub fn of(model: &Model<Storage>) -> Self {
        Self { data_start: model.summary().data_start, header: model.header_mark() }
    }
}

/// `sft_tensor`, which has enough memory for a query.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Tensor {
    pub shape: [u64; MAX_RANK],
    pub offset: u64,
    pub bytes: u64,
    pub elements: u64,
    pub dtype: u32,
    pub rank: u32,
    pub private: [u64; 4],
}

crate::abi::fits!(Tensor, 128);
const _: () = assert!(size_of::<Query<'_>>() <= size_of::<Tensor>(), "a query fits where its result will be");

impl Tensor {
    const MISSING: Self =
        Self { shape: [0; MAX_RANK], offset: 0, bytes: 0, elements: 0, dtype: 0, rank: 0, private: [0; 4] };

    /// Returns what C sees of a tensor; without one, that it is missing.
    pub fn of(info: Option<TensorInfo>, home: Home) -> Self {
        let Some(info) = info else { return Self::MISSING };
        let mut tensor = Self {
            private: [home.header.into(), 0, 0, 0],
            offset: home.data_start.wrapping_add(info.begin()),
            bytes: info.byte_len(),
            // Validated: the number of elements fits.
            elements: info.shape().elements().unwrap_or_default(),
            dtype: bit(info.dtype()),
            ..Self::MISSING
        };
        for (to, dim) in tensor.shape.iter_mut().zip(info.shape().dims()) {
            *to = *dim;
            tensor.rank += 1;
        }
        tensor
    }

    /// Returns the offset in the file of the first byte after it, if C has not changed it.
    pub fn file_end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }

    /// Returns the tensor that C passes. It may have changed everything: what it describes is validated when
    /// it is located.
    ///
    /// # Errors
    /// It is missing, has an impossible dtype or rank, begins before the data, or was found in a model with
    /// another header.
    pub fn checked(&self, home: Home) -> Result<Checked<'_>, Misuse> {
        if self.dtype == 0 {
            return Err(Misuse::Missing);
        }
        let [header, ..] = self.private;
        if header != 0 && header != u64::from(home.header) {
            return Err(Misuse::Tensor);
        }
        let rank = usize::try_from(self.rank).unwrap_or(usize::MAX);
        let dims = self.shape.get(..rank).ok_or(Misuse::Rank)?;
        let begin = self.offset.checked_sub(home.data_start).ok_or(Misuse::Tensor)?;
        let end = begin.checked_add(self.bytes).ok_or(Misuse::Tensor)?;
        Ok(Checked { dtype: dtype(self.dtype)?, dims, begin, end, offset: self.offset })
    }
}

/// A tensor that C passes.
pub struct Checked<'t> {
    dtype: Dtype,
    dims: &'t [u64],
    begin: u64,
    end: u64,
    offset: u64,
}

impl Located for Checked<'_> {
    fn locate(&self) -> Result<Location, Error> {
        let info =
            Shape::new(self.dims).and_then(|shape| TensorInfo::new(self.dtype, shape, self.begin, self.end));
        info.map_err(|kind| kind.at(self.offset))?.locate()
    }

    fn dims(&self) -> &[u64] {
        self.dims
    }
}

/// The memory of tensors, in which queries are while they are looked up.
pub struct Lookup<'r> {
    tensors: *mut Tensor,
    requests: &'r [Request],
}

impl<'r> Lookup<'r> {
    /// Marks all tensors as missing until they are found.
    ///
    /// # Errors
    /// A pointer is null or misaligned.
    ///
    /// # Safety
    /// `requests` points to `count` requests, and `tensors` to memory for as many tensors that nothing else
    /// uses, both for as long as this lives. The queries of `begin` are not used after `end`.
    pub unsafe fn new(requests: *const Request, tensors: *mut Tensor, count: usize) -> Result<Self, Misuse> {
        check_array(tensors, count)?;
        for index in 0..count {
            // SAFETY: inside the memory.
            unsafe { tensors.add(index).write(Tensor::MISSING) };
        }
        // SAFETY: the caller's promise.
        Ok(Self { tensors, requests: unsafe { array(requests, count)? } })
    }

    /// Writes the queries into the memory.
    ///
    /// # Errors
    /// A request is not valid.
    fn ask(&self) -> Result<(), Cause> {
        for (index, request) in self.requests.iter().enumerate() {
            // SAFETY: requests of C, as `new` demands.
            let query =
                unsafe { request.query() }.map_err(|misuse| Cause::InTable(misuse, "requests", index))?;
            // SAFETY: inside the memory, as a query is not larger than a tensor; both are aligned to 8.
            unsafe { self.tensors.cast::<Query<'r>>().add(index).write(query) };
        }
        Ok(())
    }

    /// Writes into the memory that no tensor was found.
    fn forget(&self) {
        for index in 0..self.requests.len() {
            // SAFETY: inside the memory.
            unsafe { self.tensors.add(index).write(Tensor::MISSING) };
        }
    }

    /// Writes the queries into the memory, and returns them: once, for use until [`end`](Self::end).
    ///
    /// # Errors
    /// A request is not valid; then no tensor was found.
    pub fn begin(&mut self) -> Result<&'r mut [Query<'r>], Cause> {
        if let Err(cause) = self.ask() {
            self.forget();
            return Err(cause);
        }
        match self.requests.len() {
            0 => Ok(&mut []),
            // SAFETY: `ask` has written all of them.
            count => Ok(unsafe { core::slice::from_raw_parts_mut(self.tensors.cast(), count) }),
        }
    }

    /// Replaces the queries by their results: by none after an error, which has no `home`.
    pub fn end(self, home: Option<Home>) {
        let queries: *mut Query<'r> = self.tensors.cast();
        // From the last one: a result is not before its query, and overwrites only those that were read.
        for index in (0..self.requests.len()).rev() {
            let tensor = match home {
                // SAFETY: inside the memory; this query was not overwritten.
                Some(home) => Tensor::of(unsafe { &*queries.add(index) }.info(), home),
                None => Tensor::MISSING,
            };
            // SAFETY: inside the memory.
            unsafe { self.tensors.add(index).write(tensor) };
        }
    }
}

const _: () =
    assert!(align_of::<Query<'_>>() <= align_of::<Tensor>(), "a query can be where its result will be");
