//! Models in files, read by positioned reads.

use crate::files::temp_dir::Folder;
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
    let folder = Folder::new();
    let manifest = vectors::load();
    let chosen = manifest.vectors.iter().filter(|vector| vector.length <= LONG);
    let judged: Vec<_> = chosen
        .map(|vector| {
            let path = folder.put("vector", &vector.bytes());
            (&vector.id, check(vector, FileModel::open(path)))
        })
        .collect();
    let failures: Vec<_> = judged.iter().filter(|(_, verdict)| verdict.is_err()).collect();
    assert!(judged.len() > 450, "only {} vectors are left", judged.len());
    assert!(failures.is_empty(), "{failures:?}");
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: T, wanted: T) -> Verdict {
    if got == wanted { Ok(()) } else { Err(format!("{what} is {got:?}, not {wanted:?}")) }
}

#[test]
fn every_vector_gets_its_verdict() {
    each_vector(|vector, outcome| match (vector.ours, outcome) {
        (Ours::Accept, Ok(model)) => {
            expect("the length", model.len(), vector.tensor_count.unwrap_or(model.len()))
        }
        (Ours::Accept, Err(error)) => Err(format!("must be accepted: {error}")),
        (Ours::Reject, Ok(_)) => Err("must be rejected".to_owned()),
        (Ours::Reject, Err(error)) => match error.kind() {
            FileErrorKind::Format(error) | FileErrorKind::Twice { error, .. } => {
                let got = (Some(error.kind.code().to_owned()), Some(error.at));
                expect("the error", got, (vector.code.clone(), vector.at))
            }
            other => Err(format!("{other:?}")),
        },
    });
}

#[test]
fn what_is_there_is_listed_found_and_read() {
    each_vector(|vector, outcome| {
        let (Some(wanted), Ok(model)) = (vector.table(), outcome) else { return Ok(()) };
        expect("the list", list(&model), wanted.clone().sorted())?;
        let begins: Vec<_> = model.tensors().map(|tensor| (tensor.begin(), tensor.end())).collect();
        expect("the order", begins.is_sorted(), true)?;
        vector.tensors.iter().flatten().try_for_each(|wanted| {
            let tensor =
                model.find(&wanted.name).map_err(|error| error.to_string())?.ok_or("it is not found")?;
            let mut bytes = vec![0; usize::try_from(tensor.byte_len()).expect("it is short")];
            let bytes = tensor.reader().read_to_end(&mut bytes).map_err(|error| error.to_string())?;
            expect("the hash", sha256(bytes), wanted.sha256.clone())
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

const THREE: &str = r#"{"b":{"dtype":"U8","shape":[2,3],"data_offsets":[4,10]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
"deep":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[10,11]}}"#;

fn three(folder: &Folder) -> std::path::PathBuf {
    let mut bytes = with_header(THREE, 0);
    bytes.extend(0..11_u8);
    folder.put("three", &bytes)
}

#[test]
fn slices_and_shapes_of_any_rank() {
    let folder = Folder::new();
    let model = FileModel::open(three(&folder)).expect("it is sound");
    let names: Vec<_> = model.tensors().map(|tensor| tensor.name()).collect();
    assert_eq!(names, ["a", "b", "deep"]);
    let b = model.find("b").expect("it is sound").expect("it is there");
    let column = b.reader().slice(&[AxisRange::ALL, AxisRange::index(1)]).expect("it has one");
    assert_eq!(column.values().read_to_vec::<f32>().expect("it is read"), [5.0, 8.0]);
    assert_eq!(b.info().expect("of two dimensions").shape().dims(), [2, 3]);
    let deep = model.find("deep").expect("it is sound").expect("it is there");
    assert_eq!(deep.dims(), [1; 9]);
    assert!(matches!(deep.info(), Err(ErrorKind::Rank { .. })), "{:?}", deep.info());
    assert!(model.find("c").is_ok_and(|found| found.is_none()));
}

#[test]
fn an_open_file_goes_by_the_name_that_it_is_given() {
    let folder = Folder::new();
    let model = FileModel::from_file(File::open(three(&folder)).expect("it is there"), "-").expect("sound");
    assert_eq!((model.path().to_str(), model.len(), model.is_empty()), (Some("-"), 3, false));
    let short = File::open(folder.put("short", b"\x10")).expect("it is there");
    let error = FileModel::from_file(short, "-").expect_err("it is not sound");
    assert!(matches!(error.kind(), FileErrorKind::Format(_)), "{error}");
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_no_model() {
    let folder = Folder::new();
    for outcome in [
        FileModel::open(folder.path()),
        FileModel::from_file(File::open(folder.path()).expect("it can be opened"), "folder"),
    ] {
        let error = outcome.expect_err("it is a folder");
        assert!(matches!(error.kind(), FileErrorKind::NotAFile { .. }), "{error}");
    }
}

#[test]
fn a_file_that_is_cut_off_is_an_error_of_the_read_and_is_noticed() {
    let folder = Folder::new();
    let path = three(&folder);
    let model = FileModel::open(&path).expect("it is sound");
    model.check_unchanged().expect("nobody has touched it");
    let file = File::options().write(true).open(&path).expect("it can be written");
    file.set_len(model.summary().data_start + 6).expect("it can be cut");
    let b = model.find("b").expect("it is sound").expect("it was there");
    b.reader().read_to_end(&mut [0; 6]).expect_err("its end is gone");
    let error = model.check_unchanged().expect_err("it is shorter");
    assert!(matches!(error.kind(), FileErrorKind::Changed), "{error}");
}

#[test]
fn a_file_that_is_written_to_is_noticed() {
    let folder = Folder::new();
    let path = three(&folder);
    let model = FileModel::open(&path).expect("it is sound");
    let bytes = fs::read(&path).expect("it can be read");
    fs::write(&path, bytes).expect("it can be written");
    let later = SystemTime::now() + Duration::from_secs(2);
    let file = File::options().write(true).open(&path).expect("it can be written");
    file.set_modified(later).expect("its time can be set");
    model.check_unchanged().expect_err("it was written");
}
