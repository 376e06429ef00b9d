//! Copies parts of a matrix out of a file in memory. The floor copies the same runs of bytes from known
//! offsets.

use std::hint::black_box;
use std::ops::Range;

use embedded_safetensors::{View, slice::AxisRange};
use safetensors_0_8::SafeTensors;
use safetensors_0_8::slice::TensorIndexer;

use super::{Amount, Bench, Case, contender, ours, reference};
use crate::one_tensor::{NAME, one_tensor};

const ROWS: usize = 2048;
const COLUMNS: usize = 2048;
const WIDTH: usize = 4;

pub fn measure(bench: &mut Bench) {
    let parts: [(&str, Range<usize>, Range<usize>); 3] = [
        ("500 rows", 100..600, 0..COLUMNS),
        ("500 columns", 0..ROWS, 100..600),
        ("one column", 0..ROWS, 100..101),
    ];
    for (name, rows, columns) in parts {
        let what = format!("slice of {name} of a matrix of {ROWS} x {COLUMNS} F32");
        if bench.wants(&what) {
            measure_part(bench, what, rows, columns);
        }
    }
}

fn measure_part(bench: &mut Bench, what: String, rows: Range<usize>, columns: Range<usize>) {
    let file = one_tensor("F32", WIDTH, &[ROWS, COLUMNS]);
    let len = rows.len() * columns.len() * WIDTH;
    let (view, tensors) =
        (View::parse(&file).expect("valid file"), SafeTensors::deserialize(&file).expect("valid file"));
    let (tensor, other) = (view.tensor(NAME).expect("found"), tensors.tensor(NAME).expect("found"));
    let mut copies = [vec![0; len], vec![0; len], vec![0; len]];
    let [copy, by_reference, by_hand] = &mut copies;
    let axis = |range: &Range<usize>| AxisRange::from(range.start as u64..range.end as u64);
    let ranges = [axis(&rows), axis(&columns)];
    let indexers = [&rows, &columns].map(|range| TensorIndexer::from(range.clone()));
    let mut contenders = vec![
        ours(|| {
            let mut slice = tensor.reader().slice(black_box(&ranges)).expect("in bounds");
            assert!(slice.read_to_end(copy).is_ok());
        }),
        reference(|| {
            let mut left = &mut by_reference[..];
            for run in other.sliced_data(black_box(&indexers)).expect("in bounds") {
                let (front, rest) = left.split_at_mut(run.len());
                front.copy_from_slice(run);
                left = rest;
            }
        }),
        contender("copy", || {
            copy_runs(black_box(&file[file.len() - ROWS * COLUMNS * WIDTH..]), by_hand, &rows, &columns);
        }),
    ];
    // Runs each once, even if nothing is measured.
    contenders.iter_mut().for_each(|contender| (contender.work)());
    bench.measure(Case { what, amount: Amount::Bytes(len) }, contenders);
    assert!(copies.iter().all(|other| *other == copies[0]), "the slices differ");
}

fn copy_runs(data: &[u8], to: &mut [u8], rows: &Range<usize>, columns: &Range<usize>) {
    let run = columns.len() * WIDTH;
    for (row, to) in rows.clone().zip(to.chunks_exact_mut(run)) {
        let from = (row * COLUMNS + columns.start) * WIDTH;
        to.copy_from_slice(&data[from..from + run]);
    }
    black_box(to);
}
