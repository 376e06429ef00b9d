//! Finds tensors by name: in an index; in a view, which scans the header; in a model without an index,
//! which reads the header again for all names together.

use std::hint::black_box;

use embedded_safetensors::{Model as Opened, View, query::Query};

use super::headers::{Header, Model};
use super::index::Memory;
use super::{Amount, Bench, Case, KIB, ours, reference};

/// The number of lookups in one call.
const LOOKUPS: usize = 12;

pub fn measure(bench: &mut Bench) {
    for header in [Header::Canonical, Header::Diverse] {
        for tensors in [12, 1000, 100_000] {
            let kinds = [("in an index", in_index as Kind), ("in a view", in_view), ("in a pass", in_pass)];
            for (name, kind) in kinds {
                let what = format!("look up {LOOKUPS} names {name}, {header}, {tensors} tensors");
                if bench.wants(&what) {
                    let case = Case { what, amount: Amount::Tensors(LOOKUPS) };
                    kind(bench, case, &Model::new(header, tensors));
                }
            }
        }
    }
}

type Kind = fn(&mut Bench, Case, &Model);

fn in_index(bench: &mut Bench, case: Case, model: &Model) {
    let (names, mut memory) = (model.some_names(LOOKUPS), Memory::of(model));
    let (index, tensors) = (memory.index(&model.bytes[..], &mut [0; 4096]), model.reference());
    let ours = ours(|| {
        for name in black_box(&names) {
            black_box(index.find(name).expect("valid file").expect("found"));
        }
    });
    let reference = reference(|| {
        for name in black_box(&names) {
            black_box(tensors.tensor(name).expect("found"));
        }
    });
    bench.measure(case, vec![ours, reference]);
}

fn in_view(bench: &mut Bench, case: Case, model: &Model) {
    let names = model.some_names(LOOKUPS);
    let (view, tensors) = (View::parse(&model.bytes).expect("valid file"), model.reference());
    let ours = ours(|| {
        for name in black_box(&names) {
            black_box(view.tensor(name).expect("found"));
        }
    });
    let reference = reference(|| {
        for name in black_box(&names) {
            black_box(tensors.tensor(name).expect("found"));
        }
    });
    bench.measure(case, vec![ours, reference]);
}

/// Opens a file and finds names in one pass, without anything kept from before.
fn in_pass(bench: &mut Bench, case: Case, model: &Model) {
    let names = model.some_names(LOOKUPS);
    let ours = ours(|| {
        let mut window = [0; 4 * KIB];
        let mut opened = Opened::open(&black_box(model).bytes[..], &mut window).expect("valid file");
        let mut queries: Vec<Query<'_>> = names.iter().map(|name| Query::required(name)).collect();
        opened.find_all(&mut queries, &mut window).expect("found");
        black_box(queries);
    });
    let reference = reference(|| {
        let tensors = black_box(model).reference();
        for name in black_box(&names) {
            black_box(tensors.tensor(name).expect("found"));
        }
    });
    bench.measure(case, vec![ours, reference]);
}
