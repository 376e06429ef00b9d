//! Power cuts and faults at every single call, on a model of a disk.

use crate::disk::Disk;
use crate::editor::{ModelEditor, fingerprint};
use crate::error::{EditError, EditErrorKind};
use crate::save::SaveMethod;
use crate::simulated::{CHANGED, Forgetful, Luck, Plan};
use crate::writer::write_file_on;
use embedded_safetensors::Dtype;
use embedded_safetensors::file::FileErrorKind;
use embedded_safetensors::write::{FileSpec, Placement, TensorSpec};
use std::path::{Path, PathBuf};

const LUCK: [Luck; 8] = [
    Luck::Nothing,
    Luck::Everything,
    Luck::Dice(1),
    Luck::Dice(2),
    Luck::Dice(3),
    Luck::Dice(4),
    Luck::Dice(5),
    Luck::Dice(6),
];

fn path() -> PathBuf {
    PathBuf::from("/models/m.safetensors")
}

type Outcome = Result<(), EditError>;

/// Writes a file of two tensors with these bytes, the last one first and in two pieces.
fn write(disk: &dyn Disk, fill: u8) -> Outcome {
    write_to(disk, &path(), fill)
}

fn write_to(disk: &dyn Disk, path: &Path, fill: u8) -> Outcome {
    let tensors = [TensorSpec::new("a", Dtype::U8, &[9]), TensorSpec::new("b", Dtype::U8, &[7])];
    let spec = FileSpec::new(&tensors).with_metadata(&[("note", "some room for another one")]);
    write_file_on(disk, path, spec, |file| {
        file.write_tensor("b", &[fill; 7])?;
        file.tensor("a")?.write_bytes(&[fill; 4])?;
        file.tensor("a")?.write_bytes(&[fill; 5])
    })
}

/// The bytes that `write` makes where nothing goes wrong.
fn file_of(fill: u8) -> Vec<u8> {
    let disk = Forgetful::with([]);
    write(&disk, fill).expect("nothing goes wrong");
    disk.bytes(&path()).expect("it was written")
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

fn align(disk: &dyn Disk) -> Outcome {
    let mut editor = ModelEditor::open_on(disk, &path())?;
    editor.set_placement(Placement::Padded(64));
    assert_eq!(editor.save_on(disk, &path())?, SaveMethod::Copied);
    Ok(())
}

/// What each does to a file, on a disk where it is the only one.
const DEEDS: [fn(&dyn Disk) -> Outcome; 4] = [|disk| write(disk, 2), edit_in_place, edit_by_copy, align];

/// The file before and after the deed, and how many calls it takes.
fn of_deed(deed: fn(&dyn Disk) -> Outcome) -> (Vec<u8>, Vec<u8>, usize) {
    let old = file_of(1);
    let disk = Forgetful::with([(&*path(), &*old)]);
    deed(&disk).expect("nothing goes wrong");
    let new = disk.bytes(&path()).expect("it is there");
    assert_ne!(old, new);
    assert_eq!(disk.names(), [path()]);
    (old, new, disk.calls())
}

/// What is there once the next program has looked at it.
fn recovered(disk: &Forgetful) -> Option<Vec<u8>> {
    ModelEditor::recover_on(disk, &path()).expect("nothing goes wrong");
    disk.bytes(&path())
}

#[test]
fn after_a_power_cut_at_any_call_the_old_or_the_new_file_is_there() {
    for deed in DEEDS {
        let (old, new, calls) = of_deed(deed);
        assert!(calls > 10, "the calls are counted");
        for cut in 0..=calls {
            let disk = Forgetful::with([(&*path(), &*old)]).planning(Plan::PowerCut(cut));
            let is_done = deed(&disk).is_ok();
            assert!(if is_done { cut + 1 >= calls } else { cut < calls }, "a call without power succeeds");
            for after in LUCK.into_iter().flat_map(|luck| disk.after_power_cut(luck)) {
                judge(&after, &old, &new, is_done);
            }
        }
    }
}

/// A power cut may follow another one, while the first one is mended.
fn judge(disk: &Forgetful, old: &[u8], new: &[u8], is_done: bool) {
    let whole =
        |bytes: Option<Vec<u8>>| bytes.is_some_and(|bytes| bytes == new || (bytes == old && !is_done));
    let calls = {
        let disk = disk.copy().planning(Plan::Fine);
        assert!(whole(recovered(&disk)));
        assert!(ModelEditor::open_on(&disk, &path()).is_ok());
        disk.calls()
    };
    for cut in 0..calls {
        let disk = disk.copy().planning(Plan::PowerCut(cut));
        let _ = ModelEditor::recover_on(&disk, &path());
        for after in LUCK.into_iter().flat_map(|luck| disk.after_power_cut(luck)) {
            assert!(whole(recovered(&after)));
        }
    }
    let disk = disk.copy();
    assert!(ModelEditor::open_on(&disk, &path()).is_ok());
    assert!(whole(disk.bytes(&path())), "whoever opens it finds it whole");
}

/// Nobody needs to recover what takes the place of a file in one act.
#[test]
fn a_replaced_file_is_whole_by_itself() {
    for deed in [DEEDS[0], DEEDS[2], DEEDS[3]] {
        let (old, new, calls) = of_deed(deed);
        for cut in 0..=calls {
            let disk = Forgetful::with([(&*path(), &*old)]).planning(Plan::PowerCut(cut));
            let is_done = deed(&disk).is_ok();
            for after in LUCK.into_iter().flat_map(|luck| disk.after_power_cut(luck)) {
                let bytes = after.bytes(&path()).expect("it is there");
                assert!(bytes == new || bytes == old && !is_done);
            }
        }
    }
}

#[test]
fn where_nothing_was_there_is_nothing_or_all_of_the_file() {
    let new = file_of(3);
    for cut in 0.. {
        let disk = Forgetful::with([]).planning(Plan::PowerCut(cut));
        let is_done = write(&disk, 3).is_ok();
        for after in LUCK.into_iter().flat_map(|luck| disk.after_power_cut(luck)) {
            let bytes = after.bytes(&path());
            assert!(bytes.is_none() && !is_done || bytes.is_some_and(|bytes| bytes == new));
        }
        if is_done {
            return;
        }
    }
}

#[test]
fn a_fault_at_any_call_leaves_the_old_file_and_nothing_else() {
    for deed in DEEDS {
        let (old, new, calls) = of_deed(deed);
        for at in 0..calls {
            let disk = Forgetful::with([(&*path(), &*old)]).planning(Plan::Fault(at));
            let outcome = deed(&disk);
            let now = disk.bytes(&path()).expect("it is there");
            let is_late = at + 3 >= calls;
            match &outcome {
                Ok(()) => assert_eq!(now, new, "{at} of {calls}"),
                Err(error) => {
                    assert!(now == old || now == new && is_late, "{at} of {calls}: {error}");
                    assert!(
                        matches!(error.kind(), EditErrorKind::File(FileErrorKind::System { error, .. }) if error.kind() == std::io::ErrorKind::StorageFull)
                    );
                }
            }
            // Only where the undo file itself cannot be removed, it stays until the next call.
            assert!(disk.names().len() == 1 || is_late, "{at} of {calls}: {:?}", disk.names());
            assert_eq!(recovered(&disk.planning(Plan::Fine)), Some(now));
        }
    }
}

#[test]
fn a_fault_and_then_a_power_cut_leave_the_old_file_or_the_new_one() {
    for deed in DEEDS {
        let (old, new, calls) = of_deed(deed);
        for at in 0..calls {
            let disk = Forgetful::with([(&*path(), &*old)]).planning(Plan::Fault(at));
            let is_done = deed(&disk).is_ok();
            for after in LUCK.into_iter().flat_map(|luck| disk.after_power_cut(luck)) {
                judge(&after, &old, &new, is_done);
            }
        }
    }
}

/// As when the program is killed: what it has written is there, but not on the medium.
#[test]
fn a_header_that_stays_torn_is_put_back_later() {
    let (old, new, calls) = of_deed(edit_in_place);
    let mut torn = 0;
    for cut in 0..calls {
        let disk = Forgetful::with([(&*path(), &*old)]).planning(Plan::PowerCut(cut));
        assert!(edit_in_place(&disk).is_err());
        let disk = disk.planning(Plan::Fine);
        let was = disk.bytes(&path()).expect("it is there");
        torn += usize::from(ModelEditor::recover_on(&disk, &path()).expect("nothing goes wrong"));
        let is_whole = was == old || was == new;
        assert_eq!(disk.bytes(&path()), Some(if is_whole { was } else { old.clone() }));
        for after in LUCK.into_iter().flat_map(|luck| disk.after_power_cut(luck)) {
            judge(&after, &old, &new, false);
        }
    }
    assert!(torn > 0, "no header was torn");
}

/// What someone else changes at the same time is not lost but in the one moment between the last look and the act, of
/// which only the system could know.
#[test]
fn what_someone_else_changes_meanwhile_is_noticed() {
    for (deed, moments) in [(edit_in_place as fn(&dyn Disk) -> Outcome, 0), (edit_by_copy, 1)] {
        let (old, _, calls) = of_deed(deed);
        let (mut lost, mut noticed) = (0, 0);
        for at in 0..calls {
            let disk = Forgetful::with([(&*path(), &*old)]).planning(Plan::Change(at));
            let outcome = deed(&disk);
            let is_there = disk.bytes(&path()).expect("it is there").ends_with(&[CHANGED]);
            match outcome {
                Ok(()) => lost += usize::from(!is_there),
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

/// A disk on which the header is torn, as a killed program leaves it.
fn torn() -> (Forgetful, Vec<u8>) {
    torn_from(file_of(1))
}

fn torn_from(old: Vec<u8>) -> (Forgetful, Vec<u8>) {
    let disk = Forgetful::with([(&*path(), &*old)]);
    edit_in_place(&disk).expect("nothing goes wrong");
    let (new, calls) = (disk.bytes(&path()).expect("it is there"), disk.calls());
    let killed = (0..calls).map(|cut| {
        let disk = Forgetful::with([(&*path(), &*old)]).planning(Plan::PowerCut(cut));
        assert!(edit_in_place(&disk).is_err());
        disk.planning(Plan::Fine)
    });
    let is_torn = |disk: &Forgetful| disk.bytes(&path()).is_some_and(|bytes| bytes != old && bytes != new);
    (killed.into_iter().find(is_torn).expect("a header is torn at some time"), old.clone())
}

#[test]
fn whoever_opens_a_torn_file_has_it_put_back_or_an_error() {
    let (torn, old) = torn();
    let open = |plan| {
        let disk = torn.copy().planning(plan);
        (ModelEditor::open_on(&disk, &path()), disk)
    };
    let (outcome, disk) = open(Plan::Fine);
    assert!(outcome.is_ok() && disk.bytes(&path()) == Some(old.clone()));
    for at in 0..disk.calls() {
        match open(Plan::Fault(at)) {
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
fn a_torn_file_of_another_length_is_not_put_back() {
    let (disk, _) = torn();
    let file = disk.open(&path(), true).expect("it is there");
    let len = file.stat().expect("nothing goes wrong").version.len;
    file.set_len(len + 1).expect("nothing goes wrong");
    let error = ModelEditor::recover_on(&disk, &path()).expect_err("it is another file");
    assert!(matches!(error.kind(), EditErrorKind::ForeignUndo { .. }), "{error}");
}

/// A file whose first tensor is as long as this.
fn long_file(len: usize) -> Vec<u8> {
    let disk = Forgetful::with([]);
    let dims = [len as u64];
    let tensors = [TensorSpec::new("a", Dtype::U8, &dims), TensorSpec::new("b", Dtype::U8, &[1])];
    let spec = FileSpec::new(&tensors).with_metadata(&[("note", "some room for another one")]);
    let outcome = write_file_on(&disk, &path(), spec, |file| {
        file.write_tensor("b", &[1])?;
        file.write_chunks("a", [&*Vec::from_iter(std::iter::repeat_n(1, len))])
    });
    outcome.expect("nothing goes wrong");
    disk.bytes(&path()).expect("it was written")
}

/// As when someone else has written a file of other data there, whose header has something of both.
#[test]
fn a_torn_file_with_other_data_is_not_put_back() {
    const LEN: usize = 20_000;
    for (len, from_end) in [(LEN, 1), (LEN, LEN + 1), (9, 1), (9, 10), (0, 1)] {
        let (disk, old) = torn_from(long_file(len));
        let file = disk.open(&path(), true).expect("it is there");
        file.write_at((old.len() - from_end) as u64, &[CHANGED]).expect("nothing goes wrong");
        let bytes = disk.bytes(&path());
        let error = ModelEditor::recover_on(&disk, &path()).expect_err("it is another file");
        assert!(matches!(error.kind(), EditErrorKind::ForeignUndo { .. }), "{error}");
        assert_eq!(disk.bytes(&path()), bytes);
        file.write_at((old.len() - from_end) as u64, &[1]).expect("nothing goes wrong");
        assert!(ModelEditor::recover_on(&disk, &path()).expect("it is the same again"));
        assert_eq!(disk.bytes(&path()), Some(old));
    }
}

/// A program that takes no notice of an error cannot finish a file that is not whole.
#[test]
fn a_file_with_a_fault_cannot_be_finished() {
    let (old, _, calls) = of_deed(DEEDS[0]);
    let mut unfinished = 0;
    for at in 0..calls {
        let disk = Forgetful::with([(&*path(), &*old)]).planning(Plan::Fault(at));
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
fn an_undo_file_of_another_file_does_no_harm() {
    let (old, _, calls) = of_deed(edit_in_place);
    let leftover = |cut| {
        let disk = Forgetful::with([(&*path(), &*old)]).planning(Plan::PowerCut(cut));
        let _ = edit_in_place(&disk);
        disk.planning(Plan::Fine)
    };
    let is_left = |disk: &Forgetful| disk.names().iter().any(|name| name.ends_with(".m.safetensors.undo"));
    let disk = (0..calls).map(leftover).find(is_left).expect("an undo file is there at some time");
    // Someone else, who knows nothing of undo files, puts a new file there.
    let other = PathBuf::from("/models/other");
    write_to(&disk, &other, 9).expect("nothing goes wrong");
    let mut editor = ModelEditor::open_on(&disk, &other).expect("it is sound");
    editor.rename("a", "c").expect("it is there");
    editor.save_on(&disk, &other).expect("nothing goes wrong");
    disk.rename(&other, &path()).expect("nothing goes wrong");
    let bytes = disk.bytes(&path());
    let error = ModelEditor::recover_on(&disk, &path()).expect_err("it is another file");
    assert!(matches!(error.kind(), EditErrorKind::ForeignUndo { .. }), "{error}");
    assert_eq!(disk.bytes(&path()), bytes);
    let names =
        |editor: &ModelEditor| editor.tensors().map(|tensor| tensor.name().into()).collect::<Vec<String>>();
    assert_eq!(names(&ModelEditor::open_on(&disk, &path()).expect("it is sound")), ["b", "c"]);
    // Whoever writes or edits the file removes what is not its.
    let edited = disk.copy();
    let mut editor = ModelEditor::open_on(&edited, &path()).expect("it is sound");
    editor.rename("b", "d").expect("it is there");
    assert_eq!(editor.save_on(&edited, &path()).expect("nothing goes wrong"), SaveMethod::InPlace);
    write(&disk, 4).expect("nothing goes wrong");
    assert!(!is_left(&disk) && !is_left(&edited));
}

/// As programs leave the disk that are killed at any call of an edit.
fn killed() -> impl Iterator<Item = Forgetful> {
    let (old, _, calls) = of_deed(edit_in_place);
    (0..calls).map(move |cut| {
        let disk = Forgetful::with([(&*path(), &*old)]).planning(Plan::PowerCut(cut));
        assert!(edit_in_place(&disk).is_err());
        disk.planning(Plan::Fine)
    })
}

#[test]
fn whoever_opens_a_whole_file_changes_nothing() {
    let (old, new, _) = of_deed(edit_in_place);
    let mut left = [0, 0];
    for disk in killed() {
        let (bytes, names) = (disk.bytes(&path()).expect("it is there"), disk.names());
        assert!(ModelEditor::open_on(&disk, &path()).is_ok());
        if bytes == old || bytes == new {
            assert!(disk.bytes(&path()) == Some(bytes.clone()) && disk.names() == names);
            left[usize::from(bytes == new)] += usize::from(names.len() > 1);
        }
    }
    assert!(left.iter().all(|&count| count > 0), "no undo file beside a whole file: {left:?}");
}

/// Someone who lives finishes the edit, while others look at the file or wait.
#[test]
fn an_edit_that_goes_on_is_not_undone() {
    let (old, new, _) = of_deed(edit_in_place);
    let torn = killed().filter(|disk| disk.bytes(&path()).is_some_and(|bytes| bytes != old && bytes != new));
    let torn: Vec<Forgetful> = torn.collect();
    assert!(!torn.is_empty());
    for (disk, at) in torn.iter().flat_map(|disk| (0..100).map(move |at| (disk.copy(), at))) {
        let undo = disk.names().into_iter().find(|name| name.ends_with(".m.safetensors.undo"));
        let file = disk.open(&path(), true).expect("it is there");
        let (other, bytes, undo) = (disk.clone(), new.clone(), undo.expect("it is torn"));
        let disk = disk.planning(Plan::Fine);
        disk.meanwhile(at, move || {
            file.write_at(0, &bytes).expect("nothing goes wrong");
            other.remove(&undo).expect("nobody else has removed it");
        });
        let editor = ModelEditor::open_on(&disk, &path()).expect("it is sound");
        let header = &new[..usize::try_from(editor.sources[0].data_start).expect("small")];
        // What is torn here happens to be sound.
        assert_eq!(editor.sources[0].fingerprint, fingerprint(header), "{at}");
        assert!(disk.bytes(&path()) == Some(new.clone()) && disk.names() == [path()]);
    }
}

/// What the first edit has left may not be on the medium yet.
#[test]
fn an_edit_after_an_interrupted_one_leaves_one_of_the_headers() {
    let (old, new, _) = of_deed(edit_in_place);
    let edit = |disk: &Forgetful| -> Outcome {
        let mut editor = ModelEditor::open_on(disk, &path())?;
        editor.set_metadata("note", "again");
        assert_eq!(editor.save_on(disk, &path())?, SaveMethod::InPlace);
        Ok(())
    };
    for left in killed() {
        let (calls, newest) = {
            let disk = left.copy().planning(Plan::Fine);
            edit(&disk).expect("nothing goes wrong");
            assert!(!disk.names().iter().any(|name| name.ends_with(".m.safetensors.undo")));
            (disk.calls(), disk.bytes(&path()))
        };
        for cut in 0..calls {
            let disk = left.copy().planning(Plan::PowerCut(cut));
            assert!(edit(&disk).is_err());
            for after in LUCK.into_iter().flat_map(|luck| disk.after_power_cut(luck)) {
                let found = recovered(&after);
                assert!([Some(&old), Some(&new), newest.as_ref()].contains(&found.as_ref()));
            }
        }
    }
}

#[test]
fn an_edit_that_someone_else_has_not_finished_is_not_disturbed() {
    let (old, _, calls) = of_deed(edit_in_place);
    let path = path();
    let mut refused = 0;
    for cut in 0..calls {
        let disk = Forgetful::with([(&*path, &*old)]);
        let mut editor = ModelEditor::open_on(&disk, &path).expect("it is sound");
        editor.rename("b", "c").expect("it is there");
        let disk = disk.planning(Plan::PowerCut(cut));
        let _ = edit_in_place(&disk);
        let disk = disk.planning(Plan::Fine);
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
