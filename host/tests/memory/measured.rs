//! What is measured, and the limits.

mod files;
mod reading;
mod torch;

pub use files::write;
use files::{HUGE, RANK, TENSORS};
pub use reading::all as read;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;
/// The stage `costs` measures a build with more code than a release.
const CODE: u64 = if cfg!(debug_assertions) { MIB } else { 0 };
/// `check`, for any header.
const CHECKED: u64 = 8 * MIB + CODE;
/// All other commands: three times the header, and above that, ...
const OTHERS: u64 = 16 * MIB + CODE;
/// Each entry of the header has more than 64 bytes.
const HEADER: u64 = 64 * TENSORS;
/// ... for counters of statistics, ...
const COUNTERS: u64 = 48 * MIB;
/// ... and for a transposed array.
const TURNED: u64 = 52 * MIB;
/// `merge`, of two models with short headers.
const MERGED: u64 = 32 * MIB + CODE;
/// `convert` and `scan`, ...
const CONVERTED: u64 = 64 * MIB + CODE;
/// ... and for each tensor, with a name of at most 7 bytes.
const OF_TENSOR: u64 = 512 + 2 * 7;
/// A program that reads through the library, above one that does not.
const STREAMED: u64 = 2 * MIB;
/// For each tensor of a `FileModel`: its name twice, its shape, and for a time the header.
const OF_LIST: u64 = 300;
/// Heap and stacks of a command that streams, without the code and constants mapped from its file.
const OWN: u64 = MIB;
const PATIENCE: Duration = Duration::from_secs(60);

/// Commands with files, which are written before, behind an `@`, and with exit codes other than 0.
const COMMANDS: [(u64, &[&str]); 13] = [
    (
        CHECKED,
        &[
            "check @values",
            "check - < @values",
            "check @name",
            "check @names => 1",
            "check @dimensions",
            "check @nesting => 1",
            "check @value",
            "check @spaces => 1",
            "check @huge",
            "check @tensors",
            "check @reversed",
            "check - < @reversed",
            "check @keys",
        ],
    ),
    // Where a shape is printed, it is held.
    (OTHERS + 8 * RANK as u64, &["decode @dimensions", "inspect @dimensions"]),
    (
        OTHERS + 3 * HEADER,
        &[
            "inspect @reversed",
            "inspect --json @reversed",
            "inspect --sort size @reversed",
            "inspect --dtypes @reversed",
            "hash --tensors @reversed",
            "hash --json @reversed",
            "decode @reversed",
            "slice @reversed t7= -o part",
            "lint @reversed => 1",
            "lint --json @reversed => 1",
            "pack @reversed -o packed",
            "pack @reversed --dry-run",
            "quant @layers --from gptq -o rewritten",
            "emit @reversed --lang c",
            "emit @reversed --lang rust",
        ],
    ),
    (
        OTHERS + 2 * (3 * HEADER + 100 * TENSORS),
        &["diff @reversed @tensors", "diff @layers @tensors => 1", "delta @reversed @layers -o delta"],
    ),
    (
        OTHERS + 3 * HEADER + 150 * TENSORS,
        &["split @reversed -o parts --max-size 60000", "repair @longer -o mended"],
    ),
    (OTHERS + 3 * HEADER + 650 * TENSORS, &["stats @reversed", "stats --json --sort max @reversed"]),
    (OTHERS + 3 * HEADER + 1500 * TENSORS, &["inspect --tree @reversed", "report @reversed -o page.html"]),
    (
        OTHERS,
        &[
            "inspect @huge",
            "cat @matrix a.weight -o a.npy",
            "slice @matrix a.weight=:,::2 -o part.safetensors",
            "set @huge a @few --slice ::1000000",
            "set @matrix a.weight a.npy",
            "convert @matrix a.npz --compress",
            "convert a.npz back.safetensors",
            "convert @matrix half.safetensors --to F16",
            "convert @matrix i8.safetensors --to I8 --scale per-row",
        ],
    ),
    (MERGED, &["merge @matrix @matrix -o average", "merge @matrix @lora --scale 0.5 -o merged"]),
    (OTHERS + COUNTERS, &["stats @doubles"]),
    (OTHERS + TURNED, &["convert @turned.npy turned.safetensors"]),
    (
        CONVERTED + TENSORS * OF_TENSOR,
        &[
            "convert @zip.pt m.safetensors",
            "convert @legacy.pt m.safetensors --force",
            "convert @legacy.pt m.safetensors --force --ties copy",
            "convert @zip.pt n.safetensors --to F16",
            "convert @zip.pt n.safetensors --force --json",
            "convert m.safetensors m.npz",
            "convert m.npz m.safetensors --force",
            "convert m.safetensors m.gguf",
            "convert m.gguf m.safetensors --force",
            "convert @blocks.gguf b.safetensors --keep-blocks",
            "convert b.safetensors b.gguf",
            "scan @zip.pt",
        ],
    ),
    (
        CONVERTED,
        &[
            "scan @pickle => 1",
            "scan @pickles => 2",
            "scan @names.zip => 2",
            "scan @controls.zip => 2",
            "scan @long.zip => 2",
        ],
    ),
];

pub fn all() {
    // In memory, where sparse files are fast, if possible.
    let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory");
    let folder = place.path();
    for (limit, commands) in COMMANDS {
        for command in commands {
            Run::of(folder, command).below(limit);
        }
    }
    for command in ["hash @huge", "hash --tensors @huge", "cat --format raw @huge a"] {
        let run = Run::of(folder, command);
        assert!(run.own > 0, "{command}: no sample was taken");
        Run { peak: run.own, ..run }.below(OWN);
    }
    read_through_the_library(folder);
}

fn read_through_the_library(folder: &Path) {
    let read = |api: &str, name: &str, bytes: u64, limit: u64| {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["read", api, name, &bytes.to_string()]).current_dir(folder);
        Run::start(&mut command, &format!("{api} {name}"), None, 0).below(limit)
    };
    let empty = read("nothing", "huge", 0, u64::MAX);
    for (api, of_tensor) in [("Model", 0), ("FileModel", OF_LIST)] {
        read(api, "huge", HUGE, empty + STREAMED);
        read(api, "tensors", TENSORS, empty + STREAMED + TENSORS * of_tensor);
    }
}

/// A program that has ended.
struct Run {
    name: String,
    peak: u64,
    /// The largest sample of its heap and stacks; only of runs of seconds.
    own: u64,
    time: Duration,
}

impl Run {
    fn of(folder: &Path, line: &str) -> Self {
        let (command, exit) = line.split_once(" => ").unwrap_or((line, "0"));
        let made = command.split(' ').filter_map(|word| word.strip_prefix('@'));
        made.filter(|name| !folder.join(name).exists()).for_each(|name| put(folder, name));
        let (words, input) = command.split_once(" < @").map_or((command, None), |(words, name)| {
            (words, Some(File::open(folder.join(name)).expect("the file")))
        });
        let mut program = Command::new(command_path());
        program.args(words.split(' ').map(|word| word.trim_start_matches('@'))).current_dir(folder);
        program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let run = Self::start(&mut program, line, input, exit.parse().expect("an exit code"));
        let parent = kibibytes_in("/proc/self/status", "VmHWM:").expect("VmHWM") * 1024;
        assert!(parent <= run.peak, "this program is too large to measure {line}: {parent}");
        run
    }

    fn start(command: &mut Command, name: &str, input: Option<File>, exit: i32) -> Self {
        let start = Instant::now();
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        #[expect(clippy::zombie_processes)] // `wait` below waits, and asks more than `Child::wait` does
        let mut child = command.spawn().expect("it runs");
        if let (Some(mut file), Some(mut pipe)) = (input, child.stdin.take()) {
            // The pipe breaks if the verdict comes before the end.
            let _ = std::io::copy(&mut file, &mut pipe);
        }
        let pid = child.id();
        let samples = thread::spawn(move || largest_own(pid));
        let (status, peak) = crate::wait(pid);
        assert_eq!(status.code(), Some(exit), "{name}: {status}");
        let (own, time) = (samples.join().expect("samples"), start.elapsed());
        Self { name: name.to_owned(), peak, own, time }
    }

    fn below(&self, limit: u64) -> u64 {
        let (peak, most) = (self.peak / 1024, limit / 1024);
        println!("{}: {peak} KiB of at most {most} KiB, {:.1?}", self.name, self.time);
        assert!(self.peak < limit, "{} takes too much memory", self.name);
        assert!(self.time < PATIENCE, "{} takes too long", self.name);
        self.peak
    }
}

/// Returns `SAFETENSORS_BIN`, or the command beside this program.
fn command_path() -> PathBuf {
    if let Some(path) = std::env::var_os("SAFETENSORS_BIN") {
        return path.into();
    }
    let mut path = std::env::current_exe().expect("this program");
    path.pop();
    path.set_file_name("safetensors");
    path
}

/// Another process writes the file: its memory would count.
fn put(folder: &Path, name: &str) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    let status = command.args(["write", name, name]).current_dir(folder).status().expect("it runs");
    assert!(status.success(), "{name} is not written");
}

/// Samples the heap and the stacks of a program until it ends.
fn largest_own(pid: u32) -> u64 {
    let (path, mut largest) = (format!("/proc/{pid}/status"), 0);
    // Of a program that has ended, no line is left.
    while let Some(own) = kibibytes_in(&path, "RssAnon:") {
        largest = largest.max(own);
        thread::sleep(Duration::from_millis(2));
    }
    largest * 1024
}

fn kibibytes_in(path: &str, label: &str) -> Option<u64> {
    let status = fs::read_to_string(path).ok()?;
    let figure = status.lines().find_map(|line| line.strip_prefix(label))?;
    figure.trim().trim_end_matches(" kB").parse().ok()
}
