//! All the kinds of source that the core can read, over one mock storage.

use embedded_io::{ErrorType, Read, Seek, SeekFrom};
use embedded_safetensors::{
    ReadAt,
    io::{FileLen, NorFile, Seekable},
};
use embedded_storage::nor_flash::{self, ReadNorFlash};

use crate::flash::assert_aligned;
use crate::mock::{Fault, Reads, Storage};

/// A kind of source.
pub trait SourceKind {
    /// The source.
    type Source<'s>: ReadAt<Error: embedded_io::Error>;

    /// How many bytes its reads return by default.
    const READS: &'static [Reads] = &[Reads::Whole];

    /// Returns a source that reads this storage.
    fn source<'s>(storage: &'s Storage<'s>) -> Self::Source<'s>;
}

/// The file in memory. It ignores the plan.
pub struct Slice;

/// A source that implements the core's own trait.
pub struct Custom;

/// A stream that can read and seek, in [`Seekable`].
pub struct SeekableStream;

/// A partition of NOR flash, in [`NorFile`], that starts at this address. It knows the length of its file,
/// unless the plan claims another: then the partition ends where the file can end.
pub struct Nor<const READ_SIZE: usize, const START: u32>;

/// The same, with an unknown length of the file.
pub struct NorOfUnknownLen<const READ_SIZE: usize, const START: u32>;

impl SourceKind for Slice {
    type Source<'s> = &'s [u8];

    fn source<'s>(storage: &'s Storage<'s>) -> &'s [u8] {
        storage.first_file()
    }
}

impl SourceKind for Custom {
    type Source<'s> = &'s Storage<'s>;

    const READS: &'static [Reads] = &[Reads::Whole, Reads::AtMost(5)];

    fn source<'s>(storage: &'s Storage<'s>) -> &'s Storage<'s> {
        storage
    }
}

impl SourceKind for SeekableStream {
    type Source<'s> = Seekable<Stream<'s>>;

    const READS: &'static [Reads] = &[Reads::Whole, Reads::AtMost(5)];

    fn source<'s>(storage: &'s Storage<'s>) -> Seekable<Stream<'s>> {
        Seekable::new(Stream::new(storage))
    }
}

impl<const READ_SIZE: usize, const START: u32> SourceKind for NorOfUnknownLen<READ_SIZE, START> {
    type Source<'s> = NorFile<Flash<'s, READ_SIZE>>;

    fn source<'s>(storage: &'s Storage<'s>) -> Self::Source<'s> {
        let flash = Flash::new(storage, START);
        let end = START + u32::try_from(storage.first_file().len()).expect("fits in usize");
        NorFile::partition(flash, START..end)
    }
}

impl<const READ_SIZE: usize, const START: u32> SourceKind for Nor<READ_SIZE, START> {
    type Source<'s> = NorFile<Flash<'s, READ_SIZE>>;

    fn source<'s>(storage: &'s Storage<'s>) -> Self::Source<'s> {
        let flash = Flash::new(storage, START);
        let end = |len| START.saturating_add(u32::try_from(len).unwrap_or(u32::MAX));
        match storage.reported_len() {
            FileLen::Exactly(len) => NorOfUnknownLen::<READ_SIZE, START>::source(storage).with_file_len(len),
            FileLen::AtMost(len) => NorFile::partition(flash, START..end(len)),
            FileLen::Unknown => NorFile::partition(flash, START..u32::MAX),
        }
    }
}

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
