//! What an error says, as parts: whoever writes it down, at run time or inside the compiler, says the same.

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind, MAX_HEADER_LEN};
use core::fmt;

/// A part of a sentence.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Text(&'static str),
    Number(u64),
    /// A number of bytes, in words.
    Bytes(u64),
    /// One byte, as the character that it is or in hexadecimal.
    Byte(u8),
}

use Part::{Byte, Bytes, Number, Text};

/// One sentence, without a period.
pub(crate) struct Sentence {
    parts: [Part; Self::LONGEST],
}

impl Sentence {
    const LONGEST: usize = 7;

    const fn of<const N: usize>(some: [Part; N]) -> Self {
        let mut parts = [Text(""); Self::LONGEST];
        let (mut from, mut to): (&[Part], &mut [Part]) = (&some, &mut parts);
        while let ([part, from_rest @ ..], [slot, to_rest @ ..]) = (from, to) {
            *slot = *part;
            (from, to) = (from_rest, to_rest);
        }
        Self { parts }
    }

    /// Its parts; empty texts fill it up.
    pub(crate) const fn parts(&self) -> &[Part] {
        &self.parts
    }
}

impl ErrorKind {
    /// What `Display` says.
    pub(crate) const fn sentence(self) -> Sentence {
        match self {
            Self::Missing(field) => {
                Sentence::of([Text("the entry has no \""), Text(field.name()), Text("\"")])
            }
            Self::Repeated(field) => {
                Sentence::of([Text("the entry has \""), Text(field.name()), Text("\" twice")])
            }
            Self::ListType(field) => {
                Sentence::of([Text("\""), Text(field.name()), Text("\" is not an array")])
            }
            Self::NotAnInteger(field) => {
                let rest = Text("\" is not a plain non-negative integer");
                Sentence::of([Text("a number in \""), Text(field.name()), rest])
            }
            Self::IntegerRange(field) => {
                let rest = Text("\" is larger than 18446744073709551615");
                Sentence::of([Text("a number in \""), Text(field.name()), rest])
            }
            Self::UnexpectedByte(byte) => {
                Sentence::of([Byte(byte), Text(" does not belong here in a JSON text")])
            }
            Self::ControlCharacter(byte) => {
                Sentence::of([Byte(byte), Text(" must be escaped inside a string")])
            }
            Self::Escape(byte) => {
                Sentence::of([Byte(byte), Text(" does not belong into an escape sequence")])
            }
            Self::Trailing(byte) => {
                Sentence::of([Byte(byte), Text(" stands after the end of the header's object")])
            }
            _ => self.of_layout(),
        }
    }

    /// What is said of lengths and offsets.
    const fn of_layout(self) -> Sentence {
        match self {
            Self::HeaderTooLarge { length } => {
                let most = [Text(", more than the "), Number(MAX_HEADER_LEN), Text(" that are allowed")];
                let [more, limit, rest] = most;
                Sentence::of([Text("the header claims "), Bytes(length), more, limit, rest])
            }
            Self::HeaderBeyondFile { length, present } => {
                let (but, rest) = (Text(", but the file has only "), Text(" of them"));
                Sentence::of([Text("the header claims "), Bytes(length), but, Number(present), rest])
            }
            Self::SubByte { elements, bits } => {
                let [of, rest] = match elements {
                    1 => [" element of ", " bits does not fill whole bytes"],
                    _ => [" elements of ", " bits do not fill whole bytes"],
                };
                Sentence::of([Number(elements), Text(of), Number(bits as u64), Text(rest)])
            }
            Self::Size { range, needed } => {
                let but = Text(", but dtype and shape need ");
                Sentence::of([Text("the offsets span "), Bytes(range), but, Number(needed)])
            }
            Self::Reversed { begin, end } => {
                let but = Text(", but ends before that, at ");
                Sentence::of([Text("begins at "), Number(begin), but, Number(end)])
            }
            Self::Hole { begin, previous_end } => hole(begin, previous_end),
            Self::Overlap { begin, previous_end } => overlap(begin, previous_end),
            Self::DataShort { needed, present } => {
                let but = Text(" of data, but the file has only ");
                Sentence::of([Text("the tensors need "), Bytes(needed), but, Number(present)])
            }
            Self::DataTrailing { needed } => {
                let but = Text(" of data, but the file goes on");
                Sentence::of([Text("the tensors end after "), Bytes(needed), but])
            }
            _ => self.of_memory(),
        }
    }

    /// What is said of memory.
    const fn of_memory(self) -> Sentence {
        match self {
            Self::Rank { limit } => {
                let rest = Text(" dimensions that can be held");
                Sentence::of([Text("the tensor has more than the "), Number(limit as u64), rest])
            }
            Self::NameLength { needed, capacity } => memory("the name has ", needed, capacity),
            Self::ValueLength { needed, capacity } => memory("the value has ", needed, capacity),
            Self::SlotCount { capacity } => {
                let are = if capacity == 1 { " slot is" } else { " slots are" };
                let rest = Text(" too few to tell the header's names apart");
                Sentence::of([Number(capacity), Text(are), rest])
            }
            Self::MetadataLength { needed, capacity } => {
                let but = Text(" of memory, but there are ");
                Sentence::of([Text("\"__metadata__\" needs "), Bytes(needed), but, Number(capacity)])
            }
            Self::Index { part, needed, capacity } => {
                let (what, but) = (Text(part.name(needed)), Text(", but the index has memory for "));
                Sentence::of([
                    Text("the header has "),
                    Number(needed),
                    Text(" "),
                    what,
                    but,
                    Number(capacity),
                ])
            }
            Self::BufferLength { needed, capacity } => {
                let must = Text(" must fit into the buffer, but it has ");
                Sentence::of([Bytes(needed), must, Number(capacity)])
            }
            _ => self.of_requests(),
        }
    }

    /// What is said of requests for the data.
    const fn of_requests(self) -> Sentence {
        match self {
            Self::NotFound { wanted: Some(wanted) } => {
                let what = Text("the file has no tensor of the name that was asked for (number ");
                Sentence::of([what, Number(wanted), Text(", from 0)")])
            }
            Self::OutsideTensor { asked, len } => {
                let was = Text(" was asked for of a tensor that has ");
                Sentence::of([Text("byte "), Number(asked), was, Bytes(len)])
            }
            Self::OutsideElements { asked, len } => {
                let was = Text(" was asked for, and there are ");
                Sentence::of([Text("element "), Number(asked), was, Number(len)])
            }
            Self::OutsideData { end, data_len } => {
                let of = Text(" of the data, which has ");
                Sentence::of([Text("the tensor ends at byte "), Number(end), of, Bytes(data_len)])
            }
            Self::Block { asked } => {
                let what = Text("chunks cannot begin at multiples of ");
                Sentence::of([what, Number(asked), Text(": not a power of two")])
            }
            Self::DtypeMismatch { found, asked } => {
                let but = Text(", but it has elements of ");
                Sentence::of([Text("the tensor was asked for as "), name(asked), but, name(found)])
            }
            Self::Lossy { from, to } => {
                let rest = Text(" can hold: ask for them rounded");
                Sentence::of([name(from), Text(" has values that no "), name(to), rest])
            }
            Self::NoConversion { from, to } => {
                Sentence::of([Text("elements of "), name(from), Text(" cannot be read as "), name(to)])
            }
            Self::Misaligned { unit, over, over_in_file } => misaligned(unit, over, over_in_file),
            Self::OutsideAxis { axis, asked, size } => {
                let [of, long] = [Text(" was asked for of axis "), Text(", whose size is ")];
                Sentence::of([Text("index "), Number(asked), of, Number(axis as u64), long, Number(size)])
            }
            Self::TooManyRanges { asked, rank } => {
                let has = Text(if rank == 1 { " axis, but " } else { " axes, but " });
                let were = Text(if asked == 1 { " was asked for" } else { " were asked for" });
                Sentence::of([Text("the tensor has "), Number(rank), has, Number(asked), were])
            }
            Self::ZeroStep { axis } => {
                Sentence::of([Text("the range of axis "), Number(axis as u64), Text(" has a step of 0")])
            }
            Self::PartOfByte { bits } => {
                let of = Text("a byte has elements of the slice and others, of ");
                Sentence::of([of, Number(bits as u64), Text(" bits each: read them as values")])
            }
            _ => self.of_writing(),
        }
    }

    /// What is said of what is to be written.
    const fn of_writing(self) -> Sentence {
        match self {
            Self::TooManyBytes { tensor, given, left } => {
                let [takes, but] = [Text(", counted from 0, takes "), Text(" more, but was given ")];
                Sentence::of([Text("tensor "), Number(tensor as u64), takes, Bytes(left), but, Number(given)])
            }
            Self::TensorLength { tensor, given, needed } => {
                let [has, but] = [Text(", counted from 0, has "), Text(", but was given ")];
                Sentence::of([Text("tensor "), Number(tensor as u64), has, Bytes(needed), but, Number(given)])
            }
            Self::ValueType { tensor, given, needed } => {
                let [has, but] = [Text(", counted from 0, has elements of "), Text(", but was given ")];
                Sentence::of([Text("tensor "), Number(tensor as u64), has, name(needed), but, name(given)])
            }
            Self::NotDue { tensor } => {
                let [its, rest] = [Text("it is the turn of tensor "), Text(", counted from 0")];
                Sentence::of([its, Number(tensor as u64), rest])
            }
            Self::Incomplete { tensor, missing } => {
                let [from, rest] = [Text(" missing, from tensor "), Text(" on, counted from 0")];
                let are = Text(if missing == 1 { " is" } else { " are" });
                Sentence::of([Bytes(missing), are, from, Number(tensor as u64), rest])
            }
            Self::Capacity { needed, capacity } => {
                let but = Text(", but the storage has room for ");
                Sentence::of([Text("the file takes "), Bytes(needed), but, Number(capacity)])
            }
            Self::Longer { len, file_len } => {
                let (but, rest) = (Text(", but the file only "), Text(": make it shorter first"));
                Sentence::of([Text("the storage holds "), Bytes(len), but, Number(file_len), rest])
            }
            Self::Partition { start, sector } => {
                let (start, sector) = (Number(start as u64), Number(sector as u64));
                let but = Text(", but the flash erases at multiples of ");
                Sentence::of([Text("the partition begins at address "), start, but, sector])
            }
            Self::Unit { unit } => {
                let rest = Text(": place them at a multiple of that");
                Sentence::of([
                    Text("the data begin inside one of the storage's units of "),
                    Bytes(unit),
                    rest,
                ])
            }
            _ => Sentence::of([Text(self.plain())]),
        }
    }

    const fn plain(self) -> &'static str {
        match self {
            Self::FileTooShort => "the file is shorter than the 8 bytes of the header's length",
            Self::Utf8 => "the header is not valid UTF-8",
            Self::UnexpectedEnd => "the header ends before its JSON text does",
            Self::Surrogate => "half a surrogate pair",
            Self::Number => "not a JSON number",
            Self::Depth => "more than 127 brackets are open at once",
            Self::HeaderType => "the header is not a JSON object",
            Self::EntryType => "the entry is not an object",
            Self::EntryArray => "the entry is an array, not an object",
            Self::DtypeType => "\"dtype\" is not a string",
            Self::DtypeObject => "\"dtype\" is an object, not a string",
            Self::DtypeUnknown => "there is no such dtype",
            Self::OffsetsCount => "\"data_offsets\" does not have exactly two numbers",
            Self::MetadataType => "\"__metadata__\" is neither an object nor null",
            Self::MetadataValue => "a value in \"__metadata__\" is not a string",
            Self::MetadataTwice => "\"__metadata__\" stands twice in the header",
            Self::Overflow => "the size of the tensor, counted in bits, does not fit into 64 bits",
            Self::NameTwice => "an earlier tensor has the same name",
            Self::KeyTwice => "an earlier key of \"__metadata__\" is the same",
            Self::NoText => "two names may be the same, and there is no memory to compare them in",
            Self::OutOfOrder => {
                "the header does not list its tensors in the order of their offsets, and there is no memory to sort them in"
            }
            Self::Changed => "the header is not the same as in the pass before",
            Self::NotFound { .. } => "the file has no such tensor, or it was not looked for",
            Self::ShapeMismatch => "the tensor has another shape than the array that was asked for",
            Self::BigEndian => {
                "this machine has the high byte first and cannot read the elements where they lie"
            }
            Self::NothingDue => "all tensors have their bytes already",
            Self::NoWindow => "the window has no room for a single byte",
            _ => "some other error", // none: a test looks for each kind in here
        }
    }
}

const fn name(dtype: Dtype) -> Part {
    Text(dtype.name())
}

const fn memory(what: &'static str, needed: u64, capacity: u64) -> Sentence {
    Sentence::of([Text(what), Bytes(needed), Text(", but there is memory for "), Number(capacity)])
}

const fn hole(begin: u64, previous_end: u64) -> Sentence {
    let gap = begin.saturating_sub(previous_end);
    let belong = Text(if gap == 1 { " belongs to no tensor)" } else { " belong to no tensor)" });
    let but = match previous_end {
        0 => ", but the data begins at ",
        _ => ", but the tensor before it ends at ",
    };
    let [begins, open] = [Text("begins at "), Text(" (")];
    Sentence::of([begins, Number(begin), Text(but), Number(previous_end), open, Bytes(gap), belong])
}

const fn overlap(begin: u64, previous_end: u64) -> Sentence {
    let shared = Bytes(previous_end.saturating_sub(begin));
    let inside = Text(", inside the tensor before it, which ends at ");
    let [begins, open, early] = [Text("begins at "), Text(" ("), Text(" too early)")];
    Sentence::of([begins, Number(begin), inside, Number(previous_end), open, shared, early])
}

const fn misaligned(unit: u8, over: u8, over_in_file: u8) -> Sentence {
    let why = match over_in_file {
        0 => ", because the file does not begin at one: place it at one, as include_aligned! does",
        _ => {
            ", because of their place in the file: read them as values, or write the file with its tensors aligned"
        }
    };
    let (begin, behind) = (Text("the elements begin "), Text(" behind a multiple of "));
    Sentence::of([begin, Bytes(over as u64), behind, Number(unit as u64), Text(why)])
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Text(text) => f.write_str(text),
            Number(number) => write!(f, "{number}"),
            Bytes(1) => f.write_str("1 byte"),
            Bytes(number) => write!(f, "{number} bytes"),
            Byte(byte) if byte.is_ascii_graphic() => write!(f, "'{}'", byte as char),
            Byte(byte) => write!(f, "byte 0x{byte:02x}"),
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().parts().iter().try_for_each(|part| part.fmt(f))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}] at byte {}: {}", self.kind.code(), self.at, self.kind)
    }
}
