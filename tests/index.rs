//! The index: its verdict, its content, its lookups, and its errors when memory is too small.

use embedded_safetensors::{
    Error, ErrorKind, Model, ReadAt, ReadError,
    error::IndexPart,
    index::{Index, IndexMemory, IndexRecord, IndexSize, IndexStorage, IndexedTensor},
    io::FileLen,
    validate::SortSlot,
};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Mutex;
use support::file::with_header;
use support::memory::Memory;
use support::random::Random;
use support::share::Half;
use support::verdict::full_verdict;
use vectors::Vector;
use vectors::table::{Table, Tensor};

fn format<T>(outcome: Result<T, ReadError<Infallible>>) -> Result<T, Error> {
    outcome.map_err(|error| match error {
        ReadError::Format(error) => error,
        ReadError::Source(never) => match never {},
        ReadError::UnexpectedEof { at } => panic!("the slice ended at {at}"),
    })
}

fn open<'m>(file: &[u8], memory: IndexMemory<'m>, window: usize) -> Result<Index<'m>, Error> {
    format(Model::open_indexed(file, memory, &mut vec![0; window])).map(|(_, index)| index)
}

fn size_of_index(file: &[u8]) -> IndexSize {
    let (mut slots, mut window) = (vec![SortSlot::EMPTY; 1000], [0; 4096]);
    let mut model = format(Model::open_unordered(file, &mut slots, &mut window)).expect("valid file");
    format(model.index_size(&mut window)).expect("the header can be counted")
}

fn row(tensor: IndexedTensor<'_>) -> Tensor {
    Tensor {
        data_offsets: [tensor.begin(), tensor.end()],
        name: tensor.name().to_owned(),
        dtype: tensor.dtype().to_string(),
        shape: tensor.dims().to_vec(),
    }
}

fn rows(index: &Index<'_>) -> Vec<Tensor> {
    Table { tensors: index.by_offset().map(row).collect(), metadata: None }.sorted().tensors
}

/// Compares all queries of an index with the tensors of the file.
fn compare(index: &mut Index<'_>, tensors: &[Tensor]) -> Result<(), String> {
    let expect = |what: &str, holds: bool| if holds { Ok(()) } else { Err(what.to_owned()) };
    expect("other tensors", rows(index) == tensors)?;
    expect("another length", index.len() == tensors.len() && index.is_empty() == tensors.is_empty())?;
    expect("another count in the summary", index.summary().tensors == tensors.len() as u64)?;

    let offsets: Vec<_> = index.by_offset().map(|tensor| (tensor.begin(), tensor.end())).collect();
    expect("not by offset", offsets.is_sorted())?;
    let by_name: Vec<&str> = index.by_name().map(|tensor| tensor.name()).collect();
    let names: BTreeSet<&str> = tensors.iter().map(|tensor| tensor.name.as_str()).collect();
    expect("not by name", by_name.iter().eq(&names))?;
    expect("still not by name", index.by_name().map(|tensor| tensor.name()).eq(names.iter().copied()))?;
    tensors.iter().try_for_each(|tensor| compare_one(index, tensor, &names))?;
    expect("data after the end", index.at_offset(index.summary().data_len).is_none())
}

fn compare_one(index: &Index<'_>, tensor: &Tensor, names: &BTreeSet<&str>) -> Result<(), String> {
    let [begin, end] = tensor.data_offsets;
    if index.find(&tensor.name).expect("valid file").map(row).as_ref() != Some(tensor) {
        return Err(format!("{:?} is not found", tensor.name));
    }
    for offset in [begin, end.saturating_sub(1)] {
        if begin < end && index.at_offset(offset).map(row).as_ref() != Some(tensor) {
            return Err(format!("{:?} is not found at {offset}", tensor.name));
        }
    }
    for absent in [format!("{}x", tensor.name), format!("x{}", tensor.name), String::new()] {
        if !names.contains(absent.as_str()) && index.find(&absent) != Ok(None) {
            return Err(format!("{absent:?} is found"));
        }
    }
    Ok(())
}

/// Expects the manifest's verdict, except that an index does not compare metadata keys.
fn test_vector(vector: &Vector, file: &[u8], window: usize) -> Result<(), String> {
    let mut memory = Memory::ample(file);
    match (open(file, memory.lend(), window), vector.code.as_deref()) {
        (Ok(_), Some("metadata.duplicate")) => Ok(()),
        (Ok(mut index), None) => compare_with(vector, &mut index),
        (Err(error), Some(code)) if (error.kind.code(), Some(error.at)) == (code, vector.at) => Ok(()),
        (Err(error), _) => Err(error.to_string()),
        (Ok(_), Some(code)) => Err(format!("is accepted in spite of {code}")),
    }
}

fn compare_with(vector: &Vector, index: &mut Index<'_>) -> Result<(), String> {
    compare(index, &vector.table().ok_or("an accepted file has a table")?.tensors)
}

halves! { every_vector_has_its_verdict_and_table }

fn every_vector_has_its_verdict_and_table(half: Half) {
    for vector in half.few_large() {
        assert_eq!(test_vector(&vector, &vector.bytes(), 1 << 16), Ok(()), "{}", vector.id);
    }
}

#[test]
fn only_duplicate_metadata_keys_are_ignored() {
    let is_different = |vector: &Vector| vector.code.as_deref() == Some("metadata.duplicate");
    let different: Vec<Vector> = vectors::load().vectors.into_iter().filter(is_different).collect();
    assert!(!different.is_empty());
    for vector in different {
        let file = vector.bytes();
        assert!(open(&file, Memory::ample(&file).lend(), 64).is_ok(), "{}", vector.id);
    }
}

/// Returns an entry of a header.
fn entry(name: &str, dtype: &str, shape: &[u64], begin: u64, end: u64) -> String {
    format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{begin},{end}]}}"#)
}

/// Returns a file with twelve dimensions, three tensors, eleven bytes of names, and metadata with a longer
/// name at the end.
fn example() -> Vec<u8> {
    let entries = [
        entry("weight", "F32", &[2, 1], 5, 13),
        entry("bias", "U8", &[5], 0, 5),
        entry("n", "I8", &[1, 1, 1, 1, 1, 1, 1, 1, 1], 13, 14),
        r#""__metadata__":{"a":"b"}"#.to_owned(),
    ];
    with_header(&format!("{{{}}}", entries.join(",")), 14)
}

const EXAMPLE: IndexSize = IndexSize { tensors: 3, dims: 12, name_bytes: 11 };

#[test]
fn index_size_is_exactly_enough() {
    let file = example();
    assert_eq!(size_of_index(&file), EXAMPLE);
    let mut memory = Memory::of(EXAMPLE);
    let index = open(&file, memory.lend(), 64).expect("fits");
    assert_eq!(rows(&index), full_verdict(&file).expect("valid file").tensors);
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
    let hole = with_header(&format!("{{{}}}", entry("a", "U8", &[2], 1, 3)), 3);
    assert_eq!(open(&hole, none(), 9).map(|_| ()), full_verdict(&hole).map(|_| ()));
    let long = with_header(&format!("{{{}}}", entry("a", "U8", &[2], 0, 2)), 3);
    assert_eq!(open(&long, none(), 9).map(|_| ()), full_verdict(&long).map(|_| ()));

    // Names and dimensions are not needed to detect that the tensors overlap, in any order.
    let (first, second) = (entry("a", "U8", &[2], 1, 3), entry("b", "U8", &[2], 0, 2));
    let overlap = with_header(&format!("{{{first},{second}}}"), 3);
    let records = IndexSize { tensors: 2, dims: 0, name_bytes: 0 };
    let verdict = open(&overlap, Memory::of(records).lend(), 9).map(|_| ());
    assert_eq!(verdict, full_verdict(&overlap).map(|_| ()));
    assert_eq!(verdict.map_err(|error| error.kind.code()), Err("layout.overlap"));
}

#[test]
fn shapes_of_any_rank_are_indexed() {
    let file = example();
    let mut memory = Memory::of(EXAMPLE);
    let index = open(&file, memory.lend(), 64).expect("fits");
    let get = |name| index.find(name).expect("valid file").expect("present");
    assert_eq!(get("n").dims(), [1; 9]);
    assert_eq!(get("n").info(), Err(ErrorKind::Rank { limit: 8 }));
    let weight = get("weight").info().expect("two dimensions");
    assert_eq!((weight.shape().dims(), weight.begin(), weight.end()), (&[2, 1][..], 5, 13));
    assert_eq!(get("weight").byte_len(), 8);
}

#[test]
fn index_in_a_static_is_reused() {
    static STORAGE: Mutex<IndexStorage<3, 12, 11>> = Mutex::new(IndexStorage::new());
    let mut storage = STORAGE.lock().expect("not poisoned");
    let other = with_header(&format!("{{{}}}", entry("bias", "U8", &[], 0, 1)), 1);
    for file in [example(), other, with_header("{}", 0), example()] {
        let (mut model, mut index) =
            Model::open_indexed(&file[..], storage.memory(), &mut [0; 32]).expect("fits");
        compare(&mut index, &full_verdict(&file).expect("valid file").tensors).expect("equal");
        for tensor in index.by_offset() {
            let bytes = model.reader(&tensor).expect("in the file").byte_len();
            assert_eq!(bytes, tensor.byte_len());
        }
    }
}

#[test]
fn found_tensor_outlives_the_index() {
    let file = example();
    let mut memory = Memory::of(EXAMPLE);
    let bias =
        open(&file, memory.lend(), 64).expect("fits").find("bias").expect("valid file").expect("present");
    assert_eq!((bias.name(), bias.dims()), ("bias", &[5][..]));
}

#[test]
fn open_model_builds_the_same_index() {
    let file = example();
    let (mut slots, mut window) = ([SortSlot::EMPTY; 2], [0; 16]);
    let mut model = Model::open_unordered(&file[..], &mut slots, &mut window).expect("valid file");
    let (mut one, mut other) = (Memory::of(EXAMPLE), Memory::of(EXAMPLE));
    let index = model.build_index(one.lend(), &mut window).expect("fits");
    assert_eq!(index.summary(), model.summary());
    assert!(index.by_offset().eq(open(&file, other.lend(), 64).expect("fits").by_offset()));
}

/// A file that is reported with this length, or a partition.
struct WithLen<'f>(&'f [u8], FileLen);

impl ReadAt for WithLen<'_> {
    type Error = Infallible;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
        self.0.read_at(offset, buffer)
    }

    fn file_len(&mut self) -> Result<FileLen, Infallible> {
        Ok(self.1)
    }
}

#[test]
fn data_length_is_validated_before_names() {
    let entries = [entry("a", "U8", &[2], 0, 2), entry("a", "U8", &[2], 2, 4)];
    let file = with_header(&format!("{{{}}}", entries.join(",")), 4);
    let outcome = |len| {
        let partition = WithLen(&file, FileLen::AtMost(len));
        format(Model::open_indexed(partition, Memory::ample(&file).lend(), &mut [0; 32]).map(|_| ()))
    };
    let (whole, second_name) = (file.len() as u64, 8 + 2 + entries[0].len() as u64);
    assert_eq!(outcome(whole), Err(ErrorKind::DuplicateName.at(second_name)));
    assert_eq!(outcome(whole - 1), Err(ErrorKind::DataShort { needed: 4, present: 3 }.at(whole - 1)));
}

#[test]
fn first_duplicate_in_the_header_is_reported() {
    let offsets = [(4, "a"), (3, "b"), (1, "b"), (2, "c"), (0, "a"), (5, "b")];
    let entries: Vec<String> = offsets.iter().map(|&(at, name)| entry(name, "U8", &[], at, at + 1)).collect();
    let file = with_header(&format!("{{{}}}", entries.join(",")), 6);
    let third = 8 + 1 + entries[0].len() as u64 + 1 + entries[1].len() as u64 + 1;
    let verdict = open(&file, Memory::ample(&file).lend(), 64).map(|_| ());
    assert_eq!(verdict, Err(ErrorKind::DuplicateName.at(third)));
    assert_eq!(verdict, full_verdict(&file).map(|_| ()));
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
            entry(&(random_name(random) + &number), "U8", &shape, begin, end)
        })
        .filter(|entry| !entry.starts_with("\"__metadata__\""))
        .collect();
    if random.percent(50) {
        random.shuffle(&mut entries);
    }
    let data = usize::try_from(end).expect("fits in usize");
    with_header(&format!("{{{}}}", entries.join(",")), data)
}

#[test]
fn random_headers_match_a_map() {
    let mut random = Random::new(3);
    let mut verdicts = BTreeMap::new();
    for _ in 0..4000 {
        let file = random_file(&mut random);
        let key = [random.number(), random.number()];
        let mut memory = Memory::ample(&file);
        let window = 1 + random.below(200);
        match (open(&file, memory.lend().with_key(key), window), full_verdict(&file)) {
            (Ok(mut index), Ok(table)) => {
                compare(&mut index, &table.tensors).expect("equal");
                *verdicts.entry("valid").or_insert(0) += 1;
            }
            (index, table) => {
                let error = index.map(|_| ()).expect_err("one of them fails");
                assert_eq!(Err(error), table.map(|_| ()));
                *verdicts.entry(error.kind.code()).or_insert(0) += 1;
            }
        }
    }
    let kinds = ["valid", "layout.hole", "name.duplicate"];
    assert!(kinds.iter().all(|kind| verdicts.get(kind).is_some_and(|&count| count > 100)), "{verdicts:?}");
}

#[test]
fn results_do_not_depend_on_the_key() {
    let names: Vec<String> = (0..500).map(|number| format!("layer.{number}")).collect();
    let entries: Vec<String> = names.iter().map(|name| entry(name, "U8", &[0], 0, 0)).collect();
    let file = with_header(&format!("{{{}}}", entries.join(",")), 0);
    let tensors = full_verdict(&file).expect("valid file").tensors;
    for key in [[0, 0], [u64::MAX, u64::MAX], [0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d]] {
        let mut memory = Memory::ample(&file);
        let mut index = open(&file, memory.lend().with_key(key), 512).expect("fits");
        compare(&mut index, &tensors).expect("equal");
    }
}

/// The sizes in the documentation, which are those of targets with 64-bit pointers; with 32 bits some are
/// smaller.
#[test]
fn sizes_are_as_documented() {
    assert!(size_of::<IndexRecord>() <= 48);
    assert!(size_of::<Index<'_>>() <= 96, "{}", size_of::<Index<'_>>());
    assert!(size_of::<IndexedTensor<'_>>() <= 56);
    assert!(size_of::<IndexMemory<'_>>() <= 3 * size_of::<&[u8]>() + 16);
    assert!(size_of::<IndexSize>() <= 3 * size_of::<usize>());
    assert!(size_of::<IndexStorage<12, 31, 224>>() <= 12 * 48 + 31 * 8 + 224);
}

#[test]
fn error_messages_use_singular_and_plural() {
    for (part, one, many) in [
        (IndexPart::Tensors, "tensors: 1", "tensors: 2"),
        (IndexPart::Dims, "dimensions: 1", "dimensions: 2"),
        (IndexPart::Names, "names: 1 byte", "names: 2 bytes"),
    ] {
        let reported = |needed| ErrorKind::Index { part, needed, capacity: 0 }.to_string();
        assert_eq!(
            [reported(1), reported(2)],
            [one, many].map(|what| format!("index too small for the {what} needed, 0 available"))
        );
    }
    let slots = |capacity| ErrorKind::SlotCount { capacity }.to_string();
    let few = "too few slots to compare the header's names";
    let expected = [format!("{few}: 0 available; try 2"), format!("{few}: 1 available; try 2")];
    assert_eq!([slots(0), slots(1)], expected);
}
