//! Finds the tensors in nested dictionaries and lists, names each by the keys on its way, and decides which
//! of tied ones remain.

use super::rebuild::{KEPT, MOST, Reader, View, is_text};
use super::values::{Items, SAVE, SKIP, Value};
use super::{LeftOut, Ties};
use crate::error::{ensure_within, unsound};
use crate::source::at;
use crate::text::quoted;
use embedded_safetensors::header::MAX_HEADER_LEN;
use std::borrow::Cow;
use std::io;
use std::rc::Rc;

/// The largest number of dictionaries and lists around a value.
const DEEPEST: usize = 200;
/// The longest name, in bytes.
const LONGEST: usize = 1 << 16;
/// The largest number of values, and of keys, that are looked at, however often they are reached.
const VISITS: usize = 1 << 23;
/// The name of a tensor that is not in a dictionary or list.
const ALONE: &str = "tensor";
/// The largest number of values whose paths are kept, and of bytes of these paths.
const LISTED: usize = 1 << 17;
const LISTED_BYTES: usize = 8 << 20;

/// The tensors of a file, and what else it has.
#[derive(Debug, Default)]
pub(super) struct Flat {
    /// The names of tensors, and the numbers of their views.
    pub tensors: Vec<(Box<str>, u32)>,
    /// Other values.
    pub left_out: Vec<LeftOut>,
    /// Tensors, and objects, that are skipped.
    pub skipped: Vec<LeftOut>,
    /// The number of all other values.
    pub count: u64,
    listed: usize,
    /// The number of bytes of all names.
    names: u64,
}

/// A container whose items are being visited.
struct Frame {
    left: Left,
    is_dict: bool,
    /// The number of items that were visited.
    index: usize,
    /// The length of its path.
    path: usize,
    /// Why its items have no names; `None` if they have.
    unnamed: Option<Unnamed>,
}

/// The items that are left of a container.
enum Left {
    /// In the opposite order. Nothing else has them: they are freed as they are visited, so that the names of
    /// all tensors are in memory only once.
    Own(Vec<Value>),
    Shared(Rc<Items>, usize),
}

impl Left {
    fn next(&mut self) -> Option<Value> {
        match self {
            Self::Own(values) => {
                let value = values.pop();
                if values.len().is_multiple_of(1 << 16) {
                    values.shrink_to_fit();
                }
                value
            }
            Self::Shared(items, next) => {
                *next += 1;
                items.values().get(*next - 1).cloned()
            }
        }
    }
}

/// Why a tensor at some place has no name.
#[derive(Clone)]
struct Unnamed {
    reason: Rc<str>,
    kind: io::ErrorKind,
    /// Whether it may be skipped.
    is_of_object: bool,
}

impl Unnamed {
    fn new(reason: impl Into<Rc<str>>) -> Self {
        Self { reason: reason.into(), kind: io::ErrorKind::InvalidData, is_of_object: false }
    }

    fn of_key(key: &Value) -> Self {
        let beyond = |reason| Self { kind: io::ErrorKind::QuotaExceeded, ..Self::new(reason) };
        match key {
            Value::Other("int") => beyond("its key is an integer beyond 64 bits".to_owned()),
            Value::LongText(..) | Value::Other("str") => {
                beyond(format!("its key has more than {KEPT} bytes"))
            }
            other => Self::new(format!("its key is of type {}, neither a text nor an integer", other.kind())),
        }
    }

    fn of_object(object: &Value) -> Self {
        let class = quoted(&object.kind());
        let reason = format!("it is in an object of the class {class}; {SAVE}, or {SKIP}");
        Self { is_of_object: true, ..Self::new(reason) }
    }

    /// Returns this reason, unless an object is around what has no name.
    fn within(around: Option<&Self>, reason: &str) -> Self {
        around.filter(|around| around.is_of_object).cloned().unwrap_or_else(|| Self::new(reason))
    }

    fn error(&self, path: &str) -> io::Error {
        io::Error::new(self.kind, format!("a tensor at {} has no name: {}", quoted(path), self.reason))
    }
}

/// A key as Python compares it: `True`, `1` and `1.0` are the same.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key<'v> {
    Int(i64),
    Text(&'v str),
}

impl<'v> Key<'v> {
    /// Returns the key, if it may be the same as one that names a tensor.
    fn of(value: &'v Value) -> Option<Self> {
        match value {
            Value::Text(text) | Value::OldText(text) => Some(Self::Text(text)),
            Value::Name(name) => Some(Self::Text(&name.text)),
            Value::Int(number) => Some(Self::Int(*number)),
            Value::Bool(value) => Some(Self::Int((*value).into())),
            // Integers are spelled without a point.
            Value::Float(value) => value.to_string().parse().ok().map(Self::Int),
            _ => None,
        }
    }
}

/// Returns the tensors below a value, in their order.
///
/// # Errors
/// Values are nested too deeply, or a tensor cannot be named.
pub(super) fn flatten(root: Value, reader: &Reader<'_>) -> io::Result<Flat> {
    let (flat, path, frames) = Default::default();
    let mut walk = Walk { reader, flat, path, frames, visits: 0 };
    if let Some(class) = root.class() {
        return Err(class.error(false));
    }
    walk.visit(root, None)?;
    while let Some(frame) = walk.frames.last_mut() {
        let key = if frame.is_dict { frame.left.next() } else { None };
        let Some(value) = frame.left.next() else {
            walk.frames.pop();
            continue;
        };
        let (mut unnamed, path, index) = (frame.unnamed.clone(), frame.path, frame.index);
        frame.index += 1;
        walk.path.truncate(path);
        if unnamed.is_none() {
            unnamed = walk.enter(key.as_ref(), index)?;
            unnamed.iter().for_each(|_| walk.leave_out(value.kind()));
        }
        if let (Some(key), Some(around)) = (key, &unnamed) {
            // What a key has is dropped, too.
            walk.visit(key, Some(Unnamed::within(Some(around), "it is in a key of a dictionary")))?;
        }
        walk.visit(value, unnamed)?;
    }
    Ok(walk.flat)
}

struct Walk<'v> {
    reader: &'v Reader<'v>,
    flat: Flat,
    path: String,
    frames: Vec<Frame>,
    visits: usize,
}

impl Walk<'_> {
    /// Appends a key, or the index of an item, to the path, and returns why tensors below it have no names.
    fn enter(&mut self, key: Option<&Value>, index: usize) -> io::Result<Option<Unnamed>> {
        // The root's items begin their paths.
        if self.frames.len() > 1 {
            self.path.push('.');
        }
        let mut unnamed = None;
        match key {
            None => self.path.push_str(&index.to_string()),
            Some(Value::Text(key) | Value::OldText(key)) => self.path.push_str(key),
            // A class, as trainers have them for their callbacks.
            Some(Value::Name(key)) => self.path.push_str(&key.text),
            Some(Value::Int(key)) => self.path.push_str(&key.to_string()),
            Some(other) => {
                self.path.push_str(&format!("<{}>", other.kind()));
                unnamed = Some(Unnamed::of_key(other));
            }
        }
        ensure_within(self.path.len() <= LONGEST, || {
            format!("the keys of a value have more than {LONGEST} bytes: {}", quoted(&self.path))
        })?;
        Ok(unnamed)
    }

    /// Counts values, or keys, that are looked at.
    fn count(&mut self, visits: usize) -> io::Result<()> {
        self.visits = self.visits.saturating_add(visits);
        ensure_within(self.visits <= VISITS, || {
            format!("the file has more than {VISITS} values, counted where they occur")
        })
    }

    /// Visits a value, its attributes, and theirs.
    fn visit(&mut self, value: Value, unnamed: Option<Unnamed>) -> io::Result<()> {
        let mut next = self.reader.attributes(&value);
        let mut is_named = unnamed.is_none();
        let around = unnamed.clone();
        self.visit_alone(value, unnamed)?;
        // If they are their own attributes, they become too deep.
        while let Some(attributes) = next {
            // The versions of modules, which every state_dict has.
            let is_it = |items: &[Value]| matches!(items, [key, _] if is_text(key, &["_metadata"]));
            let is_versions = attributes.items().is_some_and(|items| is_it(&items.values()));
            if is_named && !is_versions {
                let len = self.path.len();
                self.path.push_str(if len == 0 { "__dict__" } else { ".__dict__" });
                self.leave_out("attributes".into());
                self.path.truncate(len);
            }
            is_named = false;
            next = self.reader.attributes(&attributes);
            let reason = Unnamed::within(around.as_ref(), "it is in the attributes of a value");
            self.visit_alone(attributes, Some(reason))?;
        }
        Ok(())
    }

    fn visit_alone(&mut self, value: Value, unnamed: Option<Unnamed>) -> io::Result<()> {
        self.count(1)?;
        let is_of_object = unnamed.as_ref().is_some_and(|unnamed| unnamed.is_of_object);
        match (value.tensor(), &unnamed) {
            (Some(number), None) => return self.add(number),
            _ if is_of_object && value.is_of_tensor() && self.reader.options.skip_unsupported => {
                return self.skip("a tensor in that object".into());
            }
            (tensor, Some(unnamed)) if tensor.is_some() || (is_of_object && value.is_of_tensor()) => {
                return Err(unnamed.error(&self.path));
            }
            _ => {}
        }
        if let Some(what) = value.unsupported() {
            return self.skip(String::from(&*what).into());
        }
        let unnamed = match (&value, unnamed) {
            (Value::Object(_), None) => {
                let of_object = Unnamed::of_object(&value);
                match value.class().is_some_and(|class| class.is_harmless) {
                    true => self.leave_out(value.kind()),
                    false => self.skip(value.kind())?,
                }
                Some(of_object)
            }
            (Value::Dict(_) | Value::List(_) | Value::Tuple(_), None) if !value.has_none() => None,
            (_, None) => {
                self.leave_out(value.kind());
                Some(Unnamed::new("it is in a set or a deque"))
            }
            (_, unnamed) => unnamed,
        };
        self.push(value, unnamed)
    }

    /// Lists a tensor or an object that is skipped, once.
    fn skip(&mut self, kind: Cow<'static, str>) -> io::Result<()> {
        let skipped = LeftOut { path: self.path.clone(), kind };
        if self.flat.skipped.last() != Some(&skipped) {
            self.count_name(skipped.path.len() + skipped.kind.len() + size_of::<LeftOut>())?;
            self.flat.skipped.push(skipped);
        }
        Ok(())
    }

    /// Counts the bytes of a name.
    fn count_name(&mut self, len: usize) -> io::Result<()> {
        self.flat.names += len as u64;
        ensure_within(self.flat.names <= MAX_HEADER_LEN, || {
            format!("the names of the tensors have more than {MAX_HEADER_LEN} bytes")
        })
    }

    /// Adds a tensor, whose name is the path.
    fn add(&mut self, number: u32) -> io::Result<()> {
        let name: Box<str> = if self.frames.is_empty() { ALONE } else { &self.path }.into();
        self.count_name(name.len())?;
        ensure_within(self.flat.tensors.len() < MOST, || format!("the file has more than {MOST} tensors"))?;
        self.flat.tensors.push((name, number));
        Ok(())
    }

    /// Begins with the items of a value, if it has any.
    fn push(&mut self, value: Value, unnamed: Option<Unnamed>) -> io::Result<()> {
        let is_dict = matches!(value, Value::Dict(_));
        let Some(items) = value.into_items().filter(|items| !items.values().is_empty()) else {
            return Ok(());
        };
        ensure_within(self.frames.len() < DEEPEST, || {
            let at = quoted(&self.path);
            format!("values are nested more than {DEEPEST} deep, or contain themselves, at {at}")
        })?;
        if is_dict && unnamed.is_none() {
            self.check_keys(&items.values())?;
        }
        let left = match Rc::try_unwrap(items) {
            Ok(items) => Left::Own(items.reversed()),
            Err(items) => Left::Shared(items, 0),
        };
        self.frames.push(Frame { left, is_dict, index: 0, path: self.path.len(), unnamed });
        Ok(())
    }

    /// Rejects a dictionary with duplicate keys: in Python, the last value of a key replaces the others.
    fn check_keys(&mut self, items: &[Value]) -> io::Result<()> {
        self.count(items.len() / 2)?;
        let key = |index: &u32| items.get(usize::try_from(*index).ok()? * 2).and_then(Key::of);
        let mut order: Vec<u32> = (0..).take(items.len() / 2).collect();
        order.retain(|index| key(index).is_some());
        order.sort_unstable_by(|one, other| key(one).cmp(&key(other)));
        let pair = order.windows(2).find(|pair| pair.first().map(key) == pair.last().map(key));
        let key = match pair.and_then(<[_]>::first).and_then(key) {
            None => return Ok(()),
            Some(Key::Int(number)) => number.to_string(),
            Some(Key::Text(text)) => quoted(text),
        };
        Err(unsound(format!("the dictionary at {} has the duplicate key {key}", quoted(&self.path))))
    }

    fn leave_out(&mut self, kind: Cow<'static, str>) {
        self.flat.count += 1;
        let listed = self.flat.listed + self.path.len() + kind.len() + size_of::<LeftOut>();
        if self.flat.left_out.len() < LISTED && listed <= LISTED_BYTES {
            self.flat.listed = listed;
            self.flat.left_out.push(LeftOut { path: self.path.clone(), kind });
        }
    }
}

/// Returns the tensors that are the same view of the same storage as another one, whose name is before theirs
/// in the order of characters: the index of each, in their order, and that of the other one.
///
/// # Errors
/// Two tensors are the same and that is to be rejected.
pub(super) fn tied(tensors: &[(Box<str>, u32)], views: &[View], ties: Ties) -> io::Result<Vec<(u32, u32)>> {
    let tensor = |index: u32| at(tensors, index).and_then(|(name, number)| Some((at(views, *number)?, name)));
    let mut sorted: Vec<u32> = (0..).take(tensors.len()).collect();
    sorted.sort_unstable_by_key(|index| tensor(*index));
    let is_same = |one: &u32, other: &u32| match (tensor(*one), tensor(*other)) {
        (Some((one, _)), Some((other, _))) => one == other && !one.dims().contains(&0),
        _ => false,
    };
    let mut tied = Vec::new();
    for same in sorted.chunk_by(is_same) {
        let (Some(first), Some(others)) = (same.first(), same.get(1..)) else { continue };
        tied.extend(others.iter().map(|other| (*other, *first)));
    }
    if let (Ties::Reject, Some((other, first))) = (ties, tied.first()) {
        let name = |index: u32| quoted(at(tensors, index).map_or("", |(name, _)| name));
        let (first, other) = (name(*first), name(*other));
        return Err(unsound(format!("tensors {first} and {other} share their elements")));
    }
    tied.sort_unstable();
    Ok(tied)
}

#[cfg(test)]
mod tests {
    use super::super::store::Store;
    use super::{Items, KEPT, MOST, Reader, Value, flatten};
    use crate::pickle::Indices;
    use std::io;

    /// A tensor costs two bytes of a pickle wherever it is fetched, but its names cost memory.
    #[test]
    fn tensors_and_their_names_are_limited() {
        let items = |values| Items::new(values, &Default::default());
        let mut store = Store::default();
        let reader = Reader::new(&mut store, Indices::default(), Default::default());
        let error =
            flatten(Value::List(items(vec![Value::Tensor(0); MOST + 1])), &reader).expect_err("too many");
        assert_eq!(error.kind(), io::ErrorKind::QuotaExceeded);
        assert_eq!(error.to_string(), "the file has more than 2000000 tensors");
        let key = Value::Text("k".repeat(KEPT).into());
        let mut value = Value::List(items(vec![Value::Tensor(0); 2000]));
        for _ in 0..15 {
            value = Value::Dict(items(vec![key.clone(), value]));
        }
        let error = flatten(value, &reader).expect_err("long names");
        assert_eq!(error.kind(), io::ErrorKind::QuotaExceeded);
        assert_eq!(error.to_string(), "the names of the tensors have more than 100000000 bytes");
    }
}
