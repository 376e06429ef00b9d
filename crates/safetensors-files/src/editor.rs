//! Edits a model: the names, metadata and tensors of files can be changed before anything is written.

use crate::change::{Change, NewBytes};
use crate::disk::{Disk, Handle};
use crate::error::{At, Doing, EditError, EditErrorKind};
use crate::opened::Opened;
use crate::padding::padding_in;
use crate::system::System;
use crate::undo;
use core::fmt;
use embedded_safetensors::Dtype;
#[cfg(doc)]
use embedded_safetensors::file::FileErrorKind;
use embedded_safetensors::file::shared::{PADDING, Version, refusal};
use embedded_safetensors::index::{IndexedTensor, OwnedIndex};
use embedded_safetensors::integrity::{KEY, ZEROS};
use embedded_safetensors::slice::{AxisRange, SlicePlan};
use embedded_safetensors::write::{Placement, TensorSpec};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An editor of a model. It opens a file, changes the model, and [saves](Self::save) it to the same path or
/// another. Before that nothing is written, and of the data only possible [padding](Self::padding) is read.
///
/// A saved file has the members that the format defines: names, dtypes, shapes, data, and `__metadata__`.
/// Additional fields in the entries of tensors, which readers skip, are not kept.
///
/// The [padding](Self::padding) of a [padded](Placement::Padded) file is separate: [`tensors`](Self::tensors)
/// does not list it. It stays in place when only the header is written, and copies omit it;
/// [`set_placement`](Self::set_placement) pads a copy again. [`rename`](Self::rename) and
/// [`select`](Self::select) turn padding that they are given by name into an ordinary tensor.
///
/// *Memory*: the header's names, shapes and metadata, and while it is opened or saved the header, twice; one
/// open file for each source file; the readers of [new bytes](NewBytes).
pub struct ModelEditor<'n> {
    pub(crate) sources: Vec<Source>,
    pub(crate) tensors: BTreeMap<String, StoredTensor<'n>>,
    pub(crate) padding: BTreeMap<String, StoredTensor<'n>>,
    pub(crate) metadata: Option<BTreeMap<String, String>>,
    pub(crate) placement: Option<Placement>,
    pub(crate) header_room: Option<u32>,
    pub(crate) has_sum: bool,
    pub(crate) in_place: bool,
    is_restored: bool,
}

/// A tensor of a source file.
#[derive(Clone)]
pub(crate) struct StoredTensor<'n> {
    pub(crate) dtype: Dtype,
    pub(crate) dims: Vec<u64>,
    /// The index of its file in the editor's sources.
    pub(crate) source: usize,
    /// Counted from the start of the data.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Its new bytes, in the order of the calls.
    pub(crate) changes: Vec<Arc<Change<'n>>>,
}

/// A file that contains tensors of the model.
pub(crate) struct Source {
    /// The path as given.
    pub(crate) path: PathBuf,
    /// The resolved path.
    pub(crate) resolved: PathBuf,
    pub(crate) file: Box<dyn Handle>,
    pub(crate) version: Version,
    pub(crate) fingerprint: u64,
    pub(crate) data_start: u64,
    /// The number of its tensors.
    pub(crate) tensors: usize,
}

impl<'n> ModelEditor<'n> {
    /// Opens a file and validates its header. Of the data, only possible [padding](Self::padding) is read.
    /// Other programs may [save the file in place](Self::save) meanwhile: the header read is completely the
    /// old or the new one. Nothing is written, unless the header stays half written for half a second and no
    /// program holds its lock. Then the edit was interrupted, and is undone first.
    ///
    /// # Errors
    /// [`FileErrorKind::Format`] for an invalid file; [`FileErrorKind::Duplicate`] for a duplicate name
    /// or key of `__metadata__`; [`FileErrorKind::NotAFile`]; [`FileErrorKind::Interrupted`] when it is
    /// edited for two seconds; those of the system.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, EditError> {
        Self::open_on(&System, path.as_ref())
    }

    /// Opens as [`open`](Self::open) does.
    pub(crate) fn open_on(disk: &dyn Disk, path: &Path) -> Result<Self, EditError> {
        Self::begin(disk, path).at(path)
    }

    pub(crate) fn begin(disk: &dyn Disk, path: &Path) -> Result<Self, EditErrorKind> {
        let resolved = disk.resolve(path).doing("open")?;
        let Opened { file, version, header, is_restored } = Opened::at(disk, &resolved)?;
        let index = OwnedIndex::of(&header, version.len).map_err(|error| refusal(error, &header))?;
        let mut tensors: BTreeMap<String, StoredTensor<'_>> =
            index.tensors().map(|tensor| (tensor.name().into(), StoredTensor::of(&tensor))).collect();
        let names = padding_in(&index, &*file)?;
        let padding = names.iter().filter_map(|name| tensors.remove_entry(name)).collect();
        let (fingerprint, data_start) = (fingerprint(&header), header.len() as u64);
        let (path, tensor_count) = (path.to_path_buf(), index.len());
        let source = Source { path, resolved, file, version, fingerprint, data_start, tensors: tensor_count };
        let metadata = index.metadata().cloned();
        Ok(Self {
            sources: vec![source],
            tensors,
            padding,
            metadata,
            placement: None,
            header_room: None,
            has_sum: false,
            in_place: false,
            is_restored,
        })
    }

    /// Whether [`open`](Self::open) has undone an interrupted edit.
    pub fn is_restored(&self) -> bool {
        self.is_restored
    }

    /// Restores the old bytes of a file if an edit in place was interrupted, by a power cut or because the
    /// program was killed, and removes the undo file. Returns whether they were restored.
    ///
    /// [`open`](Self::open) does this itself if needed. This function is for programs that read models in
    /// another way, and is cheap if there is nothing to do. Threads of one program wait for each other. If
    /// the file system has no locks, do not call it while another program saves the file: it undoes the edit.
    ///
    /// # Errors
    /// [`EditErrorKind::ForeignUndo`] when there is an undo file, but it does not belong to the current file;
    /// [`FileErrorKind::Interrupted`] when another program is saving it in place; those of the system.
    pub fn recover(path: impl AsRef<Path>) -> Result<bool, EditError> {
        Self::recover_on(&System, path.as_ref())
    }

    /// Recovers as [`recover`](Self::recover) does.
    pub(crate) fn recover_on(disk: &dyn Disk, path: &Path) -> Result<bool, EditError> {
        let resolved = disk.resolve(path).doing("open").at(path)?;
        let _guard = undo::lock();
        undo::recover(disk, &resolved).at(path)
    }

    /// Returns the tensors, sorted by the bytes of their names.
    pub fn tensors(&self) -> impl Iterator<Item = TensorSpec<'_>> {
        self.tensors.iter().map(|(name, stored)| stored.spec(name))
    }

    /// Returns the tensor of this name.
    pub fn tensor(&self, name: &str) -> Option<TensorSpec<'_>> {
        self.tensors.get_key_value(name).map(|(name, stored)| stored.spec(name))
    }

    /// Returns the padding of the file, which [`Placement::Padded`] put between tensors. A tensor is padding
    /// if all of this holds: its name is `__padding__.0` and so on; its dtype is U8; it has a single
    /// dimension; it is before a tensor that begins at a multiple of a larger power of two; every byte of it
    /// is zero. Any other tensor is not padding, whatever its name. Copies omit padding.
    ///
    /// *Memory*: it is part of the editor.
    pub fn padding(&self) -> impl Iterator<Item = TensorSpec<'_>> {
        self.padding.iter().map(|(name, stored)| stored.spec(name))
    }

    /// Returns the keys and values of `__metadata__`, sorted by the bytes of the keys.
    pub fn metadata(&self) -> impl Iterator<Item = (&str, &str)> {
        self.metadata.iter().flatten().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Renames a tensor.
    ///
    /// # Errors
    /// [`EditErrorKind::NoSuchTensor`]; [`EditErrorKind::NameTaken`] when another tensor has the new name;
    /// [`EditErrorKind::ReservedName`] when the new name is `__metadata__` or a name of padding. Then nothing
    /// is changed.
    pub fn rename(&mut self, old: &str, new: impl Into<String>) -> Result<(), EditError> {
        let new = new.into();
        match self.find(&new) {
            _ if self.find(old).is_none() => return Err(self.no_such_tensor(old)),
            Some(_) if new != old => return Err(self.name_taken(new)),
            _ => self.check_name(old, &new)?,
        }
        if let Some(stored) = self.tensors.remove(old).or_else(|| self.padding.remove(old)) {
            self.tensors.insert(new, stored);
        }
        Ok(())
    }

    /// Renames every tensor to the name that `new` returns for its current one, such as one with a prefix.
    ///
    /// # Errors
    /// [`EditErrorKind::NameTaken`] when two tensors would have the same name;
    /// [`EditErrorKind::ReservedName`]. Then nothing is changed.
    /// # Panics
    /// When `new` panics.
    pub fn rename_all(&mut self, mut new: impl FnMut(&str) -> String) -> Result<(), EditError> {
        let mut renamed = BTreeMap::new();
        for (old, stored) in &self.tensors {
            let name = new(old);
            self.check_name(old, &name)?;
            match renamed.entry(name) {
                Entry::Occupied(taken) => return Err(self.name_taken(taken.key().clone())),
                Entry::Vacant(free) => drop(free.insert(stored.clone())),
            }
        }
        self.tensors = renamed;
        Ok(())
    }

    /// Removes a tensor.
    ///
    /// # Errors
    /// [`EditErrorKind::NoSuchTensor`].
    pub fn remove(&mut self, name: &str) -> Result<(), EditError> {
        let removed = self.tensors.remove(name).or_else(|| self.padding.remove(name));
        removed.map(drop).ok_or_else(|| self.no_such_tensor(name))
    }

    /// Keeps only the tensors for which `keep` returns `true`.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.tensors.retain(|name, _| keep(name));
    }

    /// Keeps only these tensors.
    ///
    /// # Errors
    /// [`EditErrorKind::NoSuchTensor`] for the first one that does not exist. Then nothing is changed.
    pub fn select<N: AsRef<str>>(&mut self, names: impl IntoIterator<Item = N>) -> Result<(), EditError> {
        let mut selected = BTreeMap::new();
        for name in names {
            let (name, stored) =
                self.find(name.as_ref()).ok_or_else(|| self.no_such_tensor(name.as_ref()))?;
            selected.insert(name.clone(), stored.clone());
        }
        self.padding.retain(|name, _| !selected.contains_key(name));
        self.tensors = selected;
        Ok(())
    }

    /// Adds the tensors and the metadata of another model. If one of the two contains a
    /// [sum](Self::embed_sum), or was to have one, the saved file contains its own sum.
    ///
    /// # Errors
    /// [`EditErrorKind::NameTaken`] when both have a tensor of the same name; [`EditErrorKind::KeyTaken`]
    /// when both have a key of `__metadata__` with different values. The error names both files, and nothing
    /// is changed.
    pub fn append(&mut self, other: Self) -> Result<(), EditError> {
        self.check_conflicts(&other)?;
        let has_sum = self.metadata().chain(other.metadata()).any(|(key, _)| key == KEY);
        let before = self.sources.len();
        self.sources.extend(other.sources);
        let moved = other.tensors.into_iter().map(|(name, stored)| {
            let source = stored.source + before;
            (name, StoredTensor { source, ..stored })
        });
        self.tensors.extend(moved);
        if let Some(pairs) = other.metadata {
            self.metadata.get_or_insert_default().extend(pairs);
        }
        if has_sum {
            self.embed_sum();
        }
        Ok(())
    }

    fn check_conflicts(&self, other: &Self) -> Result<(), EditError> {
        let duplicate =
            other.tensors.iter().find_map(|(name, stored)| Some((stored, self.tensors.get_key_value(name)?)));
        if let Some((stored, (name, own))) = duplicate {
            let kind = EditErrorKind::NameTaken { name: name.clone(), other: self.path_of(own).into() };
            return Err(kind.of(other.path_of(stored)));
        }
        let (mut keys, own) = (other.metadata.iter().flatten(), self.metadata.as_ref());
        let differs = |(key, value): &(&String, &String)| {
            *key != KEY && own.and_then(|own| own.get(*key)).is_some_and(|own| own != *value)
        };
        match keys.find(differs) {
            Some((key, _)) => {
                let kind = EditErrorKind::KeyTaken { key: key.clone(), other: self.path().into() };
                Err(kind.of(other.path()))
            }
            None => Ok(()),
        }
    }

    /// Sets the bytes of a tensor, which has the same dtype and shape. They are read when the model is
    /// [saved](Self::save), once: a second save finds the reader at its end. If the model contains a
    /// [sum](Self::embed_sum), it is verified first, and the saved file contains its own sum. A manifest of
    /// C2PA stays, and is invalid then.
    ///
    /// # Errors
    /// [`EditErrorKind::NoSuchTensor`]; [`EditErrorKind::WrongDtype`]; [`EditErrorKind::WrongShape`]. Then
    /// nothing is changed.
    pub fn set_tensor(&mut self, name: &str, new: NewBytes<'n>) -> Result<(), EditError> {
        self.set(name, None, new)
    }

    /// Sets the bytes of a slice of a tensor, as [`set_tensor`](Self::set_tensor) does. Axes without a range
    /// are complete. The new bytes have the shape of the slice, without the axes of which it takes one index.
    ///
    /// # Errors
    /// [`EditErrorKind::Slice`] when the tensor has no such slice; otherwise as
    /// [`set_tensor`](Self::set_tensor).
    pub fn set_slice(
        &mut self,
        name: &str,
        ranges: &[AxisRange],
        new: NewBytes<'n>,
    ) -> Result<(), EditError> {
        self.set(name, Some(ranges), new)
    }

    fn set(&mut self, name: &str, ranges: Option<&[AxisRange]>, new: NewBytes<'n>) -> Result<(), EditError> {
        let (_, stored) = self.find(name).ok_or_else(|| self.no_such_tensor(name))?;
        let change = stored.change(name, ranges, new).at(self.path_of(stored))?;
        if let Some((name, padding)) = self.padding.remove_entry(name) {
            self.tensors.insert(name, padding);
        }
        if let Some(stored) = self.tensors.get_mut(name) {
            stored.changes.push(Arc::new(change));
        }
        if self.metadata().any(|(key, _)| key == KEY) {
            self.embed_sum();
        }
        Ok(())
    }

    /// Sets the value of a key of `__metadata__`.
    pub fn set_metadata(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.metadata.get_or_insert_default().insert(key.into(), value.into());
    }

    /// Removes a key of `__metadata__`, and with the last key `__metadata__` itself. Returns the value that
    /// the key had.
    pub fn remove_metadata(&mut self, key: &str) -> Option<String> {
        self.has_sum &= key != KEY;
        let value = self.metadata.as_mut()?.remove(key);
        self.metadata.take_if(|pairs| value.is_some() && pairs.is_empty());
        value
    }

    /// Removes `__metadata__`.
    pub fn clear_metadata(&mut self) {
        self.has_sum = false;
        self.metadata = None;
    }

    /// Sets the placement of tensors in the saved file, which is then a copy. A file does not record how its
    /// tensors were placed, so without this call a copy has the reference's placement.
    pub fn set_placement(&mut self, placement: Placement) {
        self.placement = Some(placement);
    }

    /// Reserves at least this many spaces at the end of the header of the saved file, which is then a copy.
    /// Later edits in place can use them.
    pub fn set_header_room(&mut self, bytes: u32) {
        self.header_room = Some(bytes);
    }

    /// Makes [`save`](Self::save) fail with [`EditErrorKind::NotInPlace`] where it would write a copy.
    pub fn set_in_place_only(&mut self) {
        self.in_place = true;
    }

    /// Embeds the SHA-256 of the saved file in it, as the value of the key
    /// [`safetensors.sha256`](embedded_safetensors::integrity#the-embedded-sum). A sum that it contains
    /// already is replaced. [`save`](Self::save) then reads all of the data, also when it writes only the
    /// header. Do not set the key as well ([`EditErrorKind::SumSet`]). It makes a manifest of C2PA invalid.
    ///
    /// Without this call, a sum is copied like any other metadata, and is wrong once the file has changed.
    ///
    /// ```
    /// use embedded_safetensors::integrity::Sha256;
    /// use safetensors_files::ModelEditor;
    /// # use embedded_safetensors::{Dtype, write::{FileSpec, TensorSpec}};
    /// # use safetensors_files::write_file;
    /// # let directory = std::env::temp_dir().join(format!("editor-sum-{}", std::process::id()));
    /// # std::fs::create_dir(&directory)?;
    /// # let path = directory.join("m");
    /// # let tensors = [TensorSpec::new("a", Dtype::U8, &[2])];
    /// # write_file(&path, FileSpec::new(&tensors), |file| file.write_tensor("a", b"ab"))?;
    ///
    /// let mut model = ModelEditor::open(&path)?;
    /// model.embed_sum();
    /// model.save(&path)?;
    ///
    /// let file = std::fs::File::open(&path)?;
    /// let mut window = [0; 4096];
    /// embedded_safetensors::Model::open(file, &mut window)?.verify_embedded(Sha256::new(), &mut window)?;
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn embed_sum(&mut self) {
        self.has_sum = true;
        self.set_metadata(KEY, ZEROS);
    }

    /// Finds a tensor, or padding, by its name.
    fn find(&self, name: &str) -> Option<(&String, &StoredTensor<'n>)> {
        self.tensors.get_key_value(name).or_else(|| self.padding.get_key_value(name))
    }

    /// Returns the path of the file that was opened.
    pub(crate) fn path(&self) -> &Path {
        self.sources.first().map_or(Path::new(""), |source| &source.path)
    }

    fn path_of(&self, stored: &StoredTensor<'_>) -> &Path {
        self.sources.get(stored.source).map_or(Path::new(""), |source| &source.path)
    }

    fn no_such_tensor(&self, name: &str) -> EditError {
        EditErrorKind::NoSuchTensor(name.into()).of(self.path())
    }

    fn name_taken(&self, name: String) -> EditError {
        EditErrorKind::NameTaken { name, other: self.path().into() }.of(self.path())
    }

    /// Rejects names of padding, as such a tensor could later be mistaken for padding.
    fn check_name(&self, old: &str, new: &str) -> Result<(), EditError> {
        match new == "__metadata__" || (new.starts_with(PADDING) && new != old) {
            true => Err(EditErrorKind::ReservedName(new.into()).of(self.path())),
            false => Ok(()),
        }
    }
}

/// Returns a hash that detects a changed header.
pub(crate) fn fingerprint(header: &[u8]) -> u64 {
    let mut hash = DefaultHasher::new();
    hash.write(header);
    hash.finish()
}

impl<'n> StoredTensor<'n> {
    fn of(tensor: &IndexedTensor<'_>) -> Self {
        let (dtype, dims) = (tensor.dtype(), tensor.dims().into());
        Self { dtype, dims, source: 0, begin: tensor.begin(), end: tensor.end(), changes: Vec::new() }
    }

    /// Returns the change of a slice, or of the entire tensor.
    fn change(
        &self,
        name: &str,
        ranges: Option<&[AxisRange]>,
        new: NewBytes<'n>,
    ) -> Result<Change<'n>, EditErrorKind> {
        let wrong = |kind| EditErrorKind::Slice { name: name.into(), kind };
        // An entire tensor may have more dimensions than a slice.
        let plan = match ranges {
            Some(ranges) => SlicePlan::new(self.dtype, &self.dims, ranges).map_err(wrong)?,
            None => SlicePlan::new(Dtype::U8, &[self.end - self.begin], &[]).map_err(wrong)?,
        };
        let shape = if ranges.is_some() { plan.shape().dims() } else { &self.dims };
        let (dtype, given) = (self.dtype, new.dtype);
        if given != dtype {
            return Err(EditErrorKind::WrongDtype { name: name.into(), dtype, given });
        }
        if new.dims != shape {
            let (name, shape, given) = (name.into(), shape.into(), new.dims);
            return Err(EditErrorKind::WrongShape { name, shape, given });
        }
        let runs = plan.byte_runs().map_err(wrong)?;
        Ok(new.at(runs, plan.byte_len().map_err(wrong)?))
    }

    pub(crate) fn spec<'a>(&'a self, name: &'a str) -> TensorSpec<'a> {
        TensorSpec::new(name, self.dtype, &self.dims)
    }
}

impl fmt::Debug for ModelEditor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.tensors.keys();
        f.debug_struct("ModelEditor")
            .field("path", &self.path())
            .field("tensors", &names)
            .finish_non_exhaustive()
    }
}
