//! Checkpoint directories that are written completely or not at all, and what is reported when they are
//! tampered with.

use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;

use embedded_safetensors::{
    Dtype,
    file::FileErrorKind,
    write::{FileSpec, Placement, TensorSpec},
};
use safetensors_files::{
    EditError, EditErrorKind, ModelEditor,
    checkpoint::{Checkpoint, Verified, recover_checkpoint, verify_checkpoint, write_checkpoint},
};

use crate::files::processes::{kill_many_times, leftovers};
use crate::files::temp_dir::{TempDir, message, names_in};

/// Writes a directory with a model and another file, filled with this byte.
fn write(path: &Path, fill: u8) -> Result<(), EditError> {
    write_checkpoint(path, |checkpoint| {
        let tensors = [TensorSpec::new("a", Dtype::U8, &[1000])];
        checkpoint.write_file("model.safetensors", FileSpec::new(&tensors), |file| {
            file.write_tensor("a", &[fill; 1000])
        })?;
        checkpoint.write_bytes("step.json", &[fill; 3])
    })
}

fn put(dir: &TempDir) -> std::path::PathBuf {
    let path = dir.join("last");
    write(&path, b'1').expect("succeeds");
    path
}

const NAMES: [&str; 3] = ["SHA256SUMS", "model.safetensors", "step.json"];

#[test]
fn written_checkpoint_is_verified() {
    let dir = TempDir::new();
    let path = put(&dir);
    assert_eq!(names_in(&path), NAMES);
    assert_eq!(dir.names(), ["last"]);
    let model = fs::metadata(path.join("model.safetensors")).expect("present").len();
    assert_eq!(verify_checkpoint(&path).expect("complete"), Verified { files: 2, bytes: model + 3 });
    let list = fs::read_to_string(path.join("SHA256SUMS")).expect("UTF-8");
    // The sum of the bytes "111".
    let step = "f6e0a1e2ac41945a9aa7ff8a8aaa0cebc12a3bcc981a929ad5cf810a090e11ae  step.json\n";
    assert!(list.ends_with(step) && list.lines().count() == 2, "{list}");
}

/// As training loops expect.
#[test]
fn parent_directories_are_created() {
    let dir = TempDir::new();
    let path = dir.join("runs/7/last");
    write(&path, b'1').expect("succeeds");
    assert_eq!((names_in(&path), dir.names()), (NAMES.map(String::from).to_vec(), vec!["runs".to_owned()]));
    assert_eq!(names_in(&dir.join("runs/7")), ["last"]);
    write(&path, b'2').expect("present");
    assert_eq!(verify_checkpoint(&path).expect("complete").files, 2);
    dir.put("file", b"x");
    let outcome = write(&dir.join("file/a/last"), b'1');
    assert!(message(&dir, outcome).starts_with("cannot stat ./file/a/last: "));
}

/// Private directories stay private.
#[cfg(unix)]
#[test]
fn directory_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let dir = TempDir::new();
    let path = put(&dir);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o710)).expect("owned by this test");
    write(&path, b'2').expect("succeeds");
    assert_eq!(fs::metadata(&path).expect("present").permissions().mode() & 0o777, 0o710);
}

#[cfg(target_os = "linux")]
#[test]
fn list_matches_sha256sum() {
    let dir = TempDir::new();
    let path = put(&dir);
    let run =
        |script: &str| Command::new("sh").args(["-c", script]).current_dir(&path).output().expect("starts");
    let checked = run("sha256sum -c --strict SHA256SUMS");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert_eq!(String::from_utf8_lossy(&checked.stdout), "model.safetensors: OK\nstep.json: OK\n");
    let ours = fs::read(path.join("SHA256SUMS")).expect("present");
    assert_eq!(run("sha256sum model.safetensors step.json").stdout, ours);
    assert!(
        run("sha256sum --binary * | grep -v SHA256SUMS > ../sums; mv ../sums SHA256SUMS").status.success()
    );
    assert_eq!(verify_checkpoint(&path).expect("complete").files, 2);
}

#[test]
fn directory_replaces_another() {
    let dir = TempDir::new();
    let path = put(&dir);
    fs::create_dir(path.join("more")).expect("succeeds");
    fs::write(path.join("more/old"), b"old").expect("succeeds");
    let with_slash = format!("{}/", path.display());
    write(Path::new(&with_slash), b'2').expect("succeeds");
    assert_eq!((names_in(&path), dir.names()), (NAMES.map(String::from).to_vec(), vec!["last".to_owned()]));
    assert_eq!(fs::read(path.join("step.json")).expect("present"), b"222");
    verify_checkpoint(&path).expect("complete");
    assert!(!recover_checkpoint(&path).expect("nothing to do"));
}

#[test]
fn added_files_are_listed() {
    let dir = TempDir::new();
    let (source, path) = (put(&dir).join("model.safetensors"), dir.join("next"));
    let outcome = write_checkpoint(&path, |checkpoint| {
        let mut editor = ModelEditor::open(&source)?;
        editor.set_placement(Placement::Start(64));
        editor.save(checkpoint.path().join("model.safetensors"))?;
        fs::create_dir_all(checkpoint.path().join("a/b"))?;
        fs::write(checkpoint.path().join("a/b/note"), b"note")?;
        checkpoint.write_bytes("a/step", b"7")
    });
    outcome.expect("succeeds");
    assert_eq!(verify_checkpoint(&path).expect("complete").files, 3);
    let list = fs::read_to_string(path.join("SHA256SUMS")).expect("UTF-8");
    let listed: Vec<_> = list.lines().map(|line| &line[66..]).collect();
    assert_eq!(listed, ["a/b/note", "a/step", "model.safetensors"]);
}

#[test]
fn failure_keeps_the_old_directory() {
    let dir = TempDir::new();
    let path = put(&dir);
    let tensors = [TensorSpec::new("a", Dtype::U8, &[1000])];
    type Operation<'a> = &'a dyn Fn(&mut Checkpoint<'_>) -> Result<(), EditError>;
    let deeds: [Operation<'_>; 4] = [
        &|_| Err(std::io::Error::other("enough").into()),
        &|checkpoint| {
            checkpoint.write_file("m", FileSpec::new(&tensors), |file| file.write_tensor("a", b"short"))
        },
        &|checkpoint| checkpoint.write_bytes("m", b"1").and_then(|()| checkpoint.write_bytes("m", b"2")),
        &|checkpoint| checkpoint.write_bytes("../m", b"1"),
    ];
    let sentences = deeds.map(|operation| {
        let outcome = write_checkpoint(&path, |checkpoint| {
            checkpoint.write_bytes("first", b"1")?;
            operation(checkpoint)
        });
        message(&dir, outcome)
    });
    assert_eq!(sentences[0], "cannot read the input for ./last: enough");
    assert_eq!(sentences[1], "./last/m: tensor \"a\": 1000 bytes needed, 5 given");
    assert!(sentences[2].starts_with("cannot write ./last/m: "), "{}", sentences[2]);
    assert!(
        sentences[3].ends_with("unsafe file name \"../m\": it leads out of its directory"),
        "{}",
        sentences[3]
    );
    assert_eq!((dir.names(), names_in(&path)), (vec!["last".to_owned()], NAMES.map(String::from).to_vec()));
    verify_checkpoint(&path).expect("complete");
    let panics = || write_checkpoint(&path, |_| panic!("on purpose"));
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!(dir.names(), ["last"]);
}

#[test]
fn unsafe_names_are_rejected() {
    let dir = TempDir::new();
    for name in ["", "SHA256SUMS", "/m", "a//b", "a\\b", "a\nb", "c:m", "."] {
        let outcome = write_checkpoint(dir.join("last"), |checkpoint| checkpoint.write_bytes(name, b""));
        let error = outcome.expect_err(name);
        assert!(matches!(error.kind(), EditErrorKind::UnsafeName { .. }), "{name:?}: {error}");
    }
    assert_eq!(dir.names(), [""; 0]);
}

#[test]
fn other_file_is_not_replaced() {
    let dir = TempDir::new();
    let path = dir.put("last", b"a file");
    assert_eq!(message(&dir, write(&path, b'1')), "./last: it is a file, not a directory");
    assert_eq!(
        (dir.names(), fs::read(path).expect("present")),
        (vec!["last".to_owned()], b"a file".to_vec())
    );
}

/// A mistaken path must not delete a directory of other files.
#[test]
fn other_directory_is_not_replaced() {
    let dir = TempDir::new();
    let path = dir.join("last");
    fs::create_dir_all(path.join("SHA256SUMS")).expect("succeeds");
    fs::write(path.join("mine"), b"mine").expect("succeeds");
    let unfilled = || write_checkpoint(&path, |_| panic!("it is rejected before"));
    let sentence = "./last: not a checkpoint: it has no SHA256SUMS; refusing to replace it";
    assert_eq!(message(&dir, unfilled()), sentence);
    assert_eq!(
        (dir.names(), names_in(&path)),
        (vec!["last".into()], vec!["SHA256SUMS".into(), "mine".into()])
    );
    fs::remove_dir_all(&path).expect("present");
    let begun = write_checkpoint(&path, |checkpoint| {
        fs::create_dir(&path)?;
        fs::write(path.join("mine"), b"mine")?;
        checkpoint.write_bytes("step", b"1")
    });
    assert_eq!(message(&dir, begun), sentence, "one that is created meanwhile");
    assert_eq!((dir.names(), names_in(&path)), (vec!["last".to_owned()], vec!["mine".to_owned()]));
    fs::remove_file(path.join("mine")).expect("present");
    write(&path, b'1').expect("an empty directory is replaced");
}

#[test]
fn path_without_a_name_is_rejected() {
    let dir = TempDir::new();
    for path in ["", ".", "./", "..", "/"].map(Path::new).into_iter().chain([&*dir.join("a/..")]) {
        let error = write_checkpoint(path, |_| panic!("it is rejected before")).expect_err("no name");
        assert!(matches!(error.kind(), EditErrorKind::UnsafeName { .. }), "{error}");
    }
    assert_eq!(dir.names(), [""; 0]);
}

#[cfg(unix)]
#[test]
fn link_is_followed_to_but_rejected_in_directory() {
    let dir = TempDir::new();
    put(&dir);
    let link = dir.join("link");
    std::os::unix::fs::symlink("last", &link).expect("succeeds");
    write(&link, b'2').expect("succeeds");
    assert_eq!(fs::read(dir.join("last/step.json")).expect("present"), b"222");
    assert!(link.is_symlink());
    std::os::unix::fs::symlink("step.json", dir.join("last/other")).expect("succeeds");
    let error = verify_checkpoint(dir.join("last")).expect_err("differs from the list");
    assert!(matches!(error.kind(), EditErrorKind::File(_)) && error.path() == dir.join("last/other"));
    assert_eq!(message(&dir, Err::<(), _>(error)), "./last/other: it is a link, not a file");
    let outcome = write_checkpoint(&link, |checkpoint| {
        Ok(std::os::unix::fs::symlink("/", checkpoint.path().join("root"))?)
    });
    let error = outcome.expect_err("links are rejected");
    assert!(
        matches!(error.kind(), EditErrorKind::File(FileErrorKind::NotAFile { .. }))
            && error.path().ends_with("root"),
        "{error}"
    );
}

/// Returns the error after a change to a valid directory.
fn tampered(tamper: impl Fn(&Path)) -> String {
    let dir = TempDir::new();
    tamper(&put(&dir));
    let message = message(&dir, verify_checkpoint(dir.join("last")));
    message.strip_prefix("./last: ").map(str::to_owned).unwrap_or(message)
}

#[test]
fn tampered_file_is_named() {
    let (one, two) = (
        "f6e0a1e2ac41945a9aa7ff8a8aaa0cebc12a3bcc981a929ad5cf810a090e11ae",
        "9b871512327c09ce91dd649b3f96a63b7408ef267c8cc5710114e629730cb61f",
    );
    let changed = tampered(|path| fs::write(path.join("step.json"), "222").expect("succeeds"));
    assert_eq!(changed, format!("\"step.json\" has the SHA-256 sum {two}, but the list says {one}"));
    let missing = |name| tampered(|path| fs::remove_file(path.join(name)).expect("present"));
    assert_eq!(missing("step.json"), "\"step.json\" is listed but missing");
    assert_eq!(missing("SHA256SUMS"), "it has no SHA256SUMS");
    let new = tampered(|path| fs::write(path.join("x"), "").expect("succeeds"));
    assert_eq!(new, "\"x\" is not listed");
    assert!(tampered(|path| fs::remove_dir_all(path).expect("present")).contains("it has no SHA256SUMS"));
    let line = |name: &str| format!("{one}  {name}\n").into_bytes();
    let no_line = "it is not a sum of 64 hexadecimal digits, two spaces and a name";
    for (added, expected) in [
        (line("step.json"), "\"step.json\" is listed more than once"),
        (line("../x"), "unsafe file name \"../x\": it leads out of its directory"),
        (line("/etc/passwd"), "unsafe file name \"/etc/passwd\": it is absolute"),
        (line("SHA256SUMS"), "unsafe file name \"SHA256SUMS\": it is the list of sums"),
        (b"x".to_vec(), no_line),
        (line("x")[1..].to_vec(), no_line),
        ([&line("x")[1..64], b"g  x\n"].concat(), no_line),
        ([b"\\", &line("x")[..]].concat(), no_line),
        (b"\xff".to_vec(), "it is not valid UTF-8"),
    ] {
        let list = |path: &Path| fs::File::options().append(true).open(path.join("SHA256SUMS"));
        let found = tampered(|path| list(path).expect("present").write_all(&added).expect("succeeds"));
        assert_eq!(found, format!("line 3 of SHA256SUMS: {expected}"));
    }
}

#[test]
fn list_length_is_limited() {
    let reason = tampered(|path| {
        let file = fs::File::options().write(true).open(path.join("SHA256SUMS")).expect("present");
        file.set_len((1 << 24) + 1).expect("sparse files are supported");
    });
    assert_eq!(reason, "SHA256SUMS is too long: 16777217 bytes, at most 16777216 are allowed");
}

#[test]
fn killed_writer_leaves_complete_directory() {
    let dir = TempDir::new();
    let path = dir.join("last");
    let left = Cell::new(0);
    kill_many_times("checkpoint", &path, || {
        left.set(left.get() + leftovers(&dir));
        let bytes = |name: &str| fs::read(path.join(name)).expect("present");
        verify_checkpoint(&path).expect("complete");
        assert!(bytes("m").last() == bytes("step").last());
    });
    assert!(left.get() > 0, "it was never killed while it wrote");
}

/// As after a power cut where names cannot be exchanged.
#[test]
fn old_directory_is_recovered() {
    let dir = TempDir::new();
    let path = put(&dir);
    fs::rename(&path, dir.join(".safetensors-last.old")).expect("present");
    assert!(recover_checkpoint(&path).expect("recoverable"));
    verify_checkpoint(&path).expect("complete");
    fs::rename(&path, dir.join(".safetensors-last.old")).expect("present");
    write(&path, b'2').expect("succeeds");
    assert_eq!(
        (dir.names(), verify_checkpoint(&path).expect("complete").files),
        (vec!["last".to_owned()], 2)
    );
}
