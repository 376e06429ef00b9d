//! Every conformance vector as a view.

use embedded_safetensors::{Error, ErrorKind, Tensor, View, tensor::MAX_RANK, validate::SortSlot};
use std::collections::BTreeMap;
use vectors::table::{self, Table};
use vectors::{Ours, Vector, sha256};

/// Longer files have nothing that shorter ones do not have.
const LONG: usize = 1 << 20;

fn each_vector(check: impl Fn(&Vector, &[u8]) -> Result<(), String>) {
    let manifest = vectors::load();
    let chosen: Vec<&Vector> = manifest.vectors.iter().filter(|vector| vector.length <= LONG).collect();
    let failure =
        |vector: &&Vector| Some(format!("{}: {}", vector.id, check(vector, &vector.bytes()).err()?));
    let failures: Vec<String> = chosen.iter().filter_map(failure).collect();
    assert!(chosen.len() > 450, "only {} vectors are left", chosen.len());
    assert!(failures.is_empty(), "{} vectors fail:\n{}", failures.len(), failures.join("\n"));
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("{what} is {got:?}, not {expected:?}")) }
}

/// Returns the view of a file in any order, whose names are not checked.
fn parse(file: &[u8]) -> Result<View<'_>, Error> {
    match View::parse(file) {
        Err(Error { kind: ErrorKind::OutOfOrder, .. }) => {
            View::parse_unordered(file, &mut vec![SortSlot::EMPTY; 64])
        }
        outcome => outcome,
    }
}

fn row(tensor: &Tensor<'_>) -> table::Tensor {
    table::Tensor {
        data_offsets: [tensor.info().begin(), tensor.info().end()],
        name: tensor.name().to_string(),
        dtype: tensor.dtype().to_string(),
        shape: tensor.shape().dims().to_vec(),
    }
}

/// Returns all tensors that a shape can hold, and the pairs of `__metadata__`.
fn list(view: &View<'_>) -> Table {
    let tensors = view.tensors().filter_map(|tensor| Some(row(&tensor.ok()?))).collect();
    let metadata: BTreeMap<_, _> =
        view.metadata().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Table { tensors, metadata: Some(metadata) }.sorted()
}

/// Returns the table that the manifest lists.
fn listed(vector: &Vector) -> Option<Table> {
    let mut table = vector.table()?;
    table.tensors.retain(|tensor| tensor.shape.len() <= MAX_RANK);
    table.metadata.get_or_insert_default();
    Some(table)
}

#[test]
fn every_vector_has_its_verdict() {
    each_vector(|vector, file| {
        // Parsing detects everything except duplicate names.
        let is_for_parse = !vector.code.as_deref().unwrap_or("").ends_with(".duplicate");
        if matches!(vector.ours, Ours::Reject) && is_for_parse && parse(file).is_ok() {
            return Err("must be rejected without a look at the names".to_owned());
        }
        let outcome = parse(file).and_then(|view| {
            view.validate_names([1, 2], &mut vec![SortSlot::EMPTY; 4096], &mut [0; 64])?;
            Ok(view)
        });
        match (vector.ours, outcome) {
            (Ours::Accept, Ok(view)) => {
                expect("the length", view.len(), vector.tensor_count.unwrap_or(view.len()))
            }
            (Ours::Accept, Err(error)) => Err(format!("must be accepted: {error}")),
            (Ours::Reject, Ok(_)) => Err("must be rejected".to_owned()),
            (Ours::Reject, Err(error)) => {
                let got = (Some(error.kind.code().to_owned()), Some(error.at));
                expect("the error", got, (vector.code.clone(), vector.at))
            }
        }
    });
}

#[test]
fn view_lists_all_tensors_and_metadata() {
    each_vector(|vector, file| {
        let Some(expected) = listed(vector) else { return Ok(()) };
        let view = parse(file).map_err(|error| error.to_string())?;
        expect("the list", list(&view), expected)?;
        let of_any_rank = vector.tensors.iter().flatten().count();
        expect("the number of tensors", (view.len(), view.tensors().count()), (of_any_rank, of_any_rank))?;
        let offsets: Vec<u64> = view.tensors().flatten().map(|tensor| tensor.name().at()).collect();
        expect("the order", offsets.is_sorted(), true)
    });
}

#[test]
fn view_has_the_bytes_of_each_tensor() {
    each_vector(|vector, file| {
        let Some(tensors) = &vector.tensors else { return Ok(()) };
        let view = parse(file).map_err(|error| error.to_string())?;
        tensors.iter().filter(|tensor| tensor.shape.len() <= MAX_RANK).try_for_each(|expected| {
            let tensor = view.tensor(&expected.name).map_err(|error| error.to_string())?;
            expect("the hash", sha256(tensor.bytes()), expected.sha256.clone())?;
            let mut read = vec![0; tensor.bytes().len()];
            let read = tensor.reader().read_to_end(&mut read).map_err(|error| error.to_string())?;
            expect("what a reader reads", read, tensor.bytes())
        })
    });
}
