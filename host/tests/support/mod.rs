//! Runs the real binary, and makes files for it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The result of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Run {
    /// Checks exit code, standard output and standard error.
    pub fn is(&self, code: i32, out: &str, err: &str) {
        let expected = Run { code: Some(code), out: out.into(), err: err.into() };
        assert_eq!(*self, expected);
    }

    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// A temporary directory in which the binary runs, so that paths in its output are short.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn put(&self, name: impl AsRef<Path>, contents: &[u8]) -> &Self {
        std::fs::write(self.path(name), contents).expect("a file can be written");
        self
    }

    pub fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_safetensors"));
        command.current_dir(self.0.path()).args(args).stdin(Stdio::null()).env("LC_ALL", "C.UTF-8");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs with an empty standard input.
    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Run {
        Run::of(self.command(args).output().expect("the binary runs"))
    }

    /// Runs with a pipe as standard input.
    pub fn run_piped<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>, input: &[u8]) -> Run {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().expect("the binary runs");
        let mut pipe = child.stdin.take().expect("a pipe");
        // The pipe breaks if the verdict comes before the end of the input.
        let _ = pipe.write_all(input);
        drop(pipe);
        Run::of(child.wait_with_output().expect("the binary ends"))
    }

    /// Runs with a file as standard input.
    pub fn run_redirected<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>, input: File) -> Run {
        Run::of(self.command(args).stdin(input).output().expect("the binary runs"))
    }
}

/// Runs a prepared command to its end.
pub fn finish(command: &mut Command) -> Run {
    Run::of(command.output().expect("the binary runs"))
}

/// Runs `convert`.
pub fn convert(place: &Place, arguments: &[&str]) -> Run {
    place.run([&["convert"], arguments].concat())
}

/// The output of `cat` for a tensor.
pub fn text(place: &Place, model: &str, name: &str) -> String {
    let run = place.run(["cat", model, name]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    run.out
}

/// A file with this header and this data.
pub fn file(header: impl AsRef<[u8]>, data: &[u8]) -> Vec<u8> {
    let header = header.as_ref();
    [&(header.len() as u64).to_le_bytes(), header, data].concat()
}

/// One member of a header: a tensor of bytes, with its name in JSON spelling.
pub fn tensor(name: &str, begin: u64, end: u64) -> String {
    format!("\"{name}\":{{\"dtype\":\"U8\",\"shape\":[{}],\"data_offsets\":[{begin},{end}]}}", end - begin)
}

/// A valid file of two tensors and five bytes of data.
pub fn sound() -> Vec<u8> {
    file(format!("{{{},{}}}", tensor("a", 0, 2), tensor("b", 2, 5)), b"abcde")
}

/// Waits for a condition, with a time limit.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until the process handles Ctrl-C.
pub fn until_it_listens(child: &Child) {
    if !cfg!(target_os = "linux") {
        std::thread::sleep(Duration::from_secs(2));
        return;
    }
    until("the handler", || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("signals");
        let caught = u64::from_str_radix(caught.trim(), 16).expect("a mask");
        // SIGINT is signal 2.
        caught & 2 != 0
    });
}

/// The names of all commands, as listed by `--help`. Descriptions may continue on further lines.
pub fn command_names() -> Vec<String> {
    let help = Place::new().run(["--help"]).out;
    let (_, list) = help.split_once("Commands:\n").expect("a list of commands");
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names =
        lines.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}
