//! The text of a model for programs that compare texts, such as `git diff`.

use super::digest::{sum_at, sums_of};
use crate::context::Context;
use crate::error::Error;
use crate::exit::Exit;
use crate::input::model::{Model, bytes_of};
use crate::print::diagnostic::sentence;
use crate::text::number::digits;
use crate::text::{counted, quoted_whole};
use std::io::Write;
use std::path::Path;

/// Writes a line for each key of the metadata and for each tensor, sorted by name: only what the model says,
/// not where it is in the file. About an invalid file, the text is its error, length and sum.
pub fn write_text(context: &Context, path: &Path, out: &mut impl Write) -> Result<(), Error> {
    let model = match Model::open(context, path) {
        Err(error) if error.exit() == Exit::Bad => {
            // Without the path: git converts files in temporary directories.
            writeln!(out, "invalid: {}", sentence(&error, usize::MAX))?;
            if path.is_file() {
                let sum = sum_at(context, path, &context.work("hashing", 0))?;
                writeln!(out, "{}, {}", counted(sum.bytes, "byte"), sum.sha256)?;
            }
            return Ok(());
        }
        model => model?,
    };
    for (key, value) in model.metadata().into_iter().flatten() {
        writeln!(out, "metadata {}: {}", quoted_whole(key), quoted_whole(value))?;
    }
    let (mut tensors, _) = model.without_padding()?;
    tensors.sort_by(|one, other| one.name().cmp(other.name()));
    let sums = sums_of(&tensors, &context.work("hashing", bytes_of(&tensors)))?;
    for (tensor, sum) in tensors.iter().zip(&sums) {
        let (name, sum) = (quoted_whole(tensor.name()), digits(sum));
        writeln!(out, "{name} {} {:?} {sum}", tensor.dtype(), tensor.dims())?;
    }
    model.check_unchanged()
}
