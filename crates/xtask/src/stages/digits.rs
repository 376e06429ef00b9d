//! The networks of the firmware, judged with numpy on images that they were not trained with, and what boards say of them.

use crate::process::{Run, everything};
use crate::python::environment;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use crate::workspace;
use std::fs;
use std::path::{Path, PathBuf};

const TRAINING: &str = "firmware/app/training";
const MODELS: [&str; 3] = ["digits-f16", "digits-i8", "digits-test"];

/// The committed models are as accurate as they claim, and every board's logits are theirs to the last bit.
pub fn judge() -> Outcome {
    let python = environment("python-digits", &Path::new(TRAINING).join("requirements.txt"))?;
    let boards = golden_files()?;
    let mut tally = Tally::default();
    tally.check("the models are sound", sound());
    tally.check("the models and the boards are right", script(&python, &boards).check());
    tally.check("a board with a wrong bit is found out", refused(&python, &boards));
    Ok(tally)
}

fn sound() -> Result<(), String> {
    let models = MODELS.map(|name| format!("firmware/app/models/{name}.safetensors"));
    let check = ["run", "--quiet", "--package", "safetensors-host", "--bin", "safetensors", "--", "check"];
    own_cargo().args(check).args(models).check()
}

/// What boards must say, wherever they read all digits.
fn golden_files() -> Result<Vec<PathBuf>, String> {
    let firmware = entries(&workspace::root().join("firmware"))?;
    let golden = firmware.iter().map(|board| board.join("golden")).filter(|folder| folder.is_dir());
    let mut files = Vec::new();
    for folder in golden {
        files.extend(entries(&folder)?.into_iter().filter(|file| has_digits(file)));
    }
    files.sort();
    if files.is_empty() { Err("no board says how it reads digits".to_owned()) } else { Ok(files) }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(failed)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(failed)).collect()
}

fn has_digits(file: &Path) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.contains("\ndigit 63: "))
}

fn script(python: &Path, boards: &[PathBuf]) -> Run {
    let run = Run::new(python).args(["-B"]).args([Path::new(TRAINING).join("train.py")]).args(["--check"]);
    run.args(boards.iter().flat_map(|file| ["--logits".as_ref(), file.as_os_str()])).limit(120)
}

/// The last bit of the last logit of all is another.
fn refused(python: &Path, boards: &[PathBuf]) -> Result<(), String> {
    let text = boards.first().map(|file| workspace::read(file)).transpose()?.unwrap_or_default();
    let wrong =
        with_wrong_bit(&String::from_utf8_lossy(&text)).ok_or("there is no line of the last digit")?;
    let file = workspace::target_dir().join("digits/wrong.txt");
    workspace::write(&file, wrong.as_bytes())?;
    let said = script(python, &[file]).output()?;
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
