//! The contents of a new model before anything is written.

use super::write::Line;
use crate::context::Context;
use crate::error::Error;
use crate::input::discover::without_listed;
use crate::input::model::{Model, Padding, Tensor};
use crate::text::{quoted, shown_path};
use embedded_safetensors::write::TensorSpec;
use safetensors_files::ModelEditor;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// A tensor and its new name.
#[derive(Clone)]
pub struct Entry<'m> {
    pub name: String,
    pub tensor: Tensor<'m>,
    /// The number of its input.
    input: usize,
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
        format!("{} of {}", quoted(self.tensor.name()), shown_path(self.file()))
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

/// Opens all models, in this order. Shards that belong to an index among them are opened with it.
pub fn open_all(context: &Context, paths: &[PathBuf]) -> Result<Vec<Model>, Error> {
    without_listed(paths)?.iter().map(|path| Model::open(context, path)).collect()
}

impl<'m> Contents<'m> {
    /// The contents of these models without their padding.
    ///
    /// # Errors
    /// Two models have different values for a metadata key, and neither is preferred; a model cannot be
    /// read.
    pub fn of(models: &'m [Model], prefer: Option<Prefer>) -> Result<Self, Error> {
        let mut contents = Self::default();
        for (input, model) in models.iter().enumerate() {
            let (tensors, padding) = model.without_padding()?;
            let entry = |tensor: Tensor<'m>| Entry { name: tensor.name().to_owned(), tensor, input };
            contents.entries.extend(tensors.into_iter().map(entry));
            contents.padding.add(padding);
            let Some(pairs) = model.pairs() else { continue };
            let metadata = contents.metadata.get_or_insert_default();
            for (key, value) in pairs {
                match (metadata.get(key).filter(|old| *old != value), prefer) {
                    (Some(_), Some(Prefer::First)) => {}
                    (Some(old), None) => {
                        let [key, value, old] = [key, value, old].map(quoted);
                        let sentence = format!(
                            "has the value {value} for metadata key {key}, and an earlier file {old}; use \
                             --prefer to choose"
                        );
                        return Err(Error::about(model.path(), sentence));
                    }
                    _ => drop(metadata.insert(key.to_owned(), value.to_owned())),
                }
            }
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

    /// Gives the file of the only input these names and this metadata.
    ///
    /// # Errors
    /// A name is a duplicate or reserved.
    pub fn put_in(&self, editor: &mut ModelEditor<'_>) -> Result<(), Error> {
        let names = self.entries.iter().map(|entry| (entry.tensor.name(), entry.name.as_str()));
        let names: HashMap<_, _> = names.collect();
        editor.rename_all(|name| names.get(name).map_or(name, |new| *new).to_owned())?;
        // Empty metadata is that of the file.
        if self.metadata.as_ref().is_none_or(|pairs| !pairs.is_empty()) {
            editor.clear_metadata();
        }
        self.metadata.iter().flatten().for_each(|(key, value)| editor.set_metadata(key, value));
        Ok(())
    }

    /// The bytes of all tensors.
    pub fn bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.tensor.byte_len()).sum()
    }

    /// Removes duplicate names.
    ///
    /// # Errors
    /// Two tensors have one name, and neither is preferred or both are of one input.
    pub fn unite(&mut self, prefer: Option<Prefer>) -> Result<(), Error> {
        if self.names().collect::<HashSet<_>>().len() == self.entries.len() {
            return Ok(());
        }
        let mut indices = HashMap::new();
        let mut united: Vec<Entry<'m>> = Vec::with_capacity(self.entries.len());
        for entry in self.entries.drain(..) {
            let free = united.len();
            let index = *indices.entry(entry.name.clone()).or_insert(free);
            let is_of_one = united.get(index).is_some_and(|first| first.input == entry.input);
            match prefer.filter(|_| !is_of_one) {
                _ if index == free => united.push(entry),
                Some(Prefer::First) => {}
                Some(Prefer::Last) => united[index] = entry,
                None => {
                    let [first, second] = [&united[index], &entry].map(Entry::origin);
                    let name = quoted(&entry.name);
                    let advice = if is_of_one { "rename one of them" } else { "use --prefer to choose" };
                    let sentence = format!("duplicate tensor name {name}: {first}, and {second}; {advice}");
                    return Err(Error::about(entry.file(), sentence));
                }
            }
        }
        self.entries = united;
        Ok(())
    }
}
