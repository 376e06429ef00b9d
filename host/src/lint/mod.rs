//! Finds problems of valid files.

mod equal;
mod finding;
mod rules;
mod scan;

use crate::context::Context;
pub use finding::{Code, Finding, Level};

use crate::error::Error;
use crate::input::model::{Model, Part, Tensor};

/// All findings about a model, but those that are allowed: warnings first, in the order of the codes, and of
/// each code file by file.
///
/// # Errors
/// A file cannot be read; the user has interrupted the work.
pub fn lint(context: &Context, model: &Model, allowed: &[Code]) -> Result<Vec<Finding>, Error> {
    let tensors = model.without_padding()?.0;
    let (names, mut found) = (tensors.iter().map(Tensor::name).collect(), Vec::new());
    // The name of the file, if the model has several.
    let name = |part: &Part| part.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let in_part = |part, finding| Finding { file: model.index().map(|_| name(part)), ..finding };
    for part in model.parts() {
        found.extend(rules::findings(part, &names)?.into_iter().map(|finding| in_part(part, finding)));
    }
    if !allowed.contains(&Code::Duplicate) {
        let equal = equal::findings(context, &tensors)?.into_iter();
        found.extend(equal.map(|(tensor, finding)| in_part(tensor.model(), finding)));
    }
    model.check_unchanged()?;
    found.retain(|finding| !allowed.contains(&finding.code));
    found.sort_by_key(|finding| (finding.code.level(), finding.code));
    Ok(found)
}
