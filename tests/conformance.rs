//! This project's verdict on every conformance vector, through every API that gives one.

use embedded_safetensors::{
    Error, ErrorKind,
    header::{Entries, Item},
    tensor::MAX_RANK,
    validate::{SortSlot, validate, validate_header},
};
use support::contents::tensor_of;
use support::share;
use support::split::Split;
use support::verdict::{Reader, full_verdict};
use vectors::table::{Table, Tensor};
use vectors::{Ours, Vector, sha256};

/// Longer files are validated once, in one piece; the other properties do not depend on length.
const LONG: usize = 1 << 20;

/// Runs a check over the vectors up to this length and reports every failure.
fn each_vector_up_to(limit: usize, check: impl Fn(&Vector, &[u8]) -> Result<(), String>) {
    let manifest = vectors::load();
    let chosen: Vec<&Vector> = manifest.vectors.iter().filter(|vector| vector.length <= limit).collect();
    let failure =
        |vector: &&Vector| Some(format!("{}: {}", vector.id, check(vector, &vector.bytes()).err()?));
    let failures: Vec<String> = chosen.iter().filter_map(failure).collect();
    assert!(chosen.len() > 450, "only {} vectors are left", chosen.len());
    assert!(failures.is_empty(), "{} vectors fail:\n{}", failures.len(), failures.join("\n"));
}

fn each_vector(check: impl Fn(&Vector, &[u8]) -> Result<(), String>) {
    each_vector_up_to(LONG, check);
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

#[test]
fn every_vector_has_its_verdict() {
    each_vector_up_to(usize::MAX, |vector, file| expect_verdict(vector, full_verdict(file)));
}

#[test]
fn verdict_is_the_same_in_pieces_and_little_memory() {
    let readers = [
        Reader { split: Split::Every(1), slots: Some(3), text: 1, length_known: true },
        Reader { split: Split::Every(64), slots: Some(2), text: 5, length_known: true },
        Reader { split: Split::Every(7), slots: Some(16), text: 512, length_known: true },
    ];
    // Fewer slots take more passes: the limit is the length up to which two slots are still fast.
    each_vector_up_to(100_000, |vector, file| {
        share::part(&readers, file.len()).try_for_each(|reader| expect_verdict(vector, reader.verdict(file)))
    });
}

/// A stream does not report its length. The verdict is the same; but if a header claims to be longer than its
/// file, the error may be one in the bytes that follow.
#[test]
fn verdict_is_the_same_with_unknown_length() {
    let reader = Reader { length_known: false, ..Reader::default() };
    each_vector(|vector, file| match (vector.code.as_deref(), reader.verdict(file)) {
        (Some("container.header-beyond-file"), Err(_)) => Ok(()),
        (_, verdict) => expect_verdict(vector, verdict),
    });
}

#[test]
fn validate_header_matches_full_verdict() {
    each_vector(|vector, file| {
        let mut slots = vec![SortSlot::EMPTY; 4096.min(file.len() / 4 + 2)];
        let outcome = validate(file, &mut slots, &mut [0; 64]).map(|_| ());
        match (vector.ours, outcome) {
            (Ours::Accept, outcome) => expect("the verdict", outcome, Ok(())),
            (Ours::Reject, Err(error)) => expect_error(vector, &error),
            (Ours::Reject, Ok(())) => Err("must be rejected".to_owned()),
        }
    });
}

#[test]
fn tensor_bytes_are_at_their_offsets() {
    each_vector(|vector, file| {
        let Some(tensors) = &vector.tensors else { return Ok(()) };
        let summary = validate_header(file, &mut [SortSlot::EMPTY; 64]).map_err(|error| error.to_string())?;
        tensors.iter().try_for_each(|tensor| {
            let in_file = |offset: u64| usize::try_from(summary.data_start + offset).expect("fits in usize");
            let bytes = &file[in_file(tensor.data_offsets[0])..in_file(tensor.data_offsets[1])];
            expect("the hash", sha256(bytes), tensor.sha256.clone())
        })
    });
}

/// Lists the tensors one by one, with caller-provided memory for names and shapes.
fn list(file: &[u8], name_memory: usize) -> Result<Vec<Tensor>, Error> {
    let mut name = vec![0; name_memory];
    let mut entries = Entries::new(&mut name);
    let mut tensors = vec![];
    let mut pieces = file.chunks(16);
    let mut input: &[u8] = &[];
    loop {
        match entries.next(&mut input)? {
            Item::NeedInput => input = pieces.next().expect("the header is complete"),
            Item::Tensor(entry) => tensors.push(tensor_of(&entry)),
            Item::HeaderEnd => break,
        }
    }
    tensors.sort();
    Ok(tensors)
}

#[test]
fn listed_tensors_match_the_table() {
    each_vector(|vector, file| {
        let Some(table) = vector.table().filter(|_| vector.ours == Ours::Accept) else { return Ok(()) };
        let longest = table.tensors.iter().map(|tensor| tensor.name.len()).max().unwrap_or(0);
        let outcome = list(file, longest);
        if table.tensors.iter().any(|tensor| tensor.shape.len() > MAX_RANK) {
            return expect("the error", outcome.map_err(|e| e.kind), Err(ErrorKind::Rank { limit: 8 }));
        }
        expect("the list", outcome, Ok(table.tensors))?;
        match longest.checked_sub(1) {
            Some(less) => expect_name_limit(list(file, less), longest),
            None => Ok(()),
        }
    });
}

/// The first name that does not fit is the error, which reports the memory needed.
fn expect_name_limit(outcome: Result<Vec<Tensor>, Error>, longest: usize) -> Result<(), String> {
    let (needed, capacity) = (longest as u64, longest as u64 - 1);
    expect("the error", outcome.map_err(|e| e.kind), Err(ErrorKind::NameLength { needed, capacity }))
}

/// Too little memory is never reported as an invalid file.
#[test]
fn too_little_memory_is_a_limit_error() {
    each_vector(|_, file| match validate_header(file, &mut []) {
        Err(error) if error.kind == ErrorKind::OutOfOrder => {
            let with_slots = validate_header(file, &mut [SortSlot::EMPTY; 64]);
            expect("another limit", with_slots.map_err(|e| e.kind) == Err(ErrorKind::OutOfOrder), false)
        }
        without => expect("the verdict", validate_header(file, &mut [SortSlot::EMPTY; 64]), without),
    });
}
