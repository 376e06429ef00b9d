//! Selecting and renaming tensors, and editing metadata.

use super::contents::Contents;
use crate::complaint::Complaint;
use crate::conform::matches;
use crate::text::quoted;

/// The edits given on the command line.
#[derive(clap::Args)]
pub struct Edits {
    /// Take only tensors that match this glob, with * and ? (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub only: Vec<String>,

    /// Leave out tensors that match this glob (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub except: Vec<String>,

    /// Rename the tensor OLD to NEW (repeatable)
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
    /// Applies the edits, but allows duplicate names.
    ///
    /// # Errors
    /// An edit has no effect, so it is probably a mistake.
    pub fn apply(&self, contents: &mut Contents<'_>) -> Result<(), Complaint> {
        let nothing = |sentence| Err(Complaint::usage(sentence));
        let is_like = |patterns: &[String], name: &str| patterns.iter().any(|glob| matches(glob, name));
        let mut globs = self.only.iter().chain(&self.except);
        if let Some(glob) =
            globs.find(|glob| !contents.entries.iter().any(|entry| matches(glob, &entry.name)))
        {
            return nothing(format!("no tensor matches {}", quoted(glob)));
        }
        contents.entries.retain(|entry| {
            (self.only.is_empty() || is_like(&self.only, &entry.name)) && !is_like(&self.except, &entry.name)
        });
        if let Some((old, _)) =
            self.rename.iter().find(|(old, _)| !contents.entries.iter().any(|entry| entry.name == *old))
        {
            return nothing(format!("no tensor {} to rename", quoted(old)));
        }
        let has_prefix =
            |prefix: &String| contents.entries.iter().any(|entry| entry.name.starts_with(prefix));
        if let Some((old, _)) = self.rename_prefix.iter().find(|(old, _)| !has_prefix(old)) {
            return nothing(format!("no tensor name begins with {}", quoted(old)));
        }
        for entry in &mut contents.entries {
            let new = self.new_name(&entry.name);
            if new != entry.name && new.starts_with("__padding__.") {
                return nothing(format!(
                    "{} is not allowed as a new tensor name: it is reserved for padding",
                    quoted(&new)
                ));
            }
            entry.name = new;
        }
        self.edit_metadata(contents)
    }

    /// Whether any edit changes names.
    pub fn renames(&self) -> bool {
        !(self.rename.is_empty() && self.rename_prefix.is_empty())
    }

    /// Applies all renames at once: a rename never sees the result of another.
    pub fn new_name(&self, name: &str) -> String {
        let whole = self.rename.iter().find(|(old, _)| old == name).map(|(_, new)| new.clone());
        let mut prefixes = self.rename_prefix.iter();
        let begun =
            prefixes.find_map(|(old, new)| Some(format!("{new}{}", name.strip_prefix(old.as_str())?)));
        whole.or(begun).unwrap_or_else(|| name.to_owned())
    }

    fn edit_metadata(&self, contents: &mut Contents<'_>) -> Result<(), Complaint> {
        for key in &self.unset {
            let removed = contents.metadata.as_mut().and_then(|metadata| metadata.remove(key));
            if removed.is_none() {
                return Err(Complaint::usage(format!("no metadata key {} to remove", quoted(key))));
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
