//! The C API on emulated boards: the example, with its model and with invalid ones; every vector that fits,
//! and every wrong model.

use super::{UNWANTED, directory, library, tools};
use crate::boards::{self, qemu};
use crate::elf::Elf;
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::Toolchain;
use crate::workspace;
use std::path::{Path, PathBuf};

/// A board of the example's Makefile, and one with memory for the vectors.
struct Machine {
    name: &'static str,
    triple: &'static str,
    example: &'static str,
    judge: &'static str,
    /// Where the vectors are loaded.
    pack_at: &'static str,
    /// The addresses for the linker.
    memory: [&'static str; 2],
}

const MACHINES: [Machine; 2] = [
    Machine {
        name: "cortex-m3",
        triple: "thumbv7m-none-eabi",
        example: "qemu-system-arm -M lm3s6965evb -kernel",
        judge: "qemu-system-arm -M mps2-an385 -kernel",
        pack_at: "0x21000000",
        memory: ["-Wl,--defsym=__flash=0", "-Wl,--defsym=__ram=0x20000000"],
    },
    Machine {
        name: "rv32",
        triple: "riscv32imc-unknown-none-elf",
        example: "qemu-system-riscv32 -M virt -bios",
        judge: "qemu-system-riscv32 -M virt -bios",
        pack_at: "0x81000000",
        memory: ["-Wl,--defsym=__flash=0x80000000", "-Wl,--defsym=__ram=0x80040000"],
    },
];

/// How the vectors are judged: the size of all memory, static and stack, and the start-up code.
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

/// The longest vector, as for the programs in Rust.
const LONGEST: &str = "65536";

pub fn test() -> Outcome {
    let (mut tally, pack) = (Tally::default(), scratch("PACK.BIN"));
    workspace::write(&pack, b"")?;
    tools("pack", &pack, LONGEST)?;
    for machine in &MACHINES {
        let (name, toolchain) = (machine.name, Toolchain::for_target(machine.triple)?);
        super::build_library(&[toolchain])?;
        let header = machine.link(toolchain, &["header.c"], "header.elf").map(drop);
        tally.check(&format!("{name}: the header"), header);
        let example = machine.judge_example(toolchain, &mut tally);
        tally.check(&format!("{name}: the example"), example);
        tally.measured(name, machine.judge_pack(toolchain, &pack));
    }
    Ok(tally)
}

fn scratch(name: &str) -> PathBuf {
    workspace::target_dir().join("c-boards").join(name)
}

impl Machine {
    /// Links tests, and returns the program.
    fn link(&self, toolchain: Toolchain, sources: &[&str], name: &str) -> Result<PathBuf, String> {
        let program = scratch(self.name).join(name);
        let sources = sources.iter().map(|source| directory().join("tests").join(source));
        super::link(toolchain, sources, &[&self.memory[..], &OPTIONS].concat(), &program)?;
        Ok(program)
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
                Ok(qemu(self.example, &[]).args([copy]))
            };
            let outcome = boards::judge_other(board, case, &model, run);
            tally.check(&format!("{}: the example, {case}", self.name), outcome);
        }
        Ok(())
    }

    /// Judges the vectors and the wrong models. Returns a sentence about them.
    fn judge_pack(&self, toolchain: Toolchain, pack: &Path) -> Result<String, String> {
        let program =
            self.link(toolchain, &["board.c", "judge.c", "pack.c", "wrong_models.c"], "judge.elf")?;
        Elf::open(&program)?.lacks(&UNWANTED)?;
        let load = format!("loader,file={},addr={},force-raw=on", pack.display(), self.pack_at);
        let ended = qemu(self.judge, &["-device".to_owned(), load]).args([&program]).limit(60).output()?;
        let log = crate::process::everything(&ended);
        if !ended.status.success() {
            return Err(format!("it ended with {}; its output:\n{log}", ended.status));
        }
        super::judged(&log, &scratch(self.name).join("vectors.txt"), LONGEST)
    }
}
