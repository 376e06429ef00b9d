//! Runs other programs: never with our standard input, never without a time limit, and never longer than
//! xtask runs.
//!
//! Cargo's target probe compiles standard input. If it inherited ours and that were not empty, the probe
//! would fail, and cargo would remember the failure.

use crate::report::Tally;
use crate::workspace;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a cold release build of everything on a slow computer.
const DEFAULT_LIMIT: Duration = Duration::from_secs(20 * 60);
/// How long an installer may take to finish its step.
const LAST_STEP: Duration = Duration::from_secs(5 * 60);

/// Prefixes of the variables that the cargo running xtask sets only for xtask.
const ONLY_FOR_XTASK: [&str; 6] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_", "LD_LIBRARY_PATH"];

/// Failures of the environment, by a part of the output: one sentence is shown in place of pages.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("No space left on device", "there is no disk space left"),
    ("Could not resolve host", "there is no network, and something needs to be downloaded"),
    ("Temporary failure in name resolution", "there is no network, and something needs to be downloaded"),
    ("Network is unreachable", "there is no network, and something needs to be downloaded"),
    ("Failed to establish a new connection", "there is no network, and something needs to be downloaded"),
    ("Could not connect to server", "there is no network, and something needs to be downloaded"),
];

/// A program about to be run from the root of the repository.
pub struct Run {
    command: Command,
    limit: Duration,
    gently: bool,
}

impl Run {
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).current_dir(workspace::root());
        Self { command, limit: DEFAULT_LIMIT, gently: false }.without(&ONLY_FOR_XTASK)
    }

    pub fn args<T: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.command.args(args);
        self
    }

    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    pub fn limit(mut self, seconds: u64) -> Self {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// Lets the program finish its current step after Ctrl-C: an installer would leave it half done.
    pub fn gently(mut self) -> Self {
        self.gently = true;
        self
    }

    /// Hides the environment variables whose names begin with one of `prefixes`.
    pub fn without(mut self, prefixes: &[&str]) -> Self {
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if prefixes.iter().any(|prefix| text.starts_with(prefix)) {
                self.command.env_remove(&name);
            }
        }
        self
    }

    /// Runs with our own output; any exit code other than 0 is an error.
    pub fn check(mut self) -> Result<(), String> {
        println!("$ {}", self.words());
        let status = self.run(|_, _| ())?;
        self.check_status(status)
    }

    /// Runs silently and returns the output; any exit code other than 0 is an error that shows it.
    pub fn capture(self) -> Result<Output, String> {
        let words = self.short_words();
        let output = self.output()?;
        match output.status.code() {
            Some(0) => Ok(output),
            code => {
                let text = everything(&output);
                let why = match ENVIRONMENT.iter().find(|(sign, _)| text.contains(sign)) {
                    Some((_, why)) => (*why).to_owned(),
                    None => format!("{}:\n{text}", exit(code)),
                };
                Err(format!("`{words}` failed: {why}"))
            }
        }
    }

    /// Runs silently and returns the exit status and the output.
    pub fn output(mut self) -> Result<Output, String> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
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
    pub fn lines(mut self, mut on_line: impl FnMut(&str)) -> Result<Option<i32>, String> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let status =
            self.run(|_, line| on_line(String::from_utf8_lossy(line).trim_end_matches(['\r', '\n'])))?;
        Ok(status.code())
    }

    /// Runs a `cargo test`, shows its output and counts its tests. A run that fails without a failed test
    /// (a compile error, a crash, a hang) counts as one failure, as does a run without any test.
    pub fn tests(mut self) -> Result<Tally, String> {
        println!("$ {}", self.words());
        self.command.stdout(Stdio::piped());
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
        match ended.and_then(|status| self.check_status(status)) {
            Err(sentence) if tally.failed == 0 => tally.check("cargo test", Err(sentence)),
            Err(sentence) => println!("        {sentence}"),
            Ok(()) if tally.passed + tally.failed == 0 => {
                tally.check("cargo test", Err("no tests were run".to_owned()));
            }
            Ok(()) => {}
        }
        Ok(tally)
    }

    /// Runs and passes on the lines of piped streams, with their ends.
    fn run(&mut self, mut on_line: impl FnMut(Stream, &[u8])) -> Result<ExitStatus, String> {
        let end = Instant::now() + self.limit;
        let words = self.short_words();
        let failed = |error| format!("cannot run `{words}`: {error}");
        let too_slow = || format!("`{words}` did not end within {} s", self.limit.as_secs());
        let mut program = Program::start(&mut self.command, self.gently).map_err(failed)?;
        let (sender, lines) = mpsc::channel();
        send_lines(program.child.stdout.take(), Stream::Out, sender.clone());
        send_lines(program.child.stderr.take(), Stream::Err, sender);
        // A pipe may stay open after the program ends, because its children have it too.
        loop {
            match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok((stream, line)) if Instant::now() < end => on_line(stream, &line),
                Err(RecvTimeoutError::Disconnected) => break,
                Ok(_) | Err(RecvTimeoutError::Timeout) => return Err(too_slow()),
            }
        }
        program.wait(end).map_err(failed)?.ok_or_else(too_slow)
    }

    fn check_status(&self, status: ExitStatus) -> Result<(), String> {
        match status.code() {
            Some(0) => Ok(()),
            code => Err(format!("`{}` failed: {}", self.short_words(), exit(code))),
        }
    }

    /// Returns the beginning of the command line, enough for a message.
    fn short_words(&self) -> String {
        match self.words().split_at_checked(120) {
            Some((words, rest)) if !rest.is_empty() => format!("{words}…"),
            _ => self.words(),
        }
    }

    fn words(&self) -> String {
        let program = Path::new(self.command.get_program()).file_name().unwrap_or_default();
        let words = [program].into_iter().chain(self.command.get_args());
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
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

/// A running program in its own process group, so that one signal reaches all its children. If it is
/// dropped before it has ended, the group is killed.
struct Program {
    child: Child,
    has_ended: bool,
}

/// The running groups, and whether to end them gently. While the lock is held, none starts or ends.
static RUNNING: Mutex<Vec<(u32, bool)>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<(u32, bool)>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Program {
    fn start(command: &mut Command, gently: bool) -> io::Result<Self> {
        let mut running = running();
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let child = command.spawn()?;
        running.push((child.id(), gently));
        Ok(Self { child, has_ended: false })
    }

    /// Returns `None` if the time is up before the program ends. Its children may keep running.
    fn wait(&mut self, end: Instant) -> io::Result<Option<ExitStatus>> {
        loop {
            let status = self.child.try_wait()?;
            self.has_ended = status.is_some();
            if self.has_ended || Instant::now() >= end {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.has_ended {
            kill(self.child.id());
            // Harmless if it has already ended.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        running().retain(|(id, _)| *id != self.child.id());
    }
}

/// Makes Ctrl-C, and other requests to end, also end all programs that were started: the terminal's signal
/// does not reach their groups.
pub fn end_all_when_interrupted() -> Result<(), String> {
    let end = || {
        // The lock is never released, so nothing more starts.
        let running = running();
        running.iter().filter(|(_, gently)| !gently).for_each(|(id, _)| kill(*id));
        running.iter().filter(|(_, gently)| *gently).for_each(|(id, _)| ask_to_end(*id));
        eprintln!("xtask: interrupted; all started programs have been ended");
        std::process::exit(130);
    };
    ctrlc::set_handler(end).map_err(|error| format!("cannot wait for Ctrl-C: {error}"))
}

#[cfg(unix)]
fn kill(group: u32) {
    use rustix::process::{Signal, kill_process_group};
    // The signal fails only if the group has already ended.
    let _ = pid(group).map(|group| kill_process_group(group, Signal::KILL));
}

/// Sends a program what Ctrl-C sends, and waits: apt stops downloading, and finishes what it installs.
#[cfg(unix)]
fn ask_to_end(program: u32) {
    use rustix::process::{Signal, kill_process, test_kill_process};
    let Some(pid) = pid(program) else { return };
    let (end, _) = (Instant::now() + LAST_STEP, kill_process(pid, Signal::INT));
    while test_kill_process(pid).is_ok() && Instant::now() < end {
        thread::sleep(Duration::from_millis(20));
    }
    kill(program);
}

#[cfg(unix)]
fn pid(id: u32) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(i32::try_from(id).ok()?)
}

/// Other systems have no groups: there, the terminal's signal reaches everything.
#[cfg(not(unix))]
fn kill(_: u32) {}

#[cfg(not(unix))]
fn ask_to_end(_: u32) {}

/// Returns standard output and standard error of a finished program as text.
pub fn everything(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

fn exit(code: Option<i32>) -> String {
    code.map_or("killed by a signal".to_owned(), |code| format!("exit code {code}"))
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
        assert_eq!(shell("sleep 60 & wait").limit(1).tests().unwrap().failed, 1);
        assert!(start.elapsed() < Duration::from_secs(30), "it waited for a grandchild");
    }

    #[test]
    fn lines_of_both_streams_arrive_while_a_program_runs() {
        let (start, mut heard) = (Instant::now(), Vec::new());
        let run = shell("echo a; sleep 1; echo b >&2; exit 3");
        let code = run.lines(|line| heard.push((line.to_owned(), start.elapsed()))).unwrap();
        assert_eq!(code, Some(3));
        let [(a, first), (b, second)] = &heard[..] else { panic!("{heard:?}") };
        assert_eq!((a.as_str(), b.as_str()), ("a", "b"));
        assert!(*second - *first > Duration::from_millis(500), "they came at once");
    }

    #[test]
    fn environment_failures_are_one_sentence() {
        for (sign, why) in ENVIRONMENT {
            let sentence =
                shell(&format!("echo page; echo 'error: {sign} (28)'; exit 1")).capture().unwrap_err();
            assert!(sentence.ends_with(&format!("failed: {why}")), "{sentence}");
        }
    }

    #[test]
    fn streams_are_kept_apart_and_shown_after_a_failure() {
        let sentence = shell("echo why >&2; exit 3").capture().unwrap_err();
        assert!(sentence.contains("exit code 3") && sentence.contains("why"), "{sentence}");
        let output = shell("printf 'a\\r\\n\\nb'; echo c >&2").output().unwrap();
        assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"a\r\n\nb"[..], &b"c\n"[..]));
    }
}
