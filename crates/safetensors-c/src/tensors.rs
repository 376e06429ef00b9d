//! Requests, tensors and dtypes as C sees them.

use crate::error::{Cause, Misuse};
use crate::pointers::{Memory, array, check_all, memory, text};
use crate::storage::Storage;
use core::ffi::c_char;
use core::marker::PhantomData;
use core::ops::Range;
use embedded_safetensors::query::Query;
use embedded_safetensors::tensor::{Located, Location, MAX_RANK};
use embedded_safetensors::{Dtype, Error, ErrorKind, Model, Shape, TensorInfo};

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

/// Returns the bit of a dtype.
const fn bit(dtype: Dtype) -> u32 {
    1 << dtype as u32
}

/// Returns how many elements a tensor has, if the number fits.
#[inline(never)] // 64-bit numbers take much flash
fn elements(dims: &[u64]) -> Option<u64> {
    dims.iter().try_fold(1, |elements: u64, dim| elements.checked_mul(*dim))
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
        let rank = if self.rank == ANY_RANK { 0 } else { self.rank.into() };
        let dims = self.shape.get(..rank).ok_or(Misuse::Rank)?;
        // SAFETY: the caller's promise.
        let name = unsafe { text(self.name)? };
        if self.dtypes >> DTYPES != 0 {
            return Err(Misuse::Dtype);
        }
        // The first one also in place of each that is not in the set.
        let (set, first) = (self.dtypes, self.dtypes.trailing_zeros() as usize);
        let dtypes: [Dtype; DTYPES] = core::array::from_fn(|index| {
            let index = if set == 0 || set >> index & 1 != 0 { index } else { first };
            Dtype::ALL.get(index).copied().unwrap_or(Dtype::BOOL)
        });
        let query = if self.optional == 0 { Query::required(name) } else { Query::optional(name) };
        let query = query.dtypes(&dtypes);
        Ok(if self.rank == ANY_RANK { query } else { query.shape(dims) })
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
    pub const MISSING: Self =
        Self { shape: [0; MAX_RANK], offset: 0, bytes: 0, elements: 0, dtype: 0, rank: 0, private: [0; 4] };

    /// Describes a tensor with these dimensions and this range of the data; it was missing.
    pub fn fill(&mut self, dims: &[u64], dtype: Dtype, range: Range<u64>, home: Home) {
        self.private = [home.header.into(), 0, 0, 0];
        self.offset = home.data_start.wrapping_add(range.start);
        self.bytes = range.end.wrapping_sub(range.start);
        // Validated: the number of elements fits.
        self.elements = elements(dims).unwrap_or_default();
        self.dtype = bit(dtype);
        for (to, dim) in self.shape.iter_mut().zip(dims) {
            *to = *dim;
            self.rank += 1;
        }
    }

    /// Returns the tensor that C passes, which may have changed all of it.
    ///
    /// # Errors
    /// It is missing, cannot exist, was found in a model with another header, or ends after the data.
    pub fn checked(&self, model: &Model<Storage>) -> Result<Checked<'_>, Cause> {
        let (home, [header, ..]) = (Home::of(model), self.private);
        if self.dtype == 0 {
            return Err(Misuse::Missing.into());
        }
        if header != 0 && header != u64::from(home.header) {
            return Err(Misuse::Tensor.into());
        }
        let rank = usize::try_from(self.rank).unwrap_or(usize::MAX);
        let (dims, dtype) = (self.shape.get(..rank).ok_or(Misuse::Rank)?, dtype(self.dtype)?);
        let bits = elements(dims).and_then(|elements| elements.checked_mul(dtype.bits().into()));
        let begin = self.offset.checked_sub(home.data_start).ok_or(Misuse::Tensor)?;
        let end = begin.checked_add(self.bytes).ok_or(Misuse::Tensor)?;
        if bits.is_none() || bits != self.bytes.checked_mul(8) {
            return Err(Misuse::Tensor.into());
        }
        let data_len = model.summary().data_len;
        if end > data_len {
            return Err(ErrorKind::OutsideData { end, data_len }.at(home.data_start + data_len).into());
        }
        Ok(Checked { dtype, dims, begin, end, offset: self.offset })
    }
}

/// A tensor that C passes.
pub struct Checked<'t> {
    dtype: Dtype,
    dims: &'t [u64],
    begin: u64,
    end: u64,
    pub offset: u64,
}

impl Checked<'_> {
    pub fn bytes(&self) -> u64 {
        self.end - self.begin
    }
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
#[derive(Clone, Copy)]
pub struct Lookup<'r> {
    tensors: *mut Tensor,
    count: usize,
    requests: PhantomData<&'r Request>,
}

impl<'r> Lookup<'r> {
    /// Writes the queries into the memory of the tensors.
    ///
    /// # Errors
    /// A pointer is null or misaligned, or two of these or of the others overlap; a request is not valid:
    /// then no tensor was found.
    ///
    /// # Safety
    /// `requests` points to `count` requests, and `tensors` to memory for as many tensors that nothing else
    /// uses, both for as long as this lives.
    pub unsafe fn new(
        [object, storage, window]: [Memory; 3],
        (requests, tensors, count): (*const Request, *mut Tensor, usize),
    ) -> Result<Self, Cause> {
        check_all(&[object, storage, window, memory(requests, count), memory(tensors, count)])?;
        let lookup = Self { tensors, count, requests: PhantomData };
        lookup.forget();
        // SAFETY: checked; the rest is the caller's promise.
        for (index, request) in unsafe { array::<'r, _>(requests, count) }.iter().enumerate() {
            // SAFETY: requests of C, as the caller promises.
            match unsafe { request.query() } {
                // SAFETY: inside the memory, as a query is not larger than a tensor; both are aligned to 8.
                Ok(query) => unsafe { write(tensors.cast::<Query<'r>>().add(index), &query) },
                Err(misuse) => {
                    lookup.forget();
                    return Err(Cause::InTable(misuse, "requests", index));
                }
            }
        }
        Ok(lookup)
    }

    /// Returns the queries.
    ///
    /// # Safety
    /// Nothing else uses them, and they are not used after [`end`](Self::end) and [`forget`](Self::forget).
    pub unsafe fn queries(&self) -> &'r mut [Query<'r>] {
        match self.count {
            0 => &mut [],
            // SAFETY: `new` has written all of them; the rest is the caller's promise.
            count => unsafe { core::slice::from_raw_parts_mut(self.tensors.cast(), count) },
        }
    }

    /// Replaces the queries by their results.
    pub fn end(self, home: Home) {
        let queries: *mut Query<'r> = self.tensors.cast();
        // From the last one: a result is not before its query, and overwrites only those that were read.
        for index in (0..self.count).rev() {
            // SAFETY: inside the memory; this query was not overwritten.
            let query = unsafe { &*queries.add(index) };
            let mut tensor = Tensor::MISSING;
            if let Some(info) = query.info() {
                tensor.fill(query.dims(), info.dtype(), info.begin()..info.end(), home);
            }
            // SAFETY: inside the memory.
            unsafe { write(self.tensors.add(index), &tensor) };
        }
    }

    /// Writes into the memory that no tensor was found.
    pub fn forget(self) {
        for index in 0..self.count {
            // SAFETY: inside the memory.
            unsafe { self.tensors.add(index).write(Tensor::MISSING) };
        }
    }
}

const _: () =
    assert!(align_of::<Query<'_>>() <= align_of::<Tensor>(), "a query can be where its result will be");

/// Writes a value as bytes: for memory that is aligned to 8, ARM programs would link another function.
///
/// # Safety
/// As `write` of the pointer.
unsafe fn write<T: Copy>(to: *mut T, value: &T) {
    // SAFETY: the caller's promise.
    unsafe { core::ptr::from_ref(value).cast::<u8>().copy_to_nonoverlapping(to.cast(), size_of::<T>()) };
}
