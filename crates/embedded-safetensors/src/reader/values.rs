//! Elements of a tensor, read as values of a type of the caller's choice.

use super::{ReadAt, form, read_full};
use crate::dtype::Dtype;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::io::ReadError;
use crate::reader::contiguous::Contiguous;
use crate::reader::region::{Fill, Region, Until};
use crate::values::convert::{Conversion, Element, Loss};
#[cfg(feature = "std")]
use std::vec::Vec;

/// Reads the elements of a tensor, of some of its rows or of a slice as values: `f32`, `i32`, whatever [`Element`]
/// lists.
///
/// Each value is exact, or the call is an error; [`rounded`](Self::rounded) allows others. Elements of 4 and 6 bits may be
/// read in any number, from any of them on. A C64 tensor is read as F32, real parts first, and has two values for each element;
/// all numbers of elements here are numbers of values.
///
/// The bytes are read into the memory of the values and turned there, so there is no other buffer. Where the elements lie beside
/// each other, a call is one read of the storage, if that gives all that it is asked for, with two exceptions: more than 64 KiB of
/// values that are not as they lie in the file come in blocks of that size, and elements of 64 bits that become an `f32` in
/// several reads, each for half of the values that are left.
///
/// After an error, and after a future was dropped, the values may hold anything, and nothing else is lost: the reader stands
/// where it stood before the call, and the same call may be made again.
///
/// `R` is where the elements lie. `ROUNDED` is a part of the type so that a program that never rounds has no code for it.
///
/// *Memory*: that of `R` and the source.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Values<S, R = Contiguous, const ROUNDED: bool = false> {
    source: S,
    region: R,
}

#[form]
impl<S: ReadAt, R: Region> Values<S, R> {
    pub(crate) const fn new(source: S, region: R) -> Self {
        Self { source, region }
    }
}

#[form]
impl<S: ReadAt, R: Region, const ROUNDED: bool> Values<S, R, ROUNDED> {
    /// Rounds values that a type does not have to the nearest, of two as near ones to the even one, where there would be
    /// the error [`ErrorKind::Lossy`].
    pub fn rounded(self) -> Values<S, R, true> {
        Values { source: self.source, region: self.region }
    }

    /// The type of the elements.
    pub fn dtype(&self) -> Dtype {
        self.region.dtype()
    }

    /// How many elements there are, the ones that were read included.
    #[expect(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        self.region.count()
    }

    /// How many elements come before the next one to be read.
    pub fn position(&self) -> u64 {
        self.region.count().wrapping_sub(self.region.remaining())
    }

    /// How many elements are still to be read.
    pub fn remaining(&self) -> u64 {
        self.region.remaining()
    }

    /// Gives the source back.
    pub fn into_source(self) -> S {
        self.source
    }

    /// Reads the next values into the front of `out`, as many as fit, and returns that part of it: an empty one once all
    /// are read. It waits until they are there. From a slice come fewer where its runs are read together, and one at the least.
    ///
    /// # Errors
    /// [`ErrorKind::Lossy`] when the dtype has values that `T` does not have; [`ErrorKind::NoConversion`];
    /// [`ErrorKind::BufferLength`] when `out` is empty and not all are read; those of the storage;
    /// [`ReadError::UnexpectedEof`].
    ///
    /// # Cancel safety
    /// When the future is dropped, the reader stands where it stood. Make the call again.
    pub async fn read<'b, T: Element>(&mut self, out: &'b mut [T]) -> Result<&'b [T], ReadError<S::Error>> {
        let conversion = self.region.conversion(Self::LOSS)?;
        self.region.see_room(out)?;
        let room = self.region.room(out);
        let count = fill(&mut self.source, &mut self.region, conversion, room, Until::Cut).await?;
        Ok(out.get(..count).unwrap_or_default())
    }

    /// Fills `out` with the next values. It waits until they are there.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideElements`] when fewer are left, before anything is read; otherwise as [`read`](Self::read).
    ///
    /// # Cancel safety
    /// When the future is dropped, the reader stands where it stood. Make the call again.
    pub async fn read_exact<T: Element>(&mut self, out: &mut [T]) -> Result<(), ReadError<S::Error>> {
        let conversion = self.region.conversion(Self::LOSS)?;
        self.region.see_left(out.len())?;
        fill(&mut self.source, &mut self.region, conversion, out, Until::Full).await?;
        Ok(())
    }

    /// Reads all values that are left.
    ///
    /// *Memory*: [`remaining`](Self::remaining) values on the heap. Look at that first where the file is not yours.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when the heap has no room for them; otherwise as [`read_exact`](Self::read_exact).
    ///
    /// # Cancel safety
    /// When the future is dropped, the reader stands where it stood. Make the call again.
    #[cfg(feature = "std")]
    pub async fn read_to_vec<T: Element>(&mut self) -> Result<Vec<T>, ReadError<S::Error>> {
        self.region.conversion::<T>(Self::LOSS)?;
        let mut values = self.region.vec()?;
        self.read_exact(&mut values).await?;
        Ok(values)
    }

    const LOSS: Loss = if ROUNDED { Loss::Rounded } else { Loss::None };
}

#[form]
impl<S: ReadAt, const ROUNDED: bool> Values<S, Contiguous, ROUNDED> {
    /// Goes on at element `position`, forwards or backwards.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideElements`] beyond the end; the reader then stays where it is.
    pub fn seek(&mut self, position: u64) -> Result<(), Error> {
        self.region.seek(position)
    }

    /// Goes on `elements` further.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn skip(&mut self, elements: u64) -> Result<(), Error> {
        self.region.skip(elements)
    }
}

/// Fills values from a region, says how many, and moves the region to after them.
///
/// # Errors
/// Those of the storage; [`ReadError::UnexpectedEof`]. The values may then hold anything, and the region is as it was.
// Not an `async fn`: the future of one would hold what it is given twice.
#[form]
fn fill<S: ReadAt, R: Region, T: Element>(
    source: &mut S,
    region: &mut R,
    conversion: Conversion<T>,
    values: &mut [T],
    until: Until,
) -> impl Future<Output = Result<usize, ReadError<S::Error>>> {
    let asked = values.len();
    let mut filling = region.fill(conversion, values, until);
    async move {
        if let Some(outcome) = source.in_memory().and_then(|file| filling.turn_from(file)) {
            outcome?;
            return Ok(filling.end(region, asked));
        }
        while let Some((offset, bytes)) = filling.bytes(region) {
            read_full(source, offset, bytes).await?;
            filling.turn(region);
        }
        Ok(filling.end(region, asked))
    }
}
