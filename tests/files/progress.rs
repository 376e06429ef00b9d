//! Copies with a progress callback, and stopped copies.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use embedded_safetensors::{
    Dtype,
    write::{FileSpec, Placement, TensorSpec},
};
use safetensors_files::{EditError, EditErrorKind, ModelEditor, SaveMethod};

use crate::files::temp_dir::{TempDir, message};

const LEN: u64 = 600_000;
const PIECE: u64 = 1 << 18;

/// Opens an editor with two tensors of [`LEN`] bytes, and one of none.
fn editor(dir: &TempDir) -> ModelEditor<'static> {
    let tensors = ["a", "b", "none"]
        .map(|name| TensorSpec::new(name, Dtype::U8, if name == "none" { &[0] } else { &[LEN] }));
    let path = dir.join("source");
    let pieces = || (0..LEN / 100).map(|piece| [piece.to_le_bytes()[0]; 100]);
    let fill = |file: &mut safetensors_files::FileWriter<'_>| {
        file.write_chunks("a", pieces())?;
        file.write_chunks("b", pieces())
    };
    safetensors_files::write_file(&path, FileSpec::new(&tensors), fill).expect("succeeds");
    let mut editor = ModelEditor::open(&path).expect("valid file");
    editor.set_placement(Placement::Start(8));
    editor
}

/// Saves it, stops at this call of the callback, and returns the reported progress.
fn save_until(
    editor: &ModelEditor<'_>,
    path: &Path,
    stop: usize,
) -> (Result<SaveMethod, EditError>, Vec<(u64, u64)>) {
    let mut reports = Vec::new();
    let outcome = editor.save_watched(path, &mut |done, total| {
        reports.push((done, total));
        if reports.len() > stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (outcome, reports)
}

#[test]
fn every_piece_is_reported() {
    let dir = TempDir::new();
    let (outcome, reports) = save_until(&editor(&dir), &dir.join("copy"), usize::MAX);
    assert_eq!(outcome.expect("not stopped"), SaveMethod::Copied);
    let whole = [0, PIECE, 2 * PIECE, LEN, LEN + PIECE, LEN + 2 * PIECE, 2 * LEN];
    assert_eq!(reports, whole.map(|done| (done, 2 * LEN)));
    assert_eq!(fs::read(dir.join("copy")).expect("present"), fs::read(dir.join("source")).expect("present"));
}

#[test]
fn stopped_copy_changes_nothing() {
    let dir = TempDir::new();
    let editor = editor(&dir);
    for stop in 0..7 {
        let new = dir.join("new");
        let (outcome, reports) = save_until(&editor, &new, stop);
        assert_eq!(reports.len(), stop + 1);
        assert_eq!(message(&dir, outcome), "./new: it was stopped before it was complete");
        assert_eq!(dir.names(), ["source"]);
    }
    let old = dir.put("old", b"old");
    let (outcome, _) = save_until(&editor, &old, 3);
    let error = outcome.expect_err("stopped");
    assert!(matches!(error.kind(), EditErrorKind::Stopped));
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::Other);
    assert_eq!(fs::read(&old).expect("present"), b"old");
    assert_eq!(dir.names(), ["old", "source"]);
}

#[test]
fn edit_in_place_cannot_be_stopped() {
    let dir = TempDir::new();
    drop(editor(&dir));
    let path = dir.join("source");
    let mut editor = ModelEditor::open(&path).expect("valid file");
    editor.rename("a", "c").expect("present");
    let (outcome, reports) = save_until(&editor, &path, 0);
    assert_eq!(outcome.expect("nothing to stop"), SaveMethod::InPlace);
    assert_eq!(reports, []);
}
