//! The rows of the list in README.md, beside this file: where this project's writer and the reference's
//! differ. Each test shows what both do.

use std::iter::repeat_with;

use embedded_safetensors::{
    ErrorKind, View, WriteError,
    write::{SpecError, SpecErrorKind, SpecPart, Writer},
};
use support::dictionary::{Dictionary, Named};
use support::reference::LATEST;
use support::reference_writer::{self as reference, write_claiming};
use support::sink::{Sink, SinkPlan};
use support::verdict::full_verdict;
use support::writing::{Description, read, write};

use crate::writing::order;

/// Returns a tensor of U8.
fn bytes(name: &str, bytes: &[u8]) -> Named {
    let dims = vec![bytes.len() as u64];
    Named { name: name.to_owned(), dtype: "U8".to_owned(), dims, bytes: bytes.to_vec() }
}

fn of(tensors: Vec<Named>) -> Dictionary {
    Dictionary { tensors, metadata: None }
}

/// Returns why this project writes no such file.
fn spec_error(dictionary: &Dictionary) -> SpecError {
    let description = Description::new(dictionary);
    description.spec().plan_sorted(&mut description.memory()).expect_err("rejected")
}

/// Asserts that neither reader accepts the file.
fn assert_broken(file: &[u8]) {
    assert!(full_verdict(file).is_err() && View::parse(file).is_err() && LATEST.read(file).is_err());
}

#[test]
fn w1_several_keys() {
    for keys in 2..=4 {
        let dictionary = order::dictionary(3, Some(keys));
        let ours = Ok(dictionary.file());
        let mut theirs = repeat_with(|| reference::write(&dictionary));
        assert!(theirs.by_ref().take(10_000).any(|file| file == ours), "{keys} keys: never in order");
        assert!(theirs.take(10_000).any(|file| file != ours), "{keys} keys: always in order");
        assert!((0..20).all(|_| Ok(write(&dictionary)) == ours));
    }
}

#[test]
fn w2_empty_metadata_and_no_tensors() {
    let dictionary = Dictionary { tensors: vec![], metadata: Some(vec![]) };
    assert_broken(&reference::write(&dictionary).expect("not detected"));
    let ours = write(&dictionary);
    assert_eq!(ours, b"\x18\0\0\0\0\0\0\0{\"__metadata__\":{}}     ");
    assert_eq!((read(&ours), reference::read(&ours)), (dictionary.clone(), Ok(dictionary)));
    // With a tensor, both are the same.
    let dictionary = Dictionary { tensors: vec![bytes("a", &[1])], metadata: Some(vec![]) };
    assert_eq!(Ok(write(&dictionary)), reference::write(&dictionary));
}

#[test]
fn w3_tensor_named_metadata() {
    for others in [vec![], vec![bytes("a", &[1])]] {
        let dictionary = of([others, vec![bytes("__metadata__", &[1])]].concat());
        assert_broken(&reference::write(&dictionary).expect("not detected"));
        assert_eq!(spec_error(&dictionary).kind, SpecErrorKind::Reserved);
    }
}

#[test]
fn w4_duplicate_name() {
    for other in [bytes("a", &[1]), bytes("a", &[2, 3]), Named { dtype: "I8".to_owned(), ..bytes("a", &[1]) }]
    {
        let dictionary = of(vec![bytes("a", &[1]), bytes("b", &[1]), other]);
        assert_eq!(reference::write(&dictionary), Err("panic".to_owned()));
        let expected =
            SpecError { kind: SpecErrorKind::DuplicateName { other: 0 }, part: SpecPart::Tensor(2) };
        assert_eq!(spec_error(&dictionary), expected);
    }
}

#[test]
fn w5_duplicate_key() {
    let pair = |value: &str| ("key".to_owned(), value.to_owned());
    let dictionary = Dictionary { tensors: vec![], metadata: Some(vec![pair("1"), pair("2")]) };
    // The reference takes a map, which keeps the last one.
    let last = Dictionary { tensors: vec![], metadata: Some(vec![pair("2")]) };
    assert_eq!(reference::write(&dictionary), Ok(last.file()));
    assert_eq!(spec_error(&dictionary).kind, SpecErrorKind::DuplicateKey { other: 0 });
}

#[test]
fn w6_wrong_number_of_bytes() {
    for (given, announced) in [(3, 4), (5, 4), (0, 1), (1, 0)] {
        let mut tensor = bytes("a", &vec![7; given]);
        tensor.dims = vec![announced as u64];
        let dictionary = of(vec![tensor]);
        assert_broken(&write_claiming(&dictionary, &[announced]).expect("not detected"));
        let description = Description::new(&dictionary);
        let plan = description.spec().plan().expect("valid description");
        let mut writer = Writer::new(Sink::new(SinkPlan::default()), plan, &mut [0; 64]).expect("succeeds");
        let whole = writer.write_tensor("a", &dictionary.tensors[0].bytes);
        let Err(WriteError::Format(error)) = whole else { panic!("{whole:?}") };
        let [given, needed] = [given, announced].map(|len| len as u64);
        let is_complete = error.kind == ErrorKind::AllWritten;
        assert!(is_complete || error.kind == ErrorKind::TensorLength { tensor: 0, given, needed }, "{error}");
    }
}

#[test]
fn w7_tensors_too_large_together() {
    let longest = u64::MAX / 8;
    for count in [8, 9, 16, 17] {
        let names: Vec<_> = (0..count).map(|number| format!("{number:02}")).collect();
        let tensor = |name: &String| Named { dims: vec![longest], ..bytes(name, &[]) };
        let dictionary = of(names.iter().map(tensor).collect());
        let lens = vec![usize::try_from(longest).expect("64 bits"); count];
        match write_claiming(&dictionary, &lens) {
            Err(words) => assert!(words == "panic" || words.contains("offset"), "{words}"),
            // Its sum wraps where overflow is not checked.
            Ok(file) => assert_broken(&file),
        }
        assert_eq!(spec_error(&dictionary).kind, SpecErrorKind::DataTooLong);
    }
}

#[test]
fn w8_requested_order() {
    let dictionary = of(vec![bytes("b", &[1]), bytes("a", &[2])]);
    let description = Description::new(&dictionary);
    let plan = description.spec().plan_as_given(&mut description.memory()).expect("valid description");
    let file = support::writing::write_planned(&dictionary, plan);
    assert!(
        file.ends_with(&[1, 2]) && reference::write(&dictionary).is_ok_and(|file| file.ends_with(&[2, 1]))
    );
    assert_eq!(reference::read(&file), Ok(dictionary.sorted()));
}

/// `files/processes.rs` tests that this project's `write_file` follows the system's settings.
#[cfg(unix)]
#[test]
fn w9_permissions_of_a_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let directory = std::env::temp_dir().join(format!("embedded-safetensors-w9-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("temporary directory");
    let mode = |path: &std::path::Path| path.metadata().expect("present").permissions().mode() & 0o777;
    let path = directory.join("model.safetensors");
    let dictionary = of(vec![bytes("a", &[1])]);
    reference::write_to(&path, &dictionary).expect("succeeds");
    assert_eq!((mode(&path), std::fs::read(&path).ok()), (0o600, Some(dictionary.file())));
    std::fs::remove_dir_all(&directory).expect("owned by this test");
}
