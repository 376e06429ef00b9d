//! Replaces a file by another one atomically.
//!
//! The order of the steps matters, since a power cut can follow each: the new file is written under a hidden
//! name, then synced, then renamed, then its directory is synced. If it were renamed before it was synced,
//! the name could belong to a file whose bytes were never stored.

use crate::claim::Claim;
use crate::disk::{Disk, Handle, Stat};
use crate::error::{Doing, EditErrorKind};
use crate::undo;
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
    /// Begins a file that will be at `path`, with the permissions of the existing file.
    pub(crate) fn begin(disk: &'d dyn Disk, path: &Path) -> Result<Self, EditErrorKind> {
        let target = disk.resolve(path).map_err(EditErrorKind::unresolved)?;
        Self::begin_like(disk, &target, &target)
    }

    /// Begins a file at a resolved path, with the permissions of another file.
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
            .doing("create a temporary file beside")?;
        let hidden = Hidden { disk, target: target.to_path_buf(), temporary, is_renamed: false, claim };
        Ok(Self { hidden, file })
    }

    /// Returns the file to write to.
    pub(crate) fn file(&self) -> &dyn Handle {
        &*self.file
    }

    /// Syncs and closes the file.
    pub(crate) fn close(self) -> Result<Hidden<'d>, EditErrorKind> {
        self.file.sync().doing("write")?;
        Ok(self.hidden)
    }

    /// Closes the file, which the system writes to the disk later.
    pub(crate) fn close_without_sync(self) -> Hidden<'d> {
        self.hidden
    }
}

impl<'d> Hidden<'d> {
    /// Begins another file, which shares the claim if it will be in the same directory.
    pub(crate) fn another(&self, path: &Path) -> Result<Replacement<'d>, EditErrorKind> {
        let target = self.disk.resolve(path).map_err(EditErrorKind::unresolved)?;
        let claim = self.claim.clone().filter(|_| target.parent() == self.target.parent());
        Replacement::begin_with(self.disk, &target, &target, claim)
    }

    /// Renames the file to its target, and syncs the directory. If only the sync fails, the new file is at
    /// the target, and a power cut may restore the old one. After any other error the old one is unchanged.
    pub(crate) fn replace_target(mut self) -> Result<(), EditErrorKind> {
        self.rename(Disk::rename)?;
        sync_parent(self.disk, &self.target)
    }

    /// Renames the file as [`replace_target`](Self::replace_target) does, if nothing is at the target. Else
    /// the error is of kind [`AlreadyExists`](io::ErrorKind::AlreadyExists).
    pub(crate) fn take_free_place(mut self) -> Result<(), EditErrorKind> {
        self.rename(Disk::rename_to_free)?;
        sync_parent(self.disk, &self.target)
    }

    /// Replaces a target that may have an undo file, and removes that. The caller holds the
    /// [lock](undo::lock). Without a sync, the system writes the new name to the disk later.
    pub(crate) fn replace_edited_target(mut self, syncs: bool) -> Result<(), EditErrorKind> {
        self.rename(Disk::rename)?;
        if syncs {
            sync_parent(self.disk, &self.target)?;
        }
        undo::discard_beside(self.disk, &self.target);
        Ok(())
    }

    fn rename(
        &mut self,
        rename: impl FnOnce(&'d dyn Disk, &Path, &Path) -> io::Result<()>,
    ) -> Result<(), EditErrorKind> {
        rename(self.disk, &self.temporary, &self.target).doing("replace")?;
        self.is_renamed = true;
        Ok(())
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
pub(crate) fn stat_file(disk: &dyn Disk, path: &Path) -> Result<Option<Stat>, EditErrorKind> {
    match disk.stat(path).doing("stat")? {
        Some(Stat { other: Some(what), .. }) => Err(FileErrorKind::NotAFile { what }.into()),
        found => Ok(found),
    }
}

/// Syncs the names in the directory of a file.
pub(crate) fn sync_parent(disk: &dyn Disk, path: &Path) -> Result<(), EditErrorKind> {
    let directory = path.parent().unwrap_or(path);
    disk.sync_directory(directory).doing("sync the directory of")
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
