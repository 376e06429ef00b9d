//! Replaces a directory atomically.

use super::sums::{SUMS, Sum, Tree, check_name};
use crate::atomic::{beside, sync_parent};
use crate::claim::Claim;
use crate::disk::{Disk, Stat};
use crate::error::{At, Doing, EditError, EditErrorKind};
use crate::system::System;
use crate::writer::{FileWriter, write_file_on};
use embedded_safetensors::write::FileSpec;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Writes a directory of files, such as a model and the state that a training loop needs to continue. When it
/// returns `Ok`, the directory is complete and synced, with the SHA-256 of each file in `SHA256SUMS`. Until
/// then, and after any error, an old directory is unchanged.
///
/// The new directory is written beside the old one under a hidden name (`.safetensors-….tmp`), and replaces
/// it after all of it is synced. So other programs find the complete old directory or the complete new one,
/// even after a power cut or when the program is killed. Only in those two cases the hidden directory can
/// remain; the next program that writes there removes it, as the crate describes. The new directory and its
/// files have the default permissions (the process's umask). Missing parent directories are created, and stay
/// even after an error.
///
/// An old directory is replaced only if it has a `SHA256SUMS` or is empty. It is exchanged for the new one,
/// which gets its permissions, and is then removed with all of its contents, listed or not. On Linux, Android
/// and Apple's systems the exchange is atomic if the file system supports it, as most do. Elsewhere, as on
/// Windows, it takes two steps: the old directory is renamed to `.safetensors-NAME.old`, then the new one
/// gets its name. Between the two steps there is no directory of that name. After a power cut there,
/// [`recover_checkpoint`], which this function calls first, restores the old one.
///
/// # Errors
/// Those of `fill`; [`EditErrorKind::NotAFolder`] when the path is not a directory;
/// [`EditErrorKind::NotACheckpoint`] when that directory has files, but no `SHA256SUMS`;
/// [`EditErrorKind::UnsafeName`] when the path does not end with a name, such as `.` and `/`;
/// [`FileErrorKind::NotAFile`](embedded_safetensors::file::FileErrorKind::NotAFile) when `fill` has created
/// something that is neither a file nor a directory; those of the system. Nothing temporary is left. The new
/// directory exists only if a last step failed: the sync of the parent directory or the removal of the old
/// one.
///
/// # Panics
/// When `fill` panics; then nothing temporary is left.
///
/// *Memory*: the names of the files and a buffer of 256 KiB, in addition to the memory of `fill`.
pub fn write_checkpoint(
    directory: impl AsRef<Path>,
    fill: impl FnOnce(&mut Checkpoint<'_>) -> Result<(), EditError>,
) -> Result<(), EditError> {
    write_checkpoint_on(&System, directory.as_ref(), fill)
}

/// Writes as [`write_checkpoint`] does.
pub(super) fn write_checkpoint_on(
    disk: &dyn Disk,
    directory: &Path,
    fill: impl FnOnce(&mut Checkpoint<'_>) -> Result<(), EditError>,
) -> Result<(), EditError> {
    check_path(directory).at(directory)?;
    create_parents(disk, directory).at(directory)?;
    recover_checkpoint_on(disk, directory)?;
    let mut checkpoint = Checkpoint::begin(disk, directory).at(directory)?;
    let filled = fill(&mut checkpoint).and_then(|()| checkpoint.seal());
    filled.map_err(|error| error.moved(&checkpoint.hidden, directory).or_with_path(directory))?;
    checkpoint.replace_target().at(directory)
}

/// Restores an old directory that a power cut has left without its name. Returns whether there was one.
///
/// [`write_checkpoint`] does this itself. This function is for programs that read checkpoints where no atomic
/// exchange is possible, and is cheap if there is nothing to do. If something without `SHA256SUMS` has the
/// name by then, both stay. The next [`write_checkpoint`] replaces both if that is an empty directory. Do not
/// call it while another program writes the checkpoint.
///
/// # Errors
/// Those of the system.
pub fn recover_checkpoint(directory: impl AsRef<Path>) -> Result<bool, EditError> {
    recover_checkpoint_on(&System, directory.as_ref())
}

/// Recovers as [`recover_checkpoint`] does.
pub(super) fn recover_checkpoint_on(disk: &dyn Disk, directory: &Path) -> Result<bool, EditError> {
    recover(disk, directory).at(directory)
}

fn recover(disk: &dyn Disk, directory: &Path) -> Result<bool, EditErrorKind> {
    let target = resolve(disk, directory)?;
    let old = old_beside(&target);
    let stat = |target| disk.stat(target).doing("stat");
    if stat(&old)?.is_none() {
        return Ok(false);
    }
    let is_lost = stat(&target)?.is_none();
    let moved = match is_lost {
        true => disk.rename(&old, &target),
        // The new directory is not a checkpoint, so keep the old one.
        false if !is_checkpoint(disk, &target)? => return Ok(false),
        false => disk.remove_directory(&old),
    };
    moved.doing("restore")?;
    sync_parent(disk, &target)?;
    Ok(is_lost)
}

/// Returns whether there is a directory with a list of sums.
fn is_checkpoint(disk: &dyn Disk, target: &Path) -> Result<bool, EditErrorKind> {
    match disk.stat(&target.join(SUMS)) {
        Ok(found) => Ok(found.is_some_and(|stat| stat.other.is_none())),
        // The path is a file.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
        Err(error) => Err(EditErrorKind::system("stat", error)),
    }
}

/// Rejects paths such as `.`, `..` and `/`.
fn check_path(directory: &Path) -> Result<(), EditErrorKind> {
    let reason = "it does not end with the name of a directory";
    let wrong = || EditErrorKind::UnsafeName { name: directory.display().to_string(), reason };
    directory.file_name().map(drop).ok_or_else(wrong)
}

/// Creates the missing parent directories, and syncs each before the next.
fn create_parents(disk: &dyn Disk, directory: &Path) -> Result<(), EditErrorKind> {
    let named = |path: &&Path| !path.as_os_str().is_empty();
    let mut missing = Vec::new();
    for parent in directory.components().as_path().ancestors().skip(1).filter(named) {
        match disk.stat(parent).doing("stat")? {
            None => missing.push(parent),
            Some(_) => break,
        }
    }
    for parent in missing.into_iter().rev() {
        match disk.create_directory(parent, None) {
            // Another program has created it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            outcome => outcome.doing("create the directory of")?,
        }
        let above = parent.parent().filter(named).unwrap_or(Path::new("."));
        disk.sync_directory(above).doing("sync the directory of")?;
    }
    Ok(())
}

/// Resolves the path of a directory, which may end with a separator.
fn resolve(disk: &dyn Disk, directory: &Path) -> Result<PathBuf, EditErrorKind> {
    disk.resolve(directory.components().as_path()).map_err(EditErrorKind::unresolved)
}

fn old_beside(target: &Path) -> PathBuf {
    let mut name = OsString::from(".safetensors-");
    name.push(target.file_name().unwrap_or_default());
    name.push(".old");
    target.with_file_name(name)
}

/// A checkpoint that is being written.
///
/// *Memory*: its paths, on the heap.
pub struct Checkpoint<'d> {
    disk: &'d dyn Disk,
    target: PathBuf,
    hidden: PathBuf,
    may_replace: bool,
    /// Whether the hidden directory has been renamed.
    is_placed: bool,
    /// The sums of the files that are synced.
    sums: HashMap<PathBuf, Sum>,
    /// Keeps the hidden directory from being removed by others.
    _claim: Option<Claim>,
}

impl<'d> Checkpoint<'d> {
    fn begin(disk: &'d dyn Disk, directory: &Path) -> Result<Self, EditErrorKind> {
        let target = resolve(disk, directory)?;
        let permissions = stat_replaceable(disk, &target)?.and_then(|stat| stat.permissions);
        let claim = target.parent().and_then(|parent| disk.claim(parent));
        let (hidden, ()) = beside(&target, |path| disk.create_directory(path, permissions.as_ref()))
            .doing("create a temporary directory beside")?;
        let sums = HashMap::new();
        Ok(Self { disk, target, hidden, may_replace: true, is_placed: false, sums, _claim: claim })
    }

    /// Returns the directory that is being written. Other files created there, such as by
    /// [`ModelEditor::save`](crate::ModelEditor::save), become part of the checkpoint.
    pub fn path(&self) -> &Path {
        &self.hidden
    }

    /// Sets whether an old directory may be replaced, as is the default. If not, one that exists at the end
    /// is an error of kind [`AlreadyExists`](io::ErrorKind::AlreadyExists).
    pub fn may_replace(&mut self, yes: bool) {
        self.may_replace = yes;
    }

    /// Writes a model to the checkpoint, as [`write_file`](crate::write_file) does.
    ///
    /// # Errors
    /// Those of [`write_file`](crate::write_file); [`EditErrorKind::UnsafeName`] for a name that leads out of
    /// the directory or is that of the list of sums.
    ///
    /// # Panics
    /// When `fill` panics.
    pub fn write_file(
        &mut self,
        name: &str,
        spec: FileSpec<'_>,
        fill: impl FnOnce(&mut FileWriter<'_>) -> Result<(), EditError>,
    ) -> Result<(), EditError> {
        write_file_on(self.disk, &self.path_of(name)?, spec, fill)
    }

    /// Writes a file of these bytes to the checkpoint.
    ///
    /// # Errors
    /// [`EditErrorKind::UnsafeName`]; those of the system, such as for a file that already exists.
    pub fn write_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<(), EditError> {
        let path = self.path_of(name)?;
        self.copy_synced(&path, &mut &*bytes).at(&path).map(drop)
    }

    /// Writes a file of all bytes of a source to the checkpoint, and computes its sum while it is written. So
    /// the file is not read again, and must not be changed afterwards. Returns the number of bytes.
    ///
    /// # Errors
    /// Those of the source, and of [`write_bytes`](Self::write_bytes).
    pub fn write_from(&mut self, name: &str, source: &mut dyn Read) -> Result<u64, EditError> {
        let path = self.path_of(name)?;
        let (sum, len) = self.copy_synced(&path, source).at(&path)?;
        self.sums.insert(path, sum);
        Ok(len)
    }

    fn copy_synced(&self, path: &Path, source: &mut dyn Read) -> Result<(Sum, u64), EditErrorKind> {
        let file = self.disk.create_new(path, None).doing("write")?;
        let copied = Sum::of_copy(&*file, source)?;
        file.sync().doing("write")?;
        Ok(copied)
    }

    fn path_of(&self, name: &str) -> Result<PathBuf, EditError> {
        let path = self.hidden.join(name);
        check_name(name).at(&path).map(|()| path)
    }

    /// Writes the list of sums, and syncs everything.
    fn seal(&self) -> Result<(), EditError> {
        let tree = Tree::of(self.disk, &self.hidden)?;
        let mut list = String::new();
        for (name, path) in &tree.files {
            let line = check_name(name).and_then(|()| self.sync_and_sum(path));
            let sum = line.at(path)?;
            list.push_str(&format!("{sum}  {name}\n"));
        }
        let sums = self.hidden.join(SUMS);
        self.copy_synced(&sums, &mut list.as_bytes()).at(&sums)?;
        tree.directories
            .iter()
            .rev()
            .try_for_each(|directory| self.disk.sync_directory(directory).doing("sync").at(directory))
    }

    fn sync_and_sum(&self, path: &Path) -> Result<Sum, EditErrorKind> {
        if let Some(sum) = self.sums.get(path) {
            return Ok(*sum);
        }
        // Windows syncs only files that are open for writing.
        let file = self.disk.open(path, cfg!(windows)).doing("open")?;
        file.sync().doing("write")?;
        Ok(Sum::of_file(self.disk, path)?.0)
    }

    /// Moves the synced directory to its path.
    fn replace_target(&mut self) -> Result<(), EditErrorKind> {
        if stat_replaceable(self.disk, &self.target)?.is_none() {
            // This never replaces a directory with files.
            match self.disk.rename(&self.hidden, &self.target) {
                Err(error) if is_taken(&error) => {
                    stat_replaceable(self.disk, &self.target)?;
                }
                outcome => {
                    outcome.doing("replace")?;
                    self.is_placed = true;
                    return sync_parent(self.disk, &self.target);
                }
            }
        }
        if !self.may_replace {
            return Err(io::ErrorKind::AlreadyExists.into()).doing("replace");
        }
        let old = match self.disk.exchange(&self.hidden, &self.target) {
            Ok(()) => self.hidden.clone(),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                self.replace_in_two_steps().doing("replace")?
            }
            Err(error) => return Err(error).doing("replace"),
        };
        self.is_placed = true;
        sync_parent(self.disk, &self.target)?;
        self.disk.remove_directory(&old).doing("remove the old")
    }

    /// Replaces the directory in two steps. Returns the path of the old one.
    fn replace_in_two_steps(&self) -> io::Result<PathBuf> {
        let old = old_beside(&self.target);
        match self.disk.stat(&old)? {
            None => self.disk.rename(&self.target, &old)?,
            // An old checkpoint is left there, and the path is not a checkpoint.
            Some(_) => self.disk.remove_directory(&self.target)?,
        }
        match self.disk.rename(&self.hidden, &self.target) {
            Ok(()) => Ok(old),
            Err(error) => {
                let _ = self.disk.rename(&old, &self.target);
                Err(error)
            }
        }
    }
}

impl Drop for Checkpoint<'_> {
    fn drop(&mut self) {
        if !self.is_placed {
            // The caller already has an error to report, or is in a panic.
            let _ = self.disk.remove_directory(&self.hidden);
        }
    }
}

impl core::fmt::Debug for Checkpoint<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Checkpoint").field("place", &self.target).finish_non_exhaustive()
    }
}

/// Returns whether a directory with files is in the way, which another program has put there meanwhile.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists)
}

/// Stats the directory to replace, if it exists.
fn stat_replaceable(disk: &dyn Disk, target: &Path) -> Result<Option<Stat>, EditErrorKind> {
    match disk.stat(target).doing("stat")? {
        Some(Stat { other, .. }) if other != Some("a directory") => {
            Err(EditErrorKind::NotAFolder(other.unwrap_or("a file")))
        }
        Some(_) if !is_checkpoint(disk, target)? && !is_empty(disk, target)? => {
            Err(EditErrorKind::NotACheckpoint)
        }
        found => Ok(found),
    }
}

fn is_empty(disk: &dyn Disk, directory: &Path) -> Result<bool, EditErrorKind> {
    let entries = disk.list(directory).doing("list")?;
    Ok(entries.is_empty())
}
