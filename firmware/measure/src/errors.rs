//! The cost of printing an error.

use crate::frame::Job;
use board::Card;
use core::fmt;
use core::hint::black_box;
use embedded_safetensors::{Error, Model, ReadError};

/// A console that discards the bytes it is given.
pub struct Console;

impl Console {
    /// Prints one byte after the other.
    pub fn print(&mut self, text: &[u8]) {
        for &byte in text {
            black_box(byte);
        }
    }

    /// Prints a number in decimal, without the machinery of `fmt`.
    pub fn print_number(&mut self, number: u64) {
        let mut digits = [b'0'; 20];
        let mut left = number;
        for digit in digits.iter_mut().rev() {
            *digit += (left % 10) as u8;
            left /= 10;
        }
        self.print(&digits);
    }
}

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.print(text.as_bytes());
        Ok(())
    }
}

/// Opens the model of a job and returns how many tensors it has. If its header is bad, `print` prints the
/// error.
pub fn open_or(job: &mut Job<()>, print: impl FnOnce(&mut Console, Error)) -> Option<u32> {
    match Model::open(Card::new(job.file), job.window) {
        Ok(model) => Some(model.summary().tensors as u32),
        Err(ReadError::Format(error)) => {
            print(&mut Console, error);
            None
        }
        Err(_) => None,
    }
}
