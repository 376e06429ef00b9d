//! Shapes of bounded rank, and the element count of any shape.

use crate::error::{ErrorKind, QueryIndex};
use crate::util::bytes::{get, low_u8};

/// The highest rank that a [`Shape`] holds.
pub const MAX_RANK: usize = LIMIT as usize;

const LIMIT: u8 = 8;

/// A shape with its dimensions inline.
///
/// *Memory*: 72 bytes, `Copy`.
///
/// ```
/// use embedded_safetensors::Shape;
///
/// let shape = Shape::new(&[64, 32])?;
/// assert_eq!((shape.dims(), shape.rank(), shape.elements()), (&[64, 32][..], 2, Ok(2048)));
/// # Ok::<(), embedded_safetensors::ErrorKind>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Shape {
    dims: [u64; MAX_RANK],
    rank: u8,
}

impl Shape {
    /// The shape of a scalar: no dimensions, one element.
    pub const SCALAR: Self = Self { dims: [0; MAX_RANK], rank: 0 };

    /// Creates the shape with these dimensions.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] when there are more than [`MAX_RANK`].
    pub const fn new(dims: &[u64]) -> Result<Self, ErrorKind> {
        let mut shape = Self::SCALAR;
        let mut left = dims;
        while let Some((&dim, rest)) = left.split_first() {
            if let Err(kind) = shape.push(dim) {
                return Err(kind);
            }
            left = rest;
        }
        Ok(shape)
    }

    /// Creates the shape with the first `rank` of these dimensions. The others are 0.
    pub(crate) const fn of(dims: [u64; MAX_RANK], rank: u8) -> Self {
        Self { dims, rank }
    }

    /// Returns the dimensions with zeros after them, and how many there are.
    pub(crate) const fn parts(&self) -> ([u64; MAX_RANK], u8) {
        (self.dims, self.rank)
    }

    /// Appends a dimension.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] when the shape is full; it is then unchanged.
    pub const fn push(&mut self, dim: u64) -> Result<(), ErrorKind> {
        match self.dims.split_at_mut_checked(self.rank as usize) {
            Some((_, [slot, ..])) => *slot = dim,
            _ => return Err(ErrorKind::Rank { limit: LIMIT }),
        }
        self.rank += 1;
        Ok(())
    }

    /// Returns the shape of `count` of these, one after the other.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] when it has no space for another dimension.
    pub(crate) const fn of_many(&self, count: u64) -> Result<Self, ErrorKind> {
        let mut shape = Self::SCALAR;
        let mut pushed = shape.push(count);
        let mut left = self.dims();
        while let (Ok(()), [dim, rest @ ..]) = (pushed, left) {
            pushed = shape.push(*dim);
            left = rest;
        }
        match pushed {
            Ok(()) => Ok(shape),
            Err(kind) => Err(kind),
        }
    }

    /// Returns the dimensions, outermost first.
    pub const fn dims(&self) -> &[u64] {
        match self.dims.split_at_checked(self.rank as usize) {
            Some((dims, _)) => dims,
            None => &[],
        }
    }

    /// Returns how many dimensions there are.
    pub const fn rank(&self) -> usize {
        self.rank as usize
    }

    /// Returns the number of elements: the product of the dimensions, 1 for a scalar.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`] when the product, taken left to right, exceeds 64 bits.
    pub const fn elements(&self) -> Result<u64, ErrorKind> {
        elements(self.dims())
    }
}

/// Returns the number of elements with these dimensions, of any number.
///
/// # Errors
/// As [`Shape::elements`].
pub(crate) const fn elements(dims: &[u64]) -> Result<u64, ErrorKind> {
    let mut elements = 1u64;
    let mut left = dims;
    while let Some((&dim, rest)) = left.split_first() {
        elements = match elements.checked_mul(dim) {
            Some(product) => product,
            None => return Err(ErrorKind::Overflow),
        };
        left = rest;
    }
    Ok(elements)
}

/// The size of an axis in a requested shape that may have any size.
pub const ANY_SIZE: u64 = u64::MAX;

/// Returns the error for dimensions that are not the requested ones, and differ in this axis.
pub(crate) const fn shape_mismatch(
    query: Option<QueryIndex>,
    axis: usize,
    found: &[u64],
    asked: &[u64],
) -> ErrorKind {
    match (get(found, axis), get(asked, axis)) {
        (Some(found), Some(asked)) => {
            ErrorKind::ShapeMismatch { query, axis: at_most_255(axis), found, asked }
        }
        _ => ErrorKind::RankMismatch { query, found: at_most_255(found.len()), asked: asked.len() as u64 },
    }
}

/// Returns this number, or 255: a tensor of an index may have more dimensions than fit.
const fn at_most_255(number: usize) -> u8 {
    if number < 255 { low_u8(number) } else { 255 }
}

/// Returns the first axis whose size is not the requested one; one that does not exist if the ranks differ.
pub(crate) const fn different_axis(found: &[u64], asked: &[u64]) -> Option<usize> {
    if found.len() != asked.len() {
        return Some(usize::MAX);
    }
    let (mut axis, mut left, mut asked_left) = (0, found, asked);
    while let ([size, rest @ ..], [asked_size, asked_rest @ ..]) = (left, asked_left) {
        if *size != *asked_size && *asked_size != ANY_SIZE {
            return Some(axis);
        }
        (axis, left, asked_left) = (axis + 1, rest, asked_rest);
    }
    None
}

shown!(Shape, it => "{:?}", it.dims());
