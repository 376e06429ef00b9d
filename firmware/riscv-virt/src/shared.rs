//! One flash with several users: the model is read from it while a recording is written to it.

use core::cell::RefCell;
use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

/// A user's access to the flash. Users take turns; each call is one turn.
#[derive(Debug)]
pub struct Shared<'f, F>(pub &'f RefCell<F>);

impl<F: ErrorType> ErrorType for Shared<'_, F> {
    type Error = F::Error;
}

impl<F: ReadNorFlash> ReadNorFlash for Shared<'_, F> {
    const READ_SIZE: usize = F::READ_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), F::Error> {
        self.0.borrow_mut().read(offset, bytes)
    }

    fn capacity(&self) -> usize {
        self.0.borrow().capacity()
    }
}

impl<F: NorFlash> NorFlash for Shared<'_, F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), F::Error> {
        self.0.borrow_mut().erase(from, to)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), F::Error> {
        self.0.borrow_mut().write(offset, bytes)
    }
}
