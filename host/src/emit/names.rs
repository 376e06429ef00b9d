//! Names of tensors as identifiers.

use std::collections::{HashMap, HashSet};

/// Identifiers that are taken, and from which number on a name that occurs again is tried.
#[derive(Default)]
pub struct Taken {
    identifiers: HashSet<String>,
    tried: HashMap<String, u64>,
}

impl Taken {
    pub fn new(identifiers: impl IntoIterator<Item = String>) -> Self {
        Self { identifiers: identifiers.into_iter().collect(), tried: HashMap::new() }
    }

    /// An identifier for a name: itself, or with a number behind it, so that none of what is derived from it is taken.
    pub fn take(&mut self, wanted: &str, derived: impl Fn(&str) -> Vec<String>) -> String {
        let mut number = self.tried.get(wanted).copied().unwrap_or(1);
        loop {
            let candidate = if number == 1 { wanted.to_owned() } else { format!("{wanted}_{number}") };
            number += 1;
            let all = derived(&candidate);
            if all.iter().all(|identifier| !self.identifiers.contains(identifier)) {
                self.identifiers.extend(all);
                self.tried.insert(wanted.to_owned(), number);
                return candidate;
            }
        }
    }
}

/// A name in capitals, digits and single underscores, with neither of these at its ends but digits. Empty where nothing of the name
/// is a letter or a digit of ASCII.
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

/// The identifier of a tensor, before it is known whether it is taken.
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

/// A prefix that the user has chosen, in capitals.
pub fn prefix(text: &str) -> Result<String, String> {
    let letters = text.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
    let first = text.chars().next().is_some_and(|first| first.is_ascii_alphabetic());
    match letters && first {
        true => Ok(text.trim_end_matches('_').to_ascii_uppercase()),
        false => {
            Err("not the beginning of an identifier: letters, digits and `_`, a letter first".to_owned())
        }
    }
}

/// The prefix that a file gives.
pub fn prefix_of(file_stem: &str) -> String {
    match capitals(file_stem) {
        empty if empty.is_empty() => "MODEL".to_owned(),
        digits if digits.starts_with(|first: char| first.is_ascii_digit()) => format!("MODEL_{digits}"),
        capitals => capitals,
    }
}

#[cfg(test)]
mod tests {
    use super::{Taken, capitals, identifier, prefix, prefix_of};

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
        assert_eq!(prefix("kws_"), Ok("KWS".to_owned()));
        for wrong in ["", "_a", "1a", "a-b", "ä"] {
            assert!(prefix(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_two_names_have_the_same_identifier() {
        let mut taken = Taken::new(["FILE_BYTES".to_owned()]);
        let derived = |base: &str| vec![format!("{base}_BYTES"), format!("{base}_NAME")];
        let names = ["a", "A", "a.", "A_2", "file", "a_2"];
        let made = names.map(|name| taken.take(&capitals(name), derived));
        assert_eq!(made, ["A", "A_2", "A_3", "A_2_2", "FILE_2", "A_2_3"]);
    }
}
