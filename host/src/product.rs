//! A file that a command makes: whole in its place, or not there.

use crate::complaint::Complaint;
use crate::siblings::is_absent;
use crate::work::listen;
use embedded_safetensors::file::FileErrorKind;
use safetensors_files::{AtomicFile, ClosedFile, EditError, EditErrorKind};
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, StdoutLock, Write};
use std::path::{Path, PathBuf};

/// Bytes on their way to a file, or to standard output for `-`. Dropped before it is finished, it leaves nothing behind.
pub struct Product {
    path: PathBuf,
    to: To,
}

enum To {
    Output(BufWriter<StdoutLock<'static>>),
    File { file: AtomicFile, force: bool },
}

impl Product {
    /// Begins a file of this name, which does not show before it is whole. One that is there already is replaced only if `force` says so.
    ///
    /// # Errors
    /// There is a file already, or what is there is none; those of the system.
    pub fn create(path: &Path, force: bool) -> Result<Self, Complaint> {
        if path.as_os_str() == "-" {
            return Ok(Self { path: path.into(), to: To::Output(BufWriter::new(io::stdout().lock())) });
        }
        may_be_made(path, force)?;
        listen();
        Ok(Self {
            path: path.into(),
            to: To::File { file: AtomicFile::create(path).map_err(cannot_write)?, force },
        })
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// Those of the system, with the name of the file.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), Complaint> {
        self.write_all(bytes).map_err(|error| self.cannot(error))
    }

    /// Goes on elsewhere, where it is a file.
    ///
    /// # Errors
    /// Those of the system; it is standard output.
    pub fn seek(&mut self, at: u64) -> Result<(), Complaint> {
        let sought = match &mut self.to {
            To::Output(_) => Err(io::ErrorKind::NotSeekable.into()),
            To::File { file, .. } => file.seek(SeekFrom::Start(at)).map(drop),
        };
        sought.map_err(|error| self.cannot(error))
    }

    /// An error of a write, with the name of the file.
    pub fn cannot(&self, error: io::Error) -> Complaint {
        match self.to {
            To::Output(_) => error.into(),
            To::File { .. } => Complaint::cannot_write(&self.path, &error),
        }
    }

    /// Puts the file in its place, once it is on the medium.
    ///
    /// # Errors
    /// Those of the system; then what was there is there still.
    pub fn finish(self) -> Result<(), Complaint> {
        self.close()?.finish()
    }

    /// Closes the file once it is on the medium, still hidden: of files that wait for each other none is held open.
    ///
    /// # Errors
    /// Those of the system; then what was there is there still.
    pub fn close(self) -> Result<Closed, Complaint> {
        let Self { path, to } = self;
        let file = match to {
            To::Output(mut out) => out.flush().map(|()| None)?,
            To::File { file, force } => Some((file.close().map_err(cannot_write)?, force)),
        };
        Ok(Closed { path, file })
    }
}

/// A product that is whole, and waits for its name. Dropped before it is finished, it leaves nothing behind.
pub struct Closed {
    path: PathBuf,
    /// Nothing for standard output. Else whether what is there is replaced, too.
    file: Option<(ClosedFile, bool)>,
}

impl Closed {
    /// What it is to be called.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// As [`Product::finish`].
    pub fn finish(self) -> Result<(), Complaint> {
        match self.file {
            None => Ok(()),
            Some((file, true)) => file.replace().map_err(cannot_write),
            // Also if it came while this was written.
            Some((file, false)) => file.take_free_place().map_err(cannot_write),
        }
    }
}

impl Write for Product {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            To::Output(out) => out.write(bytes),
            To::File { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Output(out) => out.flush(),
            To::File { file, .. } => file.flush(),
        }
    }
}

/// Whatever the system could not do, it was for writing the file.
fn cannot_write(error: EditError) -> Complaint {
    match error.kind() {
        EditErrorKind::File(FileErrorKind::System { error: reason, .. }) => {
            Complaint::cannot_write(error.path(), reason)
        }
        _ => error.into(),
    }
}

/// Whether a command may make a file of this name.
///
/// # Errors
/// There is one already and `force` is not given, or what is there is no file.
pub fn may_be_made(path: &Path, force: bool) -> Result<(), Complaint> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(Complaint::about(path, "is a folder, and no file")),
        Ok(there) if !there.is_file() => Err(Complaint::about(path, "is no file, and is not replaced")),
        Ok(_) if !force => Err(Complaint::about(path, "exists already; --force replaces it")),
        Ok(_) => Ok(()),
        Err(_) if path.is_symlink() => Err(Complaint::about(path, "is a link that leads nowhere")),
        Err(error) if is_absent(&error) => Ok(()),
        Err(error) => Err(Complaint::cannot_write(path, &error)),
    }
}

/// Standard output takes a file, or what is said about it as JSON.
///
/// # Errors
/// Both are asked for.
pub fn not_both_on_output(json: bool, output: Option<&Path>) -> Result<(), Complaint> {
    let is_output = output.is_some_and(|output| output.as_os_str() == "-");
    match json && is_output {
        true => Err(Complaint::usage(
            "a file and JSON do not go together on standard output; give --output a name",
        )),
        false => Ok(()),
    }
}

/// So that the name of this file, or that it has none any more, is on the medium, too.
#[cfg(unix)]
pub fn sync_folder(place: &Path) -> io::Result<()> {
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
pub fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
