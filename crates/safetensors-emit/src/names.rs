//! Makes identifiers of tensor names.

use crate::EmitError;
use std::collections::{HashMap, HashSet};

/// The identifiers in use, and for each name the next number to try.
pub struct Identifiers {
    /// Identifiers of other constants.
    others: HashSet<String>,
    tensors: HashSet<String>,
    /// Derived identifiers end with an underscore and one of these suffixes, which have no underscore.
    ends: &'static [&'static str],
    tried: HashMap<String, u64>,
}

impl Identifiers {
    /// Creates a list of identifiers.
    pub fn new(others: impl IntoIterator<Item = String>, ends: &'static [&'static str]) -> Self {
        let others = others.into_iter().collect();
        Self { others, tensors: HashSet::new(), ends, tried: HashMap::new() }
    }

    /// Returns a free identifier for a name, with a number if needed. Neither it nor its derived
    /// identifiers are in use.
    pub fn take(&mut self, wanted: &str) -> String {
        let mut number = self.tried.get(wanted).copied().unwrap_or(1);
        loop {
            let candidate = if number == 1 { wanted.to_owned() } else { format!("{wanted}_{number}") };
            number += 1;
            if self.is_free(&candidate) {
                self.tensors.insert(candidate.clone());
                if candidate != wanted {
                    self.tried.insert(wanted.to_owned(), number);
                }
                return candidate;
            }
        }
    }

    /// Suffixes have no underscore, so different identifiers have different derived ones. It suffices that
    /// no identifier is derived from another one, and no list of derived identifiers is kept.
    fn is_free(&self, candidate: &str) -> bool {
        let is_taken =
            |identifier: &str| self.others.contains(identifier) || self.tensors.contains(identifier);
        let owner = candidate.rsplit_once('_').filter(|(_, end)| self.ends.contains(end));
        if is_taken(candidate) || owner.is_some_and(|(owner, _)| self.tensors.contains(owner)) {
            return false;
        }
        let mut derived = format!("{candidate}_");
        self.ends.iter().all(|end| {
            derived.truncate(candidate.len() + 1);
            derived.push_str(end);
            !is_taken(&derived)
        })
    }
}

/// A name in capitals, digits and single underscores, none at the ends. Empty if the name has no ASCII
/// letter or digit.
pub fn capitals(name: &str) -> String {
    let mut capitals = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_ascii_alphanumeric() {
            capitals.push(character.to_ascii_uppercase());
        } else if !capitals.ends_with('_') && !capitals.is_empty() {
            capitals.push('_');
        }
    }
    capitals.truncate(capitals.trim_end_matches('_').len());
    capitals
}

/// The identifier of a tensor, which may already be in use.
pub fn identifier(prefix: &str, name: &str) -> String {
    let capitals = match capitals(name) {
        empty if empty.is_empty() => "TENSOR".to_owned(),
        capitals => capitals,
    };
    match prefix {
        // An identifier begins with a letter.
        "" if capitals.starts_with(|first: char| first.is_ascii_digit()) => format!("T_{capitals}"),
        "" => capitals,
        prefix => format!("{prefix}_{capitals}"),
    }
}

/// Checks a prefix before a model is read. [`Constants::prefix`](crate::Constants::prefix) checks it, too.
/// Returns the prefix in capitals, without `_` at its end.
///
/// # Errors
/// [`EmitError::Prefix`] when it has other characters than ASCII letters, digits and `_`, or does not begin
/// with a letter.
pub fn check_prefix(text: &str) -> Result<String, EmitError> {
    let letters = text.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
    let first = text.chars().next().is_some_and(|first| first.is_ascii_alphabetic());
    match letters && first {
        true => Ok(text.trim_end_matches('_').to_ascii_uppercase()),
        false => Err(EmitError::Prefix(text.to_owned())),
    }
}

/// The default prefix for a file name.
pub fn prefix_of(file_stem: &str) -> String {
    match capitals(file_stem) {
        empty if empty.is_empty() => "MODEL".to_owned(),
        digits if digits.starts_with(|first: char| first.is_ascii_digit()) => format!("MODEL_{digits}"),
        capitals => capitals,
    }
}

#[cfg(test)]
mod tests {
    use super::{Identifiers, capitals, check_prefix, identifier, prefix_of};

    #[test]
    fn names_become_identifiers() {
        for (name, made) in [
            ("fc1.weight", "FC1_WEIGHT"),
            ("h.3..attn__bias.", "H_3_ATTN_BIAS"),
            ("层.1", "1"),
            ("größe", "GR_E"),
            ("", ""),
            ("--", ""),
        ] {
            assert_eq!(capitals(name), made);
        }
        assert_eq!(identifier("", "0.weight"), "T_0_WEIGHT");
        assert_eq!(identifier("", "层"), "TENSOR");
        assert_eq!(identifier("M", "0"), "M_0");
    }

    #[test]
    fn prefixes_begin_with_a_letter() {
        assert_eq!(["kws-2", "3d", "层"].map(prefix_of), ["KWS_2", "MODEL_3D", "MODEL"]);
        assert!(check_prefix("kws_").is_ok_and(|prefix| prefix == "KWS"));
        for wrong in ["", "_a", "1a", "a-b", "ä"] {
            assert!(check_prefix(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_two_names_have_the_same_identifier() {
        let mut taken = Identifiers::new(["FILE_BYTES".to_owned()], &["BYTES", "NAME"]);
        let names =
            ["a", "A", "a.", "A_2", "file", "a_2", "a.name", "b.bytes", "b", "file.bytes", "file.bytes.name"];
        let made = names.map(|name| taken.take(&capitals(name)));
        let first =
            ["A", "A_2", "A_3", "A_2_2", "FILE_2", "A_2_3", "A_NAME_2", "B_BYTES", "B_2", "FILE_BYTES_2"];
        assert_eq!((&made[..10], made[10].as_str()), (&first.map(str::to_owned)[..], "FILE_BYTES_NAME"));
    }
}
