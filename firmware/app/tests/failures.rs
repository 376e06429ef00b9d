//! What is said, and with which code a program ends, when a model cannot be used.

use app::{Difference, Event, Failure, Form, Hears, Integer, Place, Sink, read_digits};
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

/// Remembers what was said.
#[derive(Default)]
struct Heard(Vec<String>);

impl Sink for Heard {
    fn event(&mut self, event: &Event<'_>) {
        self.0.push(event.to_string());
    }
}

impl<T: Display> Hears<T> for Heard {
    fn failure(&mut self, sentence: &T) {
        self.0.push(sentence.to_string());
    }
}

/// The sentence and the exit code of a run that fails.
fn failed<S: ReadAt<Error: Display>>(storage: S) -> (String, u8) {
    let place = Place { name: "MODEL.ST", ram: 65_536 };
    let failure = read_digits(&place, storage, &mut Heard::default(), &mut ()).expect_err("it fails");
    (failure.to_string(), failure.exit_code())
}

/// The model with one text of its header replaced by one as long.
fn edited(from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = MODEL.windows(from.len()).position(|window| window == from.as_bytes()).expect("it is there");
    let mut file = MODEL.to_vec();
    file[at..at + from.len()].copy_from_slice(to.as_bytes());
    file
}

/// Where the data begin.
fn data_start(model: &[u8]) -> u64 {
    8 + u64::from_le_bytes(*model.first_chunk().expect("it has a length"))
}

/// The byte of the file where a tensor begins, by what the text of its header says.
fn tensor_start(model: &[u8], name: &str) -> u64 {
    let header = String::from_utf8_lossy(model);
    let (_, entry) = header.split_once(&format!("\"{name}\":")).expect("it is there");
    let (_, offsets) = entry.split_once("\"data_offsets\":[").expect("it has offsets");
    let (begin, _) = offsets.split_once(',').expect("there are two");
    data_start(model) + begin.parse::<u64>().expect("a number")
}

/// Memory as it is, whatever was written to it.
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
fn an_unsound_file_is_named_by_its_fault() {
    let file = edited("\"F16\"", "\"F17\"");
    let (sentence, code) = failed(&file[..]);
    assert!(sentence.starts_with("error[dtype.unknown] at byte "), "{sentence}");
    assert_eq!(code, 1);
}

#[test]
fn a_file_that_was_cut_is_unsound() {
    let (sentence, code) = failed(&MODEL[..MODEL.len() - 1]);
    assert!(sentence.starts_with(&format!("error[data.short] at byte {}: ", MODEL.len() - 1)), "{sentence}");
    assert_eq!(code, 1);
}

#[test]
fn storage_that_was_never_written_has_no_model() {
    for erased in [[0xFF; 64], [0; 64]] {
        let sentence = "error at byte 0: there is no model, for the storage is erased";
        assert_eq!(failed(Raw(&erased)), (sentence.to_owned(), 2));
    }
    let written = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE];
    assert_eq!(failed(Raw(&written)).1, 1);
}

/// Somebody has written it.
#[test]
fn a_file_of_zeros_or_ones_is_unsound() {
    for (byte, at) in
        [(0xFF, "error[container.header-too-large] at byte 0: "), (0, "error[json.end] at byte 8: ")]
    {
        let (sentence, code) = failed(&[byte; 64][..]);
        assert!(sentence.starts_with(at), "{sentence}");
        assert_eq!(code, 1);
    }
}

#[test]
fn another_networks_model_is_told_from_a_bad_one() {
    let (sentence, code) = failed(SMALL);
    assert!(sentence.contains("\"fc1.weight\" is I8 [200, 64] in the model, but F16 [400, 64] is expected"));
    assert_eq!(code, 3);
}

#[test]
fn a_missing_tensor_is_named() {
    let file = edited("\"fc2.bias\"", "\"fc9.bias\"");
    let sentence = "the model has no tensor \"fc2.bias\", but F16 [400] is expected";
    let at = data_start(MODEL);
    assert_eq!(failed(&file[..]), (format!("error[usage.missing] at byte {at}: {sentence}"), 3));
}

#[test]
fn a_tensor_of_another_shape_is_named_with_its_place() {
    let file = edited("\"shape\":[10,400]", "\"shape\":[400,10]");
    let sentence = "the tensor \"fc4.weight\" is F16 [400, 10] in the model, but F16 [10, 400] is expected";
    let at = tensor_start(MODEL, "fc4.weight");
    assert_eq!(failed(&file[..]), (format!("error[usage.shape] at byte {at}: {sentence}"), 3));
}

#[test]
fn the_same_goes_for_the_network_of_integers() {
    let view = View::parse(MODEL).expect("it is sound");
    let failure = Integer::find::<fmt::Error>(&view).expect_err("it is another network's");
    let sentence = "the tensor \"fc1.weight\" is F16 [400, 64] in the model, but I8 [200, 64] is expected";
    let at = tensor_start(MODEL, "fc1.weight");
    assert_eq!(failure.to_string(), format!("error[usage.shape] at byte {at}: {sentence}"));
    assert_eq!(failure.exit_code(), 3);
}

/// A card that is pulled once so many bytes have been read.
struct Pulled<'t> {
    left: usize,
    ends: bool,
    /// The byte of the first read that it does not do.
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

/// What is said of such a card, and the byte that was not read.
fn pulled(left: usize, ends: bool) -> ((String, u8), u64) {
    let at = Cell::new(None);
    let said = failed(Pulled { left, ends, at: &at });
    (said, at.get().expect("it was pulled"))
}

#[test]
fn a_card_that_is_pulled_is_told_with_the_byte() {
    for left in [0, 100_000] {
        let (said, at) = pulled(left, false);
        let sentence = "the storage cannot be read: the card does not answer";
        assert_eq!(said, (format!("error at byte {at}: {sentence}"), 2));
        assert_eq!(at == 0, left == 0);
    }
}

#[test]
fn a_file_that_ends_early_is_told_with_the_byte() {
    let (said, at) = pulled(100_000, true);
    assert_eq!(said, (format!("error at byte {at}: the file ends here, before its end was due"), 2));
    assert!((90_000..100_000).contains(&at), "{at}");
}

static EXPECTED: Form = Form::new(Dtype::U8, Shape::SCALAR);

/// One of each, with its code and its sentence.
fn all_failures() -> [(Failure<&'static str>, u8, &'static str); 13] {
    let missing = Difference { name: "a", at: 9, found: None, expected: &EXPECTED };
    let wide = Form::new(Dtype::F32, Shape::SCALAR);
    let names = [TensorSpec::new("a", Dtype::U8, &[]); 2];
    let spec = FileSpec::new(&names).plan().expect_err("a name occurs twice");
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
            "error: the file cannot be written: there is no room from byte 9 on",
        ),
        (
            WriteError::Format(ErrorKind::Capacity { needed: 9, capacity: 8 }.at(0)).into(),
            4,
            "error[limit.capacity]",
        ),
        (WriteError::Spec(spec).into(), 5, "error["),
    ]
}

/// Which it is, without what it holds.
fn variant(failure: &Failure<&str>) -> String {
    let text = format!("{failure:?}");
    text.split(['(', '{']).next().unwrap_or_default().trim().to_owned()
}

#[test]
fn every_failure_has_its_code_and_its_sentence() {
    for (failure, code, sentence) in all_failures() {
        let said = failure.to_string();
        assert!(said.starts_with(sentence), "{said}");
        assert_eq!(failure.exit_code(), code, "{said}");

        let mut heard = Heard::default();
        assert_eq!((failure.tell(&mut heard), &heard.0[..]), (code, &[said.clone()][..]));

        let mapped = failure.map(|words| if words == "no card" { "a card" } else { words });
        assert_eq!(mapped.to_string(), said.replace("no card", "a card"));
        assert_eq!((mapped.exit_code(), variant(&mapped)), (code, variant(&failure)));
    }
}

/// What is asked of the writer in the wrong order is this program's mistake.
#[test]
fn a_mistake_in_writing_is_not_the_storages() {
    let failure: Failure<&str> = WriteError::Format(ErrorKind::NothingDue.at(9)).into();
    assert_eq!(failure.exit_code(), 5);
}
