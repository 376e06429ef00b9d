//! Opening what the command line names, be it a file, a pipe or a device.

use crate::failure::NotRead;
use crate::source::Source;
use embedded_safetensors::{
    FileModel,
    file::{FileError, FileErrorKind},
};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek};
use std::path::Path;

/// Opens a file, or standard input for `-`. Never waits for somebody to open the other end.
pub fn open(path: &Path) -> Result<Source, NotRead> {
    if path.as_os_str() == "-" { open_stdin() } else { open_path(path) }
}

/// Opens what is read once, from front to end, and is no model: a file, or what a program writes into a pipe.
pub fn open_list(path: &Path) -> Result<Box<dyn Read>, NotRead> {
    let (file, metadata) = no_folder(system::open_at_once(path)?)?;
    if system::is_fifo(&metadata) { system::first_of_fifo(file) } else { Ok(system::patient(file)) }
}

/// What the system says of it.
fn no_folder(file: File) -> io::Result<(File, Metadata)> {
    let metadata = file.metadata()?;
    if metadata.is_dir() { Err(ErrorKind::IsADirectory.into()) } else { Ok((file, metadata)) }
}

fn open_path(path: &Path) -> Result<Source, NotRead> {
    let (file, metadata) = no_folder(system::open_at_once(path)?)?;
    // Files that the system makes up as they are read claim to be empty.
    if metadata.is_file() && metadata.len() > 0 {
        let source = Source::file(file, &metadata)?;
        return match source.has_header() {
            true => Ok(source),
            false => not_half_written(path).map(|()| source),
        };
    }
    if system::is_fifo(&metadata) {
        return Source::stream(system::first_of_fifo(file)?);
    }
    Source::stream(system::patient(file))
}

const HALF_WRITTEN: &str = "its header is half written, by an edit that is under way or was interrupted; \
    `safetensors pack --in-place FILE` repairs it";

/// # Errors
/// The file, whose header was not sound a moment ago, is being edited in place, or was and the edit was interrupted.
fn not_half_written(path: &Path) -> Result<(), NotRead> {
    match FileModel::open(path) {
        Ok(_) => Err(NotRead::changed()),
        Err(error) if is_interruption(&error) => Err(NotRead::because(HALF_WRITTEN)),
        Err(_) => Ok(()),
    }
}

/// Whether an edit in place has left the header of this file half written, or is about to write it.
pub fn is_interrupted(path: &Path) -> bool {
    FileModel::open(path).is_err_and(|error| is_interruption(&error))
}

fn is_interruption(error: &FileError) -> bool {
    matches!(error.kind(), FileErrorKind::Interrupted)
}

/// Standard input may be a file that somebody has read the beginning of: what is left counts then.
fn open_stdin() -> Result<Source, NotRead> {
    let (mut file, metadata) = no_folder(system::stdin()?)?;
    if metadata.is_file() && metadata.len() > 0 && file.stream_position()? == 0 {
        return Source::file(file, &metadata);
    }
    Source::stream(system::patient(file))
}

#[cfg(unix)]
mod system {
    use crate::failure::NotRead;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::fs::{File, Metadata, OpenOptions};
    use std::io::{self, Cursor, ErrorKind, Read};
    use std::os::fd::AsFd;
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
    use std::path::Path;

    /// How long a pipe may have no writer: time enough for one that is started together with us.
    const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

    pub fn open_at_once(path: &Path) -> io::Result<File> {
        let at_once = rustix::fs::OFlags::NONBLOCK.bits();
        OpenOptions::new().read(true).custom_flags(at_once.cast_signed()).open(path)
    }

    pub fn is_fifo(metadata: &Metadata) -> bool {
        metadata.file_type().is_fifo()
    }

    pub fn stdin() -> io::Result<File> {
        Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
    }

    /// Reads a file that was opened without waiting as if it had been opened normally.
    pub fn patient(file: File) -> Box<dyn Read> {
        Box::new(Patient(file))
    }

    /// A pipe that has no writer looks like one that has ended, before the first byte.
    pub fn first_of_fifo(mut file: File) -> Result<Box<dyn Read>, NotRead> {
        wait_readable(&file, Some(&PATIENCE))?;
        let mut first = [0];
        match file.read(&mut first) {
            Ok(0) => Err(NotRead::because("nothing writes to this pipe")),
            Ok(_) => Ok(Box::new(Cursor::new(first).chain(Patient(file)))),
            Err(error) if is_transient(&error) => Ok(patient(file)),
            Err(error) => Err(error.into()),
        }
    }

    struct Patient(File);

    impl Read for Patient {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            loop {
                match self.0.read(buffer) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => wait_readable(&self.0, None)?,
                    outcome => return outcome,
                }
            }
        }
    }

    fn wait_readable(file: &File, timeout: Option<&Timespec>) -> io::Result<()> {
        let mut waiting = [PollFd::new(file, PollFlags::IN)];
        match poll(&mut waiting, timeout) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn is_transient(error: &io::Error) -> bool {
        matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
    }
}

#[cfg(not(unix))]
mod system {
    use crate::failure::NotRead;
    use std::fs::{File, Metadata};
    use std::io::{self, Read};
    use std::path::Path;

    pub fn open_at_once(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    pub fn is_fifo(_: &Metadata) -> bool {
        false
    }

    #[cfg(windows)]
    pub fn stdin() -> io::Result<File> {
        use std::os::windows::io::AsHandle;
        Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
    }

    pub fn patient(file: File) -> Box<dyn Read> {
        Box::new(file)
    }

    pub fn first_of_fifo(file: File) -> Result<Box<dyn Read>, NotRead> {
        Ok(patient(file))
    }
}
