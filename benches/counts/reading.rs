//! Counts reading headers.

use crate::headers::{Spelling, TENSORS};
use crate::path;
use embedded_safetensors::{
    Model, View,
    header::{Entries, Item},
    index::{IndexMemory, IndexRecord},
    query::Query,
    validate::{DuplicateFinder, Progress, SortSlot, Validator},
};
use std::hint::black_box;

const WINDOW: usize = 4096;

pub fn take() {
    for spelling in Spelling::ALL {
        let (name, file) = (spelling.name(), spelling.file(TENSORS));
        for (pieces, len) in [("64 B", 64), ("4 KiB", WINDOW), ("whole", file.len())] {
            path(&format!("check, {name}, {pieces}"), || check(&file, len));
        }
        path(&format!("open, {name}"), || open(&file));
        path(&format!("open with an index, {name}"), || open_indexed(&file));
        find(name, &file);
        path(&format!("entries, {name}"), || list(&file));
        path(&format!("view, all tensors, {name}"), || view(&file));
        path(&format!("duplicate names, {name}"), || find_duplicates(&file));
    }
}

fn check(file: &[u8], len: usize) {
    let mut check = Validator::new(Some(file.len() as u64), &mut []);
    let mut pieces = black_box(file).chunks(len);
    let end = pieces.find_map(|mut piece| match check.push(&mut piece) {
        Ok(Progress::NeedInput) => None,
        end => Some(end),
    });
    assert_eq!(end, Some(Ok(Progress::Done)));
    black_box(check.summary());
}

fn open(file: &[u8]) {
    black_box(opened(file));
}

fn opened(file: &[u8]) -> Model<&[u8]> {
    Model::open(black_box(file), &mut [0; WINDOW]).expect("valid file")
}

fn open_indexed(file: &[u8]) {
    let mut records = vec![IndexRecord::EMPTY; TENSORS];
    let (mut dims, mut names) = (vec![0; 4 * TENSORS], vec![0; 64 * TENSORS]);
    let memory = IndexMemory::new(&mut records, &mut dims, &mut names);
    let (_, index) = Model::open_indexed(black_box(file), memory, &mut [0; WINDOW]).expect("valid file");
    assert_eq!(index.len(), TENSORS);
}

/// Finds in an open model one tensor in the middle, and 12 spread over all of them.
fn find(spelling: &str, file: &[u8]) {
    let view = View::parse(file).expect("valid file");
    let names = view.tensors().map(|tensor| tensor.expect("few dimensions").name().to_string());
    let names: Vec<String> = names.collect();
    let mut model = opened(file);
    let middle = &names[TENSORS / 2];
    path(&format!("find 1 of {TENSORS}, {spelling}"), || {
        let found = model.find(black_box(middle), &mut [0; WINDOW]);
        assert!(found.is_ok_and(|found| found.is_some()));
    });
    let mut queries: Vec<Query<'_>> =
        names.iter().step_by(TENSORS / 12 + 1).map(|name| Query::required(name)).collect();
    assert_eq!(queries.len(), 12);
    path(&format!("find 12 of {TENSORS}, {spelling}"), || {
        model.find_all(black_box(&mut queries), &mut [0; WINDOW]).expect("found");
    });
}

fn list(file: &[u8]) {
    let (mut name, mut tensors) = ([0; 64], 0);
    let mut entries = Entries::new(&mut name);
    for mut piece in black_box(file).chunks(WINDOW) {
        while let Item::Tensor(entry) = entries.next(&mut piece).expect("valid file") {
            black_box(entry.name());
            tensors += 1;
        }
    }
    assert_eq!(tensors, TENSORS);
}

fn view(file: &[u8]) {
    let view = View::parse(black_box(file)).expect("valid file");
    assert_eq!(view.tensors().flatten().map(|tensor| tensor.bytes().len()).sum::<usize>(), view.data().len());
}

fn find_duplicates(file: &[u8]) {
    let (mut slots, mut text) = (vec![SortSlot::EMPTY; 2 * TENSORS], [0; WINDOW]);
    let mut check = DuplicateFinder::new([1, 2], &mut slots, &mut text);
    while check.push(&mut black_box(file)) == Ok(Progress::Rewind) {}
    assert_eq!(check.push(&mut &[][..]), Ok(Progress::Done));
}
