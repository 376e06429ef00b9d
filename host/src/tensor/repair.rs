//! Repairs a damaged file: finds the tensors that are whole, and writes them into a new one.

use crate::context::Context;
use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::input::evidence::error_of;
use crate::input::header::{Failure, visit};
use crate::input::open::open;
use crate::input::source::{BUFFER, Data, Source, each_piece};
use crate::input::validation::index_of;
use crate::output::model::NewModel;
use embedded_safestructures::{SCHEMA, VERSION_KEY};
use embedded_safetensors::header::Event;
use embedded_safetensors::integrity::KEY;
use embedded_safetensors::write::TensorSpec;
use embedded_safetensors::{Dtype, ErrorKind};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A change, and the bytes that it is about.
#[derive(Serialize)]
pub struct Change {
    pub what: &'static str,
    pub at: u64,
    pub bytes: u64,
}

/// A tensor by its entry.
#[derive(Serialize)]
pub struct Entry {
    pub name: String,
    #[serde(serialize_with = "named")]
    pub dtype: Dtype,
    pub shape: Box<[u64]>,
    #[serde(skip)]
    begin: u64,
    pub bytes: u64,
    /// The bytes of it that the file has.
    pub present: u64,
}

fn named<S: Serializer>(dtype: &Dtype, to: S) -> Result<S::Ok, S::Error> {
    dtype.name().serialize(to)
}

/// What a header has under a name.
#[derive(Deserialize)]
#[serde(untagged)]
enum Member {
    Tensor { dtype: String, shape: Box<[u64]>, data_offsets: [u64; 2] },
    Metadata(BTreeMap<String, String>),
}

/// The tensors and the metadata of a header, also of one whose tensors do not fit together.
type Contents = (Vec<Entry>, Option<BTreeMap<String, String>>);

/// A damaged file that can be repaired.
pub struct Damaged {
    path: PathBuf,
    source: Source,
    file: File,
    data_start: u64,
    metadata: Option<BTreeMap<String, String>>,
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
        let mut changes = Vec::new();
        let is_invalid = verdict.as_invalid().is_some();
        let found = if is_invalid { contents(&mut source, &mut changes).map_err(not_read)? } else { None };
        let cannot = |verdict: Error| verdict.and("; this cannot be repaired");
        let Some((mut tensors, mut metadata)) = found else { return Err(cannot(verdict)) };
        let (mut source, file) = source.share_file().map_err(not_read)?;
        let data_start = source.header_end().map_err(|error| not_read(error.into()))?;
        let data_len = source.len().unwrap_or(0).saturating_sub(data_start);
        let fits = layout(&mut tensors, (data_start, data_len), &mut changes);
        let lost: Vec<_> = tensors.extract_if(.., |entry| entry.present < entry.bytes).collect();
        // An error in a part of the header that has no tensor.
        if !fits || changes.is_empty() || tensors.is_empty() && !lost.is_empty() {
            return Err(cannot(verdict));
        }
        let structure: &[&str] = if lost.is_empty() { &[] } else { &[SCHEMA, VERSION_KEY] };
        for (what, keys) in [("sum", &[KEY][..]), ("structure", structure)] {
            if keys.iter().filter_map(|key| metadata.as_mut()?.remove(*key)).count() > 0 {
                changes.push(Change { what, at: 0, bytes: 0 });
            }
        }
        let path = path.into();
        Ok(Some(Self { path, source, file, data_start, metadata, whole: tensors, lost, changes }))
    }

    /// Writes the tensors that are whole into a new file, and returns its length.
    ///
    /// # Errors
    /// The output cannot be written; the damaged file cannot be read, or has changed; interruption by the
    /// user.
    pub fn write(&self, context: &Context, new: &NewModel) -> Result<u64, Error> {
        let tensors = self.whole.iter().map(|entry| TensorSpec::new(&entry.name, entry.dtype, &entry.shape));
        let tensors: Vec<_> = tensors.collect();
        let pairs = self.metadata.as_ref().map(|pairs| pairs.iter().map(|(key, value)| (&**key, &**value)));
        let work = context.work("repairing", self.whole.iter().map(|entry| entry.bytes).sum());
        let mut buffer = vec![0; BUFFER];
        new.write(context, &[], pairs.map(Iterator::collect), &tensors, |index, take| {
            let (start, bytes) = (self.data_start + self.whole[index].begin, self.whole[index].bytes);
            each_piece(&self.path, &self.file, start..start + bytes, &mut buffer, |piece| {
                take(piece)?;
                work.advance(piece.len() as u64)
            })?;
            self.source.check_unchanged().map_err(|reason| Error::not_read(&self.path, reason))
        })
    }
}

/// Notes what the file has of each tensor, and what is wrong; false if two tensors overlap.
fn layout(tensors: &mut [Entry], (start, len): (u64, u64), changes: &mut Vec<Change>) -> bool {
    tensors.sort_by_key(|tensor| (tensor.begin, tensor.bytes));
    let mut add = |what, from: u64, to: u64| {
        if from < to {
            changes.push(Change { what, at: start.saturating_add(from), bytes: to - from });
        }
    };
    let mut end = 0;
    for tensor in tensors {
        if tensor.begin < end {
            return false;
        }
        add("gap", end, tensor.begin.min(len));
        end = tensor.begin + tensor.bytes;
        tensor.present = len.clamp(tensor.begin, end) - tensor.begin;
    }
    add("trailing", end, len);
    add("missing", len, end);
    true
}

/// Reads the contents of a header, and notes padding; None if something else is wrong with its text.
fn contents(source: &mut Source, changes: &mut Vec<Change>) -> Result<Option<Contents>, NotRead> {
    let mut count = 0;
    let read = visit(source, |event, _| {
        count += usize::from(matches!(event, Event::TensorEnd | Event::ValueEnd));
        ControlFlow::Continue(())
    });
    let trailing = match read {
        Ok(()) => None,
        Err(Failure::Invalid(error)) if matches!(error.kind, ErrorKind::Trailing(_)) => Some(error.at),
        Err(Failure::Invalid(_)) => return Ok(None),
        Err(Failure::NotRead(reason)) => return Err(reason),
    };
    let end = source.header_end()?;
    let at = trailing.unwrap_or(end);
    let (json, padding) = (source.read_up_to(8, at - 8)?, source.read_up_to(at, end - at)?);
    let is_padding = padding.iter().all(|byte| byte.is_ascii_control() || *byte == b' ');
    let members = serde_json::from_slice::<BTreeMap<String, Option<Member>>>(&json);
    drop(json);
    let Some(members) = members.ok().filter(|_| is_padding && padding.len() as u64 == end - at) else {
        return Ok(None);
    };
    if at < end {
        changes.push(Change { what: "padding", at, bytes: end - at });
    }
    let (mut tensors, mut metadata) = (Vec::with_capacity(members.len()), None);
    for (name, member) in members {
        match member {
            Some(Member::Tensor { dtype, shape, data_offsets: [begin, end] }) => {
                let Some(dtype) = Dtype::from_name(dtype.as_bytes()) else { return Ok(None) };
                let bytes = TensorSpec::new(&name, dtype, &shape).byte_len().ok();
                let Some(bytes) = bytes.filter(|bytes| end.checked_sub(begin) == Some(*bytes)) else {
                    return Ok(None);
                };
                tensors.push(Entry { name, dtype, shape, begin, bytes, present: 0 });
            }
            Some(Member::Metadata(pairs)) => metadata = Some(pairs),
            None => {}
        }
    }
    // Of duplicates, the map has only the last one.
    let has_all = count == tensors.len() + metadata.as_ref().map_or(0, BTreeMap::len);
    Ok(has_all.then_some((tensors, metadata)))
}
