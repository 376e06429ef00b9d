//! What is to be left out, and called otherwise.

use super::contents::Contents;
use crate::complaint::Complaint;
use crate::conform::matches;
use crate::text::quoted;

/// The edits of a command line.
#[derive(clap::Args)]
pub struct Edits {
    /// Take only tensors whose names are like this, with * and ?; may be given more than once
    #[arg(long, value_name = "GLOB")]
    pub only: Vec<String>,

    /// Leave out tensors whose names are like this; may be given more than once
    #[arg(long, value_name = "GLOB")]
    pub except: Vec<String>,

    /// Call the tensor OLD NEW; may be given more than once
    #[arg(long, value_name = "OLD=NEW", value_parser = pair)]
    pub rename: Vec<(String, String)>,

    /// Have names begin with NEW instead of OLD, which may be empty; may be given more than once
    #[arg(long, value_name = "OLD=NEW", value_parser = pair)]
    pub rename_prefix: Vec<(String, String)>,

    /// Set a key of the metadata; may be given more than once
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,

    /// Leave out a key of the metadata; may be given more than once
    #[arg(long, value_name = "KEY")]
    pub unset: Vec<String>,

    /// Leave out all metadata but what is set
    #[arg(long)]
    pub clear_metadata: bool,
}

/// `KEY=VALUE`, at the first equals sign.
fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("there is no equals sign in it")?;
    Ok((key.to_owned(), value.to_owned()))
}

impl Edits {
    /// Makes them, but for names that two tensors would have.
    ///
    /// # Errors
    /// One has nothing to do, so something else was meant.
    pub fn apply(&self, contents: &mut Contents<'_>) -> Result<(), Complaint> {
        let nothing = |sentence| Err(Complaint::usage(sentence));
        let is_like = |patterns: &[String], name: &str| patterns.iter().any(|glob| matches(glob, name));
        let mut globs = self.only.iter().chain(&self.except);
        if let Some(glob) =
            globs.find(|glob| !contents.entries.iter().any(|entry| matches(glob, &entry.name)))
        {
            return nothing(format!("no tensor's name is like {}", quoted(glob)));
        }
        contents.entries.retain(|entry| {
            (self.only.is_empty() || is_like(&self.only, &entry.name)) && !is_like(&self.except, &entry.name)
        });
        if let Some((old, _)) =
            self.rename.iter().find(|(old, _)| !contents.entries.iter().any(|entry| entry.name == *old))
        {
            return nothing(format!("there is no tensor {} to be called otherwise", quoted(old)));
        }
        let has_prefix =
            |prefix: &String| contents.entries.iter().any(|entry| entry.name.starts_with(prefix));
        if let Some((old, _)) = self.rename_prefix.iter().find(|(old, _)| !has_prefix(old)) {
            return nothing(format!("no tensor's name begins with {}", quoted(old)));
        }
        for entry in &mut contents.entries {
            let new = self.new_name(&entry.name);
            if new != entry.name && new.starts_with("__padding__.") {
                return nothing(format!(
                    "no tensor can be called {}: it may be taken for padding",
                    quoted(&new)
                ));
            }
            entry.name = new;
        }
        self.edit_metadata(contents)
    }

    /// Whether any name is to change.
    pub fn renames(&self) -> bool {
        !(self.rename.is_empty() && self.rename_prefix.is_empty())
    }

    /// All at once: what one makes is not found by another.
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
                return Err(Complaint::usage(format!("there is no key {} in the metadata", quoted(key))));
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
