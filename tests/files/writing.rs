//! The content of written files, and the mistakes that prevent one.

use std::cell::Cell;
use std::fs;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use embedded_safetensors::{
    Dtype,
    file::FileErrorKind,
    write::{FileSpec, Placement, TensorSpec},
};
use safetensors_files::{EditError, EditErrorKind, FileWriter, write_file};
use support::context::Context;
use support::dictionary::{Dictionary, Kinds, Named};
use support::random::Random;
use support::writing::Description;

use crate::files::temp_dir::{TempDir, message};

/// Writes all bytes of a tensor, in one of the possible ways.
fn fill(file: &mut FileWriter<'_>, tensor: &Named, random: &mut Random) -> Result<(), EditError> {
    let Named { name, bytes, .. } = tensor;
    let piece = 1 + random.below(40);
    match random.below(4) {
        0 => file.write_tensor(name, bytes),
        1 => file.write_chunks(name, bytes.chunks(piece)),
        2 => {
            let copied = io::copy(&mut &bytes[..], &mut file.tensor(name)?)?;
            assert_eq!(copied, bytes.len() as u64);
            Ok(())
        }
        _ => bytes.chunks(piece).try_for_each(|piece| file.tensor(name)?.write_bytes(piece)),
    }
}

#[test]
fn written_file_matches_reference_in_any_order() {
    let dir = TempDir::new();
    let path = dir.join("m");
    for seed in 0..300 {
        let _context = Context(|| format!("seed {seed}"));
        check(&path, &mut Random::new(seed));
    }
    assert_eq!(dir.names(), ["m"]);
}

/// Writes a file in any order.
pub fn check(path: &Path, random: &mut Random) {
    let mut dictionary = Dictionary::random(Kinds::All, random);
    let file = dictionary.file();
    dictionary.shuffle(random);
    let outcome = write_file(path, Description::new(&dictionary).spec(), |file| {
        let mut order: Vec<&Named> = dictionary.tensors.iter().collect();
        random.shuffle(&mut order);
        order.into_iter().try_for_each(|tensor| fill(file, tensor, random))
    });
    outcome.expect("succeeds");
    assert!(fs::read(path).expect("present") == file);
}

/// Interleaved, in pieces of all lengths around that of the buffer.
#[test]
fn tensors_can_be_written_interleaved() {
    let dir = TempDir::new();
    const LEN: usize = 1 << 20;
    let mut random = Random::new(9);
    let bytes: [Vec<u8>; 3] = [251, 241, 239].map(|prime| (0..prime).cycle().take(LEN).collect());
    let names = ["a", "b", "c"];
    let tensors = names.map(|name| TensorSpec::new(name, Dtype::U8, &[LEN as u64]));
    let outcome = write_file(dir.join("m"), FileSpec::new(&tensors), |file| {
        let mut done = [0; 3];
        while done != [LEN; 3] {
            let which = random.below(3);
            let len = random.pick(&[1, 100, 65_535, 65_536, 65_537, 200_000]).min(LEN - done[which]);
            let mut tensor = file.tensor(names[which])?;
            assert_eq!(tensor.remaining(), (LEN - done[which]) as u64);
            tensor.write_bytes(&bytes[which][done[which]..done[which] + len])?;
            done[which] += len;
        }
        Ok(())
    });
    outcome.expect("succeeds");
    let file = fs::read(dir.join("m")).expect("present");
    assert!(file[file.len() - 3 * LEN..] == bytes.concat());
}

#[test]
fn values_are_written_little_endian() {
    let dir = TempDir::new();
    let tensors = [TensorSpec::new("f", Dtype::F32, &[2]), TensorSpec::new("i", Dtype::I16, &[2])];
    let mut file = FileWriter::create(dir.join("m"), FileSpec::new(&tensors)).expect("succeeds");
    file.write_values("i", &[-2_i16, 0x0102]).expect("fits");
    file.tensor("f").and_then(|mut f| f.write_values(&[1.0_f32])).expect("fits");
    file.tensor("f").and_then(|mut f| f.write_values(&[-2.0_f32])).expect("fits");
    file.finish().expect("complete");
    let bytes = fs::read(dir.join("m")).expect("present");
    assert_eq!(bytes[bytes.len() - 12..], [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0xfe, 0xff, 2, 1]);
}

const SPECS: [TensorSpec<'_>; 3] = [
    TensorSpec::new("fc.weight", Dtype::F32, &[2, 3]),
    TensorSpec::new("fc.bias", Dtype::F32, &[2]),
    TensorSpec::new("none", Dtype::U8, &[0]),
];

type Fill = fn(&mut FileWriter<'_>) -> Result<(), EditError>;

/// Each mistake and its message.
const MISTAKES: [(Fill, &str); 16] = [
    (|_| Ok(()), r#"tensor "fc.weight": 24 bytes needed, 0 given"#),
    (
        |file| file.tensor("fc.weight")?.write_bytes(&[0; 23]),
        r#"tensor "fc.weight": 24 bytes needed, 23 given"#,
    ),
    (|file| file.write_tensor("fc.weight", &[0; 24]), r#"tensor "fc.bias": 8 bytes needed, 0 given"#),
    (
        |file| file.write_tensor("fc.weight", &[0; 25]),
        r#"tensor "fc.weight": 24 bytes more needed, 25 given"#,
    ),
    (|file| file.write_tensor("fc.weight", &[0; 23]), r#"tensor "fc.weight": 24 bytes needed, 23 given"#),
    (|file| file.write_tensor("none", &[0]), r#"tensor "none": 0 bytes more needed, 1 given"#),
    (|file| file.write_tensor("fc.wieght", &[]), r#"it has no tensor "fc.wieght""#),
    (|file| file.tensor("").map(drop), r#"it has no tensor """#),
    (
        |file| file.write_tensor("fc.bias", &[0; 8]).and_then(|()| file.write_tensor("fc.bias", &[0; 8])),
        r#"tensor "fc.bias" already has bytes"#,
    ),
    (
        |file| {
            file.tensor("fc.bias")?.write_bytes(&[0]).and_then(|()| file.write_values("fc.bias", &[0_f32; 2]))
        },
        r#"tensor "fc.bias" already has bytes"#,
    ),
    (|file| file.write_values("fc.bias", &[0_f64]), r#"tensor "fc.bias" is F32, but the values are F64"#),
    (|file| file.write_values("fc.bias", &[0_f64; 4]), r#"tensor "fc.bias" is F32, but the values are F64"#),
    (|file| file.write_values("fc.bias", &[0_u8; 2]), r#"tensor "fc.bias" is F32, but the values are U8"#),
    (|file| file.write_values("fc.bias", &[0_f32; 3]), r#"tensor "fc.bias": 8 bytes more needed, 12 given"#),
    (|file| file.write_chunks("fc.bias", [[0; 5]; 2]), r#"tensor "fc.bias": 3 bytes more needed, 5 given"#),
    (|file| file.write_chunks("fc.bias", [[0; 7]; 1]), r#"tensor "fc.bias": 8 bytes needed, 7 given"#),
];

#[test]
fn mistake_is_reported_and_keeps_the_old_file() {
    let dir = TempDir::new();
    let path = dir.put("m", b"old");
    for (fill, expected) in MISTAKES {
        let outcome = write_file(&path, FileSpec::new(&SPECS), fill);
        assert_eq!(message(&dir, outcome), format!("./m: {expected}"));
        assert_eq!((fs::read(&path).expect("present"), dir.names()), (b"old".to_vec(), vec!["m".into()]));
    }
}

#[test]
fn writer_works_after_mistakes() {
    let dir = TempDir::new();
    let mut file = FileWriter::create(dir.join("m"), FileSpec::new(&SPECS)).expect("succeeds");
    file.write_tensor("fc.bias", &[7; 9]).expect_err("too long");
    file.write_values("fc.bias", &[7_u8; 8]).expect_err("another type");
    file.write_values("fc.bias", &[7_f32]).expect_err("too short");
    file.write_tensor("fc.bias", &[7; 8]).expect("fits");
    file.tensor("fc.weight").and_then(|mut weight| weight.write_bytes(&[8; 20])).expect("fits");
    file.tensor("fc.weight").and_then(|mut weight| weight.write_bytes(&[8; 5])).expect_err("too long");
    file.tensor("fc.weight").and_then(|mut weight| weight.write_values(&[0.0_f32])).expect("fits");
    file.finish().expect("complete");
    assert_eq!(dir.names(), ["m"]);
}

#[test]
fn invalid_description_names_the_tensor() {
    let dir = TempDir::new();
    let path = dir.join("m");
    let message_of = |spec: FileSpec<'_>| message(&dir, FileWriter::create(&path, spec));
    let duplicate = [SPECS[0], SPECS[1], SPECS[0]];
    assert_eq!(message_of(FileSpec::new(&duplicate)), r#"./m: duplicate name "fc.weight""#);
    let reserved = [TensorSpec::new("__metadata__", Dtype::U8, &[])];
    assert_eq!(message_of(FileSpec::new(&reserved)), r#"./m: reserved name: "__metadata__""#);
    let padding = [TensorSpec::new("__padding__.x", Dtype::U8, &[])];
    let padded = FileSpec::new(&padding).with_placement(Placement::Padded(64));
    let expected = r#"./m: reserved name in a padded file: "__padding__.x""#;
    assert_eq!(message_of(padded), expected);
    let half = [TensorSpec::new("half", Dtype::F4, &[3])];
    assert_eq!(
        message_of(FileSpec::new(&half)),
        r#"./m: "half": ends inside a byte: it has 3 elements of 4 bits"#
    );
    let huge = [TensorSpec::new("huge", Dtype::F32, &[1 << 60])];
    assert_eq!(
        message_of(FileSpec::new(&huge)),
        r#"./m: "huge": tensor too large: the product of its dimensions, or its size in bits, does not fit into 64 bits"#
    );
    let keys = [("k", "1"), ("k", "1")];
    assert_eq!(message_of(FileSpec::new(&[]).with_metadata(&keys)), r#"./m: duplicate key "k""#);
    assert_eq!(dir.names(), [""; 0]);
}

/// Returns three bytes, then fails.
struct Broken(usize);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0 {
            0 => Err(io::Error::new(io::ErrorKind::ConnectionReset, "the line went dead")),
            left => {
                let len = left.min(buffer.len());
                self.0 -= len;
                Ok(len)
            }
        }
    }
}

#[test]
fn input_error_names_the_file() {
    let dir = TempDir::new();
    let path = dir.join("m");
    let outcome = write_file(&path, FileSpec::new(&SPECS), |file| {
        io::copy(&mut Broken(3), &mut file.tensor("fc.weight")?)?;
        Ok(())
    });
    let error = outcome.expect_err("the input fails");
    assert!(
        matches!(error.kind(), EditErrorKind::Input(error) if error.kind() == io::ErrorKind::ConnectionReset)
    );
    assert_eq!(error.path(), path);
    let outcome: Result<(), EditError> = Err(error);
    assert_eq!(message(&dir, outcome), "cannot read the input for ./m: the line went dead");
}

/// An error of this crate that was wrapped in an `io::Error` is unwrapped again.
#[test]
fn too_many_bytes_from_reader_are_reported() {
    let dir = TempDir::new();
    let path = dir.join("m");
    let outcome = write_file(&path, FileSpec::new(&SPECS), |file| {
        io::copy(&mut Broken(30), &mut file.tensor("fc.weight")?)?;
        Ok(())
    });
    let error = outcome.expect_err("too many bytes");
    assert!(matches!(error.kind(), EditErrorKind::TooManyBytes { left: 24, given: 30, .. }), "{error}");
    let error = io::Error::from(error);
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert_eq!(dir.names(), [""; 0]);
}

#[test]
fn dropped_writer_leaves_no_file() {
    let dir = TempDir::new();
    let path = dir.put("m", b"old");
    let file = FileWriter::create(&path, FileSpec::new(&SPECS)).expect("succeeds");
    assert_eq!(dir.names().len(), 2, "the new file is beside the old one");
    drop(file);
    let has_panicked = Cell::new(false);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        write_file(&path, FileSpec::new(&SPECS), |file| {
            file.write_tensor("fc.bias", &[1; 8])?;
            has_panicked.set(true);
            panic!("the caller has a bug")
        })
    }));
    assert!(panic.is_err() && has_panicked.get());
    assert_eq!((fs::read(&path).expect("present"), dir.names()), (b"old".to_vec(), vec!["m".into()]));
}

#[test]
fn writer_can_move_to_another_thread() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let dir = TempDir::new();
    let file = FileWriter::create(dir.join("m"), FileSpec::new(&SPECS)).expect("succeeds");
    drop(is_send(file));
    is_send(EditErrorKind::File(FileErrorKind::Changed));
}

/// As in a caller's function that does not know the path.
#[test]
fn error_without_path_has_a_message() {
    let error = EditError::from(io::Error::from(io::ErrorKind::ConnectionReset));
    assert_eq!(error.to_string(), "cannot read its input: connection reset");
}
