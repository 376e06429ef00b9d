//! Checks sentences with figures in pages, word for word, so that pages cannot contradict the limits.

use crate::workspace;

pub const README: &str = "README.md";
/// The guide's page of costs.
pub const COSTS: &str = "docs/src/costs.md";

/// Checks that a page, or the docs of a source file, contains all `promises`; the error names the first that
/// is missing.
pub fn check(page: &str, promises: impl IntoIterator<Item = String>) -> Result<(), String> {
    let text = workspace::text(&workspace::root().join(page))?;
    let text = text.split_whitespace().filter(|word| *word != "///").collect::<Vec<_>>().join(" ");
    match promises.into_iter().find(|promise| !text.contains(promise.as_str())) {
        None => Ok(()),
        Some(promise) => Err(format!("{page} does not say \"{promise}\"")),
    }
}
