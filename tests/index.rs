//! The index: its errors when memory is too small, and random headers with similar names. `apis` compares its
//! content and its lookups for every vector.

use embedded_safetensors::{
    Error, ErrorKind, Model,
    error::IndexPart,
    index::{Index, IndexMemory, IndexSize, IndexStorage},
    io::FileLen,
    validate::SortSlot,
};
use std::collections::BTreeMap;
use std::sync::Mutex;
use support::apis::{Case, stored};
use support::file::{entry, of_file, with_entries, with_header};
use support::memory::Memory;
use support::mock::{Plan, Storage};
use support::random::Random;
use support::verdict::full_verdict;

fn open<'m>(file: &[u8], memory: IndexMemory<'m>, window: usize) -> Result<Index<'m>, Error> {
    of_file(Model::open_indexed(file, memory, &mut vec![0; window])).map(|(_, index)| index)
}

fn size_of_index(file: &[u8]) -> IndexSize {
    let (mut slots, mut window) = (vec![SortSlot::EMPTY; 1000], [0; 4096]);
    let mut model = of_file(Model::open_unordered(file, &mut slots, &mut window)).expect("valid file");
    of_file(model.index_size(&mut window)).expect("the header can be counted")
}

/// Returns a file with twelve dimensions, three tensors, eleven bytes of names, and metadata with a longer
/// name at the end.
fn example() -> Vec<u8> {
    let entries = [
        entry("weight", "F32", [2, 1], 5..13),
        entry("bias", "U8", [5], 0..5),
        entry("n", "I8", [1, 1, 1, 1, 1, 1, 1, 1, 1], 13..14),
        r#""__metadata__":{"a":"b"}"#.to_owned(),
    ];
    with_entries(&entries, 14)
}

const EXAMPLE: IndexSize = IndexSize { tensors: 3, dims: 12, name_bytes: 11 };

#[test]
fn index_size_is_exactly_enough() {
    let file = example();
    assert_eq!(size_of_index(&file), EXAMPLE);
    let mut memory = Memory::of(EXAMPLE);
    stored::lists(&Case::new(&file), &mut open(&file, memory.lend(), 64).expect("fits"));
}

#[test]
fn too_small_memory_reports_needed_size() {
    let file = example();
    let IndexSize { tensors, dims, name_bytes } = EXAMPLE;
    for (part, size, needed) in [
        (IndexPart::Tensors, IndexSize { tensors: tensors - 1, ..EXAMPLE }, tensors),
        (IndexPart::Dims, IndexSize { dims: dims - 1, ..EXAMPLE }, dims),
        (IndexPart::Names, IndexSize { name_bytes: name_bytes - 1, ..EXAMPLE }, name_bytes),
        (IndexPart::Tensors, IndexSize { tensors: 0, dims: 0, name_bytes: 0 }, tensors),
        (IndexPart::Dims, IndexSize { dims: 2, name_bytes: 0, ..EXAMPLE }, dims),
    ] {
        let capacity = match part {
            IndexPart::Tensors => size.tensors,
            IndexPart::Dims => size.dims,
            IndexPart::Names => size.name_bytes,
        };
        let kind = ErrorKind::Index { part, needed: needed as u64, capacity: capacity as u64 };
        let error = open(&file, Memory::of(size).lend(), 64).map(|_| ());
        assert_eq!(error, Err(kind.at(file.len() as u64 - 14)), "{size:?}");
    }
}

#[test]
fn file_errors_precede_limits() {
    let none = || IndexMemory::new(&mut [], &mut [], &mut []);
    let hole = with_entries(&[entry("a", "U8", [2], 1..3)], 3);
    assert_eq!(open(&hole, none(), 9).map(|_| ()), full_verdict(&hole).map(|_| ()));
    let long = with_entries(&[entry("a", "U8", [2], 0..2)], 3);
    assert_eq!(open(&long, none(), 9).map(|_| ()), full_verdict(&long).map(|_| ()));

    // Names and dimensions are not needed to detect that the tensors overlap, in any order.
    let (first, second) = (entry("a", "U8", [2], 1..3), entry("b", "U8", [2], 0..2));
    let overlap = with_header(&format!("{{{first},{second}}}"), 3);
    let records = IndexSize { tensors: 2, dims: 0, name_bytes: 0 };
    let verdict = open(&overlap, Memory::of(records).lend(), 9).map(|_| ());
    assert_eq!(verdict, full_verdict(&overlap).map(|_| ()));
    assert_eq!(verdict.map_err(|error| error.kind.code()), Err("layout.overlap"));
}

#[test]
fn index_in_a_static_is_reused() {
    static STORAGE: Mutex<IndexStorage<3, 12, 11>> = Mutex::new(IndexStorage::new());
    let mut storage = STORAGE.lock().expect("not poisoned");
    let other = with_entries(&[entry("bias", "U8", [0; 0], 0..1)], 1);
    for file in [example(), other, with_header("{}", 0), example()] {
        let (mut model, mut index) =
            Model::open_indexed(&file[..], storage.memory(), &mut [0; 32]).expect("fits");
        stored::lists(&Case::new(&file), &mut index);
        for tensor in index.by_offset() {
            let bytes = model.reader(&tensor).expect("in the file").byte_len();
            assert_eq!(bytes, tensor.byte_len());
        }
    }
}

#[test]
fn data_length_is_validated_before_names() {
    let entries = [entry("a", "U8", [2], 0..2), entry("a", "U8", [2], 2..4)];
    let file = with_entries(&entries, 4);
    let outcome = |len| {
        let partition =
            Storage::new(&file, Plan { reported_len: Some(FileLen::AtMost(len)), ..Plan::default() });
        Model::open_indexed(&partition, Memory::ample(&file).lend(), &mut [0; 32]).map(|_| ())
    };
    let (whole, second_name) = (file.len() as u64, 8 + 2 + entries[0].len() as u64);
    assert_eq!(outcome(whole), Err(ErrorKind::DuplicateName.at(second_name).into()));
    assert_eq!(outcome(whole - 1), Err(ErrorKind::DataShort { needed: 4, present: 3 }.at(whole - 1).into()));
}

/// Returns a name that resembles others, in its JSON spelling.
fn random_name(random: &mut Random) -> String {
    let letters = ["a", "b", ".", "é", "層", "\\u0061", "\\n", "\\\"", "weight", "__metadata__"];
    (0..random.below(4)).map(|_| random.pick(&letters)).collect()
}

/// Returns a header of tensors that are mostly contiguous, some of them empty, in any order or sorted by
/// offset, some with the same name.
fn random_file(random: &mut Random) -> Vec<u8> {
    let mut end = 0;
    let mut entries: Vec<String> = (0..random.below(40))
        .map(|number| {
            let begin = end + u64::from(random.percent(1));
            let shape: Vec<u64> = (0..random.below(11)).map(|_| 1 + random.number() % 2).collect();
            let shape = if random.percent(20) { vec![0] } else { shape };
            end = begin + shape.iter().product::<u64>();
            let number = if random.percent(90) { number.to_string() } else { String::new() };
            entry(&(random_name(random) + &number), "U8", &shape, begin..end)
        })
        .filter(|entry| !entry.starts_with("\"__metadata__\""))
        .collect();
    if random.percent(50) {
        random.shuffle(&mut entries);
    }
    let data = usize::try_from(end).expect("fits in usize");
    with_entries(&entries, data)
}

/// Builds the index of a header, and compares it with a map.
pub fn check(random: &mut Random) -> Result<(), Error> {
    let file = random_file(random);
    let key = [random.number(), random.number()];
    let mut memory = Memory::ample(&file);
    let window = 1 + random.below(200);
    let (case, opened) = (Case::new(&file), open(&file, memory.lend().with_key(key), window));
    assert_eq!(opened.as_ref().map(drop).map_err(|error| *error), case.verdict());
    opened.map(|mut index| stored::lists(&case, &mut index))
}

#[test]
fn random_headers_match_a_map() {
    let mut random = Random::new(3);
    let mut verdicts = BTreeMap::new();
    for _ in 0..4000 {
        let verdict = check(&mut random);
        *verdicts.entry(verdict.map_or_else(|error| error.kind.code(), |()| "valid")).or_insert(0) += 1;
    }
    let kinds = ["valid", "layout.hole", "name.duplicate"];
    assert!(kinds.iter().all(|kind| verdicts.get(kind).is_some_and(|&count| count > 100)), "{verdicts:?}");
}
