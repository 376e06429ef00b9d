//! The errors of both, with the same bad input.

use crate::Outcome;
use app::{FEATURES, Regression};
use aprender::linear_model::LinearRegression;
use aprender::traits::Estimator;
use embedded_safetensors::write::{FileSpec, TensorSpec, Writer};
use embedded_safetensors::{Dtype, WriteError};
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Returns the sentences of both for each mistake.
pub fn both() -> Outcome<String> {
    let path = std::env::temp_dir().join(format!("regression-errors-{}.safetensors", std::process::id()));
    let valid = fs::read(crate::model_path())?;
    let mut text = String::new();
    let cases: [(&str, Option<Vec<u8>>); 4] = [
        ("missing file", None),
        ("too short", Some(valid[..5].to_vec())),
        ("cut", Some(valid[..valid.len() - 4].to_vec())),
        ("wrong length: two intercepts", Some(file(&[("coefficients", FEATURES), ("intercept", 2)])?)),
    ];
    for (what, bytes) in cases {
        if let Some(bytes) = bytes {
            fs::write(&path, bytes)?;
        }
        text += &entry(what, &theirs(&path), &ours(&path));
        let _ = fs::remove_file(&path);
    }
    fs::write(&path, file(&[("coefficients", 3), ("intercept", 1)])?)?;
    text += &entry("wrong length: three coefficients", &theirs(&path), &ours(&path));
    fs::write(&path, file(&[])?)?;
    text += &entry("missing tensors", &theirs(&path), &ours(&path));
    fs::remove_file(&path)?;

    let unfitted = LinearRegression::new().save_safetensors(&path).err().unwrap_or_default();
    text += &entry("unfitted, saved", &unfitted, &ours_unfitted().to_string());
    Ok(text)
}

fn entry(what: &str, theirs: &str, ours: &str) -> String {
    format!("{what}\n  aprender:     {theirs}\n  this library: {ours}\n")
}

fn theirs(path: &Path) -> String {
    match LinearRegression::load_safetensors(path) {
        Ok(model) => {
            let loads = format!("it loads {} coefficients", model.coefficients().len());
            let x = crate::samples(0, 1).expect("one sample");
            match catch_unwind(AssertUnwindSafe(|| model.predict(&x))) {
                Ok(_) => format!("(no error: {loads})"),
                Err(_) => format!("(no error: {loads}, and panics at the first prediction)"),
            }
        }
        Err(sentence) => sentence,
    }
}

fn ours(path: &Path) -> String {
    match File::open(path).map_err(app::Failure::NoModel).and_then(Regression::load) {
        Ok(_) => "loads it".to_owned(),
        Err(failure) => failure.to_string(),
    }
}

/// Returns a file with tensors of zeros, of these lengths.
fn file(tensors: &[(&str, usize)]) -> Outcome<Vec<u8>> {
    let dims: Vec<[u64; 1]> = tensors.iter().map(|(_, len)| [*len as u64]).collect();
    let specs: Vec<TensorSpec<'_>> =
        tensors.iter().zip(&dims).map(|((name, _), dims)| TensorSpec::new(name, Dtype::F32, dims)).collect();
    let (plan, mut page) = (FileSpec::new(&specs).plan()?, [0; 64]);
    let mut file = vec![0; plan.file_len() as usize];
    let mut writer = Writer::record(&mut file[..], plan, &mut page).map_err(|error| error.to_string())?;
    for (_, len) in tensors {
        writer.write(&vec![0.0_f32; *len]).map_err(|error| error.to_string())?;
    }
    writer.finish().map_err(|error| error.to_string())?;
    Ok(file)
}

/// Returns the error of a file whose values were never written.
fn ours_unfitted() -> WriteError<core::convert::Infallible> {
    let specs = [
        TensorSpec::new("coefficients", Dtype::F32, &[FEATURES as u64]),
        TensorSpec::new("intercept", Dtype::F32, &[1]),
    ];
    let plan = FileSpec::new(&specs).plan().expect("a valid plan");
    let (mut file, mut page) = (vec![0; plan.file_len() as usize], [0; 64]);
    let finished =
        Writer::record(&mut file[..], plan, &mut page).and_then(|writer| writer.finish().map(drop));
    finished.expect_err("a file without its values")
}
