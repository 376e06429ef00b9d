//! The values that a pickle makes, and what they take.
//!
//! A value is freed as soon as nothing refers to it: PyTorch stores eight items in the memo for each tensor,
//! and the reader keeps only those that are fetched.

use crate::pickle::{Here, Listed};
use crate::text::shown_text;
use embedded_safetensors::Dtype;
use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};
use std::io;
use std::rc::Rc;

/// What a container takes without its items, in bytes; and what a value on the heap takes.
const CONTAINER: usize = 96;
const ON_HEAP: usize = 40;

/// What to do about tensors that safetensors cannot hold, and about unknown classes.
pub(super) const SKIP: &str = "--skip-unsupported leaves it out";
pub(super) const SAVE: &str = "in Python, save a state_dict() instead";

/// What an array of numbers is that safetensors cannot hold.
pub(super) const UNSUPPORTED: &str = "an array of a dtype that safetensors does not have";

/// A value of Python, as far as it matters which.
#[derive(Clone, Debug, Default)]
pub(super) enum Value {
    #[default]
    Nothing,
    /// A value that no tensor depends on, and the name of its type.
    Other(&'static str),
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Rc<str>),
    /// A text of Python 2 with other characters than those of ASCII, which may be bytes.
    OldText(Rc<str>),
    /// Short bytes that are not in the pickle, because they have escapes there.
    Bytes(Rc<[u8]>),
    /// A long text, or bytes: the place and the length in the pickle.
    LongText(u64, u64),
    LongBytes(u64, u64),
    /// Bytes that are spelled as a text in UTF-8, whose characters they are.
    Latin(u64, u64),
    Tuple(Rc<Items>),
    List(Rc<Items>),
    Set(Rc<Items>),
    /// A deque, which may drop items that are appended to it.
    Deque(Rc<Items>),
    /// The keys and the values of a dictionary, in turn.
    Dict(Rc<Items>),
    /// A name on the closed list.
    Listed(Listed),
    /// Another name, which nothing but a dictionary's key needs.
    Name(Rc<Name>),
    /// What a call of such a name would make: the name, the arguments, and what is added to it or set.
    Object(Rc<Items>),
    /// A tensor that safetensors cannot hold, and what it is.
    Unsupported(Rc<str>),
    /// The number of a storage, and the dtype of its elements; `None` for bytes.
    Storage(u32, Option<Dtype>),
    /// The number of a tensor.
    Tensor(u32),
    /// An object of numpy, which is complete once its state is set.
    Numpy(Rc<Cell<Numpy>>),
}

/// A name that is not on the closed list.
#[derive(Debug)]
pub(super) struct Name {
    /// The opcode that imports it.
    pub here: Here,
    /// The module and the name in it.
    pub text: String,
    /// Why safetensors cannot hold the tensors that it makes, if PyTorch has it for them.
    pub reason: Option<&'static str>,
    /// Whether a call makes a value that has nothing to do with models, and can be left out.
    pub is_harmless: bool,
}

impl Name {
    /// Returns what it is, for people.
    pub fn what(&self) -> String {
        let name: String = self.text.chars().take(200).collect();
        let unlisted = || ", which is not on the closed list of what models need".to_owned();
        shown_text(&name) + &self.reason.map_or_else(unlisted, |reason| format!(": {reason}"))
    }

    /// Returns the error of a file that needs it; it may be possible to skip it.
    pub fn error(&self, may_skip: bool) -> io::Error {
        let advice = match (self.reason, may_skip) {
            (Some(_), _) => SKIP.to_owned(),
            (None, true) => format!("{SAVE}, or {SKIP}"),
            (None, false) => SAVE.to_owned(),
        };
        self.here.unsound(format!("imports {}; {advice}", self.what()))
    }
}

/// A value of numpy.
#[derive(Clone, Copy, Debug)]
pub(super) enum Numpy {
    /// A dtype, and whether its numbers are big-endian.
    Dtype(Dtype, bool),
    /// Another dtype, and the name of an array of it; `None` if that has numbers.
    OtherDtype(Option<&'static str>),
    /// An array that numpy has not filled yet.
    Empty,
    /// An array, which is the tensor with this number.
    Array(u32),
    /// An array of something else than numbers, and the name of that.
    Others(&'static str),
    /// An array of numbers that safetensors cannot hold.
    Unsupported,
}

impl Value {
    /// Returns the name of its type in Python, if it is a number, a text or bytes.
    pub fn plain(&self) -> Option<&'static str> {
        Some(match self {
            Self::Nothing => "None",
            Self::Other(kind) => kind,
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) | Self::OldText(_) | Self::LongText(..) => "str",
            Self::Bytes(_) | Self::LongBytes(..) | Self::Latin(..) => "bytes",
            _ => return None,
        })
    }

    /// Returns the name of its type in Python.
    pub fn kind(&self) -> Cow<'static, str> {
        let kind = match self {
            Self::Tuple(_) => "tuple",
            Self::List(_) => "list",
            Self::Set(_) => "set",
            Self::Deque(_) => "deque",
            Self::Dict(_) => "dict",
            Self::Listed(Listed::Dtype(_)) => "dtype",
            Self::Listed(_) | Self::Name(_) => "type",
            Self::Object(_) => return self.class().map_or("object".into(), |name| name.text.clone().into()),
            Self::Storage(..) => "storage",
            Self::Numpy(value) => match value.get() {
                Numpy::Dtype(..) | Numpy::OtherDtype(_) => "numpy dtype",
                Numpy::Empty => "numpy array",
                Numpy::Others(kind) => kind,
                Numpy::Array(_) | Numpy::Unsupported => "tensor",
            },
            Self::Tensor(_) | Self::Unsupported(_) => "tensor",
            plain => plain.plain().unwrap_or_default(),
        };
        kind.into()
    }

    /// Returns the name whose call makes an object.
    pub fn class(&self) -> Option<Rc<Name>> {
        match self {
            Self::Name(name) => Some(Rc::clone(name)),
            // It begins with its name.
            Self::Object(items) => items.values().first().and_then(Self::class),
            _ => None,
        }
    }

    /// Returns the number of the tensor that it is.
    pub fn tensor(&self) -> Option<u32> {
        match self {
            Self::Tensor(number) => Some(*number),
            Self::Numpy(value) => match value.get() {
                Numpy::Array(number) => Some(number),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns what it is, if it is a tensor that safetensors cannot hold.
    pub fn unsupported(&self) -> Option<Rc<str>> {
        match self {
            Self::Unsupported(what) => Some(Rc::clone(what)),
            Self::Numpy(value) if matches!(value.get(), Numpy::Unsupported) => Some(UNSUPPORTED.into()),
            _ => None,
        }
    }

    /// Whether it is a tensor, which safetensors may be able to hold.
    pub fn is_tensor(&self) -> bool {
        self.tensor().is_some() || self.unsupported().is_some()
    }

    /// Whether it is a tensor, or a part of one that an object makes.
    pub fn is_of_tensor(&self) -> bool {
        use Listed::{NumpyFromBuffer, NumpyReconstruct, Rebuild};
        let is_function = matches!(self, Self::Listed(Rebuild(_) | NumpyReconstruct | NumpyFromBuffer));
        is_function || matches!(self, Self::Storage(..)) || self.is_tensor()
    }

    /// Returns the values that it contains.
    pub fn items(&self) -> Option<&Rc<Items>> {
        match self {
            Self::Tuple(items)
            | Self::List(items)
            | Self::Set(items)
            | Self::Deque(items)
            | Self::Dict(items)
            | Self::Object(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the container, which has one owner less if it is shared.
    pub fn into_items(self) -> Option<Rc<Items>> {
        self.items().cloned()
    }

    /// Whether it contains no values.
    pub fn has_none(&self) -> bool {
        self.items().is_none_or(|items| items.values().is_empty())
    }

    /// Returns what it takes in a container or on the stack, in bytes.
    pub fn weight(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Text(text) | Self::OldText(text) => ON_HEAP + text.len(),
                Self::Bytes(bytes) => ON_HEAP + bytes.len(),
                Self::Name(name) => CONTAINER + name.text.len(),
                Self::Unsupported(what) => ON_HEAP + what.len(),
                Self::Numpy(_) => ON_HEAP,
                _ => 0,
            }
    }
}

/// The number of bytes that all containers and their items take.
pub(super) type Meter = Rc<Cell<usize>>;

/// The values in a container.
#[derive(Debug)]
pub(super) struct Items {
    values: RefCell<Vec<Value>>,
    attributes: RefCell<Option<Value>>,
    /// Whether the reader knows that it may contain itself.
    pub is_noted: Cell<bool>,
    /// What they take, as the meter knows.
    bytes: Cell<usize>,
    meter: Meter,
}

impl Items {
    pub fn new(values: Vec<Value>, meter: &Meter) -> Rc<Self> {
        let (all, attributes, is_noted, bytes) = Default::default();
        let items = Self { values: all, attributes, is_noted, bytes, meter: meter.clone() };
        items.measure(CONTAINER);
        items.add(values);
        Rc::new(items)
    }

    fn measure(&self, bytes: usize) {
        self.bytes.update(|own| own.saturating_add(bytes));
        self.meter.update(|all| all.saturating_add(bytes));
    }

    pub fn values(&self) -> Ref<'_, Vec<Value>> {
        self.values.borrow()
    }

    /// Appends values.
    pub fn add(&self, mut values: Vec<Value>) {
        self.measure(values.iter().map(Value::weight).sum());
        let mut all = self.values.borrow_mut();
        match all.is_empty() {
            true => *all = values,
            false => all.append(&mut values),
        }
    }

    /// Takes all values, in the opposite order.
    pub fn reversed(&self) -> Vec<Value> {
        let mut values = self.values.take();
        values.reverse();
        values
    }

    pub fn attributes(&self) -> Option<Value> {
        self.attributes.borrow().clone()
    }

    /// Sets the attributes, and returns whether there were none.
    pub fn set_attributes(&self, attributes: Value) -> bool {
        self.attributes.replace(Some(attributes)).is_none()
    }

    /// Drops all values, so that it no longer contains itself.
    pub fn clear(&self) {
        drop((self.values.take(), self.attributes.take()));
    }
}

/// Values may be nested a million deep: they are dropped without recursion.
impl Drop for Items {
    fn drop(&mut self) {
        self.meter.update(|all| all.saturating_sub(self.bytes.get()));
        let mut left = self.values.take();
        left.extend(self.attributes.take());
        while let Some(value) = left.pop() {
            if let Some(items) = value.into_items().and_then(Rc::into_inner) {
                left.append(&mut items.values.borrow_mut());
                left.extend(items.attributes.take());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Items, Meter, Value};

    #[test]
    fn a_million_nested_lists_are_measured_and_dropped_without_recursion() {
        assert_eq!(size_of::<Value>(), 24);
        let meter = Meter::default();
        let nested = |value| Value::List(Items::new(vec![value], &meter));
        let deep = (0..1_000_000).fold(Value::Nothing, |value, _| nested(value));
        let with_attributes = nested(Value::Text("a".into()));
        assert!(with_attributes.items().is_some_and(|items| items.set_attributes(deep)));
        assert!(meter.get() > 100_000_000);
        drop(with_attributes);
        assert_eq!(meter.get(), 0);
    }
}
