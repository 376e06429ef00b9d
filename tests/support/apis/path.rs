//! A file of the operating system.

use std::path::{Path, PathBuf};
use std::{env, fs, process, thread};

use embedded_safetensors::{Error, FileModel, MappedModel, file::FileErrorKind};
use safetensors_files::{EditError, EditErrorKind, ModelEditor};

use super::{Api, Case, api};
use vectors::table::Tensor;

pub const APIS: [Api; 3] = [
    api("FileModel", &[], |case, _| at_a_path(case, |path| open(case, path))),
    api("MappedModel", &[], |case, _| at_a_path(case, |path| map(case, path))),
    api("ModelEditor", &[], |case, _| at_a_path(case, |path| draft(case, path))),
];

fn at_a_path(case: &Case<'_>, read: impl FnOnce(&Path) -> Result<(), EditError>) -> Result<(), Error> {
    let path = path();
    fs::write(&path, case.file).expect("temporary directory");
    let outcome = read(&path);
    fs::remove_file(&path).expect("written");
    outcome.map_err(|error| match error.kind() {
        EditErrorKind::File(FileErrorKind::Format(error) | FileErrorKind::Duplicate { error, .. }) => *error,
        fault => panic!("{fault:?}"),
    })
}

/// Returns a path that only this thread uses.
fn path() -> PathBuf {
    let thread = format!("{:?}", thread::current().id()).replace(|c: char| !c.is_ascii_digit(), "");
    env::temp_dir().join(format!("every-api-{}-{thread}.safetensors", process::id()))
}

fn open(case: &Case<'_>, path: &Path) -> Result<(), EditError> {
    let model = FileModel::open(path)?;
    let tensors = model.tensors().map(|tensor| Tensor {
        data_offsets: [tensor.begin(), tensor.end()],
        name: tensor.name().to_owned(),
        dtype: tensor.dtype().to_string(),
        shape: tensor.dims().to_vec(),
    });
    case.lists(tensors.collect());
    assert!(model.tensors().map(|tensor| (tensor.begin(), tensor.end())).is_sorted(), "in the order of data");
    case.has_pairs(model.metadata().map(|pairs| pairs.iter().map(|(key, value)| (&key[..], &value[..]))));
    for tensor in case.tensors() {
        let mut buffer = vec![0; case.bytes(tensor).len()];
        let found = model.find(&tensor.name).expect("valid file").expect("present");
        assert_eq!(found.reader().read_to_end(&mut buffer).expect("readable"), case.bytes(tensor));
    }
    Ok(())
}

#[expect(unsafe_code, reason = "nothing else writes to the file")]
fn map(case: &Case<'_>, path: &Path) -> Result<(), EditError> {
    // SAFETY: only this thread uses the file, and removes it afterwards.
    let model = unsafe { MappedModel::open(path) }?;
    // Moved to a new address.
    let model = Box::new(model);
    assert_eq!(model.index().len(), case.tensors().len());
    let pairs: Vec<_> = model.metadata().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let pairs = pairs.iter().map(|(key, value)| (&key[..], &value[..]));
    case.has_pairs(Some(pairs).filter(|_| has_metadata(case)));
    let listed = model.tensors().flatten().map(|tensor| Tensor {
        data_offsets: [tensor.info().begin(), tensor.info().end()],
        name: tensor.name().to_string(),
        dtype: tensor.dtype().to_string(),
        shape: tensor.shape().dims().to_vec(),
    });
    let mut listed: Vec<_> = listed.collect();
    listed.sort();
    assert!(listed.iter().eq(case.flat()), "{listed:?}");
    for tensor in case.flat() {
        assert_eq!(
            model.find(&tensor.name).expect("valid file").expect("present").bytes(),
            case.bytes(tensor)
        );
    }
    assert!(model.find("no such name").is_ok_and(|found| found.is_none()));
    Ok(())
}

fn draft(case: &Case<'_>, path: &Path) -> Result<(), EditError> {
    let draft = ModelEditor::open(path)?;
    assert_eq!(draft.tensors().count(), case.tensors().len());
    case.has_pairs(Some(draft.metadata()).filter(|_| has_metadata(case)));
    Ok(())
}

fn has_metadata(case: &Case<'_>) -> bool {
    case.expected.as_ref().is_ok_and(|table| table.metadata.is_some())
}
