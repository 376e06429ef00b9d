//! What takes whose place: permissions, links, and what is no file.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use safetensors_files::{EditError, ModelEditor, SaveMethod};
use support::dictionary::{Dictionary, Kinds};
use support::random::Random;

use crate::files::temp_dir::{Folder, sentence, write};

fn model() -> Dictionary {
    Dictionary::of(3, Kinds::All, &mut Random::new(3))
}

fn put(path: &Path) -> Result<(), EditError> {
    write(path, &model())
}

fn is_model(path: &Path) -> bool {
    fs::read(path).expect("it is there") == model().file()
}

#[test]
fn the_permissions_of_the_old_file_are_kept() {
    let folder = Folder::new();
    for mode in [0o600, 0o640, 0o666, 0o755, 0o444] {
        let path = folder.put("m", b"old");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("it is ours");
        put(&path).expect("there is room");
        assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o7777, mode);
        let mut editor = ModelEditor::open(&path).expect("it is sound");
        editor.set_metadata("k", "a value that has no room in the header".repeat(3));
        assert_eq!(editor.save(&path).expect("there is room"), SaveMethod::Copied);
        assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o7777, mode);
        fs::remove_file(&path).expect("it is there");
    }
}

#[test]
fn a_link_is_followed_and_stays() {
    let folder = Folder::new();
    fs::create_dir(folder.join("far")).expect("there is room");
    let target = folder.put("far/target", b"old");
    for (name, leads_to) in
        [("near", "far/target"), ("second", "near"), ("absolute", target.to_str().expect("plain"))]
    {
        let link = folder.join(name);
        symlink(leads_to, &link).expect("there is room");
        fs::write(&target, b"old").expect("it is there");
        put(&link).expect("there is room");
        assert!(is_model(&target));
        assert_eq!(fs::read_link(&link).expect("it is a link"), Path::new(leads_to));
        ModelEditor::open(&link).expect("it is sound").save(&link).expect("there is room");
    }
    assert_eq!(folder.names(), ["absolute", "far", "near", "second"]);
    assert_eq!(fs::read_dir(folder.join("far")).expect("it is there").count(), 1);
}

#[test]
fn a_link_that_leads_nowhere_leads_to_the_new_file() {
    let folder = Folder::new();
    fs::create_dir(folder.join("far")).expect("there is room");
    symlink("far/target", folder.join("link")).expect("there is room");
    symlink("link", folder.join("second")).expect("there is room");
    put(&folder.join("second")).expect("there is room");
    assert!(is_model(&folder.join("far/target")) && folder.join("link").is_symlink());
    symlink("no/target", folder.join("lost")).expect("there is room");
    let outcome = put(&folder.join("lost"));
    let expected = "cannot find the folder of ./lost: No such file or directory (os error 2)";
    assert_eq!(sentence(&folder, outcome), expected);
    symlink("round", folder.join("round")).expect("there is room");
    put(&folder.join("round")).expect_err("it leads to itself");
}

#[test]
fn what_is_no_file_is_neither_replaced_nor_edited() {
    let folder = Folder::new();
    fs::create_dir(folder.join("folder")).expect("there is room");
    let _socket = UnixListener::bind(folder.join("socket")).expect("there is room");
    let made = Command::new("mkfifo").arg(folder.join("pipe")).status().expect("mkfifo runs");
    assert!(made.success());
    symlink("/dev/null", folder.join("link")).expect("there is room");
    let before = folder.names();
    for (name, what) in
        [("folder", "a folder"), ("socket", "a socket"), ("pipe", "a named pipe"), ("link", "a device")]
    {
        let path = folder.join(name);
        let expected = format!("./{name}: it is {what}, not a file");
        assert_eq!(sentence(&folder, put(&path)), expected);
        assert_eq!(sentence(&folder, ModelEditor::open(&path)), expected);
    }
    let source = folder.join("model");
    put(&source).expect("there is room");
    let mut editor = ModelEditor::open(&source).expect("it is sound");
    editor.retain(|_| false);
    editor.save("/dev/null").expect_err("it is a device");
    fs::remove_file(source).expect("it is there");
    assert_eq!(folder.names(), before);
    assert!(fs::metadata("/dev/null").expect("it is there").file_type().is_char_device());
}

#[test]
fn a_place_that_cannot_be_is_said() {
    let folder = Folder::new();
    let outcome = put(&folder.join("missing/m"));
    let expected = "cannot find the folder of ./missing/m: No such file or directory (os error 2)";
    assert_eq!(sentence(&folder, outcome), expected);
    folder.put("file", b"");
    put(&folder.join("file/m")).expect_err("it is in no folder");
    let of_folder = "cannot find the place of ./m/: the path is that of a folder";
    assert_eq!(sentence(&folder, put(&folder.join("m/"))), of_folder);
    put(&folder.join("..")).expect_err("it is a folder");
    assert_eq!(sentence(&folder, put(Path::new(""))), "cannot find the place of it: the path is empty");
    let long = "x".repeat(300);
    let expected = format!("cannot find the place of ./{long}: File name too long (os error 36)");
    if cfg!(target_os = "linux") {
        assert_eq!(sentence(&folder, put(&folder.join(&long))), expected);
    }
    let refusal = sentence(&folder, put(&folder.join("x\0")));
    assert!(
        refusal.starts_with("cannot find the place of ./x\0: ") && refusal.ends_with("NUL byte"),
        "{refusal}"
    );
    put(Path::new("/")).expect_err("it is a folder");
    ModelEditor::open("").expect_err("it is nowhere");
    let outcome = ModelEditor::open(folder.join("m"));
    assert_eq!(sentence(&folder, outcome), "cannot open ./m: No such file or directory (os error 2)");
    assert_eq!(folder.names(), ["file"]);
}

#[test]
fn what_only_has_the_name_of_an_undo_file_is_left_alone() {
    let folder = Folder::new();
    let (path, notes) = (folder.join("m"), folder.put(".m.undo", b"my notes"));
    put(&path).expect("there is room");
    let edit = || {
        let mut editor = ModelEditor::open(&path).expect("it is sound");
        editor.rename_all(|name| name.into()).expect("they stay");
        assert_eq!(editor.save(&path).expect("there is room"), SaveMethod::Copied);
        assert!(!ModelEditor::recover(&path).expect("there is nothing to put back"));
    };
    edit();
    assert_eq!(fs::read(&notes).expect("it is there"), b"my notes");
    fs::remove_file(&notes).expect("it is there");
    fs::create_dir(&notes).expect("there is room");
    edit();
    put(&path).expect("there is room");
    assert_eq!(folder.names(), [".m.undo", "m"]);
}

/// Nor is as much memory taken as it claims to need.
#[test]
fn what_is_too_long_for_an_undo_file_is_not_read() {
    let folder = Folder::new();
    let path = folder.join("m");
    put(&path).expect("there is room");
    let long = folder.put(".m.undo", b"safetensors undo");
    fs::File::options().write(true).open(&long).and_then(|file| file.set_len(1 << 43)).expect("it is empty");
    ModelEditor::open(&path).expect("it is sound");
    let expected = "./m: ./.m.undo does not belong to what the file is now";
    assert_eq!(sentence(&folder, ModelEditor::recover(&path)), expected);
    put(&path).expect("there is room");
    assert_eq!(folder.names(), ["m"]);
}

/// The hidden names beside it must not be longer than names can be.
#[test]
fn a_name_may_be_as_long_as_names_can_be() {
    let folder = Folder::new();
    for (len, saved) in [(255, SaveMethod::Copied), (241, SaveMethod::Copied), (240, SaveMethod::InPlace)] {
        let path = folder.join(&"n".repeat(len));
        put(&path).expect("there is room");
        let mut editor = ModelEditor::open(&path).expect("it is sound");
        editor.rename_all(|name| name.into()).expect("they stay");
        assert_eq!(editor.save(&path).expect("there is room"), saved);
        assert!(is_model(&path));
        fs::remove_file(path).expect("it is there");
    }
}

#[test]
fn other_names_of_the_old_file_keep_it() {
    let folder = Folder::new();
    let path = folder.put("m", b"old");
    fs::hard_link(&path, folder.join("other")).expect("there is room");
    put(&path).expect("there is room");
    assert!(is_model(&path) && fs::read(folder.join("other")).expect("it is there") == b"old");
}

/// From within the folder, as a program names it that was started there.
#[test]
fn a_path_may_be_relative() {
    let folder = Folder::new();
    let status = Command::new(env!("CARGO_BIN_EXE_files"))
        .args(["write", "m", "1"])
        .current_dir(folder.path())
        .status();
    assert!(status.expect("it runs").success());
    assert_eq!(folder.names(), ["m"]);
}
