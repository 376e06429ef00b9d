//! Finds the tensors in nested dictionaries and lists, and names each by the keys on its way.

use super::LeftOut;
use super::values::{Id, Value, Values};
use crate::error::{beyond_limit, unsound};
use crate::text::quoted;
use std::io;

/// The largest number of dictionaries and lists around a value.
const DEEPEST: usize = 200;
/// The longest name, in bytes.
const LONGEST: usize = 1 << 16;
/// The largest number of values that are looked at, however often they are reached.
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
}

/// A container whose parts are being visited.
struct Frame {
    id: Id,
    /// The index of the next part.
    next: usize,
    /// The length of its path.
    path: usize,
    /// Whether its parts have names.
    is_named: bool,
    /// Whether it and all around it are reached only once.
    is_single: bool,
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
    walk.visit(root, true)?;
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
        let (is_named, is_single, path) = (frame.is_named, frame.is_single, frame.path);
        walk.path.truncate(path);
        if !is_named {
            // What a key has is dropped, too.
            key.map(|key| walk.visit(key, false)).transpose()?;
            walk.visit(value, false)?;
        } else if walk.enter(key, index)? {
            walk.forget(key, is_single);
            walk.visit(value, true)?;
        } else {
            walk.leave_out(walk.values.get(value).kind())?;
            walk.visit(value, false)?;
        }
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
    /// Appends a key, or the index of an item, to the path, and returns whether tensors below it have names.
    fn enter(&mut self, key: Option<Id>, index: usize) -> io::Result<bool> {
        // The root's items begin their paths.
        if self.frames.len() > 1 {
            self.path.push('.');
        }
        let mut is_named = true;
        match key.map(|key| self.values.get(key)) {
            None => self.path.push_str(&index.to_string()),
            Some(Value::Text(key)) => self.path.push_str(key),
            Some(Value::Int(key)) => self.path.push_str(&key.to_string()),
            Some(other) => {
                self.path.push_str(&format!("<{}>", other.kind()));
                is_named = false;
            }
        }
        if self.path.len() > LONGEST {
            return Err(beyond_limit(format!(
                "the keys of a value have more than {LONGEST} bytes: {}",
                quoted(&self.path)
            )));
        }
        Ok(is_named)
    }

    /// Frees a key whose text is in the path, so that the names of all tensors are in memory only once.
    fn forget(&mut self, key: Option<Id>, is_single: bool) {
        if let Some(key) = key.filter(|key| is_single && !self.values.is_shared(*key)) {
            self.values.set(key, Value::Nothing);
        }
    }

    fn visit(&mut self, id: Id, is_named: bool) -> io::Result<()> {
        self.visits += 1;
        if self.visits > VISITS {
            return Err(beyond_limit(format!(
                "the file has more than {VISITS} values, counted where they occur"
            )));
        }
        let value = self.values.get(id);
        let (kind, is_empty) = (value.kind(), value.parts().is_empty());
        match value {
            Value::Tensor(_) if !is_named => {
                return Err(unsound(format!(
                    "a tensor at {} has no name, because it is in a set, in an attribute, or has a key that \
                     is neither a text nor an integer",
                    quoted(&self.path)
                )));
            }
            Value::Tensor(number) => {
                let name = if self.frames.is_empty() { ALONE } else { &self.path };
                self.flat.tensors.push((name.into(), *number));
            }
            _ if !is_named => self.push(id, false)?,
            Value::Dict(_) | Value::List(_) | Value::Tuple(_) if !is_empty => {
                self.push(id, true)?;
            }
            _ => {
                self.leave_out(kind)?;
                self.push(id, false)?;
            }
        }
        if let Some(attributes) = self.values.attributes(id) {
            if is_named {
                let len = self.path.len();
                self.path.push_str(if len == 0 { "__dict__" } else { ".__dict__" });
                self.leave_out("attributes")?;
                self.path.truncate(len);
            }
            self.visit_unnamed(attributes)?;
        }
        Ok(())
    }

    /// Visits attributes, for tensors among them.
    fn visit_unnamed(&mut self, id: Id) -> io::Result<()> {
        match self.values.get(id) {
            Value::Tensor(_) => self.visit(id, false),
            _ => self.push(id, false),
        }
    }

    /// Begins with the parts of a value, if it has any.
    fn push(&mut self, id: Id, is_named: bool) -> io::Result<()> {
        if self.values.get(id).parts().is_empty() {
            return Ok(());
        }
        if self.frames.len() == DEEPEST {
            return Err(beyond_limit(format!(
                "values are nested more than {DEEPEST} deep, or contain themselves, at {}",
                quoted(&self.path)
            )));
        }
        let is_around = self.frames.last().is_none_or(|frame| frame.is_single);
        let is_single = is_around && !self.values.is_shared(id);
        self.frames.push(Frame { id, next: 0, path: self.path.len(), is_named, is_single });
        Ok(())
    }

    fn leave_out(&mut self, kind: &'static str) -> io::Result<()> {
        self.flat.count += 1;
        let listed = self.flat.listed + self.path.len() + size_of::<LeftOut>();
        if self.flat.left_out.len() < LISTED && listed <= LISTED_BYTES {
            self.flat.listed = listed;
            self.flat.left_out.push(LeftOut { path: self.path.clone(), kind });
        }
        Ok(())
    }
}
