//! Asks a reader in Rust: `readers NAME`, with a path on each line of stdin. For each, in order, a line
//! of JSON on stdout: `{"tensors":…,"metadata":…}`, or `{"error":"why"}`.

mod aprender_core;
mod burn_store;
mod candle_core;
mod kime_model;
mod kopitiam_loader;
mod reference;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::io::{BufRead, Write};
use std::path::Path;

/// The tensors by name, and the metadata if the reader tells it.
struct Table(Map<String, Value>, Option<Value>);

type Reader = fn(&Path) -> Result<Table, String>;

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    let Some(read) = reader(&name) else {
        eprintln!("no reader has the name {name:?}");
        std::process::exit(2);
    };
    for path in std::io::stdin().lock().lines().map_while(Result::ok) {
        let line = match read(Path::new(&path)) {
            Ok(Table(tensors, None)) => json!({ "tensors": tensors }),
            Ok(Table(tensors, Some(metadata))) => json!({ "tensors": tensors, "metadata": metadata }),
            Err(error) => json!({ "error": error }),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}").and_then(|()| out.flush()).expect("standard output is open");
    }
}

fn reader(name: &str) -> Option<Reader> {
    Some(match name {
        "safetensors-0.4.5" => reference::read_0_4_5,
        "safetensors-0.5.3" => reference::read_0_5_3,
        "safetensors-0.6.2" => reference::read_0_6_2,
        "safetensors-0.7.0" => reference::read_0_7_0,
        "safetensors-0.8.0" => reference::read_0_8_0,
        "aprender-core" => aprender_core::read,
        "burn-store" => burn_store::read,
        "candle-core" => candle_core::read,
        "kime-model" => kime_model::read,
        "kopitiam-loader" => kopitiam_loader::read,
        _ => return None,
    })
}

/// Returns a row of the table.
fn tensor(dtype: impl ToString, shape: &[usize], data: &[u8]) -> Value {
    let sum: String = Sha256::digest(data).iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "dtype": dtype.to_string(), "shape": shape, "sha256": sum })
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

/// Returns the metadata of a reader to which none and an empty one are the same, if it tells anything.
fn unless_empty(metadata: Map<String, Value>) -> Option<Value> {
    (!metadata.is_empty()).then_some(Value::Object(metadata))
}
