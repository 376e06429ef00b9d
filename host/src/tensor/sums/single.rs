//! The sums of a single-file model. The header is read in pieces, so memory does not grow with it.

use super::digest::{Trouble, sha256_of};
use crate::context::Context;
use crate::error::Error;
use crate::error::not_read::{NotRead, sentence, temporary};
use crate::input::header::visit;
use crate::input::model::Part;
use crate::input::remote::Handle;
use crate::input::source::{BUFFER, Data, Source, pieces};
use crate::input::validation::open_valid;
use crate::print::decoding::{self, Extra, in_file, print_tensors};
use crate::print::rows::each_row;
use crate::text::number::digits;
use crate::text::quoted;
use crate::threads::in_order;
use crate::work::Work;
use embedded_safetensors::{header::Event, validate::Summary};
use sha2::{Digest, Sha256};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::num::NonZero;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use tempfile::SpooledTempFile;

/// The number of tensors given to the threads at a time.
const BATCH: usize = 4096;

/// Output up to this size is buffered in memory, the rest in an unnamed file.
const HELD: usize = 1 << 20;

/// A validated file.
pub struct Single<'p> {
    path: &'p Path,
    source: Source,
    /// The same file, for threads.
    file: Handle,
    summary: Summary,
}

impl<'p> Single<'p> {
    /// # Errors
    /// The file is invalid or cannot be read.
    pub fn open(context: &Context, path: &'p Path) -> Result<Self, Error> {
        let (source, summary) = open_valid(context, path, Data::Keep)?;
        let (source, file) = source.share().map_err(|reason| Error::not_read(path, reason))?;
        Ok(Self { path, source, file, summary })
    }

    /// Opens the file that was validated as part of a model, even if another file has its path by now.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(part: &'p Part) -> Result<Self, Error> {
        let path = part.path();
        let shared = || {
            let part = match part {
                Part::Remote(part) => return Source::of_remote(part.file().clone())?.share(),
                Part::File(part) => part,
                Part::Header(_) => return part.source()?.share(),
            };
            let file = part.file().try_clone()?;
            let metadata = file.metadata()?;
            Source::file(file, &metadata)?.share()
        };
        let (source, file) = shared().map_err(|reason| Error::not_read(path, reason))?;
        Ok(Self { path, source, file, summary: part.index().summary() })
    }

    /// The requested path.
    pub fn path(&self) -> &'p Path {
        self.path
    }

    /// The length of the file.
    pub fn len(&self) -> u64 {
        self.summary.file_len()
    }

    /// Computes the sum of the file, and of its tensors if requested, on several threads.
    ///
    /// # Errors
    /// The file cannot be read; the sums cannot be stored; interruption by the user.
    pub fn sums(&mut self, tensors: bool, threads: NonZero<usize>, work: &Work) -> Result<Sums, Error> {
        let (len, start) = (self.len(), self.summary.data_start);
        let source = tensors.then_some(&mut self.source);
        let taken = match (&self.file, source) {
            // A server sends it once.
            (Handle::Remote(_), Some(source)) => sums_in_one_pass(source, &self.file, len, start, work),
            (file, source) => take_sums(source, file, len, start, threads, work),
        };
        taken.map_err(|trouble| trouble.about(self.path))
    }

    /// Passes all bytes of the file to `take`, one piece after another.
    ///
    /// # Errors
    /// The file cannot be read; those of `take`.
    pub fn each_piece(&self, take: impl FnMut(&[u8]) -> Result<(), Trouble>) -> Result<(), Trouble> {
        let range = 0..self.len();
        pieces(self.file.reader(&range), range, &mut vec![0; BUFFER], take)
    }

    /// Prints a line for each tensor in header order.
    ///
    /// # Errors
    /// The file cannot be read; those of `out`.
    pub fn print_lines(&mut self, sums: &mut Sums, out: &mut impl Write) -> Result<(), Error> {
        let printed =
            each_row(&mut self.source, |row| Ok(writeln!(out, "  {}  {}", sums.next()?, quoted(row.name))?));
        printed.map_err(|trouble| self.complaint(trouble))
    }

    /// Prints the tensors as a member of a JSON object in header order.
    ///
    /// # Errors
    /// As [`print_lines`](Self::print_lines).
    pub fn print_member(&mut self, sums: &mut Sums, out: &mut impl Write) -> Result<(), Error> {
        let extra = Extra::Sum(&mut || sums.next());
        let printed = print_tensors(&mut self.source, extra, self.summary.data_start, out);
        printed.map_err(|trouble| self.complaint(trouble))
    }

    /// # Errors
    /// The file is no longer the one that was validated.
    pub fn check_unchanged(&self) -> Result<(), Error> {
        self.source.check_unchanged().map_err(|reason| Error::not_read(self.path, reason))
    }

    fn complaint(&self, trouble: decoding::Trouble) -> Error {
        match trouble {
            decoding::Trouble::Read(reason) => Error::not_read(self.path, reason),
            decoding::Trouble::Write(error) => no_room(&error),
        }
    }
}

/// The sums of a file and of its tensors.
pub struct Sums {
    pub file: String,
    /// 32 bytes for each tensor in header order.
    tensors: BufReader<SpooledTempFile>,
}

impl Sums {
    /// The sum of the next tensor.
    fn next(&mut self) -> Result<String, NotRead> {
        let mut sum = [0; 32];
        self.tensors.read_exact(&mut sum).map_err(|error| match error.kind() {
            // There is a sum for each tensor, unless the header has changed.
            io::ErrorKind::UnexpectedEof => NotRead::changed(),
            _ => NotRead::because(format!(
                "the sums cannot be read from a temporary file: {}",
                sentence(&error)
            )),
        })?;
        Ok(digits(&sum))
    }
}

/// The sum of the complete file is computed together with those of the first tensors.
fn take_sums(
    source: Option<&mut Source>,
    file: &Handle,
    len: u64,
    data_start: u64,
    threads: NonZero<usize>,
    work: &Work,
) -> Result<Sums, Trouble> {
    let (mut whole, mut sums) = (None, BufWriter::new(SpooledTempFile::new(HELD)));
    let sum = |range: &Range<u64>| {
        sha256_of(file.reader(range), range.clone(), |bytes| work.advance(bytes).map_err(Trouble::Other))
    };
    let mut take = |batch: &mut Vec<Range<u64>>| {
        let keep = |sum: Result<[u8; 32], Trouble>| {
            let sum = sum?;
            if whole.is_none() {
                whole = Some(digits(&sum));
                return Ok(());
            }
            sums.write_all(&sum).map_err(|error| Trouble::Other(no_room(&error)))
        };
        let taken = in_order(batch, threads, sum, keep);
        batch.clear();
        taken
    };
    let mut batch = Vec::new();
    batch.push(0..len);
    if let Some(source) = source {
        let mut begin = 0;
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
    }
    take(&mut batch)?;
    let other = |error: io::Error| Trouble::Other(no_room(&error));
    let mut sums = sums.into_inner().map_err(|error| other(error.into_error()))?;
    sums.seek(SeekFrom::Start(0)).map_err(other)?;
    Ok(Sums { file: whole.unwrap_or_default(), tensors: BufReader::new(sums) })
}

/// The sum of the complete file and those of its tensors, of which no two have a byte in common.
fn sums_in_one_pass(
    source: &mut Source,
    file: &Handle,
    len: u64,
    data_start: u64,
    work: &Work,
) -> Result<Sums, Trouble> {
    let ranges = ranges(source, data_start)?;
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    order.sort_by_key(|&tensor| (ranges[tensor].start, ranges[tensor].end));
    let mut sums = vec![<[u8; 32]>::from(Sha256::new().finalize()); ranges.len()];
    let (mut whole, mut part) = (Sha256::new(), Sha256::new());
    let mut next = order.into_iter().filter(|&tensor| !ranges[tensor].is_empty()).peekable();
    let mut at = 0;
    let taken = pieces(file.reader(&(0..len)), 0..len, &mut vec![0; BUFFER], |piece| {
        whole.update(piece);
        let end = at + piece.len() as u64;
        while let Some(&tensor) = next.peek()
            && ranges[tensor].start < end
        {
            let range = &ranges[tensor];
            let within = |offset: u64| usize::try_from(offset.clamp(at, end) - at).unwrap_or(0);
            part.update(&piece[within(range.start)..within(range.end)]);
            if range.end > end {
                break;
            }
            sums[tensor] = part.finalize_reset().into();
            next.next();
        }
        at = end;
        work.advance(piece.len() as u64).map_err(Trouble::Other)
    });
    taken?;
    let mut stored = SpooledTempFile::new(HELD);
    let written = stored.write_all(sums.as_flattened()).and_then(|()| stored.seek(SeekFrom::Start(0)));
    written.map_err(|error| Trouble::Other(no_room(&error)))?;
    Ok(Sums { file: digits(&whole.finalize()), tensors: BufReader::new(stored) })
}

/// The ranges of all tensors in the file, in header order.
fn ranges(source: &mut Source, data_start: u64) -> Result<Vec<Range<u64>>, Trouble> {
    let (mut ranges, mut begin) = (Vec::new(), 0);
    visit(source, |event, _, _| {
        match event {
            Event::Begin(at) => begin = *at,
            Event::End(at) => ranges.push(in_file(data_start, begin..*at).map_err(Trouble::Read)?),
            _ => {}
        }
        Ok::<_, Trouble>(ControlFlow::Continue(()))
    })?;
    Ok(ranges)
}

/// Text that is printed only once it is complete and correct.
pub struct Text(BufWriter<SpooledTempFile>);

impl Text {
    pub fn new() -> Self {
        Self(BufWriter::new(SpooledTempFile::new(HELD)))
    }

    /// # Errors
    /// Those of the temporary file and of standard output.
    pub fn print(self) -> Result<(), Error> {
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
pub fn no_room(error: &io::Error) -> Error {
    Error::usage(format!("the sums cannot be buffered in {}", temporary(error)))
}

#[cfg(test)]
mod tests {
    use super::{Digest, Sha256, Single};
    use crate::context::Context;
    use crate::input::model::Part;
    use crate::text::number::digits;
    use embedded_safetensors::FileModel;
    use std::fs;
    use std::num::NonZero;

    fn file(value: u8) -> Vec<u8> {
        let header = br#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;
        [&(header.len() as u64).to_le_bytes(), &header[..], &[value]].concat()
    }

    #[test]
    fn a_part_is_the_file_that_was_proven() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let [path, other] = ["a", "b"].map(|name| folder.path().join(name));
        fs::write(&path, file(1)).and_then(|()| fs::write(&other, file(2))).expect("files are written");
        let model = Part::File(FileModel::open(&path).expect("valid file"));
        fs::rename(&other, &path).expect("rename");
        let sums = Single::of(&model).and_then(|mut single| {
            single.sums(true, NonZero::<usize>::MIN, &Context::default().work("hashing", 0))
        });
        let mut sums = sums.expect("sums");
        assert_eq!(sums.file, digits(&Sha256::digest(file(1))));
        assert_eq!(sums.next().ok(), Some(digits(&Sha256::digest([1]))));
    }
}
