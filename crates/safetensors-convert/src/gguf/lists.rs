//! The lists of tensors, and of the types of those that are raw, in `__metadata__`.

use super::parse::unquote;
use super::value::Text;
use super::{Kind, MOST_TEXT};
use crate::text::quoted;
use std::collections::HashMap;
use std::io;

/// The types of some tensors, as a list has them.
#[derive(Debug, Default)]
pub struct RawTypes {
    /// The type of each tensor; `None` if it is not raw.
    pub kinds: Vec<Option<Kind>>,
    /// A name in the list that no tensor has.
    pub unknown: Option<String>,
}

impl RawTypes {
    /// Reads a list, [`TYPES`](super::TYPES), for so many tensors, whose names `name` returns.
    ///
    /// Memory: 5 bytes for each tensor, and a name.
    ///
    /// # Errors
    /// The reason why the text is not such a list.
    pub fn read<'n>(text: &str, tensors: usize, name: impl Fn(usize) -> &'n str) -> Result<Self, String> {
        let name = |index: u32| name(index as usize);
        let mut order: Vec<u32> = (0..tensors).map_while(|index| u32::try_from(index).ok()).collect();
        order.sort_unstable_by_key(|index| name(*index));
        let mut types = Self { kinds: vec![None; tensors], unknown: None };
        let invalid = "it is not an object with names and types";
        for_each(text, ['{', '}'], invalid, |own, rest| {
            let (kind, rest) =
                rest.strip_prefix(":\"").and_then(|rest| rest.split_once('"')).ok_or(invalid)?;
            let kind = Kind::of_name(kind).filter(|kind| kind.dtype().is_none());
            let kind = kind.ok_or_else(|| format!("the type of tensor {} is not quantised", quoted(&own)))?;
            let found = order.binary_search_by_key(&own.as_str(), |index| name(*index)).ok();
            let found = found.and_then(|at| types.kinds.get_mut(*order.get(at)? as usize));
            match found.map(|place| place.replace(kind)) {
                Some(Some(_)) => return Err(format!("tensor {} has two types", quoted(&own))),
                Some(None) => {}
                None => types.unknown = Some(own),
            }
            Ok(rest)
        })?;
        Ok(types)
    }

    /// Returns the list for raw tensors with these names and types; `None` if there are none.
    pub fn list<'n>(raw: impl Iterator<Item = (&'n str, Kind)>) -> Option<String> {
        let mut text = Text::new(usize::MAX);
        push_types(&mut text, raw).ok()?;
        Some(text.into_string()).filter(|list| list != "{}")
    }
}

/// Appends the list.
pub(super) fn push_types<'n>(text: &mut Text, raw: impl Iterator<Item = (&'n str, Kind)>) -> io::Result<()> {
    text.push_list(['{', '}'], raw, |text, (name, kind)| {
        text.push_quoted(name)?;
        write!(text, ":\"{kind}\"")
    })
}

/// Appends a list of strings.
pub(super) fn push_strings<'n>(text: &mut Text, strings: impl Iterator<Item = &'n str>) -> io::Result<()> {
    text.push_list(['[', ']'], strings, Text::push_quoted)
}

/// Returns the list [`TENSORS`](super::TENSORS) of tensors with these names; `None` for one tensor, and if
/// the list is too long.
pub fn list_tensors<'n>(mut names: impl Iterator<Item = &'n str> + Clone) -> Option<String> {
    let mut text = Text::new(MOST_TEXT);
    push_strings(&mut text, names.clone()).ok()?;
    names.nth(1).map(|_| text.into_string())
}

/// Sorts tensors as a list, [`TENSORS`](super::TENSORS), has their names. Those that it does not have stay in
/// order after the others.
///
/// # Errors
/// The reason why the text is not such a list.
pub fn sort_tensors<T>(list: &str, tensors: &mut [T], name: impl Fn(&T) -> &str) -> Result<(), String> {
    let ranks = ranks(list)?;
    tensors.sort_by_key(|tensor| ranks.get(name(tensor)).copied().unwrap_or(usize::MAX));
    Ok(())
}

/// Returns the index of each string of a list.
pub(super) fn ranks(list: &str) -> Result<HashMap<String, usize>, String> {
    let mut ranks = HashMap::new();
    for_each(list, ['[', ']'], "it is not an array of strings", |string, rest| {
        ranks.insert(string, ranks.len());
        Ok(rest)
    })?;
    Ok(ranks)
}

/// Passes each string of a list and the text after it to `see`, which returns the text that it does not take.
fn for_each<'t>(
    list: &'t str,
    [open, close]: [char; 2],
    invalid: &str,
    mut see: impl FnMut(String, &'t str) -> Result<&'t str, String>,
) -> Result<(), String> {
    let (mut rest, mut is_first) = (list.strip_prefix(open).ok_or(invalid)?, true);
    while rest.strip_prefix(close) != Some("") {
        if !std::mem::take(&mut is_first) {
            rest = rest.strip_prefix(',').ok_or(invalid)?;
        }
        let (string, after) = unquote(rest.strip_prefix('"').ok_or(invalid)?)?;
        rest = see(string, after)?;
    }
    Ok(())
}
