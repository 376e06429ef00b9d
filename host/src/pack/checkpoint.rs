//! Copies files into a checkpoint.

use crate::context::Context;
use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::input::discover::{Folders, Index, reject_partial_models};
use crate::input::model::{Model, Part};
use crate::input::open::open_file;
use crate::input::remote::check_output_directory;
use crate::tensor::sums::first_unlisted;
use crate::text::quoted;
use crate::work::Work;
use embedded_safetensors::ReadAt;
use safetensors_files::checkpoint::write_checkpoint;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The file that marks a directory as a checkpoint.
const SUMS: &str = "SHA256SUMS";

/// The files to copy: validated models, and other files.
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
        let models: Vec<Model> =
            models.iter().map(|path| Model::open(context, path)).collect::<Result<_, _>>()?;
        let indexes = models.iter().filter_map(|model| Some((model.index()?, model.index_text())));
        let others = others.iter().map(|path| (path.as_path(), None));
        let others = indexes.chain(others).map(|(path, text)| {
            let opened = text.map_or_else(|| open_file(path), unnamed);
            let (file, len) = opened.map_err(|reason| Error::not_read(path, reason))?;
            Ok((path.to_path_buf(), file, len))
        });
        let others: Vec<(PathBuf, File, u64)> = others.collect::<Result<_, Error>>()?;
        let mut folders = Folders::default();
        for model in models.iter().filter(|model| model.index().is_none()) {
            let indexes = folders.indexes_of(model.path())?;
            let is_given = |index: &Rc<Index>| {
                let place = index.path.canonicalize().ok();
                others.iter().any(|(path, ..)| path.canonicalize().ok() == place)
            };
            if let Some(index) = indexes.first().filter(|_| !indexes.iter().any(is_given)) {
                let sentence =
                    "names these shards and belongs to the model; give the index instead of the shards";
                return Err(Error::about(&index.path, sentence));
            }
        }
        Ok(Self { models, others })
    }

    /// The files by their names in the checkpoint.
    fn by_name(&self) -> Result<BTreeMap<String, Source<'_>>, Error> {
        let parts = self.models.iter().flat_map(Model::parts).map(Source::Part);
        let others = self.others.iter().map(|(path, file, len)| Source::Other(path, file, *len));
        let mut sources: BTreeMap<String, Source<'_>> = BTreeMap::new();
        for source in parts.chain(others) {
            let path = source.path();
            let name = source.name().to_str().map(|name| name.trim_end_matches("?…").to_owned());
            let name = name.filter(|name| !name.is_empty());
            let name =
                name.ok_or_else(|| Error::about(path, "has a name that a list of sums cannot hold"))?;
            if let Some(other) = sources.insert(name, source) {
                let other = quoted(&other.path().to_string_lossy());
                return Err(Error::about(path, format!("has the same name as {other}")));
            }
        }
        Ok(sources)
    }

    /// Copies the files into a checkpoint; returns their names and lengths.
    pub fn write(&self, context: &Context, folder: &Path, force: bool) -> Result<Vec<(String, u64)>, Error> {
        let sources = self.by_name()?;
        check_output_path(folder, force)?;
        let work = context.work("copying", sources.values().map(Source::len).sum());
        // The library's error cannot hold every reason for which copying stops.
        let mut broken = None;
        let written = write_checkpoint(folder, |checkpoint| {
            sources.iter().try_for_each(|(name, source)| {
                let mut reader = Reader { source, at: 0, work: &work, broken: &mut broken };
                checkpoint.write_from(name, &mut reader)?;
                source.check_unchanged().map_err(|complaint| {
                    broken = Some(complaint);
                    io::Error::other("changed").into()
                })
            })
        });
        match (broken, written) {
            (Some(complaint), _) => Err(complaint),
            (None, written) => {
                written?;
                Ok(sources.iter().map(|(name, source)| (name.clone(), source.len())).collect())
            }
        }
    }
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
    let there = match fs::symlink_metadata(folder) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::not_read(folder, error)),
    };
    if !force {
        return Err(Error::about(folder, "already exists; use --force to replace it"));
    }
    if !there.is_dir() {
        return Err(Error::about(folder, "not a directory; refusing to replace it"));
    }
    if !folder.join(SUMS).is_file() {
        return Ok(());
    }
    match first_unlisted(folder)? {
        None => Ok(()),
        Some(name) => Err(Error::about(
            folder,
            format!(
                "contains {}, which its {SUMS} does not list; refusing to replace it",
                quoted(&name.to_string_lossy())
            ),
        )),
    }
}

enum Source<'c> {
    /// A file of a model, copied as it was validated.
    Part(&'c Part),
    Other(&'c Path, &'c File, u64),
}

impl<'c> Source<'c> {
    fn path(&self) -> &'c Path {
        match self {
            Self::Part(part) => part.path(),
            Self::Other(path, ..) => path,
        }
    }

    fn name(&self) -> &'c OsStr {
        match self {
            Self::Part(part) => part.file_name(),
            Self::Other(path, ..) => path.file_name().unwrap_or_default(),
        }
    }

    fn len(&self) -> u64 {
        match self {
            Self::Part(part) => part.index().summary().file_len(),
            Self::Other(_, _, len) => *len,
        }
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match *self {
            Self::Part(part) => part.reader().until(self.len()).read_at(at, buffer),
            Self::Other(_, mut file, _) => ReadAt::read_at(&mut file, at, buffer),
        }
    }

    /// # Errors
    /// The file is no longer the one that was opened.
    fn check_unchanged(&self) -> Result<(), Error> {
        match self {
            Self::Part(part) => part.check_unchanged(),
            Self::Other(path, file, len) => {
                let now = file.metadata().map_err(|error| Error::not_read(path, error))?.len();
                if now == *len { Ok(()) } else { Err(Error::not_read(path, NotRead::changed())) }
            }
        }
    }
}

/// Reads a source once, from front to end.
struct Reader<'r, 'c> {
    source: &'r Source<'c>,
    at: u64,
    work: &'r Work,
    /// The reason for which reading has stopped.
    broken: &'r mut Option<Error>,
}

impl Reader<'_, '_> {
    fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let not_read = |reason: NotRead| Error::not_read(self.source.path(), reason);
        let read = loop {
            match self.source.read_at(self.at, buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome.map_err(|error| not_read(error.into()))?,
            }
        };
        if read == 0 && !buffer.is_empty() {
            return Err(not_read(NotRead::changed()));
        }
        self.at += read as u64;
        self.work.advance(read as u64).map(|()| read)
    }
}

impl Read for Reader<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.source.len() - self.at).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        self.read_some(&mut buffer[..wanted]).map_err(|complaint| {
            *self.broken = Some(complaint);
            io::Error::other("stopped")
        })
    }
}
