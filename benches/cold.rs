//! The first open of a process: no branch of it has been seen, no page of its code has been touched, and what it takes from the heap it takes inside the
//! clock. What is the caller's was touched before: the file, which is in memory, slots, the window but where it is to be new, and the clock.
//!
//! Each is done by a process of its own, which is this program again, and says how long it took. They take turns, and the median counts: here
//! it is the rule and not the exception that something is in the way.

use std::hint::black_box;
use std::process::Command;
use std::time::Duration;

use embedded_safetensors::{
    Model, ReadAt, View,
    validate::{SortSlot, Validator, validate},
};
use safetensors_0_8::SafeTensors;
use support::file::Stored;

use crate::cases::files::Temporary;
use crate::cases::headers::{Header, Model as Made};
use crate::cases::{Amount, Case, Measure};
use crate::clock::Start;

/// How many processes for each door.
const RUNS: usize = 61;

const WINDOW: usize = 4096;

/// With so many, names that occur twice are found in one pass: there is one for each name, and one more.
const SLOTS: usize = 1001;

/// Of so much memory the system gives a page when it is touched, and not before.
const UNTOUCHED: usize = 1 << 20;

/// What the first word says when a process is to open a file once.
const ASKED: &str = "--open-once";

/// What an open is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Door {
    Reference,
    View,
    /// Read where it lies.
    Model,
    /// As from a card, through a window.
    Window,
    /// The same, with a window whose memory nobody has touched.
    NewWindow,
    Validator,
    /// With names that occur twice.
    FullCheck,
}

impl Door {
    const OURS: [Self; 6] =
        [Self::View, Self::Model, Self::Window, Self::NewWindow, Self::Validator, Self::FullCheck];

    const fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::View => "view",
            Self::Model => "model",
            Self::Window => "model and window",
            Self::NewWindow => "model and new window",
            Self::Validator => "header check",
            Self::FullCheck => "full check",
        }
    }

    /// The door and the file, if that is what the words ask for.
    pub fn asked_for(words: &[String]) -> Option<(Self, &str)> {
        let [asked, name, path] = words else { return None };
        let mut doors = Self::OURS.into_iter().chain([Self::Reference]);
        let door = doors.find(|door| door.name() == name)?;
        (asked == ASKED).then_some((door, path))
    }

    /// How long it takes to open a file that is in memory.
    pub fn open(self, path: &str) -> Duration {
        let bytes = std::fs::read(path).expect("the file is there");
        // Each has what it needs and no more, for whatever is touched takes the place of something else in the caches.
        let (mut window, mut new) =
            ([0; WINDOW], vec![0; if self == Self::NewWindow { UNTOUCHED } else { 0 }]);
        let mut slots = vec![SortSlot::EMPTY; if self == Self::FullCheck { SLOTS } else { 0 }];
        let window = new.get_mut(..WINDOW).unwrap_or(&mut window);
        let (window, slots) = (black_box(window), black_box(&mut slots[..]));
        // The clock has a first time, too.
        black_box(Start::now().elapsed());
        let start = Start::now();
        self.open_in_memory(black_box(&bytes), window, slots);
        start.elapsed()
    }

    fn open_in_memory(self, bytes: &[u8], window: &mut [u8], slots: &mut [SortSlot]) {
        match self {
            Self::Reference => {
                black_box(SafeTensors::deserialize(bytes).expect("it is sound"));
            }
            Self::View => {
                black_box(View::parse(bytes).expect("it is sound"));
            }
            Self::Model => open(bytes, window),
            Self::Window | Self::NewWindow => open(Stored(bytes), window),
            Self::Validator => validate_header(bytes),
            Self::FullCheck => {
                black_box(validate(bytes, slots, &mut [0; 64]).expect("it is sound"));
            }
        }
    }
}

fn open(source: impl ReadAt<Error: std::fmt::Debug>, window: &mut [u8]) {
    black_box(Model::open(source, window).expect("it is sound"));
}

fn validate_header(bytes: &[u8]) {
    let mut check = Validator::new(Some(bytes.len() as u64), &mut []);
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
