//! Opens files as maps, and reads a tensor in place.

use std::hint::black_box;
use std::path::Path;

use embedded_safetensors::{FileModel, MappedModel};
use memmap2::Mmap;
use safetensors_0_8::SafeTensors;

use super::files::{Temporary, sum};
use super::headers::{Header, Model};
use super::{Amount, Bench, Case, MIB, contender, ours, reference};
use crate::one_tensor::{NAME, one_tensor};

const LEN: usize = 64 * MIB;

pub fn measure(bench: &mut Bench) {
    let what = "open a map and sum a tensor of 64 MiB".to_owned();
    if bench.wants(&what) {
        measure_sum(bench, what);
    }
    for header in [Header::Canonical, Header::Diverse] {
        for tensors in [12, 1000] {
            let what = ["a map", "a file"].map(|kind| format!("open {kind}, {header}, {tensors} tensors"));
            if what.iter().any(|what| bench.wants(what)) {
                measure_open(bench, what, &Model::new(header, tensors));
            }
        }
    }
}

fn measure_sum(bench: &mut Bench, what: String) {
    let file = Temporary::new(&one_tensor("U8", 1, &[LEN]));
    let path = file.path();
    let ours = ours(|| {
        // SAFETY: no other process knows of this file.
        let model = unsafe { MappedModel::open(path) }.expect("valid file");
        sum(model.find(NAME).expect("valid file").expect("found").bytes())
    });
    let reference = reference(|| {
        let map = map(path);
        let tensors = SafeTensors::deserialize(&map).expect("valid file");
        sum(tensors.tensor(NAME).expect("found").data())
    });
    let floor = contender("map", || sum(&map(path)));
    bench.measure(Case { what, amount: Amount::Bytes(LEN) }, vec![ours, reference, floor]);
}

/// Ours rejects duplicate names and detects edits of the file while it is opened; the reference does
/// neither.
fn measure_open(bench: &mut Bench, [mapped, read]: [String; 2], model: &Model) {
    let file = Temporary::of(model);
    let path = file.path();
    let amount = Amount::Tensors(model.names.len());
    let by_reference = || {
        let map = map(path);
        black_box(SafeTensors::deserialize(&map).expect("valid file"));
    };
    let open_map = || {
        // SAFETY: no other process knows of this file.
        unsafe { MappedModel::open(path) }.expect("valid file")
    };
    let open_file = || FileModel::open(path).expect("valid file");
    bench.measure(Case { what: mapped, amount }, vec![ours(open_map), reference(by_reference)]);
    bench.measure(Case { what: read, amount }, vec![ours(open_file), reference(by_reference)]);
}

fn map(path: &Path) -> Mmap {
    let file = std::fs::File::open(path).expect("found");
    // SAFETY: no other process knows of this file.
    unsafe { Mmap::map(&file) }.expect("mapped")
}
