//! The machine that executes the opcodes of a pickle, with a stack and a memo as Python has them.
//!
//! What a value is, and what an opcode makes of values, is up to a [`Make`]: the scan makes names, the reader
//! of PyTorch's files makes tensors.

use super::opcode::Opcode;
use super::opcodes::{Argument, Here, INVALID, Op};
use crate::error::ensure_within;
use std::collections::HashMap;
use std::io;

/// The number of indices of the memo whose bits are allocated together, and the largest number of such
/// groups.
const TOGETHER: u32 = 1 << 12;
const GROUPS: usize = 1 << 14;

/// Makes the values of a pickle.
pub trait Make {
    /// A value. The default one stands for an item that was forgotten.
    type Value: Clone + Default;
    /// Whether the machine goes on where it can: of a stack that is too deep, the lower half is forgotten,
    /// and a container need not be there.
    const IS_LENIENT: bool;
    /// The largest number of items, and of marks, on the stack.
    const DEEPEST: usize;
    /// The largest index in the memo.
    const LARGEST_INDEX: u32;

    /// Begins an opcode.
    fn begin(&mut self, here: Here, argument: &Argument) -> io::Result<()>;

    /// Returns what an opcode pushes that needs nothing from the stack.
    fn value(&mut self, argument: Argument) -> io::Result<Self::Value>;

    /// Returns a tuple, a list, a dictionary, a set or a frozen set of these items.
    fn group(&mut self, items: Vec<Self::Value>) -> io::Result<Self::Value>;

    /// Adds items to a container.
    fn extend(&mut self, _container: &Self::Value, _items: Vec<Self::Value>) -> io::Result<()> {
        Ok(())
    }

    /// Imports the name in the argument, or the one whose module and name are these.
    fn import(&mut self, argument: Argument, name: Option<[Self::Value; 2]>) -> io::Result<Self::Value>;

    /// Calls something with arguments, which are in a tuple if the opcode takes one.
    fn call(&mut self, callee: Self::Value, arguments: Self::Value) -> io::Result<Self::Value>;

    /// Sets the state of an object.
    fn build(&mut self, object: &Self::Value, state: Self::Value) -> io::Result<()>;

    /// Returns what the loader finds by an id.
    fn persistent(&mut self, id: Self::Value) -> io::Result<Self::Value>;

    /// Whether the memo keeps a value, which then is its `count`th. Others are [`unkept`](Self::unkept).
    fn keeps(&mut self, index: u32, value: &Self::Value, count: usize) -> bool;

    /// Returns what stands for an item of the memo that was not kept.
    fn unkept(&self) -> Self::Value;

    /// Returns what a value takes on the stack, in bytes.
    fn weight(&self, _value: &Self::Value) -> usize {
        0
    }

    /// Ends an opcode after which the items of the stack have this weight.
    fn end(&mut self, _weight: usize) -> io::Result<()> {
        Ok(())
    }
}

/// A machine for one pickle.
#[derive(Debug)]
pub struct Machine<'m, M: Make> {
    make: &'m mut M,
    here: Here,
    stack: Vec<M::Value>,
    /// The lengths of the stack at each mark.
    marks: Vec<u32>,
    weight: usize,
    /// Whether items below these were forgotten, and their number with them.
    is_bottomless: bool,
    memo: HashMap<u32, M::Value>,
    /// The indices of all items of the memo.
    stored: Indices,
}

impl<'m, M: Make> Machine<'m, M> {
    pub fn new(make: &'m mut M) -> Self {
        let (stack, marks, memo, stored) = Default::default();
        Self { make, here: Here::default(), stack, marks, weight: 0, is_bottomless: false, memo, stored }
    }

    /// Whether the stack has nothing.
    pub fn is_empty(&self) -> bool {
        self.stack.is_empty() && self.marks.is_empty()
    }

    /// Executes the opcodes of a pickle, and returns the value with which it ends.
    pub fn run(&mut self, opcodes: impl Iterator<Item = io::Result<Op>>) -> io::Result<M::Value> {
        let mut value = None;
        for op in opcodes {
            let Op { at, end, code, argument } = op?;
            self.here = Here { code, at, end };
            self.make.begin(self.here, &argument)?;
            if code == Opcode::Stop {
                // What follows is an error, if it is anything.
                value = Some(self.pop()?);
                continue;
            }
            self.execute(argument)?;
            if self.stack.len().max(self.marks.len()) > M::DEEPEST {
                self.forget()?;
            }
            self.make.end(self.weight)?;
        }
        value.ok_or_else(|| self.here.unsound("ends the pickle without a value"))
    }

    fn execute(&mut self, argument: Argument) -> io::Result<()> {
        use Opcode::*;
        let made = match self.here.code {
            Proto | Frame => return Ok(()),
            ReadonlyBuffer => return self.on_top(|_, _| Ok(())),
            Mark => {
                // The stack is far shorter than 2^32.
                self.marks.push(u32::try_from(self.stack.len()).unwrap_or(u32::MAX));
                return Ok(());
            }
            Pop if !self.marks.is_empty() && self.fence() == self.stack.len() => {
                self.marks.pop();
                return Ok(());
            }
            Pop => return self.pop().map(drop),
            PopMark => return self.group().map(drop),
            Put | BinPut | LongBinPut | Memoize => return self.store(&argument),
            Append => return self.take(1).and_then(|items| self.extend(items)),
            SetItem => return self.take(2).and_then(|items| self.extend(items)),
            Appends | SetItems | AddItems => return self.group().and_then(|items| self.extend(items)),
            Build => {
                let state = self.pop()?;
                return self.on_top(|make, object| make.build(object, state));
            }
            Dup => {
                let top = self.pop()?;
                self.push(top.clone());
                top
            }
            Get | BinGet | LongBinGet => self.fetch(&argument)?,
            Tuple | List | Dict | FrozenSet => self.group().and_then(|items| self.make.group(items))?,
            EmptyTuple | EmptyList | EmptyDict | EmptySet => self.make.group(Vec::new())?,
            // Their codes end with the number of items.
            Tuple1 | Tuple2 | Tuple3 => {
                self.take(usize::from(self.here.code as u8 % 4)).and_then(|items| self.make.group(items))?
            }
            Global | StackGlobal | Inst => self.import(argument)?,
            Reduce | NewObj | NewObjEx | Obj => self.call()?,
            PersId => self.make.persistent(M::Value::default())?,
            BinPersId => self.pop().and_then(|id| self.make.persistent(id))?,
            _ => self.make.value(argument)?,
        };
        self.push(made);
        Ok(())
    }

    fn push(&mut self, value: M::Value) {
        self.weight += self.make.weight(&value);
        self.stack.push(value);
    }

    /// Returns the length of the stack at the last mark.
    fn fence(&self) -> usize {
        self.marks.last().map_or(0, |mark| usize::try_from(*mark).unwrap_or(usize::MAX))
    }

    fn too_few(&self) -> io::Error {
        self.here.unsound("needs more items on the stack")
    }

    /// Does something with the item on top of the stack, which must be above the last mark.
    fn on_top(&mut self, act: impl FnOnce(&mut M, &M::Value) -> io::Result<()>) -> io::Result<()> {
        let top = self.pop()?;
        let done = act(self.make, &top);
        self.push(top);
        done
    }

    fn pop(&mut self) -> io::Result<M::Value> {
        if self.stack.len() <= self.fence() {
            // Items below these may have been forgotten.
            let is_forgotten = self.is_bottomless && self.marks.is_empty();
            return is_forgotten.then(M::Value::default).ok_or_else(|| self.too_few());
        }
        let value = self.stack.pop().unwrap_or_default();
        self.weight = self.weight.saturating_sub(self.make.weight(&value));
        Ok(value)
    }

    /// Takes this many items from the stack.
    fn take(&mut self, count: usize) -> io::Result<Vec<M::Value>> {
        let mut items = (0..count).map(|_| self.pop()).collect::<io::Result<Vec<_>>>()?;
        items.reverse();
        Ok(items)
    }

    /// Takes the items above the last mark from the stack. The first is forgotten if the mark was.
    fn group(&mut self) -> io::Result<Vec<M::Value>> {
        let (is_forgotten, fence) = (self.marks.is_empty(), self.fence());
        if self.marks.pop().is_none() && !self.is_bottomless {
            return Err(self.here.unsound("needs a mark on the stack"));
        }
        let mut items = self.stack.split_off(fence.min(self.stack.len()));
        let weight: usize = items.iter().map(|item| self.make.weight(item)).sum();
        self.weight = self.weight.saturating_sub(weight);
        if is_forgotten {
            items.insert(0, M::Value::default());
        }
        Ok(items)
    }

    /// Adds items to the container on the stack.
    fn extend(&mut self, items: Vec<M::Value>) -> io::Result<()> {
        let extended = self.on_top(|make, container| make.extend(container, items));
        if M::IS_LENIENT { Ok(()) } else { extended }
    }

    fn import(&mut self, argument: Argument) -> io::Result<M::Value> {
        let name = match self.here.code {
            Opcode::StackGlobal => {
                let (name, module) = (self.pop()?, self.pop()?);
                Some([module, name])
            }
            _ => None,
        };
        let imported = self.make.import(argument, name)?;
        if self.here.code != Opcode::Inst {
            return Ok(imported);
        }
        self.group()?;
        self.make.call(imported, M::Value::default())
    }

    fn call(&mut self) -> io::Result<M::Value> {
        if self.here.code == Opcode::Obj {
            let callee = self.group()?.into_iter().next();
            return self.make.call(callee.ok_or_else(|| self.too_few())?, M::Value::default());
        }
        if self.here.code == Opcode::NewObjEx {
            self.pop()?;
        }
        let (arguments, callee) = (self.pop()?, self.pop()?);
        self.make.call(callee, arguments)
    }

    /// Returns an index of the memo; `None` if it is not one for Python 3. To Python 2, any line is.
    fn index(&self, argument: &Argument) -> io::Result<Option<u32>> {
        let index = match argument {
            Argument::Unknown | Argument::Int(..0) => {
                return self.here.ensure(M::IS_LENIENT, || INVALID).map(|()| None);
            }
            Argument::Int(index) => u32::try_from(*index).ok().filter(|index| *index <= M::LARGEST_INDEX),
            _ => None,
        };
        let beyond = || self.here.beyond(format!("has an index beyond {}", M::LARGEST_INDEX));
        index.map(Some).ok_or_else(beyond)
    }

    fn fetch(&self, argument: &Argument) -> io::Result<M::Value> {
        let Some(index) = self.index(argument)? else { return Ok(self.make.unkept()) };
        match self.memo.get(&index) {
            Some(value) => Ok(value.clone()),
            None if self.stored.contains(index) => Ok(self.make.unkept()),
            None => Err(self.here.unsound(format!("fetches item {index} of the memo, which is not there"))),
        }
    }

    fn store(&mut self, argument: &Argument) -> io::Result<()> {
        let value = self.pop()?;
        self.push(value.clone());
        let index = match self.here.code {
            Opcode::Memoize => Some(self.stored.count),
            _ => self.index(argument)?,
        };
        let Some(index) = index else { return Ok(()) };
        self.stored.insert(index);
        if self.stored.bits.len() > GROUPS {
            return Err(self.here.beyond("stores an item in the memo, which has too many already"));
        }
        let count = self.memo.len() + usize::from(!self.memo.contains_key(&index));
        if self.make.keeps(index, &value, count) {
            self.memo.insert(index, value);
        } else {
            // An item that is not kept must not leave an older one in its place.
            self.memo.remove(&index);
        }
        Ok(())
    }

    /// Forgets the lower half of the stack, or rejects it.
    fn forget(&mut self) -> io::Result<()> {
        let (at, most) = (self.here.at, M::DEEPEST);
        ensure_within(M::IS_LENIENT, || {
            format!("at byte {at} of the pickle, the stack has more than {most} items")
        })?;
        let cut = self.stack.len() / 2;
        self.stack.drain(..cut);
        let cut = u32::try_from(cut).unwrap_or(u32::MAX);
        let below = self.marks.partition_point(|mark| *mark < cut);
        self.marks.drain(..below.max(self.marks.len().saturating_sub(M::DEEPEST / 2)));
        self.marks.iter_mut().for_each(|mark| *mark = mark.saturating_sub(cut));
        self.is_bottomless = true;
        Ok(())
    }
}

/// A set of indices of the memo. Memory: 512 bytes for each [`TOGETHER`] of which one is in it.
#[derive(Debug, Default)]
pub struct Indices {
    bits: HashMap<u32, Box<[u64; (TOGETHER / 64) as usize]>>,
    count: u32,
}

impl Indices {
    pub fn insert(&mut self, index: u32) {
        let bits = self.bits.entry(index / TOGETHER).or_insert_with(|| Box::new([0; _]));
        if let Some(word) = bits.get_mut(Self::word(index)) {
            let bit = 1 << (index % 64);
            self.count += u32::from(*word & bit == 0);
            *word |= bit;
        }
    }

    pub fn contains(&self, index: u32) -> bool {
        let word = self.bits.get(&(index / TOGETHER)).and_then(|bits| bits.get(Self::word(index)));
        word.is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    fn word(index: u32) -> usize {
        (index % TOGETHER / 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::Indices;

    #[test]
    fn indices_are_counted_once() {
        let mut indices = Indices::default();
        for index in [0, 63, 64, 4095, 4096, 63, u32::MAX] {
            assert_eq!(indices.contains(index), index == 63 && indices.count > 2, "{index}");
            indices.insert(index);
            assert!(indices.contains(index));
        }
        assert_eq!((indices.count, indices.contains(1), indices.contains(4097)), (6, false, false));
    }
}
