//! The contents of a new model before anything is written.

use super::write::Line;
use crate::error::Error;
use crate::input::model::{Model, Padding, Tensor};
use crate::text::{quoted, shown_text};
use embedded_safetensors::write::TensorSpec;
use std::collections::hash_map;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// A tensor and its new name.
#[derive(Clone)]
pub struct Entry<'m> {
    pub name: String,
    pub tensor: Tensor<'m>,
}

impl<'m> Entry<'m> {
    pub fn spec(&self) -> TensorSpec<'_> {
        TensorSpec::new(&self.name, self.tensor.dtype(), self.tensor.dims())
    }

    /// The file that contains it.
    pub fn file(&self) -> &'m Path {
        self.tensor.model().path()
    }

    fn origin(&self) -> String {
        format!("{} of {}", quoted(self.tensor.name()), shown_text(&self.file().to_string_lossy()))
    }
}

/// Which input wins.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Prefer {
    First,
    Last,
}

/// Tensors in input order, and metadata.
#[derive(Default)]
pub struct Contents<'m> {
    pub entries: Vec<Entry<'m>>,
    pub metadata: Option<BTreeMap<String, String>>,
    /// The padding that the models have in addition.
    pub padding: Padding,
}

impl<'m> Contents<'m> {
    /// The contents of these models without their padding.
    ///
    /// # Errors
    /// Two models have different values for a metadata key, and neither is preferred; a model cannot be
    /// read.
    pub fn of(models: &'m [Model], prefer: Option<Prefer>) -> Result<Self, Error> {
        let mut contents = Self::default();
        for model in models {
            let (tensors, padding) = model.without_padding()?;
            let entries = tensors.into_iter().map(|tensor| Entry { name: tensor.name().to_owned(), tensor });
            contents.entries.extend(entries);
            contents.padding.add(padding);
            contents.take_metadata(model, prefer)?;
        }
        Ok(contents)
    }

    /// The current names of all tensors.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The tensors with their ranges in the only input, whose order an edit in place keeps.
    pub fn lines_in_place(&self) -> Vec<Line<'_, 'm>> {
        let ranges = self.entries.iter().map(|entry| (Some(entry), entry.tensor.begin(), entry.tensor.end()));
        let mut lines: Vec<_> = ranges.collect();
        lines.sort_by_key(|(_, begin, end)| (*begin, *end));
        lines
    }

    /// The bytes of all tensors.
    pub fn bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.tensor.byte_len()).sum()
    }

    fn take_metadata(&mut self, model: &Model, prefer: Option<Prefer>) -> Result<(), Error> {
        let Some(pairs) = model.pairs() else { return Ok(()) };
        let metadata = self.metadata.get_or_insert_default();
        for (key, value) in pairs {
            let old = metadata.get(key).filter(|old| *old != value);
            match (old, prefer) {
                (Some(_), Some(Prefer::First)) => continue,
                (Some(old), None) => {
                    let (key, old) = (quoted(key), quoted(old));
                    let sentence = format!(
                        "has the value {} for metadata key {key}, and an earlier file {old}; use --prefer \
                         to choose",
                        quoted(value)
                    );
                    return Err(Error::about(model.path(), sentence));
                }
                _ => drop(metadata.insert(key.to_owned(), value.to_owned())),
            }
        }
        Ok(())
    }

    /// Removes duplicate names.
    ///
    /// # Errors
    /// Two tensors have one name, and neither is preferred.
    pub fn unite(&mut self, prefer: Option<Prefer>) -> Result<(), Error> {
        let mut places = HashMap::new();
        let mut united: Vec<Entry<'m>> = Vec::with_capacity(self.entries.len());
        for entry in self.entries.drain(..) {
            match (places.entry(entry.name.clone()), prefer) {
                (hash_map::Entry::Vacant(free), _) => {
                    free.insert(united.len());
                    united.push(entry);
                }
                (hash_map::Entry::Occupied(_), Some(Prefer::First)) => {}
                (hash_map::Entry::Occupied(taken), Some(Prefer::Last)) => united[*taken.get()] = entry,
                (hash_map::Entry::Occupied(taken), None) => return Err(clash(&united[*taken.get()], &entry)),
            }
        }
        self.entries = united;
        Ok(())
    }
}

fn clash(one: &Entry<'_>, other: &Entry<'_>) -> Error {
    let (name, first, second) = (quoted(&one.name), one.origin(), other.origin());
    let sentence = format!("duplicate tensor name {name}: {first}, and {second}; use --prefer to choose");
    Error::about(other.file(), sentence)
}
