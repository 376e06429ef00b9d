//! The text of a model for programs that compare texts, such as `git diff`.

use super::digest::{Trouble, sum_at, sum_of_tensor};
use crate::context::Context;
use crate::error::Error;
use crate::exit::Exit;
use crate::input::model::{Model, bytes_of, threads_for};
use crate::print::diagnostic::sentence;
use crate::text::{counted, quoted_whole};
use crate::threads::in_order;
use std::io::Write;
use std::path::Path;

/// Writes a line for each key of the metadata and for each tensor, sorted by name: only what the model says,
/// not where it is in the file. About an invalid file, the text is its error, length and sum.
///
/// # Errors
/// The file cannot be read; those of `out`; interruption by the user.
pub fn write_text(context: &Context, path: &Path, out: &mut impl Write) -> Result<(), Error> {
    let model = match Model::open(context, path) {
        Ok(model) => model,
        Err(complaint) if complaint.exit() == Exit::Bad => {
            return write_invalid(context, path, &complaint, out);
        }
        Err(complaint) => return Err(complaint),
    };
    for (key, value) in model.metadata().into_iter().flatten() {
        writeln!(out, "metadata {}: {}", quoted_whole(key), quoted_whole(value))?;
    }
    let (mut tensors, _) = model.without_padding()?;
    tensors.sort_by(|one, other| one.name().cmp(other.name()));
    let work = context.work("hashing", bytes_of(&tensors));
    let sum = |tensor| sum_of_tensor(tensor, &work).map(|sum| (tensor, sum));
    in_order(&tensors, threads_for(&tensors), sum, |outcome| {
        let (tensor, sum) = outcome?;
        writeln!(out, "{} {} {:?} {sum}", quoted_whole(tensor.name()), tensor.dtype(), tensor.dims())?;
        Ok::<_, Error>(())
    })?;
    model.check_unchanged()
}

/// Without the path: git converts files in temporary directories.
fn write_invalid(
    context: &Context,
    path: &Path,
    complaint: &Error,
    out: &mut impl Write,
) -> Result<(), Error> {
    writeln!(out, "invalid: {}", sentence(&complaint, usize::MAX))?;
    if path.is_file() {
        let sum = sum_at(context, path, &context.work("hashing", 0));
        let (len, sum) = sum.map_err(|trouble: Trouble| trouble.about(path))?;
        writeln!(out, "{}, {sum}", counted(len, "byte"))?;
    }
    Ok(())
}
