//! This library, by each of its doors.

use std::fs::{self, File};
use std::hint::black_box;
use std::path::Path;

use embedded_safetensors::{
    Dtype, FileModel, FilePlan, FileSpec, Model, ReadAt, TensorSpec, View, Writer, write_file,
};

use crate::row::{Kind, Row, Section, VALUES};

const NAME: &str = "features";
const SHAPE: [u64; 1] = [VALUES as u64];
const TENSORS: [TensorSpec<'_>; 1] = [TensorSpec::new(NAME, Dtype::F32, &SHAPE)];

pub fn rows(values: &'static [f32]) -> Vec<Row> {
    let encode = move |file: &mut [u8]| encode(file, values);
    let memory = |words, decode: fn(&[u8], &mut [f32])| {
        Row::memory(Kind::Ours, words, encode, move |file, values| decode(file, values))
    };
    let file = |section, words, save: fn(&Path, &[f32]), load: fn(&Path, &mut [f32])| {
        let save = move |path: &Path| save(path, values);
        Row::file(section, Kind::Ours, words, save, move |path, values| load(path, values))
    };
    vec![
        memory(["Writer, View", "bytes found in the file, copied"], decode_view),
        memory(["Writer, Model", "found in the storage, copied"], decode_model),
        Row::in_place(Kind::Ours, ["Writer, View", "where they lie"], encode, find),
        file(Section::File, ["Writer, Model", "read from their place"], save, load_model),
        file(Section::File, ["Writer, FileModel", "read from their place"], save, load_file_model),
        file(Section::Durable, ["write_file, Model", "read from their place"], replace, load_model),
    ]
}

fn plan() -> FilePlan<'static> {
    FileSpec::new(black_box(&TENSORS)).in_order().expect("it can be written")
}

fn encode(file: &mut [u8], values: &[f32]) -> usize {
    let plan = plan();
    let mut writer = Writer::begin(file, plan, &mut [0; 128]).expect("there is room");
    writer.write_values(values).expect("there is room");
    writer.finish().expect("it is complete");
    usize::try_from(plan.file_len()).expect("it is in memory")
}

fn decode_view(file: &[u8], values: &mut [f32]) {
    let model = View::parse(file).expect("it is sound");
    let tensor = model.tensor(black_box(NAME)).expect("it is there");
    values.copy_from_slice(tensor.as_f32().expect("it is of such values, and lies right"));
}

fn decode_model(file: &[u8], values: &mut [f32]) {
    read(Model::open(file, &mut [0; 256]).expect("it is sound"), values);
}

fn read<S: ReadAt<Error: core::fmt::Debug>>(mut model: Model<S>, values: &mut [f32]) {
    let info = model.find(black_box(NAME), &mut [0; 256]).expect("it is sound").expect("it is there");
    let mut reader = model.tensor(&info).expect("it is this file's").elements();
    reader.read_lossless(values).expect("it is whole");
}

fn find(file: &[u8]) -> &[u8] {
    View::parse(file).expect("it is sound").tensor(black_box(NAME)).expect("it is there").bytes()
}

/// As a program does that needs no more than a file: made in memory.
fn save(path: &Path, values: &[f32]) {
    let plan = plan();
    let mut file = Vec::with_capacity(usize::try_from(plan.file_len()).expect("it fits into memory"));
    let mut writer = Writer::begin(&mut file, plan, &mut [0; 128]).expect("there is room");
    writer.write_values(values).expect("there is room");
    writer.finish().expect("it is complete");
    fs::write(path, &file).expect("there is room");
}

fn replace(path: &Path, values: &[f32]) {
    let spec = FileSpec::new(black_box(&TENSORS));
    write_file(path, spec, |file| file.write_values(NAME, values)).expect("it can be written");
}

fn load_model(path: &Path, values: &mut [f32]) {
    let file = File::open(path).expect("it is there");
    read(Model::open(file, &mut [0; 256]).expect("it is sound"), values);
}

fn load_file_model(path: &Path, values: &mut [f32]) {
    let model = FileModel::open(path).expect("it is sound");
    let tensor = model.tensor(black_box(NAME)).expect("it is there");
    tensor.reader().elements().read_lossless(values).expect("it is whole");
}
