//! The calls of a file system that writing makes, so that a model of a disk can stand in for one.

use embedded_safetensors::file::shared::{self, Version};
use embedded_safetensors::io::{FileLen, ReadAt};
use std::fmt::Debug;
use std::fs::Permissions;
use std::io;
use std::path::{Path, PathBuf};

/// A file system.
pub(crate) trait Disk: Sync {
    /// The place that a path leads to, through all links, also when nothing is there yet.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;

    /// What is at this place, if anything is.
    fn look(&self, place: &Path) -> io::Result<Option<Stat>>;

    /// A new file to write and read, with these permissions or the usual ones. An error when something is there.
    fn create_new(&self, place: &Path, permissions: Option<&Permissions>) -> io::Result<Box<dyn Handle>>;

    /// A file that is there, to read; to write, too, if `writable`.
    fn open(&self, place: &Path, writable: bool) -> io::Result<Box<dyn Handle>>;

    /// Gives a file another name in the same folder, in one act, instead of the file that had that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// As [`rename`](Self::rename), if nothing has that name: otherwise an error of the kind [`AlreadyExists`](io::ErrorKind::AlreadyExists).
    fn rename_to_free(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, place: &Path) -> io::Result<()>;

    /// Returns when the names in a folder are on the medium.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// A new folder, with these permissions or the usual ones. An error when something is there.
    fn create_folder(&self, place: &Path, permissions: Option<&Permissions>) -> io::Result<()>;

    /// What is in a folder, in any order; of links it is said that they are links.
    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>>;

    /// Removes a folder with all that is in it, which is no single act.
    fn remove_folder(&self, place: &Path) -> io::Result<()>;

    /// Gives each of two files or folders the name of the other, in one act. Where the system cannot do that, an error of the kind
    /// [`Unsupported`](io::ErrorKind::Unsupported).
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()>;

    /// Lets other programs go on for a moment.
    fn pause(&self);
}

/// An open file, which stays the same one whatever happens to its name.
pub(crate) trait Handle: Debug + Send + Sync {
    /// As [`Disk::look`].
    fn stat(&self) -> io::Result<Stat>;

    /// Some of the bytes at `offset`; 0 at the end of the file.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// All of these bytes to `offset`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes the file this long, with zeros where nothing was written.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Returns when the bytes and the length are on the medium.
    fn sync(&self) -> io::Result<()>;
}

/// Something in a folder.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    pub(crate) is_folder: bool,
    /// What it is, unless it is a regular file.
    pub(crate) other: Option<&'static str>,
}

/// What the system knows of a file.
#[derive(Clone, Debug)]
pub(crate) struct Stat {
    /// What it is, unless it is a regular file.
    pub(crate) other: Option<&'static str>,
    pub(crate) permissions: Option<Permissions>,
    pub(crate) version: Version,
}

/// The bytes of a file, one after the other.
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

/// It has the length that it has now.
impl ReadAt for &dyn Handle {
    type Error = io::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Handle::read_at(*self, offset, buffer)
    }

    fn file_len(&mut self) -> io::Result<FileLen> {
        Ok(FileLen::Exactly(self.stat()?.version.len))
    }
}

/// Fills the buffer as far as the file goes; how much of it is filled.
pub(crate) fn read_up_to(mut file: &dyn Handle, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    shared::read_up_to(&mut file, offset, buffer)
}

/// The bytes of the header, not judged yet.
pub(crate) fn read_header(mut file: &dyn Handle) -> io::Result<Vec<u8>> {
    let len = file.stat()?.version.len;
    shared::read_header(&mut file, len)
}
