//! `--rename` and `--rename-prefix`.

use super::pattern::{check_stars, fits, renamed};
use crate::text::{did_you_mean, quoted};

/// The rules given on the command line.
#[derive(clap::Args)]
pub struct Renames {
    /// Rename the tensor OLD to NEW (repeatable); OLD may be a glob, and each * of NEW is what its
    /// wildcard stands for: `h.*.w=layer.*.w`
    #[arg(long, value_name = "OLD=NEW", value_parser = pair)]
    rename: Vec<(String, String)>,

    /// Replace the name prefix OLD by NEW; OLD may be empty (repeatable)
    #[arg(long, value_name = "OLD=NEW", value_parser = pair)]
    rename_prefix: Vec<(String, String)>,
}

/// Splits `KEY=VALUE` at the first equals sign.
pub fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("no equals sign; write it like KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

impl Renames {
    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rename.is_empty() && self.rename_prefix.is_empty()
    }

    /// # Errors
    /// A rule has no effect on these names, so it is probably a mistake.
    pub fn check<'n, I: Iterator<Item = &'n str>>(&self, names: impl Fn() -> I) -> Result<(), String> {
        for (old, new) in &self.rename {
            let is_exact = names().any(|name| name == old);
            if !is_exact && !names().any(|name| fits(old, name)) {
                let hint = did_you_mean(old, names());
                return Err(format!("no tensor {} to rename{hint}", quoted(old)));
            }
            if !is_exact {
                check_stars(old, new)?;
            }
        }
        let mut prefixes = self.rename_prefix.iter().map(|(old, _)| old);
        match prefixes.find(|old| !names().any(|name| name.starts_with(old.as_str()))) {
            Some(old) => {
                let hint = did_you_mean(old, names());
                Err(format!("no tensor name begins with {}{hint}", quoted(old)))
            }
            None => Ok(()),
        }
    }

    /// Applies all rules at once: a rule never sees the result of another. None if no rule matches.
    ///
    /// # Errors
    /// The new name is empty or reserved.
    pub fn checked(&self, name: &str) -> Result<Option<String>, String> {
        match self.find(name).filter(|new| new != name) {
            Some(new) if new.is_empty() => Err(format!("the new name of tensor {} is empty", quoted(name))),
            Some(new) if new.starts_with("__padding__.") => Err(format!(
                "{} is not allowed as a new tensor name: it is reserved for padding",
                quoted(&new)
            )),
            new => Ok(new),
        }
    }

    /// As [`checked`](Self::checked), for names that have been checked; the same name if no rule matches.
    pub fn new_name(&self, name: &str) -> String {
        self.find(name).unwrap_or_else(|| name.to_owned())
    }

    fn find(&self, name: &str) -> Option<String> {
        let whole = self.rename.iter().find(|(old, _)| old == name).map(|(_, new)| new.clone());
        let like = || self.rename.iter().find_map(|(old, new)| renamed(old, new, name));
        let mut prefixes = self.rename_prefix.iter();
        let mut begun =
            || prefixes.find_map(|(old, new)| Some(format!("{new}{}", name.strip_prefix(old.as_str())?)));
        whole.or_else(like).or_else(&mut begun)
    }
}
