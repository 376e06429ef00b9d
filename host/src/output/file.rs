//! Output files, written atomically.

use crate::context::Context;
use crate::error::{EXISTS, Error};
use crate::input::discover::is_absent;
use crate::input::remote::check_output;
use embedded_safetensors::file::FileErrorKind;
use safetensors_files::{AtomicFile, ClosedFile, EditError, EditErrorKind};
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Seek, SeekFrom, StdoutLock, Write};
use std::path::{Path, PathBuf};

/// Bytes for a file, or for standard output if the path is `-`. Dropped before it is finished, it leaves
/// nothing.
pub struct Product {
    path: PathBuf,
    to: To,
    /// The length of the complete file, if it is known.
    len: Option<u64>,
}

enum To {
    Output(BufWriter<StdoutLock<'static>>),
    File { file: AtomicFile, force: bool },
}

impl Product {
    /// Begins a file of this name, which appears only when complete. An existing file is replaced only with
    /// `force`.
    ///
    /// # Errors
    /// A file exists already, or the path is not a regular file; those of the system.
    pub fn create(context: &Context, path: &Path, force: bool) -> Result<Self, Error> {
        Self::create_after(context, path, force, None)
    }

    /// The same. Of many files in one directory that wait for their names, each follows the one before.
    pub fn create_after(
        context: &Context,
        path: &Path,
        force: bool,
        before: Option<&Closed>,
    ) -> Result<Self, Error> {
        if path.as_os_str() == "-" {
            let to = To::Output(BufWriter::new(io::stdout().lock()));
            return Ok(Self { path: path.into(), to, len: None });
        }
        check_output_path(path, force)?;
        context.listen();
        let before = before.and_then(|closed| closed.file.as_ref());
        let file = before.map_or_else(|| AtomicFile::create(path), |(before, _)| before.another(path));
        let file = file.map_err(|error| cannot_write(error, None))?;
        Ok(Self { path: path.into(), to: To::File { file, force }, len: None })
    }

    fn writer(&mut self) -> &mut dyn Write {
        match &mut self.to {
            To::Output(out) => out,
            To::File { file, .. } => file,
        }
    }

    /// Sets the length of the complete file, for errors.
    pub fn expect(&mut self, len: u64) {
        self.len = Some(len);
    }

    /// Writes all bytes.
    ///
    /// # Errors
    /// Those of the system, with the name of the file.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.write_all(bytes).map_err(|error| self.cannot(error))
    }

    /// Writes up to `len` bytes that a file has at `from`, and returns how many. 0 if the system cannot copy
    /// them; then they must be read and [`put`](Self::put).
    pub fn copy(&mut self, file: &File, from: u64, len: u64) -> u64 {
        match &mut self.to {
            To::Output(_) => 0,
            To::File { file: output, .. } => output.copy_from(file, from, len).unwrap_or(0),
        }
    }

    /// Continues at another offset, if the output is a file.
    ///
    /// # Errors
    /// Those of the system; the output is standard output.
    pub fn seek(&mut self, at: u64) -> Result<(), Error> {
        let sought = match &mut self.to {
            To::Output(_) => Err(io::ErrorKind::NotSeekable.into()),
            To::File { file, .. } => file.seek(SeekFrom::Start(at)).map(drop),
        };
        sought.map_err(|error| self.cannot(error))
    }

    /// The length until now of an output that is a file.
    ///
    /// # Errors
    /// Those of the system.
    pub fn position(&mut self) -> Result<u64, Error> {
        let position = match &mut self.to {
            To::Output(_) => Ok(0),
            To::File { file, .. } => file.stream_position(),
        };
        position.map_err(|error| self.cannot(error))
    }

    /// An error of a write, with the name of the file.
    pub fn cannot(&self, error: io::Error) -> Error {
        match self.to {
            To::Output(_) => error.into(),
            To::File { .. } => Error::cannot_write_all(&self.path, &error, self.len),
        }
    }

    /// Syncs the file and puts it in place.
    ///
    /// # Errors
    /// Those of the system; an existing file is unchanged then.
    pub fn finish(self) -> Result<(), Error> {
        self.close()?.finish()
    }

    /// Syncs and closes the file, still under its temporary name, so that many files can wait without being
    /// open.
    ///
    /// # Errors
    /// Those of the system; an existing file is unchanged then.
    pub fn close(self) -> Result<Closed, Error> {
        let Self { path, to, len } = self;
        let file = match to {
            To::Output(mut out) => out.flush().map(|()| None)?,
            To::File { file, force } => {
                Some((file.close().map_err(|error| cannot_write(error, len))?, force))
            }
        };
        Ok(Closed { path, file })
    }
}

/// A complete file that waits for its final name. Dropped before it is finished, it leaves nothing.
pub struct Closed {
    path: PathBuf,
    /// None for standard output; otherwise the file, and whether it may replace an existing one.
    file: Option<(ClosedFile, bool)>,
}

impl Closed {
    /// The final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the file in place.
    pub fn finish(self) -> Result<(), Error> {
        match self.file {
            None => Ok(()),
            // Without `force`, fails also if a file appeared in the meantime.
            Some((file, force)) => {
                let placed = if force { file.replace() } else { file.take_free_place() };
                placed.map_err(|error| cannot_write(error, None))
            }
        }
    }
}

impl Write for Product {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

/// All errors of the system count as errors of writing the file.
fn cannot_write(error: EditError, len: Option<u64>) -> Error {
    match error.kind() {
        EditErrorKind::File(FileErrorKind::System { action: "replace", .. }) => error.into(),
        EditErrorKind::File(FileErrorKind::System { error: reason, .. }) => {
            Error::cannot_write_all(error.path(), reason, len)
        }
        _ => error.into(),
    }
}

/// Checks that a command may write a file of this name.
///
/// # Errors
/// A file exists and `force` is not given, or the path is not a regular file.
pub fn check_output_path(path: &Path, force: bool) -> Result<(), Error> {
    check_output(path)?;
    let reason = match fs::metadata(path) {
        Ok(there) if there.is_dir() => "is a directory, not a file",
        Ok(there) if !there.is_file() => "not a regular file; refusing to overwrite it",
        Ok(_) if !force => EXISTS,
        Err(_) if path.is_symlink() => "is a dangling symbolic link",
        Err(error) if !is_absent(&error) => return Err(Error::cannot_write(path, &error)),
        _ => return Ok(()),
    };
    Err(Error::about(path, reason))
}

/// Standard output can take the file or its description as JSON.
///
/// # Errors
/// Both are requested.
pub fn check_stdout_use(json: bool, output: Option<&Path>) -> Result<(), Error> {
    let is_output = output.is_some_and(|output| output.as_os_str() == "-");
    match json && is_output {
        true => Err(Error::usage("a file and JSON cannot share standard output; use --output FILE")),
        false => Ok(()),
    }
}

/// # Errors
/// Bytes would go to a terminal without `force`.
pub fn check_terminal(output: &Path, force: bool) -> Result<(), Error> {
    match output.as_os_str() == "-" && !force && io::stdout().is_terminal() {
        true => Err(Error::usage("refusing to print bytes to a terminal; use --output FILE or --force")),
        false => Ok(()),
    }
}
