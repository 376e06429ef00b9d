//! The memory that the core uses: the sizes in its documentation, and no allocation.

use embedded_safetensors::{
    Dtype, Error, ErrorKind, Model, ReadError, Shape, Tensor, TensorInfo, TensorReader, View, asynch,
    header::{Entries, Entry, Event, HeaderParser, Item, Text},
    index::IndexStorage,
    io::{FileLen, NorFile, Seekable},
    metadata::{Chars, DecodeError, JsonStr, Metadata, MetadataError, MetadataView, Pair},
    query::Query,
    reader::{Contiguous, SliceReader, Sliced, Values},
    slice::{AxisRange, ByteRuns, Run, Runs, SlicePlan},
    stream::{Receiver, Router, RouterEvent, Status, Target},
    tensor::Location,
    validate::{DuplicateFinder, SortSlot, Summary, Validator, validate},
    values::{AlignedFile, C64, dtypes::Rounded},
    view::{SliceRuns, Tensors},
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use support::file::{Stored, with_header};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged; the counter does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`, which is this one's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, which is this one's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations_of(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

/// Returns 100 tensors in reverse order, so that every kind of pass is made.
fn reversed_file() -> Vec<u8> {
    let entries: Vec<String> = (0..100)
        .rev()
        .map(|i| format!(r#""t{i}":{{"dtype":"F32","shape":[2],"data_offsets":[{},{}]}}"#, i * 8, i * 8 + 8))
        .collect();
    with_header(&format!("{{{}}}", entries.join(",")), 800)
}

#[test]
fn counter_counts() {
    assert_eq!(allocations_of(|| drop(std::hint::black_box(Box::new(1)))), 1);
}

#[test]
fn validation_allocates_nothing() {
    let file = reversed_file();
    let mut slots = [SortSlot::EMPTY; 16];
    let mut text = [0; 4];
    let count = allocations_of(|| {
        assert_eq!(validate(&file, &mut slots, &mut text).map(|summary| summary.tensors), Ok(100));
    });
    assert_eq!(count, 0);
}

#[test]
fn view_allocates_nothing() {
    let file = reversed_file();
    let mut slots = [SortSlot::EMPTY; 16];
    let count = allocations_of(|| {
        let view = View::parse_unordered(&file, &mut slots).expect("valid file");
        assert_eq!(view.tensors().flatten().map(|tensor| tensor.bytes().len()).sum::<usize>(), 800);
        assert!(view.tensor("t50").is_ok_and(|tensor| tensor.name() == "t50" && tensor.as_f64().is_err()));
        assert!(view.metadata().next().is_none() && view.tensor("no").is_err());
        assert!(view.validate_names([1, 2], &mut slots, &mut [0; 4]).is_ok());
    });
    assert_eq!(count, 0);
}

#[test]
fn error_allocates_nothing() {
    let file = with_header(r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,9]}}"#, 9);
    assert_eq!(allocations_of(|| assert!(validate(&file, &mut [], &mut []).is_err())), 0);
}

#[test]
fn entries_allocate_nothing() {
    let file = reversed_file();
    let mut name = [0; 8];
    let count = allocations_of(|| {
        let mut entries = Entries::new(&mut name);
        let mut input = file.as_slice();
        let mut tensors = 0;
        while let Ok(Item::Tensor(_)) = entries.next(&mut input) {
            tensors += 1;
        }
        assert_eq!(tensors, 100);
    });
    assert_eq!(count, 0);
}

#[test]
fn receiver_allocates_nothing() {
    let header = concat!(
        r#"{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"#,
        r#""b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}}"#,
    );
    let file = with_header(header, 7);
    let mut a = [1; 3];
    let count = allocations_of(|| {
        let mut receiver = Receiver::new([Target::new(Query::required("a"), &mut a)]);
        file.chunks(5).for_each(|piece| assert!(receiver.push(piece).is_ok()));
        assert_eq!(receiver.targets()[0].bytes(), Some(&[0; 3][..]));
    });
    assert_eq!(count, 0);
}

#[test]
fn router_allocates_nothing() {
    let file = reversed_file();
    let mut storage = IndexStorage::<100, 100, 300>::new();
    let count = allocations_of(|| {
        let mut router = Router::new(storage.memory());
        let (mut input, mut bytes_seen) = (file.as_slice(), 0);
        while let Ok(RouterEvent::Header | RouterEvent::Data { .. }) = router.next(&mut input) {
            bytes_seen = router.position();
        }
        assert_eq!(bytes_seen, file.len() as u64);
    });
    assert_eq!(count, 0);
}

#[test]
fn values_allocate_nothing() {
    let header = r#"{"w":{"dtype":"F16","shape":[4,8],"data_offsets":[0,64]}}"#;
    let file = with_header(header, 64);
    let mut values = [1f32; 32];
    let count = allocations_of(|| {
        let mut model = Model::open(Stored(&file), &mut [0; 64]).expect("valid file");
        let tensor = model.find("w", &mut [0; 64]).expect("valid file").expect("present");
        let mut reader = model.reader(&tensor).expect("tensor of this file").values();
        assert_eq!(reader.read(&mut values[..5]), Ok(&[0.0; 5][..]));
        assert_eq!(reader.read_exact(&mut values[..7]), Ok(()));
        assert_eq!(reader.rounded().read(&mut values), Ok(&[0.0; 20][..]));
        let mut rows = model.reader(&tensor).and_then(|reader| reader.rows(1..3)).expect("in range");
        assert_eq!(rows.read_exact(&mut values[..8]), Ok(()));
    });
    assert_eq!(count, 0);
}

#[test]
fn slices_allocate_nothing() {
    let ranges = [AxisRange::ALL, AxisRange::index(2), (1..).into(), AxisRange::from(..).step_by(3)];
    let dims = [30, 4, 5, 7];
    let header = format!(r#"{{"t":{{"dtype":"F32","shape":{dims:?},"data_offsets":[0,16800]}}}}"#);
    let file = with_header(&header, 16800);
    let mut model = Model::open(file.as_slice(), &mut [0; 128]).expect("valid file");
    let tensor = model.find("t", &mut [0; 128]).expect("readable").expect("present");
    let mut buffer = [0; 100];
    let count = allocations_of(|| {
        let plan = SlicePlan::new(Dtype::F32, &dims, &ranges).expect("in range");
        assert_eq!(plan.runs().map(|run| run.elements).sum::<u64>(), plan.elements());
        let bytes = plan.byte_runs().expect("whole bytes").map(|run| run.end - run.start);
        assert_eq!(bytes.sum::<u64>(), 30 * 4 * 3 * 4);
        let mut reader = model.reader(&tensor).and_then(|tensor| tensor.slice(&ranges)).expect("valid slice");
        while let Ok(Some(chunk)) = reader.next_chunk(&mut buffer) {
            assert!(chunk.len() >= 4);
        }
        assert_eq!(reader.remaining(), 0);
        let slice = model.reader(&tensor).and_then(|tensor| tensor.slice(&ranges)).expect("valid slice");
        let (mut values, mut reader) = ([0f64; 9], slice.values());
        assert_eq!(reader.read_exact(&mut values), Ok(()));
        while let Ok(part @ [_, ..]) = reader.read(&mut values) {
            assert!(part.iter().all(|value| *value == 0.0));
        }
        assert_eq!(reader.remaining(), 0);
    });
    assert_eq!(count, 0);
}

/// The sizes in the documentation, which are those of targets with 64-bit pointers; with 32 bits some are
/// smaller.
#[test]
fn sizes_are_as_documented() {
    assert!(size_of::<HeaderParser>() <= 128, "{}", size_of::<HeaderParser>());
    assert!(size_of::<Validator<'_>>() <= 264, "{}", size_of::<Validator<'_>>());
    assert!(size_of::<DuplicateFinder<'_>>() <= 344, "{}", size_of::<DuplicateFinder<'_>>());
    assert!(size_of::<Entries<'_>>() <= 232, "{}", size_of::<Entries<'_>>());
    assert!(size_of::<View<'_>>() <= 80, "{}", size_of::<View<'_>>());
    assert!(size_of::<Tensor<'_>>() <= 160, "{}", size_of::<Tensor<'_>>());
    assert!(size_of::<Tensor<'_>>() + size_of::<embedded_safetensors::__Link>() <= 168);
    assert!(size_of::<Tensors<'_>>() <= 352, "{}", size_of::<Tensors<'_>>());
    assert!(size_of::<MetadataView<'_>>() <= 24, "{}", size_of::<MetadataView<'_>>());
    assert!(size_of::<JsonStr<'_>>() <= 24, "{}", size_of::<JsonStr<'_>>());
    assert!(size_of::<Chars<'_>>() <= 16);
    assert!(size_of::<C64>() <= 8);
    assert_eq!(size_of::<AlignedFile<64, 65>>(), 128);
    assert!(size_of::<SortSlot>() <= 24);
    assert!(size_of::<Error>() <= 32);
    assert!(size_of::<ErrorKind>() <= 24);
    assert!(size_of::<Dtype>() <= 1);
    assert!(size_of::<Summary>() <= 24);
    assert!(size_of::<Entry<'_>>() <= 120);
    assert!(size_of::<Item<'_>>() <= 120);
    assert!(size_of::<Event<'_>>() <= 24);
    assert!(size_of::<Text<'_>>() <= 16);
    assert!(size_of::<Shape>() <= 72);
    assert!(size_of::<TensorInfo>() <= 96);
    assert!(size_of::<Receiver<()>>() <= 232, "{}", size_of::<Receiver<()>>());
    assert!(size_of::<Target<'_, '_>>() <= 192, "{}", size_of::<Target<'_, '_>>());
    assert!(size_of::<Status>() <= 1);
    assert!(size_of::<Router<'_>>() <= 272, "{}", size_of::<Router<'_>>());
    assert!(size_of::<Model<()>>() <= 24, "{}", size_of::<Model<()>>());
    assert!(size_of::<TensorReader<'_, &mut ()>>() <= 72, "{}", size_of::<TensorReader<'_, &mut ()>>());
    assert!(size_of::<AxisRange>() <= 32, "{}", size_of::<AxisRange>());
    assert!(size_of::<SlicePlan>() <= 232, "{}", size_of::<SlicePlan>());
    assert!(size_of::<Run>() <= 16);
    assert!(size_of::<Runs>() <= 232, "{}", size_of::<Runs>());
    assert!(size_of::<ByteRuns>() <= 240, "{}", size_of::<ByteRuns>());
    assert!(size_of::<SliceReader<&mut ()>>() <= 328 + size_of::<&mut ()>());
    assert!(size_of::<SliceReader<&[u8]>>() <= 328 + size_of::<&[u8]>());
    assert!(size_of::<asynch::SliceReader<&mut ()>>() <= 328 + size_of::<&mut ()>());
    assert!(size_of::<asynch::SliceReader<[u64; 2]>>() <= 328 + size_of::<[u64; 2]>());
    assert!(size_of::<SliceRuns<'_>>() <= 256, "{}", size_of::<SliceRuns<'_>>());
    assert!(size_of::<Contiguous>() <= 40, "{}", size_of::<Contiguous>());
    assert!(size_of::<Sliced>() <= 328, "{}", size_of::<Sliced>());
    assert!(size_of::<Values<()>>() <= 40, "{}", size_of::<Values<()>>());
    assert!(size_of::<Values<&mut (), Sliced, Rounded>>() <= 328 + size_of::<&mut ()>());
    assert!(size_of::<asynch::Values<()>>() <= 40);
    assert!(size_of::<asynch::Values<&mut (), Sliced, Rounded>>() <= 328 + size_of::<&mut ()>());
    assert!(size_of::<Query<'_>>() <= 128, "{}", size_of::<Query<'_>>());
    assert!(size_of::<Location>() <= 24);
    assert!(size_of::<FileLen>() <= 16);
    assert!(size_of::<ReadError<()>>() <= 32, "{}", size_of::<ReadError<()>>());
    assert!(size_of::<asynch::Model<()>>() <= 24, "{}", size_of::<asynch::Model<()>>());
    assert!(size_of::<asynch::TensorReader<'_, &mut ()>>() <= 72);
    assert!(size_of::<Seekable<()>>() <= 16);
    assert!(size_of::<asynch::Seekable<()>>() <= 16);
    assert!(size_of::<NorFile<()>>() <= 24, "{}", size_of::<NorFile<()>>());
    assert!(size_of::<DecodeError>() <= 24, "{}", size_of::<DecodeError>());
    assert!(size_of::<MetadataError<()>>() <= 32, "{}", size_of::<MetadataError<()>>());
    assert!(size_of::<Metadata<'_>>() <= 16);
    assert!(size_of::<Pair<'_>>() <= 40);
    assert!(size_of::<RouterEvent<'_, '_>>() <= 80, "{}", size_of::<RouterEvent<'_, '_>>());
}

/// Validation is `const`: a valid file passes while the test is compiled.
const VALIDATED_AT_COMPILE_TIME: u64 = {
    let file = b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ab";
    match validate(file, &mut [SortSlot::EMPTY; 4], &mut [0; 4]) {
        Ok(summary) => summary.data_len,
        Err(_) => 0,
    }
};

#[test]
fn file_is_validated_at_compile_time() {
    assert_eq!(VALIDATED_AT_COMPILE_TIME, 2);
}
