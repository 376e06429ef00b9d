//! Copies files into a checkpoint.

use super::contents::open_all;
use crate::context::Context;
use crate::error::not_read::NotRead;
use crate::error::{EXISTS, Error};
use crate::input::discover::{Folders, reject_partial_models};
use crate::input::model::Model;
use crate::input::open::open_file;
use crate::input::remote::{Reader, Storage, check_output_directory};
use crate::tensor::sums::{SUMS, first_unlisted};
use crate::text::quoted;
use crate::work::Work;
use embedded_safetensors::ReadAt;
use safetensors_files::checkpoint::write_checkpoint;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The files to copy: validated models, and other files with their lengths.
pub struct Contents {
    models: Vec<Model>,
    others: Vec<(PathBuf, File, u64)>,
}

impl Contents {
    /// Opens all files. A sharded model brings its shards and its index.
    pub fn open(context: &Context, models: &[PathBuf], others: &[PathBuf]) -> Result<Self, Error> {
        if models.iter().chain(others).any(|path| path.as_os_str() == "-") {
            return Err(Error::usage("standard input cannot go into a checkpoint: it has no file name"));
        }
        reject_partial_models(models, None)?;
        let models = open_all(context, models)?;
        let indexes = models.iter().filter_map(|model| Some((model.index()?, model.index_text())));
        let others = indexes.chain(others.iter().map(|path| (path.as_path(), None))).map(|(path, text)| {
            let opened = text.map_or_else(|| open_file(path), unnamed);
            let (file, len) = opened.map_err(|reason| Error::not_read(path, reason))?;
            Ok((path.to_path_buf(), file, len))
        });
        let others: Vec<(PathBuf, File, u64)> = others.collect::<Result<_, Error>>()?;
        let given: Vec<_> = others.iter().map(|(path, ..)| path.canonicalize().ok()).collect();
        let mut folders = Folders::default();
        for model in models.iter().filter(|model| model.index().is_none()) {
            let indexes = folders.indexes_of(model.path())?;
            let is_missing = !indexes.iter().any(|index| given.contains(&index.path.canonicalize().ok()));
            if let Some(index) = indexes.first().filter(|_| is_missing) {
                let sentence =
                    "names these shards and belongs to the model; give the index instead of the shards";
                return Err(Error::about(&index.path, sentence));
            }
        }
        Ok(Self { models, others })
    }

    /// The files by their names in the checkpoint.
    fn by_name<'c>(
        &'c self,
        work: &'c Work,
        broken: &'c RefCell<Option<Error>>,
    ) -> Result<BTreeMap<String, Copying<'c>>, Error> {
        let new = |path, len, reader| Copying { path, len, reader, at: 0, work, broken };
        let parts = self.models.iter().flat_map(Model::parts).map(|part| {
            let len = part.index().summary().file_len();
            (part.file_name(), new(part.path(), len, part.reader().until(len)))
        });
        let others = self.others.iter().map(|(path, file, len)| {
            (path.file_name().unwrap_or_default(), new(path, *len, Reader::of(Storage::File(file))))
        });
        let mut copies = BTreeMap::new();
        for (name, copying) in parts.chain(others) {
            let path = copying.path;
            work.expect(copying.len);
            let name = name.to_str().map_or("", |name| name.trim_end_matches("?…"));
            if name.is_empty() {
                return Err(Error::about(path, "has a name that a list of sums cannot hold"));
            }
            if let Some(other) = copies.insert(name.to_owned(), copying) {
                let other = quoted(&other.path.to_string_lossy());
                return Err(Error::about(path, format!("has the same name as {other}")));
            }
        }
        Ok(copies)
    }

    /// # Errors
    /// A file is no longer the one that was opened.
    fn check_unchanged(&self) -> Result<(), Error> {
        self.models.iter().try_for_each(Model::check_unchanged)?;
        self.others.iter().try_for_each(|(path, file, len)| match file.metadata() {
            Ok(now) if now.len() == *len => Ok(()),
            Ok(_) => Err(Error::not_read(path, NotRead::changed())),
            Err(error) => Err(Error::not_read(path, error)),
        })
    }

    /// Copies the files into a checkpoint, and returns their names and lengths.
    pub fn write(&self, context: &Context, folder: &Path, force: bool) -> Result<Vec<(String, u64)>, Error> {
        // The library's error cannot hold every reason for which copying stops.
        let (work, broken) = (context.work("copying", 0), RefCell::new(None));
        let mut copies = self.by_name(&work, &broken)?;
        check_output_path(folder, force)?;
        let written = write_checkpoint(folder, |checkpoint| {
            checkpoint.may_replace(force);
            for (name, copying) in &mut copies {
                checkpoint.write_from(name, copying)?;
            }
            self.check_unchanged().map_err(|error| stop(&broken, error).into())
        });
        broken.take().map_or(Ok(()), Err)?;
        written?;
        Ok(copies.into_iter().map(|(file, copying)| (file, copying.len)).collect())
    }
}

/// Keeps the reason for which copying stops.
fn stop(broken: &RefCell<Option<Error>>, error: Error) -> io::Error {
    broken.replace(Some(error));
    io::Error::other("stopped")
}

/// An unnamed file with this text.
fn unnamed(text: &[u8]) -> Result<(File, u64), NotRead> {
    let written = tempfile::tempfile().and_then(|mut file| file.write_all(text).map(|()| file));
    let file = written.map_err(|error| NotRead::not_buffered(&error, None))?;
    Ok((file, text.len() as u64))
}

/// The contents of an existing directory are deleted, so it must be a checkpoint, as the library checks, and
/// contain nothing else.
fn check_output_path(folder: &Path, force: bool) -> Result<(), Error> {
    check_output_directory(folder)?;
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::not_read(folder, error)),
        Ok(_) if !force => return Err(Error::about(folder, EXISTS)),
        Ok(there) if there.is_dir() => {}
        Ok(_) => return Err(Error::about(folder, "not a directory; refusing to replace it")),
    }
    let unlisted = if folder.join(SUMS).is_file() { first_unlisted(folder)? } else { None };
    unlisted.map_or(Ok(()), |name| {
        let name = quoted(&name.to_string_lossy());
        let sentence = format!("contains {name}, which its {SUMS} does not list; refusing to replace it");
        Err(Error::about(folder, sentence))
    })
}

/// Reads a file once, from front to end, as it was validated if it belongs to a model.
struct Copying<'c> {
    path: &'c Path,
    len: u64,
    reader: Reader<'c>,
    at: u64,
    work: &'c Work,
    broken: &'c RefCell<Option<Error>>,
}

impl Read for Copying<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.len - self.at).unwrap_or(usize::MAX).min(buffer.len());
        let outcome = match self.reader.read_at(self.at, &mut buffer[..wanted]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => Err(Error::not_read(self.path, error)),
            Ok(0) if wanted > 0 => Err(Error::not_read(self.path, NotRead::changed())),
            Ok(read) => self.work.advance(read as u64).map(|()| read),
        };
        let read = outcome.map_err(|error| stop(self.broken, error))?;
        self.at += read as u64;
        Ok(read)
    }
}
