//! Models of ONNX: the tensors in their files.
//!
//! A file is a message of protocol buffers, which is read field by field; nothing of a graph is executed.
//! An initializer has its own name. The value of a `Constant` has the name of its output; a tensor in another
//! attribute has the first output of its node, a dot and the attribute. With a slash, names in the graph of an
//! `If`, `Loop` or `Scan` begin so.
//!
//! Tensors of texts are left out, and so are the numbers or texts of a `Constant` without a tensor; those of
//! other nodes are settings. Elements may be in other files, below the directory of the model.
//! Rejected: functions, sparse tensors, tensors in segments, lists of tensors or graphs in an attribute,
//! information for training, dtypes that safetensors does not have.

mod graph;
mod walk;

use crate::error::ensure;
use crate::listed::Listed;
use crate::pages::{Pages, numbers};
use crate::proto::varint;
use crate::source::{InTensor, Tensor, TensorSource, no_tensor};
use crate::text::quoted;
use crate::zip::Exact;
use graph::Stored;
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// An open model.
#[derive(Debug)]
pub struct Onnx {
    /// The files that have elements, by their paths. That of the model is empty.
    files: BTreeMap<String, File>,
    listed: Listed<Stored>,
}

impl Onnx {
    /// Opens the file with this path, and then those that it names, which are below its directory. `open`
    /// opens each.
    ///
    /// # Errors
    /// As [`TensorSource`] says; and those of `open`.
    pub fn open(path: &Path, mut open: impl FnMut(&Path) -> io::Result<File>) -> io::Result<Self> {
        let file = open(path)?;
        let pages = Pages::new(&file)?;
        // Limits the paths in memory.
        graph::data_files(&pages)?;
        let listed = graph::tensors(&pages)?;
        let mut files = BTreeMap::from([(String::new(), file)]);
        for (Tensor { name, .. }, Stored { location, at, len, .. }) in
            listed.tensors.iter().zip(&listed.places)
        {
            let path = path.with_file_name(location);
            let of_location = match files.entry(location.clone()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(open(&path).map_err(|error| {
                    let sentence = format!("data file {} cannot be opened: {error}", quoted(location));
                    io::Error::new(error.kind(), sentence)
                })?),
            };
            let of_file = of_location.metadata()?.len();
            ensure(at.checked_add(*len).is_some_and(|end| end <= of_file), || {
                let [name, location] = [name, location].map(|text| quoted(text));
                format!("tensor {name}: its {len} bytes at byte {at} exceed the {of_file} of {location}")
            })?;
        }
        let add = |sum: u64, file: &File| Ok::<_, io::Error>(sum.saturating_add(file.metadata()?.len()));
        listed.check_shared(files.values().try_fold(0, add)?)?;
        Ok(Self { files, listed })
    }

    /// Returns the paths of the files that a model names, relative to its directory, also in parts that are
    /// not supported. Opens none of them.
    ///
    /// # Errors
    /// As [`TensorSource`] says, also about a path that leads out of the directory.
    pub fn data_files(file: &File) -> io::Result<BTreeSet<String>> {
        graph::data_files(&Pages::new(file)?)
    }
}

impl TensorSource for Onnx {
    fn tensors(&self) -> &[Tensor] {
        &self.listed.tensors
    }

    fn left_out(&self) -> &[(String, &'static str)] {
        &self.listed.left_out
    }

    fn read(&self, index: usize) -> io::Result<Box<dyn Read + Send + '_>> {
        let (Tensor { name, .. }, Stored { location, at, len, width }) = self.listed.get(index)?;
        let file = self.files.get(location).ok_or_else(no_tensor)?;
        let source: Box<dyn Read + Send> = match *width {
            None => Box::new(Exact::new(file, *at, *len)),
            Some(width) => Box::new(numbers(Pages::new(file)?, *at..at + len, width, |span| varint(span))),
        };
        Ok(Box::new(InTensor { source, name }))
    }
}
