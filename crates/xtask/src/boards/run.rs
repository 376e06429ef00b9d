//! Builds and runs the programs of a board.

use super::{Board, Case, log};
use crate::elf::Elf;
use crate::process::Run;
use crate::python;
use crate::toolchain::Toolchain;
use crate::{machine, workspace};
use std::fs::File;
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
        match outcome {
            Ok(exit_code) => Ok(Self { lines, exit_code }),
            Err(sentence) => Err(format!("{sentence}; its output:\n{}", lines.join("\n"))),
        }
    }

    /// Returns the text for the golden file: without the many verdicts that match the manifest, which is
    /// committed too.
    pub fn text(&self) -> String {
        let is_as_expected = |line: &&String| line.starts_with("vector ") && !line.contains(", but ");
        let lines = self.lines.iter().filter(|line| !is_as_expected(line));
        lines.chain([&self.how()]).flat_map(|line| [line, "\n"]).collect()
    }

    /// Describes how it ended.
    pub fn how(&self) -> String {
        self.exit_code.map_or("killed by a signal".to_owned(), |code| format!("exit code {code}"))
    }
}

impl Board {
    /// Installs what is needed to build and run its programs, or says what is missing.
    pub fn prepare(&'static self) -> Result<(), String> {
        Toolchain::for_target(self.triple())?;
        match self.emulator() {
            "hardware" => Ok(()),
            "rp2040js" => rp2040js(&self.folder().join("emulator")).map(drop),
            "unicorn" => unicorn().map(drop),
            arm @ "qemu-system-arm" => machine::need_program(arm, arm),
            other => machine::need_program(other, "qemu-system-misc"),
        }
    }

    pub(super) fn emulator(&self) -> &str {
        self.machine.split(' ').next().unwrap_or_default()
    }

    /// Returns a `cargo build` of these programs, or of all, with these features.
    pub fn build(&'static self, features: &str, programs: &[&str]) -> Result<Run, String> {
        let build = Toolchain::for_target(self.triple())?.cargo("build").dir(&self.folder());
        let build = build.env("CARGO_TARGET_DIR", self.target_dir()?);
        let build = build.args(["--release", "--locked"]);
        let build = if features.is_empty() { build } else { build.args(["--features", features]) };
        Ok(match programs {
            [] => build.args(["--bins"]),
            _ => build.args(programs.iter().flat_map(|program| ["--bin", program])),
        })
    }

    /// Returns the path of a program, with the features of its last build.
    pub fn program(&'static self, name: &str) -> Result<PathBuf, String> {
        Ok(self.target_dir()?.join(self.triple()).join("release").join(name))
    }

    /// Returns how many bytes of flash a program takes.
    pub fn flash_of(&'static self, program: &str) -> Result<usize, String> {
        Ok(Elf::open(&self.program(program)?)?.size_loaded())
    }

    /// Waits until no other process builds or runs its programs, which have the same paths in each.
    pub fn lock(&self) -> Result<File, String> {
        workspace::lock(&workspace::target_dir().join("firmware").join(&self.name).join("lock"))
    }

    /// Returns the path of the image with a case's storage.
    pub fn image(&self, case: &str) -> PathBuf {
        workspace::target_dir().join("firmware").join(&self.name).join(case).with_extension("img")
    }

    /// Runs the program of a case, which must be built; `on_line` gets its lines as they arrive.
    pub fn run(&'static self, name: &str, on_line: impl FnMut(&str)) -> Result<Ended, String> {
        let case = self.cases.get(name).ok_or_else(|| format!("{} has no case \"{name}\"", self.name))?;
        Ended::of(self.command(case, &self.image(name))?, on_line)
    }

    fn command(&'static self, case: &Case, image: &Path) -> Result<Run, String> {
        workspace::write(image, b"")?;
        let program = case.storage.program(self.program(&case.program)?, image)?;
        Ok(match self.emulator() {
            "hardware" => {
                return Err(format!("{} has no emulator; only the real board runs its programs", self.name));
            }
            "rp2040js" => {
                let script = rp2040js(&self.folder().join("emulator"))?;
                Run::new("node").args([script]).args(case.storage.flash(image)?).args([program])
            }
            "unicorn" => {
                let python = unicorn()?;
                let run = match Elf::open(&program)?.size_of(&[log::SECTION]) {
                    0 => Run::new(python),
                    _ => Run::new(log::decoder()?).args([&program, &python]),
                };
                let chip = self.machine.split(' ').nth(1).unwrap_or_default();
                let script = workspace::root().join(UNICORN).join(chip).with_extension("py");
                // Partition tables are in the board's directory.
                let run = run.dir(&self.folder()).args([script]);
                run.args(case.storage.flash(image)?).args([program])
            }
            _ => {
                let (start, options) = self.machine.split_at(self.emulator().len());
                let run = match case.features.as_str() {
                    log::FEATURE => Run::new(log::decoder()?).args([&program]).args([start]),
                    _ => Run::new(start),
                };
                // Silences the emulator, so that only the program's own output remains.
                let silent =
                    "-display none -monitor none -serial none -semihosting-config enable=on,target=native";
                let run = run.args(silent.split(' ')).args(case.storage.options(image)?);
                let clock: &[&str] = if case.counts { &["-icount", "shift=10,sleep=off"] } else { &[] };
                run.args(clock).args(options.split_whitespace()).args([program])
            }
        })
    }

    /// A target directory for each board, because the programs of all have the same names.
    fn target_dir(&'static self) -> Result<PathBuf, String> {
        Ok(Toolchain::for_target(self.triple())?.target_dir().join("firmware").join(&self.name))
    }
}

/// Returns a Python that has Unicorn.
fn unicorn() -> Result<PathBuf, String> {
    python::environment("main")
}

/// Installs this directory's emulator, a package for Node.js, in the target directory unless an earlier run
/// did, and returns the script that runs it.
fn rp2040js(folder: &Path) -> Result<PathBuf, String> {
    const LOCKFILE: &str = "package-lock.json";
    machine::need_program("node", "nodejs")?;
    machine::need_program("npm", "npm")?;
    let place = workspace::target_dir().join("rp2040js");
    // npm writes this file last, after everything is installed.
    let installed = place.join("node_modules/.package-lock.json");
    let wanted = workspace::read(&folder.join(LOCKFILE))?;
    let is_there =
        installed.exists() && workspace::read(&place.join(LOCKFILE)).is_ok_and(|lock| lock == wanted);
    for file in ["package.json", LOCKFILE, "run.mjs"] {
        workspace::write(&place.join(file), &workspace::read(&folder.join(file))?)?;
    }
    if !is_there {
        // A failed installation must not pass for the earlier one.
        let _ = std::fs::remove_file(&installed);
        let quietly = ["ci", "--no-audit", "--no-fund", "--ignore-scripts"];
        let what = "the npm packages of the emulator rp2040js, in the target directory";
        machine::install(what, None, || Run::new("npm").args(quietly).dir(&place).limit(180).check())?;
    }
    Ok(place.join("run.mjs"))
}
