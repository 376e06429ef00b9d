//! What each name of the closed list makes when it is called.

use super::machine::{Machine, View};
use super::store::Kind;
use super::values::{Id, IsBig, Span, Value};
use crate::error::beyond_limit;
use crate::pickle::{Element, Listed, Rebuild};
use embedded_safetensors::Dtype;
use std::io;

/// The largest number of axes, as in PyTorch.
pub(super) const AXES: usize = 64;
/// The largest number of items that calls may look at.
const WORK: usize = 1 << 26;

/// Returns the dtype of safetensors.
pub(super) fn dtype(element: Element) -> Dtype {
    match element {
        Element::Bool => Dtype::BOOL,
        Element::U8 => Dtype::U8,
        Element::I8 => Dtype::I8,
        Element::I16 => Dtype::I16,
        Element::I32 => Dtype::I32,
        Element::I64 => Dtype::I64,
        Element::U16 => Dtype::U16,
        Element::U32 => Dtype::U32,
        Element::U64 => Dtype::U64,
        Element::F16 => Dtype::F16,
        Element::Bf16 => Dtype::BF16,
        Element::F32 => Dtype::F32,
        Element::F64 => Dtype::F64,
        Element::C64 => Dtype::C64,
        Element::F8E4M3 => Dtype::F8_E4M3,
        Element::F8E5M2 => Dtype::F8_E5M2,
        Element::F8E4M3Fnuz => Dtype::F8_E4M3FNUZ,
        Element::F8E5M2Fnuz => Dtype::F8_E5M2FNUZ,
        Element::F8E8M0 => Dtype::F8_E8M0,
    }
}

/// Returns the number of bytes of an element.
pub(super) fn width(element: Element) -> u64 {
    byte_width(element).into()
}

fn byte_width(element: Element) -> u8 {
    dtype(element).bits() / 8
}

/// The arguments of a tensor's view.
struct Viewed {
    storage: u32,
    element: Option<Element>,
    offset: Id,
    dims: Id,
    strides: Id,
}

impl Machine<'_> {
    /// Makes what a name of the list makes of these arguments.
    pub fn call(&mut self, callee: Listed, arguments: &[Id]) -> io::Result<Id> {
        match (callee, arguments) {
            (Listed::Rebuild(rebuild), _) => self.rebuild(rebuild, arguments),
            // A parameter of an old release.
            (Listed::Tensor, [tensor] | [tensor, _]) => self.tensor(*tensor),
            (Listed::Dict, []) | (Listed::DefaultDict, [] | [_]) => {
                Ok(self.values.add(Value::Dict(Vec::new().into())))
            }
            (Listed::Dict, [items]) => self.dict(*items),
            (Listed::Counter, []) => Ok(self.values.add(Value::Dict(Vec::new().into()))),
            (Listed::Counter, [counts]) => self.counter(*counts),
            (Listed::Deque, [] | [_] | [_, _]) => self.deque(arguments),
            (Listed::Set, []) => Ok(self.values.add(Value::Set(Vec::new().into()))),
            // Only whether it has tensors matters.
            (Listed::Set, [items]) => Ok(self.values.add(Value::Set(vec![*items].into()))),
            (Listed::Plain(kind), _) if arguments.iter().all(|id| self.is_plain(*id)) => {
                Ok(self.values.add(Value::Other(kind)))
            }
            (Listed::Bytes, []) => Ok(self.values.add(Value::Bytes([].into()))),
            (Listed::Size, [dims]) if matches!(self.values.get(*dims), Value::Tuple(_)) => Ok(*dims),
            (Listed::Device, [_] | [_, _]) => Ok(self.values.add(Value::Other("device"))),
            (Listed::NumpyDtype, [name] | [name, _] | [name, _, _]) => self.numpy_dtype(*name),
            (Listed::NumpyScalar, [dtype, _]) if self.is_numpy_dtype(*dtype) => {
                Ok(self.values.add(Value::Other("numpy scalar")))
            }
            (Listed::NumpyReconstruct, [class, _, _])
                if matches!(self.values.get(*class), Value::Listed(Listed::NumpyArray)) =>
            {
                Ok(self.values.add(Value::EmptyArray))
            }
            (Listed::NumpyFromBuffer, [bytes, dtype, shape, order]) => {
                let is_fortran = match self.values.get(*order) {
                    Value::Text(order) if matches!(&**order, "C" | "F") => &**order == "F",
                    _ => return Err(self.unsound("makes an array of an unknown order")),
                };
                let array = self.array(*shape, *dtype, is_fortran, *bytes)?;
                self.add_view(array)
            }
            (Listed::Encode, [text, codec]) => self.encode(*text, *codec),
            _ => Err(self.unsound(format!("calls {callee:?} in an unknown way"))),
        }
    }

    /// Whether a value is a number, a text or bytes.
    pub fn is_plain(&self, id: Id) -> bool {
        use Value::{Bool, Bytes, Float, Int, Long, NotText, Nothing, Other, Text};
        matches!(
            self.values.get(id),
            Nothing | Bool(_) | Int(_) | Float(_) | Text(_) | Long(..) | NotText | Bytes(_) | Other(_)
        )
    }

    /// Makes a dictionary of counts.
    fn counter(&mut self, counts: Id) -> io::Result<Id> {
        let items = match self.values.get(counts) {
            Value::Dict(items) => items.0.clone(),
            _ => return Err(self.unsound("counts something else than a dictionary")),
        };
        self.work(items.len())?;
        // The other dictionary has them, too.
        items.iter().for_each(|item| self.values.share(*item));
        Ok(self.values.add(Value::Dict(items.into())))
    }

    /// Makes an empty deque, to which items are appended.
    fn deque(&mut self, arguments: &[Id]) -> io::Result<Id> {
        let is_empty = |id: &Id| matches!(self.values.get(*id), Value::Tuple(items) if items.is_empty());
        let (items, longest) = (arguments.first(), arguments.get(1));
        if !items.is_none_or(is_empty) || !longest.is_none_or(|id| self.is_plain(*id)) {
            return Err(self.unsound("makes a deque in an unknown way"));
        }
        Ok(self.values.add(Value::Deque(Vec::new().into())))
    }

    /// Returns the value if it is a tensor.
    fn tensor(&self, id: Id) -> io::Result<Id> {
        match self.values.get(id) {
            Value::Tensor(_) => Ok(id),
            other => {
                let kind = other.kind();
                Err(self.unsound(format!("makes a parameter of a value of type {kind}")))
            }
        }
    }

    fn work(&mut self, items: usize) -> io::Result<()> {
        self.worked += items;
        if self.worked > WORK {
            let at = self.at;
            return Err(beyond_limit(format!("up to byte {at} of the pickle, calls copy too many values")));
        }
        Ok(())
    }

    /// Makes a dictionary of a list of pairs.
    fn dict(&mut self, items: Id) -> io::Result<Id> {
        let pairs = match self.values.get(items) {
            Value::List(pairs) => pairs.0.clone(),
            _ => return Err(self.unsound("makes a dictionary of something else than a list")),
        };
        self.work(pairs.len())?;
        let mut items = Vec::new();
        for pair in pairs {
            match self.values.get(pair) {
                value @ (Value::List(_) | Value::Tuple(_)) if value.parts().len() == 2 => {
                    items.extend_from_slice(value.parts());
                }
                _ => return Err(self.unsound("makes a dictionary of something else than pairs")),
            }
        }
        self.check_pairs(&items)?;
        // The pairs have them, too.
        items.iter().for_each(|item| self.values.share(*item));
        Ok(self.values.add(Value::Dict(items.into())))
    }

    fn rebuild(&mut self, rebuild: Rebuild, arguments: &[Id]) -> io::Result<Id> {
        match (rebuild, arguments) {
            (Rebuild::V1, [storage, offset, dims, strides]) => {
                let viewed = self.viewed(*storage, *offset, *dims, *strides)?;
                self.view(viewed, None)
            }
            (Rebuild::V2, [storage, offset, dims, strides, _, hooks, rest @ ..]) if rest.len() <= 1 => {
                self.check_plain(*hooks, rest)?;
                let viewed = self.viewed(*storage, *offset, *dims, *strides)?;
                self.view(viewed, None)
            }
            (Rebuild::V3, [storage, offset, dims, strides, _, hooks, dtype, rest @ ..])
                if rest.len() <= 1 =>
            {
                self.check_plain(*hooks, rest)?;
                let Value::Listed(Listed::Dtype(element)) = *self.values.get(*dtype) else {
                    return Err(self.unsound("makes a tensor of an unknown dtype"));
                };
                let viewed = self.viewed(*storage, *offset, *dims, *strides)?;
                self.view(viewed, Some(element))
            }
            (Rebuild::Parameter, [tensor, _, hooks]) => {
                self.check_plain(*hooks, &[])?;
                self.tensor(*tensor)
            }
            (Rebuild::ParameterWithState, [tensor, _, hooks, state]) => {
                self.check_plain(*hooks, &[])?;
                let tensor = self.tensor(*tensor)?;
                self.set_attributes(tensor, *state)?;
                Ok(tensor)
            }
            (Rebuild::FromType, [function, class, arguments, state]) => {
                self.typed(*function, *class, *arguments, *state)
            }
            (Rebuild::FromNumpy, [array, dtype, _, _]) => self.of_numpy(*array, *dtype),
            _ => {
                Err(self
                    .unsound(format!("makes a tensor from {} arguments in an unknown way", arguments.len())))
            }
        }
    }

    /// Checks that a tensor has no hooks, and no flags by which its numbers differ from those stored.
    fn check_plain(&mut self, hooks: Id, metadata: &[Id]) -> io::Result<()> {
        let is_none = |id: Id| match self.values.get(id) {
            Value::Nothing => true,
            Value::Dict(items) => items.0.is_empty(),
            _ => false,
        };
        if !is_none(hooks) {
            return Err(self.unsound("makes a tensor with hooks, which are code"));
        }
        for metadata in metadata {
            self.work(self.values.get(*metadata).parts().len())?;
            let is_off = |id: &Id| matches!(self.values.get(*id), Value::Bool(false));
            let all_off = match self.values.get(*metadata) {
                Value::Dict(items) => items.0.iter().skip(1).step_by(2).all(is_off),
                other => matches!(other, Value::Nothing),
            };
            if !all_off {
                return Err(self.unsound(
                    "makes a tensor with flags, as for a conjugated or negated view; its numbers are not \
                     those stored",
                ));
            }
        }
        Ok(())
    }

    fn typed(&mut self, function: Id, class: Id, arguments: Id, state: Id) -> io::Result<Id> {
        let function = match (self.values.get(function), self.values.get(class)) {
            (
                Value::Listed(Listed::Rebuild(function @ (Rebuild::V1 | Rebuild::V2 | Rebuild::V3))),
                Value::Listed(Listed::Tensor),
            ) => *function,
            _ => return Err(self.unsound("makes a tensor of an unknown class")),
        };
        let arguments = match self.values.get(arguments) {
            Value::Tuple(arguments) => arguments.clone(),
            _ => return Err(self.unsound("makes a tensor of something else than a tuple")),
        };
        let tensor = self.rebuild(function, &arguments)?;
        self.set_attributes(tensor, state)?;
        Ok(tensor)
    }

    /// Returns the tensor of an array if it has this dtype, so that nothing need be converted.
    fn of_numpy(&mut self, array: Id, dtype: Id) -> io::Result<Id> {
        let Value::Tensor(number) = *self.values.get(array) else {
            return Err(self.unsound("makes a tensor of something else than an array"));
        };
        let view = usize::try_from(number).ok().and_then(|index| self.views.get(index));
        match (view, self.values.get(dtype)) {
            (Some(view), Value::Listed(Listed::Dtype(element))) if view.element == *element => Ok(array),
            _ => Err(self.unsound("makes a tensor of an array of another dtype")),
        }
    }

    fn viewed(&self, storage: Id, offset: Id, dims: Id, strides: Id) -> io::Result<Viewed> {
        match *self.values.get(storage) {
            Value::Storage(storage, element) => Ok(Viewed { storage, element, offset, dims, strides }),
            ref other => {
                let kind = other.kind();
                Err(self.unsound(format!("makes a tensor of a value of type {kind}, which is not a storage")))
            }
        }
    }

    fn view(&mut self, viewed: Viewed, element: Option<Element>) -> io::Result<Id> {
        let Some(element) = element.or(viewed.element) else {
            return Err(self.unsound("makes a tensor without a dtype"));
        };
        let (dims, strides) = (self.numbers(viewed.dims, "shape")?, self.numbers(viewed.strides, "strides")?);
        let offset = match self.values.get(viewed.offset) {
            Value::Int(offset) => u64::try_from(*offset).ok(),
            _ => None,
        };
        let offset = offset.ok_or_else(|| self.unsound("makes a tensor with an invalid offset"))?;
        if dims.len() != strides.len() {
            return Err(self.unsound(format!(
                "makes a tensor with {} axes, but {} strides",
                dims.len(),
                strides.len()
            )));
        }
        let elements = self.store.get(viewed.storage)?.len / width(element);
        let Some(end) = end_of(offset, &dims, &strides) else {
            return Err(self.unsound("makes a tensor whose shape or strides are too large"));
        };
        if end > elements {
            return Err(self.unsound(format!(
                "makes a tensor that ends at element {end} of a storage with {elements} elements"
            )));
        }
        let strides = (!is_contiguous(&dims, &strides)).then_some(&*strides);
        self.add_view(View::new(viewed.storage, element, offset, &dims, strides))
    }

    /// Returns the numbers of a shape or of strides.
    fn numbers(&self, id: Id, what: &str) -> io::Result<Box<[u64]>> {
        let items = match self.values.get(id) {
            value @ (Value::Tuple(_) | Value::List(_)) => value.parts(),
            _ => return Err(self.unsound(format!("makes a tensor with {what} that are not a tuple"))),
        };
        if items.len() > AXES {
            return Err(self.unsound(format!("makes a tensor with more than {AXES} axes")));
        }
        let number = |id: &Id| match self.values.get(*id) {
            Value::Int(number) => u64::try_from(*number).map_err(|_| {
                self.unsound(format!("makes a tensor with the negative number {number} in its {what}"))
            }),
            _ => Err(self.unsound(format!("makes a tensor with {what} that are not numbers"))),
        };
        items.iter().map(number).collect()
    }

    /// Returns the storage of an id: the word `storage`, a class, a key, a device and a number of elements.
    pub fn find_storage(&mut self, id: Id) -> io::Result<Value> {
        let parts = match self.values.get(id) {
            Value::Tuple(parts) => parts.clone(),
            _ => return Err(self.unsound("has an id that is not a tuple")),
        };
        let [word, class, key, device, count, view @ ..] = &parts[..] else {
            return Err(self.unsound("has an id that is too short"));
        };
        match self.values.get(*word) {
            Value::Text(word) if &**word == "storage" => {}
            _ => return Err(self.unsound("has the id of something else than a storage")),
        }
        if !view.iter().all(|view| matches!(self.values.get(*view), Value::Nothing)) || view.len() > 1 {
            return Err(self.unsound("names a view of a storage, as releases before 0.4 wrote them"));
        }
        if matches!(self.values.get(*device), Value::Text(device) if &**device == "meta") {
            return Err(self.unsound("names a storage without data, on the device meta"));
        }
        let element = match self.values.get(*class) {
            Value::Listed(Listed::Storage(element)) => Some(*element),
            Value::Listed(Listed::Untyped) => None,
            _ => return Err(self.unsound("names a storage of an unknown class")),
        };
        let bytes = match self.values.get(*count) {
            Value::Int(count) => {
                u64::try_from(*count).ok().and_then(|count| count.checked_mul(element.map_or(1, width)))
            }
            _ => None,
        };
        match (self.values.get(*key), bytes) {
            (Value::Text(key), Some(bytes)) => {
                let key = key.clone();
                let storage = self.store.find(&key, bytes, element, element.map_or(1, byte_width));
                let storage = storage.map_err(|error| match error.kind() {
                    io::ErrorKind::InvalidData => self.unsound(error.to_string()),
                    _ => error,
                });
                Ok(Value::Storage(storage?, element))
            }
            _ => Err(self.unsound("has an invalid id of a storage")),
        }
    }

    /// Sets attributes of a dictionary, or those of a tensor that a name of the list sets.
    fn set_attributes(&mut self, owner: Id, state: Id) -> io::Result<()> {
        match self.values.get(state) {
            Value::Nothing => return Ok(()),
            Value::Dict(items) if items.0.is_empty() => return Ok(()),
            Value::Dict(_) | Value::Tuple(_) => {}
            other => {
                let kind = other.kind();
                return Err(self.unsound(format!("sets attributes from a value of type {kind}")));
            }
        }
        match self.values.attributes(owner) {
            Some(_) => Err(self.unsound("sets attributes that are set already")),
            None => {
                self.values.set_attributes(owner, state);
                Ok(())
            }
        }
    }

    /// Does what `BUILD` does: sets attributes, the byte order of a dtype, or the contents of an array.
    ///
    /// PyTorch would replace the elements of a tensor, which `torch.save` does not write.
    pub fn set_state(&mut self, object: Id, state: Id) -> io::Result<()> {
        match *self.values.get(object) {
            Value::Dict(_) => self.set_attributes(object, state),
            Value::NumpyDtype(element, _) => {
                let order = self.values.get(state).parts().get(1).map(|order| self.values.get(*order));
                let is_big = match order {
                    Some(Value::Text(order)) => match &**order {
                        "<" | "|" | "=" => false,
                        ">" => true,
                        _ => return Err(self.unsound("sets an unknown byte order")),
                    },
                    _ => return Err(self.unsound("sets a dtype of numpy in an unknown way")),
                };
                self.values.set(object, Value::NumpyDtype(element, is_big));
                Ok(())
            }
            Value::EmptyArray => self.fill(object, state),
            ref other => {
                let kind = other.kind();
                Err(self.unsound(format!("sets the state of a value of type {kind}")))
            }
        }
    }

    fn is_numpy_dtype(&self, id: Id) -> bool {
        matches!(self.values.get(id), Value::NumpyDtype(..))
    }

    fn numpy_dtype(&mut self, name: Id) -> io::Result<Id> {
        let Value::Text(name) = self.values.get(name) else {
            return Err(self.unsound("makes a dtype of numpy without a name"));
        };
        let (is_big, name) = match name.split_at_checked(1) {
            Some((">", rest)) => (true, rest),
            Some(("<" | "|" | "=", rest)) => (false, rest),
            _ => (false, &**name),
        };
        let element = match name {
            "b1" => Some(Element::Bool),
            "u1" => Some(Element::U8),
            "i1" => Some(Element::I8),
            "u2" => Some(Element::U16),
            "i2" => Some(Element::I16),
            "u4" => Some(Element::U32),
            "i4" => Some(Element::I32),
            "u8" => Some(Element::U64),
            "i8" => Some(Element::I64),
            "f2" => Some(Element::F16),
            "f4" => Some(Element::F32),
            "f8" => Some(Element::F64),
            "c8" => Some(Element::C64),
            _ => None,
        };
        Ok(self.values.add(Value::NumpyDtype(element, is_big)))
    }

    /// Fills an array from its version, shape, dtype, order and bytes.
    fn fill(&mut self, array: Id, state: Id) -> io::Result<()> {
        let parts = match self.values.get(state) {
            Value::Tuple(parts) => parts.clone(),
            _ => return Err(self.unsound("fills an array in an unknown way")),
        };
        let [_, shape, dtype, order, bytes] = &parts[..] else {
            return Err(self.unsound("fills an array in an unknown way"));
        };
        let is_fortran = match self.values.get(*order) {
            Value::Bool(is_fortran) => *is_fortran,
            Value::Int(number @ 0..=1) => *number == 1,
            _ => return Err(self.unsound("makes an array of an unknown order")),
        };
        let view = self.array(*shape, *dtype, is_fortran, *bytes)?;
        let made = self.add_view(view)?;
        let tensor = match self.values.get(made) {
            Value::Tensor(number) => *number,
            _ => return Err(self.unsound("makes no array")),
        };
        self.values.set(array, Value::Tensor(tensor));
        Ok(())
    }

    fn array(&mut self, shape: Id, dtype: Id, is_fortran: bool, bytes: Id) -> io::Result<View> {
        let (element, is_big): (_, IsBig) = match *self.values.get(dtype) {
            Value::NumpyDtype(Some(element), is_big) => (element, is_big),
            _ => return Err(self.unsound("makes an array of a dtype that safetensors does not have")),
        };
        let dims = self.numbers(shape, "shape")?;
        let len = dims.iter().try_fold(width(element), |len, dim| len.checked_mul(*dim));
        let len = len.ok_or_else(|| self.unsound("makes an array that is too large"))?;
        let storage = match *self.values.get(bytes) {
            Value::Bytes(ref bytes) if bytes.len() as u64 == len => {
                let bytes = bytes.clone();
                self.store.add_kept(&bytes)?
            }
            Value::Long(number, false) => match self.values.span(number) {
                Some(Span { at, len: packed, is_latin: true }) if packed >= len && packed / 2 <= len => {
                    self.store.add_pickled(at, packed, len, Kind::Latin)?
                }
                Some(Span { at, len: packed, is_latin: false }) if packed == len => {
                    self.store.add_pickled(at, len, len, Kind::Pickled)?
                }
                _ => return Err(self.unsound(format!("makes an array of other than its {len} bytes"))),
            },
            _ => return Err(self.unsound(format!("makes an array of other than its {len} bytes"))),
        };
        let mut stride = 1_u64;
        let strides_of = |dim: &u64| {
            let own = stride;
            stride = stride.saturating_mul((*dim).max(1));
            own
        };
        let fortran: Vec<u64> = dims.iter().map(strides_of).collect();
        let strides = (is_fortran && !is_contiguous(&dims, &fortran)).then_some(&*fortran);
        let mut view = View::new(storage, element, 0, &dims, strides);
        view.is_big = is_big;
        Ok(view)
    }

    /// Returns the bytes that are spelled as a text in Latin-1.
    fn encode(&mut self, text: Id, codec: Id) -> io::Result<Id> {
        match self.values.get(codec) {
            Value::Text(codec) if matches!(&**codec, "latin1" | "latin-1") => {}
            _ => return Err(self.unsound("encodes a text other than in latin1")),
        }
        match *self.values.get(text) {
            Value::Text(ref text) => {
                let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
                let bytes = bytes.map_err(|_| self.unsound("encodes a text that is not in latin1"))?;
                self.work(bytes.len())?;
                Ok(self.values.add(Value::Bytes(bytes.into())))
            }
            Value::Long(number, true) => {
                let span = self.values.span(number);
                let span = span.ok_or_else(|| self.unsound("encodes nothing"))?;
                Ok(self.values.add_span(Span { is_latin: true, ..span }, false))
            }
            _ => Err(self.unsound("encodes something else than a text")),
        }
    }
}

/// Returns the index after the last element of a view; `None` if it or the number of bytes does not fit 64
/// bits.
fn end_of(offset: u64, dims: &[u64], strides: &[u64]) -> Option<u64> {
    // The number of bytes, of at most 8 for each element.
    dims.iter().try_fold(8_u64, |len, dim| len.checked_mul((*dim).max(1)))?;
    if dims.contains(&0) {
        return Some(0);
    }
    let last = dims
        .iter()
        .zip(strides)
        .try_fold(offset, |last, (dim, stride)| last.checked_add((dim - 1).checked_mul(*stride)?))?;
    last.checked_add(1)
}

/// Whether strides are those of an array without gaps in the order of safetensors.
fn is_contiguous(dims: &[u64], strides: &[u64]) -> bool {
    if dims.contains(&0) {
        return true;
    }
    let mut expected = 1;
    dims.iter().zip(strides).rev().filter(|(dim, _)| **dim != 1).all(|(dim, stride)| {
        let fits = *stride == expected;
        expected = expected.saturating_mul(*dim);
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::{end_of, is_contiguous};

    #[test]
    fn strides_are_checked_against_overflow() {
        assert_eq!(end_of(0, &[], &[]), Some(1));
        assert_eq!(end_of(5, &[2, 3], &[3, 1]), Some(11));
        assert_eq!(end_of(5, &[2, 3], &[0, 0]), Some(6));
        assert_eq!(end_of(u64::MAX, &[], &[]), None);
        assert_eq!(end_of(0, &[3], &[u64::MAX / 2 + 1]), None);
        assert_eq!(end_of(u64::MAX - 1, &[2], &[1]), None);
        assert_eq!(end_of(0, &[1 << 62], &[0]), None);
        assert_eq!(end_of(9, &[0, 5], &[u64::MAX, 1]), Some(0));
        assert_eq!(end_of(0, &[0, 1 << 61], &[1, 1]), None);
    }

    #[test]
    fn axes_of_one_index_may_have_any_stride() {
        assert!(is_contiguous(&[], &[]));
        assert!(is_contiguous(&[2, 1, 3], &[3, 77, 1]));
        assert!(is_contiguous(&[2, 0], &[5, 5]));
        assert!(!is_contiguous(&[2, 3], &[1, 2]));
        assert!(!is_contiguous(&[2, 3], &[0, 1]));
    }
}
