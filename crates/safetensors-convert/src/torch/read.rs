//! Opens the elements of a tensor.

use super::rebuild::{View, width};
use super::spool::Spool;
use super::store::{Kind, Storage, Store};
use crate::error::unsound;
use crate::numpy::swapped;
use crate::strided::{PIECE, strided};
use crate::zip::{Contents, Entry, Exact, open_contents, open_entry};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// The number of the pickle among the storages that are unpacked. No storage has it.
const PICKLE: u32 = u32::MAX;

/// What a reader of tensors needs of a file.
#[derive(Debug)]
pub(super) struct Bytes {
    pub file: File,
    pub store: Store,
    /// The entry with the pickle; `None` if its bytes are counted from the beginning of the file.
    pub pickle: Option<Entry>,
    /// The common start of the names of entries.
    pub prefix: String,
    /// Whether the storages of the archive are big-endian.
    pub is_big: bool,
    /// The storages that were unpacked or checked, because not all of their bytes are read at once.
    pub spool: Spool,
}

impl Bytes {
    /// Creates a reader of a file without storages.
    pub fn new(file: File) -> Self {
        let (store, prefix, spool) = Default::default();
        Self { file, store, pickle: None, prefix, is_big: false, spool }
    }

    /// Opens a view with these dimensions.
    pub fn open(&self, view: &View, dims: &[u64]) -> io::Result<Box<dyn Read + Send + '_>> {
        let storage = *self.store.get(view.storage)?;
        let (element, is_of_archive) =
            (width(view.dtype), matches!(storage.kind, Kind::Stored | Kind::Deflated));
        let len = dims.iter().product::<u64>() * element;
        if len == 0 {
            return Ok(Box::new(io::empty()));
        }
        let elements: Box<dyn Read + Send + '_> = match view.strides() {
            None if view.offset == 0 && len == storage.len => self.whole(&storage)?,
            strides => {
                let (file, at) = self.place(view.storage, &storage)?;
                let at = at + view.offset * element;
                match strides {
                    None => Box::new(Exact::new(file, at, len)),
                    Some(strides) => Box::new(strided(PIECE, file, at, element, dims, strides)),
                }
            }
        };
        match view.is_big || (self.is_big && is_of_archive) {
            true => Ok(Box::new(swapped(view.dtype, elements))),
            false => Ok(elements),
        }
    }

    /// Opens a storage.
    fn whole(&self, storage: &Storage) -> io::Result<Box<dyn Read + Send + '_>> {
        let &Storage { key, at, packed, len, crc, kind, .. } = storage;
        match kind {
            Kind::Plain => Ok(Box::new(Exact::new(&self.file, at, len))),
            Kind::Stored | Kind::Deflated => {
                let is_deflated = kind == Kind::Deflated;
                let contents = Contents { is_deflated, crc, packed, unpacked: len, at };
                let name = format!("{}data/{key}", self.prefix);
                Ok(Box::new(open_contents(&self.file, name, contents)))
            }
            Kind::Pickled => {
                let (file, at) = self.in_pickle(at)?;
                Ok(Box::new(Exact::new(file, at, len)))
            }
            Kind::Latin => {
                let (file, at) = self.in_pickle(at)?;
                let source = BufReader::with_capacity(1 << 16, Exact::new(file, at, packed));
                Ok(Box::new(Latin { source, left: len }))
            }
            Kind::Kept => Ok(Box::new(self.store.kept(storage))),
        }
    }

    /// Returns the file that has the bytes of a storage as they are, and where they begin.
    fn place(&self, index: u32, storage: &Storage) -> io::Result<(&File, u64)> {
        match storage.kind {
            Kind::Plain => Ok((&self.file, storage.at)),
            Kind::Pickled => self.in_pickle(storage.at),
            Kind::Stored => {
                self.spool.read(index, || self.whole(storage), None)?;
                Ok((&self.file, storage.at))
            }
            Kind::Deflated | Kind::Latin | Kind::Kept => self.spool.place(index, || self.whole(storage)),
        }
    }

    /// Returns the file that has the bytes of the pickle as they are, and where that at `at` is.
    fn in_pickle(&self, at: u64) -> io::Result<(&File, u64)> {
        let (file, begin) = match &self.pickle {
            None => (&self.file, 0),
            Some(Entry { contents, .. }) if !contents.is_deflated => (&self.file, contents.at),
            Some(entry) => self.spool.place(PICKLE, || Ok(Box::new(open_entry(&self.file, entry))))?,
        };
        Ok((file, begin + at))
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
            let source = std::io::BufReader::with_capacity(capacity, text.as_bytes());
            let (mut latin, mut result, mut buffer) = (Latin { source, left: 256 }, Vec::<u8>::new(), [0; 7]);
            while let Ok(len @ 1..) = latin.read(&mut buffer) {
                result.extend(&buffer[..len]);
            }
            assert_eq!(result, all);
        }
        for (text, left) in [("ab", 1), ("ab", 3), ("\u{100}", 1), ("€", 1)] {
            let mut latin = Latin { source: text.as_bytes(), left };
            assert!(latin.read_to_end(&mut Vec::new()).is_err(), "{text}");
        }
        assert!(Latin { source: &b"\xC3"[..], left: 1 }.read(&mut [0]).is_err());
    }
}
