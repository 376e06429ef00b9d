//! Files of the operating system. A map is left out: whoever opens one vouches for the file.

use crate::headers::{Spelling, TENSORS};
use crate::path;
use embedded_safetensors::{FileModel, Model};
use std::fs::{self, File};
use std::hint::black_box;
use std::path::Path;

pub fn take() {
    let place = std::env::temp_dir().join(format!("counted-paths-{}", std::process::id()));
    for spelling in [Spelling::Canonical, Spelling::Diverse] {
        fs::write(&place, spelling.file(TENSORS)).expect("there is room");
        read(spelling.name(), &place);
    }
    fs::remove_file(&place).expect("it is ours");
}

fn read(spelling: &str, place: &Path) {
    path(&format!("Model::open of a File, {spelling}"), || {
        let file = File::open(place).expect("it is there");
        black_box(Model::open(file, &mut [0; 4096]).expect("it is sound"));
    });
    path(&format!("FileModel::open, {spelling}"), || {
        black_box(FileModel::open(place).expect("it is sound"));
    });
    let model = FileModel::open(place).expect("it is sound");
    path(&format!("a FileModel's {TENSORS} tensors by name, {spelling}"), || {
        for tensor in model.tensors() {
            black_box(model.find(black_box(tensor.name())).expect("it is sound").expect("it is there"));
        }
    });
}
