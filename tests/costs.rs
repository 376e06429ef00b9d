//! Counts the bytes that each call reads from its source. The readme's table has the same numbers.

use embedded_safetensors::{
    ErrorKind, Model, ReadError, index::IndexStorage, query::Query, validate::SortSlot,
};
use std::fmt::Write;
use std::ops::Range;
use support::file::{with_header, with_tensors};
use support::mock::{Fault, Plan, Storage};

const TENSORS: u64 = 40;
/// Bytes of one tensor: no block size divides it.
const TENSOR_LEN: u64 = 5204;
/// From one byte to more than the entire header.
const WINDOWS: [u64; 8] = [1, 7, 16, 64, 512, 1000, 4096, 100_000];

/// The rows of the table in the guide. A test here verifies each of them.
const ROWS: [&str; 5] = [
    "| `open`, `open_with` | `max(H, W)`, once | `H / W`, rounded up |",
    "| `find`, `find_all` of any number of tensors, `for_each`, `metadata`, `build_index` | `H`, once | `H \
        / W`, rounded up |",
    "| `open_unordered` with `k` [slots](#headers-out-of-order), for a header of `n` tensors that is out of \
        order | `H` in each of 1 + ⌈`n / k`⌉ passes; in the first, `W` if that is larger | `H / W` in each |",
    "| lookups in an `Index`, `reader`, `seek` | none | none |",
    "| `next_chunk` through a tensor of `L` bytes in chunks of `B` | none | `L / B`, rounded up: as many as \
        reading the bytes directly |",
];

type Opened<'s> = Model<&'s Storage<'s>>;
type Outcome = Result<(), ReadError<Fault>>;

/// The tensors that are streamed.
const BYTES: &str = "layers.39.weight";
const FLOATS: &str = "layers.38.weight";

/// Returns a file with its tensors in this order, and the length of its header: an odd one, so that no tensor
/// is aligned to more than a byte.
fn file(order: impl Iterator<Item = u64>) -> (Vec<u8>, u64) {
    let mut header = r#"{"__metadata__":{"unit":"seven"}"#.to_owned();
    for ordinal in order {
        let (begin, end) = (ordinal * TENSOR_LEN, (ordinal + 1) * TENSOR_LEN);
        let (dtype, elements) = if ordinal % 2 == 0 { ("F32", TENSOR_LEN / 4) } else { ("U8", TENSOR_LEN) };
        let shape_and_offsets = format!(r#""shape":[{elements}],"data_offsets":[{begin},{end}]"#);
        write!(header, r#","layers.{ordinal}.weight":{{"dtype":"{dtype}",{shape_and_offsets}}}"#)
            .expect("strings can grow");
    }
    header.push_str(if header.len().is_multiple_of(2) { "}" } else { "} " });
    let file = with_header(&header, usize::try_from(TENSORS * TENSOR_LEN).expect("a short file"));
    (file, header.len() as u64 + 8)
}

fn window(len: u64) -> Vec<u8> {
    vec![0; usize::try_from(len).expect("a short window")]
}

/// Returns the reads since the last call and clears them. They follow each other without gap or overlap.
fn take_reads(storage: &Storage<'_>) -> Vec<Range<u64>> {
    let reads = storage.counts().ranges;
    storage.set_plan(Plan::default());
    let follow = |pair: &[Range<u64>]| pair[0].end == pair[1].start;
    assert!(reads.windows(2).all(follow), "gap or overlap: {reads:?}");
    reads
}

/// Returns the bytes that reads covered, and the number of reads.
fn covered(reads: &Storage<'_>) -> (Range<u64>, u64) {
    let reads = take_reads(reads);
    let start = reads.first().map_or(0, |first| first.start);
    let end = reads.last().map_or(0, |last| last.end);
    (start..end, reads.len() as u64)
}

/// Opens the file with each window, and passes model, window and storage to `test`.
fn with_each_window(test: impl Fn(&mut Opened<'_>, &mut [u8], &Storage<'_>, u64)) {
    let (file, header_len) = file(0..TENSORS);
    for len in WINDOWS {
        let (storage, mut window) = (Storage::new(&file, Plan::default()), window(len));
        let mut model = Model::open(&storage, &mut window).expect("valid file");
        assert_eq!(model.summary().data_start, header_len);
        storage.set_plan(Plan::default());
        test(&mut model, &mut window, &storage, header_len);
    }
}

/// A way to open a model, and whether its tensors may be in any order.
type Opening = (fn(&Storage<'_>, &mut [u8]) -> Outcome, bool);

const OPENINGS: [Opening; 4] = [
    (|storage, window| Model::open(storage, window).map(drop), false),
    (|storage, window| Model::open_unordered(storage, &mut [], window).map(drop), false),
    (|storage, window| Model::open_with(storage, &mut [Query::required(FLOATS)], window).map(drop), false),
    (
        |storage, window| {
            let mut index = IndexStorage::<40, 40, 640>::new();
            Model::open_indexed(storage, index.memory(), window).map(drop)
        },
        true,
    ),
];

#[test]
fn opening_reads_the_header_once() {
    for ((open, is_reversed), len) in OPENINGS.into_iter().flat_map(|row| WINDOWS.map(|len| (row, len))) {
        let order: Vec<u64> = if is_reversed { (0..TENSORS).rev().collect() } else { (0..TENSORS).collect() };
        let (file, header_len) = file(order.into_iter());
        let storage = Storage::new(&file, Plan::default());
        open(&storage, &mut window(len)).expect("valid file");
        // The length of the header is unknown until the first window has been read.
        assert_eq!(covered(&storage), (0..header_len.max(len), header_len.div_ceil(len)), "{len}");
    }
}

/// Returns the number of bytes read and the number of reads.
fn summed(reads: &Storage<'_>) -> (u64, u64) {
    let reads = reads.counts().ranges;
    (reads.iter().map(|read| read.end - read.start).sum(), reads.len() as u64)
}

#[test]
fn sorting_passes_depend_on_slots() {
    let (file, header_len) = file((0..TENSORS).rev());
    for len in WINDOWS {
        for slots in [1, 3, 39, 40, 41] {
            let (reads, mut slots) = (Storage::new(&file, Plan::default()), vec![SortSlot::EMPTY; slots]);
            assert!(Model::open_unordered(&reads, &mut slots, &mut window(len)).is_ok());
            let sorting = TENSORS.div_ceil(slots.len() as u64);
            // Only the first pass does not know the length of the header.
            let bytes = header_len.max(len) + sorting * header_len;
            let expected = (bytes, (1 + sorting) * header_len.div_ceil(len));
            assert_eq!(summed(&reads), expected, "{} slots, a window of {len}", slots.len());
        }
    }
}

#[test]
fn name_check_passes_depend_on_slots() {
    // All tensors, and one key of the metadata.
    const NAMES: u64 = TENSORS + 1;
    with_each_window(|model, window, reads, header_len| {
        for slots in [2, 3, 12, NAMES - 1, NAMES, 2 * NAMES] {
            reads.set_plan(Plan::default());
            let mut memory = vec![SortSlot::EMPTY; usize::try_from(slots).expect("a few")];
            model.validate_names([1, 2], &mut memory, &mut [0], window).expect("all are distinct");
            // The last name of each pass is the first of the next.
            let passes = (NAMES - 1).div_ceil(slots - 1);
            let expected = (passes * header_len, passes * header_len.div_ceil(window.len() as u64));
            assert_eq!(summed(reads), expected, "{slots} slots, a window of {}", window.len());
        }
    });
}

/// As documented: with a text of a 64th of the header, at most 32 passes compare two names.
#[test]
fn name_check_passes_depend_on_the_text() {
    let name = "n".repeat(10_000);
    let file = with_tensors(&[(&*name, "U8", [1], [0]), (&name, "U8", [1], [0])]);
    let storage = Storage::new(&file, Plan::default());
    let mut model = Model::open(&storage, &mut [0; 512]).expect("valid file");
    for (text, comparing) in [(10_000, 1), (file.len() / 64, 32), (64, 157)] {
        storage.set_plan(Plan::default());
        let mut slots = [SortSlot::EMPTY; 2];
        let found = model.validate_names([1, 2], &mut slots, &mut vec![0; text], &mut [0; 512]);
        assert!(matches!(found, Err(ReadError::Format(error)) if error.kind == ErrorKind::DuplicateName));
        assert_eq!(storage.counts().passes, 1 + comparing, "{text} bytes of text");
    }
}

/// A call and its name.
type Lookup = (&'static str, fn(&mut Opened<'_>, &mut [u8]) -> Outcome);

const LOOKUPS: [Lookup; 10] = [
    ("find", |model, window| model.find("layers.3.weight", window).map(drop)),
    ("find in vain", |model, window| model.find("layers.3", window).map(drop)),
    ("find_all of none", |model, window| model.find_all(&mut [], window)),
    ("find_all of 1", |model, window| find_first::<1>(model, window)),
    ("find_all of 12", |model, window| find_first::<12>(model, window)),
    ("visit", |model, window| model.for_each(&mut [0; 32], window, |_| ())),
    ("metadata", |model, window| model.metadata_value("unit", &mut [0; 8], window).map(drop)),
    ("metadata", |model, window| model.metadata(&mut [0; 64], window).map(drop)),
    ("index_size", |model, window| model.index_size(window).map(drop)),
    ("check_unchanged", |model, window| model.check_unchanged(window)),
];

fn find_first<const COUNT: usize>(model: &mut Opened<'_>, window: &mut [u8]) -> Outcome {
    let names: [String; COUNT] = std::array::from_fn(|ordinal| format!("layers.{ordinal}.weight"));
    let mut queries = names.each_ref().map(|name| Query::required(name));
    model.find_all(&mut queries, window)
}

#[test]
fn every_lookup_reads_the_header_once() {
    with_each_window(|model, window, reads, header_len| {
        reads.set_plan(Plan::default());
        let expected = (0..header_len, header_len.div_ceil(window.len() as u64));
        for (name, look_up) in LOOKUPS {
            look_up(model, window).expect(name);
            assert_eq!(covered(reads), expected, "{name}, a window of {}", window.len());
        }
    });
}

#[test]
fn index_reads_header_once_and_lookups_nothing() {
    with_each_window(|model, window, reads, header_len| {
        reads.set_plan(Plan::default());
        let mut storage = IndexStorage::<40, 40, 640>::new();
        let index = model.build_index(storage.memory(), window).expect("fits");
        assert_eq!(covered(reads), (0..header_len, header_len.div_ceil(window.len() as u64)));
        let found = index.find(BYTES).expect("valid file").expect("present");
        assert_eq!(index.find("layers.40.weight"), Ok(None));
        let mut reader = model.reader(&found).expect("tensor of this file");
        reader.seek(TENSOR_LEN / 2).expect("in range");
        assert_eq!(covered(reads), (0..0, 0));
    });
}

/// Streams a tensor; returns its bytes' range in the file, and the reads.
fn stream(name: &str, block: u64, buffer_len: u64) -> (Range<u64>, Vec<Range<u64>>) {
    let (file, header_len) = file(0..TENSORS);
    let (reads, mut buffer) = (Storage::new(&file, Plan::default()), window(buffer_len));
    let mut model = Model::open(&reads, &mut [0; 64]).expect("valid file");
    let found = model.find(name, &mut [0; 64]).expect("valid file").expect("present");
    reads.set_plan(Plan::default());
    let mut reader =
        model.reader(&found).and_then(|reader| reader.aligned_to(block)).expect("tensor of this file");
    while reader.next_chunk(&mut buffer).expect("memory has no faults").is_some() {}
    (header_len + found.begin()..header_len + found.end(), take_reads(&reads))
}

#[test]
fn streaming_takes_as_many_reads_as_raw() {
    for buffer_len in [4, 8, 64, 512, 2048, 5200, TENSOR_LEN, 100_000] {
        let (tensor, reads) = stream(FLOATS, 1, buffer_len);
        let raw: Vec<_> = tensor
            .clone()
            .step_by(usize::try_from(buffer_len).expect("a short buffer"))
            .map(|start| start..tensor.end.min(start + buffer_len))
            .collect();
        assert_eq!(reads, raw, "{buffer_len}");
        assert_eq!(reads.len() as u64, TENSOR_LEN.div_ceil(buffer_len));
    }
}

#[test]
fn aligned_streaming_reads_each_block_once() {
    for (block, buffer_len) in [(512, 512), (512, 4096), (16, 512), (4096, 4096)] {
        let (tensor, reads) = stream(BYTES, block, buffer_len);
        assert_eq!(tensor.start % 2, 1, "the tensor begins inside a block");
        let first = tensor.start - tensor.start % block;
        assert_eq!(reads.len() as u64, (tensor.end - first).div_ceil(buffer_len), "{block}, {buffer_len}");
        assert!(reads.iter().skip(1).all(|read| read.start % block == 0), "{reads:?}");
        assert_eq!(reads.first().map(|read| read.start), Some(tensor.start));
        assert_eq!(reads.last().map(|read| read.end), Some(tensor.end));
    }
}

#[test]
fn read_at_is_one_read() {
    with_each_window(|model, window, reads, header_len| {
        let found = model.find("layers.2.weight", window).expect("valid file").expect("present");
        let mut reader = model.reader(&found).expect("tensor of this file");
        reads.set_plan(Plan::default());
        let start = header_len + found.begin();
        assert!(reader.read_at(1000, &mut [0; 100]).is_ok());
        assert_eq!(covered(reads), (start + 1000..start + 1100, 1));
        assert!(reader.read_to_end(&mut [0; 6000]).is_ok());
        assert_eq!(covered(reads), (start..start + TENSOR_LEN, 1));
    });
}

#[test]
fn guide_has_the_same_numbers() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/src/finding-tensors.md"))
        .expect("the page");
    for row in ROWS {
        assert!(page.contains(row), "the page lacks the row {row}");
    }
}
