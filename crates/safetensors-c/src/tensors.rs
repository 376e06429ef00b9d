//! Requests, tensors and dtypes as C sees them.

use crate::error::{Cause, Misuse};
use crate::pointers::{array, check_array, text};
use core::ffi::c_char;
use embedded_safetensors::{Dtype, ErrorKind, Shape, TensorInfo, query::Query, tensor::MAX_RANK};

/// The dtypes, by the numbers of their bits.
const DTYPES: [Dtype; 22] = [
    Dtype::BOOL,
    Dtype::F4,
    Dtype::F6_E2M3,
    Dtype::F6_E3M2,
    Dtype::U8,
    Dtype::I8,
    Dtype::F8_E5M2,
    Dtype::F8_E4M3,
    Dtype::F8_E8M0,
    Dtype::F8_E4M3FNUZ,
    Dtype::F8_E5M2FNUZ,
    Dtype::I16,
    Dtype::U16,
    Dtype::F16,
    Dtype::BF16,
    Dtype::I32,
    Dtype::U32,
    Dtype::F32,
    Dtype::C64,
    Dtype::F64,
    Dtype::I64,
    Dtype::U64,
];

const _: () = assert!(Dtype::ALL.len() == DTYPES.len(), "the header has all dtypes");

/// Returns the only dtype of a set.
///
/// # Errors
/// There is none or more than one, or it is unknown.
pub fn dtype(bits: u32) -> Result<Dtype, Misuse> {
    let dtype = DTYPES.get(bits.trailing_zeros() as usize);
    dtype.copied().filter(|_| bits.is_power_of_two()).ok_or(Misuse::Dtype)
}

/// Returns the bit of a dtype; 0, which stands for none, if it is not in the table.
pub fn bit(dtype: Dtype) -> u32 {
    (0..).zip(DTYPES).find(|(_, other)| *other == dtype).map_or(0, |(bit, _)| 1 << bit)
}

/// `sft_request`.
#[repr(C)]
pub struct Request {
    name: *const c_char,
    dtypes: u32,
    rank: u8,
    optional: u8,
    shape: [u64; MAX_RANK],
}

const ANY_RANK: u8 = 255;

impl Request {
    /// Returns the query.
    ///
    /// # Errors
    /// The name, the dtypes or the rank are none.
    ///
    /// # Safety
    /// The name is a string, or null. It and the request live as long as the query is used.
    pub unsafe fn query(&self) -> Result<Query<'_>, Misuse> {
        // SAFETY: the caller's promise.
        let name = unsafe { text(self.name)? };
        let query = if self.optional == 0 { Query::required(name) } else { Query::optional(name) };
        let query = match self.dtypes {
            0 => query,
            bits => {
                let (mut dtypes, mut count) = ([Dtype::BOOL; DTYPES.len()], 0);
                let asked = (0..).zip(DTYPES).filter(|(bit, _)| bits >> bit & 1 == 1);
                for (to, (_, dtype)) in dtypes.iter_mut().zip(asked) {
                    (*to, count) = (dtype, count + 1);
                }
                if count != bits.count_ones() as usize {
                    return Err(Misuse::Dtype);
                }
                query.dtypes(dtypes.get(..count).unwrap_or_default())
            }
        };
        match self.rank {
            ANY_RANK => Ok(query),
            rank => Ok(query.shape(self.shape.get(..rank.into()).ok_or(Misuse::Rank)?)),
        }
    }
}

/// `sft_tensor`, which has enough memory for a query.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Tensor {
    shape: [u64; MAX_RANK],
    offset: u64,
    bytes: u64,
    elements: u64,
    dtype: u32,
    rank: u32,
    private: [u64; 4],
}

crate::abi::fits!(Tensor, 128);
const _: () = assert!(size_of::<Query<'_>>() <= size_of::<Tensor>(), "a query fits where its result will be");

impl Tensor {
    const MISSING: Self =
        Self { shape: [0; MAX_RANK], offset: 0, bytes: 0, elements: 0, dtype: 0, rank: 0, private: [0; 4] };

    /// Returns what C sees of a tensor; without one, that it is missing.
    pub fn of(info: Option<TensorInfo>, data_start: u64) -> Self {
        let Some(info) = info else { return Self::MISSING };
        let mut tensor = Self {
            offset: data_start.wrapping_add(info.begin()),
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

    /// Returns the tensor that C passes. It may have changed everything: what it describes is validated.
    ///
    /// # Errors
    /// It is missing, or cannot exist.
    pub fn info(&self, data_start: u64) -> Result<TensorInfo, Cause> {
        if self.dtype == 0 {
            return Err(Misuse::Missing.into());
        }
        let rank = usize::try_from(self.rank).unwrap_or(usize::MAX);
        let dims = self.shape.get(..rank).ok_or(Misuse::Rank)?;
        let at = |kind: ErrorKind| Cause::Format(kind.at(self.offset));
        let shape = Shape::new(dims).map_err(at)?;
        let begin = self.offset.checked_sub(data_start).ok_or(Misuse::Tensor)?;
        let end = begin.checked_add(self.bytes).ok_or(Misuse::Tensor)?;
        TensorInfo::new(dtype(self.dtype)?, shape, begin, end).map_err(at)
    }
}

/// The memory of tensors, in which queries are while they are looked up.
pub struct Lookup<'r> {
    tensors: *mut Tensor,
    requests: &'r [Request],
}

impl<'r> Lookup<'r> {
    /// # Errors
    /// A pointer is null or misaligned.
    ///
    /// # Safety
    /// `requests` points to `count` requests, and `tensors` to memory for as many tensors that nothing else
    /// uses, both for as long as this lives.
    pub unsafe fn new(requests: *const Request, tensors: *mut Tensor, count: usize) -> Result<Self, Misuse> {
        if count > 0 {
            check_array(tensors, count)?;
        }
        // SAFETY: the caller's promise.
        let requests = unsafe { array(requests, count)? };
        Ok(Self { tensors, requests })
    }

    /// Writes the queries into the memory.
    ///
    /// # Errors
    /// A request is none.
    fn ask(&self) -> Result<(), Misuse> {
        for (index, request) in self.requests.iter().enumerate() {
            // SAFETY: requests of C, as `new` demands.
            let query = unsafe { request.query()? };
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

    /// Looks up all queries, and leaves their results in the memory; of those that were not found, also after
    /// an error, that they are missing.
    ///
    /// # Errors
    /// A request is none; those of `find`.
    pub fn run<T>(
        self,
        find: impl FnOnce(&mut [Query<'r>]) -> Result<T, Cause>,
        data_start: impl FnOnce(&T) -> u64,
    ) -> Result<T, Cause> {
        if let Err(misuse) = self.ask() {
            self.forget();
            return Err(misuse.into());
        }
        let queries: *mut Query<'r> = self.tensors.cast();
        let all: &mut [Query<'r>] = match self.requests.len() {
            0 => &mut [],
            // SAFETY: `ask` has written all of them.
            count => unsafe { core::slice::from_raw_parts_mut(queries, count) },
        };
        let outcome = find(all);
        let data_start = outcome.as_ref().map_or(0, data_start);
        // From the last one: a result is not before its query, and overwrites only those that were read.
        for index in (0..self.requests.len()).rev() {
            // SAFETY: inside the memory; this query was not overwritten.
            let found = unsafe { queries.add(index).read() }.info().filter(|_| outcome.is_ok());
            // SAFETY: inside the memory.
            unsafe { self.tensors.add(index).write(Tensor::of(found, data_start)) };
        }
        outcome
    }
}

const _: () =
    assert!(align_of::<Query<'_>>() <= align_of::<Tensor>(), "a query can be where its result will be");
