//! Operations on files in a process of their own, for tests that kill it, restrict it, or measure it.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::process::ExitCode;

use embedded_safetensors::{
    Dtype, FileModel,
    file::FileErrorKind,
    write::{FileSpec, TensorSpec},
};
use safetensors_files::{
    EditError, EditErrorKind, ModelEditor, NewBytes, SaveMethod, checkpoint::write_checkpoint, write_file,
};

/// The bytes of each tensor that `write` writes.
const LEN: usize = 100_000;
const MIB: u64 = 1 << 20;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Result<(), EditError> {
    match *args {
        ["write", path, fill] => return write(path, fill.parse().expect("a byte")),
        ["rewrite", path] => {
            return (0..).try_for_each(|round| write(path, low_byte(round)).map(|()| report(round)));
        }
        ["checkpoint", path] => {
            return (0..).try_for_each(|round| checkpoint(path, low_byte(round)).map(|()| report(round)));
        }
        ["edit", path] => return (0..).try_for_each(|round| edit(path, round).map(|()| report(round))),
        ["set", path, fill] => return set(path, fill.parse().expect("a byte")),
        ["read", path] => return (0..3000).try_for_each(|_| read(path)),
        ["look", path] => {
            let opened = (0..3000).map(|_| look(path)).collect::<Result<Vec<_>, _>>()?;
            assert!(opened.iter().filter(|is_open| **is_open).count() > 1500);
            return Ok(());
        }
        ["stream", path, many] => stream(path, many.parse().expect("a number"))?,
        ["copy", from, to] => copy(from, to)?,
        ["note", path] => note(path)?,
        ["nothing"] => {}
        _ => panic!("no such operation: {args:?}"),
    }
    println!("{}", own_peak());
    Ok(())
}

/// Writes a file whose data are all of one byte, with space in the header.
fn write(path: &str, fill: u8) -> Result<(), EditError> {
    let dims = [LEN as u64];
    let tensors = ["a0", "b0", "c0"].map(|name| TensorSpec::new(name, Dtype::U8, &dims));
    let spec = FileSpec::new(&tensors).with_metadata(&[("room", "for an edit in place, of some length")]);
    write_file(path, spec, |file| {
        file.write_tensor("b0", &[fill; LEN])?;
        file.write_chunks("a0", [fill; LEN].chunks(1000))?;
        file.write_tensor("c0", &[fill; LEN])
    })
}

/// Writes a directory with such a file, and another file of the same number of the same byte.
fn checkpoint(path: &str, fill: u8) -> Result<(), EditError> {
    let dims = [LEN as u64];
    let tensors = ["a0"].map(|name| TensorSpec::new(name, Dtype::U8, &dims));
    write_checkpoint(path, |checkpoint| {
        checkpoint.write_file("m", FileSpec::new(&tensors), |file| file.write_tensor("a0", &[fill; LEN]))?;
        checkpoint.write_bytes("step", &[fill; LEN])
    })
}

/// Renames all tensors in place; the new names have the same number.
fn edit(path: &str, round: u32) -> Result<(), EditError> {
    let mut editor = ModelEditor::open(path)?;
    editor.set_metadata("room", "");
    editor.rename_all(|name| format!("{}{}", &name[..1], round % 10))?;
    assert_eq!(editor.save(path)?, SaveMethod::InPlace);
    Ok(())
}

/// Opens a file, and sets a tensor when the input ends.
fn set(path: &str, fill: u8) -> Result<(), EditError> {
    let new = [fill; LEN];
    let mut editor = ModelEditor::open(path)?;
    editor.set_tensor("a0", NewBytes::new(Dtype::U8, &[LEN as u64], &new[..]))?;
    report(0);
    std::io::stdin().read_to_end(&mut Vec::new()).expect("a pipe");
    editor.save(path).map(drop)
}

/// Opens a file that another process edits.
fn look(path: &str) -> Result<bool, EditError> {
    match ModelEditor::open(path) {
        Ok(editor) => {
            assert_eq!(editor.tensors().count(), 3);
            Ok(true)
        }
        // The documented error, if the file is edited again and again.
        Err(error) if matches!(error.kind(), EditErrorKind::File(FileErrorKind::Interrupted)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads a file that another process edits: finds the header from before or after an edit, or gets an error.
fn read(path: &str) -> Result<(), EditError> {
    match FileModel::open(path) {
        Ok(model) => {
            let numbers: BTreeSet<_> = model.tensors().map(|tensor| tensor.name()[1..].to_owned()).collect();
            assert_eq!((model.index().len(), numbers.len()), (3, 1), "{numbers:?}");
            Ok(())
        }
        Err(error) if matches!(error.kind(), FileErrorKind::Interrupted) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn low_byte(number: u32) -> u8 {
    number.to_le_bytes()[0]
}

/// Reports progress.
fn report(round: u32) {
    if round == 0 {
        // The reader may be gone.
        let _ = std::io::stdout().write_all(b".").and_then(|()| std::io::stdout().flush());
    }
}

fn stream(path: &str, many: u32) -> Result<(), EditError> {
    let dims = [u64::from(many) * MIB];
    let tensors = [TensorSpec::new("a", Dtype::U8, &dims)];
    let spec = FileSpec::new(&tensors).with_metadata(&[("room", "for a note")]);
    let kibibytes = 0..many * 1024;
    write_file(path, spec, |file| file.write_chunks("a", kibibytes.map(|number| [low_byte(number); 1024])))
}

fn copy(from: &str, to: &str) -> Result<(), EditError> {
    let editor = ModelEditor::open(from)?;
    assert_eq!(editor.save(to)?, SaveMethod::Copied);
    Ok(())
}

fn note(path: &str) -> Result<(), EditError> {
    let mut editor = ModelEditor::open(path)?;
    editor.set_metadata("room", "taken");
    assert_eq!(editor.save(path)?, SaveMethod::InPlace);
    Ok(())
}

/// Returns the peak memory of this process, where the system reports it.
fn own_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kibibytes * 1024
}
