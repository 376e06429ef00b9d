//! Building the programs of a board and running them.

use super::{Board, Case, DIGITS, Machine, log, rp2040js, vectors};
use crate::elf::Elf;
use crate::process::Run;
use crate::python;
use crate::toolchain::Toolchain;
use crate::{machine, workspace};
use std::path::{Path, PathBuf};

/// Far more than any program takes, even beside others.
const LIMIT: u64 = 300;

/// What emulators say that has nothing to do with the program.
const NOISE: [&str; 1] = ["Timer with period zero, disabling"];

/// A program that has ended: its lines, and its exit code if it has one.
pub struct Ended {
    pub lines: Vec<String>,
    pub exit_code: Option<i32>,
}

impl Ended {
    /// As it is committed: without the many verdicts that agree with the manifest, which is committed too.
    pub fn text(&self) -> String {
        let lines = self.lines.iter().filter(|line| !vectors::is_as_expected(line));
        lines.chain([&self.how()]).flat_map(|line| [line, "\n"]).collect()
    }

    /// How it ended.
    pub fn how(&self) -> String {
        self.exit_code.map_or("killed by a signal".to_owned(), |code| format!("exit code {code}"))
    }
}

impl Board {
    /// Makes sure that what builds and runs its programs is there.
    pub fn prepare(&self) -> Result<(), String> {
        Toolchain::for_target(self.triple())?;
        match self.machine {
            Machine::Qemu { program, package, .. } => machine::need_program(program, package),
            Machine::Rp2040js { folder } => rp2040js::set_up(&self.folder().join(folder)).map(drop),
            Machine::Unicorn { folder } => unicorn(&self.folder().join(folder)).map(drop),
            Machine::Hardware => Ok(()),
        }
    }

    /// Builds its programs with these features.
    pub fn build(&self, features: &str) -> Result<(), String> {
        self.building(features)?.args(["--bins"]).capture().map(drop)
    }

    /// Builds the program that reads digits.
    pub fn build_digits(&self) -> Result<(), String> {
        self.building("")?.args(["--bin", DIGITS]).capture().map(drop)
    }

    /// Builds its programs, and lets cargo say how far it is: for somebody who waits.
    pub fn build_aloud(&self) -> Result<(), String> {
        self.building("")?.args(["--bins"]).check()
    }

    fn building(&self, features: &str) -> Result<Run, String> {
        let build = Toolchain::for_target(self.triple())?.cargo("build").dir(&self.folder());
        let build = build.env("CARGO_TARGET_DIR", self.target_dir()?);
        Ok(build.args(["--release", "--locked", "--features", features]))
    }

    /// Where one of its programs lies, with the features that it was built with last.
    pub fn program(&self, name: &str) -> Result<PathBuf, String> {
        Ok(self.target_dir()?.join(self.triple()).join("release").join(name))
    }

    /// The bytes of flash that one of its programs takes.
    pub fn flash_of(&self, program: &str) -> Result<usize, String> {
        Ok(Elf::open(&self.program(program)?)?.size_loaded())
    }

    /// The storage that a case is run with.
    pub fn image(&self, case: &Case) -> PathBuf {
        workspace::target_dir().join("firmware").join(self.name).join(case.name).with_extension("img")
    }

    /// Runs a program that has been built; `hear` gets its lines as they come.
    pub fn run(&self, case: &Case, mut hear: impl FnMut(&str)) -> Result<Ended, String> {
        let mut lines = Vec::new();
        let outcome = self.command(case)?.lines(|line| {
            if !NOISE.contains(&line) {
                hear(line);
                lines.push(line.to_owned());
            }
        });
        match outcome {
            Ok(exit_code) => Ok(Ended { lines, exit_code }),
            Err(sentence) => Err(format!("{sentence}; it has said:\n{}", lines.join("\n"))),
        }
    }

    fn command(&self, case: &Case) -> Result<Run, String> {
        let (program, image) = (self.program(case.program)?, self.image(case));
        workspace::write(&image, b"")?;
        let run = match self.machine {
            Machine::Qemu { program: emulator, machine, load, .. } => {
                // Only the program's own words come out of it.
                let silent = ["-display", "none", "-monitor", "none", "-serial", "none"];
                let semihosting = ["-semihosting-config", "enable=on,target=native"];
                let start = if case.features == log::FEATURE {
                    Run::new(log::decoder()?).args([&program]).args([emulator])
                } else {
                    Run::new(emulator)
                };
                let run = start.args(["-M"]).args(machine.split(' ')).args(silent).args(semihosting);
                run.args(case.medium.options(&image)?).args([load]).args([program])
            }
            Machine::Rp2040js { folder } => {
                let script = rp2040js::set_up(&self.folder().join(folder))?;
                Run::new("node").args([script]).args(case.medium.files(&image)?).args([program])
            }
            Machine::Unicorn { folder } => {
                let folder = self.folder().join(folder);
                let run =
                    Run::new(log::decoder()?).args([&program, &unicorn(&folder)?, &folder.join("run.py")]);
                run.args(case.medium.files(&image)?).args([program])
            }
            Machine::Hardware => {
                return Err(format!("only the board itself runs the programs of {}", self.name));
            }
        };
        Ok(run.limit(LIMIT))
    }

    pub fn folder(&self) -> PathBuf {
        workspace::root().join(self.package.folder)
    }

    /// One for each board, so that several can be built at once.
    fn target_dir(&self) -> Result<PathBuf, String> {
        Ok(Toolchain::for_target(self.triple())?.target_dir().join(self.package.folder))
    }
}

/// The Python that has what the emulator in this folder needs.
fn unicorn(folder: &Path) -> Result<PathBuf, String> {
    python::environment("python-unicorn", &folder.join("requirements.txt"))
}
