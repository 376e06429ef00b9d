//! The model that the program expects, and the wrong ones. Devices read the same tables: no heap.

use core::fmt::{self, Write};
use core::ops::Deref;
use embedded_safetensors::integrity::{KEY, Sha256, Verifier, ZEROS};
use embedded_safetensors::{Dtype, query::Query};

/// What the program expects.
pub const NET: [Query<'static>; 3] = [
    Query::required("fc.weight").dtype(Dtype::I8).shape(&[3, 8]),
    Query::required("fc.scale").dtypes(&[Dtype::F16, Dtype::BF16]).shape(&[3]),
    Query::required("fc.bias").dtype(Dtype::F32).shape(&[3]),
];

/// Name, dtype, shape, and how many bytes the offsets span.
type Entry = (&'static str, &'static str, &'static str, u64);

const BIAS: Entry = ("fc.bias", "F32", "[3]", 12);
const SCALE: Entry = ("fc.scale", "F16", "[3]", 6);
const WEIGHT: Entry = ("fc.weight", "I8", "[3,8]", 24);

/// The entries of the right model, in the order of their data.
const RIGHT: &[Entry] = &[BIAS, SCALE, WEIGHT];

/// The bytes of its data.
const DATA: usize = 42;

/// The length of the longest model.
pub const LONGEST: usize = 512;

/// Bytes of a file, or a text.
pub struct Bytes {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Bytes {
    /// Returns the right model.
    pub fn right() -> Self {
        Self::file(RIGHT)
    }

    /// Returns the right model with its sum in it.
    pub fn right_with_sum() -> Self {
        let mut file = Self::with_sum(Some(ZEROS), RIGHT);
        let mut verifier = Verifier::new(Sha256::new());
        verifier.update(&file);
        let sum = verifier.finish().expect("it contains digits");
        let at = usize::try_from(sum.at).expect("a file in memory");
        file.bytes[at..at + ZEROS.len()].copy_from_slice(&sum.digits());
        file
    }

    /// Returns a file with these entries. Its data is 0, 1, 2, ….
    fn file(entries: &[Entry]) -> Self {
        Self::with_sum(None, entries)
    }

    /// Returns a file with these digits as its sum, if there are any.
    fn with_sum(digits: Option<&str>, entries: &[Entry]) -> Self {
        let mut file = Self::filled(0, 8);
        file.write_str("{").expect("it fits");
        if let Some(digits) = digits {
            write!(file, r#""__metadata__":{{"{KEY}":"{digits}"}},"#).expect("it fits");
        }
        let mut begin = 0;
        for (index, (name, dtype, shape, len)) in entries.iter().enumerate() {
            let (before, end) = (if index == 0 { "" } else { "," }, begin + len);
            write!(file, r#"{before}"{name}":{{"dtype":"{dtype}","shape":{shape},"#).expect("it fits");
            write!(file, r#""data_offsets":[{begin},{end}]}}"#).expect("it fits");
            begin = end;
        }
        file.write_str("}").expect("it fits");
        let header = (file.len - 8) as u64;
        file.bytes[..8].copy_from_slice(&header.to_le_bytes());
        (0..begin).for_each(|byte| file.push(byte.to_le_bytes()[0]));
        file
    }

    /// Returns the text of a value.
    pub fn text(value: &impl fmt::Display) -> Self {
        let mut text = Self::filled(0, 0);
        write!(text, "{value}").expect("it fits");
        text
    }

    /// Returns this byte, this number of times.
    fn filled(byte: u8, len: usize) -> Self {
        Self { bytes: [byte; LONGEST], len }
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// Returns the last bytes, of this number.
    fn last(&mut self, count: usize) -> &mut [u8] {
        &mut self.bytes[self.len - count..self.len]
    }
}

impl Write for Bytes {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let space = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(fmt::Error)?;
        space.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// How a wrong model is made.
enum Make {
    /// The right model with another weight, scale or bias.
    Weight(Entry),
    Scale(Entry),
    Bias(Entry),
    /// These entries.
    Entries(&'static [Entry]),
    /// The right model without its last bytes.
    Cut(usize),
    /// The right model and one more byte.
    Longer,
    /// This byte, this number of times.
    Filled(u8, usize),
}

/// A wrong model, and the error that every API returns.
pub struct Wrong {
    pub what: &'static str,
    make: Make,
    /// The tensor that the error is about.
    pub tensor: Option<&'static str>,
    pub code: &'static str,
    /// A part of its sentence.
    pub sentence: &'static str,
}

impl Wrong {
    pub fn file(&self) -> Bytes {
        match self.make {
            Make::Weight(entry) => Bytes::file(&[BIAS, SCALE, entry]),
            Make::Scale(entry) => Bytes::file(&[BIAS, entry, WEIGHT]),
            Make::Bias(entry) => Bytes::file(&[entry, SCALE, WEIGHT]),
            Make::Entries(entries) => Bytes::file(entries),
            Make::Filled(byte, len) => Bytes::filled(byte, len),
            Make::Cut(bytes) => {
                let mut file = Bytes::right();
                file.len -= bytes;
                file
            }
            Make::Longer => {
                let mut file = Bytes::right();
                file.push(0);
                file
            }
        }
    }
}

const fn wrong(
    what: &'static str,
    make: Make,
    tensor: &'static str,
    code: &'static str,
    sentence: &'static str,
) -> Wrong {
    let tensor = if tensor.is_empty() { None } else { Some(tensor) };
    Wrong { what, make, tensor, code, sentence }
}

/// Models whose header tells that they are wrong.
#[rustfmt::skip]
pub const WRONG: [Wrong; 21] = [
    wrong("transposed", Make::Weight(("fc.weight", "I8", "[8,3]", 24)),
        "fc.weight", "usage.shape", "has size 8 on axis 0, but 3 was"),
    wrong("shorter", Make::Weight(("fc.weight", "I8", "[2,8]", 16)),
        "fc.weight", "usage.shape", "has size 2 on axis 0, but 3 was"),
    wrong("longer", Make::Weight(("fc.weight", "I8", "[3,9]", 27)),
        "fc.weight", "usage.shape", "has size 9 on axis 1, but 8 was"),
    wrong("without rows", Make::Weight(("fc.weight", "I8", "[0,8]", 0)),
        "fc.weight", "usage.shape", "has size 0 on axis 0, but 3 was"),
    wrong("unsigned", Make::Weight(("fc.weight", "U8", "[3,8]", 24)),
        "fc.weight", "usage.dtype", "has dtype U8, but I8 was"),
    wrong("not quantised", Make::Weight(("fc.weight", "F32", "[3,8]", 96)),
        "fc.weight", "usage.dtype", "has dtype F32, but I8 was"),
    wrong("with integers as scale", Make::Scale(("fc.scale", "I16", "[3]", 6)),
        "fc.scale", "usage.dtype", "has dtype I16, but F16 or BF16 was"),
    wrong("flat", Make::Weight(("fc.weight", "I8", "[24]", 24)),
        "fc.weight", "usage.rank", "has rank 1, but rank 2 was"),
    wrong("with its bias as a column", Make::Bias(("fc.bias", "F32", "[3,1]", 12)),
        "fc.bias", "usage.rank", "has rank 2, but rank 1 was"),
    wrong("with one scale", Make::Scale(("fc.scale", "F16", "[]", 2)),
        "fc.scale", "usage.rank", "has rank 0, but rank 1 was"),
    wrong("without its scale", Make::Entries(&[BIAS, WEIGHT]),
        "fc.scale", "usage.missing", "required tensor not found"),
    wrong("renamed", Make::Weight(("fc.weights", "I8", "[3,8]", 24)),
        "fc.weight", "usage.missing", "required tensor not found"),
    wrong("of another case", Make::Bias(("fc.Bias", "F32", "[3]", 12)),
        "fc.bias", "usage.missing", "required tensor not found"),
    wrong("swapped", Make::Entries(&[("fc.scale", "F32", "[3]", 12), ("fc.bias", "F16", "[3]", 6), WEIGHT]),
        "fc.scale", "usage.dtype", "has dtype F32, but F16 or BF16 was"),
    wrong("with a duplicate name", Make::Entries(&[BIAS, SCALE, WEIGHT, WEIGHT]),
        "", "name.duplicate", "duplicate name"),
    wrong("with a wrong offset", Make::Weight(("fc.weight", "I8", "[3,8]", 23)),
        "", "tensor.size", "span 23 bytes, but dtype and shape need 24"),
    wrong("truncated", Make::Cut(1),
        "", "data.short", "the file has only 41"),
    wrong("truncated in its header", Make::Cut(DATA + 1),
        "", "container.header-beyond-file", "the file ends after"),
    wrong("longer than its tensors", Make::Longer,
        "", "data.trailing", "but the file continues"),
    wrong("erased", Make::Filled(0xFF, 256),
        "", "container.header-too-large", "as in erased flash"),
    wrong("an empty file", Make::Filled(0, 0),
        "", "container.short", "too short for the 8-byte length"),
];

/// A model whose header is right, but whose bytes are not those of the right model.
pub struct Damaged {
    pub what: &'static str,
    damage: fn(&mut Bytes),
}

impl Damaged {
    /// Damages a file whose data is that of the right model.
    pub fn file(&self, mut file: Bytes) -> Bytes {
        (self.damage)(&mut file);
        file
    }
}

const fn damaged(what: &'static str, damage: fn(&mut Bytes)) -> Damaged {
    Damaged { what, damage }
}

/// Only a sum tells that these are wrong.
pub const DAMAGED: [Damaged; 5] = [
    damaged("a flipped bit in the last byte", |file| file.last(1)[0] ^= 0x80),
    damaged("a partition that was written in part", |file| file.last(20).fill(0xFF)),
    damaged("the data of an older version", |file| file.last(DATA).iter_mut().for_each(|byte| *byte += 1)),
    damaged("two files mixed", |file| file.last(24).iter_mut().for_each(|byte| *byte ^= 1)),
    damaged("another scale", |file| file.last(30)[..6].iter_mut().for_each(|byte| *byte /= 2)),
];

/// A matrix of 4-bit values in groups.
pub struct Matrix {
    entries: &'static [Entry],
    /// How many values a group has, as the program believes.
    pub group: u64,
}

impl Matrix {
    pub fn file(&self) -> Bytes {
        Bytes::file(self.entries)
    }
}

/// A matrix whose tensors do not match each other, or not the program's group size.
pub struct WrongMatrix {
    pub what: &'static str,
    pub matrix: Matrix,
    pub code: &'static str,
    pub sentence: &'static str,
}

const PACKED: Entry = ("w", "U8", "[1,32]", 32);
const SCALES: Entry = ("s", "F16", "[1,2]", 4);
const ZERO_POINTS: Entry = ("z", "U8", "[1,2]", 2);

/// The matrix that the program expects: 64 values in groups of 32.
pub const MATRIX: Matrix = Matrix { entries: &[PACKED, SCALES, ZERO_POINTS], group: 32 };

const fn wrong_matrix(
    what: &'static str,
    (entries, group): (&'static [Entry], u64),
    code: &'static str,
    sentence: &'static str,
) -> WrongMatrix {
    WrongMatrix { what, matrix: Matrix { entries, group }, code, sentence }
}

#[rustfmt::skip]
pub const WRONG_MATRICES: [WrongMatrix; 6] = [
    wrong_matrix("of another group size", (&[PACKED, SCALES, ZERO_POINTS], 64),
        "usage.quant-shape", "the scales of the matrix have size 2 on axis 1 (counted from 0), but 1 is"),
    wrong_matrix("of a group size that does not divide its rows", (&[PACKED, SCALES, ZERO_POINTS], 128),
        "usage.quant-group", "rows of 64 values, group size 128"),
    wrong_matrix("with one scale for a row", (&[PACKED, ("s", "F16", "[2]", 4), ZERO_POINTS], 32),
        "usage.quant-rank", "the scales of the matrix have rank 1, but 2 is needed"),
    wrong_matrix("with integers as scales", (&[PACKED, ("s", "I16", "[1,2]", 4), ZERO_POINTS], 32),
        "usage.quant-dtype", "the scales of the matrix have dtype I16, but F16, BF16 or F32 is needed"),
    wrong_matrix("with fewer zero points", (&[PACKED, SCALES, ("z", "U8", "[1,1]", 1)], 32),
        "usage.quant-shape", "the zero points of the matrix have size 1 on axis 1 (counted from 0), but 2 is"),
    wrong_matrix("of 8-bit values", (&[("w", "I8", "[1,64]", 64), SCALES, ZERO_POINTS], 32),
        "usage.quant-dtype", "the weights of the matrix have dtype I8, but U8 or I32 is needed"),
];
