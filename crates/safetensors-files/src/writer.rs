//! A new file, with tensors in any order.

use crate::atomic::{Hidden, Replacement};
use crate::disk::Disk;
use crate::error::{EditError, EditErrorKind};
use crate::system::System;
use crate::undo;
use core::fmt;
#[cfg(doc)]
use embedded_safetensors::file::FileErrorKind;
use embedded_safetensors::write::FilePlan;
use embedded_safetensors::write::PlannedContent;
use embedded_safetensors::write::{FileSpec, TensorSpec};
use embedded_safetensors::write::{SpecError, SpecPart};
use embedded_safetensors::{file::shared::parts, values::Native};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// Small pieces that lie side by side are written together, as many bytes as this.
const BUFFER: usize = 1 << 16;

/// Writes a file whose tensors `fill` gives, in any order and in pieces of any size. When it returns `Ok`, the file is there, on the
/// medium; until then, and when anything fails, whatever was at `path` before is as it was.
///
/// What is wrong with `fill`'s own input is turned by `?` into a [`EditError`], too. For a writer that lives longer than a function,
/// and for errors of other types, there is [`FileWriter`], of which this is the short form; all that is said there holds here.
///
/// ```
/// use embedded_safetensors::{Dtype, write::{FileSpec, TensorSpec}};
/// use safetensors_files::write_file;
/// # let folder = std::env::temp_dir().join(format!("write-file-{}", std::process::id()));
/// # std::fs::create_dir(&folder)?;
/// # let path = folder.join("model.safetensors");
///
/// let tensors = [TensorSpec::new("weight", Dtype::F32, &[2, 3]), TensorSpec::new("bias", Dtype::F32, &[2])];
/// write_file(&path, FileSpec::new(&tensors), |file| {
///     file.write_values("bias", &[0.5_f32, -0.5])?;
///     file.write_chunks("weight", (0..6).map(|i| (i as f32).to_le_bytes()))
/// })?;
/// # assert!(std::fs::metadata(&path)?.is_file());
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Those of `fill`, [`FileWriter::create`] and [`FileWriter::finish`].
///
/// # Panics
/// Never, unless `fill` does; then nothing is left behind.
pub fn write_file(
    path: impl AsRef<Path>,
    spec: FileSpec<'_>,
    fill: impl FnOnce(&mut FileWriter<'_>) -> Result<(), EditError>,
) -> Result<(), EditError> {
    let path = path.as_ref();
    write_file_on(&System, path, spec, fill)
}

/// As [`write_file`].
pub(crate) fn write_file_on(
    disk: &dyn Disk,
    path: &Path,
    spec: FileSpec<'_>,
    fill: impl FnOnce(&mut FileWriter<'_>) -> Result<(), EditError>,
) -> Result<(), EditError> {
    let mut file = FileWriter::create_on(disk, path, spec)?;
    fill(&mut file).map_err(|error| error.or_of(path))?;
    file.finish()
}

/// A new file in the making, whose tensors are written in any order and in pieces of any size.
///
/// It is written beside its place, under a hidden name (`.safetensors-….tmp`), and takes its place when it is [finished](Self::finish): in one act,
/// after it is on the medium. So whoever looks there finds the old file or the new one, whole, also after a power cut or when
/// the program is killed; only then the hidden file may be left, which nothing removes: it may be deleted when nobody
/// writes there. Dropped before that, it leaves nothing behind.
///
/// The new file has the permissions of the one that it replaces, or the usual ones (the process's umask); its owner is who writes it.
/// A link is followed, and stays. What is no file, as a folder or a device, is not replaced. Other names of the old file (hard
/// links) keep the old one. When two write to one place, each file is whole, and the last one stays.
///
/// Tensors lie where the reference's writer places them, or [where you like](FileSpec::with_placement).
///
/// ```
/// use embedded_safetensors::{Dtype, write::{FileSpec, TensorSpec}};
/// use safetensors_files::FileWriter;
/// # let folder = std::env::temp_dir().join(format!("file-writer-{}", std::process::id()));
/// # std::fs::create_dir(&folder)?;
/// # let path = folder.join("run.safetensors");
///
/// let tensors = [TensorSpec::new("inputs", Dtype::F32, &[10, 2]), TensorSpec::new("labels", Dtype::U8, &[10])];
/// let mut file = FileWriter::create(&path, FileSpec::new(&tensors))?;
/// for step in 0..10_u8 {
///     file.tensor("inputs")?.write_values(&[0.5_f32, 1.5])?; // goes on where it stopped
///     file.tensor("labels")?.write_values(&[step])?;
/// }
/// file.finish()?;
/// # assert!(std::fs::metadata(&path)?.is_file());
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// *Memory*: a buffer of 64 KiB, about 100 bytes for each tensor, and while it is created 4 bytes for each tensor and each key; whatever the
/// tensors' sizes.
#[must_use = "a file that is not finished is not there"]
pub struct FileWriter<'a> {
    file: Replacement<'a>,
    /// As it was given.
    path: PathBuf,
    tensors: &'a [TensorSpec<'a>],
    places: Vec<Place>,
    by_name: HashMap<&'a str, usize>,
    buffer: Vec<u8>,
    /// Where in the file the buffer's bytes belong.
    buffer_at: u64,
    has_failed: bool,
}

/// Where a tensor lies in the file, and how much of it is there.
#[derive(Clone, Copy, Default)]
struct Place {
    begin: u64,
    len: u64,
    written: u64,
}

impl<'a> FileWriter<'a> {
    /// Begins a file that will be at `path`.
    ///
    /// # Errors
    /// [`EditErrorKind::Spec`] when there can be no such file; [`FileErrorKind::NotAFile`] when something else is there; those of the system, such as
    /// a folder that does not exist.
    pub fn create(path: impl AsRef<Path>, spec: FileSpec<'a>) -> Result<Self, EditError> {
        Self::create_on(&System, path.as_ref(), spec)
    }

    /// As [`create`](Self::create).
    pub(crate) fn create_on(disk: &'a dyn Disk, path: &Path, spec: FileSpec<'a>) -> Result<Self, EditError> {
        Self::begin(disk, path, spec).map_err(|fault| fault.of(path))
    }

    fn begin(disk: &'a dyn Disk, path: &Path, spec: FileSpec<'a>) -> Result<Self, EditErrorKind> {
        let mut order = vec![0; spec.tensors().len() + spec.metadata().map_or(0, <[_]>::len)];
        let plan = spec.plan_sorted(&mut order).map_err(|error| named(error, &spec))?;
        let target = disk.resolve(path).map_err(EditErrorKind::no_place)?;
        let mut file = Self {
            file: Replacement::begin(disk, &target)?,
            path: path.to_path_buf(),
            tensors: spec.tensors(),
            places: places(&plan),
            by_name: spec
                .tensors()
                .iter()
                .enumerate()
                .map(|(index, tensor)| (tensor.name(), index))
                .collect(),
            buffer: Vec::new(),
            buffer_at: 0,
            has_failed: false,
        };
        file.write_header(&plan)?;
        Ok(file)
    }

    /// What is between tensors are zeros, which a file has where nothing was written.
    fn write_header(&mut self, plan: &FilePlan<'_>) -> Result<(), EditErrorKind> {
        self.buffer.reserve_exact(BUFFER);
        let (mut encoder, mut window) = (plan.encoder(), vec![0; BUFFER]);
        while let bytes @ [_, ..] = encoder.encode(&mut window) {
            let at = self.buffer_at + self.buffer.len() as u64;
            self.write_at(at, bytes)?;
        }
        let file = self.file.file();
        file.set_len(plan.file_len()).map_err(|error| EditErrorKind::system("write", error))
    }

    /// Writes one tensor, all of it.
    ///
    /// # Errors
    /// [`EditErrorKind::NoSuchTensor`]; [`EditErrorKind::WrittenTwice`] when it has bytes already; [`EditErrorKind::TooManyBytes`] or
    /// [`EditErrorKind::MissingBytes`] when it has not so many, and then nothing is written; those of the system.
    pub fn write_tensor(&mut self, name: &str, bytes: &[u8]) -> Result<(), EditError> {
        self.whole(name)?.check_len(bytes.len())?.write_bytes(bytes)
    }

    /// Writes one tensor, all of it, from values of its type, with the low byte first on every machine.
    ///
    /// # Errors
    /// [`EditErrorKind::WrongDtype`]; otherwise as [`write_tensor`](Self::write_tensor).
    pub fn write_values<T: Native>(&mut self, name: &str, values: &[T]) -> Result<(), EditError> {
        let tensor = self.whole(name)?;
        tensor.check_dtype::<T>()?;
        tensor.check_len(size_of_val(values))?.write_values(values)
    }

    /// Writes one tensor, all of it, from chunks of any lengths, which need not be in memory at once.
    ///
    /// # Errors
    /// As [`write_tensor`](Self::write_tensor); those chunks that the tensor has room for are written then.
    ///
    /// # Panics
    /// Never, unless `chunks` does.
    pub fn write_chunks(
        &mut self,
        name: &str,
        chunks: impl IntoIterator<Item: AsRef<[u8]>>,
    ) -> Result<(), EditError> {
        let mut tensor = self.whole(name)?;
        chunks.into_iter().try_for_each(|chunk| tensor.write_bytes(chunk.as_ref()))?;
        tensor.check_len(0).map(drop)
    }

    /// One tensor, to write its next bytes: it goes on behind those that it has.
    ///
    /// # Errors
    /// [`EditErrorKind::NoSuchTensor`].
    pub fn tensor(&mut self, name: &str) -> Result<TensorWriter<'_, 'a>, EditError> {
        match self.by_name.get(name) {
            Some(&index) => Ok(TensorWriter { file: self, index }),
            None => Err(self.fault(EditErrorKind::NoSuchTensor { name: name.into() })),
        }
    }

    /// Puts the file in its place, and returns when it is there on the medium.
    ///
    /// # Errors
    /// [`EditErrorKind::MissingBytes`] of the first tensor that is not complete; those of the system. Then whatever was there before is as it was,
    /// unless the very last step failed, the sync of the folder: then the new file is there, and a power cut may undo that.
    pub fn finish(self) -> Result<(), EditError> {
        self.finish_if(|| Ok(()))
    }

    /// As [`finish`](Self::finish), if this still says yes at the last moment.
    pub(crate) fn finish_if(
        mut self,
        check: impl FnOnce() -> Result<(), EditError>,
    ) -> Result<(), EditError> {
        self.check_complete().and_then(|()| self.flush()).map_err(|fault| fault.of(&self.path))?;
        let Self { file, path, .. } = self;
        let file = file.close().map_err(|fault| fault.of(&path))?;
        let _guard = undo::lock();
        check()?;
        file.take_place_of_edited().map_err(|fault| fault.of(&path))
    }

    fn check_complete(&self) -> Result<(), EditErrorKind> {
        let mut tensors = self.tensors.iter().zip(&self.places);
        match tensors.find(|(_, place)| place.written < place.len) {
            _ if self.has_failed => Err(EditErrorKind::Unfinished),
            Some((tensor, place)) => Err(missing(tensor.name(), place.written, place.len)),
            None => Ok(()),
        }
    }

    fn fault(&self, fault: EditErrorKind) -> EditError {
        fault.of(&self.path)
    }

    /// One tensor that has no bytes yet.
    fn whole(&mut self, name: &str) -> Result<TensorWriter<'_, 'a>, EditError> {
        let tensor = self.tensor(name)?;
        if tensor.place().written > 0 {
            return Err(tensor.file.fault(EditErrorKind::WrittenTwice { name: name.into() }));
        }
        Ok(tensor)
    }

    /// The tensors in the order of the file, as places in the array that describes them.
    pub(crate) fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.places.len()).collect();
        order.sort_by_key(|&index| self.places.get(index).map(|place| (place.begin, place.len)));
        order
    }

    /// As [`tensor`](Self::tensor), by its place in the array that describes it.
    pub(crate) fn tensor_at(&mut self, index: usize) -> TensorWriter<'_, 'a> {
        TensorWriter { file: self, index }
    }

    /// Writes bytes that are known to have room there.
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> Result<(), EditErrorKind> {
        if self.has_failed {
            return Err(EditErrorKind::Unfinished);
        }
        let follows = at == self.buffer_at + self.buffer.len() as u64;
        if !follows || self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
            self.buffer_at = at;
        }
        if bytes.len() < BUFFER {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.buffer_at = at + bytes.len() as u64;
        self.put(at, bytes)
    }

    fn flush(&mut self) -> Result<(), EditErrorKind> {
        let bytes = core::mem::take(&mut self.buffer);
        let outcome = if bytes.is_empty() { Ok(()) } else { self.put(self.buffer_at, &bytes) };
        self.buffer_at += bytes.len() as u64;
        self.buffer = bytes;
        self.buffer.clear();
        outcome
    }

    /// After an error nobody knows what is in the file.
    fn put(&mut self, at: u64, bytes: &[u8]) -> Result<(), EditErrorKind> {
        let outcome = self.file.file().write_at(at, bytes);
        self.has_failed |= outcome.is_err();
        outcome.map_err(|error| EditErrorKind::system("write", error))
    }
}

impl Hidden<'_> {
    /// What could undo an edit of the old file has nothing to undo in the new one.
    pub(crate) fn take_place_of_edited(self) -> Result<(), EditErrorKind> {
        let (disk, target) = (self.disk(), self.target().to_path_buf());
        self.take_place()?;
        undo::forget(disk, &target);
        Ok(())
    }
}

impl fmt::Debug for FileWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

/// One tensor of a [`FileWriter`], which takes its bytes from the first to the last.
///
/// It is an [`io::Write`], so that [`io::copy`] fills it from any reader. What it takes is written at once or
/// with what follows, and is not lost when it is dropped.
///
/// *Memory*: 16 bytes.
pub struct TensorWriter<'w, 'a> {
    file: &'w mut FileWriter<'a>,
    index: usize,
}

impl TensorWriter<'_, '_> {
    /// How many bytes the tensor still takes.
    pub fn remaining(&self) -> u64 {
        self.place().len.saturating_sub(self.place().written)
    }

    /// Writes the next bytes of the tensor.
    ///
    /// # Errors
    /// [`EditErrorKind::TooManyBytes`] when it takes fewer, and then nothing is written; those of the system.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), EditError> {
        let (left, given) = (self.remaining(), bytes.len() as u64);
        if given > left {
            return Err(self.fault(|name| EditErrorKind::TooManyBytes { name, left, given }));
        }
        let place = self.place();
        self.file.write_at(place.begin + place.written, bytes).map_err(|fault| self.file.fault(fault))?;
        if let Some(place) = self.file.places.get_mut(self.index) {
            place.written += given;
        }
        Ok(())
    }

    /// Writes the next elements of the tensor, with the low byte first on every machine.
    ///
    /// # Errors
    /// [`EditErrorKind::WrongDtype`] when it has others; otherwise as [`write_bytes`](Self::write_bytes).
    pub fn write_values<T: Native>(&mut self, values: &[T]) -> Result<(), EditError> {
        let (left, given) = (self.remaining(), size_of_val(values) as u64);
        self.check_dtype::<T>()?;
        if given > left {
            return Err(self.fault(|name| EditErrorKind::TooManyBytes { name, left, given }));
        }
        let mut parts = parts(values);
        loop {
            match parts.next() {
                [] => return Ok(()),
                part => self.write_bytes(part)?,
            }
        }
    }

    fn place(&self) -> Place {
        self.file.places.get(self.index).copied().unwrap_or_default()
    }

    fn fault(&self, fault: impl FnOnce(String) -> EditErrorKind) -> EditError {
        let name = self.file.tensors.get(self.index).map_or("", TensorSpec::name);
        self.file.fault(fault(name.into()))
    }

    /// Whether the values are what the tensor has.
    fn check_dtype<T: Native>(&self) -> Result<(), EditError> {
        match self.file.tensors.get(self.index).map(TensorSpec::dtype) {
            Some(dtype) if dtype != T::DTYPE => {
                Err(self.fault(|name| EditErrorKind::WrongDtype { name, dtype, given: T::DTYPE }))
            }
            _ => Ok(()),
        }
    }

    /// Whether so many bytes are all that the tensor still takes.
    fn check_len(self, len: usize) -> Result<Self, EditError> {
        let (left, given) = (self.remaining(), len as u64);
        let Place { written, len: needed, .. } = self.place();
        match given {
            _ if given > left => Err(self.fault(|name| EditErrorKind::TooManyBytes { name, left, given })),
            _ if given < left => Err(self.fault(|name| missing(&name, written + given, needed))),
            _ => Ok(self),
        }
    }
}

/// Takes all of the bytes, or none: more than the tensor takes are an error.
impl io::Write for TensorWriter<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_bytes(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|fault| self.file.fault(fault).into())
    }
}

impl fmt::Debug for TensorWriter<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.file.tensors.get(self.index).map_or("", TensorSpec::name);
        f.debug_struct("TensorWriter").field("name", &name).field("remaining", &self.remaining()).finish()
    }
}

fn missing(name: &str, given: u64, needed: u64) -> EditErrorKind {
    EditErrorKind::MissingBytes { name: name.into(), given, needed }
}

fn places(plan: &FilePlan<'_>) -> Vec<Place> {
    let mut places = vec![Place::default(); plan.spec().tensors().len()];
    for tensor in plan.tensors() {
        let PlannedContent::Tensor { index, .. } = tensor.content else { continue };
        if let Some(place) = places.get_mut(index) {
            *place = Place { begin: plan.data_start() + tensor.begin, len: tensor.byte_len(), written: 0 };
        }
    }
    places
}

/// With the name of what is wrong.
pub(crate) fn named(error: SpecError, spec: &FileSpec<'_>) -> EditErrorKind {
    let name = match error.part {
        SpecPart::Tensor(index) => spec.tensors().get(index).map(TensorSpec::name),
        SpecPart::Key(index) => spec.metadata().and_then(|pairs| pairs.get(index)).map(|&(key, _)| key),
        SpecPart::File => None,
    };
    EditErrorKind::Spec { error, name: name.unwrap_or("").into() }
}
