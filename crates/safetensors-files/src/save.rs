//! Saves an edited model: in place, where only the header is written, or as a copy.

use crate::change::{NewData, PIECE, Patch};
use crate::disk::{Disk, Handle, read_header, read_up_to};
use crate::editor::{ModelEditor, Source, StoredTensor, fingerprint};
use crate::error::{At, Doing, EditError, EditErrorKind};
use crate::sum::{Watch, report, sum_after};
use crate::system::System;
use crate::undo;
use crate::writer::{FileWriter, spec_error};
use core::ops::{ControlFlow, Range};
use embedded_safetensors::ErrorKind;
use embedded_safetensors::file::FileErrorKind;
use embedded_safetensors::file::shared::Undo;
use embedded_safetensors::integrity::{KEY, Sha256, Verifier, ZEROS};
use embedded_safetensors::write::{FileSpec, TensorSpec};
use std::path::{Path, PathBuf};

/// How a model was saved.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveMethod {
    /// Only the header and new bytes of tensors were written, over the old ones.
    InPlace,
    /// A new file was written, with the data of the old files, and replaced the file at the path.
    Copied,
}

/// An edit in place that has not begun.
struct Plan<'s> {
    source: &'s Source,
    resolved: PathBuf,
    /// The path of the undo file.
    undo: PathBuf,
    /// The new header, with the 8 bytes of its length.
    new: Vec<u8>,
}

impl<'n> ModelEditor<'n> {
    /// Saves the model at `path`, which may be that of a file it comes from.
    ///
    /// **In place.** Only the header and [new bytes](crate::NewBytes) are written if all of this holds: only
    /// names, metadata and bytes of one file have changed, `path` is that of this file, and the new header
    /// fits in the space of the old one. The order of the tensors stays, even if the new names sort
    /// differently; spaces fill the rest of the header. If only bytes have changed, the header stays as it
    /// was, except for the sum. Other names of the file (hard links) also have the changes.
    ///
    /// Meanwhile the length of the header is one that every reader rejects. After a power cut, or when the
    /// program is killed, the next [`open`](Self::open) or [`recover`](Self::recover) restores the old bytes
    /// from the undo file `.NAME.undo` beside the model, which is as long as twice the header and the bytes
    /// that are overwritten. If another file has that name, the model is copied instead. A model that is
    /// moved or copied before it is recovered loses its undo file and stays as it is, so recover it first.
    /// Other programs may open the file at the same time, but not save it; threads of one program may do
    /// both.
    ///
    /// **As a copy.** Otherwise a new file is written with a [`FileWriter`]. The tensors are in the
    /// reference's order, or [placed as requested](Self::set_placement), with [space for later
    /// edits](Self::set_header_room) if requested. To force a copy, request
    /// [`Placement::Start(8)`](embedded_safetensors::write::Placement::Start), which is the reference's.
    ///
    /// After an editor was saved to one of its own files, it no longer matches that file: open the file again
    /// to continue.
    ///
    /// # Errors
    /// [`EditErrorKind::SumSet`], before anything is read; [`FileErrorKind::Format`] when the old sum of a
    /// file whose tensors get new bytes is wrong; [`FileErrorKind::Changed`] when another program has changed
    /// a source file, or the file to replace, since it was opened; [`FileErrorKind::Interrupted`] when one
    /// edits it for two seconds; that of the system when the header is to be written in place and the file is
    /// read-only; [`EditErrorKind::MissingBytes`], [`EditErrorKind::TooManyBytes`] or
    /// [`EditErrorKind::Input`] for new bytes; otherwise as [`FileWriter::create`] and
    /// [`FileWriter::finish`]. Then the old file is unchanged, except as described at `finish`. If only the
    /// removal of the undo file failed, the file has the new header.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<SaveMethod, EditError> {
        self.save_on(&System, path.as_ref())
    }

    /// Returns how [`save`](Self::save) would save the model at `path` now. Writes nothing.
    ///
    /// # Errors
    /// As [`save`](Self::save), as far as they are known before something is written.
    pub fn save_method(&self, path: impl AsRef<Path>) -> Result<SaveMethod, EditError> {
        let (disk, path) = (&System, path.as_ref());
        match self.plan_in_place(disk, path).at(path)? {
            Some(plan) => match undo::is_taken(disk, &plan.undo).at(path)? {
                true => Ok(SaveMethod::Copied),
                false => plan.source.check_unchanged().at(path).map(|_| SaveMethod::InPlace),
            },
            None => self.check_sources(disk, path).map(|()| SaveMethod::Copied),
        }
    }

    /// Saves the model as [`save`](Self::save) does, and reports the progress of long copies. `watch` is
    /// called with the number of tensor bytes copied and the total, first with `(0, total)`, then after every
    /// piece of at most 256 KiB. It stops the copy by [`ControlFlow::Break`]. When the model is saved [in
    /// place](SaveMethod::InPlace), it is called in the same way for the new bytes of tensors, if there are
    /// any, and what has been written is undone when it stops. It must not open or save a model then.
    ///
    /// With [`embed_sum`](Self::embed_sum), in place too, it is then called with the number of bytes of the
    /// file that have been summed and the length of the file; and if tensors get new bytes, also before all
    /// else, while the old sum is verified.
    ///
    /// ```
    /// use safetensors_files::{ModelEditor, EditErrorKind};
    /// use std::ops::ControlFlow;
    /// # use embedded_safetensors::{Dtype, write::{FileSpec, TensorSpec}};
    /// # use safetensors_files::write_file;
    /// # let directory = std::env::temp_dir().join(format!("save-watched-{}", std::process::id()));
    /// # std::fs::create_dir(&directory)?;
    /// # let (path, copy) = (directory.join("m"), directory.join("c"));
    /// # let tensors = [TensorSpec::new("a", Dtype::U8, &[2])];
    /// # write_file(&path, FileSpec::new(&tensors), |file| file.write_tensor("a", b"ab"))?;
    ///
    /// let model = ModelEditor::open(&path)?;
    /// let outcome = model.save_watched(&copy, &mut |done, total| match done < total / 2 {
    ///     true => ControlFlow::Continue(()),
    ///     false => ControlFlow::Break(()), // for example when the user cancels
    /// });
    /// assert!(outcome.is_err_and(|error| matches!(error.kind(), EditErrorKind::Stopped)));
    /// assert!(!copy.exists());
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`EditErrorKind::Stopped`] when `watch` has stopped the copy, also after the last piece: then no
    /// temporary file is left, and the file at `path` is unchanged. Otherwise as [`save`](Self::save).
    ///
    /// # Panics
    /// When `watch` panics; then no temporary file is left.
    pub fn save_watched(
        &self,
        path: impl AsRef<Path>,
        watch: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<SaveMethod, EditError> {
        self.save_watched_on(&System, path.as_ref(), watch)
    }

    /// Saves as [`save`](Self::save) does.
    pub(crate) fn save_on(&self, disk: &dyn Disk, path: &Path) -> Result<SaveMethod, EditError> {
        self.save_watched_on(disk, path, &mut |_, _| ControlFlow::Continue(()))
    }

    fn save_watched_on(
        &self,
        disk: &dyn Disk,
        path: &Path,
        watch: Watch<'_>,
    ) -> Result<SaveMethod, EditError> {
        match self.save_in_place(disk, path, watch).at(path)? {
            true => Ok(SaveMethod::InPlace),
            false if self.in_place => Err(EditErrorKind::NotInPlace.of(path)),
            false => self.copy(disk, path, watch).map(|()| SaveMethod::Copied),
        }
    }

    /// Verifies the sum in the source with this index if its tensors get new bytes: a new sum would hide old
    /// damage.
    fn verify_sum(&self, index: usize, source: &Source, watch: Watch<'_>) -> Result<(), EditErrorKind> {
        let has_new = |stored: &StoredTensor<'_>| stored.source == index && !stored.changes.is_empty();
        let header = source.check_unchanged()?;
        let is_due = self.has_sum && self.tensors.values().any(has_new) && !is_missing(&sum_at(&header));
        if is_due { sum_after(&header, &*source.file, watch, Verifier::verify) } else { Ok(()) }
    }

    /// Saves in place if possible. Returns whether it was.
    fn save_in_place(&self, disk: &dyn Disk, path: &Path, watch: Watch<'_>) -> Result<bool, EditErrorKind> {
        let Some(mut plan) = self.plan_in_place(disk, path)? else { return Ok(false) };
        self.verify_sum(0, plan.source, watch)?;
        let (data, is_changed) = self.new_data(plan.source);
        if self.has_sum && data.0.is_empty() {
            embed(&mut plan.new, &*plan.source.file, watch)?;
        }
        let _guard = undo::lock();
        if undo::is_taken(disk, &plan.undo)? {
            return Ok(false);
        }
        let locked = undo::lock_file(disk, &plan.resolved)?;
        let (file, old) = (&*locked, plan.old_header(disk, &*locked)?);
        if old != plan.new || !data.0.is_empty() {
            let mut new = std::mem::take(&mut plan.new);
            let mut known = new.clone();
            if self.has_sum && !data.0.is_empty() {
                *digits(&mut known, sum_at(&new)?)? = [Undo::ANY; 64];
            }
            let undo =
                Undo::new(&mut &*file, plan.source.version.len, old, known, is_changed).doing("read")?;
            undo::overwrite(&undo, disk, (&plan.resolved, &plan.undo), (file, &data), || {
                if !data.0.is_empty() {
                    data.write(file, &mut *watch)?;
                    if self.has_sum {
                        embed(&mut new, file, watch)?;
                    }
                }
                Ok(new)
            })?;
        }
        plan.check_name(disk).map(|()| true)
    }

    /// Returns the changes of the data of the only source, and the bytes of the file among which they are.
    fn new_data(&self, source: &Source) -> (NewData<'_, 'n>, Range<u64>) {
        let (mut all, mut range) = (Vec::new(), Range { start: u64::MAX, end: 0 });
        for (name, stored) in &self.tensors {
            let [begin, end] = [stored.begin, stored.end].map(|offset| source.data_start + offset);
            all.extend(stored.changes.iter().map(|change| (name.as_str(), begin, &**change)));
            if !stored.changes.is_empty() && begin < end {
                range = range.start.min(begin)..range.end.max(end);
            }
        }
        (NewData(all), range)
    }

    /// Returns what an edit in place needs, or `None` if the model must be copied.
    fn plan_in_place(&self, disk: &dyn Disk, path: &Path) -> Result<Option<Plan<'_>>, EditErrorKind> {
        if self.has_sum && !self.metadata().any(|pair| pair == (KEY, ZEROS)) {
            return Err(EditErrorKind::SumSet);
        }
        let [source] = &self.sources[..] else { return Ok(None) };
        let is_whole = self.tensors.len() + self.padding.len() == source.tensors;
        let resolved = disk.resolve(path).map_err(EditErrorKind::unresolved)?;
        let Some(undo) = Undo::path_beside(&resolved) else { return Ok(None) };
        if !is_whole || self.needs_copy() || resolved != source.resolved {
            return Ok(None);
        }
        // A file that may not be written is not replaced either.
        disk.lock(&resolved, true).doing("write")?;
        let has_new_data = self.tensors.values().any(|stored| !stored.changes.is_empty());
        let same = if has_new_data { self.same_header(disk, source)? } else { None };
        let new = same.map_or_else(|| self.new_header_for(source), |header| Ok(Some(header)))?;
        Ok(new.map(|new| Plan { source, resolved, undo, new }))
    }

    /// Returns the header of the source, if it has the names and metadata of the model, except for the sum.
    fn same_header(&self, disk: &dyn Disk, source: &Source) -> Result<Option<Vec<u8>>, EditErrorKind> {
        let (mut opened, header) = (Self::begin(disk, &source.path)?, source.check_unchanged()?);
        if self.has_sum {
            opened.embed_sum();
        }
        let new = self.new_header_for(source)?;
        let is_same = new.is_some() && opened.new_header_for(source)? == new;
        Ok((is_same && (!self.has_sum || sum_at(&header).is_ok())).then_some(header))
    }

    /// Returns the new header, with the 8 bytes of its length, padded to the length of the source's header,
    /// or `None` if it does not fit.
    fn new_header_for(&self, source: &Source) -> Result<Option<Vec<u8>>, EditErrorKind> {
        let mut tensors: Vec<(&String, &StoredTensor<'_>)> =
            self.tensors.iter().chain(&self.padding).collect();
        tensors.sort_by_key(|(_, stored)| (stored.begin, stored.end));
        let tensors: Vec<TensorSpec<'_>> = tensors.iter().map(|(name, stored)| stored.spec(name)).collect();
        let pairs: Vec<(&str, &str)> = self.metadata().collect();
        let spec = self.spec(&tensors, &pairs);
        let mut scratch = vec![0; tensors.len() + pairs.len()];
        let plan = spec.plan_as_given(&mut scratch).map_err(|error| spec_error(error, &spec))?;
        let mut header = vec![0; usize::try_from(plan.data_start()).unwrap_or(0)];
        plan.encoder().encode(&mut header);
        let json = header.get(8..).unwrap_or(&[]).trim_ascii_end();
        let space = source.data_start - 8;
        if json.len() as u64 > space {
            return Ok(None);
        }
        let mut bytes = space.to_le_bytes().to_vec();
        bytes.extend(json);
        bytes.resize(usize::try_from(source.data_start).unwrap_or(0), b' ');
        Ok(Some(bytes))
    }

    fn spec<'a>(&self, tensors: &'a [TensorSpec<'a>], pairs: &'a [(&'a str, &'a str)]) -> FileSpec<'a> {
        let spec = FileSpec::new(tensors);
        let spec = if self.metadata.is_some() { spec.with_metadata(pairs) } else { spec };
        let spec = self.placement.map_or(spec, |placement| spec.with_placement(placement));
        self.header_room.map_or(spec, |bytes| spec.with_header_room(bytes))
    }

    fn needs_copy(&self) -> bool {
        self.placement.is_some() || self.header_room.is_some()
    }

    fn copy(&self, disk: &dyn Disk, path: &Path, watch: Watch<'_>) -> Result<(), EditError> {
        let tensors: Vec<TensorSpec<'_>> = self.tensors().collect();
        let pairs: Vec<(&str, &str)> = self.metadata().collect();
        let stored: Vec<(&String, &StoredTensor<'_>)> = self.tensors.iter().collect();
        self.check_sources(disk, path)?;
        let mut sources = self.sources.iter().enumerate();
        sources.try_for_each(|(index, source)| self.verify_sum(index, source, watch).at(&source.path))?;
        let mut file = FileWriter::create_on(disk, path, self.spec(&tensors, &pairs))?;
        let mut buffer = vec![0; PIECE];
        let (mut done, total) = (0, stored.iter().map(|(_, stored)| stored.end - stored.begin).sum());
        report(watch, done, total).at(path)?;
        for index in file.order() {
            let Some((name, stored, source)) = stored
                .get(index)
                .and_then(|(name, stored)| Some((name, stored, self.sources.get(stored.source)?)))
            else {
                continue;
            };
            let mut patches: Vec<Patch<'_, '_>> =
                stored.changes.iter().map(|change| change.start(name)).collect();
            let mut at = 0;
            let mut tensor = file.tensor_at(index);
            while tensor.remaining() > 0 {
                let from = source.data_start + stored.begin + at;
                let piece = source.read(from, tensor.remaining(), &mut buffer)?;
                patches.iter_mut().try_for_each(|patch| patch.apply(at, piece)).at(path)?;
                tensor.write_bytes(piece)?;
                at += piece.len() as u64;
                done += piece.len() as u64;
                report(watch, done, total).at(path)?;
            }
            patches.into_iter().try_for_each(Patch::finish).at(path)?;
        }
        if self.has_sum {
            file.embed_sum(watch)?;
        }
        file.finish_if(|| self.check_sources(disk, path))
    }

    /// Checks that all sources, and the file to replace, are unchanged since they were opened.
    fn check_sources(&self, disk: &dyn Disk, path: &Path) -> Result<(), EditError> {
        let resolved = disk.resolve(path).map_err(|error| EditErrorKind::unresolved(error).of(path))?;
        for source in &self.sources {
            source.check_unchanged().at(&source.path)?;
            if source.resolved == resolved {
                let now = disk.stat(&resolved).doing("stat").at(path)?;
                if now.is_none_or(|now| now.version != source.version) {
                    return Err(EditErrorKind::CHANGED.of(path));
                }
            }
        }
        Ok(())
    }
}

impl Plan<'_> {
    /// Waits for edits, and returns the header if the file at the path is still the source.
    fn old_header(&self, disk: &dyn Disk, file: &dyn Handle) -> Result<Vec<u8>, EditErrorKind> {
        let Self { source, resolved, .. } = self;
        let header = source.check_unchanged()?;
        undo::wait_for_edits(disk, resolved, file, source.version.len)?;
        let now = file.stat().doing("stat")?;
        if source.check_unchanged()? != header || now.version != source.version {
            return Err(EditErrorKind::CHANGED);
        }
        self.check_name(disk).map(|()| header)
    }

    /// Another file may have replaced it before the lock, or may do so without it.
    fn check_name(&self, disk: &dyn Disk) -> Result<(), EditErrorKind> {
        match disk.stat(&self.resolved).doing("stat")? {
            Some(found) if found.version.identity == self.source.version.identity => Ok(()),
            _ => Err(EditErrorKind::CHANGED),
        }
    }
}

/// Replaces the digits in a new header by the sum of the file that it will have.
fn embed(header: &mut [u8], file: &dyn Handle, watch: Watch<'_>) -> Result<(), EditErrorKind> {
    let sum = sum_after(header, file, watch, Verifier::finish)?;
    *digits(header, sum.at)? = sum.digits();
    Ok(())
}

/// Returns the offset of the digits of the sum in a header.
fn sum_at(header: &[u8]) -> Result<u64, EditErrorKind> {
    let mut verifier = Verifier::new(Sha256::new());
    verifier.update(header);
    verifier.finish().map(|sum| sum.at).map_err(|error| FileErrorKind::Format(error).into())
}

fn is_missing(sum: &Result<u64, EditErrorKind>) -> bool {
    let Err(EditErrorKind::File(FileErrorKind::Format(error))) = sum else { return false };
    error.kind == ErrorKind::SumMissing
}

fn digits(header: &mut [u8], at: u64) -> Result<&mut [u8; 64], EditErrorKind> {
    let digits = usize::try_from(at).ok().and_then(|at| header.get_mut(at..)?.first_chunk_mut());
    digits.ok_or(EditErrorKind::CHANGED)
}

impl Source {
    /// Returns the header, with the 8 bytes of its length, if the file is unchanged since it was opened.
    fn check_unchanged(&self) -> Result<Vec<u8>, EditErrorKind> {
        let now = self.file.stat().doing("stat")?;
        let header = read_header(&*self.file).doing("read")?;
        match now.version == self.version && fingerprint(&header) == self.fingerprint {
            true => Ok(header),
            false => Err(EditErrorKind::CHANGED),
        }
    }

    /// Reads some of the `left` bytes at `at`.
    fn read<'b>(&self, at: u64, left: u64, buffer: &'b mut [u8]) -> Result<&'b mut [u8], EditError> {
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let piece = buffer.get_mut(..len).unwrap_or(&mut []);
        match read_up_to(&*self.file, at, piece).doing("read").at(&self.path)? {
            len if len == piece.len() => Ok(piece),
            _ => Err(EditErrorKind::CHANGED.of(&self.path)),
        }
    }
}
