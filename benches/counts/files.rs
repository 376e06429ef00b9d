//! Counts opening files of the operating system. Maps are left out.

use crate::headers::{Spelling, TENSORS};
use crate::path;
use embedded_safetensors::{FileModel, Model};
use std::fs::{self, File};
use std::hint::black_box;
use std::path::Path;

pub fn take() {
    let file_path = std::env::temp_dir().join(format!("counted-paths-{}", std::process::id()));
    for spelling in [Spelling::Canonical, Spelling::Diverse] {
        fs::write(&file_path, spelling.file(TENSORS)).expect("enough space");
        read(spelling.name(), &file_path);
    }
    fs::remove_file(&file_path).expect("removed");
}

fn read(spelling: &str, place: &Path) {
    path(&format!("Model::open of a File, {spelling}"), || {
        let file = File::open(place).expect("found");
        black_box(Model::open(file, &mut [0; 4096]).expect("valid file"));
    });
    path(&format!("FileModel::open, {spelling}"), || {
        black_box(FileModel::open(place).expect("valid file"));
    });
    let model = FileModel::open(place).expect("valid file");
    path(&format!("a FileModel's {TENSORS} tensors by name, {spelling}"), || {
        for tensor in model.tensors() {
            black_box(model.find(black_box(tensor.name())).expect("valid file").expect("found"));
        }
    });
}
