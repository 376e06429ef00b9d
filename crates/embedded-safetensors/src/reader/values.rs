//! Reads the elements of a tensor as values of the caller's type.

use super::{ReadAt, form, read_part};
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::io::ReadError;
use crate::reader::region::sealed::{Block, Run};
use crate::reader::region::{Contiguous, Region, Until};
use crate::util::bytes::{front, low_usize};
use crate::values::convert::{Conversion, Element};
use crate::values::dtypes::{Dtypes, Lossless, One, Rounded, check_dtype};
use crate::values::native::bytes_of_mut;
use core::marker::PhantomData;
#[cfg(feature = "std")]
use std::vec::Vec;

/// Reads elements as numbers of your type, such as `f32` or `i32`: all elements of a tensor, some of its
/// rows, or a slice.
///
/// The table at [`Element`] lists the types for each dtype. Every value is exact; a conversion that could
/// lose something is an error, unless you call [`rounded`](Self::rounded). You can read any number of
/// elements, also of 4 and 6 bits. A C64 tensor is read as F32, real parts first, so each element has two
/// values. All counts and positions here are in values.
///
/// After an error, the buffer may hold anything. The reader is unchanged, and you can repeat the call.
///
/// # Cancel safety
/// The same holds after a dropped future.
///
/// # Memory
/// That of the storage and of `R`, the arrangement of the elements.
///
/// # Reads
/// There is no intermediate buffer: the bytes are read into the memory of the values and converted there. A
/// call for contiguous elements makes one read, if the storage returns as many bytes as requested, with two
/// exceptions. More than 64 KiB of values that need conversion are read in blocks of that size. Elements of
/// 64 bits that become `f32` are read in several steps, each for half of the values that are left.
///
/// # Type parameters
/// `R` says how the elements are arranged, and `D` which dtypes can be read. It is part of the type, so that
/// a program contains code only for the conversions that it needs: none that rounds unless it calls
/// [`rounded`](Self::rounded), and that of one dtype after [`of`](Self::of).
///
/// # Example
///
/// ```
/// # use embedded_safetensors::Model;
/// # let storage = &include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/network.safetensors"))[..];
/// # let mut model = Model::open(storage, &mut [0; 64])?;
/// # let bias = model.find("fc2.bias", &mut [0; 64])?.ok_or("no bias")?;
/// let mut values = model.reader(&bias)?.values(); // or `values().rounded()`
/// let mut few = [0.0_f32; 3];
/// while let part @ [_, ..] = values.read(&mut few)? {
///     println!("{part:?}"); // 3, 3 and 2 values
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[form]
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Values<S, R = Contiguous, D = Lossless> {
    pub(crate) source: S,
    pub(crate) region: R,
    pub(crate) dtypes: PhantomData<D>,
}

#[form]
impl<S: ReadAt, R: Region, D: Dtypes> Values<S, R, D> {
    /// Reads only tensors of this dtype, so that the program has no code for others:
    /// [`values().of(F16)?`](crate::values::dtypes).
    ///
    /// # Errors
    /// [`ErrorKind::DtypeMismatch`] when the tensor has another dtype, at its first byte.
    pub fn of<O: One>(self, _: O) -> Result<Values<S, R, O>, Error> {
        check_dtype::<O>(self.dtype(), self.region.start())?;
        Ok(Values { source: self.source, region: self.region, dtypes: PhantomData })
    }

    /// Rounds to the nearest value, with ties to even, where [`ErrorKind::Lossy`] would be returned
    /// otherwise.
    pub fn rounded(self) -> Values<S, R, Rounded> {
        Values { source: self.source, region: self.region, dtypes: PhantomData }
    }

    /// Returns the dtype of the elements.
    pub fn dtype(&self) -> Dtype {
        self.region.dtype()
    }

    /// Returns how many elements there are, including those already read.
    #[expect(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        self.region.count()
    }

    /// Returns how many elements are before the next one to be read.
    pub fn position(&self) -> u64 {
        self.region.count().wrapping_sub(self.region.remaining())
    }

    /// Returns how many elements are still to be read.
    pub fn remaining(&self) -> u64 {
        self.region.remaining()
    }

    /// Returns the source.
    pub fn into_source(self) -> S {
        self.source
    }

    /// Reads the next values into the front of `out`, as many as fit, and returns that part. It is empty
    /// once all are read.
    ///
    /// In a slice whose runs are read together, a call may read fewer values than fit, but at least one. The
    /// rest of `out` may hold anything afterwards.
    ///
    /// # Errors
    /// [`ErrorKind::Lossy`] when the dtype has values that `T` does not have; [`ErrorKind::NoConversion`];
    /// [`ErrorKind::BufferLength`] when `out` is empty and values are left; those of the storage;
    /// [`ReadError::UnexpectedEof`].
    pub async fn read<'b, T: Element>(&mut self, out: &'b mut [T]) -> Result<&'b [T], ReadError<S::Error>> {
        let conversion = Conversion::of::<D>(self.dtype()).map_err(|kind| kind.at(self.region.start()))?;
        if out.is_empty() && self.remaining() > 0 {
            let needed = size_of::<T>() as u64;
            return Err(ErrorKind::BufferLength { needed, capacity: 0 }.at(self.region.offset()).into());
        }
        let count = fill(&mut self.source, &mut self.region, conversion, out, Until::Cut).await?;
        Ok(out.get(..count).unwrap_or_default())
    }

    /// Fills `out` with the next values.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideElements`] when fewer are left, before anything is read; otherwise as
    /// [`read`](Self::read).
    pub async fn read_exact<T: Element>(&mut self, out: &mut [T]) -> Result<(), ReadError<S::Error>> {
        let conversion = Conversion::of::<D>(self.dtype()).map_err(|kind| kind.at(self.region.start()))?;
        if let Some(beyond @ 1..) = (out.len() as u64).checked_sub(self.remaining()) {
            return Err(self.region.outside(beyond - 1).into());
        }
        fill(&mut self.source, &mut self.region, conversion, out, Until::Full).await?;
        Ok(())
    }

    /// Reads all values that are left into a vector.
    ///
    /// *Memory*: [`remaining`](Self::remaining) values on the heap. If you do not trust the file, check
    /// that number first.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when the allocation fails; otherwise as
    /// [`read_exact`](Self::read_exact).
    #[cfg(feature = "std")]
    pub async fn read_to_vec<T: Element>(&mut self) -> Result<Vec<T>, ReadError<S::Error>> {
        Conversion::<T>::of::<D>(self.dtype()).map_err(|kind| kind.at(self.region.start()))?;
        let (left, mut values) = (self.remaining(), Vec::new());
        let len = usize::try_from(left).unwrap_or(usize::MAX);
        if values.try_reserve_exact(len).is_err() {
            let needed = left.saturating_mul(size_of::<T>() as u64);
            return Err(ErrorKind::BufferLength { needed, capacity: 0 }.at(self.region.offset()).into());
        }
        values.resize(len, T::ZERO);
        self.read_exact(&mut values).await?;
        Ok(values)
    }
}

#[form]
impl<S: ReadAt, D: Dtypes> Values<S, Contiguous, D> {
    /// Continues at element `position`, forwards or backwards.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideElements`] beyond the end; the position is then unchanged.
    pub fn seek(&mut self, position: u64) -> Result<(), Error> {
        self.region.seek(position)
    }

    /// Skips `elements` elements.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn skip(&mut self, elements: u64) -> Result<(), Error> {
        self.region.skip(elements)
    }
}

/// Fills values from a region, advances the region, and returns how many values were filled.
///
/// # Errors
/// Those of the storage; [`ReadError::UnexpectedEof`]. The values may then hold anything, and the region is
/// unchanged.
// Not an `async fn`: its future would store the arguments twice.
#[form]
fn fill<S: ReadAt, R: Region, T: Element>(
    source: &mut S,
    region: &mut R,
    conversion: Conversion<T>,
    values: &mut [T],
    until: Until,
) -> impl Future<Output = Result<usize, ReadError<S::Error>>> {
    let (mut at, mut left) = (region.at(), values);
    async move {
        if let Some(file) = source.in_memory().filter(|_| R::IS_ONE_RUN) {
            left = front(left, region.left(&at));
            let mut block = Block::new(left.len() as u64);
            if let Some(run) = region.next_run(&at, &block, 0) {
                conversion.apply_from(run.part_of(file)?, run.reach.skip, left);
                region.keep(&mut at, &mut block, &run.reach, &mut []);
            }
            left = &mut [];
        }
        // Space for an element that is wider than the last value.
        let mut pair = [T::ZERO; 2];
        while !left.is_empty() {
            let is_alone = conversion.count(left.len()) == 0;
            let room = if is_alone { &mut pair } else { conversion.block(left) };
            let most = region.left(&at).min(conversion.count(room.len()) as u64);
            let (mut block, mut is_last) = (Block::new(most), false);
            while let Some(run) = region.next_run(&at, &block, size_of_val(room)) {
                let Run { offset, begin, len, reach } = run;
                let memory = bytes_of_mut(room).get_mut(begin..).unwrap_or_default();
                read_part(source, offset, memory, 0..len).await?;
                region.keep(&mut at, &mut block, &reach, bytes_of_mut(room));
                is_last = until.is_met(&reach);
                if is_last {
                    break;
                }
            }
            let done = low_usize(block.filled); // at most the length of the room
            conversion.apply(block.skip, front(room, conversion.room(block.filled)));
            if let (true, Some(value)) = (is_alone, left.first_mut()) {
                [*value, _] = pair;
            }
            left = core::mem::take(&mut left).get_mut(done..).unwrap_or_default();
            if is_last || done == 0 {
                break;
            }
        }
        let count = region.remaining().wrapping_sub(region.left(&at));
        region.go(at);
        Ok(low_usize(count))
    }
}
