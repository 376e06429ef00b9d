//! Lists all tensors.

use std::hint::black_box;

use embedded_safetensors::{Model as Opened, View};

use super::headers::{Header, Model};
use super::index::Memory;
use super::{Amount, Bench, Case, Contender, KIB, ours, reference};

pub fn measure(bench: &mut Bench) {
    for header in [Header::Canonical, Header::Diverse] {
        for tensors in [12, 1000, 100_000] {
            let kinds = [("of an index", of_index as Kind), ("of a view", of_view), ("in a pass", in_pass)];
            for (name, kind) in kinds {
                let what = format!("list all {name}, {header}, {tensors} tensors");
                if bench.wants(&what) {
                    let case = Case { what, amount: Amount::Tensors(tensors) };
                    kind(bench, case, &Model::new(header, tensors));
                }
            }
        }
    }
}

type Kind = fn(&mut Bench, Case, &Model);

fn of_index(bench: &mut Bench, case: Case, model: &Model) {
    let mut memory = Memory::of(model);
    let index = memory.index(&model.bytes[..], &mut [0; 4096]);
    let ours = ours(|| black_box(&index).by_offset().map(|tensor| black_box(tensor).byte_len()).sum::<u64>());
    let tensors = model.reference();
    bench.measure(case, vec![ours, by_reference(&tensors)]);
}

fn of_view(bench: &mut Bench, case: Case, model: &Model) {
    let view = View::parse(&model.bytes).expect("valid file");
    let ours = ours(|| {
        let tensors = black_box(&view).tensors();
        tensors.map(|tensor| black_box(tensor).expect("valid file").bytes().len()).sum::<usize>()
    });
    let tensors = model.reference();
    bench.measure(case, vec![ours, by_reference(&tensors)]);
}

fn by_reference<'a>(tensors: &'a safetensors_0_8::SafeTensors<'_>) -> Contender<'a> {
    reference(move || {
        black_box(tensors).iter().map(|(_, tensor)| black_box(tensor).data().len()).sum::<usize>()
    })
}

/// Opens a file and lists its tensors in one pass, without anything kept from before.
fn in_pass(bench: &mut Bench, case: Case, model: &Model) {
    let ours = ours(|| {
        let (mut window, mut name, mut bytes) = ([0; 4 * KIB], [0; 256], 0);
        let mut opened = Opened::open(&black_box(model).bytes[..], &mut window).expect("valid file");
        let visited =
            opened.for_each(&mut name, &mut window, |entry| bytes += black_box(entry).info.byte_len());
        visited.expect("valid file");
        bytes
    });
    let reference = reference(|| {
        let tensors = black_box(model).reference();
        tensors.iter().map(|(_, tensor)| black_box(tensor).data().len()).sum::<usize>()
    });
    bench.measure(case, vec![ours, reference]);
}
