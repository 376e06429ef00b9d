//! A part of a tensor, read piece by piece into buffers of the caller.

use crate::dtype::Dtype;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::io::read::read_full;
use crate::io::{ReadAt, ReadError};
use crate::reader::fill::BLOCK;
use crate::reader::filling::{Filling, Piece};
use crate::reader::slice_place::Place;
use crate::reader::tensor::TensorReader;
use crate::shape::Shape;
use crate::slice::plan::SlicePlan;
use crate::slice::range::AxisRange;
use crate::slice::walk::Walk;
use crate::util::bytes::front;
use crate::values::convert::{Conversion, Element, Loss, values_of_element};
use crate::values::native::bytes_of_mut;

impl<S: ReadAt> TensorReader<'_, S> {
    /// Reads a part of the tensor: one range for each axis, outermost first, where axes without a range are taken
    /// whole. It does not matter where this reader stands.
    ///
    /// A tensor of more than [`MAX_RANK`](crate::tensor::MAX_RANK) dimensions can be sliced too, if what is left of it has no more
    /// than that: [`Model::index`](crate::Model::index) keeps all of its dimensions, where `find` has no room for them.
    ///
    /// ```
    /// use embedded_safetensors::{Model, ReadAt, ReadError, slice::AxisRange};
    ///
    /// /// The words 100 to 199 of an embedding, and of those the first 64 numbers each.
    /// fn words<S: ReadAt>(model: &mut Model<S>, to: &mut [u8]) -> Result<usize, ReadError<S::Error>> {
    ///     let embedding = model.find("wte", &mut [0; 512])?.ok_or(not_found())?;
    ///     let mut words = model.tensor(&embedding)?.slice(&[(100..200).into(), (..64).into()])?;
    ///     Ok(words.read_all(to)?.len())
    /// }
    /// # use embedded_safetensors::{Error, ErrorKind};
    /// # fn not_found() -> Error { ErrorKind::NotFound { wanted: None }.at(0) }
    /// # let header = br#"{"wte":{"dtype":"U8","shape":[300,80],"data_offsets":[0,24000]}}"#;
    /// # let file = [&(header.len() as u64).to_le_bytes(), &header[..], &[7; 24000]].concat();
    /// # let mut model = Model::open(&file[..], &mut [0; 512])?;
    /// # assert_eq!(words(&mut model, &mut [0; 6400]), Ok(6400));
    /// # Ok::<(), ReadError<core::convert::Infallible>>(())
    /// ```
    ///
    /// # Errors
    /// As [`SlicePlan::new`](crate::slice::SlicePlan::new): [`ErrorKind::OutsideAxis`] names the axis, what was asked for and
    /// the size.
    ///
    /// # Panics
    /// Never.
    pub fn slice(self, ranges: &[AxisRange]) -> Result<SliceReader<S>, Error> {
        let place = Place::new(self.span(), self.dims(), ranges)?;
        Ok(SliceReader { source: self.into_source(), place })
    }
}

/// Reads a part of a tensor, in pieces of any size. Nothing is read that lies outside the slice, but for small gaps, which
/// spares calls of the storage: runs of at most 256 bytes with gaps of at most 64 between them are read together, and moved
/// together in your buffer.
///
/// After an error nothing is lost: the reader stands where it stood before the call that failed, and the
/// same call may be made again.
///
/// *Memory*: at most 328 bytes and the source. The bytes go straight into your buffers.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SliceReader<S> {
    source: S,
    place: Place,
}

impl<S: ReadAt> SliceReader<S> {
    /// The shape of the slice.
    pub const fn shape(&self) -> &Shape {
        self.place.plan.shape()
    }

    /// The type of the elements.
    pub const fn dtype(&self) -> Dtype {
        self.place.plan.dtype()
    }

    /// How many bytes the slice has.
    ///
    /// # Errors
    /// [`ErrorKind::PartOfByte`] when it does not consist of whole bytes. Only elements narrower than a byte do that;
    /// they can be read as values.
    pub const fn byte_len(&self) -> Result<u64, Error> {
        self.place.byte_len()
    }

    /// How many elements are still to be read.
    pub const fn remaining(&self) -> u64 {
        self.place.walk.left
    }

    /// The storage.
    pub fn into_source(self) -> S {
        self.source
    }

    /// Reads the next elements into the front of `buffer`, whole elements only; nothing once the slice is at its
    /// end. Elements narrower than a byte come in whole bytes. As much as fits; but where runs are read
    /// together, the chunk ends where the buffer did before they were moved together, so that it is one read. One
    /// element at the least.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when there is no room for an element; [`ErrorKind::PartOfByte`] as
    /// [`byte_len`](Self::byte_len), and where values were read up to the middle of a byte; those of the storage;
    /// [`ReadError::UnexpectedEof`].
    ///
    /// # Panics
    /// Never.
    pub fn next_chunk<'b>(&mut self, buffer: &'b mut [u8]) -> Result<Option<&'b [u8]>, ReadError<S::Error>> {
        let filling = self.place.chunk(buffer.len())?;
        let chunk = self.fill(filling, buffer, Until::Cut)?;
        Ok(if chunk.is_empty() { None } else { Some(chunk) })
    }

    /// Reads all that is left into the front of `buffer`, and gives that part of it.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when it does not fit, with the length it has; [`ErrorKind::PartOfByte`] as
    /// [`next_chunk`](Self::next_chunk); those of the storage; [`ReadError::UnexpectedEof`].
    ///
    /// # Panics
    /// Never.
    pub fn read_all<'b>(&mut self, buffer: &'b mut [u8]) -> Result<&'b [u8], ReadError<S::Error>> {
        let filling = self.place.rest(buffer.len())?;
        self.fill(filling, buffer, Until::Full)
    }

    /// Reads the next values into the front of `values`, if each of them is exact; nothing once the slice is at
    /// its end. As many as fit; but where runs are read together, fewer, as by [`next_chunk`](Self::next_chunk). A C64
    /// element is two values, the real part first, and both are read or none.
    ///
    /// # Errors
    /// [`ErrorKind::Lossy`] when the dtype has values that `T` does not have; [`ErrorKind::NoConversion`];
    /// [`ErrorKind::BufferLength`] when there is no room for an element; those of the storage;
    /// [`ReadError::UnexpectedEof`].
    ///
    /// # Panics
    /// Never.
    pub fn next_lossless<'b, T: Element>(
        &mut self,
        values: &'b mut [T],
    ) -> Result<Option<&'b [T]>, ReadError<S::Error>> {
        self.next(Loss::None, values)
    }

    /// As [`next_lossless`](Self::next_lossless), but values that `T` does not have are rounded to the nearest, of two
    /// as near ones to the even one.
    ///
    /// # Errors
    /// As [`next_lossless`](Self::next_lossless), but for [`ErrorKind::Lossy`].
    ///
    /// # Panics
    /// Never.
    pub fn next_rounded<'b, T: Element>(
        &mut self,
        values: &'b mut [T],
    ) -> Result<Option<&'b [T]>, ReadError<S::Error>> {
        self.next(Loss::Rounded, values)
    }

    /// Reads all values that are left into the front of `values`, if each of them is exact, and gives that part
    /// of it.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when they do not fit, with the length that they have; otherwise as
    /// [`next_lossless`](Self::next_lossless).
    ///
    /// # Panics
    /// Never.
    pub fn read_lossless<'b, T: Element>(
        &mut self,
        values: &'b mut [T],
    ) -> Result<&'b [T], ReadError<S::Error>> {
        self.read(Loss::None, values)
    }

    /// As [`read_lossless`](Self::read_lossless), but rounded as by [`next_rounded`](Self::next_rounded).
    ///
    /// # Errors
    /// As [`read_lossless`](Self::read_lossless), but for [`ErrorKind::Lossy`].
    ///
    /// # Panics
    /// Never.
    pub fn read_rounded<'b, T: Element>(
        &mut self,
        values: &'b mut [T],
    ) -> Result<&'b [T], ReadError<S::Error>> {
        self.read(Loss::Rounded, values)
    }

    /// Goes on behind what it has filled, once that is complete.
    fn fill<'b>(
        &mut self,
        mut filling: Filling,
        buffer: &'b mut [u8],
        until: Until,
    ) -> Result<&'b [u8], ReadError<S::Error>> {
        let place = &mut self.place;
        while let Some(piece) = filling.next(&place.plan, buffer.len()) {
            read_full(&mut self.source, place.start + piece.offset, piece.room_in(buffer))?;
            filling.keep(&place.plan, &piece, buffer);
            if until.is_met(&piece) {
                break;
            }
        }
        place.walk = filling.walk;
        Ok(place.filled(&filling, buffer))
    }

    fn next<'b, T: Element>(
        &mut self,
        loss: Loss,
        values: &'b mut [T],
    ) -> Result<Option<&'b [T]>, ReadError<S::Error>> {
        let conversion = self.place.values(loss, values, 1)?;
        let filled = self.fill_values(conversion, values, Until::Cut)?;
        Ok(if filled.is_empty() { None } else { Some(filled) })
    }

    fn read<'b, T: Element>(
        &mut self,
        loss: Loss,
        values: &'b mut [T],
    ) -> Result<&'b [T], ReadError<S::Error>> {
        let conversion = self.place.values(loss, values, self.remaining())?;
        self.fill_values(conversion, values, Until::Full)
    }

    /// As [`fill`](Self::fill).
    fn fill_values<'b, T: Element>(
        &mut self,
        conversion: Conversion<T>,
        values: &'b mut [T],
        until: Until,
    ) -> Result<&'b [T], ReadError<S::Error>> {
        let place = &mut self.place;
        let mut gathering = Gathering::new(place, conversion, values, until);
        while let Some((offset, bytes)) = gathering.bytes(&place.plan) {
            read_full(&mut self.source, place.start + offset, bytes)?;
            gathering.turn(&place.plan);
        }
        let (walk, count) = gathering.end();
        place.walk = walk;
        Ok(values.get(..count).unwrap_or_default())
    }
}

/// How far a buffer is filled.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    Full,
    /// Until a piece was cut: for the rest of the buffer there would be many small reads.
    Cut,
}

impl Until {
    pub(crate) const fn is_met(self, piece: &Piece) -> bool {
        match self {
            Self::Full => false,
            Self::Cut => piece.is_cut,
        }
    }
}

impl Place {
    /// How elements become values, if there is room for so many of them.
    ///
    /// # Errors
    /// As [`SliceReader::next_lossless`].
    pub(crate) fn values<T: Element>(
        &self,
        loss: Loss,
        values: &[T],
        elements: u64,
    ) -> Result<Conversion<T>, Error> {
        let conversion = Conversion::of(self.plan.dtype(), loss).map_err(|kind| kind.at(self.start))?;
        let needed = elements.min(self.walk.left).saturating_mul(values_of_element(self.plan.dtype()));
        if needed > values.len() as u64 {
            let needed = needed.saturating_mul(size_of::<T>() as u64);
            return Err(self.no_room(needed, size_of_val(values)));
        }
        Ok(conversion)
    }
}

/// Values that are being filled from a slice. Whoever drives it reads what [`bytes`](Self::bytes) asks for, then calls
/// [`turn`](Self::turn), until nothing is asked for.
pub(crate) struct Gathering<'b, T: Element> {
    /// The values that are not yet there; those of a block, where there are many, at the front.
    left: &'b mut [T],
    /// How many values are there.
    count: usize,
    conversion: Conversion<T>,
    /// Of the bytes of a block.
    filling: Filling,
    piece: Option<Piece>,
    values_of_element: u64,
    until: Until,
    /// Room for an element that is wider than the last value.
    pair: [T; 2],
}

impl<'b, T: Element> Gathering<'b, T> {
    pub(crate) fn new(place: &Place, conversion: Conversion<T>, values: &'b mut [T], until: Until) -> Self {
        let values_of_element = values_of_element(place.plan.dtype());
        let (left, filling) = (values, Filling::new(place.walk, 0));
        let pair = [T::ZERO; 2];
        let mut gathering =
            Self { left, count: 0, conversion, filling, piece: None, values_of_element, until, pair };
        gathering.begin_block();
        gathering
    }

    /// The bytes to be read next, and where in the tensor they lie. Nothing once all values are there.
    pub(crate) fn bytes(&mut self, plan: &SlicePlan) -> Option<(u64, &mut [u8])> {
        let capacity = size_of_val(self.room());
        let piece = self.filling.next(plan, capacity)?;
        self.piece = Some(piece);
        Some((piece.offset, piece.room_in(bytes_of_mut(self.room()))))
    }

    /// Keeps what was read, and turns it into values when a block is full.
    pub(crate) fn turn(&mut self, plan: &SlicePlan) {
        let Some(piece) = self.piece.take() else { return };
        let mut filling = self.filling;
        filling.keep(plan, &piece, bytes_of_mut(self.room()));
        self.filling = filling;
        let is_last = self.until.is_met(&piece);
        if is_last || filling.is_full() {
            self.end_block(is_last);
            self.begin_block();
        }
    }

    /// Where the slice goes on behind the values that are there, and how many these are.
    pub(crate) fn end(self) -> (Walk, usize) {
        (self.filling.walk, self.count)
    }

    fn begin_block(&mut self) {
        let len = self.room().len();
        let values = self.conversion.count(len) as u64;
        let elements = if self.values_of_element > 1 { values >> 1 } else { values };
        self.filling = Filling::new(self.filling.walk, elements);
    }

    fn end_block(&mut self, is_last: bool) {
        let conversion = self.conversion;
        let values = self.filling.filled * self.values_of_element;
        // Elements wider than values have room in twice as many.
        let room = if self.conversion.count(2) < 2 { values * 2 } else { values };
        let is_alone = self.is_alone();
        let turned = front(self.room(), room);
        conversion.apply(0, turned);
        if is_alone {
            self.left.iter_mut().zip(self.pair).for_each(|(value, of_pair)| *value = of_pair);
        }
        let done = front(self.left, values).len();
        self.count += done;
        let left = core::mem::take(&mut self.left).get_mut(done..).unwrap_or_default();
        self.left = if is_last { &mut [] } else { left };
    }

    /// The memory that a block is read into.
    fn room(&mut self) -> &mut [T] {
        if self.is_alone() {
            return &mut self.pair;
        }
        match self.conversion.is_plain() {
            true => self.left,
            false => front(self.left, BLOCK as u64 >> size_of::<T>().trailing_zeros()),
        }
    }

    /// Whether one value is left that has no room for its element.
    fn is_alone(&self) -> bool {
        !self.left.is_empty() && self.conversion.count(self.left.len()) == 0
    }
}
