//! Selecting and renaming tensors, and editing metadata.

use super::contents::Contents;
use super::renames::{Renames, pair};
use crate::error::Error;
use crate::input::discover::Folders;
use crate::input::selection::Selection;
use crate::output::writer::check_structure;
use crate::text::{did_you_mean, quoted, shown_path};
use embedded_safestructures::SCHEMA;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The edits given on the command line.
#[derive(clap::Args)]
pub struct Edits {
    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    renames: Renames,

    /// Set a metadata key (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,

    /// Remove a metadata key (repeatable)
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,

    /// Remove all metadata except keys given with --set
    #[arg(long)]
    clear_metadata: bool,
}

impl Edits {
    /// Applies the edits to the contents of these inputs, but allows duplicate names.
    ///
    /// # Errors
    /// An edit has no effect, so it is probably a mistake; or the metadata describes a structure of tensors
    /// that the output would not have.
    pub fn apply(&self, contents: &mut Contents<'_>, inputs: &[PathBuf]) -> Result<(), Error> {
        self.edit(contents).map_err(|sentence| match inputs {
            [only] => Error::about(only, sentence),
            _ => Error::usage(sentence),
        })
    }

    fn edit(&self, contents: &mut Contents<'_>) -> Result<(), String> {
        self.selection.check(|| contents.names())?;
        contents.entries.retain(|entry| self.selection.takes(&entry.name));
        self.remove_metadata(contents)?;
        self.renames.check(|| contents.names())?;
        for entry in &mut contents.entries {
            if let Some(new) = self.renames.checked(&entry.name)? {
                entry.name = new;
            }
        }
        if !self.set.is_empty() {
            contents.metadata.get_or_insert_default().extend(self.set.iter().cloned());
        }
        let schema = contents.metadata.as_ref().and_then(|pairs| pairs.get(SCHEMA));
        check_structure(schema.map(String::as_str), contents.names())
    }

    fn remove_metadata(&self, contents: &mut Contents<'_>) -> Result<(), String> {
        for key in &self.unset {
            if contents.metadata.as_mut().and_then(|pairs| pairs.remove(key)).is_none() {
                let keys = contents.metadata.iter().flatten().map(|(key, _)| key.as_str());
                return Err(format!("no metadata key {} to remove{}", quoted(key), did_you_mean(key, keys)));
            }
        }
        let is_empty = contents.metadata.as_ref().is_some_and(BTreeMap::is_empty);
        if self.clear_metadata || (is_empty && !self.unset.is_empty()) {
            contents.metadata = None;
        }
        Ok(())
    }

    /// # Errors
    /// The edits would rename a tensor of this file that an index names.
    pub fn keep_index_of(&self, input: &Path) -> Result<(), Error> {
        if self.renames.is_empty() {
            return Ok(());
        }
        Folders::default().indexes_of(input)?.first().map_or(Ok(()), |index| {
            let index = shown_path(&index.path);
            let sentence = format!(
                "is a shard of {index}, which would not know the new names; pack the index into a new file"
            );
            Err(Error::about(input, sentence))
        })
    }
}
