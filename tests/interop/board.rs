//! What an emulated board has read: its golden file, which `cargo xtask test boards` compares with its
//! output.
//!
//! A line is `NUMPY.ST: F32 F32 [2, 4] 0100c07f…` for a tensor with name, dtype, shape and bytes, or
//! `NUMPY.ST: Model::open ok` for an API, with the code of an error in place of `ok`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use embedded_safetensors::ErrorKind;

use super::reading::{expected, needs_order, structure_of};
use super::results::{Array, FRAMEWORKS};

fn board() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("firmware/lm3s6965")
}

/// Returns the names of a framework's files on the card.
fn files(framework: &str) -> Vec<String> {
    let manifest = fs::read_to_string(board().join("Cargo.toml")).expect("a manifest");
    let of_framework = format!("interop/{framework}/");
    let pairs = manifest.split("[\"").filter_map(|text| text.split_once("\", \""));
    pairs.filter(|(_, file)| file.starts_with(&of_framework)).map(|(name, _)| name.to_owned()).collect()
}

/// Returns the lines about the files of a framework, without the names of the files.
fn lines(framework: &str) -> Vec<String> {
    let golden = fs::read_to_string(board().join("golden/interop.txt")).unwrap_or_default();
    let files = files(framework);
    let lines = golden.lines().filter_map(|line| line.split_once(": "));
    lines.filter(|(file, _)| files.iter().any(|name| name == file)).map(|(_, line)| line.to_owned()).collect()
}

fn array(line: &str) -> Option<(String, Array)> {
    let (name, rest) = line.split_once(' ')?;
    let (dtype, rest) = rest.split_once(" [")?;
    let (dims, bytes) = rest.split_once("] ")?;
    let dims = dims.split(", ").filter(|dim| !dim.is_empty());
    let shape = dims.map(|dim| dim.parse().expect("a number")).collect();
    Some((name.to_owned(), Array { dtype: dtype.to_owned(), shape, bytes: bytes.to_owned() }))
}

#[test]
fn a_board_reads_what_frameworks_write() {
    for (framework, _) in FRAMEWORKS {
        let names = structure_of(framework);
        let lines = lines(framework);
        let arrays = lines.iter().filter_map(|line| array(line));
        let arrays = arrays.map(|(name, array)| (names.get(&name).cloned().unwrap_or(name), array));
        assert_eq!(arrays.collect::<BTreeMap<_, _>>(), expected(framework), "{framework}");
        let mut apis = BTreeSet::new();
        for line in &lines {
            let [api, outcome] = line.split(' ').collect::<Vec<_>>()[..] else { continue };
            let is_out_of_order = framework == "mlx" && needs_order(api);
            let due = if is_out_of_order { ErrorKind::OutOfOrder.code() } else { "ok" };
            assert_eq!(outcome, due, "{framework}: {api}");
            apis.insert(api);
        }
        assert_eq!(apis.len(), 5, "{framework}");
    }
}
