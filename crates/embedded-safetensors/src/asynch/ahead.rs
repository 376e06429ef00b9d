//! Reads tensors while earlier parts of them are used.

use super::{Model, ReadAt, read_part};
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::io::ReadError;
use crate::reader::region::Contiguous;
use crate::reader::region::sealed::{Block, Reach, Region as _, Run};
use crate::tensor::span::{Located, Span};
use crate::util::bytes::{front, low_usize, move_within, quotient};
use crate::values::convert::{Conversion, Element, bits_of_value, values_in, values_of_element};
use crate::values::dtypes::{Dtypes, Lossless, One, Rounded, U8, check_dtype};
use crate::values::native::bytes_of_mut;
use core::future::poll_fn;
use core::marker::PhantomData;
use core::mem::{replace, swap};
use core::num::NonZero;
use core::pin::{Pin, pin};
use core::task::Poll;

/// Reads tensors one after another, each part while you use the one before: double buffering.
///
/// [`for_each`](Self::for_each) calls your closure with one buffer while the storage fills the other. If the
/// driver has DMA, a network takes the longer of the times for reading and for computing, not their sum.
/// During the last part of a tensor, the next tensor is read.
///
/// A part has as many whole rows as fit into the smaller buffer. A row has all elements with the same index
/// of axis 0. If no row fits, a part has as many elements of one row as fit.
///
/// # How far a read gets
/// Each read is polled before your closure runs. After that it is polled whenever the closure awaits
/// something. A driver that starts a transfer with its first poll needs no more: your closure may compute
/// without an `await`. A driver that needs several polls, to send a command first, is only served when your
/// closure awaits, so [yield] every few rows. With [`in_units`](Self::in_units), a
/// [`NorFile`](super::NorFile) reads each part by one call of its driver.
///
/// [yield]: https://docs.rs/embassy-futures/latest/embassy_futures/fn.yield_now.html
///
/// # Cancel safety
/// A part counts as used when your closure has returned. If the future is dropped, the next call begins with
/// the first part that was not used; that part and the one after it are read again.
///
/// *Memory*: at most 64 bytes.
///
/// # Example
///
/// ```
/// use embedded_safetensors::asynch::{Model, ReadAt};
/// use embedded_safetensors::{ReadError, query::Query};
///
/// /// Computes two layers; `add` adds the products of whole rows to the sums.
/// async fn run<S: ReadAt>(
///     model: &mut Model<S>,
///     layers: &[Query<'_>; 2],
///     mut add: impl FnMut(usize, u64, &[f32]),
/// ) -> Result<(), ReadError<S::Error>> {
///     let (mut a, mut b) = ([0.0; 512], [0.0; 512]);
///     let mut ahead = model.read_ahead(layers)?;
///     ahead.for_each([&mut a, &mut b], async |part| add(part.tensor, part.first, part.values)).await
/// }
/// ```
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ReadAhead<'a, S, L, D = Lossless> {
    source: &'a mut S,
    data_start: u64,
    tensors: &'a [L],
    /// The first element that was not used.
    at: Place,
    /// The length of the storage's units, less one.
    mask: usize,
    as_bytes: bool,
    dtypes: PhantomData<D>,
}

/// A part of a tensor, in a buffer.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Part<'b, T> {
    /// The index of the tensor in the list.
    pub tensor: usize,
    /// The index of the first value in the tensor.
    pub first: u64,
    /// The values. You may change them.
    pub values: &'b mut [T],
}

/// An element of one of the tensors.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Place {
    tensor: usize,
    element: u64,
}

/// How a tensor is cut into parts, counted in values.
struct Layout {
    region: Contiguous,
    row: NonZero<u64>,
    /// The smallest number that is whole elements.
    group: NonZero<usize>,
}

/// What to read.
struct Fetch<T: Element> {
    from: Place,
    /// How many elements to read.
    count: u64,
    /// Where they begin in the file.
    offset: u64,
    /// How many bits of the first byte are before the first element.
    skip: u8,
    /// The byte of the buffer to read to.
    begin: usize,
    /// How many bytes to read.
    len: usize,
    conversion: Conversion<T>,
}

impl<S: ReadAt> Model<S> {
    /// Returns a reader of these tensors that reads while you compute.
    ///
    /// # Errors
    /// As [`reader`](Self::reader), for the first tensor with an error.
    pub fn read_ahead<'a, L: Located>(&'a mut self, tensors: &'a [L]) -> Result<ReadAhead<'a, S, L>, Error> {
        tensors.iter().try_for_each(|tensor| self.reader(tensor).map(drop))?;
        let (data_start, source) = (self.summary().data_start, &mut self.source);
        let at = Place { tensor: 0, element: 0 };
        Ok(ReadAhead { source, data_start, tensors, at, mask: 0, as_bytes: false, dtypes: PhantomData })
    }
}

impl<'a, S: ReadAt, L: Located, D: Dtypes> ReadAhead<'a, S, L, D> {
    /// Reads whole units of the storage, such as those of flash or the sectors of a card. Then each part is
    /// read with one call, to its place in the buffer. The buffers have space for the rest of a part's first
    /// and last unit; if a whole row does not fit with these, it is read in several calls.
    ///
    /// # Errors
    /// [`ErrorKind::Block`] unless `unit` is a power of two.
    pub fn in_units(self, unit: usize) -> Result<Self, Error> {
        match unit.is_power_of_two() {
            true => Ok(Self { mask: unit - 1, ..self }),
            false => Err(ErrorKind::Block { asked: unit as u64 }.at(self.data_start)),
        }
    }

    /// Reads only tensors of this dtype, as [`Values::of`](super::Values::of) does.
    ///
    /// # Errors
    /// [`ErrorKind::DtypeMismatch`] when a tensor has another dtype, at its first byte.
    pub fn of<O: One>(self, _: O) -> Result<ReadAhead<'a, S, L, O>, Error> {
        for tensor in self.tensors {
            let place = tensor.locate()?;
            check_dtype::<O>(place.dtype, self.data_start.wrapping_add(place.begin))?;
        }
        Ok(self.with_dtypes())
    }

    /// Rounds to the nearest value, as [`Values::rounded`](super::Values::rounded) does.
    pub fn rounded(self) -> ReadAhead<'a, S, L, Rounded> {
        self.with_dtypes()
    }

    /// Reads tensors of any dtype as bytes, as they are in the file: each byte is a value. Rows of elements
    /// of 4 or 6 bits that do not consist of whole bytes do not count as rows. Begins with the first tensor.
    pub fn as_bytes(self) -> ReadAhead<'a, S, L, U8> {
        let at = Place { tensor: 0, element: 0 };
        Self { as_bytes: true, at, ..self }.with_dtypes()
    }

    fn with_dtypes<O: Dtypes>(self) -> ReadAhead<'a, S, L, O> {
        let Self { source, data_start, tensors, at, mask, as_bytes, .. } = self;
        ReadAhead { source, data_start, tensors, at, mask, as_bytes, dtypes: PhantomData }
    }

    /// Reads all tensors, from the first value that was not used on, and calls `each` with every part. The
    /// smaller buffer has space for one element.
    ///
    /// The closure cannot end this early. If it fails, let it keep the error and ignore what follows.
    ///
    /// # Errors
    /// Before anything is read: [`ErrorKind::Lossy`] when the dtype of a tensor has values that `T` does not
    /// have; [`ErrorKind::NoConversion`]; [`ErrorKind::BufferLength`] when no element fits into a buffer;
    /// [`ErrorKind::OutsideTensor`] when the dimensions are those of another tensor, which is possible only
    /// with your own [`Located`]. Then those of the storage; [`ReadError::UnexpectedEof`]. After these, every
    /// part that was read has been used, and a call continues with the one that failed.
    // Not an `async fn`: its future would store the arguments twice.
    pub fn for_each<T: Element>(
        &mut self,
        buffers: [&mut [T]; 2],
        mut each: impl AsyncFnMut(Part<'_, T>),
    ) -> impl Future<Output = Result<(), ReadError<S::Error>>> {
        let [mut full, mut free] = buffers.map(|buffer| aligned(buffer, self.mask));
        async move {
            let room = full.len().min(free.len());
            for tensor in self.at.tensor..self.tensors.len() {
                self.next::<T>(Place { tensor, element: 0 }, room)?;
            }
            let mut next = self.next(self.at, room)?;
            if let Some(fetch) = &next {
                fetch.read(self.source, full).await?;
            }
            while let Some(fetch) = next {
                next = self.next(fetch.end(), room)?;
                {
                    let at = &mut self.at;
                    let mut call = pin!(async {
                        each(fetch.part(full)).await;
                        *at = fetch.end();
                    });
                    match &next {
                        Some(next) => join(pin!(next.read(self.source, free)), call.as_mut()).await?,
                        None => call.await,
                    }
                }
                swap(&mut full, &mut free);
            }
            Ok(())
        }
    }

    /// Returns what to read next into a buffer for so many values, or `None` after the last tensor.
    fn next<T: Element>(&self, mut from: Place, room: usize) -> Result<Option<Fetch<T>>, Error> {
        while let Some(tensor) = self.tensors.get(from.tensor) {
            let span = Span::of(tensor.locate()?, self.data_start);
            let mut layout = Layout::of(&span, tensor.dims(), self.as_bytes)?;
            let conversion = Conversion::of::<D>(layout.region.dtype());
            let conversion = conversion.map_err(|kind| kind.at(span.start()))?;
            layout.region.seek(from.element)?;
            if layout.region.remaining() > 0 {
                return layout.fetch(from, conversion, room, self.mask).map(Some);
            }
            from = Place { tensor: from.tensor + 1, element: 0 };
        }
        Ok(None)
    }
}

impl Layout {
    fn of(tensor: &Span, dims: &[u64], as_bytes: bool) -> Result<Self, Error> {
        let row = Contiguous::row_len(tensor, dims)?;
        let (region, row, group) = if as_bytes {
            let (bits, group) = (u64::from(bits_of_value(tensor.dtype())), u64::from(tensor.unit()));
            let bits = row.saturating_mul(bits);
            (Contiguous::bytes(tensor), if bits & 7 == 0 { bits >> 3 } else { group }, group)
        } else {
            (Contiguous::all(tensor), row, values_of_element(tensor.dtype()))
        };
        // Neither is 0 in a tensor that has elements.
        let row = NonZero::new(row).unwrap_or(NonZero::<u64>::MIN);
        let group = NonZero::new(low_usize(group)).unwrap_or(NonZero::<usize>::MIN);
        Ok(Self { region, row, group })
    }

    /// Returns how many values of the rest to read next, if at most so many fit; 0 if no element fits.
    fn cut(&self, from: u64, fitting: u64) -> u64 {
        let (row, left) = (self.row.get(), self.region.remaining());
        let in_row = from - quotient(from, self.row) * row;
        match fitting.min(left) {
            fitting if in_row == 0 && fitting >= row => quotient(fitting, self.row) * row,
            fitting => {
                let fitting = low_usize(fitting.min(row - in_row)); // at most the length of a buffer
                (fitting - fitting % self.group) as u64
            }
        }
    }

    fn fetch<T: Element>(
        &self,
        from: Place,
        conversion: Conversion<T>,
        room: usize,
        mask: usize,
    ) -> Result<Fetch<T>, Error> {
        let (values, bytes) = (conversion.count(room) as u64, room * size_of::<T>());
        let Run { offset, reach, .. } = self.run(from, 1);
        let before = low_usize(offset) & mask;
        // A value that begins inside a byte may end in one more.
        let in_units = (bytes & !mask).saturating_sub(before + usize::from(reach.skip > 0));
        let in_units = self.cut(from.element, values.min(values_fitting(self.region.dtype(), in_units)));
        let all = self.cut(from.element, values);
        let is_row_cut = in_units < self.row.get() && all >= self.row.get();
        let (count, begin) = if in_units == 0 || is_row_cut { (all, 0) } else { (in_units, before) };
        if count == 0 {
            let needed = conversion.room(self.group.get() as u64) * size_of::<T>() as u64;
            return Err(ErrorKind::BufferLength { needed, capacity: bytes as u64 }.at(offset));
        }
        Ok(Fetch { from, count, offset, skip: reach.skip, begin, len: self.run(from, count).len, conversion })
    }

    /// Returns where so many values are in the file.
    fn run(&self, from: Place, count: u64) -> Run {
        let reach = Reach { end: 0, skip: 0, is_cut: false };
        let nothing = Run { offset: 0, begin: 0, len: 0, reach };
        self.region.next_run(&from.element, &Block::new(count), 0).unwrap_or(nothing)
    }
}

/// Returns how many whole values certainly fit into so many bytes.
fn values_fitting(dtype: Dtype, bytes: usize) -> u64 {
    let whole = if bits_of_value(dtype) == 6 { bytes - bytes % 3 } else { bytes };
    values_in(dtype, whole as u64)
}

/// Returns the values from the first one that is aligned for drivers with such units.
fn aligned<T: Element>(values: &mut [T], mask: usize) -> &mut [T] {
    let misaligned = values.as_ptr().addr().wrapping_neg() & mask & 15;
    values.get_mut(misaligned / size_of::<T>()..).unwrap_or_default()
}

impl<T: Element> Fetch<T> {
    async fn read<S: ReadAt>(&self, source: &mut S, buffer: &mut [T]) -> Result<(), ReadError<S::Error>> {
        let part = self.begin..self.begin + self.len;
        read_part(source, self.offset, bytes_of_mut(buffer), part).await?;
        if self.in_place().is_none() {
            move_within(bytes_of_mut(buffer), self.begin, 0, self.len);
            self.conversion.apply(self.skip, front(buffer, self.conversion.room(self.count)));
        }
        Ok(())
    }

    /// Returns where the next part begins.
    fn end(&self) -> Place {
        Place { element: self.from.element + self.count, ..self.from }
    }

    /// Returns the index of the first value if the bytes that were read are values.
    fn in_place(&self) -> Option<usize> {
        let is_value = self.conversion.is_plain() && self.begin.is_multiple_of(size_of::<T>());
        is_value.then_some(self.begin / size_of::<T>())
    }

    /// Returns the part that was read into this buffer.
    fn part<'b>(&self, buffer: &'b mut [T]) -> Part<'b, T> {
        let values = buffer.get_mut(self.in_place().unwrap_or(0)..).unwrap_or_default();
        Part { tensor: self.from.tensor, first: self.from.element, values: front(values, self.count) }
    }
}

/// Awaits both, and polls the first one first. Its future would store other futures twice, so it only borrows
/// them.
async fn join<T>(
    mut first: Pin<&mut impl Future<Output = T>>,
    mut second: Pin<&mut impl Future<Output = ()>>,
) -> T {
    let (mut outcome, mut is_done) = (Poll::Pending, false);
    poll_fn(|context| {
        if outcome.is_pending() {
            outcome = first.as_mut().poll(context);
        }
        is_done = is_done || second.as_mut().poll(context).is_ready();
        if is_done { replace(&mut outcome, Poll::Pending) } else { Poll::Pending }
    })
    .await
}
