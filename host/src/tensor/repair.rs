//! Repairs a damaged file: finds the tensors that are whole, and writes them into a new one.

use crate::context::Context;
use crate::error::Error;
use crate::input::evidence::error_of;
use crate::input::header::{Failure, visit};
use crate::input::open::open;
use crate::input::source::{BUFFER, Data, Source, each_piece};
use crate::input::validation::index_of;
use crate::output::file::Product;
use crate::output::writer::{planned, put_header};
use embedded_safetensors::header::{Event, Text};
use embedded_safetensors::integrity::KEY;
use embedded_safetensors::write::{FileSpec, TensorSpec};
use embedded_safetensors::{Dtype, ErrorKind};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::mem::take;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A change, and the bytes that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    pub what: What,
    pub at: u64,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// Control characters after the JSON of the header become spaces.
    Padding,
    /// Bytes between tensors are left out.
    Gap,
    /// Bytes after the last tensor are left out.
    Trailing,
    /// The file ends too early.
    Missing,
    /// The sum that the file has of itself is left out.
    Sum,
}

/// A tensor by its entry.
#[derive(Debug)]
pub struct Entry {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<u64>,
    begin: u64,
    end: u64,
    /// The bytes of it that the file has.
    pub present: u64,
}

impl Entry {
    pub fn bytes(&self) -> u64 {
        self.end - self.begin
    }

    fn is_whole(&self) -> bool {
        self.present == self.bytes()
    }
}

/// The contents of a header, also of one whose tensors do not fit together.
#[derive(Default)]
struct Header {
    tensors: Vec<Entry>,
    metadata: Option<BTreeMap<String, String>>,
    has_duplicates: bool,
    /// What has been read of a name or a key, of its value, and of its entry.
    name: String,
    value: String,
    dtype: Option<Dtype>,
    shape: Vec<u64>,
    begin: u64,
    end: u64,
}

/// A damaged file that can be repaired.
pub struct Damaged {
    path: PathBuf,
    source: Source,
    file: File,
    data_start: u64,
    metadata: Option<BTreeMap<String, String>>,
    /// In the order of their offsets.
    pub whole: Vec<Entry>,
    pub lost: Vec<Entry>,
    pub changes: Vec<Change>,
}

impl Damaged {
    /// Finds out what is wrong with a file; None if it is valid.
    ///
    /// # Errors
    /// The file is invalid and cannot be repaired, with the error of `check`; it cannot be read.
    pub fn of(context: &Context, path: &Path) -> Result<Option<Self>, Error> {
        let not_read = |reason| Error::not_read(path, reason);
        let mut source = open(context, path).map_err(not_read)?;
        let Err(failure) = index_of(&mut source, Data::Count) else { return Ok(None) };
        let verdict = error_of(path, &mut source, failure);
        if !source.is_file() && source.len() != Some(0) {
            return Err(verdict.and("; only files on this computer can be repaired: save it first"));
        }
        let cannot = |verdict: Error| verdict.and("; this cannot be repaired");
        let (Header { mut tensors, mut metadata, .. }, mut changes) =
            match verdict.as_invalid().map(|_| Header::read(&mut source)) {
                Some(Ok((header, changes))) if !header.has_duplicates => (header, changes),
                Some(Err(Failure::NotRead(reason))) => return Err(not_read(reason)),
                _ => return Err(cannot(verdict)),
            };
        let (mut source, file) = source.share_file().map_err(not_read)?;
        let data_start = source.header_end().map_err(|error| not_read(error.into()))?;
        let data_len = source.len().unwrap_or(0).saturating_sub(data_start);
        tensors.sort_by_key(|tensor| (tensor.begin, tensor.end));
        let Some(moved) = layout(&mut tensors, data_start, data_len) else { return Err(cannot(verdict)) };
        changes.extend(moved);
        let (whole, lost): (Vec<_>, Vec<_>) = tensors.into_iter().partition(Entry::is_whole);
        // An error in a part of the header that has no tensor.
        if changes.is_empty() || whole.is_empty() && !lost.is_empty() {
            return Err(cannot(verdict));
        }
        if metadata.as_mut().and_then(|pairs| pairs.remove(KEY)).is_some() {
            changes.push(Change { what: What::Sum, at: 0, bytes: 0 });
        }
        Ok(Some(Self { path: path.into(), source, file, data_start, metadata, whole, lost, changes }))
    }

    /// Writes the tensors that are whole into a new file, in the same order. Returns its length.
    ///
    /// # Errors
    /// The output cannot be written; the damaged file cannot be read, or has changed; interruption by the
    /// user.
    pub fn write(&self, context: &Context, (output, force): (&Path, bool)) -> Result<u64, Error> {
        let tensors = self.whole.iter().map(|entry| TensorSpec::new(&entry.name, entry.dtype, &entry.shape));
        let tensors: Vec<_> = tensors.collect();
        let pairs = self.metadata.iter().flatten().map(|(key, value)| (&**key, &**value));
        let pairs: Vec<_> = pairs.collect();
        let spec = FileSpec::new(&tensors).with_header_room(self.room());
        let spec = if self.metadata.is_some() { spec.with_metadata(&pairs) } else { spec };
        let mut product = Product::create(context, output, force)?;
        let len = planned(spec, false, output, |plan| {
            put_header(plan, &mut product)?;
            Ok(plan.file_len())
        })?;
        let work = context.work("repairing", self.whole.iter().map(Entry::bytes).sum());
        let mut buffer = vec![0; BUFFER];
        for entry in &self.whole {
            let range = self.data_start + entry.begin..self.data_start + entry.end;
            each_piece(&self.path, &self.file, range, &mut buffer, |piece| {
                product.put(piece)?;
                work.advance(piece.len() as u64)
            })?;
        }
        self.source.check_unchanged().map_err(|reason| Error::not_read(&self.path, reason))?;
        context.check()?;
        product.finish()?;
        Ok(len)
    }

    /// As many spaces as there is padding.
    fn room(&self) -> u32 {
        let padding = self.changes.iter().find(|change| change.what == What::Padding);
        padding.map_or(0, |padding| u32::try_from(padding.bytes).unwrap_or(0))
    }
}

/// Notes what the file has of each tensor, and returns the changes; None if two tensors overlap.
fn layout(tensors: &mut [Entry], data_start: u64, data_len: u64) -> Option<Vec<Change>> {
    let (mut changes, mut end) = (Vec::new(), 0);
    let mut add = |what, from: u64, to: u64| {
        if from < to {
            changes.push(Change { what, at: data_start.saturating_add(from), bytes: to - from });
        }
    };
    for tensor in tensors {
        if tensor.begin < end {
            return None;
        }
        add(What::Gap, end, tensor.begin);
        end = tensor.end;
        tensor.present = data_len.clamp(tensor.begin, end) - tensor.begin;
    }
    add(What::Trailing, end, data_len);
    add(What::Missing, data_len, end);
    Some(changes)
}

impl Header {
    /// Reads the contents, and notes padding.
    fn read(source: &mut Source) -> Result<(Self, Vec<Change>), Failure> {
        let mut header = Self::default();
        let read = visit(source, |event, _| {
            header.see(event);
            ControlFlow::Continue(())
        });
        let mut names = HashSet::new();
        header.has_duplicates |= !header.tensors.iter().all(|tensor| names.insert(&tensor.name));
        let Err(failure) = read else { return Ok((header, Vec::new())) };
        let Failure::Invalid(error @ embedded_safetensors::Error { kind: ErrorKind::Trailing(_), at, .. }) =
            failure
        else {
            return Err(failure);
        };
        let end = source.header_end()?;
        let padding = source.read_up_to(at, end - at)?;
        if padding.len() as u64 != end - at
            || !padding.iter().all(|byte| byte.is_ascii_control() || *byte == b' ')
        {
            return Err(Failure::Invalid(error));
        }
        Ok((header, vec![Change { what: What::Padding, at, bytes: end - at }]))
    }

    fn see(&mut self, event: &Event<'_>) {
        let text = |piece: Text<'_>| String::from_utf8_lossy(piece.as_bytes()).into_owned();
        match *event {
            Event::Name(piece) | Event::Key(piece) => self.name += &text(piece),
            Event::Value(piece) => self.value += &text(piece),
            Event::Metadata => {
                self.name.clear();
                self.metadata = Some(BTreeMap::new());
            }
            Event::MetadataNull => self.metadata = None,
            Event::ValueEnd => {
                let pairs = self.metadata.get_or_insert_default();
                self.has_duplicates |= pairs.insert(take(&mut self.name), take(&mut self.value)).is_some();
            }
            Event::Dtype(dtype) => self.dtype = Some(dtype),
            Event::Dim(dim) => self.shape.push(dim),
            Event::Begin(begin) => self.begin = begin,
            Event::End(end) => self.end = end,
            Event::TensorEnd => {
                let Self { begin, end, .. } = *self;
                let (name, shape) = (take(&mut self.name), take(&mut self.shape));
                let entry = |dtype| Entry { name, dtype, shape, begin, end, present: 0 };
                self.tensors.extend(self.dtype.take().map(entry));
            }
            _ => {}
        }
    }
}
