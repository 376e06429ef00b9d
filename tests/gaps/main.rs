//! Finds what the tests miss.
//!
//! `coverage` lists the lines that no test runs. `mutants` makes changes in a copy of the core, one at a
//! time, and lists those that no test notices. All changes are in one build, behind switches.

mod change;
mod coverage;
mod tree;

use change::Change;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

/// The directories of which every change is made, and the share of the changes elsewhere: one in so many.
const ENTIRE: [&str; 5] = ["header", "validate", "query", "view", "reader"];
const ELSEWHERE: u64 = 10;
/// The suite reads no long files, and a share of its slow cases.
const LEAN: [(&str, &str); 3] = [("SUITE_SHARE", "32"), ("SUITE_LONGEST", "4000"), ("RUST_BACKTRACE", "0")];
/// Runs tests up to the first that fails. A change may ask for time and memory without end: `$0` is the limit
/// in seconds of a processor.
const RUN: &str = "ulimit -v 8000000; ulimit -t $0; \
    exec timeout 300 $1 -Zunstable-options --fail-fast --test-threads 1 $2 $3";
/// Parts of the names of tests that are never run, and of those that are run last.
const TOO_LONG: &str = " machine_reads_the_language processes on_disk buffer_size read_from::nor_ power weakest \
    random_dictionaries longest_header edited_models checkpoints vectors_lint requested_multiple very_many \
    large_powers";
const LONG: &str = " chunking streaming elements faults recording shards index writing::order";

fn main() {
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).expect("the repository");
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((command, [])) if command == "coverage" => coverage::run(),
        Some((command, chosen)) if command == "mutants" => mutants(chosen),
        _ => panic!("the first argument is `coverage` or `mutants`"),
    }
}

/// Makes the changes in the chosen directories and files; otherwise all of some directories, and a few
/// elsewhere.
fn mutants(chosen: &[String]) {
    let (changes, programs) = tree::build(&|change| match chosen {
        [] => ENTIRE.contains(&change.directory()) || change.lot().is_multiple_of(ELSEWHERE),
        chosen => chosen.iter().any(|chosen| chosen == change.directory() || *chosen == change.path),
    });
    assert!(!is_noticed("none", &programs), "the tests fail without a change");
    let (rest, sums) = (Mutex::new(changes.iter().enumerate()), Mutex::new(BTreeMap::new()));
    let work = || {
        while let Some((number, change)) = { rest.lock().expect("no panics").next() } {
            let is_noticed = is_noticed(&number.to_string(), &programs);
            let mut sums = sums.lock().expect("no panics");
            let [changes, noticed] = sums.entry(change.directory()).or_insert([0_u32; 2]);
            (*changes, *noticed) = (*changes + 1, *noticed + u32::from(is_noticed));
            if !is_noticed {
                println!("{}:{} {}", change.path, change.line, change.what);
            }
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    assert!(!is_noticed("none", &programs), "the tests fail without a change, by now");
    for (directory, [changes, noticed]) in sums.into_inner().expect("no panics") {
        let percent = 100.0 * f64::from(noticed) / f64::from(changes);
        println!("{directory:12}{changes:6} changes{noticed:6} noticed{percent:8.1} %");
    }
}

/// Runs the unit tests, and the suite in two parts, each with about four times the time that it needs.
fn is_noticed(number: &str, programs: &[PathBuf]) -> bool {
    // Runs that are stopped leave files.
    let place = PathBuf::from("/dev/shm").join(format!("mutant-{number}"));
    fs::create_dir_all(&place).expect("memory");
    let skipped = |names: &str| names.replace(' ', " --skip ");
    let parts = [(0, "4", String::new()), (1, "14", skipped(LONG)), (1, "25", LONG.to_owned())];
    let is_noticed = parts.into_iter().any(|(program, limit, names)| {
        let mut run = Command::new("sh");
        run.args(["-c", RUN, limit]).arg(&programs[program]).args([skipped(TOO_LONG), names]);
        run.envs(LEAN).env("TMPDIR", &place).env("MUTANT", number);
        run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        !run.status().expect("sh").success()
    });
    fs::remove_dir_all(place).expect("its own");
    is_noticed
}

impl Change {
    fn directory(&self) -> &str {
        self.path.split_once('/').map_or("(root)", |(directory, _)| directory)
    }

    /// Returns a number that looks random, but only depends on the change.
    fn lot(&self) -> u64 {
        let text = format!("{}:{}:{}", self.path, self.line, self.what);
        let mix = |lot: u64, byte| (lot ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        text.bytes().fold(0xcbf2_9ce4_8422_2325, mix) >> 8
    }
}
