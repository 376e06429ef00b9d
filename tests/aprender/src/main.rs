//! Trains a linear regression with the crate aprender, and compares what it predicts with what the library
//! reads and writes.
//!
//! ```console
//! $ cargo run --locked -- train   # writes the model, predictions.txt and errors.txt
//! $ cargo run --locked -- check   # compares them, and the round trip
//! ```

mod errors;

use app::{FEATURES, Regression, SAMPLES, features};
use aprender::linear_model::LinearRegression;
use aprender::primitives::{Matrix, Vector};
use aprender::traits::Estimator;
use embedded_safetensors::write::{FileSpec, TensorSpec, Writer};
use embedded_safetensors::{Dtype, WriteError};
use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The farthest that predictions may be apart if the model is trained again, on another processor.
const TOLERANCE: f32 = 1e-5;

fn main() -> Outcome<()> {
    let word = std::env::args().nth(1);
    match word.as_deref() {
        Some("train") => train(),
        Some("check") => check(),
        Some("time") => time(),
        _ => Err("usage: aprender-round-trip train | check | time".into()),
    }
}

fn committed(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn model_path() -> PathBuf {
    committed("../../firmware/app/models/regression.safetensors")
}

/// Returns the samples as a matrix.
fn samples(from: u32, count: u32) -> Outcome<Matrix<f32>> {
    let values = (from..from + count).flat_map(features).collect();
    Ok(Matrix::from_vec(count as usize, FEATURES, values)?)
}

/// Returns a regression that is fitted to a known one, with noise. The samples that are predicted are not
/// among those that it is trained with.
fn trained() -> Outcome<LinearRegression> {
    let x = samples(SAMPLES, 256)?;
    let y: Vec<f32> = (SAMPLES..SAMPLES + 256).map(target).collect();
    let mut model = LinearRegression::new();
    model.fit(&x, &Vector::from_slice(&y))?;
    Ok(model)
}

fn target(sample: u32) -> f32 {
    let known =
        features(sample).iter().enumerate().map(|(at, feature)| feature * (at as f32 - 2.5)).sum::<f32>();
    known + 0.75 + (sample as f32).sin() / 10.0
}

/// Returns the lines that boards print.
fn lines(predictions: &Vector<f32>) -> String {
    let line =
        |(sample, prediction): (usize, &f32)| format!("prediction {sample}: {:08x}\n", prediction.to_bits());
    predictions.as_slice().iter().enumerate().map(line).collect()
}

fn train() -> Outcome<()> {
    let model = trained()?;
    model.save_safetensors(model_path())?;
    fs::write(committed("predictions.txt"), lines(&model.predict(&samples(0, SAMPLES)?)))?;
    fs::write(committed("errors.txt"), errors::both()?)?;
    Ok(())
}

fn check() -> Outcome<()> {
    let (x, expected) = (samples(0, SAMPLES)?, fs::read_to_string(committed("predictions.txt"))?);
    let predict =
        |path: &Path| Ok::<_, Box<dyn Error>>(LinearRegression::load_safetensors(path)?.predict(&x));

    same("aprender, with the committed model", &lines(&predict(&model_path())?), &expected)?;
    let regression = ours(&model_path())?;
    let here: Vec<f32> = (0..SAMPLES).map(|sample| regression.predict(&features(sample))).collect();
    same("this library, with the committed model", &lines(&Vector::from_slice(&here)), &expected)?;

    let written = std::env::temp_dir().join(format!("regression-{}.safetensors", std::process::id()));
    save(&regression, &written)?;
    let outcome = predict(&written).and_then(|predictions| {
        same("aprender, with a file that this library wrote", &lines(&predictions), &expected)
    });
    fs::remove_file(&written)?;
    outcome?;

    let again = trained()?.predict(&x);
    // A NaN is not within it.
    let is_close = |(again, committed): (&f32, &f32)| (again - committed).abs() <= TOLERANCE;
    if again.as_slice().len() != here.len() || !again.as_slice().iter().zip(&here).all(is_close) {
        return Err(
            format!("trained again, a prediction is not within {TOLERANCE} of the committed one").into()
        );
    }
    println!("ok: aprender, trained again: within {TOLERANCE} of the committed predictions");
    same("the errors", &errors::both()?, &fs::read_to_string(committed("errors.txt"))?)
}

fn same(what: &str, found: &str, expected: &str) -> Outcome<()> {
    match found.lines().zip(expected.lines()).find(|(found, expected)| found != expected) {
        Some((found, expected)) => Err(format!("{what}:\n    {found}\nexpected:\n    {expected}").into()),
        None if found.lines().count() != expected.lines().count() => {
            Err(format!("{what}: other lines").into())
        }
        None => {
            println!("ok: {what}");
            Ok(())
        }
    }
}

fn ours(path: &Path) -> Outcome<Regression> {
    Regression::load(File::open(path)?).map_err(|failure| failure.to_string().into())
}

/// Writes a model as aprender writes it.
fn save(model: &Regression, path: &Path) -> Result<(), WriteError<std::io::Error>> {
    let tensors = [
        TensorSpec::new("coefficients", Dtype::F32, &[FEATURES as u64]),
        TensorSpec::new("intercept", Dtype::F32, &[1]),
    ];
    let (plan, mut page) = (FileSpec::new(&tensors).plan()?, [0; 512]);
    let file = File::create(path).map_err(WriteError::Sink)?;
    let mut writer = Writer::record(file, plan, &mut page)?;
    writer.write(&model.coefficients)?;
    writer.write(&[model.intercept])?;
    writer.finish().map(drop)
}

/// Prints how many predictions a second both make on this computer, one sample at a time and all at once.
fn time() -> Outcome<()> {
    const ROUNDS: u32 = 100_000;
    let (theirs, ours) = (LinearRegression::load_safetensors(model_path())?, ours(&model_path())?);
    let rows: Vec<[f32; FEATURES]> = (0..SAMPLES).map(features).collect();
    let (all, single) = (samples(0, SAMPLES)?, samples(0, 1)?);
    let rate = |what: &str, each: u32, act: &mut dyn FnMut()| {
        let start = std::time::Instant::now();
        (0..ROUNDS).for_each(|_| act());
        println!(
            "{what}: {:.0} predictions a second",
            f64::from(ROUNDS * each) / start.elapsed().as_secs_f64()
        );
    };
    rate("this library, one by one", SAMPLES, &mut || {
        for row in &rows {
            std::hint::black_box(ours.predict(std::hint::black_box(row)));
        }
    });
    rate("aprender, 64 at once", SAMPLES, &mut || drop(std::hint::black_box(theirs.predict(&all))));
    rate("aprender, one by one", 1, &mut || drop(std::hint::black_box(theirs.predict(&single))));
    Ok(())
}
