//! What the adapters of all frameworks in Rust share, as `interop.py` for those in Python.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// An array: of a dtype of the format in `values.json`, of one of the framework in its results.
pub struct Array {
    pub dtype: String,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

/// A framework's arrays, and its file functions. Errors are its own words.
pub trait Framework {
    type Tensor: Clone;

    /// Returns its array.
    fn make(&self, array: &Array) -> Result<Self::Tensor, String>;
    /// Returns what it has in memory.
    fn plain(&self, tensor: &Self::Tensor) -> Result<Array, String>;
    /// Writes a file.
    fn save(&self, tensors: &BTreeMap<String, Self::Tensor>, path: &Path) -> Result<(), String>;
    /// Reads a tensor of a file. `like` is the array that is expected.
    fn load(&self, path: &Path, name: &str, like: &Array) -> Result<Self::Tensor, String>;
}

/// Writes the file and the results of a framework, to the file that the first argument names. `lock` is its
/// `Cargo.lock`, with these packages.
pub fn run<F: Framework>(framework: &F, folder: &Path, lock: &str, packages: &[&str]) {
    let out = PathBuf::from(std::env::args_os().nth(1).expect("the file for the results"));
    let probe = out.with_extension("safetensors");
    let here = folder.parent().expect("a directory of interop");
    let values = values(here);
    let (mut made, mut written) = (BTreeMap::new(), BTreeMap::new());
    for (name, array) in &values {
        let write = || {
            let tensor = framework.make(array)?;
            // Alone first: what a framework cannot write would otherwise spoil the file of all.
            framework.save(&BTreeMap::from([(name.clone(), tensor.clone())]), &probe)?;
            made.insert(name.clone(), tensor.clone());
            framework.plain(&tensor)
        };
        written.insert(name.clone(), attempt(write));
    }
    framework.save(&made, &folder.join("model.safetensors")).expect("each was saved alone");
    let read = |file: &str, name: &str| {
        let path = here.join(format!("ours/{file}.safetensors"));
        attempt(|| framework.plain(&framework.load(&path, name, &values[name])?))
    };
    let versions: BTreeMap<_, _> = packages.iter().map(|package| (package, version(lock, package))).collect();
    let results = json!({
        "versions": versions,
        "written": written,
        "read": values.keys().map(|name| (name.clone(), read(name, name))).collect::<BTreeMap<_, _>>(),
        // Which dtype it reports may be another one each time.
        "reads_all": read("all", "F32").get("error").is_none(),
    });
    fs::write(out, results.to_string()).expect("writable");
}

fn values(here: &Path) -> BTreeMap<String, Array> {
    let text = fs::read_to_string(here.join("values.json")).expect("a file");
    let values: BTreeMap<String, Value> = serde_json::from_str(&text).expect("arrays by name");
    let array = |value: &Value| {
        let digits = value["bytes"].as_str().expect("digits");
        let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("two digits");
        Array {
            dtype: value["dtype"].as_str().expect("a dtype").to_owned(),
            shape: serde_json::from_value(value["shape"].clone()).expect("a shape"),
            bytes: (0..digits.len()).step_by(2).map(byte).collect(),
        }
    };
    values.iter().map(|(name, value)| (name.clone(), array(value))).collect()
}

/// Returns the array, or the words of the error in one line.
fn attempt(run: impl FnOnce() -> Result<Array, String>) -> Value {
    match catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err("panic".to_owned())) {
        Ok(Array { dtype, shape, bytes }) => {
            let bytes: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "dtype": dtype, "shape": shape, "bytes": bytes })
        }
        Err(error) => json!({ "error": error.split_whitespace().collect::<Vec<_>>().join(" ") }),
    }
}

/// Returns the version of a package.
fn version(lock: &str, package: &str) -> String {
    let (_, rest) = lock.split_once(&format!("name = \"{package}\"\nversion = \"")).expect("a dependency");
    rest.split('"').next().expect("a version").to_owned()
}
