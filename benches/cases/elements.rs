//! Reads a tensor as values, at once or through a buffer. The floor is a copy of as many values; the
//! reference returns only bytes.

use std::hint::black_box;

use embedded_safetensors::{Model, ReadAt, TensorInfo, slice::AxisRange};
use support::file::Stored;

use super::{Amount, Bench, Case, KIB, MIB, contender, ours, size};
use crate::one_tensor::{NAME, one_tensor};

const DTYPES: [(&str, usize); 7] =
    [("F32", 4), ("F16", 2), ("BF16", 2), ("I16", 2), ("I8", 1), ("F8_E4M3", 1), ("F8_E5M2", 1)];

/// The bytes of values read by one call. The last size exceeds the caches.
const OUTPUTS: [usize; 4] = [4 * KIB, 64 * KIB, MIB, 64 * MIB];

/// The bytes of values of a tensor that is read through a buffer.
const LARGE: usize = 64 * MIB;

pub fn measure(bench: &mut Bench) {
    for (dtype, width) in DTYPES {
        measure_all_at_once(bench, dtype, width);
        measure_through_buffers(bench, dtype, width);
    }
}

fn measure_all_at_once(bench: &mut Bench, dtype: &str, width: usize) {
    for output in OUTPUTS {
        let what = format!("{dtype} to f32, {} of values", size(output));
        if !bench.wants(&what) {
            continue;
        }
        let elements = output / 4;
        let file = one_tensor(dtype, width, &[elements]);
        let (from, mut copied, mut values) =
            (vec![1f32; elements], vec![0f32; elements], vec![0f32; elements]);
        let (mut model, info) = opened(&file[..]);
        let ours = ours(|| {
            let mut reader = model.reader(&info).expect("tensor of this file").values();
            assert!(reader.read_exact(black_box(&mut values[..])).is_ok());
        });
        let copy = contender("copy", || black_box(&mut copied[..]).copy_from_slice(black_box(&from)));
        bench.measure(Case { what, amount: Amount::Bytes(output) }, vec![ours, copy]);
    }
}

fn measure_through_buffers(bench: &mut Bench, dtype: &str, width: usize) {
    let file = one_tensor(dtype, width, &[LARGE / 4096, 1024]);
    for buffer in [4 * KIB, 64 * KIB, MIB] {
        let kinds = [
            ("memory", read_memory as fn(&[u8], &mut [f32])),
            ("a card", read_card),
            ("every other column", read_half),
        ];
        for (from, read) in kinds {
            let what = format!("{dtype} to f32 from {from}, buffer of {}", size(buffer));
            if !bench.wants(&what) {
                continue;
            }
            let values = vec![1f32; LARGE / 4];
            let (mut buffer, mut other) = (vec![0f32; buffer / 4], vec![0f32; buffer / 4]);
            let ours = ours(|| read(&file, &mut buffer));
            let copy = contender("copy", || {
                for piece in values.chunks(other.len()) {
                    black_box(&mut other[..]).copy_from_slice(piece);
                }
            });
            bench.measure(Case { what, amount: Amount::Bytes(LARGE) }, vec![ours, copy]);
        }
    }
}

fn read_memory(file: &[u8], values: &mut [f32]) {
    read(file, values);
}

fn read_card(file: &[u8], values: &mut [f32]) {
    read(Stored(file), values);
}

fn opened<S: ReadAt>(source: S) -> (Model<S>, TensorInfo) {
    let Ok(mut model) = Model::open(source, &mut [0; 4096]) else { panic!("valid file") };
    let Ok(Some(info)) = model.find(NAME, &mut [0; 4096]) else { panic!("tensor found") };
    (model, info)
}

/// Reads the entire tensor through the buffer.
fn read<S: ReadAt>(source: S, values: &mut [f32]) {
    let (mut model, info) = opened(source);
    let mut reader = model.reader(&info).expect("tensor of this file").values();
    while let Ok(piece @ [_, ..]) = reader.read(values) {
        black_box(piece);
    }
    assert_eq!(reader.remaining(), 0);
}

fn read_half(file: &[u8], values: &mut [f32]) {
    let (mut model, info) = opened(file);
    let ranges = [AxisRange::ALL, AxisRange::ALL.step_by(2)];
    let slice = model.reader(&info).and_then(|reader| reader.slice(&ranges)).expect("two axes");
    let mut reader = slice.values();
    while let Ok(piece @ [_, ..]) = reader.read(values) {
        black_box(piece);
    }
    assert_eq!(reader.remaining(), 0);
}
