//! The report of a command: counts its checks and prints a summary.

use std::iter::Sum;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The numbers of passed and failed checks, a line about each failure, and notes for the summary.
#[derive(Default)]
pub struct Tally {
    pub passed: u32,
    pub failed: u32,
    failures: Vec<String>,
    notes: Vec<String>,
}

/// The outcome of a stage: its counts, or the sentence that says why it could not run.
pub type Outcome = Result<Tally, String>;

impl Tally {
    /// Creates a tally of one check.
    pub fn of(what: &str, outcome: Result<(), String>) -> Self {
        let mut tally = Self::default();
        tally.check(what, outcome);
        tally
    }

    /// Counts a check, and prints its sentence if it failed.
    pub fn check(&mut self, what: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => {
                println!("ok      {what}");
                self.passed += 1;
            }
            Err(sentence) => {
                println!("FAILED  {what}: {sentence}");
                self.failed += 1;
                self.failure(&format!("{what}: {sentence}"));
            }
        }
    }

    /// Keeps a line about a failure for the summary: the first line, and the cause that a compiler or a
    /// linker names.
    pub fn failure(&mut self, text: &str) {
        let mut lines = text.lines();
        let is_cause = |line: &&str| {
            ["error", "Diff in"].iter().any(|sign| line.starts_with(sign))
                || line.contains("undefined symbol")
        };
        if let Some(first) = lines.next() {
            let cause = lines.find(is_cause).map_or(String::new(), |line| format!(" {}", line.trim()));
            self.failures.push(format!("{first}{cause}"));
        }
    }

    /// Counts a measurement, with its sentence.
    pub fn measured(&mut self, place: &str, outcome: Result<String, String>) {
        let what = outcome.as_ref().map_or_else(|_| place.to_owned(), |said| format!("{place}: {said}"));
        self.check(&what, outcome.map(drop));
    }

    /// Adds the counts of another tally.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.failures.extend(other.failures);
        self.notes.extend(other.notes);
    }

    /// Says that something was left out; where `CI` is set that is an error.
    pub fn skip(&mut self, why: &str) -> Result<(), String> {
        self.note(format!("skipped: {why}"));
        if std::env::var_os("CI").is_some() { Err(why.to_owned()) } else { Ok(()) }
    }

    pub fn note(&mut self, note: String) {
        println!("        {note}");
        self.notes.push(note);
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |mut sum, tally| {
            sum.add(tally);
            sum
        })
    }
}

/// The stages that have run: name, counts and time of each.
pub struct Report {
    rows: Vec<(&'static str, Tally, Duration)>,
    start: Instant,
}

impl Report {
    pub fn new() -> Self {
        Self { rows: Vec::new(), start: Instant::now() }
    }

    /// Runs a stage below a header line and keeps its counts and its time. A stage that could not run counts
    /// as one failure.
    pub fn stage(&mut self, name: &'static str, about: &str, run: impl FnOnce() -> Outcome) {
        println!("\n=== {name}: {about}");
        let start = Instant::now();
        let tally = run().unwrap_or_else(|sentence| Tally::of(name, Err(sentence)));
        let time = start.elapsed();
        println!("--- {name}: {:.1} s", time.as_secs_f32());
        self.rows.push((name, tally, time));
    }

    /// Prints the summary. `again` is the command that runs one stage, without its name. The last line is
    /// the count of everything.
    pub fn print(self, again: &str) -> ExitCode {
        println!("\n=== summary");
        let mut sum = Tally::default();
        let (stages, seconds) = (self.rows.len(), self.start.elapsed().as_secs());
        for (name, tally, time) in self.rows {
            let Tally { passed, failed, failures, notes } = &tally;
            let (verdict, time) = (if *failed > 0 { "FAILED" } else { "ok" }, time.as_secs_f32());
            println!("{name:12}{verdict:8}{passed:6} passed{failed:5} failed{time:8.1} s");
            // The first failures; the others are above.
            failures.iter().take(5).for_each(|failure| println!("{:12}FAILED  {failure}", ""));
            notes.iter().for_each(|note| println!("{:12}{note}", ""));
            if *failed > 0 {
                println!("{:12}again: {again} {name}", "");
            }
            sum.add(tally);
        }
        let Tally { passed, failed, .. } = sum;
        let (minutes, seconds) = (seconds / 60, seconds % 60);
        println!("\nstages: {stages}, {minutes} min {seconds} s");
        println!("{passed} passed, {failed} failed");
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
