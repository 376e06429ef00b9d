//! All the kinds of source that the core can read, over one mock storage.

use embedded_io::{ErrorType, Read, Seek, SeekFrom};
use embedded_safetensors::{
    ReadAt,
    io::{FileLen, NorFile, Seekable},
};
use embedded_storage::nor_flash::{self, ReadNorFlash};
use std::ops::Range;

use crate::mock::{Fault, Reads, Storage};
use crate::nor::assert_aligned;

/// A kind of source.
#[derive(Clone, Copy)]
pub struct SourceKind {
    /// How many bytes its reads return by default.
    pub reads: &'static [Reads],
    new: for<'s> fn(&'s Storage<'s>) -> AnySource<'s>,
}

/// A source of any kind. The core is compiled once for all of them.
pub struct AnySource<'s>(Box<dyn ReadAt<Error = Fault> + 's>);

/// The file in memory. It ignores the plan.
pub const SLICE: SourceKind = SourceKind::new(|storage| AnySource::new(storage.first_file()), &WHOLE);

/// A source that implements the core's own trait.
pub const CUSTOM: SourceKind = SourceKind::new(|storage| AnySource::new(storage), &SHORT);

/// A stream that can read and seek, in [`Seekable`].
pub const STREAM: SourceKind =
    SourceKind::new(|storage| AnySource::new(Seekable::new(Stream::new(storage))), &SHORT);

const WHOLE: [Reads; 1] = [Reads::Whole];
const SHORT: [Reads; 2] = [Reads::Whole, Reads::AtMost(5)];

/// A partition of NOR flash, in [`NorFile`], that starts at this address. It knows the length of its file,
/// unless the plan claims another: then the partition ends where the file can end.
pub const fn nor<const READ_SIZE: usize, const START: u32>() -> SourceKind {
    SourceKind::new(
        |storage| {
            let flash = Flash::<READ_SIZE>::new(storage, START);
            let end = |len| START.saturating_add(u32::try_from(len).unwrap_or(u32::MAX));
            AnySource::new(match storage.reported_len() {
                FileLen::Exactly(len) => partition::<READ_SIZE, START>(storage).with_file_len(len),
                FileLen::AtMost(len) => NorFile::partition(flash, START..end(len)),
                FileLen::Unknown => NorFile::partition(flash, START..u32::MAX),
            })
        },
        &WHOLE,
    )
}

/// The same, with an unknown length of the file.
pub const fn nor_of_unknown_len<const READ_SIZE: usize, const START: u32>() -> SourceKind {
    SourceKind::new(|storage| AnySource::new(partition::<READ_SIZE, START>(storage)), &WHOLE)
}

/// Returns a partition that ends with its file.
fn partition<'s, const READ_SIZE: usize, const START: u32>(
    storage: &'s Storage<'s>,
) -> NorFile<Flash<'s, READ_SIZE>> {
    let end = START + u32::try_from(storage.first_file().len()).expect("fits in usize");
    NorFile::partition(Flash::new(storage, START), START..end)
}

impl SourceKind {
    /// Creates a kind of source.
    pub const fn new(new: for<'s> fn(&'s Storage<'s>) -> AnySource<'s>, reads: &'static [Reads]) -> Self {
        Self { reads, new }
    }

    /// Returns a source that reads this storage.
    pub fn source<'s>(self, storage: &'s Storage<'s>) -> AnySource<'s> {
        (self.new)(storage)
    }
}

impl<'s> AnySource<'s> {
    /// Wraps a source.
    pub fn new<S: ReadAt<Error: Into<Fault>> + 's>(source: S) -> Self {
        Self(Box::new(Mapped(source)))
    }
}

/// A source whose errors are converted.
struct Mapped<S>(S);

/// Reads through the source in a tuple.
macro_rules! read_through {
    ([$($generics:tt)*] $type:ty, $map:expr) => {
        impl<$($generics)*> ReadAt for $type {
            type Error = Fault;

            fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Fault> {
                self.0.read_at(offset, buffer).map_err($map)
            }

            fn read_within(
                &mut self,
                offset: u64,
                memory: &mut [u8],
                part: Range<usize>,
            ) -> Result<usize, Fault> {
                self.0.read_within(offset, memory, part).map_err($map)
            }

            fn file_len(&mut self) -> Result<FileLen, Fault> {
                self.0.file_len().map_err($map)
            }

            fn in_memory(&self) -> Option<&[u8]> {
                self.0.in_memory()
            }
        }
    };
}

read_through!([] AnySource<'_>, |fault| fault);
read_through!([S: ReadAt<Error: Into<Fault>>] Mapped<S>, Into::into);

/// Reads and seeks in a storage.
#[derive(Debug)]
pub struct Stream<'s> {
    storage: &'s Storage<'s>,
    position: u64,
}

impl<'s> Stream<'s> {
    /// Creates a stream with an arbitrary position, as if it had been used before.
    pub fn new(storage: &'s Storage<'s>) -> Self {
        Self { storage, position: 5 }
    }

    /// Returns the reported end.
    fn end(&self) -> u64 {
        match self.storage.reported_len() {
            FileLen::Exactly(len) | FileLen::AtMost(len) => len,
            FileLen::Unknown => self.storage.current_len() as u64,
        }
    }
}

impl ErrorType for Stream<'_> {
    type Error = Fault;
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        let outcome = self.storage.read(self.position, buffer);
        // An interrupted call has read nothing. After another error, the position of a stream is unspecified.
        self.position += match outcome {
            Ok(len) => len as u64,
            Err(Fault::Interrupted) => 0,
            Err(_) => 3,
        };
        outcome
    }
}

impl Seek for Stream<'_> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64, Fault> {
        let place = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.end().checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        let outcome = self.storage.record_seek().and_then(|()| place.ok_or(Fault::OutOfBounds));
        // After a failed seek, the position is unspecified too.
        self.position = outcome.unwrap_or(self.position.wrapping_add(3));
        outcome
    }
}

/// NOR flash that reads in units, erased around its file.
#[derive(Debug)]
pub struct Flash<'s, const READ_SIZE: usize> {
    storage: &'s Storage<'s>,
    /// The address of the file.
    start: u32,
}

impl<'s, const READ_SIZE: usize> Flash<'s, READ_SIZE> {
    /// Creates flash with the file at this address.
    pub const fn new(storage: &'s Storage<'s>, start: u32) -> Self {
        Self { storage, start }
    }
}

impl<const READ_SIZE: usize> nor_flash::ErrorType for Flash<'_, READ_SIZE> {
    type Error = Fault;
}

impl<const READ_SIZE: usize> ReadNorFlash for Flash<'_, READ_SIZE> {
    const READ_SIZE: usize = READ_SIZE;

    fn read(&mut self, address: u32, buffer: &mut [u8]) -> Result<(), Fault> {
        assert_aligned(buffer, READ_SIZE);
        let file_offset = u64::from(address.saturating_sub(self.start));
        self.storage.admit_read(file_offset, buffer.len())?;
        nor_flash::check_read(self, address, buffer.len()).map_err(|kind| match kind {
            nor_flash::NorFlashErrorKind::NotAligned => Fault::NotAligned,
            _ => Fault::OutOfBounds,
        })?;
        buffer.fill(0xFF);
        let before = usize::try_from(self.start.saturating_sub(address)).expect("fits in usize");
        let len = match buffer.get_mut(before..) {
            Some(of_file) => self.storage.copy(file_offset, of_file),
            None => 0,
        };
        self.storage.record_read(file_offset, len);
        Ok(())
    }

    /// Whole units, up to where the file ended at first: chips do not grow or shrink.
    fn capacity(&self) -> usize {
        let start = usize::try_from(self.start).expect("fits in usize");
        (start + self.storage.first_file().len()).next_multiple_of(READ_SIZE)
    }
}
