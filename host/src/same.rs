//! Outputs that would be written over what they are made from.

use crate::complaint::Complaint;
use crate::model::Model;
use std::path::Path;

/// # Errors
/// The output is the input, whatever both are called.
pub fn not_the_input(input: &Path, output: &Path) -> Result<(), Complaint> {
    // Standard output is none, whatever else is called so.
    if output.as_os_str() == "-" {
        return Ok(());
    }
    match (input.canonicalize(), output.canonicalize()) {
        (Ok(one), Ok(other)) if one == other => {
            Err(Complaint::about(output, "is the file that is read; write another one"))
        }
        _ => Ok(()),
    }
}

/// # Errors
/// The output is one of the files that the model is in.
pub fn not_of_the_model(model: &Model, output: &Path) -> Result<(), Complaint> {
    model.parts().iter().try_for_each(|part| not_the_input(part.path(), output))
}
