//! Decodes pickles: an iterator of opcodes, with their offsets and arguments.

use super::opcode::{Form, Opcode};
use super::text::{unescaped, unquoted};
use crate::error::{beyond_limit, unsound};
use crate::zip::read_full;
use std::io::{self, BufRead, BufReader, Read};

/// The longest argument that is kept, in bytes. Of longer texts and bytes, only the place is known.
pub const KEPT: usize = 1 << 16;
/// The length to which the names of a long line are cut.
const SHOWN: usize = 1 << 10;
/// No frame is as long as this, or it ends after the file.
pub(crate) const LONGEST_FRAME: i128 = 1 << 40;
/// The number of bytes read at once.
const AHEAD: usize = 1 << 16;
/// What is wrong with an opcode whose argument no program understands.
pub(super) const INVALID: &str = "has an invalid argument";

/// An opcode of a pickle.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// The offset of its byte.
    pub at: u64,
    /// The offset after it and its argument.
    pub end: u64,
    /// The opcode.
    pub code: Opcode,
    /// Its argument.
    pub argument: Argument,
}

/// The argument of an opcode.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// The opcode has none.
    None,
    /// A bool, as `INT` spells it.
    Bool(bool),
    /// An integer, an index of the memo, the number of an extension, a version or a length.
    Int(i128),
    /// A float.
    Float(f64),
    /// A text.
    Text(String),
    /// Bytes, or a text that is not Unicode.
    Bytes(Vec<u8>),
    /// A module and a name in it.
    Name(Name),
    /// An argument that is too long to be kept. It was skipped.
    Skipped {
        /// The offset of its first byte.
        at: u64,
        /// Its length in bytes.
        len: u64,
    },
    /// An argument that is not understood. It has a value for some programs, perhaps.
    Unknown,
}

/// A name in a module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// The module.
    pub module: String,
    /// The name in the module.
    pub name: String,
}

/// The opcode that is being read or executed.
#[derive(Clone, Copy, Debug)]
pub struct Here {
    pub code: Opcode,
    pub at: u64,
    /// The offset after it.
    pub end: u64,
}

impl Default for Here {
    fn default() -> Self {
        Self { code: Opcode::Stop, at: 0, end: 0 }
    }
}

impl Here {
    /// Returns an error about the opcode.
    pub fn unsound(&self, what: impl AsRef<str>) -> io::Error {
        unsound(self.sentence(what.as_ref()))
    }

    /// Returns an error about a limit that the opcode exceeds.
    pub fn beyond(&self, what: impl AsRef<str>) -> io::Error {
        beyond_limit(self.sentence(what.as_ref()))
    }

    /// Returns an error about the opcode unless something holds.
    pub fn ensure<S: AsRef<str>>(&self, holds: bool, what: impl FnOnce() -> S) -> io::Result<()> {
        if holds { Ok(()) } else { Err(self.unsound(what())) }
    }

    fn sentence(&self, what: &str) -> String {
        format!("opcode {} at byte {} of the pickle {what}", self.code.name(), self.at)
    }
}

/// Decodes the opcodes of a pickle, up to and including `STOP`.
///
/// It goes on wherever a program might: a line whose value is not understood is [`Argument::Unknown`], an
/// index is read as Python reads integers, and a line may end with the source. It ends after `STOP`, after an
/// opcode that crosses the end of its frame, and after an error; [`resume`](Self::resume) begins the next
/// pickle of the source. Errors are of the kind [`InvalidData`](io::ErrorKind::InvalidData) if the source is
/// not a pickle or is truncated, and otherwise those of the source.
///
/// Memory: two buffers of 64 KiB, and the argument.
#[derive(Debug)]
pub struct Opcodes<R> {
    source: BufReader<R>,
    at: u64,
    here: Here,
    state: State,
    /// Where the outermost frame ends.
    frame_end: u64,
    crosses_frame: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Open,
    Stopped,
    /// After the opcode at this offset, which crosses the end of a frame.
    Crossed(u64),
    Failed,
}

impl<R: Read> Opcodes<R> {
    /// Creates a decoder. Offsets begin with 0.
    pub fn new(source: R) -> Self {
        Self::starting_at(source, 0)
    }

    /// Creates a decoder of a source that begins at this offset.
    pub fn starting_at(source: R, at: u64) -> Self {
        let (source, here, state) = (BufReader::with_capacity(AHEAD, source), Here::default(), State::Open);
        Self { source, at, here, state, frame_end: 0, crosses_frame: false }
    }

    /// Whether an opcode crossed the end of its frame, so that programs differ in what they read next.
    pub fn crosses_frame(&self) -> bool {
        self.crosses_frame
    }

    /// Returns the offset after all that was decoded.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// Begins the next pickle if bytes follow the last `STOP`, and returns whether there are any. Offsets
    /// continue.
    ///
    /// # Errors
    /// Those of the source.
    pub fn resume(&mut self) -> io::Result<bool> {
        let may_follow = matches!(self.state, State::Open | State::Stopped);
        let more = may_follow && !self.fill()?.is_empty();
        if more {
            self.state = State::Open;
            self.frame_end = 0;
        }
        Ok(more)
    }

    /// Returns the buffered bytes; none at the end of the source.
    fn fill(&mut self) -> io::Result<&[u8]> {
        loop {
            match self.source.fill_buf() {
                Ok(_) => return Ok(self.source.buffer()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn consume(&mut self, len: usize) {
        self.source.consume(len);
        self.at += len as u64;
    }

    fn decode(&mut self) -> io::Result<Op> {
        let at = self.at;
        let Some(&byte) = self.fill()?.first() else {
            return Err(unsound(format!("the pickle ends at byte {at}, without STOP")));
        };
        self.consume(1);
        let Some(code) = Opcode::of(byte) else {
            return Err(unsound(format!("byte {byte:#04x} at byte {at} of the pickle is not an opcode")));
        };
        self.here = Here { code, at, end: self.at };
        let argument = self.argument()?;
        Ok(Op { at, end: self.at, code, argument })
    }

    fn argument(&mut self) -> io::Result<Argument> {
        match self.here.code.form() {
            Form::Nothing => Ok(Argument::None),
            Form::Unsigned(width) => Ok(Argument::Int(self.number(width)?.into())),
            Form::Signed => Ok(Argument::Int(i32::from_le_bytes(self.array()?).into())),
            Form::Float => Ok(Argument::Float(f64::from_be_bytes(self.array()?))),
            Form::Long(width) => self.sized(width, 16, long),
            Form::Text(width) | Form::OldText(width) => self.sized(width, KEPT, texts),
            Form::Bytes(width) => self.sized(width, KEPT, Argument::Bytes),
            Form::TwoLines => self.names(),
            Form::Line => self.in_line(|line| Some(texts(line))),
            Form::IntLine => self.number_in_line(int),
            Form::LongLine => self.number_in_line(|line| {
                python_int(line.strip_suffix(b"L").unwrap_or(line)).map(Argument::Int)
            }),
            Form::IndexLine => self.index(),
            Form::FloatLine => self.number_in_line(float),
            Form::QuotedLine => self.in_line(|line| unquoted(&line).map(texts)),
            Form::EscapedLine => self.in_line(|line| unescaped(&line).map(Argument::Text)),
        }
    }

    /// Fills the buffer.
    fn exact(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let len = read_full(&mut self.source, buffer)?;
        self.at += len as u64;
        self.here.ensure(len == buffer.len(), || "is truncated")
    }

    fn array<const LEN: usize>(&mut self) -> io::Result<[u8; LEN]> {
        let mut array = [0; LEN];
        self.exact(&mut array).map(|()| array)
    }

    /// Reads an unsigned integer of `width` bytes.
    fn number(&mut self, width: usize) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.exact(&mut bytes[..width.min(8)]).map(|()| u64::from_le_bytes(bytes))
    }

    /// Reads the length of an argument. That of old texts and of integers is signed.
    fn len(&mut self, width: usize) -> io::Result<u64> {
        let len = self.number(width)?;
        let is_signed = matches!(self.here.code.form(), Form::OldText(_) | Form::Long(_));
        let fits = !is_signed || len <= u64::from(i32::MAX.unsigned_abs());
        self.here.ensure(fits, || INVALID).map(|()| len)
    }

    /// Reads bytes after their length, or skips them if they are more than `most`.
    fn sized(&mut self, width: usize, most: usize, kept: fn(Vec<u8>) -> Argument) -> io::Result<Argument> {
        let len = self.len(width)?;
        match usize::try_from(len) {
            Ok(len) if len <= most => {
                let mut bytes = vec![0; len];
                self.exact(&mut bytes)?;
                Ok(kept(bytes))
            }
            _ => self.skip(len),
        }
    }

    fn skip(&mut self, len: u64) -> io::Result<Argument> {
        let at = self.at;
        self.at += io::copy(&mut (&mut self.source).take(len), &mut io::sink())?;
        self.here.ensure(self.at - at == len, || "is truncated")?;
        Ok(Argument::Skipped { at, len })
    }

    /// Reads a line, without its end, as an argument. A line that is too long is skipped.
    fn in_line(&mut self, read: impl FnOnce(Vec<u8>) -> Option<Argument>) -> io::Result<Argument> {
        let (kept, skipped) = self.line()?;
        Ok(skipped.or_else(|| read(kept)).unwrap_or(Argument::Unknown))
    }

    /// The same for a number. One with letters that no number has ends every program.
    fn number_in_line(&mut self, read: impl FnOnce(&[u8]) -> Option<Argument>) -> io::Result<Argument> {
        let mut may_be_number = false;
        let argument = self.in_line(|line| {
            let text = line.split(|&byte| byte == 0).next().unwrap_or_default();
            let has_number = |byte: &u8| b"abcdefilnotxy".contains(&byte.to_ascii_lowercase());
            may_be_number = text.iter().all(|byte| !byte.is_ascii_alphabetic() || has_number(byte));
            read(&line)
        })?;
        may_be_number |= matches!(argument, Argument::Skipped { .. });
        self.here.ensure(may_be_number, || INVALID).map(|()| argument)
    }

    fn index(&mut self) -> io::Result<Argument> {
        Ok(match self.line()? {
            (kept, None) => python_int(&kept).map_or(Argument::Unknown, Argument::Int),
            (kept, Some(skipped)) if may_be_index(&kept) => skipped,
            _ => Argument::Unknown,
        })
    }

    fn names(&mut self) -> io::Result<Argument> {
        let ((module, long), (name, long_name)) = (self.line()?, self.line()?);
        let is_truncated = module.is_empty() && self.fill()?.is_empty();
        self.here.ensure(!is_truncated, || "is truncated")?;
        // Of a long one, the beginning, which is the module that is imported first.
        let text = |kept: Vec<u8>, is_long| match kept.get(..SHOWN) {
            Some(begin) if is_long => Some(String::from_utf8_lossy(begin).into_owned()),
            _ => String::from_utf8(kept).ok(),
        };
        let names = text(module, long.is_some()).zip(text(name, long_name.is_some()));
        let (module, name) = names.ok_or_else(|| self.here.unsound(INVALID))?;
        Ok(Argument::Name(Name { module, name }))
    }

    /// Reads a line without its end. One that is too long is skipped, and its beginning is kept.
    fn line(&mut self) -> io::Result<(Vec<u8>, Option<Argument>)> {
        let (at, mut kept) = (self.at, Vec::new());
        loop {
            let ready = self.fill()?;
            let is_end = ready.is_empty();
            let end = ready.iter().position(|&byte| byte == b'\n');
            let len = end.unwrap_or(ready.len());
            // One byte more shows that it is too long.
            let room = (KEPT + 1).saturating_sub(kept.len());
            kept.extend_from_slice(&ready[..len.min(room)]);
            self.consume(len + usize::from(end.is_some()));
            if is_end || end.is_some() {
                let len = (self.at - at).saturating_sub(1);
                let skipped = (kept.len() > KEPT).then_some(Argument::Skipped { at, len });
                // As in Python, which drops the last byte, whatever it is.
                kept.truncate(usize::try_from(len).unwrap_or(usize::MAX));
                return Ok((kept, skipped));
            }
        }
    }
}

impl<R: Read> Iterator for Opcodes<R> {
    type Item = io::Result<Op>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        match self.state {
            State::Open => {}
            State::Crossed(at) => {
                self.state = State::Failed;
                let end = self.frame_end;
                return Some(Err(unsound(format!(
                    "the opcode at byte {at} of the pickle contradicts its frame, which ends at byte {end}"
                ))));
            }
            State::Stopped | State::Failed => return None,
        }
        let op = self.decode();
        let is_crossed = self.leaves_frame(at, op.as_ref().ok());
        self.crosses_frame |= is_crossed;
        match &op {
            Err(_) => self.state = State::Failed,
            Ok(_) if is_crossed => self.state = State::Crossed(at),
            Ok(op) if op.code == Opcode::Stop => self.state = State::Stopped,
            Ok(_) => {}
        }
        Some(op)
    }
}

impl<R> Opcodes<R> {
    /// Whether the opcode that was decoded, or was not understood, crosses the end of a frame: there,
    /// Python's own machine drops bytes of some sources, and reads other opcodes than all other programs. A
    /// frame that is longer than any file is unlikely to be one.
    fn leaves_frame(&mut self, at: u64, op: Option<&Op>) -> bool {
        let reaches = match op {
            Some(Op { code: Opcode::Frame, argument: Argument::Int(len @ ..LONGEST_FRAME), .. }) => {
                self.at.saturating_add(u64::try_from(*len).unwrap_or_default())
            }
            Some(Op { code: Opcode::Stop, .. }) if self.at < self.frame_end => return true,
            _ => self.at,
        };
        let is_crossed = at < self.frame_end && reaches > self.frame_end;
        if op.is_some_and(|op| op.code == Opcode::Frame) && !is_crossed {
            self.frame_end = self.frame_end.max(reaches);
        }
        is_crossed
    }
}

fn int(line: &[u8]) -> Option<Argument> {
    match line {
        b"00" => Some(Argument::Bool(false)),
        b"01" => Some(Argument::Bool(true)),
        line => python_int(line).map(Argument::Int),
    }
}

fn float(line: &[u8]) -> Option<Argument> {
    std::str::from_utf8(line).ok()?.parse().ok().map(Argument::Float)
}

/// Returns an integer of at most 16 bytes in two's complement.
fn long(bytes: Vec<u8>) -> Argument {
    let is_negative = bytes.last().is_some_and(|last| *last > 0x7F);
    let mut all = [if is_negative { 0xFF } else { 0 }; 16];
    all.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    Argument::Int(i128::from_le_bytes(all))
}

/// Returns the text, or the bytes if they are not UTF-8.
fn texts(bytes: Vec<u8>) -> Argument {
    String::from_utf8(bytes).map_or_else(|error| Argument::Bytes(error.into_bytes()), Argument::Text)
}

/// Returns an integer as Python reads it: with space around it, a sign, and underscores between digits. One
/// that is too large becomes the largest. Python's own machine sees the end of a text in a zero byte.
fn python_int(line: &[u8]) -> Option<i128> {
    let is_space = |byte: &u8| matches!(byte, b' ' | 9..=13);
    let text = line.split(|&byte| byte == 0).next()?;
    let begin = text.iter().position(|byte| !is_space(byte))?;
    let end = text.iter().rposition(|byte| !is_space(byte))?;
    let (is_negative, digits) = match text.get(begin..=end)? {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let mut value = 0_i128;
    for group in digits.split(|&byte| byte == b'_') {
        if group.is_empty() || !group.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let add = |value: i128, digit: &u8| value.saturating_mul(10).saturating_add((digit - b'0').into());
        value = group.iter().fold(value, add);
    }
    Some(if is_negative { -value } else { value })
}

/// Whether a line that begins so could be an index of more digits than are kept.
fn may_be_index(kept: &[u8]) -> bool {
    let text = kept.split(|&byte| byte == 0).next().unwrap_or_default();
    let fits = |byte: &u8| matches!(byte, b'0'..=b'9' | b'_' | b'+' | b'-' | b' ' | 9..=13);
    !text.is_empty() && text.iter().all(fits)
}

#[cfg(test)]
mod tests {
    use super::{Argument, KEPT, Name, Opcodes};
    use crate::pickle::Opcode;
    use std::io;

    fn first(pickle: &[u8]) -> io::Result<Argument> {
        Opcodes::new(pickle).next().expect("an opcode").map(|op| op.argument)
    }

    /// Every opcode that has an argument, by what that is.
    fn cases() -> Vec<(Argument, Vec<&'static [u8]>)> {
        let name = Argument::Name(Name { module: "a".into(), name: "b".into() });
        vec![
            (Argument::Int(12), vec![b"I12\n", b"L12L\n", b"g12\n", b"p12\n"]),
            (Argument::Int(12), vec![b"h\x0C", b"q\x0C", b"r\x0C\0\0\0"]),
            (Argument::Int(5), vec![b"\x80\x05", b"\x82\x05", b"\x83\x05\0", b"\x84\x05\0\0\0"]),
            (Argument::Int(-12), vec![b"I-12\n"]),
            (Argument::Int(-2), vec![b"J\xFE\xFF\xFF\xFF"]),
            (Argument::Int(254), vec![b"K\xFE"]),
            (Argument::Int(0xFFFE), vec![b"M\xFE\xFF"]),
            (Argument::Int(1 << 31), vec![b"j\0\0\0\x80"]),
            (Argument::Int(255), vec![b"\x95\xFF\0\0\0\0\0\0\0"]),
            (Argument::Int(-255), vec![b"\x8A\x02\x01\xFF"]),
            (Argument::Int(0), vec![b"\x8A\x00"]),
            (Argument::Int(127), vec![b"\x8B\x01\0\0\0\x7F"]),
            (Argument::Bool(true), vec![b"I01\n"]),
            (Argument::Bool(false), vec![b"I00\n"]),
            (Argument::Float(-1.5), vec![b"F-1.5\n"]),
            (Argument::Float(1.5), vec![b"G\x3F\xF8\0\0\0\0\0\0"]),
            (Argument::Text(String::new()), vec![b"P\n"]),
            (Argument::Text("ab".into()), vec![b"S'ab'\n", b"Vab\n", b"T\x02\0\0\0ab", b"U\x02ab"]),
            (Argument::Text("ab".into()), vec![b"X\x02\0\0\0ab", b"\x8C\x02ab", b"\x8D\x02\0\0\0\0\0\0\0ab"]),
            (Argument::Bytes(b"ab".to_vec()), vec![b"B\x02\0\0\0ab", b"C\x02ab"]),
            (Argument::Bytes(b"ab".to_vec()), vec![b"\x8E\x02\0\0\0\0\0\0\0ab", b"\x96\x02\0\0\0\0\0\0\0ab"]),
            (name, vec![b"ca\nb\n", b"ia\nb\n"]),
        ]
    }

    #[test]
    fn each_argument_is_decoded_and_none_may_be_truncated() {
        let mut seen = Vec::new();
        let cases = cases();
        for (value, bytes) in
            cases.iter().flat_map(|(value, all)| all.iter().map(move |bytes| (value, *bytes)))
        {
            assert_eq!(&first(bytes).expect("an argument"), value, "{bytes:?}");
            // A line may end with the source.
            for len in 1..if bytes.ends_with(b"\n") { 0 } else { bytes.len() } {
                let error = first(&bytes[..len]).expect_err("a truncated argument");
                assert_eq!(error.kind(), io::ErrorKind::InvalidData);
                assert!(error.to_string().ends_with("is truncated"), "{error}");
            }
            seen.extend(Opcode::of(bytes[0]));
        }
        for opcode in Opcode::ALL.iter().filter(|opcode| !seen.contains(opcode)) {
            assert_eq!(first(&[*opcode as u8]).expect("an opcode"), Argument::None, "{opcode:?}");
        }
    }

    #[test]
    fn invalid_arguments_are_rejected_or_unknown() {
        for pickle in
            [&b"I1s\n"[..], b"c\xFF\nb\n", b"c", b"T\xFF\xFF\xFF\xFFab", b"\x8B\xFF\xFF\xFF\xFFab", b"\xFF"]
        {
            assert!(first(pickle).is_err(), "{pickle:?}");
        }
        for line in "I+ I I0x10 L1LL Fx gL p1__0 p+ p pL Sab V\\u12 V\\ud800".split(' ') {
            let argument = first(format!("{line}\n").as_bytes()).expect("a line");
            assert_eq!(argument, Argument::Unknown, "{line}");
        }
        let huge = format!("g-{}", u128::MAX);
        for (line, index) in
            [("g 1_0\t", 10), ("p+7", 7), ("g-1", -1), ("p2\0x", 2), ("g007", 7), (&huge, -i128::MAX)]
        {
            let argument = first(format!("{line}\n").as_bytes()).expect("a line");
            assert_eq!(argument, Argument::Int(index), "{line}");
        }
    }

    #[test]
    fn long_arguments_are_skipped() {
        let mut long = b"X\x01\0\x01\0".to_vec();
        long.extend(vec![b'a'; KEPT + 1]);
        assert_eq!(first(&long).expect("a text"), Argument::Skipped { at: 5, len: KEPT as u64 + 1 });
        long.pop();
        assert!(first(&long).is_err());
        assert!(first(b"\x8E\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFab").is_err());
        // Zeros, which are a text and a number of any length.
        let zeros = |len: usize| "0".repeat(len);
        let quoted = |len: usize| format!("'{}'", zeros(len - 2));
        for (code, line, value) in [
            (b'P', &zeros as &dyn Fn(usize) -> String, Argument::Text(zeros(KEPT))),
            (b'V', &zeros, Argument::Text(zeros(KEPT))),
            (b'S', &quoted, Argument::Text(zeros(KEPT - 2))),
            (b'I', &zeros, Argument::Int(0)),
            (b'F', &zeros, Argument::Float(0.0)),
        ] {
            for len in [KEPT, KEPT + 1, 3 * KEPT] {
                let line = [&[code][..], line(len).as_bytes(), b"\nN."].concat();
                let mut opcodes = Opcodes::new(&line[..]);
                let op = opcodes.next().expect("an opcode").expect("a line");
                let skipped = Argument::Skipped { at: 1, len: len as u64 };
                assert_eq!(op.argument, if len == KEPT { value.clone() } else { skipped });
                assert_eq!(opcodes.count(), 2);
            }
        }
        let huge = first(b"L1234567890123456789012345678901234567890L\n").expect("an integer");
        assert_eq!(huge, Argument::Int(i128::MAX));
    }
}
