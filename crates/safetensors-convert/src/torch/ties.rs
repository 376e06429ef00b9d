//! Tensors that are the same view of the same storage: tied parameters of a model.

use super::Ties;
use super::machine::View;
use crate::error::unsound;
use crate::text::quoted;
use std::cmp::Ordering;
use std::io;

/// What remains of the tensors.
pub(super) struct Kept {
    /// Whether each tensor remains.
    pub is_kept: Vec<bool>,
    /// Each dropped name, and the name of the tensor that remains in its place.
    pub notes: Vec<(String, String)>,
    /// With [`Ties::Copy`], the index of each tensor that would be dropped, and that of the other one.
    pub copies: Vec<(u32, u32)>,
}

/// Decides which of the tensors that are the same remain: as the reference does, the one whose name is the
/// first in the order of characters.
///
/// # Errors
/// Two tensors are the same and that is to be rejected.
pub(super) fn tied(tensors: &[(Box<str>, u32)], views: &[View], ties: Ties) -> io::Result<Kept> {
    let mut kept = Kept { is_kept: vec![true; tensors.len()], notes: Vec::new(), copies: Vec::new() };
    let tensor = |index: u32| {
        let (name, number) = tensors.get(usize::try_from(index).ok()?)?;
        Some((&**name, views.get(usize::try_from(*number).ok()?)?))
    };
    let mut sorted: Vec<u32> = (0..).take(tensors.len()).collect();
    sorted.sort_unstable_by(|one, other| match (tensor(*one), tensor(*other)) {
        (Some((name, view)), Some((other_name, other_view))) => {
            compare(view, other_view).then_with(|| name.cmp(other_name))
        }
        _ => one.cmp(other),
    });
    let mut notes = Vec::new();
    let mut first: Option<(u32, &str, &View)> = None;
    for index in sorted {
        let Some((name, view)) = tensor(index) else { continue };
        match first {
            Some((kept_index, kept_name, other))
                if compare(view, other).is_eq() && !view.dims().contains(&0) =>
            {
                if ties == Ties::Reject {
                    let (kept_name, name) = (quoted(kept_name), quoted(name));
                    return Err(unsound(format!("tensors {kept_name} and {name} share their elements")));
                }
                notes.push((index, kept_index));
            }
            _ => first = Some((index, name, view)),
        }
    }
    notes.sort_unstable_by_key(|(index, _)| *index);
    if ties == Ties::Copy {
        kept.copies = notes;
        return Ok(kept);
    }
    for (index, kept_index) in notes {
        let is_kept = usize::try_from(index).ok().and_then(|index| kept.is_kept.get_mut(index));
        if let (Some(is_kept), Some((name, _)), Some((kept_name, _))) =
            (is_kept, tensor(index), tensor(kept_index))
        {
            *is_kept = false;
            kept.notes.push((name.to_owned(), kept_name.to_owned()));
        }
    }
    Ok(kept)
}

fn compare(view: &View, other: &View) -> Ordering {
    let key = |view: &View| (view.storage, view.offset, view.element as u8, view.is_big);
    key(view)
        .cmp(&key(other))
        .then_with(|| view.dims().cmp(other.dims()))
        .then_with(|| view.strides().cmp(&other.strides()))
}
