//! Files of the operating system, which are removed automatically.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU32, Ordering};

use embedded_safetensors::{ReadAt, io::FileLen};

use crate::mock::{Fault, Reads, Storage};
use crate::sources::{AnySource, SourceKind};

/// A file that fails, is cut and is overwritten as planned. Otherwise the system reads it.
pub const DISK: SourceKind = SourceKind::new(
    |storage| {
        let written = storage.first_file().to_vec();
        let file = temporary_file(&written).expect("a temporary file");
        AnySource::new(FaultyFile { storage, file, written })
    },
    &[Reads::Whole],
);

/// A copy of a storage's file on the disk.
#[derive(Debug)]
pub struct FaultyFile<'s> {
    storage: &'s Storage<'s>,
    file: File,
    written: Vec<u8>,
}

impl FaultyFile<'_> {
    /// Does to the file what the plan says happens to it.
    fn apply_plan(&mut self) -> io::Result<()> {
        self.storage.with_file(|now| {
            if now == &self.written[..] {
                return Ok(());
            }
            self.written = now.to_vec();
            overwrite(&self.file, now)
        })
    }
}

impl ReadAt for FaultyFile<'_> {
    type Error = io::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let allowed = self.storage.admit_read(offset, buffer.len())?;
        self.apply_plan()?;
        let len = self.file.read_at(offset, &mut buffer[..allowed])?;
        self.storage.record_read(offset, len);
        Ok(len)
    }

    fn file_len(&mut self) -> io::Result<FileLen> {
        self.storage.admit()?;
        self.apply_plan()?;
        match self.storage.planned_len() {
            Some(planned_len) => Ok(planned_len),
            None => self.file.file_len(),
        }
    }
}

fn overwrite(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)
}

/// Creates a file that no other process can find.
fn temporary_file(bytes: &[u8]) -> io::Result<File> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("embedded-safetensors-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    // The file exists until it is closed.
    std::fs::remove_file(&path)?;
    overwrite(&file, bytes)?;
    Ok(file)
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::Interrupted => Self::Interrupted,
            _ => Self::Broken,
        }
    }
}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Interrupted => io::ErrorKind::Interrupted.into(),
            _ => io::Error::other(fault),
        }
    }
}
