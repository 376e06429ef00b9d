//! Power cuts and faults while a folder is written, on a model of a disk.

use super::sums::SUMS;
use super::verify::{Verified, verify};
use super::write::{recover_checkpoint_on, write_checkpoint_on};
use crate::disk::Disk;
use crate::error::EditError;
use crate::simulated::{Forgetful, Luck, Plan};
use embedded_safetensors::Dtype;
use embedded_safetensors::write::{FileSpec, TensorSpec};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const LUCK: [Luck; 4] = [Luck::Nothing, Luck::Everything, Luck::Dice(1), Luck::Dice(2)];

fn place() -> &'static Path {
    Path::new("/runs/last")
}

fn write(disk: &dyn Disk, fill: u8) -> Result<(), EditError> {
    write_checkpoint_on(disk, place(), |checkpoint| {
        let tensors = [TensorSpec::new("a", Dtype::U8, &[9])];
        checkpoint.write_file("model", FileSpec::new(&tensors), |file| file.write_tensor("a", &[fill; 9]))?;
        checkpoint.write_bytes(if fill == 1 { "old.json" } else { "new.json" }, &[fill; 3])
    })
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// What is in the folder.
fn found(disk: &Forgetful) -> Files {
    let names = disk.names().into_iter().filter(|path| path.starts_with(place()));
    names.map(|path| (path.clone(), disk.bytes(&path).expect("it is there"))).collect()
}

/// A disk with a folder, or without.
fn before(has_old: bool) -> Forgetful {
    let disk = Forgetful::with([(Path::new("/runs/other"), &b"x"[..])]);
    if has_old {
        write(&disk, 1).expect("nothing goes wrong");
    }
    Forgetful::with(
        found(&disk)
            .iter()
            .map(|(path, bytes)| (path.as_path(), &**bytes))
            .chain([(Path::new("/runs/other"), &b"x"[..])]),
    )
}

/// With a folder or without, on disks that can exchange names and others.
fn disks() -> [Forgetful; 3] {
    [before(false), before(true), before(true).without_exchange()]
}

/// What is there before and after, and how many calls it takes.
fn change(disk: &Forgetful) -> (Files, Files, usize) {
    let disk = disk.copy().planning(Plan::Fine);
    let old = found(&disk);
    write(&disk, 2).expect("nothing goes wrong");
    assert_eq!(disk.names().len(), 1 + found(&disk).len());
    (old, found(&disk), disk.calls())
}

#[test]
fn what_is_written_is_verified_and_what_was_there_is_gone() {
    for disk in disks() {
        let (_, new, _) = change(&disk);
        assert_eq!(
            new.keys().map(|path| path.file_name().expect("a name")).collect::<Vec<_>>(),
            [SUMS, "model", "new.json"]
        );
        let disk = Forgetful::with(new.iter().map(|(path, bytes)| (path.as_path(), &**bytes)));
        let verified = verify(&disk, place()).expect("it is whole");
        assert_eq!(verified, Verified { files: 2, bytes: 3 + new[&place().join("model")].len() as u64 });
    }
}

#[test]
fn after_a_power_cut_at_any_call_the_old_or_the_new_folder_is_there() {
    for (disk, takes_two_acts) in disks().into_iter().zip([false, false, true]) {
        let (old, new, calls) = change(&disk);
        let mut seen = [0, 0, 0];
        for cut in 0..=calls {
            let disk = disk.copy().planning(Plan::PowerCut(cut));
            let is_done = write(&disk, 2).is_ok();
            for after in LUCK.into_iter().flat_map(|luck| disk.after_power_cut(luck)) {
                let was_lost = found(&after).is_empty() && !old.is_empty();
                assert_eq!(recover_checkpoint_on(&after, place()).expect("nothing goes wrong"), was_lost);
                let now = found(&after);
                assert!(now == new || now == old && !is_done, "at {cut}: {now:?}");
                seen[usize::from(now == new)] += 1;
                seen[2] += usize::from(was_lost);
            }
        }
        assert!(seen[0] > 0 && seen[1] > 0 && (seen[2] > 0) == takes_two_acts, "{seen:?}");
    }
}

/// As a loop does that makes its folder before it looks for what a power cut has left.
#[test]
fn an_old_folder_stays_until_a_new_one_is_whole() {
    let aside = Path::new("/runs/.safetensors-last.old");
    let old = found(&before(true));
    let moved = |path: &Path| aside.join(path.strip_prefix(place()).expect("it is in the folder"));
    let old: Files = old.into_iter().map(|(path, bytes)| (moved(&path), bytes)).collect();
    let files = old.iter().map(|(path, bytes)| (path.as_path(), &**bytes));
    let start = Forgetful::with(files.chain([(Path::new("/runs/last/begun"), &b"x"[..])])).without_exchange();
    let disk = start.copy().planning(Plan::Fine);
    assert!(!recover_checkpoint_on(&disk, place()).expect("nothing goes wrong"));
    assert_eq!(disk.names().len(), start.names().len());
    write(&disk, 2).expect("nothing goes wrong");
    assert!(verify(&disk, place()).is_ok() && disk.names().len() == found(&disk).len());
    let files = old.iter().map(|(path, bytes)| (path.as_path(), &**bytes));
    let file = Forgetful::with(files.chain([(place(), &b"x"[..])]));
    assert!(!recover_checkpoint_on(&file, place()).expect("nothing goes wrong"), "a file is no checkpoint");
    for cut in 0..=disk.calls() {
        let disk = start.copy().planning(Plan::PowerCut(cut));
        let _ = write(&disk, 2);
        for after in LUCK.into_iter().flat_map(|luck| disk.after_power_cut(luck)) {
            assert!(verify(&after, place()).is_ok() || verify(&after, aside).is_ok(), "at {cut}");
        }
    }
}

#[test]
fn in_one_act_nobody_finds_nothing() {
    let disk = before(true);
    let (_, _, calls) = change(&disk);
    for cut in 0..=calls {
        let disk = disk.copy().planning(Plan::PowerCut(cut));
        let _ = write(&disk, 2);
        assert!(
            LUCK.into_iter()
                .flat_map(|luck| disk.after_power_cut(luck))
                .all(|after| verify(&after, place()).is_ok())
        );
    }
}

#[test]
fn a_fault_at_any_call_leaves_the_old_folder_and_nothing_else() {
    for disk in disks() {
        let (old, new, calls) = change(&disk);
        for at in 0..calls {
            let disk = disk.copy().planning(Plan::Fault(at));
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
