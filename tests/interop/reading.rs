//! Reads the files of the frameworks through every API.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::path::PathBuf;

use embedded_safetensors::{ErrorKind, WriteError, stream::FileReceiver};
use support::apis;
use support::random::Random;
use support::share;
use support::verdict::full_verdict;
use vectors::table::Table;

use super::folder;
use super::results::{Array, FRAMEWORKS, Results, values};

/// Returns the files of a framework.
pub fn files(framework: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder().join(framework)).expect("a directory");
    let paths = entries.map(|entry| entry.expect("readable").path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "safetensors")).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{framework} has no file");
    paths
}

/// Returns the arrays that a framework has written, from its own memory, with the dtypes of the format.
pub fn expected(framework: &str) -> BTreeMap<String, Array> {
    let (results, values) = (Results::of(framework), values());
    let arrays = results.arrays().map(|(name, array)| {
        let dtype = values[name].dtype.clone();
        (name.to_owned(), Array { dtype, ..array.clone() })
    });
    arrays.collect()
}

/// Returns the arrays of a file. Every API agrees with the table that this is made from.
fn arrays(file: &[u8]) -> BTreeMap<String, Array> {
    let table = full_verdict(file).expect("a valid file");
    let names = structure(&table);
    let data_start = 8 + u64::from_le_bytes(file[..8].try_into().expect("8 bytes"));
    let tensors = table.tensors.iter().map(|tensor| {
        let [begin, end] = tensor.data_offsets.map(|at| usize::try_from(data_start + at).expect("in memory"));
        let bytes = file[begin..end].iter().map(|byte| format!("{byte:02x}")).collect();
        let name = names.get(&tensor.name).unwrap_or(&tensor.name).clone();
        (name, Array { dtype: tensor.dtype.clone(), shape: tensor.shape.clone(), bytes })
    });
    tensors.collect()
}

/// As [`structure`], for the files of a framework.
pub fn structure_of(framework: &str) -> BTreeMap<String, String> {
    let table = |path: PathBuf| full_verdict(&fs::read(path).expect("a file")).expect("a valid file");
    files(framework).into_iter().flat_map(|path| structure(&table(path))).collect()
}

/// Returns the names of the arrays by the names of their tensors, where safestructures has numbered them.
fn structure(table: &Table) -> BTreeMap<String, String> {
    let metadata = table.metadata.as_ref();
    let Some(schema) = metadata.and_then(|pairs| pairs.get("_safestructures_schema_")) else {
        return BTreeMap::new();
    };
    let schema: serde_json::Value = serde_json::from_str(schema).expect("JSON");
    let arrays = schema["value"].as_object().expect("a dictionary");
    let name = |(name, array): (&String, &serde_json::Value)| {
        (array["value"].as_str().expect("the name of a tensor").to_owned(), name.clone())
    };
    arrays.iter().map(name).collect()
}

/// Stores the file while it arrives.
fn receive(file: &[u8]) -> Result<(), WriteError<Infallible>> {
    let (mut storage, mut buffer) = (vec![0; file.len()], [0; 24]);
    let len = file.len() as u64;
    let mut receiver = FileReceiver::new(&mut storage[..], len, &mut [], &mut buffer)?;
    file.chunks(7).try_for_each(|piece| receiver.push(piece).map(drop))?;
    receiver.finish()?;
    assert_eq!(storage, file);
    Ok(())
}

/// Whether an API needs tensors in the order of their data. MLX writes them in no order.
pub fn needs_order(api: &str) -> bool {
    let name = api.split(',').next().unwrap_or(api);
    ["View::parse", "Receiver", "FileReceiver", "Model::open", "Model::open_with"].contains(&name)
}

#[test]
fn every_api_reads_what_frameworks_write() {
    let mut random = Random::new(share::seed());
    for (framework, _) in FRAMEWORKS {
        let mut found = BTreeMap::new();
        for path in files(framework) {
            let file = fs::read(&path).expect("a file");
            found.extend(arrays(&file));
            for (api, outcome) in apis::each(&file, &mut random) {
                let kind = outcome.map_err(|error| error.kind);
                let due = framework != "mlx" || !needs_order(api);
                assert_eq!(kind, if due { Ok(()) } else { Err(ErrorKind::OutOfOrder) }, "{framework}: {api}");
            }
            match receive(&file) {
                Err(WriteError::Format(error)) if framework == "mlx" => {
                    assert_eq!(error.kind, ErrorKind::OutOfOrder);
                }
                received => received.expect(framework),
            }
        }
        assert_eq!(found, expected(framework), "{framework}");
    }
}

#[cfg(feature = "std")]
#[test]
fn the_shards_of_a_framework_are_one_model() {
    let folder = folder().join("huggingface_hub");
    let model = safetensors_files::shards::ShardedModel::open(folder).expect("a model");
    let expected = expected("huggingface_hub");
    assert_eq!(model.len(), expected.len());
    for (name, array) in expected {
        let tensor = model.find(&name).expect("valid names").expect("present");
        let mut buffer = vec![0; array.data().len()];
        assert_eq!(tensor.reader().read_to_end(&mut buffer).expect("readable"), array.data());
    }
}
