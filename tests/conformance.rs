//! This project's verdict on every conformance vector, through every API that gives one.

use embedded_safetensors::{
    Error, ErrorKind,
    validate::{SortSlot, validate_header},
};
use support::share::{self, Half};
use support::split::Split;
use support::verdict::{Reader, full_verdict};
use vectors::table::Table;
use vectors::{Ours, Vector};

/// Longer files are validated once, in one piece; the other properties do not depend on length.
const LONG: usize = 1 << 20;

halves! {
    every_vector_has_its_verdict
    verdict_is_the_same_in_pieces_and_little_memory
    verdict_is_the_same_with_unknown_length
    too_little_memory_is_a_limit_error
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("{what} is {got:?}, not {expected:?}")) }
}

/// Checks everything that the manifest expects: verdict, code, offset, table.
fn expect_verdict(vector: &Vector, verdict: Result<Table, Error>) -> Result<(), String> {
    match (vector.ours, verdict) {
        (Ours::Accept, Ok(table)) => expect_table(vector, &table),
        (Ours::Reject, Err(error)) => expect_error(vector, &error),
        (Ours::Accept, Err(error)) => Err(format!("must be accepted: {error}")),
        (Ours::Reject, Ok(_)) => Err("must be rejected".to_owned()),
    }
}

fn expect_error(vector: &Vector, error: &Error) -> Result<(), String> {
    let got = (Some(error.kind.code().to_owned()), Some(error.at));
    expect("the error", got, (vector.code.clone(), vector.at))
}

fn expect_table(vector: &Vector, table: &Table) -> Result<(), String> {
    if let Some(count) = vector.tensor_count {
        expect("the number of tensors", table.tensors.len(), count)?;
    }
    match vector.table() {
        Some(expected) => expect("the table", table, &expected),
        None => Ok(()),
    }
}

fn every_vector_has_its_verdict(half: Half) {
    half.each(usize::MAX, |vector, file| expect_verdict(vector, full_verdict(file)));
}

fn verdict_is_the_same_in_pieces_and_little_memory(half: Half) {
    let readers = [
        Reader { split: Split::Every(1), slots: Some(3), text: 1, length_known: true },
        Reader { split: Split::Every(64), slots: Some(2), text: 5, length_known: true },
        Reader { split: Split::Every(7), slots: Some(16), text: 512, length_known: true },
    ];
    // Fewer slots take more passes: the limit is the length up to which two slots are still fast.
    half.each(100_000, |vector, file| {
        share::part(&readers, file.len()).try_for_each(|reader| expect_verdict(vector, reader.verdict(file)))
    });
}

/// A stream does not report its length. The verdict is the same; but if a header claims to be longer than its
/// file, the error may be one in the bytes that follow.
fn verdict_is_the_same_with_unknown_length(half: Half) {
    let reader = Reader { length_known: false, ..Reader::default() };
    half.each(LONG, |vector, file| match (vector.code.as_deref(), reader.verdict(file)) {
        (Some("container.header-beyond-file"), Err(_)) => Ok(()),
        (_, verdict) => expect_verdict(vector, verdict),
    });
}

/// Too little memory is never reported as an invalid file.
fn too_little_memory_is_a_limit_error(half: Half) {
    half.each(LONG, |_, file| match validate_header(file, &mut []) {
        Err(error) if error.kind == ErrorKind::OutOfOrder => {
            let with_slots = validate_header(file, &mut [SortSlot::EMPTY; 64]);
            expect("another limit", with_slots.map_err(|e| e.kind) == Err(ErrorKind::OutOfOrder), false)
        }
        without => expect("the verdict", validate_header(file, &mut [SortSlot::EMPTY; 64]), without),
    });
}

/// Every byte of the first and the last sequence of each form, replaced by every other, in one
/// piece and byte by byte.
#[test]
fn names_are_utf8_as_the_standard_library_says() {
    for character in
        "\u{80}\u{7ff}\u{800}\u{fff}\u{1000}\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{3ffff}\u{40000}\u{10ffff}"
            .chars()
            .map(String::from)
    {
        for (at, byte) in (0..character.len()).flat_map(|at| (b' '..=u8::MAX).map(move |byte| (at, byte))) {
            let mut name = character.clone().into_bytes();
            name[at] = byte;
            if matches!(byte, b'"' | b'\\') {
                continue;
            }
            let entry = br#"":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#;
            let header = [b"{\"", &name[..], entry].concat();
            let file = [&(header.len() as u64).to_le_bytes(), &header[..]].concat();
            for split in [Split::WHOLE, Split::Every(1)] {
                let verdict = Reader::default().split(split).verdict(&file);
                assert_eq!(verdict.is_ok(), str::from_utf8(&name).is_ok(), "{name:x?} {split:?}");
            }
        }
    }
}
