//! Files that another process changes between opening and saving.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use embedded_safetensors::file::FileErrorKind;
use safetensors_files::{EditError, EditErrorKind, ModelEditor};
use support::file::with_header;

use crate::files::temp_dir::TempDir;

const HEADER: &str = concat!(
    r#"{"__metadata__":{"note":"0123456789"},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"#,
    r#""b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}"#,
);

/// A change by another process.
type Change = fn(&Path);

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = File::options().write(true).open(path).expect("present");
    file.seek(SeekFrom::Start(at)).expect("seekable");
    file.write_all(bytes).expect("succeeds");
}

/// Restores the modification time.
fn back_dated(path: &Path, change: Change) {
    let before = fs::metadata(path).and_then(|metadata| metadata.modified()).expect("present");
    change(path);
    set_modified(path, before);
}

fn set_modified(path: &Path, time: SystemTime) {
    let file = File::options().write(true).open(path).expect("present");
    file.set_modified(time).expect("owned by this test");
}

const CHANGES: [Change; 5] = [
    |path| overwrite(path, 8 + HEADER.len() as u64 + 8, b"behind the end"),
    |path| back_dated(path, |path| overwrite(path, 8 + HEADER.len() as u64 + 8, b"behind the end")),
    // Only data: detected by the time.
    |path| {
        overwrite(path, 8 + HEADER.len() as u64, b"XY");
        set_modified(path, SystemTime::UNIX_EPOCH);
    },
    // Only the header, back-dated: detected by its bytes.
    |path| back_dated(path, |path| overwrite(path, 29, b"eton")),
    |path| File::options().write(true).open(path).and_then(|file| file.set_len(50)).expect("present"),
];

type Edit = fn(&mut ModelEditor<'_>);

/// Writes the file, and edits it.
fn edited(dir: &TempDir, edit: Edit) -> (PathBuf, ModelEditor<'static>) {
    let path = dir.put("m", &with_header(HEADER, 8));
    let mut editor = ModelEditor::open(&path).expect("valid file");
    edit(&mut editor);
    (path, editor)
}

fn is_changed(error: &EditError) -> bool {
    matches!(error.kind(), EditErrorKind::File(FileErrorKind::Changed))
}

/// The edit of the file, and the name to save it to.
const EDITS: [(Edit, &str); 4] = [
    (|editor| editor.set_metadata("note", "new"), "m"),
    (|editor| editor.retain(|name| name == "a"), "m"),
    (|editor| editor.retain(|name| name == "a"), "other"),
    (|editor| editor.clear_metadata(), "other"),
];

#[test]
fn changed_file_is_not_saved() {
    for (number, change) in CHANGES.into_iter().enumerate() {
        for (edit, name) in EDITS {
            let dir = TempDir::new();
            let (path, editor) = edited(&dir, edit);
            change(&path);
            let before = fs::read(&path).expect("present");
            let error = editor.save(dir.join(name)).expect_err("changed");
            assert!(is_changed(&error), "change {number}: {error}");
            assert_eq!((fs::read(&path).expect("present"), dir.names()), (before, vec!["m".into()]));
        }
    }
}

/// The opened file still exists, without a name; but another one has its name.
#[test]
fn replaced_file_is_only_copied() {
    for (edit, name) in EDITS {
        let dir = TempDir::new();
        let (path, editor) = edited(&dir, edit);
        let modified = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("present");
        let new = dir.put("new", &with_header(HEADER, 8));
        set_modified(&new, modified);
        fs::rename(&new, &path).expect("present");
        let outcome = editor.save(dir.join(name));
        match name {
            "m" => assert!(is_changed(&outcome.expect_err("another file"))),
            _ => drop(outcome.expect("succeeds")),
        }
        assert_eq!(fs::read(&path).expect("present"), with_header(HEADER, 8));
    }
}

/// After saving, the editor does not know the new content.
#[test]
fn editor_saves_in_place_only_once() {
    let dir = TempDir::new();
    for edit in [EDITS[0].0, EDITS[1].0] {
        let (path, mut editor) = edited(&dir, edit);
        editor.save(&path).expect("unchanged");
        editor.set_metadata("note", "newer");
        let error = editor.save(&path).expect_err("another file now");
        assert!(is_changed(&error), "{error}");
    }
}

/// Of the second file of a join too, nothing is used that differs from the opened file.
#[test]
fn every_file_of_a_join_is_checked() {
    let dir = TempDir::new();
    let header = HEADER.replace("\"a\"", "\"c\"").replace("\"b\"", "\"d\"");
    let paths = [dir.put("m", &with_header(HEADER, 8)), dir.put("n", &with_header(&header, 8))];
    let mut editor = ModelEditor::open(&paths[0]).expect("valid file");
    editor.append(ModelEditor::open(&paths[1]).expect("valid file")).expect("nothing in common");
    overwrite(&paths[1], 29, b"eton");
    for name in ["m", "n", "joined"] {
        let error = editor.save(dir.join(name)).expect_err("changed");
        assert!(is_changed(&error) && error.path() == paths[1], "{error}");
    }
    assert_eq!(dir.names(), ["m", "n"]);
}
