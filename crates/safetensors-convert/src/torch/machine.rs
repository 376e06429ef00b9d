//! Reads one pickle of PyTorch into values, with a stack and a memo as Python has them.
//!
//! Two passes over the pickle keep the memory small. The first finds which items of the memo are fetched.
//! The second keeps only these, so that all other values can be collected as soon as they are used: PyTorch
//! stores eight items in the memo for each tensor and fetches almost none.
//!
//! What is not on the closed list is rejected where it is imported; what a listed name does when it is
//! called is in `rebuild`.

use super::rebuild::AXES;
use super::store::Store;
use super::values::{Id, Span, Value, Values};
use crate::error::{beyond_limit, unsound};
use crate::pickle::{Argument, Element, Listed, Op, Opcode, Opcodes};
use std::collections::HashMap;
use std::io::{self, Read};

/// The largest number of tensors of a file.
pub(super) const MOST: usize = 2_000_000;
/// The largest index in the memo: far more than two million tensors have.
const LARGEST: usize = 1 << 26;
/// The largest number of items on the stack.
const DEEPEST: usize = 1 << 21;
/// The longest text that is kept, in bytes, and the longest bytes. Of others only the place is known.
pub(super) const KEPT: usize = 4096;
const KEPT_BYTES: usize = 64;

/// A tensor: a view of a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct View {
    /// The number of the storage.
    pub storage: u32,
    pub element: Element,
    /// Whether its numbers are big-endian in the storage.
    pub is_big: bool,
    /// The index of its first element in the storage.
    pub offset: u64,
    /// The dimensions; after them the distances of neighbours on each axis in elements, unless they are
    /// those of an array without gaps in the order of safetensors. One list, because there may be millions.
    shape: Box<[u64]>,
    is_strided: bool,
}

impl View {
    /// Creates a view that begins at `offset`. Without strides, its elements are adjacent.
    pub fn new(storage: u32, element: Element, offset: u64, dims: &[u64], strides: Option<&[u64]>) -> Self {
        let shape = [dims, strides.unwrap_or_default()].concat().into();
        Self { storage, element, is_big: false, offset, shape, is_strided: strides.is_some() }
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

/// Reads a pickle.
pub(super) struct Machine<'s> {
    pub values: Values,
    stack: Vec<Id>,
    /// The lengths of the stack at each mark.
    marks: Vec<usize>,
    memo: HashMap<i128, Id>,
    fetched: Indices,
    stored: Indices,
    pub views: Vec<View>,
    pub store: &'s mut Store,
    /// The opcode that is being executed.
    pub code: Opcode,
    pub at: u64,
    /// The offset after it.
    end: u64,
    /// For each type of plain values, one that stands for all in long lists.
    merged: Vec<(&'static str, Id)>,
    /// The number of items that calls have looked at.
    pub worked: usize,
}

impl<'s> Machine<'s> {
    /// Creates a reader of a pickle that fetches these items of its memo.
    pub fn new(store: &'s mut Store, fetched: Indices) -> Self {
        // Growing vectors of millions would leave holes in the heap.
        let tensors = fetched.storages().min(MOST);
        Self {
            values: Values::with_capacity(2 * tensors),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
            fetched,
            stored: Indices::default(),
            views: Vec::with_capacity(tensors),
            store,
            code: Opcode::Stop,
            at: 0,
            end: 0,
            merged: Vec::new(),
            worked: 0,
        }
    }

    /// Reads the pickle up to its end, and returns its value.
    pub fn run<R: Read>(&mut self, opcodes: &mut Opcodes<R>) -> io::Result<Id> {
        let mut result = None;
        while let Some(op) = opcodes.next() {
            let op = op?;
            (self.code, self.at, self.end) = (op.code, op.at, opcodes.offset());
            if op.code == Opcode::Stop {
                result = Some(self.pop()?);
            } else {
                self.step(op)?;
            }
            if self.values.is_due() {
                self.collect(result)?;
            }
        }
        let result = result.ok_or_else(|| self.unsound("ends the pickle without a value"))?;
        if !(self.stack.is_empty() && self.marks.is_empty()) {
            return Err(self.unsound("leaves other values on the stack"));
        }
        (self.memo, self.stored, self.stack) = Default::default();
        self.collect(Some(result))?;
        Ok(result)
    }

    fn collect(&mut self, result: Option<Id>) -> io::Result<()> {
        let of_roots = self.stack.len() * size_of::<Id>() + self.memo.len() * 2 * size_of::<(i128, Id)>();
        let roots = self.stack.iter().chain(self.memo.values()).copied().chain(result);
        let roots = roots.chain(self.merged.iter().map(|(_, id)| *id));
        self.values.collect(roots, of_roots, self.views.len())
    }

    /// Returns an error about the current opcode.
    pub fn unsound(&self, what: impl AsRef<str>) -> io::Error {
        unsound(format!("opcode {} at byte {} of the pickle {}", self.code.name(), self.at, what.as_ref()))
    }

    fn step(&mut self, op: Op) -> io::Result<()> {
        use Opcode::{
            AddItems, Append, Appends, BinGet, BinPersId, BinPut, Build, Dict, Dup, EmptyDict, EmptyList,
            EmptySet, EmptyTuple, Frame, FrozenSet, Get, Global, List, LongBinGet, LongBinPut, Mark, Memoize,
            NewObj, Pop, PopMark, Proto, Put, ReadonlyBuffer, Reduce, SetItem, SetItems, StackGlobal, Tuple,
            Tuple1, Tuple2, Tuple3,
        };
        match op.code {
            Proto => self.check_protocol(&op.argument),
            Frame | ReadonlyBuffer => Ok(()),
            Mark => {
                self.marks.push(self.stack.len());
                self.check_depth()
            }
            Pop if self.marks.last() == Some(&self.stack.len()) => self.mark().map(drop),
            Pop => self.pop().map(drop),
            PopMark => self.group().map(drop),
            Dup => {
                let top = self.top()?;
                self.values.share(top);
                self.push(top)
            }
            Get | BinGet | LongBinGet => self.fetch(&op.argument),
            Put | BinPut | LongBinPut => match op.argument {
                Argument::Int(index) => self.store(index),
                _ => Err(self.unsound("has no index")),
            },
            Memoize => self.store(i128::try_from(self.stored.count()).unwrap_or(i128::MAX)),
            EmptyList => self.push_value(Value::List(Vec::new().into())),
            EmptyDict => self.push_value(Value::Dict(Vec::new().into())),
            EmptySet => self.push_value(Value::Set(Vec::new().into())),
            EmptyTuple => self.push_value(Value::Tuple([].into())),
            Tuple => self.group_as(|items| Value::Tuple(items.into())),
            List => self.group_as(|items| Value::List(items.into())),
            FrozenSet => self.group_as(|items| Value::Set(items.into())),
            Dict => {
                let items = self.group()?;
                self.check_pairs(&items)?;
                self.push_value(Value::Dict(items.into()))
            }
            Tuple1 => self.tuple(1),
            Tuple2 => self.tuple(2),
            Tuple3 => self.tuple(3),
            Append | Appends | SetItem | SetItems | AddItems => self.extend(),
            Global | StackGlobal => self.import(op.argument),
            Reduce | NewObj => self.reduce(),
            Build => self.build(),
            BinPersId => self.storage(),
            code => self.push_argument(code, op.argument),
        }
    }

    fn check_protocol(&self, argument: &Argument) -> io::Result<()> {
        match argument {
            Argument::Int(0..=5) => Ok(()),
            _ => Err(self.unsound("states a protocol beyond 5")),
        }
    }

    fn check_depth(&self) -> io::Result<()> {
        if self.stack.len().max(self.marks.len()) > DEEPEST {
            return Err(beyond_limit(format!(
                "at byte {} of the pickle, the stack has more than {DEEPEST} items",
                self.at
            )));
        }
        Ok(())
    }

    fn push(&mut self, id: Id) -> io::Result<()> {
        self.stack.push(id);
        self.check_depth()
    }

    fn push_value(&mut self, value: Value) -> io::Result<()> {
        let id = self.values.add(value);
        self.push(id)
    }

    /// Returns the item on top of the stack, which must be above the last mark.
    fn top(&self) -> io::Result<Id> {
        let fence = self.marks.last().copied().unwrap_or(0);
        match self.stack.last() {
            Some(top) if self.stack.len() > fence => Ok(*top),
            _ => Err(self.unsound("needs more items on the stack")),
        }
    }

    fn pop(&mut self) -> io::Result<Id> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    fn mark(&mut self) -> io::Result<usize> {
        self.marks.pop().ok_or_else(|| self.unsound("needs a mark on the stack"))
    }

    /// Takes the items after the last mark from the stack.
    fn group(&mut self) -> io::Result<Vec<Id>> {
        let mark = self.mark()?;
        let items = self.stack.get(mark..).unwrap_or_default().to_vec();
        self.stack.truncate(mark);
        Ok(items)
    }

    fn group_as(&mut self, value: impl FnOnce(Vec<Id>) -> Value) -> io::Result<()> {
        let items = self.group()?;
        self.push_value(value(items))
    }

    fn tuple(&mut self, len: usize) -> io::Result<()> {
        let mut items = vec![0; len];
        for item in items.iter_mut().rev() {
            *item = self.pop()?;
        }
        self.push_value(Value::Tuple(items.into()))
    }

    /// Checks the keys and values of a dictionary, in turn.
    pub fn check_pairs(&self, items: &[Id]) -> io::Result<()> {
        if !items.len().is_multiple_of(2) {
            return Err(self.unsound("has a key without a value"));
        }
        let mut keys = items.iter().step_by(2).map(|key| self.values.get(*key));
        match keys.find(|key| matches!(key, Value::List(_) | Value::Dict(_) | Value::Deque(_))) {
            Some(key) => Err(self.unsound(format!("has a key of type {}, which Python rejects", key.kind()))),
            None => Ok(()),
        }
    }

    /// Adds items to the list, set or dictionary below them.
    fn extend(&mut self) -> io::Result<()> {
        let mut items = match self.code {
            Opcode::Append => vec![self.pop()?],
            Opcode::SetItem => {
                let (value, key) = (self.pop()?, self.pop()?);
                vec![key, value]
            }
            _ => self.group()?,
        };
        let target = self.top()?;
        let fits = match self.values.get(target) {
            Value::List(_) | Value::Deque(_) => matches!(self.code, Opcode::Append | Opcode::Appends),
            Value::Set(_) => self.code == Opcode::AddItems,
            Value::Dict(_) => matches!(self.code, Opcode::SetItem | Opcode::SetItems),
            _ => false,
        };
        if matches!(self.code, Opcode::SetItem | Opcode::SetItems) {
            self.check_pairs(&items)?;
        }
        if self.code == Opcode::Appends && items.len() > AXES {
            items.iter_mut().for_each(|item| *item = self.merge(*item));
        }
        if !fits || !self.values.extend(target, &items) {
            let kind = self.values.get(target).kind();
            return Err(self.unsound(format!("cannot add to a value of type {kind}")));
        }
        Ok(())
    }

    /// Returns the value that stands for a plain one in a list that is too long for a shape or for a key and
    /// its value: only its type matters then, and it takes no memory.
    fn merge(&mut self, id: Id) -> Id {
        if !self.is_plain(id) {
            return id;
        }
        let kind = self.values.get(id).kind();
        if let Some((_, merged)) = self.merged.iter().find(|(of, _)| *of == kind) {
            return *merged;
        }
        let merged = self.values.add(Value::Other(kind));
        self.merged.push((kind, merged));
        merged
    }

    fn fetch(&mut self, argument: &Argument) -> io::Result<()> {
        let Argument::Int(index) = argument else { return Err(self.unsound("has no index")) };
        match self.memo.get(index).copied() {
            Some(id) => {
                self.values.share(id);
                self.push(id)
            }
            None => Err(self.unsound(format!("fetches item {index} of the memo, which is not there"))),
        }
    }

    fn store(&mut self, index: i128) -> io::Result<()> {
        let top = self.top()?;
        self.stored.insert(index)?;
        if self.fetched.contains(index) {
            self.memo.insert(index, top);
        }
        Ok(())
    }

    fn import(&mut self, argument: Argument) -> io::Result<()> {
        let (module, name): (Box<str>, Box<str>) = match argument {
            Argument::Name { module, name } => (module.into(), name.into()),
            Argument::Skipped { .. } => return Err(self.unsound("imports a name that is too long")),
            _ => {
                let (name, module) = (self.pop()?, self.pop()?);
                match (self.values.get(module), self.values.get(name)) {
                    (Value::Text(module), Value::Text(name)) => (module.clone(), name.clone()),
                    _ => return Err(self.unsound("imports a name that is not a text")),
                }
            }
        };
        match Listed::find(&module, &name) {
            Some(listed) => self.push_value(Value::Listed(listed)),
            None => Err(super::reasons::not_listed(self.code, self.at, &module, &name)),
        }
    }

    fn storage(&mut self) -> io::Result<()> {
        let id = self.pop()?;
        let storage = self.find_storage(id)?;
        self.push_value(storage)
    }

    fn push_argument(&mut self, code: Opcode, argument: Argument) -> io::Result<()> {
        let value = match (code, argument) {
            (Opcode::None, _) => Value::Nothing,
            (Opcode::NewTrue, _) => Value::Bool(true),
            (Opcode::NewFalse, _) => Value::Bool(false),
            (
                Opcode::PersId
                | Opcode::Inst
                | Opcode::Obj
                | Opcode::NewObjEx
                | Opcode::NextBuffer
                | Opcode::Ext1
                | Opcode::Ext2
                | Opcode::Ext4,
                _,
            ) => return Err(self.unsound("is not used in this format, and is rejected")),
            (_, Argument::Bool(value)) => Value::Bool(value),
            (_, Argument::Int(value)) => i64::try_from(value).map_or(Value::Other("int"), Value::Int),
            (_, Argument::Float(value)) => Value::Float(value),
            (_, Argument::Text(text)) if text.len() <= KEPT => Value::Text(text.into()),
            (_, Argument::Bytes(bytes)) if is_bytes(code) && bytes.len() <= KEPT_BYTES => {
                Value::Bytes(bytes.into())
            }
            (Opcode::Long | Opcode::Long1 | Opcode::Long4, Argument::Skipped { .. }) => Value::Other("int"),
            (code, Argument::Text(text)) if has_length(code) => return self.push_span(text.len() as u64),
            (code, Argument::Bytes(bytes)) if has_length(code) => return self.push_span(bytes.len() as u64),
            (code, Argument::Skipped { len, .. }) if has_length(code) => return self.push_span(len),
            (_, Argument::Bytes(bytes)) if bytes.len() <= KEPT => Value::NotText,
            // A long text in a line has escapes, too.
            (_, Argument::Text(_) | Argument::Bytes(_) | Argument::Skipped { .. }) => Value::Other("str"),
            (_, Argument::None | Argument::Name { .. } | Argument::Unknown) => {
                return Err(self.unsound("is not expected here"));
            }
        };
        self.push_value(value)
    }

    /// Pushes a text or bytes that end where the opcode ends.
    fn push_span(&mut self, len: u64) -> io::Result<()> {
        let span = Span { at: self.end - len, len, is_latin: false };
        let id = self.values.add_span(span, !is_bytes(self.code));
        self.push(id)
    }

    /// Adds a tensor.
    pub fn add_view(&mut self, view: View) -> io::Result<Id> {
        if self.views.len() == MOST {
            return Err(beyond_limit(format!("the file has more than {MOST} tensors")));
        }
        self.views.push(view);
        // At most two million.
        Ok(self.values.add(Value::Tensor(u32::try_from(self.views.len() - 1).unwrap_or(u32::MAX))))
    }

    fn reduce(&mut self) -> io::Result<()> {
        use Listed::{Counter, DefaultDict, Deque, Dict, Set};
        let (arguments, callee) = (self.pop()?, self.pop()?);
        let Value::Listed(callee) = *self.values.get(callee) else {
            let kind = self.values.get(callee).kind();
            return Err(self.unsound(format!("calls a value of type {kind}")));
        };
        let Value::Tuple(arguments) = self.values.get(arguments) else {
            return Err(self.unsound("calls something with arguments that are not a tuple"));
        };
        if self.code == Opcode::NewObj
            && matches!(callee, Dict | DefaultDict | Set | Counter | Deque)
            && !arguments.is_empty()
        {
            return Err(self.unsound("makes an empty container, but gives arguments"));
        }
        let arguments = arguments.clone();
        let made = self.call(callee, &arguments)?;
        self.push(made)
    }

    fn build(&mut self) -> io::Result<()> {
        let state = self.pop()?;
        let object = self.top()?;
        self.set_state(object, state)
    }
}

fn is_bytes(code: Opcode) -> bool {
    matches!(code, Opcode::BinBytes | Opcode::ShortBinBytes | Opcode::BinBytes8 | Opcode::ByteArray8)
}

/// Whether the argument of an opcode is a length and so many bytes.
fn has_length(code: Opcode) -> bool {
    let is_text = matches!(
        code,
        Opcode::BinUnicode
            | Opcode::ShortBinUnicode
            | Opcode::BinUnicode8
            | Opcode::BinString
            | Opcode::ShortBinString
    );
    is_text || is_bytes(code)
}

/// A set of indices of the memo.
#[derive(Debug, Default)]
pub(super) struct Indices {
    bits: Vec<u64>,
    count: usize,
    storages: usize,
}

impl Indices {
    /// Returns the indices that a pickle fetches, and leaves the opcodes after it.
    pub fn fetched<R: Read>(opcodes: &mut Opcodes<R>) -> io::Result<Self> {
        let mut fetched = Self::default();
        for op in opcodes {
            let op = op?;
            fetched.storages += usize::from(op.code == Opcode::BinPersId);
            if let (Opcode::Get | Opcode::BinGet | Opcode::LongBinGet, Argument::Int(index)) =
                (op.code, op.argument)
            {
                fetched.insert(index)?;
            }
        }
        Ok(fetched)
    }

    /// Adds an index.
    pub fn insert(&mut self, index: i128) -> io::Result<()> {
        let Some(index) = usize::try_from(index).ok().filter(|index| *index < LARGEST) else {
            return Err(beyond_limit(format!("item {index} of the pickle's memo is beyond {LARGEST}")));
        };
        let (word, bit) = (index / 64, 1 << (index % 64));
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        if let Some(bits) = self.bits.get_mut(word) {
            self.count += usize::from(*bits & bit == 0);
            *bits |= bit;
        }
        Ok(())
    }

    pub fn contains(&self, index: i128) -> bool {
        let Ok(index) = usize::try_from(index) else { return false };
        self.bits.get(index / 64).is_some_and(|bits| bits >> (index % 64) & 1 == 1)
    }

    /// Returns how often the pickle names a storage, which usually is the number of its tensors.
    pub fn storages(&self) -> usize {
        self.storages
    }

    /// Returns the number of indices.
    pub fn count(&self) -> usize {
        self.count
    }
}
