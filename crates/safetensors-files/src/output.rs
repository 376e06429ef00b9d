//! Writes files of any kind atomically.

use crate::atomic::{Hidden, Replacement};
use crate::disk::Handle;
use crate::error::{At, Doing, EditError, EditErrorKind};
use crate::system::System;
use crate::undo;
use core::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Writes of at least this length bypass the buffer.
const BUFFER: usize = 1 << 14;

/// A new file of any bytes. It is written under a hidden name in the target's directory, and replaces the
/// target when it is finished, like the models of a [`FileWriter`](crate::FileWriter).
///
/// ```
/// use safetensors_files::AtomicFile;
/// use std::io::Write;
/// # let path = std::env::temp_dir().join(format!("atomic-file-{}", std::process::id()));
///
/// let mut file = AtomicFile::create(&path)?;
/// writeln!(file, "step 1200")?;
/// file.close()?.replace()?;
/// # assert_eq!(std::fs::read(&path)?, b"step 1200\n");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// *Memory*: a buffer of 16 KiB.
#[must_use = "a file that is not finished is not there"]
pub struct AtomicFile {
    path: PathBuf,
    file: Buffered<'static>,
}

/// A file that is being written at any offset; adjacent bytes are collected.
pub(crate) type Buffered<'d> = BufWriter<Positioned<'d>>;

/// A file, and the position of the next bytes.
pub(crate) struct Positioned<'d> {
    file: Replacement<'d>,
    at: u64,
}

impl<'d> Positioned<'d> {
    pub(crate) fn buffered(file: Replacement<'d>, capacity: usize) -> Buffered<'d> {
        BufWriter::with_capacity(capacity, Self { file, at: 0 })
    }

    pub(crate) fn handle(&self) -> &dyn Handle {
        self.file.file()
    }

    /// Returns the offset of the next byte, which may be in the buffer.
    pub(crate) fn next(buffered: &Buffered<'d>) -> u64 {
        buffered.get_ref().at + buffered.buffer().len() as u64
    }

    /// Writes what is in the buffer.
    pub(crate) fn into_file(buffered: Buffered<'d>) -> Result<Replacement<'d>, EditErrorKind> {
        let inner = buffered.into_inner().map_err(io::IntoInnerError::into_error);
        inner.doing("write").map(|positioned| positioned.file)
    }
}

impl AtomicFile {
    /// Begins a file that will be at `path`, with the permissions of the existing file.
    ///
    /// # Errors
    /// [`NotAFile`](embedded_safetensors::file::FileErrorKind::NotAFile); those of the system, such as a
    /// directory that does not exist.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, EditError> {
        let path = path.as_ref();
        Replacement::begin(&System, path).at(path).map(|file| Self::of(path, file))
    }

    fn of(path: &Path, file: Replacement<'static>) -> Self {
        Self { path: path.to_path_buf(), file: Positioned::buffered(file, BUFFER) }
    }

    /// Writes up to `len` bytes that another file has at `from`, without a buffer in between. Returns how
    /// many, which is 0 if that file ends there.
    ///
    /// # Errors
    /// The system cannot do that, for example since the files are on different file systems. Nothing is
    /// written then; [`write_all`](Write::write_all) can still write the bytes.
    pub fn copy_from(&mut self, file: &File, from: u64, len: u64) -> io::Result<u64> {
        self.file.flush()?;
        let output = self.file.get_mut();
        let copied = output.file.file().copy_at(output.at, file, from, len)?;
        output.at += copied;
        Ok(copied)
    }

    /// Syncs and closes the file, which keeps its hidden name.
    ///
    /// # Errors
    /// Those of the system.
    pub fn close(self) -> Result<ClosedFile, EditError> {
        let Self { path, file } = self;
        let hidden = Positioned::into_file(file).and_then(Replacement::close).at(&path)?;
        Ok(ClosedFile { path, hidden })
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Write for Positioned<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.file().write_at(self.at, bytes)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Positioned<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let sought = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.file.file().stat()?.version.len.checked_add_signed(by),
        };
        self.at = sought.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl fmt::Debug for AtomicFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// A complete and synced file that does not have its final name yet. If it is dropped before that, the hidden
/// file is removed.
///
/// *Memory*: its paths; the file is not open. Its directory is, which the files that are begun by
/// [`another`](Self::another) share.
#[must_use = "a file that does not take its place is not there"]
pub struct ClosedFile {
    path: PathBuf,
    hidden: Hidden<'static>,
}

impl ClosedFile {
    /// Returns the path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins another file as [`AtomicFile::create`] does. If both are in one directory, it needs no further
    /// open directory, so that many files can wait for their names.
    ///
    /// # Errors
    /// As [`AtomicFile::create`].
    pub fn another(&self, path: impl AsRef<Path>) -> Result<AtomicFile, EditError> {
        let path = path.as_ref();
        self.hidden.another(path).at(path).map(|file| AtomicFile::of(path, file))
    }

    /// Moves the file to its path, and replaces an existing file.
    ///
    /// # Errors
    /// Those of the system. The old file is unchanged, unless only the sync of the directory failed.
    pub fn replace(self) -> Result<(), EditError> {
        let Self { path, hidden } = self;
        let _guard = undo::lock();
        hidden.replace_edited_target(true).at(&path)
    }

    /// Moves the file to its path, if nothing exists there.
    ///
    /// # Errors
    /// As [`replace`](Self::replace); one of kind [`AlreadyExists`](io::ErrorKind::AlreadyExists) when
    /// something exists there.
    pub fn take_free_place(self) -> Result<(), EditError> {
        let Self { path, hidden } = self;
        hidden.take_free_place().at(&path)
    }
}

impl fmt::Debug for ClosedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClosedFile").field("path", &self.path).finish_non_exhaustive()
    }
}
