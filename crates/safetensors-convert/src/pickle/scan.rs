//! Lists what a pickle would import and call, without doing it.
//!
//! A name can be on the stack only if opcodes put it there, and they can only move it: push it, duplicate
//! it, store it in the memo and fetch it. The scan follows texts, imported names and what their calls make
//! through these opcodes, with the machine that also reads files of PyTorch. Anything else is unknown; what
//! uses something unknown is listed without a name, and as not on the closed list.

use super::listed::Listed;
use super::machine::{Machine, Make};
use super::opcode::Opcode;
use super::opcodes::{Argument, Here, Name, Opcodes};
use crate::error::ensure_within;
use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::Arc;

/// The largest number of texts and names in the memo. Those beyond it are forgotten.
const REMEMBERED: usize = 1 << 18;
/// The largest number of bytes of different texts. Texts beyond it are forgotten, except those on the list.
const TEXTS: usize = 8 << 20;
/// What a text needs beside its bytes.
const TEXT: usize = 160;
/// The longest text that can be a name, in bytes.
const LONGEST: usize = 1 << 10;
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
    let (mut opcodes, mut scanner) = (Opcodes::new(source), Scanner::default());
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

/// What is known about an item of the stack or the memo.
#[derive(Clone, Debug, Default, PartialEq)]
enum Item {
    /// A text, behind a pointer of one word: a million items fit on the stack.
    Text(Rc<String>),
    /// An imported name.
    Import(Arc<Name>),
    /// What a call of an imported name made.
    Made(Arc<Name>),
    /// A text that is not known, or anything that was forgotten.
    #[default]
    Forgotten,
    /// Anything else. It is not a text, unless a call made it.
    Unknown,
}

/// What makes two findings the same: how the name is used, the name, and whether it was called before.
type Key = (Use, Opcode, Option<Arc<Name>>, bool);

#[derive(Debug, Default)]
struct Scanner {
    here: Here,
    /// Whether items of the memo that were not kept may be forgotten ones.
    is_memo_full: bool,
    texts: HashSet<Rc<String>>,
    names: HashSet<Arc<Name>>,
    /// What texts and names take, in bytes.
    of_texts: usize,
    of_names: usize,
    found: HashMap<Key, usize>,
    scan: Scan,
}

impl Scanner {
    /// Scans one pickle.
    fn pickle<R: Read>(&mut self, opcodes: &mut Opcodes<R>) -> io::Result<()> {
        self.is_memo_full = false;
        let scanned = Machine::new(self).run(&mut *opcodes);
        self.scan.may_hide |= opcodes.crosses_frame();
        scanned.map(drop)
    }

    /// Returns what is known of a text: nothing if it cannot be a name or there are too many.
    fn text(&mut self, text: String) -> Item {
        if let Some(known) = self.texts.get(&text) {
            return Item::Text(Rc::clone(known));
        }
        let memory = self.of_texts + text.len() + TEXT;
        if text.len() > LONGEST || (memory > TEXTS && !Listed::has_part(&text)) {
            return Item::Forgotten;
        }
        self.of_texts = memory;
        let text = Rc::new(text);
        self.texts.insert(Rc::clone(&text));
        Item::Text(text)
    }

    fn name(&mut self, name: Name) -> io::Result<Arc<Name>> {
        if let Some(known) = self.names.get(&name) {
            return Ok(Arc::clone(known));
        }
        self.of_names += name.module.len() + name.name.len();
        self.check_count(self.of_names <= NAMES)?;
        let name = Arc::new(name);
        self.names.insert(Arc::clone(&name));
        Ok(name)
    }

    fn check_count(&self, are_few: bool) -> io::Result<()> {
        let at = self.here.at;
        ensure_within(are_few, || {
            format!("at byte {at} of the pickle, too many different names are imported or called")
        })
    }

    /// Adds a finding, or counts it again; it is on the list only if it `may_be`.
    fn find(&mut self, used: Use, name: Option<&Arc<Name>>, may_be: bool) -> io::Result<()> {
        let key = (used, self.here.code, name.cloned(), may_be);
        if let Some(finding) = self.found.get(&key).and_then(|index| self.scan.findings.get_mut(*index)) {
            finding.count += 1;
            return Ok(());
        }
        self.check_count(self.scan.findings.len() < FINDINGS)?;
        let is_listed = may_be
            && match name {
                Some(name) => Listed::find(&name.module, &name.name).is_some(),
                None => used == Use::PersistentId,
            };
        let (Here { code, at, .. }, pickle) = (self.here, self.scan.pickles);
        self.found.insert(key, self.scan.findings.len());
        self.scan.findings.push(Finding { used, code, name: name.cloned(), is_listed, at, pickle, count: 1 });
        Ok(())
    }
}

impl Make for Scanner {
    type Value = Item;
    const IS_LENIENT: bool = true;
    const DEEPEST: usize = 1 << 20;
    const LARGEST_INDEX: u32 = u32::MAX;

    fn begin(&mut self, here: Here, _: &Argument) -> io::Result<()> {
        self.here = here;
        Ok(())
    }

    fn value(&mut self, argument: Argument) -> io::Result<Item> {
        use Opcode::{Ext1, Ext2, Ext4};
        match (self.here.code, argument) {
            (Ext1 | Ext2 | Ext4, _) => self.find(Use::Extension, None, true).map(|()| Item::Unknown),
            (_, Argument::Text(text)) => Ok(self.text(text)),
            (code, _) if code.is_text() => Ok(Item::Forgotten),
            _ => Ok(Item::Unknown),
        }
    }

    fn group(&mut self, _: Vec<Item>) -> io::Result<Item> {
        Ok(Item::Unknown)
    }

    fn import(&mut self, argument: Argument, texts: Option<[Item; 2]>) -> io::Result<Item> {
        let name = match (argument, texts) {
            (Argument::Name(name), _) => Some(name),
            (_, Some([Item::Text(module), Item::Text(name)])) => {
                Some(Name { module: String::from(&*module), name: String::from(&*name) })
            }
            (_, Some(items)) => {
                // A name of two texts; one is not known.
                let may_be_text = |item: &Item| matches!(item, Item::Text(_) | Item::Forgotten);
                self.scan.may_hide |= items.iter().all(may_be_text);
                None
            }
            _ => None,
        };
        let name = name.map(|name| self.name(name)).transpose()?;
        self.find(Use::Import, name.as_ref(), true)?;
        Ok(name.map_or(Item::Unknown, Item::Import))
    }

    fn call(&mut self, callee: Item, _: Item) -> io::Result<Item> {
        match callee {
            Item::Import(name) => self.find(Use::Call, Some(&name), true).map(|()| Item::Made(name)),
            _ => self.find(Use::Call, None, true).map(|()| Item::Unknown),
        }
    }

    fn build(&mut self, object: &Item, _: Item) -> io::Result<()> {
        match object {
            Item::Made(name) => self.find(Use::State, Some(name), true),
            // The attributes of the module's own class or function would be changed, for the whole program.
            Item::Import(name) => self.find(Use::State, Some(name), false),
            _ => self.find(Use::State, None, true),
        }
    }

    fn persistent(&mut self, _: Item) -> io::Result<Item> {
        self.find(Use::PersistentId, None, true).map(|()| Item::Unknown)
    }

    fn keeps(&mut self, _: u32, item: &Item, count: usize) -> bool {
        let is_known = *item != Item::Unknown;
        self.is_memo_full |= is_known && count > REMEMBERED;
        is_known && count <= REMEMBERED
    }

    fn unkept(&self) -> Item {
        if self.is_memo_full { Item::Forgotten } else { Item::Unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::{Finding, Make, Scan, Scanner, Use, scan};
    use crate::pickle::Opcode;

    fn scanned(pickle: &[u8]) -> Scan {
        scan(pickle).expect("read")
    }

    /// Returns what was found: the opcode, the name or `?`, and `+` if it is listed.
    fn found(pickle: &[u8]) -> Vec<String> {
        let line = |finding: Finding| {
            let name = finding.name.map_or("?".into(), |name| format!("{}.{}", name.module, name.name));
            let sign = if finding.is_listed { "+" } else { "" };
            format!("{} {name}{sign} {}", finding.code.name(), finding.at)
        };
        scanned(pickle).findings.into_iter().map(line).collect()
    }

    fn without_offsets(pickle: &[u8]) -> Vec<String> {
        let without = |one: String| one.rsplit_once(' ').map(|(one, _)| one.to_owned());
        found(pickle).into_iter().filter_map(without).collect()
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
            assert_eq!(without_offsets(pickle), system, "{pickle:?}");
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
            (b"ccollections\ndeque\n)R.", &["GLOBAL collections.deque+ 0", "REDUCE collections.deque+ 20"]),
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
        let numbers = ["I+1\n", "I 1\n", "I1_0\n", "I0x10\n", "I\0\n", "L 1L\n", "L0b1\n", "F 1_0.5\n"];
        let indices = ["Np+1\n", "Np 1\x0B\n", "Np1_0\ng 10\n", "Np-0\ng0\n", "Np7\0 \ng7\n"];
        let texts = ["V\\ud800\n", "S'\\x4'\n"];
        let lines = [&numbers[..], &indices, &texts].concat().into_iter().map(str::as_bytes);
        for before in lines.chain([&b"X\x03\0\0\0\xED\xA0\x80"[..]]) {
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
                "BINGET at byte 11 of the pickle fetches item 7 of the memo, which is not",
            ),
        ] {
            let scan = scanned(pickle);
            assert_eq!(scan.findings[0].code, Opcode::Global);
            let problem = scan.problem.expect("a problem");
            assert!(problem.at == at && problem.sentence.contains(sentence), "{problem:?}");
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
        // The memo begins again with each. The test takes minutes if that clears 8 MiB.
        let scan = scanned(&b"Nr\xFF\xFF\xFF\x03.".repeat(50_000));
        assert_eq!((scan.pickles, scan.problem), (50_000, None));
        assert!(scanned(b"Nr\xFF\xFF\xFF\x03.j\xFF\xFF\xFF\x03.").problem.is_some());
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

    #[test]
    fn what_is_forgotten_of_a_large_stack_is_unknown() {
        let deep = |begin: &[u8], end: &[u8]| [begin, &vec![b'N'; Scanner::DEEPEST + 1], end].concat();
        let drop = vec![b'0'; Scanner::DEEPEST + 1];
        let unlisted = ["STACK_GLOBAL ?", "REDUCE ?"];
        for (pickle, expected) in [
            (deep(b"", b"cos\nsystem\n)R."), &["GLOBAL os.system", "REDUCE os.system"][..]),
            (deep(b"U\x02osU\x06system", &[&drop[..], b"\x93)R."].concat()), &unlisted),
            (deep(b"(", b"t\x93)R."), &unlisted),
            (deep(b"(cos\nsystem\n", b"o."), &["GLOBAL os.system", "OBJ ?"]),
        ] {
            assert_eq!(without_offsets(&pickle), expected);
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
