//! A file that takes the place of another in one act, whole, or not at all.
//!
//! The order matters, and each step is one that a power cut may follow: the new file is written under a
//! name that nobody looks for, then synced, then renamed, then its folder is synced. Renamed before it was
//! synced, the name could lead to a file whose bytes never reached the medium.

use crate::disk::{Disk, Handle, Stat};
use crate::error::EditErrorKind;
use embedded_safetensors::file::FileErrorKind;
use std::collections::hash_map::RandomState;
use std::fs::Permissions;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// A file in the making. Dropped before it is [closed](Self::close), also by a panic, it leaves nothing behind.
pub(crate) struct Replacement<'d> {
    hidden: Hidden<'d>,
    file: Box<dyn Handle>,
}

/// A file under a name that nobody looks for. Dropped before it takes its place, it leaves nothing behind.
pub(crate) struct Hidden<'d> {
    disk: &'d dyn Disk,
    target: PathBuf,
    temporary: PathBuf,
    /// Whether the temporary name leads to nothing any more.
    is_renamed: bool,
}

impl<'d> Replacement<'d> {
    /// Begins a file that will be at `target`, a resolved place, with the permissions of the one that is there.
    ///
    /// # Errors
    /// When something else than a file is there; those of the system.
    pub(crate) fn begin(disk: &'d dyn Disk, target: &Path) -> Result<Self, EditErrorKind> {
        Self::begin_like(disk, target, target)
    }

    /// As [`begin`](Self::begin), with the permissions of another file.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn begin_like(disk: &'d dyn Disk, target: &Path, like: &Path) -> Result<Self, EditErrorKind> {
        look_for_file(disk, target)?;
        let old = look_for_file(disk, like)?;
        let permissions = old.and_then(|stat| stat.permissions);
        let (temporary, file) = create_beside(disk, target, permissions.as_ref())
            .map_err(|error| EditErrorKind::system("create a temporary file beside", error))?;
        let hidden = Hidden { disk, target: target.to_path_buf(), temporary, is_renamed: false };
        Ok(Self { hidden, file })
    }

    /// What is to be written.
    pub(crate) fn file(&self) -> &dyn Handle {
        &*self.file
    }

    /// Closes the file once its bytes are on the medium.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn close(self) -> Result<Hidden<'d>, EditErrorKind> {
        self.file.sync().map_err(|error| EditErrorKind::system("write", error))?;
        Ok(self.hidden)
    }
}

impl<'d> Hidden<'d> {
    pub(crate) fn disk(&self) -> &'d dyn Disk {
        self.disk
    }

    /// The resolved place that it will be at.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Puts the file in its place, and returns when it is there on the medium.
    ///
    /// # Errors
    /// Those of the system. Only where the very last step failed, the sync of the folder, the new file is there, and
    /// a power cut may bring the old one back; before that the old one is as it was.
    pub(crate) fn take_place(self) -> Result<(), EditErrorKind> {
        let renamed = self.disk.rename(&self.temporary, &self.target);
        self.settle(renamed)
    }

    /// As [`take_place`](Self::take_place), if nothing is there.
    ///
    /// # Errors
    /// As there; of the kind [`AlreadyExists`](io::ErrorKind::AlreadyExists) when something is there.
    pub(crate) fn take_free_place(self) -> Result<(), EditErrorKind> {
        let renamed = self.disk.rename_to_free(&self.temporary, &self.target);
        self.settle(renamed)
    }

    fn settle(mut self, renamed: io::Result<()>) -> Result<(), EditErrorKind> {
        renamed.map_err(|error| EditErrorKind::system("replace", error))?;
        self.is_renamed = true;
        sync_folder_of(self.disk, &self.target)
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        if !self.is_renamed {
            // Whoever drops it has an error to tell already, or is in a panic.
            let _ = self.disk.remove(&self.temporary);
        }
    }
}

/// What is at this place, which must be a file if it is anything.
///
/// # Errors
/// When it is something else; those of the system.
pub(crate) fn look_for_file(disk: &dyn Disk, place: &Path) -> Result<Option<Stat>, EditErrorKind> {
    match disk.look(place).map_err(|error| EditErrorKind::system("look at", error))? {
        Some(Stat { other: Some(what), .. }) => Err(FileErrorKind::NotAFile { what }.into()),
        found => Ok(found),
    }
}

/// Returns when the names beside a file, and its own, are on the medium.
///
/// # Errors
/// Those of the system.
pub(crate) fn sync_folder_of(disk: &dyn Disk, place: &Path) -> Result<(), EditErrorKind> {
    let folder = place.parent().unwrap_or(place);
    disk.sync_folder(folder).map_err(|error| EditErrorKind::system("sync the folder of", error))
}

/// More than chance can need.
const ATTEMPTS: u32 = 16;

fn create_beside(
    disk: &dyn Disk,
    target: &Path,
    permissions: Option<&Permissions>,
) -> io::Result<(PathBuf, Box<dyn Handle>)> {
    beside(target, |path| disk.create_new(path, permissions))
}

/// Makes something of a new name beside the target.
pub(crate) fn beside<T>(
    target: &Path,
    mut create: impl FnMut(&Path) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    let mut outcome = Err(io::ErrorKind::AlreadyExists.into());
    for _ in 0..ATTEMPTS {
        // Hidden, and of one length: the name of the target may be as long as names can be.
        let chance = RandomState::new().build_hasher().finish();
        let path = target.with_file_name(format!(".safetensors-{:x}-{chance:016x}.tmp", std::process::id()));
        outcome = create(&path).map(|made| (path, made));
        match &outcome {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            _ => break,
        }
    }
    outcome
}
