//! Models of ONNX: the tensors in their files.
//!
//! A file is a message of protocol buffers, which is read field by field; nothing of a graph is executed.
//! An initializer has its own name. The value of a `Constant` has the name of its output; a tensor in another
//! attribute also has a dot and the attribute. A tensor in the graph of an `If`, `Loop` or `Scan` begins with
//! the first output of the node that has a name, a dot, the attribute and a slash.
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
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// An open model.
#[derive(Debug)]
pub struct Onnx {
    /// The files that have elements and their lengths, by their paths. That of the model is empty.
    files: BTreeMap<String, (File, u64)>,
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
        let (listed, len) = (graph::tensors(&pages)?, pages.len);
        let mut files = BTreeMap::from([(String::new(), (file, len))]);
        let mut most = 0;
        for (tensor, Stored { location, at, len, .. }) in listed.tensors.iter().zip(&listed.places) {
            if location.is_empty() {
                // Numbers of variable length can have fewer bytes than elements.
                most = u64::saturating_add(most, tensor.byte_len());
            } else if !files.contains_key(location) {
                let file = open(&path.with_file_name(location)).map_err(|error| {
                    let sentence = format!("data file {} cannot be opened: {error}", quoted(location));
                    io::Error::new(error.kind(), sentence)
                })?;
                let of_file = file.metadata()?.len();
                files.insert(location.clone(), (file, of_file));
                most = most.saturating_add(of_file);
            }
            let of_file = files.get(location).map_or(0, |(_, len)| *len);
            ensure(at.checked_add(*len).is_some_and(|end| end <= of_file), || {
                let [name, location] = [&tensor.name, location].map(|text| quoted(text));
                format!("tensor {name}: its {len} bytes at byte {at} exceed the {of_file} of {location}")
            })?;
        }
        listed.check_shared(most)?;
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
        let (file, _) = self.files.get(location).ok_or_else(no_tensor)?;
        let source: Box<dyn Read + Send> = match *width {
            None => Box::new(Exact::new(file, *at, *len)),
            Some(width) => Box::new(numbers(Pages::new(file)?, *at..at + len, width, |span| varint(span))),
        };
        Ok(Box::new(InTensor { source, name }))
    }
}
