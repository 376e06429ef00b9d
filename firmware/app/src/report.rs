//! What there is to say, a line each, and who hears it.

use crate::digits::Digit;
use crate::network::CLASSES;
#[cfg(feature = "vectors")]
use crate::vectors::{Outcome, Totals};
use core::fmt;

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The program has started.
    Board {
        /// The board.
        name: &'a str,
        /// Its processor.
        cpu: &'a str,
        /// Bytes of flash that a program can be in.
        flash: u32,
        /// Bytes of RAM.
        ram: u32,
    },
    /// A model is open.
    Model {
        /// Where it lies.
        name: &'a str,
        /// Bytes of the file.
        bytes: u64,
        /// How many tensors it has.
        tensors: u64,
        /// Bytes of RAM that the board has.
        ram: u32,
    },
    /// An image has been read.
    Digit {
        /// The image and what was meant.
        digit: Digit,
        /// What it was read as.
        guess: u8,
        /// What the network thinks, as bits.
        logits: [u32; CLASSES],
    },
    /// All images have been read.
    Score {
        /// How many as they were meant.
        right: u32,
        /// How many there are.
        of: u32,
    },
    /// What was read of the storage in all.
    Storage {
        /// Bytes.
        bytes: u64,
        /// Calls.
        reads: u32,
    },
    /// What was seen is recorded.
    Recorded {
        /// Bytes of the file.
        bytes: u64,
        /// How many images it is about.
        images: u32,
        /// How many values there are for each.
        values: u32,
    },
    /// A conformance vector has been judged.
    #[cfg(feature = "vectors")]
    Vector {
        /// The vector.
        id: &'a str,
        /// What became of it.
        outcome: Outcome<'a>,
    },
    /// All vectors have been judged.
    #[cfg(feature = "vectors")]
    Vectors(Totals),
    /// What the program has needed of the RAM.
    Ram {
        /// Bytes of statics.
        statics: u32,
        /// Bytes of stack, where it was deepest.
        stack: u32,
        /// Bytes that it may need.
        limit: u32,
    },
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Board { name, cpu, flash, ram } => {
                write!(f, "board: {name}, {cpu}, {flash} bytes of flash, {ram} bytes of RAM")
            }
            Self::Model { name, bytes, tensors, ram } => {
                let (times, tenth) = ratio(bytes, ram);
                write!(f, "model: {name}, {bytes} bytes, {tensors} tensors, {times}.{tenth} times the RAM")
            }
            Self::Digit { digit: Digit { number, label, .. }, guess, logits } => {
                write!(f, "digit {number}: a {label}, read as {guess}, logits")?;
                logits.iter().try_for_each(|bits| write!(f, " {bits:08x}"))
            }
            Self::Score { right, of } => write!(f, "score: {right} of {of} digits read right"),
            Self::Storage { bytes, reads } => write!(f, "storage: {bytes} bytes in {reads} reads"),
            Self::Recorded { bytes, images, values } => {
                write!(f, "recorded: {bytes} bytes, {images} guesses and {values} activations for each")
            }
            #[cfg(feature = "vectors")]
            Self::Vector { id, outcome } => write!(f, "vector {id}: {outcome}"),
            #[cfg(feature = "vectors")]
            Self::Vectors(totals) => write!(f, "vectors: {totals}"),
            Self::Ram { statics, stack, limit } => {
                let total = statics + stack;
                write!(f, "RAM: {total} of {limit} bytes, {statics} static and {stack} of stack")
            }
        }
    }
}

/// How many times the RAM so many bytes are, and the tenths of it.
fn ratio(bytes: u64, ram: u32) -> (u64, u64) {
    let tenths = (bytes * 10).checked_div(ram.into()).unwrap_or(0);
    (tenths / 10, tenths % 10)
}

/// Hears what happens: a console, a wire, a debugger.
pub trait Sink {
    /// Takes a line.
    fn event(&mut self, event: &Event<'_>);

    /// Takes the sentence of a [`Failure`](crate::Failure).
    fn failure(&mut self, sentence: &dyn fmt::Display);
}

/// Lines of text.
#[derive(Debug)]
pub struct Text<W>(pub W);

impl<W: fmt::Write> Sink for Text<W> {
    fn event(&mut self, event: &Event<'_>) {
        self.failure(event);
    }

    fn failure(&mut self, sentence: &dyn fmt::Display) {
        // Nobody can be told when nobody listens.
        let _ = writeln!(self.0, "{sentence}");
    }
}
