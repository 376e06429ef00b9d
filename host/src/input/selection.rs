//! The tensors that `--only` and `--except` choose.

use crate::args::glob::matches;
use crate::error::Error;
use crate::input::model::{Model, Tensor};
use crate::text::{did_you_mean, listed, quoted};

/// The most names in a question.
const NAMED: usize = 3;

/// The patterns of a command.
#[derive(clap::Args)]
pub struct Selection {
    /// Only tensors whose whole name matches this glob, with *, ? and […] (repeatable)
    #[arg(long, visible_alias = "filter", value_name = "GLOB")]
    pub only: Vec<String>,

    /// Except tensors that match this glob (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub except: Vec<String>,
}

impl Selection {
    /// Whether all tensors are chosen.
    pub fn is_empty(&self) -> bool {
        self.only.is_empty() && self.except.is_empty()
    }

    /// The tensors of a model that are chosen, by offset.
    ///
    /// # Errors
    /// A pattern matches nothing, or no tensor is left.
    pub fn tensors_of<'m>(&self, model: &'m Model) -> Result<Vec<Tensor<'m>>, Error> {
        self.of_all([model]).map(|[tensors]| tensors)
    }

    /// The same of several models. Each pattern must match something in at least one of them.
    ///
    /// # Errors
    /// A pattern matches nothing, or no tensor is left.
    pub fn of_all<'m, const N: usize>(&self, models: [&'m Model; N]) -> Result<[Vec<Tensor<'m>>; N], Error> {
        let all = || models.into_iter().flat_map(Model::tensors);
        let about = |sentence| Error::about(models[0].path(), sentence);
        self.check(|| all().map(|tensor| tensor.name())).map_err(about)?;
        Ok(models.map(|model| model.tensors().filter(|tensor| self.takes(tensor.name())).collect()))
    }

    /// # Errors
    /// A pattern matches none of the names, and the sentence suggests another one; or no name is chosen.
    pub fn check<'n, I: Iterator<Item = &'n str>>(&self, names: impl Fn() -> I) -> Result<(), String> {
        let is_unused = |pattern: &&String| !names().any(|name| matches(pattern, name));
        if let Some(pattern) = self.only.iter().chain(&self.except).find(|pattern| pattern.contains("[^")) {
            return Err(format!("{}: [!…] stands for a character that is not listed", quoted(pattern)));
        }
        match self.only.iter().chain(&self.except).find(is_unused) {
            Some(pattern) => {
                Err(format!("no tensor matches {}{}", quoted(pattern), proposal(pattern, names, true)))
            }
            None if self.is_empty() || names().any(|name| self.takes(name)) => Ok(()),
            None => Err("--only and --except leave no tensor".to_owned()),
        }
    }

    /// Whether a name is chosen.
    pub fn takes(&self, name: &str) -> bool {
        let is_like = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        (self.only.is_empty() || is_like(&self.only)) && !is_like(&self.except)
    }
}

/// What may be meant by a pattern that matches none of these names, or by a name that is none of them;
/// follows a sentence.
pub fn proposal<'n, I: Iterator<Item = &'n str>>(
    pattern: &str,
    names: impl Fn() -> I,
    is_pattern: bool,
) -> String {
    let (wider, lower) = (format!("*{}*", pattern.trim_matches('*')), pattern.to_lowercase());
    if is_pattern && names().any(|name| name == pattern) {
        return format!("; brackets are a pattern: did you mean {}?", quoted(&pattern.replace('[', "[[]")));
    }
    let near = || names().filter(|name| !pattern.is_empty() && matches(&wider, name));
    match near().count() as u64 {
        0 => {}
        _ if is_pattern => {
            return format!("; a pattern matches whole names: did you mean {}?", quoted(&wider));
        }
        count => return format!("; did you mean {}?", listed(near().map(quoted), NAMED, count)),
    }
    if is_pattern && pattern.contains('{') && pattern.contains('}') {
        return "; give several patterns instead of braces".to_owned();
    }
    match names().find(|name| matches(&lower, &name.to_lowercase())) {
        Some(name) if !is_pattern => format!("; did you mean {}?", quoted(name)),
        Some(name) => {
            let meant = if matches(&lower, name) { &lower } else { name };
            format!("; upper and lower case differ: did you mean {}?", quoted(meant))
        }
        None => did_you_mean(pattern, names()),
    }
}
