//! Sentences and exit codes when a model cannot be used. The golden files of boards show those of bad files
//! and storage.

use app::{Difference, Event, Failure, FailureSink, Form, ModelLocation, Sink, read_digits};
use embedded_safetensors::{
    Dtype, ErrorKind, Shape, View, WriteError,
    write::{FileSpec, TensorSpec},
};
use std::convert::Infallible;
use std::fmt::Display;

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

/// Raw memory of zeros or ones was never written; a file was.
#[test]
fn file_of_zeros_or_ones_is_invalid() {
    for (byte, at) in
        [(0xFF, "error[container.header-too-large] at byte 0: "), (0, "error[json.end] at byte 8: ")]
    {
        let location = ModelLocation { name: "MODEL.ST", ram: 65_536 };
        let failed = read_digits(&location, &[byte; 64][..], &mut Messages::default(), &mut ());
        let failure = failed.expect_err("an error");
        assert!(failure.to_string().starts_with(at), "{failure}");
        assert_eq!(failure.exit_code(), 1);
        assert_eq!(failed_memory(byte), "error at byte 0: there is no model, for the storage is erased");
    }
}

fn failed_memory(byte: u8) -> String {
    let error = View::parse(&[byte; 64]).expect_err("an error");
    Failure::<Infallible>::of_memory(error).to_string()
}

static EXPECTED: Form = Form::new(Dtype::U8, Shape::SCALAR);

/// Returns one of each failure, with its code and the beginning of its sentence.
fn all_failures() -> [(Failure<&'static str>, u8, &'static str); 14] {
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
        // Calling the writer in the wrong order is this program's mistake.
        (WriteError::Format(ErrorKind::AllWritten.at(9)).into(), 5, "error["),
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
