//! Builds the programs of `firmware/measure`, and runs them under QEMU.

use super::models::{Model, models, quantised};
use super::{Figures, REFERENCE};
use crate::elf::Elf;
use crate::process::{Run, everything};
use crate::report::{Outcome, Tally};
use crate::toolchain::Toolchain;
use crate::workers::side_by_side;
use crate::{c, workspace};
use std::path::PathBuf;

/// Parts of symbol names that occur only with panics, text formatting or unwinding.
pub const UNWANTED: [&str; 3] = ["panic", "4core3fmt", "unwind"];

const FLASH: [&str; 3] = [".text", ".rodata", ".data"];
const STATIC: [&str; 2] = [".data", ".bss"];

/// The programs without a feature.
const PROGRAMS: [&str; 9] =
    ["empty", "job", "job_request", "constant", "by_hand", "one_dtype", "write", "receive", "quantised"];

/// They need no feature either; the second one also updates the model, in flash of this length.
const STORED: [&str; 2] = ["stored", "slots"];
const STORE: usize = 1 << 16;
/// How many updates there are, with one or two faults.
const UPDATES: usize = 20_251;

/// The window that RAM is measured with, and a block of a card.
const SMALL: usize = 64;
const BLOCK: usize = 512;
/// The bytes of the tensor that is read, and of one that is streamed.
const READ: usize = 128;
const STREAMED: usize = 1 << 20;
/// So many tensors must not take more RAM.
const MANY: usize = 100_000;

/// A processor, and the board of QEMU that runs its programs.
pub struct Target {
    pub name: &'static str,
    pub triple: &'static str,
    pub emulator: &'static str,
    options: &'static [&'static str],
    request_at: u32,
    instructions: fn(u32) -> u64,
}

/// With `shift=10` an instruction takes 1024 ns, and the timer ticks every 40 ns.
const CORTEX_M3: Target = Target {
    name: "Cortex-M3",
    triple: "thumbv7m-none-eabi",
    emulator: "qemu-system-arm",
    options: &["-M", "mps2-an385", "-icount", "shift=10,sleep=off"],
    request_at: 0x2100_0000,
    instructions: |ticks| (u64::from(ticks) * 40 + 512) / 1024,
};

/// A Cortex-M3 has all instructions of a Cortex-M0+, whose board in QEMU lacks memory for long headers. On
/// the RISC-V, with `shift=0`, a cycle is an instruction.
pub const TARGETS: [Target; 3] = [
    Target { name: "Cortex-M0+", triple: "thumbv6m-none-eabi", ..CORTEX_M3 },
    CORTEX_M3,
    Target {
        name: "RV32IMC",
        triple: "riscv32imc-unknown-none-elf",
        emulator: "qemu-system-riscv32",
        options: &["-M", "virt", "-bios", "none", "-icount", "shift=0"],
        request_at: 0x8100_0000,
        instructions: u64::from,
    },
];

/// Builds programs for targets at a level of optimisation, with a feature.
pub fn build(toolchains: &[Toolchain], level: &str, programs: &[&str], feature: &str) -> Result<(), String> {
    let programs: Vec<&str> = programs.iter().flat_map(|program| ["--bin", program]).collect();
    let cargo =
        Toolchain::cargo_for_all(toolchains, "build").dir(&workspace::root().join("firmware/measure"));
    let cargo = cargo.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", level);
    let cargo = cargo.env("SAFETENSORS_C", workspace::target_dir());
    cargo.args(["--release", "--locked", "--features", feature]).args(&programs).capture().map(drop)
}

/// Returns the path of a program, at the level that was built last.
pub fn program(toolchain: Toolchain, name: &str) -> PathBuf {
    workspace::target_dir().join(toolchain.triple).join("release").join(name)
}

/// Measures all programs at the level `s`, as most firmware is built.
pub fn measure() -> Result<Figures, String> {
    let toolchains = Toolchain::for_targets(&TARGETS.each_ref().map(|target| target.triple))?;
    c::build_library(&toolchains)?;
    build(&toolchains, "s", &[&PROGRAMS[..], &STORED].concat(), "")?;
    build(&toolchains, "s", &["ed25519", "job_async", REFERENCE], "panics")?;
    build(&toolchains, "s", &["job_c"], "c")?;
    let benches = TARGETS.iter().zip(toolchains);
    let benches = benches.map(|(target, toolchain)| Bench { target, toolchain, figures: Figures::default() });
    let measured: Result<Vec<Figures>, String> = side_by_side(benches, Bench::measure).into_iter().collect();
    Ok(Figures(measured?.into_iter().flat_map(|figures| figures.0).collect()))
}

/// Runs updates of models with faults on a Cortex-M3 and an RV32: one of so many as the variable `CUTS` says.
pub fn cuts() -> Outcome {
    let step = std::env::var("CUTS").ok().and_then(|step| step.parse().ok()).unwrap_or(10);
    let [_, targets @ ..] = &TARGETS;
    let toolchains = Toolchain::for_targets(&targets.each_ref().map(|target| target.triple))?;
    build(&toolchains, "s", &["cuts"], "panics")?;
    let tallies = side_by_side(targets.iter().zip(toolchains), |(target, toolchain)| {
        let bench = Bench { target, toolchain, figures: Figures::default() };
        let nothing = Model::new(Vec::new(), String::new());
        let ran = bench.run("cuts", &nothing, step, false).and_then(|ran| ran.has_done(UPDATES / step));
        Tally::of(&format!("{}: {} updates with faults", target.name, UPDATES / step), ran.map(drop))
    });
    Ok(tallies.into_iter().sum())
}

/// The programs of one target, and their figures so far.
struct Bench {
    target: &'static Target,
    toolchain: Toolchain,
    figures: Figures,
}

impl Bench {
    fn measure(mut self) -> Result<Figures, String> {
        let [nothing, _] = models(1, READ, READ);
        let empty = self.run("empty", &nothing, BLOCK, true)?;
        if empty.stack > 32.0 || empty.all > 32.0 {
            return Err(format!(
                "a job that does nothing takes {} B, {} instructions",
                empty.stack, empty.all
            ));
        }
        self.job("job", "job")?;
        self.job(REFERENCE, REFERENCE)?;
        for program in ["job", REFERENCE] {
            let symbols = self.elf(program)?.named(&UNWANTED).len();
            self.set(program, "symbols of panics and formatting", symbols as f64);
        }
        self.many()?;
        let [usual, _] = models(100, READ, READ);
        self.run("job_request", &usual, SMALL, false)?.has_done(READ)?;
        self.set("job with dtype and shape requested", "flash, B", self.flash("job_request")?);
        self.job("asynchronous job", "job_async")?;
        self.job("job in C", "job_c")?;
        self.constant()?;
        let [[sent, _], [written, _]] = [models(100, 16, READ), models(10, READ, READ)];
        for (program, model, done) in [("receive", &sent, READ), ("write", &written, written.file.len())] {
            let run = self.run(program, model, 0, true)?.has_done(done)?;
            self.set(program, "flash, B", self.flash(program)?);
            self.set(program, "RAM, B", run.stack);
            self.set(program, "instructions per byte of the file", run.all / model.file.len() as f64);
        }
        self.quantised()?;
        let [without, with] = STORED.map(|name| self.run(name, &usual, STORE, false)?.has_done(READ));
        let [flash_without, flash] = STORED.map(|name| self.flash(name));
        self.set("slots", "flash above the same model without updates, B", flash? - flash_without?);
        self.set("slots", "RAM above the same model without updates, B", with?.stack - without?.stack);
        let verified = self.run("ed25519", &nothing, 0, true)?.has_done(1)?;
        self.set("Ed25519", "flash, B", self.flash("ed25519")?);
        self.set("Ed25519", "RAM, B", verified.stack);
        self.set("Ed25519", "instructions, millions", verified.all / 1e6);
        Ok(self.figures)
    }

    /// Measures a program that opens a model, finds a tensor and reads it.
    fn job(&mut self, what: &'static str, program: &str) -> Result<(), String> {
        let [usual, spaced] = models(100, READ, READ);
        let window = if what == REFERENCE { 0 } else { SMALL };
        let mut most = 0f64;
        for model in [&usual, &spaced] {
            let run = self.run(program, model, window, false)?.has_done(READ)?;
            most = most.max(run.stack + run.heap);
        }
        let statics = self.elf(program)?.size_of(&STATIC);
        let counted = self.run(program, &usual, BLOCK, true)?.has_done(READ)?;
        let per_byte = |count: f64| count / usual.header_len as f64;
        self.set(what, "flash, B", self.flash(program)?);
        self.set(what, "RAM for 100 tensors, B", most + (statics + window) as f64);
        self.set(what, "instructions per byte of the header, to open", per_byte(counted.open));
        if what != REFERENCE {
            self.set(
                what,
                "instructions per byte of the header, to find",
                per_byte(counted.find - counted.open),
            );
            let [long, _] = models(10, READ, STREAMED);
            let run = self.run(program, &long, BLOCK, true)?.has_done(STREAMED)?;
            self.set(what, "instructions per KiB, to stream", (run.all - run.find) / (STREAMED >> 10) as f64);
        }
        Ok(())
    }

    /// Measures very many tensors, which the reference cannot open.
    fn many(&mut self) -> Result<(), String> {
        let [many, _] = models(MANY, 16, READ);
        let run = self.run("job", &many, SMALL, false)?.has_done(READ)?;
        self.set("job", "RAM for 100,000 tensors, B", run.stack + SMALL as f64);
        match self.run(REFERENCE, &many, 0, false) {
            Err(output) if output.contains("exit code 101") => {}
            Err(output) => return Err(output),
            Ok(_) => {
                return Err(format!("the reference opens a header of {MANY} tensors with 2 MiB of heap"));
            }
        }
        self.set(REFERENCE, "RAM for 100,000 tensors, B", f64::INFINITY);
        Ok(())
    }

    /// Compares a model whose tensors are looked up in constants with addresses counted by hand, and with the
    /// same model in NOR flash.
    fn constant(&mut self) -> Result<(), String> {
        let nothing = Model::new(Vec::new(), String::new());
        let sum = |name| self.run(name, &nothing, BLOCK, false).map(|run| run.done);
        if [sum("by_hand")?, sum("one_dtype")?] != [sum("constant")?; 2] {
            return Err("a model in the program has other values by hand or in NOR flash".to_owned());
        }
        let elf = self.elf("constant")?;
        elf.lacks(&["embedded_safetensors"]).and(elf.lacks(&UNWANTED))?;
        let [by_hand, constant, read] = ["by_hand", "constant", "one_dtype"].map(|name| self.flash(name));
        let (above, read_above, ram) =
            (constant.clone()? - by_hand?, read? - constant?, elf.size_of(&STATIC));
        self.set("model in the program", "flash above addresses counted by hand, B", above);
        self.set("model in the program", "RAM, B", ram as f64);
        self.set("one dtype, from NOR flash", "flash above the same values in the program, B", read_above);
        Ok(())
    }

    fn quantised(&mut self) -> Result<(), String> {
        self.set("quantised rows", "flash, B", self.flash("quantised")?);
        let mut most = 0f64;
        for (layout, model) in quantised() {
            let run = self.run("quantised", &model, BLOCK, true)?.has_done(512 * 64)?;
            most = most.max(run.stack);
            let each = (run.all - run.find) / (512.0 * 64.0);
            self.set("quantised rows", &format!("instructions per value, {layout}"), each);
        }
        self.set("quantised rows", "RAM, B", most + BLOCK as f64);
        Ok(())
    }

    fn set(&mut self, program: &'static str, name: &str, value: f64) {
        self.figures.set(program, name, self.target.name, value);
    }

    fn elf(&self, name: &str) -> Result<Elf, String> {
        Elf::open(&program(self.toolchain, name))
    }

    /// Returns how many bytes of flash a program takes above one that does nothing.
    fn flash(&self, name: &str) -> Result<f64, String> {
        Ok(self.elf(name)?.size_of(&FLASH) as f64 - self.elf("empty")?.size_of(&FLASH) as f64)
    }

    /// Runs a program with a request in the device's memory: four words, the file, the name, a 0, and the
    /// length of the name.
    fn run(&self, name: &str, model: &Model, window: usize, counts: bool) -> Result<Ran, String> {
        let Target { emulator, options, request_at, instructions, .. } = *self.target;
        let end = [0, u8::try_from(model.name.len()).unwrap_or(0)];
        let bytes = [&model.file, model.name.as_bytes(), &end].concat();
        let words = [window, counts.into(), bytes.len(), 0].map(|word| u32::try_from(word).unwrap_or(0));
        let program = program(self.toolchain, name);
        let file = program.with_extension("request");
        workspace::write(&file, &[&words.map(u32::to_le_bytes).concat(), &bytes[..]].concat())?;
        let load = format!("loader,file={},addr={request_at:#x},force-raw=on", file.display());
        let console =
            ["-nographic", "-semihosting-config", "enable=on,target=native", "-device", &load, "-kernel"];
        let run = Run::new(emulator).args(options).args(console).args([program]).limit(180);
        let output = everything(&run.capture()?);
        let printed = |name: &str| {
            let (_, value) =
                output.lines().filter_map(|line| line.split_once('=')).find(|(is, _)| *is == name)?;
            value.trim().parse::<u32>().ok()
        };
        let need =
            |name| printed(name).ok_or_else(|| format!("the firmware's output has no {name}:\n{output}"));
        let count = |name| printed(name).map_or(f64::NAN, |ticks| instructions(ticks) as f64);
        let [open, find, all] = ["open", "find", "all"].map(count);
        let (stack, heap) = (need("stack")?.into(), printed("heap").unwrap_or(0).into());
        Ok(Ran { done: need("done")?, stack, heap, open, find, all })
    }
}

/// What a program has printed: bytes, and instructions up to the end of each step.
struct Ran {
    done: u32,
    stack: f64,
    heap: f64,
    open: f64,
    find: f64,
    all: f64,
}

impl Ran {
    /// Checks that the job has read or written as much as expected.
    fn has_done(self, expected: usize) -> Result<Self, String> {
        match self.done as usize == expected {
            true => Ok(self),
            false => Err(format!("the job has read or written {}, {expected} expected", self.done)),
        }
    }
}
