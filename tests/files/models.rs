//! Models in files, read by positioned reads. `apis` opens every vector so.

use crate::files::{mapped, temp_dir::TempDir};
use embedded_safetensors::{
    ErrorKind, FileModel, ReadAt, file::FileErrorKind, io::FileLen, slice::AxisRange, tensor::Located,
};
use std::fs::File;
use std::time::{Duration, SystemTime};
use support::file::{entry, with_entries, with_header};

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
    let _socket = std::os::unix::net::UnixListener::bind(dir.join("socket")).expect("succeeds");
    let error = FileModel::open(dir.join("socket")).expect_err("cannot be opened");
    assert!(matches!(error.kind(), FileErrorKind::NotAFile { what: "a socket" }), "{error}");
}

#[test]
fn duplicate_name_is_shown() {
    let dir = TempDir::new();
    for name in ["", "a", r#"\"a\\"#, r"\\\\"] {
        let entries = [entry(name, "U8", [0], 0..0), entry(name, "U8", [1], 0..1)];
        let error = FileModel::open(dir.put("twice", &with_entries(&entries, 1))).expect_err("duplicate");
        assert!(
            matches!(error.kind(), FileErrorKind::Duplicate { name: shown, .. } if shown == name),
            "{name}: {error}"
        );
    }
}

#[test]
fn models_show_what_they_have() {
    let dir = TempDir::new();
    let path = three(&dir);
    let model = FileModel::open(&path).expect("valid file");
    assert_eq!(
        format!("{model:?}"),
        format!("FileModel {{ path: {path:?}, tensors: [\"a\", \"b\", \"deep\"], .. }}")
    );
    let a = model.find("a").expect("valid file").expect("present");
    let shown = "IndexedTensor { name: \"a\", dims: [4], dtype: U8, begin: 0, end: 4 }";
    assert_eq!((format!("{a:?}"), a.elements()), (shown.to_owned(), 4));
    assert!(format!("{:?}", model.index()).starts_with(&format!("[{shown}, ")));
    let len = model.file().metadata().expect("present").len();
    assert_eq!(a.model().index().summary().file_len(), len);
    assert_eq!((&model).file_len().expect("known"), FileLen::Exactly(len));
    let map = mapped::open(&path).expect("valid file");
    let summary = map.view().summary();
    assert_eq!(
        format!("{map:?}"),
        format!("MappedModel {{ path: {:?}, summary: {summary:?}, .. }}", map.path())
    );
    let deep = map.find("deep").map(drop).expect_err("nine dimensions");
    assert!(matches!(deep.kind, ErrorKind::Rank { limit: 8 }), "{deep}");
    let error = FileErrorKind::TooLong { len: 1 << 40 }.of("m");
    let expected =
        format!("m: it has {} bytes, too many to map with addresses of {} bits", 1_u64 << 40, usize::BITS);
    assert_eq!(error.to_string(), expected);
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::FileTooLarge);
}

#[test]
fn truncated_or_written_file_is_detected() {
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
    let model = FileModel::open(three(&dir)).expect("valid file");
    file.set_modified(SystemTime::now() + Duration::from_secs(2)).expect("time can be set");
    model.check_unchanged().expect_err("written");
}
