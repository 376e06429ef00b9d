//! Power cuts and faults while shards are written, on a model of a disk.

use super::error::ShardErrorKind;
use super::plan::ShardPlan;
use crate::disk::Disk;
use crate::simulated::{Forgetful, Luck, Plan};
use crate::writer::write_file_on;
use embedded_safetensors::Dtype;
use embedded_safetensors::write::{FileSpec, TensorSpec};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const LUCK: [Luck; 4] = [Luck::Nothing, Luck::Everything, Luck::Dice(1), Luck::Dice(2)];

fn folder() -> &'static Path {
    Path::new("/models")
}

fn index_path() -> PathBuf {
    folder().join("m.safetensors.index.json")
}

/// Writes so many tensors of four bytes, all of them this one, each into a shard of its own.
fn write(disk: &dyn Disk, count: usize, fill: u8) -> Result<PathBuf, ShardErrorKind> {
    let names = ["a", "b", "c", "d"];
    let plan = ShardPlan::new("m", names.into_iter().take(count).map(|name| (name, 4)), 4);
    plan.write_on(disk, folder(), |shard, path| {
        let specs: Vec<_> =
            shard.tensors().iter().map(|name| TensorSpec::new(name, Dtype::U8, &[4])).collect();
        write_file_on(disk, path, FileSpec::new(&specs), |file| {
            shard.tensors().iter().try_for_each(|name| file.write_tensor(name, &[fill; 4]))
        })
    })
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn files(disk: &Forgetful) -> Files {
    let is_hidden = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
    let names = disk.names().into_iter().filter(|path| !is_hidden(path));
    names.map(|path| (path.clone(), disk.bytes(&path).expect("it is there"))).collect()
}

/// What whoever opens the folder finds: the files that count.
fn found(files: &Files) -> Files {
    let Some(index) = files.get(&index_path()) else {
        return files.iter().filter(|(path, _)| path.ends_with("m.safetensors")).map(pair).collect();
    };
    let index = String::from_utf8(index.clone()).expect("it is ASCII");
    let is_named =
        |path: &Path| index.contains(path.file_name().and_then(|name| name.to_str()).expect("plain"));
    files.iter().filter(|(path, _)| **path == index_path() || is_named(path)).map(pair).collect()
}

fn pair<'f>((path, bytes): (&'f PathBuf, &'f Vec<u8>)) -> (PathBuf, Vec<u8>) {
    (path.clone(), bytes.clone())
}

fn disk_with(files: &Files) -> Forgetful {
    Forgetful::with(files.iter().map(|(path, bytes)| (path.as_path(), &**bytes)))
}

/// From so many shards to so many.
const CHANGES: [(usize, usize); 6] = [(0, 3), (1, 1), (3, 2), (2, 3), (3, 1), (1, 3)];

/// What is there before and after, and how many calls it takes.
fn change(from: usize, to: usize) -> (Files, Files, usize) {
    let disk = disk_with(&Files::new());
    if from > 0 {
        write(&disk, from, 1).expect("nothing goes wrong");
    }
    let old = files(&disk);
    let disk = disk_with(&old).planning(Plan::Fine);
    write(&disk, to, 2).expect("nothing goes wrong");
    (old, found(&files(&disk)), disk.calls())
}

#[test]
fn after_a_power_cut_the_old_model_or_the_new_one_is_there() {
    for (from, to) in CHANGES {
        let (old, new, calls) = change(from, to);
        let mut seen = [0; 2];
        for cut in 0..=calls {
            let disk = disk_with(&old).planning(Plan::PowerCut(cut));
            let is_done = write(&disk, to, 2).is_ok();
            for after in LUCK.into_iter().flat_map(|luck| disk.after_power_cut(luck)) {
                let now = found(&files(&after));
                assert!(now == new || (now == found(&old) && !is_done), "{from} to {to} at {cut}: {now:?}");
                seen[usize::from(now == new)] += 1;
            }
        }
        assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
    }
}

/// Nothing is written where shards of both would be mixed for a moment.
#[test]
fn shards_of_a_model_are_not_replaced() {
    let disk = disk_with(&Files::new());
    write(&disk, 3, 1).expect("nothing goes wrong");
    let old = files(&disk);
    let outcome = write(&disk, 3, 2);
    assert!(
        matches!(&outcome, Err(ShardErrorKind::ShardInUse { shard }) if shard == "m-00001-of-00003.safetensors")
    );
    assert!(files(&disk) == old);
    // Without an index they are no model.
    disk.remove(&index_path()).expect("it is there");
    write(&disk, 3, 2).expect("nothing goes wrong");
    assert!(files(&disk).len() == old.len() && files(&disk) != old);
}

#[test]
fn a_fault_at_any_call_leaves_no_new_shards() {
    for (from, to) in CHANGES {
        let (old, new, calls) = change(from, to);
        for at in 0..calls {
            let disk = disk_with(&old).planning(Plan::Fault(at));
            match write(&disk, to, 2) {
                Ok(_) => assert_eq!(found(&files(&disk)), new),
                Err(ShardErrorKind::File(_)) => {
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
                Err(fault) => panic!("{fault}"),
            }
        }
    }
}
