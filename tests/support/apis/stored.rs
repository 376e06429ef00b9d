//! A file in storage that is read through a window.

use std::collections::BTreeMap;

use embedded_safetensors::{
    Error, ErrorKind, Model, ReadAt, ReadError, TensorInfo, asynch,
    index::{Index, IndexedTensor},
    query::Query,
    validate::SortSlot,
};

use super::viewed::{enough_slots, some_slots};
use super::{Api, Case, Lack, api, lend};
use crate::contents::tensor_of;
use crate::executor::finish;
use crate::file::of_file;
use crate::memory::Memory;
use crate::mock::{Plan, Reads, Storage};
use crate::random::Random;
use crate::sources::{CUSTOM, SLICE, STREAM, SourceKind, nor};
use crate::waiting::{self, Waits};
use vectors::table::Tensor;

/// The shortest pair has 6 bytes in a header, and needs 12 bytes besides its key and value.
const MEMORY_OF_PAIRS: usize = 3;

/// The limits of a model that is opened without an index.
const UNINDEXED: &[Lack] = &[Lack::Names, Lack::Keys];
const UNSORTED: &[Lack] = &[Lack::Names, Lack::Keys, Lack::Order];

pub(super) const APIS: [Api; 10] = [
    api("Model::open, in memory", UNSORTED, |case, random| opened(SLICE, case, random)),
    api("Model::open, own storage", UNSORTED, |case, random| opened(CUSTOM, case, random)),
    api("Model::open_with, own storage", UNSORTED, opened_with),
    api("Model::open_unordered, own storage", UNINDEXED, |case, random| sorted(CUSTOM, case, random)),
    api("Model::open_unordered, a stream that seeks", UNINDEXED, |case, random| sorted(STREAM, case, random)),
    api("Model::open_unordered, NOR flash", UNINDEXED, |case, random| sorted(nor::<4, 6>(), case, random)),
    api("Model::open_indexed, own storage", &[Lack::Keys], |case, random| indexed(CUSTOM, case, random)),
    api("Model::open_indexed, in memory", &[Lack::Keys], |case, random| indexed(SLICE, case, random)),
    api("asynch::Model::open_unordered", UNINDEXED, sorted_later),
    api("asynch::Model::open_indexed", &[Lack::Keys], indexed_later),
];

const WINDOWS: [usize; 10] = [1, 2, 7, 8, 9, 16, 64, 100, 512, 4096];

fn storage<'f>(case: &Case<'f>, reads: &[Reads], random: &mut Random) -> Storage<'f> {
    Storage::new(case.file, Plan { reads: random.pick(reads), ..Plan::default() })
}

fn opened(kind: SourceKind, case: &Case<'_>, random: &mut Random) -> Result<(), Error> {
    let storage = storage(case, kind.reads, random);
    let mut window = vec![0; random.pick(&WINDOWS)];
    let mut model = of_file(Model::open(kind.source(&storage), &mut window))?;
    look(case, &mut model, &mut window, random);
    Ok(())
}

fn opened_with(case: &Case<'_>, random: &mut Random) -> Result<(), Error> {
    let storage = storage(case, CUSTOM.reads, random);
    let mut window = vec![0; random.pick(&WINDOWS)];
    let mut queries = vec![Query::optional("no such name")];
    if case.is_valid() {
        queries.extend(case.some(random).map(|tensor| Query::required(&tensor.name)));
        random.shuffle(&mut queries);
    }
    let mut model = of_file(Model::open_with(CUSTOM.source(&storage), &mut queries, &mut window))?;
    for one in &queries {
        assert_eq!(model.find(one.name(), &mut window).expect("valid file"), one.info());
    }
    look(case, &mut model, &mut window, random);
    Ok(())
}

fn sorted(kind: SourceKind, case: &Case<'_>, random: &mut Random) -> Result<(), Error> {
    let storage = storage(case, kind.reads, random);
    let mut window = vec![0; random.pick(&WINDOWS)];
    sorted_from(kind.source(&storage), case, &mut some_slots(random), &mut window, random)
}

/// Opens a model with these slots and through this window, and makes every query.
///
/// # Errors
/// What opening reports.
///
/// # Panics
/// If a query returns something that is not in the file.
pub fn sorted_from(
    source: impl ReadAt<Error: std::fmt::Debug>,
    case: &Case<'_>,
    slots: &mut [SortSlot],
    window: &mut [u8],
    random: &mut Random,
) -> Result<(), Error> {
    let mut model = of_file(Model::open_unordered(source, slots, window))?;
    look(case, &mut model, window, random);
    Ok(())
}

fn indexed(kind: SourceKind, case: &Case<'_>, random: &mut Random) -> Result<(), Error> {
    let storage = storage(case, kind.reads, random);
    let mut window = vec![0; random.pick(&WINDOWS)];
    let mut memory = Memory::ample(case.file);
    let (mut model, mut index) =
        of_file(Model::open_indexed(kind.source(&storage), lend(&mut memory, random), &mut window))?;
    lists(case, &mut index);
    look(case, &mut model, &mut window, random);
    Ok(())
}

/// Compares all queries of an index with the tensors of the file, if it is valid.
///
/// # Panics
/// If one returns something else.
pub fn lists(case: &Case<'_>, index: &mut Index<'_>) {
    case.lists(index.by_offset().map(row).collect());
    if !case.is_valid() {
        return;
    }
    assert_eq!((index.len(), index.is_empty()), (case.tensors().len(), case.tensors().is_empty()));
    assert_eq!(index.summary().tensors, case.tensors().len() as u64);
    assert!(index.by_offset().map(|tensor| (tensor.begin(), tensor.end())).is_sorted(), "by offset");
    let mut names: Vec<&str> = case.tensors().iter().map(|tensor| &tensor.name[..]).collect();
    names.sort_unstable();
    assert!(index.by_name().map(|tensor| tensor.name()).eq(names.iter().copied()), "by name");
    assert!(index.by_name().map(|tensor| tensor.name()).eq(names.iter().copied()), "still by name");
    for tensor in case.tensors() {
        let [begin, end] = tensor.data_offsets;
        assert_eq!(index.find(&tensor.name).expect("valid file").map(row).as_ref(), Some(tensor));
        for offset in [begin, end.saturating_sub(1)].into_iter().filter(|_| begin < end) {
            assert_eq!(index.at_offset(offset).map(row).as_ref(), Some(tensor), "at {offset}");
        }
        for absent in [format!("{}x", tensor.name), format!("x{}", tensor.name), String::new()] {
            assert!(
                names.binary_search(&&absent[..]).is_ok() || index.find(&absent) == Ok(None),
                "{absent:?}"
            );
        }
    }
    assert!(index.at_offset(index.summary().data_len).is_none(), "data after the end");
}

fn row(tensor: IndexedTensor<'_>) -> Tensor {
    Tensor {
        data_offsets: [tensor.begin(), tensor.end()],
        name: tensor.name().to_owned(),
        dtype: tensor.dtype().to_string(),
        shape: tensor.dims().to_vec(),
    }
}

/// Makes every query of a model, for a valid file.
fn look<S: ReadAt<Error: std::fmt::Debug>>(
    case: &Case<'_>,
    model: &mut Model<S>,
    window: &mut [u8],
    random: &mut Random,
) {
    model.check_unchanged(window).expect("unchanged");
    let mut slots = enough_slots(case.file);
    let names = of_file(model.validate_names([random.number(), 1], &mut slots, &mut [0; 16], window));
    assert_eq!(names.err(), case.expected.as_ref().err().copied());
    if !case.is_valid() {
        return;
    }
    let listed = list(case, model, window);
    for info in listed.iter().flatten() {
        reads(case, model, info, random);
    }
    let mut queries: Vec<Query<'_>> = case.flat().map(|tensor| Query::required(&tensor.name)).collect();
    queries.push(Query::optional("no such name"));
    random.shuffle(&mut queries);
    model.find_all(&mut queries, window).expect("present");
    let queries: BTreeMap<_, _> = queries.iter().map(|query| (query.name(), query)).collect();
    for tensor in case.flat() {
        let query = queries[&tensor.name[..]];
        let info = query.info().expect("present");
        assert_eq!([info.begin(), info.end()], tensor.data_offsets);
    }
    for tensor in case.some(random) {
        let info = model.find(&tensor.name, window).expect("valid file").expect("present");
        assert_eq!([info.begin(), info.end()], tensor.data_offsets);
    }
    assert_eq!(model.find("no such name", window).expect("valid file"), None);
    let mut values = vec![0; MEMORY_OF_PAIRS * case.file.len()];
    let pairs = model.metadata(&mut values, window).expect("fits");
    case.has_pairs(pairs.map(|pairs| pairs.map(|pair| (pair.key, pair.value))));
    for (key, value) in case.some_pairs() {
        assert_eq!(model.metadata_value(key, &mut values, window).expect("fits"), value, "{key}");
    }
    let mut memory = Memory::ample(case.file);
    assert_eq!(model.index_size(window).expect("valid file").tensors, case.tensors().len());
    lists(case, &mut model.build_index(lend(&mut memory, random), window).expect("fits"));
}

/// Returns `None` where a shape cannot be held.
fn list<S: ReadAt<Error: std::fmt::Debug>>(
    case: &Case<'_>,
    model: &mut Model<S>,
    window: &mut [u8],
) -> Option<Vec<TensorInfo>> {
    let (mut tensors, mut infos, mut last) = (Vec::new(), Vec::new(), 0);
    let outcome = model.for_each(&mut vec![0; case.file.len()], window, |entry| {
        assert!(entry.at > last, "in the order of the header");
        last = entry.at;
        tensors.push(tensor_of(entry));
        infos.push(entry.info);
    });
    if let Err(ReadError::Format(Error { kind: ErrorKind::Rank { .. }, .. })) = outcome {
        assert!(!case.has_only_flat());
        return None;
    }
    outcome.expect("valid file");
    case.lists(tensors);
    Some(infos)
}

fn reads<S: ReadAt<Error: std::fmt::Debug>>(
    case: &Case<'_>,
    model: &mut Model<S>,
    info: &TensorInfo,
    random: &mut Random,
) {
    let found =
        case.tensors().binary_search_by_key(&[info.begin(), info.end()], |tensor| tensor.data_offsets);
    let expected = case.bytes(&case.tensors()[found.expect("listed")]);
    let (mut found, mut buffer) = (Vec::new(), vec![0; 8 + random.below(60)]);
    let reader = model.reader(info).expect("tensor of this file");
    let mut reader = reader.aligned_to(random.pick(&[1, 2, 16, 64])).expect("a power of two");
    while let Some(chunk) = reader.next_chunk(&mut buffer).expect("readable") {
        found.extend_from_slice(chunk);
    }
    assert_eq!(found, expected);
}

const WAITS: Waits = Waits { before: 1, after: 0 };

fn later<'s>(storage: &'s Storage<'_>, random: &mut Random) -> waiting::Source<'s> {
    random.pick(&[waiting::SourceKind::Custom, waiting::SourceKind::Seekable]).source(storage, WAITS)
}

fn sorted_later(case: &Case<'_>, random: &mut Random) -> Result<(), Error> {
    let storage = storage(case, CUSTOM.reads, random);
    let mut window = vec![0; random.pick(&WINDOWS)];
    let mut slots: Vec<SortSlot> = some_slots(random);
    let source = later(&storage, random);
    let mut model = of_file(finish(asynch::Model::open_unordered(source, &mut slots, &mut window)))?;
    look_later(case, &mut model, &mut window, random);
    Ok(())
}

fn indexed_later(case: &Case<'_>, random: &mut Random) -> Result<(), Error> {
    let storage = storage(case, CUSTOM.reads, random);
    let mut window = vec![0; random.pick(&WINDOWS)];
    let mut memory = Memory::ample(case.file);
    let source = later(&storage, random);
    let opening = asynch::Model::open_indexed(source, lend(&mut memory, random), &mut window);
    let (mut model, mut index) = of_file(finish(opening))?;
    lists(case, &mut index);
    look_later(case, &mut model, &mut window, random);
    Ok(())
}

fn look_later(
    case: &Case<'_>,
    model: &mut asynch::Model<waiting::Source<'_>>,
    window: &mut [u8],
    random: &mut Random,
) {
    let mut slots = enough_slots(case.file);
    let names = finish(model.validate_names([random.number(), 1], &mut slots, &mut [0; 16], window));
    assert_eq!(of_file(names).err(), case.expected.as_ref().err().copied());
    for tensor in case.some(random) {
        let info = finish(model.find(&tensor.name, window)).expect("valid file").expect("present");
        let mut buffer = vec![0; case.bytes(tensor).len()];
        let mut reader = model.reader(&info).expect("tensor of this file");
        assert_eq!(finish(reader.read_to_end(&mut buffer)).expect("readable"), case.bytes(tensor));
    }
    if case.is_valid() {
        let mut values = vec![0; MEMORY_OF_PAIRS * case.file.len()];
        let pairs = finish(model.metadata(&mut values, window)).expect("fits");
        case.has_pairs(pairs.map(|pairs| pairs.map(|pair| (pair.key, pair.value))));
    }
}
