//! Headers that an interrupted edit in place has left half written: readers report them, and write nothing.

use std::fs;
use std::path::{Path, PathBuf};

use embedded_safetensors::{
    ErrorKind, FileModel, MappedModel,
    file::{FileError, FileErrorKind},
};
use safetensors_files::ModelEditor;
use support::file::with_header;

use crate::files::temp_dir::{TempDir, message};

const OLD: &str = concat!(
    r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"#,
    r#""b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}"#,
);
const DATA: [u8; 3] = [1, 2, 3];

/// The same header with other names.
fn new() -> String {
    OLD.replace("\"a\"", "\"x\"").replace("\"b\"", "\"y\"")
}

/// The first names of the new header, and the others of the old one.
fn torn() -> String {
    OLD.replace("\"a\"", "\"x\"")
}

fn model(header: &str) -> Vec<u8> {
    [with_header(header, 0), DATA.to_vec()].concat()
}

/// The same with part of the mark that an edit puts into its length.
fn marked(header: &str, marks: usize) -> Vec<u8> {
    let mut model = model(header);
    model[4..4 + marks].fill(0xFF);
    model
}

/// Writes a model with this header, and the undo file of its edit.
fn put(dir: &TempDir, header: &str) -> PathBuf {
    put_bytes(dir, &model(header))
}

fn put_bytes(dir: &TempDir, model_now: &[u8]) -> PathBuf {
    let path = dir.put("m", model_now);
    let (old, new) = (with_header(OLD, 0), with_header(&new(), 0));
    let lengths = [model(OLD).len() as u64, old.len() as u64].map(u64::to_le_bytes).concat();
    dir.put(".m.undo", &[b"safetensors undo", &lengths[..], &old, &new, &DATA, &DATA].concat());
    path
}

#[expect(unsafe_code, reason = "nothing else writes to the file")]
fn map(path: &Path) -> Result<(), FileError> {
    // SAFETY: only this test uses the file.
    unsafe { MappedModel::open(path) }.map(drop)
}

type Open = fn(&Path) -> Result<(), FileError>;

const OPEN_METHODS: [Open; 2] = [|path| FileModel::open(path).map(drop), map];

fn is_interrupted(outcome: &Result<(), FileError>) -> bool {
    outcome.as_ref().is_err_and(|error| matches!(error.kind(), FileErrorKind::Interrupted))
}

/// No reader of the format accepts such a header.
fn is_too_long(outcome: &Result<(), FileError>) -> bool {
    outcome.as_ref().is_err_and(|error| match error.kind() {
        FileErrorKind::Format(error) => matches!(error.kind, ErrorKind::HeaderTooLarge { .. }),
        _ => false,
    })
}

/// However little of the mark is written.
#[test]
fn started_edit_is_reported() {
    for marks in 1..=4 {
        let dir = TempDir::new();
        let path = put_bytes(&dir, &marked(OLD, marks));
        assert!(OPEN_METHODS.iter().all(|open| is_interrupted(&open(&path))), "{marks}");
        assert!(ModelEditor::recover(&path).expect("recoverable"));
        assert_eq!(fs::read(&path).expect("present"), model(OLD));
    }
}

#[test]
fn header_before_or_after_an_edit_is_read() {
    for header in [OLD, &new()] {
        let dir = TempDir::new();
        let path = put(&dir, header);
        OPEN_METHODS.iter().for_each(|open| open(&path).expect("complete header"));
    }
}

#[test]
fn half_written_header_is_an_error_until_recovered() {
    let dir = TempDir::new();
    let path = put_bytes(&dir, &marked(&torn(), 4));
    let before = [fs::read(&path).expect("present"), fs::read(dir.join(".m.undo")).expect("present")];
    for open in OPEN_METHODS {
        let outcome = open(&path);
        assert!(is_interrupted(&outcome));
        assert_eq!(
            message(&dir, outcome),
            "./m: another program is editing it, or was interrupted and left its header half written; \
                ModelEditor::recover restores it then"
        );
    }
    let after = [fs::read(&path).expect("present"), fs::read(dir.join(".m.undo")).expect("present")];
    assert!(before == after && dir.names() == [".m.undo", "m"], "readers write nothing");
    assert!(ModelEditor::recover(&path).expect("recoverable"));
    OPEN_METHODS.iter().for_each(|open| open(&path).expect("recovered"));
    assert_eq!(fs::read(&path).expect("present"), model(OLD));
}

/// The undo file is beside the file that a link points to.
#[cfg(unix)]
#[test]
fn half_written_header_is_detected_through_a_link() {
    let (dir, other) = (TempDir::new(), TempDir::new());
    let link = other.join("link");
    std::os::unix::fs::symlink(put_bytes(&dir, &marked(&torn(), 4)), &link).expect("a new link");
    assert!(OPEN_METHODS.iter().all(|open| is_interrupted(&open(&link))));
    put(&dir, OLD);
    OPEN_METHODS.iter().for_each(|open| open(&link).expect("complete header"));
}

#[test]
fn undo_file_of_another_edit_is_ignored() {
    let dir = TempDir::new();
    let path = put_bytes(&dir, &marked(&torn(), 4));
    let undo = fs::read(dir.join(".m.undo")).expect("present");
    for (what, bytes) in [
        ("another length", [&undo[..16], &[0; 8], &undo[24..]].concat()),
        ("other data", [&undo[..undo.len() - 1], &[0]].concat()),
        ("cut off", undo[..100].to_vec()),
        ("another beginning", [b"S", &undo[1..]].concat()),
        ("empty", Vec::new()),
    ] {
        dir.put(".m.undo", &bytes);
        assert!(OPEN_METHODS.iter().all(|open| is_too_long(&open(&path))), "{what}");
    }
    let long = fs::File::options().write(true).open(dir.join(".m.undo")).expect("present");
    long.set_len(1 << 43).expect("empty file");
    assert!(OPEN_METHODS.iter().all(|open| is_too_long(&open(&path))), "too long");
    fs::remove_file(dir.join(".m.undo")).expect("present");
    fs::create_dir(dir.join(".m.undo")).expect("a new directory");
    assert!(OPEN_METHODS.iter().all(|open| is_too_long(&open(&path))), "a directory is no undo file");
    let unnamed = dir.put(&"m".repeat(241), &marked(OLD, 4));
    assert!(OPEN_METHODS.iter().all(|open| is_too_long(&open(&unnamed))), "too long a name for one");
}
