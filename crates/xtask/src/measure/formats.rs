//! Compares formats of the field on one vector of 10,000 `f32`, as measured by the program `formats` of the
//! verification package. The limits for our own times are in [`speed`](super::speed), which has the same
//! vector among its cases.

use super::{Measured, Options, number};
use crate::machine;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use serde_json::{Value, json};

pub fn measure(options: &Options) -> Result<Measured, String> {
    if options.hdf5 {
        machine::need_program("cmake", "cmake")?;
    }
    let feature = if options.hdf5 { "hdf5" } else { "formats" };
    let package = ["run", "--release", "--quiet", "--package", "verification", "--features", feature];
    let output = own_cargo().args(package).args(["--bin", "formats"]).capture()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let figures = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
    let figures =
        figures.map_err(|error| format!("the output is not a list of figures ({error}):\n{text}"))?;
    let lacks = |whose: &&str| figures.iter().all(|figure| figure["whose"] != **whose);
    if let Some(whose) = ["floor", "ours", "reference", "other"].into_iter().find(lacks) {
        return Err(format!("no figure of \"{whose}\":\n{text}"));
    }
    Ok(Measured {
        text: figures.iter().map(line).collect(),
        details: json!({ "formats": figures }),
        ..Measured::default()
    })
}

/// Returns a line such as `memory: raw bytes: 40,000 B; written in 700 ns, read in 720 ns: copied`.
fn line(figure: &Value) -> String {
    let word = |name: &str| figure[name].as_str().unwrap_or("?");
    let count = |name: &str| number(figure[name].as_f64().unwrap_or(f64::NAN));
    format!(
        "{}: {}: {} B; written in {} ns, read in {} ns: {}\n",
        word("where"),
        word("name"),
        count("bytes"),
        count("write_ns"),
        count("read_ns"),
        word("how")
    )
}

/// Runs a stage: every format is written, and read back with the same values.
pub fn compare() -> Outcome {
    let measured = measure(&Options::default())?;
    print!("{}", measured.text);
    Ok(Tally::of("all formats are written and read", Ok(())))
}
