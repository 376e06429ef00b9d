//! Builds and runs the programs of a board.

use super::{Board, Case};
use crate::elf::Elf;
use crate::process::Run;
use crate::python;
use crate::toolchain::Toolchain;
use crate::{machine, workspace};
use std::path::{Path, PathBuf};

/// Seconds, far more than any program takes, even beside others.
const LIMIT: u64 = 300;

/// The directory with a script for each chip that Unicorn emulates.
const UNICORN: &str = "firmware/unicorn";

/// A line that emulators print and that has nothing to do with the program.
const NOISE: &str = "Timer with period zero, disabling";

/// A program that has ended: its lines, and its exit code if it has one.
pub struct Ended {
    pub lines: Vec<String>,
    pub exit_code: Option<i32>,
}

impl Ended {
    /// Runs a program to its end; `on_line` gets its lines as they arrive.
    pub fn of(run: Run, mut on_line: impl FnMut(&str)) -> Result<Self, String> {
        let mut lines = Vec::new();
        let outcome = run.limit(LIMIT).lines(|line| {
            if line != NOISE {
                on_line(line);
                lines.push(line.to_owned());
            }
        });
        let exit_code = outcome.map_err(|error| format!("{error}; its output:\n{}", lines.join("\n")))?;
        Ok(Self { lines, exit_code })
    }

    /// Returns the text for the golden file: without the many verdicts that match the manifest, which is
    /// committed too.
    pub fn text(&self) -> String {
        let is_as_expected = |line: &&String| line.starts_with("vector ") && !line.contains(", but ");
        let lines = self.lines.iter().filter(|line| !is_as_expected(line));
        let end = self.exit_code.map_or("killed by a signal".to_owned(), |code| format!("exit code {code}"));
        lines.chain([&end]).flat_map(|line| [line, "\n"]).collect()
    }
}

/// Installs the emulator that a command line begins with, or says what is missing.
fn need_emulator(machine: &str) -> Result<(), String> {
    match emulator(machine) {
        "hardware" => Ok(()),
        "rp2040js" => rp2040js().map(drop),
        "unicorn" => unicorn().map(drop),
        arm @ "qemu-system-arm" => machine::need_program(arm, arm),
        other => machine::need_program(other, "qemu-system-misc"),
    }
}

fn emulator(machine: &str) -> &str {
    machine.split(' ').next().unwrap_or_default()
}

/// Returns a QEMU that prints only the program's own output, for a program that follows.
pub fn qemu(machine: &str, options: &[String]) -> Run {
    let silent = "-display none -monitor none -serial none -semihosting-config enable=on,target=native";
    let (program, machine) = machine.split_once(' ').unwrap_or((machine, ""));
    Run::new(program).args(silent.split(' ')).args(options).args(machine.split_whitespace())
}

impl Board {
    /// Installs what is needed to build and run its programs, or says what is missing.
    pub fn prepare(&'static self) -> Result<(), String> {
        Toolchain::for_target(self.triple())?;
        need_emulator(&self.machine)
    }

    /// Returns a `cargo build` of all its programs with these features.
    pub fn build(&'static self, features: &str) -> Result<Run, String> {
        let build = Toolchain::for_target(self.triple())?.cargo("build").dir(&self.folder());
        let build = build.env("CARGO_TARGET_DIR", self.target_dir());
        Ok(build.args(["--release", "--locked", "--bins", "--features", features]))
    }

    /// Returns the path of a program, with the features of its last build.
    pub fn program(&'static self, name: &str) -> Result<PathBuf, String> {
        Ok(self.target_dir().join(self.triple()).join("release").join(name))
    }

    /// Returns how many bytes of flash a program takes.
    pub fn flash_of(&'static self, program: &str) -> Result<usize, String> {
        Ok(Elf::open(&self.program(program)?)?.size_loaded())
    }

    /// Returns the path of the image with a case's storage.
    pub(super) fn image(&self, case: &str) -> PathBuf {
        workspace::target_dir().join("firmware").join(&self.name).join(case).with_extension("img")
    }

    /// Runs the program of a case, which must be built; `on_line` gets its lines as they arrive.
    pub fn run(&'static self, name: &str, on_line: impl FnMut(&str)) -> Result<Ended, String> {
        self.run_case(name, self.case(name)?, on_line)
    }

    /// Runs a case that may differ from the one with this name.
    pub fn run_case(
        &'static self,
        name: &str,
        case: &Case,
        on_line: impl FnMut(&str),
    ) -> Result<Ended, String> {
        let image = self.image(name);
        workspace::write(&image, b"")?;
        let program = case.changed_program(self.program(&case.program)?, &image)?;
        Ended::of(self.command(case, &image)?.args([program]), on_line)
    }

    /// Returns the emulator, for a program that follows.
    pub(super) fn command(&'static self, case: &Case, image: &Path) -> Result<Run, String> {
        let run = match emulator(&self.machine) {
            "hardware" => return Err(format!("only the real {} runs its programs", self.name)),
            "rp2040js" => Run::new("node").args([rp2040js()?]),
            "unicorn" => {
                let chip = self.machine.split(' ').nth(1).unwrap_or_default();
                let script = workspace::root().join(UNICORN).join(chip).with_extension("py");
                // Partition tables are in the board's directory.
                Run::new(unicorn()?).dir(&self.folder()).args([script])
            }
            _ => {
                return Ok(qemu(&self.machine, &case.options(image)?));
            }
        };
        Ok(run.args(case.flash_options(image)?))
    }

    /// A target directory for each board, because the programs of all have the same names.
    fn target_dir(&self) -> PathBuf {
        workspace::target_dir().join("firmware").join(&self.name)
    }
}

/// Returns a Python that has Unicorn.
fn unicorn() -> Result<PathBuf, String> {
    python::environment("main")
}

/// Installs the emulator of the RP2040, a package for Node.js, and returns the script that runs it.
fn rp2040js() -> Result<PathBuf, String> {
    const FOLDER: &str = "firmware/rp2040/emulator";
    let script = machine::npm(FOLDER)?.join("run.mjs");
    workspace::write(&script, &workspace::read(&workspace::root().join(FOLDER).join("run.mjs"))?)?;
    Ok(script)
}
