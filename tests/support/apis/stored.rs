//! A file in storage that is read through a window.

use embedded_safetensors::{
    Error, ErrorKind, Model, ReadAt, ReadError, TensorInfo, asynch, index::Index, query::Query,
    validate::SortSlot,
};

use super::viewed::some_slots;
use super::{Api, Case, Lack, lend};
use crate::contents::tensor_of;
use crate::executor::finish;
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

pub const APIS: [Api; 10] = [
    Api { name: "Model::open, in memory", lacks: UNSORTED, read: |case, random| opened(SLICE, case, random) },
    Api {
        name: "Model::open, own storage",
        lacks: UNSORTED,
        read: |case, random| opened(CUSTOM, case, random),
    },
    Api { name: "Model::open_with, own storage", lacks: UNSORTED, read: opened_with },
    Api {
        name: "Model::open_unordered, own storage",
        lacks: UNINDEXED,
        read: |case, random| sorted(CUSTOM, case, random),
    },
    Api {
        name: "Model::open_unordered, a stream that seeks",
        lacks: UNINDEXED,
        read: |case, random| sorted(STREAM, case, random),
    },
    Api {
        name: "Model::open_unordered, NOR flash",
        lacks: UNINDEXED,
        read: |case, random| sorted(nor::<4, 6>(), case, random),
    },
    Api {
        name: "Model::open_indexed, own storage",
        lacks: &[Lack::Keys],
        read: |case, random| indexed(CUSTOM, case, random),
    },
    Api {
        name: "Model::open_indexed, in memory",
        lacks: &[Lack::Keys],
        read: |case, random| indexed(SLICE, case, random),
    },
    Api { name: "asynch::Model::open_unordered", lacks: UNINDEXED, read: sorted_later },
    Api { name: "asynch::Model::open_indexed", lacks: &[Lack::Keys], read: indexed_later },
];

const WINDOWS: [usize; 10] = [1, 2, 7, 8, 9, 16, 64, 100, 512, 4096];

fn storage<'f>(case: &Case<'f>, reads: &[Reads], random: &mut Random) -> Storage<'f> {
    Storage::new(case.file, Plan { reads: random.pick(reads), ..Plan::default() })
}

/// The storage itself has no faults.
fn of_file<T>(outcome: Result<T, ReadError<impl std::fmt::Debug>>) -> Result<T, Error> {
    outcome.map_err(|error| match error {
        ReadError::Format(error) => error,
        error => panic!("{error:?}"),
    })
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
    let mut slots = some_slots(random);
    let mut model = of_file(Model::open_unordered(kind.source(&storage), &mut slots, &mut window))?;
    look(case, &mut model, &mut window, random);
    Ok(())
}

fn indexed(kind: SourceKind, case: &Case<'_>, random: &mut Random) -> Result<(), Error> {
    let storage = storage(case, kind.reads, random);
    let mut window = vec![0; random.pick(&WINDOWS)];
    let mut memory = Memory::ample(case.file);
    let (mut model, index) =
        of_file(Model::open_indexed(kind.source(&storage), lend(&mut memory, random), &mut window))?;
    lists(case, &index);
    look(case, &mut model, &mut window, random);
    Ok(())
}

fn lists(case: &Case<'_>, index: &Index<'_>) {
    let tensors = index.by_offset().map(|tensor| Tensor {
        data_offsets: [tensor.begin(), tensor.end()],
        name: tensor.name().to_owned(),
        dtype: tensor.dtype().to_string(),
        shape: tensor.dims().to_vec(),
    });
    case.lists(tensors.collect());
    assert!(case.tensors().iter().all(|tensor| index.find(&tensor.name).is_ok_and(|found| found.is_some())));
    assert_eq!(index.find("no such name"), Ok(None));
}

/// Makes every query of a model, for a valid file.
fn look<S: ReadAt<Error: std::fmt::Debug>>(
    case: &Case<'_>,
    model: &mut Model<S>,
    window: &mut [u8],
    random: &mut Random,
) {
    model.check_unchanged(window).expect("unchanged");
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
    for tensor in case.flat() {
        let query = queries.iter().find(|query| query.name() == tensor.name).expect("requested");
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
    let mut memory = Memory::ample(case.file);
    lists(case, &model.build_index(lend(&mut memory, random), window).expect("fits"));
}

/// Returns `None` where a shape cannot be held.
fn list<S: ReadAt<Error: std::fmt::Debug>>(
    case: &Case<'_>,
    model: &mut Model<S>,
    window: &mut [u8],
) -> Option<Vec<TensorInfo>> {
    let (mut tensors, mut infos) = (Vec::new(), Vec::new());
    let outcome = model.for_each(&mut vec![0; case.file.len()], window, |entry| {
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
    let tensor = case.tensors().iter().find(|tensor| tensor.data_offsets == [info.begin(), info.end()]);
    let expected = case.bytes(tensor.expect("listed"));
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
    random
        .pick(&[waiting::SourceKind::Slice, waiting::SourceKind::Custom, waiting::SourceKind::Seekable])
        .source(storage, WAITS)
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
    let (mut model, index) = of_file(finish(opening))?;
    lists(case, &index);
    look_later(case, &mut model, &mut window, random);
    Ok(())
}

fn look_later(
    case: &Case<'_>,
    model: &mut asynch::Model<waiting::Source<'_>>,
    window: &mut [u8],
    random: &mut Random,
) {
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
