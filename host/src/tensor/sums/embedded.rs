//! The sum that a model contains.

use super::digest::Trouble;
use super::finding::{Finding, Found};
use super::single::Single;
use crate::context::Context;
use crate::error::Error;
use crate::input::model::Padding;
use crate::text::number::digits;
use embedded_safetensors::{
    ErrorKind,
    integrity::{EmbeddedSum, Sha256, Verifier},
};
use safetensors_files::{ModelEditor, SaveMethod};
use std::ops::ControlFlow;
use std::path::Path;

/// Verifies a model against the sum that it contains.
///
/// # Errors
/// The model is invalid or cannot be read; it contains no sum, or one that is misspelled.
pub fn check_embedded(context: &Context, path: &Path) -> Result<Found, Error> {
    let EmbeddedSum { stored, computed, .. } = embedded_sum(context, path)?;
    let finding = match stored == computed {
        true => Finding::Same,
        false => Finding::Changed { sum: digits(&computed), expected: digits(&stored), tensors: None },
    };
    Ok(Found { name: path.into(), finding })
}

fn embedded_sum(context: &Context, path: &Path) -> Result<EmbeddedSum, Error> {
    let single = Single::open(context, path)?;
    let (work, mut verifier) = (context.work("hashing", single.len()), Verifier::new(Sha256::new()));
    let read = single.each_piece(|piece| {
        verifier.update(piece);
        work.advance(piece.len() as u64).map_err(Trouble::Other)
    });
    read.map_err(|trouble| trouble.about(path))?;
    single.check_unchanged()?;
    verifier.finish().map_err(|error| match error.kind {
        ErrorKind::SumMissing => {
            Error::bad(path, "no-sum", "contains no sum; `safetensors hash --embed` embeds one")
        }
        _ => Error::of_format(path, &error),
    })
}

/// How a sum was embedded.
pub struct Embedded {
    pub sum: String,
    pub saved: SaveMethod,
    /// The padding that a copy does not have.
    pub left_out: Padding,
}

/// Embeds the sum of a model in it, in place or by a new file that replaces it, and verifies the result.
///
/// # Errors
/// The model is invalid, or cannot be read or written; interruption by the user: the file is unchanged then.
/// The new file cannot be read again, or has another sum.
pub fn embed(context: &Context, path: &Path) -> Result<Embedded, Error> {
    Single::open(context, path)?;
    let mut editor = ModelEditor::open(path)?;
    let mut left_out = Padding::default();
    editor
        .padding()
        .for_each(|tensor| left_out.add(Padding { tensors: 1, bytes: tensor.byte_len().unwrap_or(0) }));
    editor.embed_sum();
    let mut work = None;
    let saved = editor.save_watched(path, &mut |done, total| {
        let work = work.get_or_insert_with(|| context.work("hashing", total));
        if work.reach(done).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    let EmbeddedSum { stored, computed, .. } = embedded_sum(context, path)?;
    if stored != computed {
        return Err(Error::bad(path, "changed", "was changed while its sum was embedded"));
    }
    if saved == SaveMethod::InPlace {
        left_out = Padding::default();
    }
    Ok(Embedded { sum: digits(&stored), saved, left_out })
}
