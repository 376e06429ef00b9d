//! This library, with each of its APIs.

use std::fs::{self, File};
use std::hint::black_box;
use std::path::Path;

use embedded_safetensors::{FileModel, Model, ReadAt, View};
use safetensors_files::write_file;

use crate::row::{Kind, Row, Section};
use crate::vector::{self, NAME};

pub fn rows(values: &'static [f32]) -> Vec<Row> {
    let encode = move |file: &mut [u8]| vector::write(file, values);
    let memory = |words, decode: fn(&[u8], &mut [f32])| {
        Row::memory(Kind::Ours, words, encode, move |file, values| decode(file, values))
    };
    let file = |section, words, save: fn(&Path, &[f32]), load: fn(&Path, &mut [f32])| {
        let save = move |path: &Path| save(path, values);
        Row::file(section, Kind::Ours, words, save, move |path, values| load(path, values))
    };
    vec![
        memory(["Writer, View", "bytes found in the file, copied"], vector::read),
        memory(["Writer, Model", "found in the storage, copied"], decode_model),
        Row::in_place(Kind::Ours, ["Writer, View", "in place"], encode, find),
        file(Section::File, ["Writer, Model", "read from their place"], save, load_model),
        file(Section::File, ["Writer, FileModel", "read from their place"], save, load_file_model),
        file(Section::Durable, ["write_file, Model", "read from their place"], replace, load_model),
    ]
}

fn decode_model(file: &[u8], values: &mut [f32]) {
    read(Model::open(file, &mut [0; 256]).expect("valid file"), values);
}

fn read<S: ReadAt<Error: core::fmt::Debug>>(mut model: Model<S>, values: &mut [f32]) {
    let info = model.find(black_box(NAME), &mut [0; 256]).expect("valid file").expect("found");
    let mut reader = model.reader(&info).expect("tensor of this file").values();
    reader.read_exact(values).expect("complete");
}

fn find(file: &[u8]) -> &[u8] {
    View::parse(file).expect("valid file").tensor(black_box(NAME)).expect("found").bytes()
}

/// Writes a file in the simplest way: made in memory, then written.
fn save(path: &Path, values: &[f32]) {
    let plan = vector::spec().plan().expect("valid spec");
    let mut file = Vec::with_capacity(usize::try_from(plan.file_len()).expect("fits memory"));
    vector::write_to(&mut file, plan, values);
    fs::write(path, &file).expect("enough space");
}

fn replace(path: &Path, values: &[f32]) {
    write_file(path, vector::spec(), |file| file.write_values(NAME, values)).expect("valid spec");
}

fn load_model(path: &Path, values: &mut [f32]) {
    let file = File::open(path).expect("found");
    read(Model::open(file, &mut [0; 256]).expect("valid file"), values);
}

fn load_file_model(path: &Path, values: &mut [f32]) {
    let model = FileModel::open(path).expect("valid file");
    let tensor = model.find(black_box(NAME)).expect("valid file").expect("found");
    tensor.reader().values().read_exact(values).expect("complete");
}
