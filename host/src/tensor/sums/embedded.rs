//! The sum that a model contains.

use super::digest::read;
use super::finding::Difference;
use crate::context::Context;
use crate::error::Error;
use crate::input::model::{Model, Padding};
use crate::output::model::save;
use crate::text::number::digits;
use embedded_safetensors::{
    ErrorKind,
    integrity::{EmbeddedSum, Sha256, Verifier},
};
use safetensors_files::{ModelEditor, SaveMethod};
use std::path::Path;

/// The key of a manifest that any change of the model makes invalid.
pub const C2PA: &str = "c2pa:manifest";

/// Verifies a model in one file against the sum that it contains.
///
/// # Errors
/// The model is invalid or cannot be read; it contains no sum, or one that is misspelled.
pub fn check_embedded(context: &Context, path: &Path) -> Result<Option<Difference>, Error> {
    let EmbeddedSum { stored, computed, .. } = embedded_sum(context, path)?;
    let [sha256, expected] = [computed, stored].map(|sum| digits(&sum));
    Ok((sha256 != expected).then_some(Difference::Changed { sha256, expected, tensors: None }))
}

fn embedded_sum(context: &Context, path: &Path) -> Result<EmbeddedSum, Error> {
    let model = Model::open(context, path)?;
    let part = model.one_part()?;
    let len = part.index().summary().file_len();
    let mut verifier = Verifier::new(Sha256::new());
    let work = context.work("hashing", len);
    read(path, part.reader().until(len), 0..len, &work, |piece| verifier.update(piece))?;
    model.check_unchanged()?;
    verifier.finish().map_err(|error| match error.kind {
        ErrorKind::SumMissing => {
            Error::bad(path, "no-sum", "contains no sum; `safetensors hash --embed` embeds one")
        }
        _ => Error::of_format(path, &error),
    })
}

/// Embeds the sum of a model in it, in place or by a new file that replaces it, and verifies the result.
/// Returns the sum, whether only the header was written, and the padding that a new file does not have.
///
/// # Errors
/// The model is invalid, or cannot be read or written; interruption by the user: the file is unchanged then.
/// The new file cannot be read again, or has another sum.
pub fn embed(context: &Context, path: &Path) -> Result<(String, bool, Padding), Error> {
    let model = Model::open(context, path)?;
    if model.metadata().is_some_and(|pairs| pairs.contains_key(C2PA)) {
        return Err(Error::about(path, "contains a C2PA manifest, which an embedded sum would make invalid"));
    }
    let (_, mut padding) = model.without_padding()?;
    padding.sum = false;
    let mut editor = ModelEditor::open(path)?;
    editor.embed_sum();
    let in_place = save(context, editor, path, "hashing")? == SaveMethod::InPlace;
    let EmbeddedSum { stored, computed, .. } = embedded_sum(context, path)?;
    if stored != computed {
        return Err(Error::bad(path, "changed", "was changed while its sum was embedded"));
    }
    Ok((digits(&stored), in_place, if in_place { Padding::default() } else { padding }))
}
