//! Runs the real binary, and makes files for it.

use embedded_safetensors::FileModel;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub use random::Random;

#[path = "../../../tests/support/share.rs"]
#[expect(dead_code, reason = "the suite uses the rest")]
pub mod share;

#[path = "../../../tests/support/random.rs"]
#[expect(dead_code, reason = "no fuzzer gives numbers, and nothing is shuffled")]
mod random;

/// The result of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Run {
    /// Checks exit code, standard output and standard error.
    #[track_caller]
    pub fn is(&self, code: i32, out: &str, err: &str) {
        let expected = Run { code: Some(code), out: out.into(), err: err.into() };
        assert_eq!(*self, expected);
    }

    /// The one object that it printed.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// Checks the exit code, and that the error has these words.
    #[track_caller]
    pub fn fails(&self, code: i32, words: &str) {
        let is_so = self.code == Some(code) && self.out.is_empty() && self.err.contains(words);
        assert!(is_so, "{code}, {words}: {self:?}");
    }

    pub fn of(output: Output) -> Self {
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
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory can be made");
        fs::write(path, contents).expect("a file can be written");
        self
    }

    /// A model with one tensor of so many bytes, which takes no space on the disk.
    pub fn put_sparse(&self, name: &str, bytes: u64) {
        self.put_sparse_of("U8", name, bytes);
    }

    /// The same with elements of one byte of this dtype.
    pub fn put_sparse_of(&self, dtype: &str, name: &str, bytes: u64) {
        let start = file(format!("{{{}}}", tensor("a", 0, bytes).replace("U8", dtype)), b"");
        self.put(name, &start);
        let file = File::options().write(true).open(self.path(name)).expect("the file");
        file.set_len(start.len() as u64 + bytes).expect("a file with holes");
    }

    pub fn read(&self, name: impl AsRef<Path>) -> Vec<u8> {
        fs::read(self.path(name)).expect("a file")
    }

    /// The names in a directory, hidden ones too.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).expect("a directory");
        let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> =
            entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
        names.sort();
        names
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

    /// Runs a command that must succeed without a note.
    #[track_caller]
    pub fn done<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Run {
        let run = self.run(args);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
        run
    }

    /// Runs a command that writes a model to standard output, and puts it into the file `out`. This does not
    /// wait for the disk.
    pub fn made<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Run {
        let Output { status, stdout, stderr } =
            self.command(args).args(["-o", "-"]).output().expect("the binary runs");
        self.put("out", &stdout);
        Run::of(Output { status, stdout: Vec::new(), stderr })
    }

    /// The names, dtypes, shapes and bytes of the tensors in the file `out`, by name, and its metadata.
    #[track_caller]
    pub fn contents(&self) -> (Vec<Contents>, Option<BTreeMap<String, String>>) {
        let model = FileModel::open(self.path("out")).expect("a valid file");
        let tensors = model.tensors().map(|tensor| {
            let mut bytes = vec![0; usize::try_from(tensor.byte_len()).expect("short")];
            tensor.reader().read_to_end(&mut bytes).expect("it can be read");
            (tensor.name().to_owned(), tensor.dtype().name(), tensor.dims().to_vec(), bytes)
        });
        let mut tensors: Vec<_> = tensors.collect();
        tensors.sort();
        (tensors, model.metadata().cloned())
    }

    /// Puts a model of these tensors, with metadata, into a file.
    pub fn put_model<N: AsRef<str>>(&self, name: &str, tensors: &[(N, &str, Vec<u64>, Vec<u8>)]) {
        let rows = tensors.iter().map(|row| (row.0.as_ref(), row.1, &row.2[..], row.3.clone()));
        self.put(name, &model(r#"{"by":"hand"}"#, &rows.collect::<Vec<_>>()));
    }

    /// Runs words as `made` does. The model has these tensors, the metadata of `put_model`, and these pairs.
    #[track_caller]
    pub fn makes(&self, words: &str, mut tensors: Vec<Contents>, pairs: Vec<(String, String)>) -> Run {
        let run = self.made(words.split(' '));
        tensors.sort();
        let metadata = [("by".to_owned(), "hand".to_owned())].into_iter().chain(pairs).collect();
        assert!(self.contents() == (tensors, Some(metadata)), "{words}: {run:?}");
        run
    }

    /// Runs with these words as arguments. There is no output but this sentence.
    #[track_caller]
    pub fn refuses(&self, words: &str, code: i32, sentence: &str) {
        let run = self.run(words.split(' '));
        assert_eq!(
            run,
            Run { code: Some(code), out: String::new(), err: format!("{sentence}\n") },
            "{words}"
        );
    }

    /// Runs a script of the shell in which `$0` is the binary.
    pub fn shell(&self, script: &str) -> Run {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, env!("CARGO_BIN_EXE_safetensors")]).stdin(Stdio::null());
        finish(shell.current_dir(self.0.path()).env("LC_ALL", "C.UTF-8"))
    }

    /// Runs with a limit of the length of files, in blocks of 512 bytes, which acts like a full disk.
    pub fn on_a_full_disk(&self, blocks: u32, args: &str) -> Run {
        self.shell(&format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" {args}"))
    }

    /// The metadata and the tensors of a model.
    #[track_caller]
    pub fn decoded(&self, model: &str) -> Value {
        self.done(["decode", model]).json()
    }

    /// The names of the tensors in a model.
    #[track_caller]
    pub fn tensors(&self, model: &str) -> Vec<String> {
        self.decoded(model)["tensors"].as_object().expect("an object").keys().cloned().collect()
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
#[track_caller]
pub fn text(place: &Place, model: &str, name: &str) -> String {
    place.done(["cat", model, name]).out
}

/// The generator of `SUITE_SEED`, which it prints.
pub fn random() -> Random {
    let seed = share::seed();
    println!("SUITE_SEED={seed}");
    Random::new(seed)
}

/// How often each command is killed: `SUITE_KILLS`.
pub fn kills() -> u32 {
    std::env::var("SUITE_KILLS").map_or(1, |text| text.parse().expect("a number"))
}

/// Sends a signal to a process that runs, and waits for its end.
pub fn interrupted(child: Child, signal: &str) -> Run {
    let kill = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(kill.expect("kill").success());
    Run::of(child.wait_with_output().expect("it ends"))
}

/// The SHA-256 sum of bytes.
pub fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A tensor that was read: its name, its dtype, its shape, and its bytes.
pub type Contents = (String, &'static str, Vec<u64>, Vec<u8>);

/// A tensor: its name in JSON spelling, its dtype, its shape, and its bytes.
pub type Row<'r> = (&'r str, &'r str, &'r [u64], Vec<u8>);

/// A file of tensors, one after the other, with this metadata if it is not empty.
pub fn model(metadata: &str, rows: &[Row<'_>]) -> Vec<u8> {
    let (mut members, mut data) = (Vec::new(), Vec::new());
    if !metadata.is_empty() {
        members.push(format!("\"__metadata__\":{metadata}"));
    }
    for (name, dtype, shape, bytes) in rows {
        let (begin, end) = (data.len(), data.len() + bytes.len());
        let shape = format!("{shape:?}").replace(", ", ",");
        members.push(format!(
            r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}"#
        ));
        data.extend_from_slice(bytes);
    }
    file(format!("{{{}}}", members.join(",")), &data)
}

/// A model of the tensor `a`.
pub fn one(dtype: &str, shape: &[u64], data: &[u8]) -> Vec<u8> {
    model("", &[("a", dtype, shape, data.to_vec())])
}

/// A model of many tensors of one byte, with names of this beginning.
pub fn many(begin: &str, count: u64) -> Vec<u8> {
    let members: Vec<String> = (0..count).map(|at| tensor(&format!("{begin}{at}"), at, at + 1)).collect();
    let data: Vec<u8> = (0..count).map(|at| (at % 251).to_le_bytes()[0]).collect();
    file(format!("{{{}}}", members.join(",")), &data)
}

/// The bytes of numbers.
pub fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
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

/// The bytes that a process has read, by the counters of the system.
#[cfg(target_os = "linux")]
pub fn bytes_read(child: &Child) -> Option<i64> {
    let counters = std::fs::read_to_string(format!("/proc/{}/io", child.id())).ok()?;
    counters.strip_prefix("rchar: ")?.lines().next()?.parse().ok()
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
