//! Implements [`Disk`] for the file system of the operating system.

use crate::claim::{Claim, claim};
use crate::disk::{Disk, Entry, Handle, Stat};
use embedded_safetensors::file::shared::{Version, other_than_file};
use embedded_safetensors::io::{ReadAt, WriteAt};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file system of this computer.
pub(crate) struct System;

/// The maximum number of links followed, which is that of Linux.
const LINKS: u32 = 40;

/// [`PAUSES`](super::undo::PAUSES) of these are half a second.
const PAUSE: Duration = Duration::from_millis(25);

impl Disk for System {
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let mut path = path.to_path_buf();
        for _ in 0..LINKS {
            match fs::canonicalize(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                outcome => return outcome,
            }
            let directory = parent_of(&path);
            match fs::read_link(&path) {
                Ok(target) => path = directory.join(target),
                Err(_) => return resolve_new(&path, directory),
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }

    fn stat(&self, path: &Path) -> io::Result<Option<Stat>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(stat(metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create_new(&self, path: &Path, permissions: Option<&Permissions>) -> io::Result<Box<dyn Handle>> {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        permissions.inspect(|permissions| restrict(&mut options, permissions));
        let file = options.open(path)?;
        match permissions.map_or(Ok(()), |permissions| permit(&file, permissions)) {
            Ok(()) => Ok(Box::new(file)),
            Err(error) => {
                let _ = fs::remove_file(path);
                Err(error)
            }
        }
    }

    fn open(&self, path: &Path, writable: bool) -> io::Result<Box<dyn Handle>> {
        Ok(Box::new(File::options().read(true).write(writable).open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn rename_to_free(&self, from: &Path, to: &Path) -> io::Result<()> {
        match rename_with(from, to, false) {
            // The fallback: the file has two names for a moment.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                fs::hard_link(from, to)?;
                fs::remove_file(from)
            }
            outcome => outcome,
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    fn lock(&self, path: &Path, write: bool) -> io::Result<Option<Box<dyn Handle>>> {
        use rustix::{fs::FlockOperation, io::Errno};
        let file = File::options().read(true).write(write).open(path)?;
        let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
        let [own, named] = [file.metadata()?, fs::metadata(path)?].map(|found| Version::of(&found).identity);
        // All other errors mean that the file system has no locks.
        Ok((locked != Err(Errno::WOULDBLOCK) && own == named).then(|| Box::new(file) as Box<dyn Handle>))
    }

    /// Others may read the file, rename it and remove it, but not open it for writing.
    #[cfg(windows)]
    fn lock(&self, path: &Path, write: bool) -> io::Result<Option<Box<dyn Handle>>> {
        use std::os::windows::fs::OpenOptionsExt;
        const READ_OR_DELETE: u32 = 1 | 4;
        const SHARING_VIOLATION: i32 = 32;
        match File::options().read(true).write(write).share_mode(READ_OR_DELETE).open(path) {
            Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => Ok(None),
            opened => Ok(Some(Box::new(opened?))),
        }
    }

    fn claim(&self, directory: &Path) -> Option<Claim> {
        claim(directory)
    }

    fn pause(&self) {
        std::thread::sleep(PAUSE);
    }

    fn create_directory(&self, path: &Path, permissions: Option<&Permissions>) -> io::Result<()> {
        fs::create_dir(path)?;
        // The directory is still empty, so nothing is exposed.
        let permitted =
            permissions.map_or(Ok(()), |permissions| fs::set_permissions(path, permissions.clone()));
        permitted.inspect_err(|_| drop(fs::remove_dir(path)))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        let entry = |entry: io::Result<fs::DirEntry>| {
            let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
            let other = if kind.is_symlink() { Some("a link") } else { other_than_file(kind) };
            Ok(Entry { path, is_directory: kind.is_dir(), other })
        };
        fs::read_dir(directory)?.map(entry).collect()
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        rename_with(one, other, true)
    }

    /// Some file systems, such as network ones, do not support this call.
    #[cfg(unix)]
    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        match File::open(directory)?.sync_all() {
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
            {
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Does nothing: Windows has no such call, and renames are in the journal of the file system.
    #[cfg(windows)]
    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

impl Handle for File {
    fn stat(&self) -> io::Result<Stat> {
        self.metadata().map(stat)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        ReadAt::read_at(&mut &*self, offset, buffer)
    }

    fn write_at(&self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match WriteAt::write_at(&mut &*self, offset, bytes)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                len => {
                    offset += len as u64;
                    bytes = bytes.get(len..).unwrap_or(&[]);
                }
            }
        }
        Ok(())
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn copy_at(&self, mut offset: u64, file: &File, mut from: u64, len: u64) -> io::Result<u64> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let copied = rustix::fs::copy_file_range(file, Some(&mut from), self, Some(&mut offset), len)?;
        Ok(copied as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_all()
    }
}

/// Exchanges two names, or renames a file if the new name is free, atomically.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_with(from: &Path, to: &Path, exchanges: bool) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let flags = if exchanges { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
    renameat_with(CWD, from, CWD, to, flags).map_err(|error| match error {
        // File systems without this feature report an invalid flag.
        rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS => io::ErrorKind::Unsupported.into(),
        _ => error.into(),
    })
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename_with(_: &Path, _: &Path, _: bool) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    }
}

/// Returns the resolved path of a file that does not exist yet.
fn resolve_new(path: &Path, directory: &Path) -> io::Result<PathBuf> {
    let is_separator = |end: &u8| std::path::is_separator((*end).into());
    let ends_as_directory = path.as_os_str().as_encoded_bytes().last().is_none_or(is_separator);
    match path.file_name() {
        Some(name) if !ends_as_directory => Ok(fs::canonicalize(directory)?.join(name)),
        _ => {
            let is_empty = path.as_os_str().is_empty();
            let why = if is_empty { "the path is empty" } else { "the path is that of a directory" };
            Err(io::Error::new(io::ErrorKind::InvalidInput, why))
        }
    }
}

fn stat(metadata: Metadata) -> Stat {
    let (other, version) = (other_than_file(metadata.file_type()), Version::of(&metadata));
    Stat { other, permissions: Some(metadata.permissions()), version }
}

/// Sets the permissions at creation, so that the new file is never more accessible than the old one.
#[cfg(unix)]
fn restrict(options: &mut OpenOptions, permissions: &Permissions) {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    options.mode(permissions.mode() & 0o777);
}

#[cfg(windows)]
fn restrict(_: &mut OpenOptions, _: &Permissions) {}

/// Sets the permissions that the umask has removed, such as group write. Some file systems do not support
/// that.
#[cfg(unix)]
fn permit(file: &File, permissions: &Permissions) -> io::Result<()> {
    match file.metadata()?.permissions() == *permissions {
        true => Ok(()),
        false => file.set_permissions(permissions.clone()),
    }
}

/// Does nothing: on Windows the only permission is read-only, and such a file is not replaced.
#[cfg(windows)]
fn permit(_: &File, _: &Permissions) -> io::Result<()> {
    Ok(())
}
