//! Promises of pages, word by word, so that no figure on a page outlives a change of what is measured.

use crate::workspace;

pub const README: &str = "README.md";
/// The guide's page of costs.
pub const COSTS: &str = "docs/src/costs.md";

/// Returns an error that names the first of `promises` that a page, or the docs of a source file, does not make.
pub fn check(page: &str, promises: impl IntoIterator<Item = String>) -> Result<(), String> {
    let text = workspace::text(&workspace::root().join(page))?;
    let text = text.split_whitespace().filter(|word| *word != "///").collect::<Vec<_>>().join(" ");
    match promises.into_iter().find(|promise| !text.contains(promise.as_str())) {
        None => Ok(()),
        Some(promise) => Err(format!("{page} does not say \"{promise}\"")),
    }
}
