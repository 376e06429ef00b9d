//! A model in several files, with an index that says which tensor is in which.

use super::Checkpoint;
use crate::error::unsound;
use crate::source::{Tensor, TensorSource};
use crate::text::quoted;
use std::io::{self, Read};

/// A model in several files of PyTorch, as `pytorch_model.bin.index.json` lists them under `weight_map`.
///
/// The caller reads the index, checks each name in it with [`is_safe_name`], and opens the files beside it.
#[derive(Debug)]
pub struct Sharded {
    /// The files, whose tensors were moved to `tensors`.
    parts: Vec<Checkpoint>,
    tensors: Vec<Tensor>,
    /// The number of the file of each tensor, and its number there.
    places: Vec<(usize, usize)>,
    metadata: Vec<(String, String)>,
}

/// Whether the name of a file in an index is a plain name, which is beside the index wherever that is.
pub fn is_safe_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\\', ':', '\0'])
}

impl Sharded {
    /// Joins files, each with its name in the index, by the names of tensors and files in it.
    ///
    /// # Errors
    /// The index is not safe, or files and index have different tensors.
    pub fn new(files: Vec<(String, Checkpoint)>, weight_map: Vec<(String, String)>) -> io::Result<Self> {
        let mut index = Index::new(weight_map)?;
        let mut all =
            Self { parts: Vec::new(), tensors: Vec::new(), places: Vec::new(), metadata: Vec::new() };
        for (file, mut checkpoint) in files {
            let part = all.parts.len();
            for (number, tensor) in std::mem::take(&mut checkpoint.tensors).into_iter().enumerate() {
                index.find(&tensor.name, &file)?;
                all.tensors.push(tensor);
                all.places.push((part, number));
            }
            for (name, kept) in std::mem::take(&mut checkpoint.metadata) {
                index.find(&name, &file)?;
                all.metadata.push((name, kept));
            }
            all.parts.push(checkpoint);
        }
        index.check_all()?;
        Ok(all)
    }

    /// Returns the files, in the order in which they were given.
    pub fn parts(&self) -> &[Checkpoint] {
        &self.parts
    }
}

impl TensorSource for Sharded {
    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    fn read(&self, index: usize) -> io::Result<Box<dyn Read + '_>> {
        let tensor = self.tensors.get(index).ok_or_else(super::no_tensor)?;
        let (part, number) = self.places.get(index).copied().ok_or_else(super::no_tensor)?;
        self.parts.get(part).ok_or_else(super::no_tensor)?.read_tensor(number, tensor)
    }
}

/// The tensors of an index in the order of their names, with their files, and whether each was found.
struct Index(Vec<(String, String, bool)>);

impl Index {
    fn new(weight_map: Vec<(String, String)>) -> io::Result<Self> {
        let mut entries: Vec<_> = weight_map.into_iter().map(|(name, file)| (name, file, false)).collect();
        entries.sort_unstable();
        if let Some((_, file, _)) = entries.iter().find(|(_, file, _)| !is_safe_name(file)) {
            let file = quoted(file);
            return Err(unsound(format!("the index names the file {file}, which may not be beside it")));
        }
        let name_of = |entry: Option<&(String, String, bool)>| entry.map(|(name, ..)| name.clone());
        let duplicate = entries.windows(2).find(|pair| name_of(pair.first()) == name_of(pair.last()));
        match duplicate.and_then(|pair| name_of(pair.first())) {
            Some(name) => Err(unsound(format!("the index has tensor {} twice", quoted(&name)))),
            None => Ok(Self(entries)),
        }
    }

    /// Finds a tensor of a file.
    fn find(&mut self, tensor: &str, file: &str) -> io::Result<()> {
        let found = self.0.binary_search_by(|(name, ..)| name.as_str().cmp(tensor)).ok();
        let (tensor, file_shown) = (quoted(tensor), quoted(file));
        match found.and_then(|index| self.0.get_mut(index)) {
            Some((_, expected, is_found)) if expected == file => {
                *is_found = true;
                Ok(())
            }
            Some((_, expected, _)) => Err(unsound(format!(
                "file {file_shown} has tensor {tensor}, which the index says is in {}",
                quoted(expected)
            ))),
            None => {
                Err(unsound(format!("file {file_shown} has tensor {tensor}, which the index does not list")))
            }
        }
    }

    fn check_all(&self) -> io::Result<()> {
        match self.0.iter().find(|(_, _, is_found)| !is_found) {
            Some((name, file, _)) => Err(unsound(format!(
                "file {} does not have tensor {}, which the index says is in it",
                quoted(file),
                quoted(name)
            ))),
            None => Ok(()),
        }
    }
}
