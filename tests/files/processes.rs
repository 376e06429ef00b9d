//! Programs that are killed, that may not write, that write at once, and how much memory they take.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use embedded_safetensors::{file::FileErrorKind, validate::validate_header};
use safetensors_files::{EditErrorKind, ModelEditor};
use support::random::Random;

use crate::files::temp_dir::Folder;

const PROGRAM: &str = env!("CARGO_BIN_EXE_files");

fn run(words: &[&str]) -> Output {
    Command::new(PROGRAM).args(words).output().expect("it runs")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// Whether the file is one of those that the program writes, with all of its bytes.
fn is_whole(path: &Path) -> bool {
    let file = fs::read(path).expect("it is there");
    let Ok(summary) = validate_header(&file, &mut []) else { return false };
    let start = usize::try_from(summary.data_start).expect("it is in memory");
    let data = &file[start..];
    !data.is_empty() && data.iter().all(|byte| *byte == data[0])
}

/// Kills the program again and again, each time a little later, and looks at what it leaves.
pub fn kill_many_times(word: &str, path: &Path, look: impl Fn()) {
    let mut random = Random::new(1);
    for round in 0..60 {
        let mut command = Command::new(PROGRAM);
        let mut child: Child =
            command.args([word, text(path)]).stdout(Stdio::piped()).spawn().expect("it runs");
        wait_for_work(&mut child);
        thread::sleep(Duration::from_micros(round * 200 + random.below(2000) as u64));
        child.kill().expect("it runs until it is killed");
        assert!(!child.wait().expect("it is ours").success());
        look();
    }
}

/// It says so when it has done it once.
fn wait_for_work(child: &mut Child) {
    use std::io::Read;
    let mut line = [0; 1];
    child.stdout.take().expect("it is piped").read_exact(&mut line).expect("it works");
}

#[test]
fn a_writer_that_is_killed_leaves_the_old_or_the_new_file() {
    let folder = Folder::new();
    let path = folder.join("m");
    kill_many_times("rewrite", &path, || assert!(is_whole(&path)));
    let names = folder.names();
    let is_hidden = |name: &&String| name.starts_with(".safetensors-") && name.ends_with(".tmp");
    assert_eq!(names.iter().filter(is_hidden).count() + 1, names.len(), "{names:?}");
    assert!(names.len() > 1, "it was never killed while it wrote");
}

#[test]
fn an_editor_that_is_killed_leaves_the_old_or_the_new_header() {
    let folder = Folder::new();
    let path = folder.join("m");
    assert!(run(&["write", text(&path), "7"]).status.success());
    let undo = ".m.undo".to_owned();
    let interrupted = AtomicBool::new(false);
    #[cfg(unix)]
    unix::hide(&path);
    kill_many_times("edit", &path, || {
        #[cfg(unix)]
        assert!(folder.names().iter().all(|name| unix::is_hidden(&folder.join(name))));
        interrupted.fetch_or(folder.names().contains(&undo), Ordering::Relaxed);
        ModelEditor::recover(&path).expect("it can be put back");
        assert!(is_whole(&path) && !folder.names().contains(&undo));
        let editor = ModelEditor::open(&path).expect("it is sound");
        let numbers: Vec<_> = editor.tensors().map(|tensor| tensor.name().get(1..)).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] == pair[1]), "names of two edits: {numbers:?}");
    });
    assert!(interrupted.into_inner(), "it was never killed while it edited");
}

/// Those who open it, and save it elsewhere, do not disturb who edits it in place; nor the other way round.
#[test]
fn a_file_may_be_opened_by_many_while_it_is_edited_by_one() {
    let folder = Folder::new();
    let path = folder.join("m");
    assert!(run(&["write", text(&path), "7"]).status.success());
    let looker = || Command::new(PROGRAM).args(["look", text(&path)]).stderr(Stdio::piped()).spawn();
    let mut lookers = [(); 3].map(|()| looker().expect("it runs"));
    let mut round = 0;
    while lookers.iter_mut().any(|looker| looker.try_wait().expect("it is ours").is_none()) {
        assert!(edit(&path, "room", round), "nobody else changes it");
        round = (round + 1) % 10;
    }
    for looker in lookers {
        let output = looker.wait_with_output().expect("it is ours");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(is_whole(&path));
    assert_eq!(folder.names(), ["m"]);
}

/// Nor do those who only read it: they find a whole header, or are told that it is half written.
#[test]
fn a_file_may_be_read_by_many_while_it_is_edited_by_one() {
    let folder = Folder::new();
    let path = folder.join("m");
    assert!(run(&["write", text(&path), "7"]).status.success());
    let mut editor =
        Command::new(PROGRAM).args(["edit", text(&path)]).stdout(Stdio::piped()).spawn().expect("it runs");
    wait_for_work(&mut editor);
    for output in [(); 2].map(|()| run(&["read", text(&path)])) {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    editor.kill().expect("it runs until it is killed");
    editor.wait().expect("it is ours");
}

/// Each of the threads writes whole files; who looks finds one of them at any time.
#[test]
fn two_writers_at_once_make_one_whole_file() {
    let folder = Folder::new();
    let path = folder.join("m");
    assert!(run(&["write", text(&path), "1"]).status.success());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers = ["2", "3"].map(|fill| {
            let path = &path;
            scope.spawn(move || (0..20).all(|_| run(&["write", text(path), fill]).status.success()))
        });
        let reader = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                assert!(is_whole(&path));
            }
        });
        assert!(writers.into_iter().all(|writer| writer.join().expect("it does not panic")));
        is_over.store(true, Ordering::Relaxed);
        reader.join().expect("every file that it found was whole");
    });
    assert_eq!(folder.names(), ["m"]);
}

/// Drafts in threads of one program, each changing its own key of one file in place.
#[test]
fn threads_of_one_program_edit_one_file_one_after_another() {
    let folder = Folder::new();
    let path = folder.join("m");
    assert!(run(&["write", text(&path), "1"]).status.success());
    thread::scope(|scope| {
        for key in ["x", "y"] {
            let path = &path;
            scope.spawn(move || {
                for round in 0..30 {
                    // Whoever comes second is told so, and tries again.
                    while !edit(path, key, round) {}
                }
            });
        }
    });
    let editor = ModelEditor::open(&path).expect("it is sound");
    let values: Vec<_> = editor.metadata().filter(|(key, _)| ["x", "y"].contains(key)).collect();
    assert_eq!(values, [("x", "29"), ("y", "29")]);
    assert!(is_whole(&path));
    assert_eq!(folder.names(), ["m"]);
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

    /// From everybody else.
    pub fn hide(path: &Path) {
        fs::set_permissions(path, Permissions::from_mode(0o600)).expect("it is ours");
    }

    pub fn is_hidden(path: &Path) -> bool {
        fs::metadata(path).expect("it is there").mode() & 0o777 == 0o600
    }

    #[test]
    fn a_new_file_has_the_permissions_that_are_usual_for_the_process() {
        let folder = Folder::new();
        for (mask, mode) in [("022", 0o644), ("027", 0o640), ("077", 0o600), ("000", 0o666)] {
            let path = folder.join(mask);
            let script = format!("umask {mask}; exec \"$@\"");
            let status =
                Command::new("sh").args(["-c", &script, "sh", PROGRAM, "write", text(&path), "1"]).status();
            assert!(status.expect("sh runs").success());
            assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o777, mode);
        }
    }

    /// The limit stands for a full disk: the system refuses to make the file longer.
    #[test]
    fn a_file_that_has_no_room_is_refused() {
        let folder = Folder::new();
        let path = folder.put("m", b"old");
        let script = "trap '' XFSZ; ulimit -f 100; exec \"$@\"";
        let output =
            Command::new("sh").args(["-c", script, "sh", PROGRAM, "write", text(&path), "1"]).output();
        let output = output.expect("sh runs");
        let errors = String::from_utf8(output.stderr).expect("text");
        assert_eq!(errors, format!("cannot write {}: File too large (os error 27)\n", path.display()));
        assert_eq!(
            (fs::read(&path).expect("it is there"), folder.names()),
            (b"old".to_vec(), vec!["m".into()])
        );
    }

    /// What the program says when it is run by somebody who is not the administrator, who may write everywhere.
    fn refusal(folder: &Folder, words: &[&str]) -> String {
        let output = run_as_anybody(folder, words);
        assert!(!output.status.success());
        let errors = String::from_utf8(output.stderr).expect("text");
        errors.replace(text(folder.path()), ".")
    }

    fn run_as_anybody(folder: &Folder, words: &[&str]) -> Output {
        let program = folder.join("program");
        fs::copy(PROGRAM, &program).expect("there is room");
        let mut command = Command::new(&program);
        command.args(words);
        if fs::metadata(&program).expect("it is there").uid() == 0 {
            command.uid(65_534);
        }
        loop {
            match command.output() {
                // A child of another test, which is about to become another program, may still have it open.
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => thread::yield_now(),
                outcome => break outcome.expect("it runs"),
            }
        }
    }

    /// A model in a folder, with these permissions.
    fn place(folder: &Folder, of_folder: u32, of_file: u32) -> std::path::PathBuf {
        fs::create_dir(folder.join("place")).expect("there is room");
        let path = folder.join("place/m");
        assert!(run(&["write", text(&path), "1"]).status.success());
        fs::set_permissions(&path, Permissions::from_mode(of_file)).expect("it is ours");
        fs::set_permissions(folder.join("place"), Permissions::from_mode(of_folder)).expect("it is ours");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("it is ours");
        path
    }

    #[test]
    fn a_folder_that_may_not_be_written_is_said() {
        for word in ["write", "note"] {
            let folder = Folder::new();
            let path = place(&folder, 0o555, 0o666);
            let old = fs::read(&path).expect("it is there");
            let words: &[&str] =
                if word == "write" { &[word, text(&path), "2"] } else { &[word, text(&path)] };
            let expected =
                "cannot create a temporary file beside ./place/m: Permission denied (os error 13)\n";
            assert_eq!(refusal(&folder, words), expected);
            assert!(fs::read(&path).expect("it is there") == old);
            fs::set_permissions(folder.join("place"), Permissions::from_mode(0o755)).expect("it is ours");
        }
    }

    #[test]
    fn a_file_that_may_not_be_written_is_replaced_where_its_folder_may_be() {
        let folder = Folder::new();
        let path = place(&folder, 0o777, 0o444);
        let note = run_as_anybody(&folder, &["note", text(&path), "copied"]);
        assert!(note.status.success(), "{}", String::from_utf8_lossy(&note.stderr));
        let editor = ModelEditor::open(&path).expect("it is sound");
        assert_eq!(editor.metadata().collect::<Vec<_>>(), [("room", "taken")]);
        assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o777, 0o444);
        assert_eq!(fs::read_dir(folder.join("place")).expect("it is there").count(), 1);
    }
}

#[cfg(target_os = "linux")]
mod memory {
    use super::*;

    const MIB: u64 = 1 << 20;
    const MANY: &str = "192";
    const PATIENCE: Duration = Duration::from_secs(120);

    /// The most memory that the program has had, as it says.
    fn peak(words: &[&str]) -> u64 {
        let start = Instant::now();
        let output = run(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(start.elapsed() < PATIENCE, "{words:?} takes too long");
        String::from_utf8(output.stdout).expect("text").trim().parse().expect("a number")
    }

    /// The least of some runs: how much of the program itself is in memory depends on what the machine did before.
    fn least_peak(words: &[&str]) -> u64 {
        (0..4).map(|_| peak(words)).min().unwrap_or(0)
    }

    /// 192 MiB of data, from an iterator and from a file, in less than 1 MiB.
    #[test]
    fn memory_does_not_grow_with_the_data() {
        let folder = Folder::new();
        let (path, copy) = (folder.join("m"), folder.join("copy"));
        let nothing = least_peak(&["nothing"]);
        let above = |words: &[&str]| least_peak(words).saturating_sub(nothing);
        let written = above(&["stream", text(&path), MANY]);
        assert_eq!(fs::metadata(&path).expect("it is there").len() / MIB, 192);
        let copied = above(&["copy", text(&path), text(&copy)]);
        assert_eq!(fs::metadata(&copy).expect("it is there").len() / MIB, 192);
        let edited = above(&["note", text(&copy)]);
        println!(
            "above {nothing} bytes: written in {written}, copied in {copied}, edited in place in {edited}"
        );
        assert!([written, copied, edited].iter().all(|&bytes| bytes < MIB));
    }
}
