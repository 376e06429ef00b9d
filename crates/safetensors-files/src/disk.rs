//! The file system calls of this crate, as traits, so that tests can use a simulated disk.

use crate::claim::Claim;
use embedded_safetensors::file::shared::{self, Version};
use embedded_safetensors::io::{FileLen, ReadAt};
use std::fmt::Debug;
use std::fs::{File, Permissions};
use std::io;
use std::path::{Path, PathBuf};

/// A file system.
pub(crate) trait Disk: Sync {
    /// Resolves all links of a path, whose last component need not exist yet.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;

    /// Stats the file at `path`, if it exists.
    fn stat(&self, path: &Path) -> io::Result<Option<Stat>>;

    /// Creates a file for writing and reading, with these permissions or the default ones. An error when
    /// something exists there.
    fn create_new(&self, path: &Path, permissions: Option<&Permissions>) -> io::Result<Box<dyn Handle>>;

    /// Opens an existing file for reading, and for writing if `writable`.
    fn open(&self, path: &Path, writable: bool) -> io::Result<Box<dyn Handle>>;

    /// Renames a file within its directory, atomically, and replaces a file of that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames a file if the new name is free; otherwise an error of kind
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists).
    fn rename_to_free(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Syncs the names in a directory.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;

    /// Creates a directory, with these permissions or the default ones. An error when something exists there.
    fn create_directory(&self, path: &Path, permissions: Option<&Permissions>) -> io::Result<()>;

    /// Lists a directory, in any order. Links are listed as links.
    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>>;

    /// Removes a directory with its contents, which is not atomic.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;

    /// Exchanges the names of two files or directories, atomically. An error of kind
    /// [`Unsupported`](io::ErrorKind::Unsupported) if the system cannot do that.
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()>;

    /// Opens a file as [`open`](Self::open) does, and locks it until the handle is dropped. `None` if another
    /// program has locked it, or has given its name to another file. Without such locks, it is only opened.
    fn lock(&self, path: &Path, write: bool) -> io::Result<Option<Box<dyn Handle>>> {
        self.open(path, write).map(Some)
    }

    /// [Claims](crate::claim) a directory, if the system can.
    fn claim(&self, _directory: &Path) -> Option<Claim> {
        None
    }

    /// Waits for a moment while other programs run.
    fn pause(&self);
}

/// An open file, which stays the same even if its name changes.
pub(crate) trait Handle: Debug + Send + Sync {
    /// Stats the open file.
    fn stat(&self) -> io::Result<Stat>;

    /// Reads some of the bytes at `offset`; returns 0 at the end of the file.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes all of these bytes at `offset`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Copies some of `len` bytes at `from` of another file to `offset`, without a buffer. An error if the
    /// system cannot do that.
    fn copy_at(&self, _offset: u64, _file: &File, _from: u64, _len: u64) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Sets the length of the file, with zeros where nothing was written.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Syncs the bytes and the length.
    fn sync(&self) -> io::Result<()>;
}

/// An entry of a directory.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    pub(crate) is_directory: bool,
    /// The kind of file, unless it is a regular file.
    pub(crate) other: Option<&'static str>,
}

/// The result of a stat.
#[derive(Clone, Debug)]
pub(crate) struct Stat {
    /// The kind of file, unless it is a regular file.
    pub(crate) other: Option<&'static str>,
    pub(crate) permissions: Option<Permissions>,
    pub(crate) version: Version,
}

/// Reads a file from its start.
pub(crate) struct FromStart<'h> {
    file: &'h dyn Handle,
    at: u64,
}

impl<'h> FromStart<'h> {
    pub(crate) fn new(file: &'h dyn Handle) -> Self {
        Self { file, at: 0 }
    }
}

impl io::Read for FromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read_at(self.at, buffer)?;
        self.at += len as u64;
        Ok(len)
    }
}

/// The length is the current one.
impl ReadAt for &dyn Handle {
    type Error = io::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Handle::read_at(*self, offset, buffer)
    }

    fn file_len(&mut self) -> io::Result<FileLen> {
        Ok(FileLen::Exactly(self.stat()?.version.len))
    }
}

/// Fills the buffer up to the end of the file. Returns the number of bytes filled.
pub(crate) fn read_up_to(mut file: &dyn Handle, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    shared::read_up_to(&mut file, offset, buffer)
}

/// Reads so many bytes, or all up to the end of the file.
pub(crate) fn read(file: &dyn Handle, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let len = read_up_to(file, offset, &mut bytes)?;
    bytes.truncate(len);
    Ok(bytes)
}

/// Reads the bytes of the header, which are not validated.
pub(crate) fn read_header(mut file: &dyn Handle) -> io::Result<Vec<u8>> {
    let len = file.stat()?.version.len;
    shared::read_header(&mut file, len)
}
