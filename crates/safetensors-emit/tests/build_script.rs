//! A program whose `build.rs` writes what it expects of its models follows the models.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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

#[test]
fn a_program_follows_the_models_of_its_build_script() {
    let package = Package::new();
    package.says(NET, (true, "shape [2, 3], 5000 and 0 queries"));
    package.cargo(&["doc", "--quiet", "--no-deps", "--lib"], (true, ""));
    package.write(NET, &net("[3,2]"));
    package.says(NET, (true, "shape [3, 2]"));
    package.write("models/other", &net("[2,3]"));
    package.says("models/other", (false, "ShapeMismatch"));
    let mut other = net("[3,2]");
    *other.last_mut().expect("data") ^= 1;
    package.write("models/other", &other);
    package.says("models/other", (false, "SumMismatch"));
    other.pop();
    package.write(NET, &other);
    package.says(NET, (false, &format!("Error: {NET}: ")));
    fs::remove_file(package.0.join(NET)).expect("removed");
    package.says(NET, (false, &format!("Error: cannot open {NET}: ")));
}

/// A package that is written by this test, in a directory that is kept for later runs.
struct Package(PathBuf);

impl Package {
    fn new() -> Self {
        let package = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join("build-script"));
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let manifest = format!(
            "[workspace]\n\n[package]\nname = \"build-script\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
             [dependencies]\nembedded-safetensors = {{ path = {:?}, features = [\"sha2\"] }}\n\n\
             [build-dependencies]\nsafetensors-emit = {{ path = {:?} }}\n",
            crates.join("embedded-safetensors"),
            crates.join("safetensors-emit"),
        );
        let many: Vec<String> = (0..MANY).map(|at| format!("layers.{at}.weight")).collect();
        let many: Vec<_> = many.iter().map(|name| (&name[..], "U8", "[1,2]", vec![1, 2])).collect();
        package.write("Cargo.toml", manifest.as_bytes());
        package.write("build.rs", BUILD.as_bytes());
        package.write("src/lib.rs", LIBRARY.as_bytes());
        package.write("src/main.rs", PROGRAM.as_bytes());
        package.write(NET, &net("[2,3]"));
        package.write("models/many.safetensors", &file(&many));
        package.write("models/none.safetensors", &file(&[]));
        // The versions that the workspace has, without a look at the registry.
        fs::copy(crates.join("../Cargo.lock"), package.0.join("Cargo.lock")).expect("copied");
        package
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("created");
        fs::write(path, bytes).expect("written");
    }

    /// Builds the program and runs it with a model.
    fn says(&self, model: &str, expected: (bool, &str)) {
        self.cargo(&["run", "--quiet", "--", model], expected);
    }

    /// Runs cargo, which succeeds or not, as given; it or the program says these words.
    fn cargo(&self, words: &[&str], (succeeds, expected): (bool, &str)) {
        let cargo = Command::new(env!("CARGO"))
            .current_dir(&self.0)
            .env("CARGO_TARGET_DIR", self.0.join("target"))
            .env("RUSTDOCFLAGS", "-Dwarnings")
            .args(words)
            .output()
            .expect("cargo");
        let said = [&cargo.stdout[..], &cargo.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(
            said.contains(expected) && cargo.status.success() == succeeds,
            "{words:?}: {expected}: {said}"
        );
    }
}

/// Returns a model whose names and shapes mean something else in Markdown.
fn net(shape: &str) -> Vec<u8> {
    let bias = ("a<b>[0].`c`", "U8", "[3]", vec![0; 3]);
    let weight = ("fc.weight", "I8", shape, vec![1, 2, 3, 4, 5, 6]);
    file(&[("scale", "F32", "[]", vec![0; 4]), bias, ("a<b>[0]", "U8", "[1]", vec![0]), weight])
}

/// Returns a file with these tensors: name, dtype, shape and bytes.
fn file(tensors: &[(&str, &str, &str, Vec<u8>)]) -> Vec<u8> {
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    for (name, dtype, shape, bytes) in tensors {
        let (begin, end) = (data.len(), data.len() + bytes.len());
        let entry = format!(r#"{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}"#);
        entries.push(format!(r#""{name}":{entry}"#));
        data.extend(bytes);
    }
    let header = format!("{{{}}}", entries.join(","));
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}
