//! Tests the C API: builds the programs of `crates/safetensors-c` with compilers of C and C++, and runs them.
//!
//! They are linked with the library in which a panic that is reachable is an undefined symbol.

use super::suites;
use crate::c::UNWANTED;
use crate::elf::Elf;
use crate::model::ModelFile;
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::{Toolchain, own_cargo};
use crate::{machine, stages, workspace};
use std::path::{Path, PathBuf};

/// Compilers of C and C++.
#[derive(Clone, Copy)]
struct Compilers {
    c: &'static str,
    cpp: &'static str,
}

const GCC: Compilers = Compilers { c: "gcc", cpp: "g++" };
const CLANG: Compilers = Compilers { c: "clang", cpp: "clang++" };

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-pedantic", "-Werror"];
const SANITIZERS: [&str; 4] = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
/// The same with 32-bit pointers.
const SANITIZERS_32: [&str; 5] =
    ["-m32", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
const C: [&str; 3] = ["c99", "c11", "c17"];
const CPP: [&str; 4] = ["c++11", "c++14", "c++17", "c++20"];

/// Files longer than this are tested with `--deep` only: they have up to 100 MB.
const LONGEST: &str = "20000000";
const ANY_LENGTH: &str = "1000000000";

/// The sources of programs.
const VECTORS: [&str; 3] = ["tests/vectors.c", "tests/judge.c", "tests/pack.c"];
const MISUSE: [&str; 1] = ["tests/misuse.c"];
const ROUND_TRIP: [&str; 1] = ["tests/round_trip.c"];
/// What the minimal model makes of the inputs of the examples.
const OUTPUTS: &str = "outputs in thousandths: [-1250, 6250, -2500]\n";

/// Tests with gcc.
pub fn quick() -> Outcome {
    let mut tally = Tally::default();
    let library = library()?;
    for (compiler, standard) in [(GCC.c, C[0]), (GCC.cpp, CPP[0])] {
        tally.check(&format!("the header in {standard}"), header(compiler, standard, &library));
    }
    tally.check("the examples of the guide compile", examples_of_the_guide());
    let programs = Programs { compiler: GCC.c, flags: &SANITIZERS, library };
    programs.test(&vectors(LONGEST)?, LONGEST, &mut tally);
    let plain = Programs { flags: &["-O2"], ..programs };
    for sources in [&VECTORS[..], &MISUSE, &ROUND_TRIP] {
        let lacks = plain.build(sources).and_then(|program| Elf::open(&program)?.lacks(&UNWANTED));
        tally.check(&format!("no panic and no heap in {}", sources[0]), lacks);
    }
    Ok(tally)
}

/// Tests with clang, with all standards, with 32-bit pointers, and with CMake.
pub fn all() -> Outcome {
    let mut tally = Tally::default();
    let library = library()?;
    for (compilers, standard) in both().flat_map(|compilers| C.map(|standard| (compilers, standard))) {
        tally.check(&format!("{}, {standard}", compilers.c), header(compilers.c, standard, &library));
    }
    for (compilers, standard) in both().flat_map(|compilers| CPP.map(|standard| (compilers, standard))) {
        tally.check(&format!("{}, {standard}", compilers.cpp), cpp(compilers.cpp, standard, &library));
    }
    let pack = vectors(ANY_LENGTH)?;
    let programs = Programs { compiler: CLANG.c, flags: &SANITIZERS, library };
    programs.test(&pack, ANY_LENGTH, &mut tally);
    tally.check("the command accepts what was recorded", check_recorded());
    for (compiler, flags) in [(GCC.c, &["-O2"][..]), (CLANG.c, &["-O3"])] {
        Programs { compiler, flags, library: programs.library.clone() }.test(&pack, ANY_LENGTH, &mut tally);
    }
    with_32_bits(&mut tally)?;
    cmake(&mut tally);
    Ok(tally)
}

fn both() -> impl Iterator<Item = Compilers> {
    [GCC, CLANG].into_iter()
}

/// Returns a file of the crate.
fn source(path: &str) -> PathBuf {
    workspace::root().join("crates/safetensors-c").join(path)
}

/// Returns a file that the tests write.
fn output(name: &str) -> PathBuf {
    workspace::target_dir().join("c-api").join(name)
}

fn build(cargo: Run) -> Run {
    let options = ["--release", "--locked", "--quiet", "--features", "no-panic", "--manifest-path"];
    cargo.args(options).args([source("Cargo.toml")])
}

/// Builds the library for this computer.
fn library() -> Result<PathBuf, String> {
    let cargo = own_cargo().env("CARGO_TARGET_DIR", output("cargo")).args(["build"]);
    build(cargo).capture()?;
    Ok(output("cargo/release/libsafetensors.a"))
}

/// Writes the pack of the vectors up to this length, and of the wrong models.
fn vectors(longest: &str) -> Result<PathBuf, String> {
    let pack = output("vectors.pack");
    own_cargo().args(["build", "--quiet", "--package", "verification", "--bin", "c"]).capture()?;
    workspace::write(&pack, b"")?;
    verification(["pack".as_ref(), pack.as_path(), longest.as_ref()]).map(|_| pack)
}

/// Runs the program that writes packs and compares logs, and returns its last line.
fn verification(args: [&Path; 3]) -> Result<String, String> {
    Run::new(workspace::target_dir().join("debug/c"))
        .args(args)
        .capture()
        .map(|output| last_line(&output.stdout))
}

fn last_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).lines().last().unwrap_or_default().to_owned()
}

/// Compiles a program of C or C++ without a warning.
fn compile(compiler: &str, flags: &[&str], sources: &[PathBuf], library: &Path) -> Result<PathBuf, String> {
    let name = sources.first().and_then(|source| source.file_stem()).unwrap_or_default();
    let program = output(&name.to_string_lossy());
    let language = if compiler.ends_with("++") { "c++" } else { "c" };
    Run::new(compiler)
        .args(WARNINGS)
        .args(flags)
        .args(["-I".as_ref(), source("include").as_path(), "-o".as_ref(), &program])
        .args(["-x", language])
        .args(sources)
        .args(["-x", "none"])
        .args([library])
        .capture()?;
    Ok(program)
}

/// Compiles each block of C in the guide's page.
fn examples_of_the_guide() -> Result<(), String> {
    let page = workspace::text(&workspace::root().join("docs/src/c.md"))?;
    let code = page.split("```").skip(1).step_by(2);
    let blocks: Vec<&str> = code.filter_map(|block| block.strip_prefix("c\n")).collect();
    // The model of the page's transcripts.
    let model = ModelFile::default().with("fc1.bias", "U8", "[4]", [0; 4]);
    let model = model.with("fc1.weight", "U8", "[2,4]", [0; 8]);
    workspace::write(&output("model.safetensors"), &model.bytes())?;
    let emit = Run::new(stages::command()?).args(["emit", "--prefix", "net", "--force", "-o"]);
    emit.args([output("net.h"), output("model.safetensors")]).capture()?;
    for block in &blocks {
        let file = output("page.c");
        workspace::write(&file, block.as_bytes())?;
        let compiler = Run::new(GCC.c).args(WARNINGS).args(["-std=c99", "-fsyntax-only", "-I"]);
        compiler.args([source("include"), file]).capture()?;
    }
    if blocks.is_empty() { Err("the page has none".to_owned()) } else { Ok(()) }
}

/// Compiles and runs a program with everything that the header has.
fn header(compiler: &str, standard: &str, library: &Path) -> Result<(), String> {
    let flag = format!("-std={standard}");
    let program = compile(compiler, &[&flag], &[source("tests/header.c")], library)?;
    Run::new(program).capture().map(drop)
}

/// Also compiles the example.
fn cpp(compiler: &str, standard: &str, library: &Path) -> Result<(), String> {
    header(compiler, standard, library)?;
    let flag = format!("-std={standard}");
    prints_outputs(&compile(compiler, &[&flag], &[source("examples/cpp/main.cpp")], library)?)
}

fn prints_outputs(program: &Path) -> Result<(), String> {
    let model = workspace::root().join("firmware/minimal/model.safetensors");
    let printed = Run::new(program).args([model]).capture()?.stdout;
    match String::from_utf8_lossy(&printed) {
        printed if printed == OUTPUTS => Ok(()),
        printed => Err(format!("it prints {printed:?}")),
    }
}

/// How the programs of C are built.
struct Programs {
    compiler: &'static str,
    flags: &'static [&'static str],
    library: PathBuf,
}

impl Programs {
    fn build(&self, sources: &[&str]) -> Result<PathBuf, String> {
        let sources: Vec<PathBuf> = sources.iter().map(|path| source(path)).collect();
        compile(self.compiler, &[&["-std=c99"], self.flags].concat(), &sources, &self.library)
    }

    fn test(&self, pack: &Path, longest: &str, tally: &mut Tally) {
        let with = format!("{} {}", self.compiler, self.flags.join(" "));
        let judged = self.judge_vectors(pack, longest);
        let recorded = output("recorded.safetensors");
        let models = ["tests/wrong_models_main.c", "tests/wrong_models.c", "tests/pack.c"];
        let outcomes = [
            ("vectors", judged),
            ("wrong models", self.run(&models, pack)),
            ("mistakes of callers", self.run(&MISUSE, pack)),
            ("round trip", self.run(&ROUND_TRIP, &recorded)),
        ];
        for (what, outcome) in outcomes {
            match outcome {
                Ok(line) => tally.check(&format!("{with}: {line}"), Ok(())),
                Err(sentence) => tally.check(&format!("{with}: {what}"), Err(sentence)),
            }
        }
        let example = self.build(&["examples/inference.c"]).and_then(|program| prints_outputs(&program));
        tally.check(&format!("{with}: the example"), example);
    }

    /// Builds and runs a program, and returns its last line.
    fn run(&self, sources: &[&str], file: &Path) -> Result<String, String> {
        let output = Run::new(self.build(sources)?).args([file]).capture()?;
        Ok(last_line(&output.stdout))
    }

    fn judge_vectors(&self, pack: &Path, longest: &str) -> Result<String, String> {
        let log = output("vectors.log");
        let judged = Run::new(self.build(&VECTORS)?).args([pack]).capture()?;
        workspace::write(&log, &judged.stdout)?;
        verification(["compare".as_ref(), &log, longest.as_ref()])
    }
}

/// Checks what the last round trip has written.
fn check_recorded() -> Result<(), String> {
    let check = Run::new(suites::command()?).args(["check"]);
    check.args([output("recorded.safetensors")]).capture().map(drop)
}

/// Tests with 32-bit pointers, as microcontrollers have.
fn with_32_bits(tally: &mut Tally) -> Result<(), String> {
    if !machine::runs_32_bit_x86() {
        tally.note("skipped with 32-bit pointers: only Linux on x86-64 runs 32-bit x86 programs".to_owned());
        return Ok(());
    }
    let toolchain = Toolchain::for_target(super::targets::X86_32)?;
    build(toolchain.cargo("build")).capture()?;
    let library = toolchain.target_dir().join(toolchain.triple).join("release/libsafetensors.a");
    let pack = vectors(LONGEST)?;
    let programs = Programs { compiler: GCC.c, flags: &SANITIZERS_32, library };
    programs.test(&pack, LONGEST, tally);
    tally.check("the header with 32-bit pointers", programs.build(&["tests/header.c"]).map(drop));
    Ok(())
}

/// Builds with CMake: in a project, for another processor, installed and found.
fn cmake(tally: &mut Tally) {
    let example = source("examples/cpp").display().to_string();
    let here = source("").display().to_string();
    let layer = |directory: &str| prints_outputs(&output(directory).join("layer"));
    let inside = configure(&example, "in-project", &[]).and_then(|()| layer("in-project"));
    tally.check("CMake: add_subdirectory", inside);
    let target = "thumbv7m-none-eabi";
    let built = |directory: &str| {
        workspace::read(&output(directory).join("cargo").join(target).join("release/libsafetensors.a"))
            .map(drop)
    };
    let option = configure(&here, "cross", &[&format!("-DSAFETENSORS_TARGET={target}")]);
    tally.check("CMake: -DSAFETENSORS_TARGET", option.and_then(|()| built("cross")));
    let variable = sets_a_variable(&here, target).and_then(|project| configure(&project, "variable", &[]));
    tally.check("CMake: set(SAFETENSORS_TARGET)", variable.and_then(|()| built("variable/safetensors")));
    tally.check("CMake: install, find_package", installed(&here, &example).and_then(|()| layer("outside")));
}

/// Writes a project that sets the target itself, with an old CMake's policies. Returns its directory.
fn sets_a_variable(here: &str, target: &str) -> Result<String, String> {
    let project = output("sets-a-variable");
    let text = format!(
        "cmake_minimum_required(VERSION 3.16)\nproject(firmware C)\nset(SAFETENSORS_TARGET {target})\n\
         add_subdirectory({here} safetensors)\n"
    );
    workspace::write(&project.join("CMakeLists.txt"), text.as_bytes())?;
    Ok(project.display().to_string())
}

fn installed(here: &str, example: &str) -> Result<(), String> {
    let root = output("installed").display().to_string();
    configure(here, "install", &[&format!("-DCMAKE_INSTALL_PREFIX={root}")])?;
    Run::new("cmake").args(["--install".as_ref(), output("install").as_path()]).capture()?;
    configure(
        example,
        "outside",
        &[&format!("-DCMAKE_PREFIX_PATH={root}"), "-DCMAKE_REQUIRE_FIND_PACKAGE_safetensors=ON"],
    )
}

/// Configures and builds a project in an empty directory.
fn configure(project: &str, directory: &str, options: &[&str]) -> Result<(), String> {
    let directory = output(directory);
    let _ = std::fs::remove_dir_all(&directory);
    let cmake = Run::new("cmake").args(["-S", project, "-B"]).args([&directory]);
    cmake.args(options).capture()?;
    Run::new("cmake").args(["--build".as_ref(), directory.as_path()]).capture().map(drop)
}
