//! The tests, and which of them reach which change.

use crate::Fate;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// A test that takes longer is not used.
const LONGEST: Duration = Duration::from_secs(20);
/// The suite reads no long files, and a share of its slow cases. All its tests together take seconds.
const LEAN: [(&str, &str); 4] =
    [("SUITE_SHARE", "64"), ("SUITE_LONGEST", "20000"), ("RUST_BACKTRACE", "0"), ("TMPDIR", "/dev/shm")];

pub struct Test {
    program: PathBuf,
    name: String,
    time: Duration,
    reached: BTreeSet<usize>,
    /// How many changes it has noticed.
    noticed: AtomicU32,
}

/// Calls `run` with each number below `count`, as many at a time as there are processors, or `WORKERS`.
pub fn each<T: Send>(count: usize, run: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let asked = std::env::var("WORKERS").ok().and_then(|text| text.parse().ok());
    let workers = asked.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let (next, results) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        while let Some(number) = Some(next.fetch_add(1, Relaxed)).filter(|&number| number < count) {
            let result = run(number);
            results.lock().expect("no panics").insert(number, result);
        }
    };
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    results.into_inner().expect("no panics").into_values().collect()
}

/// Runs each test of these programs alone, without a change.
pub fn tests(programs: &[PathBuf], scratch: &Path) -> Vec<Test> {
    fs::create_dir_all(scratch).expect("created");
    let listed = |program: &PathBuf| {
        let output = Command::new(program).args(["--list", "--format", "terse"]).output().expect("started");
        let text = String::from_utf8(output.stdout).expect("names are texts");
        let name = |line: &str| Some((program.clone(), line.strip_suffix(": test")?.to_owned()));
        text.lines().filter_map(name).collect::<Vec<_>>()
    };
    let names: Vec<(PathBuf, String)> = programs.iter().flat_map(listed).collect();
    let tests = each(names.len(), |number| {
        let ((program, name), reached) = (&names[number], scratch.join(format!("{number}.reached")));
        File::create(&reached).expect("created");
        let start = Instant::now();
        let variable = ("REACHED", reached.to_string_lossy().into_owned());
        if run(program, &[name], &reached.with_extension("txt"), variable, LONGEST) != Fate::Survives {
            eprintln!("not used, because it fails or takes too long: {name}");
            return None;
        }
        let (time, noticed) = (start.elapsed(), AtomicU32::new(0));
        let text = fs::read_to_string(&reached).expect("written");
        let reached = text.lines().map(|line| line.parse().expect("a number")).collect();
        Some(Test { program: program.clone(), name: name.clone(), time, reached, noticed })
    });
    tests.into_iter().flatten().collect()
}

/// Runs the tests that reach a change: first a few that are short or have noticed many, then the others.
pub fn fate(change: usize, tests: &[Test], scratch: &Path) -> Fate {
    let mut tests: Vec<&Test> = tests.iter().filter(|test| test.reached.contains(&change)).collect();
    if tests.is_empty() {
        return Fate::NotReached;
    }
    tests.sort_by_key(|test| (test.time + Duration::from_millis(5)) / (1 + test.noticed.load(Relaxed)));
    let mut limit = Duration::from_millis(200);
    while !tests.is_empty() {
        let mut time = Duration::ZERO;
        let has_time = |test: &&&Test| {
            time += test.time;
            time <= limit
        };
        let count = tests.iter().take_while(has_time).count().max(1);
        let batch: Vec<&Test> = tests.drain(..count).collect();
        let programs: BTreeSet<&Path> = batch.iter().map(|test| &*test.program).collect();
        let fates = programs.iter().map(|program| batch_fate(change, program, &batch, scratch));
        if let Some(fate) = fates.into_iter().find(|fate| *fate != Fate::Survives) {
            return fate;
        }
        limit *= 5;
    }
    Fate::Survives
}

fn batch_fate(change: usize, program: &Path, batch: &[&Test], scratch: &Path) -> Fate {
    let tests: Vec<&&Test> = batch.iter().filter(|test| test.program == program).collect();
    let (time, names): (Vec<Duration>, Vec<&String>) =
        tests.iter().map(|test| (test.time, &test.name)).unzip();
    let output = scratch.join(format!("{change}.txt"));
    let fate =
        run(program, &names, &output, ("MUTANT", change.to_string()), 10 * time.iter().sum::<Duration>());
    let text = fs::read(&output).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let has_failed = |test: &Test| text.contains(&format!("test {} ... FAILED", test.name));
    for test in tests {
        test.noticed.fetch_add(has_failed(test).into(), Relaxed);
    }
    let _ = fs::remove_file(&output);
    fate
}

/// Runs tests in one process, up to the first that fails.
fn run(program: &Path, names: &[&String], output: &Path, variable: (&str, String), limit: Duration) -> Fate {
    let file = File::create(output).expect("created");
    let mut command = Command::new("sh");
    // A change may ask for memory without end.
    command.args(["-c", "ulimit -v 8000000; exec \"$@\"", "sh"]).arg(program);
    command.args(["-Zunstable-options", "--fail-fast", "--test-threads", "1", "--exact"]).args(names);
    command.envs(LEAN).env(variable.0, variable.1).stdin(Stdio::null());
    let mut child = command.stderr(Stdio::null()).stdout(file).spawn().expect("started");
    let end = Instant::now() + Duration::from_secs(2) + limit;
    loop {
        match child.try_wait().expect("waited") {
            Some(status) if status.success() => return Fate::Survives,
            Some(_) => return Fate::Noticed,
            None if Instant::now() < end => thread::sleep(Duration::from_millis(3)),
            None => {
                child.kill().and_then(|()| child.wait()).expect("killed");
                return Fate::Hangs;
            }
        }
    }
}
