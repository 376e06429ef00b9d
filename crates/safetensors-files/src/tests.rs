//! Power cuts and faults at every call, on a simulated disk.

use crate::change::NewBytes;
use crate::disk::Disk;
use crate::editor::{ModelEditor, fingerprint};
use crate::error::{EditError, EditErrorKind};
use crate::save::SaveMethod;
use crate::simulated::{CHANGED, FailurePlan, SimulatedDisk};
use crate::undo;
use crate::writer::{FileWriter, write_file_on};
use embedded_safetensors::file::FileErrorKind;
use embedded_safetensors::integrity::{Sha256, Verifier};
use embedded_safetensors::slice::AxisRange;
use embedded_safetensors::write::{FileSpec, Placement, TensorSpec};
use embedded_safetensors::{Dtype, ErrorKind};
use std::path::{Path, PathBuf};

/// The random choices of sectors that survive a power cut.
const CHOICES: u64 = 6;

fn path() -> PathBuf {
    PathBuf::from("/models/m.safetensors")
}

type Outcome = Result<(), EditError>;

/// Longer than a sum with its key.
const ROOM: &str =
    "some room for another note, or for the sum of the file, which has 64 digits and a long key";

/// Writes a file of two tensors filled with this byte, the last one first and the other in two pieces.
fn write(disk: &dyn Disk, fill: u8) -> Outcome {
    write_to(disk, &path(), fill)
}

fn write_to(disk: &dyn Disk, path: &Path, fill: u8) -> Outcome {
    let tensors = [TensorSpec::new("a", Dtype::U8, &[9]), TensorSpec::new("b", Dtype::U8, &[7])];
    let spec = FileSpec::new(&tensors).with_metadata(&[("note", ROOM)]);
    write_file_on(disk, path, spec, |file| {
        file.write_tensor("b", &[fill; 7])?;
        file.tensor("a")?.write_bytes(&[fill; 4])?;
        file.tensor("a")?.write_bytes(&[fill; 5])
    })
}

/// Returns the bytes that `write` writes without failures.
fn file_of(fill: u8) -> Vec<u8> {
    let disk = SimulatedDisk::with([]);
    write(&disk, fill).expect("no failure");
    disk.bytes(&path()).expect("written")
}

/// Without failures, other programs find the same as after a sync.
#[test]
fn a_file_that_is_not_synced_replaces_the_old_one() {
    let (old, tensors) = (file_of(1), [TensorSpec::new("a", Dtype::U8, &[2])]);
    for bytes in [2, 1] {
        let disk = SimulatedDisk::with([(path().as_path(), &old[..])]);
        let mut file = FileWriter::create_on(&disk, &path(), FileSpec::new(&tensors)).expect("no failure");
        file.tensor("a").and_then(|mut tensor| tensor.write_bytes(&[7; 2][..bytes])).expect("no failure");
        let outcome = file.finish_without_sync();
        assert_eq!(disk.names(), [path()]);
        let is_replaced = disk.bytes(&path()).is_some_and(|bytes| bytes.ends_with(&[7; 2]));
        assert_eq!((outcome.is_ok(), is_replaced), (bytes == 2, bytes == 2));
        assert!(is_replaced || disk.bytes(&path()) == Some(old.clone()));
    }
}

fn edit_in_place(disk: &dyn Disk) -> Outcome {
    let mut editor = ModelEditor::open_on(disk, &path())?;
    editor.rename("a", "renamed")?;
    editor.set_metadata("note", "edited");
    assert_eq!(editor.save_on(disk, &path())?, SaveMethod::InPlace);
    Ok(())
}

fn edit_by_copy(disk: &dyn Disk) -> Outcome {
    let mut editor = ModelEditor::open_on(disk, &path())?;
    editor.remove("a")?;
    assert_eq!(editor.save_on(disk, &path())?, SaveMethod::Copied);
    Ok(())
}

/// Overwrites a tensor as well.
fn align(disk: &dyn Disk) -> Outcome {
    let mut editor = ModelEditor::open_on(disk, &path())?;
    editor.set_tensor("b", NewBytes::new(Dtype::U8, &[7], &[7; 7][..]))?;
    editor.set_placement(Placement::Padded(64));
    assert_eq!(editor.save_on(disk, &path())?, SaveMethod::Copied);
    Ok(())
}

/// Embeds a sum where the header has no space for it, and so by a copy.
fn embed_by_copy(disk: &dyn Disk) -> Outcome {
    let mut editor = ModelEditor::open_on(disk, &path())?;
    editor.embed_sum();
    assert_eq!(editor.save_on(disk, &path())?, SaveMethod::Copied);
    Ok(())
}

/// Embeds a sum in the space of other metadata.
fn embed_in_place(disk: &dyn Disk) -> Outcome {
    let mut editor = ModelEditor::open_on(disk, &path())?;
    editor.clear_metadata();
    editor.embed_sum();
    assert_eq!(editor.save_on(disk, &path())?, SaveMethod::InPlace);
    Ok(())
}

/// Overwrites a part of one tensor and all of the other, and nothing of the header.
fn set_data(disk: &dyn Disk) -> Outcome {
    let mut editor = ModelEditor::open_on(disk, &path())?;
    editor.set_slice("a", &[(1..9).into()], NewBytes::new(Dtype::U8, &[8], &[5; 8][..]))?;
    editor.set_slice("a", &[AxisRange::ALL.step_by(3)], NewBytes::new(Dtype::U8, &[3], &[6; 3][..]))?;
    editor.set_tensor("b", NewBytes::new(Dtype::U8, &[7], &[7; 7][..]))?;
    assert_eq!(editor.save_on(disk, &path())?, SaveMethod::InPlace);
    Ok(())
}

/// Does so with another name and a sum.
fn set_data_and_embed(disk: &dyn Disk) -> Outcome {
    let mut editor = ModelEditor::open_on(disk, &path())?;
    editor.rename("a", "c")?;
    editor.set_tensor("c", NewBytes::new(Dtype::U8, &[9], &[5; 9][..]))?;
    editor.clear_metadata();
    editor.embed_sum();
    assert_eq!(editor.save_on(disk, &path())?, SaveMethod::InPlace);
    Ok(())
}

/// The operations on a file, on a disk without other files.
const OPERATIONS: [fn(&dyn Disk) -> Outcome; 8] = [
    |disk| write(disk, 2),
    edit_in_place,
    edit_by_copy,
    align,
    embed_by_copy,
    embed_in_place,
    set_data,
    set_data_and_embed,
];

/// Returns the file before and after an operation, and the number of calls.
fn run(operation: fn(&dyn Disk) -> Outcome) -> (Vec<u8>, Vec<u8>, usize) {
    let old = file_of(1);
    let disk = SimulatedDisk::with([(&*path(), &*old)]);
    operation(&disk).expect("no failure");
    let new = disk.bytes(&path()).expect("exists");
    assert_ne!(old, new);
    assert_eq!(disk.names(), [path()]);
    (old, new, disk.calls())
}

/// Returns the file after recovery by the next program.
fn recovered(disk: &SimulatedDisk) -> Option<Vec<u8>> {
    ModelEditor::recover_on(disk, &path()).expect("no failure");
    disk.bytes(&path())
}

#[test]
fn power_cut_at_any_call_leaves_old_or_new_file() {
    for operation in OPERATIONS {
        let (old, new, calls) = run(operation);
        assert!(calls > 10, "the calls are counted");
        for cut in 0..=calls {
            let disk = SimulatedDisk::with([(&*path(), &*old)]).with_failures(FailurePlan::PowerCut(cut));
            let is_done = operation(&disk).is_ok();
            assert!(if is_done { cut + 1 >= calls } else { cut < calls }, "a call without power succeeds");
            for after in disk.after_power_cut(CHOICES) {
                check_recovery(&after, &old, &new, is_done);
            }
        }
    }
}

/// Checks the state after a power cut, and after a second one during recovery.
fn check_recovery(disk: &SimulatedDisk, old: &[u8], new: &[u8], is_done: bool) {
    let whole =
        |bytes: Option<Vec<u8>>| bytes.is_some_and(|bytes| bytes == new || (bytes == old && !is_done));
    let calls = {
        let disk = disk.copy().with_failures(FailurePlan::None);
        assert!(whole(recovered(&disk)));
        assert!(ModelEditor::open_on(&disk, &path()).is_ok());
        disk.calls()
    };
    for cut in 0..calls {
        let disk = disk.copy().with_failures(FailurePlan::PowerCut(cut));
        let _ = ModelEditor::recover_on(&disk, &path());
        for after in disk.after_power_cut(CHOICES) {
            assert!(whole(recovered(&after)));
        }
    }
    let disk = disk.copy();
    assert!(ModelEditor::open_on(&disk, &path()).is_ok());
    assert!(whole(disk.bytes(&path())), "the opened file is complete");
}

/// A file that was replaced atomically needs no recovery.
#[test]
fn replaced_file_needs_no_recovery() {
    for operation in [OPERATIONS[0], OPERATIONS[2], OPERATIONS[3], OPERATIONS[4]] {
        let (old, new, calls) = run(operation);
        for cut in 0..=calls {
            let disk = SimulatedDisk::with([(&*path(), &*old)]).with_failures(FailurePlan::PowerCut(cut));
            let is_done = operation(&disk).is_ok();
            for after in disk.after_power_cut(CHOICES) {
                let bytes = after.bytes(&path()).expect("exists");
                assert!(bytes == new || bytes == old && !is_done);
            }
        }
    }
}

#[test]
fn embedded_sum_is_that_of_the_saved_file() {
    let check = |bytes: &[u8]| {
        let mut verifier = Verifier::new(Sha256::new());
        verifier.update(bytes);
        verifier.verify()
    };
    for operation in [embed_by_copy, embed_in_place, set_data_and_embed] {
        let (old, new, _) = run(operation);
        assert!(check(&old).is_err_and(|error| error.kind == ErrorKind::SumMissing));
        assert_eq!(check(&new), Ok(()));
        // Another sum replaces it in place, and is the same for the same file.
        let disk = SimulatedDisk::with([(&*path(), &*new)]);
        let mut editor = ModelEditor::open_on(&disk, &path()).expect("valid");
        editor.embed_sum();
        assert_eq!(editor.save_on(&disk, &path()).expect("no failure"), SaveMethod::InPlace);
        assert_eq!(disk.bytes(&path()), Some(new.clone()));
        let disk = SimulatedDisk::with([(&*path(), &*new)]);
        let mut editor = ModelEditor::open_on(&disk, &path()).expect("valid");
        editor.embed_sum();
        editor.set_placement(Placement::Padded(64));
        assert_eq!(editor.save_on(&disk, &path()).expect("no failure"), SaveMethod::Copied);
        assert_eq!(disk.bytes(&path()).map(|bytes| check(&bytes)), Some(Ok(())));
    }
}

#[test]
fn power_cut_of_first_write_leaves_nothing_or_complete_file() {
    let new = file_of(3);
    for cut in 0.. {
        let disk = SimulatedDisk::with([]).with_failures(FailurePlan::PowerCut(cut));
        let is_done = write(&disk, 3).is_ok();
        for after in disk.after_power_cut(CHOICES) {
            let bytes = after.bytes(&path());
            assert!(bytes.is_none() && !is_done || bytes.is_some_and(|bytes| bytes == new));
        }
        if is_done {
            return;
        }
    }
}

#[test]
fn fault_at_any_call_leaves_only_the_old_file() {
    for operation in OPERATIONS {
        let (old, new, calls) = run(operation);
        for at in 0..calls {
            let disk = SimulatedDisk::with([(&*path(), &*old)]).with_failures(FailurePlan::Fault(at));
            let outcome = operation(&disk);
            let now = disk.bytes(&path()).expect("exists");
            let is_late = at + 5 >= calls;
            match &outcome {
                Ok(()) => assert_eq!(now, new, "{at} of {calls}"),
                Err(error) => {
                    assert!(now == old || now == new && is_late, "{at} of {calls}: {error}");
                    let EditErrorKind::File(FileErrorKind::System { error, .. }) = error.kind() else {
                        panic!("{error}");
                    };
                    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
                }
            }
            // Only an undo file that cannot be removed stays until the next call.
            assert!(disk.names().len() == 1 || is_late, "{at} of {calls}: {:?}", disk.names());
            assert_eq!(recovered(&disk.with_failures(FailurePlan::None)), Some(now));
        }
    }
}

/// An edit of the header is never a reason to replace a read-only file.
#[test]
fn read_only_file_is_not_edited_in_place() {
    let old = file_of(1);
    let disk = SimulatedDisk::with([(&*path(), &*old)]).with_failures(FailurePlan::ReadOnly);
    let edit_too_long = |disk: &SimulatedDisk| {
        let mut model = ModelEditor::open_on(disk, &path())?;
        model.set_metadata("note", "long ".repeat(100));
        model.save_on(disk, &path())
    };
    for error in [edit_in_place(&disk).expect_err("read-only"), edit_too_long(&disk).expect_err("read-only")]
    {
        assert_eq!(error.to_string(), "cannot write /models/m.safetensors: permission denied");
    }
    assert_eq!((disk.bytes(&path()), disk.names()), (Some(old), vec![path()]));
}

#[test]
fn fault_then_power_cut_leaves_old_or_new_file() {
    for operation in OPERATIONS {
        let (old, new, calls) = run(operation);
        for at in 0..calls {
            let disk = SimulatedDisk::with([(&*path(), &*old)]).with_failures(FailurePlan::Fault(at));
            let is_done = operation(&disk).is_ok();
            for after in disk.after_power_cut(CHOICES) {
                check_recovery(&after, &old, &new, is_done);
            }
        }
    }
}

/// Simulates a killed program: its writes are done, but not synced.
#[test]
fn torn_header_is_restored() {
    let (old, new, calls) = run(edit_in_place);
    let mut torn = 0;
    for cut in 0..calls {
        let disk = SimulatedDisk::with([(&*path(), &*old)]).with_failures(FailurePlan::PowerCut(cut));
        assert!(edit_in_place(&disk).is_err());
        let disk = disk.with_failures(FailurePlan::None);
        let was = disk.bytes(&path()).expect("exists");
        torn += usize::from(ModelEditor::recover_on(&disk, &path()).expect("no failure"));
        let is_whole = was == old || was == new;
        assert_eq!(disk.bytes(&path()), Some(if is_whole { was } else { old.clone() }));
        for after in disk.after_power_cut(CHOICES) {
            check_recovery(&after, &old, &new, false);
        }
    }
    assert!(torn > 0, "no header was torn");
}

/// A concurrent change, or the edit, is lost only between the last check and the replacement, which no
/// program can detect.
#[test]
fn concurrent_change_is_detected() {
    let change: fn(usize) -> FailurePlan = FailurePlan::Change;
    for (operation, change, moments) in [
        (edit_in_place as fn(&dyn Disk) -> Outcome, change, 0),
        (edit_in_place, FailurePlan::Replace, 0),
        (edit_by_copy, change, 1),
        (edit_by_copy, FailurePlan::Replace, 1),
    ] {
        let (old, new, calls) = run(operation);
        let (mut lost, mut noticed) = (0, 0);
        for at in 0..calls {
            let disk = SimulatedDisk::with([(&*path(), &*old)]).with_failures(change(at));
            let outcome = operation(&disk);
            let bytes = disk.bytes(&path()).expect("exists");
            let is_there = bytes.ends_with(&[CHANGED]);
            match outcome {
                Ok(()) => lost += usize::from(!is_there || bytes[..bytes.len() - 1] != new[..new.len() - 1]),
                Err(error) => {
                    assert!(
                        matches!(error.kind(), EditErrorKind::File(FileErrorKind::Changed)),
                        "{at}: {error}"
                    );
                    assert!(is_there && disk.names() == [path()]);
                    noticed += 1;
                }
            }
        }
        assert_eq!(lost, moments);
        assert!(noticed > 0);
    }
}

/// Returns a disk with a torn header, as a killed program leaves it.
fn torn() -> (SimulatedDisk, Vec<u8>) {
    torn_from(file_of(1))
}

fn torn_from(old: Vec<u8>) -> (SimulatedDisk, Vec<u8>) {
    let disk = SimulatedDisk::with([(&*path(), &*old)]);
    edit_in_place(&disk).expect("no failure");
    let (new, calls) = (disk.bytes(&path()).expect("exists"), disk.calls());
    let killed = (0..calls).map(|cut| {
        let disk = SimulatedDisk::with([(&*path(), &*old)]).with_failures(FailurePlan::PowerCut(cut));
        assert!(edit_in_place(&disk).is_err());
        disk.with_failures(FailurePlan::None)
    });
    let is_torn =
        |disk: &SimulatedDisk| disk.bytes(&path()).is_some_and(|bytes| bytes != old && bytes != new);
    (killed.into_iter().find(is_torn).expect("a torn header"), old.clone())
}

#[test]
fn opening_torn_file_restores_it_or_fails() {
    let (torn, old) = torn();
    let open = |plan| {
        let disk = torn.copy().with_failures(plan);
        (ModelEditor::open_on(&disk, &path()), disk)
    };
    let (outcome, disk) = open(FailurePlan::None);
    assert!(outcome.is_ok() && disk.bytes(&path()) == Some(old.clone()));
    for at in 0..disk.calls() {
        match open(FailurePlan::Fault(at)) {
            (Ok(_), disk) => assert_eq!(disk.bytes(&path()), Some(old.clone())),
            (Err(error), _) => {
                assert!(
                    matches!(error.kind(), EditErrorKind::File(FileErrorKind::System { .. })),
                    "{at}: {error}"
                );
            }
        }
    }
}

#[test]
fn torn_file_of_other_length_is_not_restored() {
    let (disk, _) = torn();
    let file = disk.open(&path(), true).expect("exists");
    let len = file.stat().expect("no failure").version.len;
    file.set_len(len + 1).expect("no failure");
    let error = ModelEditor::recover_on(&disk, &path()).expect_err("another file");
    assert!(matches!(error.kind(), EditErrorKind::ForeignUndo { .. }), "{error}");
}

/// Returns a file whose first tensor has this length.
fn long_file(len: usize) -> Vec<u8> {
    let disk = SimulatedDisk::with([]);
    let dims = [len as u64];
    let tensors = [TensorSpec::new("a", Dtype::U8, &dims), TensorSpec::new("b", Dtype::U8, &[1])];
    let spec = FileSpec::new(&tensors).with_metadata(&[("note", "some room for another one")]);
    let outcome = write_file_on(&disk, &path(), spec, |file| {
        file.write_tensor("b", &[1])?;
        file.write_chunks("a", [&*Vec::from_iter(std::iter::repeat_n(1, len))])
    });
    outcome.expect("no failure");
    disk.bytes(&path()).expect("written")
}

/// Another program has written a file with other data, whose header has bytes of both headers.
#[test]
fn torn_file_with_other_data_is_not_restored() {
    const LEN: usize = 20_000;
    for (len, from_end) in [(LEN, 1), (LEN, LEN + 1), (9, 1), (9, 10), (0, 1)] {
        let (disk, old) = torn_from(long_file(len));
        let file = disk.open(&path(), true).expect("exists");
        file.write_at((old.len() - from_end) as u64, &[CHANGED]).expect("no failure");
        let bytes = disk.bytes(&path());
        let error = ModelEditor::recover_on(&disk, &path()).expect_err("another file");
        assert!(matches!(error.kind(), EditErrorKind::ForeignUndo { .. }), "{error}");
        assert_eq!(disk.bytes(&path()), bytes);
        file.write_at((old.len() - from_end) as u64, &[1]).expect("no failure");
        assert!(ModelEditor::recover_on(&disk, &path()).expect("same data again"));
        assert_eq!(disk.bytes(&path()), Some(old));
    }
}

/// A program that ignores an error cannot finish an incomplete file.
#[test]
fn file_with_failed_write_cannot_be_finished() {
    let (old, _, calls) = run(OPERATIONS[0]);
    let mut unfinished = 0;
    for at in 0..calls {
        let disk = SimulatedDisk::with([(&*path(), &*old)]).with_failures(FailurePlan::Fault(at));
        let tensors =
            [TensorSpec::new("a", Dtype::U8, &[200_000]), TensorSpec::new("b", Dtype::U8, &[200_000])];
        let outcome = write_file_on(&disk, &path(), FileSpec::new(&tensors), |file| {
            for _ in 0..5 {
                let _ = file.tensor("b")?.write_bytes(&[3; 40_000]);
                let _ = file.tensor("a")?.write_bytes(&[2; 40_000]);
            }
            Ok(())
        });
        if let Err(error) = outcome {
            unfinished += usize::from(matches!(error.kind(), EditErrorKind::Unfinished));
            assert!(disk.bytes(&path()) == Some(old.clone()) || at + 3 >= disk.calls(), "{at}: {error}");
        }
    }
    assert!(unfinished > 0);
}

#[test]
fn undo_file_of_another_file_is_harmless() {
    let (old, _, calls) = run(edit_in_place);
    let leftover = |cut| {
        let disk = SimulatedDisk::with([(&*path(), &*old)]).with_failures(FailurePlan::PowerCut(cut));
        let _ = edit_in_place(&disk);
        disk.with_failures(FailurePlan::None)
    };
    let is_left =
        |disk: &SimulatedDisk| disk.names().iter().any(|name| name.ends_with(".m.safetensors.undo"));
    let disk = (0..calls).map(leftover).find(is_left).expect("an undo file");
    // Another program, which does not know undo files, replaces the file.
    let other = PathBuf::from("/models/other");
    write_to(&disk, &other, 9).expect("no failure");
    let mut editor = ModelEditor::open_on(&disk, &other).expect("valid file");
    editor.rename("a", "c").expect("exists");
    editor.save_on(&disk, &other).expect("no failure");
    disk.rename(&other, &path()).expect("no failure");
    let bytes = disk.bytes(&path());
    let error = ModelEditor::recover_on(&disk, &path()).expect_err("another file");
    assert!(matches!(error.kind(), EditErrorKind::ForeignUndo { .. }), "{error}");
    assert_eq!(disk.bytes(&path()), bytes);
    let names = |editor: &ModelEditor<'_>| {
        editor.tensors().map(|tensor| tensor.name().into()).collect::<Vec<String>>()
    };
    assert_eq!(names(&ModelEditor::open_on(&disk, &path()).expect("valid file")), ["b", "c"]);
    // Writing or editing the file removes the foreign undo file.
    let edited = disk.copy();
    let mut editor = ModelEditor::open_on(&edited, &path()).expect("valid file");
    editor.rename("b", "d").expect("exists");
    assert_eq!(editor.save_on(&edited, &path()).expect("no failure"), SaveMethod::InPlace);
    write(&disk, 4).expect("no failure");
    assert!(!is_left(&disk) && !is_left(&edited));
}

/// Returns the disks left by programs that are killed at each call of an edit.
fn killed() -> impl Iterator<Item = SimulatedDisk> {
    let (old, _, calls) = run(edit_in_place);
    (0..calls).map(move |cut| {
        let disk = SimulatedDisk::with([(&*path(), &*old)]).with_failures(FailurePlan::PowerCut(cut));
        assert!(edit_in_place(&disk).is_err());
        disk.with_failures(FailurePlan::None)
    })
}

#[test]
fn opening_complete_file_changes_nothing() {
    let (old, new, _) = run(edit_in_place);
    let mut left = [0, 0];
    for disk in killed() {
        let (bytes, names) = (disk.bytes(&path()).expect("exists"), disk.names());
        assert!(ModelEditor::open_on(&disk, &path()).is_ok());
        if bytes == old || bytes == new {
            assert!(disk.bytes(&path()) == Some(bytes.clone()) && disk.names() == names);
            left[usize::from(bytes == new)] += usize::from(names.len() > 1);
        }
    }
    assert!(left.iter().all(|&count| count > 0), "no undo file beside a complete file: {left:?}");
}

/// Another program finishes its edit, while this one reads the file or waits.
#[test]
fn running_edit_is_not_undone() {
    let (old, new, _) = run(edit_in_place);
    let torn = killed().filter(|disk| disk.bytes(&path()).is_some_and(|bytes| bytes != old && bytes != new));
    let torn: Vec<SimulatedDisk> = torn.collect();
    assert!(!torn.is_empty());
    for (disk, at) in torn.iter().flat_map(|disk| (0..100).map(move |at| (disk.copy(), at))) {
        let undo = disk.names().into_iter().find(|name| name.ends_with(".m.safetensors.undo"));
        let file = disk.open(&path(), true).expect("exists");
        let (other, bytes, undo) = (disk.clone(), new.clone(), undo.expect("torn header"));
        let disk = disk.with_failures(FailurePlan::None);
        disk.interleave(at, move || {
            file.write_at(0, &bytes).expect("no failure");
            other.remove(&undo).expect("undo file exists");
        });
        let editor = ModelEditor::open_on(&disk, &path()).expect("valid file");
        let header = &new[..usize::try_from(editor.sources[0].data_start).expect("small")];
        // The torn header in this test can be valid by chance.
        assert_eq!(editor.sources[0].fingerprint, fingerprint(header), "{at}");
        assert!(disk.bytes(&path()) == Some(new.clone()) && disk.names() == [path()]);
    }
}

/// Without locks, another program can undo an edit that runs: then that is an error, and the old bytes stay.
#[test]
fn an_edit_that_others_undo_is_an_error() {
    let (old, new, calls) = run(set_data);
    let mut undone = 0;
    for at in 0..calls {
        let disk = SimulatedDisk::with([(&*path(), &*old)]);
        let other = disk.clone();
        disk.interleave(at, move || drop(undo::recover(&other, &path())));
        let is_undone = set_data(&disk).is_err();
        undone += usize::from(is_undone);
        let due = if is_undone { &old } else { &new };
        assert!(disk.bytes(&path()).as_ref() == Some(due) && disk.names() == [path()], "{at} of {calls}");
    }
    assert!(undone > 0);
}

/// The result of the first edit may not be synced yet.
#[test]
fn edit_after_interrupted_edit_leaves_a_complete_header() {
    let (old, new, _) = run(edit_in_place);
    let edit = |disk: &SimulatedDisk| -> Outcome {
        let mut editor = ModelEditor::open_on(disk, &path())?;
        editor.set_metadata("note", "again");
        assert_eq!(editor.save_on(disk, &path())?, SaveMethod::InPlace);
        Ok(())
    };
    for left in killed() {
        let (calls, newest) = {
            let disk = left.copy().with_failures(FailurePlan::None);
            edit(&disk).expect("no failure");
            assert!(!disk.names().iter().any(|name| name.ends_with(".m.safetensors.undo")));
            (disk.calls(), disk.bytes(&path()))
        };
        for cut in 0..calls {
            let disk = left.copy().with_failures(FailurePlan::PowerCut(cut));
            assert!(edit(&disk).is_err());
            for after in disk.after_power_cut(CHOICES) {
                let found = recovered(&after);
                assert!([Some(&old), Some(&new), newest.as_ref()].contains(&found.as_ref()));
            }
        }
    }
}

#[test]
fn unfinished_edit_of_another_program_is_not_disturbed() {
    let (old, _, calls) = run(edit_in_place);
    let path = path();
    let mut refused = 0;
    for cut in 0..calls {
        let disk = SimulatedDisk::with([(&*path, &*old)]);
        let mut editor = ModelEditor::open_on(&disk, &path).expect("valid file");
        editor.rename("b", "c").expect("exists");
        let disk = disk.with_failures(FailurePlan::PowerCut(cut));
        let _ = edit_in_place(&disk);
        let disk = disk.with_failures(FailurePlan::None);
        let now = disk.bytes(&path);
        match editor.save_on(&disk, &path) {
            Ok(_) => assert!(now == Some(old.clone())),
            Err(error) => {
                assert!(matches!(error.kind(), EditErrorKind::File(FileErrorKind::Changed)), "{error}");
                assert!(disk.bytes(&path) == now);
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
}
