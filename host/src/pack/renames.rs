//! `--rename` and `--rename-prefix`.

use crate::args::glob::{captures, matches, wildcards};
use crate::text::{did_you_mean, quoted, shell_word};

/// The rules given on the command line.
#[derive(Default, clap::Args)]
pub struct Renames {
    /// Rename the tensor OLD to NEW (repeatable); OLD may be a glob, and each * of NEW is what its
    /// wildcard stands for: `h.*.w=layer.*.w`
    #[arg(long, value_name = "OLD=NEW", value_parser = pair)]
    rename: Vec<(String, String)>,

    /// Replace the name prefix OLD by NEW; OLD may be empty (repeatable)
    #[arg(long, value_name = "OLD=NEW", value_parser = pair)]
    rename_prefix: Vec<(String, String)>,
}

/// Splits a text at the first equals sign.
pub fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("no equals sign")?;
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
        let new_rules = self.rename.iter().filter(|(old, _)| !names().any(|name| name == old));
        for (old, new) in new_rules {
            if !names().any(|name| matches(old, name)) {
                return Err(format!("no tensor {} to rename{}", quoted(old), proposal(old, new, &names)));
            }
            let (needed, given) = (wildcards(old), new.matches('*').count());
            if needed != given {
                let (old, new) = (quoted(old), quoted(new));
                return Err(format!("{new} needs {needed} *, one for each wildcard of {old}, {given} given"));
            }
        }
        let is_unused = |old: &&String| !names().any(|name| name.starts_with(old.as_str()));
        match self.rename_prefix.iter().map(|(old, _)| old).find(is_unused) {
            Some(old) => {
                Err(format!("no tensor name begins with {}{}", quoted(old), did_you_mean(old, names())))
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
        let begun = || {
            let mut prefixes = self.rename_prefix.iter();
            prefixes.find_map(|(old, new)| Some(format!("{new}{}", name.strip_prefix(old.as_str())?)))
        };
        whole.or_else(like).or_else(begun)
    }
}

/// What may be meant by a rule whose `old` is no name: a similar name, or the beginning or a part of names.
fn proposal<'n, I: Iterator<Item = &'n str>>(old: &str, new: &str, names: impl Fn() -> I) -> String {
    let similar = did_you_mean(old, names());
    let others = usize::from(!similar.is_empty());
    let has = |is_meant: &dyn Fn(&str) -> bool| names().filter(|name| is_meant(name)).nth(others).is_some();
    let meant = match wildcards(old) + new.matches('*').count() {
        0 if has(&|name| name.starts_with(old)) => ("--rename-prefix", format!("{old}={new}")),
        0 if has(&|name| name.contains(old)) => ("--rename", format!("*{old}*=*{new}*")),
        _ => return similar,
    };
    format!("; did you mean `{} {}`?", meant.0, shell_word(&meant.1))
}

/// The new name of a tensor whose name matches `old`: each `*` of `new` is what the wildcard of `old` at the
/// same position stands for. None if the name does not match, or `old` has no wildcards or another number.
fn renamed(old: &str, new: &str, name: &str) -> Option<String> {
    let texts = captures(old, name)?;
    let is_like = !texts.is_empty() && new.matches('*').count() == texts.len();
    let parts = new.split('*').zip(texts.into_iter().chain([""]));
    is_like.then(|| parts.flat_map(|(part, text)| [part, text]).collect())
}

#[cfg(test)]
mod tests {
    use super::renamed;

    #[test]
    fn each_star_is_what_the_wildcard_stood_for() {
        for (old, new, name, expected) in [
            ("*.gamma", "*.weight", "ln.gamma", Some("ln.weight")),
            ("h.[0-3].?", "l.*.*", "h.2.w", Some("l.2.w")),
            ("h.*", "l.*", "層.h.1", None),
            ("old.*", "new", "old.a", None),
            ("old.*", "new.*.*", "old.a", None),
            ("old", "new", "old", None),
            ("h.?", "l.?", "h.1", None),
        ] {
            assert_eq!(renamed(old, new, name).as_deref(), expected, "{old}={new} {name}");
        }
    }
}
