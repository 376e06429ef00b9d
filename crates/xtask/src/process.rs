//! Runs other programs: never with our standard input, never without a time limit, and never longer than
//! xtask runs.
//!
//! Cargo's target probe compiles standard input. If it inherited ours and that were not empty, the probe
//! would fail, and cargo would remember the failure.

use crate::report::Tally;
use crate::workspace;
use process_wrap::std::{ChildWrapper, CommandWrap};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a cold release build of everything on a slow computer.
const DEFAULT_LIMIT: Duration = Duration::from_secs(20 * 60);

/// Prefixes of the variables that the cargo running xtask sets only for xtask.
const ONLY_FOR_XTASK: [&str; 6] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_", "LD_LIBRARY_PATH"];

/// A program about to be run from the root of the repository.
pub struct Run {
    command: Command,
    limit: Duration,
}

impl Run {
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.current_dir(workspace::root());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ONLY_FOR_XTASK.iter().any(|prefix| text.starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        Self { command, limit: DEFAULT_LIMIT }
    }

    pub fn args<T: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.command.args(args);
        self
    }

    /// Adds the words of a text.
    pub fn words(self, words: &str) -> Self {
        self.args(words.split_whitespace())
    }

    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Gives it a file as standard input.
    pub fn input(mut self, path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        self.command.stdin(file);
        Ok(self)
    }

    pub fn dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    pub fn limit(mut self, seconds: u64) -> Self {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// Runs and shows the output; any exit code other than 0 is an error, with the first cause that the
    /// output names.
    pub fn check(self) -> Result<(), String> {
        println!("$ {}", self.text());
        let (name, mut cause) = (self.name(), None);
        let status = self.run(|_, line| {
            let line = String::from_utf8_lossy(line);
            print!("{line}");
            let is_cause = line.starts_with("error") || line.starts_with("Diff in");
            cause = cause.take().or_else(|| is_cause.then(|| line.trim_end().to_owned()));
        })?;
        succeeded(&name, status)
            .map_err(|sentence| cause.map_or(sentence.clone(), |cause| format!("{sentence}\n{cause}")))
    }

    /// Runs silently and returns the output; any exit code other than 0 is an error that shows it.
    pub fn capture(self) -> Result<Output, String> {
        let name = self.name();
        let output = self.output()?;
        let succeeded = succeeded(&name, output.status);
        succeeded.map_err(|sentence| format!("{sentence}:\n{}", everything(&output))).map(|()| output)
    }

    /// Runs silently and returns standard output as text without the last line break.
    pub fn stdout(self) -> Result<String, String> {
        Ok(String::from_utf8_lossy(&self.capture()?.stdout).trim_end().to_owned())
    }

    /// Runs silently and returns the exit status and the output.
    pub fn output(self) -> Result<Output, String> {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let status = self.run(|stream, line| match stream {
            Stream::Out => stdout.extend(line),
            Stream::Err => stderr.extend(line),
        });
        match status {
            Ok(status) => Ok(Output { status, stdout, stderr }),
            // The program was stopped; its output may show why it hung.
            Err(sentence) => {
                let text = [stdout, stderr].concat();
                Err(format!("{sentence}\n{}", String::from_utf8_lossy(&text)).trim_end().to_owned())
            }
        }
    }

    /// Runs and passes on every line as it arrives, from standard output and standard error; returns the
    /// exit code, `None` if a signal killed the program.
    pub fn lines(self, mut on_line: impl FnMut(&str)) -> Result<Option<i32>, String> {
        let status =
            self.run(|_, line| on_line(String::from_utf8_lossy(line).trim_end_matches(['\r', '\n'])))?;
        Ok(status.code())
    }

    /// Runs a `cargo test`, shows its output and counts its tests. A run that fails without a failed test
    /// (a compile error, a crash, a hang) counts as one failure, as does a run without any test.
    pub fn tests(self) -> Result<Tally, String> {
        println!("$ {}", self.text());
        let name = self.name();
        let mut tally = Tally::default();
        let ended = self.run(|_, line| {
            let line = String::from_utf8_lossy(line);
            print!("{line}");
            tally.passed += number_before(&line, " passed;");
            tally.failed += number_before(&line, " failed;");
            // The heading of a failed test's output.
            if let Some(name) =
                line.strip_prefix("---- ").and_then(|rest| rest.trim_end().strip_suffix(" stdout ----"))
            {
                tally.failure(name);
            }
        });
        match ended.and_then(|status| succeeded(&name, status)) {
            Err(sentence) if tally.failed == 0 => tally.check("cargo test", Err(sentence)),
            Ok(()) if tally.passed == 0 => tally.check("cargo test", Err("no tests were run".to_owned())),
            _ => {}
        }
        Ok(tally)
    }

    /// Runs and passes on the lines of piped streams, with their ends.
    fn run(self, mut on_line: impl FnMut(Stream, &[u8])) -> Result<ExitStatus, String> {
        let (name, end) = (self.name(), Instant::now() + self.limit);
        let too_slow = || format!("`{name}` did not end within {} s", self.limit.as_secs());
        let program =
            Program::start(self.command).map_err(|error| format!("cannot run `{name}`: {error}"))?;
        let (sender, lines) = mpsc::channel();
        send_lines(program.child().stdout().take(), Stream::Out, sender.clone());
        send_lines(program.child().stderr().take(), Stream::Err, sender);
        // A pipe may stay open after the program ends, because its children have it too.
        loop {
            match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok((stream, line)) if Instant::now() < end => on_line(stream, &line),
                Err(RecvTimeoutError::Disconnected) => break,
                Ok(_) | Err(RecvTimeoutError::Timeout) => return Err(too_slow()),
            }
        }
        program.wait(end).ok_or_else(too_slow)
    }

    /// Returns the beginning of the command line, enough for a message.
    fn name(&self) -> String {
        self.text().chars().take(120).collect()
    }

    fn text(&self) -> String {
        let program = Path::new(self.command.get_program()).file_name().unwrap_or_default();
        let words = [program].into_iter().chain(self.command.get_args());
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }
}

fn succeeded(name: &str, status: ExitStatus) -> Result<(), String> {
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(format!("`{name}` failed: exit code {code}")),
        None => Err(format!("`{name}` failed: killed by a signal")),
    }
}

#[derive(Clone, Copy)]
enum Stream {
    Out,
    Err,
}

/// Sends the lines of a pipe from its own thread, so that a program never blocks on one pipe while we read
/// the other.
fn send_lines(pipe: Option<impl Read + Send + 'static>, stream: Stream, sender: Sender<(Stream, Vec<u8>)>) {
    let Some(pipe) = pipe else { return };
    thread::spawn(move || {
        let (mut pipe, mut line) = (BufReader::new(pipe), Vec::new());
        // A broken pipe ends the output; after the time limit the receiver is gone.
        while pipe.read_until(b'\n', &mut line).is_ok_and(|count| count > 0)
            && sender.send((stream, std::mem::take(&mut line))).is_ok()
        {}
    });
}

type Child = Arc<Mutex<Box<dyn ChildWrapper>>>;

/// A running program in its own process group, so that one signal reaches all its children. When it is
/// dropped, what is left of the group is killed.
struct Program(Child);

/// The running programs. While the lock is held, none starts.
static RUNNING: Mutex<Vec<Child>> = Mutex::new(Vec::new());

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Program {
    fn start(command: Command) -> std::io::Result<Self> {
        let mut running = held(&RUNNING);
        let mut command = CommandWrap::from(command);
        #[cfg(unix)]
        command.wrap(process_wrap::std::ProcessGroup::leader());
        let child = Arc::new(Mutex::new(command.spawn()?));
        running.push(Arc::clone(&child));
        Ok(Self(child))
    }

    fn child(&self) -> MutexGuard<'_, Box<dyn ChildWrapper>> {
        held(&self.0)
    }

    /// Returns `None` if the time is up before the program ends.
    fn wait(&self, end: Instant) -> Option<ExitStatus> {
        loop {
            let status = self.child().try_wait().ok().flatten();
            if status.is_some() || Instant::now() >= end {
                return status;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It fails if the group has already ended.
        let _ = self.child().kill();
        held(&RUNNING).retain(|child| !Arc::ptr_eq(child, &self.0));
    }
}

/// Makes Ctrl-C, and other requests to end, also end all programs that were started: the terminal's signal
/// does not reach their groups.
pub fn end_all_when_interrupted() -> Result<(), String> {
    let end = || {
        // The lock is never released: nothing more starts.
        let running = held(&RUNNING);
        running.iter().for_each(|child| drop(held(child).kill()));
        crate::generate::restore();
        eprintln!("xtask: interrupted; all started programs have been ended");
        std::process::exit(130);
    };
    ctrlc::set_handler(end).map_err(|error| format!("cannot wait for Ctrl-C: {error}"))
}

/// Returns standard output and standard error of a finished program as text.
pub fn everything(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Returns the number before `word` on a `test result:` line, 0 for any other line.
fn number_before(line: &str, word: &str) -> u32 {
    let counted = line.strip_prefix("test result:").and_then(|rest| rest.split_once(word));
    counted.and_then(|(before, _)| before.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Run {
        Run::new("sh").args(["-c", script])
    }

    #[test]
    fn tests_and_a_failure_without_a_test_are_counted() {
        let count = |script: &str| shell(script).tests().map(|tally| (tally.passed, tally.failed));
        let results = "echo 'test result: FAILED. 12 passed; 3 failed; 0 ignored'; \
            echo 'test result: ok. 5 passed; 0 failed;'";
        assert_eq!(count(&format!("{results}; exit 101")), Ok((17, 3)));
        assert_eq!(count("exit 101"), Ok((0, 1)));
    }

    #[test]
    fn hanging_or_endless_programs_are_ended() {
        let start = Instant::now();
        for script in ["exec sleep 60", "sleep 60 & wait", "sleep 60 &", "yes"] {
            let sentence = shell(script).limit(1).output().unwrap_err();
            assert!(sentence.contains("did not end within 1 s"), "{sentence}");
        }
        assert!(start.elapsed() < Duration::from_secs(30), "it waited for a grandchild");
    }

    #[test]
    fn streams_are_kept_apart_and_shown_after_a_failure() {
        let sentence = shell("echo why >&2; exit 3").capture().unwrap_err();
        assert!(sentence.contains("exit code 3") && sentence.contains("why"), "{sentence}");
        let output = shell("printf 'a\r\n\nb'; echo c >&2").output().unwrap();
        assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"a\r\n\nb"[..], &b"c\n"[..]));
    }
}
