//! Reads tensors while earlier parts of them are used.

use super::{Model, ReadAt, read_part};
use crate::error::{Error, ErrorKind};
use crate::io::ReadError;
use crate::reader::region::Contiguous;
use crate::reader::region::sealed::{Block, Region as _, Run};
use crate::tensor::span::{Located, Span};
use crate::util::bytes::{front, low_usize, misaligned, move_within, quotient};
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
/// of axis 0. If no row fits, a row is read in parts of about the same length.
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
/// the first part that was not used; that part and the one after it are read again. After the last part, a
/// call has nothing to do: create another reader for the next run.
///
/// # Threads
/// The future is [`Send`] only if your closure borrows nothing.
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
    dtypes: PhantomData<D>,
}

/// In place of dtypes: tensors are read [as bytes](ReadAhead::as_bytes).
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Bytes;

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
    /// How many bytes of their unit are before them, which are read with them.
    before: usize,
    /// The length of the units, less one; 0 if they are not read whole.
    mask: usize,
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
        for (index, tensor) in tensors.iter().enumerate() {
            self.reader(tensor).map(drop).map_err(|error| error.of_query(index))?;
        }
        let (data_start, source) = (self.summary().data_start, &mut self.source);
        let at = Place { tensor: 0, element: 0 };
        Ok(ReadAhead { source, data_start, tensors, at, mask: 0, dtypes: PhantomData })
    }
}

impl<'a, S: ReadAt, L: Located, D: Dtypes> ReadAhead<'a, S, L, D> {
    /// Reads only tensors of this dtype, as [`Values::of`](super::Values::of) does.
    ///
    /// # Errors
    /// [`ErrorKind::DtypeMismatch`] when a tensor has another dtype, at its first byte.
    pub fn of<O: One>(self, _: O) -> Result<ReadAhead<'a, S, L, O>, Error> {
        for (index, tensor) in self.tensors.iter().enumerate() {
            let place = tensor.locate()?;
            let checked = check_dtype::<O>(place.dtype, self.data_start.wrapping_add(place.begin));
            checked.map_err(|error| error.of_query(index))?;
        }
        Ok(self.with())
    }

    /// Rounds to the nearest value, as [`Values::rounded`](super::Values::rounded) does.
    pub fn rounded(self) -> ReadAhead<'a, S, L, Rounded> {
        self.with()
    }

    /// Reads tensors of any dtype as bytes, as they are in the file. Rows of elements of 4 or 6 bits that do
    /// not consist of whole bytes do not count as rows. Begins with the first tensor.
    pub fn as_bytes(self) -> ReadAhead<'a, S, L, Bytes> {
        ReadAhead { at: Place { tensor: 0, element: 0 }, ..self.with() }
    }

    fn with<O>(self) -> ReadAhead<'a, S, L, O> {
        let Self { source, data_start, tensors, at, mask, .. } = self;
        ReadAhead { source, data_start, tensors, at, mask, dtypes: PhantomData }
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
    pub fn for_each<T: Element>(
        &mut self,
        buffers: [&mut [T]; 2],
        each: impl AsyncFnMut(Part<'_, T>),
    ) -> impl Future<Output = Result<(), ReadError<S::Error>>> {
        self.run::<T, D, false>(buffers, each)
    }
}

impl<S: ReadAt, L: Located> ReadAhead<'_, S, L, Bytes> {
    /// Reads all tensors, as [`for_each`](Self::for_each) does. Each byte counts as a value.
    ///
    /// # Errors
    /// As `for_each`.
    pub fn for_each_bytes(
        &mut self,
        buffers: [&mut [u8]; 2],
        each: impl AsyncFnMut(Part<'_, u8>),
    ) -> impl Future<Output = Result<(), ReadError<S::Error>>> {
        self.run::<u8, U8, true>(buffers, each)
    }
}

impl<S: ReadAt, L: Located, D> ReadAhead<'_, S, L, D> {
    /// Reads whole units of the storage, such as those of flash or the sectors of a card. Then each part is
    /// read with one call, to its place in the buffer. The buffers have space for the rest of a part's first
    /// and last unit, and to align them for the driver. A row that fits only without these is read in several
    /// calls. Storage without [`ReadAt::read_within`] of its own reads the same with and without this.
    ///
    /// # Errors
    /// [`ErrorKind::Block`] unless `unit` is a power of two.
    pub fn in_units(self, unit: usize) -> Result<Self, Error> {
        match unit.is_power_of_two() {
            true => Ok(Self { mask: unit - 1, ..self }),
            false => Err(ErrorKind::Block { asked: unit as u64 }.at(self.data_start)),
        }
    }

    // Not an `async fn`: its future would store the arguments twice.
    fn run<T: Element, O: Dtypes, const AS_BYTES: bool>(
        &mut self,
        buffers: [&mut [T]; 2],
        mut each: impl AsyncFnMut(Part<'_, T>),
    ) -> impl Future<Output = Result<(), ReadError<S::Error>>> {
        let [mut full, mut free] = buffers;
        async move {
            let room = self.room(full, free);
            for tensor in self.at.tensor..self.tensors.len() {
                self.next::<T, O, AS_BYTES>(Place { tensor, element: 0 }, room)?;
            }
            let mut next = self.next::<T, O, AS_BYTES>(self.at, room)?;
            if let Some(fetch) = &next {
                fetch.read(self.source, full).await?;
            }
            while let Some(fetch) = next {
                next = self.next::<T, O, AS_BYTES>(fetch.end(), self.room(full, free))?;
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

    /// Returns how many values fit into the smaller buffer, and how many bytes are at most before the first
    /// one that is aligned.
    fn room<T>(&self, one: &[T], other: &[T]) -> (usize, usize) {
        let misaligned = misaligned(one, self.mask + 1).max(misaligned(other, self.mask + 1));
        (one.len().min(other.len()), misaligned)
    }

    /// Returns what to read next into a buffer, or `None` after the last tensor.
    fn next<T: Element, O: Dtypes, const AS_BYTES: bool>(
        &self,
        mut from: Place,
        room: (usize, usize),
    ) -> Result<Option<Fetch<T>>, Error> {
        while let Some(tensor) = self.tensors.get(from.tensor) {
            let span = Span::of(tensor.locate()?, self.data_start);
            let mut layout = Layout::of::<AS_BYTES>(&span, tensor.dims())?;
            let conversion = Conversion::of::<O>(layout.region.dtype());
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
    fn of<const AS_BYTES: bool>(tensor: &Span, dims: &[u64]) -> Result<Self, Error> {
        let row = Contiguous::row_len(tensor, dims)?;
        let (region, row, group) = if AS_BYTES {
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
            // What is left of a row is cut into as few parts as possible, of about the same length.
            fitting => {
                let (fitting, left) = (low_usize(fitting), row - in_row);
                let most = (fitting - fitting % self.group) as u64;
                let Some(most) = NonZero::new(most).filter(|most| most.get() < left) else {
                    return left.min(most);
                };
                let parts = NonZero::<u64>::MIN.saturating_add(quotient(left - 1, most));
                let equal = low_usize(quotient(left - 1, parts)) + self.group.get();
                (equal - equal % self.group) as u64
            }
        }
    }

    fn fetch<T: Element>(
        &self,
        from: Place,
        conversion: Conversion<T>,
        (room, misaligned): (usize, usize),
        mask: usize,
    ) -> Result<Fetch<T>, Error> {
        let (values, bytes) = (conversion.count(room) as u64, room * size_of::<T>());
        let run = |count| self.region.next_run(&from.element, &Block::new(count), 0);
        let (offset, skip) = run(1).map_or((0, 0), |run| (run.offset, run.reach.skip));
        let before = low_usize(offset) & mask;
        // A value that begins inside a byte may end in one more.
        let units = bytes.saturating_sub(misaligned) & !mask;
        let (dtype, space) = (self.region.dtype(), units.saturating_sub(before + usize::from(skip > 0)));
        let space = if bits_of_value(dtype) == 6 { space - space % 3 } else { space };
        let fitting = values_in(dtype, space as u64);
        let in_units = self.cut(from.element, values.min(fitting));
        let all = self.cut(from.element, values);
        let is_row_cut = in_units < self.row.get() && all >= self.row.get();
        let (count, before, mask) =
            if in_units == 0 || is_row_cut { (all, 0, 0) } else { (in_units, before, mask) };
        let Some(Run { len, .. }) = run(count).filter(|_| count > 0) else {
            let needed = conversion.room(self.group.get() as u64) * size_of::<T>() as u64;
            return Err(ErrorKind::BufferLength { needed, capacity: bytes as u64 }.at(offset));
        };
        Ok(Fetch { from, count, offset, skip, before, mask, len, conversion })
    }
}

impl<T: Element> Fetch<T> {
    async fn read<S: ReadAt>(&self, source: &mut S, buffer: &mut [T]) -> Result<(), ReadError<S::Error>> {
        let begin = self.begin(buffer);
        read_part(source, self.offset, bytes_of_mut(buffer), begin..begin + self.len).await?;
        if self.in_place(buffer).is_none() {
            move_within(bytes_of_mut(buffer), begin, 0, self.len);
            self.conversion.apply(self.skip, front(buffer, self.conversion.room(self.count)));
        }
        Ok(())
    }

    /// Returns the byte of the buffer to read to.
    fn begin(&self, buffer: &[T]) -> usize {
        misaligned(buffer, self.mask + 1) + self.before
    }

    /// Returns where the next part begins.
    fn end(&self) -> Place {
        Place { element: self.from.element + self.count, ..self.from }
    }

    /// Returns the index of the first value if the bytes that were read are values.
    fn in_place(&self, buffer: &[T]) -> Option<usize> {
        let begin = self.begin(buffer);
        let is_value = self.conversion.is_plain() && begin.is_multiple_of(size_of::<T>());
        is_value.then_some(begin / size_of::<T>())
    }

    /// Returns the part that was read into this buffer.
    fn part<'b>(&self, buffer: &'b mut [T]) -> Part<'b, T> {
        let values = buffer.get_mut(self.in_place(buffer).unwrap_or(0)..).unwrap_or_default();
        Part { tensor: self.from.tensor, first: self.from.element, values: front(values, self.count) }
    }
}

/// Awaits both, and polls the first one first. It borrows them: its future would store them twice.
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
