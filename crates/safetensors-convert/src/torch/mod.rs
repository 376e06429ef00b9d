//! Files of PyTorch: what `torch.save` writes, and pickles of numpy's arrays, read without executing or
//! importing anything.
//!
//! Such a file is a pickle, a program for a machine that can call any function, and the bytes of storages.
//! [`Checkpoint`] reads the pickle as data: a closed list of names can be called, and what each makes is
//! known here. Objects of a few classes that have nothing to do with models are left out. Calls of all other
//! names are rejected by name, or skipped on request.
//!
//! Tensors are found in nested dictionaries, lists and tuples; the keys and indices on the way to a tensor
//! are its name, separated by dots. Other values are left out, and listed by
//! [`left_out`](Checkpoint::left_out). A tensor without a dictionary or list around it is named `tensor`.
//!
//! Memory: at most 64 MiB for a thousand tensors, and 400 MiB for two million of one axis; in addition what
//! other axes, and names of more than 16 bytes, take.

mod flatten;
mod legacy;
mod read;
mod rebuild;
mod spool;
mod store;
mod values;

#[cfg(test)]
mod tests;

use crate::error::{ensure, ensure_within, unsound, within};
use crate::pickle::Opcodes;
use crate::source::{InTensor, Tensor, TensorSource, at, at_mut, no_tensor};
use crate::text::quoted;
use crate::zip::{Part, open_entry, read_full};
use flatten::Flat;
use read::Bytes;
use rebuild::{View, read_pickle, width};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use store::Kind;

/// Views of storages may together have this many bytes more than the storages; in a longer file, as many as
/// the file.
const EXPANDED: u64 = 1 << 30;
/// The largest number of axes of all tensors whose view another one has, too.
const AXES: usize = 8 << 20;

/// What becomes of tensors that are the same view of the same storage, as tied parameters are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// One of them is kept, the first in the order of characters; the metadata has the name of each other
    /// one as a key, and the kept name as its value. `safetensors.torch.save_model` does the same.
    #[default]
    Note,
    /// Each is kept.
    Copy,
    /// The file is rejected.
    Reject,
}

/// How a file is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// What becomes of tied tensors.
    pub ties: Ties,
    /// Whether tensors that safetensors cannot hold are left out, and so are objects of classes that are not
    /// on the closed list. Otherwise, a file that has some is rejected.
    pub skip_unsupported: bool,
}

/// A value that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The keys and indices on the way to it, separated by dots.
    pub path: String,
    /// The name of its type in Python; `attributes` for those of a dictionary or a tensor. Of a tensor, what
    /// safetensors cannot hold.
    pub kind: Cow<'static, str>,
}

/// An open file of PyTorch, of any release since 0.4.
#[derive(Debug)]
pub struct Checkpoint {
    bytes: Bytes,
    tensors: Vec<Tensor>,
    /// The number of the view of each tensor. Dimensions were moved from the views to the tensors.
    numbers: Vec<u32>,
    views: Vec<View>,
    metadata: Vec<(String, String)>,
    copies: Vec<(u32, u32)>,
    left_out: Vec<LeftOut>,
    skipped: Vec<LeftOut>,
    count: u64,
}

impl Checkpoint {
    /// Opens a file. Of tied tensors, one is kept, with a note in the metadata.
    ///
    /// # Errors
    /// As [`TensorSource`] says.
    pub fn open(file: File) -> io::Result<Self> {
        Self::open_with(file, Options::default())
    }

    /// Opens a file.
    ///
    /// # Errors
    /// As [`TensorSource`] says.
    pub fn open_with(file: File, options: Options) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let mut start = [0; 263];
        let start_len = read_full(&mut Part::new(&file, 0, len), &mut start)?;
        let mut bytes = Bytes::new(file);
        let (flat, views) = match &start[..start_len] {
            [b'P', b'K', 3 | 5 | 6, 4 | 6, ..] => read_archive(&mut bytes, options)?,
            start if start.get(257..262) == Some(b"ustar") => {
                let tar = "a tar archive: releases before 0.1.10 wrote such files, which are not supported";
                return Err(unsound(tar));
            }
            _ => read_legacy(&mut bytes, len, options)?,
        };
        Self::new(bytes, flat, views, options.ties, len)
    }

    fn new(bytes: Bytes, flat: Flat, mut views: Vec<View>, ties: Ties, len: u64) -> io::Result<Self> {
        let Flat { tensors: mut named, left_out, skipped, count, .. } = flat;
        check_names(&named)?;
        let (mut copies, mut metadata) = (flatten::tied(&named, &views, ties)?, Vec::new());
        if ties == Ties::Note {
            let name = |index: u32| at(&named, index).map_or_else(String::new, |(name, _)| name.to_string());
            metadata = copies.iter().map(|(dropped, kept)| (name(*dropped), name(*kept))).collect();
            let (mut index, mut dropped) = (0.., copies.drain(..).map(|(dropped, _)| dropped).peekable());
            named.retain(|_| index.next().and_then(|index| dropped.next_if_eq(&index)).is_none());
        }
        check_expansion(&named, &views, &bytes, len)?;
        let mut uses = vec![0_u8; views.len()];
        let (mut tensors, mut numbers) = (Vec::with_capacity(named.len()), Vec::with_capacity(named.len()));
        for (_, number) in &named {
            numbers.push(*number);
            at_mut(&mut uses, *number).into_iter().for_each(|uses| *uses = uses.saturating_add(1));
        }
        let mut axes = 0;
        named.reverse();
        while let Some((name, number)) = named.pop() {
            let view = at_mut(&mut views, number);
            let view = view.ok_or_else(|| unsound(format!("tensor {} has no view", quoted(&name))))?;
            // Several tensors may have one view if they are copied, or have no elements.
            let is_shared = at(&uses, number).is_none_or(|uses| *uses > 1);
            let dims = if is_shared { view.dims().to_vec() } else { view.take_dims() };
            axes += if is_shared { dims.len() } else { 0 };
            ensure_within(axes <= AXES, || format!("tensors of the same views have more than {AXES} axes"))?;
            tensors.push(Tensor { name: name.into(), dtype: view.dtype, dims });
            if named.len().is_multiple_of(1 << 16) {
                named.shrink_to_fit();
            }
        }
        Ok(Self { bytes, tensors, numbers, views, metadata, copies, left_out, skipped, count })
    }

    /// Returns the tensors that are kept although they are tied: the index of each, and that of the one with
    /// which it shares its elements. None unless the file was opened with [`Ties::Copy`].
    pub fn copies(&self) -> &[(u32, u32)] {
        &self.copies
    }

    /// Returns the values that are not tensors, in the order of the file: the first 131072 of them, or
    /// fewer if their paths are long.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Returns the tensors that are left out because safetensors cannot hold them, and objects of unknown
    /// classes. None unless [`Options::skip_unsupported`] is set.
    pub fn skipped(&self) -> &[LeftOut] {
        &self.skipped
    }

    /// Returns the number of all values that are not tensors.
    pub fn left_out_count(&self) -> u64 {
        self.count
    }
}

impl TensorSource for Checkpoint {
    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    fn read(&self, index: usize) -> io::Result<Box<dyn Read + Send + '_>> {
        let (tensor, number) = self.tensors.get(index).zip(self.numbers.get(index)).ok_or_else(no_tensor)?;
        let (view, name) = (at(&self.views, *number).ok_or_else(no_tensor)?, &tensor.name);
        let source = self.bytes.open(view, &tensor.dims);
        let source = source.map_err(|error| within(&format!("tensor {}", quoted(name)), error))?;
        Ok(Box::new(InTensor { source, name }))
    }
}

fn read_archive(bytes: &mut Bytes, options: Options) -> io::Result<(Flat, Vec<View>)> {
    let entry = store::read_list(bytes)?;
    let open = || Opcodes::new(open_entry(&bytes.file, &entry));
    let parsed = read_pickle(open, true, &mut bytes.store, options);
    let (flat, views, _) =
        parsed.map_err(|error| within(&format!("entry {}", quoted(&entry.name)), error))?;
    bytes.pickle = Some(entry);
    Ok((flat, views))
}

/// Reads a file of the format before 1.6, or a pickle that has arrays of numpy.
fn read_legacy(bytes: &mut Bytes, len: u64, options: Options) -> io::Result<(Flat, Vec<View>)> {
    let Bytes { file, store, .. } = bytes;
    let object_at = legacy::object_at(file, len)?;
    let at = object_at.unwrap_or_default();
    store.follow = object_at.is_some();
    let open = || Opcodes::starting_at(Part::new(file, at, len - at), at);
    let parsed = read_pickle(open, object_at.is_none(), store, options);
    let neither = "it is neither an archive nor of the format before 1.6, and as a pickle of arrays";
    let of_pickle = |error| if object_at.is_none() { within(neither, error) } else { error };
    let (flat, views, end) = parsed.map_err(of_pickle)?;
    if object_at.is_some() {
        legacy::place_storages(file, len, end, store)?;
    }
    Ok((flat, views))
}

/// Checks that names are unique, and that safetensors can have them.
fn check_names(named: &[(Box<str>, u32)]) -> io::Result<()> {
    let mut names: Vec<&str> = named.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair.first() == pair.last()) {
        let name = quoted(pair.first().unwrap_or(&""));
        return Err(unsound(format!("two tensors have the name {name} when their keys are joined by dots")));
    }
    let is_reserved = names.contains(&"__metadata__");
    ensure(!is_reserved, || "a tensor has the name \"__metadata__\", which safetensors reserves")
}

/// Checks that views do not make a huge model of a small file.
fn check_expansion(named: &[(Box<str>, u32)], views: &[View], bytes: &Bytes, len: u64) -> io::Result<()> {
    let (mut total, mut stored, mut in_pickle) = (0_u64, 0_u64, 0);
    let mut is_counted = vec![false; bytes.store.len()];
    for view in named.iter().filter_map(|(_, number)| at(views, *number)) {
        let elements = view.dims().iter().fold(1_u64, |elements, dim| elements.saturating_mul(*dim));
        total = total.saturating_add(elements.saturating_mul(width(view.dtype)));
        let storage = bytes.store.get(view.storage)?;
        let is_new = at_mut(&mut is_counted, view.storage).is_some_and(|is| !std::mem::replace(is, true));
        // Arrays in the pickle may share their bytes.
        if is_new && matches!(storage.kind, Kind::Pickled | Kind::Latin | Kind::Kept) {
            in_pickle = bytes.pickle.as_ref().map_or(len, |pickle| pickle.contents.unpacked);
        } else if is_new {
            stored = stored.saturating_add(storage.len);
        }
    }
    let stored = stored.saturating_add(in_pickle);
    let most = stored.saturating_add(EXPANDED.max(len));
    ensure_within(total <= most, || {
        format!("the tensors have {total} bytes, but are views of {stored} bytes; at most {most} are allowed")
    })
}
