//! `SHA256SUMS`: a line for each file, as `sha256sum` writes and reads it.

use crate::change::PIECE;
use crate::disk::{Disk, Entry, FromStart, Handle};
use crate::error::{At, Doing, EditError, EditErrorKind};
use crate::name;
use core::fmt;
use embedded_safetensors::file::FileErrorKind;
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The file name of the list.
pub(super) const SUMS: &str = "SHA256SUMS";

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum([u8; 32]);

impl Sum {
    /// Computes the sum of a file. Also returns its length.
    pub(super) fn of_file(disk: &dyn Disk, path: &Path) -> Result<(Self, u64), EditErrorKind> {
        let file = disk.open(path, false).doing("read")?;
        Self::of(&mut FromStart::new(&*file), "read", |_, _| Ok(()))
    }

    /// Writes all bytes of a source to a file, and computes their sum. Also returns their number.
    pub(super) fn of_copy(file: &dyn Handle, source: &mut dyn Read) -> Result<(Self, u64), EditErrorKind> {
        Self::of(source, "read the source of", |at, bytes| file.write_at(at, bytes))
    }

    fn of(
        source: &mut dyn Read,
        action: &'static str,
        put: impl Fn(u64, &[u8]) -> io::Result<()>,
    ) -> Result<(Self, u64), EditErrorKind> {
        let (mut hash, mut at, mut buffer) = (Sha256::new(), 0, vec![0; PIECE]);
        loop {
            let len = match source.read(&mut buffer) {
                Ok(0) => return Ok((Self(hash.finalize().into()), at)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                outcome => outcome.doing(action)?,
            };
            let bytes = buffer.get(..len).unwrap_or(&[]);
            hash.update(bytes);
            put(at, bytes).doing("write")?;
            at += len as u64;
        }
    }

    /// Parses 64 hexadecimal digits.
    pub(super) fn parse(digits: &str) -> Option<Self> {
        let digits: Vec<u8> =
            digits.chars().map(|digit| digit.to_digit(16)?.try_into().ok()).collect::<Option<_>>()?;
        let bytes: Vec<u8> =
            digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |sum, digit| sum << 4 | digit)).collect();
        Some(Self(bytes.try_into().ok().filter(|_| digits.len() == 64)?))
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Checks the name of a file in the directory or below it: it must be safe on every system, and take one
/// line.
///
/// # Errors
/// [`EditErrorKind::UnsafeName`].
pub(super) fn check_name(name: &str) -> Result<(), EditErrorKind> {
    let reason = match name {
        SUMS => Some("it is the list of sums"),
        _ if name.chars().any(char::is_control) => Some("it has a control character"),
        _ => name::unsafe_reason(name),
    };
    reason.map_or(Ok(()), |reason| Err(EditErrorKind::UnsafeName { name: name.into(), reason }))
}

/// The contents of a directory and its subdirectories.
pub(super) struct Tree {
    /// The name of each file relative to the directory, with `/` as the separator, and its path. Sorted.
    pub(super) files: Vec<(String, PathBuf)>,
    /// The directories, parents before children.
    pub(super) directories: Vec<PathBuf>,
}

impl Tree {
    /// Lists a directory.
    ///
    /// # Errors
    /// Those of something that is neither a file nor a directory, or has a name that is not UTF-8; those of
    /// the system.
    pub(super) fn of(disk: &dyn Disk, directory: &Path) -> Result<Self, EditError> {
        let (mut files, mut directories) = (Vec::new(), Vec::from([directory.to_path_buf()]));
        let mut next = 0;
        while let Some(current) = directories.get(next).cloned() {
            let entries = disk.list(&current);
            for entry in entries.doing("list").at(&current)? {
                match entry {
                    Entry { is_directory: true, path, .. } => directories.push(path),
                    Entry { other: Some(what), path, .. } => {
                        return Err(EditErrorKind::from(FileErrorKind::NotAFile { what }).of(&path));
                    }
                    Entry { path, .. } => files.push((name_below(directory, &path)?, path)),
                }
            }
            next += 1;
        }
        files.sort();
        Ok(Self { files, directories })
    }
}

fn name_below(directory: &Path, path: &Path) -> Result<String, EditError> {
    let below = path.strip_prefix(directory).unwrap_or(path);
    let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
    parts.map(|parts| parts.join("/")).ok_or_else(|| {
        let name = below.to_string_lossy().into_owned();
        EditErrorKind::UnsafeName { name, reason: "it is not valid UTF-8" }.of(path)
    })
}
