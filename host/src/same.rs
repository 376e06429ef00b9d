//! Outputs that would be written over what they are made from.

use crate::complaint::Complaint;
use std::path::Path;

/// # Errors
/// The output is the input, whatever both are called.
pub fn not_the_input(input: &Path, output: &Path) -> Result<(), Complaint> {
    match (input.canonicalize(), output.canonicalize()) {
        (Ok(one), Ok(other)) if one == other => {
            Err(Complaint::about(output, "is the file that is read; write another one"))
        }
        _ => Ok(()),
    }
}
