//! A program whose `build.rs` writes what it expects of its models.

use super::scratch::Scratch;
use crate::model::ModelFile;
use crate::process::everything;
use crate::report::{Outcome, Tally};
use crate::workspace;
use std::fs;

/// More tensors than any network for a microcontroller has.
const MANY: usize = 5000;

const BUILD: &str = r#"//! Writes the constants of the models.
fn main() -> Result<(), safetensors_emit::EmitError> {
    safetensors_emit::build("models/net.safetensors")?;
    safetensors_emit::build("models/many.safetensors")?;
    safetensors_emit::build("models/none.safetensors")
}
"#;

const LIBRARY: &str = r#"//! The constants of the models, as firmware includes them.
#![no_std]
#![deny(missing_docs, warnings)]

/// The model.
pub mod net {
    include!(concat!(env!("OUT_DIR"), "/net.rs"));
}
/// A model with many tensors.
pub mod many {
    include!(concat!(env!("OUT_DIR"), "/many.rs"));
}
/// A model without tensors.
pub mod none {
    include!(concat!(env!("OUT_DIR"), "/none.rs"));
}
"#;

const PROGRAM: &str = r#"//! Prints what it expects of a model, if a file is that model.
use build_script::{many, net, none};
use embedded_safetensors::{Model, integrity::Sha256};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::fs::read(std::env::args().nth(1).ok_or("no path")?)?;
    let (mut queries, mut window) = (net::QUERIES, [0; 64]);
    let mut model = Model::open_with(&file[..], &mut queries, &mut window)?;
    model.verify(Sha256::new(), &net::SHA256, &mut window)?;
    println!("shape {:?}, {} and {} queries", net::FC_WEIGHT.shape, many::QUERIES.len(), none::QUERIES.len());
    Ok(())
}
"#;

const NET: &str = "models/net.safetensors";

pub fn run() -> Outcome {
    let scratch = package()?;
    let mut tally = Tally::default();
    let accepted = says(&scratch, NET, (true, "shape [2, 3], 5000 and 0 queries"));
    tally.check("a program accepts the model that it was built for", accepted);
    let docs = scratch.cargo("doc").args(["--quiet", "--no-deps", "--lib"]).env("RUSTDOCFLAGS", "-Dwarnings");
    tally.check("the constants are documented without warnings", docs.check());
    scratch.write(NET, &net("[3,2]"))?;
    tally.check("another model changes the program", says(&scratch, NET, (true, "shape [3, 2]")));
    scratch.write("models/other", &net("[2,3]"))?;
    let shape = says(&scratch, "models/other", (false, "ShapeMismatch"));
    tally.check("the program rejects another shape", shape);
    let mut other = net("[3,2]");
    let last = other.pop().unwrap_or_default();
    scratch.write("models/other", &[&other[..], &[last ^ 1]].concat())?;
    tally.check("the program rejects another byte", says(&scratch, "models/other", (false, "SumMismatch")));
    scratch.write(NET, &other)?;
    tally.check("an invalid model ends the build", says(&scratch, NET, (false, &format!("Error: {NET}: "))));
    fs::remove_file(scratch.path(NET)).map_err(|error| error.to_string())?;
    let missing = says(&scratch, NET, (false, &format!("Error: cannot open {NET}: ")));
    tally.check("a missing model ends the build", missing);
    Ok(tally)
}

fn package() -> Result<Scratch, String> {
    let scratch = Scratch::new("build-script")?;
    let [library, emit] = ["embedded-safetensors", "safetensors-emit"]
        .map(|name| workspace::root().join("crates").join(name).display().to_string());
    let manifest = format!(
        "[workspace]\n\n[package]\nname = \"build-script\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
         [dependencies]\nembedded-safetensors = {{ path = {library:?}, features = [\"sha2\"] }}\n\n\
         [build-dependencies]\nsafetensors-emit = {{ path = {emit:?} }}\n"
    );
    let many = (0..MANY).fold(ModelFile::default(), |file, at| {
        file.with(&format!("layers.{at}.weight"), "U8", "[1,2]", [1, 2])
    });
    scratch.write("Cargo.toml", manifest.as_bytes())?;
    scratch.write("build.rs", BUILD.as_bytes())?;
    scratch.write("src/lib.rs", LIBRARY.as_bytes())?;
    scratch.write("src/main.rs", PROGRAM.as_bytes())?;
    scratch.write(NET, &net("[2,3]"))?;
    scratch.write("models/many.safetensors", &many.bytes())?;
    scratch.write("models/none.safetensors", &ModelFile::default().bytes())?;
    Ok(scratch)
}

fn net(shape: &str) -> Vec<u8> {
    let scale = ModelFile::default().with("scale", "F32", "[]", [0; 4]);
    // A name and a shape that mean something else in Markdown.
    let bias = scale.with("a<b>[0].`c`", "U8", "[3]", [0; 3]).with("a<b>[0]", "U8", "[1]", [0]);
    bias.with("fc.weight", "I8", shape, [1, 2, 3, 4, 5, 6]).bytes()
}

/// Builds the program and runs it with a model. It succeeds or not, as given, and the build or the program
/// says these words.
fn says(scratch: &Scratch, model: &str, (succeeds, words): (bool, &str)) -> Result<(), String> {
    let output = scratch.cargo("run").args(["--quiet", "--", model]).output()?;
    let said = everything(&output);
    match said.contains(words) && output.status.success() == succeeds {
        true => Ok(()),
        false => Err(format!("it does not say \"{words}\", or ends with {}:\n{said}", output.status)),
    }
}
