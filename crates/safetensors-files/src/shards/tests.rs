//! Power cuts and faults while shards are written, on a simulated disk.

use super::error::ShardErrorKind;
use super::plan::ShardPlan;
use crate::disk::Disk;
use crate::error::{EditError, EditErrorKind};
use crate::simulated::{FailurePlan, SimulatedDisk};
use crate::writer::write_file_on;
use embedded_safetensors::Dtype;
use embedded_safetensors::write::{FileSpec, TensorSpec};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The random choices of sectors that survive a power cut.
const CHOICES: u64 = 2;

fn directory() -> &'static Path {
    Path::new("/models")
}

fn index_path() -> PathBuf {
    directory().join("m.safetensors.index.json")
}

/// Writes `count` tensors of four bytes with this value, each to its own shard.
fn write(disk: &dyn Disk, count: usize, fill: u8) -> Result<PathBuf, EditError> {
    let names = ["a", "b", "c", "d"];
    let plan = ShardPlan::new("m", names.into_iter().take(count).map(|name| (name, 4)), 4);
    plan.write_on(disk, directory(), |shard, path| {
        let specs: Vec<_> =
            shard.tensors().iter().map(|name| TensorSpec::new(name, Dtype::U8, &[4])).collect();
        write_file_on(disk, path, FileSpec::new(&specs), |file| {
            shard.tensors().iter().try_for_each(|name| file.write_tensor(name, &[fill; 4]))
        })
    })
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn files(disk: &SimulatedDisk) -> Files {
    let is_hidden = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
    let names = disk.names().into_iter().filter(|path| !is_hidden(path));
    names.map(|path| (path.clone(), disk.bytes(&path).expect("exists"))).collect()
}

/// Returns the files of the model that a program opens in the directory.
fn found(files: &Files) -> Files {
    let Some(index) = files.get(&index_path()) else {
        return files.iter().filter(|(path, _)| path.ends_with("m.safetensors")).map(pair).collect();
    };
    let index = String::from_utf8(index.clone()).expect("ASCII index");
    let is_named =
        |path: &Path| index.contains(path.file_name().and_then(|name| name.to_str()).expect("plain"));
    files.iter().filter(|(path, _)| **path == index_path() || is_named(path)).map(pair).collect()
}

fn pair<'f>((path, bytes): (&'f PathBuf, &'f Vec<u8>)) -> (PathBuf, Vec<u8>) {
    (path.clone(), bytes.clone())
}

fn disk_with(files: &Files) -> SimulatedDisk {
    SimulatedDisk::with(files.iter().map(|(path, bytes)| (path.as_path(), &**bytes)))
}

/// The numbers of shards before and after.
const CHANGES: [(usize, usize); 6] = [(0, 3), (1, 1), (3, 2), (2, 3), (3, 1), (1, 3)];

/// Returns the files before and after, and the number of calls.
fn change(from: usize, to: usize) -> (Files, Files, usize) {
    let disk = disk_with(&Files::new());
    if from > 0 {
        write(&disk, from, 1).expect("no failure");
    }
    let old = files(&disk);
    let disk = disk_with(&old).with_failures(FailurePlan::None);
    write(&disk, to, 2).expect("no failure");
    (old, found(&files(&disk)), disk.calls())
}

#[test]
fn power_cut_leaves_old_or_new_model() {
    for (from, to) in CHANGES {
        let (old, new, calls) = change(from, to);
        let mut seen = [0; 2];
        for cut in 0..=calls {
            let disk = disk_with(&old).with_failures(FailurePlan::PowerCut(cut));
            let is_done = write(&disk, to, 2).is_ok();
            for after in disk.after_power_cut(CHOICES) {
                let now = found(&files(&after));
                assert!(now == new || (now == found(&old) && !is_done), "{from} to {to} at {cut}: {now:?}");
                seen[usize::from(now == new)] += 1;
            }
        }
        assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
    }
}

/// Nothing is written if shards of both models would be mixed for a moment.
#[test]
fn shards_of_a_model_are_not_replaced() {
    let disk = disk_with(&Files::new());
    write(&disk, 3, 1).expect("no failure");
    let old = files(&disk);
    let outcome = write(&disk, 3, 2);
    let kind = outcome.expect_err("its shards are in use").into_kind();
    let EditErrorKind::Shards(ShardErrorKind::ShardInUse(shard)) = kind else { panic!("{kind}") };
    assert_eq!(shard, "m-00001-of-00003.safetensors");
    assert!(files(&disk) == old);
    // Without an index the shards are not a model.
    disk.remove(&index_path()).expect("exists");
    write(&disk, 3, 2).expect("no failure");
    assert!(files(&disk).len() == old.len() && files(&disk) != old);
}

#[test]
fn fault_at_any_call_leaves_no_new_shards() {
    for (from, to) in CHANGES {
        let (old, new, calls) = change(from, to);
        for at in 0..calls {
            let disk = disk_with(&old).with_failures(FailurePlan::Fault(at));
            match write(&disk, to, 2) {
                Ok(_) => assert_eq!(found(&files(&disk)), new),
                Err(error) if matches!(error.kind(), EditErrorKind::File(_)) => {
                    let now = files(&disk);
                    let is_new = |path: &&PathBuf| !old.contains_key(*path);
                    let is_late = at + 4 >= calls;
                    let left = now.keys().filter(is_new).count();
                    assert!(left == 0 || is_late, "{from} to {to} at {at}: {:?}", now.keys());
                    assert!(
                        found(&now).is_empty() || found(&now) == found(&old) || found(&now) == new && is_late,
                        "{from} to {to} at {at}"
                    );
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
