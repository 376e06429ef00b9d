//! Compares a directory with its list of sums.

use super::error::CheckpointErrorKind;
use super::sums::{SUMS, Sum, Tree, check_name};
use crate::atomic::stat_file;
use crate::disk::{Disk, read};
use crate::error::{At, Doing, EditError};
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
/// [`EditErrorKind::Checkpoint`](crate::EditErrorKind::Checkpoint), the first one found: in the list, then in
/// the names, then in the sums; [`NotAFile`](embedded_safetensors::file::FileErrorKind::NotAFile) for
/// something that is neither a file nor a directory, such as a link; those of the system.
///
/// *Memory*: while it is read the list, of at most 16 MiB, then its names and sums; the names of all files in
/// the directory, however many, each also as a path; and a buffer of 256 KiB.
pub fn verify_checkpoint(directory: impl AsRef<Path>) -> Result<Verified, EditError> {
    verify(&System, directory.as_ref())
}

/// Verifies as [`verify_checkpoint`] does.
pub(super) fn verify(disk: &dyn Disk, directory: &Path) -> Result<Verified, EditError> {
    let listed = parse(&read_list(disk, directory)?).at(directory)?;
    let tree = Tree::of(disk, directory)?;
    let found: BTreeMap<&str, &Path> =
        tree.files.iter().map(|(name, path)| (name.as_str(), path.as_path())).collect();
    if let Some(name) = found.keys().find(|name| **name != SUMS && !listed.contains_key(**name)) {
        return Err(CheckpointErrorKind::Unlisted((*name).into())).at(directory);
    }
    let mut verified = Verified { files: 0, bytes: 0 };
    if let Some(name) = listed.keys().find(|name| !found.contains_key(name.as_str())) {
        return Err(CheckpointErrorKind::Missing(name.clone())).at(directory);
    }
    for ((name, listed), path) in
        listed.iter().filter_map(|entry| Some((entry, found.get(entry.0.as_str())?)))
    {
        let (sum, len) = Sum::of_file(disk, path).at(path)?;
        if sum != *listed {
            let (name, listed, found) = (name.clone(), listed.to_string(), sum.to_string());
            return Err(CheckpointErrorKind::Differs { name, listed, found }).at(directory);
        }
        verified = Verified { files: verified.files + 1, bytes: verified.bytes.saturating_add(len) };
    }
    Ok(verified)
}

fn read_list(disk: &dyn Disk, directory: &Path) -> Result<String, EditError> {
    let path = directory.join(SUMS);
    let found = stat_file(disk, &path).at(&path)?;
    let len = found.ok_or(CheckpointErrorKind::NoSums).at(directory)?.version.len;
    if len > LONGEST {
        return Err(CheckpointErrorKind::TooLong { bytes: len, allowed: LONGEST }).at(directory);
    }
    let text = disk
        .open(&path, false)
        .and_then(|file| read(&*file, 0, usize::try_from(len).unwrap_or(usize::MAX)))
        .doing("read")
        .at(&path)?;
    let text = String::from_utf8(text).map_err(|error| {
        let before = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or(&[]);
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        CheckpointErrorKind::Line { line, reason: "it is not valid UTF-8".into() }
    });
    text.at(directory)
}

fn parse(list: &str) -> Result<BTreeMap<String, Sum>, CheckpointErrorKind> {
    let mut sums = BTreeMap::new();
    for (line, text) in (1..).zip(list.lines()) {
        let wrong = |reason| CheckpointErrorKind::Line { line, reason };
        let no_line = "it is not a sum of 64 hexadecimal digits, two spaces and a name";
        let (name, sum) = parse_line(text).ok_or_else(|| wrong(no_line.into()))?;
        check_name(name).map_err(|kind| wrong(kind.to_string()))?;
        if sums.insert(name.into(), sum).is_some() {
            return Err(wrong(format!("{name:?} is listed more than once")));
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
