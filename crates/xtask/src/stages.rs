//! The stages of `cargo xtask test`: rows of argument lists.

use crate::generate;
use crate::machine::Need;
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::{BARE_TARGETS, own_cargo};
use crate::workers::side_by_side;
use crate::workspace::in_memory;
use crate::{boards, c, linking, lint, measure, python, release};
use std::thread::available_parallelism;

/// A stage: a name, a line about it, what it needs, and its steps.
pub struct Stage {
    pub name: &'static str,
    pub about: &'static str,
    needs: &'static [Need],
    steps: &'static [Step],
}

/// A step of a stage. Texts are the words of a cargo, from the root of the repository.
enum Step {
    /// Passes if clippy has no warnings.
    Clippy(&'static str),
    /// Passes if `.cargo/deny.toml` allows the licences and the sources of all that is compiled.
    Deny(&'static str),
    /// A `cargo test`, whose tests are counted, with a share of the slow cases.
    Share(&'static str),
    /// The same with all cases.
    Tests(&'static str),
    /// The same with the bounds of a proof, and with what it prints.
    Proofs(&'static [&'static str]),
    /// The tests of the suite in which the machine matters, always with the same small share of the slow
    /// cases, on a target that `.cargo/config.toml` has a runner for.
    Emulated(&'static str),
    Call(fn() -> Outcome),
}

use Step::{Call, Clippy, Deny, Emulated, Proofs, Share, Tests};

impl Stage {
    const fn needs(self, needs: &'static [Need]) -> Self {
        Self { needs, ..self }
    }

    const fn steps(self, steps: &'static [Step]) -> Self {
        Self { steps, ..self }
    }

    /// Sets up all needs; the error has a sentence for each that is missing.
    pub fn set_up(&self) -> Result<(), String> {
        let missing: Vec<_> = self.needs.iter().filter_map(|need| need.set_up().err()).collect();
        if missing.is_empty() { Ok(()) } else { Err(missing.join("; ")) }
    }

    /// Runs all steps side by side: while one waits, another uses the processor. Cargo makes builds in one
    /// directory wait. Its needs must be set up.
    pub fn run(&self) -> Outcome {
        let outcomes = side_by_side(self.steps, Step::run).into_iter();
        Ok(outcomes.map(|outcome| outcome.unwrap_or_else(|why| Tally::of(self.name, Err(why)))).sum())
    }
}

impl Step {
    fn run(&self) -> Outcome {
        match *self {
            Clippy(words) => {
                let clippy = own_cargo().words("clippy --locked --quiet --all-targets").words(words);
                Ok(Tally::of(words, clippy.args(["--", "-D", "warnings"]).check()))
            }
            Deny(words) => {
                let deny = own_cargo().words("deny --locked --config .cargo/deny.toml").words(words);
                Ok(Tally::of(words, deny.words("check licenses bans sources").check()))
            }
            Share(words) => with_seed(test(words)).env("SUITE_SHARE", "8").tests(),
            Tests(words) => with_seed(test(words)).tests(),
            Proofs(words) => test(&words.join(" ")).env("PROVE", "1").args(["--", "--nocapture"]).tests(),
            Emulated(target) => {
                let suite = test("--package verification --test suite --target").args([target, "--"]);
                suite.words(EMULATED).env("SUITE_SHARE", "100").env("SUITE_LONGEST", "1000000").tests()
            }
            Call(run) => run(),
        }
    }
}

/// Runs one test more at a time than there are cores, because some tests wait for servers or programs.
fn test(words: &str) -> Run {
    let more = available_parallelism().map_or(1, usize::from) + 1;
    let threads = std::env::var("RUST_TEST_THREADS").unwrap_or_else(|_| more.to_string());
    let run = own_cargo().args(["test", "--locked", "--quiet", "--no-fail-fast"]).words(words);
    in_memory(run.env("RUST_TEST_THREADS", threads))
}

/// Sets a seed for random files and shares: different for each commit, the same for the same commit.
fn with_seed(run: Run) -> Run {
    let commit = Run::new("git").args(["rev-parse", "HEAD"]).stdout();
    let seed = commit.ok().and_then(|commit| u64::from_str_radix(commit.get(..12)?, 16).ok());
    seed.into_iter().fold(run, |run, seed| run.env("SUITE_SEED", seed.to_string()))
}

/// Measures the memory of the command, and of programs that read through the library.
fn memory() -> Outcome {
    let command = python::tested_command()?;
    let words = "run --locked --quiet --package safetensors-host --features chips --example memory";
    Ok(Tally::of(words, own_cargo().words(words).env("SAFETENSORS_BIN", command).check()))
}

/// Steps with these words share one build, because they ask for the same features.
const LIBRARIES_AND_COMMAND: &str = "--workspace --exclude xtask --exclude verification --exclude support \
    --features embedded-safetensors/defmt";

/// The tests in which the order of bytes matters, without those of panics, which end WebAssembly, and of the
/// sizes of futures.
const EMULATED: &str = "asynch:: conformance:: elements:: faults::custom index:: integrity:: quant:: reading:: \
    receiver:: slicing:: values:: view:: writing:: --skip build_errors --skip lookups::duplicate \
    --skip futures_are_small";

const fn stage(name: &'static str, about: &'static str) -> Stage {
    Stage { name, about, needs: &[], steps: &[] }
}

/// Sets up what a stage needs.
pub fn set_up(name: &str) -> Result<(), String> {
    stages().filter(|stage| stage.name == name).try_for_each(Stage::set_up)
}

/// Returns all stages in the order in which they run.
pub fn stages() -> impl Iterator<Item = &'static Stage> {
    QUICK.iter().chain(&FULL)
}

/// The stages that run with every change, in minutes.
pub const QUICK: [Stage; 4] = [
    stage("format", "every file is formatted by rustfmt")
        .needs(&[Need::Component("rustfmt", "fmt")])
        .steps(&[Call(lint::format)]),
    stage("clippy", "no warnings in the workspace")
        .needs(&[Need::Component("clippy", "clippy")])
        .steps(&[Clippy("--workspace")]),
    stage("api", "the documentation of the libraries builds; their public API is what tests/api says")
        .steps(&[Call(|| generate::check("api"))]),
    stage("workspace", "its tests, with a share of the slow cases; the core's features for microcontrollers")
        .steps(&[
            Share(LIBRARIES_AND_COMMAND),
            Share("--package xtask"),
            Call(lint::features_of_core),
            Share("--package verification"),
        ]),
];

/// The stages that also run with `--full`: what else guards a promise.
pub const FULL: [Stage; 13] = [
    stage("lints", "no warnings with other features, in firmware, C and Python; licences and sources")
        .needs(&[
            Need::Targets(&["wasm32-unknown-unknown"]),
            Need::Component("clippy", "clippy"), Need::CargoProgram("cargo-deny", "cargo-deny@0.20.2")])
        .steps(&[
            Call(lint::firmware),
            Deny("--workspace"),
            Deny("--manifest-path crates/safetensors-python/Cargo.toml"),
            Deny("--manifest-path crates/safetensors-c/Cargo.toml"),
            Clippy("-p verification --features std,oracle,bench"),
            Clippy("-p embedded-safetensors --all-features"),
            Call(lint::other_libraries),
        ]),
    stage("ports", "the libraries on Windows, macOS and other microcontrollers, and with the oldest Rust")
        .needs(&[Need::Targets(&lint::PORTS), Need::Rust(lint::OLDEST)])
        .steps(&[Call(lint::ports)]),
    stage("std", "the entire suite, optimised, with `std` beside the reference")
        .steps(&[Tests("--profile suite --package verification --test suite --features std,oracle")]),
    stage("machines", "the suite with 32-bit pointers, and a part big-endian and in WebAssembly")
        .needs(&[
            Need::Targets(&["i686-unknown-linux-gnu", "s390x-unknown-linux-gnu", "wasm32-wasip1"]),
            lint::LINKS_32_BITS,
            Need::Works(
                "s390x-linux-gnu-gcc -shared -x c /dev/null -o /dev/null",
                &["gcc-s390x-linux-gnu", "libc6-dev-s390x-cross"],
            ),
            Need::Program("qemu-s390x-static", "qemu-user-static"),
            Need::Program("node", "nodejs"),
        ])
        .steps(&[
            Share(
                "--profile suite --package verification --test suite --features std \
                 --target i686-unknown-linux-gnu --config profile.suite.debug-assertions=true \
                 --config profile.suite.overflow-checks=true",
            ),
            Emulated("s390x-unknown-linux-gnu"),
            Emulated("wasm32-wasip1"),
        ]),
    stage("command", "`decode` of every vector; `fit` and `flash` with probe-rs; the build that later stages run").steps(&[
        Tests(
            "--package safetensors-host --features chips --lib --test command -- chips:: fit:: flash:: \
             every_command:: every_vector::decode completions:: pages:: --skip kill",
        ),
        Call(|| Ok(Tally::of("the command of the tests builds", python::tested_command().map(drop)))),
    ]),
    stage("prove", "no panic symbol; a second grammar; theorems about the layout; interrupted updates")
        .needs(&[Need::Targets(&BARE_TARGETS), Need::Program("z3", "z3")])
        .steps(&[
            Proofs(&[LIBRARIES_AND_COMMAND, "--lib proof"]),
            Proofs(&["--profile suite --package safetensors-slots"]),
            Call(linking::no_panic),
        ]),
    stage("costs", "limits of flash, RAM, stack, instructions and memory; the page with the figures")
        .needs(&[Need::Program("valgrind", "valgrind"), Need::Group(&c::BOARDS)])
        .steps(&[Call(|| measure::costs(false)), Call(memory)]),
    stage("boards", "boards do what their manifests say: digits, vectors, bad storage, wrong models, faults")
        .needs(&[Need::Boards])
        .steps(&[Call(boards::all)]),
    stage("c", "the C API with sanitizers, all standards, 32-bit pointers, CMake and on boards")
        .needs(&c::NEEDS)
        .steps(&[Call(c::all)]),
    stage("python", "the Python package, and what it and the command must agree with")
        .needs(&python::NEEDS)
        .steps(&[Call(|| python::pytest("main"))]),
    stage("frameworks", "PyTorch: files, scanners, the reference's Python tests; TensorFlow: checkpoints, arrays")
        .needs(&[Need::Python("torch"), Need::Python("tensorflow")])
        .steps(&[Call(|| python::pytest("torch")), Call(|| python::pytest("tensorflow"))]),
    stage("generated", "committed files are what their generators write")
        .needs(&[Need::Python("main")])
        .steps(&[Call(generate::check_all)]),
    stage(
        "packages",
        "projects build from the packages of the crates; the vectors in Node and Chromium; links of the guide",
    )
    .needs(release::NEEDS)
    .steps(&[Call(release::stage)]),
];
