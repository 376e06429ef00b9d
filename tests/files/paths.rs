//! Replacing files: permissions, links, and paths that are not files.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use safetensors_files::{EditError, ModelEditor, SaveMethod};
use support::dictionary::{Dictionary, Kinds};
use support::random::Random;

use crate::files::temp_dir::{TempDir, message, write};

fn model() -> Dictionary {
    Dictionary::of(3, Kinds::All, &mut Random::new(3))
}

fn put(path: &Path) -> Result<(), EditError> {
    write(path, &model())
}

fn is_model(path: &Path) -> bool {
    fs::read(path).expect("present") == model().file()
}

#[test]
fn replaced_file_keeps_its_permissions() {
    let dir = TempDir::new();
    for mode in [0o600, 0o640, 0o666, 0o755, 0o444] {
        let path = dir.put("m", b"old");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("owned by this test");
        put(&path).expect("succeeds");
        assert_eq!(fs::metadata(&path).expect("present").mode() & 0o7777, mode);
        let mut editor = ModelEditor::open(&path).expect("valid file");
        editor.set_metadata("k", "a value that has no room in the header".repeat(3));
        assert_eq!(editor.save(&path).expect("succeeds"), SaveMethod::Copied);
        assert_eq!(fs::metadata(&path).expect("present").mode() & 0o7777, mode);
        fs::remove_file(&path).expect("present");
    }
}

#[test]
fn link_is_followed_and_kept() {
    let dir = TempDir::new();
    fs::create_dir(dir.join("far")).expect("succeeds");
    let target = dir.put("far/target", b"old");
    for (name, leads_to) in
        [("near", "far/target"), ("second", "near"), ("absolute", target.to_str().expect("plain"))]
    {
        let link = dir.join(name);
        symlink(leads_to, &link).expect("succeeds");
        fs::write(&target, b"old").expect("present");
        put(&link).expect("succeeds");
        assert!(is_model(&target));
        assert_eq!(fs::read_link(&link).expect("a link"), Path::new(leads_to));
        ModelEditor::open(&link).expect("valid file").save(&link).expect("succeeds");
    }
    assert_eq!(dir.names(), ["absolute", "far", "near", "second"]);
    assert_eq!(fs::read_dir(dir.join("far")).expect("present").count(), 1);
}

#[test]
fn dangling_link_points_to_the_new_file() {
    let dir = TempDir::new();
    fs::create_dir(dir.join("far")).expect("succeeds");
    symlink("far/target", dir.join("link")).expect("succeeds");
    symlink("link", dir.join("second")).expect("succeeds");
    put(&dir.join("second")).expect("succeeds");
    assert!(is_model(&dir.join("far/target")) && dir.join("link").is_symlink());
    symlink("no/target", dir.join("lost")).expect("succeeds");
    let outcome = put(&dir.join("lost"));
    let expected = "cannot find the directory of ./lost: No such file or directory (os error 2)";
    assert_eq!(message(&dir, outcome), expected);
    symlink("round", dir.join("round")).expect("succeeds");
    put(&dir.join("round")).expect_err("link to itself");
}

#[test]
fn special_files_are_not_replaced_or_edited() {
    let dir = TempDir::new();
    fs::create_dir(dir.join("folder")).expect("succeeds");
    let _socket = UnixListener::bind(dir.join("socket")).expect("succeeds");
    let status = Command::new("mkfifo").arg(dir.join("pipe")).status().expect("mkfifo starts");
    assert!(status.success());
    symlink("/dev/null", dir.join("link")).expect("succeeds");
    let before = dir.names();
    for (name, what) in
        [("folder", "a folder"), ("socket", "a socket"), ("pipe", "a named pipe"), ("link", "a device")]
    {
        let path = dir.join(name);
        let expected = format!("./{name}: it is {what}, not a file");
        assert_eq!(message(&dir, put(&path)), expected);
        assert_eq!(message(&dir, ModelEditor::open(&path)), expected);
    }
    let source = dir.join("model");
    put(&source).expect("succeeds");
    let mut editor = ModelEditor::open(&source).expect("valid file");
    editor.retain(|_| false);
    editor.save("/dev/null").expect_err("a device");
    fs::remove_file(source).expect("present");
    assert_eq!(dir.names(), before);
    assert!(fs::metadata("/dev/null").expect("present").file_type().is_char_device());
}

#[test]
fn impossible_path_is_reported() {
    let dir = TempDir::new();
    let outcome = put(&dir.join("missing/m"));
    let expected = "cannot find the directory of ./missing/m: No such file or directory (os error 2)";
    assert_eq!(message(&dir, outcome), expected);
    dir.put("file", b"");
    put(&dir.join("file/m")).expect_err("not in a directory");
    let expected = "cannot resolve the path of ./m/: the path is that of a directory";
    assert_eq!(message(&dir, put(&dir.join("m/"))), expected);
    put(&dir.join("..")).expect_err("a directory");
    assert_eq!(message(&dir, put(Path::new(""))), "cannot resolve the path of it: the path is empty");
    let long = "x".repeat(300);
    let expected = format!("cannot resolve the path of ./{long}: File name too long (os error 36)");
    if cfg!(target_os = "linux") {
        assert_eq!(message(&dir, put(&dir.join(&long))), expected);
    }
    let error = message(&dir, put(&dir.join("x\0")));
    assert!(
        error.starts_with("cannot resolve the path of ./x\0: ") && error.ends_with("NUL byte"),
        "{error}"
    );
    put(Path::new("/")).expect_err("a directory");
    ModelEditor::open("").expect_err("empty path");
    let outcome = ModelEditor::open(dir.join("m"));
    assert_eq!(message(&dir, outcome), "cannot open ./m: No such file or directory (os error 2)");
    assert_eq!(dir.names(), ["file"]);
}

#[test]
fn unrelated_file_named_like_undo_is_kept() {
    let dir = TempDir::new();
    let (path, notes) = (dir.join("m"), dir.put(".m.undo", b"my notes"));
    put(&path).expect("succeeds");
    let edit = || {
        let mut editor = ModelEditor::open(&path).expect("valid file");
        editor.rename_all(|name| name.into()).expect("unchanged names");
        assert_eq!(editor.save(&path).expect("succeeds"), SaveMethod::Copied);
        assert!(!ModelEditor::recover(&path).expect("nothing to recover"));
    };
    edit();
    assert_eq!(fs::read(&notes).expect("present"), b"my notes");
    fs::remove_file(&notes).expect("present");
    fs::create_dir(&notes).expect("succeeds");
    edit();
    put(&path).expect("succeeds");
    assert_eq!(dir.names(), [".m.undo", "m"]);
}

/// Nor is as much memory allocated as it claims to need.
#[test]
fn too_long_undo_file_is_not_read() {
    let dir = TempDir::new();
    let path = dir.join("m");
    put(&path).expect("succeeds");
    let long = dir.put(".m.undo", b"safetensors undo");
    fs::File::options().write(true).open(&long).and_then(|file| file.set_len(1 << 43)).expect("empty file");
    ModelEditor::open(&path).expect("valid file");
    let expected = "./m: ./.m.undo belongs to another version of the file";
    assert_eq!(message(&dir, ModelEditor::recover(&path)), expected);
    put(&path).expect("succeeds");
    assert_eq!(dir.names(), ["m"]);
}

/// The hidden names beside it must not exceed the limit for names.
#[test]
fn longest_file_name_works() {
    let dir = TempDir::new();
    for (len, saved) in [(255, SaveMethod::Copied), (241, SaveMethod::Copied), (240, SaveMethod::InPlace)] {
        let path = dir.join(&"n".repeat(len));
        put(&path).expect("succeeds");
        let mut editor = ModelEditor::open(&path).expect("valid file");
        editor.rename_all(|name| name.into()).expect("unchanged names");
        assert_eq!(editor.save(&path).expect("succeeds"), saved);
        assert!(is_model(&path));
        fs::remove_file(path).expect("present");
    }
}

#[test]
fn hard_links_keep_the_old_file() {
    let dir = TempDir::new();
    let path = dir.put("m", b"old");
    fs::hard_link(&path, dir.join("other")).expect("succeeds");
    put(&path).expect("succeeds");
    assert!(is_model(&path) && fs::read(dir.join("other")).expect("present") == b"old");
}

/// From within the directory, as from a program started there.
#[test]
fn path_may_be_relative() {
    let dir = TempDir::new();
    let status =
        Command::new(env!("CARGO_BIN_EXE_files")).args(["write", "m", "1"]).current_dir(dir.path()).status();
    assert!(status.expect("starts").success());
    assert_eq!(dir.names(), ["m"]);
}
