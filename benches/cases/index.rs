//! A model opened for lookups of any name, each of them proven to occur once. The reference does not look for those that occur twice.

use std::convert::Infallible;
use std::hint::black_box;

use embedded_safetensors::{Index, IndexMemory, IndexRecord, Model as Opened, ReadAt, View};
use verification::file::Stored;

use super::headers::{Header, Model};
use super::{Amount, Case, KIB, Measure, contender, ours, reference, size};

pub fn measure(measure: &mut dyn Measure) {
    for header in Header::ALL {
        for tensors in [1, 12, 100, 1000, 10_000, 100_000] {
            // Without a window it is read where it lies.
            let windows: &[usize] =
                if measure.is_thorough() { &[0, 64, 512, 4 * KIB, 64 * KIB] } else { &[0] };
            let names = windows.iter().map(|&window| {
                let through =
                    if window > 0 { format!("window of {}", size(window)) } else { "in memory".to_owned() };
                (window, format!("open with index, {header}, {tensors} tensors, {through}"))
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
    let mut memory = Memory::of(model);
    let mut room = vec![0; window.max(1)];
    let contenders = vec![
        ours(|| {
            let model = black_box(model);
            let index = match window {
                0 => memory.index(&model.bytes[..], &mut room),
                _ => memory.index(Stored(&model.bytes), &mut room),
            };
            assert_eq!(index.len(), model.names.len());
        }),
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

    pub fn index(&mut self, source: impl ReadAt<Error = Infallible>, window: &mut [u8]) -> Index<'_> {
        let memory = IndexMemory::new(&mut self.records, &mut self.dims, &mut self.names);
        let (_, index) = Opened::open_indexed(source, memory, window).expect("it is sound");
        index
    }
}
