//! Compares a directory with its list of sums.

use super::error::{CheckpointError, CheckpointErrorKind};
use super::sums::{SUMS, Sum, Tree, check_name};
use crate::atomic::stat_file;
use crate::disk::{Disk, read};
use crate::error::EditErrorKind;
use crate::system::System;
use std::collections::BTreeMap;
use std::path::Path;

/// The maximum length of a list.
const LONGEST: u64 = 1 << 24;

/// The size of a verified checkpoint.
///
/// *Memory*: 16 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The number of files, without the list.
    pub files: u64,
    /// The total length of the files.
    pub bytes: u64,
}

/// Compares a directory with its `SHA256SUMS`: every listed file exists and has its sum, and there are no
/// other files. The list is from [`write_checkpoint`](crate::checkpoint::write_checkpoint), or from
/// `sha256sum` in that directory.
///
/// An attacker who can change a file can also change the list. To detect that, keep the list, or its sum,
/// elsewhere.
///
/// # Errors
/// [`CheckpointErrorKind`]: the first error found, in the list, then in the names, then in the sums.
///
/// *Memory*: while it is read the list, of at most 16 MiB, then its names and sums; the names of all files in
/// the directory, however many, each also as a path; and a buffer of 256 KiB.
pub fn verify_checkpoint(directory: impl AsRef<Path>) -> Result<Verified, CheckpointError> {
    let directory = directory.as_ref();
    verify(&System, directory).map_err(|kind| kind.of(directory))
}

/// Verifies as [`verify_checkpoint`] does.
pub(super) fn verify(disk: &dyn Disk, directory: &Path) -> Result<Verified, CheckpointErrorKind> {
    let listed = parse(&read_list(disk, directory)?)?;
    let tree = Tree::of(disk, directory).map_err(CheckpointErrorKind::File)?;
    let found: BTreeMap<&str, &Path> =
        tree.files.iter().map(|(name, path)| (name.as_str(), path.as_path())).collect();
    if let Some(name) = found.keys().find(|name| **name != SUMS && !listed.contains_key(**name)) {
        return Err(CheckpointErrorKind::Unlisted((*name).into()));
    }
    if let Some(name) = listed.keys().find(|name| !found.contains_key(name.as_str())) {
        return Err(CheckpointErrorKind::Missing(name.clone()));
    }
    let mut verified = Verified { files: 0, bytes: 0 };
    for ((name, listed), path) in
        listed.iter().filter_map(|entry| Some((entry, found.get(entry.0.as_str())?)))
    {
        let (sum, len) = Sum::of_file(disk, path).map_err(|kind| CheckpointErrorKind::File(kind.of(path)))?;
        if sum != *listed {
            let (listed, found) = (listed.to_string(), sum.to_string());
            return Err(CheckpointErrorKind::Differs { name: name.clone(), listed, found });
        }
        verified = Verified { files: verified.files + 1, bytes: verified.bytes.saturating_add(len) };
    }
    Ok(verified)
}

fn read_list(disk: &dyn Disk, directory: &Path) -> Result<String, CheckpointErrorKind> {
    let path = directory.join(SUMS);
    let found = stat_file(disk, &path).map_err(|kind| CheckpointErrorKind::File(kind.of(&path)))?;
    let len = found.ok_or(CheckpointErrorKind::NoSums)?.version.len;
    if len > LONGEST {
        return Err(CheckpointErrorKind::TooLong { bytes: len, allowed: LONGEST });
    }
    let text = disk
        .open(&path, false)
        .and_then(|file| read(&*file, 0, usize::try_from(len).unwrap_or(usize::MAX)))
        .map_err(|error| CheckpointErrorKind::File(EditErrorKind::system("read", error).of(&path)))?;
    String::from_utf8(text).map_err(|error| {
        let before = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or(&[]);
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        CheckpointErrorKind::Line { line, reason: "it is not valid UTF-8" }
    })
}

fn parse(list: &str) -> Result<BTreeMap<String, Sum>, CheckpointErrorKind> {
    let mut sums = BTreeMap::new();
    for (line, text) in (1..).zip(list.lines()) {
        let reason = "it is not a sum of 64 hexadecimal digits, two spaces and a name";
        let wrong = CheckpointErrorKind::Line { line, reason };
        let Some((name, sum)) = parse_line(text) else { return Err(wrong) };
        check_name(name).map_err(|kind| CheckpointErrorKind::of_name(name, kind))?;
        if sums.insert(name.into(), sum).is_some() {
            return Err(CheckpointErrorKind::Duplicate(name.into()));
        }
    }
    Ok(sums)
}

/// Parses a line of the list. `sha256sum` marks a binary file by a star instead of the second space.
fn parse_line(line: &str) -> Option<(&str, Sum)> {
    let (sum, rest) = line.split_at_checked(64)?;
    let name = rest.strip_prefix("  ").or_else(|| rest.strip_prefix(" *"))?;
    Some((name, Sum::parse(sum)?))
}
