//! Every conformance vector through the command, but those above 16 MiB: the suite reads that half gigabyte.
//! `decode` reads the share of the run.

use crate::support::{Place, finish, share};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread;
use vectors::{Ours, TensorRow, Vector};

const LONGEST: usize = 16 << 20;

fn all() -> Vec<Vector> {
    let mut all = vectors::load().vectors;
    all.retain(|vector| vector.length <= LONGEST);
    assert!(all.len() >= 1500, "{} vectors", all.len());
    all
}

/// The vectors with their files.
fn listed(place: &Place, vectors: impl IntoIterator<Item = Vector>) -> Vec<(Vector, PathBuf)> {
    let with_file = |vector: Vector| {
        let path = match &vector.file {
            Some(file) => vectors::folder().join(file),
            None => place.put(&vector.id, &vector.bytes()).path(&vector.id),
        };
        (vector, path)
    };
    vectors.into_iter().map(with_file).collect()
}

/// Asks one process about all files, and returns its answers.
fn checked(place: &Place, options: &[&str], listed: &[(Vector, PathBuf)]) -> Vec<Value> {
    let paths = listed.iter().map(|(_, path)| path);
    let run = finish(place.command(["check", "--json"]).args(options).args(paths));
    assert_eq!((run.code, run.err.as_str()), (Some(1), ""));
    run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn check_is_right_about_every_vector() {
    let place = Place::new();
    let listed = listed(&place, all());
    let answers = checked(&place, &[], &listed);
    assert_eq!(answers.len(), listed.len());
    for ((vector, path), answer) in listed.iter().zip(&answers) {
        let accepts = vector.ours.accepts();
        let tensors = vector.tensors.as_ref().map(Vec::len).or(vector.tensor_count).filter(|_| accepts);
        let bytes = accepts.then_some(vector.length);
        let expected = json!([path, accepts, vector.code, vector.at, tensors, bytes]);
        let said = ["file", "ok", "code", "at", "tensors", "bytes"].map(|member| answer[member].clone());
        assert_eq!(Value::from(said.to_vec()), expected, "{}: {answer}", vector.id);
    }
}

/// Vectors about which the text says something other than the reference have it as `published`.
#[test]
fn as_published_is_the_verdict_of_the_text() {
    let place = Place::new();
    let listed = listed(&place, all());
    let answers = checked(&place, &["--as-published"], &listed);
    assert_eq!(answers.len(), listed.len());
    let mut only_published = 0;
    for ((vector, _), answer) in listed.iter().zip(&answers) {
        let ours = vector.ours.accepts();
        let is_rejected = vector.published == Some(Ours::Reject);
        assert_eq!(answer["ok"], ours && !is_rejected, "{answer}");
        let code = answer["code"].as_str().unwrap_or_default();
        assert_eq!(code.starts_with("published."), ours && is_rejected, "{answer}");
        only_published += usize::from(ours && is_rejected);
    }
    assert!(only_published >= 15, "{only_published}");
}

/// One process for each file of the run's share, as many at once as there are cores.
#[test]
fn decode_is_right_about_every_vector() {
    let place = Place::new();
    let listed = listed(&place, share::part(all(), 0));
    let for_each = listed.len().div_ceil(thread::available_parallelism().map_or(1, usize::from));
    thread::scope(|scope| {
        for part in listed.chunks(for_each) {
            let place = &place;
            scope.spawn(move || part.iter().for_each(|(vector, path)| decode(place, vector, path)));
        }
    });
}

fn decode(place: &Place, vector: &Vector, path: &Path) {
    let run = place.run_redirected(["decode"], File::open(path).expect("a file"));
    if !vector.ours.accepts() {
        let (code, at) = vector.code.as_ref().zip(vector.at).expect("an error");
        let said = format!("-: error[{code}] at byte {at}: ");
        assert!(run.err.starts_with(&said), "{}: {run:?}, expected {said}", vector.id);
        assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{}", vector.id);
        return;
    }
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", vector.id);
    let decoded: Value = serde_json::from_str(&run.out).expect("JSON");
    match &vector.tensors {
        Some(rows) => {
            let expected = json!({"tensors": table(rows), "metadata": vector.metadata});
            assert_eq!(decoded, expected, "{}", vector.id);
        }
        None => {
            let count = decoded["tensors"].as_object().map(Map::len);
            assert_eq!(count, vector.tensor_count, "{}", vector.id);
        }
    }
}

fn table(rows: &[TensorRow]) -> Value {
    let entry = |row: &TensorRow| {
        let TensorRow { name, dtype, shape, data_offsets, sha256 } = row.clone();
        (name, json!({"dtype": dtype, "shape": shape, "data_offsets": data_offsets, "sha256": sha256}))
    };
    rows.iter().map(entry).collect::<Map<_, _>>().into()
}
