//! Replaces a file by another one atomically.
//!
//! The order of the steps matters, since a power cut can follow each: the new file is written under a hidden
//! name, then synced, then renamed, then its directory is synced. If it were renamed before it was synced,
//! the name could belong to a file whose bytes were never stored.

use crate::claim::Claim;
use crate::disk::{Disk, Handle, Stat};
use crate::error::EditErrorKind;
use embedded_safetensors::file::FileErrorKind;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// A file that is being written. If it is dropped before it is [closed](Self::close), also by a panic, it is
/// removed.
pub(crate) struct Replacement<'d> {
    hidden: Hidden<'d>,
    file: Box<dyn Handle>,
}

/// A closed file under a hidden name. If it is dropped before it is renamed, it is removed.
pub(crate) struct Hidden<'d> {
    disk: &'d dyn Disk,
    target: PathBuf,
    temporary: PathBuf,
    /// Whether the temporary name no longer exists.
    is_renamed: bool,
    /// The directory, if it could be claimed. Files share it, so that many can wait for their names.
    claim: Option<Claim>,
}

impl<'d> Replacement<'d> {
    /// Begins a file that will be at `target`, a resolved path, with the permissions of the existing file.
    ///
    /// # Errors
    /// When something other than a regular file is there; those of the system.
    pub(crate) fn begin(disk: &'d dyn Disk, target: &Path) -> Result<Self, EditErrorKind> {
        Self::begin_like(disk, target, target)
    }

    /// Begins a file as [`begin`](Self::begin) does, with the permissions of another file.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub(crate) fn begin_like(disk: &'d dyn Disk, target: &Path, like: &Path) -> Result<Self, EditErrorKind> {
        Self::begin_with(disk, target, like, None)
    }

    /// Begins a file with the claim of its directory, or a new one.
    fn begin_with(
        disk: &'d dyn Disk,
        target: &Path,
        like: &Path,
        claim: Option<Claim>,
    ) -> Result<Self, EditErrorKind> {
        stat_file(disk, target)?;
        let old = stat_file(disk, like)?;
        let permissions = old.and_then(|stat| stat.permissions);
        let claim = claim.or_else(|| disk.claim(target.parent()?));
        let (temporary, file) = beside(target, |path| disk.create_new(path, permissions.as_ref()))
            .map_err(|error| EditErrorKind::system("create a temporary file beside", error))?;
        let hidden = Hidden { disk, target: target.to_path_buf(), temporary, is_renamed: false, claim };
        Ok(Self { hidden, file })
    }

    /// Returns the file to write to.
    pub(crate) fn file(&self) -> &dyn Handle {
        &*self.file
    }

    /// Syncs and closes the file.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn close(self) -> Result<Hidden<'d>, EditErrorKind> {
        self.file.sync().map_err(|error| EditErrorKind::system("write", error))?;
        Ok(self.hidden)
    }

    /// Closes the file, which the system writes to the disk later.
    pub(crate) fn close_without_sync(self) -> Hidden<'d> {
        self.hidden
    }
}

impl<'d> Hidden<'d> {
    pub(crate) fn disk(&self) -> &'d dyn Disk {
        self.disk
    }

    /// Returns the resolved path that it will have.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Begins another file, which shares the claim if it will be in the same directory.
    ///
    /// # Errors
    /// As [`Replacement::begin`].
    pub(crate) fn another(&self, target: &Path) -> Result<Replacement<'d>, EditErrorKind> {
        let claim = self.claim.clone().filter(|_| target.parent() == self.target.parent());
        Replacement::begin_with(self.disk, target, target, claim)
    }

    /// Renames the file to its target, and syncs the directory.
    ///
    /// # Errors
    /// Those of the system. If only the last step failed, the sync of the directory, the new file is at the
    /// target, and a power cut may restore the old one. Otherwise the old one is unchanged.
    pub(crate) fn replace_target(self) -> Result<(), EditErrorKind> {
        let renamed = self.disk.rename(&self.temporary, &self.target);
        self.finish_rename(renamed)
    }

    /// Renames the file to its target. The system writes the new name to the disk later.
    ///
    /// # Errors
    /// Those of the system. Then the old file is unchanged.
    pub(crate) fn rename_to_target(mut self) -> Result<(), EditErrorKind> {
        let renamed = self.disk.rename(&self.temporary, &self.target);
        self.is_renamed = renamed.is_ok();
        renamed.map_err(|error| EditErrorKind::system("replace", error))
    }

    /// Renames the file as [`replace_target`](Self::replace_target) does, if nothing is at the target.
    ///
    /// # Errors
    /// As [`replace_target`](Self::replace_target); one of kind
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) when something is at the target.
    pub(crate) fn take_free_place(self) -> Result<(), EditErrorKind> {
        let renamed = self.disk.rename_to_free(&self.temporary, &self.target);
        self.finish_rename(renamed)
    }

    fn finish_rename(mut self, renamed: io::Result<()>) -> Result<(), EditErrorKind> {
        renamed.map_err(|error| EditErrorKind::system("replace", error))?;
        self.is_renamed = true;
        sync_parent(self.disk, &self.target)
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        if !self.is_renamed {
            // The caller already has an error to report, or is in a panic.
            let _ = self.disk.remove(&self.temporary);
        }
    }
}

/// Stats a regular file, if it exists.
///
/// # Errors
/// When something other than a regular file is there; those of the system.
pub(crate) fn stat_file(disk: &dyn Disk, path: &Path) -> Result<Option<Stat>, EditErrorKind> {
    match disk.stat(path).map_err(|error| EditErrorKind::system("stat", error))? {
        Some(Stat { other: Some(what), .. }) => Err(FileErrorKind::NotAFile { what }.into()),
        found => Ok(found),
    }
}

/// Syncs the names in the directory of a file.
///
/// # Errors
/// Those of the system.
pub(crate) fn sync_parent(disk: &dyn Disk, path: &Path) -> Result<(), EditErrorKind> {
    let directory = path.parent().unwrap_or(path);
    disk.sync_directory(directory).map_err(|error| EditErrorKind::system("sync the directory of", error))
}

/// The number of random names tried. One is enough except by extreme chance.
const RANDOM_NAMES: u32 = 16;

/// Creates something under a new hidden name in the target's directory.
pub(crate) fn beside<T>(
    target: &Path,
    mut create: impl FnMut(&Path) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    let mut outcome = Err(io::ErrorKind::AlreadyExists.into());
    for _ in 0..RANDOM_NAMES {
        // The length is fixed, since the name of the target may already have the maximum length.
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
