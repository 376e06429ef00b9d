//! Runs the main paths on a desktop, one after another, each in a call of one function, whose instructions
//! callgrind counts. `cargo xtask measure` runs this program, and compares the counts with
//! `benches/limits.toml`.
//!
//! Prints the name of each path and, after a tab, the largest number of heap bytes that it had at a time.
//! Nothing here may depend on time, randomness or the computer.

#[path = "../one_tensor.rs"]
mod one_tensor;

use embedded_safetensors::{
    Dtype, FileModel, Model, View,
    index::{IndexMemory, IndexRecord},
    query::Query,
    slice::AxisRange,
    validate::{Progress, Validator},
    write::{FileSpec, TensorSpec, Writer},
};
use one_tensor::{NAME, one_tensor};
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use support::file::{Stored, with_header};

const TENSORS: usize = 1000;
/// The bytes of each tensor.
const LEN: usize = 64;
const WINDOW: usize = 4096;
/// A matrix of 64 Ki values.
const MATRIX: [usize; 2] = [1024, 64];

fn main() {
    let names: Vec<String> =
        (0..TENSORS).map(|ordinal| format!("model.layers.{ordinal:03}.weight")).collect();
    let mut file = file(&names);
    headers(&file, &names);
    data();
    let place = std::env::temp_dir().join(format!("counted-paths-{}", std::process::id()));
    std::fs::write(&place, &file).expect("enough space");
    path("FileModel::open of 1,000 tensors", || {
        black_box(FileModel::open(&place).expect("valid file"));
    });
    std::fs::remove_file(&place).expect("removed");
    write(&names, &mut file);
}

/// Runs a path twice and counts the second run, so that one-time initialisation is not counted.
fn path(name: &str, mut take: impl FnMut()) {
    take();
    let before = HEAP.load(Relaxed);
    MOST.store(before, Relaxed);
    counted(&mut take);
    println!("{name}\t{}", MOST.load(Relaxed) - before);
}

/// Callgrind counts the instructions of this function, and finds it by its name.
#[inline(never)]
fn counted(take: &mut dyn FnMut()) {
    black_box(take)();
}

static HEAP: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; the counters do not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let heap = HEAP.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(heap, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`, which is this one's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HEAP.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`, which is this one's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns a file of tensors whose data are zeros, as the reference writes its header.
fn file(names: &[String]) -> Vec<u8> {
    let entry = |(index, name): (usize, &String)| {
        let begin = index * LEN;
        let end = begin + LEN;
        format!(r#""{name}":{{"dtype":"F32","shape":[4,4],"data_offsets":[{begin},{end}]}}"#)
    };
    let entries: Vec<String> = names.iter().enumerate().map(entry).collect();
    let header = format!("{{{}}}", entries.join(","));
    let padding = header.len().next_multiple_of(8) - header.len();
    with_header(&(header + &" ".repeat(padding)), names.len() * LEN)
}

fn headers(file: &[u8], names: &[String]) {
    path("validate 1,000 tensors, 4 KiB at a time", || validate(file));
    path("Model::open of 1,000 tensors", || {
        black_box(open(file));
    });
    let mut queries: Vec<Query<'_>> = names.iter().step_by(84).map(|name| Query::required(name)).collect();
    assert_eq!(queries.len(), 12);
    let mut model = open(file);
    path("find 12 of 1,000 tensors", || {
        model.find_all(black_box(&mut queries), &mut [0; WINDOW]).expect("found");
    });
    let mut records = vec![IndexRecord::EMPTY; TENSORS];
    let (mut dims, mut text) = (vec![0; 2 * TENSORS], vec![0; 32 * TENSORS]);
    path("Model::open_indexed of 1,000 tensors", || {
        let memory = IndexMemory::new(&mut records, &mut dims, &mut text);
        let (_, index) =
            Model::open_indexed(Stored(black_box(file)), memory, &mut [0; WINDOW]).expect("valid");
        assert_eq!(index.len(), TENSORS);
    });
    path("View::parse of 1,000 tensors, all listed", || {
        let view = View::parse(black_box(file)).expect("valid file");
        assert_eq!(view.tensors().flatten().map(|tensor| tensor.bytes().len()).sum::<usize>(), TENSORS * LEN);
    });
}

fn open(file: &[u8]) -> Model<Stored<'_>> {
    Model::open(Stored(black_box(file)), &mut [0; WINDOW]).expect("valid file")
}

fn validate(file: &[u8]) {
    let mut check = Validator::new(Some(file.len() as u64), &mut []);
    let mut pieces = black_box(file).chunks(WINDOW);
    let end = pieces.find_map(|mut piece| match check.push(&mut piece) {
        Ok(Progress::NeedInput) => None,
        end => Some(end),
    });
    assert_eq!(end, Some(Ok(Progress::Done)));
}

fn data() {
    let mut values = vec![0f32; MATRIX[0] * MATRIX[1]];
    let file = one_tensor("F16", 2, &MATRIX);
    let (mut model, mut window) = (open(&file), [0; WINDOW]);
    let info = model.find(NAME, &mut window).expect("readable").expect("found");
    path("stream 128 KiB, 4 KiB at a time", || {
        let mut tensor = model.reader(black_box(&info)).expect("tensor of this file");
        while let Some(chunk) = tensor.next_chunk(&mut window).expect("memory cannot fail") {
            black_box(chunk);
        }
    });
    path("64 Ki values of F16 as f32", || {
        let tensor = model.reader(black_box(&info)).expect("tensor of this file").values();
        tensor.rounded().read_exact(black_box(&mut values[..])).expect("memory cannot fail");
    });
    let half = values.len() / 2;
    path("every second column of 64 Ki values of F16 as f32", || {
        let ranges = [AxisRange::ALL, AxisRange::ALL.step_by(2)];
        let slice =
            model.reader(&info).and_then(|tensor| tensor.slice(black_box(&ranges))).expect("in bounds");
        slice.values().read_exact(black_box(&mut values[..half])).expect("memory cannot fail");
    });
}

/// Sorts the tensors, and writes them and the header into memory.
fn write(names: &[String], file: &mut [u8]) {
    let tensors: Vec<_> = names.iter().map(|name| TensorSpec::new(name, Dtype::F32, &[4, 4])).collect();
    let mut order = vec![0; TENSORS];
    path("write a file of 1,000 tensors", || {
        let plan = FileSpec::new(black_box(&tensors)).plan_sorted(&mut order).expect("valid spec");
        let mut writer = Writer::new(&mut file[..], plan, &mut [0; WINDOW]).expect("enough space");
        while writer.next_tensor().is_some() {
            writer.write_bytes(black_box(&[0; LEN])).expect("enough space");
        }
        black_box(writer.finish().expect("complete"));
    });
}
