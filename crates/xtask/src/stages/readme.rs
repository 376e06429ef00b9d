//! What pages promise, word by word, so that no figure there outlives a change in what is measured.

use crate::workspace;

/// An error that names the first of `promises` that the readme does not make.
pub fn check(promises: impl IntoIterator<Item = String>) -> Result<(), String> {
    check_page("README.md", promises)
}

/// The same of another page, a path below the root; of source what its documentation says.
pub fn check_page(page: &str, promises: impl IntoIterator<Item = String>) -> Result<(), String> {
    let text = workspace::read(&workspace::root().join(page))?;
    let text = String::from_utf8_lossy(&text);
    let text = text.split_whitespace().filter(|word| *word != "///").collect::<Vec<_>>().join(" ");
    match promises.into_iter().find(|promise| !text.contains(promise.as_str())) {
        None => Ok(()),
        Some(promise) => Err(format!("{page} does not say \"{promise}\"")),
    }
}
