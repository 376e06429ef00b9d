//! Opens a model with an index, which rejects duplicate names. The reference does not look for duplicates.

use std::convert::Infallible;
use std::hint::black_box;

use embedded_safetensors::{
    Model as Opened, ReadAt, View,
    index::{Index, IndexMemory, IndexRecord},
};
use support::file::Stored;

use super::headers::{Header, Model};
use super::{Amount, Bench, Case, KIB, contender, ours, reference, size};

/// The size of the window for reading the header; without one, it is read in place.
type Window = Option<usize>;

const WINDOWS: [Window; 5] = [None, Some(64), Some(512), Some(4 * KIB), Some(64 * KIB)];

pub fn measure(bench: &mut Bench) {
    for header in Header::ALL {
        for tensors in [1, 12, 100, 1000, 10_000, 100_000] {
            let windows = WINDOWS.map(|window| (window, name(header, tensors, window)));
            let windows: Vec<_> = windows.into_iter().filter(|(_, name)| bench.wants(name)).collect();
            let view = format!("open as a view, {header}, {tensors} tensors");
            let view = Some(view).filter(|view| bench.wants(view));
            if windows.is_empty() && view.is_none() {
                continue;
            }
            let model = Model::new(header, tensors);
            for (window, what) in windows {
                measure_index(bench, &model, what, window);
            }
            view.into_iter().for_each(|what| measure_view(bench, &model, what));
        }
    }
}

fn name(header: Header, tensors: usize, window: Window) -> String {
    let through = window.map_or("in memory".to_owned(), |len| format!("window of {}", size(len)));
    format!("open with index, {header}, {tensors} tensors, {through}")
}

fn measure_index(bench: &mut Bench, model: &Model, what: String, window: Window) {
    let mut memory = Memory::of(model);
    // A header in memory needs no window, but an empty one is rejected.
    let mut buffer = vec![0; window.unwrap_or(1)];
    let contenders = vec![
        ours(|| {
            let model = black_box(model);
            let index = match window {
                None => memory.index(&model.bytes[..], &mut buffer),
                Some(_) => memory.index(Stored(&model.bytes), &mut buffer),
            };
            assert_eq!(index.len(), model.names.len());
        }),
        reference(|| black_box(model).reference()),
        contender("from_utf8", || std::str::from_utf8(black_box(&model.header()[8..]))),
    ];
    bench.measure(Case { what, amount: Amount::Tensors(model.names.len()) }, contenders);
}

/// A view keeps no index: it finds names by scanning the header.
fn measure_view(bench: &mut Bench, model: &Model, what: String) {
    let contenders = vec![
        ours(|| View::parse(black_box(&model.bytes)).expect("valid file")),
        reference(|| black_box(model).reference()),
    ];
    bench.measure(Case { what, amount: Amount::Tensors(model.names.len()) }, contenders);
}

/// The memory of an index.
pub struct Memory {
    records: Vec<IndexRecord>,
    dims: Vec<u64>,
    names: Vec<u8>,
}

impl Memory {
    /// Allocates as much as this model needs.
    pub fn of(model: &Model) -> Self {
        let mut opened = Opened::open(&model.bytes[..], &mut [0; 4096]).expect("valid file");
        let size = opened.index_size(&mut [0; 4096]).expect("valid file");
        let (records, dims) = (vec![IndexRecord::EMPTY; size.tensors], vec![0; size.dims]);
        Self { records, dims, names: vec![0; size.name_bytes] }
    }

    pub fn index(&mut self, source: impl ReadAt<Error = Infallible>, window: &mut [u8]) -> Index<'_> {
        let memory = IndexMemory::new(&mut self.records, &mut self.dims, &mut self.names);
        let (_, index) = Opened::open_indexed(source, memory, window).expect("valid file");
        index
    }
}
