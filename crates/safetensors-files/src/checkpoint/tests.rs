//! Power cuts and faults while a checkpoint is written, on a simulated disk.

use super::sums::SUMS;
use super::verify::{Verified, verify};
use super::write::{Checkpoint, recover_checkpoint_on, write_checkpoint_on};
use crate::disk::Disk;
use crate::error::EditError;
use crate::simulated::{FailurePlan, SimulatedDisk};
use embedded_safetensors::Dtype;
use embedded_safetensors::write::{FileSpec, TensorSpec};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The random choices of sectors that survive a power cut.
const CHOICES: u64 = 2;

fn target() -> &'static Path {
    Path::new("/runs/last")
}

fn write(disk: &dyn Disk, fill: u8) -> Result<(), EditError> {
    write_checkpoint_on(disk, target(), |checkpoint| {
        let tensors = [TensorSpec::new("a", Dtype::U8, &[9])];
        checkpoint.write_file("model", FileSpec::new(&tensors), |file| file.write_tensor("a", &[fill; 9]))?;
        checkpoint.write_from("copy", &mut &[fill; 5][..])?;
        checkpoint.write_bytes(if fill == 1 { "old.json" } else { "new.json" }, &[fill; 3])
    })
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Returns the files of the checkpoint.
fn found(disk: &SimulatedDisk) -> Files {
    let names = disk.names().into_iter().filter(|path| path.starts_with(target()));
    names.map(|path| (path.clone(), disk.bytes(&path).expect("exists"))).collect()
}

/// Returns a disk with or without an old checkpoint.
fn before(has_old: bool) -> SimulatedDisk {
    let disk = SimulatedDisk::with([(Path::new("/runs/other"), &b"x"[..])]);
    if has_old {
        write(&disk, 1).expect("no failure");
    }
    SimulatedDisk::with(
        found(&disk)
            .iter()
            .map(|(path, bytes)| (path.as_path(), &**bytes))
            .chain([(Path::new("/runs/other"), &b"x"[..])]),
    )
}

/// Returns disks without and with an old checkpoint, and one that cannot exchange names.
fn disks() -> [SimulatedDisk; 3] {
    [before(false), before(true), before(true).without_exchange()]
}

/// Returns the files before and after, and the number of calls.
fn change(disk: &SimulatedDisk) -> (Files, Files, usize) {
    let disk = disk.copy().with_failures(FailurePlan::None);
    let old = found(&disk);
    write(&disk, 2).expect("no failure");
    assert_eq!(disk.names().len(), 1 + found(&disk).len());
    (old, found(&disk), disk.calls())
}

#[test]
fn written_checkpoint_verifies_and_old_one_is_removed() {
    for disk in disks() {
        let (_, new, _) = change(&disk);
        assert_eq!(
            new.keys().map(|path| path.file_name().expect("a name")).collect::<Vec<_>>(),
            [SUMS, "copy", "model", "new.json"]
        );
        let disk = SimulatedDisk::with(new.iter().map(|(path, bytes)| (path.as_path(), &**bytes)));
        let verified = verify(&disk, target()).expect("valid checkpoint");
        assert_eq!(verified, Verified { files: 3, bytes: 8 + new[&target().join("model")].len() as u64 });
    }
}

#[test]
fn checkpoint_of_another_writer_is_kept() {
    let disk = before(false);
    let outcome = write_checkpoint_on(&disk, target(), |checkpoint| {
        checkpoint.may_replace(false);
        write(&disk, 1)
    });
    let error = io::Error::from(outcome.expect_err("it exists by now"));
    assert_eq!((error.kind(), found(&disk)), (io::ErrorKind::AlreadyExists, found(&before(true))));
}

/// Both write, one after the other, even if there was nothing when both began.
#[test]
fn checkpoint_of_another_writer_at_any_call_is_replaced() {
    let (_, _, calls) = change(&before(false));
    for at in 0..calls {
        let disk = before(false);
        let other = disk.clone();
        // Without a model: this thread may hold the lock of edits.
        disk.interleave(disk.calls() + at, move || {
            let step = |checkpoint: &mut Checkpoint<'_>| checkpoint.write_bytes("step", b"1");
            write_checkpoint_on(&other, target(), step).expect("no failure");
        });
        write(&disk, 2).expect("no failure");
        assert!(verify(&disk, target()).is_ok() && disk.names().len() == 1 + found(&disk).len(), "{at}");
    }
}

#[test]
fn power_cut_at_any_call_leaves_old_or_new_checkpoint() {
    for (disk, takes_two_steps) in disks().into_iter().zip([false, false, true]) {
        let (old, new, calls) = change(&disk);
        let mut seen = [0, 0, 0];
        for cut in 0..=calls {
            let disk = disk.copy().with_failures(FailurePlan::PowerCut(cut));
            let is_done = write(&disk, 2).is_ok();
            for after in disk.after_power_cut(CHOICES) {
                let was_lost = found(&after).is_empty() && !old.is_empty();
                assert_eq!(recover_checkpoint_on(&after, target()).expect("no failure"), was_lost);
                let now = found(&after);
                assert!(now == new || now == old && !is_done, "at {cut}: {now:?}");
                seen[usize::from(now == new)] += 1;
                seen[2] += usize::from(was_lost);
            }
        }
        assert!(seen[0] > 0 && seen[1] > 0 && (seen[2] > 0) == takes_two_steps, "{seen:?}");
    }
}

/// A training loop has created its directory before recovery after a power cut.
#[test]
fn old_checkpoint_stays_until_new_one_is_complete() {
    let aside = Path::new("/runs/.safetensors-last.old");
    let old = found(&before(true));
    let moved = |path: &Path| aside.join(path.strip_prefix(target()).expect("path in the checkpoint"));
    let old: Files = old.into_iter().map(|(path, bytes)| (moved(&path), bytes)).collect();
    let files = old.iter().map(|(path, bytes)| (path.as_path(), &**bytes));
    let start = SimulatedDisk::with(files).without_exchange();
    start.create_directory(target(), None).expect("no failure");
    let disk = start.copy().with_failures(FailurePlan::None);
    assert!(!recover_checkpoint_on(&disk, target()).expect("no failure"));
    assert_eq!(disk.names().len(), start.names().len());
    write(&disk, 2).expect("no failure");
    assert!(verify(&disk, target()).is_ok() && disk.names().len() == found(&disk).len());
    let files = old.iter().map(|(path, bytes)| (path.as_path(), &**bytes));
    let file = SimulatedDisk::with(files.chain([(target(), &b"x"[..])]));
    assert!(!recover_checkpoint_on(&file, target()).expect("no failure"), "a file is not a checkpoint");
    for cut in 0..=disk.calls() {
        let disk = start.copy().with_failures(FailurePlan::PowerCut(cut));
        let _ = write(&disk, 2);
        for after in disk.after_power_cut(CHOICES) {
            assert!(verify(&after, target()).is_ok() || verify(&after, aside).is_ok(), "at {cut}");
        }
    }
}

#[test]
fn atomic_exchange_never_leaves_no_checkpoint() {
    let disk = before(true);
    let (_, _, calls) = change(&disk);
    for cut in 0..=calls {
        let disk = disk.copy().with_failures(FailurePlan::PowerCut(cut));
        let _ = write(&disk, 2);
        let mut outcomes = disk.after_power_cut(CHOICES);
        assert!(outcomes.all(|after| verify(&after, target()).is_ok()));
    }
}

#[test]
fn fault_at_any_call_leaves_only_the_old_checkpoint() {
    for disk in disks() {
        let (old, new, calls) = change(&disk);
        for at in 0..calls {
            let disk = disk.copy().with_failures(FailurePlan::Fault(at));
            let outcome = write(&disk, 2);
            let now = found(&disk);
            match outcome {
                Ok(()) => assert_eq!(now, new, "{at}"),
                Err(error) => {
                    let is_there = now == new;
                    assert!(now == old || is_there, "{at} of {calls}: {error}");
                    assert!(
                        is_there || disk.names().len() == 1 + old.len(),
                        "{at} of {calls}: {:?}",
                        disk.names()
                    );
                    assert!(error.path().starts_with("/runs"), "{error}");
                }
            }
        }
    }
}
