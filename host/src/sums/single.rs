//! The sums of a model in one file. Its header is read piece by piece, so memory does not grow with it.

use super::digest::{Trouble, sha256_of};
use crate::complaint::Complaint;
use crate::decoding::{self, Extra, in_file, print_tensors};
use crate::failure::{NotRead, sentence};
use crate::header::visit;
use crate::model::open_sound;
use crate::number::digits;
use crate::parallel::in_order;
use crate::rows::each_row;
use crate::source::Source;
use crate::text::quoted;
use crate::work::Work;
use embedded_safetensors::{Event, Summary};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::num::NonZero;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use tempfile::SpooledTempFile;

/// So many tensors are given to the threads at a time.
const BATCH: usize = 4096;

/// Of what waits to be printed, so much is held in memory, and the rest in a file without a name.
const HELD: usize = 1 << 20;

/// A file that is proven to be sound.
pub struct Single<'p> {
    path: &'p Path,
    source: Source,
    /// The same file, for threads.
    file: File,
    summary: Summary,
}

impl<'p> Single<'p> {
    /// # Errors
    /// The file is not sound, or cannot be read.
    pub fn open(path: &'p Path) -> Result<Self, Complaint> {
        let (source, summary) = open_sound(path)?;
        let (source, file) = source.share().map_err(|reason| Complaint::not_read(path, reason))?;
        Ok(Self { path, source, file, summary })
    }

    /// How long the file is.
    pub fn len(&self) -> u64 {
        self.summary.data_start + self.summary.data_len
    }

    /// The sum of the whole file.
    ///
    /// # Errors
    /// It cannot be read; the user's stop.
    pub fn sum(&self, work: &Work) -> Result<String, Complaint> {
        let sum = sha256_of(&self.file, 0..self.len(), work).map_err(|trouble| trouble.about(self.path))?;
        Ok(digits(&sum))
    }

    /// Prints a line for each tensor, in the order of the header.
    ///
    /// # Errors
    /// As [`sum`](Self::sum); those of `out`.
    pub fn print_lines(
        &mut self,
        threads: NonZero<usize>,
        work: &Work,
        out: &mut impl Write,
    ) -> Result<(), Complaint> {
        let mut sums = self.tensor_sums(threads, work)?;
        let printed = each_row(&mut self.source, |row| {
            Ok(writeln!(out, "  {}  {}", next(&mut sums)?, quoted(row.name))?)
        });
        printed.map_err(|trouble| self.complaint(trouble))
    }

    /// Prints the tensors as a member of a JSON object, in the order of the header.
    ///
    /// # Errors
    /// As [`print_lines`](Self::print_lines).
    pub fn print_member(
        &mut self,
        threads: NonZero<usize>,
        work: &Work,
        out: &mut impl Write,
    ) -> Result<(), Complaint> {
        let mut sums = self.tensor_sums(threads, work)?;
        let extra = Extra::Sum(&mut || next(&mut sums));
        let printed = print_tensors(&mut self.source, extra, self.summary.data_start, out);
        printed.map_err(|trouble| self.complaint(trouble))
    }

    /// # Errors
    /// The file is no longer the one that was proven.
    pub fn check_unchanged(&self) -> Result<(), Complaint> {
        self.source.check_unchanged().map_err(|reason| Complaint::not_read(self.path, reason))
    }

    /// The sums of all tensors, 32 bytes each, in the order of the header.
    fn tensor_sums(&mut self, threads: NonZero<usize>, work: &Work) -> Result<impl Read + use<>, Complaint> {
        let sums = write_sums(&mut self.source, &self.file, self.summary.data_start, threads, work);
        sums.map_err(|trouble| trouble.about(self.path))
    }

    fn complaint(&self, trouble: decoding::Trouble) -> Complaint {
        match trouble {
            decoding::Trouble::Read(reason) => Complaint::not_read(self.path, reason),
            decoding::Trouble::Write(error) => no_room(&error),
        }
    }
}

fn write_sums(
    source: &mut Source,
    file: &File,
    data_start: u64,
    threads: NonZero<usize>,
    work: &Work,
) -> Result<BufReader<SpooledTempFile>, Trouble> {
    let mut sums = BufWriter::new(SpooledTempFile::new(HELD));
    let mut take = |batch: &mut Vec<Range<u64>>| {
        let put = |sum: Result<[u8; 32], Trouble>| Ok::<_, Trouble>(sums.write_all(&sum?)?);
        let taken = in_order(batch, threads, |range| sha256_of(file, range.clone(), work), put);
        batch.clear();
        taken
    };
    let (mut batch, mut begin) = (Vec::with_capacity(BATCH), 0);
    visit(source, |event, _, _| {
        match event {
            Event::Begin(at) => begin = *at,
            Event::End(at) => batch.push(in_file(data_start, begin..*at).map_err(Trouble::Read)?),
            _ => {}
        }
        if batch.len() == BATCH {
            take(&mut batch)?;
        }
        Ok::<_, Trouble>(ControlFlow::Continue(()))
    })?;
    take(&mut batch)?;
    let mut sums = sums.into_inner().map_err(io::IntoInnerError::into_error)?;
    sums.seek(SeekFrom::Start(0))?;
    Ok(BufReader::new(sums))
}

/// In hexadecimal digits.
fn next(sums: &mut impl Read) -> Result<String, NotRead> {
    let mut sum = [0; 32];
    // There is one for each tensor, unless the header has changed.
    sums.read_exact(&mut sum).map_err(|_| NotRead::changed())?;
    Ok(digits(&sum))
}

/// Text that is printed when it is known to be right.
pub struct Text(BufWriter<SpooledTempFile>);

impl Text {
    pub fn new() -> Self {
        Self(BufWriter::new(SpooledTempFile::new(HELD)))
    }

    /// # Errors
    /// Those of the temporary file and of standard output.
    pub fn print(self) -> Result<(), Complaint> {
        let text = self.0.into_inner().map_err(io::IntoInnerError::into_error);
        let mut text = text.map_err(|error| no_room(&error))?;
        text.seek(SeekFrom::Start(0)).map_err(|error| no_room(&error))?;
        io::copy(&mut text, &mut io::stdout().lock())?;
        Ok(())
    }
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// An error of writing to a [`Text`].
pub fn no_room(error: &io::Error) -> Complaint {
    Complaint::usage(format!("no temporary file can hold the sums: {}", sentence(error)))
}
