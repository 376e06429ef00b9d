//! Running other programs: never with our standard input, never without a time limit.
//!
//! Cargo's target probe compiles standard input: were ours inherited and not empty, the probe would
//! fail, and cargo would remember the failure.

use crate::report::Tally;
use crate::workspace;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a cold release build of everything on a slow machine.
const DEFAULT_LIMIT: Duration = Duration::from_secs(20 * 60);

/// What the cargo that runs us sets for us alone, by the beginnings of the names.
const OURS_ALONE: [&str; 6] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_", "LD_LIBRARY_PATH"];

/// A program about to be run from the root of the repository.
pub struct Run {
    command: Command,
    limit: Duration,
}

impl Run {
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).current_dir(workspace::root());
        Self { command, limit: DEFAULT_LIMIT }.without(&OURS_ALONE)
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
        println!("$ {}", self.words());
        let child = self.start()?;
        self.finish(child).map(drop)
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

    /// Runs silently and gives exit status and what was printed.
    pub fn output(mut self) -> Result<Output, String> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.start()?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        thread::scope(|scope| {
            let stdout = scope.spawn(|| drain(stdout));
            let stderr = scope.spawn(|| drain(stderr));
            let status = self.wait(&mut child)?;
            let collected = |reader: thread::ScopedJoinHandle<'_, Vec<u8>>| {
                reader.join().map_err(|_| "a reader of a program's output panicked".to_owned())
            };
            Ok(Output { status, stdout: collected(stdout)?, stderr: collected(stderr)? })
        })
    }

    /// Runs a `cargo test`, shows its output and counts its tests. A run that fails without a failed
    /// test (it did not compile, it crashed) counts as one failure.
    pub fn tests(mut self) -> Result<Tally, String> {
        println!("$ {}", self.words());
        self.command.stdout(Stdio::piped());
        let mut child = self.start()?;
        let mut tally = count_tests(child.stdout.take());
        if let Err(sentence) = self.finish(child)
            && tally.failed == 0
        {
            tally.check("cargo test", Err(sentence));
        }
        Ok(tally)
    }

    fn start(&mut self) -> Result<Child, String> {
        let words = self.words();
        self.command.spawn().map_err(|error| format!("cannot run `{words}`: {error}"))
    }

    fn finish(&self, mut child: Child) -> Result<(), String> {
        match self.wait(&mut child)?.code() {
            Some(0) => Ok(()),
            code => Err(format!("`{}` failed ({})", self.words(), exit(code))),
        }
    }

    fn wait(&self, child: &mut Child) -> Result<std::process::ExitStatus, String> {
        let start = Instant::now();
        while start.elapsed() < self.limit {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => thread::sleep(Duration::from_millis(10)),
                Err(error) => return Err(format!("cannot wait for `{}`: {error}", self.words())),
            }
        }
        // Already ended or not: either way it is gone now.
        let _ = child.kill();
        let _ = child.wait();
        Err(format!("`{}` did not end within {} s", self.words(), self.limit.as_secs()))
    }

    fn words(&self) -> String {
        let program = Path::new(self.command.get_program()).file_name().unwrap_or_default();
        let words = [program].into_iter().chain(self.command.get_args());
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }
}

/// Standard output and standard error of a finished program, as text.
pub fn everything(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

fn exit(code: Option<i32>) -> String {
    code.map_or("killed by a signal".to_owned(), |code| format!("exit code {code}"))
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

    #[test]
    fn a_failed_program_shows_what_it_said() {
        let sentence = Run::new("sh").args(["-c", "echo why >&2; exit 3"]).capture().unwrap_err();
        assert!(sentence.contains("exit code 3") && sentence.contains("why"), "{sentence}");
    }
}
