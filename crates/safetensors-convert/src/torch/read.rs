//! Opens the elements of a tensor.

use super::machine::View;
use super::rebuild::width;
use super::store::{Kind, Storage, Store};
use super::strided::{Source, Strided};
use crate::error::{beyond_limit, unsound};
use crate::numpy::Swapped;
use crate::pickle::Element;
use crate::zip::{Contents, Part, open_contents};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::{Mutex, PoisonError};

/// The largest storage that is unpacked into memory, in bytes.
const UNPACKED: u64 = 16 << 20;

/// What a reader of tensors needs of a file.
#[derive(Debug)]
pub(super) struct Bytes {
    pub file: File,
    pub store: Store,
    /// The entry with the pickle; `None` if its bytes are counted from the beginning of the file.
    pub pickle: Option<(String, Contents)>,
    /// The common start of the names of entries.
    pub prefix: String,
    /// Whether the storages of the archive are big-endian.
    pub is_big: bool,
    /// The storages whose checksum was checked, because not all of their bytes are read at once.
    pub checked: Mutex<HashSet<u32>>,
}

impl Bytes {
    /// Opens a view with these dimensions.
    pub fn open(&self, view: &View, dims: &[u64]) -> io::Result<Box<dyn Read + '_>> {
        let storage = *self.store.get(view.storage)?;
        let (element, is_of_archive) =
            (width(view.element), matches!(storage.kind, Kind::Stored | Kind::Deflated));
        let len = dims.iter().product::<u64>() * element;
        if len == 0 {
            return Ok(Box::new(io::empty()));
        }
        let elements: Box<dyn Read + '_> = match view.strides() {
            None => self.range(view.storage, &storage, view.offset * element, len)?,
            Some(strides) => {
                let source = self.source(view.storage, &storage)?;
                Box::new(Strided::new(source, element, view.offset, dims, strides))
            }
        };
        let number = if view.element == Element::C64 { 4 } else { element };
        let is_big = view.is_big || (self.is_big && is_of_archive);
        match usize::try_from(number) {
            Ok(number) if is_big && number > 1 => Ok(Box::new(Swapped::new(elements, number))),
            _ => Ok(elements),
        }
    }

    /// Opens a range of a storage.
    fn range(&self, index: u32, storage: &Storage, at: u64, len: u64) -> io::Result<Box<dyn Read + '_>> {
        if at == 0 && len == storage.len {
            return self.whole(storage);
        }
        match storage.kind {
            Kind::Plain => Ok(self.part(storage.at + at, len)),
            Kind::Stored => {
                self.check(index, storage)?;
                Ok(self.part(storage.at + at, len))
            }
            _ => {
                self.check(index, storage)?;
                Ok(Box::new(after(self.whole(storage)?, at)?.take(len)))
            }
        }
    }

    fn part(&self, at: u64, len: u64) -> Box<dyn Read + '_> {
        Box::new(Exact { source: Part::new(&self.file, at, len), left: len })
    }

    /// Opens a storage.
    fn whole(&self, storage: &Storage) -> io::Result<Box<dyn Read + '_>> {
        let &Storage { key, at, packed, len, crc, kind, .. } = storage;
        match kind {
            Kind::Plain => Ok(self.part(at, len)),
            Kind::Stored | Kind::Deflated => {
                let is_deflated = kind == Kind::Deflated;
                let contents = Contents { is_deflated, crc, packed, unpacked: len, at };
                let name = format!("{}data/{key}", self.prefix);
                Ok(Box::new(open_contents(&self.file, name, contents)))
            }
            Kind::Pickled => self.pickled(at, packed),
            Kind::Latin => {
                let source = BufReader::with_capacity(1 << 16, self.pickled(at, packed)?);
                Ok(Box::new(Latin { source, left: len }))
            }
            Kind::Kept => Ok(Box::new(self.store.kept(storage))),
        }
    }

    /// Opens a range of the pickle.
    fn pickled(&self, at: u64, len: u64) -> io::Result<Box<dyn Read + '_>> {
        match &self.pickle {
            None => Ok(self.part(at, len)),
            Some((_, contents)) if !contents.is_deflated => Ok(self.part(contents.at + at, len)),
            Some((name, contents)) => {
                let pickle = open_contents(&self.file, name.clone(), *contents);
                Ok(Box::new(after(pickle, at)?.take(len)))
            }
        }
    }

    /// Checks the checksum of a storage, unless that was done before.
    fn check(&self, index: u32, storage: &Storage) -> io::Result<()> {
        let is_checked = |checked: &Mutex<HashSet<u32>>| {
            checked.lock().unwrap_or_else(PoisonError::into_inner).contains(&index)
        };
        if is_checked(&self.checked) {
            return Ok(());
        }
        let mut buffer = vec![0; 1 << 18];
        let mut whole = self.whole(storage)?;
        while whole.read(&mut buffer)? > 0 {}
        self.checked.lock().unwrap_or_else(PoisonError::into_inner).insert(index);
        Ok(())
    }

    /// Returns the bytes of a storage for reads in any order.
    fn source(&self, index: u32, storage: &Storage) -> io::Result<Source<'_>> {
        let pickle_at = match &self.pickle {
            None => Some(0),
            Some((_, contents)) => (!contents.is_deflated).then_some(contents.at),
        };
        match (storage.kind, pickle_at) {
            (Kind::Plain, _) => return Ok(Source::File(&self.file, storage.at)),
            (Kind::Stored, _) => {
                self.check(index, storage)?;
                return Ok(Source::File(&self.file, storage.at));
            }
            (Kind::Pickled, Some(at)) => return Ok(Source::File(&self.file, at + storage.at)),
            _ => {}
        }
        if storage.len > UNPACKED {
            return Err(beyond_limit(format!(
                "it is a strided view of compressed {} bytes, at most {UNPACKED} are unpacked into memory",
                storage.len
            )));
        }
        let mut bytes = Vec::new();
        self.whole(storage)?.read_to_end(&mut bytes)?;
        Ok(Source::Memory(bytes))
    }
}

/// Skips the first bytes of a reader.
fn after<R: Read>(mut source: R, len: u64) -> io::Result<R> {
    let skipped = io::copy(&mut source.by_ref().take(len), &mut io::sink())?;
    match skipped == len {
        true => Ok(source),
        false => Err(unsound("it ends too early")),
    }
}

/// A reader of a known number of bytes.
struct Exact<R> {
    source: R,
    left: u64,
}

impl<R: Read> Read for Exact<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.source.read(buffer)?;
        self.left = self.left.saturating_sub(len as u64);
        if len == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(unsound("the file has become shorter while it was read"));
        }
        Ok(len)
    }
}

/// A reader of a text in UTF-8 whose characters are the bytes.
struct Latin<R> {
    source: R,
    left: u64,
}

impl<R: BufRead> Read for Latin<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let invalid = || unsound("an array in the pickle is spelled as a text that is not in latin1");
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let mut filled = 0;
        while let Some(place) = buffer.get_mut(..most).and_then(|buffer| buffer.get_mut(filled)) {
            *place = match byte(&mut self.source)?.ok_or_else(invalid)? {
                ascii @ 0..0x80 => ascii,
                lead @ 0xC2..=0xC3 => match byte(&mut self.source)?.ok_or_else(invalid)? {
                    rest @ 0x80..=0xBF => lead << 6 | rest & 0x3F,
                    _ => return Err(invalid()),
                },
                _ => return Err(invalid()),
            };
            filled += 1;
        }
        self.left -= filled as u64;
        if self.left == 0 && filled > 0 && byte(&mut self.source)?.is_some() {
            return Err(unsound("an array in the pickle has more bytes than its shape"));
        }
        Ok(filled)
    }
}

fn byte(source: &mut impl BufRead) -> io::Result<Option<u8>> {
    let byte = source.fill_buf()?.first().copied();
    source.consume(usize::from(byte.is_some()));
    Ok(byte)
}

#[cfg(test)]
mod tests {
    use super::Latin;
    use std::io::Read;

    #[test]
    fn texts_in_latin1_are_bytes() {
        let all: Vec<u8> = (0..=255).collect();
        let text: String = all.iter().map(|byte| char::from(*byte)).collect();
        for capacity in [1, 3, 1000] {
            let mut latin =
                Latin { source: std::io::BufReader::with_capacity(capacity, text.as_bytes()), left: 256 };
            let (mut result, mut buffer) = (Vec::<u8>::new(), [0; 7]);
            while let Ok(len @ 1..) = latin.read(&mut buffer) {
                result.extend(&buffer[..len]);
            }
            assert_eq!(result, all);
        }
        for (text, len) in [("ab", 1), ("ab", 3), ("\u{100}", 1), ("€", 1)] {
            assert!(
                Latin { source: text.as_bytes(), left: len }.read_to_end(&mut Vec::new()).is_err(),
                "{text}"
            );
        }
        assert!(Latin { source: &b"\xC3"[..], left: 1 }.read(&mut [0]).is_err());
    }
}
