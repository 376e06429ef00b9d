//! The C API on emulated boards: the example, with its model and with invalid ones; every vector that fits,
//! and every wrong model.

use crate::boards::{self, Board};
use crate::c::{self, Compiler, UNWANTED};
use crate::elf::Elf;
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::{Toolchain, own_cargo};
use crate::{machine, workspace};
use std::path::{Path, PathBuf};

/// A board of the example's Makefile, and one with memory for the vectors.
struct Machine {
    name: &'static str,
    triple: &'static str,
    emulator: &'static str,
    package: &'static str,
    example: [&'static str; 3],
    judge: [&'static str; 3],
    /// Where the vectors are loaded.
    pack_at: &'static str,
    /// The addresses for the linker.
    memory: [&'static str; 2],
}

const MACHINES: [Machine; 2] = [
    Machine {
        name: "cortex-m3",
        triple: "thumbv7m-none-eabi",
        emulator: "qemu-system-arm",
        package: "qemu-system-arm",
        example: ["-M", "lm3s6965evb", "-kernel"],
        judge: ["-M", "mps2-an385", "-kernel"],
        pack_at: "0x21000000",
        memory: ["-Wl,--defsym=__flash=0", "-Wl,--defsym=__ram=0x20000000"],
    },
    Machine {
        name: "rv32",
        triple: "riscv32imac-unknown-none-elf",
        emulator: "qemu-system-riscv32",
        package: "qemu-system-misc",
        example: ["-M", "virt", "-bios"],
        judge: ["-M", "virt", "-bios"],
        pack_at: "0x81000000",
        memory: ["-Wl,--defsym=__flash=0x80000000", "-Wl,--defsym=__ram=0x80040000"],
    },
];

/// The size of all memory, static and stack, that the vectors are judged in.
const SIZES: [&str; 3] =
    ["-Wl,--defsym=__flash_size=256K", "-Wl,--defsym=__ram_size=16K", "-Wl,--defsym=__stack_size=4K"];
const START: [&str; 3] = ["-Tpicolibc.ld", "--oslib=semihost", "--crt0=hosted"];

/// The board that has the example's model and output, from a program in Rust.
const MODEL: &str = "minimal";
/// Its cases with a model that can be invalid.
const CASES: &str = "nor";

/// The longest vector, as for the programs in Rust.
const LONGEST: &str = "65536";

/// Installs all that the stage needs, or says what is missing.
pub fn prepare() -> Vec<Result<(), String>> {
    let parts = |machine: &Machine| {
        let compiler = Compiler::of(machine.triple).and_then(Compiler::need);
        let emulator = machine::need_program(machine.emulator, machine.package);
        [compiler, emulator, Toolchain::for_target(machine.triple).map(drop)]
    };
    MACHINES.iter().flat_map(parts).chain([machine::need_program("make", "make")]).collect()
}

pub fn run() -> Outcome {
    let toolchains = Toolchain::for_targets(&MACHINES.each_ref().map(|machine| machine.triple))?;
    c::build_library(&toolchains)?;
    let mut tally = Tally::default();
    for (machine, &toolchain) in MACHINES.iter().zip(&toolchains) {
        let header = machine.link(toolchain, &["header.c"], "header.elf").map(drop);
        tally.check(&format!("{}: the header", machine.name), header);
        match machine.link_example(toolchain) {
            Ok(program) => machine.judge_example(&program, &mut tally)?,
            Err(sentence) => tally.check(&format!("{}: the example", machine.name), Err(sentence)),
        }
    }
    let pack = scratch("PACK.BIN");
    tools(&["pack"], &pack)?;
    let logs = MACHINES.iter().zip(&toolchains).map(|(machine, &toolchain)| {
        let outcome = machine.judge_pack(toolchain, &pack);
        let name = machine.name;
        let log = outcome.as_ref().map_or(String::new(), |(log, _)| log.clone());
        tally.measured(name, outcome.map(|(_, sentence)| sentence));
        log
    });
    let logs: Vec<String> = logs.collect();
    let is_same = !logs[0].is_empty() && logs[0] == logs[1];
    let same = if is_same { Ok(()) } else { Err("they differ, or there are none".to_owned()) };
    tally.check("both boards print the same lines", same);
    Ok(tally)
}

fn scratch(name: &str) -> PathBuf {
    workspace::target_dir().join("c-boards").join(name)
}

/// Runs a subcommand of the program that writes packs and reads logs.
fn tools(words: &[&str], file: &Path) -> Result<String, String> {
    let program = ["run", "--release", "--quiet", "--package", "verification", "--bin", "c", "--"];
    let run = own_cargo().args(program).args(words).args([file]).args([LONGEST]);
    Ok(String::from_utf8_lossy(&run.capture()?.stdout).trim_end().to_owned())
}

/// Returns a program with another model in place of its own.
fn with_model(program: &Path, model: &[u8], other: &[u8]) -> Result<Vec<u8>, String> {
    let mut elf = workspace::read(program)?;
    let at =
        elf.windows(model.len()).position(|bytes| bytes == model).ok_or("the program lacks its model")?;
    elf.splice(at..at + model.len(), other.iter().copied());
    Ok(elf)
}

impl Machine {
    /// Returns the emulator, for a program that follows.
    fn emulator(&self, options: &[&str], pack: Option<&Path>) -> Run {
        let quiet = "-display none -monitor none -serial none -semihosting-config enable=on,target=native";
        let load =
            pack.map(|pack| format!("loader,file={},addr={},force-raw=on", pack.display(), self.pack_at));
        let load = load.iter().flat_map(|load| ["-device", load]);
        Run::new(self.emulator).args(quiet.split(' ')).args(load).args(options).limit(60)
    }

    /// Links the example by its Makefile, in a copy of its directory, with the library in which no panic may
    /// be reachable.
    fn link_example(&self, toolchain: Toolchain) -> Result<PathBuf, String> {
        let (from, to) = (c::directory().join("examples/bare-metal"), scratch(self.name));
        for file in ["Makefile", "main.c", "model.S", "model.safetensors"] {
            workspace::write(&to.join(file), &workspace::read(&from.join(file))?)?;
        }
        let variables = [
            ("BOARD", self.name.into()),
            ("SAFETENSORS", c::directory()),
            ("LIBRARY", c::library(toolchain)),
        ];
        let variables = variables.map(|(name, value)| format!("{name}={}", value.display()));
        Run::new("make").dir(&to).args(["--silent", "--always-make"]).args(variables).capture()?;
        Ok(to.join(self.name).with_extension("elf"))
    }

    /// Runs the example with the models of the program in Rust, and compares what it prints.
    fn judge_example(&self, program: &Path, tally: &mut Tally) -> Result<(), String> {
        let name = self.name;
        let symbols = Elf::open(program).and_then(|elf| elf.lacks(&UNWANTED));
        tally.check(&format!("{name}: the example has no heap and no panic"), symbols);
        let board: &'static Board = boards::find(MODEL)?;
        let model = workspace::read(&program.with_file_name("model.safetensors"))?;
        let cases: Vec<_> = board.cases.keys().filter(|case| case.starts_with(CASES)).collect();
        if cases.is_empty() {
            return Err(format!("the board {MODEL} has no case that begins with \"{CASES}\""));
        }
        for case in cases {
            let run = |other: &[u8]| {
                let copy = program.with_file_name(case).with_extension("elf");
                workspace::write(&copy, &with_model(program, &model, other)?)?;
                Ok(self.emulator(&self.example, None).args([copy]))
            };
            let outcome = boards::judge_other(board, case, &model, run);
            tally.check(&format!("{name}: the example, {case}"), outcome);
        }
        Ok(())
    }

    /// Links tests, and returns the program.
    fn link(&self, toolchain: Toolchain, sources: &[&str], name: &str) -> Result<PathBuf, String> {
        let program = scratch(self.name).join(name);
        let sources = sources.iter().map(|source| c::directory().join("tests").join(source));
        let options: Vec<&str> = START.into_iter().chain(self.memory).chain(SIZES).collect();
        Compiler::of(self.triple)?.link(toolchain, sources, &options, &program)?;
        Ok(program)
    }

    /// Judges the vectors and the wrong models. Returns the lines, and a sentence about them.
    fn judge_pack(&self, toolchain: Toolchain, pack: &Path) -> Result<(String, String), String> {
        let sources = ["board.c", "judge.c", "pack.c", "wrong_models.c"];
        let program = self.link(toolchain, &sources, "judge.elf")?;
        Elf::open(&program)?.lacks(&UNWANTED)?;
        let mut log = String::new();
        let code = self.emulator(&self.judge, Some(pack)).args([&program]).lines(|line| {
            log += line;
            log.push('\n');
        })?;
        let vectors_at = log.find("\nvector ").map_or(log.len(), |at| at + 1);
        let (models, vectors) = log.split_at(vectors_at);
        let models = models.lines().next_back().unwrap_or_default();
        if code != Some(0) || !models.ends_with(", 0 failed") {
            return Err(format!("it ended with {code:?}; its output:\n{log}"));
        }
        let file = scratch(self.name).join("vectors.txt");
        workspace::write(&file, vectors.as_bytes())?;
        let sentence = format!("{}; {models}", tools(&["compare"], &file)?);
        Ok((log, sentence))
    }
}
