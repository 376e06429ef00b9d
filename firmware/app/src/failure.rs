//! Why no digits were read: one sentence for people, one exit code for machines.

use core::fmt;
use embedded_safetensors::{Blame, Dtype, Error, ErrorKind, ReadError, Shape};

/// What can go wrong, by who is to blame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failure<E> {
    /// The model's file is unsound.
    Unsound(Error),
    /// There is no storage, or no model on it.
    NoModel(E),
    /// The storage failed while this byte of the file, or one behind it, was read.
    Storage {
        /// The byte.
        at: u64,
        /// What the storage says.
        error: E,
    },
    /// The storage says that the file ends here, though more of it was proven to be there.
    Ends {
        /// The first byte that is not there.
        at: u64,
    },
    /// The file is sound, but the model of another network.
    OtherModel(Difference),
    /// The device has too little memory for it.
    TooSmall(Error),
    /// This program has asked for what cannot be.
    Mistake(Error),
}

impl<E> Failure<E> {
    /// The code that the program ends with. A program that is done ends with 0.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Unsound(_) => 1,
            Self::NoModel(_) | Self::Storage { .. } | Self::Ends { .. } => 2,
            Self::OtherModel(_) => 3,
            Self::TooSmall(_) => 4,
            Self::Mistake(_) => 5,
        }
    }

    /// What a read has failed with that began at this byte.
    pub fn of_read(error: ReadError<E>, at: u64) -> Self {
        match error {
            ReadError::Format(error) => error.into(),
            ReadError::Source(error) => Self::Storage { at, error },
            ReadError::UnexpectedEof { at } => Self::Ends { at },
        }
    }
}

impl<E> From<Error> for Failure<E> {
    fn from(error: Error) -> Self {
        match error.kind.blame() {
            Blame::File => Self::Unsound(error),
            Blame::Limit => Self::TooSmall(error),
            Blame::Usage => Self::Mistake(error),
        }
    }
}

impl<E> From<Difference> for Failure<E> {
    fn from(difference: Difference) -> Self {
        Self::OtherModel(difference)
    }
}

impl<E: fmt::Display> fmt::Display for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsound(error) | Self::TooSmall(error) | Self::Mistake(error) => error.fmt(f),
            Self::NoModel(error) => write!(f, "error: {error}"),
            Self::Storage { at, error } => {
                write!(f, "error at byte {at}: the storage cannot be read: {error}")
            }
            Self::Ends { at } => write!(f, "error at byte {at}: the file ends here, before its end was due"),
            Self::OtherModel(difference) => difference.fmt(f),
        }
    }
}

/// What a tensor is: the type of its elements, and its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    dtype: Dtype,
    shape: Shape,
}

impl Form {
    /// Elements of this type in this shape.
    pub const fn new(dtype: Dtype, shape: Shape) -> Self {
        Self { dtype, shape }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.dtype, self.shape.dims())
    }
}

/// Where a model is not the one that the network is made for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The tensor that is another one, or is missing.
    pub name: &'static str,
    /// The byte of the file where it begins; the end of the header where it is missing.
    pub at: u64,
    /// What the file has.
    pub found: Option<Form>,
    /// What the network has.
    pub expected: &'static Form,
}

impl Difference {
    /// The code of it, as the core has one for such a mistake.
    const fn code(&self) -> &'static str {
        match self.found {
            None => ErrorKind::NotFound { wanted: None }.code(),
            Some(_) => ErrorKind::ShapeMismatch.code(),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, at, found, expected } = self;
        write!(f, "error[{}] at byte {at}: ", self.code())?;
        match found {
            None => write!(f, "the model has no tensor \"{name}\"")?,
            Some(found) => write!(f, "the tensor \"{name}\" is {found} in the model")?,
        }
        write!(f, ", but {expected} is expected")
    }
}
