//! Prints a valid file as JSON while its header streams by. Only one shape is in memory at a time.
// Goes with the last user in `tensor::sums`.
#![allow(dead_code)]

use crate::error::not_read::NotRead;
use crate::input::header::Failure;
use crate::input::header::visit;
use crate::input::source::{BUFFER, Source, pieces};
use crate::json::Pieces;
use crate::print::facts::alignment;
use crate::text::Beginning;
use crate::text::number::digits;
use embedded_safestructures::SCHEMA;
use embedded_safetensors::{Dtype, header::Event, validate::Summary};
use sha2::{Digest, Sha256};
use std::io::{self, Write};
use std::ops::{ControlFlow, Range};

/// The reason why printing stopped early.
pub enum Trouble {
    /// The file can no longer be read.
    Read(NotRead),
    /// The output failed.
    Write(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

impl From<NotRead> for Trouble {
    fn from(reason: NotRead) -> Self {
        Self::Read(reason)
    }
}

impl From<Failure> for Trouble {
    /// The file was valid a moment ago.
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotRead(reason) => Self::Read(reason),
            Failure::Invalid(_) => Self::Read(NotRead::changed()),
        }
    }
}

/// Prints a file that has been validated.
pub fn print(source: &mut Source, summary: &Summary, out: &mut impl Write) -> Result<(), Trouble> {
    out.write_all(b"{")?;
    print_tensors(source, Extra::Digest, summary.data_start, out)?;
    print_metadata(source, out)?;
    out.write_all(b"}\n")?;
    source.check_unchanged().map_err(Trouble::Read)?;
    Ok(out.flush()?)
}

/// The members of a tensor besides its dtype and shape.
#[derive(Clone, Copy)]
pub enum Extra {
    /// Its offsets, and the SHA-256 of its bytes.
    Digest,
    /// Its offsets, and the alignment of its data in the file.
    Alignment,
}

/// Prints the tensors as a member of an object.
pub fn print_tensors(
    source: &mut Source,
    extra: Extra,
    data_start: u64,
    out: &mut impl Write,
) -> Result<(), Trouble> {
    out.write_all(b"\"tensors\":{")?;
    let (name, pieces, entry) = (Name::default(), Pieces::default(), Entry::default());
    let mut tensors = Tensors { out, extra, data_start, name, pieces, entry, any: false };
    visit(source, |event, _, source| tensors.see(event, source).map(ControlFlow::Continue))?;
    Ok(out.write_all(b"}")?)
}

/// The part of the open entry that has been seen.
#[derive(Default)]
struct Entry {
    dtype: Option<Dtype>,
    dims: Vec<u64>,
    offsets: Range<u64>,
}

struct Tensors<'o, W> {
    out: &'o mut W,
    extra: Extra,
    data_start: u64,
    name: Name,
    pieces: Pieces,
    entry: Entry,
    any: bool,
}

impl<W: Write> Tensors<'_, W> {
    fn see(&mut self, event: &Event<'_>, source: &mut Source) -> Result<(), Trouble> {
        match event {
            Event::Name(piece) => self.print_name(piece.as_bytes())?,
            Event::Metadata => self.name = Name::default(),
            Event::Tensor => self.end_name()?,
            Event::Dtype(dtype) => self.entry.dtype = Some(*dtype),
            Event::Shape => self.entry.dims.clear(),
            Event::Dim(dim) => self.entry.dims.push(*dim),
            Event::Begin(begin) => self.entry.offsets.start = *begin,
            Event::End(end) => self.entry.offsets.end = *end,
            Event::TensorEnd => self.print_entry(source)?,
            _ => {}
        }
        Ok(())
    }

    fn print_name(&mut self, piece: &[u8]) -> io::Result<()> {
        if self.name.may_be_metadata(piece) {
            return Ok(());
        }
        self.begin_name()?;
        self.pieces.write(self.out, piece)
    }

    /// Prints the part of the name that was held back.
    fn begin_name(&mut self) -> io::Result<()> {
        if !self.name.printing {
            self.name.printing = true;
            self.out.write_all(if self.any { b",\"" } else { b"\"" })?;
            self.out.write_all(&Name::METADATA[..self.name.held])?;
        }
        Ok(())
    }

    fn end_name(&mut self) -> io::Result<()> {
        self.begin_name()?;
        self.name = Name::default();
        self.any = true;
        self.out.write_all(b"\":")
    }

    fn print_entry(&mut self, source: &mut Source) -> Result<(), Trouble> {
        let Range { start, end } = self.entry.offsets;
        let dtype = self.entry.dtype.map_or("", Dtype::name);
        write!(self.out, "{{\"dtype\":\"{dtype}\",\"shape\":[")?;
        for (index, dim) in self.entry.dims.iter().enumerate() {
            write!(self.out, "{}{dim}", if index == 0 { "" } else { "," })?;
        }
        let offsets = format!("\"data_offsets\":[{start},{end}]");
        let extra = match self.extra {
            Extra::Alignment => format!("{offsets},\"alignment\":{}", alignment(self.data_start, start)),
            Extra::Digest => {
                let range = in_file(self.data_start, start..end)?;
                let len = usize::try_from(range.end - range.start).unwrap_or(BUFFER).min(BUFFER);
                let mut hash = Sha256::new();
                pieces::<Trouble>(source, range, &mut vec![0; len], |piece| {
                    hash.update(piece);
                    Ok(())
                })?;
                format!("{offsets},\"sha256\":\"{}\"", digits(&hash.finalize()))
            }
        };
        Ok(write!(self.out, "],{extra}}}")?)
    }
}

/// The beginning of a name. Only its end shows whether it names a tensor, so it is held back as long as it
/// may still become `__metadata__`.
#[derive(Default)]
struct Name {
    /// The length of the match with `__metadata__`.
    held: usize,
    printing: bool,
}

impl Name {
    const METADATA: &'static [u8] = b"__metadata__";

    fn may_be_metadata(&mut self, piece: &[u8]) -> bool {
        let possible = !self.printing && Self::METADATA[self.held..].starts_with(piece);
        if possible {
            self.held += piece.len();
        }
        possible
    }
}

/// The data of a tensor in the file. Overflows only if the file has changed since it was validated.
pub fn in_file(data_start: u64, offsets: Range<u64>) -> Result<Range<u64>, NotRead> {
    let start = data_start.checked_add(offsets.start);
    let range = start.zip(data_start.checked_add(offsets.end)).filter(|(start, end)| start <= end);
    range.map(|(start, end)| start..end).ok_or_else(NotRead::changed)
}

/// Prints the metadata as a member of an object. Returns whether one of its keys is that of a structure.
pub fn print_metadata(source: &mut Source, out: &mut impl Write) -> Result<bool, Trouble> {
    out.write_all(b",\"metadata\":")?;
    let (pieces, key) = (Pieces::default(), Beginning::default());
    let mut metadata = Metadata { out, pieces, in_string: false, any: false, key, has_structure: false };
    let mut exists = false;
    visit(source, |event, _, _| -> Result<_, Trouble> {
        metadata.see(event)?;
        exists = matches!(event, Event::MetadataEnd);
        let settled = exists || matches!(event, Event::MetadataNull);
        Ok(if settled { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    let has_structure = metadata.has_structure;
    if !exists {
        out.write_all(b"null")?;
    }
    Ok(has_structure)
}

struct Metadata<'o, W> {
    out: &'o mut W,
    pieces: Pieces,
    in_string: bool,
    any: bool,
    key: Beginning,
    has_structure: bool,
}

impl<W: Write> Metadata<'_, W> {
    fn see(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Key(piece) => self.print_key(piece.as_bytes()),
            Event::KeyEnd => {
                self.print_key(b"")?;
                self.any = true;
                self.has_structure |= self.key.text() == SCHEMA;
                self.key.clear();
                self.end_string(b"\":")
            }
            Event::Value(piece) => self.print_string(b"", piece.as_bytes()),
            Event::ValueEnd => {
                self.print_string(b"", b"")?;
                self.end_string(b"\"")
            }
            Event::MetadataEnd => self.out.write_all(if self.any { b"}" } else { b"{}" }),
            _ => Ok(()),
        }
    }

    fn print_key(&mut self, piece: &[u8]) -> io::Result<()> {
        self.key.push(piece);
        self.print_string(if self.any { b"," } else { b"{" }, piece)
    }

    /// Prints a piece of a string; if it is the first, prints `before` and the opening quote before it.
    fn print_string(&mut self, before: &[u8], piece: &[u8]) -> io::Result<()> {
        if !self.in_string {
            self.in_string = true;
            self.out.write_all(before)?;
            self.out.write_all(b"\"")?;
        }
        self.pieces.write(self.out, piece)
    }

    fn end_string(&mut self, quote: &[u8]) -> io::Result<()> {
        self.in_string = false;
        self.out.write_all(quote)
    }
}

#[cfg(test)]
mod tests {
    use super::{Extra, Trouble, print_tensors};
    use crate::input::source::Source;

    #[test]
    fn a_file_that_was_replaced_by_one_with_tensors_nowhere_has_changed() {
        for (begin, end) in [(3, 1), (u64::MAX - 1, u64::MAX), (0, u64::MAX)] {
            let mut source = Source::of_tensor(begin, end);
            let Err(Trouble::Read(reason)) = print_tensors(&mut source, Extra::Digest, 80, &mut Vec::new())
            else {
                panic!("{begin}..{end}: accepted as the valid file")
            };
            assert_eq!(reason.to_string(), "the file changed while it was being read");
        }
    }
}
