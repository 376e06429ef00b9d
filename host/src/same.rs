//! Outputs that would be written over what they are made from.

use crate::complaint::Complaint;
use crate::model::Model;
use std::io;
use std::path::{Path, PathBuf};

/// # Errors
/// The output is the input, whatever both are called.
pub fn not_the_input(input: &Path, output: &Path) -> Result<(), Complaint> {
    // Standard output is none, whatever else is called so.
    if output.as_os_str() == "-" {
        return Ok(());
    }
    match (place_of(input)?, place_of(output)?) {
        (Some(one), Some(other)) if one == other => {
            Err(Complaint::about(output, "is the file that is read; write another one"))
        }
        _ => Ok(()),
    }
}

/// # Errors
/// The output is one of the files that the model is in, or its index.
pub fn not_of_the_model(model: &Model, output: &Path) -> Result<(), Complaint> {
    let parts = model.parts().iter().map(|part| part.path());
    parts.chain(model.index()).try_for_each(|file| not_the_input(file, output))
}

/// Where a file is without links; nothing if there is none.
///
/// # Errors
/// Nobody can tell whether there is one.
pub fn place_of(path: &Path) -> Result<Option<PathBuf>, Complaint> {
    match path.canonicalize() {
        Ok(place) => Ok(Some(place)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Complaint::not_read(path, error)),
    }
}
