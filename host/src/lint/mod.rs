//! What is valid in a file, but makes trouble somewhere.

mod equal;
mod finding;
mod groups;
mod rules;
mod scan;

pub use finding::{Code, Finding, Level};

use crate::complaint::Complaint;
use crate::model::{Model, Tensor};

/// All findings about a model, but those that are allowed: warnings first, then in the order of the codes,
/// and those of a code file by file.
///
/// # Errors
/// A file cannot be read; the user has interrupted the work.
pub fn lint(model: &Model, allowed: &[Code]) -> Result<Vec<Finding>, Complaint> {
    let tensors: Vec<Tensor<'_>> = model.without_padding()?.0;
    let (groups, mut found) = (groups::of(&tensors), Vec::new());
    for part in model.parts() {
        let name = part.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = model.index().map(|_| name);
        found.extend(
            rules::findings(part, &groups)?
                .into_iter()
                .map(|finding| Finding { file: name.clone(), ..finding }),
        );
    }
    if !allowed.contains(&Code::Duplicate) {
        found.extend(equal::findings(&tensors)?);
    }
    model.check_unchanged()?;
    found.retain(|finding| !allowed.contains(&finding.code));
    found.sort_by_key(|finding| (finding.code.level(), finding.code));
    Ok(found)
}

/// With the lifetime of the model.
fn tensor_name(tensor: Tensor<'_>) -> &str {
    let indexed: embedded_safetensors::index::IndexedTensor<'_> = *tensor;
    indexed.name()
}
