//! The first open of a process: nothing is in the caches, no branch has been seen, no page of the program has been touched.
//!
//! Each is done by a process of its own, which is this program again, and says how long it took. They take turns, and the median counts: here
//! it is the rule and not the exception that something is in the way.

use std::hint::black_box;
use std::process::Command;
use std::time::Duration;

use embedded_safetensors::{HeaderCheck, Model, View};
use safetensors_0_8::SafeTensors;

use crate::cases::files::Temporary;
use crate::cases::headers::{Header, Model as Made};
use crate::cases::{Amount, Case, Measure};
use crate::clock::Start;

/// How many processes for each door.
const RUNS: usize = 61;

/// What the first word says when a process is to open a file once.
const ASKED: &str = "--open-once";

/// What an open is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Door {
    Reference,
    Check,
    View,
    Model,
}

impl Door {
    const OURS: [Self; 3] = [Self::Check, Self::View, Self::Model];

    const fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Check => "check",
            Self::View => "view",
            Self::Model => "model",
        }
    }

    /// The door and the file, if that is what the words ask for.
    pub fn asked_for(words: &[String]) -> Option<(Self, &str)> {
        let [asked, name, path] = words else { return None };
        let mut doors = [Self::Reference, Self::Check, Self::View, Self::Model].into_iter();
        let door = doors.find(|door| door.name() == name)?;
        (asked == ASKED).then_some((door, path))
    }

    /// How long it takes to open a file that is in memory.
    pub fn open(self, path: &str) -> Duration {
        let bytes = std::fs::read(path).expect("the file is there");
        // The window is the caller's, as the file is: both are there before.
        let mut window = [0; 4096];
        black_box(&mut window);
        // The clock has a first time, too.
        black_box(Start::now().elapsed());
        let start = Start::now();
        match self {
            Self::Reference => {
                black_box(SafeTensors::deserialize(black_box(&bytes)).expect("it is sound"));
            }
            Self::Check => check(black_box(&bytes)),
            Self::View => {
                black_box(View::parse(black_box(&bytes)).expect("it is sound"));
            }
            Self::Model => {
                black_box(Model::open(black_box(&bytes[..]), &mut window).expect("it is sound"));
            }
        }
        start.elapsed()
    }
}

fn check(bytes: &[u8]) {
    let mut check = HeaderCheck::new(Some(bytes.len() as u64), &mut []);
    assert!(check.push(&mut &*bytes).is_ok());
    black_box(check.summary().expect("it is complete"));
}

pub fn measure(measure: &impl Measure) {
    for header in [Header::Canonical, Header::Diverse] {
        for tensors in [1, 12, 100, 1000] {
            let name = |door: Door| format!("open cold, {}, {header}, {tensors} tensors", door.name());
            let doors: Vec<Door> =
                Door::OURS.into_iter().filter(|door| measure.wants(&name(*door))).collect();
            if doors.is_empty() {
                continue;
            }
            let times = medians(&doors, &Temporary::of(&Made::new(header, tensors)));
            for (door, ours) in doors.iter().zip(&times) {
                let case = Case { what: name(*door), amount: Amount::Tensors(tensors) };
                super::print(&case, &[("ours", *ours), ("reference", times[doors.len()])]);
            }
        }
    }
}

/// The medians of the doors, in nanoseconds, that of the reference last.
fn medians(doors: &[Door], file: &Temporary) -> Vec<f64> {
    let doors: Vec<Door> = doors.iter().copied().chain([Door::Reference]).collect();
    let mut times = vec![Vec::new(); doors.len()];
    for _ in 0..RUNS {
        for (door, times) in doors.iter().zip(&mut times) {
            times.push(in_a_process(*door, file));
        }
    }
    times.iter_mut().map(|times| median(times)).collect()
}

fn in_a_process(door: Door, file: &Temporary) -> u64 {
    let program = std::env::current_exe().expect("this program has a path");
    let output =
        Command::new(program).args([ASKED, door.name()]).arg(file.path()).output().expect("it can be run");
    let text = String::from_utf8(output.stdout).expect("it prints a number");
    text.trim().parse().expect("it prints a number")
}

fn median(times: &mut [u64]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2] as f64
}
