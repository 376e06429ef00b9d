//! Reads the pickle of a file of PyTorch: what each opcode, and each name of the closed list, makes.
//!
//! A name that is not on the list is rejected where it is imported. A first pass finds the items of the memo
//! that are fetched, so that all others can be freed as soon as they are used.

use super::store::{Kind, Store};
use super::values::{Items, Meter, Numpy, Value};
use crate::error::beyond_limit;
use crate::numpy::Header;
use crate::pickle::{Argument, Here, Indices, Listed, Machine, Make, Op, Opcode, Opcodes, Rebuild};
use crate::source::at;
use crate::strided::{fortran, is_contiguous};
use crate::text::shown_text;
use embedded_safetensors::Dtype;
use std::cell::Cell;
use std::collections::HashMap;
use std::io::{self, Read};
use std::rc::Rc;

/// The largest number of tensors of a file.
pub(super) const MOST: usize = 2_000_000;
/// The largest number of axes, as in PyTorch.
const AXES: usize = 64;
/// The largest number of items that calls may look at.
const WORK: usize = 1 << 26;
/// The longest text that is kept, in bytes. Of others, and of bytes, only the place is known.
pub(super) const KEPT: usize = 4096;
/// The largest number of bytes of all values, ...
const LIMIT: usize = 32 << 20;
/// ... and how many more for each tensor.
const FOR_EACH: usize = 160;
/// What an entry of a map takes, in bytes.
const MAPPED: usize = 64;

/// Returns the number of bytes of an dtype.
pub(super) fn width(dtype: Dtype) -> u64 {
    u64::from(dtype.bits() / 8)
}

/// A tensor: a view of a storage.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct View {
    /// The number of the storage.
    pub storage: u32,
    /// The index of its first element in the storage.
    pub offset: u64,
    pub dtype: Dtype,
    /// Whether its numbers are big-endian in the storage.
    pub is_big: bool,
    is_strided: bool,
    /// The dimensions; after them the distances of neighbours on each axis in elements, unless they are
    /// those of an array without gaps in the order of safetensors. One list, because there may be millions.
    shape: Box<[u64]>,
}

impl View {
    /// Creates a view that begins at `offset`. Without strides, its elements are adjacent.
    pub fn new(storage: u32, dtype: Dtype, offset: u64, dims: &[u64], strides: Option<&[u64]>) -> Self {
        let shape = [dims, strides.unwrap_or_default()].concat().into();
        Self { storage, dtype, is_big: false, offset, shape, is_strided: strides.is_some() }
    }

    fn rank(&self) -> usize {
        if self.is_strided { self.shape.len() / 2 } else { self.shape.len() }
    }

    pub fn dims(&self) -> &[u64] {
        self.shape.get(..self.rank()).unwrap_or_default()
    }

    /// Returns the strides, unless the elements are adjacent.
    pub fn strides(&self) -> Option<&[u64]> {
        self.is_strided.then(|| self.shape.get(self.rank()..).unwrap_or_default())
    }

    /// Moves the dimensions out of a view whose elements are adjacent; copies them otherwise.
    pub fn take_dims(&mut self) -> Vec<u64> {
        if self.is_strided { self.dims().to_vec() } else { std::mem::take(&mut self.shape).into_vec() }
    }
}

/// Reasons for names that PyTorch writes.
const REASONS: &[(&str, &[&str], &str)] = &[
    (
        "torch._utils",
        &["_rebuild_sparse_tensor", "_rebuild_sparse_csr_tensor"],
        "a sparse tensor, which safetensors does not have",
    ),
    ("torch._utils", &["_rebuild_qtensor"], "a quantised tensor, which safetensors does not have"),
    ("torch._utils", &["_rebuild_nested_tensor"], "a nested tensor, which safetensors does not have"),
    ("torch._utils", &["_rebuild_meta_tensor_no_storage"], "a tensor without data, on the device meta"),
    ("torch._utils", &["_rebuild_wrapper_subclass"], "a tensor without data, of a wrapper class"),
    (
        "torch",
        &["QInt8Storage", "QUInt8Storage", "QInt32Storage", "QUInt4x2Storage", "QUInt2x4Storage"],
        "a storage of quantised numbers, which safetensors does not have",
    ),
    (
        "torch",
        &["qint8", "quint8", "qint32", "quint4x2", "quint2x4"],
        "a quantised dtype, which safetensors does not have",
    ),
    (
        "torch",
        &["complex128", "cdouble", "ComplexDoubleStorage", "complex32", "chalf", "ComplexHalfStorage"],
        "a dtype that safetensors does not have; of complex numbers it has complex64",
    ),
];

/// Reads a pickle that fetches these items of its memo, and returns what `then` makes of its value, and its
/// views.
///
/// # Errors
/// The pickle is unsound, or something in it is not on the closed list; those of `then`.
pub(super) fn read_pickle<R: Read, T>(
    opcodes: &mut Opcodes<R>,
    fetched: Indices,
    store: &mut Store,
    then: impl FnOnce(Value, &Reader<'_>) -> io::Result<T>,
) -> io::Result<(T, Vec<View>)> {
    let mut reader = Reader::new(store, fetched);
    let mut machine = Machine::new(&mut reader);
    let mut root = None;
    while let Some(op) = opcodes.next() {
        root = machine.step(op?, opcodes.offset())?;
    }
    let is_empty = machine.is_empty();
    drop(machine);
    let root = match root {
        Some(root) if is_empty => root,
        Some(_) => return Err(reader.here.unsound("leaves other values on the stack")),
        None => return Err(reader.here.unsound("ends the pickle without a value")),
    };
    let result = then(root, &reader)?;
    Ok((result, std::mem::take(&mut reader.views)))
}

/// Returns the indices of the memo that a pickle fetches, and leaves the opcodes after it.
pub(super) fn fetched<R: Read>(opcodes: &mut Opcodes<R>) -> io::Result<Indices> {
    let mut fetched = Indices::default();
    for op in opcodes {
        let Op { at, code, argument } = op?;
        if let (Opcode::Get | Opcode::BinGet | Opcode::LongBinGet, Argument::Int(index)) = (code, argument) {
            let index = u32::try_from(index).ok().filter(|index| *index <= Reader::LARGEST_INDEX);
            let beyond = || format!("has an index beyond {}", Reader::LARGEST_INDEX);
            fetched.insert(index.ok_or_else(|| Here { code, at, end: at }.beyond(beyond()))?);
        }
    }
    Ok(fetched)
}

/// Makes the values of a pickle.
pub(super) struct Reader<'s> {
    here: Here,
    fetched: Indices,
    store: &'s mut Store,
    views: Vec<View>,
    /// The attributes that were set for tensors.
    attributes: HashMap<u32, Value>,
    /// Containers that were changed when something else had them, too: they may contain themselves.
    shared: Vec<Rc<Items>>,
    meter: Meter,
    /// The number of items that calls have looked at.
    worked: usize,
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.shared.iter().for_each(|items| items.clear());
    }
}

impl Make for Reader<'_> {
    type Value = Value;
    const IS_LENIENT: bool = false;
    const DEEPEST: usize = 1 << 21;
    /// Far more than two million tensors have.
    const LARGEST_INDEX: u32 = (1 << 26) - 1;

    fn begin(&mut self, here: Here, argument: &Argument) -> io::Result<()> {
        use Opcode::{Ext1, Ext2, Ext4, Inst, NewObjEx, NextBuffer, Obj, PersId, Proto};
        self.here = here;
        match here.code {
            PersId | Inst | Obj | NewObjEx | NextBuffer | Ext1 | Ext2 | Ext4 => {
                Err(here.unsound("is not used in this format, and is rejected"))
            }
            Proto if !matches!(argument, Argument::Int(0..=5)) => {
                Err(here.unsound("states a protocol beyond 5"))
            }
            _ => Ok(()),
        }
    }

    fn value(&mut self, argument: Argument) -> io::Result<Value> {
        use Opcode::{
            BinBytes, BinBytes8, BinString, BinUnicode, BinUnicode8, ByteArray8, EmptyDict, EmptyList,
            EmptySet, EmptyTuple, Long, Long1, Long4, NewFalse, NewTrue, None, ShortBinBytes, ShortBinString,
            ShortBinUnicode,
        };
        let code = self.here.code;
        let is_bytes = matches!(code, BinBytes | ShortBinBytes | BinBytes8 | ByteArray8);
        let is_text = matches!(code, BinUnicode | ShortBinUnicode | BinUnicode8 | BinString | ShortBinString);
        let has_length = is_bytes || is_text;
        let long = |len: u64| match is_bytes {
            true => Value::LongBytes(self.here.end - len, len),
            false => Value::LongText(self.here.end - len, len),
        };
        Ok(match (code, argument) {
            (None, _) => Value::Nothing,
            (NewTrue, _) => Value::Bool(true),
            (NewFalse, _) => Value::Bool(false),
            (EmptyTuple, _) => Value::Tuple(self.items(Vec::new())),
            (EmptyList, _) => Value::List(self.items(Vec::new())),
            (EmptyDict, _) => Value::Dict(self.items(Vec::new())),
            (EmptySet, _) => Value::Set(self.items(Vec::new())),
            (_, Argument::Bool(value)) => Value::Bool(value),
            (_, Argument::Int(value)) => i64::try_from(value).map_or(Value::Other("int"), Value::Int),
            (_, Argument::Float(value)) => Value::Float(value),
            (_, Argument::Text(text)) if text.len() <= KEPT => Value::Text(text.into()),
            (Long | Long1 | Long4, Argument::Skipped { .. }) => Value::Other("int"),
            (_, Argument::Text(text)) if has_length => long(text.len() as u64),
            (_, Argument::Bytes(bytes)) if has_length => long(bytes.len() as u64),
            (_, Argument::Skipped { len, .. }) if has_length => long(len),
            (_, Argument::Bytes(bytes)) if bytes.len() <= KEPT => Value::NotText,
            // A long text in a line has escapes, too.
            (_, Argument::Text(_) | Argument::Bytes(_) | Argument::Skipped { .. }) => Value::Other("str"),
            (_, Argument::None | Argument::Name { .. } | Argument::Unknown) => {
                return Err(self.unsound("is not expected here"));
            }
        })
    }

    fn group(&mut self, items: Vec<Value>) -> io::Result<Value> {
        if self.here.code == Opcode::Dict {
            self.check_pairs(&items)?;
        }
        let items = self.items(items);
        Ok(match self.here.code {
            Opcode::List => Value::List(items),
            Opcode::Dict => Value::Dict(items),
            Opcode::FrozenSet => Value::Set(items),
            _ => Value::Tuple(items),
        })
    }

    fn extend(&mut self, container: &Value, mut items: Vec<Value>) -> io::Result<()> {
        use Opcode::{AddItems, Append, Appends, SetItem, SetItems};
        let code = self.here.code;
        if matches!(code, SetItem | SetItems) {
            self.check_pairs(&items)?;
        }
        let own = match (container, code) {
            (Value::List(own) | Value::Deque(own), Append | Appends) => own,
            (Value::Dict(own), SetItem | SetItems) => own,
            (Value::Set(own), AddItems) => own,
            _ => {
                return Err(self.unsound(format!("cannot add to a value of type {}", container.kind())));
            }
        };
        // In a list that is too long for a shape or for a key and its value, only types matter.
        if code == Appends && items.len() > AXES {
            items
                .iter_mut()
                .filter(|item| item.is_plain())
                .for_each(|item| *item = Value::Other(item.kind()));
        }
        self.see_change(own);
        own.add(items);
        Ok(())
    }

    fn import(&mut self, argument: Argument, name: Option<[Value; 2]>) -> io::Result<Value> {
        let (module, name): (Rc<str>, Rc<str>) = match (argument, name) {
            (Argument::Name { module, name }, _) => (module.into(), name.into()),
            (Argument::Skipped { .. }, _) => return Err(self.unsound("imports a name that is too long")),
            (_, Some([Value::Text(module), Value::Text(name)])) => (module, name),
            _ => return Err(self.unsound("imports a name that is not a text")),
        };
        if let Some(listed) = Listed::find(&module, &name) {
            return Ok(Value::Listed(listed));
        }
        let reason = REASONS.iter().find(|(of, names, _)| **of == *module && names.contains(&&*name));
        let reason = match reason {
            Some((_, _, reason)) => format!("which is {reason}"),
            None => "which is not on the closed list of what models need".into(),
        };
        let name: String = format!("{module}.{name}").chars().take(200).collect();
        Err(self.unsound(format!("imports {}, {reason}", shown_text(&name))))
    }

    fn call(&mut self, callee: Value, arguments: Value) -> io::Result<Value> {
        use Listed::{Counter, DefaultDict, Deque, Dict, Set};
        let Value::Listed(callee) = callee else {
            return Err(self.unsound(format!("calls a value of type {}", callee.kind())));
        };
        let Value::Tuple(arguments) = arguments else {
            return Err(self.unsound("calls something with arguments that are not a tuple"));
        };
        let arguments = arguments.values();
        let is_container = matches!(callee, Dict | DefaultDict | Set | Counter | Deque);
        if self.here.code == Opcode::NewObj && is_container && !arguments.is_empty() {
            return Err(self.unsound("makes an empty container, but gives arguments"));
        }
        self.make(callee, &arguments)
    }

    /// PyTorch would replace the elements of a tensor, which `torch.save` does not write.
    fn build(&mut self, object: &Value, state: Value) -> io::Result<()> {
        match object {
            Value::Dict(_) => self.set_attributes(object, state),
            Value::Numpy(value) => match value.get() {
                Numpy::Dtype(dtype, _) => self.set_order(dtype, &state).map(|dtype| value.set(dtype)),
                Numpy::Empty => self.filled(&state).map(|array| value.set(array)),
                Numpy::Array(_) => Err(self.unsound("sets the state of a value of type tensor")),
            },
            other => Err(self.unsound(format!("sets the state of a value of type {}", other.kind()))),
        }
    }

    /// Returns the storage of an id: the word `storage`, a class, a key, a device and a number of elements.
    fn persistent(&mut self, id: Value) -> io::Result<Value> {
        let Value::Tuple(id) = id else { return Err(self.unsound("has an id that is not a tuple")) };
        let parts = id.values();
        let [word, class, key, device, count, view @ ..] = &parts[..] else {
            return Err(self.unsound("has an id that is too short"));
        };
        if !is_text(word, &["storage"]) {
            return Err(self.unsound("has the id of something else than a storage"));
        }
        if !matches!(view, [] | [Value::Nothing]) {
            return Err(self.unsound("names a view of a storage, as releases before 0.4 wrote them"));
        }
        if is_text(device, &["meta"]) {
            return Err(self.unsound("names a storage without data, on the device meta"));
        }
        let dtype = match class {
            Value::Listed(Listed::Storage(dtype)) => Some(*dtype),
            Value::Listed(Listed::Untyped) => None,
            _ => return Err(self.unsound("names a storage of an unknown class")),
        };
        let bytes = match count {
            Value::Int(count) => {
                u64::try_from(*count).ok().and_then(|count| count.checked_mul(dtype.map_or(1, width)))
            }
            _ => None,
        };
        let (Value::Text(key), Some(bytes)) = (key, bytes) else {
            return Err(self.unsound("has an invalid id of a storage"));
        };
        let storage = self.store.find(key, bytes, dtype);
        let storage = storage.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => self.unsound(error.to_string()),
            _ => error,
        });
        Ok(Value::Storage(storage?, dtype))
    }

    fn keeps(&mut self, index: u32, value: &Value, _: usize) -> bool {
        let is_fetched = self.fetched.contains(index);
        if is_fetched {
            self.meter.add(MAPPED + value.weight());
        }
        is_fetched
    }

    fn unkept(&self) -> Value {
        Value::Nothing
    }

    fn weight(&self, value: &Value) -> usize {
        value.weight()
    }

    fn end(&mut self, weight: usize) -> io::Result<()> {
        let (used, limit) = (self.meter.get().saturating_add(weight), LIMIT + FOR_EACH * self.views.len());
        match used > limit {
            true => Err(beyond_limit(format!(
                "the values of the pickle take {used} bytes of memory, at most {limit} are allowed"
            ))),
            false => Ok(()),
        }
    }
}

/// Whether a value is one of these texts.
fn is_text(value: &Value, texts: &[&str]) -> bool {
    matches!(value, Value::Text(text) if texts.contains(&&**text))
}

impl<'s> Reader<'s> {
    pub fn new(store: &'s mut Store, fetched: Indices) -> Self {
        let (here, views, attributes, shared, meter) = Default::default();
        Self { here, fetched, store, views, attributes, shared, meter, worked: 0 }
    }

    /// Returns the attributes of a value.
    pub fn attributes(&self, owner: &Value) -> Option<Value> {
        match owner.tensor() {
            Some(number) => self.attributes.get(&number).cloned(),
            None => owner.items().and_then(|items| items.attributes()),
        }
    }

    fn unsound(&self, what: impl AsRef<str>) -> io::Error {
        self.here.unsound(what)
    }

    fn items(&self, items: Vec<Value>) -> Rc<Items> {
        Items::new(items, &self.meter)
    }

    /// Notes that a container is changed.
    fn see_change(&mut self, items: &Rc<Items>) {
        if Rc::strong_count(items) > 1 && !items.is_noted.replace(true) {
            self.meter.add(size_of::<Rc<Items>>());
            self.shared.push(Rc::clone(items));
        }
    }

    /// Checks the keys and values of a dictionary, in turn.
    fn check_pairs(&self, items: &[Value]) -> io::Result<()> {
        if !items.len().is_multiple_of(2) {
            return Err(self.unsound("has a key without a value"));
        }
        let is_mutable = |key: &&Value| matches!(key, Value::List(_) | Value::Dict(_) | Value::Deque(_));
        match items.iter().step_by(2).find(is_mutable) {
            Some(key) => Err(self.unsound(format!("has a key of type {}, which Python rejects", key.kind()))),
            None => Ok(()),
        }
    }

    /// Adds a tensor, and returns its number.
    fn add_view(&mut self, view: View) -> io::Result<u32> {
        if self.views.len() == MOST {
            return Err(beyond_limit(format!("the file has more than {MOST} tensors")));
        }
        self.views.push(view);
        // At most two million.
        Ok(u32::try_from(self.views.len() - 1).unwrap_or(u32::MAX))
    }

    /// Makes what a name of the list makes of these arguments.
    fn make(&mut self, callee: Listed, arguments: &[Value]) -> io::Result<Value> {
        let numpy = |value| Value::Numpy(Rc::new(Cell::new(value)));
        match (callee, arguments) {
            (Listed::Rebuild(rebuild), _) => self.rebuild(rebuild, arguments),
            // A parameter of an old release.
            (Listed::Tensor, [tensor] | [tensor, _]) => self.tensor(tensor),
            (Listed::Dict | Listed::Counter, []) | (Listed::DefaultDict, [] | [_]) => {
                Ok(Value::Dict(self.items(Vec::new())))
            }
            (Listed::Dict, [pairs]) => self.dict(pairs),
            (Listed::Counter, [Value::Dict(counts)]) => {
                self.work(counts.values().len())?;
                Ok(Value::Dict(self.items(counts.values().clone())))
            }
            (Listed::Counter, [_]) => Err(self.unsound("counts something else than a dictionary")),
            (Listed::Deque, [] | [_] | [_, _]) => self.deque(arguments),
            // Only whether it has tensors matters.
            (Listed::Set, [] | [_]) => Ok(Value::Set(self.items(arguments.to_vec()))),
            (Listed::Plain(kind), _) if arguments.iter().all(Value::is_plain) => Ok(Value::Other(kind)),
            (Listed::Bytes, []) => Ok(Value::Bytes([].into())),
            (Listed::Size, [dims @ Value::Tuple(_)]) => Ok(dims.clone()),
            (Listed::Device, [_] | [_, _]) => Ok(Value::Other("device")),
            (Listed::NumpyDtype, [name] | [name, _] | [name, _, _]) => self.numpy_dtype(name).map(numpy),
            (Listed::NumpyScalar, [Value::Numpy(dtype), _]) if matches!(dtype.get(), Numpy::Dtype(..)) => {
                Ok(Value::Other("numpy scalar"))
            }
            (Listed::NumpyReconstruct, [Value::Listed(Listed::NumpyArray), _, _]) => Ok(numpy(Numpy::Empty)),
            (Listed::NumpyFromBuffer, [bytes, dtype, shape, order]) => {
                if !is_text(order, &["C", "F"]) {
                    return Err(self.unsound("makes an array of an unknown order"));
                }
                self.array(shape, dtype, is_text(order, &["F"]), bytes).map(Value::Tensor)
            }
            (Listed::Encode, [text, codec]) => self.encode(text, codec),
            _ => Err(self.unsound(format!("calls {callee:?} in an unknown way"))),
        }
    }

    /// Makes an empty deque, to which items are appended.
    fn deque(&mut self, arguments: &[Value]) -> io::Result<Value> {
        let is_empty = |value: &Value| matches!(value, Value::Tuple(_)) && value.has_none();
        let (items, longest) = (arguments.first(), arguments.get(1));
        match items.is_none_or(is_empty) && longest.is_none_or(Value::is_plain) {
            true => Ok(Value::Deque(self.items(Vec::new()))),
            false => Err(self.unsound("makes a deque in an unknown way")),
        }
    }

    /// Returns the value if it is a tensor.
    fn tensor(&self, value: &Value) -> io::Result<Value> {
        match value.tensor() {
            Some(_) => Ok(value.clone()),
            None => Err(self.unsound(format!("makes a parameter of a value of type {}", value.kind()))),
        }
    }

    fn work(&mut self, items: usize) -> io::Result<()> {
        self.worked += items;
        if self.worked > WORK {
            let at = self.here.at;
            return Err(beyond_limit(format!("up to byte {at} of the pickle, calls copy too many values")));
        }
        Ok(())
    }

    /// Makes a dictionary of a list of pairs.
    fn dict(&mut self, pairs: &Value) -> io::Result<Value> {
        let Value::List(pairs) = pairs else {
            return Err(self.unsound("makes a dictionary of something else than a list"));
        };
        self.work(pairs.values().len())?;
        let mut items = Vec::new();
        for pair in pairs.values().iter() {
            match pair {
                Value::List(pair) | Value::Tuple(pair) if pair.values().len() == 2 => {
                    items.extend_from_slice(&pair.values());
                }
                _ => return Err(self.unsound("makes a dictionary of something else than pairs")),
            }
        }
        self.check_pairs(&items)?;
        Ok(Value::Dict(self.items(items)))
    }

    fn rebuild(&mut self, rebuild: Rebuild, arguments: &[Value]) -> io::Result<Value> {
        match (rebuild, arguments) {
            (Rebuild::V1, [_, _, _, _]) => self.view(arguments, None),
            (Rebuild::V2, [_, _, _, _, _, hooks, rest @ ..]) if rest.len() <= 1 => {
                self.check_plain(hooks, rest)?;
                self.view(arguments, None)
            }
            (Rebuild::V3, [_, _, _, _, _, hooks, dtype, rest @ ..]) if rest.len() <= 1 => {
                self.check_plain(hooks, rest)?;
                match dtype {
                    Value::Listed(Listed::Dtype(dtype)) => self.view(arguments, Some(*dtype)),
                    _ => Err(self.unsound("makes a tensor of an unknown dtype")),
                }
            }
            (Rebuild::Parameter, [tensor, _, hooks]) => {
                self.check_plain(hooks, &[])?;
                self.tensor(tensor)
            }
            (Rebuild::ParameterWithState, [tensor, _, hooks, state]) => {
                self.check_plain(hooks, &[])?;
                let tensor = self.tensor(tensor)?;
                self.set_attributes(&tensor, state.clone())?;
                Ok(tensor)
            }
            (Rebuild::FromType, [function, class, arguments, state]) => {
                let (
                    Value::Listed(Listed::Rebuild(function @ (Rebuild::V1 | Rebuild::V2 | Rebuild::V3))),
                    Value::Listed(Listed::Tensor),
                ) = (function, class)
                else {
                    return Err(self.unsound("makes a tensor of an unknown class"));
                };
                let Value::Tuple(arguments) = arguments else {
                    return Err(self.unsound("makes a tensor of something else than a tuple"));
                };
                let tensor = self.rebuild(*function, &arguments.values())?;
                self.set_attributes(&tensor, state.clone())?;
                Ok(tensor)
            }
            (Rebuild::FromNumpy, [array, dtype, _, _]) => self.of_numpy(array, dtype),
            _ => {
                let count = arguments.len();
                Err(self.unsound(format!("makes a tensor from {count} arguments in an unknown way")))
            }
        }
    }

    /// Checks that a tensor has no hooks, and no flags by which its numbers differ from those stored.
    fn check_plain(&mut self, hooks: &Value, metadata: &[Value]) -> io::Result<()> {
        if !matches!(hooks, Value::Nothing | Value::Dict(_)) || !hooks.has_none() {
            return Err(self.unsound("makes a tensor with hooks, which are code"));
        }
        for metadata in metadata {
            self.work(metadata.items().map_or(0, |items| items.values().len()))?;
            let all_off = match metadata {
                Value::Dict(flags) => {
                    flags.values().iter().skip(1).step_by(2).all(|flag| matches!(flag, Value::Bool(false)))
                }
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

    /// Returns the tensor of an array if it has this dtype, so that nothing need be converted.
    fn of_numpy(&mut self, array: &Value, dtype: &Value) -> io::Result<Value> {
        let Some(number) = array.tensor() else {
            return Err(self.unsound("makes a tensor of something else than an array"));
        };
        match (at(&self.views, number), dtype) {
            (Some(view), Value::Listed(Listed::Dtype(dtype))) if view.dtype == *dtype => Ok(array.clone()),
            _ => Err(self.unsound("makes a tensor of an array of another dtype")),
        }
    }

    /// Makes a tensor of a storage, an offset, a shape and strides.
    fn view(&mut self, arguments: &[Value], dtype: Option<Dtype>) -> io::Result<Value> {
        let [storage, offset, dims, strides, ..] = arguments else {
            return Err(self.unsound("makes a tensor without a storage"));
        };
        let Value::Storage(storage, own) = storage else {
            let kind = storage.kind();
            return Err(
                self.unsound(format!("makes a tensor of a value of type {kind}, which is not a storage"))
            );
        };
        let Some(dtype) = dtype.or(*own) else {
            return Err(self.unsound("makes a tensor without a dtype"));
        };
        let (dims, strides) = (self.numbers(dims, "shape")?, self.numbers(strides, "strides")?);
        let offset = match offset {
            Value::Int(offset) => u64::try_from(*offset).ok(),
            _ => None,
        };
        let offset = offset.ok_or_else(|| self.unsound("makes a tensor with an invalid offset"))?;
        if dims.len() != strides.len() {
            let (axes, strides) = (dims.len(), strides.len());
            return Err(self.unsound(format!("makes a tensor with {axes} axes, but {strides} strides")));
        }
        let elements = self.store.get(*storage)?.len / width(dtype);
        let Some(end) = end_of(offset, &dims, &strides) else {
            return Err(self.unsound("makes a tensor whose shape or strides are too large"));
        };
        if end > elements {
            return Err(self.unsound(format!(
                "makes a tensor that ends at element {end} of a storage with {elements} elements"
            )));
        }
        let strides = (!is_contiguous(&dims, &strides)).then_some(&*strides);
        self.add_view(View::new(*storage, dtype, offset, &dims, strides)).map(Value::Tensor)
    }

    /// Returns the numbers of a shape or of strides.
    fn numbers(&self, value: &Value, what: &str) -> io::Result<Vec<u64>> {
        let (Value::Tuple(items) | Value::List(items)) = value else {
            return Err(self.unsound(format!("makes a tensor with {what} that are not a tuple")));
        };
        let items = items.values();
        if items.len() > AXES {
            return Err(self.unsound(format!("makes a tensor with more than {AXES} axes")));
        }
        let number = |value: &Value| match value {
            Value::Int(number) => u64::try_from(*number).map_err(|_| {
                self.unsound(format!("makes a tensor with the negative number {number} in its {what}"))
            }),
            _ => Err(self.unsound(format!("makes a tensor with {what} that are not numbers"))),
        };
        items.iter().map(number).collect()
    }

    /// Sets attributes of a dictionary, or those of a tensor that a name of the list sets.
    fn set_attributes(&mut self, owner: &Value, state: Value) -> io::Result<()> {
        match &state {
            Value::Nothing => return Ok(()),
            Value::Dict(items) if items.values().is_empty() => return Ok(()),
            Value::Dict(_) | Value::Tuple(_) => {}
            other => {
                let kind = other.kind();
                return Err(self.unsound(format!("sets attributes from a value of type {kind}")));
            }
        }
        let is_set = match (owner.tensor(), owner.items()) {
            (Some(number), _) => {
                self.meter.add(MAPPED);
                let is_free = !self.attributes.contains_key(&number);
                self.attributes.entry(number).or_insert(state);
                is_free
            }
            (None, Some(items)) => {
                self.see_change(items);
                items.set_attributes(state)
            }
            (None, None) => false,
        };
        match is_set {
            true => Ok(()),
            false => Err(self.unsound("sets attributes that are set already")),
        }
    }

    /// Returns the dtype with the byte order of a state.
    fn set_order(&self, dtype: Option<Dtype>, state: &Value) -> io::Result<Numpy> {
        match state.items().and_then(|items| items.values().get(1).cloned()) {
            Some(Value::Text(order)) => match &*order {
                "<" | "|" | "=" => Ok(Numpy::Dtype(dtype, false)),
                ">" => Ok(Numpy::Dtype(dtype, true)),
                _ => Err(self.unsound("sets an unknown byte order")),
            },
            _ => Err(self.unsound("sets a dtype of numpy in an unknown way")),
        }
    }

    fn numpy_dtype(&self, name: &Value) -> io::Result<Numpy> {
        let Value::Text(name) = name else {
            return Err(self.unsound("makes a dtype of numpy without a name"));
        };
        let (is_big, name) = match name.split_at_checked(1) {
            Some((">", rest)) => (true, rest),
            Some(("<" | "|" | "=", rest)) => (false, rest),
            _ => (false, &**name),
        };
        Ok(Numpy::Dtype(Header::named(name), is_big))
    }

    /// Returns the array of a state: its version, shape, dtype, order and bytes.
    fn filled(&mut self, state: &Value) -> io::Result<Numpy> {
        let Value::Tuple(state) = state else {
            return Err(self.unsound("fills an array in an unknown way"));
        };
        let state = state.values();
        let [_, shape, dtype, order, bytes] = &state[..] else {
            return Err(self.unsound("fills an array in an unknown way"));
        };
        let is_fortran = match order {
            Value::Bool(is_fortran) => *is_fortran,
            Value::Int(number @ 0..=1) => *number == 1,
            _ => return Err(self.unsound("makes an array of an unknown order")),
        };
        self.array(shape, dtype, is_fortran, bytes).map(Numpy::Array)
    }

    /// Adds an array, and returns the number of its tensor.
    fn array(&mut self, shape: &Value, dtype: &Value, is_fortran: bool, bytes: &Value) -> io::Result<u32> {
        let dtype = match dtype {
            Value::Numpy(dtype) => dtype.get(),
            _ => Numpy::Empty,
        };
        let Numpy::Dtype(Some(dtype), is_big) = dtype else {
            return Err(self.unsound("makes an array of a dtype that safetensors does not have"));
        };
        let dims = self.numbers(shape, "shape")?;
        let len = dims.iter().try_fold(width(dtype), |len, dim| len.checked_mul(*dim));
        let len = len.ok_or_else(|| self.unsound("makes an array that is too large"))?;
        let storage = match *bytes {
            Value::Bytes(ref bytes) if bytes.len() as u64 == len => self.store.add_kept(bytes)?,
            Value::Latin(at, packed) if packed >= len && packed / 2 <= len => {
                self.store.add_pickled(at, packed, len, Kind::Latin)?
            }
            Value::LongBytes(at, packed) if packed == len => {
                self.store.add_pickled(at, len, len, Kind::Pickled)?
            }
            _ => return Err(self.unsound(format!("makes an array of other than its {len} bytes"))),
        };
        let fortran = fortran(&dims);
        let strides = (is_fortran && !is_contiguous(&dims, &fortran)).then_some(&*fortran);
        let view = View { is_big, ..View::new(storage, dtype, 0, &dims, strides) };
        self.add_view(view)
    }

    /// Returns the bytes that are spelled as a text in Latin-1.
    fn encode(&mut self, text: &Value, codec: &Value) -> io::Result<Value> {
        if !is_text(codec, &["latin1", "latin-1"]) {
            return Err(self.unsound("encodes a text other than in latin1"));
        }
        match *text {
            Value::Text(ref text) => {
                let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
                let bytes = bytes.map_err(|_| self.unsound("encodes a text that is not in latin1"))?;
                self.work(bytes.len())?;
                Ok(Value::Bytes(bytes.into()))
            }
            Value::LongText(at, len) => Ok(Value::Latin(at, len)),
            _ => Err(self.unsound("encodes something else than a text")),
        }
    }
}

/// Returns the index after the last element of a view; `None` if it or the number of bytes does not fit 64
/// bits.
fn end_of(offset: u64, dims: &[u64], strides: &[u64]) -> Option<u64> {
    // The number of bytes, of at most 8 for each dtype.
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

#[cfg(test)]
mod tests {
    use super::end_of;

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
}
