//! A folder that takes its place in one act.

use super::sums::{SUMS, Sum, Tree, check_name};
use crate::atomic::{beside, sync_folder_of};
use crate::disk::{Disk, Stat};
use crate::error::{EditError, EditErrorKind};
use crate::system::System;
use crate::writer::{FileWriter, write_file_on};
use embedded_safetensors::write::FileSpec;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Writes a folder of files, such as a model and what a training loop needs to go on. When it returns `Ok`, the folder is there, on the medium, with the SHA-256 of each
/// file in `SHA256SUMS`; until then, and when anything fails, whatever was at `folder` before is as it was.
///
/// ```
/// use embedded_safetensors::Dtype;
/// use safetensors_files::checkpoint::{verify_checkpoint, write_checkpoint};
/// use embedded_safetensors::write::{FileSpec, TensorSpec};
/// # let folder = std::env::temp_dir().join(format!("checkpoint-{}", std::process::id()));
///
/// let tensors = [TensorSpec::new("weight", Dtype::F32, &[2])];
/// write_checkpoint(&folder, |checkpoint| {
///     checkpoint.write_file("model.safetensors", FileSpec::new(&tensors), |file| file.write_values("weight", &[0.5f32, 1.5]))?;
///     checkpoint.write_bytes("step.json", b"{\"step\": 1200}")
/// })?;
/// assert_eq!(verify_checkpoint(&folder)?.files, 2); // as `sha256sum -c SHA256SUMS` in the folder
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// It is written beside its place, in a hidden folder (`.safetensors-….tmp`), and takes its place after all of it is on the medium. So whoever looks there finds the old folder or the
/// new one, whole, also after a power cut or when the program is killed; only then the hidden folder may be left, which nothing removes. The
/// new folder and its files have the usual permissions (the process's umask). Folders that are missing on the way to it are made, and stay whatever happens.
///
/// A folder that is there is exchanged for the new one, which has its permissions, in one act, and removed after that, whatever is in it. On Linux, Android and Apple's systems that is one act where the file
/// system can do it, as most can. Elsewhere, as on Windows, it takes two: the old folder is called `.safetensors-NAME.old`, then the new one takes its place. Between the two no folder is at
/// `folder`; [`recover_checkpoint`], which this calls first, puts the old one back after a power cut there.
///
/// # Errors
/// Those of `fill`; [`EditErrorKind::NotAFolder`] when something else is there; [`FileErrorKind::NotAFile`](embedded_safetensors::file::FileErrorKind::NotAFile) when something that is neither a file nor a folder was put into it; those of the system. Nothing
/// is left behind. Only where the very last step failed, the sync of the folder that it is in or the removal of the old one, the new folder is there.
///
/// # Panics
/// Never, unless `fill` does; then nothing is left behind.
///
/// *Memory*: the names of the files and a buffer of 256 KiB, beside what `fill` takes.
pub fn write_checkpoint(
    folder: impl AsRef<Path>,
    fill: impl FnOnce(&mut Checkpoint<'_>) -> Result<(), EditError>,
) -> Result<(), EditError> {
    write_checkpoint_on(&System, folder.as_ref(), fill)
}

/// As [`write_checkpoint`].
pub(super) fn write_checkpoint_on(
    disk: &dyn Disk,
    folder: &Path,
    fill: impl FnOnce(&mut Checkpoint<'_>) -> Result<(), EditError>,
) -> Result<(), EditError> {
    make_parents(disk, folder).map_err(|fault| fault.of(folder))?;
    recover_checkpoint_on(disk, folder)?;
    let mut checkpoint = Checkpoint::begin(disk, folder).map_err(|fault| fault.of(folder))?;
    let filled = fill(&mut checkpoint).and_then(|()| checkpoint.seal());
    filled.map_err(|error| error.moved(&checkpoint.hidden, folder).or_of(folder))?;
    checkpoint.take_place().map_err(|fault| fault.of(folder))
}

/// Puts an old folder back that a power cut has left without its name; whether there was anything to put back. [`write_checkpoint`] does so by itself; this is for programs that
/// read where no exchange in one act is possible, and is cheap where there is nothing to do. If something without `SHA256SUMS` is at `folder` by then, both stay, and the
/// next [`write_checkpoint`] replaces both. Not while another program writes there.
///
/// # Errors
/// Those of the system.
pub fn recover_checkpoint(folder: impl AsRef<Path>) -> Result<bool, EditError> {
    recover_checkpoint_on(&System, folder.as_ref())
}

/// As [`recover_checkpoint`].
pub(super) fn recover_checkpoint_on(disk: &dyn Disk, folder: &Path) -> Result<bool, EditError> {
    recover(disk, folder).map_err(|fault| fault.of(folder))
}

fn recover(disk: &dyn Disk, folder: &Path) -> Result<bool, EditErrorKind> {
    let place = place_of(disk, folder)?;
    let old = old_beside(&place);
    let look = |place| disk.look(place).map_err(|error| EditErrorKind::system("look at", error));
    if look(&old)?.is_none() {
        return Ok(false);
    }
    let is_lost = look(&place)?.is_none();
    let moved = match is_lost {
        true => disk.rename(&old, &place),
        // What has come to its place is no checkpoint, and the old one the only one.
        false if !is_checkpoint(disk, &place)? => return Ok(false),
        false => disk.remove_folder(&old),
    };
    moved.map_err(|error| EditErrorKind::system("put back", error))?;
    sync_folder_of(disk, &place)?;
    Ok(is_lost)
}

/// Whether a folder with a list of sums is there.
fn is_checkpoint(disk: &dyn Disk, place: &Path) -> Result<bool, EditErrorKind> {
    match disk.look(&place.join(SUMS)) {
        Ok(found) => Ok(found.is_some()),
        // It is a file.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
        Err(error) => Err(EditErrorKind::system("look at", error)),
    }
}

/// Makes the folders that are missing on the way to this one, each on the medium before the next.
fn make_parents(disk: &dyn Disk, folder: &Path) -> Result<(), EditErrorKind> {
    let named = |path: &&Path| !path.as_os_str().is_empty();
    let mut missing = Vec::new();
    for parent in folder.components().as_path().ancestors().skip(1).filter(named) {
        match disk.look(parent).map_err(|error| EditErrorKind::system("look at", error))? {
            None => missing.push(parent),
            Some(_) => break,
        }
    }
    for parent in missing.into_iter().rev() {
        match disk.create_folder(parent, None) {
            // Another program was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            outcome => outcome.map_err(|error| EditErrorKind::system("create the folder of", error))?,
        }
        let above = parent.parent().filter(named).unwrap_or(Path::new("."));
        disk.sync_folder(above).map_err(|error| EditErrorKind::system("sync the folder of", error))?;
    }
    Ok(())
}

/// Whose path may end as those of folders do.
fn place_of(disk: &dyn Disk, folder: &Path) -> Result<PathBuf, EditErrorKind> {
    disk.resolve(folder.components().as_path()).map_err(EditErrorKind::no_place)
}

fn old_beside(place: &Path) -> PathBuf {
    let mut name = OsString::from(".safetensors-");
    name.push(place.file_name().unwrap_or_default());
    name.push(".old");
    place.with_file_name(name)
}

/// A folder in the making.
///
/// *Memory*: its paths, on the heap.
pub struct Checkpoint<'d> {
    disk: &'d dyn Disk,
    place: PathBuf,
    hidden: PathBuf,
    /// Whether the hidden folder has taken its place.
    is_there: bool,
}

impl<'d> Checkpoint<'d> {
    fn begin(disk: &'d dyn Disk, folder: &Path) -> Result<Self, EditErrorKind> {
        let place = place_of(disk, folder)?;
        let permissions = look_for_folder(disk, &place)?.and_then(|stat| stat.permissions);
        let (hidden, ()) = beside(&place, |path| disk.create_folder(path, permissions.as_ref()))
            .map_err(|error| EditErrorKind::system("create a temporary folder beside", error))?;
        Ok(Self { disk, place, hidden, is_there: false })
    }

    /// The folder that is being written. Whatever else is put there, such as by [`ModelEditor::save`](crate::ModelEditor::save), belongs to the checkpoint.
    pub fn path(&self) -> &Path {
        &self.hidden
    }

    /// Writes a model into the folder: as [`write_file`](crate::write_file).
    ///
    /// # Errors
    /// As there; [`EditErrorKind::UnsafeName`] for a name that leads out of the folder or is that of the list of sums.
    ///
    /// # Panics
    /// Never, unless `fill` does.
    pub fn write_file(
        &mut self,
        name: &str,
        spec: FileSpec<'_>,
        fill: impl FnOnce(&mut FileWriter<'_>) -> Result<(), EditError>,
    ) -> Result<(), EditError> {
        write_file_on(self.disk, &self.path_of(name)?, spec, fill)
    }

    /// Writes a file of these bytes into the folder.
    ///
    /// # Errors
    /// [`EditErrorKind::UnsafeName`]; those of the system, such as for a file that is there.
    pub fn write_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<(), EditError> {
        let path = self.path_of(name)?;
        self.put(&path, bytes).map_err(|error| EditErrorKind::system("write", error).of(&path))
    }

    fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let file = self.disk.create_new(path, None)?;
        file.write_at(0, bytes)?;
        file.sync()
    }

    fn path_of(&self, name: &str) -> Result<PathBuf, EditError> {
        let checked = check_name(name);
        checked.map(|()| self.hidden.join(name)).map_err(|fault| fault.of(&self.hidden.join(name)))
    }

    /// Writes the list of sums, and returns when all is on the medium.
    fn seal(&self) -> Result<(), EditError> {
        let tree = Tree::of(self.disk, &self.hidden)?;
        let mut list = String::new();
        for (name, path) in &tree.files {
            let line = check_name(name).and_then(|()| self.sync_and_sum(path));
            let sum = line.map_err(|fault| fault.of(path))?;
            list.push_str(&format!("{sum}  {name}\n"));
        }
        let sums = self.hidden.join(SUMS);
        self.put(&sums, list.as_bytes()).map_err(|error| EditErrorKind::system("write", error).of(&sums))?;
        tree.folders.iter().rev().try_for_each(|folder| {
            self.disk.sync_folder(folder).map_err(|error| EditErrorKind::system("sync", error).of(folder))
        })
    }

    fn sync_and_sum(&self, path: &Path) -> Result<Sum, EditErrorKind> {
        // Windows syncs only what can be written to.
        let file =
            self.disk.open(path, cfg!(windows)).map_err(|error| EditErrorKind::system("open", error))?;
        file.sync().map_err(|error| EditErrorKind::system("write", error))?;
        Ok(Sum::of_file(self.disk, path)?.0)
    }

    /// Puts the folder, all of which is on the medium, in its place.
    fn take_place(&mut self) -> Result<(), EditErrorKind> {
        let cannot = |error| EditErrorKind::system("replace", error);
        if look_for_folder(self.disk, &self.place)?.is_none() {
            self.disk.rename(&self.hidden, &self.place).map_err(cannot)?;
            self.is_there = true;
            return sync_folder_of(self.disk, &self.place);
        }
        let old = match self.disk.exchange(&self.hidden, &self.place) {
            Ok(()) => self.hidden.clone(),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => self.move_aside().map_err(cannot)?,
            Err(error) => return Err(cannot(error)),
        };
        self.is_there = true;
        sync_folder_of(self.disk, &self.place)?;
        self.disk.remove_folder(&old).map_err(|error| EditErrorKind::system("remove what was at", error))
    }

    /// In two acts; where the old folder is then.
    fn move_aside(&self) -> io::Result<PathBuf> {
        let old = old_beside(&self.place);
        match self.disk.look(&old)? {
            None => self.disk.rename(&self.place, &old)?,
            // A checkpoint that was left there, beside something that is none.
            Some(_) => self.disk.remove_folder(&self.place)?,
        }
        match self.disk.rename(&self.hidden, &self.place) {
            Ok(()) => Ok(old),
            Err(error) => {
                let _ = self.disk.rename(&old, &self.place);
                Err(error)
            }
        }
    }
}

impl Drop for Checkpoint<'_> {
    fn drop(&mut self) {
        if !self.is_there {
            // Whoever drops it has an error to tell already, or is in a panic.
            let _ = self.disk.remove_folder(&self.hidden);
        }
    }
}

impl core::fmt::Debug for Checkpoint<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Checkpoint").field("place", &self.place).finish_non_exhaustive()
    }
}

/// What is at this place, which must be a folder if it is anything.
///
/// # Errors
/// When it is something else; those of the system.
fn look_for_folder(disk: &dyn Disk, place: &Path) -> Result<Option<Stat>, EditErrorKind> {
    match disk.look(place).map_err(|error| EditErrorKind::system("look at", error))? {
        Some(Stat { other, .. }) if other != Some("a folder") => {
            Err(EditErrorKind::NotAFolder { what: other.unwrap_or("a file") })
        }
        found => Ok(found),
    }
}
