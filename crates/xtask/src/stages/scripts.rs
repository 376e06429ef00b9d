//! Runs Python scripts that check results, each with its own packages.

use super::suites::{command, release_command};
use crate::process::{Run, everything};
use crate::python::{TORCH, debian_with_torch, environment, environment_of};
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use crate::workers::side_by_side;
use crate::workspace;
use std::fs;
use std::path::{Path, PathBuf};

const MAKE_TABLES: &str = "tests/elements/make.py";
const DESKTOP: &str = "host/tests/python";
const SPEED: &str = "speed.py";

/// The name of a virtual environment, and the directory whose `requirements.txt` lists its packages: for
/// the tests, ...
pub type Packages = [&'static str; 2];
pub const TESTS: Packages = ["python-tests", "tests"];
/// ... for the readers that are scored, ...
pub const READERS: Packages = ["python-readers", "tests/vectors"];
/// ... for structures, ...
pub const STRUCTURES: Packages = ["python-structures", "tests/structures"];
/// ... for conversions, ...
pub const CONVERSIONS: Packages = ["python-conversions", "crates/safetensors-convert/tests/python"];
/// ... for scanners of pickles, with torch, ...
pub const SCANNERS: Packages = ["python-scanners", "tests/scan"];
/// ... and for training the networks.
pub const TRAINING: Packages = ["python-training", "firmware/app/training"];

/// Returns a run of a script with these packages, which leaves no compiled files beside it.
fn script([python, folder]: Packages, path: &str) -> Result<Run, String> {
    let python = environment(python, Path::new(folder))?;
    Ok(Run::new(python).args(["-B"]).args([path]))
}

/// Returns a run that compares a program of the verification package with Python packages on random cases:
/// this many, or the script's default. `NAME_SEED` repeats an earlier run.
fn comparison(name: &str, path: &str, program: PathBuf, cases: Option<u32>) -> Result<Run, String> {
    let mut run = script(TESTS, path)?.limit(600);
    if let Some(cases) = cases {
        run = run.args(["--cases", &cases.to_string()]);
    }
    if let Some(seed) = std::env::var_os(name.to_uppercase() + "_SEED") {
        run = run.args(["--seed".into(), seed]);
    }
    Ok(run.args(["--"]).args([program]))
}

/// Builds a program of the verification package as its tier builds the suite, so that little is left to
/// build.
fn program(name: &str, options: &[&str]) -> Result<PathBuf, String> {
    let build = ["build", "--quiet", "--package", "verification", "--bin", name];
    own_cargo().args(build).args(options).check()?;
    let folder = if options.contains(&"--release") { "release" } else { "debug" };
    Ok(workspace::target_dir().join(folder).join(name))
}

/// Runs some scripts at the same time. Their output is shown if they fail.
fn check_all(scripts: Vec<(String, Run)>) -> Tally {
    let (sentences, scripts): (Vec<_>, Vec<_>) = scripts.into_iter().unzip();
    let mut tally = Tally::default();
    let outcomes = side_by_side(scripts, |script| script.capture().map(drop));
    sentences.iter().zip(outcomes).for_each(|(sentence, outcome)| tally.check(sentence, outcome));
    tally
}

/// Compares some random dictionaries and models with the reference's files and shards.
pub fn some_files() -> Outcome {
    Ok(check_all(vec![
        files(Some(2000))?,
        shards(program("hub", &["--features", "std,oracle"])?, Some(100))?,
    ]))
}

/// Compares many files and shards, and random slices with numpy.
pub fn all() -> Outcome {
    let slices = comparison("numpy", "tests/slicing/numpy/numpy_slices.py", program("slices", &[])?, None)?;
    Ok(check_all(vec![
        ("slices match numpy".to_owned(), slices),
        files(None)?,
        shards(program("hub", &["--release", "--features", "std,oracle"])?, None)?,
    ]))
}

fn files(cases: Option<u32>) -> Result<(String, Run), String> {
    let run = comparison("identity", "tests/writing/python/identity.py", program("writes", &[])?, cases)?;
    Ok(("files match the reference".to_owned(), run))
}

fn shards(hub: PathBuf, cases: Option<u32>) -> Result<(String, Run), String> {
    Ok((
        "shards match huggingface_hub".to_owned(),
        comparison("shards", "tests/shards/python/hub.py", hub, cases)?,
    ))
}

/// Regenerates the tables of elements.
pub fn write_tables() -> Result<(), String> {
    script(TESTS, MAKE_TABLES)?.check()
}

/// Checks that the committed tables match numpy and ml_dtypes.
pub fn tables() -> Outcome {
    let check = script(TESTS, MAKE_TABLES)?.args(["--check"]);
    Ok(Tally::of("the committed tables match the script", check.check()))
}

/// Regenerates the conformance vectors.
pub fn write_vectors() -> Result<(), String> {
    generator("generate").check()
}

/// Writes the pages with the results of readers.
pub fn write_results() -> Result<(), String> {
    results()?.check()
}

/// Returns a run that asks all readers: those of PyPI in an environment with torch, which one of them
/// imports; the others are installed in the target directory.
fn results() -> Result<Run, String> {
    let python = environment_of(TORCH, READERS[0], Path::new(READERS[1]))?;
    let home = workspace::target_dir().join("readers");
    fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
    let run = Run::new(python).args(["-B", RESULTS, "--decoder"]).args([release_command()?]);
    Ok(run.args(["--directory"]).args([home]).limit(3600))
}

/// Checks that the committed vectors match the generator.
pub fn vectors() -> Outcome {
    Ok(Tally::of("the committed vectors match the generator", generator("check").check()))
}

/// Checks that the vectors catch each bug of a small reader, and that the reader without one is right.
pub fn mutants() -> Outcome {
    let mut tally =
        Tally::of("the reader agrees with the reference", verification("mutants", &["--oracle"]).check());
    tally.check("the vectors catch every bug", verification("mutants", &[]).check());
    Ok(tally)
}

fn generator(command: &str) -> Run {
    verification("vectors", &[command])
}

fn verification(program: &str, args: &[&str]) -> Run {
    // Built as for `oracle`, so that little is left to build.
    let package = ["--release", "--quiet", "--package", "verification", "--features", "std,oracle"];
    own_cargo().args(["run"]).args(package).args(["--bin", program, "--"]).args(args)
}

/// Checks that the results pages are right, that `safetensors decode` is right about every vector, that
/// `run.py` scores readers as the command does, and that it scores the adapters.
pub fn readers() -> Outcome {
    let program = release_command()?;
    let mut tally = Tally::of("the results pages are right", results()?.args(["--check"]).check());
    let score = script(TESTS, "tests/vectors/run.py")?.args(["--strict", "--level", "large", "--"]);
    let score = score.args([&program]).args(["decode"]).check();
    tally.check("safetensors decode is right about every vector", score);
    let alike = script(TESTS, "tests/vectors/compare.py")?.args([&program]).limit(900).check();
    tally.check("run.py and the command score readers alike", alike);
    let adapters = script(TESTS, "tests/vectors/adapters/check.py")?.args(["--all"]).limit(900).check();
    tally.check("run.py scores the adapters", adapters);
    let cases = script(TESTS, "tests/vectors/adapters/check_cases.py")?.limit(900).check();
    tally.check("run.py scores readers of indexes, and writers", cases);
    let archive = script(TESTS, "tests/vectors/archive.py")?.args([workspace::target_dir()]);
    let archive = archive.args(["--check", "--"]).args([&program]).args(["decode"]).limit(900).check();
    tally.check("the archive of the suite scores a reader alone", archive);
    Ok(tally)
}

/// Writes the pages with the results of readers on the vectors.
const RESULTS: &str = "tests/vectors/results.py";

/// Checks that the command makes of files of PyTorch what PyTorch makes of them.
pub fn pytorch() -> Outcome {
    let program = release_command()?;
    let run = Run::new(debian_with_torch()?).args(["-B", "tests/torch/files.py", "--"]);
    let run = run.args([program]).limit(900);
    Ok(Tally::of("files of PyTorch are read as PyTorch reads them", run.check()))
}

/// Checks that GGUF is read and written as by gguf-py.
pub fn gguf() -> Outcome {
    let build = ["build", "--quiet", "--release", "--package", "safetensors-convert", "--example", "gguf"];
    own_cargo().args(build).check()?;
    let program = workspace::target_dir().join("release/examples/gguf");
    let run = script(CONVERSIONS, "crates/safetensors-convert/tests/python/gguf_oracle.py")?;
    Ok(Tally::of(
        "GGUF is read and written as by gguf-py",
        run.args(["--"]).args([program]).limit(600).check(),
    ))
}

/// Checks that `scan` finds what other scanners find, and has no finding in sound files of PyTorch.
pub fn scanners() -> Outcome {
    let python = environment_of(TORCH, SCANNERS[0], Path::new(SCANNERS[1]))?;
    let run = Run::new(python).args(["-B", "tests/scan/compare.py", "--"]).args([release_command()?]);
    Ok(Tally::of("scan finds what picklescan and fickling find", run.limit(600).capture().map(drop)))
}

/// Checks that the command agrees with the Python packages whose files it reads and writes, with every
/// script of a directory. The script about speed runs alone.
pub fn desktop() -> Outcome {
    let program = release_command()?;
    let (mut scripts, mut of_speed) = (Vec::new(), Vec::new());
    for path in workspace::list(&workspace::root().join(DESKTOP))? {
        if path.extension().is_some_and(|extension| extension == "py") {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let run = script(TESTS, &format!("{DESKTOP}/{name}"))?.args(["--"]).args([&program]);
            let list = if name == SPEED { &mut of_speed } else { &mut scripts };
            list.push((format!("{name} passes"), run.limit(600)));
        }
    }
    if scripts.is_empty() || of_speed.is_empty() {
        return Err(format!("{DESKTOP} lacks scripts, of which {SPEED} is one"));
    }
    Ok([scripts, of_speed].map(check_all).into_iter().sum())
}

/// Checks that the committed products with quantised matrices, and those of the boards, match numpy to the
/// last bit.
pub fn quantised() -> Outcome {
    const MAKE: &str = "tests/quantised/make.py";
    let boards = golden_files_with("product ")?;
    let check = script(TESTS, MAKE)?.args(["--check"]).args(boards);
    Ok(Tally::of("the products of the boards match numpy", check.check()))
}

/// Checks that the committed structures are those that safestructures writes, and that it loads the one that
/// the library writes.
pub fn structures() -> Outcome {
    let written = workspace::target_dir().join("structure.safetensors");
    let example = ["run", "--quiet", "--package", "embedded-safestructures", "--example", "training", "--"];
    own_cargo().args(example).args([&written]).capture()?;
    let check = script(STRUCTURES, "tests/structures/make.py")?.args(["--check"]).args([&written]);
    Ok(Tally::of("safestructures writes the committed files, and loads ours", check.check()))
}

/// Checks that the crate aprender and the library load each other's regressions, with the same predictions.
pub fn aprender() -> Outcome {
    let run = own_cargo().dir(&workspace::root().join("tests/aprender"));
    let run = run.env("CARGO_TARGET_DIR", workspace::target_dir().join("aprender"));
    let check = run.args(["run", "--locked", "--quiet", "--", "check"]).limit(1800);
    Ok(Tally::of("aprender loads what the library writes, with the same predictions", check.check()))
}

/// Checks that the firmware's networks have the stated accuracy on test images, and that every board's
/// logits match them to the last bit.
pub fn digits() -> Outcome {
    const MODELS: [&str; 3] = ["digits-f16", "digits-i8", "digits-test"];
    let models = MODELS.map(|name| format!("firmware/app/models/{name}.safetensors"));
    let boards = boards_with_digits()?;
    let mut tally =
        Tally::of("the models are valid", Run::new(command()?).args(["check"]).args(models).check());
    let right = training(&boards)?.check();
    if right.is_ok() {
        tally.check("a board with a wrong bit is detected", wrong_bit_is_found(&boards));
    }
    tally.check("the models and the boards are right", right);
    Ok(tally)
}

/// Returns the golden files of boards that read all digits.
fn boards_with_digits() -> Result<Vec<PathBuf>, String> {
    golden_files_with("digit 63: ")
}

/// Returns the golden files of boards that have a line with this beginning.
fn golden_files_with(beginning: &str) -> Result<Vec<PathBuf>, String> {
    let boards = workspace::list(&workspace::root().join("firmware"))?;
    let folders = boards.iter().map(|board| board.join("golden")).filter(|folder| folder.is_dir());
    let files: Result<Vec<_>, String> = folders.map(|folder| workspace::list(&folder)).collect();
    let mut files = files?.concat();
    let has_line = |text: String| text.lines().any(|line| line.starts_with(beginning));
    files.retain(|file| std::fs::read_to_string(file).is_ok_and(has_line));
    if files.is_empty() { Err(format!("no golden file has a line \"{beginning}\"")) } else { Ok(files) }
}

fn training(boards: &[PathBuf]) -> Result<Run, String> {
    let boards = boards.iter().flat_map(|file| ["--logits".as_ref(), file.as_os_str()]);
    Ok(script(TRAINING, "firmware/app/training/train.py")?.args(["--check"]).args(boards).limit(120))
}

/// Checks that a wrong bit in the last logit is detected.
fn wrong_bit_is_found(boards: &[PathBuf]) -> Result<(), String> {
    let text = workspace::read(&boards[0])?;
    let wrong = with_wrong_bit(&String::from_utf8_lossy(&text))
        .ok_or("the golden file has no line of the last digit")?;
    let file = workspace::target_dir().join("digits/wrong.txt");
    workspace::write(&file, wrong.as_bytes())?;
    let said = training(&[file])?.output()?;
    match everything(&said) {
        words if !said.status.success() && words.contains("digit 63 has the logits") => Ok(()),
        words => Err(format!("it is not detected:\n{words}")),
    }
}

fn with_wrong_bit(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("digit 63: "))?;
    let (before, word) = line.rsplit_once(' ')?;
    let bits = u32::from_str_radix(word, 16).ok()? ^ 1;
    Some(text.replace(line, &format!("{before} {bits:08x}")))
}
