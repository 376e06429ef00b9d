//! Models of ONNX: the tensors in their files.
//!
//! A file is a message of protocol buffers, which is read field by field; nothing of a graph is executed.
//! Tensors are initializers and attributes of nodes, also in graphs in graphs:
//!
//! | tensor | name |
//! |---|---|
//! | initializer | its own |
//! | `value` of a `Constant` | that of the output of the node |
//! | other attributes | the output of the node, a dot and the attribute |
//! | in the graph of an `If`, `Loop` or `Scan` | begins with the node, a dot, the attribute and a slash |
//!
//! Tensors of texts are left out, and so are the numbers or texts of a `Constant` without a tensor; those of
//! other nodes are settings. Elements may be in other files, below the directory of the model.
//! Rejected: functions, sparse tensors, tensors in segments, lists of tensors or graphs in an attribute,
//! information for training, dtypes that safetensors does not have.

mod graph;

use crate::error::ensure;
use crate::pages::{Pages, Span};
use crate::proto::{Bytes, varint};
use crate::source::{InTensor, Tensor, TensorSource, no_tensor, pieces};
use crate::text::quoted;
use crate::zip::{Exact, is_unsafe};
use graph::{Stored, Walk};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

/// An open model.
#[derive(Debug)]
pub struct Onnx {
    /// The files that have elements, by their paths. That of the model is empty.
    files: BTreeMap<String, File>,
    walk: Walk,
}

impl Onnx {
    /// Opens the file with this path, and then those that it names, which are below its directory. `open`
    /// opens each.
    ///
    /// # Errors
    /// As [`TensorSource`] says; and those of `open`.
    pub fn open(path: &Path, mut open: impl FnMut(&Path) -> io::Result<File>) -> io::Result<Self> {
        let file = open(path)?;
        let walk = Walk::of(&Pages::new(&file)?)?;
        let mut files = BTreeMap::from([(String::new(), file)]);
        for name in data_files(&walk)? {
            let file = open(&path.with_file_name(&name)).map_err(|error| {
                let sentence = format!("data file {} cannot be opened: {error}", quoted(&name));
                io::Error::new(error.kind(), sentence)
            })?;
            files.insert(name, file);
        }
        let model = Self { files, walk };
        model.check_places()?;
        Ok(model)
    }

    /// Returns the paths of the files that a model names, relative to its directory. Opens none of them.
    ///
    /// # Errors
    /// As [`TensorSource`] says, also about a path that leads out of the directory.
    pub fn data_files(file: &File) -> io::Result<BTreeSet<String>> {
        data_files(&Walk::of(&Pages::new(file)?)?)
    }

    /// Checks that elements are in their files, and together have no more bytes than each.
    fn check_places(&self) -> io::Result<()> {
        let lens = self.files.iter().map(|(name, file)| Ok((&**name, [file.metadata()?.len(); 2])));
        let mut lens: BTreeMap<&str, [u64; 2]> = lens.collect::<io::Result<_>>()?;
        for (tensor, Stored { location, at, len, .. }) in self.tensors().iter().zip(&self.walk.stored) {
            let [of_file, left] = lens.get_mut(&**location).ok_or_else(no_tensor)?;
            let name = quoted(&tensor.name);
            ensure(at.checked_add(*len).is_some_and(|end| end <= *of_file), || {
                let location = quoted(location);
                format!("tensor {name}: its {len} bytes at byte {at} exceed the {of_file} of {location}")
            })?;
            ensure(*len <= *left, || format!("tensor {name}: it shares bytes of its file with others"))?;
            *left -= len;
        }
        Ok(())
    }
}

fn data_files(walk: &Walk) -> io::Result<BTreeSet<String>> {
    let names = walk.stored.iter().map(|stored| &stored.location).filter(|name| !name.is_empty());
    let check = |name: &String| {
        ensure(!is_unsafe(name), || format!("data file {} is outside the directory", quoted(name)))?;
        Ok(name.clone())
    };
    names.map(check).collect()
}

impl TensorSource for Onnx {
    fn tensors(&self) -> &[Tensor] {
        &self.walk.listed.tensors
    }

    fn metadata(&self) -> &[(String, String)] {
        &[]
    }

    fn left_out(&self) -> &[(String, &'static str)] {
        &self.walk.listed.left_out
    }

    fn read(&self, index: usize) -> io::Result<Box<dyn Read + Send + '_>> {
        let (tensor, stored) =
            self.tensors().get(index).zip(self.walk.stored.get(index)).ok_or_else(no_tensor)?;
        let (file, name) = (self.files.get(&stored.location).ok_or_else(no_tensor)?, &*tensor.name);
        Ok(match stored.width {
            None => Box::new(InTensor { source: Exact::new(file, stored.at, stored.len), name }),
            Some(width) => {
                let source = numbers(Pages::new(file)?, stored.at..stored.at + stored.len, width);
                Box::new(InTensor { source, name })
            }
        })
    }
}

/// Returns the lowest bytes of numbers of variable length.
fn numbers(pages: Pages<'_>, mut range: Range<u64>, width: usize) -> impl Read {
    pieces(move |out| {
        let mut span = Span { pages: &pages, range: range.clone() };
        while span.left() > 0 && out.len() < 1 << 16 {
            out.extend(&varint(&mut span)?.to_le_bytes()[..width]);
        }
        range = span.range;
        Ok(())
    })
}
