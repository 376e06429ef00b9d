//! What the readme promises, word by word, so that no figure there outlives a change in what is measured.

use crate::workspace;

/// An error that names the first of `promises` that the readme does not make.
pub fn check(promises: impl IntoIterator<Item = String>) -> Result<(), String> {
    let page = workspace::read(&workspace::root().join("README.md"))?;
    let page = String::from_utf8_lossy(&page).split_whitespace().collect::<Vec<_>>().join(" ");
    match promises.into_iter().find(|promise| !page.contains(promise.as_str())) {
        None => Ok(()),
        Some(promise) => Err(format!("README.md does not say \"{promise}\"")),
    }
}
