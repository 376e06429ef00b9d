//! A validated model with random access, for most commands.

use crate::args::remote::is_remote;
use crate::context::{Context, Place};
use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::input::discover::model_in;
use crate::input::evidence::error_of;
use crate::input::open::open;
use crate::input::remote;
use crate::input::selection::proposal;
use crate::input::source::{BUFFER, Data, Source, each_piece};
use crate::input::validation::index_of;
use crate::text::{counted, quoted, shown_text};
use crate::threads::cores;
use embedded_safetensors::{FileModel, header::MAX_HEADER_LEN, index::OwnedIndex, integrity::KEY};
use safetensors_files::{EditErrorKind, shards::ShardedModel};
use safetensors_remote::{CANDIDATES, RemoteError, RemoteErrorKind, SharedFile, Url};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::num::NonZero;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use crate::input::part::{Part, Tensor};

/// A model in one file, or in several.
pub struct Model {
    /// The requested path.
    path: PathBuf,
    parts: Vec<Part>,
    /// The index of a model in several files.
    index: Option<PathBuf>,
    /// The text of an index on a server.
    index_text: Option<Vec<u8>>,
    /// The metadata of several files together.
    metadata: Option<BTreeMap<String, String>>,
}

impl Model {
    /// Opens and validates a file, standard input for `-`, a URL, all files of an index, or the model in a
    /// directory. Reads the headers of files, and standard input to its end.
    ///
    /// # Errors
    /// The model is invalid (reported as `check` does), or cannot be read.
    pub fn open(context: &Context, path: &Path) -> Result<Self, Error> {
        Self::open_with(context, path, Data::Keep)
    }

    /// Opens a model whose data is not read: that of standard input is only counted.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_header(context: &Context, path: &Path) -> Result<Self, Error> {
        Self::open_with(context, path, Data::Count)
    }

    /// Opens a model, and keeps or counts its data.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_with(context: &Context, path: &Path, data: Data) -> Result<Self, Error> {
        let not_read = |reason| Error::not_read(path, reason);
        let file = match remote::place(context, path).map_err(not_read)? {
            Place::Local(file) => file_of(&file)?,
            Place::Url(url) if url.path().ends_with(INDEX) => return open_remote_shards(context, path, &url),
            Place::Url(url) => {
                let file = remote::open(context, path, &url).map_err(not_read)?;
                return Ok(Self::of(path, vec![validated(path, &url, file, data)?], None));
            }
        };
        if is_index(&file) {
            return open_shards(context, path, &file);
        }
        Ok(Self::of(path, vec![open_part(context, &file, data)?], None))
    }

    /// A model of files that were validated.
    pub fn of(path: &Path, parts: Vec<Part>, index: Option<PathBuf>) -> Self {
        let all: Vec<_> = parts.iter().filter_map(Part::metadata).collect();
        let pairs = all.iter().rev().copied().flatten().map(|(key, value)| (key.clone(), value.clone()));
        let metadata = (parts.len() > 1 && !all.is_empty()).then(|| pairs.collect());
        Self { path: path.to_path_buf(), parts, index, index_text: None, metadata }
    }

    /// Opens a model in one file for a library that reads only files: one on a server becomes an unnamed
    /// file. Models for devices are small.
    ///
    /// # Errors
    /// Those of [`open`](Self::open); the data cannot be read or buffered.
    pub fn open_in_file(context: &Context, path: &Path) -> Result<Self, Error> {
        let model = Self::open(context, path)?;
        match &model.parts[..] {
            [part @ Part::Remote { name, .. }] => {
                let file = copy_of(context, part, 0..part.index().summary().file_len())?;
                // With the name of the file, which a model of the Hub does not have.
                let is_named = part.path().file_name() == Some(name.as_ref());
                let named = if is_named { part.path().into() } else { part.path().join(name) };
                Ok(Self::of(path, vec![Part::File(FileModel::from_file(file, named)?)], None))
            }
            _ => Ok(model),
        }
    }

    /// The requested path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of a single-file model, which [`open_in_file`](Self::open_in_file) has opened.
    ///
    /// # Errors
    /// The model is sharded.
    pub fn one_file(&self) -> Result<&FileModel, Error> {
        match self.one_part()? {
            Part::File(part) => Ok(part),
            part => Err(Error::about(part.path(), "is on a server, but a file is needed")),
        }
    }

    /// The only file of a model.
    ///
    /// # Errors
    /// The model is sharded.
    pub fn one_part(&self) -> Result<&Part, Error> {
        match &self.parts[..] {
            [part] => Ok(part),
            parts => {
                let count = parts.len();
                let sentence = format!("is in {count} files, but one is needed; use `safetensors join`");
                Err(Error::about(&self.path, sentence))
            }
        }
    }

    /// The files of the model.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    pub fn into_parts(self) -> Vec<Part> {
        self.parts
    }

    /// The index of the file that contains a tensor.
    pub fn part_of(&self, tensor: &Tensor<'_>) -> usize {
        self.parts.iter().position(|part| std::ptr::eq(part, tensor.model())).unwrap_or(0)
    }

    /// The index file, if there is one.
    pub fn index(&self) -> Option<&Path> {
        self.index.as_deref()
    }

    /// The text of an index on a server, as it was read.
    pub fn index_text(&self) -> Option<&[u8]> {
        self.index_text.as_deref()
    }

    /// All tensors, file by file, by offset. Empty tensors at the same offset are sorted by name.
    pub fn tensors(&self) -> impl Iterator<Item = Tensor<'_>> {
        self.parts.iter().flat_map(in_order)
    }

    /// All tensors, file by file, in the order of the header.
    pub fn in_header_order(&self) -> impl Iterator<Item = Tensor<'_>> {
        self.parts.iter().flat_map(Part::in_header_order)
    }

    /// All tensors without padding, and the amount of padding. Reads the bytes of possible padding tensors:
    /// only zeros are padding.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn without_padding(&self) -> Result<(Vec<Tensor<'_>>, Padding), Error> {
        let sum = self.metadata().is_some_and(|pairs| pairs.contains_key(KEY));
        let (mut tensors, mut padding) = (Vec::new(), Padding { sum, ..Padding::default() });
        for file in self.parts() {
            let names = file.padding()?;
            for tensor in in_order(file) {
                match names.contains(tensor.name()) {
                    true => padding.add(Padding { tensors: 1, bytes: tensor.byte_len(), sum }),
                    false => tensors.push(tensor),
                }
            }
        }
        Ok((tensors, padding))
    }

    /// The tensor of this name.
    ///
    /// # Errors
    /// There is none; the sentence suggests the most similar name.
    pub fn tensor(&self, name: &str) -> Result<Tensor<'_>, Error> {
        self.find(name).ok_or_else(|| {
            let sliced = with_slice(name).or_else(|| name.rsplit_once('='));
            let hint = match sliced.filter(|(name, _)| self.find(name).is_some()) {
                Some((name, slice)) => {
                    let (name, slice) = (shown_text(name), quoted(slice));
                    let cat = format!("`safetensors cat` takes --slice {slice}");
                    format!("; for a part of it, {cat}, and `safetensors slice` {name}={slice}")
                }
                None => proposal(name, || self.tensors().map(|tensor| tensor.name()), false),
            };
            Error::about(&self.path, format!("no tensor {}{hint}", quoted(name)))
        })
    }

    /// The tensor of this name, if there is one.
    pub fn find(&self, name: &str) -> Option<Tensor<'_>> {
        self.parts.iter().find_map(|part| part.find(name))
    }

    /// The contents of `__metadata__`, if any; of several files the first with a key counts.
    pub fn metadata(&self) -> Option<&BTreeMap<String, String>> {
        match &self.parts[..] {
            [part] => part.metadata(),
            _ => self.metadata.as_ref(),
        }
    }

    /// The metadata as pairs, for another file: without the sum of this one.
    pub fn pairs(&self) -> Option<Vec<(&str, &str)>> {
        let all = self.metadata()?;
        let pairs = all.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let pairs: Vec<_> = pairs.filter(|(key, _)| *key != KEY).collect();
        (pairs.len() == all.len() || !pairs.is_empty()).then_some(pairs)
    }

    /// The total length of all files, without an index.
    pub fn file_lens(&self) -> u64 {
        self.parts().iter().fold(0, |all, part| all.saturating_add(part.index().summary().file_len()))
    }

    /// Call when everything has been read: checks that the files are still those that were validated.
    ///
    /// # Errors
    /// A file has changed.
    pub fn check_unchanged(&self) -> Result<(), Error> {
        self.parts.iter().try_for_each(Part::check_unchanged)
    }
}

/// A name and a slice as numpy has them: `name[0:10]`.
pub fn with_slice(text: &str) -> Option<(&str, &str)> {
    text.strip_suffix(']')?.split_once('[')
}

/// How many threads read these tensors: one if a server sends a file only in sequence.
pub fn threads_for(tensors: &[Tensor<'_>]) -> NonZero<usize> {
    let has_ranges = tensors.iter().all(|tensor| tensor.model().has_ranges());
    if has_ranges { cores() } else { NonZero::<usize>::MIN }
}

/// The bytes of all these tensors, for messages about progress: a server may claim more than a number holds.
pub fn bytes_of(tensors: &[Tensor<'_>]) -> u64 {
    tensors.iter().fold(0, |all, tensor| all.saturating_add(tensor.byte_len()))
}

/// In the order in which other programs list them, independent of the header's order.
fn in_order(file: &Part) -> Vec<Tensor<'_>> {
    let mut tensors: Vec<Tensor<'_>> = file.tensors().collect();
    tensors.sort_by_key(|tensor| (tensor.begin(), tensor.end(), tensor.name()));
    tensors
}

/// Padding that a command leaves out of its output; in JSON, the number of tensors.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Padding {
    pub tensors: u64,
    #[serde(skip)]
    pub bytes: u64,
    /// Whether the embedded sum is left out, too.
    #[serde(skip)]
    pub sum: bool,
}

impl Padding {
    pub fn add(&mut self, other: Self) {
        self.tensors += other.tensors;
        self.bytes += other.bytes;
        self.sum |= other.sum;
    }

    /// Prints lines about the sum and the padding left out, if any.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn print(self, out: &mut impl Write) -> io::Result<()> {
        if self.sum {
            writeln!(out, "  left out: the embedded sum; `safetensors hash --embed` embeds a new one")?;
        }
        if self.tensors > 0 {
            let (tensors, bytes) = (counted(self.tensors, "tensor"), counted(self.bytes, "zero byte"));
            writeln!(out, "  left out: {tensors} of padding, {bytes}")?;
        }
        Ok(())
    }
}

/// How names of indexes end.
const INDEX: &str = ".index.json";

/// Whether a path is opened as an index: by its name, or because it is a directory.
pub fn is_index(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with(INDEX)
}

/// Finds out whether a model has an index; of one on the Hub from the server.
///
/// # Errors
/// There is no such model; those of the server.
pub fn is_sharded(context: &Context, path: &Path) -> Result<bool, Error> {
    Ok(match remote::place(context, path).map_err(|reason| Error::not_read(path, reason))? {
        Place::Local(file) => is_index(&file),
        Place::Url(url) => url.path().ends_with(INDEX),
    })
}

/// The file that a path means: of a directory, its model.
///
/// # Errors
/// A directory has no model, or several, or cannot be read.
pub fn file_of(path: &Path) -> Result<PathBuf, Error> {
    if !is_remote(path) && path.is_dir() { model_in(path) } else { Ok(path.to_path_buf()) }
}

fn open_shards(context: &Context, path: &Path, index: &Path) -> Result<Model, Error> {
    match ShardedModel::open(index) {
        Ok(model) => {
            let index = Some(model.path().to_path_buf());
            Ok(Model::of(path, model.into_shards().into_iter().map(Part::File).collect(), index))
        }
        Err(error) => match error.kind() {
            // Reports an invalid shard as `check` does.
            EditErrorKind::File(_) if !is_index(error.path()) => {
                Err(open_part(context, error.path(), Data::Keep).err().unwrap_or_else(|| error.into()))
            }
            _ => Err(error.into()),
        },
    }
}

fn open_remote_shards(context: &Context, path: &Path, url: &Url) -> Result<Model, Error> {
    let opened = remote::open_shards(context, path, url);
    let model = opened.map_err(|error| error_of_shards(context, path, url, &error))?;
    // One with a query is found again by the path as given.
    let index = if url.as_text().contains('?') { path.to_path_buf() } else { url.as_text().into() };
    let index_text = model.index_text().map(<[u8]>::to_vec);
    let parts = model.into_files().into_iter().map(|file| {
        let (path, name) = (without_query(&url.sibling(file.name())).into(), file.name().to_owned());
        let (file, index) = file.into_parts();
        Part::Remote { path, name, file: Arc::new(file), index }
    });
    Ok(Model { index_text, ..Model::of(path, parts.collect(), Some(index)) })
}

/// A URL in messages.
fn without_query(url: &Url) -> String {
    url.to_string().trim_end_matches("?…").to_owned()
}

/// An invalid shard is reported as `check` does; an index that names other shards is invalid.
fn error_of_shards(context: &Context, path: &Path, index: &Url, error: &RemoteError) -> Error {
    let is_invalid = match error.kind() {
        RemoteErrorKind::Index(fault) => return Error::of_edit(path, fault),
        RemoteErrorKind::Format(_) | RemoteErrorKind::ShortHeader { .. } | RemoteErrorKind::WebPage => true,
        RemoteErrorKind::HeaderTooLarge { len, .. } => *len > MAX_HEADER_LEN,
        _ => false,
    };
    let Some(shard) = error.shard() else { return Error::not_read(path, error) };
    let url = index.sibling(shard);
    let name = PathBuf::from(without_query(&url));
    match is_invalid.then(|| remote::open(context, &name, &url)) {
        Some(Ok(file)) => validated(&name, &url, file, Data::Keep).err(),
        _ => Some(Error::not_read(path, remote::of_file(error))),
    }
    .unwrap_or_else(|| Error::not_read(path, error))
}

/// Validates a file on a server, whose header is in memory.
fn validated(path: &Path, url: &Url, file: SharedFile, data: Data) -> Result<Part, Error> {
    let file = Arc::new(file);
    let mut source = Source::of_remote(file.clone()).map_err(|reason| Error::not_read(path, reason))?;
    if data == Data::Keep {
        source.trust_header();
    }
    let index = list(&mut source, path, data)?;
    let text = path.to_string_lossy();
    let text = text.split_once("?…").map_or(&*text, |(text, _)| text);
    // The name that a model of the Hub has in its cache, too.
    let found = CANDIDATES.into_iter().find(|name| url.path().rsplit('/').next() == Some(name));
    let name = found.or_else(|| text.rsplit('/').next()).unwrap_or(text).to_owned();
    Ok(Part::Remote { path: text.into(), name, file, index })
}

fn list(source: &mut Source, path: &Path, data: Data) -> Result<OwnedIndex, Error> {
    index_of(source, data).map_err(|failure| error_of(path, source, failure))
}

/// Opens a local file.
fn open_part(context: &Context, path: &Path, data: Data) -> Result<Part, Error> {
    let not_read = |reason| Error::not_read(path, reason);
    let mut source = open(context, path).map_err(not_read)?;
    if !source.is_file() {
        // The data is kept or counted while the file is validated.
        let index = list(&mut source, path, data)?;
        if data == Data::Count {
            let room = source.header_room().map_err(not_read)?;
            return Ok(Part::Header { path: path.into(), index, room });
        }
    }
    let (mut source, file) = source.share_file().map_err(not_read)?;
    FileModel::from_file(file, path)
        .map(Part::File)
        .map_err(|error| list(&mut source, path, data).err().unwrap_or_else(|| error.into()))
}

/// An unnamed file with these bytes of a file.
///
/// # Errors
/// They cannot be read or buffered.
pub fn copy_of(context: &Context, part: &Part, range: Range<u64>) -> Result<File, Error> {
    let not_buffered = |error| Error::not_read(part.path(), NotRead::not_buffered(&error, None));
    let mut copy = tempfile::tempfile().map_err(not_buffered)?;
    let work = context.work("reading", range.end - range.start);
    each_piece(part.path(), part.reader().until(range.end), range, &mut vec![0; BUFFER], |piece| {
        copy.write_all(piece).map_err(not_buffered)?;
        work.advance(piece.len() as u64)
    })?;
    copy.rewind().map_err(not_buffered)?;
    Ok(copy)
}
