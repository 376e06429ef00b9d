//! Files mapped into memory: what is `unsafe` about it, all of it here.
//!
//! A map is a `&[u8]`, whose bytes must not change while it is borrowed, and which must be there. The system does not promise that of a file that
//! others can write to. So who opens a model vouches for its file, and the functions that map one are `unsafe`.

use super::advice::Advice;
use super::error::{FileError, FileErrorKind};
use super::mapped::MappedModel;
use super::open::Opened;
use crate::util::bytes::index_below;
use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::path::Path;

/// How a file is to be mapped.
///
/// ```
/// use embedded_safetensors::file::{Advice, MapOptions};
/// # let path = std::env::temp_dir().join(format!("map-options-{}", std::process::id()));
/// # std::fs::write(&path, b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ab")?;
///
/// // SAFETY: nobody writes to this file while the program runs.
/// let model = unsafe { MapOptions::new().with_advice(Advice::Random).open(&path)? };
/// # drop(model);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// *Memory*: 2 bytes, `Copy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapOptions {
    is_populated: bool,
    advice: Advice,
}

impl MapOptions {
    /// Pages are read when they are looked at, and as the system sees fit.
    pub const fn new() -> Self {
        Self { is_populated: false, advice: Advice::Normal }
    }

    /// Has all pages read while the file is opened, so that no later look has to wait. On Linux; elsewhere pages are read when they are looked at.
    pub const fn with_all_pages(self) -> Self {
        Self { is_populated: true, ..self }
    }

    /// Tells the system how the model is going to be read: as [`MappedModel::advise`].
    pub const fn with_advice(self, advice: Advice) -> Self {
        Self { advice, ..self }
    }

    /// Opens, validates and maps a file.
    ///
    /// # Safety
    /// As of [`MappedModel::open`].
    ///
    /// # Errors
    /// As [`MappedModel::open`].
    pub unsafe fn open(self, path: impl AsRef<Path>) -> Result<MappedModel, FileError> {
        let path = path.as_ref();
        // SAFETY: the caller vouches for the file.
        unsafe { self.begin(path) }.map_err(|fault| fault.of(path))
    }

    /// # Safety
    /// As of [`MappedModel::open`].
    unsafe fn begin(self, path: &Path) -> Result<MappedModel, FileErrorKind> {
        // By reads: a file that is unsound is never mapped, nor one of no bytes.
        let Opened { file, version, header, index } = Opened::at(path)?;
        // SAFETY: the caller vouches for the file, which is as long as that.
        let map = unsafe { self.map(addressed(version.len)?, &file) }?;
        if !map.starts_with(&header) {
            return Err(FileErrorKind::Changed);
        }
        Ok(MappedModel { index, map, file, path: path.to_path_buf(), version })
    }

    /// # Safety
    /// As of [`MappedModel::open`]; and the file is at least as long as that.
    unsafe fn map(self, len: usize, file: &File) -> Result<Mmap, FileErrorKind> {
        let mut options = MmapOptions::new();
        options.len(len);
        if self.is_populated {
            options.populate();
        }
        // SAFETY: the caller vouches for the file.
        let map = unsafe { options.map(file) }.map_err(|error| FileErrorKind::system("map", error))?;
        match self.advice {
            Advice::Normal => {}
            advice => advice.give(&map).map_err(|error| FileErrorKind::system("read ahead in", error))?,
        }
        Ok(map)
    }
}

impl MappedModel {
    /// Opens a file, validates it by reads of its header, and maps it: what [`validate`](crate::validate::validate()) says of the whole file. As [`MapOptions`], which
    /// say how.
    ///
    /// # Safety
    /// While the model is there, nobody, in this program or another, writes to the file or makes it shorter: not in place, that is. It may be removed, and another file
    /// may take its place, as the crate `safetensors-files` does it when it writes or copies.
    /// The disk must answer for as long: one that is taken away, or a network that fails, ends the program.
    ///
    /// # Errors
    /// [`FileErrorKind::Format`] for a file that is unsound, one of no bytes included; [`FileErrorKind::Twice`] for one that has a name or a key of `__metadata__` twice;
    /// [`FileErrorKind::NotAFile`]; [`FileErrorKind::TooLong`] where addresses are too short for it; [`FileErrorKind::Interrupted`]; [`FileErrorKind::Changed`] when it was changed meanwhile; those of the system.
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        // SAFETY: the caller vouches for the file.
        unsafe { MapOptions::new().open(path) }
    }
}

/// The length of a map of the file, which no slice may exceed.
fn addressed(len: u64) -> Result<usize, FileErrorKind> {
    index_below(len, isize::MAX.unsigned_abs()).ok_or(FileErrorKind::TooLong { len })
}
