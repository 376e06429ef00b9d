//! Stores equal tensors once, with the notes of the reference in the metadata.

use super::contents::Contents;
use crate::context::Context;
use crate::error::Error;
use crate::input::model::bytes_of;
use crate::output::writer::check_structure;
use crate::tensor::sums::sums_of;
use crate::text::quoted;
use embedded_safestructures::SCHEMA;
use serde::Serialize;
use std::collections::HashMap;

/// A tensor that is left out, and the equal one that is kept.
#[derive(Serialize)]
pub struct Tie {
    pub name: String,
    pub same_as: String,
}

impl Contents<'_> {
    /// Leaves out all but one of the tensors with the same dtype, shape and SHA-256 sum: the first by name
    /// stays. The metadata notes the kept name under each other one, also where it names one that is left
    /// out. Empty tensors stay.
    ///
    /// # Errors
    /// The metadata has such a key already, or describes a structure with a tensor that is left out; a model
    /// cannot be read; interruption by the user.
    pub fn dedupe(&mut self, context: &Context) -> Result<Vec<Tie>, Error> {
        let mut alike: HashMap<_, Vec<_>> = HashMap::new();
        for entry in self.entries.iter().filter(|entry| entry.tensor.byte_len() > 0) {
            alike.entry((entry.tensor.dtype(), entry.tensor.dims())).or_default().push(entry);
        }
        let mut candidates: Vec<_> = alike.into_values().filter(|all| all.len() > 1).flatten().collect();
        candidates.sort_by_key(|entry| &entry.name);
        let tensors: Vec<_> = candidates.iter().map(|entry| entry.tensor).collect();
        let sums = sums_of(&tensors, &context.work("comparing", bytes_of(&tensors)))?;
        let (mut kept, mut ties) = (HashMap::new(), Vec::new());
        for (entry, sum) in candidates.into_iter().zip(sums) {
            let (form, name) = ((entry.tensor.dtype(), entry.tensor.dims(), sum), &entry.name);
            let first = *kept.entry(form).or_insert(name);
            if first != name {
                ties.push(Tie { name: name.clone(), same_as: first.clone() });
            }
        }
        self.note(&ties)?;
        Ok(ties)
    }

    fn note(&mut self, ties: &[Tie]) -> Result<(), Error> {
        let dropped: HashMap<&str, _> = ties.iter().map(|tie| (&*tie.name, &tie.same_as)).collect();
        self.entries.retain(|entry| !dropped.contains_key(&*entry.name));
        for value in self.metadata.iter_mut().flat_map(|pairs| pairs.values_mut()) {
            if let Some(same_as) = dropped.get(&**value) {
                value.clone_from(same_as);
            }
        }
        for Tie { name, same_as } in ties {
            let metadata = self.metadata.get_or_insert_default();
            let old = metadata.insert(name.clone(), same_as.clone()).filter(|old| old != same_as);
            if let Some(old) = old {
                let [key, value, same_as] = [name, &old, same_as].map(|text| quoted(text));
                let sentence = format!(
                    "tensor {key} is equal to {same_as}, but the metadata has the key {key} with the value \
                     {value}; remove it with --unset"
                );
                return Err(Error::usage(sentence));
            }
        }
        let schema = self.metadata.as_ref().and_then(|pairs| pairs.get(SCHEMA));
        check_structure(schema.map(String::as_str), self.names()).map_err(Error::usage)
    }
}
