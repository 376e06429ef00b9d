//! What Python says: scripts beside what they judge, each with packages of its own.

use super::suites::{command, release_command};
use crate::process::{Run, everything};
use crate::python::environment;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use crate::workers::side_by_side;
use crate::workspace;
use std::path::{Path, PathBuf};

const MAKE_TABLES: &str = "tests/elements/make.py";
const DESKTOP: &str = "host/tests/python";
const SPEED: &str = "speed.py";

/// A Python of its own, by its name, and the folder that says which packages it has: of the tests, ...
pub type Packages = [&'static str; 2];
pub const TESTS: Packages = ["python-tests", "tests"];
/// ... of the readers that are scored, ...
pub const READERS: Packages = ["python-readers", "tests/vectors"];
/// ... and of the networks.
pub const TRAINING: Packages = ["python-training", "firmware/app/training"];

/// A script, run by a Python with these packages, leaving no compiled files beside it.
fn script([python, folder]: Packages, path: &str) -> Result<Run, String> {
    let python = environment(python, Path::new(folder))?;
    Ok(Run::new(python).args(["-B"]).args([path]))
}

/// What compares a program of the verification package with Python packages on random cases: so many, or the script's default.
/// `NAME_SEED` repeats an earlier run.
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

/// A program of the verification package, built as its tier builds the suite, so that little is left to build.
fn program(name: &str, options: &[&str]) -> Result<PathBuf, String> {
    let build = ["build", "--quiet", "--package", "verification", "--bin", name];
    own_cargo().args(build).args(options).check()?;
    let folder = if options.contains(&"--release") { "release" } else { "debug" };
    Ok(workspace::target_dir().join(folder).join(name))
}

/// Runs some scripts at the same time. What they say is shown where one fails.
fn check_all(scripts: Vec<(String, Run)>) -> Tally {
    let (sentences, scripts): (Vec<_>, Vec<_>) = scripts.into_iter().unzip();
    let mut tally = Tally::default();
    let outcomes = side_by_side(scripts, |script| script.capture().map(drop));
    sentences.iter().zip(outcomes).for_each(|(sentence, outcome)| tally.check(sentence, outcome));
    tally
}

/// Random dictionaries become the same files, and random models the same shards, as the reference's: a part of them.
pub fn some_files() -> Outcome {
    Ok(check_all(vec![
        files(Some(2000))?,
        shards(program("hub", &["--features", "std,oracle"])?, Some(100))?,
    ]))
}

/// All of them, and random slices are what numpy makes of them.
pub fn all() -> Outcome {
    let slices = comparison("numpy", "tests/slicing/numpy/numpy_slices.py", program("slices", &[])?, None)?;
    Ok(check_all(vec![
        ("slices are numpy's".to_owned(), slices),
        files(None)?,
        shards(program("hub", &["--release", "--features", "std,oracle"])?, None)?,
    ]))
}

fn files(cases: Option<u32>) -> Result<(String, Run), String> {
    let run = comparison("identity", "tests/writing/python/identity.py", program("writes", &[])?, cases)?;
    Ok(("files are the reference's".to_owned(), run))
}

fn shards(hub: PathBuf, cases: Option<u32>) -> Result<(String, Run), String> {
    Ok((
        "shards are huggingface_hub's".to_owned(),
        comparison("shards", "tests/shards/python/hub.py", hub, cases)?,
    ))
}

/// Writes the tables of what elements are anew.
pub fn write_tables() -> Result<(), String> {
    script(TESTS, MAKE_TABLES)?.check()
}

/// The committed tables are what numpy and ml_dtypes say.
pub fn tables() -> Outcome {
    let check = script(TESTS, MAKE_TABLES)?.args(["--check"]);
    Ok(Tally::of("the committed tables are the script's", check.check()))
}

/// Writes the conformance vectors anew, and the page that says who is right about them.
pub fn write_vectors() -> Result<(), String> {
    // Before anything is written it shows whether Python has what the page needs.
    let page = script(READERS, RESULTS)?;
    generator("generate").check()?;
    page.args(["--decoder"]).args([release_command()?]).check()
}

/// The committed vectors are what the generator writes.
pub fn vectors() -> Outcome {
    Ok(Tally::of("the committed vectors are the generator's", generator("check").check()))
}

fn generator(command: &str) -> Run {
    // As `oracle` is built, so that little is left to build.
    let verification = ["--release", "--quiet", "--package", "verification", "--features", "std,oracle"];
    own_cargo().args(["run"]).args(verification).args(["--bin", "vectors", "--", command])
}

/// The Python readers say what the results page says; `safetensors decode` is right about every vector; `run.py` scores readers as
/// the command does.
pub fn readers() -> Outcome {
    let program = release_command()?;
    let mut tally = Tally::of(
        "the results page is true",
        script(READERS, RESULTS)?.args(["--decoder"]).args([&program]).args(["--check"]).check(),
    );
    let score = script(READERS, "tests/vectors/run.py")?.args(["--strict", "--large", "--"]);
    let score = score.args([&program]).args(["decode"]).check();
    tally.check("safetensors decode is right about every vector", score);
    let alike = script(READERS, "tests/vectors/compare.py")?.args([&program]).limit(300).check();
    tally.check("run.py and the command score readers alike", alike);
    Ok(tally)
}

/// Writes the page that says who is right about the vectors.
const RESULTS: &str = "tests/vectors/results.py";

/// The command agrees with the Python packages whose files it reads and writes: so says every script of a folder. The one about speed needs
/// the machine for itself.
pub fn desktop() -> Outcome {
    let program = release_command()?;
    let (mut scripts, mut of_speed) = (Vec::new(), Vec::new());
    for path in workspace::list(&workspace::root().join(DESKTOP))? {
        if path.extension().is_some_and(|extension| extension == "py") {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let run = script(TESTS, &format!("{DESKTOP}/{name}"))?.args(["--"]).args([&program]);
            let list = if name == SPEED { &mut of_speed } else { &mut scripts };
            list.push((format!("{name} finds no fault"), run.limit(600)));
        }
    }
    if scripts.is_empty() || of_speed.is_empty() {
        return Err(format!("{DESKTOP} lacks scripts, of which {SPEED} is one"));
    }
    Ok([scripts, of_speed].map(check_all).into_iter().sum())
}

/// The networks of the firmware are as accurate on images that they were not trained with as they claim, and every board's
/// logits are theirs to the last bit.
pub fn digits() -> Outcome {
    const MODELS: [&str; 3] = ["digits-f16", "digits-i8", "digits-test"];
    let models = MODELS.map(|name| format!("firmware/app/models/{name}.safetensors"));
    let boards = boards_with_digits()?;
    let mut tally =
        Tally::of("the models are sound", Run::new(command()?).args(["check"]).args(models).check());
    let right = training(&boards)?.check();
    if right.is_ok() {
        tally.check("a board with a wrong bit is found out", wrong_bit_is_found(&boards));
    }
    tally.check("the models and the boards are right", right);
    Ok(tally)
}

/// What boards must say, wherever they read all digits.
fn boards_with_digits() -> Result<Vec<PathBuf>, String> {
    let boards = workspace::list(&workspace::root().join("firmware"))?;
    let folders = boards.iter().map(|board| board.join("golden")).filter(|folder| folder.is_dir());
    let files: Result<Vec<_>, String> = folders.map(|folder| workspace::list(&folder)).collect();
    let mut files = files?.concat();
    files.retain(|file| std::fs::read_to_string(file).is_ok_and(|text| text.contains("\ndigit 63: ")));
    if files.is_empty() { Err("no board says how it reads digits".to_owned()) } else { Ok(files) }
}

fn training(boards: &[PathBuf]) -> Result<Run, String> {
    let boards = boards.iter().flat_map(|file| ["--logits".as_ref(), file.as_os_str()]);
    Ok(script(TRAINING, "firmware/app/training/train.py")?.args(["--check"]).args(boards).limit(120))
}

/// The last bit of the last logit of all is another.
fn wrong_bit_is_found(boards: &[PathBuf]) -> Result<(), String> {
    let text = workspace::read(&boards[0])?;
    let wrong =
        with_wrong_bit(&String::from_utf8_lossy(&text)).ok_or("there is no line of the last digit")?;
    let file = workspace::target_dir().join("digits/wrong.txt");
    workspace::write(&file, wrong.as_bytes())?;
    let said = training(&[file])?.output()?;
    match everything(&said) {
        words if !said.status.success() && words.contains("digit 63 has the logits") => Ok(()),
        words => Err(format!("it is not:\n{words}")),
    }
}

fn with_wrong_bit(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("digit 63: "))?;
    let (before, word) = line.rsplit_once(' ')?;
    let bits = u32::from_str_radix(word, 16).ok()? ^ 1;
    Some(text.replace(line, &format!("{before} {bits:08x}")))
}
