//! Verifies files against a list of sums.

use crate::context::Context;
use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::exit::Exit;
use crate::input::model::Model;
use crate::input::open::open_file;
use crate::print::diagnostic::text;
use crate::tensor::sums::digest::{Trouble, sum_at, sum_of_tensor};
use crate::tensor::sums::finding::{Finding, Found, TensorChange, Tensors};
use crate::tensor::sums::list::{Expected, is_below, read};
use crate::text::quoted;
use crate::threads::{cores, in_order};
use crate::work::Work;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The maximum length of a list; a million tensors need less.
const LONGEST: u64 = 256 << 20;
/// The list of a checkpoint.
const SUMS: &str = "SHA256SUMS";

/// Verifies the files of a list, or of a checkpoint if the path is a directory. Names in a list may be any
/// path, as for `sha256sum`.
pub fn verify(context: &Context, list: &Path) -> Result<Vec<Found>, Error> {
    match list.is_dir() {
        true => verify_folder(context, list),
        false => check(context, Path::new(""), &read_list(list)?),
    }
}

/// A checkpoint contains exactly the files in its list.
fn verify_folder(context: &Context, folder: &Path) -> Result<Vec<Found>, Error> {
    let expected = read_list_of(folder)?;
    let added = unlisted(folder, &expected)?;
    let mut found = check(context, folder, &expected)?;
    for file in found.iter_mut().filter(|file| file.name.is_symlink()) {
        file.finding = Finding::NotRead(NotRead::because("symbolic link, not a regular file"));
    }
    found.extend(added.iter().map(|name| Found { name: folder.join(name), finding: Finding::Added }));
    Ok(found)
}

/// The first file in a checkpoint that is missing in its list, by its name in the directory.
///
/// # Errors
/// The directory or its list cannot be read, or the list is invalid.
pub fn first_unlisted(folder: &Path) -> Result<Option<PathBuf>, Error> {
    Ok(unlisted(folder, &read_list_of(folder)?)?.pop_first())
}

/// The list of a checkpoint. Each name must be that of a file in it.
fn read_list_of(folder: &Path) -> Result<Vec<Expected>, Error> {
    let list = folder.join(SUMS);
    let expected = read_list(&list)?;
    let mut names = BTreeSet::new();
    for file in &expected {
        if !is_below(&file.name) || file.name == Path::new(SUMS) {
            return Err(unsafe_name(&list, file, "is not a path inside the checkpoint"));
        }
        if !names.insert(file.name.as_path()) {
            return Err(unsafe_name(&list, file, "is listed more than once"));
        }
    }
    Ok(expected)
}

fn unlisted(folder: &Path, expected: &[Expected]) -> Result<BTreeSet<PathBuf>, Error> {
    let mut there = below(folder).map_err(|error| Error::not_read(folder, error))?;
    there.remove(Path::new(SUMS));
    for file in expected {
        there.remove(&file.name);
    }
    Ok(there)
}

/// The paths of everything in a directory and below it. Links are not followed.
fn below(folder: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let (mut names, mut folders) = (BTreeSet::new(), vec![PathBuf::new()]);
    while let Some(current) = folders.pop() {
        for entry in fs::read_dir(folder.join(&current))? {
            let entry = entry?;
            let name = current.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(name);
            } else {
                names.insert(name);
            }
        }
    }
    Ok(names)
}

fn unsafe_name(list: &Path, file: &Expected, why: &str) -> Error {
    Error::about(list, format!("the name {} {why}", quoted(&file.name.to_string_lossy())))
}

fn read_list(path: &Path) -> Result<Vec<Expected>, Error> {
    let text = read_text(path).map_err(|reason| Error::not_read(path, reason))?;
    read(&text).map_err(|why| Error::about(path, format!("not a list of sums: {why}")))
}

fn read_text(path: &Path) -> Result<Vec<u8>, NotRead> {
    let mut text = Vec::new();
    let read = if path.as_os_str() == "-" {
        io::stdin().lock().take(LONGEST + 1).read_to_end(&mut text)?
    } else {
        open_file(path)?.0.take(LONGEST + 1).read_to_end(&mut text)?
    };
    if read as u64 > LONGEST {
        return Err(NotRead::because(format!("too long for a list of sums: more than {LONGEST} bytes")));
    }
    Ok(text)
}

fn check(context: &Context, folder: &Path, expected: &[Expected]) -> Result<Vec<Found>, Error> {
    let paths: Vec<PathBuf> = expected.iter().map(|file| folder.join(&file.name)).collect();
    let len = |path: &PathBuf| fs::metadata(path).map_or(0, |metadata| metadata.len());
    let work = context.work("verifying", paths.iter().map(len).sum());
    let files: Vec<(&Expected, &PathBuf)> = expected.iter().zip(&paths).collect();
    let mut found = Vec::new();
    in_order(
        &files,
        cores(),
        |(file, path)| (*path, examine(context, file, path, &work)),
        |(path, finding)| {
            found.push(Found { name: path.clone(), finding: finding? });
            Ok::<_, Error>(())
        },
    )?;
    Ok(found)
}

/// Only interruption ends the work: other files may be unchanged.
fn examine(context: &Context, file: &Expected, path: &Path, work: &Work) -> Result<Finding, Error> {
    match sum_at(context, path, work) {
        Ok((_, sum)) if sum == file.sum => Ok(Finding::Same),
        Ok((_, sum)) => {
            let tensors =
                file.tensors.as_ref().map(|expected| differing(context, expected, path, work)).transpose()?;
            Ok(Finding::Changed { sum, expected: file.sum.clone(), tensors })
        }
        Err(Trouble::Other(complaint)) => Err(complaint),
        Err(Trouble::Read(_)) if path.as_os_str() == "-" && is_missing(path) => {
            Ok(Finding::NotRead(NotRead::because("it was standard input, which cannot be read again")))
        }
        Err(Trouble::Read(_)) if is_missing(path) => Ok(Finding::Missing),
        Err(Trouble::Read(reason)) => Ok(Finding::NotRead(reason)),
    }
}

fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// The tensors whose sums differ.
fn differing(
    context: &Context,
    expected: &BTreeMap<String, String>,
    path: &Path,
    work: &Work,
) -> Result<Tensors, Error> {
    let model = match Model::open(context, path) {
        Ok(model) => model,
        Err(complaint) if complaint.exit() == Exit::Bad => return Ok(Tensors::Invalid),
        Err(complaint) => return Ok(Tensors::NotRead(text(&complaint))),
    };
    let sums = model.tensors().map(|tensor| Ok((tensor.name(), sum_of_tensor(&tensor, work)?)));
    let sums: Result<BTreeMap<&str, String>, Error> = sums.collect();
    let found = match sums.and_then(|sums| model.check_unchanged().map(|()| sums)) {
        Ok(found) => found,
        Err(complaint) => {
            context.check()?;
            return Ok(Tensors::NotRead(text(&complaint)));
        }
    };
    let mut fates = Vec::new();
    for (name, sum) in expected {
        match found.get(name.as_str()) {
            None => fates.push((name.clone(), TensorChange::Missing)),
            Some(now) if *now != sum.to_ascii_lowercase() => {
                fates.push((name.clone(), TensorChange::Changed));
            }
            Some(_) => {}
        }
    }
    let added = found.keys().filter(|name| !expected.contains_key(**name));
    fates.extend(added.map(|name| ((*name).to_owned(), TensorChange::Added)));
    Ok(Tensors::Known(fates))
}
