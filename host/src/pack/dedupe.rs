//! Stores equal tensors once, with the notes of the reference in the metadata.

use super::contents::Contents;
use crate::context::Context;
use crate::error::Error;
use crate::input::model::bytes_of;
use crate::output::writer::check_structure;
use crate::tensor::sums::sums_of;
use crate::text::quoted;
use embedded_safestructures::SCHEMA;
use std::collections::{HashMap, HashSet};

/// The name of a tensor that is left out, and of the equal one that is kept.
pub type Tie = (String, String);

impl Contents<'_> {
    /// Leaves out all but one of the tensors with the same dtype, shape and SHA-256 sum: the first by name
    /// stays. The metadata notes the kept name under each other one. Empty tensors stay.
    ///
    /// # Errors
    /// The metadata has such a key already, or describes a structure with a tensor that is left out; a model
    /// cannot be read; interruption by the user.
    pub fn dedupe(&mut self, context: &Context) -> Result<Vec<Tie>, Error> {
        let mut forms: HashMap<_, usize> = HashMap::new();
        for entry in &self.entries {
            *forms.entry((entry.tensor.dtype(), entry.tensor.dims())).or_default() += 1;
        }
        let is_alone = |dtype, dims| forms.get(&(dtype, dims)).is_none_or(|count| *count < 2);
        let candidates = self.entries.iter().filter(|entry| {
            entry.tensor.byte_len() > 0 && !is_alone(entry.tensor.dtype(), entry.tensor.dims())
        });
        let mut candidates: Vec<_> = candidates.collect();
        candidates.sort_by(|one, other| one.name.cmp(&other.name));
        let tensors: Vec<_> = candidates.iter().map(|entry| entry.tensor).collect();
        let sums = sums_of(&tensors, &context.work("comparing", bytes_of(&tensors)))?;
        let (mut kept, mut ties) = (HashMap::new(), Vec::new());
        for (entry, sum) in candidates.into_iter().zip(sums) {
            let form = (entry.tensor.dtype(), entry.tensor.dims(), sum);
            let first = *kept.entry(form).or_insert(&*entry.name);
            if first != entry.name {
                ties.push((entry.name.clone(), first.to_owned()));
            }
        }
        self.note(&ties)?;
        Ok(ties)
    }

    fn note(&mut self, ties: &[Tie]) -> Result<(), Error> {
        let dropped: HashSet<&str> = ties.iter().map(|(name, _)| name.as_str()).collect();
        self.entries.retain(|entry| !dropped.contains(&*entry.name));
        for (name, same_as) in ties {
            let metadata = self.metadata.get_or_insert_default();
            let old = metadata.insert(name.clone(), same_as.clone()).filter(|old| old != same_as);
            if let Some(old) = old {
                let [key, value] = [name, &old].map(|text| quoted(text));
                let sentence = format!(
                    "tensor {key} is equal to {}, but the metadata has the key {key} with the value {value}; remove \
                     it with --unset",
                    quoted(same_as)
                );
                return Err(Error::usage(sentence));
            }
        }
        let schema = self.metadata.as_ref().and_then(|pairs| pairs.get(SCHEMA));
        check_structure(schema.map(String::as_str), self.names()).map_err(Error::usage)
    }
}
