//! The file system of the operating system.

use crate::disk::Entry;
use crate::disk::{Disk, Handle, Stat};
use embedded_safetensors::file::shared::{Version, other_than_file};
use embedded_safetensors::io::{ReadAt, WriteAt};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The one that this machine has.
pub(crate) struct System;

/// As many links as Linux follows.
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
            let folder = folder_of(&path);
            match fs::read_link(&path) {
                Ok(target) => path = folder.join(target),
                Err(_) => return place_of_new(&path, folder),
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }

    fn look(&self, place: &Path) -> io::Result<Option<Stat>> {
        match fs::metadata(place) {
            Ok(metadata) => Ok(Some(stat(metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create_new(&self, place: &Path, permissions: Option<&Permissions>) -> io::Result<Box<dyn Handle>> {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        permissions.inspect(|permissions| restrict(&mut options, permissions));
        let file = options.open(place)?;
        match permissions.map_or(Ok(()), |permissions| permit(&file, permissions)) {
            Ok(()) => Ok(Box::new(file)),
            Err(error) => {
                let _ = fs::remove_file(place);
                Err(error)
            }
        }
    }

    fn open(&self, place: &Path, writable: bool) -> io::Result<Box<dyn Handle>> {
        Ok(Box::new(File::options().read(true).write(writable).open(place)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn rename_to_free(&self, from: &Path, to: &Path) -> io::Result<()> {
        match rename_exclusively(from, to) {
            // Two names for a moment, on file systems that know of nothing better.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                fs::hard_link(from, to)?;
                fs::remove_file(from)
            }
            outcome => outcome,
        }
    }

    fn remove(&self, place: &Path) -> io::Result<()> {
        fs::remove_file(place)
    }

    fn pause(&self) {
        std::thread::sleep(PAUSE);
    }

    fn create_folder(&self, place: &Path, permissions: Option<&Permissions>) -> io::Result<()> {
        fs::create_dir(place)?;
        // Nothing is in it yet that others could see.
        let permitted =
            permissions.map_or(Ok(()), |permissions| fs::set_permissions(place, permissions.clone()));
        permitted.inspect_err(|_| drop(fs::remove_dir(place)))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let entry = |entry: io::Result<fs::DirEntry>| {
            let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
            let other = if kind.is_symlink() { Some("a link") } else { other_than_file(kind) };
            Ok(Entry { path, is_folder: kind.is_dir(), other })
        };
        fs::read_dir(folder)?.map(entry).collect()
    }

    fn remove_folder(&self, place: &Path) -> io::Result<()> {
        fs::remove_dir_all(place)
    }

    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        rename_with(one, other, rustix::fs::RenameFlags::EXCHANGE)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    fn exchange(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Some file systems, such as those of a network, have no such call.
    #[cfg(unix)]
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        match File::open(folder)?.sync_all() {
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
            {
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Windows has no such call; a renamed file is in the journal of its file system.
    #[cfg(windows)]
    fn sync_folder(&self, _: &Path) -> io::Result<()> {
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

    fn set_len(&self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_all()
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_exclusively(from: &Path, to: &Path) -> io::Result<()> {
    rename_with(from, to, rustix::fs::RenameFlags::NOREPLACE)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename_exclusively(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_with(from: &Path, to: &Path, flags: rustix::fs::RenameFlags) -> io::Result<()> {
    use rustix::fs::{CWD, renameat_with};
    renameat_with(CWD, from, CWD, to, flags).map_err(|error| match error {
        // File systems that know of no such thing take it for a flag that is not one.
        rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS => io::ErrorKind::Unsupported.into(),
        _ => error.into(),
    })
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Where a file of this path would be, if there were one.
fn place_of_new(path: &Path, folder: &Path) -> io::Result<PathBuf> {
    let ends_as_folder = path.as_os_str().as_encoded_bytes().last().is_none_or(|&end| is_separator(end));
    match path.file_name() {
        Some(name) if !ends_as_folder => Ok(fs::canonicalize(folder)?.join(name)),
        _ if path.as_os_str().is_empty() => Err(no_path("the path is empty")),
        _ => Err(no_path("the path is that of a folder")),
    }
}

fn no_path(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

fn is_separator(byte: u8) -> bool {
    std::path::is_separator(byte.into())
}

fn stat(metadata: Metadata) -> Stat {
    let (other, version) = (other_than_file(metadata.file_type()), Version::of(&metadata));
    Stat { other, permissions: Some(metadata.permissions()), version }
}

/// So that nobody can open the new file who could not open the old one.
#[cfg(unix)]
fn restrict(options: &mut OpenOptions, permissions: &Permissions) {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    options.mode(permissions.mode() & 0o777);
}

#[cfg(windows)]
fn restrict(_: &mut OpenOptions, _: &Permissions) {}

/// What the process does not do by itself for a new file, such as to let a group write. Some file systems cannot do it at all.
#[cfg(unix)]
fn permit(file: &File, permissions: &Permissions) -> io::Result<()> {
    match file.metadata()?.permissions() == *permissions {
        true => Ok(()),
        false => file.set_permissions(permissions.clone()),
    }
}

/// All that a file can be there is read-only, and then it is not replaced.
#[cfg(windows)]
fn permit(_: &File, _: &Permissions) -> io::Result<()> {
    Ok(())
}
