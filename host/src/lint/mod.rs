//! What is valid in a file, but makes trouble somewhere.

mod equal;
mod finding;
mod groups;
mod rules;
mod scan;

use crate::context::Context;
pub use finding::{Code, Finding, Level};

use crate::error::Error;
use crate::input::model::{Model, Part};

/// All findings about a model, but those that are allowed: warnings first, in the order of the codes, and of
/// each code file by file.
///
/// # Errors
/// A file cannot be read; the user has interrupted the work.
pub fn lint(context: &Context, model: &Model, allowed: &[Code]) -> Result<Vec<Finding>, Error> {
    let tensors = model.without_padding()?.0;
    let (groups, mut found) = (groups::of(&tensors), Vec::new());
    for part in model.parts() {
        let file = file_of(model, part);
        let of_part = rules::findings(part, &groups)?;
        found.extend(of_part.into_iter().map(|finding| Finding { file: file.clone(), ..finding }));
    }
    if !allowed.contains(&Code::Duplicate) {
        for (tensor, finding) in equal::findings(context, &tensors)? {
            found.push(Finding { file: file_of(model, tensor.model()), ..finding });
        }
    }
    model.check_unchanged()?;
    found.retain(|finding| !allowed.contains(&finding.code));
    found.sort_by_key(|finding| (finding.code.level(), finding.code));
    Ok(found)
}

/// The name of a file, if the model has several.
fn file_of(model: &Model, part: &Part) -> Option<String> {
    model.index()?;
    Some(part.path().file_name().unwrap_or_default().to_string_lossy().into_owned())
}
