//! Maps files into memory. All `unsafe` code of maps is in this file.
//!
//! A map is a `&[u8]`, whose bytes must exist and must not change while it is borrowed. The system does not
//! guarantee that for a file that others can write to. So the caller is responsible for the file, and the
//! functions that map one are `unsafe`.

use super::advice::Advice;
use super::error::{FileError, FileErrorKind};
use super::mapped::MappedModel;
use super::open::Opened;
use crate::util::bytes::index_below;
use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::path::Path;

/// Options for mapping a file.
///
/// *Memory*: 2 bytes, `Copy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapOptions {
    is_populated: bool,
    advice: Advice,
}

impl MapOptions {
    /// Creates the default options: pages are read when they are accessed, and as the system decides.
    pub const fn new() -> Self {
        Self { is_populated: false, advice: Advice::Normal }
    }

    /// Reads all pages while the file is opened, so that no later access has to wait. Only on Linux;
    /// elsewhere pages are read when they are accessed.
    pub const fn with_all_pages(self) -> Self {
        Self { is_populated: true, ..self }
    }

    /// Tells the system how the model will be read, as [`MappedModel::advise`] does.
    pub const fn with_advice(self, advice: Advice) -> Self {
        Self { advice, ..self }
    }

    /// Opens, validates and maps a file.
    ///
    /// # Safety
    /// That of [`MappedModel::open`].
    ///
    /// # Errors
    /// As [`MappedModel::open`].
    pub unsafe fn open(self, path: impl AsRef<Path>) -> Result<MappedModel, FileError> {
        let path = path.as_ref();
        // SAFETY: the caller guarantees the safety conditions of the file.
        unsafe { self.begin(path) }.map_err(|kind| kind.of(path))
    }

    /// # Safety
    /// That of [`MappedModel::open`].
    unsafe fn begin(self, path: &Path) -> Result<MappedModel, FileErrorKind> {
        // With reads: an invalid file is never mapped, nor an empty one.
        let Opened { file, version, header, index } = Opened::at(path)?;
        // SAFETY: the caller guarantees the safety conditions of the file, which has this length.
        let map = unsafe { self.map(addressed(version.len)?, &file) }?;
        if !map.starts_with(&header) {
            return Err(FileErrorKind::Changed);
        }
        Ok(MappedModel { index, map, file, path: path.to_path_buf(), version })
    }

    /// # Safety
    /// That of [`MappedModel::open`]; and the file has at least `len` bytes.
    unsafe fn map(self, len: usize, file: &File) -> Result<Mmap, FileErrorKind> {
        let mut options = MmapOptions::new();
        options.len(len);
        if self.is_populated {
            options.populate();
        }
        // SAFETY: the caller guarantees the safety conditions of the file.
        let map = unsafe { options.map(file) }.map_err(|error| FileErrorKind::system("map", error))?;
        match self.advice {
            Advice::Normal => {}
            advice => advice.give(&map).map_err(|error| FileErrorKind::system("read ahead in", error))?,
        }
        Ok(map)
    }
}

impl MappedModel {
    /// Opens a file, validates it by reading its header, and maps it. The verdict is that of
    /// [`validate`](crate::validate::validate()) on the entire file. [`MapOptions`] does the same with
    /// options.
    ///
    /// # Safety
    /// While the model exists, no program, including this one, may write to the file in place or truncate it.
    /// It may be removed or replaced by another file, as the crate `safetensors-files` does when it writes or
    /// copies. The disk must stay available as long: if it is removed, or its network fails, the program is
    /// killed.
    ///
    /// # Errors
    /// [`FileErrorKind::Format`] for an invalid file, including an empty one;
    /// [`FileErrorKind::Duplicate`] for a duplicate name or key of `__metadata__`;
    /// [`FileErrorKind::NotAFile`]; [`FileErrorKind::TooLong`] when the file is larger than the address
    /// space; [`FileErrorKind::Interrupted`]; [`FileErrorKind::Changed`] when the file was changed
    /// meanwhile; those of the system.
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        // SAFETY: the caller guarantees the safety conditions of the file.
        unsafe { MapOptions::new().open(path) }
    }
}

/// Returns the length of a map of the file, which must not exceed the limit of a slice.
fn addressed(len: u64) -> Result<usize, FileErrorKind> {
    index_below(len, isize::MAX.unsigned_abs()).ok_or(FileErrorKind::TooLong { len })
}
