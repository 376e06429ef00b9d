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
        /// Bytes of flash of the board.
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

sentences! {
    Event<'_>:
    Self::Board { name, cpu, flash, ram } =>
        "board: {}, {}, {} bytes of flash, {} bytes of RAM", name, cpu, flash, ram;
    Self::Model { name, bytes, tensors, ram } =>
        "model: {}, {} bytes, {} tensors, {} times the RAM", name, bytes, tensors, Ratio::of(*bytes, *ram);
    Self::Digit { digit: Digit { number, label, .. }, guess, logits } =>
        "digit {}: a {}, read as {}, logits{}", number, label, guess, Bits(logits);
    Self::Score { right, of } => "score: {} of {} digits read right", right, of;
    Self::Storage { bytes, reads } => "storage: {} bytes in {} reads", bytes, reads;
    Self::Recorded { bytes, images, values } =>
        "recorded: {} bytes, {} guesses and {} activations for each", bytes, images, values;
    #[cfg(feature = "vectors")]
    Self::Vector { id, outcome } => "vector {}: {}", id, outcome;
    #[cfg(feature = "vectors")]
    Self::Vectors(totals) => "vectors: {}", totals;
    Self::Ram { statics, stack, limit } =>
        "RAM: {} of {} bytes, {} static and {} of stack", statics + stack, limit, statics, stack;
}

/// How many times as large, and the tenths of it.
struct Ratio(u64, u64);

impl Ratio {
    fn of(bytes: u64, ram: u32) -> Self {
        let tenths = (bytes * 10).checked_div(ram.into()).unwrap_or(0);
        Self(tenths / 10, tenths % 10)
    }
}

sentences! {
    Ratio:
    Self(times, tenths) => "{}.{}", times, tenths;
}

/// Words of bits.
struct Bits<'l>(&'l [u32; CLASSES]);

impl fmt::Display for Bits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|bits| write!(f, " {bits:08x}"))
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Bits<'_> {
    fn format(&self, f: defmt::Formatter<'_>) {
        self.0.iter().for_each(|bits| defmt::write!(f, " {:08x}", bits));
    }
}

/// Hears what happens: a console, a wire, a debugger.
pub trait Sink {
    /// Takes a line.
    fn event(&mut self, event: &Event<'_>);
}

/// Hears this as well: what it asks of a sentence is for each sink to say.
pub trait Hears<T>: Sink {
    /// Takes the sentence of a [`Failure`](crate::Failure).
    fn failure(&mut self, sentence: &T);
}

/// Lines of text.
#[derive(Debug)]
pub struct Text<W>(pub W);

impl<W: fmt::Write> Sink for Text<W> {
    fn event(&mut self, event: &Event<'_>) {
        self.failure(event);
    }
}

impl<W: fmt::Write, T: fmt::Display> Hears<T> for Text<W> {
    fn failure(&mut self, sentence: &T) {
        // Nobody can be told when nobody listens.
        let _ = writeln!(self.0, "{sentence}");
    }
}

/// The log of defmt.
#[cfg(feature = "defmt")]
#[derive(Debug)]
pub struct Defmt;

#[cfg(feature = "defmt")]
impl Sink for Defmt {
    fn event(&mut self, event: &Event<'_>) {
        defmt::info!("{}", event);
    }
}

#[cfg(feature = "defmt")]
impl<T: defmt::Format> Hears<T> for Defmt {
    fn failure(&mut self, sentence: &T) {
        defmt::error!("{}", sentence);
    }
}
