//! Messages of a failed build that `tests/builds.rs` does not see. In a const these are build errors; here
//! the same panics are caught.

use crate::view::fixtures::MODEL;
use embedded_safetensors::{__Embedded as Embedded, Dtype, View, tensor::ANY_SIZE, values::AlignedFile};
use std::panic::catch_unwind;
use support::file::{entry, with_entries, with_header};

/// Returns the message that stops the build.
fn build_error<T>(work: impl FnOnce() -> T + std::panic::UnwindSafe) -> String {
    let payload = catch_unwind(work).map(|_| ()).expect_err("must not build");
    *payload.downcast::<String>().expect("a formatted message")
}

fn empty(name: &str) -> String {
    entry(name, "U8", [0], 0..0)
}

#[test]
fn long_list_of_names_is_shortened() {
    let entries: Vec<String> = (0..100).map(|i| empty(&format!("layer.{i}"))).collect();
    let file = with_entries(&entries, 0);
    let view = View::parse(&file).unwrap();
    let message = build_error(|| view.expect(&"ä".repeat(200), Dtype::U8, &[0]));
    assert!(
        message
            .starts_with(&format!("the model has no tensor \"{}…\"; it has \"layer.0\", ", "ä".repeat(100)))
    );
    let (shown, rest) = message.rsplit_once(" and ").unwrap();
    let shown = shown.matches("\"layer.").count();
    assert!(shown > 20, "{message}");
    assert_eq!(rest, format!("{} more", 100 - shown));
    let empty = with_header("{}", 0);
    let none = build_error(|| View::parse(&empty).unwrap().expect("a", Dtype::U8, &[]));
    assert_eq!(none, "the model has no tensor \"a\": it has none");
}

#[test]
fn duplicate_name_is_reported() {
    let file = with_entries(&[empty("a"), empty("twice"), empty("tw\\u0069ce")], 0);
    let view = View::parse(&file).unwrap();
    let at = view.tensors().last().unwrap().unwrap().name().at();
    let message = format!(
        "error[name.duplicate] at byte {at}: tensor \"twice\": duplicate name: an earlier tensor has the same name"
    );
    assert_eq!(build_error(|| view.expect("twice", Dtype::U8, &[0])), message);
    assert_eq!(build_error(|| view.with_unique_names()), message);
    let keys = with_header(r#"{"__metadata__":{"k":"1","l":"","k":"2"}}"#, 0);
    let message = "error[metadata.duplicate] at byte 40: duplicate key: an earlier key of \"__metadata__\" is the same: \"k\"";
    assert_eq!(build_error(|| View::parse(&keys).unwrap().with_unique_names()), message);
}

#[test]
fn array_of_wrong_length_is_rejected() {
    let message = |work: fn() -> usize| *catch_unwind(work).unwrap_err().downcast::<&str>().unwrap();
    assert_eq!(
        MODEL.to_array::<5>().map(|tensor| tensor.bytes().len()).iter().sum::<usize>(),
        MODEL.data().len()
    );
    let short = message(|| MODEL.to_array::<4>().len());
    assert_eq!(short, "the array is shorter than the model has tensors");
    let long = message(|| MODEL.to_array::<6>().len());
    assert_eq!(long, "the array is longer than the model has tensors");
    let deep = with_entries(&[entry("deep", "U8", [1; 9], 0..1)], 1);
    let deep = build_error(|| View::parse(&deep).expect("valid file").to_array::<1>().len());
    assert!(deep.contains("tensor \"deep\": "), "{deep}");
}

#[test]
fn unexpected_tensors_are_described() {
    for (dtype, dims) in [(Dtype::I32, [2, 3]), (Dtype::F32, [3, 2])] {
        let message = build_error(|| MODEL.expect("conv.weight", dtype, &dims));
        assert!(message.contains("conv.weight"), "{message}");
    }
    let unaligned = MODEL.file().to_vec();
    let anywhere = View::parse(&unaligned).unwrap();
    let late = MODEL.tensor("late").unwrap().at();
    for (message, expected) in [
        (
            build_error(|| MODEL.expect("odd", Dtype::I8, &[2, ANY_SIZE])),
            "the tensor \"odd\" is U8 [1] in the model, but I8 [2, any] is expected".to_owned(),
        ),
        (
            build_error(|| MODEL.expect_array::<[u16; 1]>("late")),
            format!(
                "the tensor \"late\" begins at byte {late} of the file, 1 byte after a multiple of 2: write the \
                 file with its tensors aligned"
            ),
        ),
        (
            build_error(|| *anywhere.expect_array::<[[f32; 3]; 2]>("conv.weight")),
            "the tensor \"conv.weight\" must begin at a multiple of 4 bytes in memory, but nothing aligns the \
             file: include it with include_model!(\"…\", 4) or include_aligned!(\"…\", 4)"
                .to_owned(),
        ),
    ] {
        assert_eq!(message, expected);
    }
}

#[test]
fn file_that_cannot_be_included_is_reported() {
    let a = entry("a", "U8", [2], 2..4);
    for (header, expected) in [
        (format!("{{{},{}}}", empty("a"), empty("a")), "error[name.duplicate] at byte 61: tensor \"a\": "),
        (
            format!(r#"{{"__metadata__":{{"k":"1","k":"2"}},{},{}}}"#, empty("a"), empty("b")),
            "error[metadata.duplicate] at byte 33: ",
        ),
        (format!("{{{a},}}"), "error[json.syntax] at byte "),
        (format!("{{{a},{}}}", empty("b")), "error[layout.hole] at byte "),
    ] {
        let file = with_header(&format!("{header:192}"), 0);
        let file = AlignedFile::<16, 200>::new(file.try_into().unwrap());
        let message = build_error(|| {
            let embedded = Embedded::<8>::new(&file);
            let (tensors, links) = (embedded.tensors::<2>(), embedded.links::<2>());
            embedded.view(&tensors, &links).len()
        });
        assert!(message.starts_with(expected), "{message}");
    }
}
