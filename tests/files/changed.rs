//! Files that someone else changes between opening and saving.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use embedded_safetensors::file::FileErrorKind;
use safetensors_files::{EditErrorKind, ModelEditor};
use support::file::with_header;

use crate::files::temp_dir::Folder;

const HEADER: &str = r#"{"__metadata__":{"note":"0123456789"},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}"#;

/// What someone else does to a file.
type Change = fn(&Path);

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = File::options().write(true).open(path).expect("it is there");
    file.seek(SeekFrom::Start(at)).expect("it can be sought");
    file.write_all(bytes).expect("there is room");
}

/// As if it had not been touched.
fn back_dated(path: &Path, change: Change) {
    let before = fs::metadata(path).and_then(|metadata| metadata.modified()).expect("it is there");
    change(path);
    let file = File::options().write(true).open(path).expect("it is there");
    file.set_modified(before).expect("it is ours");
}

const CHANGES: [Change; 5] = [
    |path| overwrite(path, 8 + HEADER.len() as u64 + 8, b"behind the end"),
    |path| back_dated(path, |path| overwrite(path, 8 + HEADER.len() as u64 + 8, b"behind the end")),
    // Only data: by their time.
    |path| {
        overwrite(path, 8 + HEADER.len() as u64, b"XY");
        let file = File::options().write(true).open(path).expect("it is there");
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("it is ours");
    },
    // Only the header, back-dated: by its bytes.
    |path| back_dated(path, |path| overwrite(path, 29, b"eton")),
    |path| File::options().write(true).open(path).and_then(|file| file.set_len(50)).expect("it is there"),
];

type Edit = fn(&mut ModelEditor);

/// What is done with the file then, and where it is saved.
const EDITS: [(Edit, &str); 4] = [
    (|editor| editor.set_metadata("note", "new"), "m"),
    (|editor| editor.retain(|name| name == "a"), "m"),
    (|editor| editor.retain(|name| name == "a"), "other"),
    (|editor| editor.clear_metadata(), "other"),
];

#[test]
fn a_file_that_was_changed_is_not_saved() {
    for (number, change) in CHANGES.into_iter().enumerate() {
        for (edit, name) in EDITS {
            let folder = Folder::new();
            let path = folder.put("m", &with_header(HEADER, 8));
            let mut editor = ModelEditor::open(&path).expect("it is sound");
            edit(&mut editor);
            change(&path);
            let before = fs::read(&path).expect("it is there");
            let error = editor.save(folder.join(name)).expect_err("it was changed");
            assert!(
                matches!(error.kind(), EditErrorKind::File(FileErrorKind::Changed)),
                "change {number}: {error}"
            );
            assert_eq!((fs::read(&path).expect("it is there"), folder.names()), (before, vec!["m".into()]));
        }
    }
}

/// What was opened is still there, under no name; only it is not what would be replaced.
#[test]
fn a_file_that_was_replaced_is_not_replaced_again_but_can_be_copied() {
    for (edit, name) in EDITS {
        let folder = Folder::new();
        let path = folder.put("m", &with_header(HEADER, 8));
        let mut editor = ModelEditor::open(&path).expect("it is sound");
        edit(&mut editor);
        let modified = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("it is there");
        let new = folder.put("new", &with_header(HEADER, 8));
        File::options()
            .write(true)
            .open(&new)
            .and_then(|file| file.set_modified(modified))
            .expect("it is ours");
        fs::rename(&new, &path).expect("it is there");
        let outcome = editor.save(folder.join(name));
        match name {
            "m" => assert!(matches!(
                outcome.expect_err("it is another").kind(),
                EditErrorKind::File(FileErrorKind::Changed)
            )),
            _ => drop(outcome.expect("there is room")),
        }
        assert_eq!(fs::read(&path).expect("it is there"), with_header(HEADER, 8));
    }
}

/// The editor does not know what is there after it was saved.
#[test]
fn a_draft_is_saved_onto_its_own_file_once() {
    let folder = Folder::new();
    for edit in [EDITS[0].0, EDITS[1].0] {
        let path = folder.put("m", &with_header(HEADER, 8));
        let mut editor = ModelEditor::open(&path).expect("it is sound");
        edit(&mut editor);
        editor.save(&path).expect("it is as it was");
        editor.set_metadata("note", "newer");
        let error = editor.save(&path).expect_err("it is another now");
        assert!(matches!(error.kind(), EditErrorKind::File(FileErrorKind::Changed)), "{error}");
    }
}

/// One of several: of the second file of a join nothing is taken that is not what was opened.
#[test]
fn every_file_of_a_join_is_looked_at() {
    let folder = Folder::new();
    let header = HEADER.replace("\"a\"", "\"c\"").replace("\"b\"", "\"d\"");
    let paths = [folder.put("m", &with_header(HEADER, 8)), folder.put("n", &with_header(&header, 8))];
    let mut editor = ModelEditor::open(&paths[0]).expect("it is sound");
    editor.append(ModelEditor::open(&paths[1]).expect("it is sound")).expect("they have nothing in common");
    overwrite(&paths[1], 29, b"eton");
    for name in ["m", "n", "joined"] {
        let error = editor.save(folder.join(name)).expect_err("it was changed");
        assert!(
            matches!(error.kind(), EditErrorKind::File(FileErrorKind::Changed)) && error.path() == paths[1],
            "{error}"
        );
    }
    assert_eq!(folder.names(), ["m", "n"]);
}
