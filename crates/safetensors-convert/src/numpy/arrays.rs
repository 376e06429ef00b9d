//! Files of numpy as sources of tensors, with their bytes in the order of safetensors.

use super::{Header, Order, Swapped};
use crate::error::{unsound, within};
use crate::source::no_tensor;
use crate::strided::{Strided, fortran, is_contiguous};
use crate::text::quoted;
use crate::zip::{Contents, Entry, Exact, Part, check_ratio, entries, open_contents, open_entry};
use crate::{Tensor, TensorSource};
use std::borrow::Borrow;
use std::fs::File;
use std::io::{self, Read};

/// The suffix of an array in an archive.
const SUFFIX: &str = ".npy";

/// An open `.npy` or `.npz`.
#[derive(Debug)]
pub struct Arrays {
    file: File,
    tensors: Vec<Tensor>,
    layouts: Vec<Layout>,
    /// The entries of an archive, whose names are those of the tensors; otherwise empty.
    entries: Vec<Contents>,
}

/// What an array's header says besides its dtype and its shape.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// The length of the header, which is at most a mebibyte.
    data_at: u32,
    order: Order,
    is_fortran: bool,
}

impl Arrays {
    /// Opens a `.npy`; its array gets this name.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if the file is invalid, or if safetensors cannot hold its contents.
    pub fn open_one(file: File, name: &str) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let (header, data_at) = Header::read(&mut Part::new(&file, 0, len))?;
        check_len(&header, len.saturating_sub(data_at))?;
        let (tensor, layout) = described(name.to_owned(), header, data_at)?;
        Ok(Self { file, tensors: vec![tensor], layouts: vec![layout], entries: Vec::new() })
    }

    /// Opens a `.npz`.
    ///
    /// # Errors
    /// As [`open_one`](Self::open_one); [`io::ErrorKind::QuotaExceeded`] if it unpacks to far more than its
    /// length.
    pub fn open_many(file: File) -> io::Result<Self> {
        let listed = entries(&file)?;
        check_ratio(&listed, file.metadata()?.len())?;
        let (mut tensors, mut layouts) = (Vec::with_capacity(listed.len()), Vec::with_capacity(listed.len()));
        let mut entries = Vec::with_capacity(listed.len());
        for entry in listed {
            entries.push(entry.contents);
            let (tensor, layout) = described_in(&file, entry)?;
            tensors.push(tensor);
            layouts.push(layout);
        }
        Ok(Self { file, tensors, layouts, entries })
    }

    /// Returns the elements of the only array.
    fn in_file(&self, tensor: &Tensor, layout: Layout) -> io::Result<Box<dyn Read + '_>> {
        if is_transposed(tensor, layout) {
            return Ok(transposed(tensor, layout, &self.file));
        }
        let data = Exact::new(&self.file, u64::from(layout.data_at), tensor.byte_len());
        Ok(in_order(tensor, layout, data))
    }

    /// Returns the elements of an array in an archive.
    fn in_entry(
        &self,
        tensor: &Tensor,
        layout: Layout,
        contents: Contents,
    ) -> io::Result<Box<dyn Read + '_>> {
        let mut packed = open_contents(&self.file, format!("{}{SUFFIX}", tensor.name), contents);
        if is_transposed(tensor, layout) {
            let mut spool = tempfile::tempfile()?;
            io::copy(&mut packed, &mut spool)?;
            return Ok(transposed(tensor, layout, spool));
        }
        io::copy(&mut (&mut packed).take(u64::from(layout.data_at)), &mut io::sink())?;
        Ok(in_order(tensor, layout, packed))
    }
}

impl TensorSource for Arrays {
    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn metadata(&self) -> &[(String, String)] {
        &[]
    }

    fn is_raw(&self, index: usize) -> bool {
        self.layouts.get(index).is_some_and(|layout| layout.order == Order::Raw)
    }

    fn read(&self, index: usize) -> io::Result<Box<dyn Read + '_>> {
        match (self.tensors.get(index), self.layouts.get(index), self.entries.get(index)) {
            (Some(tensor), Some(layout), Some(entry)) => self.in_entry(tensor, *layout, *entry),
            (Some(tensor), Some(layout), None) => self.in_file(tensor, *layout),
            _ => Err(no_tensor()),
        }
    }
}

fn check_len(header: &Header, found: u64) -> io::Result<()> {
    match header.byte_len()? {
        expected if expected == found => Ok(()),
        expected => Err(unsound(format!("the array has {found} bytes after its header, {expected} needed"))),
    }
}

fn described(name: String, header: Header, data_at: u64) -> io::Result<(Tensor, Layout)> {
    let Header { dtype, dims, is_fortran, order } = header;
    let data_at = u32::try_from(data_at).map_err(|_| unsound("the header of the array is too long"))?;
    Ok((Tensor { name, dtype, dims }, Layout { data_at, order, is_fortran }))
}

/// Reads the header of an array, and takes the name of its entry.
fn described_in(file: &File, mut entry: Entry) -> io::Result<(Tensor, Layout)> {
    if !entry.name.ends_with(SUFFIX) {
        let name = quoted(&entry.name);
        return Err(unsound(format!("entry {name} is not an array: its name does not end with {SUFFIX}")));
    }
    let of_entry = |error| within(&format!("entry {}", quoted(&entry.name)), error);
    let (mut header, data_at) = Header::read(&mut open_entry(file, &entry)).map_err(of_entry)?;
    check_len(&header, entry.contents.unpacked.saturating_sub(data_at)).map_err(of_entry)?;
    header.dims.shrink_to_fit();
    let mut name = std::mem::take(&mut entry.name);
    name.truncate(name.len() - SUFFIX.len());
    described(name, header, data_at)
}

fn is_transposed(tensor: &Tensor, layout: Layout) -> bool {
    layout.is_fortran && !is_contiguous(&tensor.dims, &fortran(&tensor.dims))
}

fn transposed<'f>(tensor: &Tensor, layout: Layout, file: impl Borrow<File> + 'f) -> Box<dyn Read + 'f> {
    let (at, width) = (u64::from(layout.data_at), u64::from(tensor.dtype.bits() >> 3));
    in_order(tensor, layout, Strided::new(file, at, width, &tensor.dims, &fortran(&tensor.dims)))
}

fn in_order<'f>(tensor: &Tensor, layout: Layout, source: impl Read + 'f) -> Box<dyn Read + 'f> {
    match layout.order {
        Order::Big => Box::new(Swapped::of(tensor.dtype, source)),
        Order::Little | Order::Raw => Box::new(source),
    }
}

#[cfg(test)]
mod tests {
    use super::Arrays;
    use crate::TensorSource;
    use crate::numpy::Header;
    use crate::samples::file;
    use crate::zip::Archive;
    use embedded_safetensors::Dtype;
    use std::io::{self, Read};

    fn array(data: &[u8]) -> Vec<u8> {
        let dims = [u64::try_from(data.len()).expect("a length")];
        [Header::spelled(Dtype::U8, &dims).expect("a dtype of numpy"), data.to_vec()].concat()
    }

    fn archive(arrays: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = Archive::new(Vec::new(), false);
        for (name, data) in arrays {
            archive.add::<io::Error>(name, |out| out.write_all(&array(data))).expect("written");
        }
        archive.finish().expect("written")
    }

    fn contents(source: &dyn TensorSource) -> Vec<(String, Vec<u8>)> {
        let read = |index: usize| {
            let mut bytes = Vec::new();
            source.read(index).expect("opened").read_to_end(&mut bytes).expect("read");
            (source.tensors()[index].name.clone(), bytes)
        };
        (0..source.tensors().len()).map(read).collect()
    }

    #[test]
    fn an_array_has_the_given_name_and_those_of_an_archive_their_own() {
        let one = Arrays::open_one(file(&array(b"abc")), "x").expect("an array");
        assert_eq!(contents(&one), [("x".to_owned(), b"abc".to_vec())]);
        let many = archive(&[("a.npy", b"ab"), ("b/c.npy", b"")]);
        let many = Arrays::open_many(file(&many)).expect("an archive");
        assert_eq!(contents(&many), [("a".to_owned(), b"ab".to_vec()), ("b/c".to_owned(), Vec::new())]);
        assert!(many.metadata().is_empty() && many.read(2).is_err() && one.read(1).is_err());
        let header = b"{'descr': '|V2', 'fortran_order': False, 'shape': (1,), }\n";
        let raw = [b"\x93NUMPY\x01\0", &[58, 0][..], header, b"ab"].concat();
        let raw = Arrays::open_one(file(&raw), "x").expect("an array");
        assert!(raw.is_raw(0) && !one.is_raw(0) && !many.is_raw(1));
    }

    #[test]
    fn archives_that_unpack_to_far_more_than_their_length_are_beyond_the_limit() {
        let error = |unpacked: u64| {
            let mut archive = Archive::new(Vec::new(), true);
            archive.add::<io::Error>("a.npy", |out| out.write_all(&array(b"abc"))).expect("written");
            let mut bytes = archive.finish().expect("written");
            // The list has the sizes in a field for large numbers.
            let at = bytes.windows(4).rposition(|field| field == [1, 0, 24, 0]).expect("the field");
            bytes[at + 4..at + 12].copy_from_slice(&unpacked.to_le_bytes());
            Arrays::open_many(file(&bytes)).expect_err("another size").to_string()
        };
        assert!(error(1 << 30).starts_with("entry \"a.npy\": the array has "), "so much is always allowed");
        let (error, end) =
            (error((1 << 30) + 1), " unpacks to 1073741825 bytes, at most 1073741824 are allowed");
        assert!(error.ends_with(end), "{error}");
    }

    /// Errors name the entry, also those of data that is read later.
    #[test]
    fn damaged_arrays_are_rejected_with_their_place() {
        let said = |error: io::Error| (error.kind(), error.to_string());
        let mut long = array(b"abc");
        long.push(0);
        let sentence = "the array has 4 bytes after its header, 3 needed".to_owned();
        let error = Arrays::open_one(file(&long), "x").map(drop).expect_err("too long");
        assert_eq!(said(error), (io::ErrorKind::InvalidData, sentence));
        let error = Arrays::open_many(file(&archive(&[("a.txt", b"")]))).map(drop).expect_err("no array");
        let sentence = "entry \"a.txt\" is not an array: its name does not end with .npy".to_owned();
        assert_eq!(said(error), (io::ErrorKind::InvalidData, sentence));
        let mut damaged = archive(&[("a.npy", b"abc")]);
        let at = damaged.windows(3).position(|bytes| bytes == b"abc").expect("the data");
        damaged[at] ^= 1;
        let damaged = Arrays::open_many(file(&damaged)).expect("an archive");
        let error =
            damaged.read(0).and_then(|mut data| data.read_to_end(&mut Vec::new())).expect_err("damaged");
        let sentence = "the checksum of entry \"a.npy\" is not the one in the archive".to_owned();
        assert_eq!(said(error), (io::ErrorKind::InvalidData, sentence));
    }
}
