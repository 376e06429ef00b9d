//! The C API on this computer: with gcc and clang, in every standard of C and C++, with sanitizers, with
//! 32-bit pointers and with CMake. Programs are linked with the library in which a reachable panic is an
//! undefined symbol.

use super::{PANIC_FREE, UNWANTED, WARNINGS, directory};
use crate::elf::Elf;
use crate::process::Run;
use crate::python::tested_command;
use crate::report::{Outcome, Tally};
use crate::toolchain::{Toolchain, own_cargo};
use crate::workers::side_by_side;
use crate::workspace;
use std::path::{Path, PathBuf};

/// 32-bit x86, whose programs this computer can run.
const X86: &str = "i686-unknown-linux-gnu";
/// What the minimal model makes of the inputs of the examples.
const OUTPUTS: &str = "outputs in thousandths: [-1250, 6250, -2500]\n";

/// Compilers, and sets of options. Those with an optimisation level build all programs, the others only the
/// header, and in C++ the example.
const BUILDS: [(&str, &[&str]); 4] = [
    ("gcc", &["-std=c11", "-std=c17", "-std=c99 -O2", SANITIZERS]),
    ("clang", &["-std=c11", "-std=c17", "-std=c99 -O3", SANITIZERS]),
    ("g++", &["-std=c++11", "-std=c++14", "-std=c++17", "-std=c++20"]),
    ("clang++", &["-std=c++11", "-std=c++14", "-std=c++17", "-std=c++20"]),
];

const SANITIZERS: &str = "-std=c99 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all";

/// The programs: mistakes of callers, a round trip, updates in slots.
const PROGRAMS: [&str; 3] = ["tests/misuse.c", "tests/round_trip.c", "tests/slots.c"];

/// Builds with CMake: a directory, the project in it, options, and the library that must be there then, or
/// the example, which must print the outputs.
const CMAKE: [(&str, &str, &[&str], &str); 5] = [
    ("in-project", EXAMPLES, &[], LAYER),
    ("cross", "", &["-DSAFETENSORS_TARGET=thumbv7m-none-eabi"], "cargo/thumbv7m-none-eabi"),
    ("variable", "", &[], "safetensors/cargo/thumbv7m-none-eabi"),
    ("install", "", &["-DCMAKE_INSTALL_PREFIX=@"], "cargo"),
    ("outside", EXAMPLES, &["-DCMAKE_PREFIX_PATH=@", "-DCMAKE_REQUIRE_FIND_PACKAGE_safetensors=ON"], LAYER),
];
const EXAMPLES: &str = "examples";
const LAYER: &str = "layer";
/// A project that sets the target itself, with an old CMake's policies.
const VARIABLE: &str = "\
cmake_minimum_required(VERSION 3.16)
project(firmware C)
set(SAFETENSORS_TARGET thumbv7m-none-eabi)
add_subdirectory(@ safetensors)
";

pub fn test() -> Outcome {
    let (library, mut builds) = (library()?, Vec::new());
    for (compiler, flags) in BUILDS {
        builds.extend(flags.iter().map(|flags| Build::new(compiler, flags, &library)));
    }
    let toolchain = Toolchain::for_target(X86)?;
    super::build_library(&[toolchain])?;
    builds.push(Build::new("gcc", &format!("{SANITIZERS} -m32"), &super::library(toolchain)));
    Ok(side_by_side(builds, |build| build.test()).into_iter().sum())
}

/// Builds with CMake.
pub fn projects() -> Outcome {
    let mut tally = Tally::default();
    for (directory, project, options, result) in &CMAKE {
        tally.check(&format!("CMake: {directory}"), cmake(directory, project, options, result));
    }
    Ok(tally)
}

/// Returns a file of the crate.
fn source(path: &str) -> PathBuf {
    directory().join(path)
}

/// Returns a file that the tests write.
fn output(name: &str) -> PathBuf {
    workspace::target_dir().join("c-api").join(name)
}

fn model() -> PathBuf {
    workspace::root().join("firmware/minimal/model.safetensors")
}

fn is_right(printed: String) -> Result<String, String> {
    if printed == OUTPUTS { Ok(String::new()) } else { Err(format!("it prints {printed:?}")) }
}

/// Builds the library for this computer.
fn library() -> Result<PathBuf, String> {
    let cargo = own_cargo().dir(&directory()).env("CARGO_TARGET_DIR", output("cargo"));
    cargo.words("build").words(PANIC_FREE).capture()?;
    Ok(output("cargo/release/libsafetensors.a"))
}

/// How programs are built.
struct Build {
    compiler: &'static str,
    flags: String,
    library: PathBuf,
}

impl Build {
    fn new(compiler: &'static str, flags: &str, library: &Path) -> Self {
        Self { compiler, flags: flags.to_owned(), library: library.to_owned() }
    }

    /// Returns a file in the directory of this build.
    fn output(&self, name: &str) -> PathBuf {
        output(&format!("{}{}", self.compiler, self.flags.replace(' ', ""))).join(name)
    }

    /// Compiles a program of C or C++ without a warning.
    fn build(&self, path: &str) -> Result<PathBuf, String> {
        let program = self.output("program").join(path.replace(['/', '.'], "-"));
        workspace::write(&program, b"")?;
        Run::new(self.compiler)
            .args(WARNINGS)
            .args(self.flags.split(' '))
            .args(["-I".as_ref(), source("include").as_path(), "-o".as_ref(), &program])
            .args(["-x", if self.compiler.ends_with("++") { "c++" } else { "c" }])
            .args([source(path)])
            .args(["-x", "none"])
            .args([&self.library])
            .capture()?;
        Ok(program)
    }

    /// Builds and runs a program, and returns what it prints.
    fn run(&self, path: &str, file: Option<&Path>) -> Result<String, String> {
        let printed = Run::new(self.build(path)?).args(file).capture()?.stdout;
        Ok(String::from_utf8_lossy(&printed).into_owned())
    }

    /// Builds and runs the programs.
    fn test(&self) -> Tally {
        let mut tally = Tally::default();
        let mut outcomes = vec![("the header", self.run("tests/header.c", None))];
        let is_cpp = self.compiler.ends_with("++");
        if is_cpp || self.flags.contains("-O") {
            let example = if is_cpp { "examples/layer.cpp" } else { "examples/inference.c" };
            outcomes.push(("the example", self.run(example, Some(&model())).and_then(is_right)));
        }
        if self.flags.contains("-O") {
            outcomes.extend(self.test_programs());
        }
        for (what, outcome) in outcomes {
            let line = outcome.as_ref().map_or(what, |text| text.lines().last().unwrap_or(what)).to_owned();
            tally.check(&format!("{} {}: {line}", self.compiler, self.flags), outcome.map(drop));
        }
        tally
    }

    fn test_programs(&self) -> Vec<(&'static str, Result<String, String>)> {
        let recorded = self.output("recorded.safetensors");
        let [misuse, round_trip, slots] = PROGRAMS;
        let accepted = || Run::new(tested_command()?).args(["check"]).args([&recorded]).capture();
        let lacks = |path| Elf::open(&self.build(path)?)?.lacks(&UNWANTED).map(|()| String::new());
        let plain = PROGRAMS.iter().filter(|_| !self.flags.contains("-fsanitize"));
        let lacking = plain.map(|path| ("no panic and no heap", lacks(path)));
        let outcomes = [
            ("mistakes of callers", self.run(misuse, None)),
            ("round trip", self.run(round_trip, Some(&recorded))),
            ("the command accepts what was recorded", accepted().map(|_| String::new())),
            ("slots", self.run(slots, None)),
        ];
        outcomes.into_iter().chain(lacking).collect()
    }
}

/// Configures and builds a project in an empty directory, installs it if it has a prefix, and checks the
/// result.
fn cmake(directory: &str, project: &str, options: &[&str], result: &str) -> Result<(), String> {
    let (place, root) = (output(directory), output("installed").display().to_string());
    let _ = std::fs::remove_dir_all(&place);
    let mut project = source(project);
    if directory == "variable" {
        project = output("sets-a-variable");
        let text = VARIABLE.replace('@', &source("").display().to_string());
        workspace::write(&project.join("CMakeLists.txt"), text.as_bytes())?;
    }
    let options = options.iter().map(|option| option.replace('@', &root));
    Run::new("cmake")
        .args(["-S".as_ref(), project.as_path()])
        .args(["-B"])
        .args([&place])
        .args(options)
        .capture()?;
    Run::new("cmake").args(["--build".as_ref(), place.as_path()]).capture()?;
    if directory == "install" {
        Run::new("cmake").args(["--install".as_ref(), place.as_path()]).capture()?;
        // With the default features.
        let library = place.join("cargo/release/libsafetensors.a");
        Build::new("gcc", "-std=c99 -DED25519", &library).run(PROGRAMS[2], None)?;
    }
    if result == LAYER {
        let printed = Run::new(place.join(LAYER)).args([model()]).capture()?.stdout;
        return is_right(String::from_utf8_lossy(&printed).into_owned()).map(drop);
    }
    workspace::read(&place.join(result).join("release/libsafetensors.a")).map(drop)
}
