//! A model as it is to become: names, metadata and tensors of files, to be changed before anything is written.

use crate::disk::{Disk, Handle};
use crate::error::{EditError, EditErrorKind};
use crate::opened::Opened;
use crate::system::System;
use crate::{padding, undo};
use core::fmt;
use embedded_safetensors::Dtype;
#[cfg(doc)]
use embedded_safetensors::file::FileErrorKind;
use embedded_safetensors::file::shared::{PADDING, Version, refusal};
use embedded_safetensors::index::{IndexedTensor, OwnedIndex};
use embedded_safetensors::write::{Placement, TensorSpec};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

/// A model as it is to become. It is opened, changed, and [saved](Self::save) where it was or elsewhere; nothing is written before that,
/// and of the data only what may be [padding](Self::padding) is read.
///
/// ```
/// use safetensors_files::{ModelEditor, SaveMethod};
/// # use embedded_safetensors::{Dtype, write::{FileSpec, TensorSpec}};
/// # use safetensors_files::write_file;
/// # let folder = std::env::temp_dir().join(format!("editor-{}", std::process::id()));
/// # std::fs::create_dir(&folder)?;
/// # let (path, adapter, encoder) = (folder.join("m"), folder.join("a"), folder.join("e"));
/// # let tensors = [TensorSpec::new("encoder.weight", Dtype::U8, &[2]), TensorSpec::new("old", Dtype::U8, &[2])];
/// # let spec = FileSpec::new(&tensors).with_metadata(&[("note", "long enough to leave some room")]);
/// # write_file(&path, spec, |file| { file.write_tensor("old", b"ab")?; file.write_tensor("encoder.weight", b"cd") })?;
/// # let tensors = [TensorSpec::new("adapter", Dtype::U8, &[2])];
/// # write_file(&adapter, FileSpec::new(&tensors), |file| file.write_tensor("adapter", b"ab"))?;
///
/// let mut model = ModelEditor::open(&path)?;
/// model.rename("old", "new")?;
/// model.set_metadata("note", "edited");
/// assert_eq!(model.save(&path)?, SaveMethod::InPlace); // only the header was written
///
/// let mut model = ModelEditor::open(&path)?;
/// model.append(ModelEditor::open(&adapter)?)?; // two models in one
/// model.retain(|name| name != "new");
/// assert_eq!(model.save(&encoder)?, SaveMethod::Copied);
/// # assert_eq!(ModelEditor::open(&encoder)?.tensors().map(|tensor| tensor.name()).collect::<Vec<_>>(), ["adapter", "encoder.weight"]);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// What is written has what the format knows of: names, dtypes, shapes, data, and `__metadata__`. Fields of other programs in the
/// entries of tensors, which readers skip, are not kept.
///
/// The [padding](Self::padding) of a [padded](Placement::Padded) file is kept apart: [`tensors`](Self::tensors) does not list it. It stays where it is
/// when the header is written in place, and copies leave it out; [`set_placement`](Self::set_placement) pads a copy anew. [`rename`](Self::rename)
/// and [`select`](Self::select) keep padding that they are given by name, as a tensor like any other.
///
/// *Memory*: the header's names, shapes and metadata, and while it is opened or saved the header, twice; one open file for each
/// that went into it.
pub struct ModelEditor {
    pub(crate) sources: Vec<Source>,
    pub(crate) tensors: BTreeMap<String, Held>,
    pub(crate) padding: BTreeMap<String, Held>,
    pub(crate) metadata: Option<BTreeMap<String, String>>,
    pub(crate) placement: Option<Placement>,
    pub(crate) room: Option<u32>,
}

/// A tensor of a file.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) dtype: Dtype,
    pub(crate) dims: Vec<u64>,
    /// Which of the editor's files it is in.
    pub(crate) source: usize,
    /// Counted from the start of the data.
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

/// A file that tensors come from.
pub(crate) struct Source {
    /// As it was given.
    pub(crate) path: PathBuf,
    /// Where it is.
    pub(crate) place: PathBuf,
    pub(crate) file: Box<dyn Handle>,
    pub(crate) version: Version,
    pub(crate) fingerprint: u64,
    pub(crate) data_start: u64,
    /// How many tensors it has.
    pub(crate) tensors: usize,
}

impl ModelEditor {
    /// Opens a file and validates its header. Of the data, only what may be [padding](Self::padding) is read. Other programs may [save it in place](Self::save) meanwhile: the header
    /// is that from before or after. Nothing is written, unless the header stays half written for half a second: then an edit of it was
    /// interrupted, and is undone first, as by [`recover`](Self::recover).
    ///
    /// # Errors
    /// [`FileErrorKind::Format`] for a file that is unsound, [`FileErrorKind::Twice`] for one that has a name or a key of `__metadata__` twice;
    /// [`FileErrorKind::NotAFile`]; [`FileErrorKind::Interrupted`] when its header does not stay the same for a moment; those of the system.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, EditError> {
        Self::open_on(&System, path.as_ref())
    }

    /// As [`open`](Self::open).
    pub(crate) fn open_on(disk: &dyn Disk, path: &Path) -> Result<Self, EditError> {
        Self::begin(disk, path).map_err(|fault| fault.of(path))
    }

    fn begin(disk: &dyn Disk, path: &Path) -> Result<Self, EditErrorKind> {
        let place = disk.resolve(path).map_err(|error| EditErrorKind::system("open", error))?;
        let Opened { file, version, header } = Opened::at(disk, &place)?;
        let index = OwnedIndex::of(&header, version.len).map_err(|error| refusal(error, &header))?;
        let mut tensors: BTreeMap<String, Held> =
            index.tensors().map(|tensor| (tensor.name().into(), Held::of(&tensor))).collect();
        let names = padding::names(&index, &mut &*file)?;
        let padding = names.iter().filter_map(|name| tensors.remove_entry(name)).collect();
        let (fingerprint, data_start) = (fingerprint(&header), header.len() as u64);
        let (path, tensors_there) = (path.to_path_buf(), index.len());
        let source = Source { path, place, file, version, fingerprint, data_start, tensors: tensors_there };
        let metadata = index.metadata().cloned();
        Ok(Self { sources: vec![source], tensors, padding, metadata, placement: None, room: None })
    }

    /// Puts the header of a file back if an edit in place was interrupted, by a power cut or because the program was killed, and removes
    /// the undo file; whether there was anything to put back. [`open`](Self::open) does so by itself where it must; this is for programs that
    /// read models with something else, and is cheap where there is nothing to do. Not while another program saves the file in place: its edit
    /// would be taken for an interrupted one. Threads of one program wait for each other.
    ///
    /// # Errors
    /// [`EditErrorKind::ForeignUndo`] when there is something to put back, but the file is another one now; those of the system.
    pub fn recover(path: impl AsRef<Path>) -> Result<bool, EditError> {
        Self::recover_on(&System, path.as_ref())
    }

    /// As [`recover`](Self::recover).
    pub(crate) fn recover_on(disk: &dyn Disk, path: &Path) -> Result<bool, EditError> {
        let place = disk.resolve(path).map_err(|error| EditErrorKind::system("open", error).of(path))?;
        let _guard = undo::lock();
        undo::recover(disk, &place).map_err(|fault| fault.of(path))
    }

    /// The tensors, by the bytes of their names.
    pub fn tensors(&self) -> impl Iterator<Item = TensorSpec<'_>> {
        self.tensors.iter().map(|(name, held)| held.spec(name))
    }

    /// The tensor of this name.
    pub fn tensor(&self, name: &str) -> Option<TensorSpec<'_>> {
        self.tensors.get_key_value(name).map(|(name, held)| held.spec(name))
    }

    /// Returns the padding of the file: what [`Placement::Padded`] put between tensors. It is recognized by its name (`__padding__.0` and so on), its dtype U8,
    /// its single dimension, its place before a tensor that begins at a multiple of a larger power of two, and because every byte of it is zero. A tensor
    /// that differs in any of these is not padding, whatever its name. Copies leave padding out.
    ///
    /// *Memory*: it is part of the editor.
    pub fn padding(&self) -> impl Iterator<Item = TensorSpec<'_>> {
        self.padding.iter().map(|(name, held)| held.spec(name))
    }

    /// The keys and values of `__metadata__`, by the bytes of the keys.
    pub fn metadata(&self) -> impl Iterator<Item = (&str, &str)> {
        self.metadata.iter().flatten().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Gives a tensor another name.
    ///
    /// # Errors
    /// [`EditErrorKind::NoSuchTensor`]; [`EditErrorKind::NameTaken`] when another tensor has the new name; [`EditErrorKind::ReservedName`] when it is
    /// `__metadata__` or that of padding. Nothing is changed then.
    pub fn rename(&mut self, old: &str, new: impl Into<String>) -> Result<(), EditError> {
        let new = new.into();
        match self.find(&new) {
            _ if self.find(old).is_none() => return Err(self.no_such_tensor(old)),
            Some(_) if new != old => return Err(self.name_taken(new)),
            _ => self.check_name(old, &new)?,
        }
        if let Some(held) = self.tensors.remove(old).or_else(|| self.padding.remove(old)) {
            self.tensors.insert(new, held);
        }
        Ok(())
    }

    /// Gives every tensor the name that `new` makes of the one that it has, such as one with a prefix.
    ///
    /// # Errors
    /// [`EditErrorKind::NameTaken`] when two would have one name; [`EditErrorKind::ReservedName`]. Nothing is changed then.
    ///
    /// # Panics
    /// Never, unless `new` does.
    pub fn rename_all(&mut self, mut new: impl FnMut(&str) -> String) -> Result<(), EditError> {
        let mut renamed = BTreeMap::new();
        for (old, held) in &self.tensors {
            let name = new(old);
            self.check_name(old, &name)?;
            match renamed.entry(name) {
                Entry::Occupied(taken) => return Err(self.name_taken(taken.key().clone())),
                Entry::Vacant(free) => drop(free.insert(held.clone())),
            }
        }
        self.tensors = renamed;
        Ok(())
    }

    /// Leaves a tensor out.
    ///
    /// # Errors
    /// [`EditErrorKind::NoSuchTensor`].
    pub fn remove(&mut self, name: &str) -> Result<(), EditError> {
        let removed = self.tensors.remove(name).or_else(|| self.padding.remove(name));
        removed.map(drop).ok_or_else(|| self.no_such_tensor(name))
    }

    /// Leaves out all tensors but those that `keep` says yes to.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.tensors.retain(|name, _| keep(name));
    }

    /// Leaves out all tensors but these.
    ///
    /// # Errors
    /// [`EditErrorKind::NoSuchTensor`] for the first one that is not there. Nothing is changed then.
    pub fn select<N: AsRef<str>>(&mut self, names: impl IntoIterator<Item = N>) -> Result<(), EditError> {
        let mut selected = BTreeMap::new();
        for name in names {
            let (name, held) = self.find(name.as_ref()).ok_or_else(|| self.no_such_tensor(name.as_ref()))?;
            selected.insert(name.clone(), held.clone());
        }
        self.padding.retain(|name, _| !selected.contains_key(name));
        self.tensors = selected;
        Ok(())
    }

    /// Takes in the tensors and the metadata of another model.
    ///
    /// # Errors
    /// [`EditErrorKind::NameTaken`] when both have a tensor of one name; [`EditErrorKind::KeyTaken`] when both have a key of `__metadata__`, and not
    /// with the same value. The error names both files, and nothing is changed.
    pub fn append(&mut self, other: Self) -> Result<(), EditError> {
        self.check_clashes(&other)?;
        let before = self.sources.len();
        self.sources.extend(other.sources);
        let moved = other.tensors.into_iter().map(|(name, held)| {
            let source = held.source + before;
            (name, Held { source, ..held })
        });
        self.tensors.extend(moved);
        if let Some(pairs) = other.metadata {
            self.metadata.get_or_insert_default().extend(pairs);
        }
        Ok(())
    }

    fn check_clashes(&self, other: &Self) -> Result<(), EditError> {
        let twice =
            other.tensors.iter().find_map(|(name, held)| Some((held, self.tensors.get_key_value(name)?)));
        if let Some((held, (name, own))) = twice {
            let fault = EditErrorKind::NameTaken { name: name.clone(), other: self.path_of(own).into() };
            return Err(fault.of(other.path_of(held)));
        }
        let (mut keys, own) = (other.metadata.iter().flatten(), self.metadata.as_ref());
        let differs = |(key, value): &(&String, &String)| {
            own.and_then(|own| own.get(*key)).is_some_and(|own| own != *value)
        };
        match keys.find(differs) {
            Some((key, _)) => {
                let fault = EditErrorKind::KeyTaken { key: key.clone(), other: self.path().into() };
                Err(fault.of(other.path()))
            }
            None => Ok(()),
        }
    }

    /// Sets the value of a key of `__metadata__`.
    pub fn set_metadata(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.metadata.get_or_insert_default().insert(key.into(), value.into());
    }

    /// Leaves a key of `__metadata__` out, and with the last one all of it; the value that it had.
    pub fn remove_metadata(&mut self, key: &str) -> Option<String> {
        let value = self.metadata.as_mut()?.remove(key);
        self.metadata.take_if(|pairs| value.is_some() && pairs.is_empty());
        value
    }

    /// Leaves `__metadata__` out.
    pub fn clear_metadata(&mut self) {
        self.metadata = None;
    }

    /// Has the tensors begin where this says in the file that is saved, which is a copy then. A file does not say how its tensors were
    /// placed, so a copy of which this is not said is placed as the reference does.
    pub fn set_placement(&mut self, placement: Placement) {
        self.placement = Some(placement);
    }

    /// Has the header of the file that is saved, which is a copy then, end with at least so many spaces. Later edits in place can
    /// fill them.
    pub fn set_header_room(&mut self, bytes: u32) {
        self.room = Some(bytes);
    }

    /// A tensor, or padding, by its name.
    fn find(&self, name: &str) -> Option<(&String, &Held)> {
        self.tensors.get_key_value(name).or_else(|| self.padding.get_key_value(name))
    }

    /// The file that was opened.
    pub(crate) fn path(&self) -> &Path {
        self.sources.first().map_or(Path::new(""), |source| &source.path)
    }

    fn path_of(&self, held: &Held) -> &Path {
        self.sources.get(held.source).map_or(Path::new(""), |source| &source.path)
    }

    fn no_such_tensor(&self, name: &str) -> EditError {
        EditErrorKind::NoSuchTensor { name: name.into() }.of(self.path())
    }

    fn name_taken(&self, name: String) -> EditError {
        EditErrorKind::NameTaken { name, other: self.path().into() }.of(self.path())
    }

    /// What is called as padding would be may be taken for it later.
    fn check_name(&self, old: &str, new: &str) -> Result<(), EditError> {
        match new == "__metadata__" || (new.starts_with(PADDING) && new != old) {
            true => Err(EditErrorKind::ReservedName { name: new.into() }.of(self.path())),
            false => Ok(()),
        }
    }
}

/// By which it is known that a header has not been changed.
pub(crate) fn fingerprint(header: &[u8]) -> u64 {
    let mut hash = DefaultHasher::new();
    hash.write(header);
    hash.finish()
}

impl Held {
    fn of(tensor: &IndexedTensor<'_>) -> Self {
        let (dtype, dims) = (tensor.dtype(), tensor.dims().into());
        Self { dtype, dims, source: 0, begin: tensor.begin(), end: tensor.end() }
    }

    pub(crate) fn spec<'a>(&'a self, name: &'a str) -> TensorSpec<'a> {
        TensorSpec::new(name, self.dtype, &self.dims)
    }
}

impl fmt::Debug for ModelEditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.tensors.keys();
        f.debug_struct("ModelEditor")
            .field("path", &self.path())
            .field("tensors", &names)
            .finish_non_exhaustive()
    }
}
