//! Selecting and renaming tensors, and editing metadata.

use super::contents::Contents;
use super::renames::{Renames, pair};
use crate::error::Error;
use crate::input::selection::Choice;
use crate::text::{did_you_mean, quoted};
use std::path::PathBuf;

/// The edits given on the command line.
#[derive(clap::Args)]
pub struct Edits {
    /// Take only tensors that match this glob, with * and ? (repeatable)
    #[arg(long, visible_alias = "filter", value_name = "GLOB")]
    pub only: Vec<String>,

    /// Leave out tensors that match this glob (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub except: Vec<String>,

    #[command(flatten)]
    pub renames: Renames,

    /// Set a metadata key (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,

    /// Remove a metadata key (repeatable)
    #[arg(long, value_name = "KEY")]
    pub unset: Vec<String>,

    /// Remove all metadata except keys given with --set
    #[arg(long)]
    pub clear_metadata: bool,
}

impl Edits {
    /// Applies the edits to the contents of these inputs, but allows duplicate names.
    ///
    /// # Errors
    /// An edit has no effect, so it is probably a mistake.
    pub fn apply(&self, contents: &mut Contents<'_>, inputs: &[PathBuf]) -> Result<(), Error> {
        let edited = self.select(contents).and_then(|()| self.rename(contents));
        edited.and_then(|()| self.edit_metadata(contents)).map_err(|sentence| match inputs {
            [only] => Error::about(only, sentence),
            _ => Error::usage(sentence),
        })
    }

    fn select(&self, contents: &mut Contents<'_>) -> Result<(), String> {
        let choice = Choice { only: &self.only, except: &self.except };
        choice.check(|| contents.names())?;
        contents.entries.retain(|entry| choice.takes(&entry.name));
        Ok(())
    }

    fn rename(&self, contents: &mut Contents<'_>) -> Result<(), String> {
        self.renames.check(|| contents.names())?;
        for entry in &mut contents.entries {
            if let Some(new) = self.renames.checked(&entry.name)? {
                entry.name = new;
            }
        }
        Ok(())
    }

    fn edit_metadata(&self, contents: &mut Contents<'_>) -> Result<(), String> {
        for key in &self.unset {
            let removed = contents.metadata.as_mut().and_then(|metadata| metadata.remove(key));
            if removed.is_none() {
                let keys = contents.metadata.iter().flat_map(|metadata| metadata.keys());
                let hint = did_you_mean(key, keys.map(String::as_str));
                return Err(format!("no metadata key {} to remove{hint}", quoted(key)));
            }
        }
        if self.clear_metadata
            || (!self.unset.is_empty()
                && contents.metadata.as_ref().is_some_and(|metadata| metadata.is_empty()))
        {
            contents.metadata = None;
        }
        if !self.set.is_empty() {
            contents.metadata.get_or_insert_default().extend(self.set.iter().cloned());
        }
        Ok(())
    }
}
