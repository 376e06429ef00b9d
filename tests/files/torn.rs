//! Headers that an edit in place has left half written: readers report them, and write nothing.

use std::fs;
use std::path::{Path, PathBuf};

use embedded_safetensors::{
    ErrorKind, FileModel, MappedModel,
    file::{FileError, FileErrorKind},
};
use safetensors_files::ModelEditor;
use support::file::with_header;

use crate::files::temp_dir::{Folder, sentence};

const OLD: &str = r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}"#;
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

/// The same with so much of the mark that an edit puts into its length.
fn marked(header: &str, marks: usize) -> Vec<u8> {
    let mut model = model(header);
    model[4..4 + marks].fill(0xFF);
    model
}

/// A model with this header, and what undoes the edit of it.
fn put(folder: &Folder, header: &str) -> PathBuf {
    put_bytes(folder, &model(header))
}

fn put_bytes(folder: &Folder, model_now: &[u8]) -> PathBuf {
    let path = folder.put("m", model_now);
    let (old, new) = (with_header(OLD, 0), with_header(&new(), 0));
    let lengths = [model(OLD).len() as u64, old.len() as u64].map(u64::to_le_bytes).concat();
    folder.put(".m.undo", &[b"safetensors undo", &lengths[..], &old, &new, &DATA, &DATA].concat());
    path
}

#[expect(unsafe_code, reason = "nothing else writes to the file")]
fn map(path: &Path) -> Result<(), FileError> {
    // SAFETY: the file is that of one test.
    unsafe { MappedModel::open(path) }.map(drop)
}

type Open = fn(&Path) -> Result<(), FileError>;

const WAYS: [Open; 2] = [|path| FileModel::open(path).map(drop), map];

fn is_interrupted(outcome: &Result<(), FileError>) -> bool {
    outcome.as_ref().is_err_and(|error| matches!(error.kind(), FileErrorKind::Interrupted))
}

/// No reader of the format takes such a header.
fn is_too_long(outcome: &Result<(), FileError>) -> bool {
    outcome.as_ref().is_err_and(|error| match error.kind() {
        FileErrorKind::Format(error) => matches!(error.kind, ErrorKind::HeaderTooLarge { .. }),
        _ => false,
    })
}

/// However little of the mark is there.
#[test]
fn an_edit_that_has_begun_is_told() {
    for marks in 1..=4 {
        let folder = Folder::new();
        let path = put_bytes(&folder, &marked(OLD, marks));
        assert!(WAYS.iter().all(|open| is_interrupted(&open(&path))), "{marks}");
        assert!(ModelEditor::recover(&path).expect("it can be put back"));
        assert_eq!(fs::read(&path).expect("it is there"), model(OLD));
    }
}

#[test]
fn a_header_from_before_or_after_an_edit_is_read() {
    for header in [OLD, &new()] {
        let folder = Folder::new();
        let path = put(&folder, header);
        WAYS.iter().for_each(|open| open(&path).expect("the header is whole"));
    }
}

#[test]
fn a_header_between_both_is_an_error_until_it_is_put_back() {
    let folder = Folder::new();
    let path = put_bytes(&folder, &marked(&torn(), 4));
    let before =
        [fs::read(&path).expect("it is there"), fs::read(folder.join(".m.undo")).expect("it is there")];
    for open in WAYS {
        let outcome = open(&path);
        assert!(is_interrupted(&outcome));
        assert_eq!(
            sentence(&folder, outcome),
            "./m: its header is half written, by an edit that is under way or was interrupted; ModelEditor::recover repairs it"
        );
    }
    let after =
        [fs::read(&path).expect("it is there"), fs::read(folder.join(".m.undo")).expect("it is there")];
    assert!(before == after && folder.names() == [".m.undo", "m"], "readers write nothing");
    assert!(ModelEditor::recover(&path).expect("it can be put back"));
    WAYS.iter().for_each(|open| open(&path).expect("it was put back"));
    assert_eq!(fs::read(&path).expect("it is there"), model(OLD));
}

/// What undoes the edit lies beside the file that a link leads to.
#[cfg(unix)]
#[test]
fn a_link_hides_no_header_that_is_half_written() {
    let (folder, other) = (Folder::new(), Folder::new());
    let link = other.join("link");
    std::os::unix::fs::symlink(put_bytes(&folder, &marked(&torn(), 4)), &link).expect("a new link");
    assert!(WAYS.iter().all(|open| is_interrupted(&open(&link))));
    put(&folder, OLD);
    WAYS.iter().for_each(|open| open(&link).expect("the header is whole"));
}

#[test]
fn an_undo_file_of_another_edit_is_ignored() {
    let folder = Folder::new();
    let path = put_bytes(&folder, &marked(&torn(), 4));
    let undo = fs::read(folder.join(".m.undo")).expect("it is there");
    for (what, bytes) in [
        ("another length", [&undo[..16], &[0; 8], &undo[24..]].concat()),
        ("other data", [&undo[..undo.len() - 1], &[0]].concat()),
        ("cut off", undo[..100].to_vec()),
        ("another beginning", [b"S", &undo[1..]].concat()),
        ("empty", Vec::new()),
    ] {
        folder.put(".m.undo", &bytes);
        assert!(WAYS.iter().all(|open| is_too_long(&open(&path))), "{what}");
    }
    fs::remove_file(folder.join(".m.undo")).expect("it is there");
    fs::create_dir(folder.join(".m.undo")).expect("a new folder");
    assert!(WAYS.iter().all(|open| is_too_long(&open(&path))), "a folder undoes nothing");
}
