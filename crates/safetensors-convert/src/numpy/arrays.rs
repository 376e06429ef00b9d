//! Reads numpy files as inputs, with their bytes in safetensors order.

use crate::complaint::Complaint;
use crate::convert::input::Array;
use crate::failure::NotRead;
use crate::source::Stamp;
use crate::text::quoted;
use embedded_safetensors::Dtype;
use safetensors_convert::error::unsound;
use safetensors_convert::numpy::{Header, Order, Swapped, transposed};
use safetensors_convert::zip::{Entry, Part, entries, open_entry};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A `.npy` or a `.npz`.
pub struct Arrays {
    file: NumpyFile,
    arrays: Vec<Stored>,
}

/// An array in its file.
struct Stored {
    array: Array,
    header: Header,
    /// The length of the array's header.
    data_at: u64,
    /// The entry of an archive.
    entry: Option<Entry>,
}

struct NumpyFile {
    path: PathBuf,
    file: File,
    stamp: Stamp,
}

impl NumpyFile {
    fn open(path: &Path) -> Result<Self, Complaint> {
        let not_read = |error: io::Error| Complaint::not_read(path, error);
        // Opening a pipe without a writer would block.
        let metadata = std::fs::metadata(path).map_err(not_read)?;
        if metadata.is_dir() {
            return Err(not_read(io::ErrorKind::IsADirectory.into()));
        }
        if !metadata.is_file() {
            return Err(Complaint::about(path, "not a regular file; .npy and .npz need random access"));
        }
        let file = File::open(path).map_err(not_read)?;
        let stamp = Stamp::of(&file.metadata().map_err(not_read)?);
        Ok(Self { path: path.to_path_buf(), file, stamp })
    }

    /// Invalid contents are not an error of reading.
    fn complaint(&self, error: io::Error) -> Complaint {
        match error.kind() {
            io::ErrorKind::InvalidData => Complaint::bad(&self.path, "numpy", error.to_string()),
            _ => Complaint::not_read(&self.path, error),
        }
    }
}

impl Arrays {
    /// Opens a `.npy`; its array gets this name.
    ///
    /// # Errors
    /// The file cannot be read, is invalid, or has contents that safetensors cannot hold.
    pub fn open_one(path: &Path, name: &str) -> Result<Self, Complaint> {
        let file = NumpyFile::open(path)?;
        let stored =
            Stored::alone(&file.file, name, file.stamp.len).map_err(|error| file.complaint(error))?;
        Ok(Self { file, arrays: vec![stored] })
    }

    /// Opens a `.npz`.
    ///
    /// # Errors
    /// As [`open_one`](Self::open_one).
    pub fn open_many(path: &Path) -> Result<Self, Complaint> {
        let file = NumpyFile::open(path)?;
        let entries = entries(&file.file).map_err(|error| file.complaint(error))?.into_iter();
        let arrays: io::Result<_> = entries.map(|entry| Stored::packed(&file.file, entry)).collect();
        let arrays = arrays.map_err(|error| file.complaint(error))?;
        Ok(Self { file, arrays })
    }

    pub fn path(&self) -> &Path {
        &self.file.path
    }

    pub fn arrays(&self) -> impl Iterator<Item = &Array> {
        self.arrays.iter().map(|stored| &stored.array)
    }

    /// The bytes of an array in little-endian and C order.
    ///
    /// # Errors
    /// As [`open_one`](Self::open_one).
    pub fn read(&self, index: usize) -> Result<Box<dyn Read + '_>, Complaint> {
        match self.arrays.get(index) {
            Some(stored) => stored.read(&self.file.file).map_err(|error| self.complaint(error)),
            None => Ok(Box::new(io::empty())),
        }
    }

    /// The error for a failed read.
    pub fn complaint(&self, error: io::Error) -> Complaint {
        self.file.complaint(error)
    }

    /// # Errors
    /// The file is no longer the one that was opened.
    pub fn check_unchanged(&self) -> Result<(), Complaint> {
        let now = self.file.file.metadata().map_err(|error| self.complaint(error))?;
        match Stamp::of(&now) == self.file.stamp {
            true => Ok(()),
            false => Err(Complaint::not_read(&self.file.path, NotRead::changed())),
        }
    }
}

impl Stored {
    fn alone(file: &File, name: &str, len: u64) -> io::Result<Self> {
        let (header, data_at) = Header::read(&mut Part::new(file, 0, len))?;
        let (expected, found) = (header.byte_len()?, len - data_at);
        if found != expected {
            return Err(unsound(format!("the array has {found} bytes after its header, {expected} needed")));
        }
        Ok(Self { array: Array::new(name, &header), header, data_at, entry: None })
    }

    fn packed(file: &File, entry: Entry) -> io::Result<Self> {
        let Some(name) = entry.name.strip_suffix(".npy") else {
            return Err(unsound(format!(
                "entry {} is not an array: its name does not end with .npy",
                quoted(&entry.name)
            )));
        };
        let of_entry = |error: io::Error| match error.kind() {
            io::ErrorKind::InvalidData => unsound(format!("entry {}: {error}", quoted(&entry.name))),
            _ => error,
        };
        let (header, data_at) = Header::read(&mut open_entry(file, &entry)).map_err(of_entry)?;
        let (expected, found) = (header.byte_len()?, entry.unpacked.saturating_sub(data_at));
        if found != expected {
            let sentence = format!("the array has {found} bytes after its header, {expected} needed");
            return Err(of_entry(unsound(sentence)));
        }
        Ok(Self { array: Array::new(name, &header), header, data_at, entry: Some(entry) })
    }

    fn read<'f>(&self, file: &'f File) -> io::Result<Box<dyn Read + 'f>> {
        let is_transposed =
            self.header.is_fortran && self.header.dims.iter().filter(|dim| **dim > 1).count() > 1;
        let Some(entry) = &self.entry else {
            return Ok(match is_transposed {
                true => self.transposed(file.try_clone()?, self.data_at),
                false => self.in_order(Part::new(file, self.data_at, self.array.byte_len())),
            });
        };
        let mut packed = open_entry(file, entry);
        if is_transposed {
            let mut spool = tempfile::tempfile()?;
            io::copy(&mut packed, &mut spool)?;
            return Ok(self.transposed(spool, self.data_at));
        }
        io::copy(&mut (&mut packed).take(self.data_at), &mut io::sink())?;
        Ok(self.in_order(packed))
    }

    fn transposed<'f>(&self, source: File, at: u64) -> Box<dyn Read + 'f> {
        let width = usize::from(self.header.dtype.bits() >> 3);
        self.in_order(transposed(source, at, width, &self.header.dims))
    }

    fn in_order<'f>(&self, source: impl Read + 'f) -> Box<dyn Read + 'f> {
        // The two parts of a complex number are swapped separately.
        let bits = if self.header.dtype == Dtype::C64 { 32 } else { self.header.dtype.bits() };
        match self.header.order == Order::Big && bits > 8 {
            true => Box::new(Swapped::new(source, usize::from(bits >> 3))),
            false => Box::new(source),
        }
    }
}
