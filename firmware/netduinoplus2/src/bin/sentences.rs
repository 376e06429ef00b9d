//! Prints and logs every sentence of the library, and some values, to test that both texts are the same.
#![no_std]
#![no_main]

use board::Console;
use core::fmt::{Debug, Display, Write};
use cortex_m as _;
use defmt::Format;
use defmt_semihosting as _;
use embedded_safetensors::{
    error::*, index::*, io::*, query::*, slice::*, tensor::*, validate::*, view::*, write::*, *,
};
use embedded_storage::nor_flash::NorFlashErrorKind;

#[board::entry]
fn main() -> ! {
    for (at, kind) in (0..).zip(KINDS) {
        say(&kind.at(at));
    }
    for (index, kind) in KINDS_OF_SPEC.into_iter().enumerate() {
        [SpecPart::Tensor(index), SpecPart::Key(index), SpecPart::File]
            .into_iter()
            .for_each(|part| say(&SpecError { kind, part }));
    }
    say_others();
    show_values();
    show_view();
    board::exit(0)
}

/// Prints and logs a value that has a sentence.
fn say(sentence: &(impl Display + Format)) {
    // The console never fails.
    let _ = writeln!(Console, "{sentence}");
    defmt::info!("{}", sentence);
}

/// Prints and logs a value that has only a debug format.
fn show(value: &(impl Debug + Format)) {
    let _ = writeln!(Console, "{value:?}");
    defmt::info!("{}", value);
}

fn say_others() {
    let (format, flash) = (ErrorKind::Utf8.at(9), NorError(NorFlashErrorKind::OutOfBounds));
    let spec = SpecError { kind: SpecErrorKind::Overflow, part: SpecPart::File };
    say(&ErrorKind::UnexpectedEnd.at(8));
    say(&flash);
    say(&NorError(NorFlashErrorKind::NotAligned));
    say(&NorError(NorFlashErrorKind::Other));
    [ReadError::Format(format), ReadError::Source(flash), ReadError::UnexpectedEof { at: 7 }]
        .iter()
        .for_each(say);
    let full = WriteError::Full { at: 7 };
    [WriteError::Format(format), WriteError::Spec(spec), WriteError::Sink(flash), full].iter().for_each(say);
    Dtype::ALL.iter().for_each(say);
}

fn show_values() {
    show(&SHAPE);
    TensorInfo::new(Dtype::F16, SHAPE, 8, 32).iter().for_each(show);
    show(&Summary { tensors: 8, data_start: 928, data_len: 702_000 });
    [FileLen::Exactly(1), FileLen::AtMost(2), FileLen::Unknown].iter().for_each(show);
    [Class::File, Class::Limit, Class::Usage].iter().for_each(show);
    show(&TensorSpec::new("fc1.weight", Dtype::F16, &[3, 4]));
    [Placement::Start(8), Placement::BySize(512), Placement::Padded(64)].iter().for_each(show);
    show(&Query::optional("fc1.bias"));
    show(&AxisRange::new(0, 2));
    show(&Run { first: 1, elements: 2 });
    show(&IndexSize { tensors: 1, dims: 2, name_bytes: 3 });
}

const SHAPE: Shape = match Shape::new(&[3, 4]) {
    Ok(shape) => shape,
    Err(_) => Shape::SCALAR,
};

/// Prints and logs a file that has a name with an escape.
fn show_view() {
    const HEADER: &[u8; 61] = br#"{"a\u0062c":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}} "#;
    let mut file = [0; 8 + HEADER.len() + 2];
    let (front, rest) = file.split_at_mut(8);
    front.copy_from_slice(&(HEADER.len() as u64).to_le_bytes());
    rest.iter_mut().zip(HEADER).for_each(|(to, from)| *to = *from);
    let view = View::parse(&file);
    view.as_ref().err().into_iter().for_each(say);
    if let Ok(view) = view {
        show(&view);
        view.tensors().flatten().for_each(|tensor| {
            show(&tensor);
            say(&tensor.name());
        });
    }
}

const FLOATS: DtypeSet = DtypeSet::of(&[Dtype::F16, Dtype::BF16, Dtype::F32]);

/// Each sentence with numbers in all forms, and one without: each kind has its sentence in one line of a
/// table.
#[rustfmt::skip]
const KINDS: [ErrorKind; 87] = [
    ErrorKind::FileTooShort,
    ErrorKind::HeaderTooLarge { length: 100_000_001 },
    ErrorKind::HeaderTooLarge { length: u64::MAX },
    ErrorKind::HeaderTooLarge { length: u64::from_le_bytes(*b"version ") },
    ErrorKind::HeaderTooLarge { length: u64::from_le_bytes(*b"<!DOCTYP") },
    ErrorKind::HeaderBeyondFile { length: 3, present: 4 },
    ErrorKind::UnexpectedByte(b'x'),
    ErrorKind::UnexpectedByte(b'\''),
    ErrorKind::UnexpectedByte(0x1f),
    ErrorKind::UnexpectedByte(0xe2),
    ErrorKind::ControlCharacter(b'\n'),
    ErrorKind::Escape(b'\n'),
    ErrorKind::Trailing(b'\n'),
    ErrorKind::Missing(Field::Dtype),
    ErrorKind::Missing(Field::Shape),
    ErrorKind::Missing(Field::Offsets),
    ErrorKind::DuplicateMember(Field::Dtype),
    ErrorKind::DuplicateMember(Field::Shape),
    ErrorKind::DuplicateMember(Field::Offsets),
    ErrorKind::SubByte { elements: 1, bits: 4 },
    ErrorKind::SubByte { elements: 3, bits: 6 },
    ErrorKind::Size { range: 5, needed: 6 },
    ErrorKind::Reversed { begin: 7, end: 8 },
    ErrorKind::Hole { begin: 1, previous_end: 0 },
    ErrorKind::Hole { begin: 8, previous_end: 0 },
    ErrorKind::Hole { begin: 9, previous_end: 8 },
    ErrorKind::Hole { begin: 16, previous_end: 8 },
    ErrorKind::Overlap { begin: 7, previous_end: 8 },
    ErrorKind::Overlap { begin: 4, previous_end: 8 },
    ErrorKind::DataShort { needed: 9, present: 10 },
    ErrorKind::DataTrailing { needed: 2 },
    ErrorKind::SumMismatch { expected: 0x0123_abcd, found: 0xffff_fff0 },
    ErrorKind::Rank { limit: 4 },
    ErrorKind::HeaderLength { length: 9, limit: 8 },
    ErrorKind::NameLength { needed: 4, capacity: 5 },
    ErrorKind::SlotCount { capacity: 1 },
    ErrorKind::SlotCount { capacity: 2 },
    ErrorKind::ValueLength { needed: 6, capacity: 7 },
    ErrorKind::MetadataLength { needed: 8, capacity: 9 },
    ErrorKind::Index { part: IndexPart::Tensors, needed: 1, capacity: 0 },
    ErrorKind::Index { part: IndexPart::Tensors, needed: 2, capacity: 0 },
    ErrorKind::Index { part: IndexPart::Dims, needed: 1, capacity: 0 },
    ErrorKind::Index { part: IndexPart::Dims, needed: 2, capacity: 0 },
    ErrorKind::Index { part: IndexPart::Names, needed: 1, capacity: 0 },
    ErrorKind::Index { part: IndexPart::Names, needed: 2, capacity: 0 },
    ErrorKind::BufferLength { needed: 10, capacity: 2 },
    ErrorKind::NotFound { query: QueryIndex::new(3) },
    ErrorKind::NotFound { query: None },
    ErrorKind::OutsideTensor { asked: 3, len: 4 },
    ErrorKind::OutsideElements { asked: 5, len: 6 },
    ErrorKind::OutsideData { end: 7, data_len: 8 },
    ErrorKind::Block { asked: 9 },
    ErrorKind::DtypeMismatch { query: None, found: Dtype::I8, asked: DtypeSet::of(&[Dtype::F16]) },
    ErrorKind::DtypeMismatch { query: QueryIndex::new(0), found: Dtype::I8, asked: FLOATS },
    ErrorKind::RankMismatch { query: None, found: 1, asked: 2 },
    ErrorKind::RankMismatch { query: QueryIndex::new(1), found: 2, asked: 1 },
    ErrorKind::ShapeMismatch { query: None, axis: 1, found: 3, asked: 4 },
    ErrorKind::ShapeMismatch { query: QueryIndex::new(2), axis: 1, found: 3, asked: 4 },
    ErrorKind::Lossy { from: Dtype::BF16, to: Dtype::I8 },
    ErrorKind::NoConversion { from: Dtype::F16, to: Dtype::BF16 },
    ErrorKind::Misaligned { unit: 4, over: 1, over_in_file: 0 },
    ErrorKind::Misaligned { unit: 4, over: 2, over_in_file: 2 },
    ErrorKind::OutsideAxis { axis: 5, asked: 8, size: 9 },
    ErrorKind::TooManyRanges { asked: 1, rank: 0 },
    ErrorKind::TooManyRanges { asked: 2, rank: 1 },
    ErrorKind::TooManyRanges { asked: 3, rank: 2 },
    ErrorKind::ZeroStep { axis: 1 },
    ErrorKind::PartOfByte { bits: 2 },
    ErrorKind::QuantDtype { role: QuantRole::Scale, found: Dtype::I8, needed: FLOATS },
    ErrorKind::QuantRank { role: QuantRole::Weight, found: 3, needed: 2 },
    ErrorKind::QuantSize { role: QuantRole::ZeroPoint, axis: 1, found: 4, needed: 5 },
    ErrorKind::QuantGroup { group: 32, columns: 33 },
    ErrorKind::QuantLength { given: 6, needed: 7 },
    ErrorKind::TooManyBytes { tensor: 3, given: 4, left: 5 },
    ErrorKind::TensorLength { tensor: 6, given: 7, needed: 8 },
    ErrorKind::ValueType { tensor: 2, given: Dtype::I8, needed: Dtype::F16 },
    ErrorKind::WrongTensor { tensor: 5 },
    ErrorKind::Count { claimed: 8, asked: 7 },
    ErrorKind::Count { claimed: 6, asked: 8 },
    ErrorKind::FirstUnit { unit: 16 },
    ErrorKind::Unit { unit: 16 },
    ErrorKind::Incomplete { tensor: 1, missing: 1 },
    ErrorKind::Incomplete { tensor: 1, missing: 2 },
    ErrorKind::Capacity { needed: 4, capacity: 5 },
    ErrorKind::Unit { unit: 6 },
    ErrorKind::Longer { len: 7, file_len: 8 },
    ErrorKind::Partition { start: 4, sector: 5 },
];

#[rustfmt::skip]
const KINDS_OF_SPEC: [SpecErrorKind; 11] = [
    SpecErrorKind::Reserved,
    SpecErrorKind::DuplicateName { other: 1 },
    SpecErrorKind::DuplicateKey { other: 2 },
    SpecErrorKind::OutOfOrder,
    SpecErrorKind::Overflow,
    SpecErrorKind::SubByte { elements: 1, bits: 4 },
    SpecErrorKind::SubByte { elements: 3, bits: 6 },
    SpecErrorKind::DataTooLong,
    SpecErrorKind::HeaderTooLarge { length: 100_000_008 },
    SpecErrorKind::Placement { asked: 12 },
    SpecErrorKind::OrderMemory { needed: 4, capacity: 1 },
];
