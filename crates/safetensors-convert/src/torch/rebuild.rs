//! Reads the pickle of a file of PyTorch: what each opcode, and each name of the closed list, makes.
//!
//! A call of a name that is not on the list is rejected; the error says where it is imported. A first pass
//! finds the items of the memo that are fetched, so that all others can be freed as soon as they are used.

use super::Options;
use super::flatten::{Flat, flatten};
use super::store::{Kind, Store};
use super::values::{Items, Meter, Name, Numpy, SKIP, UNSUPPORTED, Value};
use crate::error::{ensure, ensure_within};
use crate::numpy::Header;
use crate::pickle::{
    Argument, Form, Here, Indices, LONGEST_FRAME, Listed, Machine, Make, Opcode, Opcodes, Rebuild, is_in,
};
use crate::source::{at, byte_len};
use crate::strided::{fortran, is_contiguous};
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
/// The names of Latin-1.
const LATIN: &[&str] = &["latin1", "latin-1"];
/// What an entry of a map takes, in bytes.
const MAPPED: usize = 64;

/// Returns the number of bytes of a dtype.
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
    fn new(storage: u32, dtype: Dtype, offset: u64, dims: &[u64], strides: &[u64]) -> Self {
        let is_strided = !is_contiguous(dims, strides);
        let shape = [dims, if is_strided { strides } else { &[] }].concat().into();
        Self { storage, dtype, is_big: false, offset, shape, is_strided }
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

/// Names of PyTorch that make tensors which safetensors cannot hold, and the reasons.
const REASONS: &[(&str, &str, &str)] = &[
    ("torch._utils", "_rebuild_sparse_tensor _rebuild_sparse_csr_tensor", SPARSE),
    ("torch._utils", "_rebuild_qtensor", "a quantised tensor, which safetensors does not have"),
    ("torch._utils", "_rebuild_nested_tensor", "a nested tensor, which safetensors does not have"),
    ("torch._utils", "_rebuild_meta_tensor_no_storage", META),
    ("torch._utils", "_rebuild_wrapper_subclass", "a tensor without data, of a wrapper class"),
    ("torch", "QInt8Storage QUInt8Storage QInt32Storage QUInt4x2Storage QUInt2x4Storage", QUANTISED),
    ("torch", "qint8 quint8 qint32 quint4x2 quint2x4", "a quantised dtype, which safetensors does not have"),
    ("torch", "complex128 cdouble ComplexDoubleStorage complex32 chalf ComplexHalfStorage", COMPLEX),
];
const SPARSE: &str = "a sparse tensor, which safetensors does not have";
const QUANTISED: &str = "a storage of quantised numbers, which safetensors does not have";
const COMPLEX: &str = "a dtype that safetensors does not have; of complex numbers it has complex64";
const META: &str = "a tensor without data, on the device meta";
const FLAGS: &str =
    "a tensor with flags, as for a conjugated or negated view; its numbers are not those stored";

/// Classes whose objects have nothing to do with a model, and are left out.
const HARMLESS: &[(&str, &str)] = &[
    ("argparse", "Namespace"),
    ("types", "SimpleNamespace"),
    ("pathlib pathlib._local", "PosixPath WindowsPath PurePosixPath PureWindowsPath"),
    ("torch.serialization", "_get_layout"),
    ("datetime", "datetime date time timedelta timezone"),
];

/// Reads a pickle, and returns its tensors, their views, and where it ends.
///
/// # Errors
/// The pickle is unsound, or something in it is not on the closed list; it `is_alone`, but bytes follow it.
pub(super) fn read_pickle<R: Read>(
    open: impl Fn() -> Opcodes<R>,
    is_alone: bool,
    store: &mut Store,
    options: Options,
) -> io::Result<(Flat, Vec<View>, u64)> {
    let mut opcodes = open();
    let fetched = fetched(&mut opcodes)?;
    let end = opcodes.offset();
    ensure(!is_alone || !opcodes.resume()?, || format!("bytes follow the pickle, which ends at {end}"))?;
    let mut reader = Reader::new(store, fetched, options);
    let mut machine = Machine::new(&mut reader);
    let (root, is_empty) = (machine.run(open())?, machine.is_empty());
    drop(machine);
    reader.here.ensure(is_empty, || "leaves other values on the stack")?;
    let flat = flatten(root, &reader)?;
    Ok((flat, std::mem::take(&mut reader.views), end))
}

/// Returns the indices of the memo that a pickle fetches, and leaves the opcodes after it.
fn fetched<R: Read>(opcodes: &mut Opcodes<R>) -> io::Result<Indices> {
    let mut fetched = Indices::default();
    for op in opcodes {
        let op = op?;
        if let (Opcode::Get | Opcode::BinGet | Opcode::LongBinGet, Argument::Int(index)) =
            (op.code, op.argument)
            && let Ok(index @ ..=Reader::LARGEST_INDEX) = u32::try_from(index)
        {
            fetched.insert(index);
        }
    }
    Ok(fetched)
}

/// Makes the values of a pickle.
pub(super) struct Reader<'s> {
    here: Here,
    fetched: Indices,
    pub options: Options,
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
        use Opcode::*;
        self.here = here;
        Err(here.unsound(match (here.code, argument) {
            (PersId | Inst | Obj | NewObjEx | NextBuffer | Ext1 | Ext2 | Ext4, _) => {
                "is not used in this format, and is rejected"
            }
            (Proto, argument) if !matches!(argument, Argument::Int(0..=5)) => "states a protocol beyond 5",
            (Frame, Argument::Int(LONGEST_FRAME..)) => "contradicts its frame, which is longer than the file",
            _ => return Ok(()),
        }))
    }

    fn value(&mut self, argument: Argument) -> io::Result<Value> {
        let form = self.here.code.form();
        let is_sized = matches!(form, Form::Text(_) | Form::OldText(_) | Form::Bytes(_));
        let is_old = |text: &str| matches!(form, Form::OldText(_) | Form::QuotedLine) && !text.is_ascii();
        let begin = |len: u64| self.here.end - len;
        // Texts of Python 2 are bytes.
        let long = if matches!(form, Form::Text(_)) { Value::LongText } else { Value::LongBytes };
        Ok(match argument {
            Argument::Bool(value) => Value::Bool(value),
            Argument::Int(value) => i64::try_from(value).map_or(Value::Other("int"), Value::Int),
            Argument::Float(value) => Value::Float(value),
            Argument::Text(text) if text.len() <= KEPT && is_old(&text) => Value::OldText(text.into()),
            Argument::Text(text) if text.len() <= KEPT => Value::Text(text.into()),
            Argument::Text(text) if is_sized => long(begin(text.len() as u64), text.len() as u64),
            Argument::Bytes(bytes) if is_sized => {
                Value::LongBytes(begin(bytes.len() as u64), bytes.len() as u64)
            }
            Argument::Skipped { len, .. } if is_sized => long(begin(len), len),
            Argument::Bytes(bytes) if bytes.len() <= KEPT => Value::Bytes(bytes.into()),
            Argument::Skipped { .. } if matches!(form, Form::Long(_) | Form::LongLine) => Value::Other("int"),
            // A long text in a line has escapes.
            Argument::Text(_) | Argument::Bytes(_) | Argument::Skipped { .. } => Value::Other("str"),
            Argument::Name(_) | Argument::Unknown => return Err(self.unsound("has an invalid argument")),
            Argument::None => match self.here.code {
                Opcode::None => Value::Nothing,
                Opcode::NewTrue => Value::Bool(true),
                Opcode::NewFalse => Value::Bool(false),
                _ => return Err(self.unsound("is not expected here")),
            },
        })
    }

    fn group(&mut self, items: Vec<Value>) -> io::Result<Value> {
        if self.here.code == Opcode::Dict {
            self.check_pairs(&items)?;
        }
        let items = self.items(items);
        Ok(match self.here.code {
            Opcode::List | Opcode::EmptyList => Value::List(items),
            Opcode::Dict | Opcode::EmptyDict => Value::Dict(items),
            Opcode::FrozenSet | Opcode::EmptySet => Value::Set(items),
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
            (Value::Set(own), AddItems) | (Value::Object(own), _) => own,
            _ => return Err(self.unsound(format!("cannot add to a value of type {}", container.kind()))),
        };
        // In a list that is too long for a shape or for a key and its value, only types matter.
        if code == Appends && items.len() > AXES {
            for item in &mut items {
                *item = item.plain().map_or_else(|| std::mem::take(item), Value::Other);
            }
        }
        self.see_change(own);
        own.add(items);
        Ok(())
    }

    fn import(&mut self, argument: Argument, name: Option<[Value; 2]>) -> io::Result<Value> {
        let (module, name): (Rc<str>, Rc<str>) = match (argument, name) {
            (Argument::Name(name), _) => (name.module.into(), name.name.into()),
            (_, Some([Value::Text(module), Value::Text(name)])) => (module, name),
            _ => return Err(self.unsound("imports a name that is not a text")),
        };
        if let Some(listed) = Listed::find(&module, &name) {
            return Ok(Value::Listed(listed));
        }
        let is_it = |modules: &str, names: &str| is_in(modules, &module) && is_in(names, &name);
        let reason = REASONS.iter().find(|row| is_it(row.0, row.1)).map(|(_, _, reason)| *reason);
        let is_harmless = HARMLESS.iter().any(|(modules, names)| is_it(modules, names));
        let (here, text) = (self.here, format!("{module}.{name}"));
        Ok(Value::Name(Rc::new(Name { here, text, reason, is_harmless })))
    }

    fn call(&mut self, callee: Value, arguments: Value) -> io::Result<Value> {
        use Listed::{Counter, DefaultDict, Deque, Dict, Set};
        let listed = match (&callee, callee.class()) {
            (Value::Listed(listed), _) => *listed,
            (_, Some(class)) if class.reason.is_some() => return self.unsupported(&class),
            (Value::Name(_), Some(class)) if class.is_harmless || self.options.skip_unsupported => {
                return Ok(Value::Object(self.items(vec![Value::Name(class), arguments])));
            }
            (_, Some(class)) if self.options.skip_unsupported => {
                return Ok(Value::Object(self.items(vec![Value::Name(class), callee, arguments])));
            }
            (_, Some(class)) => return Err(class.error(true)),
            (other, None) => return Err(self.unsound(format!("calls a value of type {}", other.kind()))),
        };
        let Value::Tuple(arguments) = arguments else {
            return Err(self.unsound("calls something with arguments that are not a tuple"));
        };
        let arguments = arguments.values();
        let is_container = matches!(listed, Dict | DefaultDict | Set | Counter | Deque);
        let is_empty = self.here.code != Opcode::NewObj || !is_container || arguments.is_empty();
        self.here.ensure(is_empty, || "makes an empty container, but gives arguments")?;
        match self.make(listed, &arguments)? {
            Some(made) => Ok(made),
            None => Err(self.unsound(format!("calls {} in an unknown way", listed.name()))),
        }
    }

    /// PyTorch would replace the elements of a tensor, which `torch.save` does not write.
    fn build(&mut self, object: &Value, state: Value) -> io::Result<()> {
        let here = self.here;
        let unknown = || here.unsound(format!("sets the state of a value of type {}", object.kind()));
        match object {
            Value::Dict(_) => self.set_attributes(object, state)?,
            Value::Object(items) => {
                self.see_change(items);
                items.add(vec![state]);
            }
            Value::Numpy(value) => value.set(match value.get() {
                Numpy::Dtype(dtype, _) => Numpy::Dtype(dtype, self.is_big(&state)?),
                other @ Numpy::OtherDtype(_) => self.is_big(&state).map(|_| other)?,
                Numpy::Empty => self.filled(&state)?,
                _ => return Err(unknown()),
            }),
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// Returns the storage of an id: the word `storage`, a class, a key, a device and a number of elements.
    fn persistent(&mut self, id: Value) -> io::Result<Value> {
        let here = self.here;
        let invalid = || here.unsound("has an invalid id of a storage");
        let Value::Tuple(id) = id else { return Err(here.unsound("has an id that is not a tuple")) };
        let parts = id.values();
        // The format before 1.6 has the source of the class of a module beside it.
        if let [word, class @ Value::Name(_), _, _] = &parts[..]
            && is_text(word, &["module"])
        {
            return Ok(class.clone());
        }
        let [word, class, Value::Text(key), device, Value::Int(count), view @ ..] = &parts[..] else {
            return Err(invalid());
        };
        let is_whole = matches!(view, [] | [Value::Nothing]);
        here.ensure(is_whole, || "names a view of a storage, as releases before 0.4 wrote them")?;
        if is_text(device, &["meta"]) {
            return self.skipped("names a storage of", META);
        }
        let (dtype, skipped) = match class {
            _ if !is_text(word, &["storage"]) => return Err(invalid()),
            Value::Listed(Listed::Storage(dtype)) => (Some(*dtype), None),
            Value::Listed(Listed::Untyped) => (None, None),
            Value::Name(name) => (None, Some((self.unsupported(name)?, name))),
            _ => return Err(invalid()),
        };
        let width = match skipped.as_ref().map(|(_, name)| &*name.text) {
            Some("torch.ComplexDoubleStorage") => 16,
            Some("torch.ComplexHalfStorage" | "torch.QInt32Storage") => 4,
            _ => dtype.map_or(1, |dtype| dtype.bits() / 8),
        };
        let storage = self.store.find(key, *count, width, dtype);
        let storage = storage.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => here.unsound(error.to_string()),
            _ => error,
        })?;
        Ok(skipped.map_or(Value::Storage(storage, dtype), |(skipped, _)| skipped))
    }

    fn keeps(&mut self, index: u32, value: &Value, _: usize) -> bool {
        let is_fetched = self.fetched.contains(index);
        if is_fetched {
            self.meter.update(|all| all + MAPPED + value.weight());
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
        ensure_within(used <= limit, || {
            format!("the values of the pickle take {used} bytes of memory, at most {limit} are allowed")
        })
    }
}

/// Whether a value is one of these texts.
pub(super) fn is_text(value: &Value, texts: &[&str]) -> bool {
    matches!(value, Value::Text(text) if texts.contains(&&**text))
}

impl<'s> Reader<'s> {
    pub fn new(store: &'s mut Store, fetched: Indices, options: Options) -> Self {
        let (here, views, attributes, shared, meter) = Default::default();
        Self { here, fetched, options, store, views, attributes, shared, meter, worked: 0 }
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
            self.meter.update(|all| all + size_of::<Rc<Items>>());
            self.shared.push(Rc::clone(items));
        }
    }

    /// Checks the keys and values of a dictionary, in turn.
    fn check_pairs(&self, items: &[Value]) -> io::Result<()> {
        self.here.ensure(items.len().is_multiple_of(2), || "has a key without a value")?;
        let is_mutable = |key: &&Value| matches!(key, Value::List(_) | Value::Dict(_) | Value::Deque(_));
        match items.iter().step_by(2).find(is_mutable) {
            Some(key) => Err(self.unsound(format!("has a key of type {}, which Python rejects", key.kind()))),
            None => Ok(()),
        }
    }

    /// Adds a tensor, and returns its number.
    fn add_view(&mut self, view: View) -> io::Result<u32> {
        ensure_within(self.views.len() < MOST, || format!("the file has more than {MOST} tensors"))?;
        self.meter.update(|all| all + size_of_val(&*view.shape));
        self.views.push(view);
        // At most two million.
        Ok(u32::try_from(self.views.len() - 1).unwrap_or(u32::MAX))
    }

    /// Returns what stands for a tensor of this kind, or rejects the file.
    fn skipped(&self, does: &str, kind: &str) -> io::Result<Value> {
        self.here.ensure(self.options.skip_unsupported, || format!("{does} {kind}; {SKIP}"))?;
        Ok(Value::Unsupported(kind.into()))
    }

    /// Returns what stands for a tensor that needs this name, or rejects the file.
    fn unsupported(&self, name: &Name) -> io::Result<Value> {
        let skipped = self.options.skip_unsupported.then(|| Value::Unsupported(name.what().into()));
        skipped.ok_or_else(|| name.error(true))
    }

    /// Returns what a name of the list makes of these arguments; `None` if that is not known.
    fn make(&mut self, callee: Listed, arguments: &[Value]) -> io::Result<Option<Value>> {
        use Listed::*;
        let numpy = |value| Value::Numpy(Rc::new(Cell::new(value)));
        Ok(Some(match (callee, arguments) {
            (Rebuild(rebuild), _) => return self.rebuild(rebuild, arguments),
            // A parameter of an old release.
            (Tensor, [tensor] | [tensor, _]) if tensor.is_tensor() => tensor.clone(),
            (Dict | Counter, []) | (DefaultDict, [] | [_]) => Value::Dict(self.items(Vec::new())),
            (Dict, [Value::List(pairs)]) => return self.dict(&pairs.values()),
            (Counter, [Value::Dict(counts)]) => {
                self.work(counts.values().len())?;
                Value::Dict(self.items(counts.values().clone()))
            }
            // Items are appended to it later.
            (Deque, []) => Value::Deque(self.items(Vec::new())),
            (Deque, [items @ Value::Tuple(_), rest @ ..]) if items.has_none() && are_plain(rest) => {
                Value::Deque(self.items(Vec::new()))
            }
            // Only whether it has tensors matters.
            (Set, [] | [_]) => Value::Set(self.items(arguments.to_vec())),
            (Plain(kind), _) if are_plain(arguments) => Value::Other(kind),
            (Bytes, []) => Value::Bytes([].into()),
            (Size, [dims @ Value::Tuple(_)]) => dims.clone(),
            (Device, [_] | [_, _]) => Value::Other("device"),
            (NumpyDtype, [Value::Text(name), rest @ ..]) if rest.len() < 3 => numpy(dtype_of(name)),
            (NumpyScalar, [dtype, _]) if dtype.kind() == "numpy dtype" => Value::Other("numpy scalar"),
            (NumpyReconstruct, [Value::Listed(NumpyArray), _, _]) => numpy(Numpy::Empty),
            (NumpyFromBuffer, [bytes, dtype, shape, order]) if is_text(order, &["C", "F"]) => {
                numpy(self.array(shape, dtype, is_text(order, &["F"]), bytes)?)
            }
            // Bytes that are spelled as a text in Latin-1.
            (Encode, [Value::LongText(at, len), codec]) if is_text(codec, LATIN) => Value::Latin(*at, *len),
            (Encode, [Value::Text(text), codec]) if is_text(codec, LATIN) => {
                self.work(text.len())?;
                let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
                return Ok(bytes.ok().map(|bytes| Value::Bytes(bytes.into())));
            }
            _ => return Ok(None),
        }))
    }

    fn work(&mut self, items: usize) -> io::Result<()> {
        self.worked += items;
        ensure_within(self.worked <= WORK, || {
            format!("up to byte {} of the pickle, calls copy too many values", self.here.at)
        })
    }

    /// Makes a dictionary of pairs.
    fn dict(&mut self, pairs: &[Value]) -> io::Result<Option<Value>> {
        self.work(pairs.len())?;
        let mut items = Vec::new();
        for pair in pairs {
            let (Value::List(pair) | Value::Tuple(pair)) = pair else { return Ok(None) };
            let [key, value] = &pair.values()[..] else { return Ok(None) };
            items.extend([key.clone(), value.clone()]);
        }
        self.check_pairs(&items)?;
        Ok(Some(Value::Dict(self.items(items))))
    }

    fn rebuild(&mut self, rebuild: Rebuild, arguments: &[Value]) -> io::Result<Option<Value>> {
        use Rebuild::*;
        let (tensor, hooks, flags, state) = match (rebuild, arguments) {
            (V1, [_, _, _, _]) => (self.view(arguments, None)?, &Value::Nothing, &[][..], None),
            (V2, [_, _, _, _, _, hooks, flags @ ..]) if flags.len() <= 1 => {
                (self.view(arguments, None)?, hooks, flags, None)
            }
            (V3, [_, _, _, _, _, hooks, dtype, flags @ ..]) if flags.len() <= 1 => {
                (self.view(arguments, Some(dtype))?, hooks, flags, None)
            }
            (Parameter, [tensor, _, hooks]) => (Some(tensor.clone()), hooks, &[][..], None),
            (WithState, [tensor, _, hooks, state]) => (Some(tensor.clone()), hooks, &[][..], Some(state)),
            (FromType, [Value::Name(name), ..] | [_, Value::Name(name), ..]) => {
                return self.unsupported(name).map(Some);
            }
            (
                FromType,
                [Value::Listed(function), Value::Listed(Listed::Tensor), Value::Tuple(own), state],
            ) => {
                let Listed::Rebuild(function @ (V1 | V2 | V3)) = function else { return Ok(None) };
                (self.rebuild(*function, &own.values())?, &Value::Nothing, &[][..], Some(state))
            }
            (FromNumpy, [array, Value::Listed(Listed::Dtype(dtype)), _, _]) => {
                // Nothing need be converted.
                let view = array.tensor().and_then(|number| at(&self.views, number));
                return Ok(view.filter(|view| view.dtype == *dtype).map(|_| array.clone()));
            }
            _ => return Ok(None),
        };
        let Some(tensor) = tensor.filter(Value::is_tensor) else { return Ok(None) };
        if !self.is_plain(hooks, flags)? {
            return self.skipped("makes", FLAGS).map(Some);
        }
        if let (Some(state), Some(_)) = (state, tensor.tensor()) {
            self.set_attributes(&tensor, state.clone())?;
        }
        Ok(Some(tensor))
    }

    /// Checks that a tensor has no hooks, and returns whether its numbers are those stored.
    fn is_plain(&mut self, hooks: &Value, flags: &[Value]) -> io::Result<bool> {
        let has_hooks = !matches!(hooks, Value::Nothing | Value::Dict(_)) || !hooks.has_none();
        self.here.ensure(!has_hooks, || "makes a tensor with hooks, which are code")?;
        let [Value::Dict(flags)] = flags else { return Ok(matches!(flags, [] | [Value::Nothing])) };
        self.work(flags.values().len())?;
        Ok(flags.values().iter().skip(1).step_by(2).all(|flag| matches!(flag, Value::Bool(false))))
    }

    /// Makes a tensor of a storage, an offset, a shape and strides; of the storage's dtype unless there is
    /// another one.
    fn view(&mut self, arguments: &[Value], dtype: Option<&Value>) -> io::Result<Option<Value>> {
        let [storage, Value::Int(offset), dims, strides, ..] = arguments else { return Ok(None) };
        let (storage, own) = match storage {
            Value::Storage(storage, own) => (*storage, *own),
            Value::Unsupported(_) => return Ok(Some(storage.clone())),
            other => {
                let Some(name) = other.class() else { return Ok(None) };
                return self.unsupported(&name).map(Some);
            }
        };
        let dtype = match dtype {
            Some(Value::Name(name)) => return self.unsupported(name).map(Some),
            Some(Value::Listed(Listed::Dtype(dtype))) => Some(*dtype),
            Some(_) => None,
            None => own,
        };
        let axes = numbers(dims).zip(numbers(strides)).filter(|(dims, strides)| dims.len() == strides.len());
        let (Ok(offset), Some(dtype), Some((dims, strides))) = (u64::try_from(*offset), dtype, axes) else {
            return Ok(None);
        };
        let elements = self.store.get(storage)?.len / width(dtype);
        let end = end_of(offset, &dims, &strides)
            .ok_or_else(|| self.unsound("makes a tensor whose shape or strides are too large"))?;
        self.here.ensure(end <= elements, || {
            format!("makes a tensor that ends at element {end} of a storage with {elements} elements")
        })?;
        let view = self.add_view(View::new(storage, dtype, offset, &dims, &strides))?;
        Ok(Some(Value::Tensor(view)))
    }

    /// Sets attributes of a dictionary, or those of a tensor that a name of the list sets.
    fn set_attributes(&mut self, owner: &Value, state: Value) -> io::Result<()> {
        match &state {
            Value::Nothing | Value::Dict(_) if state.has_none() => return Ok(()),
            Value::Dict(_) | Value::Tuple(_) => {}
            other => {
                return Err(self.unsound(format!("sets attributes from a value of type {}", other.kind())));
            }
        }
        let is_set = match (owner.tensor(), owner.items()) {
            (Some(number), _) => {
                self.meter.update(|all| all + MAPPED);
                self.attributes.insert(number, state).is_none()
            }
            (None, Some(items)) => {
                self.see_change(items);
                items.set_attributes(state)
            }
            (None, None) => false,
        };
        self.here.ensure(is_set, || "sets attributes that are set already")
    }

    /// Returns whether the state of a dtype makes its numbers big-endian.
    fn is_big(&self, state: &Value) -> io::Result<bool> {
        match state.items().and_then(|items| items.values().get(1).cloned()) {
            Some(order) if is_text(&order, &["<", "|", "=", ">"]) => Ok(is_text(&order, &[">"])),
            _ => Err(self.unsound("sets a dtype of numpy in an unknown way")),
        }
    }

    /// Returns the array of a state: its version, shape, dtype, order and bytes.
    fn filled(&mut self, state: &Value) -> io::Result<Numpy> {
        if let Value::Tuple(state) = state
            && let [_, shape, dtype, order, bytes] = &state.values()[..]
            && let Value::Bool(_) | Value::Int(0..=1) = order
        {
            let is_fortran = matches!(order, Value::Bool(true) | Value::Int(1));
            return self.array(shape, dtype, is_fortran, bytes);
        }
        Err(self.unsound("fills an array in an unknown way"))
    }

    /// Adds an array.
    fn array(&mut self, shape: &Value, dtype: &Value, is_fortran: bool, bytes: &Value) -> io::Result<Numpy> {
        let dtype = if let Value::Numpy(dtype) = dtype { dtype.get() } else { Numpy::Empty };
        // A list has the objects of an array.
        let is_plain =
            bytes.plain().is_some() || matches!(bytes, Value::List(all) if are_plain(&all.values()));
        let (dtype, is_big) = match dtype {
            Numpy::Dtype(dtype, is_big) => (dtype, is_big),
            Numpy::OtherDtype(Some(kind)) if is_plain => return Ok(Numpy::Others(kind)),
            Numpy::OtherDtype(_) if self.options.skip_unsupported => return Ok(Numpy::Unsupported),
            _ => return Err(self.unsound(format!("makes {UNSUPPORTED}; {SKIP}"))),
        };
        let known = numbers(shape).and_then(|dims| Some((byte_len(dtype, &dims)?, dims)));
        let (len, dims) = known.ok_or_else(|| self.unsound("makes an array of an unknown shape"))?;
        let storage = match *bytes {
            Value::Bytes(ref bytes) if bytes.len() as u64 == len => self.store.add_kept(bytes)?,
            // Python 2 has texts for bytes.
            Value::OldText(ref text) if text.len() as u64 == len => self.store.add_kept(text.as_bytes())?,
            Value::Text(ref text) if text.len() as u64 == len && text.is_ascii() => {
                self.store.add_kept(text.as_bytes())?
            }
            Value::Latin(at, packed) if packed >= len && packed / 2 <= len => {
                self.store.add_pickled(at, packed, len, Kind::Latin)?
            }
            Value::LongBytes(at, packed) if packed == len => {
                self.store.add_pickled(at, len, len, Kind::Pickled)?
            }
            _ => return Err(self.unsound(format!("makes an array of other than its {len} bytes"))),
        };
        let strides = if is_fortran { fortran(&dims) } else { Vec::new() };
        let view = View { is_big, ..View::new(storage, dtype, 0, &dims, &strides) };
        self.add_view(view).map(Numpy::Array)
    }
}

/// Whether all values are numbers, texts or bytes.
fn are_plain(values: &[Value]) -> bool {
    values.iter().all(|value| value.plain().is_some())
}

/// Returns the numbers of a shape or of strides.
fn numbers(value: &Value) -> Option<Vec<u64>> {
    let (Value::Tuple(items) | Value::List(items)) = value else { return None };
    let items = items.values();
    let number =
        |value: &Value| if let Value::Int(number) = value { u64::try_from(*number).ok() } else { None };
    (items.len() <= AXES).then(|| items.iter().map(number).collect()).flatten()
}

/// Returns the dtype with this name in numpy.
fn dtype_of(name: &str) -> Numpy {
    let (is_big, name) = match name.split_at_checked(1) {
        Some((order @ (">" | "<" | "|" | "="), rest)) => (order == ">", rest),
        _ => (false, name),
    };
    match (Header::named(name), name.chars().next()) {
        (Some(dtype), _) => Numpy::Dtype(dtype, is_big),
        (None, Some('S' | 'a' | 'U' | 'T')) => Numpy::OtherDtype(Some("array of text")),
        (None, Some('M' | 'm')) => Numpy::OtherDtype(Some("array of times")),
        (None, Some('O')) => Numpy::OtherDtype(Some("array of objects")),
        (None, _) => Numpy::OtherDtype(None),
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
