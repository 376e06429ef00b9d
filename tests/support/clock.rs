//! Virtual time: storage that takes time, and an executor that lets time pass where nothing else happens.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::Future;
use std::ops::Range;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use embedded_safetensors::asynch::ReadAt;
use embedded_safetensors::io::FileLen;
use embedded_storage_async::nor_flash::{ErrorType, ReadNorFlash};

use crate::executor::wait;

/// A clock that counts nanoseconds.
#[derive(Debug, Default)]
pub struct Clock {
    now: Cell<u64>,
    /// The earliest time that something waits for.
    next: Cell<Option<u64>>,
    /// How many bytes were read from storage.
    pub read: Cell<u64>,
}

impl Clock {
    /// Lets time pass in which the processor is busy.
    pub fn compute(&self, nanoseconds: u64) {
        self.now.set(self.now.get() + nanoseconds);
    }

    /// Waits for so many nanoseconds, and at least once.
    pub async fn wait(&self, nanoseconds: u64) {
        let time = self.now.get() + nanoseconds;
        loop {
            self.next.set(Some(self.next.get().map_or(time, |next| next.min(time))));
            wait(1).await;
            if self.now.get() >= time {
                return;
            }
        }
    }

    /// Runs a future to its end. Returns how long that takes, and its outcome.
    pub fn time<T>(&self, future: impl Future<Output = T>) -> (u64, T) {
        let (mut future, mut context) = (pin!(future), Context::from_waker(Waker::noop()));
        let start = self.now.get();
        loop {
            if let Poll::Ready(outcome) = future.as_mut().poll(&mut context) {
                return (self.now.get() - start, outcome);
            }
            let next = self.next.take().expect("it waits for a time");
            self.now.set(next.max(self.now.get()));
        }
    }
}

/// A file in storage that is read in whole units, by commands: a driver of flash, or of a card.
#[derive(Debug)]
pub struct Timed<'f, const UNIT: usize> {
    /// The file, in whole units.
    pub file: &'f [u8],
    /// Its time.
    pub clock: &'f Clock,
    /// The nanoseconds of a command.
    pub latency: u64,
    /// Bytes per second.
    pub rate: u64,
}

impl<const UNIT: usize> ErrorType for Timed<'_, UNIT> {
    type Error = Infallible;
}

impl<const UNIT: usize> ReadNorFlash for Timed<'_, UNIT> {
    const READ_SIZE: usize = UNIT;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        let (begin, len) = (usize::try_from(offset).expect("a small file"), bytes.len());
        assert!(begin.is_multiple_of(UNIT) && len.is_multiple_of(UNIT) && len > 0);
        self.clock.wait(self.latency + len as u64 * 1_000_000_000 / self.rate).await;
        self.clock.read.set(self.clock.read.get() + len as u64);
        bytes.copy_from_slice(&self.file[begin..begin + len]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.file.len()
    }
}

/// As a card whose driver reads sectors into the memory if there is space around the bytes, and otherwise
/// one sector into memory of its own.
impl<const UNIT: usize> ReadAt for Timed<'_, UNIT> {
    type Error = Infallible;

    async fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let all = 0..buffer.len();
        self.read_within(offset, buffer, all).await
    }

    async fn read_within(
        &mut self,
        offset: u64,
        memory: &mut [u8],
        part: Range<usize>,
    ) -> Result<usize, Infallible> {
        let Ok(offset) = u32::try_from(offset) else { return Ok(0) };
        let skip = offset as usize % UNIT;
        let first = offset - u32::try_from(skip).expect("small");
        let units = (skip + part.len()).next_multiple_of(UNIT);
        if let Some(units) = part.start.checked_sub(skip).and_then(|at| memory.get_mut(at..at + units)) {
            self.read(first, units).await?;
            return Ok(part.len());
        }
        let (mut sector, count) = ([0; UNIT], part.len().min(UNIT - skip));
        self.read(first, &mut sector).await?;
        memory[part][..count].copy_from_slice(&sector[skip..skip + count]);
        Ok(count)
    }

    async fn file_len(&mut self) -> Result<FileLen, Infallible> {
        Ok(FileLen::AtMost(self.file.len() as u64))
    }
}
