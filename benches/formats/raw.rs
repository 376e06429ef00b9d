//! The floor: only the bytes of the values, in the shortest way.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use bytemuck::{cast_slice, cast_slice_mut};

use crate::row::{Kind, Row, Section};
use crate::vector::VALUES;

const LEN: usize = 4 * VALUES;

pub fn rows(values: &'static [f32]) -> Vec<Row> {
    let encode = move |file: &mut [u8]| {
        file[..LEN].copy_from_slice(cast_slice(values));
        LEN
    };
    let decode = |file: &[u8], values: &mut Vec<f32>| cast_slice_mut(values).copy_from_slice(file);
    let words = ["raw bytes", "copied"];
    vec![
        Row::memory(Kind::Floor, words, encode, decode),
        Row::in_place(Kind::Floor, ["raw bytes", "in place"], encode, |file| file),
        Row::file(
            Section::File,
            Kind::Floor,
            words,
            move |path| save(path, cast_slice(values)),
            |path, values| load(path, values),
        ),
        Row::file(
            Section::Durable,
            Kind::Floor,
            words,
            move |path| replace(path, cast_slice(values)),
            |path, values| load(path, values),
        ),
    ]
}

fn save(path: &Path, bytes: &[u8]) {
    File::create(path).and_then(|mut file| file.write_all(bytes)).expect("enough space");
}

fn load(path: &Path, values: &mut [f32]) {
    let mut file = File::open(path).expect("found");
    file.read_exact(cast_slice_mut(values)).expect("complete");
}

/// Writes another file, syncs it, renames it, and syncs the directory.
fn replace(path: &Path, bytes: &[u8]) {
    let temporary = path.with_extension("tmp");
    let mut file = File::create_new(&temporary).expect("new file");
    file.write_all(bytes).and_then(|()| file.sync_all()).expect("enough space");
    drop(file);
    fs::rename(&temporary, path).expect("renamed");
    let folder = path.parent().expect("in a directory");
    File::open(folder).and_then(|folder| folder.sync_all()).expect("synced");
}
