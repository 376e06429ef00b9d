//! What the stages of a command found, counted and summed up honestly.

use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How many checks passed and failed, and the figures worth a line in the summary.
#[derive(Default)]
pub struct Tally {
    pub passed: u32,
    pub failed: u32,
    pub notes: Vec<String>,
}

impl Tally {
    /// Counts one check; prints its sentence when it failed.
    pub fn check(&mut self, what: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => {
                println!("ok      {what}");
                self.passed += 1;
            }
            Err(sentence) => {
                println!("FAILED  {what}: {sentence}");
                self.failed += 1;
            }
        }
    }

    pub fn note(&mut self, note: String) {
        println!("        {note}");
        self.notes.push(note);
    }

    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.notes.extend(other.notes);
    }
}

/// What a stage ends with: its counts, or the sentence that says why it could not be run.
pub type Outcome = Result<Tally, String>;

struct Row {
    name: &'static str,
    tally: Tally,
    broken: Option<String>,
    time: Duration,
}

impl Row {
    fn failed(&self) -> bool {
        self.broken.is_some() || self.tally.failed > 0
    }

    fn print(&self) {
        let verdict = if self.failed() { "FAILED" } else { "ok" };
        let Tally { passed, failed, .. } = self.tally;
        let seconds = self.time.as_secs_f32();
        println!("{:12}{verdict:8}{passed:6} passed{failed:5} failed{seconds:8.1} s", self.name);
    }

    fn print_remarks(&self) {
        for remark in self.tally.notes.iter().chain(&self.broken) {
            println!("{:12}{remark}", "");
        }
    }
}

/// The stages that were run so far.
pub struct Report {
    rows: Vec<Row>,
    start: Instant,
}

impl Report {
    pub fn new() -> Self {
        Self { rows: Vec::new(), start: Instant::now() }
    }

    /// Runs one stage below a header line and keeps what it found.
    pub fn stage(&mut self, name: &'static str, about: &str, run: fn() -> Outcome) {
        println!("\n=== {name}: {about}");
        let start = Instant::now();
        let (tally, broken) = match run() {
            Ok(tally) => (tally, None),
            Err(sentence) => (Tally::default(), Some(sentence)),
        };
        let row = Row { name, tally, broken, time: start.elapsed() };
        if let Some(sentence) = &row.broken {
            println!("FAILED  {sentence}");
        }
        println!("--- {name}: {:.1} s", row.time.as_secs_f32());
        self.rows.push(row);
    }

    /// Prints the summary, its last line being the count of everything.
    pub fn print(self) -> ExitCode {
        println!("\n=== summary");
        for row in &self.rows {
            row.print();
            row.print_remarks();
        }
        let (passed, failed) = self.totals();
        println!("\n{passed} passed, {failed} failed ({} stages, {})", self.rows.len(), self.wall_time());
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// A stage that could not be run counts as one failure.
    fn totals(&self) -> (u32, u32) {
        let passed = self.rows.iter().map(|row| row.tally.passed).sum();
        let failed = self.rows.iter().map(|row| row.tally.failed + u32::from(row.broken.is_some())).sum();
        (passed, failed)
    }

    fn wall_time(&self) -> String {
        let seconds = self.start.elapsed().as_secs();
        format!("{} min {} s", seconds / 60, seconds % 60)
    }
}
