//! Sentences and exit codes when a model cannot be used.

use app::{Difference, Event, Failure, FailureSink, Form, Integer, ModelLocation, Sink, read_digits};
use embedded_safetensors::{
    Dtype, ErrorKind, ReadAt, Shape, View, WriteError,
    io::FileLen,
    write::{FileSpec, TensorSpec},
};
use std::cell::Cell;
use std::convert::Infallible;
use std::fmt::{self, Display};

const MODEL: &[u8] = include_bytes!("../models/digits-f16.safetensors");
const SMALL: &[u8] = include_bytes!("../models/digits-i8.safetensors");

/// Collects messages.
#[derive(Default)]
struct Messages(Vec<String>);

impl Sink for Messages {
    fn event(&mut self, event: &Event<'_>) {
        self.0.push(event.to_string());
    }
}

impl<T: Display> FailureSink<T> for Messages {
    fn failure(&mut self, sentence: &T) {
        self.0.push(sentence.to_string());
    }
}

/// Returns the sentence and the exit code of a run that fails.
fn failed<S: ReadAt<Error: Display>>(storage: S) -> (String, u8) {
    let location = ModelLocation { name: "MODEL.ST", ram: 65_536 };
    let failure = read_digits(&location, storage, &mut Messages::default(), &mut ()).expect_err("an error");
    (failure.to_string(), failure.exit_code())
}

/// Returns the model with a text of its header replaced by another of the same length.
fn edited(from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = MODEL.windows(from.len()).position(|window| window == from.as_bytes()).expect("found");
    let mut file = MODEL.to_vec();
    file[at..at + from.len()].copy_from_slice(to.as_bytes());
    file
}

/// Returns the offset of the data.
fn data_start(model: &[u8]) -> u64 {
    8 + u64::from_le_bytes(*model.first_chunk().expect("a header length"))
}

/// Returns the offset of a tensor, parsed from the header's text.
fn tensor_start(model: &[u8], name: &str) -> u64 {
    let header = String::from_utf8_lossy(model);
    let (_, entry) = header.split_once(&format!("\"{name}\":")).expect("found");
    let (_, offsets) = entry.split_once("\"data_offsets\":[").expect("offsets");
    let (begin, _) = offsets.split_once(',').expect("two offsets");
    data_start(model) + begin.parse::<u64>().expect("a number")
}

/// Raw memory, whose file length is unknown.
struct Raw<'m>(&'m [u8]);

impl ReadAt for Raw<'_> {
    type Error = Infallible;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
        self.0.read_at(offset, buffer)
    }

    fn file_len(&mut self) -> Result<FileLen, Infallible> {
        Ok(FileLen::AtMost(self.0.len() as u64))
    }
}

#[test]
fn invalid_file_is_reported_with_its_code() {
    let file = edited("\"F16\"", "\"F17\"");
    let (sentence, code) = failed(&file[..]);
    assert!(sentence.starts_with("error[dtype.unknown] at byte "), "{sentence}");
    assert_eq!(code, 1);
}

#[test]
fn truncated_file_is_invalid() {
    let (sentence, code) = failed(&MODEL[..MODEL.len() - 1]);
    assert!(sentence.starts_with(&format!("error[data.short] at byte {}: ", MODEL.len() - 1)), "{sentence}");
    assert_eq!(code, 1);
}

#[test]
fn erased_storage_has_no_model() {
    for erased in [[0xFF; 64], [0; 64]] {
        let sentence = "error at byte 0: there is no model, for the storage is erased";
        assert_eq!(failed(Raw(&erased)), (sentence.to_owned(), 2));
    }
    let written = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE];
    assert_eq!(failed(Raw(&written)).1, 1);
}

/// A file, unlike raw memory, was written.
#[test]
fn file_of_zeros_or_ones_is_invalid() {
    for (byte, at) in
        [(0xFF, "error[container.header-too-large] at byte 0: "), (0, "error[json.end] at byte 8: ")]
    {
        let (sentence, code) = failed(&[byte; 64][..]);
        assert!(sentence.starts_with(at), "{sentence}");
        assert_eq!(code, 1);
    }
}

#[test]
fn model_of_another_network_has_its_own_code() {
    let (sentence, code) = failed(SMALL);
    assert!(sentence.contains("\"fc1.weight\" is I8 [200, 64] in the model, but F16 [400, 64] is expected"));
    assert_eq!(code, 3);
}

#[test]
fn missing_tensor_is_reported_by_name() {
    let file = edited("\"fc2.bias\"", "\"fc9.bias\"");
    let sentence = "the model has no tensor \"fc2.bias\", but F16 [400] is expected";
    let at = data_start(MODEL);
    assert_eq!(failed(&file[..]), (format!("error[usage.missing] at byte {at}: {sentence}"), 3));
}

#[test]
fn tensor_of_another_shape_is_reported_with_its_offset() {
    let file = edited("\"shape\":[10,400]", "\"shape\":[400,10]");
    let sentence = "the tensor \"fc4.weight\" is F16 [400, 10] in the model, but F16 [10, 400] is expected";
    let at = tensor_start(MODEL, "fc4.weight");
    assert_eq!(failed(&file[..]), (format!("error[usage.shape] at byte {at}: {sentence}"), 3));
}

#[test]
fn integer_network_reports_another_model() {
    let view = View::parse(MODEL).expect("valid file");
    let failure = Integer::find::<fmt::Error>(&view).expect_err("another network's model");
    let sentence = "the tensor \"fc1.weight\" is F16 [400, 64] in the model, but I8 [200, 64] is expected";
    let at = tensor_start(MODEL, "fc1.weight");
    assert_eq!(failure.to_string(), format!("error[usage.shape] at byte {at}: {sentence}"));
    assert_eq!(failure.exit_code(), 3);
}

/// A card that is pulled after this many bytes have been read.
struct Pulled<'t> {
    left: usize,
    ends: bool,
    /// The offset of the first failed read.
    at: &'t Cell<Option<u64>>,
}

impl ReadAt for Pulled<'_> {
    type Error = &'static str;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, &'static str> {
        let Some(left) = self.left.checked_sub(buffer.len()) else {
            self.at.set(self.at.get().or(Some(offset)));
            return if self.ends { Ok(0) } else { Err("the card does not answer") };
        };
        self.left = left;
        let mut model = MODEL;
        let Ok(len) = model.read_at(offset, buffer);
        Ok(len)
    }

    fn file_len(&mut self) -> Result<FileLen, &'static str> {
        Ok(FileLen::Exactly(MODEL.len() as u64))
    }
}

/// Returns the message about such a card, and the offset of the failed read.
fn pulled(left: usize, ends: bool) -> ((String, u8), u64) {
    let at = Cell::new(None);
    let message = failed(Pulled { left, ends, at: &at });
    (message, at.get().expect("pulled"))
}

#[test]
fn pulled_card_is_reported_with_the_byte() {
    for left in [0, 100_000] {
        let (message, at) = pulled(left, false);
        let sentence = "the storage cannot be read: the card does not answer";
        assert_eq!(message, (format!("error at byte {at}: {sentence}"), 2));
        assert_eq!(at == 0, left == 0);
    }
}

#[test]
fn early_end_of_file_is_reported_with_the_byte() {
    let (message, at) = pulled(100_000, true);
    assert_eq!(message, (format!("error at byte {at}: the file ends here, before its end was due"), 2));
    assert!((90_000..100_000).contains(&at), "{at}");
}

static EXPECTED: Form = Form::new(Dtype::U8, Shape::SCALAR);

/// Returns one of each failure, with its code and the beginning of its sentence.
fn all_failures() -> [(Failure<&'static str>, u8, &'static str); 13] {
    let missing = Difference { name: "a", at: 9, found: None, expected: &EXPECTED };
    let wide = Form::new(Dtype::F32, Shape::SCALAR);
    let names = [TensorSpec::new("a", Dtype::U8, &[]); 2];
    let spec = FileSpec::new(&names).plan().expect_err("duplicate name");
    [
        (ErrorKind::Utf8.at(9).into(), 1, "error[text.utf8] at byte 9: the header is not valid UTF-8"),
        (Failure::NoModel("no card"), 2, "error: no card"),
        (Failure::Erased, 2, "error at byte 0: there is no model, for the storage is erased"),
        (
            Failure::Storage { at: 9, error: "no card" },
            2,
            "error at byte 9: the storage cannot be read: no card",
        ),
        (Failure::Ends { at: 9 }, 2, "error at byte 9: the file ends here, before its end was due"),
        (
            missing.into(),
            3,
            "error[usage.missing] at byte 9: the model has no tensor \"a\", but U8 [] is expected",
        ),
        (
            Difference { found: Some(wide), ..missing }.into(),
            3,
            "error[usage.shape] at byte 9: the tensor \"a\" is F32 [] in the model, but U8 [] is expected",
        ),
        (ErrorKind::OutOfOrder.at(9).into(), 4, "error[limit.order] at byte 9: "),
        (ErrorKind::NoWindow.at(9).into(), 5, "error[usage.window] at byte 9: "),
        (WriteError::Sink("no card").into(), 2, "error: the file cannot be written: no card"),
        (
            WriteError::Full { at: 9 }.into(),
            2,
            "error: the file cannot be written: no space left from byte 9",
        ),
        (
            WriteError::Format(ErrorKind::Capacity { needed: 9, capacity: 8 }.at(0)).into(),
            4,
            "error[limit.capacity]",
        ),
        (WriteError::Spec(spec).into(), 5, "error["),
    ]
}

/// Returns the name of the variant.
fn variant(failure: &Failure<&str>) -> String {
    let text = format!("{failure:?}");
    text.split(['(', '{']).next().unwrap_or_default().trim().to_owned()
}

#[test]
fn every_failure_has_a_code_and_a_sentence() {
    for (failure, code, sentence) in all_failures() {
        let message = failure.to_string();
        assert!(message.starts_with(sentence), "{message}");
        assert_eq!(failure.exit_code(), code, "{message}");

        let mut messages = Messages::default();
        assert_eq!((failure.report(&mut messages), &messages.0[..]), (code, &[message.clone()][..]));

        let mapped = failure.map(|words| if words == "no card" { "a card" } else { words });
        assert_eq!(mapped.to_string(), message.replace("no card", "a card"));
        assert_eq!((mapped.exit_code(), variant(&mapped)), (code, variant(&failure)));
    }
}

/// Calling the writer in the wrong order is this program's mistake.
#[test]
fn mistake_in_writing_is_not_a_storage_error() {
    let failure: Failure<&str> = WriteError::Format(ErrorKind::AllWritten.at(9)).into();
    assert_eq!(failure.exit_code(), 5);
}
