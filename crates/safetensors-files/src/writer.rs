//! Writes a new file, with tensors in any order.

use crate::atomic::Replacement;
use crate::disk::Disk;
use crate::error::{At, Doing, EditError, EditErrorKind};
use crate::output::{Buffered, Positioned};
use crate::sum::{Watch, sum_after};
use crate::system::System;
use crate::undo;
use core::fmt;
#[cfg(doc)]
use embedded_safetensors::file::FileErrorKind;
use embedded_safetensors::integrity::Verifier;
use embedded_safetensors::write::{FilePlan, FileSpec, PlannedContent, SpecError, SpecPart, TensorSpec};
use embedded_safetensors::{Dtype, file::shared::parts, values::Native};
use std::collections::HashMap;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The length of the buffer that collects small adjacent pieces.
const BUFFER: usize = 1 << 16;

/// Writes a file whose tensors `fill` writes, in any order and in pieces of any size. When it returns `Ok`,
/// the file is complete and synced. Until then, and after any error, an old file at `path` is unchanged.
///
/// In `fill`, `?` also converts the [`io::Error`] of an input to an [`EditError`]. This is the short form of
/// [`FileWriter`], whose documentation applies here too. Use [`FileWriter`] for a writer that lives longer
/// than a function, and for other error types.
///
/// # Errors
/// Those of `fill`, [`FileWriter::create`] and [`FileWriter::finish`].
///
/// # Panics
/// When `fill` panics; then no temporary file is left.
pub fn write_file(
    path: impl AsRef<Path>,
    spec: FileSpec<'_>,
    fill: impl FnOnce(&mut FileWriter<'_>) -> Result<(), EditError>,
) -> Result<(), EditError> {
    let path = path.as_ref();
    write_file_on(&System, path, spec, fill)
}

/// Writes a file of tensors that are in memory: a name, a dtype, a shape and the bytes of each, which are
/// little-endian as in the file. If `metadata` is empty, the file has no `__metadata__`. This is the short
/// form of [`write_file`], which also takes values, and tensors in pieces.
///
/// # Errors
/// Those of [`FileWriter::create`], [`FileWriter::write_tensor`] and [`FileWriter::finish`]. Then an old file
/// at `path` is unchanged.
///
/// ```
/// use embedded_safetensors::{Dtype, FileModel};
/// use safetensors_files::save;
///
/// # let path = std::env::temp_dir().join(format!("save-{}", std::process::id()));
/// let (ids, bias) = ([1, 2, 3, 4, 5, 6], 0.5_f32.to_le_bytes());
/// let tensors = &[("ids", Dtype::U8, &[2, 3][..], &ids[..]), ("bias", Dtype::F32, &[1], &bias)];
/// save(&path, tensors, &[("step", "1200")])?;
/// let error = save(&path, &[("bias", Dtype::F32, &[2], &bias)], &[]).unwrap_err();
/// assert!(error.to_string().ends_with(r#"tensor "bias": 8 bytes needed, 4 given"#));
///
/// let model = FileModel::open(&path)?; // the first one
/// assert_eq!(model.metadata().ok_or("no metadata")?["step"], "1200");
/// let ids = model.find("ids")?.ok_or("no ids")?;
/// assert_eq!((ids.dims(), ids.reader().values().read_to_vec()?), (&[2, 3][..], vec![1_u8, 2, 3, 4, 5, 6]));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save(
    path: impl AsRef<Path>,
    tensors: &[(&str, Dtype, &[u64], &[u8])],
    metadata: &[(&str, &str)],
) -> Result<(), EditError> {
    let specs = tensors.iter().map(|&(name, dtype, shape, _)| TensorSpec::new(name, dtype, shape));
    let specs: Vec<_> = specs.collect();
    let spec = FileSpec::new(&specs);
    let spec = if metadata.is_empty() { spec } else { spec.with_metadata(metadata) };
    write_file(path, spec, |file| {
        tensors.iter().try_for_each(|&(name, .., bytes)| file.write_tensor(name, bytes))
    })
}

/// Writes a file as [`write_file`] does.
pub(crate) fn write_file_on(
    disk: &dyn Disk,
    path: &Path,
    spec: FileSpec<'_>,
    fill: impl FnOnce(&mut FileWriter<'_>) -> Result<(), EditError>,
) -> Result<(), EditError> {
    let mut file = FileWriter::create_on(disk, path, spec)?;
    fill(&mut file).map_err(|error| error.or_with_path(path))?;
    file.finish()
}

/// A writer of a new file. Tensors are written in any order and in pieces of any size.
///
/// The file is written in the target's directory under a hidden name (`.safetensors-….tmp`).
/// [`finish`](Self::finish) syncs it and then atomically replaces the target. So there is always the complete
/// old file or the complete new one, even after a power cut or when the program is killed. Only in those two
/// cases the hidden file can remain; nothing removes it, and it may be deleted while no program writes there.
/// A writer that is dropped before it is finished removes its hidden file.
///
/// The new file has the permissions of the one that it replaces, or the default ones (the process's umask).
/// Its owner is the user that writes it. A link is followed, and stays. A directory, a device or any other
/// non-regular file is not replaced. Other names of the old file (hard links) keep the old one. When two
/// writers write to the same path, both files are complete, and the last one stays.
///
/// Tensors are placed as by the reference's writer, or [as requested](FileSpec::with_placement).
///
/// ```
/// use embedded_safetensors::{Dtype, write::{FileSpec, TensorSpec}};
/// use safetensors_files::FileWriter;
/// # let directory = std::env::temp_dir().join(format!("file-writer-{}", std::process::id()));
/// # std::fs::create_dir(&directory)?;
/// # let path = directory.join("run.safetensors");
///
/// let inputs = TensorSpec::new("inputs", Dtype::F32, &[10, 2]);
/// let tensors = [inputs, TensorSpec::new("labels", Dtype::U8, &[10])];
/// let mut file = FileWriter::create(&path, FileSpec::new(&tensors))?;
/// for step in 0..10_u8 {
///     file.tensor("inputs")?.write_values(&[0.5_f32, 1.5])?; // continues after the last element
///     file.tensor("labels")?.write_values(&[step])?;
/// }
/// file.finish()?;
/// # assert!(std::fs::metadata(&path)?.is_file());
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// *Memory*: a buffer of 64 KiB, about 100 bytes for each tensor, and while it is created 4 bytes for each
/// tensor and each key. The sizes of the tensors do not matter.
#[must_use = "a file that is not finished is not there"]
pub struct FileWriter<'a> {
    file: Buffered<'a>,
    /// The path as given.
    path: PathBuf,
    tensors: &'a [TensorSpec<'a>],
    progress: Vec<Progress>,
    by_name: HashMap<&'a str, usize>,
    has_failed: bool,
}

/// The range of a tensor in the file, and how much of it is written.
#[derive(Clone, Copy, Default)]
struct Progress {
    begin: u64,
    len: u64,
    written: u64,
}

impl<'a> FileWriter<'a> {
    /// Begins a file that will be at `path`.
    ///
    /// # Errors
    /// [`EditErrorKind::Spec`] when such a file is impossible; [`FileErrorKind::NotAFile`] when something
    /// other than a regular file is there; those of the system, such as a directory that does not exist.
    pub fn create(path: impl AsRef<Path>, spec: FileSpec<'a>) -> Result<Self, EditError> {
        Self::create_on(&System, path.as_ref(), spec)
    }

    /// Begins a file as [`create`](Self::create) does.
    pub(crate) fn create_on(disk: &'a dyn Disk, path: &Path, spec: FileSpec<'a>) -> Result<Self, EditError> {
        Self::begin(disk, path, spec).at(path)
    }

    fn begin(disk: &'a dyn Disk, path: &Path, spec: FileSpec<'a>) -> Result<Self, EditErrorKind> {
        let mut order = vec![0; spec.tensors().len() + spec.metadata().map_or(0, <[_]>::len)];
        let plan = spec.plan_sorted(&mut order).map_err(|error| spec_error(error, &spec))?;
        let mut file = Self {
            file: Positioned::buffered(Replacement::begin(disk, path)?, BUFFER),
            path: path.to_path_buf(),
            tensors: spec.tensors(),
            progress: initial_progress(&plan),
            by_name: spec
                .tensors()
                .iter()
                .enumerate()
                .map(|(index, tensor)| (tensor.name(), index))
                .collect(),
            has_failed: false,
        };
        file.write_header(&plan)?;
        Ok(file)
    }

    /// Writes the header. Padding needs no write: a file has zeros where nothing was written.
    fn write_header(&mut self, plan: &FilePlan<'_>) -> Result<(), EditErrorKind> {
        let (mut encoder, mut window) = (plan.encoder(), vec![0; BUFFER]);
        while let bytes @ [_, ..] = encoder.encode(&mut window) {
            self.file.write_all(bytes).doing("write")?;
        }
        self.file.get_ref().handle().set_len(plan.file_len()).doing("write")
    }

    /// Writes one complete tensor.
    ///
    /// # Errors
    /// [`EditErrorKind::NoSuchTensor`]; [`EditErrorKind::WrittenTwice`] when the tensor already has bytes;
    /// [`EditErrorKind::TooManyBytes`] or [`EditErrorKind::MissingBytes`] when it has another length, and
    /// then nothing is written; those of the system.
    pub fn write_tensor(&mut self, name: &str, bytes: &[u8]) -> Result<(), EditError> {
        self.unwritten(name)?.check_len(bytes.len())?.write_bytes(bytes)
    }

    /// Writes one complete tensor from values of its type, in little-endian order on every target.
    ///
    /// # Errors
    /// [`EditErrorKind::WrongDtype`]; otherwise as [`write_tensor`](Self::write_tensor).
    pub fn write_values<T: Native>(&mut self, name: &str, values: &[T]) -> Result<(), EditError> {
        let tensor = self.unwritten(name)?;
        tensor.check_dtype::<T>()?;
        tensor.check_len(size_of_val(values))?.write_values(values)
    }

    /// Writes one complete tensor from chunks of any lengths, which need not be in memory at the same time.
    ///
    /// # Errors
    /// As [`write_tensor`](Self::write_tensor), but the chunks before the error are written.
    ///
    /// # Panics
    /// When `chunks` panics.
    pub fn write_chunks(
        &mut self,
        name: &str,
        chunks: impl IntoIterator<Item: AsRef<[u8]>>,
    ) -> Result<(), EditError> {
        let mut tensor = self.unwritten(name)?;
        chunks.into_iter().try_for_each(|chunk| tensor.write_bytes(chunk.as_ref()))?;
        tensor.check_len(0).map(drop)
    }

    /// Returns a writer of one tensor, which continues after the bytes already written.
    ///
    /// # Errors
    /// [`EditErrorKind::NoSuchTensor`].
    pub fn tensor(&mut self, name: &str) -> Result<TensorWriter<'_, 'a>, EditError> {
        match self.by_name.get(name) {
            Some(&index) => Ok(TensorWriter { file: self, index }),
            None => Err(self.error(EditErrorKind::NoSuchTensor(name.into()))),
        }
    }

    /// Checks that all tensors are complete. If one is not, it can still be written.
    ///
    /// # Errors
    /// [`EditErrorKind::MissingBytes`] of the first incomplete tensor; [`EditErrorKind::Unfinished`] after a
    /// write that has failed.
    pub fn check_complete(&self) -> Result<(), EditError> {
        let mut tensors = self.tensors.iter().zip(&self.progress);
        match tensors.find(|(_, progress)| progress.written < progress.len) {
            _ if self.has_failed => Err(self.error(EditErrorKind::Unfinished)),
            Some((tensor, progress)) => {
                Err(self.error(missing(tensor.name(), progress.written, progress.len)))
            }
            None => Ok(()),
        }
    }

    /// Syncs the file and atomically replaces the file at the path.
    ///
    /// # Errors
    /// Those of [`check_complete`](Self::check_complete) and of the system. Then the old file is unchanged,
    /// unless only the last step failed, the sync of the directory: then the new file is there,
    /// but a power cut may restore the old one.
    pub fn finish(self) -> Result<(), EditError> {
        self.finish_if(|| Ok(()))
    }

    /// Replaces the file at the path as [`finish`](Self::finish) does, but does not wait for the disk. So
    /// there is the complete old file or the complete new one for all programs, also when this one is killed,
    /// but after a power cut the new file may be damaged.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn finish_without_sync(self) -> Result<(), EditError> {
        self.check_complete()?;
        let Self { file, path, .. } = self;
        let file = Positioned::into_file(file).at(&path)?;
        let _guard = undo::lock();
        file.close_without_sync().replace_edited_target(false).at(&path)
    }

    /// Finishes as [`finish`](Self::finish) does, if `check` succeeds just before the replacement.
    pub(crate) fn finish_if(self, check: impl FnOnce() -> Result<(), EditError>) -> Result<(), EditError> {
        self.check_complete()?;
        let Self { file, path, .. } = self;
        let file = Positioned::into_file(file).and_then(Replacement::close).at(&path)?;
        let _guard = undo::lock();
        check()?;
        file.replace_edited_target(true).at(&path)
    }

    /// Replaces the zeros in the header by the sum of the file, whose tensors are complete.
    pub(crate) fn embed_sum(&mut self, watch: Watch<'_>) -> Result<(), EditError> {
        let embedded = self.flush().and_then(|()| {
            let sum = sum_after(&[], self.file.get_ref().handle(), watch, Verifier::finish)?;
            self.write_at(sum.at, &sum.digits())
        });
        embedded.map_err(|kind| self.error(kind))
    }

    fn error(&self, kind: EditErrorKind) -> EditError {
        kind.of(&self.path)
    }

    /// Returns a writer of a tensor that has no bytes yet.
    fn unwritten(&mut self, name: &str) -> Result<TensorWriter<'_, 'a>, EditError> {
        let tensor = self.tensor(name)?;
        if tensor.progress().written > 0 {
            return Err(tensor.file.error(EditErrorKind::WrittenTwice(name.into())));
        }
        Ok(tensor)
    }

    /// Returns the tensors in the order of the file, as indices into the description.
    pub(crate) fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.progress.len()).collect();
        order.sort_by_key(|&index| self.progress.get(index).map(|progress| (progress.begin, progress.len)));
        order
    }

    /// Returns a writer of the tensor at an index of the description.
    pub(crate) fn tensor_at(&mut self, index: usize) -> TensorWriter<'_, 'a> {
        TensorWriter { file: self, index }
    }

    /// Writes bytes whose range has been checked.
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> Result<(), EditErrorKind> {
        if self.has_failed {
            return Err(EditErrorKind::Unfinished);
        }
        let is_next = at == Positioned::next(&self.file);
        let moved = if is_next { Ok(at) } else { self.file.seek(SeekFrom::Start(at)) };
        let written = moved.and_then(|_| self.file.write_all(bytes));
        self.checked(written)
    }

    fn flush(&mut self) -> Result<(), EditErrorKind> {
        let flushed = self.file.flush();
        self.checked(flushed)
    }

    /// After an error the content of the file is unknown.
    fn checked(&mut self, outcome: io::Result<()>) -> Result<(), EditErrorKind> {
        self.has_failed |= outcome.is_err();
        outcome.doing("write")
    }
}

impl fmt::Debug for FileWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

/// A writer of one tensor of a [`FileWriter`], which takes its bytes in order.
///
/// It is an [`io::Write`], so that [`io::copy`] fills it from any reader. It may buffer bytes, but they are
/// not lost when it is dropped.
///
/// *Memory*: 16 bytes.
pub struct TensorWriter<'w, 'a> {
    file: &'w mut FileWriter<'a>,
    index: usize,
}

impl TensorWriter<'_, '_> {
    /// Returns the number of bytes that the tensor has left.
    pub fn remaining(&self) -> u64 {
        self.progress().len.saturating_sub(self.progress().written)
    }

    /// Writes the next bytes of the tensor.
    ///
    /// # Errors
    /// [`EditErrorKind::TooManyBytes`] when the tensor has fewer bytes left, and then nothing is written;
    /// those of the system.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), EditError> {
        self.check_room(bytes.len())?;
        let progress = self.progress();
        self.file.write_at(progress.begin + progress.written, bytes).map_err(|kind| self.file.error(kind))?;
        if let Some(progress) = self.file.progress.get_mut(self.index) {
            progress.written += bytes.len() as u64;
        }
        Ok(())
    }

    /// Writes the next elements of the tensor, in little-endian order on every target.
    ///
    /// # Errors
    /// [`EditErrorKind::WrongDtype`] when the tensor has elements of another type; otherwise as
    /// [`write_bytes`](Self::write_bytes).
    pub fn write_values<T: Native>(&mut self, values: &[T]) -> Result<(), EditError> {
        self.check_dtype::<T>()?;
        self.check_room(size_of_val(values))?;
        let mut parts = parts(values);
        loop {
            match parts.next() {
                [] => return Ok(()),
                part => self.write_bytes(part)?,
            }
        }
    }

    fn progress(&self) -> Progress {
        self.file.progress.get(self.index).copied().unwrap_or_default()
    }

    fn error(&self, kind: impl FnOnce(String) -> EditErrorKind) -> EditError {
        let name = self.file.tensors.get(self.index).map_or("", TensorSpec::name);
        self.file.error(kind(name.into()))
    }

    /// Checks that the values have the type of the tensor's elements.
    fn check_dtype<T: Native>(&self) -> Result<(), EditError> {
        match self.file.tensors.get(self.index).map(TensorSpec::dtype) {
            Some(dtype) if dtype != T::DTYPE => {
                Err(self.error(|name| EditErrorKind::WrongDtype { name, dtype, given: T::DTYPE }))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the tensor has so many bytes left. Returns how many it has.
    fn check_room(&self, len: usize) -> Result<u64, EditError> {
        let (left, given) = (self.remaining(), len as u64);
        let too_many = |name| EditErrorKind::TooManyBytes { name, left, given };
        if given > left { Err(self.error(too_many)) } else { Ok(left) }
    }

    /// Checks that this is exactly the number of bytes that the tensor has left.
    fn check_len(self, len: usize) -> Result<Self, EditError> {
        let Progress { written, len: needed, .. } = self.progress();
        match self.check_room(len)? == len as u64 {
            true => Ok(self),
            false => Err(self.error(|name| missing(&name, written + len as u64, needed))),
        }
    }
}

/// Takes all of the bytes or none. More bytes than the tensor has left are an error.
impl io::Write for TensorWriter<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_bytes(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|kind| self.file.error(kind).into())
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

fn initial_progress(plan: &FilePlan<'_>) -> Vec<Progress> {
    let mut progress = vec![Progress::default(); plan.spec().tensors().len()];
    for tensor in plan.tensors() {
        let PlannedContent::Tensor { index, .. } = tensor.content else { continue };
        if let Some(progress) = progress.get_mut(index) {
            *progress =
                Progress { begin: plan.data_start() + tensor.begin, len: tensor.byte_len(), written: 0 };
        }
    }
    progress
}

/// Adds the name of the tensor or key to the error.
pub(crate) fn spec_error(error: SpecError, spec: &FileSpec<'_>) -> EditErrorKind {
    let name = match error.part {
        SpecPart::Tensor(index) => spec.tensors().get(index).map(TensorSpec::name),
        SpecPart::Key(index) => spec.metadata().and_then(|pairs| pairs.get(index)).map(|&(key, _)| key),
        SpecPart::File => None,
    };
    EditErrorKind::Spec { error, name: name.unwrap_or("").into() }
}
