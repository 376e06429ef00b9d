//! Copies that are watched, and stopped.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use embedded_safetensors::{
    Dtype,
    write::{FileSpec, Placement, TensorSpec},
};
use safetensors_files::{EditError, EditErrorKind, ModelEditor, SaveMethod};

use crate::files::temp_dir::{Folder, sentence};

const LEN: u64 = 600_000;
const PIECE: u64 = 1 << 18;

/// Two tensors of [`LEN`] bytes, and one of none.
fn editor(folder: &Folder) -> ModelEditor {
    let tensors = ["a", "b", "none"]
        .map(|name| TensorSpec::new(name, Dtype::U8, if name == "none" { &[0] } else { &[LEN] }));
    let path = folder.join("source");
    let pieces = || (0..LEN / 100).map(|piece| [piece.to_le_bytes()[0]; 100]);
    let fill = |file: &mut safetensors_files::FileWriter<'_>| {
        file.write_chunks("a", pieces())?;
        file.write_chunks("b", pieces())
    };
    safetensors_files::write_file(&path, FileSpec::new(&tensors), fill).expect("there is room");
    let mut editor = ModelEditor::open(&path).expect("it is sound");
    editor.set_placement(Placement::Start(8));
    editor
}

/// Saves it, stopped when it has been asked so many times, and what it heard.
fn watched(
    editor: &ModelEditor,
    path: &Path,
    stop: usize,
) -> (Result<SaveMethod, EditError>, Vec<(u64, u64)>) {
    let mut heard = Vec::new();
    let outcome = editor.save_watched(path, &mut |done, total| {
        heard.push((done, total));
        if heard.len() > stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (outcome, heard)
}

#[test]
fn whoever_watches_hears_of_every_piece() {
    let folder = Folder::new();
    let (outcome, heard) = watched(&editor(&folder), &folder.join("copy"), usize::MAX);
    assert_eq!(outcome.expect("nobody stops it"), SaveMethod::Copied);
    let whole = [0, PIECE, 2 * PIECE, LEN, LEN + PIECE, LEN + 2 * PIECE, 2 * LEN];
    assert_eq!(heard, whole.map(|done| (done, 2 * LEN)));
    assert_eq!(
        fs::read(folder.join("copy")).expect("it is there"),
        fs::read(folder.join("source")).expect("it is there")
    );
}

#[test]
fn a_copy_that_is_stopped_leaves_all_as_it_was() {
    let folder = Folder::new();
    let editor = editor(&folder);
    for stop in 0..7 {
        let new = folder.join("new");
        let (outcome, heard) = watched(&editor, &new, stop);
        assert_eq!(heard.len(), stop + 1);
        assert_eq!(sentence(&folder, outcome), "./new: it was stopped before it was whole");
        assert_eq!(folder.names(), ["source"]);
    }
    let old = folder.put("old", b"old");
    let (outcome, _) = watched(&editor, &old, 3);
    let error = outcome.expect_err("it is stopped");
    assert!(matches!(error.kind(), EditErrorKind::Stopped));
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::Other);
    assert_eq!(fs::read(&old).expect("it is there"), b"old");
    assert_eq!(folder.names(), ["old", "source"]);
}

#[test]
fn what_is_saved_in_place_cannot_be_stopped() {
    let folder = Folder::new();
    drop(editor(&folder));
    let path = folder.join("source");
    let mut editor = ModelEditor::open(&path).expect("it is sound");
    editor.rename("a", "c").expect("it is there");
    let (outcome, heard) = watched(&editor, &path, 0);
    assert_eq!(outcome.expect("there is nothing to stop"), SaveMethod::InPlace);
    assert_eq!(heard, []);
}

#[test]
fn of_a_model_without_bytes_is_heard_once() {
    let folder = Folder::new();
    let mut editor = editor(&folder);
    editor.retain(|name| name == "none");
    let (outcome, heard) = watched(&editor, &folder.join("copy"), 1);
    assert_eq!(outcome.expect("nobody stops it"), SaveMethod::Copied);
    assert_eq!(heard, [(0, 0)]);
}
