//! Files of numpy as sources of tensors, with their bytes in the order of safetensors.

use super::{Header, Order, swapped};
use crate::error::{ensure, within};
use crate::source::no_tensor;
use crate::strided::{PIECE, fortran, is_contiguous, strided};
use crate::text::quoted;
use crate::zip::{Contents, Exact, Part, check_ratio, entries, open_contents, open_entry};
use crate::{Tensor, TensorSource};
use embedded_safetensors::Dtype;
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
}

/// Where an array is, and what its header says besides its dtype and its shape.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Its entry in an archive, whose name is that of the tensor.
    entry: Option<Contents>,
    /// The length of the header.
    data_at: u64,
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
        let (dtype, dims, layout) = described(&mut Part::new(&file, 0, len), len, None)?;
        Ok(Self { file, tensors: vec![Tensor { name: name.to_owned(), dtype, dims }], layouts: vec![layout] })
    }

    /// Opens a `.npz`.
    ///
    /// # Errors
    /// As [`open_one`](Self::open_one); [`io::ErrorKind::QuotaExceeded`] if it unpacks to far more than its
    /// length.
    pub fn open_many(file: File) -> io::Result<Self> {
        let entries = entries(&file)?;
        check_ratio(&entries, file.metadata()?.len())?;
        let (mut tensors, mut layouts) =
            (Vec::with_capacity(entries.len()), Vec::with_capacity(entries.len()));
        for mut entry in entries {
            let place = format!("entry {}", quoted(&entry.name));
            ensure(entry.name.ends_with(SUFFIX), || {
                format!("{place} is not an array: its name does not end with {SUFFIX}")
            })?;
            let described =
                described(&mut open_entry(&file, &entry), entry.contents.unpacked, Some(entry.contents));
            let (dtype, mut dims, layout) = described.map_err(|error| within(&place, error))?;
            dims.shrink_to_fit();
            entry.name.truncate(entry.name.len() - SUFFIX.len());
            tensors.push(Tensor { name: entry.name, dtype, dims });
            layouts.push(layout);
        }
        Ok(Self { file, tensors, layouts })
    }

    /// Returns the elements of an array as the file has them, but with the last axis fastest.
    fn elements(&self, tensor: &Tensor, layout: &Layout) -> io::Result<Box<dyn Read + Send + '_>> {
        let (at, width, dims) = (layout.data_at, u64::from(tensor.dtype.bits() >> 3), &tensor.dims);
        let strides = fortran(dims);
        let is_transposed = layout.is_fortran && !is_contiguous(dims, &strides);
        let Some(contents) = layout.entry else {
            return Ok(match is_transposed {
                true => Box::new(strided(PIECE, &self.file, at, width, dims, &strides)),
                false => Box::new(Exact::new(&self.file, at, tensor.byte_len())),
            });
        };
        let mut packed = open_contents(&self.file, format!("{}{SUFFIX}", tensor.name), contents);
        if is_transposed {
            let mut spool = tempfile::tempfile()?;
            io::copy(&mut packed, &mut spool)?;
            return Ok(Box::new(strided(PIECE, spool, at, width, dims, &strides)));
        }
        io::copy(&mut (&mut packed).take(at), &mut io::sink())?;
        Ok(Box::new(packed))
    }
}

impl TensorSource for Arrays {
    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn is_raw(&self, index: usize) -> bool {
        self.layouts.get(index).is_some_and(|layout| layout.order == Order::Raw)
    }

    fn read(&self, index: usize) -> io::Result<Box<dyn Read + Send + '_>> {
        let (tensor, layout) = self.tensors.get(index).zip(self.layouts.get(index)).ok_or_else(no_tensor)?;
        let elements = self.elements(tensor, layout)?;
        Ok(match layout.order {
            Order::Big => Box::new(swapped(tensor.dtype, elements)),
            Order::Little | Order::Raw => elements,
        })
    }
}

/// Reads the header of an array, which has `len` bytes with it.
fn described(
    source: &mut impl Read,
    len: u64,
    entry: Option<Contents>,
) -> io::Result<(Dtype, Vec<u64>, Layout)> {
    let (header, data_at) = Header::read(source)?;
    let (found, expected) = (len.saturating_sub(data_at), header.byte_len()?);
    ensure(found == expected, || format!("the array has {found} bytes after its header, {expected} needed"))?;
    let Header { dtype, dims, is_fortran, order } = header;
    Ok((dtype, dims, Layout { entry, data_at, order, is_fortran }))
}

#[cfg(test)]
mod tests {
    use super::Arrays;
    use crate::TensorSource;
    use crate::numpy::Header;
    use crate::samples::{file, read};
    use crate::zip::Archive;
    use embedded_safetensors::Dtype;
    use std::io;

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
        let tensors = source.tensors().iter().enumerate();
        tensors.map(|(index, tensor)| (tensor.name.clone(), read(source, index).expect("read"))).collect()
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
        for (unpacked, part) in [
            (1_u64 << 30, "entry \"a.npy\": the array has "),
            ((1 << 30) + 1, " unpacks to 1073741825 bytes, at most 1073741824 are allowed"),
        ] {
            let mut archive = Archive::new(Vec::new(), true);
            archive.add::<io::Error>("a.npy", |out| out.write_all(&array(b"abc"))).expect("written");
            let mut bytes = archive.finish().expect("written");
            // The list has the sizes in a field for large numbers.
            let at = bytes.windows(4).rposition(|field| field == [1, 0, 24, 0]).expect("the field");
            bytes[at + 4..at + 12].copy_from_slice(&unpacked.to_le_bytes());
            let error = Arrays::open_many(file(&bytes)).expect_err("another size").to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
