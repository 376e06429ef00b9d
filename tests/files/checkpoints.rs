//! Folders that are there whole or not at all, and what is wrong with those that were tampered with.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;

use embedded_safetensors::{
    Dtype,
    file::{Advice, FileErrorKind, MapOptions},
    write::{FileSpec, Placement, TensorSpec},
};
use safetensors_files::{
    EditError, EditErrorKind, ModelEditor,
    checkpoint::{
        Checkpoint, CheckpointError, CheckpointErrorKind, Verified, recover_checkpoint, verify_checkpoint,
        write_checkpoint,
    },
};

use crate::files::processes::kill_many_times;
use crate::files::temp_dir::{Folder, sentence};

/// A folder with a model and another file, of this byte.
fn write(path: &Path, fill: u8) -> Result<(), EditError> {
    write_checkpoint(path, |checkpoint| {
        let tensors = [TensorSpec::new("a", Dtype::U8, &[1000])];
        checkpoint.write_file("model.safetensors", FileSpec::new(&tensors), |file| {
            file.write_tensor("a", &[fill; 1000])
        })?;
        checkpoint.write_bytes("step.json", &[fill; 3])
    })
}

fn put(folder: &Folder) -> std::path::PathBuf {
    let path = folder.join("last");
    write(&path, b'1').expect("there is room");
    path
}

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(path)
        .expect("it is there")
        .map(|entry| entry.expect("it can be read").file_name().into_string().expect("a plain name"))
        .collect();
    names.sort();
    names
}

const NAMES: [&str; 3] = ["SHA256SUMS", "model.safetensors", "step.json"];

#[test]
fn what_is_written_is_verified() {
    let folder = Folder::new();
    let path = put(&folder);
    assert_eq!(names(&path), NAMES);
    assert_eq!(folder.names(), ["last"]);
    let model = fs::metadata(path.join("model.safetensors")).expect("it is there").len();
    assert_eq!(verify_checkpoint(&path).expect("it is whole"), Verified { files: 2, bytes: model + 3 });
    let list = fs::read_to_string(path.join("SHA256SUMS")).expect("it is text");
    // Of the bytes "111".
    let step = "f6e0a1e2ac41945a9aa7ff8a8aaa0cebc12a3bcc981a929ad5cf810a090e11ae  step.json\n";
    assert!(list.ends_with(step) && list.lines().count() == 2, "{list}");
}

/// As a training loop expects it.
#[test]
fn folders_on_the_way_are_made() {
    let folder = Folder::new();
    let path = folder.join("runs/7/last");
    write(&path, b'1').expect("there is room");
    assert_eq!((names(&path), folder.names()), (NAMES.map(String::from).to_vec(), vec!["runs".to_owned()]));
    assert_eq!(names(&folder.join("runs/7")), ["last"]);
    write(&path, b'2').expect("it is there");
    assert_eq!(verify_checkpoint(&path).expect("it is whole").files, 2);
    folder.put("file", b"x");
    let outcome = write(&folder.join("file/a/last"), b'1');
    assert!(sentence(&folder, outcome).starts_with("cannot look at ./file/a/last: "));
}

/// What others may not see, they may not see afterwards.
#[cfg(unix)]
#[test]
fn the_permissions_of_the_folder_stay() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = put(&folder);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o710)).expect("it is ours");
    write(&path, b'2').expect("there is room");
    assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o710);
}

#[cfg(target_os = "linux")]
#[test]
fn the_list_is_that_of_sha256sum() {
    let folder = Folder::new();
    let path = put(&folder);
    let run =
        |script: &str| Command::new("sh").args(["-c", script]).current_dir(&path).output().expect("it runs");
    let checked = run("sha256sum -c --strict SHA256SUMS");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert_eq!(String::from_utf8_lossy(&checked.stdout), "model.safetensors: OK\nstep.json: OK\n");
    let ours = fs::read(path.join("SHA256SUMS")).expect("it is there");
    assert_eq!(run("sha256sum model.safetensors step.json").stdout, ours);
    assert!(
        run("sha256sum --binary * | grep -v SHA256SUMS > ../sums; mv ../sums SHA256SUMS").status.success()
    );
    assert_eq!(verify_checkpoint(&path).expect("it is whole").files, 2);
}

#[test]
fn a_folder_takes_the_place_of_another() {
    let folder = Folder::new();
    let path = put(&folder);
    fs::create_dir(path.join("more")).expect("there is room");
    fs::write(path.join("more/old"), b"old").expect("there is room");
    let with_slash = format!("{}/", path.display());
    write(Path::new(&with_slash), b'2').expect("there is room");
    assert_eq!((names(&path), folder.names()), (NAMES.map(String::from).to_vec(), vec!["last".to_owned()]));
    assert_eq!(fs::read(path.join("step.json")).expect("it is there"), b"222");
    verify_checkpoint(&path).expect("it is whole");
    assert!(!recover_checkpoint(&path).expect("there is nothing to do"));
}

#[test]
fn what_is_put_into_the_folder_belongs_to_it() {
    let folder = Folder::new();
    let (source, path) = (put(&folder).join("model.safetensors"), folder.join("next"));
    let outcome = write_checkpoint(&path, |checkpoint| {
        let mut editor = ModelEditor::open(&source)?;
        editor.set_placement(Placement::Start(64));
        editor.save(checkpoint.path().join("model.safetensors"))?;
        fs::create_dir_all(checkpoint.path().join("a/b"))?;
        fs::write(checkpoint.path().join("a/b/note"), b"note")?;
        checkpoint.write_bytes("a/step", b"7")
    });
    outcome.expect("there is room");
    assert_eq!(verify_checkpoint(&path).expect("it is whole").files, 3);
    let list = fs::read_to_string(path.join("SHA256SUMS")).expect("it is text");
    let listed: Vec<_> = list.lines().map(|line| &line[66..]).collect();
    assert_eq!(listed, ["a/b/note", "a/step", "model.safetensors"]);
}

#[test]
fn where_anything_fails_the_old_folder_stays_and_nothing_else() {
    let folder = Folder::new();
    let path = put(&folder);
    let tensors = [TensorSpec::new("a", Dtype::U8, &[1000])];
    type Deed<'a> = &'a dyn Fn(&mut Checkpoint<'_>) -> Result<(), EditError>;
    let deeds: [Deed<'_>; 4] = [
        &|_| Err(std::io::Error::other("enough").into()),
        &|checkpoint| {
            checkpoint.write_file("m", FileSpec::new(&tensors), |file| file.write_tensor("a", b"short"))
        },
        &|checkpoint| checkpoint.write_bytes("m", b"1").and_then(|()| checkpoint.write_bytes("m", b"2")),
        &|checkpoint| checkpoint.write_bytes("../m", b"1"),
    ];
    let sentences = deeds.map(|deed| {
        let outcome = write_checkpoint(&path, |checkpoint| {
            checkpoint.write_bytes("first", b"1")?;
            deed(checkpoint)
        });
        sentence(&folder, outcome)
    });
    assert_eq!(sentences[0], "cannot read what ./last is to hold: enough");
    assert_eq!(sentences[1], "./last/m: the tensor \"a\" takes 1000 bytes, but 5 were given");
    assert!(sentences[2].starts_with("cannot write ./last/m: "), "{}", sentences[2]);
    assert!(
        sentences[3].ends_with("no file may be called \"../m\": it leads out of a folder"),
        "{}",
        sentences[3]
    );
    assert_eq!((folder.names(), names(&path)), (vec!["last".to_owned()], NAMES.map(String::from).to_vec()));
    verify_checkpoint(&path).expect("it is whole");
    let panics = || write_checkpoint(&path, |_| panic!("on purpose"));
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!(folder.names(), ["last"]);
}

#[test]
fn names_that_no_file_may_have_are_refused() {
    let folder = Folder::new();
    for name in ["", "SHA256SUMS", "/m", "a//b", "a\\b", "a\nb", "c:m", "."] {
        let outcome = write_checkpoint(folder.join("last"), |checkpoint| checkpoint.write_bytes(name, b""));
        let error = outcome.expect_err(name);
        assert!(matches!(error.kind(), EditErrorKind::UnsafeName { .. }), "{name:?}: {error}");
    }
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn where_something_else_is_it_stays() {
    let folder = Folder::new();
    let path = folder.put("last", b"a file");
    assert_eq!(sentence(&folder, write(&path, b'1')), "./last: it is a file, not a folder");
    assert_eq!(
        (folder.names(), fs::read(path).expect("it is there")),
        (vec!["last".to_owned()], b"a file".to_vec())
    );
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_to_the_folder_and_refused_in_it() {
    let folder = Folder::new();
    put(&folder);
    let link = folder.join("link");
    std::os::unix::fs::symlink("last", &link).expect("there is room");
    write(&link, b'2').expect("there is room");
    assert_eq!(fs::read(folder.join("last/step.json")).expect("it is there"), b"222");
    assert!(link.is_symlink());
    std::os::unix::fs::symlink("step.json", folder.join("last/other")).expect("there is room");
    assert_eq!(refused(&folder), "./last/other: it is a link, not a file");
    let outcome = write_checkpoint(&link, |checkpoint| {
        Ok(std::os::unix::fs::symlink("/", checkpoint.path().join("root"))?)
    });
    let error = outcome.expect_err("a link is no file");
    assert!(
        matches!(error.kind(), EditErrorKind::File(FileErrorKind::NotAFile { .. }))
            && error.path().ends_with("root"),
        "{error}"
    );
}

fn refused(folder: &Folder) -> String {
    let error = verify_checkpoint(folder.join("last")).expect_err("it is not what is listed");
    assert_ne!(
        matches!(error.kind(), CheckpointErrorKind::File(_)),
        error.path() == folder.join("last/other")
    );
    error.to_string().replace(folder.path().to_str().expect("a plain path"), ".")
}

/// What is said once something has been done to a folder that was whole.
fn tampered(tamper: impl Fn(&Path)) -> String {
    let folder = Folder::new();
    tamper(&put(&folder));
    let error = verify_checkpoint(folder.join("last")).expect_err("it is not what is listed");
    let sentence = error.to_string().replace(folder.path().to_str().expect("a plain path"), ".");
    sentence.strip_prefix("./last: ").map(str::to_owned).unwrap_or(sentence)
}

fn with_list(change: impl Fn(String) -> Vec<u8>) -> impl Fn(&Path) {
    move |path| {
        let list = fs::read_to_string(path.join("SHA256SUMS")).expect("it is text");
        fs::write(path.join("SHA256SUMS"), change(list)).expect("there is room");
    }
}

#[test]
fn what_was_tampered_with_is_named() {
    let (one, two) = (
        "f6e0a1e2ac41945a9aa7ff8a8aaa0cebc12a3bcc981a929ad5cf810a090e11ae",
        "9b871512327c09ce91dd649b3f96a63b7408ef267c8cc5710114e629730cb61f",
    );
    let line = |name: &str| format!("{one}  {name}\n");
    let no_line = "it is not a sum of 64 digits, two spaces and a name";
    let added = |text: String| with_list(move |list| format!("{list}{text}").into_bytes());
    for (found, expected) in [
        (
            tampered(|path| fs::write(path.join("step.json"), "222").expect("there is room")),
            format!("\"step.json\" has the SHA-256 {two}, but {one} is listed"),
        ),
        (
            tampered(|path| fs::remove_file(path.join("step.json")).expect("it is there")),
            "\"step.json\" is listed and not there".into(),
        ),
        (
            tampered(|path| fs::write(path.join("x"), "").expect("there is room")),
            "\"x\" is there and not listed".into(),
        ),
        (
            tampered(|path| fs::remove_file(path.join("SHA256SUMS")).expect("it is there")),
            "there is no SHA256SUMS in it".into(),
        ),
        (tampered(added(line("step.json"))), "\"step.json\" is listed twice".into()),
        (tampered(added(line("../x"))), "no file may be called \"../x\": it leads out of a folder".into()),
        (
            tampered(added(line("/etc/passwd"))),
            "no file may be called \"/etc/passwd\": it is absolute".into(),
        ),
        (
            tampered(added(line("SHA256SUMS"))),
            "no file may be called \"SHA256SUMS\": it is the list of sums".into(),
        ),
        (tampered(added("x".into())), format!("line 3 of SHA256SUMS: {no_line}")),
        (tampered(added(format!("{}  x\n", &one[1..]))), format!("line 3 of SHA256SUMS: {no_line}")),
        (tampered(added(format!("{}g  x\n", &one[1..]))), format!("line 3 of SHA256SUMS: {no_line}")),
        (tampered(added(format!("\\{one}  x\n"))), format!("line 3 of SHA256SUMS: {no_line}")),
        (
            tampered(with_list(|list| [list.as_bytes(), b"\xff"].concat())),
            "line 3 of SHA256SUMS: it is no text".into(),
        ),
    ] {
        assert_eq!(found, expected);
    }
    assert!(
        tampered(|path| fs::remove_dir_all(path).expect("it is there")).contains("there is no SHA256SUMS")
    );
}

#[test]
fn a_list_of_any_length_is_not_read() {
    let reason = tampered(|path| {
        let file = fs::File::options().write(true).open(path.join("SHA256SUMS")).expect("it is there");
        file.set_len((1 << 24) + 1).expect("there is room for a hole");
    });
    assert_eq!(reason, "SHA256SUMS has 16777217 bytes, and only 16777216 are allowed");
}

#[test]
fn a_writer_that_is_killed_leaves_a_whole_folder() {
    let folder = Folder::new();
    let path = folder.join("last");
    kill_many_times("checkpoint", &path, || {
        let bytes = |name: &str| fs::read(path.join(name)).expect("it is there");
        verify_checkpoint(&path).expect("it is whole");
        assert!(bytes("m").last() == bytes("step").last());
    });
    let is_hidden = |name: &&String| name.starts_with(".safetensors-") && name.ends_with(".tmp");
    let names = folder.names();
    assert_eq!(names.iter().filter(is_hidden).count() + 1, names.len(), "{names:?}");
    assert!(names.len() > 1, "it was never killed while it wrote");
}

/// As a power cut leaves it where names cannot be exchanged.
#[test]
fn an_old_folder_is_put_back() {
    let folder = Folder::new();
    let path = put(&folder);
    fs::rename(&path, folder.join(".safetensors-last.old")).expect("it is there");
    assert!(recover_checkpoint(&path).expect("it can be put back"));
    verify_checkpoint(&path).expect("it is whole");
    fs::rename(&path, folder.join(".safetensors-last.old")).expect("it is there");
    write(&path, b'2').expect("there is room");
    assert_eq!(
        (folder.names(), verify_checkpoint(&path).expect("it is whole").files),
        (vec!["last".to_owned()], 2)
    );
}

#[test]
fn values_take_the_memory_that_is_documented() {
    assert!(size_of::<CheckpointError>() <= 144 && size_of::<CheckpointErrorKind>() <= 120);
    assert!(size_of::<EditError>() <= 112 && size_of::<EditErrorKind>() <= 88);
    assert_eq!(size_of::<Verified>(), 16);
    assert_eq!((size_of::<MapOptions>(), size_of::<Advice>()), (2, 1));
}
