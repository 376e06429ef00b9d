//! Counts reading the data of a tensor.

use crate::one_tensor::{DATA_START, NAME, one_tensor};
use crate::path;
use embedded_safetensors::{Model, ReadAt, TensorInfo, TensorReader, slice::AxisRange};
use std::convert::Infallible;
use std::hint::black_box;
use support::file::Stored;

const ROWS: usize = 1024;
const COLUMNS: usize = 64;
const ELEMENTS: usize = ROWS * COLUMNS;
const WINDOW: usize = 4096;

pub fn take() {
    let file = file("F32", 4);
    path("256 KiB read by hand, 4 KiB at a time", || read_by_hand(&file));
    let mut opened = Opened::of(&file);
    path("256 KiB streamed, 4 KiB at a time", || stream(opened.tensor()));
    path("256 KiB streamed, 512 B at a time", || stream_through::<512>(opened.tensor()));
    path("every second column of 256 KiB, as bytes", || slice(opened.tensor()));
    for (dtype, width) in [("F32", 4), ("F16", 2), ("BF16", 2), ("F8_E4M3", 1), ("I8", 1), ("F64", 8)] {
        convert(dtype, width);
    }
}

fn file(dtype: &str, width: usize) -> Vec<u8> {
    one_tensor(dtype, width, &[ROWS, COLUMNS])
}

struct Opened<'f> {
    model: Model<Stored<'f>>,
    info: TensorInfo,
}

impl<'f> Opened<'f> {
    fn of(file: &'f [u8]) -> Self {
        let mut model = Model::open(Stored(file), &mut [0; WINDOW]).expect("valid file");
        let info = model.find(NAME, &mut [0; WINDOW]).expect("readable").expect("found");
        Self { model, info }
    }

    fn tensor(&mut self) -> TensorReader<'_, &mut Stored<'f>> {
        self.model.reader(black_box(&self.info)).expect("tensor of this file")
    }
}

fn read_by_hand(file: &[u8]) {
    let mut card = Stored(black_box(file));
    let (mut at, mut buffer) = (DATA_START, [0; WINDOW]);
    while let Ok(len @ 1..) = card.read_at(at, &mut buffer) {
        black_box(&buffer[..len]);
        at += len as u64;
    }
    assert_eq!(at, file.len() as u64);
}

fn stream<S: ReadAt<Error = Infallible>>(tensor: TensorReader<'_, S>) {
    stream_through::<WINDOW>(tensor);
}

fn stream_through<const LEN: usize>(mut tensor: TensorReader<'_, impl ReadAt<Error = Infallible>>) {
    let mut buffer = [0; LEN];
    while let Some(chunk) = tensor.next_chunk(&mut buffer).expect("memory cannot fail") {
        black_box(chunk);
    }
    assert_eq!(tensor.remaining(), 0);
}

fn slice(tensor: TensorReader<'_, impl ReadAt<Error = Infallible>>) {
    let ranges = [AxisRange::ALL, AxisRange::ALL.step_by(2)];
    let mut slice = tensor.slice(black_box(&ranges)).expect("in bounds");
    let mut buffer = [0; WINDOW];
    while let Some(chunk) = slice.next_chunk(&mut buffer).expect("memory cannot fail") {
        black_box(chunk);
    }
    assert_eq!(slice.remaining(), 0);
}

/// Reads the entire tensor, and a slice of it, as `f32`.
fn convert(dtype: &str, width: usize) {
    let file = file(dtype, width);
    let mut opened = Opened::of(&file);
    let mut values = vec![0f32; ELEMENTS];
    path(&format!("{ELEMENTS} values of {dtype} as f32"), || {
        let values = opened.tensor().values().rounded().read_exact(black_box(&mut values[..]));
        values.expect("memory cannot fail");
    });
    let ranges = [AxisRange::ALL, (..COLUMNS as u64 / 2).into()];
    path(&format!("half of {ELEMENTS} values of {dtype}, sliced, as f32"), || {
        let slice = opened.tensor().slice(black_box(&ranges)).expect("in bounds");
        let values = slice.values().rounded().read_exact(black_box(&mut values[..ELEMENTS / 2]));
        values.expect("memory cannot fail");
    });
}
