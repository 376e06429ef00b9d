//! Processes that are killed, may not write, or write concurrently, and the memory they use.

use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use embedded_safetensors::{Dtype, file::FileErrorKind, validate::validate_header};
use safetensors_files::{EditErrorKind, ModelEditor, NewBytes};
use support::random::Random;

use crate::files::temp_dir::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_files");

fn run(args: &[&str]) -> Output {
    Command::new(PROGRAM).args(args).output().expect("starts")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// Lets the program write a file.
fn written() -> (TempDir, PathBuf) {
    let dir = TempDir::new();
    let path = dir.join("m");
    assert!(run(&["write", text(&path), "7"]).status.success());
    (dir, path)
}

/// Whether the file is one that the program writes, with all of its bytes.
fn is_complete(path: &Path) -> bool {
    let file = fs::read(path).expect("present");
    let Ok(summary) = validate_header(&file, &mut []) else { return false };
    let start = usize::try_from(summary.data_start).expect("fits in usize");
    let data = &file[start..];
    !data.is_empty() && data.iter().all(|byte| *byte == data[0])
}

/// Kills the program repeatedly, each time a little later, and checks what it leaves.
pub fn kill_many_times(word: &str, path: &Path, check: impl Fn()) {
    let mut random = Random::new(1);
    for round in 0..60 {
        let mut command = Command::new(PROGRAM);
        let mut child: Child =
            command.args([word, text(path)]).stdout(Stdio::piped()).spawn().expect("starts");
        wait_for_work(&mut child);
        thread::sleep(Duration::from_micros(round * 200 + random.below(2000) as u64));
        child.kill().expect("still running");
        assert!(!child.wait().expect("owned by this test").success());
        check();
    }
}

/// Returns how many hidden files a killed program has left beside the only other file. The next one removes
/// them.
pub fn leftovers(dir: &TempDir) -> usize {
    let names = dir.names();
    let is_hidden = |name: &&String| name.starts_with(".safetensors-") && name.ends_with(".tmp");
    let hidden = names.iter().filter(is_hidden).count();
    assert!(hidden + 1 == names.len() && (hidden < 2 || !cfg!(target_os = "linux")), "{names:?}");
    hidden
}

/// It reports once it has done its work once.
fn wait_for_work(child: &mut Child) {
    use std::io::Read;
    let mut line = [0; 1];
    child.stdout.take().expect("piped").read_exact(&mut line).expect("succeeds");
}

#[test]
fn killed_writer_leaves_old_or_new_file() {
    let dir = TempDir::new();
    let path = dir.join("m");
    let left = Cell::new(0);
    kill_many_times("rewrite", &path, || {
        assert!(is_complete(&path));
        left.set(left.get() + leftovers(&dir));
    });
    assert!(left.get() > 0, "it was never killed while it wrote");
    assert!(run(&["write", text(&path), "7"]).status.success());
    #[cfg(target_os = "linux")]
    assert_eq!(dir.names(), ["m"]);
}

#[test]
fn killed_editor_leaves_old_or_new_header() {
    let (dir, path) = written();
    let undo = ".m.undo".to_owned();
    let interrupted = AtomicBool::new(false);
    #[cfg(unix)]
    unix::hide(&path);
    kill_many_times("edit", &path, || {
        #[cfg(unix)]
        assert!(dir.names().iter().all(|name| unix::is_hidden(&dir.join(name))));
        interrupted.fetch_or(dir.names().contains(&undo), Ordering::Relaxed);
        ModelEditor::recover(&path).expect("recoverable");
        assert!(is_complete(&path) && !dir.names().contains(&undo));
        let editor = ModelEditor::open(&path).expect("valid file");
        let numbers: Vec<_> = editor.tensors().map(|tensor| tensor.name().get(1..)).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] == pair[1]), "names of two edits: {numbers:?}");
    });
    assert!(interrupted.into_inner(), "it was never killed while it edited");
}

/// Processes that open the file, and save it elsewhere, do not disturb the editor that works in place, nor
/// the other way round.
#[test]
fn file_can_be_opened_during_edits() {
    let (dir, path) = written();
    let start_reader = || Command::new(PROGRAM).args(["look", text(&path)]).stderr(Stdio::piped()).spawn();
    let mut readers = [(); 3].map(|()| start_reader().expect("starts"));
    let mut round = 0;
    while readers.iter_mut().any(|reader| reader.try_wait().expect("owned by this test").is_none()) {
        assert!(edit(&path, "room", round), "no other process changes it");
        round = (round + 1) % 10;
    }
    for reader in readers {
        let output = reader.wait_with_output().expect("owned by this test");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(is_complete(&path));
    assert_eq!(dir.names(), ["m"]);
}

/// Nor does a process that opens it while the new values stall: it waits.
#[test]
fn edit_that_stalls_is_not_undone() {
    let dir = TempDir::new();
    let path = dir.join("m");
    // More than is written at once.
    let metadata = [("room", "for an edit in place, of some length")];
    safetensors_files::save(&path, &[("a", Dtype::U8, &[600_000], &[7; 600_000])], &metadata)
        .expect("succeeds");
    let (values, mut source) = std::io::pipe().expect("a pipe");
    let mut editor = ModelEditor::open(&path).expect("valid file");
    editor.set_tensor("a", NewBytes::new(Dtype::U8, &[600_000], values)).expect("fits");
    let to = path.clone();
    let saved = thread::spawn(move || editor.save(to));
    // More than is written at once and fits in a pipe, so the edit has begun.
    source.write_all(&[9; 500_000]).expect("is read");
    thread::spawn(move || {
        thread::sleep(Duration::from_secs(1));
        source.write_all(&[9; 100_000])
    });
    assert!(run(&["note", text(&path)]).status.success());
    saved.join().expect("no panic").expect("nothing is undone");
    assert!(fs::read(&path).expect("present").ends_with(&[9; 600_000]));
}

/// Of processes that save a file at the same time, one does, and the others get an error.
#[test]
fn processes_that_set_a_tensor_do_not_mix() {
    let (dir, path) = written();
    for round in 0..30 {
        let mut editors = [10, 11, 12].map(|value: u8| {
            let mut command = Command::new(PROGRAM);
            let set = command.args(["set", text(&path), &value.to_string()]).stdin(Stdio::piped());
            let mut child = set.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
            wait_for_work(&mut child);
            child
        });
        editors.iter_mut().for_each(|editor| drop(editor.stdin.take()));
        let saved = editors.map(|mut editor| editor.wait().expect("owned by this test").success());
        let done = saved.into_iter().filter(|is_saved| *is_saved).count();
        let file = fs::read(&path).expect("present");
        validate_header(&file, &mut []).unwrap_or_else(|error| panic!("round {round}: {error}"));
        let values = &file[file.len() - 300_000..][..100_000];
        assert!(done == 1 && values.iter().all(|value| *value == values[0]), "round {round}: {done}");
        assert_eq!(dir.names(), ["m"], "round {round}");
    }
}

/// Nor do processes that only read it: they find a complete header, or get an error that it is half written.
#[test]
fn file_can_be_read_during_edits() {
    let (_dir, path) = written();
    let mut editor =
        Command::new(PROGRAM).args(["edit", text(&path)]).stdout(Stdio::piped()).spawn().expect("starts");
    wait_for_work(&mut editor);
    for output in [(); 2].map(|()| run(&["read", text(&path)])) {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    editor.kill().expect("still running");
    editor.wait().expect("owned by this test");
}

/// Editors in threads of one process, each changing its own key of one file in place.
#[test]
fn threads_edit_one_file_in_turn() {
    let (dir, path) = written();
    thread::scope(|scope| {
        for key in ["x", "y"] {
            let path = &path;
            scope.spawn(move || {
                for round in 0..30 {
                    // The second one gets an error, and tries again.
                    while !edit(path, key, round) {}
                }
            });
        }
    });
    let editor = ModelEditor::open(&path).expect("valid file");
    let values: Vec<_> = editor.metadata().filter(|(key, _)| ["x", "y"].contains(key)).collect();
    assert_eq!(values, [("x", "29"), ("y", "29")]);
    assert!(is_complete(&path));
    assert_eq!(dir.names(), ["m"]);
}

fn edit(path: &Path, key: &str, round: u32) -> bool {
    let mut editor = ModelEditor::open(path).unwrap_or_else(|error| panic!("{error}"));
    editor.set_metadata(key, round.to_string());
    match editor.save(path) {
        Ok(_) => true,
        Err(error) if matches!(error.kind(), EditErrorKind::File(FileErrorKind::Changed)) => false,
        Err(error) => panic!("{error}"),
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    use super::*;

    /// Makes the path inaccessible to other users.
    pub fn hide(path: &Path) {
        fs::set_permissions(path, Permissions::from_mode(0o600)).expect("owned by this test");
    }

    pub fn is_hidden(path: &Path) -> bool {
        fs::metadata(path).expect("present").mode() & 0o777 == 0o600
    }

    #[test]
    fn new_file_has_default_permissions() {
        let dir = TempDir::new();
        for (mask, mode) in [("022", 0o644), ("027", 0o640), ("077", 0o600), ("000", 0o666)] {
            let path = dir.join(mask);
            let script = format!("umask {mask}; exec \"$@\"");
            let status =
                Command::new("sh").args(["-c", &script, "sh", PROGRAM, "write", text(&path), "1"]).status();
            assert!(status.expect("sh starts").success());
            assert_eq!(fs::metadata(&path).expect("present").mode() & 0o777, mode);
        }
    }

    /// The limit simulates a full disk: the system refuses to extend the file.
    #[test]
    fn full_disk_is_reported() {
        let dir = TempDir::new();
        let path = dir.put("m", b"old");
        let script = "trap '' XFSZ; ulimit -f 100; exec \"$@\"";
        let output =
            Command::new("sh").args(["-c", script, "sh", PROGRAM, "write", text(&path), "1"]).output();
        let output = output.expect("sh starts");
        let errors = String::from_utf8(output.stderr).expect("text");
        assert_eq!(errors, format!("cannot write {}: File too large (os error 27)\n", path.display()));
        assert_eq!((fs::read(&path).expect("present"), dir.names()), (b"old".to_vec(), vec!["m".into()]));
    }

    /// Returns the program's error when it is run by an unprivileged user; root may write everywhere.
    fn error_of(dir: &TempDir, args: &[&str]) -> String {
        let output = run_as_anybody(dir, args);
        assert!(!output.status.success());
        let errors = String::from_utf8(output.stderr).expect("text");
        errors.replace(text(dir.path()), ".")
    }

    fn run_as_anybody(dir: &TempDir, args: &[&str]) -> Output {
        let program = dir.join("program");
        fs::copy(PROGRAM, &program).expect("succeeds");
        let mut command = Command::new(&program);
        command.args(args);
        if fs::metadata(&program).expect("present").uid() == 0 {
            command.uid(65_534);
        }
        loop {
            match command.output() {
                // A child of another test that is about to exec may still have it open.
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => thread::yield_now(),
                outcome => break outcome.expect("starts"),
            }
        }
    }

    /// Writes a model in a directory, with these permissions.
    fn put_model(dir: &TempDir, dir_mode: u32, file_mode: u32) -> PathBuf {
        fs::create_dir(dir.join("place")).expect("succeeds");
        let path = dir.join("place/m");
        assert!(run(&["write", text(&path), "1"]).status.success());
        fs::set_permissions(&path, Permissions::from_mode(file_mode)).expect("owned by this test");
        fs::set_permissions(dir.join("place"), Permissions::from_mode(dir_mode)).expect("owned by this test");
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).expect("owned by this test");
        path
    }

    #[test]
    fn read_only_directory_is_reported() {
        for word in ["write", "note"] {
            let dir = TempDir::new();
            let path = put_model(&dir, 0o555, 0o666);
            let old = fs::read(&path).expect("present");
            let args: &[&str] =
                if word == "write" { &[word, text(&path), "2"] } else { &[word, text(&path)] };
            let expected =
                "cannot create a temporary file beside ./place/m: Permission denied (os error 13)\n";
            assert_eq!(error_of(&dir, args), expected);
            assert!(fs::read(&path).expect("present") == old);
            fs::set_permissions(dir.join("place"), Permissions::from_mode(0o755))
                .expect("owned by this test");
        }
    }
}

#[cfg(target_os = "linux")]
mod memory {
    use super::*;

    const MIB: u64 = 1 << 20;
    const MANY: &str = "192";
    const PATIENCE: Duration = Duration::from_secs(120);

    /// Returns the program's peak memory, as it reports it.
    fn peak(args: &[&str]) -> u64 {
        let start = Instant::now();
        let output = run(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(start.elapsed() < PATIENCE, "{args:?} takes too long");
        String::from_utf8(output.stdout).expect("text").trim().parse().expect("a number")
    }

    /// Returns the least of some runs: how much of the program itself is in memory varies.
    fn least_peak(args: &[&str]) -> u64 {
        (0..4).map(|_| peak(args)).min().unwrap_or(0)
    }

    /// 192 MiB of data, from an iterator and from a file, in less than 1 MiB.
    #[test]
    fn memory_does_not_grow_with_the_data() {
        let dir = TempDir::new();
        let (path, copy) = (dir.join("m"), dir.join("copy"));
        let nothing = least_peak(&["nothing"]);
        let above = |args: &[&str]| least_peak(args).saturating_sub(nothing);
        let written = above(&["stream", text(&path), MANY]);
        assert_eq!(fs::metadata(&path).expect("present").len() / MIB, 192);
        let copied = above(&["copy", text(&path), text(&copy)]);
        assert_eq!(fs::metadata(&copy).expect("present").len() / MIB, 192);
        let edited = above(&["note", text(&copy)]);
        println!(
            "above {nothing} bytes: written in {written}, copied in {copied}, edited in place in {edited}"
        );
        assert!([written, copied, edited].iter().all(|&bytes| bytes < MIB));
    }
}
