//! Running other programs: never with our standard input, never without a time limit, and never longer than we run.
//!
//! Cargo's target probe compiles standard input: were ours inherited and not empty, the probe would
//! fail, and cargo would remember the failure.

use crate::report::Tally;
use crate::workspace;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a cold release build of everything on a slow machine.
const DEFAULT_LIMIT: Duration = Duration::from_secs(20 * 60);
/// How long an installer may take to end in good order.
const LAST_STEP: Duration = Duration::from_secs(5 * 60);

/// What the cargo that runs us sets for us alone, by the beginnings of the names.
const OURS_ALONE: [&str; 6] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_", "LD_LIBRARY_PATH"];

/// Failures of the machine, known by a part of the output: one sentence in place of pages.
const OUTSIDE: [(&str, &str); 6] = [
    ("No space left on device", "there is no room left on the disk"),
    ("Could not resolve host", "there is no network, and not all that it needs is here"),
    ("Temporary failure in name resolution", "there is no network, and not all that it needs is here"),
    ("Network is unreachable", "there is no network, and not all that it needs is here"),
    ("Failed to establish a new connection", "there is no network, and not all that it needs is here"),
    ("Could not connect to server", "there is no network, and not all that it needs is here"),
];

/// Whether standard output is for one object alone.
static STDOUT_IS_JSON: AtomicBool = AtomicBool::new(false);

/// From now on, what is set up says what it does on standard error: standard output is for what was asked for.
pub fn keep_stdout() {
    STDOUT_IS_JSON.store(true, Ordering::Relaxed);
}

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
        Self { command, limit: DEFAULT_LIMIT, gently: false }.without(&OURS_ALONE)
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

    /// After Ctrl-C it may finish the step it is at: an installer would leave it half done.
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

    /// Runs with our own output; anything but exit code 0 is an error.
    pub fn check(mut self) -> Result<(), String> {
        if STDOUT_IS_JSON.load(Ordering::Relaxed) {
            eprintln!("$ {}", self.words());
            self.command.stdout(io::stderr());
        } else {
            println!("$ {}", self.words());
        }
        let status = self.run(|_, _| ())?;
        self.judge(status)
    }

    /// Runs silently and gives what was printed; anything but exit code 0 is an error that shows it.
    pub fn capture(self) -> Result<Output, String> {
        let words = self.short();
        let output = self.output()?;
        match output.status.code() {
            Some(0) => Ok(output),
            code => {
                let said = everything(&output);
                let why = match OUTSIDE.iter().find(|(sign, _)| said.contains(sign)) {
                    Some((_, why)) => (*why).to_owned(),
                    None => format!("{}:\n{said}", exit(code)),
                };
                Err(format!("`{words}` failed: {why}"))
            }
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
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let status = self.run(|stream, line| match stream {
            Stream::Out => stdout.extend(line),
            Stream::Err => stderr.extend(line),
        });
        match status {
            Ok(status) => Ok(Output { status, stdout, stderr }),
            // It was stopped; what it has said until then may tell why it hung.
            Err(sentence) => {
                let said = [stdout, stderr].concat();
                Err(format!("{sentence}\n{}", String::from_utf8_lossy(&said)).trim_end().to_owned())
            }
        }
    }

    /// Runs and hands over every line as it comes, of standard output and standard error alike; gives the exit code, if it
    /// was not killed by a signal.
    pub fn lines(mut self, mut hear: impl FnMut(&str)) -> Result<Option<i32>, String> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let status =
            self.run(|_, line| hear(String::from_utf8_lossy(line).trim_end_matches(['\r', '\n'])))?;
        Ok(status.code())
    }

    /// Runs a `cargo test`, shows its output and counts its tests. A run that fails without a failed test (it did not compile, it
    /// crashed, it hung) counts as one failure; so does one that has no test at all.
    pub fn tests(mut self) -> Result<Tally, String> {
        println!("$ {}", self.words());
        self.command.stdout(Stdio::piped());
        let mut tally = Tally::default();
        let ended = self.run(|_, line| {
            let line = String::from_utf8_lossy(line);
            print!("{line}");
            tally.passed += number_before(&line, " passed;");
            tally.failed += number_before(&line, " failed;");
            // Above what a failed test has said.
            if let Some(name) =
                line.strip_prefix("---- ").and_then(|rest| rest.trim_end().strip_suffix(" stdout ----"))
            {
                tally.fault(name);
            }
        });
        match ended.and_then(|status| self.judge(status)) {
            Err(sentence) if tally.failed == 0 => tally.check("cargo test", Err(sentence)),
            Err(sentence) => println!("        {sentence}"),
            Ok(()) if tally.passed + tally.failed == 0 => {
                tally.check("cargo test", Err("no test was run".to_owned()));
            }
            Ok(()) => {}
        }
        Ok(tally)
    }

    /// Runs, and hands over the lines of what is piped, with their ends.
    fn run(&mut self, mut hear: impl FnMut(Stream, &[u8])) -> Result<ExitStatus, String> {
        let end = Instant::now() + self.limit;
        let words = self.short();
        let failed = |error| format!("cannot run `{words}`: {error}");
        let too_slow = || format!("`{words}` did not end within {} s", self.limit.as_secs());
        let mut program = Program::start(&mut self.command, self.gently).map_err(failed)?;
        let (sender, lines) = mpsc::channel();
        send_lines(program.child.stdout.take(), Stream::Out, sender.clone());
        send_lines(program.child.stderr.take(), Stream::Err, sender);
        // A pipe may be open longer than the program runs: whatever it started has it too.
        loop {
            match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok((stream, line)) if Instant::now() < end => hear(stream, &line),
                Err(RecvTimeoutError::Disconnected) => break,
                Ok(_) | Err(RecvTimeoutError::Timeout) => return Err(too_slow()),
            }
        }
        program.wait(end).map_err(failed)?.ok_or_else(too_slow)
    }

    fn judge(&self, status: ExitStatus) -> Result<(), String> {
        match status.code() {
            Some(0) => Ok(()),
            code => Err(format!("`{}` failed: {}", self.short(), exit(code))),
        }
    }

    /// As many of its words as tell it from others in a sentence.
    fn short(&self) -> String {
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

/// Sends the lines of a pipe, from a thread of its own: a program that waits for us to read one pipe must not wait for another.
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

/// A running program in a process group of its own, so that one signal reaches whatever it starts. Dropped before it has
/// ended, it ends with all of that.
struct Program {
    child: Child,
    has_ended: bool,
}

/// The groups that run, and whether they are to be ended gently. While the lock is held, none starts or ends.
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

    /// Nothing when the time is up before it ends. What it leaves running may go on.
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
            // Gone already or not: afterwards it is.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        running().retain(|(id, _)| *id != self.child.id());
    }
}

/// From now on Ctrl-C, and any other wish that we end, ends all that we have started, too: it is in groups of its own, which
/// the terminal's signal does not reach.
pub fn end_all_when_interrupted() -> Result<(), String> {
    let end = || {
        // The lock is never released: nothing is started any more.
        let running = running();
        running.iter().filter(|(_, gently)| !gently).for_each(|(id, _)| kill(*id));
        running.iter().filter(|(_, gently)| *gently).for_each(|(id, _)| ask_to_end(*id));
        eprintln!("xtask: interrupted; all that it had started has been ended");
        std::process::exit(130);
    };
    ctrlc::set_handler(end).map_err(|error| format!("cannot wait for Ctrl-C: {error}"))
}

#[cfg(unix)]
fn kill(group: u32) {
    use rustix::process::{Signal, kill_process_group};
    // A group that is gone needs no signal.
    let _ = pid(group).map(|group| kill_process_group(group, Signal::KILL));
}

/// Tells a program alone what Ctrl-C would, and waits: apt ends what it downloads, and finishes what it installs.
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

/// Elsewhere there are no groups, and the terminal's signal reaches everything.
#[cfg(not(unix))]
fn kill(_: u32) {}

#[cfg(not(unix))]
fn ask_to_end(_: u32) {}

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

/// The number in front of `word` on a `test result:` line, 0 on any other.
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
    fn counts_tests_and_a_run_that_fails_without_one() {
        let count = |script: &str| shell(script).tests().map(|tally| (tally.passed, tally.failed));
        let results = "echo 'test result: FAILED. 12 passed; 3 failed; 0 ignored'; echo 'test result: ok. 5 passed; 0 failed;'";
        assert_eq!(count(&format!("{results}; exit 101")), Ok((17, 3)));
        assert_eq!(count("exit 101"), Ok((0, 1)));
    }

    #[test]
    fn whatever_hangs_or_keeps_output_open_or_never_stops_talking_is_ended() {
        let start = Instant::now();
        for script in ["exec sleep 60", "sleep 60 & wait", "sleep 60 &", "yes"] {
            let sentence = shell(script).limit(1).output().unwrap_err();
            assert!(sentence.contains("did not end within 1 s"), "{sentence}");
        }
        assert_eq!(shell("sleep 60 & wait").limit(1).tests().unwrap().failed, 1);
        assert!(start.elapsed() < Duration::from_secs(30), "it waited for a grandchild");
    }

    #[test]
    fn lines_come_while_a_program_runs_and_from_both_its_outputs() {
        let (start, mut heard) = (Instant::now(), Vec::new());
        let run = shell("echo a; sleep 1; echo b >&2; exit 3");
        let code = run.lines(|line| heard.push((line.to_owned(), start.elapsed()))).unwrap();
        assert_eq!(code, Some(3));
        let [(a, first), (b, second)] = &heard[..] else { panic!("{heard:?}") };
        assert_eq!((a.as_str(), b.as_str()), ("a", "b"));
        assert!(*second - *first > Duration::from_millis(500), "they came at once");
    }

    #[test]
    fn what_lies_outside_is_said_in_one_sentence() {
        for (sign, due) in OUTSIDE {
            let sentence =
                shell(&format!("echo page; echo 'error: {sign} (28)'; exit 1")).capture().unwrap_err();
            assert!(sentence.ends_with(&format!("failed: {due}")), "{sentence}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn work_takes_time_of_the_processors() {
        let busy = shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done");
        assert!(busy.timed().unwrap() >= Duration::from_millis(20) && time_of_ended().is_some());
    }

    #[test]
    fn what_a_program_said_is_kept_apart_and_shown_when_it_failed() {
        let sentence = shell("echo why >&2; exit 3").capture().unwrap_err();
        assert!(sentence.contains("exit code 3") && sentence.contains("why"), "{sentence}");
        let output = shell("printf 'a\\r\\n\\nb'; echo c >&2").output().unwrap();
        assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"a\r\n\nb"[..], &b"c\n"[..]));
    }
}
