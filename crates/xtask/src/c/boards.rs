//! The C API on emulated boards: the header, and the example with its model and with invalid ones.

use super::{UNWANTED, directory, library};
use crate::boards::{self, qemu};
use crate::elf::Elf;
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::Toolchain;
use crate::workspace;
use std::path::PathBuf;

/// A board of the example's Makefile.
struct Machine {
    name: &'static str,
    triple: &'static str,
    emulator: &'static str,
    /// The addresses for the linker.
    memory: [&'static str; 2],
}

const MACHINES: [Machine; 2] = [
    Machine {
        name: "cortex-m3",
        triple: "thumbv7m-none-eabi",
        emulator: "qemu-system-arm -M lm3s6965evb -kernel",
        memory: ["-Wl,--defsym=__flash=0", "-Wl,--defsym=__ram=0x20000000"],
    },
    Machine {
        name: "rv32",
        triple: "riscv32imc-unknown-none-elf",
        emulator: "qemu-system-riscv32 -M virt -bios",
        memory: ["-Wl,--defsym=__flash=0x80000000", "-Wl,--defsym=__ram=0x80040000"],
    },
];

/// How the header is linked: the size of all memory, static and stack, and the start-up code.
const OPTIONS: [&str; 6] = [
    "-Wl,--defsym=__flash_size=256K",
    "-Wl,--defsym=__ram_size=16K",
    "-Wl,--defsym=__stack_size=4K",
    "-Tpicolibc.ld",
    "--oslib=semihost",
    "--crt0=hosted",
];

/// The board that has the example's model and output, from a program in Rust.
const MODEL: &str = "minimal";
/// Its cases with a model that can be invalid.
const CASES: &str = "nor";

pub fn test() -> Outcome {
    let mut tally = Tally::default();
    for machine in &MACHINES {
        let (name, toolchain) = (machine.name, Toolchain::for_target(machine.triple)?);
        super::build_library(&[toolchain])?;
        tally.check(&format!("{name}: the header"), machine.link_header(toolchain));
        let example = machine.judge_example(toolchain, &mut tally);
        tally.check(&format!("{name}: the example"), example);
    }
    Ok(tally)
}

fn scratch(name: &str) -> PathBuf {
    workspace::target_dir().join("c-boards").join(name)
}

impl Machine {
    /// Links the test of the header, whose sizes are those of this processor.
    fn link_header(&self, toolchain: Toolchain) -> Result<(), String> {
        let program = scratch(self.name).join("header.elf");
        let source = directory().join("tests/header.c");
        super::link(toolchain, [source], &[&self.memory[..], &OPTIONS].concat(), &program)
    }

    /// Links the example by its Makefile, in a copy of its directory, with the library in which no panic may
    /// be reachable. Runs it with the models of the program in Rust, and compares what it prints.
    fn judge_example(&self, toolchain: Toolchain, tally: &mut Tally) -> Result<(), String> {
        let (from, to) = (directory().join("examples/bare-metal"), scratch(self.name));
        for file in ["Makefile", "main.c", "model.S", "model.safetensors"] {
            workspace::write(&to.join(file), &workspace::read(&from.join(file))?)?;
        }
        let variables =
            [("BOARD", self.name.into()), ("SAFETENSORS", directory()), ("LIBRARY", library(toolchain))];
        let variables = variables.map(|(name, value)| format!("{name}={}", value.display()));
        Run::new("make").dir(&to).args(["--silent", "--always-make"]).args(variables).capture()?;
        let program = to.join(self.name).with_extension("elf");
        Elf::open(&program)?.lacks(&UNWANTED)?;
        let (elf, model) = (workspace::read(&program)?, workspace::read(&to.join("model.safetensors"))?);
        let at = elf.windows(model.len()).position(|bytes| bytes == model).ok_or("it lacks its model")?;
        let board = boards::find(MODEL)?;
        for case in board.cases.keys().filter(|case| case.starts_with(CASES)) {
            let run = |other: &[u8]| {
                let (mut elf, copy) = (elf.clone(), to.join(case).with_extension("elf"));
                elf[at..at + model.len()].copy_from_slice(other);
                workspace::write(&copy, &elf)?;
                Ok(qemu(self.emulator, &[]).args([copy]))
            };
            let outcome = boards::judge_other(board, case, &model, run);
            tally.check(&format!("{}: the example, {case}", self.name), outcome);
        }
        Ok(())
    }
}
