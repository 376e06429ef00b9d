//! Models in files, read by positioned reads.

use crate::files::temp_dir::TempDir;
use embedded_safetensors::{
    ErrorKind, FileModel,
    file::{FileError, FileErrorKind},
    slice::AxisRange,
};
use std::fs::{self, File};
use std::time::{Duration, SystemTime};
use support::file::with_header;
use vectors::table::{self, Table};
use vectors::{Ours, Vector, sha256};

/// Longer files have nothing that shorter ones do not have.
const LONG: usize = 1 << 20;

type Verdict = Result<(), String>;

fn each_vector(check: impl Fn(&Vector, Result<FileModel, FileError>) -> Verdict) {
    let dir = TempDir::new();
    let manifest = vectors::load();
    let chosen = manifest.vectors.iter().filter(|vector| vector.length <= LONG);
    let tested: Vec<_> = chosen
        .map(|vector| {
            let path = dir.put("vector", &vector.bytes());
            (&vector.id, check(vector, FileModel::open(path)))
        })
        .collect();
    let failures: Vec<_> = tested.iter().filter(|(_, verdict)| verdict.is_err()).collect();
    assert!(tested.len() > 450, "only {} vectors are left", tested.len());
    assert!(failures.is_empty(), "{failures:?}");
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Verdict {
    if got == expected { Ok(()) } else { Err(format!("{what} is {got:?}, not {expected:?}")) }
}

#[test]
fn every_vector_has_its_verdict() {
    each_vector(|vector, outcome| match (vector.ours, outcome) {
        (Ours::Accept, Ok(model)) => {
            expect("the length", model.index().len(), vector.tensor_count.unwrap_or(model.index().len()))
        }
        (Ours::Accept, Err(error)) => Err(format!("must be accepted: {error}")),
        (Ours::Reject, Ok(_)) => Err("must be rejected".to_owned()),
        (Ours::Reject, Err(error)) => match error.kind() {
            FileErrorKind::Format(error) | FileErrorKind::Duplicate { error, .. } => {
                let got = (Some(error.kind.code().to_owned()), Some(error.at));
                expect("the error", got, (vector.code.clone(), vector.at))
            }
            other => Err(format!("{other:?}")),
        },
    });
}

#[test]
fn tensors_are_listed_found_and_read() {
    each_vector(|vector, outcome| {
        let (Some(expected), Ok(model)) = (vector.table(), outcome) else { return Ok(()) };
        expect("the list", list(&model), expected.clone().sorted())?;
        let begins: Vec<_> = model.tensors().map(|tensor| (tensor.begin(), tensor.end())).collect();
        expect("the order", begins.is_sorted(), true)?;
        vector.tensors.iter().flatten().try_for_each(|expected| {
            let tensor =
                model.find(&expected.name).map_err(|error| error.to_string())?.ok_or("it is not found")?;
            let mut bytes = vec![0; usize::try_from(tensor.byte_len()).expect("fits in usize")];
            let bytes = tensor.reader().read_to_end(&mut bytes).map_err(|error| error.to_string())?;
            expect("the hash", sha256(bytes), expected.sha256.clone())
        })
    });
}

fn list(model: &FileModel) -> Table {
    let tensors = model.tensors().map(|tensor| table::Tensor {
        name: tensor.name().to_owned(),
        dtype: tensor.dtype().to_string(),
        shape: tensor.dims().to_vec(),
        data_offsets: [tensor.begin(), tensor.end()],
    });
    Table { tensors: tensors.collect(), metadata: model.metadata().cloned() }.sorted()
}

const THREE: &str = r#"{"b":{"dtype":"U8","shape":[2,3],"data_offsets":[4,10]},
"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
"deep":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[10,11]}}"#;

fn three(dir: &TempDir) -> std::path::PathBuf {
    let mut bytes = with_header(THREE, 0);
    bytes.extend(0..11_u8);
    dir.put("three", &bytes)
}

#[test]
fn slices_and_shapes_of_any_rank() {
    let dir = TempDir::new();
    let model = FileModel::open(three(&dir)).expect("valid file");
    let names: Vec<_> = model.tensors().map(|tensor| tensor.name()).collect();
    assert_eq!(names, ["a", "b", "deep"]);
    let b = model.find("b").expect("valid file").expect("present");
    let column = b.reader().slice(&[AxisRange::ALL, AxisRange::index(1)]).expect("in range");
    assert_eq!(column.values().read_to_vec::<f32>().expect("readable"), [5.0, 8.0]);
    assert_eq!(b.info().expect("of two dimensions").shape().dims(), [2, 3]);
    let deep = model.find("deep").expect("valid file").expect("present");
    assert_eq!(deep.dims(), [1; 9]);
    assert!(matches!(deep.info(), Err(ErrorKind::Rank { .. })), "{:?}", deep.info());
    assert!(model.find("c").is_ok_and(|found| found.is_none()));
}

#[test]
fn from_file_uses_the_given_name() {
    let dir = TempDir::new();
    let model = FileModel::from_file(File::open(three(&dir)).expect("present"), "-").expect("valid file");
    assert_eq!((model.path().to_str(), model.index().len(), model.index().is_empty()), (Some("-"), 3, false));
    let short = File::open(dir.put("short", b"\x10")).expect("present");
    let error = FileModel::from_file(short, "-").expect_err("invalid");
    assert!(matches!(error.kind(), FileErrorKind::Format(_)), "{error}");
}

#[cfg(unix)]
#[test]
fn directory_is_not_a_model() {
    let dir = TempDir::new();
    for outcome in [
        FileModel::open(dir.path()),
        FileModel::from_file(File::open(dir.path()).expect("can be opened"), "folder"),
    ] {
        let error = outcome.expect_err("a directory");
        assert!(matches!(error.kind(), FileErrorKind::NotAFile { .. }), "{error}");
    }
}

#[test]
fn truncated_file_is_detected() {
    let dir = TempDir::new();
    let path = three(&dir);
    let model = FileModel::open(&path).expect("valid file");
    model.check_unchanged().expect("unchanged");
    let file = File::options().write(true).open(&path).expect("writable");
    file.set_len(model.index().summary().data_start + 6).expect("can be truncated");
    let b = model.find("b").expect("valid file").expect("present");
    b.reader().read_to_end(&mut [0; 6]).expect_err("truncated");
    let error = model.check_unchanged().expect_err("file is shorter");
    assert!(matches!(error.kind(), FileErrorKind::Changed), "{error}");
}

#[test]
fn written_file_is_detected() {
    let dir = TempDir::new();
    let path = three(&dir);
    let model = FileModel::open(&path).expect("valid file");
    let bytes = fs::read(&path).expect("readable");
    fs::write(&path, bytes).expect("writable");
    let later = SystemTime::now() + Duration::from_secs(2);
    let file = File::options().write(true).open(&path).expect("writable");
    file.set_modified(later).expect("time can be set");
    model.check_unchanged().expect_err("written");
}
