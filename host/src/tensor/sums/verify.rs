//! Verifies files against a list of sums.

use crate::context::Context;
use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::exit::Exit;
use crate::input::model::Model;
use crate::input::open::open_file;
use crate::print::diagnostic::line;
use crate::tensor::sums::digest::{FileSum, collect, sum_at, sums_of};
use crate::tensor::sums::finding::{Difference, Found, Tensor, Tensors};
use crate::tensor::sums::list::{self, Expected, is_below, read};
use crate::text::number::digits;
use crate::text::quoted;
use crate::threads::cores;
use crate::work::Work;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The maximum length of a list; a million tensors need less.
const LONGEST: u64 = 256 << 20;
/// The list of a checkpoint, which marks its directory.
pub const SUMS: &str = "SHA256SUMS";
const OF_MODEL: &str = "not a list of sums: it is a model; --check-embedded verifies the sum in a model";

/// Verifies the files of a list, or of a checkpoint if the path is a directory. Names in a list may be any
/// path, as for `sha256sum`.
pub fn verify(context: &Context, list: &Path) -> Result<Vec<Found>, Error> {
    match list.is_dir() {
        true => verify_folder(context, list),
        false => match read_list(list) {
            Ok(expected) => check(context, Path::new(""), &expected),
            Err(_) if list.is_file() && Model::open(context, list).is_ok() => {
                Err(Error::about(list, OF_MODEL))
            }
            Err(error) => Err(error),
        },
    }
}

/// A checkpoint contains exactly the files in its list.
fn verify_folder(context: &Context, folder: &Path) -> Result<Vec<Found>, Error> {
    let expected = read_list_of(folder)?;
    let added = unlisted(folder, &expected)?;
    let mut found = check(context, folder, &expected)?;
    for file in found.iter_mut().filter(|file| file.name.is_symlink()) {
        let reason = NotRead::because("symbolic link, not a regular file");
        file.difference = Err(Error::not_read(&file.name, reason));
    }
    let added = added.iter().map(|name| folder.join(name));
    found.extend(added.map(|name| Found { name, difference: Ok(Some(Difference::Added)) }));
    Ok(found)
}

/// The first file in a checkpoint that is missing in its list, by its name in the directory.
///
/// # Errors
/// The directory or its list cannot be read, or the list is invalid.
pub fn first_unlisted(folder: &Path) -> Result<Option<PathBuf>, Error> {
    Ok(unlisted(folder, &read_list_of(folder)?)?.pop_first())
}

/// The list of a checkpoint. Each name must be a path inside of it.
fn read_list_of(folder: &Path) -> Result<Vec<Expected>, Error> {
    let list = folder.join(SUMS);
    let expected = read_list(&list)?;
    let mut names = BTreeSet::new();
    let wrong = expected.iter().find_map(|file| match &file.name {
        name if !is_below(name) || name == Path::new(SUMS) => {
            Some((name, "is not a path inside the checkpoint"))
        }
        name if !names.insert(name) => Some((name, "is listed more than once")),
        _ => None,
    });
    match wrong.map(|(name, why)| format!("the name {} {why}", quoted(&name.to_string_lossy()))) {
        Some(sentence) => Err(Error::about(&list, sentence)),
        None => Ok(expected),
    }
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

fn read_list(path: &Path) -> Result<Vec<Expected>, Error> {
    let text = read_text(path).map_err(|reason| Error::not_read(path, reason))?;
    read(&text).map_err(|why| Error::about(path, format!("not a list of sums: {why}")))
}

fn read_text(path: &Path) -> Result<Vec<u8>, NotRead> {
    let (is_stdin, mut text) = (path.as_os_str() == "-", Vec::new());
    let list: Box<dyn Read> = if is_stdin { Box::new(io::stdin()) } else { Box::new(open_file(path)?.0) };
    let read = list.take(LONGEST + 1).read_to_end(&mut text)?;
    if read as u64 > LONGEST {
        return Err(NotRead::because(format!("too long for a list of sums: more than {LONGEST} bytes")));
    }
    Ok(text)
}

fn check(context: &Context, folder: &Path, expected: &[Expected]) -> Result<Vec<Found>, Error> {
    let files: Vec<_> = expected.iter().map(|file| (file, folder.join(&file.name))).collect();
    let lens = files.iter().map(|(_, path)| fs::metadata(path).map_or(0, |metadata| metadata.len()));
    let work = context.work("verifying", lens.sum());
    let found = |(file, path): &(&Expected, PathBuf)| examine(context, file, path, &work);
    collect(&files, cores(), found)
}

/// Only interruption ends the work: other files may be unchanged.
fn examine(context: &Context, file: &Expected, path: &Path, work: &Work) -> Result<Found, Error> {
    let is_missing = || fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    let difference = match sum_at(context, path, work) {
        Ok(FileSum { sha256, .. }) if sha256.eq_ignore_ascii_case(&file.sha256) => Ok(None),
        Ok(FileSum { sha256, .. }) => {
            let expected = file.sha256.to_ascii_lowercase();
            let tensors = file.tensors.as_ref().map(|tensors| differing(context, tensors, path, work));
            Ok(Some(Difference::Changed { sha256, expected, tensors: tensors.transpose()? }))
        }
        Err(error) if error.exit() == Exit::Interrupted => return Err(error),
        Err(error) if !is_missing() => Err(error),
        Err(_) if path.as_os_str() == "-" => {
            Err(Error::not_read(path, NotRead::because("it was standard input, which cannot be read again")))
        }
        Err(_) => Ok(Some(Difference::Missing)),
    };
    Ok(Found { name: path.into(), difference })
}

/// The tensors whose sums differ.
fn differing(
    context: &Context,
    expected: &BTreeMap<String, list::Tensor>,
    path: &Path,
    work: &Work,
) -> Result<Tensors, Error> {
    let sums = Model::open(context, path).and_then(|model| {
        let tensors: Vec<_> = model.tensors().collect();
        let sums = sums_of(&tensors, work)?;
        let names = tensors.iter().map(|tensor| tensor.name().to_owned());
        let sums: BTreeMap<_, _> = names.zip(sums.iter().map(|sum| digits(sum))).collect();
        model.check_unchanged().map(|()| sums)
    });
    let found = match sums {
        Ok(found) => found,
        Err(error) if error.exit() == Exit::Interrupted => return Err(error),
        Err(error) if error.exit() == Exit::Bad => return Ok(Tensors::Invalid { sound: false }),
        Err(error) => return Ok(Tensors::NotRead { message: line(&error, usize::MAX) }),
    };
    let mut tensors = Vec::new();
    let mut say = |name: &String, error| tensors.push(Tensor { name: name.clone(), error });
    for (name, list::Tensor { sha256 }) in expected {
        match found.get(name) {
            None => say(name, "missing"),
            Some(now) if !now.eq_ignore_ascii_case(sha256) => say(name, "changed"),
            Some(_) => {}
        }
    }
    found.keys().filter(|name| !expected.contains_key(*name)).for_each(|name| say(name, "added"));
    Ok(Tensors::Changed { sound: true, tensors })
}
