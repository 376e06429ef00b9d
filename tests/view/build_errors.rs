//! The messages of a failed build. In a const these are build errors; here the same panics are caught.

use crate::view::fixtures::{MODEL, NET, NET_DATA, aligned_file};
use embedded_safetensors::{Dtype, ErrorKind, View, tensor::ANY_SIZE, values::AlignedFile};
use std::panic::catch_unwind;
use support::file::with_header;

/// Returns the message that stops the build.
fn build_error<T>(work: impl FnOnce() -> T + std::panic::UnwindSafe) -> String {
    let payload = catch_unwind(work).map(|_| ()).expect_err("must not build");
    *payload.downcast::<String>().expect("a formatted message")
}

fn file_of(entries: &[String]) -> Vec<u8> {
    with_header(&format!("{{{}}}", entries.join(",")), 0)
}

fn empty(name: &str) -> String {
    format!(r#""{name}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#)
}

#[test]
fn wrong_dtype_or_shape_is_reported() {
    let expected =
        |dtype, dims: &'static [u64]| build_error(move || MODEL.expect("conv.weight", dtype, dims));
    let is = "the tensor \"conv.weight\" is F32 [2, 3] in the model, but";
    assert_eq!(expected(Dtype::I8, &[2, 3]), format!("{is} I8 [2, 3] is expected"));
    assert_eq!(expected(Dtype::F32, &[3, 2]), format!("{is} F32 [3, 2] is expected"));
    assert_eq!(expected(Dtype::F32, &[6]), format!("{is} F32 [6] is expected"));
    assert_eq!(expected(Dtype::F16, &[]), format!("{is} F16 [] is expected"));
    assert_eq!(expected(Dtype::F32, &[ANY_SIZE, 2]), format!("{is} F32 [any, 2] is expected"));
    assert_eq!(
        build_error(|| MODEL.expect_array::<[[f32; 3]; 3]>("conv.weight")),
        format!("{is} F32 [3, 3] is expected")
    );
}

#[test]
fn missing_name_is_reported_with_existing_names() {
    let names = "\"conv.weight\", \"fc.weight\", \"odd\", \"late\", \"none\"";
    let message = |name: &str| format!("the model has no tensor \"{name}\"; it has {names}");
    assert_eq!(build_error(|| MODEL.expect("conv", Dtype::F32, &[2])), message("conv"));
    assert_eq!(build_error(|| MODEL.expect_array::<u8>("\\u006fdd")), message("\\\\u006fdd"));
}

#[test]
fn long_list_of_names_is_shortened() {
    let entries: Vec<String> = (0..100).map(|i| empty(&format!("layer.{i}"))).collect();
    let file = file_of(&entries);
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
    let file = file_of(&[empty("a"), empty("twice"), empty("tw\\u0069ce")]);
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
fn invalid_file_is_reported() {
    const HOLE: &str = concat!(
        r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"#,
        r#""b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}"#,
    );
    const BACKWARDS: &str = concat!(
        r#"{"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},"#,
        r#""a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#,
    );
    let sentences = [
        build_error(|| View::embed(aligned_file!(4, HOLE, b"xyz"))),
        build_error(|| View::embed(aligned_file!(4, BACKWARDS, b"xyz"))),
    ];
    let hole = ErrorKind::Hole { begin: 2, previous_end: 1 };
    assert_eq!(
        sentences,
        [107, 55].map(|at| format!("error[layout.hole] at byte {at}: tensor \"b\": {hole}"))
    );
}

#[test]
fn misaligned_elements_report_the_fix() {
    let late = build_error(|| MODEL.expect_array::<[u16; 1]>("late"));
    let at = MODEL.tensor("late").unwrap().at();
    let why = "1 byte after a multiple of 2: write the file with its tensors aligned";
    assert_eq!(late, format!("the tensor \"late\" begins at byte {at} of the file, {why}"));
    let file = [&with_header(NET, 0), NET_DATA].concat();
    let anywhere =
        build_error(|| View::parse(&file).unwrap().expect_array::<[[f32; 3]; 2]>("conv.weight").len());
    let how = "include it with include_model!(\"…\", 4) or include_aligned!(\"…\", 4)";
    let must = "must begin at a multiple of 4 bytes in memory, but nothing aligns the file";
    assert_eq!(anywhere, format!("the tensor \"conv.weight\" {must}: {how}"));
}

#[test]
fn array_of_wrong_length_is_rejected() {
    let message = |work: fn() -> usize| *catch_unwind(work).unwrap_err().downcast::<&str>().unwrap();
    let short = message(|| MODEL.to_array::<4>().len());
    assert_eq!(short, "the array is shorter than the model has tensors");
    let long = message(|| MODEL.to_array::<6>().len());
    assert_eq!(long, "the array is longer than the model has tensors");
}
