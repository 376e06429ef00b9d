//! A model opened for lookups of any name, each of them proven to occur once. The reference does not look for those that occur twice.

use std::hint::black_box;

use embedded_safetensors::{Index, IndexMemory, IndexRecord, Model as Opened, View};

use super::headers::{Header, Model};
use super::{Amount, Case, KIB, Measure, contender, ours, reference, size};

pub fn measure(measure: &mut dyn Measure) {
    for header in Header::ALL {
        for tensors in [1, 12, 100, 1000, 10_000, 100_000] {
            let windows: &[usize] =
                if measure.is_thorough() { &[64, 512, 4 * KIB, 64 * KIB] } else { &[4 * KIB] };
            let names = windows.iter().map(|&window| {
                (window, format!("open with index, {header}, {tensors} tensors, window of {}", size(window)))
            });
            let names: Vec<_> = names.filter(|(_, what)| measure.wants(what)).collect();
            let view = format!("open as a view, {header}, {tensors} tensors");
            let view = Some(view).filter(|view| measure.wants(view));
            if names.is_empty() && view.is_none() {
                continue;
            }
            let model = Model::new(header, tensors);
            for (window, what) in names {
                measure_index(measure, &model, what, window);
            }
            view.into_iter().for_each(|what| measure_view(measure, &model, what));
        }
    }
}

fn measure_index(measure: &mut dyn Measure, model: &Model, what: String, window: usize) {
    let (mut memory, mut window) = (Memory::of(model), vec![0; window]);
    let contenders = vec![
        ours(|| assert_eq!(memory.index(black_box(model), &mut window).len(), model.names.len())),
        reference(|| black_box(model).reference()),
        contender("from_utf8", || std::str::from_utf8(black_box(&model.header()[8..]))),
    ];
    measure.measure(Case { what, amount: Amount::Tensors(model.names.len()) }, contenders);
}

/// A view keeps nothing: it finds names by looking through the header.
fn measure_view(measure: &mut dyn Measure, model: &Model, what: String) {
    let contenders = vec![
        ours(|| View::parse(black_box(&model.bytes)).expect("it is sound")),
        reference(|| black_box(model).reference()),
    ];
    measure.measure(Case { what, amount: Amount::Tensors(model.names.len()) }, contenders);
}

/// Memory for an index, as its owner has it.
pub struct Memory {
    records: Vec<IndexRecord>,
    dims: Vec<u64>,
    names: Vec<u8>,
}

impl Memory {
    /// As much as this model takes.
    pub fn of(model: &Model) -> Self {
        let mut opened = Opened::open(&model.bytes[..], &mut [0; 4096]).expect("it is sound");
        let size = opened.index_size(&mut [0; 4096]).expect("it is sound");
        let (records, dims) = (vec![IndexRecord::EMPTY; size.tensors], vec![0; size.dims]);
        Self { records, dims, names: vec![0; size.name_bytes] }
    }

    pub fn index(&mut self, model: &Model, window: &mut [u8]) -> Index<'_> {
        let memory = IndexMemory::new(&mut self.records, &mut self.dims, &mut self.names);
        let (_, index) = Opened::open_indexed(&model.bytes[..], memory, window).expect("it is sound");
        index
    }
}
