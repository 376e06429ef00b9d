//! Selecting and renaming tensors, and editing metadata.

use super::contents::Contents;
use super::pattern::{check_stars, fits, renamed};
use crate::complaint::Complaint;
use crate::selection::Choice;
use crate::text::{did_you_mean, quoted};
use std::path::PathBuf;

/// The edits given on the command line.
#[derive(clap::Args)]
pub struct Edits {
    /// Take only tensors that match this glob, with * and ? (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub only: Vec<String>,

    /// Leave out tensors that match this glob (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub except: Vec<String>,

    /// Rename the tensor OLD to NEW (repeatable); OLD may be a glob, and each * of NEW is what its
    /// wildcard stands for: `h.*.w=layer.*.w`
    #[arg(long, value_name = "OLD=NEW", value_parser = pair)]
    pub rename: Vec<(String, String)>,

    /// Replace the name prefix OLD by NEW; OLD may be empty (repeatable)
    #[arg(long, value_name = "OLD=NEW", value_parser = pair)]
    pub rename_prefix: Vec<(String, String)>,

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

/// Splits `KEY=VALUE` at the first equals sign.
fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("no equals sign; write it like KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

impl Edits {
    /// Applies the edits to the contents of these inputs, but allows duplicate names.
    ///
    /// # Errors
    /// An edit has no effect, so it is probably a mistake.
    pub fn apply(&self, contents: &mut Contents<'_>, inputs: &[PathBuf]) -> Result<(), Complaint> {
        let edited = self.select(contents).and_then(|()| self.rename(contents));
        edited.and_then(|()| self.edit_metadata(contents)).map_err(|sentence| match inputs {
            [only] => Complaint::about(only, sentence),
            _ => Complaint::usage(sentence),
        })
    }

    fn select(&self, contents: &mut Contents<'_>) -> Result<(), String> {
        let choice = Choice { only: &self.only, except: &self.except };
        choice.check(|| contents.names())?;
        contents.entries.retain(|entry| choice.takes(&entry.name));
        Ok(())
    }

    fn rename(&self, contents: &mut Contents<'_>) -> Result<(), String> {
        for (old, new) in &self.rename {
            let is_exact = contents.names().any(|name| name == old);
            if !is_exact && !contents.names().any(|name| fits(old, name)) {
                let hint = did_you_mean(old, contents.names());
                return Err(format!("no tensor {} to rename{hint}", quoted(old)));
            }
            if !is_exact {
                check_stars(old, new)?;
            }
        }
        let mut prefixes = self.rename_prefix.iter().map(|(old, _)| old);
        if let Some(old) = prefixes.find(|old| !contents.names().any(|name| name.starts_with(*old))) {
            let hint = did_you_mean(old, contents.names());
            return Err(format!("no tensor name begins with {}{hint}", quoted(old)));
        }
        for entry in &mut contents.entries {
            let new = self.new_name(&entry.name);
            if new != entry.name && new.starts_with("__padding__.") {
                return Err(format!(
                    "{} is not allowed as a new tensor name: it is reserved for padding",
                    quoted(&new)
                ));
            }
            entry.name = new;
        }
        Ok(())
    }

    /// Whether any edit changes names.
    pub fn renames(&self) -> bool {
        !(self.rename.is_empty() && self.rename_prefix.is_empty())
    }

    /// Applies all renames at once: a rename never sees the result of another.
    pub fn new_name(&self, name: &str) -> String {
        let whole = self.rename.iter().find(|(old, _)| old == name).map(|(_, new)| new.clone());
        let like = || self.rename.iter().find_map(|(old, new)| renamed(old, new, name));
        let mut prefixes = self.rename_prefix.iter();
        let mut begun =
            || prefixes.find_map(|(old, new)| Some(format!("{new}{}", name.strip_prefix(old.as_str())?)));
        whole.or_else(like).or_else(&mut begun).unwrap_or_else(|| name.to_owned())
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
