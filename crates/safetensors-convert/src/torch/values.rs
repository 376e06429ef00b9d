//! The values that a pickle makes: an arena, whose unreachable values are collected.
//!
//! Values refer to each other by numbers, so that neither dropping nor collecting them recurses, and a value
//! may contain itself.

use crate::error::beyond_limit;
use crate::pickle::{Element, Listed};
use std::collections::{HashMap, HashSet};
use std::io;

/// The number of bytes that are allocated between two collections.
const BETWEEN: usize = 8 << 20;
/// The largest number of bytes that are in use after a collection, ...
const LIMIT: usize = 24 << 20;
/// ... and how many more for each tensor.
const FOR_EACH: usize = 112;
/// What an entry of a map takes, in bytes.
const MAPPED: usize = 24;

/// The number of a value.
pub(super) type Id = u32;

/// A value of Python, as far as it matters which.
#[derive(Debug)]
pub(super) enum Value {
    /// A number without a value.
    Free,
    /// A value that no tensor depends on, and the name of its type.
    Other(&'static str),
    Nothing,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Box<str>),
    /// A text or bytes, of which only the place in the pickle is known: the number of a [`Span`], and whether
    /// it is text.
    Long(u32, IsText),
    /// A text in a line whose bytes are not UTF-8. It has escapes, so that its bytes are not in the pickle.
    NotText,
    /// Short bytes.
    Bytes(Box<[u8]>),
    Tuple(Box<[Id]>),
    List(Box<Items>),
    Set(Box<Items>),
    /// A deque, which may drop items that are appended to it.
    Deque(Box<Items>),
    /// The keys and the values of a dictionary, in turn.
    Dict(Box<Items>),
    /// A name on the closed list.
    Listed(Listed),
    /// The number of a storage, and the dtype of its elements; `None` for bytes.
    Storage(u32, Option<Element>),
    /// The number of a tensor.
    Tensor(u32),
    /// A dtype of numpy; `None` if safetensors has no such dtype.
    NumpyDtype(Option<Element>, IsBig),
    /// An array that numpy has not filled yet.
    EmptyArray,
}

/// The values in a container that can grow. Boxed, because containers are far fewer than other values.
#[derive(Debug)]
pub(super) struct Items(pub Vec<Id>);

impl From<Vec<Id>> for Box<Items> {
    fn from(items: Vec<Id>) -> Self {
        Self::new(Items(items))
    }
}

/// Whether it is text.
pub(super) type IsText = bool;

/// Whether numbers are big-endian.
pub(super) type IsBig = bool;

/// A range of the bytes of a pickle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub at: u64,
    pub len: u64,
    /// Whether it is text in UTF-8, whose characters are the bytes.
    pub is_latin: bool,
}

impl Value {
    /// Returns the name of its type in Python.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Free => "nothing",
            Self::Other(kind) => kind,
            Self::Nothing => "None",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) | Self::Long(_, true) | Self::NotText => "str",
            Self::Long(..) | Self::Bytes(_) => "bytes",
            Self::Tuple(_) => "tuple",
            Self::List(_) => "list",
            Self::Set(_) => "set",
            Self::Deque(_) => "deque",
            Self::Dict(_) => "dict",
            Self::Listed(Listed::Dtype(_)) => "dtype",
            Self::Listed(_) => "type",
            Self::Storage(..) => "storage",
            Self::Tensor(_) => "tensor",
            Self::NumpyDtype(..) => "numpy dtype",
            Self::EmptyArray => "numpy array",
        }
    }

    /// Returns the values that it refers to.
    pub fn parts(&self) -> &[Id] {
        match self {
            Self::Tuple(items) => items,
            Self::List(items) | Self::Set(items) | Self::Deque(items) | Self::Dict(items) => &items.0,
            _ => &[],
        }
    }

    /// Returns what it takes on the heap, in bytes.
    fn heap(&self) -> usize {
        // An allocation has at least 32 bytes.
        let allocated = |len: usize| if len == 0 { 0 } else { (len + 8).max(32) };
        match self {
            Self::Text(text) => allocated(text.len()),
            Self::Bytes(bytes) => allocated(bytes.len()),
            Self::Tuple(items) => allocated(items.len() * size_of::<Id>()),
            Self::List(items) | Self::Set(items) | Self::Deque(items) | Self::Dict(items) => {
                allocated(size_of::<Items>()) + allocated(items.0.len() * size_of::<Id>())
            }
            _ => 0,
        }
    }
}

/// The values of one pickle.
#[derive(Debug, Default)]
pub(super) struct Values {
    values: Vec<Value>,
    free: Vec<Id>,
    /// The places of long texts and bytes. They are few, and stay.
    spans: Vec<Span>,
    /// The attributes that were set for a value.
    attributes: HashMap<Id, Id>,
    /// Values that may be in several places: those that were fetched from the memo, or duplicated.
    shared: HashSet<Id>,
    /// The number of bytes that were allocated since the last collection.
    allocated: usize,
}

const FREE: Value = Value::Free;

impl Values {
    pub fn with_capacity(values: usize) -> Self {
        Self { values: Vec::with_capacity(values), ..Self::default() }
    }

    pub fn add(&mut self, value: Value) -> Id {
        self.allocated += size_of::<Value>() + value.heap();
        if let Some(id) = self.free.pop() {
            if let Some(place) = self.slot(id) {
                *place = value;
            }
            return id;
        }
        self.values.push(value);
        // The limit is far below 2^32 values.
        Id::try_from(self.values.len() - 1).unwrap_or(Id::MAX)
    }

    /// Adds a long text or long bytes.
    pub fn add_span(&mut self, span: Span, is_text: IsText) -> Id {
        self.allocated += size_of::<Span>();
        self.spans.push(span);
        self.add(Value::Long(u32::try_from(self.spans.len() - 1).unwrap_or(u32::MAX), is_text))
    }

    pub fn span(&self, number: u32) -> Option<Span> {
        self.spans.get(usize::try_from(number).ok()?).copied()
    }

    pub fn get(&self, id: Id) -> &Value {
        usize::try_from(id).ok().and_then(|index| self.values.get(index)).unwrap_or(&FREE)
    }

    fn slot(&mut self, id: Id) -> Option<&mut Value> {
        usize::try_from(id).ok().and_then(|index| self.values.get_mut(index))
    }

    pub fn set(&mut self, id: Id, value: Value) {
        self.allocated += value.heap();
        if let Some(place) = self.slot(id) {
            *place = value;
        }
    }

    /// Appends to a list, a set, a deque or a dictionary, and returns whether it is one.
    pub fn extend(&mut self, id: Id, items: &[Id]) -> bool {
        // Growing may copy, and then takes twice as much as before.
        self.allocated += 2 * size_of_val(items);
        match self.slot(id) {
            Some(Value::List(list) | Value::Set(list) | Value::Deque(list) | Value::Dict(list)) => {
                list.0.extend_from_slice(items);
                true
            }
            _ => false,
        }
    }

    pub fn set_attributes(&mut self, id: Id, attributes: Id) {
        self.allocated += MAPPED;
        self.attributes.insert(id, attributes);
    }

    pub fn attributes(&self, id: Id) -> Option<Id> {
        self.attributes.get(&id).copied()
    }

    /// Notes that a value may be in several places.
    pub fn share(&mut self, id: Id) {
        self.allocated += MAPPED;
        self.shared.insert(id);
    }

    /// Whether a value may be in several places.
    pub fn is_shared(&self, id: Id) -> bool {
        self.shared.contains(&id)
    }

    /// Whether enough was allocated for a collection.
    pub fn is_due(&self) -> bool {
        self.allocated > BETWEEN
    }

    /// Frees all values that cannot be reached from `roots`, which have `of_roots` bytes themselves.
    ///
    /// # Errors
    /// More remains than the limit for this number of tensors.
    pub fn collect(
        &mut self,
        roots: impl Iterator<Item = Id>,
        of_roots: usize,
        tensors: usize,
    ) -> io::Result<()> {
        let reached = self.reach(roots);
        let is_reached = |id: Id| {
            let index = usize::try_from(id).unwrap_or(usize::MAX);
            reached.get(index / 64).is_some_and(|bits| bits >> (index % 64) & 1 == 1)
        };
        self.attributes.retain(|owner, _| is_reached(*owner));
        self.shared.retain(|id| is_reached(*id));
        self.free.clear();
        // What a vector has reserved, but not used, takes no memory on most systems.
        let mut used = size_of_val(self.values.as_slice());
        for (id, value) in (0..).zip(&mut self.values) {
            if is_reached(id) {
                used += value.heap();
            } else {
                *value = Value::Free;
                self.free.push(id);
            }
        }
        // Lower numbers are used first, so that the rest stays free.
        self.free.reverse();
        used -= (self.free.len() * size_of::<Value>()).min(used);
        used += (self.attributes.len() + self.shared.len()) * MAPPED
            + of_roots
            + size_of_val(self.spans.as_slice());
        self.allocated = 0;
        let limit = LIMIT + FOR_EACH * tensors;
        if used > limit {
            return Err(beyond_limit(format!(
                "the values of the pickle take {used} bytes of memory, at most {limit} are allowed"
            )));
        }
        Ok(())
    }

    /// Returns a bit for each value that can be reached.
    fn reach(&self, roots: impl Iterator<Item = Id>) -> Vec<u64> {
        let mut reached = vec![0_u64; self.values.len().div_ceil(64)];
        let mut mark = |id: Id| {
            let index = usize::try_from(id).unwrap_or(usize::MAX);
            let bit = 1 << (index % 64);
            let Some(bits) = reached.get_mut(index / 64) else { return false };
            let is_new = *bits & bit == 0;
            *bits |= bit;
            is_new
        };
        let mut left: Vec<Id> = Vec::new();
        for root in roots {
            if mark(root) {
                left.push(root);
            }
            while let Some(id) = left.pop() {
                let parts = self.get(id).parts().iter().copied();
                left.extend(parts.chain(self.attributes(id)).filter(|part| mark(*part)));
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::{Id, Value, Values};

    #[test]
    fn values_are_small() {
        assert_eq!(size_of::<Value>(), 24);
    }

    #[test]
    fn only_what_is_reached_remains() {
        let mut values = Values::default();
        let text = values.add(Value::Text("a".into()));
        let garbage = values.add(Value::Text("b".into()));
        let list = values.add(Value::List(vec![text].into()));
        // It contains itself.
        assert!(values.extend(list, &[list]));
        let attributes = values.add(Value::Dict(Vec::new().into()));
        values.set_attributes(list, attributes);
        values.set_attributes(garbage, attributes);
        values.collect([list].into_iter(), 0, 0).expect("below the limit");
        assert!(matches!(values.get(garbage), Value::Free));
        assert!(matches!(values.get(text), Value::Text(_)));
        assert!(matches!(values.get(attributes), Value::Dict(_)));
        assert_eq!((values.attributes(list), values.attributes(garbage)), (Some(attributes), None));
        assert_eq!(values.add(Value::Nothing), garbage);
        values.collect([].into_iter(), 0, 0).expect("below the limit");
        assert!((0..5).all(|id: Id| matches!(values.get(id), Value::Free)));
    }

    #[test]
    fn a_million_nested_lists_neither_recurse_nor_pass_the_limit() {
        let mut values = Values::default();
        let mut last = values.add(Value::List(Vec::new().into()));
        for _ in 0..1_000_000 {
            last = values.add(Value::List(vec![last].into()));
        }
        assert!(values.collect([last].into_iter(), 0, 0).is_err());
        values.collect([last].into_iter(), 0, 2_000_000).expect("below the limit");
    }
}
