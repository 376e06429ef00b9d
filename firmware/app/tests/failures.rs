//! What is said, and with which code a program ends, when a model cannot be used.

use app::{Event, Failure, Integer, Place, Sentence, Sink, read_digits};
use embedded_safetensors::{FileLen, ReadAt, View};
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

    fn failure(&mut self, sentence: &impl Sentence) {
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
fn data_start() -> u64 {
    8 + u64::from_le_bytes(*MODEL.first_chunk().expect("it has a length"))
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
        assert_eq!(failed(&erased[..]), (sentence.to_owned(), 2));
    }
    let written = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE];
    assert_eq!(failed(&written[..]).1, 1);
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
    assert_eq!(failed(&file[..]), (format!("error[usage.missing] at byte {}: {sentence}", data_start()), 3));
}

#[test]
fn a_tensor_of_another_shape_is_named_with_its_place() {
    let file = edited("\"shape\":[10,400]", "\"shape\":[400,10]");
    let (sentence, code) = failed(&file[..]);
    assert!(sentence.starts_with("error[usage.shape] at byte "), "{sentence}");
    assert!(
        sentence.ends_with("\"fc4.weight\" is F16 [400, 10] in the model, but F16 [10, 400] is expected")
    );
    assert_eq!(code, 3);
}

#[test]
fn the_same_goes_for_the_network_of_integers() {
    let view = View::parse(MODEL).expect("it is sound");
    let failure = Integer::find::<fmt::Error>(&view).expect_err("it is another network's");
    assert!(failure.to_string().contains("\"fc1.weight\" is F16 [400, 64] in the model, but I8 [200, 64]"));
    assert_eq!(failure.exit_code(), 3);
}

/// A card that is pulled once so many bytes have been read.
struct Pulled {
    left: usize,
    ends: bool,
}

impl ReadAt for Pulled {
    type Error = &'static str;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, &'static str> {
        match self.left.checked_sub(buffer.len()) {
            Some(left) => self.left = left,
            None if self.ends => return Ok(0),
            None => return Err("the card does not answer"),
        }
        let mut model = MODEL;
        let Ok(len) = model.read_at(offset, buffer);
        Ok(len)
    }

    fn file_len(&mut self) -> Result<FileLen, &'static str> {
        Ok(FileLen::Exactly(MODEL.len() as u64))
    }
}

#[test]
fn a_card_that_is_pulled_is_told_with_the_byte() {
    let sentence = "the storage cannot be read: the card does not answer";
    assert_eq!(failed(Pulled { left: 0, ends: false }), (format!("error at byte 0: {sentence}"), 2));
    let (said, code) = failed(Pulled { left: 100_000, ends: false });
    let at: u64 = said
        .strip_prefix("error at byte ")
        .and_then(|rest| rest.split(':').next()?.parse().ok())
        .expect("a byte");
    assert!(said.ends_with(sentence) && (90_000..100_000).contains(&at), "{said}");
    assert_eq!(code, 2);
}

#[test]
fn a_file_that_ends_early_is_told_with_the_byte() {
    let (said, code) = failed(Pulled { left: 100_000, ends: true });
    assert!(said.ends_with("the file ends here, before its end was due"), "{said}");
    assert_eq!(code, 2);
}

#[test]
fn every_failure_has_a_code_of_its_own() {
    use embedded_safetensors::ErrorKind;
    let errors =
        [ErrorKind::Missing(embedded_safetensors::Field::Dtype), ErrorKind::OutOfOrder, ErrorKind::NoWindow];
    let codes = errors.map(|kind| Failure::<fmt::Error>::from(kind.at(0)).exit_code());
    assert_eq!(codes, [1, 4, 5]);
    assert_eq!(Failure::NoModel("no card").exit_code(), 2);
    assert_eq!(Failure::NoModel("no card").to_string(), "error: no card");
}
