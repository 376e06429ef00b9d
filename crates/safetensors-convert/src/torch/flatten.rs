//! Finds the tensors in nested dictionaries and lists, names each by the keys on its way, and decides which
//! of tied ones remain.

use super::machine::{KEPT, MOST, View};
use super::values::{Id, Value, Values};
use super::{LeftOut, Ties};
use crate::error::{beyond_limit, unsound};
use crate::text::quoted;
use embedded_safetensors::header::MAX_HEADER_LEN;
use std::cmp::Ordering;
use std::io;

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
    /// The number of all other values.
    pub count: u64,
    listed: usize,
    /// The number of bytes of all names.
    names: u64,
}

/// A container whose parts are being visited.
struct Frame {
    id: Id,
    /// The index of the next part.
    next: usize,
    /// The length of its path.
    path: usize,
    /// Why its parts have no names; `None` if they have.
    unnamed: Option<Unnamed>,
    /// Whether it and all around it are reached only once.
    is_single: bool,
}

/// Why a tensor at some place has no name.
#[derive(Clone, Copy)]
enum Unnamed {
    /// It is in a set or a deque.
    Set,
    Attributes,
    /// It is a key, or in one.
    InKey,
    /// Its key is a value of this type.
    Key(&'static str),
    /// Its key is not UTF-8.
    NotText,
    /// Its key has more bytes than are kept.
    Long,
    /// Its key is an integer beyond 64 bits.
    Large,
}

impl Unnamed {
    fn of_key(values: &Values, key: &Value) -> Self {
        match *key {
            Value::Long(number, true) => match values.span(number) {
                Some(span) if span.len <= KEPT as u64 => Self::NotText,
                _ => Self::Long,
            },
            Value::NotText => Self::NotText,
            Value::Other("str") => Self::Long,
            Value::Other("int") => Self::Large,
            ref other => Self::Key(other.kind()),
        }
    }

    fn error(self, path: &str) -> io::Error {
        let path = quoted(path);
        let says = |reason: &str| format!("a tensor at {path} has no name: {reason}");
        match self {
            Self::Set => unsound(says("it is in a set or a deque")),
            Self::Attributes => unsound(says("it is in the attributes of a value")),
            Self::InKey => unsound(says("it is in a key of a dictionary")),
            Self::Key(kind) => {
                unsound(says(&format!("its key is of type {kind}, neither a text nor an integer")))
            }
            Self::NotText => unsound(says("its key is not UTF-8")),
            Self::Long => beyond_limit(says(&format!("its key has more than {KEPT} bytes"))),
            Self::Large => beyond_limit(says("its key is an integer beyond 64 bits")),
        }
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
            Value::Text(text) => Some(Self::Text(text)),
            Value::Int(number) => Some(Self::Int(*number)),
            Value::Bool(value) => Some(Self::Int((*value).into())),
            // Integers are spelled without a point.
            Value::Float(value) => value.to_string().parse().ok().map(Self::Int),
            _ => None,
        }
    }
}

/// Returns the tensors below a value, in their order: probably this many.
///
/// # Errors
/// Values are nested too deeply, or a tensor cannot be named.
pub(super) fn flatten(values: &mut Values, root: Id, tensors: usize) -> io::Result<Flat> {
    let mut walk = Walk {
        values,
        flat: Flat { tensors: Vec::with_capacity(tensors), ..Flat::default() },
        path: String::new(),
        frames: Vec::new(),
        visits: 0,
    };
    walk.visit(root, None)?;
    while let Some(frame) = walk.frames.last_mut() {
        let container = walk.values.get(frame.id);
        let (parts, is_dict) = (container.parts(), matches!(container, Value::Dict(_)));
        let index = frame.next;
        frame.next += if is_dict { 2 } else { 1 };
        let (key, value) = match (is_dict, parts.get(index), parts.get(index + 1)) {
            (true, Some(key), Some(value)) => (Some(*key), *value),
            (false, Some(value), _) => (None, *value),
            _ => {
                walk.frames.pop();
                continue;
            }
        };
        let (around, is_single, path) = (frame.unnamed, frame.is_single, frame.path);
        walk.path.truncate(path);
        let unnamed = if around.is_some() { around } else { walk.enter(key, index)? };
        if unnamed.is_none() {
            walk.forget(key, is_single);
        } else {
            if around.is_none() {
                walk.leave_out(walk.values.get(value).kind());
            }
            // What a key has is dropped, too.
            key.map(|key| walk.visit(key, Some(Unnamed::InKey))).transpose()?;
        }
        walk.visit(value, unnamed)?;
    }
    Ok(walk.flat)
}

struct Walk<'v> {
    values: &'v mut Values,
    flat: Flat,
    path: String,
    frames: Vec<Frame>,
    visits: usize,
}

impl Walk<'_> {
    /// Appends a key, or the index of an item, to the path, and returns why tensors below it have no names.
    fn enter(&mut self, key: Option<Id>, index: usize) -> io::Result<Option<Unnamed>> {
        // The root's items begin their paths.
        if self.frames.len() > 1 {
            self.path.push('.');
        }
        let mut unnamed = None;
        match key.map(|key| self.values.get(key)) {
            None => self.path.push_str(&index.to_string()),
            Some(Value::Text(key)) => self.path.push_str(key),
            Some(Value::Int(key)) => self.path.push_str(&key.to_string()),
            Some(other) => {
                self.path.push_str(&format!("<{}>", other.kind()));
                unnamed = Some(Unnamed::of_key(self.values, other));
            }
        }
        if self.path.len() > LONGEST {
            return Err(beyond_limit(format!(
                "the keys of a value have more than {LONGEST} bytes: {}",
                quoted(&self.path)
            )));
        }
        Ok(unnamed)
    }

    /// Frees a key whose text is in the path, so that the names of all tensors are in memory only once.
    fn forget(&mut self, key: Option<Id>, is_single: bool) {
        if let Some(key) = key.filter(|key| is_single && !self.values.is_shared(*key)) {
            self.values.set(key, Value::Nothing);
        }
    }

    /// Counts values, or keys, that are looked at.
    fn count(&mut self, visits: usize) -> io::Result<()> {
        self.visits = self.visits.saturating_add(visits);
        match self.visits > VISITS {
            true => {
                Err(beyond_limit(format!("the file has more than {VISITS} values, counted where they occur")))
            }
            false => Ok(()),
        }
    }

    /// Visits a value, its attributes, and theirs.
    fn visit(&mut self, id: Id, unnamed: Option<Unnamed>) -> io::Result<()> {
        self.visit_alone(id, unnamed)?;
        let (mut owner, mut is_named) = (id, unnamed.is_none());
        // If they are their own attributes, they become too deep.
        while let Some(attributes) = self.values.attributes(owner) {
            if is_named {
                let len = self.path.len();
                self.path.push_str(if len == 0 { "__dict__" } else { ".__dict__" });
                self.leave_out("attributes");
                self.path.truncate(len);
            }
            self.visit_alone(attributes, Some(Unnamed::Attributes))?;
            (owner, is_named) = (attributes, false);
        }
        Ok(())
    }

    fn visit_alone(&mut self, id: Id, unnamed: Option<Unnamed>) -> io::Result<()> {
        self.count(1)?;
        let value = self.values.get(id);
        let (kind, is_empty) = (value.kind(), value.parts().is_empty());
        match (value, unnamed) {
            (Value::Tensor(_), Some(unnamed)) => Err(unnamed.error(&self.path)),
            (Value::Tensor(number), None) => self.add(*number),
            (_, Some(_)) => self.push(id, unnamed),
            (Value::Dict(_) | Value::List(_) | Value::Tuple(_), None) if !is_empty => self.push(id, None),
            _ => {
                self.leave_out(kind);
                self.push(id, Some(Unnamed::Set))
            }
        }
    }

    /// Adds a tensor, whose name is the path.
    fn add(&mut self, number: u32) -> io::Result<()> {
        let name = if self.frames.is_empty() { ALONE } else { &self.path };
        self.flat.names += name.len() as u64;
        if self.flat.names > MAX_HEADER_LEN {
            return Err(beyond_limit(format!(
                "the names of the tensors have more than {MAX_HEADER_LEN} bytes"
            )));
        }
        if self.flat.tensors.len() == MOST {
            return Err(beyond_limit(format!("the file has more than {MOST} tensors")));
        }
        self.flat.tensors.push((name.into(), number));
        Ok(())
    }

    /// Begins with the parts of a value, if it has any.
    fn push(&mut self, id: Id, unnamed: Option<Unnamed>) -> io::Result<()> {
        if self.values.get(id).parts().is_empty() {
            return Ok(());
        }
        if self.frames.len() == DEEPEST {
            return Err(beyond_limit(format!(
                "values are nested more than {DEEPEST} deep, or contain themselves, at {}",
                quoted(&self.path)
            )));
        }
        if unnamed.is_none() {
            self.check_keys(id)?;
        }
        let is_around = self.frames.last().is_none_or(|frame| frame.is_single);
        let is_single = is_around && !self.values.is_shared(id);
        self.frames.push(Frame { id, next: 0, path: self.path.len(), unnamed, is_single });
        Ok(())
    }

    /// Rejects a dictionary with duplicate keys: in Python, the last value of a key replaces the others.
    fn check_keys(&mut self, id: Id) -> io::Result<()> {
        if !matches!(self.values.get(id), Value::Dict(_)) {
            return Ok(());
        }
        self.count(self.values.get(id).parts().len() / 2)?;
        let keys = self.values.get(id).parts().iter().step_by(2);
        let mut keys: Vec<Key<'_>> = keys.filter_map(|key| Key::of(self.values.get(*key))).collect();
        keys.sort_unstable();
        let pair = keys.windows(2).find(|pair| pair.first() == pair.last());
        let key = match pair.and_then(<[_]>::first) {
            None => return Ok(()),
            Some(Key::Int(number)) => number.to_string(),
            Some(Key::Text(text)) => quoted(text),
        };
        Err(unsound(format!("the dictionary at {} has the duplicate key {key}", quoted(&self.path))))
    }

    fn leave_out(&mut self, kind: &'static str) {
        self.flat.count += 1;
        let listed = self.flat.listed + self.path.len() + size_of::<LeftOut>();
        if self.flat.left_out.len() < LISTED && listed <= LISTED_BYTES {
            self.flat.listed = listed;
            self.flat.left_out.push(LeftOut { path: self.path.clone(), kind });
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::{Flat, KEPT, MOST, Value, Values, flatten};
    use std::io;

    fn flat(values: &mut Values, root: Value) -> io::Result<Flat> {
        let root = values.add(root);
        flatten(values, root, 0)
    }

    /// A tensor costs two bytes of a pickle wherever it is fetched, but its names cost memory.
    #[test]
    fn tensors_and_their_names_are_limited() {
        let mut values = Values::default();
        let one = values.add(Value::Tensor(0));
        let error = flat(&mut values, Value::List(vec![one; MOST + 1].into())).expect_err("too many");
        assert_eq!(error.kind(), io::ErrorKind::QuotaExceeded);
        assert_eq!(error.to_string(), "the file has more than 2000000 tensors");
        let key = values.add(Value::Text("k".repeat(KEPT).into()));
        values.share(key);
        let mut value = values.add(Value::List(vec![one; 2000].into()));
        for _ in 0..14 {
            value = values.add(Value::Dict(vec![key, value].into()));
        }
        let error = flat(&mut values, Value::Dict(vec![key, value].into())).expect_err("long names");
        assert_eq!(error.kind(), io::ErrorKind::QuotaExceeded);
        assert_eq!(error.to_string(), "the names of the tensors have more than 100000000 bytes");
    }

    #[test]
    fn duplicate_keys_are_rejected_as_python_compares_them() {
        let same = || [Value::Int(1), Value::Bool(true), Value::Float(1.0)];
        let other = || [Value::Int(0), Value::Float(1.5), Value::Text("1".into()), Value::Nothing];
        let with = |one: Value, other: Value| {
            let mut values = Values::default();
            let items = [one, Value::Tensor(0), Value::Nothing, Value::Nothing, other, Value::Nothing];
            let items: Vec<u32> = items.map(|value| values.add(value)).into();
            flat(&mut values, Value::Dict(items.into()))
        };
        for key in same() {
            let error = with(Value::Int(1), key).map(|flat| flat.tensors).expect_err("a duplicate");
            assert_eq!(error.to_string(), "the dictionary at \"\" has the duplicate key 1");
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
        for key in other() {
            assert_eq!(with(Value::Int(1), key).expect("no duplicate").tensors.len(), 1);
        }
        assert!(with(Value::Text("w".into()), Value::Text("w".into())).is_err());
    }
}
