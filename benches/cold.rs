//! Measures the first open in a process: no branch has been predicted, no page of code touched, and heap
//! memory is allocated inside the measured time. The caller's memory was touched before: the file, which is
//! in memory, the slots, the window (except for a new window), and the clock.
//!
//! Each open runs in its own process, which is this program again and prints the time. The processes take
//! turns, and the median counts, because here disturbances are the rule.

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

/// The number of processes for each API.
const RUNS: usize = 61;

const WINDOW: usize = 4096;

/// Enough slots to find duplicate names in one pass: one for each name, and one more.
const SLOTS: usize = 1001;

/// An allocation so large that the system provides each page only when it is touched.
const UNTOUCHED: usize = 1 << 20;

/// The first argument of a process that opens a file once.
const OPEN_ONCE: &str = "--open-once";

/// An API that opens or validates a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Api {
    Reference,
    View,
    /// Reads the header in place.
    Model,
    /// Reads through a window, as from a card.
    Window,
    /// The same, with a window in memory that was never touched.
    NewWindow,
    Validator,
    /// Including duplicate names.
    FullCheck,
}

impl Api {
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

    /// Parses the arguments of a process that opens a file once.
    pub fn from_words(words: &[String]) -> Option<(Self, &str)> {
        let [first, name, path] = words else { return None };
        let mut apis = Self::OURS.into_iter().chain([Self::Reference]);
        let api = apis.find(|api| api.name() == name)?;
        (first == OPEN_ONCE).then_some((api, path))
    }

    /// Returns the time to open a file that is in memory.
    pub fn open(self, path: &str) -> Duration {
        let bytes = std::fs::read(path).expect("readable file");
        // Each API gets only the memory that it needs, because touching more would displace other data from
        // the caches.
        let (mut window, mut new) =
            ([0; WINDOW], vec![0; if self == Self::NewWindow { UNTOUCHED } else { 0 }]);
        let mut slots = vec![SortSlot::EMPTY; if self == Self::FullCheck { SLOTS } else { 0 }];
        let window = new.get_mut(..WINDOW).unwrap_or(&mut window);
        let (window, slots) = (black_box(window), black_box(&mut slots[..]));
        // The first use of the clock must not be measured either.
        black_box(Start::now().elapsed());
        let start = Start::now();
        self.open_in_memory(black_box(&bytes), window, slots);
        start.elapsed()
    }

    fn open_in_memory(self, bytes: &[u8], window: &mut [u8], slots: &mut [SortSlot]) {
        match self {
            Self::Reference => {
                black_box(SafeTensors::deserialize(bytes).expect("valid file"));
            }
            Self::View => {
                black_box(View::parse(bytes).expect("valid file"));
            }
            Self::Model => open(bytes, window),
            Self::Window | Self::NewWindow => open(Stored(bytes), window),
            Self::Validator => validate_header(bytes),
            Self::FullCheck => {
                black_box(validate(bytes, slots, &mut [0; 64]).expect("valid file"));
            }
        }
    }
}

fn open(source: impl ReadAt<Error: std::fmt::Debug>, window: &mut [u8]) {
    black_box(Model::open(source, window).expect("valid file"));
}

fn validate_header(bytes: &[u8]) {
    let mut check = Validator::new(Some(bytes.len() as u64), &mut []);
    assert!(check.push(&mut &*bytes).is_ok());
    black_box(check.summary().expect("complete"));
}

pub fn measure(measure: &impl Measure) {
    for header in [Header::Canonical, Header::Diverse] {
        for tensors in [1, 12, 100, 1000] {
            let name = |api: Api| format!("open cold, {}, {header}, {tensors} tensors", api.name());
            let apis: Vec<Api> = Api::OURS.into_iter().filter(|api| measure.wants(&name(*api))).collect();
            if apis.is_empty() {
                continue;
            }
            let times = medians(&apis, &Temporary::of(&Made::new(header, tensors)));
            for (api, ours) in apis.iter().zip(&times) {
                let case = Case { what: name(*api), amount: Amount::Tensors(tensors) };
                super::print(&case, &[("ours", *ours), ("reference", times[apis.len()])]);
            }
        }
    }
}

/// Returns the medians of the APIs in nanoseconds, the reference's last.
fn medians(apis: &[Api], file: &Temporary) -> Vec<f64> {
    let apis: Vec<Api> = apis.iter().copied().chain([Api::Reference]).collect();
    let mut times = vec![Vec::new(); apis.len()];
    for _ in 0..RUNS {
        for (api, times) in apis.iter().zip(&mut times) {
            times.push(in_a_process(*api, file));
        }
    }
    times.iter_mut().map(|times| median(times)).collect()
}

fn in_a_process(api: Api, file: &Temporary) -> u64 {
    let program = std::env::current_exe().expect("path of this program");
    let output =
        Command::new(program).args([OPEN_ONCE, api.name()]).arg(file.path()).output().expect("started");
    let text = String::from_utf8(output.stdout).expect("a number");
    text.trim().parse().expect("a number")
}

fn median(times: &mut [u64]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2] as f64
}
