//! Rejects outputs that would overwrite their own inputs.

use crate::error::Error;
use crate::input::discover::{Folders, folder_of, is_absent};
use crate::input::model::Model;
use std::io;
use std::path::{Path, PathBuf};

/// # Errors
/// The output is the input, possibly under another path.
pub fn check_not_input(input: &Path, output: &Path) -> Result<(), Error> {
    // `-` is standard output, even if a file has that name.
    if output.as_os_str() == "-" {
        return Ok(());
    }
    let input = place_of(input).map_err(|error| Error::not_read(input, error))?;
    match (input, place_of(output).map_err(|error| Error::cannot_write(output, &error))?) {
        (Some(one), Some(other)) if one == other => {
            Err(Error::about(output, "is an input; choose another output file"))
        }
        _ => Ok(()),
    }
}

/// # Errors
/// The output is a file of the model or its index, or a file of the model that this shard belongs to.
pub fn check_not_in_model(model: &Model, output: &Path) -> Result<(), Error> {
    if output.as_os_str() == "-" || matches!(place_of(output), Ok(None)) {
        return Ok(());
    }
    let parts = model.parts().iter().map(|part| part.path());
    parts.chain(model.index()).try_for_each(|file| check_not_input(file, output))?;
    let ([only], None) = (model.parts(), model.index()) else { return Ok(()) };
    for index in Folders::default().indexes_of(only.path())? {
        check_not_input(&index.path, output)?;
        let folder = index.path.parent().unwrap_or(Path::new(""));
        index.shards.iter().try_for_each(|shard| check_not_input(&folder.join(shard), output))?;
    }
    Ok(())
}

/// Whether two paths of files, which need not exist, have the same name in the same directory.
pub fn is_same_place(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        folder_of(path).canonicalize().ok().and_then(|folder| Some(folder.join(path.file_name()?)))
    };
    one == other || place(one).is_some_and(|one| Some(one) == place(other))
}

/// The path of a file with links resolved; None if there is no file.
///
/// # Errors
/// It cannot be determined whether the file exists.
pub fn place_of(path: &Path) -> io::Result<Option<PathBuf>> {
    match path.canonicalize() {
        Ok(place) => Ok(Some(place)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}
