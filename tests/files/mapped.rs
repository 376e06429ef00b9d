//! Models in files that are mapped.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime};

use embedded_safetensors::{
    Dtype, ErrorKind as Kind, MappedModel, Tensor,
    file::{Advice, FileError, FileErrorKind, MapOptions},
    write::{FileSpec, TensorSpec},
};
use safetensors_files::write_file;
use support::file::with_header;
use vectors::table::{self, Table};
use vectors::{Ours, Vector, sha256};

use crate::files::temp_dir::{Folder, sentence};

/// Longer files have nothing that shorter ones do not have.
const LONG: usize = 1 << 20;

fn open_with(options: MapOptions, path: &Path) -> Result<MappedModel, FileError> {
    // SAFETY: the file lies in the folder of one test, which looks at no byte of it once it has changed it.
    unsafe { options.open(path) }
}

fn open(path: &Path) -> Result<MappedModel, FileError> {
    // SAFETY: as above.
    unsafe { MappedModel::open(path) }
}

fn each_vector(check: impl Fn(&Vector, Result<MappedModel, FileError>)) {
    let folder = Folder::new();
    let manifest = vectors::load();
    let chosen: Vec<_> = manifest.vectors.iter().filter(|vector| vector.length <= LONG).collect();
    assert!(chosen.len() > 450, "only {} vectors are left", chosen.len());
    for vector in chosen {
        check(vector, open(&folder.put(&vector.id.replace('/', "-"), &vector.bytes())));
    }
}

#[test]
fn every_vector_gets_its_verdict() {
    each_vector(|vector, outcome| match (vector.ours, outcome.as_ref().map_err(FileError::kind)) {
        (Ours::Accept, Ok(model)) => {
            assert_eq!(model.len(), vector.tensor_count.unwrap_or(model.len()), "{}", vector.id);
        }
        (Ours::Reject, Err(FileErrorKind::Format(error) | FileErrorKind::Twice { error, .. })) => {
            let found = (Some(error.kind.code().to_owned()), Some(error.at));
            assert_eq!(found, (vector.code.clone(), vector.at), "{}", vector.id);
        }
        (_, outcome) => panic!("{}: {outcome:?}", vector.id),
    });
}

fn entry(tensor: &Tensor<'_>) -> table::Tensor {
    table::Tensor {
        name: tensor.name().to_string(),
        dtype: tensor.dtype().to_string(),
        shape: tensor.shape().dims().to_vec(),
        data_offsets: [tensor.info().begin(), tensor.info().end()],
    }
}

#[test]
fn what_is_there_is_listed_found_and_lies_there() {
    each_vector(|vector, outcome| {
        let (Some(wanted), Ok(model)) = (vector.table(), outcome) else { return };
        // Moved, to where nothing of it was before.
        let model = Box::new(model);
        let metadata = model.metadata().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let tensors: Result<Vec<_>, _> = model.tensors().map(|tensor| Ok(entry(&tensor?))).collect();
        match tensors {
            Ok(tensors) => {
                let metadata = wanted.metadata.is_some().then_some(metadata);
                assert_eq!(Table { tensors, metadata }.sorted(), wanted.clone().sorted(), "{}", vector.id);
            }
            Err(embedded_safetensors::Error { kind, .. }) => assert!(matches!(kind, Kind::Rank { .. })),
        }
        for wanted in vector.tensors.iter().flatten().filter(|tensor| tensor.shape.len() <= 8) {
            let tensor = model.tensor(&wanted.name).unwrap_or_else(|error| panic!("{}: {error}", vector.id));
            assert_eq!(sha256(tensor.bytes()), wanted.sha256, "{}", vector.id);
        }
    });
}

/// Tensors of these lengths, each filled with its number.
fn put(folder: &Folder, lens: &[u64]) -> std::path::PathBuf {
    let names: Vec<String> = (0..lens.len()).map(|number| format!("layer.{number:05}")).collect();
    let specs: Vec<_> = names
        .iter()
        .zip(lens)
        .map(|(name, len)| TensorSpec::new(name, Dtype::U8, std::slice::from_ref(len)))
        .collect();
    let path = folder.join("model");
    let fill = |file: &mut safetensors_files::FileWriter<'_>| {
        names.iter().zip(lens).enumerate().try_for_each(|(number, (name, &len))| {
            let bytes = vec![number.to_le_bytes()[0]; usize::try_from(len).expect("it is short")];
            file.write_tensor(name, &bytes)
        })
    };
    write_file(&path, FileSpec::new(&specs), fill).expect("there is room");
    path
}

#[test]
fn each_of_many_tensors_is_found() {
    let folder = Folder::new();
    let model = open(&put(&folder, &[3; 3000])).expect("it is sound");
    assert_eq!((model.len(), model.is_empty(), model.summary().tensors), (3000, false, 3000));
    for number in 0..3000_usize {
        let tensor = model.tensor(&format!("layer.{number:05}")).expect("it is there");
        assert_eq!(tensor.as_u8().expect("bytes lie right"), [number.to_le_bytes()[0]; 3]);
    }
    let error = model.tensor("layer.3000").expect_err("there is none");
    assert!(matches!(error.kind, Kind::NotFound { .. }), "{error}");
    assert_eq!(model.tensors().count(), 3000);
    let path = folder.join("none");
    write_file(&path, FileSpec::new(&[]), |_| Ok(())).expect("there is room");
    let none = open(&path).expect("it is sound");
    assert!(none.is_empty() && none.tensor("a").is_err() && none.path() == path);
}

#[test]
fn a_model_may_go_to_other_threads() {
    let folder = Folder::new();
    let model = open(&put(&folder, &[5, 6])).expect("it is sound");
    let last = std::thread::spawn(move || model.tensor("layer.00001").expect("it is there").bytes().to_vec());
    assert_eq!(last.join().expect("it does not panic"), [1; 6]);
}

#[test]
fn a_shape_of_more_dimensions_than_can_be_held_is_an_error_of_that_tensor() {
    let folder = Folder::new();
    let header = r#"{"deep":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]},"flat":{"dtype":"U8","shape":[],"data_offsets":[1,2]}}"#;
    let mut bytes = with_header(header, 0);
    bytes.extend([7, 8]);
    let model = open(&folder.put("deep", &bytes)).expect("it is sound");
    assert_eq!(model.tensor("flat").expect("it can be held").bytes(), [8]);
    assert!(matches!(model.tensor("deep").expect_err("it is too deep").kind, Kind::Rank { .. }));
    assert_eq!(model.tensors().filter(Result::is_ok).count(), 1);
}

#[test]
fn what_cannot_be_a_model_is_an_error() {
    let folder = Folder::new();
    let refused = |path: &Path| sentence(&folder, open(path).map(drop));
    assert_eq!(refused(folder.path()), ".: it is a folder, not a file");
    assert!(refused(&folder.join("nothing")).starts_with("cannot open ./nothing: "));
    let empty = open(&folder.put("empty", b"")).expect_err("it has no header");
    let FileErrorKind::Format(error) = empty.kind() else { panic!("{empty}") };
    assert_eq!((error.kind.code(), error.at), ("container.short", 0));
}

#[test]
fn a_file_that_was_cut_off_or_written_to_is_noticed_before_it_is_looked_at() {
    let folder = Folder::new();
    let path = put(&folder, &[100_000, 100_000]);
    let file = File::options().write(true).open(&path).expect("it is there");
    let before = File::metadata(&file).and_then(|metadata| metadata.modified()).expect("it is known");
    let changed = |model: &MappedModel| sentence(&folder, model.check_unchanged());
    let model = open(&path).expect("it is sound");
    model.check_unchanged().expect("nobody has touched it");
    file.set_len(100_000).expect("it can be cut off");
    file.set_modified(before).expect("its time can be set");
    assert_eq!(changed(&model), "./model: it was changed by someone else since it was opened");
    drop(model);
    drop(put(&folder, &[100_000, 100_000]));
    let model = open(&path).expect("it is sound");
    let file = File::options().write(true).open(&path).expect("it is there");
    file.set_modified(SystemTime::now() + Duration::from_secs(2)).expect("its time can be set");
    assert_eq!(changed(&model), "./model: it was changed by someone else since it was opened");
}

#[cfg(unix)]
#[test]
fn a_model_stays_what_it_was_when_its_file_is_replaced() {
    let folder = Folder::new();
    let model = open(&put(&folder, &[4, 4])).expect("it is sound");
    drop(put(&folder, &[9]));
    model.check_unchanged().expect("the old file is as it was");
    assert_eq!(model.tensor("layer.00001").expect("it is there").bytes(), [1; 4]);
}

/// The system refuses what does not begin where a page does.
#[test]
fn parts_of_a_model_that_lie_anywhere_are_read_ahead() {
    let folder = Folder::new();
    let model = open(&put(&folder, &[0, 12_345, 54_321, 1])).expect("it is sound");
    for tensor in model.tensors() {
        let bytes = tensor.expect("it can be held").bytes();
        model.prefetch(bytes).expect("it lies in the model");
        model.prefetch(&bytes[bytes.len() / 3..]).expect("it lies in the model");
    }
    model.prefetch(model.view().file()).expect("it is the model");
    model.prefetch(&[]).expect("there is nothing to do");
    let error = model.prefetch(b"else").expect_err("it lies elsewhere");
    let FileErrorKind::System { error: reason, .. } = error.kind() else { panic!("{error}") };
    assert_eq!(reason.kind(), ErrorKind::InvalidInput);
    let sentence = sentence::<()>(&folder, Err(error));
    assert_eq!(sentence, "cannot read ahead in ./model: the bytes are of something else");
    for advice in [Advice::Normal, Advice::Sequential, Advice::Random, Advice::WillNeed] {
        model.advise(advice).expect("the system takes it");
    }
}

/// What the kernel says of the map of this file: its line of flags, and how much of it is in memory.
#[cfg(target_os = "linux")]
fn map_of(path: &Path) -> (String, u64) {
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("Linux has it");
    let own = maps.split_once(path.to_str().expect("a plain path")).expect("it is mapped").1;
    let line = |name| own.lines().find_map(|line: &str| line.strip_prefix(name)).expect("it is told").trim();
    (line("VmFlags:").to_owned(), line("Rss:").trim_end_matches(" kB").parse().expect("a number"))
}

#[cfg(target_os = "linux")]
#[test]
fn the_system_hears_how_a_model_is_going_to_be_read() {
    let folder = Folder::new();
    let path = put(&folder, &[4_000_000]);
    let flags = |advice| {
        let model = open_with(MapOptions::new().with_advice(advice), &path).expect("it is sound");
        (map_of(&path).0, model).0.split(' ').filter(|flag| ["sr", "rr"].contains(flag)).collect::<String>()
    };
    assert_eq!([Advice::Normal, Advice::Sequential, Advice::Random].map(flags), ["", "sr", "rr"]);
    let model = open(&path).expect("it is sound");
    assert!(map_of(&path).1 < 2000, "{:?}", map_of(&path));
    drop(model);
    let _model = open_with(MapOptions::new().with_all_pages(), &path).expect("it is sound");
    assert!(map_of(&path).1 > 3900, "{:?}", map_of(&path));
}

#[cfg(all(unix, target_pointer_width = "32"))]
#[test]
fn a_file_that_is_longer_than_addresses_is_an_error() {
    let folder = Folder::new();
    let len: u64 = 5 << 30;
    let header = format!(r#"{{"a":{{"dtype":"U8","shape":[{len}],"data_offsets":[0,{len}]}}}}"#);
    let bytes = with_header(&header, 0);
    let path = folder.put("long", &bytes);
    let file = File::options().write(true).open(&path).expect("it is there");
    file.set_len(bytes.len() as u64 + len).expect("there is room for a hole");
    let error = open(&path).expect_err("it cannot be mapped");
    assert!(matches!(error.kind(), FileErrorKind::TooLong { len: found } if *found > len), "{error}");
    assert!(embedded_safetensors::FileModel::open(&path).is_ok());
}
