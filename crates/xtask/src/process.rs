//! Running other programs: never with our standard input, never without a time limit.
//!
//! Cargo's target probe compiles standard input: were ours inherited and not empty, the probe would
//! fail, and cargo would remember the failure.

use crate::group::Group;
use crate::report::Tally;
use crate::workspace;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a cold release build of everything on a slow machine.
const DEFAULT_LIMIT: Duration = Duration::from_secs(20 * 60);

/// How long a program that was ended may take to be read to its end.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What the cargo that runs us sets for us alone, by the beginnings of the names.
const OURS_ALONE: [&str; 6] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_", "LD_LIBRARY_PATH"];

/// Whether standard output is for one object alone.
static KEPT: AtomicBool = AtomicBool::new(false);

/// From now on, what is set up says what it does on standard error: standard output is for what was asked for.
pub fn keep_stdout() {
    KEPT.store(true, Ordering::Relaxed);
}

/// A program about to be run from the root of the repository.
pub struct Run {
    command: Command,
    limit: Duration,
    started: Instant,
}

impl Run {
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).current_dir(workspace::root());
        Self { command, limit: DEFAULT_LIMIT, started: Instant::now() }.without(&OURS_ALONE)
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

    /// Runs with our own output; anything but exit code 0 is an error.
    pub fn check(mut self) -> Result<(), String> {
        if KEPT.load(Ordering::Relaxed) {
            eprintln!("$ {}", self.words());
            self.command.stdout(std::io::stderr());
        } else {
            println!("$ {}", self.words());
        }
        let mut group = self.start()?;
        let status = self.wait(&mut group)?;
        group.release();
        self.judge(status)
    }

    /// Runs silently and gives what was printed; anything but exit code 0 is an error that shows it.
    pub fn capture(self) -> Result<Output, String> {
        let words = self.words();
        let output = self.output()?;
        match output.status.code() {
            Some(0) => Ok(output),
            code => Err(format!("`{words}` failed ({}):\n{}", exit(code), everything(&output))),
        }
    }

    /// Runs silently and gives the time that it took: of the processors where the system counts it, so that what else
    /// they do is no part of it. Nothing else may be run at the same time.
    pub fn timed(self) -> Result<Duration, String> {
        let (start, before) = (Instant::now(), time_of_ended());
        self.capture()?;
        Ok(match (before, time_of_ended()) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => start.elapsed(),
        })
    }

    /// Runs silently and gives exit status and what was printed.
    pub fn output(mut self) -> Result<Output, String> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = self.start()?;
        let stdout = beside(group.child().stdout.take(), drain);
        let stderr = beside(group.child().stderr.take(), drain);
        let status = self.wait(&mut group)?;
        let output = Output { status, stdout: self.rest(&stdout)?, stderr: self.rest(&stderr)? };
        group.release();
        Ok(output)
    }

    /// Runs and hands over every line as it comes, of standard output and standard error alike; gives the exit code, if it
    /// was not killed by a signal.
    pub fn lines(mut self, mut hear: impl FnMut(&str)) -> Result<Option<i32>, String> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = self.start()?;
        let (sender, lines) = mpsc::channel();
        send_lines(group.child().stdout.take(), sender.clone());
        send_lines(group.child().stderr.take(), sender);
        loop {
            let left = self.limit.saturating_sub(self.started.elapsed());
            match lines.recv_timeout(left) {
                Ok(line) => hear(&line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    group.kill();
                    return Err(self.too_slow());
                }
            }
        }
        let status = self.wait(&mut group)?;
        group.release();
        Ok(status.code())
    }

    /// Runs a `cargo test`, shows its output and counts its tests. A run that fails without a failed
    /// test (it did not compile, it crashed, it hung) counts as one failure.
    pub fn tests(mut self) -> Result<Tally, String> {
        println!("$ {}", self.words());
        self.command.stdout(Stdio::piped());
        let mut group = self.start()?;
        let tally = beside(group.child().stdout.take(), count_tests);
        let ended = self.wait(&mut group).and_then(|status| self.judge(status));
        let mut tally = self.rest(&tally)?;
        group.release();
        if let Err(sentence) = ended
            && tally.failed == 0
        {
            tally.check("cargo test", Err(sentence));
        }
        Ok(tally)
    }

    fn start(&mut self) -> Result<Group, String> {
        self.started = Instant::now();
        let words = self.words();
        Group::spawn(&mut self.command).map_err(|error| format!("cannot run `{words}`: {error}"))
    }

    fn judge(&self, status: ExitStatus) -> Result<(), String> {
        match status.code() {
            Some(0) => Ok(()),
            code => Err(format!("`{}` failed ({})", self.words(), exit(code))),
        }
    }

    fn wait(&self, group: &mut Group) -> Result<ExitStatus, String> {
        loop {
            match group.child().try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if self.started.elapsed() < self.limit => thread::sleep(Duration::from_millis(10)),
                Ok(None) => break,
                Err(error) => return Err(format!("cannot wait for `{}`: {error}", self.words())),
            }
        }
        group.kill();
        Err(self.too_slow())
    }

    /// What a reader of the program's output has made of all of it. The pipe may be open longer than
    /// the program runs: whatever it started has it too.
    fn rest<T>(&self, reader: &Receiver<T>) -> Result<T, String> {
        let left = self.limit.saturating_sub(self.started.elapsed()).max(LAST_WORDS);
        reader.recv_timeout(left).map_err(|_| self.too_slow())
    }

    fn too_slow(&self) -> String {
        format!("`{}` did not end within {} s", self.words(), self.limit.as_secs())
    }

    fn words(&self) -> String {
        let program = Path::new(self.command.get_program()).file_name().unwrap_or_default();
        let words = [program].into_iter().chain(self.command.get_args());
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }
}

/// What the programs that we ran and that have ended have taken of the processors, where there is Linux to count it.
fn time_of_ended() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which may have spaces and brackets in it, the times of children are fields 16 and 17 of the line.
    let (_, fields) = text.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(13).take(2).map(str::parse::<u64>);
    let ticks: u64 = ticks.sum::<Result<u64, _>>().ok()?;
    // A hundredth of a second on every Linux.
    Some(Duration::from_millis(10 * ticks))
}

/// Standard output and standard error of a finished program, as text.
pub fn everything(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

fn exit(code: Option<i32>) -> String {
    code.map_or("killed by a signal".to_owned(), |code| format!("exit code {code}"))
}

/// Reads a pipe on a thread of its own, which is not waited for longer than the program may take.
fn beside<P: Read + Send + 'static, T: Send + 'static>(
    pipe: Option<P>,
    read: fn(Option<P>) -> T,
) -> Receiver<T> {
    let (sender, receiver) = mpsc::channel();
    // Nobody receives any more once the time is up.
    thread::spawn(move || drop(sender.send(read(pipe))));
    receiver
}

/// Sends the lines of a pipe, from a thread of its own.
fn send_lines(pipe: Option<impl Read + Send + 'static>, sender: Sender<String>) {
    let Some(pipe) = pipe else { return };
    thread::spawn(move || {
        let lines = BufReader::new(pipe).split(b'\n').map_while(Result::ok);
        for line in lines {
            let text = String::from_utf8_lossy(&line);
            if sender.send(text.trim_end_matches('\r').to_owned()).is_err() {
                break;
            }
        }
    });
}

fn drain(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // A pipe that breaks has given all it will give.
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

fn count_tests(pipe: Option<impl Read>) -> Tally {
    let mut tally = Tally::default();
    let lines = pipe.into_iter().flat_map(|pipe| BufReader::new(pipe).lines().map_while(Result::ok));
    for line in lines {
        println!("{line}");
        tally.passed += number_before(&line, " passed;");
        tally.failed += number_before(&line, " failed;");
    }
    tally
}

/// The number in front of `word` on a `test result:` line, 0 on any other.
fn number_before(line: &str, word: &str) -> u32 {
    let counted = line.strip_prefix("test result:").and_then(|rest| rest.split_once(word));
    counted.and_then(|(before, _)| before.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_tests_of_a_result_line() {
        let text = "running 3 tests\ntest result: FAILED. 12 passed; 3 failed; 0 ignored\ntest result: ok. 5 passed; 0 failed;";
        let tally = count_tests(Some(text.as_bytes()));
        assert_eq!((tally.passed, tally.failed), (17, 3));
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let sentence = Run::new("sleep").args(["60"]).limit(0).output().unwrap_err();
        assert!(sentence.contains("did not end within 0 s"), "{sentence}");
    }

    #[cfg(unix)]
    #[test]
    fn what_a_program_started_ends_with_it() {
        let start = Instant::now();
        let hangs = || Run::new("sh").args(["-c", "sleep 60 & wait"]).limit(1);
        let sentence = hangs().output().unwrap_err();
        assert!(sentence.contains("did not end within 1 s"), "{sentence}");
        assert_eq!(hangs().tests().unwrap().failed, 1);
        assert!(start.elapsed() < Duration::from_secs(20), "somebody waited for the grandchild");
    }

    #[cfg(unix)]
    #[test]
    fn output_that_a_grandchild_keeps_open_is_not_waited_for() {
        let start = Instant::now();
        let sentence = Run::new("sh").args(["-c", "sleep 60 &"]).limit(1).output().unwrap_err();
        assert!(sentence.contains("did not end within 1 s"), "{sentence}");
        assert!(start.elapsed() < Duration::from_secs(20), "somebody waited for the grandchild");
    }

    #[cfg(unix)]
    #[test]
    fn lines_come_while_a_program_runs_and_from_both_its_outputs() {
        let start = Instant::now();
        let mut heard = Vec::new();
        let run = Run::new("sh").args(["-c", "echo a; sleep 1; echo b >&2; exit 3"]);
        let code = run.lines(|line| heard.push((line.to_owned(), start.elapsed()))).unwrap();
        assert_eq!(code, Some(3));
        let [(a, first), (b, second)] = &heard[..] else { panic!("{heard:?}") };
        assert_eq!((a.as_str(), b.as_str()), ("a", "b"));
        assert!(*second - *first > Duration::from_millis(500), "they came at once");
        let mut heard = 0;
        let hangs = Run::new("sh").args(["-c", "echo a; sleep 60"]).limit(1);
        assert!(hangs.lines(|_| heard += 1).unwrap_err().contains("did not end within 1 s"));
        assert_eq!(heard, 1);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn waiting_takes_no_time_of_the_processors_and_work_does() {
        let busy = Run::new("sh").args(["-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"]);
        assert!(busy.timed().unwrap() >= Duration::from_millis(20));
        assert!(time_of_ended().is_some());
    }

    #[test]
    fn a_failed_program_shows_what_it_said() {
        let sentence = Run::new("sh").args(["-c", "echo why >&2; exit 3"]).capture().unwrap_err();
        assert!(sentence.contains("exit code 3") && sentence.contains("why"), "{sentence}");
    }
}
