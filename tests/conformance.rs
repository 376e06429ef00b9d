//! The verdict of this project on every conformance vector, through every way to ask for it.

use embedded_safetensors::{
    Error, ErrorKind,
    header::{Entries, Item},
    tensor::MAX_RANK,
    validate::{SortSlot, validate, validate_header},
};
use support::contents::tensor_of;
use support::share;
use support::split::Split;
use support::verdict::{Reader, judge};
use vectors::table::{Table, Tensor};
use vectors::{Ours, Vector, sha256};

/// Longer files are judged once, whole; what else can be asked of them does not depend on length.
const LONG: usize = 1 << 20;

/// Runs a check over the vectors up to this length and reports every one that fails.
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

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: T, wanted: T) -> Result<(), String> {
    if got == wanted { Ok(()) } else { Err(format!("{what} is {got:?}, not {wanted:?}")) }
}

/// The whole expectation of the manifest: verdict, code, offset, table.
fn expect_judgement(vector: &Vector, judgement: Result<Table, Error>) -> Result<(), String> {
    match (vector.ours, judgement) {
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
        Some(wanted) => expect("the table", table, &wanted),
        None => Ok(()),
    }
}

#[test]
fn every_vector_gets_its_verdict() {
    each_vector_up_to(usize::MAX, |vector, file| expect_judgement(vector, judge(file)));
}

#[test]
fn pieces_and_little_memory_do_not_change_it() {
    let readers = [
        Reader { split: Split::Every(1), slots: Some(3), text: 1, length_known: true },
        Reader { split: Split::Every(64), slots: Some(2), text: 5, length_known: true },
        Reader { split: Split::Every(7), slots: Some(16), text: 512, length_known: true },
    ];
    // One pass for every slot: the limit is what two slots can do in a moment.
    each_vector_up_to(100_000, |vector, file| {
        share::part(&readers, file.len()).try_for_each(|reader| expect_judgement(vector, reader.judge(file)))
    });
}

/// A stream does not say how long it is. The verdict is the same; a header that claims to be longer
/// than its file may be found out by what stands in its place.
#[test]
fn an_unknown_length_does_not_change_it() {
    let reader = Reader { length_known: false, ..Reader::default() };
    each_vector(|vector, file| match (vector.code.as_deref(), reader.judge(file)) {
        (Some("container.header-beyond-file"), Err(_)) => Ok(()),
        (_, judgement) => expect_judgement(vector, judgement),
    });
}

#[test]
fn a_file_in_memory_is_judged_by_one_call() {
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
fn the_bytes_of_each_tensor_are_where_the_header_says() {
    each_vector(|vector, file| {
        let Some(tensors) = &vector.tensors else { return Ok(()) };
        let summary = validate_header(file, &mut [SortSlot::EMPTY; 64]).map_err(|error| error.to_string())?;
        tensors.iter().try_for_each(|tensor| {
            let place = |offset: u64| usize::try_from(summary.data_start + offset).expect("in memory");
            let bytes = &file[place(tensor.data_offsets[0])..place(tensor.data_offsets[1])];
            expect("the hash", sha256(bytes), tensor.sha256.clone())
        })
    });
}

/// The tensors that come one by one, with names and shapes in memory that the caller gave.
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
fn tensors_one_by_one_are_the_table() {
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

/// The first name that does not fit is the error, and it says how much memory it needs.
fn expect_name_limit(outcome: Result<Vec<Tensor>, Error>, longest: usize) -> Result<(), String> {
    let (needed, capacity) = (longest as u64, longest as u64 - 1);
    expect("the error", outcome.map_err(|e| e.kind), Err(ErrorKind::NameLength { needed, capacity }))
}

/// The verdict never says that the file is bad when it is the memory that is too small.
#[test]
fn limits_are_not_verdicts() {
    each_vector(|_, file| match validate_header(file, &mut []) {
        Err(error) if error.kind == ErrorKind::OutOfOrder => {
            let with_slots = validate_header(file, &mut [SortSlot::EMPTY; 64]);
            expect("again a limit", with_slots.map_err(|e| e.kind) == Err(ErrorKind::OutOfOrder), false)
        }
        without => expect("the verdict", validate_header(file, &mut [SortSlot::EMPTY; 64]), without),
    });
}
