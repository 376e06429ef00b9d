//! Lists what a pickle would import and call, without doing it.
//!
//! A name can be on the stack only if opcodes put it there, and they can only move it: push it, duplicate
//! it, store it in the memo and fetch it. The scan follows texts, imported names and what their calls make
//! through these opcodes. Anything else is unknown; what uses something unknown is listed without a name,
//! and as not on the closed list.

use super::frames::Frames;
use super::listed::Listed;
use super::opcode::Opcode;
use super::opcodes::{Argument, Op, Opcodes};
use crate::error::{beyond_limit, unsound};
use std::collections::HashMap;
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::Arc;

/// When the stack has this many items, the lower half of them is forgotten.
const DEEPEST: usize = 1 << 20;
/// The largest number of texts and names in the memo. Those beyond it are forgotten.
const REMEMBERED: usize = 1 << 18;
/// The number of indices of the memo whose bits are allocated together, and the largest number of such
/// groups.
const TOGETHER: u32 = 1 << 12;
const GROUPS: usize = 1 << 14;
/// The largest number of bytes of different texts. Texts beyond it are forgotten, except those on the list.
const TEXTS: usize = 8 << 20;
/// What a text needs beside its bytes.
const TEXT: usize = 136;
/// The longest text that can be a name, in bytes.
const LONGEST: usize = 1 << 10;
/// No frame is as long as this, or it ends after the file.
const LARGEST_FRAME: i128 = 1 << 40;
/// The largest number of different findings, and of bytes of their names.
const FINDINGS: usize = 1 << 14;
const NAMES: usize = 1 << 20;

/// What pickles would import and call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// What was found, in the order in which it first occurs.
    pub findings: Vec<Finding>,
    /// The number of complete pickles: several can follow each other in one file.
    pub pickles: u64,
    /// Whether a program may import a name that the scan did not see: the texts of one were forgotten, or an
    /// opcode is not within its frame.
    pub may_hide: bool,
    /// Why the scan ended before the end of the file. What precedes the problem would still be executed,
    /// and is listed.
    pub problem: Option<Problem>,
}

/// Why the rest of a file was not scanned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The offset where the scan ended.
    pub at: u64,
    /// Whether a limit of this library was exceeded; otherwise the file is not sound.
    pub is_limit: bool,
    /// What is wrong.
    pub sentence: String,
}

/// What a pickle imports, calls, or changes by a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How it is used.
    pub used: Use,
    /// The opcode.
    pub code: Opcode,
    /// The module and the name; `None` if they are computed, or come from outside the file.
    pub name: Option<Arc<Name>>,
    /// Whether it is on the closed list.
    pub is_listed: bool,
    /// The offset of the first opcode that does this.
    pub at: u64,
    /// The number of the pickle in the file, from 0, in which this occurs first.
    pub pickle: u64,
    /// How often it occurs.
    pub count: u64,
}

/// A name in a module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// The module.
    pub module: String,
    /// The name in the module.
    pub name: String,
}

/// How a name is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// It is imported, which executes its module.
    Import,
    /// It is called.
    Call,
    /// The state of what it made is set, which may call a method.
    State,
    /// It comes from a registry of the program, by a number.
    Extension,
    /// The loader finds an object by an id. Loaders of models find storages so.
    PersistentId,
}

impl Scan {
    /// Whether the whole file was scanned, and everything in it is on the closed list.
    pub fn is_listed(&self) -> bool {
        self.problem.is_none() && self.findings.iter().all(|finding| finding.is_listed)
    }

    /// Whether the source is unlike a pickle: nothing in it is complete, used, or beyond a limit.
    pub fn is_nothing(&self) -> bool {
        let is_limit = self.problem.as_ref().is_some_and(|problem| problem.is_limit);
        self.pickles == 0 && self.findings.is_empty() && !self.may_hide && !is_limit
    }
}

/// Lists what the pickles of a source import and call, up to its end.
///
/// Memory: at most 64 MiB, whatever the source has.
///
/// # Errors
/// Those of the source, except those about its contents, which become the [`Scan::problem`].
pub fn scan(source: impl Read) -> io::Result<Scan> {
    let (mut opcodes, mut scanner) = (Opcodes::lenient(source), Scanner::default());
    loop {
        if let Err(error) = scanner.pickle(&mut opcodes) {
            let is_limit = error.kind() == io::ErrorKind::QuotaExceeded;
            if !is_limit && error.kind() != io::ErrorKind::InvalidData {
                return Err(error);
            }
            let (at, sentence) = (opcodes.offset(), error.to_string());
            scanner.scan.problem = Some(Problem { at, is_limit, sentence });
            return Ok(scanner.scan);
        }
        scanner.scan.pickles += 1;
        if !opcodes.resume()? {
            return Ok(scanner.scan);
        }
    }
}

/// What is known about an item of the stack or the memo. Numbers are those of texts or names.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    /// The mark that begins a group.
    Mark,
    /// A text.
    Text(u32),
    /// An imported name.
    Import(u32),
    /// What a call of an imported name made.
    Made(u32),
    /// A text that is not known, or anything that was forgotten.
    Forgotten,
    /// Anything else. It is not a text, unless a call made it.
    Unknown,
}

/// Numbers for different values. A value is a pointer, whose clones share what it points to.
#[derive(Debug)]
struct Numbers<T> {
    of: HashMap<T, u32>,
    values: Vec<T>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self { of: HashMap::new(), values: Vec::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Numbers<T> {
    fn number(&mut self, value: &T) -> u32 {
        if let Some(number) = self.of.get(value) {
            return *number;
        }
        let number = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.of.insert(value.clone(), number);
        self.values.push(value.clone());
        number
    }

    fn get(&self, number: u32) -> Option<&T> {
        self.values.get(usize::try_from(number).ok()?)
    }
}

/// What makes two findings the same: how the name is used, its number, and whether it was called before.
type Key = (Use, Opcode, Option<u32>, bool);

/// The indices of the memo that are in use. Memory: 512 bytes for each [`TOGETHER`] of which one is.
#[derive(Debug, Default)]
struct Indices {
    bits: HashMap<u32, Box<[u64; (TOGETHER / 64) as usize]>>,
    count: u32,
}

impl Indices {
    fn insert(&mut self, index: u32) {
        let bits = self.bits.entry(index / TOGETHER).or_insert_with(|| Box::new([0; _]));
        if let Some(word) = bits.get_mut(Self::word(index)) {
            let bit = 1 << (index % 64);
            self.count += u32::from(*word & bit == 0);
            *word |= bit;
        }
    }

    fn contains(&self, index: u32) -> bool {
        let word = self.bits.get(&(index / TOGETHER)).and_then(|bits| bits.get(Self::word(index)));
        word.is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    fn word(index: u32) -> usize {
        (index % TOGETHER / 64) as usize
    }
}

#[derive(Debug, Default)]
struct Scanner {
    stack: Vec<Item>,
    frames: Frames,
    /// Whether items below these were forgotten, and their number with them.
    is_bottomless: bool,
    /// The known items of the memo; all others are unknown.
    memo: HashMap<u32, Item>,
    /// Whether other items of the memo may be forgotten ones.
    is_memo_full: bool,
    used: Indices,
    texts: Numbers<Rc<str>>,
    names: Numbers<Arc<Name>>,
    /// What texts and names take, in bytes.
    of_texts: usize,
    of_names: usize,
    found: HashMap<Key, usize>,
    scan: Scan,
}

impl Scanner {
    /// Scans one pickle.
    fn pickle<R: Read>(&mut self, opcodes: &mut Opcodes<R>) -> io::Result<()> {
        self.stack.clear();
        (self.is_bottomless, self.is_memo_full) = (false, false);
        (self.memo, self.used) = Default::default();
        self.frames = Frames::default();
        loop {
            let at = opcodes.offset();
            let Some(op) = opcodes.next() else { return Ok(()) };
            let decoded = op.as_ref().ok().filter(|op| !is_beyond_files(op));
            let checked = self.frames.check(at, opcodes.offset(), decoded);
            self.scan.may_hide |= checked.is_err();
            self.step(&op?)?;
            checked?;
            // Its capacity, which doubles, never exceeds this number.
            if self.stack.len() == DEEPEST {
                self.stack.drain(..DEEPEST / 2);
                self.is_bottomless = true;
            }
        }
    }

    fn step(&mut self, op: &Op) -> io::Result<()> {
        use Opcode::{
            AddItems, Append, Appends, BinGet, BinPersId, BinPut, Build, Dict, Dup, Ext1, Ext2, Ext4, Frame,
            FrozenSet, Get, Global, Inst, List, LongBinGet, LongBinPut, Mark, Memoize, NewObj, NewObjEx, Obj,
            PersId, Pop, PopMark, Proto, Put, ReadonlyBuffer, Reduce, SetItem, SetItems, StackGlobal, Stop,
            Tuple, Tuple1, Tuple2, Tuple3,
        };
        match op.code {
            Mark => self.stack.push(Item::Mark),
            Proto | Frame => {}
            Stop | Append => self.pop(op).map(drop)?,
            Pop if self.is_bottomless => drop(self.stack.pop()),
            Pop => self.stack.pop().map(drop).ok_or_else(|| underflow(op))?,
            PopMark | Appends | SetItems | AddItems => self.pop_group(op).map(drop)?,
            Dup => {
                let item = self.pop(op)?;
                self.stack.extend([item, item]);
            }
            SetItem => {
                self.pop(op)?;
                self.pop(op)?;
            }
            Get | BinGet | LongBinGet => self.fetch(op)?,
            Put | BinPut | LongBinPut => self.store(op, index(op)?)?,
            Memoize => self.store(op, Some(self.used.count))?,
            Tuple | List | Dict | FrozenSet => {
                self.pop_group(op)?;
                self.stack.push(Item::Unknown);
            }
            Tuple1 | ReadonlyBuffer => self.replace(op, 1)?,
            Tuple2 => self.replace(op, 2)?,
            Tuple3 => self.replace(op, 3)?,
            Global | Inst | StackGlobal => self.import(op)?,
            Reduce | NewObj | NewObjEx | Obj => self.call(op)?,
            Build => self.build(op)?,
            Ext1 | Ext2 | Ext4 => {
                self.find(op, Use::Extension, None)?;
                self.stack.push(Item::Unknown);
            }
            PersId | BinPersId => self.persistent(op)?,
            _ => self.push_value(op),
        }
        Ok(())
    }

    /// Pushes a value that needs nothing from the stack.
    fn push_value(&mut self, op: &Op) {
        let item = match &op.argument {
            Argument::Text(text) => self.text(text).map_or(Item::Forgotten, Item::Text),
            _ if op.code.is_text() => Item::Forgotten,
            _ => Item::Unknown,
        };
        self.stack.push(item);
    }

    fn pop(&mut self, op: &Op) -> io::Result<Item> {
        match self.stack.pop() {
            None if self.is_bottomless => Ok(Item::Forgotten),
            Some(Item::Mark) | None => Err(underflow(op)),
            Some(item) => Ok(item),
        }
    }

    /// Drops the items up to a mark, and returns the first of them.
    fn pop_group(&mut self, op: &Op) -> io::Result<Option<Item>> {
        let Some(mark) = self.stack.iter().rposition(|item| *item == Item::Mark) else {
            self.stack.clear();
            return if self.is_bottomless { Ok(Some(Item::Forgotten)) } else { Err(underflow(op)) };
        };
        let first = self.stack.get(mark + 1).copied();
        self.stack.truncate(mark);
        Ok(first)
    }

    /// Replaces some items by an unknown one.
    fn replace(&mut self, op: &Op, count: usize) -> io::Result<()> {
        for _ in 0..count {
            self.pop(op)?;
        }
        self.stack.push(Item::Unknown);
        Ok(())
    }

    fn fetch(&mut self, op: &Op) -> io::Result<()> {
        let Some(index) = index(op)? else {
            self.stack.push(Item::Unknown);
            return Ok(());
        };
        if !self.used.contains(index) {
            let at = op.at;
            return Err(unsound(format!(
                "opcode {} at byte {at} of the pickle fetches item {index} of the memo, which is not there",
                op.code.name()
            )));
        }
        let other = if self.is_memo_full { Item::Forgotten } else { Item::Unknown };
        self.stack.push(self.memo.get(&index).copied().unwrap_or(other));
        Ok(())
    }

    fn store(&mut self, op: &Op, index: Option<u32>) -> io::Result<()> {
        let item = self.pop(op)?;
        self.stack.push(item);
        let Some(index) = index else { return Ok(()) };
        self.used.insert(index);
        if self.used.bits.len() > GROUPS {
            return Err(beyond_limit(format!(
                "opcode {} at byte {} of the pickle stores an item in the memo, which has too many already",
                op.code.name(),
                op.at
            )));
        }
        // An item that is not stored must not leave an older one in its place.
        if item == Item::Unknown {
            self.memo.remove(&index);
        } else if self.memo.len() < REMEMBERED || self.memo.contains_key(&index) {
            self.memo.insert(index, item);
        } else {
            self.is_memo_full = true;
        }
        Ok(())
    }

    /// Returns the number of a text, or `None` if it cannot be a name or there are too many.
    fn text(&mut self, text: &str) -> Option<u32> {
        if text.len() > LONGEST {
            return None;
        }
        if let Some(number) = self.texts.of.get(text) {
            return Some(*number);
        }
        let memory = self.of_texts + text.len() + TEXT;
        if memory > TEXTS && !Listed::has_part(text) {
            return None;
        }
        self.of_texts = memory;
        Some(self.texts.number(&text.into()))
    }

    fn import(&mut self, op: &Op) -> io::Result<()> {
        let name = match (&op.argument, op.code) {
            (Argument::Name { module, name }, _) => Some(Name { module: module.clone(), name: name.clone() }),
            _ => {
                let (name, module) = (self.pop(op)?, self.pop(op)?);
                self.scan.may_hide |= may_be_forgotten_text(module, name);
                let texts = self.text_of(module).zip(self.text_of(name));
                texts.map(|(module, name)| Name { module: module.into(), name: name.into() })
            }
        };
        let number = name.map(|name| self.name(op, name)).transpose()?;
        self.find(op, Use::Import, number)?;
        if op.code == Opcode::Inst {
            self.pop_group(op)?;
            self.find(op, Use::Call, number)?;
            self.stack.push(number.map_or(Item::Unknown, Item::Made));
        } else {
            self.stack.push(number.map_or(Item::Unknown, Item::Import));
        }
        Ok(())
    }

    /// Returns the number of a name.
    fn name(&mut self, op: &Op, name: Name) -> io::Result<u32> {
        if !self.names.of.contains_key(&name) {
            self.of_names += name.module.len() + name.name.len();
            if self.of_names > NAMES {
                return Err(too_many(op));
            }
        }
        Ok(self.names.number(&name.into()))
    }

    fn text_of(&self, item: Item) -> Option<&str> {
        match item {
            Item::Text(number) => self.texts.get(number).map(|text| &**text),
            _ => None,
        }
    }

    fn call(&mut self, op: &Op) -> io::Result<()> {
        let callee = match op.code {
            Opcode::Obj => self.pop_group(op)?.ok_or_else(|| underflow(op))?,
            code => {
                for _ in 0..if code == Opcode::NewObjEx { 2 } else { 1 } {
                    self.pop(op)?;
                }
                self.pop(op)?
            }
        };
        let number = match callee {
            Item::Import(number) => Some(number),
            _ => None,
        };
        self.find(op, Use::Call, number)?;
        self.stack.push(number.map_or(Item::Unknown, Item::Made));
        Ok(())
    }

    fn build(&mut self, op: &Op) -> io::Result<()> {
        self.pop(op)?;
        let object = self.pop(op)?;
        self.stack.push(object);
        match object {
            Item::Made(number) => self.find(op, Use::State, Some(number)),
            // The attributes of the module's own class or function would be changed, for the whole program.
            Item::Import(number) => self.find_as(op, Use::State, Some(number), false),
            _ => self.find(op, Use::State, None),
        }
    }

    fn persistent(&mut self, op: &Op) -> io::Result<()> {
        if op.code == Opcode::BinPersId {
            self.pop(op)?;
        }
        self.find(op, Use::PersistentId, None)?;
        self.stack.push(Item::Unknown);
        Ok(())
    }

    /// Adds a finding, or counts it again.
    fn find(&mut self, op: &Op, used: Use, number: Option<u32>) -> io::Result<()> {
        self.find_as(op, used, number, true)
    }

    /// Adds a finding, or counts it again; it is on the list only if it `may_be`.
    fn find_as(&mut self, op: &Op, used: Use, number: Option<u32>, may_be: bool) -> io::Result<()> {
        let key = (used, op.code, number, may_be);
        if let Some(finding) = self.found.get(&key).and_then(|index| self.scan.findings.get_mut(*index)) {
            finding.count += 1;
            return Ok(());
        }
        if self.scan.findings.len() == FINDINGS {
            return Err(too_many(op));
        }
        let name = number.and_then(|number| self.names.get(number)).cloned();
        let is_listed = may_be
            && match &name {
                Some(name) => Listed::find(&name.module, &name.name).is_some(),
                None => used == Use::PersistentId,
            };
        let (code, at, pickle) = (op.code, op.at, self.scan.pickles);
        self.found.insert(key, self.scan.findings.len());
        self.scan.findings.push(Finding { used, code, name, is_listed, at, pickle, count: 1 });
        Ok(())
    }
}

fn too_many(op: &Op) -> io::Error {
    beyond_limit(format!("at byte {} of the pickle, too many different names are imported or called", op.at))
}

/// Returns whether this begins a frame that is longer than any file, and so is unlikely to be one.
fn is_beyond_files(op: &Op) -> bool {
    op.code == Opcode::Frame && matches!(op.argument, Argument::Int(len) if len >= LARGEST_FRAME)
}

fn underflow(op: &Op) -> io::Error {
    unsound(format!(
        "opcode {} at byte {} of the pickle needs more items on the stack",
        op.code.name(),
        op.at
    ))
}

/// Whether two items may be the texts of a name, but are not both known.
fn may_be_forgotten_text(module: Item, name: Item) -> bool {
    let is_text = |item| matches!(item, Item::Text(_) | Item::Forgotten);
    is_text(module) && is_text(name) && [module, name].contains(&Item::Forgotten)
}

/// Returns an index of the memo; `None` if it is not one for Python 3. To Python 2, any line is.
fn index(op: &Op) -> io::Result<Option<u32>> {
    let index = match op.argument {
        Argument::Unknown | Argument::Int(..0) => return Ok(None),
        Argument::Int(index) => u32::try_from(index).ok(),
        _ => None,
    };
    index.map(Some).ok_or_else(|| {
        let (code, at) = (op.code.name(), op.at);
        beyond_limit(format!("opcode {code} at byte {at} of the pickle has an index beyond {}", u32::MAX))
    })
}

#[cfg(test)]
mod tests {
    use super::{Scan, Use, scan};
    use crate::pickle::Opcode;

    fn scanned(pickle: &[u8]) -> Scan {
        scan(pickle).expect("read")
    }

    /// Returns what was found: the opcode, the name or `?`, and `+` if it is listed.
    fn found(pickle: &[u8]) -> Vec<String> {
        let findings = scanned(pickle).findings.into_iter();
        findings
            .map(|finding| {
                let name = finding.name.map_or("?".into(), |name| format!("{}.{}", name.module, name.name));
                let sign = if finding.is_listed { "+" } else { "" };
                format!("{} {name}{sign} {}", finding.code.name(), finding.at)
            })
            .collect()
    }

    #[test]
    fn names_are_found_however_they_reach_the_stack() {
        let system = ["STACK_GLOBAL os.system", "REDUCE os.system"];
        for pickle in [
            // Two texts.
            &b"\x8c\x02os\x8c\x06system\x93)R."[..],
            // Through the memo, in the other order.
            b"\x8c\x06systemp5\n0\x8c\x02os\x940h\x01g5\n\x93)R.",
            // A text in lines, and a text of Python 2.
            b"Vo\\u0073\nS'sys\\x74em'\n\x93)R.",
            // An index that is stored twice.
            b"\x8c\x04safeq\x000\x8c\x02osq\x000h\x00\x8c\x06system\x93)R.",
            // Duplicates, and items that are dropped again.
            b"\x8c\x02os2(KK1\x8c\x06system\x93q\x000h\x00)R.",
            b"(\x8c\x02os\x8c\x06system\x93q\x001h\x00)R.",
        ] {
            let found = found(pickle);
            let without_offsets: Vec<&str> =
                found.iter().filter_map(|one| one.rsplit_once(' ')).map(|(one, _)| one).collect();
            assert_eq!(without_offsets, system, "{pickle:?}");
        }
    }

    #[test]
    fn each_opcode_that_imports_or_calls_is_found() {
        for (pickle, expected) in [
            (&b"cos\nsystem\n)R."[..], &["GLOBAL os.system 0", "REDUCE os.system 12"][..]),
            (b"(ios\nsystem\n.", &["INST os.system 1", "INST os.system 1"]),
            (b"(cos\nsystem\no.", &["GLOBAL os.system 1", "OBJ os.system 12"]),
            (b"ca\nb\n)\x81.", &["GLOBAL a.b 0", "NEWOBJ a.b 6"]),
            (b"ca\nb\n)}\x92.", &["GLOBAL a.b 0", "NEWOBJ_EX a.b 7"]),
            (b"ca\nb\n)R}b.", &["GLOBAL a.b 0", "REDUCE a.b 6", "BUILD a.b 8"]),
            (b"ctorch\nTensor\n}b.", &["GLOBAL torch.Tensor+ 0", "BUILD torch.Tensor 15"]),
            (b"\x82\x01.", &["EXT1 ? 0"]),
            (b"\x83\x01\0.", &["EXT2 ? 0"]),
            (b"\x84\x01\0\0\0.", &["EXT4 ? 0"]),
            (b"Pa\n.", &["PERSID ?+ 0"]),
            (b"NQ.", &["BINPERSID ?+ 1"]),
            (b"N)R.", &["REDUCE ? 2"]),
            (
                b"ccollections\nOrderedDict\n)R.",
                &["GLOBAL collections.OrderedDict+ 0", "REDUCE collections.OrderedDict+ 26"],
            ),
            // A name that is computed.
            (b"ca\nb\n)R\x8c\x01c\x93.", &["GLOBAL a.b 0", "REDUCE a.b 6", "STACK_GLOBAL ? 10"]),
            // A name that is not a text.
            (b"\x8c\x02osK\x01\x93.", &["STACK_GLOBAL ? 6"]),
        ] {
            assert_eq!(found(pickle), expected, "{pickle:?}");
            assert!(scanned(pickle).problem.is_none(), "{pickle:?}");
        }
        assert_eq!(scanned(b"(ios\nsystem\n.").findings[1].used, Use::Call);
    }

    /// Python reads more arguments than the decoder for files of PyTorch, or does not need their values.
    #[test]
    fn arguments_that_only_python_reads_do_not_end_the_scan() {
        for before in [
            &b"I+1\n"[..],
            b"I 1\n",
            b"I1_0\n",
            b"I0x10\n",
            b"I\0\n",
            b"L 1L\n",
            b"L0b1\n",
            b"F 1_0.5\n",
            b"Np+1\n",
            b"Np 1\x0B\n",
            b"Np1_0\ng 10\n",
            b"Np-0\ng0\n",
            b"Np7\0 \ng7\n",
            b"V\\ud800\n",
            b"S'\\x4'\n",
            b"X\x03\0\0\0\xED\xA0\x80",
        ] {
            let pickle = [before, b"cos\nsystem\n."].concat();
            assert_eq!(found(&pickle), [format!("GLOBAL os.system {}", before.len())], "{before:?}");
            assert_eq!(scanned(&pickle).problem, None, "{before:?}");
        }
        for text in ["Format: a", "Install", "License"] {
            assert!(scanned(format!("{text}\ncos\nsystem\n.").as_bytes()).is_nothing(), "{text}");
        }
        // The same item, however its index is spelled.
        let fetched = found(b"Vos\np+1\n0Vsystem\np 2_0\n0g01\ng20\n\x93.");
        assert_eq!(fetched, ["STACK_GLOBAL os.system 32"]);
        // A line may end with the file.
        assert_eq!(found(b"cos\nsystemX"), ["GLOBAL os.system 0"]);
        assert_eq!(found(b"cosX"), ["GLOBAL os. 0"]);
        assert_eq!(found(b"c"), [""; 0]);
    }

    #[test]
    fn indices_beyond_32_bits_exceed_a_limit() {
        let zeros = "0".repeat(1 << 17);
        for index in ["4294967296", "1_000_000_000_000_000_000_000_000_000_000_000_000_000_000", &zeros] {
            let problem = scanned(format!("Np{index}\n.").as_bytes()).problem.expect("a problem");
            assert!(problem.is_limit, "{problem:?}");
            assert!(problem.sentence.contains("an index beyond 4294967295"), "{problem:?}");
        }
        assert_eq!(scanned(b"Np4294967295\ng4294967295\n.").problem, None);
        // Nothing but digits can be an index, however long it is.
        assert_eq!(scanned(format!("Np{}\n.", "\0".repeat(1 << 17)).as_bytes()).problem, None);
    }

    /// A name that was forgotten is not one that was computed, or something else than a name.
    #[test]
    fn names_that_were_forgotten_are_known_to_be() {
        let long = format!("V{}\n", "a".repeat(super::LONGEST + 1));
        let full = [b"U\x01a".to_vec(), vec![0x94; super::REMEMBERED]].concat();
        let at = |index: usize| [&b"j"[..], &u32::try_from(index).expect("small").to_le_bytes()].concat();
        let last = [at(super::REMEMBERED), at(super::REMEMBERED + 1)].concat();
        let memo = [&full[..], b"U\x02os\x94U\x06system\x94", &last, b"\x93"].concat();
        let other = [&full[..], b"N\x94N\x94\x93"].concat();
        for (pickle, may_hide) in [
            (&memo[..], true),
            (&other, false),
            (format!("{long}Va\n").as_bytes(), false),
            (&[format!("{long}Va\n").as_bytes(), b"\x93"].concat(), true),
            (b"U\x02\xFF\xFFVa\n\x93", true),
            (b"U\x02\xFF\xFFN\x93", false),
            (b"NN\x93", false),
            (b"Vb\nVa\n\x93", false),
        ] {
            assert_eq!(scanned(pickle).may_hide, may_hide, "{} bytes", pickle.len());
        }
    }

    #[test]
    fn opcodes_do_not_cross_the_end_of_a_frame() {
        let frame = |len: u8, rest: &[u8]| [&[0x95, len, 0, 0, 0, 0, 0, 0, 0], rest].concat();
        for (pickle, is_sound) in [
            (frame(2, b"N."), true),
            (frame(1, b"N."), true),
            (frame(0, b"N."), true),
            // In the name of an import, in a length, and in a text that the file does not have.
            (frame(6, b"cos\nsystem\n."), false),
            (frame(3, b"X\x01\0\0\0aN."), false),
            (frame(3, b"X\x01\0\xFF\0aN."), false),
            (frame(3, b"N."), false),
            // A frame in a frame.
            (frame(11, &frame(2, b"N.")), true),
            (frame(12, &frame(1, b"N.")), false),
            (frame(10, &frame(2, b"N.")), false),
            (frame(8, &frame(2, b"N.")), false),
        ] {
            let scan = scanned(&pickle);
            assert_eq!((scan.may_hide, scan.problem.is_none()), (!is_sound, is_sound), "{pickle:?}");
        }
        // A frame beyond the file, which is unlikely to be one.
        assert!(scanned(&[&[0x95], &[0xFF; 8][..], b"N."].concat()).is_listed());
    }

    #[test]
    fn what_precedes_a_problem_is_listed() {
        for (pickle, at, sentence) in [
            (&b"cos\nsystem\n"[..], 11, "the pickle ends at byte 11, without STOP"),
            (b"cos\nsystem\n)R\xFF", 14, "byte 0xff at byte 13 of the pickle is not an opcode"),
            (b"cos\nsystem\nRR", 12, "opcode REDUCE at byte 11 of the pickle needs more items on the stack"),
            (
                b"cos\nsystem\nh\x07",
                13,
                "opcode BINGET at byte 11 of the pickle fetches item 7 of the memo, \
                which is not there",
            ),
        ] {
            let scan = scanned(pickle);
            assert_eq!(scan.findings[0].code, Opcode::Global);
            let problem = scan.problem.expect("a problem");
            assert_eq!((problem.at, problem.sentence.as_str()), (at, sentence), "{pickle:?}");
        }
    }

    #[test]
    fn pickles_that_follow_are_scanned() {
        let scan = scanned(b"N.(ios\nsystem\n.N.rubbish");
        assert_eq!((scan.pickles, scan.findings[0].pickle, scan.findings[0].at), (3, 1, 3));
        assert_eq!(scan.problem.as_ref().map(|problem| problem.at), Some(22));
        assert!(!scan.is_listed());
        assert!(scanned(b"N.N.").is_listed());
        assert!(!scanned(b"").is_listed());
    }

    /// Texts that are not kept are unknown; they never become an older text.
    #[test]
    fn many_texts_do_not_hide_a_name() {
        let mut pickle = b"\x8c\x05torchq\x000".to_vec();
        for number in 0..100_000 {
            pickle.extend(b"\x8c\x06");
            pickle.extend(format!("{number:06}0").bytes());
        }
        pickle.extend(b"\x8c\x09os_systemq\x00\x8c\x06Tensor\x93.");
        assert_eq!(scanned(&pickle).findings[0].name, None);
        assert!(!scanned(&pickle).is_listed());
    }

    /// The memo begins again with each pickle, in the time of what it stored.
    #[test]
    fn large_indices_in_many_pickles_are_fast() {
        let begun = std::time::Instant::now();
        let scan = scanned(&b"Nr\xFF\xFF\xFF\x03.".repeat(50_000));
        // A second on an idle machine; minutes, if 8 MiB are cleared each time.
        assert!(begun.elapsed().as_secs() < 30);
        assert_eq!((scan.pickles, scan.problem), (50_000, None));
        assert!(scanned(b"Nr\xFF\xFF\xFF\x03.j\xFF\xFF\xFF\x03.").problem.is_some());
    }

    #[test]
    fn indices_are_counted_once() {
        let mut indices = super::Indices::default();
        for index in [0, 63, 64, 4095, 4096, 63, u32::MAX] {
            assert_eq!(indices.contains(index), index == 63 && indices.count > 2, "{index}");
            indices.insert(index);
            assert!(indices.contains(index));
        }
        assert_eq!((indices.count, indices.contains(1), indices.contains(4097)), (6, false, false));
    }

    #[test]
    fn what_is_forgotten_of_a_large_stack_is_unknown() {
        let deep = |begin: &[u8], end: &[u8]| [begin, &vec![b'N'; super::DEEPEST], end].concat();
        let drop = vec![b'0'; super::DEEPEST];
        let unlisted = ["STACK_GLOBAL ?", "REDUCE ?"];
        for (pickle, expected) in [
            (deep(b"", b"cos\nsystem\n)R."), &["GLOBAL os.system", "REDUCE os.system"][..]),
            (deep(b"U\x02osU\x06system", &[&drop[..], b"\x93)R."].concat()), &unlisted),
            (deep(b"(", b"t\x93)R."), &unlisted),
            (deep(b"(cos\nsystem\n", b"o."), &["GLOBAL os.system", "OBJ ?"]),
        ] {
            let without_offset = |one: String| one.rsplit_once(' ').map(|(one, _)| one.to_owned());
            assert_eq!(found(&pickle).into_iter().filter_map(without_offset).collect::<Vec<_>>(), expected);
            assert_eq!(scanned(&pickle).problem, None);
        }
        // The next pickle has a stack of its own.
        assert!(scanned(&deep(b"", b".0.")).problem.is_some());
    }

    #[test]
    fn names_in_long_lines_are_cut() {
        let long = "a".repeat(super::super::KEPT + 1);
        let cut = &long[..1024];
        let expected = [format!("GLOBAL os.{cut} 65540")];
        assert_eq!(found(format!("V{long}\n0cos\n{long}\n.").as_bytes()), expected);
        assert_eq!(found(format!("c{long}\nb\n.").as_bytes()), [format!("GLOBAL {cut}.b 0")]);
        assert!(scanned(format!("I{}\n.", "0".repeat(1 << 17)).as_bytes()).is_listed());
    }

    #[test]
    fn large_memos_and_many_names_are_beyond_the_limit() {
        let sparse = |groups: u32| (0..groups).flat_map(|at| [&b"r"[..], &(at << 12).to_le_bytes()].concat());
        let memo = |groups| b"N".iter().copied().chain(sparse(groups)).chain(*b".").collect::<Vec<_>>();
        assert!(scanned(&memo(1 << 14)).is_listed());
        assert!(scanned(&memo((1 << 14) + 1)).problem.is_some_and(|problem| problem.is_limit));
        assert!(scanned(b"Nr\xFF\xFF\xFF\xFFj\xFF\xFF\xFF\xFF.").is_listed());
        let mut names = Vec::new();
        for number in 0..=super::FINDINGS {
            names.extend(format!("cmodule\n{number}\n0").bytes());
        }
        assert!(scanned(&names).problem.is_some_and(|problem| problem.is_limit));
    }
}
