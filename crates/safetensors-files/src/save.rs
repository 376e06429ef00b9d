//! A editor becomes a file: its header in place, or a copy of everything.

use crate::disk::{Disk, Handle, read_header, read_up_to};
use crate::editor::{Held, ModelEditor, Source, fingerprint};
use crate::error::{EditError, EditErrorKind};
use crate::system::System;
use crate::undo;
use crate::writer::{FileWriter, named};
use core::ops::ControlFlow;
#[cfg(doc)]
use embedded_safetensors::file::FileErrorKind;
use embedded_safetensors::file::shared::Undo;
use embedded_safetensors::write::{FileSpec, TensorSpec};
use std::io;
use std::path::Path;

/// How a editor has been saved.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveMethod {
    /// The header was written over the old one, and no data.
    InPlace,
    /// A new file has been written, with the data of the old ones, and has taken its place.
    Copied,
}

/// As much of a tensor is read at once.
const PIECE: usize = 1 << 18;

/// Hears how many bytes of tensors have been copied, of how many, and says whether to go on.
type Watch<'w> = &'w mut dyn FnMut(u64, u64) -> ControlFlow<()>;

impl ModelEditor {
    /// Saves the model at `path`, which may be that of a file it comes from.
    ///
    /// Where only names and metadata of one file have changed, it is saved where it was, and the new header has room in the place of
    /// the old one, that is all that is written. The order of the tensors stays, also where new names would change it; spaces fill what is
    /// left. Meanwhile the length of the header is one that no reader takes. After a power cut, or when the program is killed, the old header is
    /// put back by the next [`open`](Self::open) or [`recover`](Self::recover), from a file that lies beside the model meanwhile (`.NAME.undo`; where something
    /// else has that name, the model is copied). A model that is moved or copied before that leaves that file behind, and stays as it is: recover
    /// it first. Other programs may open the file at the same time, but not save it, too; threads of one program may.
    /// Other names of the file (hard links) have the new header, too.
    ///
    /// Otherwise, also where the file is read-only and its folder is not, a new file is written as by [`FileWriter`], with all that is said
    /// there, with the tensors in the reference's order, or [as they are to be placed](Self::set_placement), and with
    /// [room for later edits](Self::set_header_room) if that is asked for. To have that done where the header alone could be written, ask for
    /// [`Placement::Start(8)`](embedded_safetensors::write::Placement::Start), which is the reference's.
    ///
    /// A editor that was saved onto one of its own files is no longer about that file as it is: open it again to go on.
    ///
    /// # Errors
    /// [`FileErrorKind::Changed`] when a file that it comes from, or is to replace, was changed by someone else since it was opened;
    /// otherwise as [`FileWriter::create`] and [`FileWriter::finish`]. The old file is
    /// as it was then, with the exception that is said at `finish`, and unless all that failed was to remove the undo file: then the new header is
    /// there.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<SaveMethod, EditError> {
        self.save_on(&System, path.as_ref())
    }

    /// As [`save`](Self::save), for copies that take long: `watch` hears how many bytes of tensors have been copied and how many there are, first
    /// `(0, total)`, then after every piece of at most 256 KiB, and stops the copy by [`ControlFlow::Break`]. What is saved
    /// [in place](SaveMethod::InPlace) is no copy, and `watch` hears nothing of it.
    ///
    /// ```
    /// use safetensors_files::{ModelEditor, EditErrorKind};
    /// use std::ops::ControlFlow;
    /// # use embedded_safetensors::{Dtype, write::{FileSpec, TensorSpec}};
    /// # use safetensors_files::write_file;
    /// # let folder = std::env::temp_dir().join(format!("save-watched-{}", std::process::id()));
    /// # std::fs::create_dir(&folder)?;
    /// # let (path, copy) = (folder.join("m"), folder.join("c"));
    /// # let tensors = [TensorSpec::new("a", Dtype::U8, &[2])];
    /// # write_file(&path, FileSpec::new(&tensors), |file| file.write_tensor("a", b"ab"))?;
    ///
    /// let outcome = ModelEditor::open(&path)?.save_watched(&copy, &mut |done, total| match done < total / 2 {
    ///     true => ControlFlow::Continue(()),
    ///     false => ControlFlow::Break(()), // someone has pressed a key, say
    /// });
    /// assert!(outcome.is_err_and(|error| matches!(error.kind(), EditErrorKind::Stopped)));
    /// assert!(!copy.exists());
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`EditErrorKind::Stopped`] when `watch` has stopped it, also after the last piece: nothing is left behind then, and what was at `path` is as it was.
    /// Otherwise as [`save`](Self::save).
    ///
    /// # Panics
    /// Never, unless `watch` does; then nothing is left behind.
    pub fn save_watched(
        &self,
        path: impl AsRef<Path>,
        watch: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<SaveMethod, EditError> {
        self.save_watched_on(&System, path.as_ref(), watch)
    }

    /// As [`save`](Self::save).
    pub(crate) fn save_on(&self, disk: &dyn Disk, path: &Path) -> Result<SaveMethod, EditError> {
        self.save_watched_on(disk, path, &mut |_, _| ControlFlow::Continue(()))
    }

    fn save_watched_on(
        &self,
        disk: &dyn Disk,
        path: &Path,
        watch: Watch<'_>,
    ) -> Result<SaveMethod, EditError> {
        match self.save_in_place(disk, path).map_err(|fault| fault.of(path))? {
            true => Ok(SaveMethod::InPlace),
            false => self.copy(disk, path, watch).map(|()| SaveMethod::Copied),
        }
    }

    /// Whether that was possible.
    fn save_in_place(&self, disk: &dyn Disk, path: &Path) -> Result<bool, EditErrorKind> {
        let [source] = &self.sources[..] else { return Ok(false) };
        let is_whole = self.tensors.len() + self.padding.len() == source.tensors;
        let place = disk.resolve(path).map_err(EditErrorKind::no_place)?;
        let Some(undo) = Undo::path_beside(&place) else { return Ok(false) };
        if !is_whole || self.is_to_be_copied() || place != source.place {
            return Ok(false);
        }
        let Some(new) = self.header_in(source)? else { return Ok(false) };
        let _guard = undo::lock();
        if undo::is_taken(disk, &undo)? {
            return Ok(false);
        }
        let old = source.check_unchanged()?;
        let Some(file) = open_to_write(disk, &place)? else { return Ok(false) };
        undo::outlast(disk, &place, &*file, source.version.len)?;
        let now = file.stat().map_err(|error| EditErrorKind::system("look at", error))?;
        if source.check_unchanged()? != old || now.version != source.version {
            return Err(EditErrorKind::CHANGED);
        }
        if old != new {
            let edit = Undo::new(&mut &*file, source.version.len, old, new)
                .map_err(|error| EditErrorKind::system("read", error))?;
            undo::overwrite(&edit, disk, (&place, &undo), &*file)?;
        }
        Ok(true)
    }

    /// The new header, with the 8 bytes of its length, as long as that of the source is; nothing if it has no room there.
    fn header_in(&self, source: &Source) -> Result<Option<Vec<u8>>, EditErrorKind> {
        let mut tensors: Vec<(&String, &Held)> = self.tensors.iter().chain(&self.padding).collect();
        tensors.sort_by_key(|(_, held)| (held.begin, held.end));
        let tensors: Vec<TensorSpec<'_>> = tensors.iter().map(|(name, held)| held.spec(name)).collect();
        let pairs: Vec<(&str, &str)> = self.metadata().collect();
        let spec = self.spec(&tensors, &pairs);
        let mut scratch = vec![0; tensors.len() + pairs.len()];
        let plan = spec.plan_as_given(&mut scratch).map_err(|error| named(error, &spec))?;
        let mut header = vec![0; usize::try_from(plan.data_start()).unwrap_or(0)];
        plan.encoder().encode(&mut header);
        let json = header.get(8..).unwrap_or(&[]).trim_ascii_end();
        let room = source.data_start - 8;
        if json.len() as u64 > room {
            return Ok(None);
        }
        let mut bytes = room.to_le_bytes().to_vec();
        bytes.extend(json);
        bytes.resize(usize::try_from(source.data_start).unwrap_or(0), b' ');
        Ok(Some(bytes))
    }

    fn spec<'a>(&self, tensors: &'a [TensorSpec<'a>], pairs: &'a [(&'a str, &'a str)]) -> FileSpec<'a> {
        let spec = FileSpec::new(tensors);
        let spec = if self.metadata.is_some() { spec.with_metadata(pairs) } else { spec };
        let spec = self.placement.map_or(spec, |placement| spec.with_placement(placement));
        self.room.map_or(spec, |room| spec.with_header_room(room))
    }

    fn is_to_be_copied(&self) -> bool {
        self.placement.is_some() || self.room.is_some()
    }

    fn copy(&self, disk: &dyn Disk, path: &Path, watch: Watch<'_>) -> Result<(), EditError> {
        let tensors: Vec<TensorSpec<'_>> = self.tensors().collect();
        let pairs: Vec<(&str, &str)> = self.metadata().collect();
        let held: Vec<&Held> = self.tensors.values().collect();
        self.check_sources(disk, path)?;
        let mut file = FileWriter::create_on(disk, path, self.spec(&tensors, &pairs))?;
        let mut buffer = vec![0; PIECE];
        let (mut done, total) = (0, held.iter().map(|held| held.end - held.begin).sum());
        let mut go_on = |done| match watch(done, total) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(EditErrorKind::Stopped.of(path)),
        };
        go_on(done)?;
        for index in file.order() {
            let Some((held, source)) =
                held.get(index).and_then(|held| Some((held, self.sources.get(held.source)?)))
            else {
                continue;
            };
            let mut at = source.data_start + held.begin;
            let mut tensor = file.tensor_at(index);
            while tensor.remaining() > 0 {
                let piece = source.read(at, tensor.remaining(), &mut buffer)?;
                tensor.write_bytes(piece)?;
                at += piece.len() as u64;
                done += piece.len() as u64;
                go_on(done)?;
            }
        }
        file.finish_if(|| self.check_sources(disk, path))
    }

    /// Whether all files are as they were when they were opened, also one that is to be replaced.
    fn check_sources(&self, disk: &dyn Disk, path: &Path) -> Result<(), EditError> {
        let place = disk.resolve(path).map_err(|error| EditErrorKind::no_place(error).of(path))?;
        for source in &self.sources {
            source.check_unchanged().map_err(|fault| fault.of(&source.path))?;
            if source.place == place {
                let now =
                    disk.look(&place).map_err(|error| EditErrorKind::system("look at", error).of(path))?;
                if now.is_none_or(|now| now.version != source.version) {
                    return Err(EditErrorKind::CHANGED.of(path));
                }
            }
        }
        Ok(())
    }
}

/// A file that is read-only can still be replaced, where its folder is not.
fn open_to_write(disk: &dyn Disk, place: &Path) -> Result<Option<Box<dyn Handle>>, EditErrorKind> {
    match disk.open(place, true) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        outcome => outcome.map(Some).map_err(|error| EditErrorKind::system("write", error)),
    }
}

impl Source {
    /// The header, with the 8 bytes of its length, if the file is as it was when it was opened.
    fn check_unchanged(&self) -> Result<Vec<u8>, EditErrorKind> {
        let now = self.file.stat().map_err(|error| EditErrorKind::system("look at", error))?;
        let header = read_header(&*self.file).map_err(|error| EditErrorKind::system("read", error))?;
        match now.version == self.version && fingerprint(&header) == self.fingerprint {
            true => Ok(header),
            false => Err(EditErrorKind::CHANGED),
        }
    }

    /// Some of the `left` bytes that begin there.
    fn read<'b>(&self, at: u64, left: u64, buffer: &'b mut [u8]) -> Result<&'b [u8], EditError> {
        let room = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let room = buffer.get_mut(..room).unwrap_or(&mut []);
        match read_up_to(&*self.file, at, room) {
            Ok(len) if len == room.len() => Ok(room),
            Ok(_) => Err(EditErrorKind::CHANGED.of(&self.path)),
            Err(error) => Err(EditErrorKind::system("read", error).of(&self.path)),
        }
    }
}
